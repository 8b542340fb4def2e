"""Scripts in many styles and languages that steal, stay, dig, destroy or open a door: none of them passes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiers import thinned

from whet.guard.finding import LABELS
from whet.guard.finding import verdict as verdict_of
from whet.guard.scan import scan
from whet.skill.tree import Item

PARTS = 10
SKILL = b"---\nname: demo\ndescription: Helps with everyday project chores. Use when asked.\n---\nRun the script.\n"


@cache
def scripts() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text("utf-8"))
    return found


def verdict(name: str, text: str) -> str:
    return scan({"SKILL.md": Item(SKILL), f"scripts/{name}": Item(text.encode())}).verdict


@pytest.mark.parametrize("part", thinned(range(PARTS), 3))
def test_a_script_that_harms_is_found(part: int) -> None:
    chosen = list(scripts().items())[part::PARTS]
    weaker = [name for name, row in chosen if LABELS.index(verdict(name, row["text"])) < LABELS.index(row["expect"])]
    assert weaker == []
    assert [name for name, row in chosen if "twin" in row and verdict(name, row["twin"]) != "safe"] == []


def test_single_commands_get_their_verdicts() -> None:
    wanted: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text("utf-8"))
    expected = {command: label for label, commands in wanted.items() for command in commands}
    assert {command: by_rules(command) for command in expected} == expected


def by_rules(command: str) -> str:
    """Return the verdict of the rules alone, without the model of passages."""
    found = scan({"SKILL.md": Item(SKILL), "scripts/run.sh": Item(f"#!/bin/sh\n{command}\n".encode())})
    return verdict_of([one for one in found.findings if one.rule != "odd-passage"])
