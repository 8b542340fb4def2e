"""Small edits of a text: applied exactly, or left out with why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.learning.evals.gate import Reason
from whet.learning.improvement.edits import APPEND, DELETE, INSERT, KINDS, REPLACE, Edit, Edited, Refused, edited
from whet.learning.improvement.improve import KEPT, Buffer, rejection
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "# Notes\n\nSay what changed.\n\n- Be brief.\n- Be kind.\n"
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (Edit(APPEND, text="Sign it.\n"), f"{TEXT}\nSign it.\n"),
        (Edit(APPEND, text="\n\n## End\n\nSign it."), f"{TEXT}\n## End\n\nSign it.\n"),
        (Edit(INSERT, "Be brief.", "- Be exact."), TEXT.replace("- Be kind", "- Be exact.\n- Be kind")),
        (Edit(INSERT, "Be", "x"), None),
        (Edit(INSERT, "Say what", "In one line."), TEXT.replace("changed.\n", "changed.\nIn one line.\n")),
        (Edit(INSERT, "- Be brief.\n", "- Be exact.\n"), TEXT.replace("- Be kind", "- Be exact.\n- Be kind")),
        (Edit(INSERT, "- Be kind.", "- Be exact."), f"{TEXT}- Be exact.\n"),
        (Edit(REPLACE, "brief", "short"), TEXT.replace("brief", "short")),
        (
            Edit(REPLACE, "- Be brief.\r\n- Be kind.", "- Be both.\r\n"),
            "# Notes\n\nSay what changed.\n\n- Be both.\n\n",
        ),
        (Edit(DELETE, "- Be brief."), TEXT.replace("- Be brief.\n", "")),
        (Edit(DELETE, "- Be brief.\n"), TEXT.replace("- Be brief.\n", "")),
        (Edit(DELETE, " what changed"), TEXT.replace(" what changed", "")),
    ],
)
def test_an_edit_is_applied_exactly(edit: Edit, text: str | None) -> None:
    result = edited(TEXT, [edit])
    assert (result.text, result.done) == ((TEXT, ()) if text is None else (text, (edit,)))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit(REPLACE, "nowhere", "x"), "The anchor is not there. Copy it exactly."),
        (Edit(REPLACE, "Be ", "x"), "The anchor occurs 2 times. Copy more of the text around it."),
        (Edit(DELETE, "nowhere"), "The anchor is not there. Copy it exactly."),
        (Edit(INSERT, "Be ", "x"), "The anchor occurs 2 times. Copy more of the text around it."),
        (Edit(REPLACE, " ", "x"), "replace needs an anchor: a text of the instructions, copied exactly."),
        (
            Edit(DELETE, "- Be  brief."),
            "The anchor is not there. The closest is '- Be brief.'. Copy it exactly.",
        ),
        (Edit(APPEND), "append needs a text."),
        (Edit(INSERT, "brief", "\n"), "insert_after needs a text."),
        (Edit(REPLACE, "brief", "brief"), "It changes nothing."),
        (Edit(APPEND, text=f"Use {TOKEN}."), "The text contains what looks like a secret."),
        (
            Edit(APPEND, text="For 'write the NOTE for the login fix of the shop', say so."),
            "The text repeats a task. Say what holds for every task of its kind.",
        ),
    ],
)
def test_what_cannot_be_applied_is_left_out_with_why(edit: Edit, reason: str) -> None:
    result = edited(TEXT, [edit], ["Please write the note for the login fix of the shop."])
    assert result == Edited(TEXT, (), (Refused(edit, reason),))


def test_a_short_task_is_known_again_and_what_stood_there_may_stay() -> None:
    short = Edit(APPEND, text="For 'Write notes of 5', say five.")
    assert edited(TEXT, [short], ["Write notes of 5."]).done == ()
    assert edited(TEXT, [short], ["Write notes."]).done == (short,)
    assert edited(f"{TEXT}\nWrite notes of 5 or 6.\n", [short], ["Write notes of 5."]).done == (short,)


def test_each_edit_sees_those_before_it_and_the_good_ones_stay() -> None:
    good, late = Edit(REPLACE, "brief", "short"), Edit(REPLACE, "Be short", "Keep short")
    gone = Edit(DELETE, "brief")
    result = edited(TEXT, [good, gone, late])
    assert result._replace(refused=()) == Edited(TEXT.replace("Be brief", "Keep short"), (good, late))
    assert [one.edit for one in result.refused] == [gone]


def test_secrets_are_never_told() -> None:
    shown = Refused(Edit(APPEND, text=f"Use {TOKEN}."), "No.").to_json()
    assert shown["text"] == "Use [secret:github-token]."


@given(
    st.text(alphabet="ab \n", max_size=30),
    st.lists(
        st.builds(
            Edit, st.sampled_from(KINDS), st.text(alphabet="ab \n", max_size=4), st.text(alphabet="abc\n", max_size=4)
        ),
        max_size=4,
    ),
)
@settings(max_examples=200, deadline=None)
def test_every_edit_is_either_done_or_refused(text: str, edits: list[Edit]) -> None:
    result = edited(text, edits)
    assert sorted([*result.done, *(one.edit for one in result.refused)]) == sorted(edits)
    assert (result.text != text) or not result.done or len(result.done) > 1
    assert all(one.reason for one in result.refused)


# what was no good


def test_rejected_candidates_are_remembered_and_bounded(tmp_path: Path) -> None:
    def clock() -> int:
        return 1_800_000_000 * 10**9

    buffer = Buffer(StateDatabase(str(tmp_path)), "/skills/one", clock)
    assert (buffer.read(), [*tmp_path.iterdir()]) == ([], [])
    for number in range(KEPT + 3):
        buffer.add(rejection(f"d{number}", [Edit(APPEND, text="x" * 900)], [Reason("gate-grown", "Too long.")]))
    buffer.add(rejection("d9", [], [Reason("gate-grown", "Too long.")]))
    rows = Buffer(StateDatabase(str(tmp_path)), "/skills/one", clock).read()
    assert [row.digest for row in rows] == [*(f"d{number}" for number in range(3, KEPT + 3) if number != 9), "d9"]
    assert rows[0].edits == (Edit(APPEND, text="x" * 500),)
    assert (rows[0].reasons, rows[0].time) == ((Reason("gate-grown", "Too long."),), "2027-01-15T08:00:00Z")
    assert Buffer(StateDatabase(str(tmp_path)), "/skills/other", clock).read() == []


@pytest.mark.parametrize("data", ["", "{", "[1]", "{}x", '{"digest": 1}', "[" * 100_000, '"ab"', "null"])
def test_what_is_damaged_is_left_out_and_told(tmp_path: Path, data: str) -> None:
    state = StateDatabase(str(tmp_path))
    buffer = Buffer(state, "/skills/one", lambda: 0)
    buffer.add(rejection("d", [], []))
    with state.write() as connection:
        connection.execute("UPDATE rejected_edits SET content = ?", (data,))
    assert (buffer.read(), buffer.problem) == ([], "A rejected candidate cannot be read; it is forgotten.")
    buffer.add(rejection("d", [], []))
    assert [row.digest for row in buffer.read()] == ["d"]
