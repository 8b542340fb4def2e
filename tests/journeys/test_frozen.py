"""`whet ci`: exactly what the lock says, or a failure that says what differs and changes nothing."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from sources.repositories import Repository

from journeys.machines import Machine, main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def told(answer: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {step["name"]: (step["action"], step["state"], step["code"]) for step in answer["plan"]}


class Pipeline:
    """A repository with two skills, somebody who installed them, and a machine that has only the lock."""

    def __init__(self, top: Path) -> None:
        self.repository = Repository.new(top / "skills")
        self.commit()
        alice, self.machine = Machine(top / "alice"), Machine(top / "runner")
        assert alice.ask("install", self.repository.url, "--all")["installed"] == ["deploy", "notes"]
        self.machine.lock.parent.mkdir()
        shutil.copy(alice.lock, self.machine.lock)
        self.commit("Newer.\n")  # which nobody asks for

    def commit(self, body: str = "Do it.\n") -> str:
        names = ("deploy", "notes")
        return self.repository.commit({f"{name}/SKILL.md": main(name, body=body) for name in names})


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


def test_what_is_missing_comes_back_exactly(pipeline: Pipeline) -> None:
    machine, before = pipeline.machine, pipeline.machine.lock.read_bytes()
    compared = machine.ask("ci", "--dry-run", code=1)
    missing = ("restore", "conflict", "frozen-missing")
    assert told(compared) == {"deploy": missing, "notes": missing}
    assert (compared["success"], compared["code"], machine.names()) == (False, "frozen-missing", [])
    assert machine.says("ci", "--dry-run") == (
        1,
        "",
        "deploy, notes: It is missing.\nhint: `whet ci` restores what is missing.\n",
    )

    assert machine.says("ci")[:2] == (
        0,
        "Restored deploy, revision a  safe\nRestored notes, revision a  safe\n".replace(" a ", f" {rev(machine)} "),
    )
    assert "Do it." in machine.text("deploy")
    again = machine.ask("install", "--frozen")
    assert (told(again), again["success"]) == (dict.fromkeys(("deploy", "notes"), ("keep", "nothing", "")), True)
    assert machine.ask("ci", "--dry-run")["success"] is True
    assert machine.lock.read_bytes() == before


def test_merged_edits_belong_to_the_lock(pipeline: Pipeline) -> None:
    machine = pipeline.machine
    machine.ask("ci")
    text = machine.text("notes").replace("description: ", "description: Ours. ", 1)
    (machine.root / "notes" / "SKILL.md").write_text(text, encoding="utf-8")
    edited = {"deploy": ("keep", "nothing", ""), "notes": ("keep", "conflict", "frozen-edited")}
    assert told(machine.ask("ci", code=1)) == edited
    assert machine.ask("update")["done"] == ["deploy", "notes"]
    kept = {"deploy": ("keep", "nothing", ""), "notes": ("keep", "nothing", "")}
    assert told(machine.ask("ci")) == kept
    machine.ask("update")
    assert told(machine.ask("ci")) == kept

    machine.edit("notes", "Newer.", "Newest.")
    assert told(machine.ask("ci", code=1)) == edited
    shutil.rmtree(machine.root / "notes")
    assert told(machine.ask("ci", code=1)) == edited
    assert machine.says("ci")[2] == (
        "notes: It is missing, and its source does not have the edits that the lock names.\n"
        "hint: Commit the skill together with the lock.\n"
    )
    assert machine.ask("install", "--force")["done"] == ["notes"]
    assert (told(machine.ask("ci")), "Ours." in machine.text("notes")) == (kept, False)


def rev(machine: Machine) -> str:
    revision: str = json.loads(machine.lock.read_text(encoding="utf-8"))["skills"]["skills/deploy"]["revision"]
    return revision[:10]


def test_whatever_differs_has_its_code_and_nothing_is_restored(pipeline: Pipeline) -> None:
    machine = pipeline.machine
    assert machine.ask("ci")["done"] == ["deploy", "notes"]
    held = ("restore", "held", "frozen")
    shutil.rmtree(machine.root / "deploy")

    machine.edit("notes", "Do it.", "Do it my way.")
    answer = machine.ask("ci", code=1)
    assert told(answer) == {"deploy": held, "notes": ("keep", "conflict", "frozen-edited")}
    assert (answer["code"], answer["done"], machine.names()) == ("frozen-edited", [], ["notes"])
    machine.edit("notes", "Do it my way.", "Do it.")

    (machine.root / "own").mkdir()
    (machine.root / "own" / "SKILL.md").write_text(main("own"), encoding="utf-8")
    answer = machine.ask("ci", code=1)
    assert told(answer) == {
        "deploy": held,
        "notes": ("keep", "nothing", ""),
        "own": ("keep", "conflict", "frozen-extra"),
    }
    assert machine.says("ci")[2] == (
        "own: The lock does not name it.\nhint: Remove it, or install it, so that the lock names it.\n"
    )
    shutil.rmtree(machine.root / "own")
    assert machine.ask("ci")["done"] == ["deploy"]


def test_a_lock_ahead_of_its_source_a_changed_source_and_no_lock(pipeline: Pipeline) -> None:
    machine, text = pipeline.machine, pipeline.machine.lock.read_text(encoding="utf-8")
    lock = json.loads(text)
    revision = lock["skills"]["skills/deploy"]["revision"]
    machine.lock.write_text(text.replace(revision, "1" * 40), encoding="utf-8")
    answer = machine.ask("ci", code=1)
    ahead = ("keep", "failed", "frozen-not-in-source")
    assert (told(answer), machine.names()) == ({"deploy": ahead, "notes": ahead}, [])
    assert answer["plan"][0]["reason"].startswith(f"Its source does not have {'1' * 12}, which the lock names. ")

    wrong = "sha256:" + "0" * 64
    machine.lock.write_text(text.replace(lock["skills"]["skills/notes"]["digest"], wrong), encoding="utf-8")
    answer = machine.ask("ci", code=1)
    held = ("restore", "held", "frozen")
    assert (told(answer), machine.names()) == ({"deploy": held, "notes": ("restore", "failed", "digest-mismatch")}, [])

    machine.lock.write_text(text.replace('"version": 1', '"version": 99'), encoding="utf-8")
    assert machine.ask("ci", code=4)["code"] == "lock-newer"
    machine.lock.unlink()
    assert machine.ask("ci", code=1)["code"] == "no-lock"
    assert machine.ask("install", "--frozen", pipeline.repository.url, code=2)["code"] == "usage"
