"""Skills that need other skills, on the command line: installed together, explained, and not removed by accident."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from sources.hub_server import Hub, hub_serving
from sources.repositories import Repository

from journeys.machines import Machine, main
from whet.skill.archive import pack
from whet.skill.tree import Item

if TYPE_CHECKING:
    from pathlib import Path


def test_a_skill_comes_with_what_it_needs_and_keeps_it(tmp_path: Path) -> None:
    machine, shelf = Machine(tmp_path), tmp_path / "shelf"
    for name, more in {
        "deploy": 'metadata:\n  version: "1.0.0"\n  requires:\n    skills: ["review >=1.2,<2"]\n',
        "review": 'metadata:\n  version: "1.4.0"\n',
    }.items():
        (shelf / name).mkdir(parents=True)
        (shelf / name / "SKILL.md").write_text(main(name, more=more), encoding="utf-8")

    planned = "Would install deploy 1.0.0  safe\nWould install review 1.4.0  safe\n  needed by deploy\n"
    assert machine.says("install", str(shelf), "--skill", "deploy", "--dry-run")[:2] == (0, planned)
    assert machine.ask("install", str(shelf), "--skill", "deploy")["installed"] == ["deploy", "review"]
    locked = machine.locked()
    assert [locked[f"skills/{name}"].get("dependency") for name in ("deploy", "review")] == [None, "deploy"]

    why = machine.ask("sources", "why", "review")
    assert (why["needed_by"], why["installed"]["dependency"]) == (["deploy"], "deploy")
    assert "  needed by deploy, installed only for that\n" in machine.says("sources", "why", "review")[1]
    assert "  needs     review >=1.2,<2\n" in machine.says("sources", "why", "deploy")[1]
    needs = [{"name": "review", "range": ">=1.2,<2", "source": ""}]
    assert machine.ask("show", "deploy")["requires_skills"] == needs
    assert "review >=1.2,<2" in machine.says("show", "deploy")[1]

    hint = "hint: Remove the skills that need it as well, or use `--force` to remove only this one.\n"
    assert machine.says("remove", "review") == (1, "", f"error: review: Needed by deploy.\n{hint}")
    assert machine.ask("remove", "review", "--dry-run", code=1)["code"] == "needed-by"
    assert machine.names() == ["deploy", "review"]

    gone = machine.ask("remove", "deploy")
    assert [note["message"] for note in gone["notes"]] == ["review was installed for deploy and is no longer needed."]
    assert machine.names() == ["review"], "nothing goes that nobody named"
    machine.ask("undo", "deploy")
    assert machine.ask("remove", "review", "--force")["done"] == ["review"]

    found = [note for note in machine.ask("doctor")["report"] if note["code"].startswith("dependency")]
    assert [(note["code"], note["skill"], note["message"]) for note in found] == [
        ("dependency-missing", "deploy", "It needs review >=1.2,<2, which is missing.")
    ]
    (machine.root / "review").mkdir()
    (machine.root / "review" / "SKILL.md").write_text(main("review"), encoding="utf-8")
    found = [note for note in machine.ask("doctor")["report"] if note["code"].startswith("dependency")]
    assert [note["message"] for note in found] == [
        "It needs review >=1.2,<2; review without a version is not in that range."
    ]
    assert machine.says("remove", "review")[:2] == (1, ""), "your own skills are kept, too"
    machine.ask("remove", "review", "deploy")
    assert machine.names() == []


def versioned(name: str, version: str, *needs: str) -> str:
    listed = f"  requires:\n    skills: [{', '.join(f'{need!r}' for need in needs)}]\n" if needs else ""
    return main(name, more=f'metadata:\n  version: "{version}"\n{listed}')


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_an_older_version_that_is_in_range_is_found_among_the_tags(tmp_path: Path) -> None:
    machine, repository = Machine(tmp_path / "machine"), Repository.new(tmp_path / "skills")
    for number in ("1.1.0", "1.4.0", "2.0.0"):
        files = {
            "review/SKILL.md": versioned("review", number),
            "deploy/SKILL.md": versioned("deploy", "5.0.0", "review >=1.2, < 2"),
            "audit/SKILL.md": versioned("audit", "5.0.0", "review ^3"),
        }
        repository.commit(files)
        repository.git("tag", f"v{number}")
    assert machine.says("install", repository.url, "--skill", "deploy", "--yes")[:2] == (
        0,
        "Installed deploy 5.0.0  safe\nInstalled review 1.4.0  safe\n  needed by deploy\n",
    )
    assert machine.locked()["skills/review"]["source"] == f"git:{repository.url}#ref=>=1.2,<2&path=review"
    assert machine.ask("update")["counts"] == {"nothing": 2}, "and it stays in the range"
    machine.ask("remove", "deploy", "review")
    plan = machine.ask("install", repository.url, "--skill", "audit", code=1)
    assert [(step["name"], step["code"], step["reason"]) for step in plan["plan"]] == [
        ("audit", "dependency-range", "It needs review ^3; review 2.0.0 is not in that range."),
        ("review", "dependency-range", "Only audit would need it."),
    ]


def test_an_older_version_that_is_in_range_is_found_on_a_hub(tmp_path: Path) -> None:
    machine, hub = Machine(tmp_path / "machine"), Hub()
    for name, number, *needs in (("review", "1.4.0"), ("review", "2.0.0"), ("deploy", "1.0.0", "review ^1")):
        archive = pack(name, {"SKILL.md": Item(versioned(name, number, *needs).encode())})
        hub.publish("acme", name, number, archive)
    with hub_serving(hub) as server:
        plan = machine.ask("install", f"hub:{server.url}/acme/deploy")["plan"]
        assert [(step["name"], step["state"], step["version"]) for step in plan] == [
            ("deploy", "ready", "1.0.0"),
            ("review", "ready", "1.4.0"),
        ]
