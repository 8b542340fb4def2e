"""What the completion scripts are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.interfaces.cli.verbs import COMMANDS, GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


@pytest.fixture
def complete(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> Callable[..., list[str]]:
    """Complete the last of the words; there are two skills and one of a plugin."""
    skill("deploy")
    skill("digest-mail", extra="platforms: [nowhere]\n")
    skill("lint", root=tmp_path / "tools")
    (tmp_path / "state").mkdir()
    config = f"[plugins]\ntools = '{tmp_path / 'tools'}'\n"
    (tmp_path / "state" / "config.toml").write_text(config, encoding="utf-8")

    def ask(*words: str) -> list[str]:
        run = whet("__complete", "--", *words)
        assert (run.returncode, run.stderr) == (0, "")
        return run.stdout.splitlines()

    return ask


def test_commands_and_groups_come_first(complete: Callable[..., list[str]]) -> None:
    words = dict.fromkeys((*(name for name in COMMANDS if " " not in name), *GROUPS))
    assert complete("") == complete() == [*words]
    assert complete("un") == ["undo"]
    assert complete("--quiet", "--root", "x", "up") == ["update"]
    assert complete("--qu") == ["--quiet"]
    assert complete("--root", "") == []
    assert complete("skill", "un") == ["unpin", "unpack"]
    assert complete("history", "d") == ["diff", "deploy", "digest-mail"]


def test_options_of_the_command_and_everywhere(complete: Callable[..., list[str]]) -> None:
    assert complete("list", "--c") == ["--category", "--cursor", "--client"]
    assert complete("view", "--f") == ["--file"]
    assert complete("skill", "pack", "--") == [
        *("--output", "--root", "--project", "--json", "--quiet", "--verbose", "--yes", "--no-input", "--version"),
        "--help",
    ]


def test_rules_of_the_guard_and_their_categories(complete: Callable[..., list[str]]) -> None:
    assert complete("guard", "rules", "pipe-sh") == ["pipe-shady"]
    assert complete("guard", "rules", "--category", "h") == ["hiding"]


def test_names_of_skills_also_hidden_ones(complete: Callable[..., list[str]]) -> None:
    assert complete("show", "") == ["deploy", "digest-mail", "tools:lint"]
    assert complete("show", "--file", "x", "d") == ["deploy", "digest-mail"]
    assert complete("skill", "enable", "tools:") == ["tools:lint"]
    assert complete("skill", "validate", "deploy", "di") == ["digest-mail"]
    assert complete("--json", "sources", "digest", "de") == ["deploy"]


def test_names_of_bundles_where_a_bundle_is_meant(
    complete: Callable[..., list[str]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    assert complete("prompt", "bundle", "show", "") == []
    assert whet("prompt", "bundle", "create", "Deploy day", "--skills", "deploy").returncode == 0
    for words in (["show"], ["delete"], ["--json", "show"]):
        assert complete("prompt", "bundle", *words, "") == ["deploy-day"]
    assert complete("prompt", "render", "de") == ["deploy", "deploy-day"]
    assert complete("prompt", "render", "--budget", "9", "tools:lint", "di") == ["digest-mail"]
    assert complete("skill", "needs", "deploy", "d") == ["deploy", "digest-mail"]


def test_what_is_deleted_proposed_or_in_the_history(
    complete: Callable[..., list[str]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    for verb in ("restore", "approve", "reject", "pending"):
        assert complete(verb, "") == []
    assert complete("undo", "") == ["deploy", "digest-mail", "tools:lint"]
    assert whet("delete", "deploy").returncode == 0
    assert whet("edit", "digest-mail", "--body", "x", "--stage").returncode == 0
    known = ["diff", "verify", "backup", "restore", "digest-mail", "tools:lint"]
    assert (complete("restore", ""), complete("history", "")) == (["deploy"], known)
    assert [complete(verb, "") for verb in ("approve", "reject", "pending")] == [["1"]] * 3
    assert complete("undo", "") == ["2", "1", "digest-mail", "tools:lint", "deploy"]
    assert complete("proposals", "show", "") == ["1"]


def test_nothing_where_nothing_or_a_file_fits(complete: Callable[..., list[str]]) -> None:
    for words in (
        ["show", "deploy", ""],
        ["rename", "deploy", ""],
        ["diff", "deploy", ""],
        ["write-file", "deploy", ""],
        ["create", "fresh", "--body-file", ""],
        ["new", "d"],
        ["unpack", ""],
        ["nope", ""],
        ["show", "--file", ""],
        ["list", ""],
        ["render", "deploy", "--", ""],
        ["render", "deploy", "--", "-"],
        ["bundle", "create", ""],
        ["bundle", "list", ""],
        ["show", "--page", "x", ""],
    ):
        assert complete(*words) == []


def test_choices_of_an_option_and_an_argument(complete: Callable[..., list[str]]) -> None:
    assert complete("skill", "validate", "--profile", "") == ["spec", "upload", "quality", "package"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]
    assert complete("prompt", "index", "--format", "") == ["bullet", "xml", "json", "tool"]
    assert complete("prompt", "bundle", "") == ["list", "show", "create", "delete"]
    assert complete("connect", "c") == ["claude-code", "codex", "cursor", "copilot", "cline"]
    assert complete("connect", "codex", "--writes", "") == ["propose", "allow"]


def test_the_roots_on_the_line_count(complete: Callable[..., list[str]], tmp_path: Path) -> None:
    assert complete("--root", str(tmp_path / "tools"), "show", "") == ["lint"]


def test_a_library_that_cannot_be_opened_is_no_reason_to_talk(
    complete: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "state" / "config.toml").write_text("not toml", encoding="utf-8")
    assert complete("show", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_script_asks_the_hidden_command(shell: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert "__complete -- " in whet("completion", shell).stdout
