"""What goes wrong with skills elsewhere, one test for each way: here it cannot."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from authoring.world import World, check_whole, content, created, patched, refused, world
from whet.authoring.operations import OPERATIONS

__all__ = ["world"]


def test_no_file_operation_reaches_the_main_file_or_makes_a_skill_inside_a_skill(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    before = content(world.root)
    for path in (
        "SKILL.md",
        "skill.md",
        "SKILL.MD",
        "references/SKILL.md",
        "other/SKILL.md",
        "./SKILL.md",
        "SKILL.md/x",
    ):
        for action, more in (("write_file", {"content": "no frontmatter"}), ("remove_file", {})):
            operation = {"action": action, "name": "deploy", "file_path": path, **more}
            refused(partial(library.edit.apply, [operation]), "main-file")
    refused(
        lambda: library.edit.apply([patched("deploy", "---\nname", "name", file_path="SKILL.md")]).to_json(),
        "would-break",
    )
    refused(lambda: library.edit.apply([{**created("inner"), "category": "deploy"}]).to_json(), "bad-category")
    assert content(world.root) == before


def test_names_that_are_shown_are_accepted_and_duplicates_are_refused_for_reading_and_writing_alike(
    world: World,
) -> None:
    (world.skill("directory") / "SKILL.md").write_text("---\nname: Shown Name\ndescription: Does it.\n---\n\nBody.\n")
    for place in ("a/twin", "b/twin"):
        text = f"---\nname: {place[0]}-skill\ndescription: Does it.\n---\n\nBody.\n"
        (world.skill(place) / "SKILL.md").write_text(text)
    library = world.library()
    for skill in library.skills().to_json()["skills"]:
        assert library.edit.apply([patched(skill["name"], "Body", "Text")]).to_json()["success"]
    refused(lambda: library.read("twin").to_json(), "ambiguous-name")
    refused(lambda: library.edit.apply([patched("twin", "Text", "Prose")]).to_json(), "ambiguous-name")


@pytest.mark.parametrize("damage", [b"", b"not a database", b"\0" * 5000])
def test_a_history_that_cannot_be_read_is_an_error_and_never_an_empty_one(world: World, damage: bytes) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    library.close()
    path = world.state / "state.db"
    for name in ("state.db-wal", "state.db-shm"):
        (world.state / name).unlink(missing_ok=True)
    path.write_bytes(damage)
    before = content(world.root)
    error = refused(lambda: world.library().edit.apply([patched("deploy", "this", "that")]).to_json(), "state-corrupt")
    assert "doctor" in error.hint
    assert path.read_bytes() == damage and content(world.root) == before


def test_there_is_no_moment_without_the_old_or_the_new_version(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever call comes next, a whole skill is there; the kills in test_writer_kills show the same from outside."""
    library = world.library()
    library.edit.apply(
        [created("deploy"), {"action": "write_file", "name": "deploy", "file_path": "references/a", "content": "a"}]
    )
    seen: set[bool] = set()
    real = {name: getattr(os, name) for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "link")}

    def watched(name: str) -> object:
        def call(*args: object, **kwargs: object) -> object:
            files = content(world.root / "deploy")
            new = b"that" in files["SKILL.md"]
            kept = {path for path in files if ".whet-" not in path}
            assert kept == {"SKILL.md", "references/b" if new else "references/a"}
            seen.add(new)
            return real[name](*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in real:
            patch.setattr(os, name, watched(name))
        library.edit.apply(
            [
                patched("deploy", "this", "that"),
                {"action": "remove_file", "name": "deploy", "file_path": "references/a"},
                {"action": "write_file", "name": "deploy", "file_path": "references/b", "content": "b"},
            ]
        )
    assert seen == {False, True}


def test_a_proposal_is_a_value_and_proposing_writes_to_no_skill(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by asking a model nicely: with `stage`, no action of any kind gets as far as the writer."""
    library = world.library()
    library.edit.apply([created("deploy"), created("gone")])
    library.edit.apply([{"action": "write_file", "name": "deploy", "file_path": "references/a", "content": "a"}])
    library.edit.apply([{"action": "delete", "name": "gone"}])
    before, entries = content(world.root), library.edit.history.entries().to_json()["entries"]

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("something was written")

    monkeypatch.setattr("whet.authoring.trees.Swap", forbidden)
    monkeypatch.setattr("whet.authoring.writer.Writer.write", forbidden)
    operations = {
        "create": created("new"),
        "edit": {"action": "edit", "name": "deploy", "body": "New.\n"},
        "patch": patched("deploy", "this", "that"),
        "delete": {"action": "delete", "name": "deploy"},
        "write_file": {"action": "write_file", "name": "deploy", "file_path": "references/b", "content": "b"},
        "remove_file": {"action": "remove_file", "name": "deploy", "file_path": "references/a"},
        "rename": {"action": "rename", "name": "deploy", "new_name": "other"},
        "restore": {"action": "restore", "name": "gone"},
    }
    assert operations.keys() == OPERATIONS.keys()
    for operation in operations.values():
        assert library.edit.apply([operation], stage=True).to_json()["staged"]
    assert (content(world.root), library.edit.history.entries().to_json()["entries"]) == (before, entries)
    assert library.proposals.pending().to_json()["count"] == len(operations)


def test_a_batch_that_fails_leaves_no_trace_anywhere(world: World) -> None:
    """Not in the skills, not in the history, not among the proposals, not in the counts of use."""
    library = world.library()
    library.edit.apply([created("deploy")])

    def everything() -> dict[str, list[tuple[object, ...]]]:
        found: dict[str, list[tuple[object, ...]]] = {}
        for name in sorted(os.listdir(world.state)):
            if name.endswith(".db") and name != "cache.db":
                with closing(sqlite3.connect(world.state / name)) as connection:
                    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                    for (table,) in tables:
                        found[f"{name} {table}"] = connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
        return found

    before = (content(world.root), everything())
    operations = [
        patched("deploy", "this", "that"),
        {"action": "rename", "name": "deploy", "new_name": "other"},
        created("new"),
        patched("other", "not there", "x"),
    ]
    refused(lambda: library.edit.apply(operations).to_json(), "patch-not-found")
    assert (content(world.root), everything()) == before
    assert any("journal" in name for name in before[1])
    check_whole(world.state, world.root)


@pytest.mark.parametrize("name", ["deploy\n", "\ndeploy", "deploy\r", "deploy\u2028", "deploy ", "deploy\0", ""])
def test_a_name_with_a_line_break_or_nothing_in_it_makes_no_skill(world: World, name: str) -> None:
    library = world.library()
    refused(lambda: library.edit.apply([created(name)]).to_json(), "bad-name")
    assert os.listdir(world.root) == []
    library.edit.apply([created("deploy")])
    before = content(world.root)
    refused(lambda: library.edit.apply([created(name, "Better.\n")]).to_json(), "bad-name")
    refused(
        lambda: library.edit.apply([{"action": "rename", "name": "deploy", "new_name": name}]).to_json(), "bad-name"
    )
    assert content(world.root) == before
