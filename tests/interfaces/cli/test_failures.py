"""Whatever goes wrong: one document with --json, one line without, and a useful exit code."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING, Any

import pytest

from whet.api import Library
from whet.interfaces.cli.verbs import VERBS, note_old

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

LOG_KEY = "hub.example+9e3e9387+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
KEY = "ed25519:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
GOOD: dict[str, list[str]] = {
    "run": ["--list"],
    "ui": ["--check"],
    "list": [],
    "show": ["thing"],
    "find": ["do it"],
    "clients roots": [],
    "settings": [],
    "doctor": [],
    "gallery": [],
    "gallery show": ["commit-messages"],
    "gallery add": ["commit-messages"],
    "gallery remove": ["reviewing-changes"],
    "prompt index": [],
    "prompt render": ["thing"],
    "prompt commands": [],
    "prompt bundle": ["list"],
    "use": ["--none"],
    "skill needs": [],
    "new": ["fresh"],
    "skill validate": ["thing"],
    "sources digest": ["thing"],
    "create": ["fresh", "--description", "Does it.", "--body", "Do it."],
    "distill": ["session.jsonl"],
    "edit": ["thing", "--body", "Do it well."],
    "skill patch": ["thing", "--find", "Do it twice.", "--replace", "Do it well."],
    "skill rename": ["thing", "other"],
    "remove": ["thing", "brought"],
    "restore": ["gone"],
    "skill write-file": ["thing", "references/a.md", "--content", "More."],
    "skill remove-file": ["thing", "references/old.md"],
    "learn curate": [],
    "skill pin": ["thing"],
    "skill unpin": ["thing"],
    "learn transcript": ["session.jsonl"],
    "learn sessions": [],
    "learn duplicates": [],
    "learn eval": ["triggers"],
    "learn triggers": ["thing"],
    "learn improve": ["--help"],
    "skill test": ["thing", "--list"],
    "learn feedback": ["thing", "do it", "--fits"],
    "history": ["thing"],
    "history diff": ["thing"],
    "rollback": ["thing"],
    "undo": ["3"],
    "history verify": [],
    "history backup": ["all.backup"],
    "history restore": ["kept.backup"],
    "proposals list": [],
    "proposals show": ["1"],
    "proposals approve": ["1"],
    "proposals reject": ["1"],
    "learn usage": ["thing"],
    "sources search": ["brought", "--source", "./source"],
    "install": ["./thing.skill"],
    "ci": ["--root", "locked/skills"],
    "update": [],
    "sources verify": [],
    "sources why": ["brought"],
    "sources adopt": [],
    "sources list": [],
    "sources add": ["near", "./source"],
    "sources remove": ["anthropic"],
    "sync": ["claude"],
    "sources publish": ["thing", "--index", "site"],
    "sources snapshot": ["export", "all.whet"],
    "skill pack": ["thing"],
    "skill unpack": ["thing.skill"],
    "connect": ["cursor"],
    "scan": ["thing"],
    "guard log": [],
    "guard policy": ["show"],
    "guard rules": [],
    "guard permits": ["--grants", "Read", "--tool", "Read", "--input", '{"file_path": "a"}'],
    "guard trust": [],
    "guard untrust": [],
    "skill enable": ["thing"],
    "skill disable": ["thing"],
    "prompt list-as": ["thing", "always"],
    "mcp": ["--print-token"],
    "hook": ["prompt", "--client", "claude-code"],
    "completion": ["bash"],
    "hub init": ["other-hub"],
    "hub serve": ["hub", "--check"],
    "hub token": ["hub", "ada", "--scope", "publish:acme"],
    "hub member": ["hub", "ada", "--owner", "acme", "--role", "admin"],
    "hub invite": ["hub", "--role", "moderator"],
    "hub revoke": ["hub", "admin"],
    "hub queue": ["hub"],
    "hub rescan": ["hub"],
    "hub mirror": ["hub"],
    "hub export": ["hub", "--to", "hub.tar"],
    "hub import": ["hub", "hub.tar", "--key", LOG_KEY],
    "hub verify": ["hub"],
    "keys create": [],
    "keys list": [],
    "keys trust": [KEY, "ada"],
    "keys untrust": ["olga"],
    "keys sign": ["thing", "--key", "own"],
    "hub login": ["https://hub.example", "--token-stdin"],
    "hub logout": ["https://hub.example"],
    "hub yank": ["hub:https://hub.example/acme/review@1.0.0", "--reason", "Broken."],
    "hub deprecate": ["hub:https://hub.example/acme/review"],
    "hub owner": ["hub:https://hub.example/acme"],
    "hub publisher": ["hub:https://hub.example/acme"],
    "hub report": ["hub:https://hub.example/acme/review", "--reason", "Broken."],
    "hub check": ["https://hub.example"],
    "hub pin": ["https://hub.example", LOG_KEY],
}
NEEDS_HUB = {
    *("hub login", "hub yank", "hub deprecate", "hub owner", "hub publisher", "hub report", "hub check"),
    "hub import",
}
"""Commands that need another hub; `tests/hub/test_client.py` and `tests/hub/test_bundles.py` have one."""
BAD: dict[str, list[list[str]]] = {
    "ui": [["--port", "x"], ["--port", "70000"], ["word"]],
    "run": [
        *([], ["no-such"], ["thing"], ["thing", "--list"], ["thing", "--approve", "1"], ["--script", "x", "--list"]),
        *(["thing", "--script", "no.py"], ["--show", "no"], ["--resume", "no"], ["--discard", "../x"]),
        *(["thing", "--max-cost", "0"], ["thing", "--model", "no-such"]),
        *(["thing", "--on", "moon:x", "--script", "x"], ["thing", "--on", "docker:-v"]),
    ],
    "list": [
        ["--scope", "x"],
        ["--state", "x"],
        ["--limit", "0"],
        ["--limit", "x"],
        ["extra"],
        ["--project", "/no/such/place"],
        ["--root", "plain.txt"],
        ["--cursor", "zzz"],
    ],
    "show": [[], ["no-such"], ["thing", "--file", "../x"], ["thing", "--file", "no.md"], ["thing", "--page", "9"]],
    "find": [
        *([], [" "], ["do it", "-k", "0"], ["do it", "-k"], ["do it", "-k", "x"], [" ", "--decide"]),
        *(["do it", "--decide", "--file"], ["do it", "--decide", "-k", "1"], ["do it", "--skill", "thing"]),
        *(["do it", "--after"], ["do it", "--loaded"]),
    ],
    "clients roots": [["extra"]],
    "settings": [["extra"]],
    "doctor": [["extra"], ["--mend"]],
    "gallery": [["extra"], ["odd"]],
    "gallery show": [[], ["no-such"], ["thing"], ["commit-messages", "extra"]],
    "gallery add": [[], ["no-such"], ["commit-messages", "no-such"], ["thing"]],
    "gallery remove": [[], ["no-such"], ["commit-messages"], ["thing"], ["reviewing-changes", "commit-messages"]],
    "prompt index": [
        *(["extra"], ["--budget", "0"], ["--budget", "x"], ["--tokens", "-1"], ["--window", "1.5"], ["--limit", "0"]),
        *(["--budget", "9", "--tokens", "9"], ["--format", "odd"], ["--format"]),
    ],
    "prompt render": [[], ["no-such"], ["thing", "no-such"], ["thing", "--budget", "0"], ["thing", "--budget"]],
    "prompt commands": [["a", "b"]],
    "prompt bundle": [
        *([], ["odd"], ["list", "extra"], ["list", "--force"], ["show"], ["show", "no-such"], ["show", "x", "--here"]),
        *(["show", ""], ["create", "x", "--skills", ""], ["create", "x", "--skills", "thing,"]),
        *(["create"], ["create", "x"], ["create", "x", "--skills", ","], ["create", "---", "--skills", "thing"]),
        *(["create", "x", "--skills", "thing", "--here"], ["delete"], ["delete", "no-such"], ["delete", "a", "b"]),
    ],
    "use": [["no-such"], [""], ["/"], ["a", "b"], ["x", "--none"]],
    "skill needs": [["no-such"], ["thing", "no-such", "--check"]],
    "new": [
        [],
        ["x", "--stage"],
        ["x", "--body", "z"],
        ["x", "--dir", "y", "--body", "z"],
        ["x", "--dir", "y", "--description", "Does it.", "--body", "z", "--stage"],
        ["Bad Name"],
        ["thing"],
        ["x", "--description", ""],
        ["x", "--description", "y" * 2000],
    ],
    "skill validate": [[], ["no-such"], ["./no-such"], ["thing", "--profile", "odd"], ["--recursive", "thing.skill"]],
    "sources digest": [[], ["no-such"], ["thing", "--library"], ["./no-such"], ["plain.txt"]],
    "create": [
        *([], ["---"], ["x", "--body", "y"], ["x", "--description", ""]),
        *(["x", "--body", "y", "--body-file", "plain.txt"], ["x", "--body-file", "no-such"], ["x", "--body-file", "."]),
        *(["x", "--description", "y", "--body-file", "binary"], ["thing"], ["x", "y"], ["x", "--body-file"]),
        *(["thing", "--body", "y", "--set-version", "a b"], ["thing", "--description", "y" * 2000]),
    ],
    "distill": [
        *([], ["no-such"], ["."], ["binary"], ["plain.txt"], ["session.jsonl", "--resume"], ["--resume"]),
        *(["session.jsonl", "--fork", "--inline"], ["session.jsonl", "--allow", "x", "--no-tools"]),
        *(["session.jsonl", "--name", "!!!"], ["session.jsonl", "--allow", "Bash("], ["a", "b"]),
        *(["session.jsonl", "--argument", "two words"], ["session.jsonl", "--step", "x" * 300]),
        *(["session.jsonl", "--argument-hint", ""], ["session.jsonl", "--when-to-use", "<x>"]),
        ["session.jsonl", "--here", "--root", "."],
    ],
    "learn transcript": [[], ["no-such"], ["."], ["binary"], ["plain.txt"], ["a", "b"]],
    "edit": [
        *([], ["no-such"], ["thing"], ["no-such", "--body", "x"], ["thing", "--body", ""], ["thing", "--body"]),
        *(["thing", "--body", "x", "--body-file", "plain.txt"], ["thing", "--body-file", "binary"]),
        *(["thing", "--body", "---\nname: other\n---\nx"], ["thing", "--body-file", "large"]),
    ],
    "skill patch": [
        *(
            [],
            ["thing"],
            ["thing", "--find", "x"],
            ["thing", "--replace", "x"],
            ["no-such", "--find", "a", "--replace", "b"],
        ),
        *(["thing", "--find", "Do it thrice.", "--replace", "x"], ["thing", "--find", "", "--replace", "x"]),
        *(["thing", "--find", "o", "--replace", "x"], ["thing", "--find", "o", "--replace", "o"]),
        *(["thing", "--find", "o", "--replace", "x", "--file", "no.md"],),
        *(["thing", "--find", "o", "--replace", "x", "--file", "../x"],),
        *(["thing", "--find", "o", "--replace", "x", "--all", "--tolerant"],),
    ],
    "skill rename": [[], ["thing"], ["no-such", "x"], ["thing", "---"], ["thing", "thing"], ["thing", "x", "y"]],
    "remove": [[], ["no-such"], ["team:theirs"], ["brought", "--stage"], ["thing", "--archive", "--stage"]],
    "restore": [["no-such"], ["thing"], ["a", "b"]],
    "skill write-file": [
        *([], ["thing"], ["thing", "a.md"], ["no-such", "a.md", "--content", "x"], ["thing", "../a", "--content", "x"]),
        *(["thing", "SKILL.md", "--content", "x"], ["thing", "a.md", "--content", "x", "--content-file", "plain.txt"]),
        *(["thing", "a.md", "--content-file", "no-such"], ["thing", "a.md", "--content-file", "large"]),
    ],
    "skill remove-file": [
        [],
        ["thing"],
        ["thing", "no.md"],
        ["thing", "SKILL.md"],
        ["thing", "../a"],
        ["no-such", "a.md"],
    ],
    "learn curate": [["extra"], ["--apply", "--if-due"]],
    "skill pin": [[], ["no-such"], ["thing", "extra"]],
    "skill unpin": [[], ["thing", "extra"]],
    "learn sessions": [["no-such"], ["codex:no-such"], ["plain.txt"], ["--limit", "0"], ["--write", "--dry-run"], [""]],
    "learn duplicates": [["no-such"], ["a", "b"], ["--threshold", "0"], ["--threshold", "x"], ["--limit", "0"]],
    "learn eval": [
        *([], ["odd"], ["triggers", "no-such"], ["triggers", "thing"], ["triggers", "--file", "no-such"]),
        *(["triggers", "thing", "--file", "plain.txt"], ["triggers", "--min-recall", "2"], ["triggers", "--file"]),
        *(["triggers", "--min-precision", "x"], ["triggers", "--model", "x"], ["thing"], ["no-such", "--model", "x"]),
        *(["thing", "--model", "odd"], ["thing", "--model", "recorded:no-such"], ["thing", "--suggest"]),
        *(["thing", "later", "--model", "recorded:no-such"], ["thing", "--runs", "0"], ["thing", "--apply"]),
        *(["thing", "--against", "odd"], ["thing", "--optimise-description"], ["thing", "--out"]),
        *(["thing", "--optimise-description", "--runs", "2"], ["thing", "--min-pass-rate", "2"]),
        *(["triggers", "--out", "x"], ["triggers", "--grader", "x"], ["thing", "--blind"]),
    ],
    "learn triggers": [[], ["no-such"], ["thing", "extra"]],
    "learn improve": [
        *([], ["no-such"], ["no-such", "--model", "x"], ["thing"], ["thing", "--model", "odd"], ["thing", "extra"]),
        *(["thing", "--model", "recorded:no-such"], ["thing", "--rounds", "0"], ["thing", "--rounds", "21"]),
        *(["thing", "--write", "--dry-run"], ["thing", "--budget", "x"], ["thing", "--edits"]),
    ],
    "skill test": [[], ["no-such"], ["thing"], ["thing", "extra"]],
    "learn feedback": [
        *([], ["thing"], ["thing", "x"], ["thing", "--fits"], ["thing", "x", "--fits", "--does-not-fit"]),
        *(["no-such", "x", "--fits"], ["thing", " ", "--fits"], ["thing", "x", "--forget"], ["thing", "x", "--list"]),
        *(["--forget"],),
    ],
    "history": [["no-such"], ["thing", "--last", "0"], ["--export"], ["thing", "--export", "--last", "1"], ["a", "b"]],
    "history diff": [
        [],
        ["no-such"],
        ["thing", "x"],
        ["thing", ""],
        ["thing", "0"],
        ["thing", "99"],
        ["thing", "1", "99"],
        ["thing", "9" * 30],
    ],
    "rollback": [[], ["no-such"], ["thing", "--to", "0"], ["thing", "--to", "99"], ["team:theirs"]],
    "undo": [
        ["--to", "1"],
        ["thing", "--to", "99"],
        [""],
        ["0"],
        ["99"],
        ["9" * 30],
        ["no-such"],
        ["1", "2"],
        ["99", "--dry-run"],
        ["--redo"],
        ["1", "--redo"],
        ["no-such", "--redo"],
        ["thing", "--redo", "--to", "1"],
    ],
    "history verify": [["extra"]],
    "history restore": [[], ["no-such"], ["plain.txt"]],
    "history backup": [[], ["session.jsonl"], ["no/\0/file"]],
    "proposals show": [[], ["0"], ["x"], ["1", "2"]],
    "proposals list": [["0"], ["99"], ["x"], ["9" * 30], ["1", "2"]],
    "proposals approve": [[], ["0"], ["99"], ["x"]],
    "proposals reject": [[], ["0"], ["99"], ["x"]],
    "learn usage": [["no-such"], ["--outcome", "helped"], ["thing", "--outcome", "x"]],
    "sources search": [["x", "--source", "nowhere"], ["x", "--limit", "0"], ["x", "--offline"]],
    "install": [
        *(["--all"], ["no-such"], ["./no-such"], ["./plain.txt"], ["./empty"], ["./source", "--skill", "x"]),
        ["./nameless"],
        *(["http://127.0.0.1:9/x.zip"], ["https://u:p@example.com/x.zip"], ["ext::sh"], ["--skill", "x"]),
    ],
    "ci": [["./source"], ["--dry-run", "no-such"], ["--root", "no-such-root"]],
    "update": [["no-such"], ["no-such", "--check"], ["--prefer", "odd"], ["--prefer"]],
    "sources verify": [["no-such"]],
    "sources why": [[], ["no-such"], ["a", "b"]],
    "sources adopt": [["no-such"], ["brought"], ["thing", "later", "--from", "./source"]],
    "sources list": [["x"]],
    "sources add": [[], ["x"], ["X Y", "./source"], ["there", "no-such"]],
    "sources remove": [[], ["no-such"]],
    "sync": [["no-such"], ["claude", "--skill", "no-such"]],
    "sources publish": [
        *([], ["thing"], ["no-such", "--index", "site"], ["thing", "--index", "site", "--git", "x"]),
        *(["./empty", "--index", "site"], ["thing", "--git", "./empty"], ["thing", "--hub", "https://127.0.0.1:9"]),
        ["thing", "--index", "site", "--allow-failing", " "],
    ],
    "sources snapshot": [
        [],
        ["odd"],
        ["export"],
        ["import", "no-such"],
        ["import", "plain.txt"],
        ["export", "plain.txt"],
    ],
    "skill pack": [[], ["no-such"], ["./no-such"], ["thing", "-o", "plain.txt"], ["empty"]],
    "skill unpack": [[], ["no-such"], ["plain.txt"], ["thing"], ["empty"]],
    "connect": [
        *(["odd"], ["cursor", "odd"], ["cursor", "--undo"], ["cursor", "--writes", "odd"], ["cursor", "--writes"]),
        *(["hermes", "--here"], ["--yes"], ["--undo"], ["cursor", "--undo", "--no-hooks"]),
    ],
    "scan": [
        *(
            [],
            ["no-such"],
            ["./no-such"],
            ["thing", "--fail-on", "odd"],
            ["thing", "--format", "odd"],
            ["thing", "--output"],
        ),
        *(["thing", "--baseline", "no-such"], ["thing", "--baseline", "plain.txt"], ["thing", "--reason", "x"]),
        *(["--recursive", "./no-such"],),
    ],
    "guard log": [["--last", "0"], ["a", "b"], ["--verify", "--last", "1"]],
    "guard policy": [
        *(["odd"], ["show", "thing"], ["explain", "no-such"], ["explain", "--trust", "community"]),
        *(["explain", "thing", "--trust", "community"], ["explain", "--trust", "odd", "--verdict", "safe"]),
        *(["explain", "--trust", "community", "--verdict", "odd"], ["override"], ["override", "thing"], ["revoke"]),
        *(["override", "no-such", "--reason", "x"], ["show", "--trust", "x"]),
    ],
    "guard rules": [["no-such"], ["a", "b"], ["--category", "odd"], ["pipe-shady", "--category", "hiding"]],
    "guard permits": [[], ["--tool", "Read"], ["--skill", "no-such", "--tool", "Read", "--input", "{}"]],
    "guard trust": [["extra"]],
    "guard untrust": [["./no-such"], ["a", "b"]],
    "skill enable": [[], ["no-such"]],
    "skill disable": [[], ["no-such"], ["thing", "--surface"]],
    "prompt list-as": [[], ["thing"], ["thing", "odd"], ["no-such", "always"], ["thing", "name", "extra"]],
    "mcp": [
        *(["extra"], ["--allow-writes", "--read-only"], ["--host", "127.0.0.1"], ["--port", "1"], ["--port", "x"]),
        *(["--allow-origin", "https://app.example"], ["--allow-host"], ["--http", "--read-only", "--allow-writes"]),
    ],
    "hook": [[], ["prompt"], ["odd", "--client", "codex"], ["prompt", "--client"], ["prompt", "--client", "odd"]],
    "completion": [[], ["cmd"]],
    "hub init": [[], ["hub"], ["other-hub", "--origin", "not a host"], ["other-hub", "--database", "odd://x"]],
    "hub serve": [[], ["empty"], ["hub", "--port", "x"], ["hub", "--check", "--blobs", "odd://x"]],
    "hub token": [["hub"], ["hub", "Not A Name"], ["hub", "ada", "--scope", "odd"], ["hub", "ada", "--days", "0"]],
    "hub member": [["hub"], ["hub", "ada", "--owner", "acme", "--role", "odd"], ["empty", "ada"]],
    "hub invite": [[], ["hub", "--role", "odd"], ["hub", "--owner", "Not A Name", "--role", "admin"]],
    "hub revoke": [["hub"], ["empty", "ada"], ["hub", "nobody"]],
    "hub queue": [
        *([], ["empty"], ["hub", "--limit", "x"], ["hub", "--case", "1", "--decision", "odd"]),
        ["hub", "--case", "9", "--decision", "dismiss", "--reason", "No."],
    ],
    "hub rescan": [[], ["empty"]],
    "hub mirror": [[], ["empty"], ["hub", "https://site.example", "--owner", "Not An Owner"]],
    "hub export": [
        *([], ["hub"], ["empty", "--to", "x.tar"], ["hub", "--to", "x.tar", "--since", "no-such"]),
        *(["hub", "--to", "x.tar", "--skills", "acme/none"], ["hub", "--to", "no/such/x.tar"]),
    ],
    "hub import": [[], ["hub"], ["hub", "no-such"], ["hub", "plain.txt"], ["empty", "plain.txt"]],
    "hub verify": [[], ["empty"]],
    "keys create": [["own"], ["Not A Name"]],
    "keys list": [["odd"]],
    "keys trust": [[], [KEY], ["nonsense", "ada"], [KEY, ""]],
    "keys untrust": [[], ["nobody"]],
    "keys sign": [[], ["no-such"], ["thing", "--key", "none"], ["empty", "--key", "own"]],
    "hub login": [[], ["nonsense", "--token-stdin"], ["https://hub.example"]],
    "hub logout": [[], ["nonsense"]],
    "hub yank": [["acme/review@1.0.0", "--reason", "x"], ["hub:https://hub.example/acme/review", "--reason", "x"]],
    "hub deprecate": [["acme/review"], ["hub:https://hub.example"]],
    "hub owner": [["acme"], ["hub:https://hub.example/acme", "--tier", "best"]],
    "hub publisher": [["acme"], ["hub:https://hub.example/acme", "--remove", "0"]],
    "hub report": [["acme/review", "--reason", "x"], ["hub:https://hub.example/acme/review"]],
    "hub check": [[], ["nonsense"]],
    "hub pin": [[], ["https://hub.example"], ["https://hub.example", "nonsense"]],
}
EVERYWHERE = [["--nope"], ["--root"], ["--json=1"]]


@pytest.fixture
def world(skill: Callable[..., Path], plugin: Callable[..., None], whet: Callable[..., CompletedProcess[str]]) -> None:
    """One skill, its archive and its history; a plugin's, a deleted one, a proposal, two installed; files of no use."""
    skill("thing")
    plugin("theirs")
    skill("brought", root=Path("source"))
    text = "---\nname: [\ndescription: Does it.\n---\nDo it.\n"
    (skill("nameless", root=Path()) / "SKILL.md").write_text(text, encoding="utf-8")
    with open("plain.txt", "w", encoding="utf-8") as file:
        file.write("not an archive")
    asked = {"role": "user", "content": "Count the lines of all reports and write the number down."}
    call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "wc -l reports/*"}'}}
    told = {"role": "tool", "tool_call_id": "1", "content": "12 reports/a"}
    for name, rows in (("idle", [asked]), ("session", [asked, {"role": "assistant", "tool_calls": [call]}, told])):
        with open(f"{name}.jsonl", "w", encoding="utf-8") as file:
            file.write("".join(f"{json.dumps(row)}\n" for row in rows))
    for path, data in (("binary", b"\xff\x00"), ("large", b"x" * (1024 * 1024 + 1))):
        with open(path, "wb") as stream:
            stream.write(data)
    for words in (
        ["write-file", "thing", "references/old.md", "--content", "Old."],
        ["patch", "thing", "--find", "Do it.", "--replace", "Do it twice."],
        ["pack", "thing"],
        ["create", "gone", "--description", "Is gone.", "--body", "Go."],
        ["delete", "gone"],
        ["create", "later", "--description", "Comes later.", "--body", "Wait.", "--stage"],
        ["install", "./source"],
        ["gallery", "add", "reviewing-changes"],
        ["history", "backup", "kept.backup"],
        ["hub", "init", "hub"],
        ["keys", "create", "own"],
        ["keys", "trust", KEY, "olga"],
    ):
        assert whet(*words).returncode == 0
    os.mkdir("empty")
    os.mkdir(".git")
    os.makedirs("locked/skills")
    with open("locked/whet-lock.json", "w", encoding="utf-8") as file:
        file.write('{"version": 1, "skills": {}}')


def test_every_command_is_tried() -> None:
    assert set(GOOD) == set(BAD) == set(VERBS)


@pytest.mark.usefixtures("world")
def test_with_json_a_success_is_one_document(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    kept = tmp_path.with_name(f"{tmp_path.name}-kept")
    copytree(tmp_path, kept, symlinks=True)
    for verb in VERBS.keys() - NEEDS_HUB:
        with subtests.test(verb):
            good = whet("--json", *verb.split(), *GOOD[verb])
            assert (good.returncode, good.stderr) == (0, "")
            assert document(good)["success"] is True
        for path in tmp_path.iterdir():  # the world as it was; the working directory stays the same one
            for inner in path.iterdir() if path.name == "work" else [path]:
                rmtree(inner) if inner.is_dir() and not inner.is_symlink() else inner.unlink()
        copytree(kept, tmp_path, symlinks=True, dirs_exist_ok=True)


@pytest.mark.usefixtures("world")
def test_a_failure_is_one_document_with_json_and_a_line_and_a_hint_without(
    whet: Callable[..., CompletedProcess[str]], subtests: pytest.Subtests, *, quick: bool
) -> None:
    for number, verb in enumerate(VERBS):
        everywhere = [EVERYWHERE[number % len(EVERYWHERE)]] if quick else EVERYWHERE
        for at, words in enumerate([*BAD[verb], *([*GOOD[verb], *bad] for bad in everywhere)]):
            with subtests.test(shlex.join((verb, *words))):
                run = whet(*verb.split(), *words, "--json")
                told = document(run)
                assert (run.returncode, run.stderr) == (max(1, run.returncode), "")
                assert told["success"] is False and told["error"].endswith(".") and told["code"] and told["hint"]
                plain = whet(*verb.split(), *words)
                said = plain.stderr.removeprefix(f"{note_old(verb)}\n" if VERBS[verb].now else "")
                assert (plain.stdout, said) == ("", f"error: {told['error']}\nhint: {told['hint']}\n")
                if quick and at:
                    continue
                assert whet(*verb.split(), *words, "--quiet").stderr == f"error: {told['error']}\n"


CLAUDE = ("claude", "cluade", "calude")
EXIT_CODES: list[tuple[list[str], int, str]] = [
    (["show", "no-such"], 1, "skill-not-found"),
    (["show", "thing", "--file", "no.md"], 1, "file-not-found"),
    (["show", "thing", "--file", "../x"], 2, "path-traversal"),
    (["show", "thing", "--page", "9"], 2, "no-such-page"),
    (["list", "--limit", "0"], 2, "bad-limit"),
    (["list", "--nope"], 2, "unknown-option"),
    (["nope"], 2, "unknown-command"),
    (["--nope"], 2, "unknown-option"),
    (["show"], 2, "usage"),
    (["index", "--budget", "0"], 2, "usage"),
    (["index", "--budget", "9", "--tokens", "9"], 2, "two-budgets"),
    (["render", "no-such"], 1, "skill-not-found"),
    (["render", "--", "thing"], 2, "usage"),
    (["bundle", "odd"], 2, "usage"),
    (["bundle", "create", "x"], 2, "usage"),
    (["bundle", "create", "x", "--skills", " , "], 2, "bundle-empty"),
    (["bundle", "create", "x", "--skills", "thing", "--here"], 2, "no-project"),
    (["bundle", "delete", "x"], 1, "bundle-not-found"),
    (["needs", "no-such"], 1, "skill-not-found"),
    (["find", ""], 2, "message-empty"),
    (["detect", " "], 2, "message-empty"),
    (["list", "--query", "x", "--cursor", "x"], 2, "bad-cursor"),
    (["list", "--cursor", "zzz"], 2, "bad-cursor"),
    (["list", "--root", "plain.txt"], 2, "bad-root"),
    (["bundle", "create", "x", "--skills", "thing,"], 2, "bundle-empty"),
    (["install", "./nameless"], 1, "bad-name"),
    (["eval", "triggers", "thing"], 1, "no-trigger-evals"),
    (["eval", "triggers", "thing", "--file", "plain.txt"], 1, "not-trigger-evals"),
    (["eval", "thing"], 1, "no-output-evals"),
    (["eval", "thing", "--optimise-description"], 1, "too-few-trigger-evals"),
    (["eval", "thing", "--suggest"], 2, "usage"),
    (["improve", "thing"], 1, "no-output-evals"),
    (["improve", "thing", "--write", "--dry-run"], 2, "usage"),
    (["test", "thing"], 1, "no-tests"),
    (["feedback", "thing", "x", "--forget"], 1, "no-such-feedback"),
    (["connect", "cursor", "--undo"], 1, "not-connected"),
    (["connect", "hermes", "--here"], 2, "no-project-config"),
    (["new", "thing"], 1, "skill-exists"),
    (["new", "Bad Name"], 2, "bad-name"),
    (["new", "x", "--description", ""], 2, "bad-description"),
    (["create", "x", "--body", "y"], 2, "bad-description"),
    (["create", "x", "--body-file", "binary"], 1, "not-a-text-file"),
    (["distill", "plain.txt"], 1, "not-a-transcript"),
    (["distill", "idle.jsonl"], 1, "nothing-to-distill"),
    (["distill", "no-such"], 1, "transcript-missing"),
    (["distill", "--resume"], 1, "nothing-to-resume"),
    (["distill", "session.jsonl", "--name", "!!!"], 2, "bad-answer"),
    (["edit", "thing"], 2, "no-editor"),
    (["edit", "thing", "--body-file", "large"], 1, "file-too-large"),
    (["patch", "thing", "--find", "nowhere", "--replace", "x"], 1, "patch-not-found"),
    (["patch", "thing", "--find", "o", "--replace", "x"], 1, "patch-ambiguous"),
    (["rename", "thing", "thing"], 1, "skill-exists"),
    (["delete", "team:theirs"], 3, "protected"),
    (["show", "commit-messages"], 1, "skill-not-found"),
    (["gallery", "add", "no-such"], 1, "skill-not-in-source"),
    (["gallery", "remove", "commit-messages"], 1, "not-installed"),
    (["gallery", "remove", "thing"], 1, "not-in-gallery"),
    (["install", "gallery:no-such"], 1, "not-in-gallery"),
    (["restore", "thing"], 1, "nothing-to-restore"),
    (["write-file", "thing", "SKILL.md", "--content", "x"], 2, "main-file"),
    (["remove-file", "thing", "references/no.md"], 1, "file-not-found"),
    (["diff", "thing", "99"], 1, "no-such-version"),
    (["rollback", "team:theirs"], 1, "no-such-version"),
    (["undo", "99"], 1, "no-such-entry"),
    (["undo", "9" * 30], 2, "usage"),
    (["pending", "99"], 1, "no-such-proposal"),
    (["pack", "thing", "-o", "plain.txt"], 1, "file-exists"),
    (["pack", "empty"], 1, "archive-no-skill"),
    (["unpack", "plain.txt"], 1, "archive-not-readable"),
    (["unpack", "empty"], 2, "not-an-archive"),
    (["unpack", "no-such"], 1, "path-not-found"),
    (["validate", "./no-such"], 1, "path-not-found"),
    (["validate", "--recursive", "empty"], 1, "no-skills-found"),
    (["untrust", "./no-such"], 1, "not-trusted"),
    (["--root", "x", "trust"], 2, "no-project"),
    (["--project", "/no/such/place", "list"], 2, "no-such-project"),
]


@pytest.mark.usefixtures("world")
def test_exit_codes(whet: Callable[..., CompletedProcess[str]], subtests: pytest.Subtests) -> None:
    for words, exit_code, code in EXIT_CODES:
        with subtests.test(shlex.join(words)):
            run = whet("--json", *words)
            assert (run.returncode, document(run)["code"]) == (exit_code, code)


MEANT: list[tuple[list[str], str]] = [
    *(
        (words, "Did you mean claude-code?")
        for words in (
            ["connect", "cluade"],
            ["disconnect", "cluade"],
            ["sync", "cluade"],
            ["sync", "--undo", "cluade"],
            ["sync", "--list", "cluade"],
            ["list", "--client", "cluade"],
            ["skill", "validate", "thing", "--client", "cluade"],
        )
    ),
    *(([verb, word], "Did you mean `whet list --client claude`?") for verb in ("list", "agents") for word in CLAUDE),
    (["list", "codex"], "Did you mean `whet list --client codex`?"),
    (["list", "all"], "Did you mean `whet list --all`?"),
    (["completion", "bash", "zsh"], "Run the command once for each."),
    (["list", "--agent", "codex"], "Did you mean --client?"),
    (
        ["scan", "https://skills.example/x"],
        "`whet show https://skills.example/x` scans what the source has; nothing is installed.",
    ),
    (["install", "./source", "--skill", "brought,brot"], "Did you mean brought?"),
    (["gallery", "add", "no-such"], "`whet gallery` lists the skills."),
    (["use", "no-such"], "`whet prompt bundle list` shows them."),
    (["sync", "--skill", "no-such"], "`whet list` shows your skills."),
    (["ui", "--port", "70000"], "Ports go from 0 to 65535."),
    (["run", "thing", "--script", "no.py"], "It has no scripts."),
]


@pytest.mark.usefixtures("world")
def test_a_hint_leads_to_what_was_meant(whet: Callable[..., CompletedProcess[str]], subtests: pytest.Subtests) -> None:
    for words, hint in MEANT:
        with subtests.test(shlex.join(words)):
            run = whet("--json", *words)
            assert (document(run)["hint"], run.returncode > 0) == (hint, True)


def test_global_options_work_before_and_after_the_command(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("one", root=tmp_path / "a")
    skill("two", root=tmp_path / "b")
    for words in (
        ["--root", str(tmp_path / "a"), "list", "--root", str(tmp_path / "b")],
        [f"--root={tmp_path / 'a'}", "--root", str(tmp_path / "b"), "--quiet", "--no-input", "list"],
        ["list", f"--root={tmp_path / 'a'}", f"--root={tmp_path / 'b'}"],
    ):
        assert whet(*words).stdout == "one\tDoes one thing.\ntwo\tDoes one thing.\n"


def test_a_mistake_of_ours_is_said_without_a_traceback(
    whet: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    def broken(*_: object, **__: object) -> dict[str, Any]:
        raise KeyError("x")

    monkeypatch.setattr(Library, "skills", broken)
    run = whet("list", "--json")
    hint = "This is a bug in Whet. Run the command again with WHET_TRACEBACK=1 and report the output."
    message = "Something went wrong inside Whet (KeyError: 'x')."
    assert (run.returncode, run.stderr) == (4, "")
    assert document(run) == {"success": False, "error": message, "code": "internal-error", "hint": hint}
    plain = whet("list")
    assert (plain.returncode, plain.stdout, plain.stderr) == (4, "", f"error: {message}\nhint: {hint}\n")
    env["WHET_TRACEBACK"] = "1"
    traced = whet("list", "--json")
    assert document(traced) == document(run)
    assert traced.stderr.startswith("Traceback (most recent call last):\n") and "KeyError" in traced.stderr


def test_an_interrupt_is_not_a_mistake(
    whet: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Library, "skills", interrupted)
    run = whet("list", "--json")
    assert (run.returncode, document(run)["code"]) == (130, "interrupted")
    assert whet("list").stderr == "error: Interrupted.\nhint: Run the command again.\n"


def test_the_machine_failing_is_not_a_mistake_of_ours(
    whet: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> dict[str, Any]:
        raise PermissionError(13, "Permission denied", "/some/where")

    monkeypatch.setattr(Library, "skills", denied)
    run = whet("list", "--json")
    assert (run.returncode, document(run)["code"]) == (4, "permission-denied")
    assert document(run)["error"] == "Cannot use /some/where: Permission denied."


def document(run: CompletedProcess[str]) -> dict[str, Any]:
    """The one document on standard output."""
    assert run.stdout.endswith("}\n") and run.stdout.count("\n") == 1
    answer = json.loads(run.stdout)
    assert isinstance(answer, dict)
    return answer
