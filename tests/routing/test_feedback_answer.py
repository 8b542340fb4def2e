"""Feedback about the skills of a library on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from whet import Library
from whet.errors import NotFoundError, UsageError
from whet.routing.feedback import Feedback, forget, give, listed
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class World(NamedTuple):
    feedback: Feedback
    library: Library


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    directory = tmp_path / "skills" / "pdf"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: pdf\ndescription: Fills forms.\n---\nDo it.\n", encoding="utf-8")
    library = Library.open([tmp_path / "skills"], home=tmp_path / "state")
    feedback = Feedback(StateDatabase(str(tmp_path / "state")), lambda: 10**9)
    yield World(feedback, library)
    feedback.state.close()
    library.close()


def test_feedback_is_given_and_listed(world: World) -> None:
    feedback, workspace = world.feedback, world.library.workspace
    assert give(feedback, workspace, "PDF", "Fill it", fits=True).to_json() == {
        "success": True,
        "name": "pdf",
        "fits": True,
        "changed": True,
        "examples": 1,
        "counterexamples": 0,
        "notes": [],
    }
    assert give(feedback, workspace, "pdf", "fill it", fits=True).to_json()["changed"] is False
    give(feedback, workspace, "pdf", "Sing", fits=False, origin="agent")
    answer = listed(feedback, workspace).to_json()
    assert answer == listed(feedback, workspace, "pdf").to_json()
    assert answer["count"] == 2
    assert answer["feedback"][0] == {
        "time": "1970-01-01T00:00:01Z",
        "skill": "pdf",
        "message": "Sing",
        "fits": False,
        "origin": "agent",
    }


def test_feedback_on_a_skill_that_cannot_come_up_says_so(world: World) -> None:
    world.library.settings.disable("pdf")
    (note,) = give(world.feedback, world.library.workspace, "pdf", "Fill it", fits=True).to_json()["notes"]
    assert note == {
        "code": "disabled",
        "severity": "info",
        "skill": "pdf",
        "path": world.library.card("pdf").path,
        "message": "pdf never triggers automatically, whatever the feedback: Disabled by whet disable.",
        "hint": "Run `whet enable pdf` to enable it.",
        "line": None,
    }


def test_messages_for_no_skill(world: World) -> None:
    feedback, workspace = world.feedback, world.library.workspace
    with pytest.raises(UsageError) as caught:
        give(feedback, workspace, None, "Sing to me", fits=True)
    assert caught.value.code == "skill-not-named"
    kept = {"success": True, "name": None, "examples": 0, "counterexamples": 1}
    assert give(feedback, workspace, None, "Sing to me", fits=False).to_json() == {
        **kept,
        "fits": False,
        "changed": True,
        "notes": [],
    }
    assert [item["skill"] for item in listed(feedback, workspace).to_json()["feedback"]] == [None]
    assert listed(feedback, workspace, "").to_json() == listed(feedback, workspace).to_json()
    with pytest.raises(NotFoundError) as missing:
        forget(feedback, workspace, None, "Never said")
    assert (missing.value.code, missing.value.message) == (
        "no-such-feedback",
        "There is no feedback on this message and no skill.",
    )
    assert forget(feedback, workspace, None).to_json() == {**kept, "forgotten": 1, "counterexamples": 0}


def test_an_unknown_skill_is_not_found(world: World) -> None:
    calls: list[Callable[[], object]] = [
        lambda: give(world.feedback, world.library.workspace, "docx", "x", fits=True).to_json(),
        lambda: listed(world.feedback, world.library.workspace, "docx").to_json(),
        lambda: forget(world.feedback, world.library.workspace, "docx").to_json(),
    ]
    for call in calls:
        with pytest.raises(NotFoundError):
            call()


def test_feedback_can_be_taken_back_when_the_skill_is_gone(world: World) -> None:
    feedback, workspace = world.feedback, world.library.workspace
    feedback.record("old-one", "x", fits=True)
    assert [item["skill"] for item in listed(feedback, workspace, "Old_One").to_json()["feedback"]] == ["old-one"]
    give(feedback, workspace, "pdf", "Fill it", fits=True)
    give(feedback, workspace, "pdf", "Stamp it", fits=False)
    with pytest.raises(NotFoundError) as caught:
        forget(feedback, workspace, "pdf", "Never said")
    assert caught.value.code == "no-such-feedback"
    kept = {"success": True, "name": "pdf", "forgotten": 1, "examples": 0, "counterexamples": 1}
    assert forget(feedback, workspace, "pdf", "FILL it").to_json() == kept
    assert forget(feedback, workspace, "old-one").to_json()["forgotten"] == 1
    assert forget(feedback, workspace, "pdf").to_json() == {**kept, "counterexamples": 0}
