from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

import whet
from whet.errors import FailedError
from whet.library.state import Decisions, Trusted
from whet.store.database import Database
from whet.store.repair import table_names
from whet.store.schema import STATE, STATE_MIGRATIONS
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    found = Decisions(StateDatabase(str(tmp_path / "state")), lambda: 7)
    yield found
    found.state.close()


def test_asking_makes_no_file(decisions: Decisions, tmp_path: Path) -> None:
    assert (decisions.trusted(), decisions.disabled(), decisions.pins()) == ((), frozenset(), {})
    assert (decisions.untrust("x"), decisions.enable("x"), decisions.unpin("x")) == (False, False, False)
    assert not (tmp_path / "state").exists()


def test_decisions_last_and_tell_whether_they_changed_anything(decisions: Decisions, tmp_path: Path) -> None:
    assert [decisions.trust("b", "/b"), decisions.trust("b", "/b"), decisions.trust("a", "/a")] == [True, False, True]
    assert [decisions.disable("x"), decisions.disable("x"), decisions.disable("x", "mcp")] == [True, False, True]
    decisions.state.close()
    again = Decisions(StateDatabase(str(tmp_path / "state")), lambda: 9)
    assert again.trusted() == (Trusted("a", "/a", 7), Trusted("b", "/b", 7))
    assert again.disabled() == {("x", ""), ("x", "mcp")}
    assert [again.untrust("b"), again.untrust("b")] == [True, False]
    assert [again.enable("x", "mcp"), again.disable("x", "mcp")] == [True, True]
    assert [again.enable("x"), again.enable("x"), again.enable("x", "mcp")] == [True, False, False]
    assert (again.trusted(), again.disabled()) == ((Trusted("a", "/a", 7),), frozenset())
    again.state.close()


def test_a_pin_lasts_is_found_by_what_was_pinned_and_takes_a_new_reason(decisions: Decisions, tmp_path: Path) -> None:
    decisions.pin("~/skills/Deploy", "Needed once a year.")
    decisions.pin("b", "why")
    decisions.pin("b", "second\udc80")
    decisions.state.close()
    again = Decisions(StateDatabase(str(tmp_path / "state")), lambda: 9)
    assert again.pins() == {"b": "second?", "~/skills/Deploy": "Needed once a year."}
    assert [again.unpin("~/skills/Deploy"), again.unpin("~/skills/Deploy")] == [True, False]
    again.pin("b")
    assert again.pins() == {"b": ""}
    again.state.close()


def test_closed_decisions_open_again(decisions: Decisions) -> None:
    decisions.disable("x")
    decisions.state.close()
    decisions.state.close()
    assert decisions.disabled() == {("x", "")}


def test_the_decision_of_another_process_is_seen(
    decisions: Decisions, tmp_path: Path, elsewhere: Callable[..., str]
) -> None:
    code = """
from whet.library.state import Decisions
from whet.store.state import StateDatabase
decisions = Decisions(StateDatabase(sys.argv[1]), lambda: 1)
decisions.disable(sys.argv[2])
decisions.state.close()
"""
    assert decisions.disabled() == frozenset()
    for name in ("a", "b"):
        elsewhere(code, str(tmp_path / "state"), name)
        assert (name, "") in decisions.disabled()


def test_a_damaged_database_is_an_error_and_not_an_empty_one(decisions: Decisions, tmp_path: Path) -> None:
    decisions.disable("x")
    decisions.state.close()
    (tmp_path / "state" / "state.db").write_bytes(b"garbage" * 1000)
    with pytest.raises(FailedError) as caught:
        decisions.disabled()
    assert caught.value.code == "state-corrupt"


def test_a_row_that_is_no_text_any_more_does_no_harm(decisions: Decisions) -> None:
    decisions.disable("kept")
    decisions.disable("odd")
    decisions.trust("odd", "/odd")
    decisions.pin("odd", "why")
    with decisions.state.write() as connection:
        connection.execute("UPDATE disabled SET name = x'ff' WHERE name = 'odd'")
        connection.execute("UPDATE trusted SET identity = 7")
        connection.execute("UPDATE pins SET name = 7")
    assert decisions.disabled() == {("kept", ""), ("b'\\xff'", "")}
    assert [item.identity for item in decisions.trusted()] == ["7"]
    assert decisions.pins() == {"7": "why"}


def test_a_place_that_cannot_be_written_is_an_error_with_a_hint(
    tmp_path: Path, unprivileged: Callable[[str], Any]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedError) as caught:
        Decisions(StateDatabase(str(tmp_path / "file")), lambda: 1).disable("x")
    assert caught.value.hint
    assert unprivileged("""
from whet.library.state import Decisions
os.mkdir(top + "/closed")
os.chmod(top + "/closed", 0o555)
from whet.store.state import StateDatabase
decisions = Decisions(StateDatabase(top + "/closed"), lambda: 1)
answer = [list(decisions.disabled())]
try:
    decisions.disable("x")
except WhetError as error:
    answer.append(error.code)
""") == [[], "permission-denied"]


def test_threads_open_one_database(decisions: Decisions) -> None:
    barrier = threading.Barrier(8)
    opened: set[int] = set()

    def decide(number: int) -> None:
        barrier.wait()
        decisions.disable(f"skill-{number}")
        opened.add(id(decisions.state.open()))

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1
    assert decisions.disabled() == {(f"skill-{number}", "") for number in range(8)}


def test_a_database_from_before_the_curator_keeps_its_decisions(decisions: Decisions, tmp_path: Path) -> None:
    path = tmp_path / "state" / "state.db"
    with Database.open(str(path), STATE._replace(migrations=STATE.migrations[:1]), durable=False) as database:
        database.read("INSERT INTO disabled VALUES ('x', '', 1)")
    assert decisions.disabled() == {("x", "")}
    assert {"trusted", "disabled", "pins", "blocked", "journal"} <= {*table_names(decisions.state.open())}


def test_migrations_are_numbered_and_every_room_has_a_name() -> None:
    assert [step.number for step in STATE_MIGRATIONS] == [*range(1, len(STATE.migrations) + 1)]
    assert all(os.path.isdir(os.path.join(os.path.dirname(whet.__file__), step.room)) for step in STATE_MIGRATIONS)
