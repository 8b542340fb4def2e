"""What was said about messages: kept, bounded, without secrets, and noticed by whoever keeps an index."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import FailedError, UsageError
from whet.library.skill_id import SkillId
from whet.routing.feedback import KEPT, LONGEST, MOST, Examples, Feedback, Remark, kept, normalised
from whet.store.repair import check_state, repair_state
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECOND = 10**9


@pytest.fixture
def feedback(tmp_path: Path) -> Iterator[Feedback]:
    made = Feedback(StateDatabase(str(tmp_path / "state")), lambda: 5 * SECOND)
    yield made
    made.state.close()


def test_reading_makes_no_file(feedback: Feedback, tmp_path: Path) -> None:
    assert (feedback.examples("pdf"), feedback.all_marks(), feedback.entries()) == (Examples((), ()), {}, ())
    assert feedback.forget("pdf") == 0
    assert not (tmp_path / "state").exists()


def test_a_message_is_an_example_or_a_counterexample(feedback: Feedback) -> None:
    assert feedback.record("PDF_Forms", "Fill this form", fits=True)
    assert feedback.record("pdf-forms", "Print this", fits=False, origin="hook")
    assert feedback.record("docx", "Write a letter", fits=True, origin="agent")
    assert feedback.examples("pdf-forms") == Examples(("Fill this form",), ("Print this",))
    assert feedback.entries("PDF-forms") == (
        Remark(5 * SECOND, "pdf-forms", "Print this", False, "hook"),
        Remark(5 * SECOND, "pdf-forms", "Fill this form", True, "person"),
    )
    assert [item.skill for item in feedback.entries()] == ["docx", "pdf-forms", "pdf-forms"]
    assert feedback.entries("docx")[0].to_json() == {
        "time": "1970-01-01T00:00:05Z",
        "skill": "docx",
        "message": "Write a letter",
        "fits": True,
        "origin": "agent",
    }


def test_what_was_said_goes_with_a_skill(feedback: Feedback) -> None:
    old, new = SkillId("~/skills", "pdf"), SkillId("~/skills", "forms")
    feedback.move(old, new)
    feedback.record(str(old), "Fill this form", fits=True)
    feedback.record(str(old), "Print this", fits=False)
    feedback.record("PDF", "Sign this", fits=False)
    feedback.record(str(new), "print this", fits=True)
    feedback.move(old, new, ("pdf", "user:pdf"))
    assert feedback.examples(str(new)) == Examples(("print this", "Fill this form"), ("Sign this",))
    assert feedback.examples(str(old), "pdf") == Examples((), ())
    assert len(feedback.entries(str(new))) == 3


def test_the_latest_word_counts(feedback: Feedback) -> None:
    assert feedback.record("pdf", "Fill this form", fits=True)
    assert not feedback.record("pdf", "  fill THIS\nform ", fits=True)
    assert feedback.record("pdf", "fill this form", fits=False)
    assert feedback.examples("pdf") == Examples((), ("fill this form",))


def test_neither_agent_nor_hook_overrules_a_person(feedback: Feedback) -> None:
    feedback.record("pdf", "Fill this form", fits=True, origin="hook")
    assert feedback.record("pdf", "Fill this form", fits=False, origin="agent")
    assert feedback.record("pdf", "Fill this form", fits=True, origin="person")
    assert not feedback.record("pdf", "Fill this form", fits=False, origin="hook")
    assert feedback.examples("pdf") == Examples(("Fill this form",), ())


def test_examples_are_bounded_and_people_come_first(feedback: Feedback) -> None:
    feedback.record("pdf", "from a person", fits=True)
    for number in range(MOST + 5):
        feedback.record("pdf", f"message {number}", fits=True, origin="hook")
    examples, none = feedback.examples("pdf")
    assert (len(examples), none, examples[:3]) == (MOST, (), ("from a person", "message 54", "message 53"))


def test_what_is_kept_of_a_skill_is_bounded(feedback: Feedback) -> None:
    feedback.record("pdf", "from a person", fits=False)
    with feedback.state.write() as connection:
        rows = [(1, "pdf", f"m{number}", f"m{number}", 1, "hook") for number in range(KEPT + 10)]
        query = "INSERT INTO feedback (time, skill, message, normal, fits, origin) VALUES (?, ?, ?, ?, ?, ?)"
        connection.executemany(query, rows)
    feedback.record("pdf", "one more", fits=True)
    found = feedback.entries("pdf")
    assert (len(found), found[0].message, found[-1].message) == (KEPT, "one more", "from a person")


def test_secrets_and_long_messages_are_cut(feedback: Feedback) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
    feedback.record("pdf", f"use password: hunter2hunter2 and {token} here", fits=True)
    feedback.record("pdf", "x" * 5000, fits=False)
    examples, others = feedback.examples("pdf")
    assert token not in examples[0] and "hunter2hunter2" not in examples[0] and examples[0].endswith(" here")
    assert len(others[0]) == LONGEST
    assert feedback.forget("pdf", message="x" * 5000) == 1


def test_it_can_be_taken_back(feedback: Feedback) -> None:
    for message in ("one", "two", "three"):
        feedback.record("pdf", message, fits=True)
    feedback.record("docx", "one", fits=True)
    assert (feedback.forget("PDF", message=" ONE "), feedback.forget("pdf", message="nothing")) == (1, 0)
    assert feedback.examples("pdf").examples == ("three", "two")
    assert feedback.forget("pdf") == 2
    assert [item.skill for item in feedback.entries()] == ["docx"]


def test_marks_change_with_the_feedback_and_not_otherwise(feedback: Feedback) -> None:
    seen: list[dict[str, str]] = []
    steps: list[Callable[[], object]] = [
        lambda: feedback.record("pdf", "one", fits=True),
        lambda: feedback.record("pdf", "two", fits=True),
        lambda: feedback.record("pdf", "two", fits=False),
        lambda: feedback.forget("pdf", message="one"),
        lambda: feedback.record("pdf", "one", fits=True),
        lambda: feedback.forget("pdf", message="two"),
        lambda: feedback.record("docx", "one", fits=True),
    ]
    for step in steps:
        step()
        seen.append(feedback.all_marks())
    marks = [mark["pdf"] for mark in seen]
    assert len(set(marks[:6])) == 6 and marks[5] == marks[6]
    assert set(seen[-1]) == {"pdf", "docx"}
    feedback.record("pdf", "one", fits=True)
    assert feedback.all_marks() == seen[-1]


@pytest.mark.parametrize(("message", "origin", "code"), [(" \n", "person", "message-empty"), ("x", "me", "bad-origin")])
def test_what_cannot_be_kept_is_refused(feedback: Feedback, message: str, origin: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        feedback.record("pdf", message, fits=True, origin=origin)
    assert caught.value.code == code and feedback.entries() == ()


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_one_normal_form(text: str) -> None:
    stored = kept(text)
    stored.encode()
    assert "\0" not in stored and kept(stored) == stored
    assert normalised(stored.upper().lower()) == normalised(stored.upper().lower() + " \n")


def test_a_message_for_no_skill_and_those_like_it_are_unwanted(feedback: Feedback) -> None:
    assert not feedback.is_unwanted("good morning to you all")
    feedback.record("", "Good morning to you all", fits=False)
    assert feedback.is_unwanted("good  MORNING to you all") and feedback.is_unwanted("a good morning to all")
    assert not feedback.is_unwanted("good evening")
    feedback.record("greet", "a good morning to all", fits=True, origin="agent")
    assert not feedback.is_unwanted("a good morning to all"), "somebody said more about exactly this one"
    feedback.record("greet", "good morning to you all", fits=True, origin="agent")
    assert feedback.is_unwanted("good morning to you all"), "an agent does not overrule a person"
    feedback.record("greet", "good morning to you all", fits=True)
    assert not feedback.is_unwanted("good morning to you all")
    assert feedback.examples("") == Examples((), ())


def test_odd_texts_are_kept(feedback: Feedback) -> None:
    for number, message in enumerate(("lone \ud83d half", "zero \0 byte", "emoji 🦊", "'; DROP TABLE feedback; --")):
        feedback.record("pdf", message, fits=True)
        assert len(feedback.entries("pdf")) == number + 1


def test_a_damaged_file_is_said_and_mended(feedback: Feedback, tmp_path: Path) -> None:
    for number in range(400):
        feedback.record("pdf", f"message {number} " + "word " * 20, fits=True)
    feedback.state.close()
    path = tmp_path / "state" / "state.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(path.read_bytes())
    middle = data.index(b"wordmessage 200 ") // 4096 * 4096  # a page of the table, where a message stands twice
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    assert str(path) in (check_state(str(path.parent)) or "")
    with pytest.raises(FailedError) as caught:
        feedback.entries()
    assert caught.value.code == "state-corrupt"
    repaired = repair_state(str(path.parent))
    assert repaired.done[0].startswith("Moved the damaged state database to ")
    assert check_state(str(path.parent)) is None and 300 < len(feedback.entries()) < 400
    assert feedback.record("pdf", "goes on", fits=True)


def test_a_file_of_another_program_is_left_alone(feedback: Feedback, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with sqlite3.connect(tmp_path / "state" / "state.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("PRAGMA application_id = 7")
    connection.close()
    with pytest.raises(FailedError) as caught:
        feedback.record("pdf", "x", fits=True)
    assert caught.value.code == "state-foreign"
