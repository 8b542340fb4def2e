"""The whole loop, offline, from recorded answers: a session becomes a skill, fails its evals, and gets better or stays.

The answers are recorded in the test itself, against a server on this machine that speaks as OpenAI's API does, and
played back through the real command line on another machine.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from learning.episodes import release_notes
from learning.model_server import OPENAI, Answer, serving
from learning.recordings import claude_code
from sources.repositories import wait_until

from journeys.machines import Machine
from journeys.terminals import Terminal
from whet import Library
from whet.guard.sandbox.levels import levels

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from learning.model_server import Asked

pytestmark = pytest.mark.skipif(not levels(), reason="evals run in a sandbox, and this machine offers none")

NAME = "our-notes"
BETTER = {"why": "Readers ask how to upgrade.", "text": "End with a section `## Upgrading`."}
WORSE = {"why": "It is long.", "text": "Leave out what is about upgrading."}
UPGRADING = {"type": "contains", "value": "## Upgrading"}
THANKS = {"type": "contains", "value": "Thanks to"}
SENTENCE = "The fix of the login is in the notes"
posix = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")


def evals(*expectations: Any) -> str:
    return json.dumps({"evals": [{"id": "login", "prompt": "Write the notes of 5.0.", "expectations": expectations}]})


def obedient(edit: dict[str, str]) -> Callable[[Asked], Answer]:
    """A model that does what its instructions say, grades by what it reads, and proposes this edit."""

    def answer(asked: Asked) -> Answer:
        system, *said = (text for _, text in OPENAI.said(asked))
        if system.startswith("You improve"):
            return OPENAI.says(json.dumps({"edits": [edit]}))
        if system.startswith("You grade"):
            line = "Fix the login (#12)"
            results = [{"number": 1, "evidence": line, "passed": line in said[-1]}]
            return OPENAI.says(json.dumps({"results": results}))
        upgrading = "## Upgrading" in said[0] and WORSE["text"] not in said[0]
        return OPENAI.says("- Fix the login (#12)\n" + ("\n## Upgrading\n\nNothing to do.\n" if upgrading else ""))

    return answer


def put(machine: Machine, *expectations: Any) -> None:
    """Evals, as whoever looks after a skill writes them."""
    folder = machine.root / NAME / "evals"
    folder.mkdir(exist_ok=True)
    (folder / "evals.json").write_text(evals(*expectations), encoding="utf-8")


def rehearse(machine: Machine, session: Path, good: Path, bad: Path, patch: pytest.MonkeyPatch) -> None:
    """Record every answer that the journey needs."""
    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library, serving() as server:
        model = f"openai-compatible:{server.url}/v1#tiny"
        patch.setattr(server, "next", obedient(BETTER))
        library.learning.distill(str(session), name=NAME)
        put(machine, UPGRADING, SENTENCE)
        library.learning.eval_skill(NAME, f"recording:{good}#{model}")
        assert library.learning.improve(NAME, f"recording:{good}#{model}", write=True).to_json()["written"]
        put(machine, UPGRADING, SENTENCE, THANKS)
        patch.setattr(server, "next", obedient(WORSE))
        for _ in range(2):
            assert not library.learning.improve(NAME, f"recording:{bad}#{model}", rounds=1).to_json()["improved"]


def test_a_session_becomes_a_skill_that_gets_better_by_its_evals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = claude_code(tmp_path / "session.jsonl", release_notes())
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    rehearse(Machine(tmp_path / "rehearsal"), session, good, bad, monkeypatch)
    machine = Machine(tmp_path / "machine")

    made = machine.ask("distill", str(session), "--yes", "--name", NAME)
    assert (made["skill"], made["version"]) == (NAME, "1")
    put(machine, UPGRADING, SENTENCE)
    measure = ("eval", NAME, "--model", f"recorded:{good}", "--min-pass-rate", "1")
    first = machine.ask(*measure, code=1)
    assert (first["code"], first["summary"]["with_skill"]["pass_rate"]["mean"]) == ("below-minimum", 0.5)

    before = machine.text(NAME)
    code, out, said = machine.says("learn", "improve", NAME, "--model", f"recorded:{good}", "--write")
    assert (code, machine.text(NAME)) == (0, before.replace('version: "1"', 'version: "2"') + f"\n{BETTER['text']}\n")
    assert out.split("\n")[0].split("\t")[:4] == ["1", "accepted", "0.50", "1.00"]
    assert f"+{BETTER['text']}\n" in out
    assert said.split("\n")[1:] == [
        "Every expectation is met. [all-met]",
        f"Written; {NAME} is now at version 2.",
        "",
    ]
    assert machine.ask(*measure)["summary"]["with_skill"]["pass_rate"]["mean"] == 1.0
    entries = machine.ask("history", NAME)["entries"]
    assert [(entry["actor"], entry["origin"], entry["action"]) for entry in entries] == [
        ("user", "foreground", "create"),
        ("unknown", "found", "found"),
        ("agent", "background", "edit"),
    ]
    assert entries[-1]["reason"].startswith("Improved by its evals: 0.50 before, 1.00 after (")

    put(machine, UPGRADING, SENTENCE, THANKS)
    kept = machine.text(NAME)
    attempt = ("learn", "improve", NAME, "--model", f"recorded:{bad}", "--rounds", "1", "--write")
    rejected = machine.ask(*attempt, code=1)
    assert (rejected["code"], rejected["rounds"][0]["verdict"]) == ("not-improved", "rejected")
    assert rejected["error"] == (
        f"{NAME} is unchanged: no candidate is better. The last one: Worse than before: login from 0.67 to 0.33."
    )
    assert (machine.text(NAME), machine.ask("pending")["proposals"]) == (kept, [])
    assert machine.ask("rollback", NAME, "--to", "2")["success"]
    assert machine.text(NAME) == before


@posix
def test_an_interrupt_while_evals_run_changes_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine")
    machine.ask("create", NAME, "--description", "Writes notes.", "--body", "Write notes.")
    put(machine, UPGRADING)
    before = machine.text(NAME)
    with serving(Answer(mute=True)) as server:
        model = f"openai-compatible:{server.url}/v1#tiny"
        with Terminal(machine, "learn", "improve", NAME, "--model", model, "--write") as terminal:
            terminal.until(f"0 %  Evals of {NAME}: 0 of 1 run")
            wait_until(lambda: bool(server.requests), 90)  # a model library loads slowly on a busy machine
            terminal.process.send_signal(signal.SIGINT)
            code, lines = terminal.end()
    assert (code, "error: Interrupted." in lines) == (130, True)
    assert (machine.text(NAME), machine.ask("pending")["proposals"]) == (before, [])
