"""Whatever is damaged in the state is said, mended as far as it can be, and never made worse by the mending."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


def execute(state: Path, *statements: str) -> None:
    with closing(sqlite3.connect(state / "state.db")) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, statement
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def overwrite(path: Path, data: bytes, at: int = 0) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def become_directory(*paths: Path) -> None:
    for path in paths:
        path.unlink()
        path.mkdir()


def page_of_the_journal(state: Path) -> None:
    with closing(sqlite3.connect(state / "state.db")) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'journal'").fetchone()
    overwrite(state / "state.db", b"\xff" * 4096, (page - 1) * 4096)


def truncate_log(state: Path) -> None:
    lines = (state / "history.log").read_bytes().splitlines(keepends=True)
    (state / "history.log").write_bytes(b"".join(lines[:2]))
    later = (state / "history.log").stat().st_mtime_ns + 60 * 10**9
    os.utime(state / "history.log", ns=(later, later))


def alter_log(state: Path) -> None:
    text = (state / "history.log").read_text()
    (state / "history.log").write_text(text.replace('"create"', '"forged"', 1))


def both(state: Path) -> None:
    (state / "state.db").unlink()
    (state / "history.log").write_bytes(b"rubbish\n" * 3)


def blob(state: Path, text: bytes, *, manifest: bool = False) -> Path:
    for path in (state / "contents").glob("*/*"):
        data = path.read_bytes()
        if text in data and (b"\0file\0" in data) == manifest:
            return path
    raise AssertionError(text)


def last_blob(state: Path, number: int) -> Path:
    """The list of files of the content before entry `number`."""
    with closing(sqlite3.connect(state / "state.db")) as connection:
        of = str(connection.execute("SELECT before FROM journal WHERE id = ?", (number,)).fetchone()[0])
    return state / "contents" / of[7:9] / of[9:]


class Case(NamedTuple):
    """One damage."""

    damage: Callable[[Path], Any]
    lost: bool = False
    """Whether something is lost for good."""
    entries: bool = True
    """Whether all entries come back."""
    back: bool = True
    """Whether the deleted skill comes back."""


CASES = {
    "state.db deleted": Case(lambda state: (state / "state.db").unlink(), lost=True),
    "state.db emptied": Case(lambda state: (state / "state.db").write_bytes(b""), lost=True),
    "state.db is a directory": Case(lambda state: become_directory(state / "state.db"), lost=True),
    "state.db is junk": Case(lambda state: (state / "state.db").write_bytes(b"junk" * 4000), lost=True),
    "header damaged": Case(lambda state: overwrite(state / "state.db", b"\xff" * 100), lost=True),
    "page damaged": Case(page_of_the_journal),
    "journal emptied": Case(lambda state: execute(state, "DELETE FROM journal")),
    "last entries deleted": Case(lambda state: execute(state, "DELETE FROM journal WHERE id > 3")),
    "entry altered": Case(lambda state: execute(state, "UPDATE journal SET reason = 'Forged.' WHERE id = 2")),
    "entry forged": Case(lambda state: execute(state, f"UPDATE journal SET hash = '{'0' * 64}' WHERE id = 5")),
    "log deleted": Case(lambda state: (state / "history.log").unlink()),
    "log emptied": Case(lambda state: (state / "history.log").write_bytes(b"x\n")),
    "log truncated": Case(truncate_log),
    "log altered": Case(alter_log),
    "log doubled": Case(lambda state: (state / "history.log").write_bytes((state / "history.log").read_bytes() * 2)),
    "log is a directory": Case(lambda state: become_directory(state / "history.log")),
    "both damaged": Case(both, lost=True, entries=False),
    "content of the deleted skill removed": Case(
        lambda state: blob(state, b"It is gone.").unlink(), lost=True, back=False
    ),
    "content altered": Case(lambda state: overwrite(blob(state, b"Step one."), b"X"), lost=True),
    "present content altered": Case(lambda state: overwrite(blob(state, b"Step three."), b"X")),
    "list of files removed": Case(lambda state: last_blob(state, 5).unlink(), lost=True, back=False),
    "contents removed": Case(lambda state: shutil.rmtree(state / "contents"), lost=True, back=False),
    "locks are directories": Case(lambda state: become_directory(*(state / "locks").iterdir())),
    "records deleted": Case(lambda state: execute(state, "DELETE FROM audit WHERE id > 1")),
    "records emptied": Case(lambda state: execute(state, "DELETE FROM audit")),
}


SOME = ("state.db emptied", "last entries deleted", "both damaged")


@pytest.fixture
def state(whet: Callable[..., CompletedProcess[str]], tmp_path: Path) -> Path:
    """Two skills with a history of five entries; the second one was deleted."""
    for name, body in (("deploy", "Step one."), ("gone", "It is gone.")):
        assert not whet("create", name, "--description", f"Does {name}. Use it.", "--body", body).returncode
    for find, replace in (("one", "two"), ("two", "three")):
        assert not whet("skill", "patch", "deploy", "--find", f"Step {find}", "--replace", f"Step {replace}").returncode
    assert not whet("delete", "gone").returncode
    with closing(sqlite3.connect(tmp_path / "state" / "state.db")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return tmp_path / "state"


def told(run: CompletedProcess[str]) -> Any:
    return json.loads(run.stdout)


def everything(state: Path) -> dict[str, bytes]:
    """Every content that is stored, by its name."""
    return {path.name: path.read_bytes() for path in (state / "contents").glob("*/*")}


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.deep) for name in CASES]
)
def test_damage_is_said_and_mended(
    name: str, state: Path, whet: Callable[..., CompletedProcess[str]], home: Path
) -> None:
    case = CASES[name]
    before = told(whet("history", "--json"))["entries"]
    case.damage(state)
    stored = everything(state)
    assert whet("doctor", "--check").returncode == 1
    repaired = whet("doctor", "--repair", "--json")
    answer = told(repaired)
    assert (repaired.returncode, answer["failed"], bool(answer["lost"])) == (0, [], case.lost), answer
    assert answer["repaired"] or answer["lost"]
    assert stored.keys() <= everything(state).keys() and {*stored.values()} <= {
        path.read_bytes() for path in (state / "contents").glob("*/*")
    } | {value for value in stored.values() if value.startswith(b"X")}
    proof = whet("history", "verify", "--json")
    assert (proof.returncode, told(proof)["problems"], whet("doctor", "--check").returncode) == (0, [], 0)
    assert whet("guard", "log", "--verify").returncode == 0
    entries = told(whet("history", "--json"))["entries"]
    if case.entries:
        assert entries[: len(before)] == before
        assert [entry["action"] for entry in entries[len(before) :]] in ([], ["lost"])
    again = told(whet("doctor", "--repair", "--json"))
    assert (again["repaired"], again["lost"], again["failed"]) == ([], [], [])
    assert told(whet("history", "--json"))["entries"] == entries
    restored = whet("restore", "gone", "--json")
    assert restored.returncode == (0 if case.back else 1), restored.stderr
    if case.back:
        assert (home / ".agents" / "skills" / "gone" / "SKILL.md").read_text().endswith("It is gone.\n")
    assert whet("skill", "patch", "deploy", "--find", "Step three", "--replace", "Step four").returncode == 0
    assert (whet("history", "verify").returncode, whet("doctor", "--check").returncode) == (0, 0)


@pytest.mark.parametrize("name", ["journal emptied", "entry forged", "last entries deleted"])
def test_nothing_is_written_to_a_history_that_was_cut(
    name: str, state: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    CASES[name].damage(state)
    run = whet("skill", "patch", "deploy", "--find", "Step three", "--replace", "Step four", "--json")
    assert (run.returncode, told(run)["code"]) == (4, "history-cut") and "doctor --repair" in told(run)["hint"]
    assert whet("show", "deploy").returncode == 0, "readers go on"


def test_contents_whose_entries_are_lost_are_listed(state: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert told(whet("history", "--lost", "--json"))["contents"] == []
    both(state)
    whet("doctor", "--repair")
    found = told(whet("history", "--lost", "--json"))["contents"]
    assert sorted(content["name"] for content in found) == ["deploy", "deploy", "deploy", "gone"]
    assert "gone" in whet("history", "--lost").stdout
    assert whet("history", "--lost", "deploy").returncode == 2


def test_a_file_in_the_place_of_the_state_directory_is_said(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("not a directory")
    report = told(whet("doctor", "--json"))["report"]
    (found,) = [note for note in report if note["code"] == "home-not-directory"]
    assert (found["severity"], found["path"]) == ("error", str(tmp_path / "state"))
    run = whet("doctor", "--repair", "--json")
    assert (run.returncode, told(run)["failed"]) == (4, [f"{found['path']}: {found['message']} {found['hint']}"])
    assert (tmp_path / "state").read_text() == "not a directory"
