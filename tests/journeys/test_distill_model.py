"""A model helps to distill: over the wire, from recordings, at a terminal; and the same work goes on without it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from learning.episodes import bash, release_notes, says, session, user, write
from learning.model_server import OPENAI, serving, status
from learning.recordings import claude_code

from journeys.machines import Machine
from journeys.terminals import Terminal
from whet.learning.distill.rounds import session_of
from whet.learning.distill.writer import write as ask
from whet.learning.evidence.session import evidence_of
from whet.learning.models.recorded import Recorded
from whet.learning.models.scripted import Scripted

if TYPE_CHECKING:
    from pathlib import Path

ASKED = "Write it? [Y/n/s/number] "
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"
KEY = "key-4f7c2b90d1e8"
DESCRIPTION = "Writes release notes, checks their links and tags the release. Use when release notes are due."
ANSWER: dict[str, Any] = {
    "title": "Write the release notes of a version and tag the release.",
    "name": "write-release-story",
    "description": DESCRIPTION,
    "triggers": ["changelog"],
    "steps": [
        {"title": "Write the notes, grouped by kind"},
        {"title": "Clean up", "code": "rm -rf /", "language": "bash"},
    ],
}
REFUSED = "Step 2 ('Clean up') was not accepted: 'rm' is not in the session; leave it out, or mark the step as new."
HELPED = "wrote it, for 54 tokens; 1 answer rejected."
posix = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine", WHET_MODEL_KEY=KEY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A session in which somebody typed a token."""
    told = release_notes()
    first = told.events[0]._replace(text=f"{told.events[0].text} My token is {TOKEN}.")
    return claude_code(tmp_path / "a.jsonl", told._replace(events=(first, *told.events[1:])))


def test_a_model_over_the_wire_words_the_skill(machine: Machine, file: Path) -> None:
    pytest.importorskip("openai", reason="the library openai comes with the extra `models`")
    with serving(*[OPENAI.says(json.dumps(ANSWER))] * 3) as server:
        spec = f"openai-compatible:{server.url}/v1#tiny"
        code, out, said = machine.says("distill", str(file), "--yes", "--model", spec)
    assert (code, out) == (0, f"{machine.root / 'write-release-story'}\n")
    assert said.split("\n")[0] == "Created write-release-story, version 1."
    assert f"{spec} {HELPED}" in said.split("\n")
    text = machine.text("write-release-story")
    assert "1. Write the notes, grouped by kind." in text
    assert ("rm -rf" in text, TOKEN in text) == (False, False)
    first, *again = server.requests
    assert len(again) == 2 and REFUSED.partition(" was ")[0] in json.dumps(again[0].body)
    asked = first
    assert TOKEN not in json.dumps([one.body for one in server.requests])
    assert (asked.headers["authorization"], KEY in json.dumps(asked.body)) == (f"Bearer {KEY}", False)


def test_the_settings_name_it_and_a_flag_keeps_everything_here(machine: Machine, file: Path) -> None:
    pytest.importorskip("openai", reason="the library openai comes with the extra `models`")
    with serving(*[OPENAI.says(json.dumps(ANSWER))] * 3) as server:
        machine.settings(f'model = "openai-compatible:{server.url}/v1#tiny"\n')
        without = machine.ask("distill", str(file), "--dry-run", "--no-model")
        assert (without["model"], server.requests) == (None, [])
        helped = machine.ask("distill", str(file), "--dry-run")
    assert (helped["skill"], helped["model"]) == (
        "write-release-story",
        {
            "name": f"openai-compatible:{server.url}/v1#tiny",
            "tokens": 54,
            "refused": [REFUSED],
        },
    )


def test_a_model_that_fails_costs_nothing_but_a_sentence(machine: Machine, file: Path) -> None:
    pytest.importorskip("openai", reason="the library openai comes with the extra `models`")
    with serving(status(401)) as server:
        spec = f"openai-compatible:{server.url}/v1#tiny"
        answer = machine.ask("distill", str(file), "--model", spec)
    assert (answer["created"], answer["model"]) == (True, None)
    told = f"The skill is an outline, made without {spec} (model-unavailable): {spec} does not accept the key."
    assert told in answer["warnings"]
    assert machine.ask("distill", str(file), "--model", "nonsense", code=2)["code"] == "bad-model"
    assert machine.ask("distill", str(file), "--model", spec, "--no-model", code=2)["code"] == "usage"
    assert machine.ask("distill", "--resume", "--model", spec, code=2)["code"] == "usage"


def scripted(answer: dict[str, Any]) -> Scripted:
    return Scripted(lambda _: json.dumps(answer))


def test_several_models_vote_on_the_skill(machine: Machine, file: Path, tmp_path: Path) -> None:
    names = []
    others: tuple[dict[str, Any], ...] = (
        {"triggers": ["changelog", "news"]},
        {"name": "bake-bread", "triggers": ["news"]},
        {},
    )
    for number, other in enumerate(others):
        cassette = tmp_path / f"{number}.jsonl"
        ask(
            evidence_of(session_of(str(file))),
            Recorded(str(cassette), scripted({**ANSWER, "steps": ANSWER["steps"][:1], **other})),
        )
        names.append(f"recorded:{cassette}")
    machine.settings(f"model = {', '.join(names)!r}\n")
    made = machine.ask("distill", str(file), "--dry-run")
    assert (made["skill"], made["model"]["name"]) == ("write-release-story", ", ".join(names))
    assert "changelog" in made["text"] and "news" in made["text"]


@posix
def test_rounds_show_what_the_model_proposes_and_go_on_without_it(machine: Machine, file: Path, tmp_path: Path) -> None:
    cassette = tmp_path / "answers.jsonl"
    ask(evidence_of(session_of(str(file))), Recorded(str(cassette), Scripted(lambda _: json.dumps(ANSWER))))
    with Terminal(machine, "distill", str(file), "--model", f"recorded:{cassette}") as terminal:
        terminal.until(f"Asking recorded:{cassette}…").until("- Write the notes, grouped by kind").until(ASKED).types(
            "2"
        )
        terminal.until("Name:\r\n    write-release-story").types("mine").until(ASKED, times=2)
        code, lines = terminal.interrupt()
    assert (code, lines[-1]) == (130, "Your answers are kept; `whet distill --resume` continues.")
    cassette.unlink()
    with Terminal(machine, "distill", "--resume") as terminal:
        terminal.until("changelog").until(DESCRIPTION[:30]).until(ASKED).types("")
        code, lines = terminal.end()
    assert (code, "Created mine, version 1." in lines) == (0, True)
    assert f"recorded:{cassette} wrote it" in " ".join(lines)
    assert "1. Write the notes, grouped by kind." in machine.text("mine")


def test_a_skill_with_files_beside_it_and_the_version_it_would_get(machine: Machine, tmp_path: Path) -> None:
    def reporting(quarter: str) -> str:
        rows = "\n".join(f"sales_{number} = load('table {number}', columns=['net_{number}'])" for number in range(200))
        done = session(
            user(f"Write the sales report of {quarter} with a script and check that it is complete."),
            says("Let me write the script."),
            write("/srv/sales/report.py", f"from store import load\n\n{rows}\n"),
            bash("python3 /srv/sales/report.py", "wrote 200 tables, complete"),
            says("Done. The report is complete."),
            project="/srv/sales",
            name=f"report-{quarter}",
        )
        return str(claude_code(tmp_path / f"{quarter}.jsonl", done))

    first, second = reporting("2026-Q1"), reporting("2026-Q2")
    code, out, said = machine.says("distill", first, "--yes", "--name", "report-sales")
    assert (code, out) == (0, f"{machine.root / 'report-sales'}\n")
    assert said.split("\n")[0] == "Created report-sales, version 1."
    assert os.listdir(machine.root / "report-sales" / "templates") == ["report.py"]
    tried = machine.ask("distill", first, "--dry-run", "--name", "report-sales")
    assert (tried["version"], tried["changes"], tried["created"]) == ("1", False, False)
    code, _, said = machine.says("distill", second, "--dry-run", "--name", "report-sales")
    assert (code, said.split("\n")[0]) == (0, "report-sales would get version 2, with 1 other file.")
    assert machine.ask("distill", second, "--yes", "--name", "report-sales")["version"] == "2"
