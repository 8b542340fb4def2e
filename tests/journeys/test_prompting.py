"""What a model is given: the index, a skill with arguments, a bundle; and what is missing for them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

CHOSEN = ["commit-messages", "reviewing-changes"]
COUNT = 400


def document(run: CompletedProcess[str]) -> dict[str, Any]:
    """The one document on standard output, and nothing beside it."""
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    answer = json.loads(run.stdout)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def crowd(tmp_path: Path, skill: Callable[..., Path]) -> Path:
    """A root with many skills."""
    for number in range(COUNT):
        skill(f"skill-{number:03}", f"Does the task number {number} when asked for it.", root=tmp_path / "crowd")
    return tmp_path / "crowd"


def test_the_first_index_is_empty_and_lists_what_was_added(whet: Callable[..., CompletedProcess[str]]) -> None:
    assert (whet("prompt", "index").stdout, whet("gallery", "add", *CHOSEN).returncode) == ("", 0)
    run = whet("prompt", "index")
    answer = document(whet("prompt", "index", "--json"))
    assert (run.returncode, run.stdout) == (0, answer["text"])
    assert [line.split(":")[0] for line in run.stdout.splitlines()[1:]] == [f"▸ {name}" for name in CHOSEN]
    assert run.stderr.startswith("2 skills, ") and run.stderr.endswith("; 0 shortened; 0 not listed.\n")
    listed = json.loads(whet("prompt", "index", "--format", "json", "--no-rules").stdout)
    assert [item["name"] for item in listed] == CHOSEN


def test_a_small_budget_holds_and_what_is_left_out_is_said(
    crowd: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet("--root", str(crowd), "index", "--budget", "1000")
    report = document(whet("--root", str(crowd), "index", "--budget", "1000", "--json"))["report"]
    assert run.returncode == 0 and len(run.stdout) <= 1000
    assert report["included"] > 0 and report["included"] + report["omitted"] == report["total"] == COUNT
    assert f"{report['omitted']} more skills are not listed" in run.stdout
    assert f"; {report['omitted']} not listed.\n" in run.stderr
    tokens = document(whet("--root", str(crowd), "index", "--tokens", "200", "--json"))["report"]["tokens"]
    assert tokens <= 200
    assert whet("--root", str(crowd), "index", "--budget", "0").returncode == 2


def test_everything_arrives_through_a_pipe(crowd: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    for words in (["index", "--budget", "1000000"], ["commands"]):
        run = whet("--root", str(crowd), *words)
        names = re.findall(r"^(?:▸ |/)(skill-\d+)", run.stdout, re.MULTILINE)
        assert (run.returncode, names) == (0, [f"skill-{number:03}" for number in range(COUNT)])


def test_a_skill_is_rendered_with_its_arguments(
    tmp_path: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    root = tmp_path / "mine"
    directory = skill("greet", extra="arguments: [who, how]\n", root=root)
    with (directory / "SKILL.md").open("a", encoding="utf-8") as file:
        file.write("Greet $who, $how. All of it: $ARGUMENTS\n")
    words = ("--root", str(root), "render", "greet", "--", "the whole crew", "--json")
    run = whet(*words)
    assert run.returncode == 0
    assert 'Greet the whole crew, --json. All of it: "the whole crew" --json\n' in run.stdout
    assert run.stdout.endswith('\n\n<user_request>\n"the whole crew" --json\n</user_request>\n')
    answer = document(whet("--json", *words))
    assert (f"{answer['message']}\n", answer["tokens"] > 0) == (run.stdout, True)
    one = document(whet("--json", "--root", str(root), "render", "greet", "--", 'as  it "is'))
    assert one["request"] == 'as  it "is'
    assert document(whet("--json", "prompt", "render", "greet"))["code"] == "skill-not-found"


def test_a_bundle_lives_from_create_to_delete(
    tmp_path: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("tag", "Tags it.")
    skill("ship", "Ships it.")
    file = tmp_path / "state" / "bundles" / "release-day.yaml"
    words = ("bundle", "create", "Release day", "--skills", "tag,ship", "--instruction", "Stop first.")
    assert (whet(*words).stdout, whet("prompt", "bundle", "list").stdout) == (f"{file}\n", "Release day\ttag, ship\t\n")
    first = file.read_bytes()

    again = whet(*words, "--json")
    assert (again.returncode, document(again)["code"], file.read_bytes()) == (1, "bundle-exists", first)
    assert whet(*words, "--skills", "gone", "--force").returncode == 0
    assert file.with_name("release-day.yaml.before").read_bytes() == first

    shown = document(whet("prompt", "bundle", "show", "release-day", "--json"))
    assert shown["skills"] == ["tag", "ship", "gone"] and [item["name"] for item in shown["missing"]] == ["gone"]
    rendered = document(whet("prompt", "render", "release-day", "--json", "--", "now"))
    assert [item["name"] for item in rendered["skills"]] == ["tag", "ship"]
    assert (rendered["bundles"], rendered["request"]) == (["release-day"], "now")
    assert "Instruction: Stop first." in rendered["message"]
    assert "/release-day\t" in whet("prompt", "commands", "release").stdout

    kept = document(whet("prompt", "bundle", "delete", "Release day", "--json"))["kept"]
    assert kept == f"{file}.removed" and os.path.isfile(kept) and not file.exists()
    assert document(whet("prompt", "bundle", "list", "--json"))["bundles"] == []
    assert whet("prompt", "render", "release-day").returncode == 1


def test_what_is_needed_is_told_until_it_is_there(
    env: dict[str, str], skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("ship", extra="prerequisites:\n  env_vars: [SHIP_TOKEN]\n")
    lacking = whet("skill", "needs", "--check")
    assert (lacking.returncode, lacking.stdout.split("\t")[:3]) == (1, ["env", "SHIP_TOKEN", "ship"])
    answer = document(whet("skill", "needs", "ship", "--json"))
    assert (answer["ready"], [need["name"] for need in answer["needs"]]) == (False, ["SHIP_TOKEN"])
    assert "[Setup needed: env SHIP_TOKEN." in whet("prompt", "render", "ship").stdout
    env["SHIP_TOKEN"] = "hush"
    ready = whet("skill", "needs", "--check")
    assert (ready.returncode, ready.stdout, ready.stderr) == (0, "", "Nothing is missing.\n")
    assert document(whet("skill", "needs", "--json")) == {"success": True, "ready": True, "needs": []}
    assert "hush" not in whet("prompt", "render", "ship").stdout


def test_a_name_that_clients_keep_is_reported(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("help", "Helps.")
    whet("gallery", "add", *CHOSEN)
    run = whet("prompt", "commands")
    assert [line.split("\t")[0] for line in run.stdout.splitlines()] == [f"/{name}" for name in CHOSEN]
    assert run.stderr.endswith("Type /skill help, or rename it. [command-reserved]\n")
    answer = document(whet("prompt", "commands", "--json"))
    assert [command["name"] for command in answer["commands"]] == CHOSEN
    assert [(entry["code"], entry["skill"]) for entry in answer["report"]] == [("command-reserved", "help")]
    assert whet("prompt", "render", "help").returncode == 0
