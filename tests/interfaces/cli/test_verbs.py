"""The table of commands: every one has help, is documented, and costs nothing until it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest

from whet import __version__
from whet.interfaces.cli import commands
from whet.interfaces.cli.verbs import ALIASES, VERBS, parser_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help(verb: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    parser, _ = parser_of(verb)
    helps = [item.help for item in parser.positionals] + [item.help for item in parser.options]
    assert all(text.endswith(".") for text in helps)
    expected = (0, parser.format_help(), "")
    for words in ([verb, "--help"], ["--help", verb], [verb, "-h"], ["help", verb]):
        run = whet(*words)
        assert (run.returncode, run.stdout, run.stderr) == expected
    assert max(map(len, parser.format_help().splitlines())) <= 100


def test_every_command_is_in_the_table_and_in_one_file() -> None:
    found = [
        (name, module.name)
        for module in iter_modules(commands.__path__)
        for name in import_module(f"{commands.__name__}.{module.name}").COMMANDS
    ]
    assert sorted(found) == sorted((name, verb.module) for name, verb in VERBS.items())
    assert all(verb.summary[0].isupper() and not verb.summary.endswith(".") for verb in VERBS.values())


def test_the_overview_names_every_command(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("--help")
    assert (run.returncode, run.stderr) == (0, "")
    assert [verb for verb in VERBS if f"\n  {verb:<16}{VERBS[verb].summary}\n" not in run.stdout] == []
    assert whet("help").stdout == run.stdout


def test_the_overview_imports_no_command() -> None:
    code = (
        "import sys; from whet.interfaces.cli import main; main(['--help']);"
        "print(*(name for name in sys.modules if name.startswith(('whet.library', 'whet.interfaces.cli.commands',"
        " 'whet.api', 'json'))), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.split() == []


def test_a_command_imports_no_other() -> None:
    code = (
        "import sys; from whet.interfaces.cli import main; main(['roots', '--help']);"
        "print(*(name for name in sys.modules if name.startswith('whet.interfaces.cli.commands.')), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.split() == ["whet.interfaces.cli.commands.skills"]


@pytest.mark.parametrize(
    "words", [["--version"], ["--quiet", "--version"], ["list", "--version"], ["--version", "show"]], ids=" ".join
)
def test_the_version_is_printed_wherever_it_is_asked_for(
    words: list[str], whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet(*words)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"whet {__version__}\n", "")


def test_help_and_version_are_documents_too(whet: Callable[..., CompletedProcess[str]]) -> None:
    assert json.loads(whet("--json", "--version").stdout) == {"success": True, "version": __version__}
    assert json.loads(whet("--help", "--json").stdout)["help"].startswith("Usage: whet COMMAND")
    assert json.loads(whet("list", "--help", "--json").stdout)["help"].startswith("Usage: whet list")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("lst", "Did you mean list?"),
        ("shwo", "Did you mean show?"),
        ("trsut", "Did you mean trust or test?"),
        ("zzzzzz", "`whet --help` lists the commands."),
    ],
)
def test_a_mistyped_command_is_recognised(typed: str, hint: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet(typed)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"error: There is no command {typed!r}.\nhint: {hint}\n"


def test_an_alias_is_its_command(whet: Callable[..., CompletedProcess[str]]) -> None:
    assert {alias: whet(alias, "--help").stdout for alias in ALIASES} == {
        alias: whet(verb, "--help").stdout for alias, verb in ALIASES.items()
    }


def test_without_a_command_the_overview_goes_to_standard_error(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet()
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        f"{whet('--help').stdout}error: A command is missing.\nhint: `whet --help` lists the commands.\n"
    )
    assert whet("--quiet").stderr == "error: A command is missing.\n"


def test_the_page_about_the_command_line_is_up_to_date() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, ""), "run `make docs`"
