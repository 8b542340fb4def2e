"""Feedback about the skills of a library on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from whet import Library
from whet.errors import NotFoundError
from whet.routing.feedback import Feedback
from whet.routing.feedback_answer import forget, give, listed

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
    feedback = Feedback(str(tmp_path / "state"), lambda: 10**9)
    yield World(feedback, library)
    feedback.close()
    library.close()


def test_feedback_is_given_and_listed(world: World) -> None:
    feedback, lookout = world.feedback, world.library.lookout
    assert give(feedback, lookout, "PDF", "Fill it", fits=True) == {
        "success": True,
        "name": "pdf",
        "fits": True,
        "changed": True,
        "examples": 1,
        "counterexamples": 0,
    }
    assert give(feedback, lookout, "pdf", "fill it", fits=True)["changed"] is False
    give(feedback, lookout, "pdf", "Sing", fits=False, origin="agent")
    answer = listed(feedback, lookout)
    assert answer == listed(feedback, lookout, "pdf")
    assert answer["count"] == 2
    assert answer["feedback"][0] == {
        "time": "1970-01-01T00:00:01Z",
        "skill": "pdf",
        "message": "Sing",
        "fits": False,
        "origin": "agent",
    }


def test_an_unknown_skill_is_not_found(world: World) -> None:
    calls: list[Callable[[], object]] = [
        lambda: give(world.feedback, world.library.lookout, "docx", "x", fits=True),
        lambda: listed(world.feedback, world.library.lookout, "docx"),
        lambda: forget(world.feedback, world.library.lookout, "docx"),
    ]
    for call in calls:
        with pytest.raises(NotFoundError):
            call()


def test_feedback_can_be_taken_back_when_the_skill_is_gone(world: World) -> None:
    feedback, lookout = world.feedback, world.library.lookout
    feedback.record("old-one", "x", fits=True)
    assert [item["skill"] for item in listed(feedback, lookout, "Old_One")["feedback"]] == ["old-one"]
    give(feedback, lookout, "pdf", "Fill it", fits=True)
    give(feedback, lookout, "pdf", "Stamp it", fits=False)
    with pytest.raises(NotFoundError) as caught:
        forget(feedback, lookout, "pdf", "Never said")
    assert caught.value.code == "no-such-feedback"
    kept = {"success": True, "name": "pdf", "forgotten": 1, "examples": 0, "counterexamples": 1}
    assert forget(feedback, lookout, "pdf", "FILL it") == kept
    assert forget(feedback, lookout, "old-one")["forgotten"] == 1
    assert forget(feedback, lookout, "pdf") == {**kept, "counterexamples": 0}
