"""Near-duplicates of a library on disk: what is read, what is answered, what is said about skills nobody can read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from routing.duplicate_pairs import FAMILIES, labelled
from whet import Library
from whet.errors import NotFoundError, UsageError
from whet.routing.duplicates import CANDIDATES, find_duplicates, resembling
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.library.card import Card
    from whet.library.disclosure import Opened

DOCKER = ("container-diet", "dockerfile-optimizer", "small-docker-images")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    for name, skill in labelled().items():
        directory = tmp_path / "skills" / name
        directory.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: >-\n  {skill.texts.description}\n---\n{skill.texts.body}"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
    with Library.open([tmp_path / "skills"], home=tmp_path / "state") as made:
        yield made


def test_all_pairs_with_what_they_share_and_where_they_are(library: Library, tmp_path: Path) -> None:
    answer = find_duplicates(library.workspace, threshold=0.495, most=2).to_json()
    assert answer == {
        "success": True,
        "pairs": [
            {
                "one": "https-expiry-fix",
                "other": "renew-tls-certificates",
                "score": 0.53,
                "shared": ["certificate", "expired", "warning", "renew", "let", "encrypt"],
                "paths": [
                    os.path.join(str(tmp_path), "skills", name)
                    for name in ("https-expiry-fix", "renew-tls-certificates")
                ],
            },
            {
                "one": "bank-reconciliation",
                "other": "match-payments-to-ledger",
                "score": 0.51,
                "shared": ["ledger", "match", "bank", "payments", "balance", "statement"],
                "paths": [
                    os.path.join(str(tmp_path), "skills", name)
                    for name in ("bank-reconciliation", "match-payments-to-ledger")
                ],
            },
        ],
        "count": 2,
        "compared": 39,
        "total": 39,
        "threshold": 0.495,
        "report": [],
    }


def test_what_is_like_one_skill_whatever_its_spelling(library: Library) -> None:
    answer = find_duplicates(library.workspace, "Container_Diet", 0.3).to_json()
    assert {(pair["one"], pair["other"]) for pair in answer["pairs"]} == {(DOCKER[0], other) for other in DOCKER[1:]}
    assert (answer["compared"] <= CANDIDATES, answer["total"]) == (True, 39)
    assert find_duplicates(library.workspace, "depot-webhook-create", 0.3).to_json()["pairs"] == []


def test_one_skill_is_compared_without_reading_the_whole_library(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        directory = tmp_path / "skills" / f"extra-{number:03}"
        directory.mkdir()
        (directory / "SKILL.md").write_text(
            f"---\nname: extra-{number:03}\ndescription: Item {number}.\n---\nNothing.\n"
        )
    opened: list[str] = []
    workspace = library.workspace
    real = workspace.open

    def counted(card: Card) -> Opened:
        opened.append(card.name)
        return real(card)

    monkeypatch.setattr(workspace, "open", counted)
    answer = find_duplicates(workspace, DOCKER[0], 0.3).to_json()
    assert {pair["other"] for pair in answer["pairs"]} == set(DOCKER[1:])
    assert len(opened) <= 2 * CANDIDATES + 1


def test_a_new_skill_that_is_not_on_disk_is_compared_by_what_it_says(library: Library) -> None:
    new = Texts("lean-images", "Ship less.", labelled()[DOCKER[1]].texts.body)
    assert [found.name for found in resembling(library.workspace, "lean-images", new)][:1] == [DOCKER[1]]
    sibling = FAMILIES["depot"][0]
    body = sibling.body.replace("webhook", "bucket").replace("signing secret", "region")
    new = Texts("depot-bucket-create", "Create buckets with the depot tool.", body)
    assert resembling(library.workspace, "depot-bucket-create", new) == ()


def test_what_cannot_be_read_is_judged_by_its_card_and_named(library: Library, tmp_path: Path) -> None:
    workspace = library.workspace
    snapshot = workspace.snapshot()
    path = tmp_path / "skills" / DOCKER[0] / "SKILL.md"
    path.unlink()
    workspace.snapshot = lambda: snapshot  # type: ignore[method-assign]  # a look from before the file went
    (problem,) = find_duplicates(workspace).to_json()["report"]
    assert (problem["code"], problem["skill"], problem["path"]) == ("skill-gone", DOCKER[0], str(path))


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan")])
def test_a_threshold_lies_between_zero_and_one(library: Library, threshold: float) -> None:
    with pytest.raises(UsageError, match="must be above 0") as error:
        find_duplicates(library.workspace, threshold=threshold)
    assert error.value.code == "bad-threshold"


def test_questions_that_make_no_sense(library: Library) -> None:
    with pytest.raises(UsageError) as error:
        find_duplicates(library.workspace, most=0)
    assert error.value.code == "bad-limit"
    with pytest.raises(NotFoundError):
        find_duplicates(library.workspace, "no-such")
