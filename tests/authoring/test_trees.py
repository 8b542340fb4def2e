"""A skill's files on disk: put in place in one step, with everything that is not part of the skill left as it was."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from authoring.world import content, refused
from whet.authoring import trees
from whet.authoring.trees import digest, write_tree
from whet.library import package
from whet.library.files import open_beneath
from whet.library.package import read_package, read_tree
from whet.skill.tree import Item, Tree
from whet.store.atomic import temporary_path

if TYPE_CHECKING:
    from pathlib import Path

OLD = {"SKILL.md": Item(b"old"), "references/a.md": Item(b"a"), "scripts/run": Item(b"#!", executable=True)}

PATHS = st.sampled_from(["SKILL.md", "a", "b/c", "b/d", "b/e/f", "g"])
FILES = st.tuples(st.binary(max_size=3), st.booleans()).map(lambda pair: Item(*pair))
LINKS = st.sampled_from([Item(b"SKILL.md", link=True), Item(b"nowhere", link=True)])
ITEMS = FILES | LINKS
TREES = st.none() | st.dictionaries(PATHS, ITEMS, max_size=5)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TREES, after=TREES)
def test_any_tree_can_take_the_place_of_any_other(
    tmp_path_factory: pytest.TempPathFactory, before: Tree | None, after: Tree | None
) -> None:
    path = str(tmp_path_factory.mktemp("case") / "skill")
    write_tree(path, None, before)
    assert read_tree(path) == before
    write_tree(path, before, after)
    assert read_tree(path) == after
    assert os.listdir(os.path.dirname(path)) == ([] if after is None else ["skill"])
    if after is not None:
        assert digest(after) == read_package(path).digest


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    write_tree(str(tmp_path / "skill"), None, OLD)
    return tmp_path / "skill"


@pytest.mark.parametrize("after", [None, {"SKILL.md": Item(b"new")}], ids=["deleted", "changed"])
def test_what_somebody_else_has_just_removed_is_a_conflict_and_not_a_denial(tmp_path: Path, after: Tree | None) -> None:
    gone = str(tmp_path / "skill")
    refused(lambda: write_tree(gone, OLD, after), "skill-changed")
    assert os.listdir(tmp_path) == []


def swapped(skill: Path) -> Tree:
    """Change several files at once, so that the whole directory is swapped."""
    after = {**OLD, "SKILL.md": Item(b"new"), "new.md": Item(b"new")}
    write_tree(str(skill), read_tree(str(skill)), after)
    return after


def test_one_file_is_replaced_without_touching_the_others(skill: Path) -> None:
    before = {path: (skill / path).stat().st_ino for path in ("references/a.md", "scripts/run")}
    write_tree(str(skill), OLD, {**OLD, "SKILL.md": Item(b"new")})
    assert {path: (skill / path).stat().st_ino for path in before} == before
    assert (skill / "SKILL.md").read_bytes() == b"new"


def test_what_stays_keeps_its_file_its_times_and_its_permissions(skill: Path) -> None:
    os.utime(skill / "references/a.md", ns=(10**18, 10**18))
    os.chmod(skill / "references/a.md", 0o640)
    os.chmod(skill / "references", 0o2750)
    os.chmod(skill, 0o750)
    before = (skill / "references/a.md").stat()
    swapped(skill)
    after = (skill / "references/a.md").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, 10**18, before.st_mode)
    assert stat.S_IMODE((skill / "references").stat().st_mode) == 0o2750
    assert stat.S_IMODE(skill.stat().st_mode) == 0o750


@pytest.mark.parametrize("alone", [True, False])
def test_what_changes_keeps_its_permissions(skill: Path, alone: bool) -> None:
    os.chmod(skill / "SKILL.md", 0o600)
    os.chmod(skill / "scripts/run", 0o700)
    others = {} if alone else {"scripts/run": Item(b"new", executable=True)}
    write_tree(str(skill), OLD, {**OLD, "SKILL.md": Item(b"new"), **others})
    assert stat.S_IMODE((skill / "SKILL.md").stat().st_mode) == 0o600
    assert stat.S_IMODE((skill / "scripts/run").stat().st_mode) == 0o700


def test_the_executable_bit_follows_who_may_read(skill: Path) -> None:
    os.chmod(skill / "SKILL.md", 0o640)
    write_tree(str(skill), OLD, {**OLD, "SKILL.md": Item(b"old", executable=True)})
    assert stat.S_IMODE((skill / "SKILL.md").stat().st_mode) == 0o750
    tree = read_tree(str(skill))
    write_tree(str(skill), tree, OLD)
    assert stat.S_IMODE((skill / "SKILL.md").stat().st_mode) == 0o640


def test_what_is_no_part_of_the_skill_is_carried_along(skill: Path) -> None:
    for path in (".git/objects/ab", "__pycache__/run.pyc", "references/.DS_Store"):
        (skill / path).parent.mkdir(parents=True, exist_ok=True)
        (skill / path).write_bytes(b"mine")
    (skill / "empty").mkdir()
    swapped(skill)
    found = content(skill)
    assert {path for path, data in found.items() if data == b"mine"} == {
        ".git/objects/ab",
        "__pycache__/run.pyc",
        "references/.DS_Store",
    }
    assert (skill / "empty").is_dir()


def test_what_a_killed_writer_left_in_a_skill_is_not_carried_along(skill: Path) -> None:
    left = temporary_path(str(skill / "SKILL.md"))
    with open(left, "w"):
        pass
    swapped(skill)
    assert not any(".whet-tmp-" in path for path in content(skill))


def test_a_folder_goes_with_its_last_file_unless_somebodys_repository_is_in_it(skill: Path) -> None:
    (skill / "references/.git").mkdir()
    (skill / "references/.git/HEAD").write_bytes(b"mine")
    write_tree(str(skill), OLD, {"SKILL.md": Item(b"new")})
    assert content(skill) == {"SKILL.md": b"new", "references/.git/HEAD": b"mine"}


@pytest.mark.parametrize("place", ["", "references", "vendored/deep"])
def test_a_directory_with_a_repository_in_it_is_not_removed(skill: Path, place: str) -> None:
    (skill / place / ".git").mkdir(parents=True)
    (skill / place / ".git/HEAD").write_bytes(b"mine")
    before = content(skill)
    error = refused(lambda: write_tree(str(skill), OLD, None), "holds-repository")
    assert error.details["path"] == os.path.join(str(skill), place).rstrip("/")
    assert content(skill) == before


def test_a_directory_that_appears_where_a_skill_is_made_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fill = tmp_path / "skill", trees._fill

    def meanwhile(directory: str, tree: Tree, like: str = "", **how: Any) -> None:
        fill(directory, tree, like, **how)
        path.mkdir()
        (path / "SKILL.md").write_bytes(b"by hand")

    monkeypatch.setattr(trees, "_fill", meanwhile)
    refused(lambda: write_tree(str(path), None, OLD), "skill-exists")
    assert content(tmp_path) == {"skill/SKILL.md": b"by hand"}


def test_a_file_system_without_hard_links_gets_copies(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "no links here")

    os.utime(skill / "references/a.md", ns=(10**18, 10**18))
    monkeypatch.setattr(os, "link", no_links)
    after = swapped(skill)
    assert read_tree(str(skill)) == after
    assert (skill / "references/a.md").stat().st_mtime_ns == 10**18


def test_a_tree_is_read_as_it_was_at_one_moment(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that is swapped while it is read is read again, never half and half."""
    after = {path: Item(b"new " + item.data) for path, item in OLD.items()}
    opens, real = [0], open_beneath

    def meanwhile(directory: str, path: str) -> int:
        opens[0] += 1
        if opens[0] == 2:
            write_tree(str(skill), OLD, after)
        return real(directory, path)

    monkeypatch.setattr(package, "open_beneath", meanwhile)
    assert read_tree(str(skill)) == after


def test_a_directory_that_vanishes_while_it_is_read_is_not_there(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = open_beneath

    def meanwhile(directory: str, path: str) -> int:
        if skill.exists():
            write_tree(str(skill), OLD, None)
        return real(directory, path)

    monkeypatch.setattr(package, "open_beneath", meanwhile)
    assert read_tree(str(skill)) is None


def test_a_directory_that_never_rests_is_said_to_change(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = open_beneath

    def meanwhile(directory: str, path: str) -> int:
        os.utime(skill / "SKILL.md")
        return real(directory, path)

    monkeypatch.setattr(package, "open_beneath", meanwhile)
    refused(lambda: read_tree(str(skill)), "skill-changed")
