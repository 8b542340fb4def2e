"""Small edits of a text: applied exactly, or left out with why."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.learning.improve import Edit, Edited, edited

TEXT = "# Notes\n\nSay what changed.\n\n- Be brief.\n- Be kind.\n"
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (Edit("Sign it.\n"), f"{TEXT}\nSign it.\n"),
        (Edit("\n\n## End\n\nSign it."), f"{TEXT}\n## End\n\nSign it.\n"),
        (Edit("short", "brief"), TEXT.replace("brief", "short")),
        (Edit("- Be both.\r\n", "- Be brief.\r\n- Be kind."), "# Notes\n\nSay what changed.\n\n- Be both.\n\n"),
        (Edit("", "- Be brief.\n"), TEXT.replace("- Be brief.\n", "")),
        (Edit("", " what changed"), TEXT.replace(" what changed", "")),
    ],
)
def test_an_edit_is_applied_exactly(edit: Edit, text: str) -> None:
    assert edited(TEXT, [edit]) == Edited(text, (edit,))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("x", "nowhere"), "The anchor is not there. Copy it exactly."),
        (Edit("x", "Be "), "The anchor occurs 2 times. Copy more of the text around it."),
        (Edit("", "- Be  brief."), "The anchor is not there. The closest is '- Be brief.'. Copy it exactly."),
        (Edit(), "It changes nothing."),
        (Edit("brief", "brief"), "It changes nothing."),
        (Edit(f"Use {TOKEN}."), "The text contains what looks like a secret."),
        (
            Edit("For 'write the NOTE for the login fix of the shop', say so."),
            "The text repeats a task. Say what holds for every task of its kind.",
        ),
    ],
)
def test_what_cannot_be_applied_is_left_out_with_why(edit: Edit, reason: str) -> None:
    result = edited(TEXT, [edit], ["Please write the note for the login fix of the shop."])
    assert result == Edited(TEXT, (), (edit._replace(reason=reason),))


def test_a_short_task_is_known_again_and_what_stood_there_may_stay() -> None:
    short = Edit("For 'Write notes of 5', say five.")
    assert edited(TEXT, [short], ["Write notes of 5."]).done == ()
    assert edited(TEXT, [short], ["Write notes."]).done == (short,)
    assert edited(f"{TEXT}\nWrite notes of 5 or 6.\n", [short], ["Write notes of 5."]).done == (short,)


def test_each_edit_sees_those_before_it_and_the_good_ones_stay() -> None:
    good, late = Edit("short", "brief"), Edit("Keep short", "Be short")
    gone = Edit("", "brief")
    result = edited(TEXT, [good, gone, late])
    assert result._replace(refused=()) == Edited(TEXT.replace("Be brief", "Keep short"), (good, late))
    assert [one._replace(reason="") for one in result.refused] == [gone]


def test_secrets_are_never_told() -> None:
    shown = Edit(f"Use {TOKEN}.", reason="No.").to_json()
    assert shown["text"] == "Use [secret:github-token]."


@given(
    st.text(alphabet="ab \n", max_size=30),
    st.lists(
        st.tuples(st.text(alphabet="abc\n", max_size=4), st.text(alphabet="ab \n", max_size=4)).map(
            lambda two: Edit(*two)
        ),
        max_size=4,
    ),
)
@settings(max_examples=200, deadline=None)
def test_every_edit_is_either_done_or_refused(text: str, edits: list[Edit]) -> None:
    result = edited(text, edits)
    assert sorted([*result.done, *(one._replace(reason="") for one in result.refused)]) == sorted(edits)
    assert (result.text != text) or not result.done or len(result.done) > 1
    assert all(one.reason for one in result.refused)
