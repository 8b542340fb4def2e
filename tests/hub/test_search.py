"""Search on a hub: what is found, in which order, by whom; and that the index is in step on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hub.world import ACME, open_hub, publish, refused
from whet.errors import NotFoundError, UsageError
from whet.hub.lifecycle import set_visibility
from whet.hub.lookalikes import looks_like
from whet.hub.search import ANYTHING, Facets
from whet.hub.similar import find_similar
from whet.hub.tokens import ANYBODY, Identity

if TYPE_CHECKING:
    from pathlib import Path

    from whet.hub.registry import Hub

SKILLS = {
    "release-notes": "Writes release notes from the commits since the last tag. Use before a release.",
    "pdf-forms": "Fills in the fields of PDF forms. Use when the user has a form in a PDF file.",
    "sql-review": "Reviews SQL migrations for locks and lost data. Use before a migration runs.",
    "flaky-tests": "Finds out why tests fail now and then. Use when a test is flaky.",
}


def fill(hub: Hub) -> None:
    for name, description in SKILLS.items():
        publish(hub, name=name, description=description, body=f"# {name}\n\n1. {description}\n")


def found(hub: Hub, query: str, who: Identity = ANYBODY, **facets: str) -> list[str]:
    return [result.skill.key for result in hub.index.search(who, query, Facets(**facets))]


def popular(hub: Hub, name: str, downloads: int = 1000) -> None:
    hub.database.write(lambda change: change.run("UPDATE skills SET downloads = ? WHERE name = ?", downloads, name))
    hub.index.count_downloads()


def test_what_is_asked_for_comes_first(store: Hub) -> None:
    fill(store)
    for query, first in (
        ("write the notes for the next release", "acme/release-notes"),
        ("fill in this tax form, it is a pdf", "acme/pdf-forms"),
        ("why does this test fail only sometimes", "acme/flaky-tests"),
        ("SQL Review", "acme/sql-review"),
        ("acme/pdf-forms", "acme/pdf-forms"),
    ):
        assert (query, found(store, query)[0]) == (query, first)
    assert found(store, "zzzzqq") == []


def test_the_index_follows_every_change(store: Hub) -> None:
    assert found(store, "release notes") == []
    fill(store)
    assert found(store, "release notes")[0] == "acme/release-notes"
    store.yank(ACME, "acme", "release-notes", "1.0.0", "Broken.")
    assert "acme/release-notes" not in found(store, "release notes")
    store.yank(ACME, "acme", "release-notes", "1.0.0", None)
    assert found(store, "release notes")[0] == "acme/release-notes"
    publish(store, "1.1.0", "release-notes", description="Bakes bread. Use when the user is hungry.", body="# Bread\n")
    assert found(store, "bake some bread")[0] == "acme/release-notes"


def test_replicas_and_restarts_find_the_same(address: str, tmp_path: Path) -> None:
    kept = str(tmp_path / "search.db")
    one, two = open_hub(address, "database", index=kept), open_hub(address, "database")
    fill(one)
    assert found(two, "release notes") == found(one, "release notes") != []
    publish(two, name="changelog", description="Keeps the changelog. Use after a change.", body="# Changelog\n")
    assert found(one, "keep the changelog")[0] == "acme/changelog"
    one.yank(ACME, "acme", "changelog", "1.0.0", "Broken.")
    one.close()
    again = open_hub(address, "database", index=kept)
    assert found(again, "keep the changelog") == found(two, "keep the changelog")
    assert "acme/changelog" not in found(again, "keep the changelog")
    for hub in (two, again):
        hub.close()


def test_private_skills_are_found_by_those_who_see_them(store: Hub) -> None:
    fill(store)
    set_visibility(store, ACME, "acme", "pdf-forms", "private")
    assert found(store, "fill in a pdf form", ACME)[0] == "acme/pdf-forms"
    for who in (ANYBODY, Identity("eve", ("read", "publish:eve"), "token", "")):
        assert "acme/pdf-forms" not in found(store, "fill in a pdf form", who)
        assert found(store, "acme/pdf-forms", who) == found(store, "pdf-forms", who)
        assert "acme/pdf-forms" not in found(store, "pdf-forms", who)


def test_a_name_like_a_popular_one_does_not_lead_by_its_name(store: Hub) -> None:
    fill(store)
    publish(store, name="relaese-notes", owner="eve", body="# Notes\n\n1. Do something else.\n")
    assert found(store, "relaese-notes")[0] == "eve/relaese-notes"  # nobody is popular yet
    popular(store, "release-notes")
    assert found(store, "relaese-notes")[:2] == ["acme/release-notes", "eve/relaese-notes"]
    publish(store, name="release-notes", owner="eve", body="# Notes\n\n1. Do a third thing.\n")
    assert found(store, "release-notes")[:2] == ["acme/release-notes", "eve/release-notes"]
    popular(store, "relaese-notes", 900)  # by now it is known for itself
    assert found(store, "relaese-notes")[0] == "eve/relaese-notes"


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("release-notes", "relaese-notes", True),
        ("release-notes", "releasenotes", True),
        ("release-notes", "release-note", True),
        ("c1oud-deploy", "cloud-deploy", True),
        ("rnigrations", "migrations", True),
        ("release-notes", "release-notes", False),
        ("release-notes", "release-plans", False),
        ("pdf", "pdf2", False),
    ],
)
def test_names_that_are_easily_mistaken(one: str, other: str, alike: bool) -> None:
    assert (looks_like(one, other), looks_like(other, one)) == (alike, alike)


def test_pages_and_facets(store: Hub) -> None:
    fill(store)
    publish(store, name="sql-tests", owner="eve", description="Tests SQL. Use for tests.", topics="sql, tests")

    def page(limit: int = 2, cursor: str = "", facets: Facets = ANYTHING) -> Any:
        return store.index.page(ANYBODY, "sql tests review", facets, limit, cursor)

    first = page()
    everything = page(100)
    names = [skill["name"] for skill in everything["skills"]]
    assert (len(first["skills"]), everything["next"]) == (2, None)
    rest = page(100, first["next"])
    assert [skill["name"] for skill in (*first["skills"], *rest["skills"])] == names
    assert first["facets"] == everything["facets"]
    assert everything["facets"]["topic"] == {"sql": 1, "tests": 1}
    assert everything["facets"]["owner"]["eve"] == 1
    assert everything["facets"]["tier"] == {"community": len(names)}
    for facets in (Facets(topic="sql"), Facets(owner="eve")):
        assert [skill["name"] for skill in page(facets=facets)["skills"]] == ["sql-tests"]
    for facets in (Facets(tier="official"), Facets(verdict="dangerous")):
        assert page(facets=facets)["skills"] == []
    for query, cursor in (("", ""), (" ", ""), ("x" * 201, ""), ("x", "bm9wZQ"), ("x", "WyJ4Il0")):
        call = lambda: store.index.page(ANYBODY, query, ANYTHING, 5, cursor)  # noqa: B023, E731  one case
        assert refused(call) == (UsageError, "bad-request")


def test_similar_skills_are_for_the_same_job(store: Hub) -> None:
    fill(store)
    text = "# Notes\n\n1. Read the commits since the last tag.\n2. Write the release notes from the commits.\n"
    publish(store, name="release-notes-2", owner="eve", description=SKILLS["release-notes"], body=text)
    alike = find_similar(store, ANYBODY, "eve", "release-notes-2")["skills"]
    assert (alike[0]["name"], alike[0]["owner"]) == ("release-notes", "acme")
    assert 0.35 <= alike[0]["score"] <= 1 and "release" in alike[0]["shared"]
    assert refused(lambda: find_similar(store, ANYBODY, "eve", "none")) == (NotFoundError, "skill-not-found")
    set_visibility(store, ACME, "acme", "release-notes", "private")
    assert find_similar(store, ANYBODY, "eve", "release-notes-2")["skills"] == []
