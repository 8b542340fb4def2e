"""What others build on does not change by accident: every help page, the shape of every answer, the tools for models.

The files beside this test are what it was; `make golden` writes them again, and the difference is part of the change.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from golden.screens import furnish, long_lines, screens
from golden.world import Machine, answers, help_pages, speak
from whet.interfaces.cli.text import width

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).parent
WRITE = os.environ.get("GOLDEN") == "write"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A furnished machine, in whose repository the commands run."""
    made = Machine(tmp_path)
    made.furnish()
    monkeypatch.chdir(made.work)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("COLUMNS", made.env["COLUMNS"])
    return made


def compare(name: str, sections: Iterable[tuple[str, str]]) -> None:
    """Each section is what it was; or is from now on."""
    now = dict(_numbered(sections))
    path = HERE / name
    if WRITE:
        path.write_text("".join(f"=== {title}\n{text}" for title, text in now.items()), encoding="utf-8")
    parts = path.read_text(encoding="utf-8").split("=== ")[1:]
    before = {title: text for title, _, text in (part.partition("\n") for part in parts)}
    assert list(now) == list(before), "run `make golden` if this is meant"
    for title, text in now.items():
        assert (title, text) == (title, before[title]), "run `make golden` if this is meant"


def _numbered(sections: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """What is asked twice is told apart."""
    seen: dict[str, int] = {}
    for title, text in sections:
        seen[title] = seen.get(title, 0) + 1
        yield f"{title}{f' ({seen[title]})' if seen[title] > 1 else ''}", text


def test_help(machine: Machine) -> None:
    compare("help.txt", help_pages(machine))


def test_answers(machine: Machine) -> None:
    compare("answers.txt", ((asked, "".join(f"{line}\n" for line in lines)) for asked, lines in answers(machine)))


@pytest.mark.parametrize("writes", ["propose", "--read-only", "--allow-writes"])
def test_tools_for_models(writes: str, machine: Machine) -> None:
    offered = speak(machine, *([writes] if writes.startswith("-") else []))
    sections = (
        (part, f"{json.dumps(what, indent=1, sort_keys=True, ensure_ascii=False)}\n") for part, what in offered.items()
    )
    compare(f"mcp-{writes.strip('-')}.txt", sections)


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
@pytest.mark.parametrize("columns", [80, 120])
def test_screens(columns: int, tmp_path: Path) -> None:
    machine = furnish(tmp_path / "machine")
    shown = list(screens(machine, columns))
    compare(f"screens-{columns}.txt", shown)
    long = [line for _, text in shown for line in text.split("\n") if width(line) > columns and " " in line.strip()]
    assert long == []
    assert long_lines(machine, columns) == []
