"""Distillations that wait: kept by an id, found again by any process, and not for ever."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from learning.episodes import bash, session, user
from whet.errors import NotFoundError, UsageError
from whet.learning.distill.rounds import KEPT, MOST, Kept, begin
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.distill.rounds import Distillation

NOW = time.time_ns()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(StateDatabase(str(tmp_path)), lambda: NOW)


def ids(tmp_path: Path) -> list[str]:
    return [id_ for (id_,) in StateDatabase(str(tmp_path)).read("SELECT id FROM distillations ORDER BY number")]


@pytest.fixture
def begun() -> Distillation:
    steps = bash("make docs", "12 pages built"), bash("rclone sync site staging:docs", "12 files transferred")
    return begin(session(user("Publish the docs of the shop to staging."), *steps, user("Thanks, that worked.")))


def test_what_is_kept_is_found_by_its_id(kept: Kept, begun: Distillation, tmp_path: Path) -> None:
    one = kept.keep(begun)
    other = kept.keep(begun.answer({"name": "publish-docs"}))
    assert (kept.read(one), kept.read(other)) == (begun, begun.answer({"name": "publish-docs"}))
    assert kept.keep(begun.answer(), one) == one
    assert Kept(StateDatabase(str(tmp_path)), lambda: NOW).read(one) == begun.answer()
    kept.forget(one)
    kept.forget(one)
    assert ids(tmp_path) == [other]


@pytest.mark.parametrize(
    "name", ["", "0", "abcdef012345", "../../secret", "ABCDEF012345", "abcdef012345.json", "a" * 99]
)
def test_an_unknown_id_names_nothing(kept: Kept, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text("{}")
    with pytest.raises(NotFoundError) as caught:
        kept.read(name)
    assert (caught.value.code, caught.value.message) == (
        "no-such-distillation",
        f"There is no distillation {name!r:.80}.",
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"whet-distillation": 99}', "[" * 5_000, "\0", '"\\ud800"'])
def test_damage_is_told(kept: Kept, begun: Distillation, tmp_path: Path, text: str) -> None:
    number = kept.keep(begun)
    with StateDatabase(str(tmp_path)).write() as connection:
        connection.execute("UPDATE distillations SET content = ?", (text,))
    with pytest.raises(UsageError) as caught:
        kept.read(number)
    assert caught.value.to_json() == {
        "success": False,
        "error": f"The distillation {number} is damaged, or of another version.",
        "code": "bad-distillation",
        "hint": "Start again with the session.",
    }


def test_what_no_text_can_hold_is_kept_all_the_same(kept: Kept, begun: Distillation) -> None:
    odd = begun._replace(evidence=begun.evidence._replace(request="half a \ud800 character"))
    assert kept.read(kept.keep(odd)) == odd


def test_the_old_go_and_only_the_newest_stay(begun: Distillation, tmp_path: Path) -> None:
    now = NOW
    kept = Kept(StateDatabase(str(tmp_path)), lambda: now)
    old, other = kept.keep(begun), kept.keep(begun)
    with StateDatabase(str(tmp_path)).write() as connection:
        connection.execute("UPDATE distillations SET time = ? WHERE id = ?", (NOW - KEPT - 1, old))
        connection.execute("UPDATE distillations SET time = ? WHERE id = ?", (NOW - KEPT + 1, other))
    last = kept.keep(begun)
    assert ids(tmp_path) == [other, last]
    for _ in range(MOST):
        now += 1
        kept.keep(begun)
    assert len(ids(tmp_path)) == MOST and not {other, last} & {*ids(tmp_path)}


def test_the_newest_is_the_one_that_was_changed_last(kept: Kept, begun: Distillation, tmp_path: Path) -> None:
    assert kept.newest() == ""
    first, _ = kept.keep(begun), kept.keep(begun.answer())
    kept.keep(begun, first)
    assert Kept(StateDatabase(str(tmp_path)), lambda: NOW).newest() == first
