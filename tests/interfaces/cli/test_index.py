"""`whet prompt index`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from whet.interfaces.cli.verbs import parser_of
from whet.prompt.formats import FORMATS
from whet.prompt.index import DEFAULT_CHARACTERS, WINDOW_SHARE
from whet.prompt.tokens import installed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

ABOUT = "" if installed().exact else "about "


@pytest.fixture
def root(skill: Callable[..., Path], tmp_path: Path) -> str:
    """Three skills, one of which is not for models, and one that would like to rule the terminal."""
    root = tmp_path / "root"
    skill("alpha", "The first one, which has quite a lot to say about itself.", root=root)
    skill("mine", "For people only.", extra="disable-model-invocation: true\n", root=root)
    skill("wild", '"Sets a \\e]0;title\\a and more."', root=root)
    return str(root)


def answer(whet: Callable[..., CompletedProcess[str]], *words: str) -> dict[str, Any]:
    run = whet("prompt", "index", *words, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_the_document_has_what_was_promised(root: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    found = answer(whet, "--root", root, "--no-rules")
    assert found["text"] == (
        "▸ alpha: The first one, which has quite a lot to say about itself.\n▸ wild: Sets a ]0;title and more.\n"
    )
    report = found["report"]
    assert (report["total"], report["included"], report["shortened"], report["omitted"]) == (2, 2, 0, 0)
    assert (report["characters"], report["tokens"] > 0, report["rules"]) == (len(found["text"]), True, False)


def test_standard_output_is_the_text_and_nothing_else(root: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    for words in ([], ["--paths"], ["--no-rules"], *(["--format", shape] for shape in FORMATS)):
        found = answer(whet, "--root", root, *words)
        run = whet("prompt", "index", "--root", root, *words)
        report = found["report"]
        cost = f"{report['characters']:,} characters, {ABOUT}{report['tokens']:,} tokens"
        assert (run.stdout, run.stderr) == (found["text"], f"2 skills, {cost}; 0 shortened; 0 not listed.\n")
        assert whet("prompt", "index", "--root", root, *words, "--quiet").stderr == ""


def test_a_terminal_gets_the_same(
    root: str, whet: Callable[..., CompletedProcess[str]], shown: Callable[..., Screen]
) -> None:
    text = answer(whet, "--root", root)["text"]
    assert shown("prompt", "index", "--root", root, colour=True, columns=20).text() == text


def test_what_was_cut_is_said(root: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("prompt", "index", "--root", root, "--budget", "60")
    report = answer(whet, "--root", root, "--budget", "60")["report"]
    assert len(run.stdout) == report["characters"] <= 60
    assert run.stderr == (
        f"2 skills, {report['characters']} characters, {ABOUT}{report['tokens']} tokens; "
        f"{report['shortened']} shortened; 0 not listed.\nThe rules for the model did not fit.\n"
    )
    one = whet("prompt", "index", "--root", root, "--limit", "1")
    assert one.stderr.startswith("1 skill, ") and one.stderr.endswith("; 0 shortened; 1 not listed.\n")


def test_a_budget_for_nothing_and_nothing_for_a_budget(
    root: str, tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    small = whet("prompt", "index", "--root", root, "--tokens", "1")
    assert (small.returncode, small.stdout) == (0, "")
    assert small.stderr == "The budget is too small for any index; 2 skills not listed.\nhint: Use a larger budget.\n"
    (tmp_path / "empty").mkdir()
    empty = whet("prompt", "index", "--root", str(tmp_path / "empty"))
    assert (empty.returncode, empty.stdout) == (0, "")
    assert empty.stderr.startswith("There are no skills that a model may see.\nhint: ")
    assert answer(whet, "--root", str(tmp_path / "empty"))["text"] == ""


def test_a_skill_switched_off_at_the_command_line_is_not_in_it(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("noisy")
    assert "▸ noisy" in whet("prompt", "index").stdout
    whet("skill", "disable", "noisy", "--surface", "cli")
    assert "▸ noisy" not in whet("prompt", "index").stdout


def test_the_help_tells_the_numbers_there_are() -> None:
    text = parser_of("prompt index")[0].format_help()
    assert f"(default {DEFAULT_CHARACTERS:,})" in text and f"{100 // WINDOW_SHARE} % of a context window" in text
    assert f"One of {', '.join(FORMATS)}." in " ".join(text.split())


def test_a_program_can_parse_what_it_asked_for(root: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("prompt", "index", "--root", root, "--format", "json")
    assert [[*entry] for entry in json.loads(run.stdout)] == [
        ["note"],
        ["name", "description"],
        ["name", "description"],
    ]
    run = whet("prompt", "index", "--root", root, "--format", "xml")
    assert [child.tag for child in ET.fromstring(run.stdout)] == ["note", "skill", "skill"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", "9" * 20), f"--budget: '{'9' * 20}' has too many digits."),
        (("--budget", "10.5"), "--budget: '10.5' is not a whole number."),
        (("--budget", "0"), "--budget: '0' is not above zero."),
        (("--budget", "9", "--tokens", "9"), "A budget in characters and a budget in tokens exclude each other."),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(
    whet: Callable[..., CompletedProcess[str]], words: tuple[str, ...], said: str
) -> None:
    run = whet("prompt", "index", *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in run.stderr


def test_a_root_that_does_not_exist_is_named(shown: Callable[..., Screen], tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    screen = shown("prompt", "index", "--root", nowhere)
    assert screen.messages == ["There are no skills that a model may see.", f"The root {nowhere} does not exist."]
