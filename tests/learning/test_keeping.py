"""Distillations that wait: kept by an id, found again by any process, and not for ever."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from typing import TYPE_CHECKING

import pytest

from learning.episodes import bash, session, user
from whet.errors import NotFoundError, UsageError
from whet.learning.distilling.keeping import DIRECTORY, KEPT, MOST, Kept
from whet.learning.distilling.rounds import begin

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.distilling.rounds import Distillation

NOW = time.time_ns()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(str(tmp_path), lambda: NOW)


@pytest.fixture
def begun() -> Distillation:
    steps = bash("make docs", "12 pages built"), bash("rclone sync site staging:docs", "12 files transferred")
    return begin(session(user("Publish the docs of the shop to staging."), *steps, user("Thanks, that worked.")))


def test_what_is_kept_is_found_by_its_id(kept: Kept, begun: Distillation, tmp_path: Path) -> None:
    one = kept.keep(begun)
    other = kept.keep(begun.answer({"name": "publish-docs"}))
    assert (kept.read(one), kept.read(other)) == (begun, begun.answer({"name": "publish-docs"}))
    assert kept.keep(begun.answer(), one) == one
    assert Kept(str(tmp_path), lambda: NOW).read(one) == begun.answer()
    kept.forget(one)
    kept.forget(one)
    assert [path.name for path in (tmp_path / DIRECTORY).iterdir()] == [f"{other}.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")
def test_only_its_owner_reads_it(kept: Kept, begun: Distillation, tmp_path: Path) -> None:
    path = tmp_path / DIRECTORY / f"{kept.keep(begun)}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


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
    path = tmp_path / DIRECTORY / f"{number}.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        kept.read(number)
    assert caught.value.to_json() == {
        "success": False,
        "error": f"The distillation {number} is damaged, or of another version.",
        "code": "bad-distillation",
        "hint": "Begin again with the session.",
        "path": str(path),
    }


def test_what_no_text_can_hold_is_kept_all_the_same(kept: Kept, begun: Distillation) -> None:
    odd = begun._replace(facts=begun.facts._replace(goal="half a \ud800 character"))
    assert kept.read(kept.keep(odd)) == odd


def test_the_old_go_and_only_the_newest_stay(kept: Kept, begun: Distillation, tmp_path: Path) -> None:
    directory = tmp_path / DIRECTORY
    old, *others = (kept.keep(begun) for _ in range(3))
    for name, age in zip((old, *others), (KEPT + 1, KEPT - 1, 1), strict=True):
        os.utime(directory / f"{name}.json", ns=(NOW - age, NOW - age))
    (directory / "notes.json").write_text(json.dumps("somebody else's"))
    last = kept.keep(begun)
    assert {path.stem for path in directory.iterdir()} == {*others, last, "notes"}
    for number in range(MOST):
        name = kept.keep(begun)
        os.utime(directory / f"{name}.json", ns=(NOW + number, NOW + number))
    left = {path.stem for path in directory.iterdir()} - {"notes"}
    assert len(left) == MOST and not left & set(others)


def test_the_newest_is_the_one_that_was_changed_last(kept: Kept, begun: Distillation, tmp_path: Path) -> None:
    assert kept.newest() == ""
    first, second = kept.keep(begun), kept.keep(begun.answer())
    os.utime(tmp_path / DIRECTORY / f"{second}.json", ns=(1, 1))
    assert (kept.newest(), Kept(str(tmp_path), lambda: NOW, "elsewhere").newest()) == (first, "")
