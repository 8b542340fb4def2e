"""A state directory of the version before is moved over once: nothing of it is lost, whatever happens on the way.

The fixture was written by real commands of that version (`fixtures/make_old_state.py`).
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from whet.authoring.journal import Journal
from whet.errors import FailedError
from whet.guard.audit import Audit
from whet.interfaces.clients.records import Connections
from whet.learning.distill.rounds import Kept
from whet.learning.selection.budget import State
from whet.learning.sessions import Sessions
from whet.learning.usage import Usage
from whet.routing.feedback import Feedback
from whet.sources.taps import Tap, Taps
from whet.store import former
from whet.store.clock import system_clock
from whet.store.database import FORMER
from whet.store.repair import Repaired, check_state, repair_state
from whet.store.state import StateDatabase

FIXTURES = Path(__file__).parent / "fixtures"
CONVERTED = ("intents", "installs", "trees")
"""Tables whose rows later migrations changed; other tests of this file look at them."""
GONE = {"hook_failures", "usage_segments", "usage_damage", "usage_imports"}
"""Tables of that time that a later migration removed."""
TABLES = {
    (kind.name, old): new for kind in former._DATABASES for old, new in kind.tables.items() if new not in CONVERTED
}
KEPT = ("trusted", "disabled", "pins", "curator", "blocked")
"""Tables that were in `state.db` already."""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURES / "old_state.tar.gz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = staticmethod(tarfile.data_filter)  # older ones have none, and do not ask for it
        archive.extractall(tmp_path)
    return tmp_path / "state"


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        known = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        added = {"audit": {"journal"}, "journal": {"modes"}, "sessions": {"limits"}}  # since these files were made
        columns = sorted(known - added.get(table, set()))
        return sorted(connection.execute(f"SELECT {', '.join(columns)} FROM {table}"), key=repr)


def facts(state: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the old files, by the name its table has now."""
    found = {new: rows(state / name, old) for (name, old), new in TABLES.items() if new not in GONE}
    return {**found, **{name: rows(state / "state.db", name) for name in KEPT}}


def now(state: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {name: rows(state / "state.db", name) for name in (*TABLES.values(), *KEPT) if name not in GONE}


def move(state: Path) -> None:
    database = StateDatabase(str(state))
    assert database.existing() is not None
    database.close()


def test_the_fixture_has_something_of_everything(state: Path) -> None:
    assert rows(state / "installs.db", "records")
    empty = {"blocked"}
    assert {name for name, found in facts(state).items() if not found} <= empty


def test_every_fact_is_there_afterwards(state: Path) -> None:
    before, told = facts(state), json.loads((FIXTURES / "old_state.json").read_text())
    names = {kind.name for kind in former._DATABASES}
    move(state)
    assert now(state) == before
    assert not any((state / name).exists() for name in names)
    assert {os.path.basename(name) for name in names} <= {*os.listdir(state / FORMER)}
    assert (state / "state.db").stat().st_mode & 0o777 == 0o600 and state.stat().st_mode & 0o777 == 0o700
    database = StateDatabase(str(state))
    journal = Journal(database, system_clock)
    assert journal.verify() == () and Audit(database, system_clock).verify() == ()
    assert [entry.to_json() for entry in journal.entries()] == told["history"]["entries"]
    pending = database.read("SELECT id FROM proposals WHERE state = 'pending' ORDER BY id")
    assert [number for (number,) in pending] == [item["id"] for item in told["pending"]["proposals"]]
    remarks = [(remark.skill, remark.message, remark.fits) for remark in Feedback(database, system_clock).entries()]
    assert remarks == [(item["skill"] or "", item["message"], item["fits"]) for item in told["feedback"]["feedback"]]
    counts = {
        total.skill: (total.views, total.helped, total.failed) for total in Usage(database, system_clock).totals()
    }
    assert counts == {
        item["skill"]: (item["views"], item["helped"], item["failed"]) for item in told["usage"]["skills"]
    }
    assert [tap._asdict() for tap in Taps(database, system_clock).all()] == [
        {name: tap[name] for name in Tap._fields} for tap in told["taps"]["taps"]
    ]
    made = [json.loads(entry) for kind, entry in database.read("SELECT kind, entry FROM synced") if kind == "made"]
    former_made = json.loads((state / FORMER / "sync.json").read_text())["made"]
    assert {one["client"] for one in former_made} == {"claude"}
    assert made == [{**one, "client": "claude-code"} for one in former_made]
    waiting = json.loads(next((state / FORMER / "distillations").iterdir()).read_text())
    newest = Kept(database, system_clock).newest()  # its evidence is of an older form, so it has to be begun again
    ((kept,),) = database.read("SELECT content FROM distillations WHERE id = ?", (newest,))
    assert json.loads(kept) == waiting
    learning = json.loads((state / FORMER / "learning.json").read_text())
    kept = State(database, system_clock).read()
    assert (set(learning), kept.day._asdict()) == ({"day"}, learning["day"])
    assert {seen.id for seen in Sessions(database, system_clock).all()} == {"s1", "s2"}
    database.close()


ENTRY = {"name": "pdf", "digest": "sha256:" + "a" * 64, "files": {}}
NOTE = ["user", "install", "install", "pdf", "/x/skills/pdf", "", "", "sha256:" + "b" * 64, "", "r3"]


def test_what_was_installed_is_remembered_with_the_entry_of_the_history_it_came_with(state: Path) -> None:
    old = rows(state / "installs.db", "records")
    with closing(sqlite3.connect(state / "history.db")) as connection:
        runs = dict(connection.execute("SELECT run, max(id) FROM journal GROUP BY run"))
    names = ["digest", "entry", "id", "journal", "lock", "path", "run", "state", "time"]
    before = [dict(zip(names, row, strict=True)) for row in old]
    assert {row["state"] for row in before} == {"done"} and {row["run"] for row in before} & {*runs}
    move(state)
    after = [
        dict(zip(["digest", "entry", "id", "journal", "lock", "path", "time"], row, strict=True))
        for row in rows(state / "state.db", "installs")
    ]
    kept = ("digest", "entry", "id", "lock", "path", "time")
    assert [{name: row[name] for name in kept} for row in after] == [
        {name: row[name] for name in kept} for row in before
    ]
    numbers = {row["id"]: row["journal"] for row in after}
    assert all(numbers[row["id"]] == runs[row["run"]] for row in before if row["run"] in runs)


def test_installs_that_were_interrupted_are_finished_or_forgotten(state: Path) -> None:
    """The ledger had a row on its way for each; whether it happened, the history told."""
    with closing(sqlite3.connect(state / "history.db")) as connection:
        made, number = connection.execute("SELECT run, max(id) FROM journal WHERE run <> ''").fetchone()
        connection.execute("INSERT INTO intents VALUES ('r3', 5, ?)", (json.dumps([NOTE]),))
        connection.commit()
    lock, text = "/x/whet-lock.json", json.dumps(ENTRY)
    pending = [
        ("skills/made", made, text, number - 1),  # the history knows of it, the lock does not yet
        ("skills/gone", made, None, number - 1),
        ("skills/waits", "r3", text, number),  # the change of the skill itself was interrupted
        ("skills/never", "r4", text, number),
        ("skills/pinned", "", text, -1),  # only the lock was to change
    ]
    with closing(sqlite3.connect(state / "installs.db")) as connection:
        query = "INSERT INTO records (time, lock, path, run, entry, digest, journal, state) VALUES (9,?,?,?,?,'',?,?)"
        for path, run, entry, since in pending:
            connection.execute(query, (lock, path, run, entry, since, "pending"))
        connection.execute(query, (lock, "skills/void", made, text, 0, "void"))
        connection.commit()
    move(state)
    database = StateDatabase(str(state))
    found = database.read("SELECT path, entry, journal FROM installs WHERE lock = ? ORDER BY id", (lock,))
    assert found == [("skills/made", text, number), ("skills/gone", None, number)]
    journal = Journal(database, system_clock)
    (rendering,) = journal.intents.open("lock")
    assert rendering.payload["file"] == lock and rendering.payload["new"] == {"skills/made": ENTRY, "skills/gone": None}
    (edit,) = journal.edits()
    assert edit.id == "r3" and [list(note) for note in edit.notes] == [[*NOTE, ""]]
    assert edit.lock["file"] == lock and edit.lock["new"] == {"skills/waits": ENTRY}
    database.close()


def test_records_of_connections_are_rows_and_the_backups_stay(state: Path) -> None:
    directory = state / "connections"
    directory.mkdir(exist_ok=True)
    file = {"path": "/c.json", "format": "json", "before": "", "after": ["x"], "backup": "", "added": []}
    record = {"client": "codex", "here": False, "hooks": True, "files": [{**file, "directories": []}]}
    (directory / "codex-0123456789ab.json").write_text(json.dumps(record))
    (directory / "cursor-0123456789ab.json").write_text("{")
    (directory / "codex-0123456789ab.0.backup").write_text("as it was")
    move(state)
    assert [path.name for path in directory.iterdir()] == ["codex-0123456789ab.0.backup"]
    assert (state / FORMER / "codex-0123456789ab.json").exists()
    database = StateDatabase(str(state))
    connections = Connections(database)
    real, *others = connections.ids()
    assert others == ["codex-0123456789ab", "cursor-0123456789ab"]
    made = connections.read(real)
    assert made is not None and made.client == "claude-code" and made.files
    found = connections.read("codex-0123456789ab")
    assert found is not None and found.to_json() == record
    with pytest.raises(FailedError) as caught:
        connections.read("cursor-0123456789ab")
    assert caught.value.code == "connection-record-broken"
    database.close()


@pytest.mark.parametrize("damaged", [False, True])
def test_the_lists_of_files_are_contents_under_their_own_digests(state: Path, damaged: bool) -> None:
    """Also when the database that held them is damaged."""
    old = rows(state / "history.db", "trees")
    if damaged:
        data = bytearray((state / "state.db").read_bytes())
        data[60:64] = bytes(4)  # the version
        data[4096:] = b"\xff" * (len(data) - 4096)
        (state / "state.db").write_bytes(data)
        repair_state(str(state))
    else:
        move(state)
    journal = Journal(StateDatabase(str(state)), system_clock)
    kept = {of: [*map(list, json.loads(text))] for of, _, text in old}
    marks = {
        of: [[path, "link" if mark == "link" else "file", mark == "executable", hash_] for path, mark, hash_ in files]
        for of in kept
        for files in [journal.files(of)]
    }
    assert marks == {of: sorted(files) for of, files in kept.items()} != {}
    assert journal.state.read("SELECT name FROM sqlite_master WHERE name = 'trees'") == []
    journal.state.close()


def test_moving_twice_changes_nothing(state: Path) -> None:
    before = facts(state)
    move(state)
    move(state)
    assert now(state) == before


def test_old_files_that_could_not_be_put_away_are_not_read_again(state: Path) -> None:
    copies = {kind.name: (state / kind.name).read_bytes() for kind in former._DATABASES}
    before = facts(state)
    move(state)
    for name, data in copies.items():
        (state / name).write_bytes(data)
    database = StateDatabase(str(state))
    with database.write() as connection:
        connection.execute("DELETE FROM feedback")
    database.close()
    move(state)
    assert now(state) == {**before, "feedback": []}


@pytest.mark.parametrize("name", [kind.name for kind in former._DATABASES])
def test_a_damaged_old_file_is_an_error_and_saved_by_a_repair(state: Path, name: str) -> None:
    before = facts(state)
    path = state / name
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(FailedError) as caught:
        move(state)
    assert caught.value.code == "state-corrupt" and name in caught.value.message and "doctor" in caught.value.hint
    assert path.read_bytes() == data, "nothing has changed"
    assert name in (check_state(str(state)) or "")
    repaired = repair_state(str(state))
    assert any(name in sentence for sentence in repaired.done) and repaired.lost
    own = {new for (file, _), new in TABLES.items() if file == name}
    after = now(state)
    assert {table: after[table] for table in after if table not in own} == {
        table: before[table] for table in before if table not in own
    }
    assert check_state(str(state)) is None and repair_state(str(state)) == Repaired()


def test_a_damaged_state_database_of_the_version_before_is_repaired_with_the_other_files(state: Path) -> None:
    before = facts(state)
    path = state / "state.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    repaired = repair_state(str(state))
    assert repaired.done[0].startswith("Moved the damaged state database")
    after = now(state)
    names = {*TABLES.values()} - GONE
    assert {name: after[name] for name in names} == {name: before[name] for name in names}


STEP = """
import os, signal, sys
from whet.store.state import StateDatabase
count, state = int(sys.argv[1]), sys.argv[2]
def step(event, arguments):
    global count
    if event in ("os.rename", "os.chmod", "os.mkdir", "open", "sqlite3.connect") or event == "whet.row":
        count -= 1
        if count < 0:
            os.kill(os.getpid(), signal.SIGKILL)
from whet.store import salvage
add = salvage._Keeper.add
def killing(self, row):
    sys.audit("whet.row")
    add(self, row)
salvage._Keeper.add = killing
import whet.store.database, whet.store.schema
sys.addaudithook(step)
database = StateDatabase(state)
database.existing()
database.close()
"""


def test_killed_at_any_step_it_is_the_old_or_the_new_state(state: Path, tmp_path: Path) -> None:
    before, steps, step = facts(state), 0, 0
    while True:
        place = tmp_path / f"copy-{step}" / "state"
        place.parent.mkdir()
        subprocess.run(["cp", "-a", str(state), str(place)], check=True)
        done = subprocess.run([sys.executable, "-c", STEP, str(step), str(place)], check=False)
        move(place)
        assert now(place) == before, step
        steps += 1
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        step += 1 + step // 4  # each of the first steps, then ever fewer of the many rows
    assert steps > 12


def test_two_processes_at_once_move_it_once(state: Path) -> None:
    before = facts(state)
    code = "import sys; from whet.store.state import StateDatabase; StateDatabase(sys.argv[1]).existing().close()"
    running = [subprocess.Popen([sys.executable, "-c", code, str(state)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert now(state) == before
