"""The commands and the fields of their answers that other programs rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

WORDS = ("create", "alpha", "--description", "Formats dates in reports. Use when dates differ.", "--body", "Use ISO.")
CHANGED = "path version entry"
SHOWN = (
    "name description content files digest version category scope path ready missing tags related_skills origin trust"
)
FIELDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (WORDS, "name path version digest created similar warnings"),
    (("list", "--limit", "1"), "skills categories count total next hint"),
    (("show", "alpha"), SHOWN),
    (("doctor",), "report"),
    (("validate", "alpha"), "valid results"),
    (("validate", "--client", "codex"), "valid results"),
    (("list", "--client", "codex"), "client skills left_out count"),
    (("digest", "alpha"), "digest"),
    (("index",), "text report"),
    (("render", "alpha", "--", "x"), "message tokens"),
    (("scan", "alpha"), "results summary"),
    (("permits", "--skill", "alpha", "--tool", "Bash", "--input", '{"command": "ls"}'), "decision reason"),
    (("find", "format the dates", "-k", "2"), "results"),
    (("detect", "format the dates in this report"), "decision skill confidence evidence"),
    (("patch", "alpha", "--find", "ISO", "--replace", "RFC 3339"), "path version digest replacements"),
    (("write-file", "alpha", "references/notes.md", "--content", "Notes."), CHANGED),
    (("remove-file", "alpha", "references/notes.md"), CHANGED),
    (("rename", "alpha", "beta"), CHANGED),
    (("delete", "beta"), CHANGED),
    (("restore", "beta"), CHANGED),
    (("history", "beta"), "entries"),
    (("diff", "beta"), ""),
    (("undo",), ""),
    (("verify-history",), ""),
    (("usage",), ""),
    (("curate",), ""),
    (("hub", "init", "hub"), "directory admin_token log_key"),
    (("backup", "backup.zip"), "entries contents verified"),
    (("restore", "--backup", "backup.zip"), "entries contents verified"),
)


def test_every_answer_has_its_fields(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    missing: dict[str, list[str]] = {}
    for words, fields in FIELDS:
        answer = json.loads(whet("--json", *words).stdout)
        if lost := [field for field in ("success", *fields.split()) if field not in answer]:
            missing[" ".join(words)] = [*lost, str(answer)]
        elif words[0] != "permits" and answer["success"] is not True:
            missing[" ".join(words)] = [str(answer)]
    assert missing == {}


def test_a_backup_counts_what_it_brings_back(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert whet(*WORDS).returncode == 0
    made = json.loads(whet("backup", "backup.zip", "--json").stdout)
    restored = json.loads(whet("restore", "--backup", "backup.zip", "--json").stdout)
    counted = {"entries": 1, "contents": 3, "verified": True}
    assert [{name: answer[name] for name in counted} for answer in (made, restored)] == [counted, counted]


def test_the_skills_that_a_client_finds_are_validated_for_it(
    whet: Callable[..., CompletedProcess[str]], skill: Callable[..., Path]
) -> None:
    good, bad = skill("good"), skill("bad", "Use: it when asked")
    found = json.loads(whet("validate", "--client", "codex", "--json").stdout)
    assert {result["path"]: result["valid"] for result in found["results"]} == {str(bad): False, str(good): True}
    nothing = whet("validate", "--json")
    assert (nothing.returncode, json.loads(nothing.stdout)["error"]) == (2, "PATH|NAME is missing.")
