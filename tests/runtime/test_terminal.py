"""A person at a terminal approves calls and takes the diff; a run goes on in another process after a kill."""

from __future__ import annotations

import json
import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from journeys.machines import WHET
from journeys.terminals import Terminal

from runtime.worlds import World, play
from whet.guard.sandbox.levels import levels
from whet.learning.models.recorded import Recorded

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX"),
    pytest.mark.skipif(not levels(), reason="this machine offers no sandbox"),
]
FIRST, SECOND = ({"command": f'python3 -c "print({number})"'} for number in (1, 2))


def _recorded(world: World, answers: list[bool]) -> str:
    """The answers of a model that asks for two calls and writes a file, as this person decides."""
    world.skill("Bash(python3:*) Write")
    wanted = [("Bash", FIRST), ("Bash", SECOND), ("Write", {"file_path": "b.txt", "content": "made\n"})]
    cassette = str(world.top / "answers.jsonl")
    left = iter(answers)
    with world.library() as library:
        model = Recorded(cassette, play(wanted, "Both commands ran."))
        done = library.run("worker", "go", model=model, confirm=lambda _: next(left))
        library.runs.discard(done.run.id)
    return f"recorded:{cassette}"


def _machine(world: World) -> Any:
    return SimpleNamespace(env={**world.env, "PYTHONUTF8": "1"}, work=world.project)


def _ask(world: World, *words: str) -> dict[str, Any]:
    command = [*WHET, *words, "--json"]
    done = subprocess.run(command, env=world.env, cwd=world.project, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_a_person_at_a_terminal_decides_about_calls_and_the_diff(tmp_path: Path) -> None:
    world = World(tmp_path)
    model = _recorded(world, [False, True])
    with Terminal(_machine(world), "run", "worker", "--model", model, "--", "go") as terminal:
        terminal.until('Bash python3 -c "print(1)"').until("Allow it? [y/N]").types("")
        terminal.until("Allow it? [y/N]", 2).types("y")
        terminal.until("Apply the changes to 1 file of the project? [y/N, d shows the difference]")
        assert not (world.project / "b.txt").exists()
        terminal.types("d").until("+made").types("y")
        code, lines = terminal.end()
    assert (code, (world.project / "b.txt").read_text()) == (0, "made\n")
    text = "\n".join(lines)
    assert "1 rejected" in text and "2 approved" in text and "The model says (not checked)" in text
    run = _ask(world, "run", "--list")["runs"][0]["id"]
    report = _ask(world, "run", "--show", run)["report"]
    assert [one["command"] for one in report["commands"]] == [SECOND["command"]]  # whatever the model says
    assert report["applied"] is True


def test_a_run_that_is_killed_at_a_question_goes_on_in_another_process(tmp_path: Path) -> None:
    world = World(tmp_path)
    model = _recorded(world, [True, True])
    before = world.contents()
    with Terminal(_machine(world), "run", "worker", "--model", model, "--", "go") as terminal:
        terminal.until("Allow it? [y/N]")
        terminal.process.kill()
        terminal.process.wait()
    killed = _ask(world, "run", "--list")["runs"][0]
    assert (killed["status"], killed["reason"], world.contents()) == ("interrupted", "It was killed.", before)
    waits = _ask(world, "run", "--show", killed["id"])["report"]["approvals"]
    assert [(one["number"], one["answer"]) for one in waits] == [(1, "waiting")]
    stopped = _ask(world, "run", "--resume", killed["id"], "--approve", "1")
    assert (stopped["code"], stopped["run"]["status"]) == ("run-waiting", "waiting")
    done = _ask(world, "run", "--resume", killed["id"], "--approve", "2")
    assert [one["command"] for one in done["report"]["commands"]] == [FIRST["command"], SECOND["command"]]
    assert (done["run"]["status"], world.contents()) == ("done", before)
    assert _ask(world, "run", "--resume", killed["id"], "--apply")["report"]["applied"] is True
    assert world.contents() == {**before, "b.txt": "made\n"}
