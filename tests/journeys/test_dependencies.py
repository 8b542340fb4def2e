"""Skills that need other skills, on the command line: installed together, explained, and not removed by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

from journeys.machines import Machine, main

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

    planned = "Would install deploy 1.0.0  safe\nWould install review 1.4.0  safe, needed by deploy\n"
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

    hint = "hint: Remove what needs it, too; `--force` removes it all the same.\n"
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
