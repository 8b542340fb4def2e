"""The table of commands: every one has help, is documented, and costs nothing until it runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest

from whet import __version__
from whet.interfaces.cli import commands
from whet.interfaces.cli.verbs import (
    COMMANDS,
    FRONT,
    GROUPS,
    LISTED,
    VERBS,
    front_screen,
    note_old,
    parser_of,
    read_command,
)

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
    name = verb.split()
    for words in ([*name, "--help"], ["--help", *name], [*name, "-h"], ["help", *name]):
        run = whet(*words)
        assert (run.returncode, run.stdout, run.stderr) == expected
    for columns in (100, 80):
        assert max(len(line) for line in parser.format_help(columns).splitlines() if len(line.split()) > 1) <= columns


def test_the_examples_of_a_help_page_are_commands_that_can_be_run() -> None:
    lines = {line for verb in VERBS for line, _ in parser_of(verb)[0].examples}
    assert len(lines) > 40
    for line in lines:
        program, *words = shlex.split(line)
        name, rest, old = read_command(words)
        parser_of(name)[0].read(rest)
        assert (program, old) == ("whet", ""), line


def test_every_command_is_in_the_table_and_in_one_file() -> None:
    found = [
        (name, module.name)
        for module in iter_modules(commands.__path__)
        for name in import_module(f"{commands.__name__}.{module.name}").COMMANDS
    ]
    assert sorted(found) == sorted((name, verb.module) for name, verb in VERBS.items())
    assert all(verb.summary[0].isupper() and not verb.summary.endswith(".") for verb in VERBS.values())


def test_the_front_screen_has_the_commands_of_every_day(whet: Callable[..., CompletedProcess[str]]) -> None:
    shown = [line.split()[0] for line in front_screen().splitlines() if line.startswith("  ")]
    assert shown == [
        *("list", "show", "find", "new", "edit", "distill", "install", "update", "remove", "scan", "run", "ui"),
        *("undo", "history", "connect", "sync", "doctor"),
    ]
    assert max(map(len, front_screen().splitlines())) <= 80
    for words in ([], ["--help"], ["-h"], ["help"], ["--quiet"]):
        run = whet(*words)
        assert (run.returncode, run.stdout, run.stderr) == (0, front_screen(), "")


def test_help_all_names_every_command_and_every_group_lists_its_own(
    whet: Callable[..., CompletedProcess[str]],
) -> None:
    everything = whet("help", "all").stdout
    assert [name for name, verb in COMMANDS.items() if f"\n  {name:<19}{verb.summary}\n" not in everything] == []
    rows = [line[2:21].rstrip() for line in everything.splitlines() if line.startswith("  ")]
    beside = {other: rows[rows.index(other) - 1] for other in LISTED}
    assert beside == {
        "agents": "list",
        "redo": "undo",
        "disconnect": "connect",
        "enable": "skill enable",
        "disable": "skill disable",
    }
    assert {verb.group for name, verb in COMMANDS.items() if " " not in name} == {
        *FRONT,
        "clients",
        "gallery",
        "prompt",
        "sources",
    }
    assert {name.split()[0] for name in COMMANDS if " " in name} == {*GROUPS}
    for group in GROUPS:
        own = [name for name, verb in COMMANDS.items() if name.startswith(f"{group} ") or verb.group == group]
        assert 1 < len(own) <= (21 if group == "hub" else 13)  # people and operators of a hub need more
        page = whet("help", group)
        assert (page.returncode, page.stderr) == (0, "")
        assert page.stdout == whet(group, "--help").stdout
        assert [name for name in own if f"\n  {name:<19}{VERBS[name].summary}\n" not in page.stdout] == []
        if group not in ("history", "gallery"):  # these have something to list
            assert whet(group).stdout == page.stdout


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
        "import sys; from whet.interfaces.cli import main; main(['clients', 'roots', '--help']);"
        "print(*(name for name in sys.modules if name.startswith('whet.interfaces.cli.commands.')), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.split() == ["whet.interfaces.cli.commands.skills"]


@pytest.mark.parametrize(
    "words",
    [["--version"], ["version"], ["--quiet", "--version"], ["list", "--version"], ["--version", "show"]],
    ids=" ".join,
)
def test_the_version_is_printed_wherever_it_is_asked_for(
    words: list[str], whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet(*words)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"whet {__version__}\n", "")


def test_help_and_version_are_documents_too(whet: Callable[..., CompletedProcess[str]]) -> None:
    assert json.loads(whet("--json", "--version").stdout) == {"success": True, "version": __version__}
    assert json.loads(whet("--help", "--json").stdout)["help"].startswith("Whet manages the skills")
    assert json.loads(whet("list", "--help", "--json").stdout)["help"].startswith("Usage: whet list")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lst", ["list"]),
        ("shwo", ["show"]),
        ("trsut", ["guard trust", "keys trust", "skill test"]),
        ("uninstal", ["remove", "install"]),
        ("erase", ["remove"]),
        ("revert", ["undo"]),
        ("skill vaildate", ["skill validate"]),
        ("guard explain", ["guard rules"]),
        ("rmv", ["skill rename", "remove"]),
        ("agent", ["list --all"]),
        ("codex", ["list --client codex", "connect"]),
        ("lint", ["skill validate"]),
        ("logs", ["history"]),
        ("reload", ["update"]),
        ("status", ["update --check"]),
        ("fix", ["doctor --fix"]),
        ("unsync", ["sync --undo"]),
        ("allow", ["guard policy override"]),
        ("commit", ["history backup"]),
        ("wizard", ["new", "distill"]),
        ("star", ["prompt list-as"]),
        ("cp", []),
        ("zzzzzz", []),
    ],
)
def test_a_word_that_is_no_command_suggests_what_is_meant(
    typed: str, meant: list[str], whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet(*typed.split())
    named = " or ".join(f"`whet {name}`" for name in meant)
    hint = f"Did you mean {named}?" if meant else "`whet help all` lists them all."
    shown = f"whet {typed}" if " " in typed else typed
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"error: There is no command {shown!r}.\nhint: {hint}\n"


@pytest.mark.usefixtures("skill")
@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("skills", "list"),
        ("skills list", "list"),
        ("agents", "list --all"),
        ("clients list", "list --all"),
        ("ls -a", "list --all"),
        ("skills history", "history"),
    ],
)
def test_what_people_type_is_answered(typed: str, same: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("new", "mine").returncode == 0
    asked, meant = whet(*typed.split()), whet(*same.split())
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, meant.stdout, meant.stderr) and meant.stdout


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("list all", "list --all"), ("list codex", "list --client codex"), ("list project", "list --scope project")],
)
def test_an_argument_too_many_may_be_an_option(
    typed: str, meant: str, whet: Callable[..., CompletedProcess[str]]
) -> None:
    message = f"error: {typed.split()[1]!r} is an unexpected argument.\nhint: Did you mean `whet {meant}`?\n"
    assert whet(*typed.split()).stderr == message


OLD = {spelling.partition(" --")[0]: name for name, verb in VERBS.items() for spelling in verb.old}


@pytest.mark.parametrize("spelling", OLD)
def test_an_old_spelling_is_its_command(spelling: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    name, words, old = read_command([*spelling.split(), "--nope"])  # a group alone shows its commands
    assert (name, old) == (OLD[spelling], spelling)
    before, after = (whet(*line) for line in ([*spelling.split(), "--nope"], [*name.split(), *words]))
    assert (before.returncode, before.stdout, before.stderr) == (after.returncode, after.stdout, after.stderr)
    if spelling not in GROUPS:
        assert whet(*spelling.split(), "--help").stdout == whet(*name.split(), "--help").stdout


def test_an_old_spelling_answers_the_same_and_says_so_once(whet: Callable[..., CompletedProcess[str]]) -> None:
    note = "`whet roots` is now `whet clients roots`. The old name works until the next release.\n"
    new, old = whet("clients", "roots"), whet("roots")
    assert (old.returncode, old.stdout, old.stderr) == (new.returncode, new.stdout, f"{note}{new.stderr}")
    for option in ("--json", "--quiet"):
        new, old = whet("clients", "roots", option), whet("roots", option)
        assert (old.returncode, old.stdout, old.stderr) == (new.returncode, new.stdout, new.stderr)
    assert note_old("detect").startswith("`whet detect` is now `whet find --decide`. ")
    assert note_old("create").startswith("`whet create` is now `whet new`. ")


SPELLINGS = """
    inspect nosuch               show nosuch
    detect hello                 find --decide hello
    archive nosuch               remove --archive nosuch
    audit                        scan --all
    test nosuch                  skill test nosuch
    needs                        skill needs
    patch nosuch --find a --replace b    skill patch nosuch --find a --replace b
    write-file nosuch a --content b      skill write-file nosuch a --content b
    remove-file nosuch a         skill remove-file nosuch a
    pack nosuch                  skill pack nosuch
    unpack nosuch                skill unpack nosuch
    verify-history               history verify
    backup .                     history backup .
    pending                      proposals list
    approve 7                    proposals approve 7
    reject 7                     proposals reject 7
    trust nosuch                 guard trust nosuch
    untrust nosuch               guard untrust nosuch
    policy show                  guard policy show
    rules pipe-shell             guard rules pipe-shell
    permits --skill nosuch --tool Bash --input {}    guard permits --skill nosuch --tool Bash --input {}
    learn --dry-run              learn sessions --dry-run
    transcript nosuch            learn transcript nosuch
    eval nosuch                  learn eval nosuch
    improve nosuch               learn improve nosuch
    feedback --list              learn feedback --list
    usage                        learn usage
    curate                       learn curate
    duplicates                   learn duplicates
    tap                          sources list
    tap list                     sources list
    tap add x y:z                sources add x y:z
    tap remove nosuch            sources remove nosuch
    verify                       sources verify
    why nosuch                   sources why nosuch
    adopt --dry-run              sources adopt --dry-run
    snapshot import nosuch       sources snapshot import nosuch
    digest nosuch                sources digest nosuch
    index                        prompt index
    render nosuch                prompt render nosuch
    commands                     prompt commands
    bundle list                  prompt bundle list
    roots                        clients roots
"""
ROWS = [tuple(re.split(r"  +", line.strip())) for line in SPELLINGS.strip().splitlines()]


@pytest.mark.deep
def test_every_old_spelling_works_with_a_note_in_one_line(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("deploy")
    whet("scan", "--all")  # a second look has nothing new to say
    assert {read_command(old.split())[2] for old, _ in ROWS} == {*OLD}
    for old, new in ROWS:
        spelling = read_command(old.split())[2]
        name = read_command(new.split())[0]
        before, after = whet(*old.split(), "--no-input"), whet(*new.split(), "--no-input")
        note = note_old(spelling)
        assert f"is now `whet {name}" in note
        assert (before.returncode, before.stdout, before.stderr) == (
            after.returncode,
            after.stdout,
            f"{note}\n{after.stderr}",
        ), old
    for old, now in (
        ("create x --body y --description Z.", "new"),
        ("restore x", "undo NAME`, `whet install` or `whet history restore FILE"),
        ("rollback x --to 1", "undo NAME --to N"),
    ):
        note = f"`whet {old.split()[0]}` is now `whet {now}`. The old name works until the next release.\n"
        assert whet(*old.split()).stderr.startswith(note)
    assert {verb for verb in VERBS if VERBS[verb].now} == {"create", "restore", "rollback"}


def test_words_from_other_tools_work_without_a_note(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("deploy")
    for words, same in (
        ("ls", "list"),
        ("skill list", "list"),
        ("info deploy", "show deploy"),
        ("view deploy", "show deploy"),
        ("cat deploy", "show deploy"),
        ("check", "update --check"),
        ("upgrade --dry-run", "update --dry-run"),
        ("clients mcp --print-token", "mcp --print-token"),
        ("rm deploy --dry-run", "remove deploy --dry-run"),
        ("remove deploy --dry-run", "remove deploy --dry-run"),
        ("mv nosuch other", "skill rename nosuch other"),
        ("rename nosuch other", "skill rename nosuch other"),
        ("validate deploy", "skill validate deploy"),
        ("pin nosuch", "skill pin nosuch"),
        ("unpin nosuch", "skill unpin nosuch"),
        ("diff nosuch", "history diff nosuch"),
        ("outdated", "update --check"),
        ("uninstall nosuch", "remove nosuch"),
        ("delete nosuch", "remove nosuch"),
        ("add ./nosuch", "install ./nosuch"),
        ("i ./nosuch", "install ./nosuch"),
        ("init deploy --stage", "new deploy --stage"),
        ("search pdf --offline", "sources search pdf --offline"),
        ("browse --offline", "sources search --offline"),
        ("log", "history"),
        ("publish nosuch --index x", "sources publish nosuch --index x"),
        ("sign nosuch", "keys sign nosuch"),
    ):
        one, other = whet(*words.split()), whet(*same.split())
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr), words
        assert "is now" not in one.stderr


def test_a_skill_named_like_a_command_of_the_history_is_reached(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("diff")
    assert whet("edit", "diff", "--body", "Do it well.").returncode == 0
    assert [line.split("\t")[3] for line in whet("history", "--", "diff").stdout.splitlines()] == [
        *("edit", "first seen")
    ]
    assert whet("history", "diff").returncode == 2


def test_the_page_about_the_command_line_is_up_to_date() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, ""), "run `make docs`"
