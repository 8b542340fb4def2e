"""One way to remove, to undo, to look and to check, wherever a skill comes from."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess


@pytest.fixture
def ask(whet: Callable[..., CompletedProcess[str]]) -> Callable[..., dict[str, Any]]:
    """Run one command line with --json and return its answer."""

    def answer(*words: str, code: int = 0) -> dict[str, Any]:
        run = whet(*words, "--json")
        assert (run.returncode, run.stderr) == (code, "")
        loaded = json.loads(run.stdout)
        assert isinstance(loaded, dict)
        return loaded

    return answer


@pytest.fixture
def own(home: Path) -> Path:
    """The root of the person's skills."""
    return home / ".agents" / "skills"


@pytest.fixture
def brought(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    """A skill of one's own, and two that are installed from ./source."""
    skill("mine")
    skill("alpha", "Fills PDF forms. Use for PDF forms.", root=Path("source"))
    skill("beta", root=Path("source"))
    assert whet("install", "./source", "--all", "--yes").returncode == 0


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


def test_a_dry_run_refuses_what_the_run_refuses(
    plugin: Callable[..., None], ask: Callable[..., dict[str, Any]]
) -> None:
    plugin("theirs")
    refused = {
        "success": False,
        "error": "theirs cannot be removed: It belongs to a plugin, whose updates would overwrite a change.",
        "code": "protected",
        "hint": "Run `whet disable team:theirs` instead.",
    }
    for words in (["--dry-run"], ["-y"]):
        assert ask("remove", "team:theirs", *words, code=3) == refused


@pytest.mark.usefixtures("brought")
def test_remove_does_what_fits_the_origin_and_says_which(
    own: Path, whet: Callable[..., CompletedProcess[str]], ask: Callable[..., dict[str, Any]]
) -> None:
    plan = whet("remove", "alpha", "mine", "--dry-run")
    digest = ask("sources", "why", "alpha")["installed"]["revision"].removeprefix("sha256:")[:10]
    assert plan.stdout.splitlines() == [
        f"Would remove alpha, digest {digest}",
        f"  in {own}/alpha",
        "Would remove mine",
        f"  in {own}/mine",
    ]
    assert names(own) == ["alpha", "beta", "mine"]
    run = whet("remove", "alpha", "mine")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr == "Removed alpha, mine; `whet undo` brings them back.\n"
    assert names(own) == ["beta"]
    assert [skill["name"] for skill in ask("sources", "verify")["skills"]] == ["beta"]
    changes = [(entry["action"], entry["skill"]) for entry in ask("history", "--last", "2")["entries"]]
    assert changes == [("delete", "mine"), ("uninstall", "alpha")]
    shown = [line.split("\t")[3:5] for line in whet("history", "--last", "2").stdout.splitlines()]
    assert shown == [["remove", "alpha"], ["remove", "mine"]]
    undone = whet("undo")
    assert (undone.returncode, [line.split(": ")[0].split(" ", 3)[3] for line in undone.stderr.splitlines()[:2]]) == (
        0,
        ["(remove)", "(remove)"],
    )
    assert names(own) == ["alpha", "beta", "mine"]
    assert [skill["name"] for skill in ask("sources", "verify")["skills"]] == ["alpha", "beta"]


@pytest.mark.usefixtures("brought")
def test_the_document_of_remove_is_that_of_what_it_did(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    installed = ask("remove", "alpha")
    assert ([row["action"] for row in installed["plan"]], installed["removed"]) == (
        ["uninstall"],
        [{"name": "alpha", "how": "uninstalled"}],
    )
    deleted = ask("remove", "mine")
    assert (deleted["path"], deleted["removed"]) == (str(own / "mine"), [{"name": "mine", "how": "deleted"}])
    archived = ask("remove", "beta", "--archive")
    assert (archived["path"], archived["removed"]) == (str(own / "beta"), [{"name": "beta", "how": "archived"}])
    assert ask("sources", "verify")["skills"] == []
    assert names(own) == []


@pytest.mark.usefixtures("brought")
def test_an_installed_skill_is_removed_by_its_qualified_name_or_its_path(
    own: Path, ask: Callable[..., dict[str, Any]]
) -> None:
    for typed, name in (("user:alpha", "alpha"), (str(own / "beta"), "beta")):
        assert ask("remove", typed)["removed"] == [{"name": name, "how": "uninstalled"}]
    assert names(own) == ["mine"]


@pytest.mark.usefixtures("brought")
def test_nothing_is_removed_where_one_of_the_names_is_wrong(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    assert ask("remove", "mine", "alpha", "no-such", code=1)["code"] == "skill-not-found"
    assert names(own) == ["alpha", "beta", "mine"]


@pytest.mark.usefixtures("brought")
def test_nothing_is_removed_where_one_cannot_be(
    own: Path, plugin: Callable[..., None], ask: Callable[..., dict[str, Any]]
) -> None:
    plugin("theirs")
    assert ask("remove", "alpha", "mine", "team:theirs", code=3)["code"] == "protected"
    assert names(own) == ["alpha", "beta", "mine"]
    (own / "group").mkdir()
    (own / "alpha").rename(own / "group" / "alpha")
    (own / "alpha").symlink_to("group/alpha")
    refused = ask("remove", "alpha", "beta", "mine", code=1)
    assert (refused["code"], refused["hint"]) == ("fixed-directory", "Nothing was changed.")
    assert names(own) == ["alpha", "beta", "group", "mine"]
    ask("skill", "pin", "beta")
    assert ask("remove", "--archive", "mine", "beta", code=1)["code"] == "pinned"
    assert names(own) == ["alpha", "beta", "group", "mine"]


@pytest.mark.usefixtures("brought")
def test_what_is_archived_together_comes_back_together(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    ask("remove", "--archive", "mine", "beta")
    assert names(own) == ["alpha"]
    ask("undo")
    assert names(own) == ["alpha", "beta", "mine"]


@pytest.mark.usefixtures("brought")
def test_install_alone_brings_back_what_the_lock_names(own: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (own / "alpha" / "SKILL.md").unlink()
    (own / "alpha").rmdir()
    run = whet("install")
    assert (run.returncode, [line.split()[0] for line in run.stdout.splitlines()]) == (0, ["Restored", "beta:"])
    assert names(own) == ["alpha", "beta", "mine"]


@pytest.mark.usefixtures("brought")
def test_show_looks_here_and_at_a_source(ask: Callable[..., dict[str, Any]]) -> None:
    assert ask("show", "alpha")["content"] == "Do it.\n"
    assert [skill["name"] for skill in ask("show", "./source")["skills"]] == ["alpha", "beta"]
    assert ask("show", "./source", "--skill", "beta") == ask("inspect", "./source", "--skill", "beta")
    assert ask("show", "alphb", code=1)["suggestions"][0] == "alpha"


@pytest.mark.usefixtures("brought")
def test_find_looks_here_and_everywhere(
    ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    for tap in ask("sources", "list")["taps"]:
        ask("sources", "remove", tap["name"])
    ask("sources", "add", "near", "./source")
    here = ask("find", "fill pdf forms")
    found = ask("find", "fill pdf forms", "--everywhere")
    assert {key: found[key] for key in here} == here
    assert [skill["install"] for skill in found["sources"]["skills"]] == ["near:alpha"]
    assert [skill["install"] for skill in ask("browse")["skills"]] == ["near:alpha", "near:beta"]
    shown = whet("find", "fill pdf forms", "--everywhere")
    assert shown.stdout.splitlines()[-1].split()[0] == "near:alpha"
    ask("sources", "remove", "near")
    alone = ask("find", "fill pdf forms", "--everywhere")
    assert ({key: alone[key] for key in here}, alone["sources"]["skills"]) == (here, [])


@pytest.mark.usefixtures("brought")
def test_doctor_proves_everything_at_once(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    plain, deep = ask("doctor"), ask("doctor", "--deep")
    assert {key: deep[key] for key in plain} == plain
    for part, words in (
        ("installed", ["sources", "verify"]),
        ("history", ["history", "verify"]),
        ("record", ["guard", "log", "--verify"]),
    ):
        assert {"success": True} | deep[part] == ask(*words)
    with open(own / "beta" / "SKILL.md", "a", encoding="utf-8") as file:
        file.write("More.\n")
    assert ask("doctor", "--deep", code=1)["installed"]["valid"] is False


def test_scan_all_shows_every_skill_and_info_shows_more(
    skill: Callable[..., Path], ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("mine")
    ask("audit")
    assert ask("scan", "--all") == ask("audit")
    assert whet("scan", "mine", "--info").stdout == whet("scan", "mine", "--all").stdout
    assert ask("scan", code=2)["error"] == "PATH|NAME is missing; --all scans every skill."


def test_new_with_a_text_is_a_whole_skill(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    made = ask("new", "notes", "--description", "Writes notes.", "--body", "Write.\n")
    assert (made["created"], made["path"]) == (True, str(own / "notes"))
    for words in (("--body", "Write well.\n"), ()):
        assert ask("new", "notes", *words, code=1)["code"] == "skill-exists"


def test_a_template_can_be_undone(own: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("new", "notes", "--description", "Writes notes.").stdout == f"{own / 'notes' / 'SKILL.md'}\n"
    run = whet("undo")
    said = "Undid change 1 (create): notes is gone.\nhint: `whet redo` makes the change again.\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, "", said)
    assert names(own) == []


@pytest.mark.usefixtures("brought")
def test_an_undo_of_several_skills_is_undone_as_a_whole(own: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("remove", "alpha", "beta", "--yes").returncode == 0
    hint = whet("undo").stderr.splitlines()[-1]
    assert names(own) == ["alpha", "beta", "mine"]
    assert whet(*hint.split("`")[1].split()[1:]).returncode == 0
    assert names(own) == ["mine"]
    assert whet("undo").returncode == 0
    assert names(own) == ["alpha", "beta", "mine"]


@pytest.mark.usefixtures("brought")
def test_undoing_half_of_an_undo_leaves_the_other_half_undone(
    own: Path, ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    assert whet("remove", "alpha", "beta", "--yes").returncode == 0
    back = ask("undo")["skills"]
    ask("undo", str(back[0]["entry"]))
    (left,) = {"alpha", "beta"} - {back[0]["name"]}
    assert names(own) == sorted((left, "mine"))
    ask("undo")
    assert names(own) == ["alpha", "beta", "mine"]


@pytest.mark.usefixtures("brought")
def test_what_is_only_planned_or_proposed_is_not_reported_as_removed(
    own: Path, ask: Callable[..., dict[str, Any]]
) -> None:
    for option in ("--dry-run", "--stage"):
        assert ask("remove", "mine", option)["removed"] == []
    assert names(own) == ["alpha", "beta", "mine"]
    assert ask("remove", "--archive", "nope", "--dry-run", code=1)["code"] == "skill-not-found"
    assert ask("remove", "mine", "--archive", "--stage", code=2)["error"] == "Use `--archive` or `--stage`, not both."


def test_a_skill_without_changes_has_nothing_to_undo(
    skill: Callable[..., Path], ask: Callable[..., dict[str, Any]]
) -> None:
    skill("hand")
    ask("new", "other", "--description", "Writes notes.", "--body", "Write.\n")
    ask("undo", "other")
    refused = ask("undo", "hand", code=2)
    assert refused["error"] == "hand has no change left to undo."
    assert refused["hint"] == "`whet history` lists the changes."


@pytest.mark.usefixtures("brought")
def test_scan_all_takes_the_options_of_scan(
    own: Path, ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    text = (own / "mine" / "SKILL.md").read_text(encoding="utf-8")
    (own / "mine" / "SKILL.md").write_text(f"{text}\nRun `sudo ufw disable` first.\n", encoding="utf-8")
    assert whet("scan", "--all").returncode == 0
    assert whet("scan", "--all", "--fail-on", "caution").returncode == 1
    run = whet("scan", "--all", "--format", "sarif", "--output", str(tmp_path / "all.sarif"))
    assert run.returncode == 0
    (found,) = json.loads((tmp_path / "all.sarif").read_text(encoding="utf-8"))["runs"]
    assert {result["ruleId"] for result in found["results"] if result["level"] == "warning"} == {"protection-off"}
    assert ask("scan", "--all", "--recursive", code=2)["error"] == "--recursive and --enclosing need a PATH."


@pytest.mark.usefixtures("brought")
def test_a_word_after_a_group_is_a_command_of_that_group(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    assert ask("sources", "rm", "mine", code=1)["code"] == "unknown-tap"
    assert ask("proposals", "rm", "1", code=2)["code"] == "unknown-command"
    assert names(own) == ["alpha", "beta", "mine"]
    assert ask("sources", "ls") == ask("sources", "list") == ask("sources", "-v", "list")
    assert ask("skill", "list") == ask("list")


def test_a_name_nearly_right_is_suggested(skill: Callable[..., Path], ask: Callable[..., dict[str, Any]]) -> None:
    skill("greet")
    assert ask("show", "user:gret", code=1)["suggestions"] == ["greet"]
    assert ask("instal", code=2)["suggestions"] == ["install"]
    wrong = ask("show", "./x", "--skill", "greet", "--page", "2", code=2)
    assert wrong["error"] == "`--skill` does not take `--page`."


def test_a_new_skill_says_which_clients_do_not_look_for_it(
    home: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    said = whet("new", "first", "--description", "Does it. Use for it.", "--body", "Do it.").stderr
    assert "whet sync" not in said
    (home / ".claude").mkdir()
    hint = "hint: Claude Code does not look there; `whet sync` links your skills.\n"
    assert whet("new", "second", "--description", "Does it. Use for it.", "--body", "Do it.").stderr.endswith(hint)
    assert "Claude Code" not in whet("new", "third", "--description", "Does it. Use for it.").stderr
    assert whet("edit", "third", "--body", "Do it.").stderr == f"Changed third; SKILL.md now says version 2.\n{hint}"
    assert whet("edit", "third", "--body", "Do it now.").stderr == "Changed third; SKILL.md now says version 3.\n"
    skill("alpha", root=Path("source"))
    assert whet("install", "./source", "--yes").stderr.endswith(hint)


def test_the_root_of_a_repository_is_trusted_as_a_repository(
    skill: Callable[..., Path], ask: Callable[..., dict[str, Any]]
) -> None:
    other = Path("other")
    (other / ".git").mkdir(parents=True)
    skill("helper", root=other / ".agents" / "skills")
    trusted = ask("guard", "trust", "./other")
    assert (trusted["project"], trusted["skills"]) == (str(other.resolve()), ["helper"])
    assert [item["path"] for item in ask("guard", "trust", "--list")["trusted"]] == [str(other.resolve())]


def test_a_frozen_install_takes_the_lock_of_the_project(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]], ask: Callable[..., dict[str, Any]]
) -> None:
    Path(".git").mkdir()
    skill("mine")  # one of the user's, which no lock names
    skill("alpha", root=Path("source"))
    assert whet("install", "./source", "--here", "--yes").returncode == 0
    assert ask("ci")["success"] is True
    main = Path(".agents/skills/alpha/SKILL.md")
    main.write_text(main.read_text() + "More.\n")
    differs = ask("ci", code=1)
    hint = "`whet sources verify alpha` shows the files; `whet install --force` discards the edits."
    assert (differs["code"], differs["hint"]) == ("frozen-edited", hint)


def test_links_for_clients_go_with_their_skill_and_come_back_with_it(
    home: Path, ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    (home / ".claude").mkdir()
    ask("new", "first", "--description", "Does it. Use for it.", "--body", "Do it.")
    ask("sync")
    link = home / ".claude" / "skills" / "first"
    assert whet("remove", "first").stderr.endswith("Removed the link to first for claude-code.\n")
    assert (os.path.lexists(link), ask("sync", "--list")["made"]) == (False, [])
    assert [entry["action"] for entry in ask("history", "first")["entries"]] == ["create", "delete"]
    assert "Made the link to first for claude-code.\n" in whet("undo", "first").stderr
    assert (link.exists(), ask("show", "first")["name"]) == (True, "first")
    assert [made["state"] for made in ask("sync", "--list")["made"]] == ["fine"]
    ask("skill", "rename", "first", "second")
    assert (os.path.lexists(link), (home / ".claude" / "skills" / "second").exists()) == (False, True)
    ask("undo")
    assert (link.exists(), os.path.lexists(home / ".claude" / "skills" / "second")) == (True, False)
    ask("new", "third", "--description", "Does more. Use for more.", "--body", "Do it.")
    ask("sync")
    told = [line for line in whet("remove", "first", "third", "--yes").stderr.splitlines() if "link" in line]
    assert told == ["Removed the links to first, third for claude-code."]


def test_the_start_of_a_runs_id_undoes_it(
    whet: Callable[..., CompletedProcess[str]], ask: Callable[..., dict[str, Any]]
) -> None:
    for name in ("alpha", "beta"):
        ask("new", name, "--description", "Does it. Use for it.", "--body", "Do it.")
    ask("remove", "alpha", "beta")
    ask("undo")
    found = re.search(r"`whet undo (u[0-9a-f]{7})` undoes this", whet("redo").stderr)
    assert found and ask("list")["skills"] == []
    assert (whet("undo", found[1]).returncode, len(ask("list")["skills"])) == (0, 2)
    wrong = ask("undo", "u000", code=1)
    assert (wrong["code"], wrong["error"]) == (
        "no-such-entry",
        "The history has no change, no run and no skill 'u000'.",
    )


def test_a_link_that_somebody_else_made_to_a_removed_skill_hides_no_history(
    home: Path, ask: Callable[..., dict[str, Any]]
) -> None:
    ask("new", "first", "--description", "Does it. Use for it.", "--body", "Do it.")
    link = home / ".claude" / "skills" / "first"
    link.parent.mkdir(parents=True)
    link.symlink_to(home / ".agents" / "skills" / "first")
    ask("remove", "first")
    assert (link.is_symlink(), link.exists(), ask("show", "first", code=3)["code"]) == (True, False, "link-broken")
    assert [entry["action"] for entry in ask("history", "first")["entries"]] == ["create", "delete"]
    ask("undo", "first")
    assert (link.exists(), ask("show", "first")["name"]) == (True, "first")


def test_a_renamed_skill_is_removed_and_restored_by_its_new_name(
    tmp_path: Path, ask: Callable[..., dict[str, Any]]
) -> None:
    source = tmp_path / "three"
    source.mkdir()
    (source / "SKILL.md").write_text(
        "---\nname: three\ndescription: Does it. Use for it.\n---\nDo it.\n", encoding="utf-8"
    )
    ask("install", str(source), "--yes")
    ask("skill", "rename", "three", "tally")
    ask("remove", "tally", "--yes")
    assert [(entry["action"], entry["skill"]) for entry in ask("history")["entries"]][-1:] == [("uninstall", "tally")]
    ask("restore", "tally")
    assert [skill["name"] for skill in ask("list")["skills"]] == ["tally"]
