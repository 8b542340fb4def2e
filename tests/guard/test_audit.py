"""The record of decisions: nothing is lost, nothing can be changed unseen, an override is for one content."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from whet.authoring.journal import Journal, Note
from whet.errors import FailedError
from whet.guard.audit import Audit, AuditEntry
from whet.guard.policy import Override
from whet.store.chain import ORIGIN
from whet.store.repair import Repaired
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = 10**9
NOTE = AuditEntry(
    "agent", "write", "deploy", "/s/deploy", "sha256:1", "agent-created", "dangerous", "ask", "It is \ud83d odd."
)


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[Audit]:
    made = Audit(StateDatabase(str(tmp_path / "state")), lambda: 5 * SECOND)
    yield made
    made.state.close()


def change(tmp_path: Path, query: str) -> None:
    with sqlite3.connect(tmp_path / "state" / "state.db") as connection:
        connection.execute(query)
    connection.close()


def test_reading_makes_no_file(audit: Audit, tmp_path: Path) -> None:
    assert (audit.records(), audit.verify(), audit.override("sha256:1"), audit.about("/s", "audit")) == (
        (),
        (),
        None,
        None,
    )
    assert not (tmp_path / "state").exists()


def test_decisions_are_chained(audit: Audit) -> None:
    first, second = audit.add([NOTE, NOTE._replace(skill="other", action="audit")])
    (third,) = audit.add([NOTE])
    assert (first.id, first.previous, second.previous, third.previous) == (1, ORIGIN, first.hash, second.hash)
    assert audit.records() == (first, second, third) and audit.verify() == ()
    assert (audit.records(last=1), audit.records(skill="other")) == ((third,), (second,))
    assert audit.about("/s/deploy", "audit") == second
    assert third.to_json() == {**third._asdict(), "time": "1970-01-01T00:00:05Z"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("UPDATE audit SET decision = 'allow' WHERE id = 2", [(2, "record-changed")]),
        ("UPDATE audit SET time = 1 WHERE id = 3", [(3, "record-changed")]),
        ("DELETE FROM audit WHERE id = 2", [(3, "record-missing"), (3, "chain-broken"), (2, "history-cut")]),
        ("DELETE FROM audit WHERE id > 1", [(2, "history-cut")]),
        ("DELETE FROM audit", [(1, "history-cut")]),
        (
            "UPDATE audit SET hash = 'x' WHERE id = 1",
            [(1, "record-changed"), (2, "chain-broken"), (1, "history-cut")],
        ),
        (
            "UPDATE audit SET id = 9 WHERE id = 3",
            [(9, "record-missing"), (9, "record-changed"), (3, "history-cut"), (9, "log-damaged")],
        ),
    ],
)
def test_what_was_changed_is_noticed_and_taken_back_from_the_log(
    audit: Audit, tmp_path: Path, query: str, expected: list[tuple[int, str]]
) -> None:
    records = audit.add([NOTE, NOTE, NOTE])
    audit.state.close()
    change(tmp_path, query)
    assert [(problem.number, problem.code) for problem in audit.verify()] == expected
    repaired = audit.repair()
    assert repaired.done and repaired.lost == ()
    assert (audit.records(), audit.verify(), audit.repair()) == (records, (), Repaired())
    audit.add([NOTE])
    assert audit.verify() == ()


def test_nothing_is_added_to_a_record_that_was_cut(audit: Audit, tmp_path: Path) -> None:
    audit.add([NOTE, NOTE])
    audit.state.close()
    change(tmp_path, "DELETE FROM audit WHERE id = 2")
    with pytest.raises(FailedError) as caught:
        audit.add([NOTE])
    assert caught.value.code == "history-cut" and "doctor --repair" in caught.value.hint
    assert len(audit.records()) == 1


def test_what_is_lost_for_good_is_on_record(audit: Audit, tmp_path: Path) -> None:
    records = audit.add([NOTE, NOTE, NOTE, NOTE])
    audit.state.close()
    change(tmp_path, "DELETE FROM audit WHERE id IN (2, 3)")
    (tmp_path / "state" / "audit.log").unlink()
    assert audit.repair().lost == ("Lost: records 2-3.",)
    kept = audit.records()
    assert kept[:2] == (records[0], records[3]) and (kept[2].id, kept[2].action) == (5, "lost")
    audit.add([NOTE])
    assert (audit.verify(), audit.repair()) == ((), Repaired())


def test_each_record_carries_the_newest_entry_of_the_history(audit: Audit) -> None:
    (early,) = audit.add([NOTE])
    journal = Journal(audit.state, lambda: 5 * SECOND)
    (entry,) = journal.append([Note("user", "", "create", "a", "/s/a", "", "", journal.keep({}), "", "")])
    (late,) = audit.add([NOTE])
    assert (early.journal, late.journal) == ("", f"1 {entry.hash}")


def test_an_override_is_for_one_content_and_ends(audit: Audit, tmp_path: Path) -> None:
    audit.add([NOTE._replace(action="override", decision="allow", reason="Looked at it.")])
    assert audit.override("sha256:1") == Override("sha256:1", "Looked at it.", "agent", "1970-01-01T00:00:05Z")
    assert (audit.override("sha256:2"), audit.override("")) == (None, None)
    audit.add([NOTE._replace(action="revoke")])
    assert audit.override("sha256:1") is None
    audit.add([NOTE._replace(action="override")])
    audit.state.close()
    change(tmp_path, "UPDATE audit SET digest = 'sha256:2' WHERE id = 3")
    assert audit.override("sha256:2") is None, "a record that was changed lets nothing through"


def test_processes_append_at_the_same_time_and_none_is_lost(audit: Audit, tmp_path: Path) -> None:
    code = (
        "import sys; from whet.guard.audit import Audit, AuditEntry\n"
        "from whet.store.state import StateDatabase\n"
        "audit = Audit(StateDatabase(sys.argv[1]), lambda: 1)\n"
        "for number in range(20):\n"
        "    audit.add([AuditEntry(sys.argv[2], 'write', str(number), '', '', '', '', 'allow', '')])\n"
        "audit.state.close()"
    )
    state = str(tmp_path / "state")
    runs = [subprocess.Popen([sys.executable, "-c", code, state, name]) for name in ("a", "b", "c")]
    assert [run.wait() for run in runs] == [0, 0, 0]
    records = audit.records()
    assert (len(records), audit.verify()) == (60, ())
    for name in ("a", "b", "c"):
        assert [record.skill for record in records if record.actor == name] == [*map(str, range(20))]


def test_a_batch_is_recorded_wholly_or_not_at_all(audit: Audit) -> None:
    audit.add([NOTE])

    def notes() -> Iterator[AuditEntry]:
        yield NOTE
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        audit.add(notes())
    assert (len(audit.records()), audit.verify()) == (1, ())
