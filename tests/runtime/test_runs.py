"""A run from beginning to end: what the model may do, what comes back, and that the project stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play
from whet.guard.sandbox.levels import levels

if TYPE_CHECKING:
    from pathlib import Path

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
