"""The copy of a project: nothing changes before it is applied, and then exactly what changed in the copy."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.worlds import World
from whet.errors import ConflictError, RefusedError
from whet.runtime.workspace import Workspace

NAMES = ("a", "b", "d/a", "d/b", "d/e/a", "f")
CONTENTS = st.sampled_from((b"", b"one\n", b"two\n", b"\0binary", b"no end"))
FILES = st.dictionaries(st.sampled_from(NAMES), st.tuples(CONTENTS, st.booleans()), max_size=6)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "link", "replace")), st.sampled_from((*NAMES, "d", "new/x")), CONTENTS
    ),
    max_size=8,
)
ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def tree(top: Path) -> dict[str, tuple[bytes, bool]]:
    found = {}
    for directory, names, files in os.walk(top):
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        names[:] = [name for name in names if name not in links and name != ".git"]
        for name in (*files, *links):
            path = Path(directory, name)
            link = path.is_symlink()
            data = os.readlink(path).encode() if link else path.read_bytes()
            found[path.relative_to(top).as_posix()] = (data, bool(not link and os.access(path, os.X_OK)))
    return found


def put(top: Path, name: str, data: bytes, *, executable: bool = False) -> None:
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o755 if executable else 0o644)


def change(top: Path, kind: str, name: str, data: bytes) -> None:
    path = top / name
    above = [parent for parent in path.parents if parent != top and top in parent.parents]
    if any(parent.is_file() or parent.is_symlink() for parent in above) and kind != "delete":
        next(parent for parent in reversed(above) if parent.is_file() or parent.is_symlink()).unlink()
    if kind == "replace" and path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    if kind == "delete" or path.is_symlink():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
    if kind in ("write", "replace") and not path.is_dir():
        put(top, name, data, executable=data == b"two\n")
    if kind == "link" and not os.path.lexists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("a")


@settings(max_examples=40, deadline=None)
@given(FILES, STEPS)
def test_what_is_applied_is_what_changed(
    files: dict[str, tuple[bytes, bool]], steps: list[tuple[str, str, bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        project = top / "project"
        project.mkdir()
        for path, (data, executable) in files.items():
            put(project, path, data, executable=executable)
        (top / "run").mkdir()
        workspace = Workspace.make(str(top / "run"), str(project), home="/nonexistent", env=ENV, remaps=True)
        before = tree(project)
        assert tree(Path(workspace.copy)) == before
        assert (workspace.changes(ENV), workspace.diff(ENV)) == ((), "")
        for step in steps:
            change(Path(workspace.copy), *step)
        wanted = tree(Path(workspace.copy))
        changed = {path for path in {*before, *wanted} if before.get(path) != wanted.get(path)}
        assert {one.path for one in workspace.changes(ENV)} == changed
        assert tree(project) == before
        assert bool(workspace.diff(ENV)) == bool(changed)
        workspace.apply(ENV)
        assert tree(project) == wanted
        workspace.apply(ENV)  # as after a kill in the middle
        assert tree(project) == wanted


def test_a_copy_of_a_repository(tmp_path: Path) -> None:
    world = World(tmp_path, {"a.txt": "one\n", ".gitignore": "ignored/\n*.log\n", "old.txt": "old\n"})
    world.write({"a.txt": "changed\n", "new.txt": "new\n", "ignored/x": "x\n", "y.log": "y\n"})
    (world.project / "old.txt").unlink()
    (world.project / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\n")
    git = {path: path.read_bytes() for path in (world.project / ".git").rglob("*") if path.is_file()}
    (tmp_path / "run").mkdir()
    made = Workspace.make(str(tmp_path / "run"), str(world.project), home=str(world.home), env=world.env, remaps=True)
    copy = Path(made.copy)
    assert sorted(tree(copy)) == [".gitignore", "a.txt", "new.txt"]
    assert not (copy / ".git" / "hooks").exists()
    put(copy, "more.log", b"ignored\n")
    put(copy, "sub/made.txt", b"made\n")
    (copy / ".git" / "config").write_text("[core]\n\tfsmonitor = touch hacked\n[include]\n\tpath = /nonexistent\n")
    assert [tuple(one) for one in made.changes(world.env)] == [("sub/made.txt", "added", "")]
    assert {path: path.read_bytes() for path in (world.project / ".git").rglob("*") if path.is_file()} == git
    assert made.locate("/etc/passwd") is None
    assert made.locate(str(world.project / "a.txt")) == str(copy.resolve() / "a.txt")


def test_a_project_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    (tmp_path / "run").mkdir()
    made = Workspace.make(str(tmp_path / "run"), str(world.project), home=str(world.home), env=world.env, remaps=True)
    put(Path(made.copy), "a.txt", b"the run's\n")
    put(Path(made.copy), "b.txt", b"the run's\n")
    put(Path(made.copy), "c/x.txt", b"the run's\n")
    world.write({"a.txt": "mine\n", "c": "mine\n"})
    before = world.contents()
    with pytest.raises(ConflictError) as raised:
        made.apply(world.env)
    assert (raised.value.code, raised.value.details["files"]) == ("run-conflict", ["a.txt", "c/x.txt"])
    assert world.contents() == before


def test_a_home_is_not_a_project(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(RefusedError) as raised:
        Workspace.make(str(tmp_path / "run"), str(tmp_path), home=str(world.home), env=world.env, remaps=True)
    assert raised.value.code == "project-too-wide"
