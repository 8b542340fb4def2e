"""The right skill for a message, on the command line: asked, judged, corrected; the index damaged, locked or lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from rights import GIVE_UP

from journeys.machines import WHET, Machine

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and permissions of POSIX")
SKILLS = {
    "pdf-forms": ("Fills in PDF forms. Use when a PDF form has to be filled in.", "# Forms\n\nList the fields.\n"),
    "backport": ("Backports a fix to a release branch. Use when asked to backport.", "Use git cherry-pick -x.\n"),
    "charts": ("Draws charts from a CSV file. Use when asked for a plot.", "Label the axes.\n"),
    "poems": ("Writes verse in any metre.", "Count the syllables of each line.\n"),
}
BACKPORT = "please backport this fix to the release branch"
FORM = "fill in this pdf form"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "machine")
    for name, (description, body) in SKILLS.items():
        write(made, name, description, body)
    return made


def write(machine: Machine, name: str, description: str, body: str = "Do it.\n") -> Path:
    path = machine.root / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}", encoding="utf-8")
    return path.parent


def first(answer: dict[str, Any]) -> str:
    name = answer["results"][0]["name"]
    assert isinstance(name, str)
    return name


def codes(answer: dict[str, Any]) -> list[str]:
    return [note["code"] for note in answer["notes"]]


def index(machine: Machine) -> Path:
    return machine.state / "cache.db"


def test_a_message_finds_its_skill_and_learns_from_what_people_say(machine: Machine) -> None:
    assert first(machine.ask("find", FORM)) == "pdf-forms"
    assert machine.ask("detect", BACKPORT)["skill"] == "backport"
    assert machine.ask("detect", "good morning")["decision"] == "none"
    assert machine.says("detect", "/poems for my mother")[1] == "must\tpoems\t1.0000\tthe message names it\n"
    code, out, _ = machine.says("index", "--for", BACKPORT, "--limit", "1", "--no-rules")
    assert (code, out.splitlines()[0]) == (0, f"▸ backport: {SKILLS['backport'][0]}")
    assert [item["name"] for item in machine.ask("list", "--query", "syllables")["skills"]] == ["poems"]

    before = machine.ask("detect", BACKPORT)["confidence"]
    assert machine.run("feedback", "backport", BACKPORT, "--does-not-fit").returncode == 0
    refused = machine.ask("detect", BACKPORT)
    assert refused["skill"] != "backport" or refused["confidence"] < before
    assert machine.run("feedback", "backport", BACKPORT, "--fits").returncode == 0
    assert machine.ask("detect", BACKPORT)["skill"] == "backport"
    assert machine.run("feedback", "poems", "something for the wedding", "--fits").returncode == 0
    assert first(machine.ask("find", "something for the wedding")) == "poems"
    assert machine.ask("feedback", "--list")["count"] == 2


def test_evals_and_duplicates_are_told(machine: Machine) -> None:
    rows = [{"query": BACKPORT, "should_trigger": True}, {"query": "good morning", "should_trigger": False}]
    evals = machine.root / "backport" / "evals"
    evals.mkdir()
    (evals / "triggers.json").write_text(json.dumps(rows), encoding="utf-8")
    answer = machine.ask("eval", "triggers", "--min-recall", "1")
    assert [(item["skill"], item["cases"]) for item in answer["skills"]] == [("backport", 2)]
    write(machine, "poems", "Draws nothing at all.", "Nothing.\n")
    (evals / "triggers.json").write_text(json.dumps([{"query": "the sky is blue", "should_trigger": True}]))
    assert machine.ask("eval", "triggers", "--min-recall", "1", code=1)["code"] == "below-minimum"

    write(machine, "fill-forms", *SKILLS["pdf-forms"])
    (pair,) = machine.ask("duplicates")["pairs"]
    assert {pair["one"], pair["other"]} == {"pdf-forms", "fill-forms"}


def test_a_damaged_index_is_made_again_and_said_once(machine: Machine) -> None:
    machine.ask("find", FORM)
    for companion in machine.state.glob("cache.db-*"):
        companion.unlink()
    index(machine).write_bytes(b"nothing of the kind" * 1000)
    told = machine.ask("find", FORM)
    assert first(told) == "pdf-forms"
    assert len([*machine.state.glob("cache.db.broken-*")]) == 1
    again = machine.ask("find", FORM)
    assert (first(again), codes(again)) == ("pdf-forms", [])
    assert [entry for entry in machine.ask("doctor")["report"] if entry["severity"] == "error"] == []


UNPRIVILEGED = (
    """
import sys
from whet.interfaces.cli import main
"""
    + GIVE_UP
    + """
sys.exit(main(sys.argv[1:]))
"""
)


@posix
@pytest.mark.parametrize("known", [True, False], ids=["with an index", "without one"])
def test_a_state_that_may_only_be_read_keeps_nobody_from_finding(known: bool, machine: Machine) -> None:
    if known:
        machine.ask("find", FORM)
    write(machine, "tides", "Tells the tides of a harbour.")
    allow(machine.state, 0o555, 0o444)
    try:
        for message, name in ((FORM, "pdf-forms"), ("when are the tides", "tides")):
            run = subprocess.run(
                [sys.executable, "-P", "-c", UNPRIVILEGED, "find", message, "--json"],
                env=machine.env,
                cwd=machine.work,
                capture_output=True,
                encoding="utf-8",
            )
            told = json.loads(run.stdout)
            assert (run.returncode, first(told), codes(told)) == (0, name, ["index-in-memory"])
    finally:
        allow(machine.state, 0o755, 0o644)


def allow(top: Path, directories: int, files: int) -> None:
    for directory, _, names in os.walk(top):
        os.chmod(directory, 0o755)
        for name in names:
            os.chmod(os.path.join(directory, name), files)
    for directory, _, _ in os.walk(top, topdown=False):
        os.chmod(directory, directories)


def started(machine: Machine, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*WHET, *words, "--json"],
        env=machine.env,
        cwd=machine.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def crowd(machine: Machine, count: int) -> None:
    for number in range(count):
        write(
            machine, f"errand-{number:03}", f"Runs errand number {number} in the town.", f"Go to shop {number}.\n" * 20
        )


def test_several_at_once_bring_the_index_in_step(machine: Machine) -> None:
    crowd(machine, 100)
    for round_ in range(2):
        runs = [started(machine, "find", FORM) for _ in range(4)]
        told = [(*run.communicate(), run.returncode) for run in runs]
        assert [(err, code) for _, err, code in told] == [("", 0)] * 4
        answers = [json.loads(out) for out, _, _ in told]
        assert [(first(answer), codes(answer)) for answer in answers] == [("pdf-forms", [])] * 4
        write(machine, f"tides-{round_}", "Tells the tides of a harbour.")
    assert first(machine.ask("find", "when are the tides")).startswith("tides-")
    assert len(machine.ask("find", "runs errand number in the town", "-k", "200")["results"]) > 20


@posix
def test_a_process_that_is_killed_while_it_indexes_leaves_an_index_that_works(machine: Machine) -> None:
    crowd(machine, 150)
    began = time.monotonic()
    expected = machine.ask("find", FORM)["results"]
    whole = time.monotonic() - began
    for part in (0.4, 0.55, 0.7, 0.85, 0.95):
        for path in machine.state.glob("cache.db*"):
            path.unlink()
        run = started(machine, "find", FORM)
        time.sleep(whole * part)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        told = machine.ask("find", FORM)
        assert (told["results"], codes(told)) == (expected, [])


def test_a_skill_without_evals_gets_fifty_messages_of_its_own_text(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "alone")
    about = 'Tidies drawers. Use when the user says "sort my socks" or "the drawer is a mess". Do NOT use at sea.'
    body = "1. Empty the drawer.\n2. Sort by kind.\n"
    machine.ask("new", "tidy", "--description", about, "--body", body, "--no-triggers")
    shown = machine.says("learn", "triggers", "tidy", "--dry-run")[1].splitlines()
    assert (len(shown), shown[:2], shown[25]) == (
        *(50, ["for\tsort my socks", "for\tthe drawer is a mess"], "not for\tat sea"),
    )
    assert machine.names() == ["tidy"] and not (machine.root / "tidy" / "evals").exists()
    path = machine.root / "tidy" / "evals" / "triggers.generated.json"
    assert machine.ask("learn", "triggers", "tidy")["path"] == str(path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["generated"].startswith("by Whet ")
    assert (kept["skill"], len(kept["should_trigger"]), len(kept["should_not_trigger"])) == ("tidy", 25, 25)
    assert {"how do I tidy drawers?", "sort socks", "empty the drawer"} <= {*kept["should_trigger"]}
    last = machine.ask("history", "tidy")["entries"][-1]
    assert (last["action"], last["reason"]) == ("write-file", "Generated trigger evals.")
    machine.ask("undo", "tidy")
    assert not path.exists(), "it is a change like any other"
    machine.ask("learn", "triggers", "tidy")
    measured = machine.ask("learn", "eval", "triggers", "tidy")
    assert (measured["cases"], measured["report"]) == (50, [])
    machine.ask("new", "secret-plans", "--description", 'Makes plans. Use when the user says "plan the big coup".')
    made = json.loads((machine.root / "secret-plans" / "evals" / "triggers.generated.json").read_text(encoding="utf-8"))
    assert (made["skill"], len(made["should_trigger"]), len(made["should_not_trigger"])) == ("secret-plans", 25, 25)
    machine.ask("learn", "triggers", "tidy")
    assert json.loads(path.read_text(encoding="utf-8")) == kept, "nothing of other skills is in it"
    path.write_text('{"should_trigger": ["where are my socks"]}', encoding="utf-8")
    refused = machine.ask("learn", "triggers", "tidy", code=1)
    assert refused["code"] == "not-generated", "messages of a person are not overwritten"
    assert json.loads(path.read_text(encoding="utf-8")) == {"should_trigger": ["where are my socks"]}
