"""A run from beginning to end: what the model may do, what comes back, and that the project stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play
from whet.guard.sandbox.levels import levels
from whet.learning.models.model import Call, Completion
from whet.learning.models.scripted import Scripted

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.models.model import Request

pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")


def test_a_fork_that_obeys(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash(git log:*) Bash(wc:*) Read Edit Write")
    before = world.contents()
    model = play(
        [("Bash", {"command": "git log --oneline"}), ("Read", {"file_path": "a.txt"})],
        [
            ("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "three"}),
            ("Write", {"file_path": "docs/new.md", "content": "# New\n"}),
            ("Bash", {"command": "wc -l a.txt"}),
        ],
        "Changed a line.",
    )
    with world.library() as library:
        result = library.run("worker", "change it", model=model)
        assert world.contents() == before
        assert result.run.status == "done"
        report = result.report
        assert [(one.path, one.change, one.held) for one in report.files] == [
            ("a.txt", "changed", ""),
            ("docs/new.md", "added", ""),
        ]
        assert [(one.command, one.code) for one in report.commands] == [("git log --oneline", 0), ("wc -l a.txt", 0)]
        assert (report.denied, report.approvals, report.summary) == ((), (), "Changed a line.")
        applied = library.runs.resume(result.run.id, apply=True)
        assert applied.report.applied
    assert world.contents() == {**before, "a.txt": "one\nthree\n", "docs/new.md": "# New\n"}


def test_a_model_that_names_every_call_alike_is_answered_each_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Read Write")
    calls = [Call("1", "Write", {"file_path": name, "content": name}) for name in ("b.txt", "c.txt", "d.txt")]

    def answer(request: Request) -> Completion | str:
        said = sum(message.role == "assistant" for message in request.messages)
        return (Completion("", calls=tuple(calls[:2])), Completion("", calls=(calls[2],)), "Done.")[said]

    with world.library() as library:
        done = library.run("worker", model=Scripted(answer))
    assert [one.path for one in done.report.files] == ["b.txt", "c.txt", "d.txt"]
    assert (done.run.status, done.report.calls) == ("done", (("Write", 3),))
