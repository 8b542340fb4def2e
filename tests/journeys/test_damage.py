"""Whet's own files are damaged: the cache is rebuilt without a word, decisions are never forgotten in silence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

GARBAGE = b"this is not a database, although it is long enough to look like one" * 200


@pytest.fixture
def state(tmp_path: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> Path:
    """A state directory in use: a warm cache and one decision."""
    skill("quiet")
    skill("noisy")
    assert whet("skill", "disable", "noisy").returncode == 0
    assert "quiet\t" in whet("list").stdout
    return tmp_path / "state"


def damage(path: Path) -> None:
    for companion in path.parent.glob(f"{path.name}-*"):
        companion.unlink()
    path.write_bytes(GARBAGE)


def test_a_damaged_cache_costs_nothing(state: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    before = whet("list")
    damage(state / "cache.db")
    after = whet("list")
    assert (after.returncode, after.stdout, after.stderr) == (0, before.stdout, before.stderr)
    damage(state / "cache.db")
    codes = [entry["code"] for entry in json.loads(whet("doctor", "--json").stdout)["report"]]
    assert "cache-corrupt" in codes
    assert whet("list").stdout == before.stdout


def test_damaged_decisions_stop_everything_until_they_are_mended(
    state: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    damage(state / "state.db")
    for words in (["list"], ["show", "quiet"], ["enable", "noisy"], ["trust"]):
        run = whet(*words, "--json")
        answer = json.loads(run.stdout)
        assert (words, run.returncode, answer["code"]) == (words, 4, "state-corrupt")
        assert "`whet doctor --repair`" in answer["hint"]
    plain = whet("list")
    assert (
        plain.stdout == "" and plain.stderr.startswith("error: ") and "hint: Run `whet doctor --repair`" in plain.stderr
    )

    report = json.loads(whet("doctor", "--json").stdout)["report"]
    assert [entry["severity"] for entry in report if entry["code"] == "state-corrupt"] == ["error"]
    assert whet("doctor").returncode == 0
    assert whet("doctor", "--check").returncode == 1

    repaired = whet("doctor", "--repair", "--check", "--json")
    answer = json.loads(repaired.stdout)
    assert repaired.returncode == 0
    moved, restored = answer["repaired"]
    assert moved.startswith("Moved the damaged state database to ")
    assert restored == f"Entry 1 is restored from {state / 'history.log'}."  # that noisy was disabled
    assert list(state.glob("state.db.broken-*"))
    assert whet("list").returncode == 0
    assert whet("skill", "disable", "noisy").returncode == 0


def test_a_settings_file_that_is_broken_is_not_ignored(state: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (state / "config.toml").write_text("disabled = [", encoding="utf-8")
    run = whet("list", "--json")
    answer = json.loads(run.stdout)
    assert (run.returncode, answer["code"]) == (2, "bad-config")
    report = json.loads(whet("doctor", "--json").stdout)["report"]
    assert "bad-config" in [entry["code"] for entry in report]
