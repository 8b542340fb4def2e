"""Which skills fit a few words: by name first, then by what they say; whatever form the words have."""

from __future__ import annotations

import pytest

from whet.skill.rank import BEGINS, EXACT, IN_NAME, IN_TEXT, SIMILAR, Entry, Ranking, rank

ENTRIES = (
    Entry("deploy", "ops", "Ships the service to production."),
    Entry("deploy-docs", "ops", "Publishes the pages."),
    Entry("release-notes", "", "Writes what a deployment changed."),
    Entry("pdf-forms", "office", "Fills in forms."),
    Entry("secret-deploy", "", "Not for everybody.", internal=True),
    Entry("部署服务", "", "把服务部署到生产环境。"),
    Entry("kite", "", "Whatever flies in a park."),
)


def found(query: str) -> list[tuple[str, int, bool]]:
    fits = rank(ENTRIES, query)
    return [(ENTRIES[at].name, fits[at].tier, fits[at].whole) for at in sorted(fits, key=lambda at: fits[at])]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("deploy", [("deploy", EXACT, True), ("deploy-docs", BEGINS, True), ("release-notes", IN_TEXT, True)]),
        ("deployment", [("deploy", IN_NAME, True), ("deploy-docs", IN_NAME, True), ("release-notes", IN_TEXT, True)]),
        ("deploying the docs", [("deploy-docs", IN_NAME, True), ("deploy", IN_TEXT, False)]),
        ("forms for pdfs", [("pdf-forms", IN_NAME, True)]),
        ("ops production", [("deploy", IN_TEXT, True), ("deploy-docs", IN_TEXT, False)]),
        ("secret-deploy", [("secret-deploy", EXACT, True)]),
        ("pdf-frms", [("pdf-forms", IN_TEXT, False)]),
        ("depoly", [("deploy", SIMILAR, False)]),
        ("服务", [("部署服务", IN_NAME, True)]),
        ("生产", [("部署服务", IN_TEXT, True)]),
        ("fly", [("kite", IN_TEXT, True)]),
        ("xylophone", []),
        ("?!", []),
    ],
)
def test_what_fits_comes_best_first(query: str, expected: list[tuple[str, int, bool]]) -> None:
    named = [row for row in found(query) if row[0] in {name for name, _, _ in expected}]
    assert named == expected
    assert bool(found(query)) == bool(expected)


def test_without_a_query_everything_fits_but_what_is_internal() -> None:
    assert len(rank(ENTRIES, " ")) == len(ENTRIES) - 1


def test_what_does_not_fit_changes_nothing_about_what_does() -> None:
    alone = rank(ENTRIES[:1], "deployment production")
    among = rank(ENTRIES, "deployment production")
    assert [(fit.tier, fit.whole) for fit in (alone[0], among[0])] == [(IN_TEXT, True)] * 2


def test_a_ranking_answers_every_query_as_if_it_were_the_first() -> None:
    ranking = Ranking(ENTRIES)
    for query in ("deploy", "deployment production", "fly", "服务", "", "deploy", "secret-deploy", "depoly"):
        assert ranking.rank(query) == rank(ENTRIES, query)
