"""Approvals, Ctrl-C, kills: a run goes on where it stopped, in another process too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play, replies
from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError
from whet.guard.sandbox.levels import levels
from whet.learning.models.model import Completion
from whet.learning.models.recorded import Recorded
from whet.learning.models.scripted import Scripted
from whet.learning.transcripts.reader import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
ASKS = [("Bash", {"command": 'python3 -c "print(1)"'}), ("Bash", {"command": 'python3 -c "print(2)"'})]


def test_a_call_that_needs_approval_stops_the_run_until_it_is_decided(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash(python3:*) Bash(echo:*)")
    model = play([*ASKS, ("Bash", {"command": "echo last"})], ASKS[1:], "Done.")
    with world.library() as library:
        stopped = library.run("worker", model=model)
        assert (stopped.run.status, stopped.problem and stopped.problem.code) == ("waiting", "run-waiting")
        assert [(one.number, one.answer) for one in stopped.report.approvals] == [(1, "waiting"), (2, "waiting")]
        assert (stopped.report.commands, len(model.requests)) == ((), 1)
        name = stopped.run.id
        with pytest.raises(UsageError, match="2 calls wait for approval"):
            library.runs.resume(name, model=model)
        with pytest.raises(UsageError, match="No call with the number 3 waits"):
            library.runs.resume(name, approve=[3], model=model)
    with world.library() as library:  # another process would do the same
        done = library.runs.resume(name, approve=[2], model=model)
        answers = [(one.number, one.answer) for one in done.report.approvals]
        assert answers == [(1, "rejected"), (2, "approved"), (3, "approved")]  # the same call needs no second approval
        assert [one.command for one in done.report.commands] == [
            ASKS[1][1]["command"],
            "echo last",
            ASKS[1][1]["command"],
        ]
        assert replies(model)[0].startswith("The user did not approve this call.")
        assert (done.run.status, done.report.requests) == ("done", 3)
        said = read_transcript(done.run.transcript)
    assert [event.kind for event in said.events if event.kind in ("call", "result")] == ["call"] * 3 + [
        "result"
    ] * 3 + [
        "call",
        "result",
    ]


def test_ctrl_c_keeps_everything_and_a_model_that_fails_can_be_asked_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Read Write")
    turns = [("Write", {"file_path": "b.txt", "content": "b\n"})]
    plain = play(turns, "Done.")

    def interrupt(_request: object) -> Completion:
        if len(interrupted.requests) == 2:
            raise KeyboardInterrupt
        answer = plain.answer(interrupted.requests[-1])
        assert isinstance(answer, Completion)
        return answer

    interrupted = Scripted(interrupt)
    with world.library() as library:
        stopped = library.run("worker", model=interrupted)
        assert (stopped.run.status, [one.path for one in stopped.report.files]) == ("interrupted", ["b.txt"])
        failed = library.runs.resume(stopped.run.id, model=_empty(tmp_path))
        assert (failed.run.status, failed.problem and failed.problem.code) == ("failed", "run-failed")
        done = library.runs.resume(stopped.run.id, model=plain, apply=True)
        assert (done.run.status, done.report.applied, done.diff) == ("done", True, "")
        assert (world.project / "b.txt").read_text() == "b\n"
        assert [one.status for one in library.runs.list().runs] == ["done"]
        library.runs.discard(stopped.run.id)
        assert library.runs.list().runs == ()
        with pytest.raises(NotFoundError, match="There is no run"):
            library.runs.show(stopped.run.id)


def _empty(top: Path) -> Recorded:
    (top / "empty.jsonl").write_text("")
    return Recorded(str(top / "empty.jsonl"))


PROGRAM = """
import sys
from runtime.worlds import World, play
from pathlib import Path
from whet import Library
model = play([("Write", {"file_path": "b.txt", "content": "b"}), ("Bash", {"command": "sleep 60"})], "Done.")
env = {"HOME": sys.argv[3], "PATH": sys.argv[4]}
Library.open(home=sys.argv[1], project=sys.argv[2], env=env).run("worker", model=model)
"""


def test_a_run_that_was_killed_is_shown_and_resumed(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash(sleep:*) Write")
    before = world.contents()
    here = os.path.dirname(os.path.dirname(__file__))
    words = [sys.executable, "-c", PROGRAM, str(world.state), str(world.project), str(world.home), world.env["PATH"]]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": here}) as process:
        journal, begun = None, time.monotonic()
        while time.monotonic() - begun < 60:
            journal = next(iter(world.state.glob("runs/*/journal.jsonl")), None)
            if journal and "sleep 60" in journal.read_text() and journal.read_text().count('"decided"') == 2:
                break
            time.sleep(0.05)
        assert journal is not None
        name = journal.parent.name
        with world.library() as library:
            assert library.runs.show(name).run.status == "running"
            with pytest.raises(ConflictError, match="is still running"):
                library.runs.resume(name)
        process.send_signal(signal.SIGKILL)
    model = play([("Write", {"file_path": "b.txt", "content": "b"}), ("Bash", {"command": "sleep 60"})], "Done.")
    with journal.open("a") as file:
        file.write('{"kind": "said", "ro')  # cut off in the middle of a line
    with world.library() as library:
        killed = library.runs.show(name)
        assert (killed.run.status, killed.run.reason) == ("interrupted", "It was killed.")
        assert [(one.path, one.change) for one in killed.report.files] == [("b.txt", "added")]
        done = library.runs.resume(name, model=model)
        again = library.runs.show(name)
    assert replies(model)[1].startswith("The run was interrupted during this call.")
    assert [(one.command, one.code, one.problem) for one in done.report.commands] == [("sleep 60", None, "interrupted")]
    assert (done.run.status, again.report, world.contents()) == ("done", done.report, before)


def test_a_run_does_not_start_with_less_than_it_needs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Read WebSearch mcp__wiki__search TodoWrite")
    world.skill("Read", name="fast", more="model: haiku\n")
    with world.library() as library:
        with pytest.raises(RefusedError) as tools:
            library.run("worker", model=play("Done."))
        with pytest.raises(UsageError) as named:
            library.run("fast")
        with pytest.raises(UsageError) as unnamed:
            library.run("worker")
        assert (
            library.run("worker", model=play("Done."), without=["WebSearch", "mcp__wiki__search"]).run.status == "done"
        )
    assert tools.value.details == {"tools": ["WebSearch", "mcp__wiki__search"]}
    assert [error.value.code for error in (tools, named, unnamed)] == [
        *("run-tool-missing", "run-model-missing", "run-model-missing")
    ]
    file = world.state / "config.toml"
    assert unnamed.value.hint == f'Pass `--model`, or set model = "openai:gpt-5" in {file}.'
    cassette = tmp_path / "answers.jsonl"
    with world.library() as library:
        recording = Recorded(str(cassette), play([("Read", {"file_path": "a.txt"})], "Done."))
        library.run("fast", model=recording)
    (world.state / "config.toml").write_text(f'[models]\nhaiku = "recorded:{cassette}"\n')
    with world.library() as library:
        played = library.run("fast")
    start = world.journal(played.run.id)[0]
    assert (played.report.model, start["model"], start["asked_model"]) == (
        *("scripted:test", f"recorded:{cassette}", "haiku"),
    )


def test_a_script_runs_without_a_model(tmp_path: Path) -> None:
    world = World(tmp_path)
    place = world.skill("Read")
    (place / "scripts").mkdir()
    (place / "scripts" / "add.py").write_text(
        "from pathlib import Path\nfrom sys import argv\n"
        "Path('made.txt').write_text(' '.join(argv[1:]))\nprint(Path('a.txt').read_text())\n"
    )
    (place / "scripts" / "fail.sh").write_text("echo why >&2\nexit 3\n")
    with world.library() as library:
        done = library.runs.run_script("worker", "scripts/add.py", ["x", "y z"])
        failed = library.runs.run_script("worker", "scripts/fail.sh")
        with pytest.raises(NotFoundError, match="has no script"):
            library.runs.run_script("worker", "../../x.py")
        assert not (world.project / "made.txt").exists()
        library.runs.resume(done.run.id, apply=True)
    assert (world.project / "made.txt").read_text() == "x y z"
    assert (done.run.status, done.report.model, done.report.commands[0].code) == ("done", "", 0)
    assert (failed.run.status, failed.report.commands[0].code) == ("failed", 3)
    assert (done.report.output, failed.report.output) == ("one\ntwo", "why\nExit code 3.")
    assert json.loads(json.dumps(failed.to_json()))["code"] == "run-failed"


def test_old_runs_are_deleted_when_another_one_starts(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Read")
    with world.library() as library:
        old, new = (library.run("worker", model=play("Done.")).run.id for _ in range(2))
        journal = world.state / "runs" / old / "journal.jsonl"
        month = 31 * 86_400
        os.utime(journal, (time.time() - month, time.time() - month))
        third = library.run("worker", model=play("Done."))
        assert third.removed == (old,)
        assert {one.id for one in library.runs.list().runs} == {new, third.run.id}
        assert not (world.state / "runs" / old).exists()
    (world.state / "config.toml").write_text("run_days = 0\n")
    for name in (new, third.run.id):
        os.utime(world.state / "runs" / name / "journal.jsonl", (1, 1))
    with world.library() as library:
        assert library.run("worker", model=play("Done.")).removed == ()
        assert len(library.runs.list().runs) == 3
