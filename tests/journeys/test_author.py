"""An author's day: begin, write, check, mend, look, pack, and unpack on another machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


def test_from_an_idea_to_another_machine(
    home: Path, work: Path, tmp_path: Path, env: dict[str, str], whet: Callable[..., CompletedProcess[str]]
) -> None:
    made = whet("new", "tide-tables", "--description", "Looks up tides. Use when asked 'when is high water'.")
    file = home / ".agents" / "skills" / "tide-tables" / "SKILL.md"
    assert (made.returncode, made.stdout) == (0, f"{file}\n")

    text = file.read_text(encoding="utf-8")
    broken = text.replace("license: MIT", "license: MIT: really\nreviewer: 2")
    assert broken != text
    file.write_text(broken, encoding="utf-8")
    (file.parent / "references").mkdir()
    (file.parent / "references" / "ports.md").write_text("# Ports\n", encoding="utf-8")

    checked = whet("skill", "validate", "tide-tables")
    assert checked.returncode == 1 and "[yaml-repaired]" in checked.stdout and "[unknown-key]" in checked.stdout
    assert "hint: 2 can be fixed with `--fix`.\n" in checked.stderr
    fixed = whet("skill", "validate", "tide-tables", "--fix")
    *left, verdict = fixed.stdout.splitlines()
    assert (fixed.returncode, verdict) == (0, f"{file.parent}: valid, but still a draft")
    told = "TODO is left over from a draft on 13 lines: 14, 18, 19, 20, 24 and 8 more."
    assert [line.partition(": ")[2] for line in left] == [f"warning: {told} [leftover-marker]"]
    assert fixed.stderr.splitlines() == [
        "Fixed tide-tables, line 4: Quoted the values as Whet reads them. [yaml-repaired]",
        "Fixed tide-tables, line 5: Moved the key to metadata.reviewer. [unknown-key]",
        "1 skill: 0 errors, 1 warning, 0 info, 2 fixed.",
        "hint: `whet undo tide-tables` undoes this.",
    ]
    assert whet("skill", "validate", "tide-tables").returncode == 0

    listed = json.loads(whet("list", "--query", "tides", "--json").stdout)["skills"]
    assert [(skill["name"], skill["path"], skill["ready"]) for skill in listed] == [
        ("tide-tables", str(file.parent), True)
    ]
    shown = json.loads(whet("show", "tide-tables", "--json").stdout)
    assert shown["description"] == "Looks up tides. Use when asked 'when is high water'."
    assert [item["path"] for item in shown["files"]] == [
        "SKILL.md",
        "evals/triggers.generated.json",
        "references/ports.md",
    ]
    assert whet("show", "tide-tables", "--file", "references/ports.md").stdout == "# Ports\n"

    packed = whet("skill", "pack", "tide-tables")
    archive = work / "tide-tables.skill"
    assert (packed.returncode, packed.stdout) == (0, f"{archive}\n")
    first = archive.read_bytes()
    assert whet("skill", "pack", "tide-tables").returncode == 0
    assert archive.read_bytes() == first

    other = tmp_path / "other-machine"
    env.update(HOME=str(other), WHET_HOME=str(other / "state"))
    unpacked = whet("skill", "unpack", str(archive), "-C", str(other / ".agents" / "skills"))
    assert unpacked.stdout == f"{other / '.agents' / 'skills' / 'tide-tables'}\n"
    again = json.loads(whet("show", "tide-tables", "--json").stdout)
    assert (again["digest"], again["content"], again["files"]) == (shown["digest"], shown["content"], shown["files"])
    digests = [
        whet("sources", "digest", where).stdout.strip() for where in ("tide-tables", str(archive), str(file.parent))
    ]
    assert digests == [shown["digest"]] * 3
