"""The agent's own hand: every action, batches that are done wholly or not at all, and errors that teach."""

from __future__ import annotations

import os
import stat
from collections import Counter
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from time import time_ns
from typing import TYPE_CHECKING, Any

import pytest

import whet.authoring
import whet.library
import whet.store
from authoring.world import World, check_whole, content, created, digest_of, patched, refused, world
from whet.authoring.operations import OPERATIONS, read_operation, schema
from whet.authoring.writer import Provenance
from whet.guard.policy import Decision
from whet.skill.schema import describe_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet import Library
    from whet.skill.tree import Item

__all__ = ["world"]


def text(world: World, name: str) -> str:
    return (world.root / name / "SKILL.md").read_text()


def wrote(name: str, path: str, data: str | bytes, **more: Any) -> dict[str, Any]:
    return {"action": "write_file", "name": name, "file_path": path, "content": data, **more}


# --- every action ---------------------------------------------------------------------------------------------------


def test_a_skill_through_its_whole_life(world: World) -> None:
    library = world.library()
    answer = library.edit.apply([created("deploy")]).to_json()
    assert (answer["success"], answer["created"], answer["version"]) == (True, True, "1")
    assert answer["digest"] == digest_of(str(world.root / "deploy")) and answer["path"] == str(world.root / "deploy")
    assert answer["warnings"] == []
    answer = library.edit.apply([patched("deploy", "this", "that")]).to_json()
    assert (answer["replacements"], answer["version"]) == (1, "2") and "Do that." in text(world, "deploy")
    assert (
        library.edit.apply([wrote("deploy", "scripts/run.sh", "#!/bin/sh\n", executable=True)]).to_json()["version"]
        == "3"
    )
    assert os.access(world.root / "deploy/scripts/run.sh", os.X_OK)
    library.edit.apply([wrote("deploy", "assets/a.bin", b"\0\xff")])
    library.edit.apply([{"action": "edit", "name": "deploy", "body": "All new.\n"}])
    assert text(world, "deploy").endswith("All new.\n")
    library.edit.apply([{"action": "remove_file", "name": "deploy", "file_path": "assets/a.bin"}])
    answer = library.edit.apply([{"action": "rename", "name": "deploy", "new_name": "release"}]).to_json()
    assert answer["renamed_from"] == "deploy"
    assert sorted(content(world.root)) == ["release/SKILL.md", "release/scripts/run.sh"]
    assert os.access(world.root / "release/scripts/run.sh", os.X_OK) and "name: release" in text(world, "release")
    before = library.workspace.digest()
    library.edit.apply([{"action": "delete", "name": "release"}])
    assert os.listdir(world.root) == []
    library.edit.apply([{"action": "restore", "name": "Release"}])
    assert library.workspace.digest() == before
    check_whole(world.state, world.root)
    actions = [entry["action"] for entry in library.edit.history.entries().to_json()["entries"]]
    assert actions == [
        *("create", "patch", "write-file", "write-file", "edit", "remove-file", "rename", "rename", "delete", "restore")
    ]


def test_who_and_why_are_in_the_history(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")], by=Provenance("curator", origin="foreground", reason="Because."))
    (entry,) = library.edit.history.entries("deploy").to_json()["entries"]
    told = {name: entry[name] for name in ("actor", "origin", "reason", "checked", "version")}
    assert told == {
        "actor": "curator",
        "origin": "foreground",
        "reason": "Because.",
        "checked": "safe",
        "version": 1,
    }


def test_what_changes_nothing_is_not_entered(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    answer = library.edit.apply([{"action": "edit", "name": "deploy", "body": "Do this.\n"}]).to_json()
    assert answer["entries"] == [] and any("No change" in warning for warning in answer["warnings"])
    library.edit.apply([created("new"), {"action": "delete", "name": "new"}])
    assert len(library.edit.history.entries().to_json()["entries"]) == 1


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling", ["deploy-prod", "Deploy Prod", "DEPLOY_PROD", "deploy  prod", "Déploy‐Prod", "deploy.prod"]
)
def test_creating_what_exists_improves_it_whatever_the_spelling(world: World, spelling: str) -> None:
    library = world.library()
    library.edit.apply([created("deploy-prod")])
    answer = library.edit.apply([created(spelling, "Better.\n")]).to_json()
    assert (answer["created"], answer["version"], os.listdir(world.root)) == (False, "2", ["deploy-prod"])
    assert text(world, "deploy-prod").endswith("Better.\n")


@pytest.mark.parametrize("spelling", ["My Skill", "my-skill", "my skill", "elsewhere"])
def test_a_skill_in_a_directory_of_another_name_gets_no_second_one(world: World, spelling: str) -> None:
    path = world.skill("elsewhere")
    (path / "SKILL.md").write_text("---\nname: My Skill\ndescription: Does it.\n---\n\nBody.\n")
    answer = world.library().edit.apply([created(spelling, "Better.\n")]).to_json()
    assert (answer["created"], os.listdir(world.root)) == (False, ["elsewhere"])


def test_every_name_the_list_shows_is_accepted(world: World) -> None:
    path = world.skill("dir-name")
    (path / "SKILL.md").write_text('---\nname: "Shown: Name (2)"\ndescription: Does it.\n---\n\nBody.\n')
    world.skill("plain")
    library = world.library()
    for skill in library.skills().to_json()["skills"]:
        library.edit.apply([patched(skill["name"], "Body", "Text")])
        library.edit.apply([patched(skill["path"], "Text", "Prose")])
    library.edit.apply([patched("dir-name", "Prose", "Words")])
    assert [entry["action"] for entry in library.edit.history.entries().to_json()["entries"]].count("patch") == 5


def test_a_name_that_several_skills_answer_to_is_refused(world: World) -> None:
    for place in ("a/same", "b/same"):
        path = world.skill(place)
        (path / "SKILL.md").write_text(f"---\nname: {place[0]}-skill\ndescription: Does it.\n---\n\nBody.\n")
    library = world.library()
    for operation in (patched("same", "Body", "Text"), created("same"), {"action": "delete", "name": "same"}):
        error = refused(partial(library.edit.apply, [operation]), "ambiguous-name")
        assert len(error.details["candidates"]) == 2


def test_an_unknown_name_comes_with_the_nearest_ones(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    error = refused(lambda: library.edit.apply([patched("deplyo", "a", "b")]).to_json(), "skill-not-found")
    assert error.details["suggestions"] == ["deploy"]


FLAT = "---\nname: lonely\ndescription: Does it.\n---\n\nBody.\n"


def test_a_skill_that_is_a_single_file_is_changed_in_place(world: World) -> None:
    path = world.root / "lonely.md"
    path.write_text(FLAT)
    path.chmod(0o600)
    library = world.library()
    assert library.edit.patch("lonely", find="Body", replace="Text").version == "2"
    head = '---\nname: lonely\ndescription: Does it.\nmetadata:\n  version: "2"\n---\n'
    assert path.read_text() == f"{head}\nText.\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    made = library.edit.create("Lonely", description="Does more.", body="# Lonely\n\nMore.\n")
    assert (made.created, made.version, made.path) == (False, "3", str(path))
    assert content(world.root) == {"lonely.md": path.read_bytes()}
    assert library.read("lonely").digest == made.digest
    entries = library.history.entries("lonely").entries
    assert [entry.action for entry in entries] == ["found", "patch", "create"]
    library.edit.rename("lonely", "alone")
    assert [*content(world.root)] == ["alone.md"]
    library.edit.delete("alone")
    assert content(world.root) == {}
    library.edit.restore("alone")
    library.history.undo()
    library.history.undo()
    library.history.undo()
    library.history.rollback("lonely", 1)
    assert path.read_text() == FLAT


def test_a_bare_body_gets_its_defaults(world: World) -> None:
    path = world.root / "tidy-up.md"
    path.write_text("# Tidy up\n\nSort the desk first. Then wipe it.\n")
    (world.root / "Notes.md").write_text("Not a skill.\n")
    library = world.library()
    [card] = library.catalogue.cards
    assert (card.name, card.description) == ("tidy-up", "Sort the desk first.")
    made = library.edit.patch("tidy-up", find="Then wipe", replace="Then dust")
    assert made.version == "2"
    assert path.read_text() == (
        '---\nname: tidy-up\ndescription: Sort the desk first.\nmetadata:\n  version: "2"\n---\n\n'
        "# Tidy up\n\nSort the desk first. Then dust it.\n"
    )


def test_a_single_file_takes_no_other_files_and_a_command_is_left_alone(world: World) -> None:
    (world.root / "lonely.md").write_text(FLAT)
    library = world.library()
    error = refused(lambda: library.edit.write_file("lonely", "references/a.md", "A.\n"), "single-file")
    assert "NAME/SKILL.md" in error.hint
    assert content(world.root) == {"lonely.md": FLAT.encode()}


def test_a_directory_that_is_no_skill_is_not_taken(world: World) -> None:
    (world.root / "notes").mkdir()
    (world.root / "notes/todo.txt").write_text("mine")
    refused(lambda: world.library().edit.apply([created("notes")]).to_json(), "skill-exists")
    assert content(world.root) == {"notes/todo.txt": b"mine"}


# --- places ---------------------------------------------------------------------------------------------------------


def test_a_category_is_a_directory(world: World) -> None:
    library = world.library()
    answer = library.edit.apply([{**created("deploy"), "category": "ops/web"}]).to_json()
    assert answer["path"] == str(world.root / "ops/web/deploy")
    assert library.read("deploy").to_json()["category"] == "ops/web"
    assert (
        library.edit.apply([{**created("deploy", "New.\n"), "category": "other"}]).to_json()["path"] == answer["path"]
    )


@pytest.mark.parametrize(
    "category", ["..", "a/../b", "/etc", ".hidden", "node_modules", "a/b/c/d/e/f", "taken", "taken/x"]
)
def test_a_category_in_which_no_skill_would_be_found_is_refused(world: World, category: str) -> None:
    world.skill("taken")
    before = content(world.top)
    refused(lambda: world.library().edit.apply([{**created("deploy"), "category": category}]).to_json(), "bad-category")
    assert {path: data for path, data in content(world.top).items() if not path.startswith("state")} == before


def test_a_project_skill_is_changed_where_it_is_and_an_untrusted_one_not_at_all(world: World) -> None:
    path = world.skill("deploy", where=world.project / ".agents/skills")
    library = world.machine()
    before = content(path)
    refused(lambda: library.edit.apply([patched("deploy", "Body", "Text")]).to_json(), "untrusted")
    assert content(path) == before
    assert library.edit.apply([created("deploy")]).to_json()["path"] == str(world.mine / "deploy"), (
        "it takes no names either"
    )
    library.settings.trust()
    assert library.edit.apply([patched("deploy", "Body", "Text")]).to_json()["path"] == str(path)


def test_a_linked_skill_is_changed_where_it_really_is_and_neither_moved_nor_removed(world: World) -> None:
    real = world.skill("linked", where=world.root / "real")
    os.symlink(real, world.root / "linked")
    os.rename(world.root / "real", world.root / ".real")
    os.unlink(world.root / "linked")
    os.symlink(world.root / ".real/linked", world.root / "linked")
    library = world.library()
    library.edit.apply([patched("linked", "Body", "Text")])
    assert os.path.islink(world.root / "linked") and "Text" in text(world, "linked")
    before = content(world.root)
    for operation in ({"action": "delete", "name": "linked"}, {"action": "rename", "name": "linked", "new_name": "x"}):
        refused(partial(library.edit.apply, [operation]), "fixed-directory")
    assert content(world.root) == before


def test_a_root_that_is_itself_a_skill_is_not_removed_with_all_that_is_in_it(world: World) -> None:
    (world.root / "SKILL.md").write_text("---\nname: whole\ndescription: Does it.\n---\n\nBody.\n")
    library = world.library()
    library.edit.apply([patched("whole", "Body", "Text")])
    refused(lambda: library.edit.apply([{"action": "delete", "name": "whole"}]).to_json(), "fixed-directory")
    world.skill("inner")
    refused(lambda: library.edit.apply([patched("whole", "Text", "Prose")]).to_json(), "root-skill")
    library.edit.apply([patched("inner", "Body", "Text")])


def test_a_repository_in_a_skill_is_neither_deleted_nor_renamed_away(world: World) -> None:
    path = world.skill("deploy")
    (path / ".git").mkdir()
    (path / ".git/HEAD").write_text("mine")
    library = world.library()
    library.edit.apply([patched("deploy", "Body", "Text"), wrote("deploy", "references/a.md", "a")])
    before = content(world.root)
    for operation in ({"action": "delete", "name": "deploy"}, {"action": "rename", "name": "deploy", "new_name": "x"}):
        refused(partial(library.edit.apply, [operation]), "holds-repository")
    assert content(world.root) == before and "deploy/.git/HEAD" in before
    check_whole(world.state, world.root)


# --- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 21])
def test_a_batch_has_one_to_twenty_operations(world: World, count: int) -> None:
    refused(
        lambda: world.library().edit.apply([created(f"s{number}") for number in range(count)]).to_json(),
        "bad-operations",
    )
    assert os.listdir(world.root) == []


def test_twenty_operations_are_one_change(world: World) -> None:
    library = world.library()
    answer = library.edit.apply([created(f"s{number}") for number in range(20)]).to_json()
    assert (answer["operations_applied"], len(answer["entries"]), len(os.listdir(world.root))) == (20, 20, 20)
    assert len({entry["run"] for entry in library.edit.history.entries().to_json()["entries"]}) == 1


def test_a_failing_operation_leaves_everything_as_it_was_and_says_which(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    before = content(world.root)
    operations = [patched("deploy", "this", "that"), created("new"), patched("deploy", "absent", "x")]
    error = refused(lambda: library.edit.apply(operations).to_json(), "patch-not-found")
    assert (error.details["failed_index"], error.details["completed_before_failure"]) == (2, 0)
    assert content(world.root) == before
    assert len(library.edit.history.entries().to_json()["entries"]) == 1


def test_operations_build_on_each_other(world: World) -> None:
    library = world.library()
    library.edit.apply(
        [
            created("draft"),
            patched("draft", "this", "that"),
            wrote("draft", "references/a.md", "a"),
            {"action": "rename", "name": "draft", "new_name": "final"},
            patched("final", "a", "b", file_path="references/a.md"),
        ]
    )
    assert sorted(content(world.root)) == ["final/SKILL.md", "final/references/a.md"]
    assert (world.root / "final/references/a.md").read_text() == "b" and "Do that." in text(world, "final")
    error = refused(
        lambda: library.edit.apply([{"action": "delete", "name": "final"}, patched("final", "a", "b")]).to_json(),
        "skill-not-found",
    )
    assert error.details["failed_index"] == 1


def test_two_skills_can_swap_their_names_and_a_deleted_one_can_be_made_anew(world: World) -> None:
    library = world.library()
    library.edit.apply([created("a", "Is a.\n"), created("b", "Is b.\n")])
    names = (("a", "c"), ("b", "a"), ("c", "b"))
    library.edit.apply([{"action": "rename", "name": old, "new_name": new} for old, new in names])
    assert "Is b." in text(world, "a") and "Is a." in text(world, "b") and sorted(os.listdir(world.root)) == ["a", "b"]
    answer = library.edit.apply([{"action": "delete", "name": "a"}, created("a", "Anew.\n")]).to_json()
    assert answer["results"][1]["created"] and text(world, "a").endswith("Anew.\n")
    check_whole(world.state, world.root)


# --- operations that are wrong --------------------------------------------------------------------------------------


OTHERS = ("old_string", "old_text", "new_string", "new_text", "path", "file", "replace_all", "file_content", "fuzzy")
"""Fields that similar tools have."""


@pytest.mark.parametrize("action", OPERATIONS)
def test_an_action_accepts_exactly_what_its_schema_accepts(action: str) -> None:
    every = sorted({name for one in OPERATIONS.values() for name in one["properties"]} - {"action"})
    needed: dict[str, object] = {**dict.fromkeys(OPERATIONS[action]["required"], "x"), "action": action}
    tried = [needed, {**needed, "action": action.upper()}]
    tried += [{key: value for key, value in needed.items() if key != name} for name in needed]
    for name in (*every, *OTHERS):
        tried += [{**needed, name: value} for value in ("x", True, 3, None, ["x"])]
    if "_" in action:
        tried.append({**needed, "action": action.replace("_", "-")})
    for operation in tried:
        if not describe_problems({"operations": [operation]}, schema()["parameters"], "it"):
            assert read_operation(operation) == operation
        else:
            refused(partial(read_operation, operation), "bad-operation")


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        ({"action": "edit", "name": "a", "content": "x"}, "Write body instead. edit takes name, body, version?."),
        ({"action": "edit", "name": "a", "file_content": "x"}, "Write body instead. edit takes name, body, version?."),
        ({"action": "write_file", "name": "a", "file_path": "p", "body": "x"},
         "Write content instead. write_file takes name, file_path, content, executable?, version?."),
        ({"action": "patch", "name": "a", "old_string": "x", "new_string": "y"},
         "Write find instead. patch takes name, find, replace, file_path?, all?, tolerant?, version?."),
        ({"action": "delete", "name": "a", "path": "p"}, "delete takes name."),
    ],
)  # fmt: skip
def test_a_field_by_the_name_of_another_tool_is_told_its_own(operation: dict[str, Any], hint: str) -> None:
    assert refused(partial(read_operation, operation), "bad-operation").hint == hint


@pytest.mark.parametrize("action", OPERATIONS)
def test_a_missing_field_is_named_with_the_shape_of_the_operation(action: str) -> None:
    needed = [name for name in OPERATIONS[action]["required"] if name != "action"]
    optional = [name for name in OPERATIONS[action]["properties"] if name not in ("action", *needed)]
    for name in needed:
        operation = {"action": action, **{field: "x" for field in needed if field != name}}
        error = refused(partial(read_operation, operation), "bad-operation")
        assert error.details["field"] == name and error.message == f"{action}: {name} is missing."
        assert error.hint == f"{action} takes {', '.join((*needed, *(f'{field}?' for field in optional)))}."


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"action": "delete", "name": "a", "fuzzy": True}, "delete: fuzzy is not one of its fields."),
        ({"action": "create", "name": "a", "path": "x"}, "create: path is not one of its fields."),
        ({"action": "patch", "name": "a", "find": 3, "replace": "y"}, "patch: find has the wrong type."),
        ({"action": "patch", "name": "a", "find": None, "replace": "y"}, "patch: find has the wrong type."),
        ({"action": "patch", "name": "a", "find": "x", "replace": "y", "all": "yes"}, "patch: all has the wrong type."),
        ({"action": "patch", "name": "a", "find": "x", "old_text": "z"}, "patch: old_text is not one of its fields."),
        ({"action": "create", "name": "a", "body": "x", "content": "y"}, "create: content is not one of its fields."),
        ({"action": "destroy", "name": "a"}, "'destroy' is not an action."),
        ({"name": "a"}, "None is not an action."),
        ("delete everything", "None is not an action."),
        (None, "None is not an action."),
    ],
)  # fmt: skip
def test_an_operation_that_is_wrong_is_told_what_is_wrong(operation: Any, message: str) -> None:
    assert refused(lambda: read_operation(operation), "bad-operation").message == message


# --- read before write ----------------------------------------------------------------------------------------------


def test_background_work_must_have_seen_exactly_what_it_changes(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    seen: set[tuple[str, str]] = set()

    def patch(find: str, replace: str) -> Any:
        operations = [patched("deploy", find, replace)]
        return library.edit.apply(
            operations, by=Provenance("user", origin="background"), viewed=lambda *what: what in seen
        ).to_json()

    before = content(world.root)
    refused(lambda: patch("this", "that"), "not-viewed")
    refused(
        lambda: library.edit.apply(
            [patched("deploy", "this", "that")], by=Provenance("user", origin="background")
        ).to_json(),
        "not-viewed",
    )
    assert content(world.root) == before
    seen.add((str(world.root / "deploy"), library.read("deploy").digest))
    assert patch("this", "that")["success"]
    refused(lambda: patch("that", "it"), "not-viewed")
    assert library.edit.apply(
        [created("new")], by=Provenance("user", origin="background"), viewed=lambda *_: False
    ).to_json()["created"]


def test_foreground_work_gets_a_warning(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    answer = library.edit.apply([patched("deploy", "this", "that")], viewed=lambda *_: False).to_json()
    assert "deploy was changed without being viewed first." in answer["warnings"]
    answer = library.edit.apply([patched("deploy", "that", "it")], viewed=lambda *_: True).to_json()
    assert not any("viewed" in warning for warning in answer["warnings"])


# --- the check before the write -------------------------------------------------------------------------------------


def test_a_check_sees_what_would_be_written_and_its_word_is_kept(world: World) -> None:
    calls: list[tuple[str, list[str], str]] = []

    def check(name: str, after: Mapping[str, Item], actor: str) -> Decision:
        calls.append((name, sorted(after), actor))
        return Decision("allow", "", verdict="safe")

    library = world.library(check=check)
    answer = library.edit.apply(
        [created("deploy"), wrote("deploy", "references/a.md", "a")], by=Provenance("agent")
    ).to_json()
    assert calls == [("deploy", ["SKILL.md", "references/a.md"], "agent")]
    assert library.edit.history.entries().to_json()["entries"][0]["checked"] == "safe" and answer["warnings"] == []


ODD = Decision("perhaps", "", verdict="odd")  # type: ignore[arg-type]  # what a careless check might say


@pytest.mark.parametrize("verdict", [Decision("block", "It deletes things.", verdict="bad"), ODD])
def test_what_a_check_does_not_allow_is_not_written(world: World, verdict: Decision) -> None:
    def check(name: str, after: Mapping[str, Item], actor: str) -> Decision:  # noqa: ARG001  the shape of a check
        return verdict if name == "bad" else Decision("allow", "", verdict="safe")

    library = world.library(check=check)
    refused(lambda: library.edit.apply([created("good"), created("bad")]).to_json(), "blocked")
    assert os.listdir(world.root) == [] and library.proposals.pending().to_json()["count"] == 0


def test_a_check_that_fails_is_no_check_that_passed(world: World) -> None:
    def check(*_: object) -> Decision:
        raise ZeroDivisionError("no scanner")

    library = world.library(check=check)
    refused(lambda: library.edit.apply([created("deploy")]).to_json(), "check-failed")
    assert os.listdir(world.root) == [] and library.edit.history.entries().to_json()["entries"] == []


@pytest.mark.parametrize("reason", ["It may delete things.", ""])
def test_what_a_check_asks_about_waits_for_a_person(world: World, reason: str) -> None:
    library = world.library(check=lambda *_: Decision("ask", reason, verdict="dangerous"))
    answer = library.edit.apply([created("deploy")]).to_json()
    assert answer["staged"] and answer["reason"] == (reason or "A person must review deploy first.")
    assert os.listdir(world.root) == []


# --- cost -----------------------------------------------------------------------------------------------------------

CALLS = (
    "stat",
    "lstat",
    "scandir",
    "listdir",
    "open",
    "read",
    "write",
    "rename",
    "replace",
    "unlink",
    "mkdir",
    "fsync",
)


class Counting:
    """Stands where a module has `os` and counts what is asked of the disk."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            self._counts[name] += 1
            return real(*args, **kwargs)

        return call


def cost_of_a_patch(world: World, count: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    root = world.top / f"root-{count}"
    for number in range(count):
        world.skill(f"skill-{number:05}", where=root)
    home = world.top / f"state-{count}"
    library: Library = world.machine(roots=[root], home=home, clock=lambda: time_ns() + 60 * 10**9)
    library.edit.apply([patched("skill-00003", "Body", "Text 0")])
    counts: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for package in (whet.library, whet.authoring, whet.store):
            for found in iter_modules(package.__path__, f"{package.__name__}."):
                module = import_module(found.name)
                if hasattr(module, "os"):
                    patch.setattr(module, "os", Counting(counts))
        library.edit.apply([patched("skill-00003", "Text 0", "Text 1")])
    return counts


def test_a_patch_costs_the_same_in_a_small_and_in_a_large_library(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (cost_of_a_patch(world, count, monkeypatch) for count in (20, 400))
    assert small == large
