"""Skills published in somebody's working copy: one commit, and everything else of theirs as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sources.publishable import ready
from sources.remotes import World
from whet.errors import ConflictError, FailedError, NotFoundError, UsageError
from whet.library.package import read_tree
from whet.sources.publish.git import publish_git
from whet.sources.publish.prepare import Published

if TYPE_CHECKING:
    from pathlib import Path

HELP = {"references/guide.md": "# Guide\n", "scripts/run.sh": "#!/bin/sh\necho ok\n"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_working_copy_gets_one_commit_and_keeps_the_rest(world: World) -> None:
    (world.copy / "staged.txt").write_text("staged")
    world.git("add", "staged.txt")
    (world.copy / "README.md").write_text("edited\n")
    skill = ready(world.top, "greet", files=HELP)
    published = world.publish(skill, to=str(world.copy))
    assert published._replace(releases=()) == Published(
        "git", str(world.copy), changed=True, releases=(), revision=world.git("rev-parse", "HEAD"), branch="trunk"
    )
    assert [release.change for release in published.releases] == ["added"]
    assert world.git("show", "--name-only", "--format=%s", "HEAD").splitlines() == [
        *("Publish greet", "", "skills/greet/SKILL.md", "skills/greet/references/guide.md"),
        "skills/greet/scripts/run.sh",
    ]
    assert world.git("status", "--porcelain").splitlines() == ["M README.md", "A  staged.txt"]
    assert world.head() != published.revision, "nothing is pushed unasked"
    again = world.publish(skill, to=str(world.copy / "skills"))
    assert (again.changed, again.revision) == (False, published.revision)


def test_a_new_version_in_a_working_copy_replaces_the_directory(world: World) -> None:
    world.publish(ready(world.top / "a", "greet", files=HELP), to=str(world.copy))
    new = ready(world.top / "b", "greet", files={"references/new.md": "new"})
    published = world.publish(new, to=str(world.copy))
    assert [release.change for release in published.releases] == ["updated"]
    assert world.git("ls-files", "skills").splitlines() == ["skills/greet/SKILL.md", "skills/greet/references/new.md"]
    assert read_tree(str(world.copy / "skills" / "greet")) == new.tree
    assert world.git("status", "--porcelain") == ""


@pytest.mark.parametrize("kind", ["edited", "untracked", "ignored", "staged"])
def test_what_is_not_committed_is_not_overwritten(world: World, kind: str) -> None:
    world.publish(ready(world.top / "a", "greet", files=HELP), to=str(world.copy))
    (world.copy / ".git" / "info" / "exclude").write_text("*.secret\n")
    directory = world.copy / "skills" / "greet"
    name = {"edited": "SKILL.md", "untracked": "mine.md", "ignored": "my.secret", "staged": "staged.md"}[kind]
    (directory / name).write_text("mine")
    if kind == "staged":
        world.git("add", f"skills/greet/{name}")
    before = world.git("rev-parse", "HEAD")
    with pytest.raises(ConflictError) as error:
        world.publish(ready(world.top / "b", "greet", "New.\n"), to=str(world.copy))
    assert (error.value.code, name in error.value.message) == ("uncommitted-changes", True)
    assert ((directory / name).read_text(), world.git("rev-parse", "HEAD")) == ("mine", before)


def test_caches_beside_the_files_are_in_nobodys_way(world: World) -> None:
    world.publish(ready(world.top / "a", "greet", files=HELP), to=str(world.copy))
    (world.copy / ".git" / "info" / "exclude").write_text("__pycache__\n")
    cache = world.copy / "skills" / "greet" / "scripts" / "__pycache__"
    cache.mkdir()
    (cache / "x.pyc").write_bytes(b"x")
    assert world.publish(ready(world.top / "b", "greet", "New.\n", files=HELP), to=str(world.copy)).changed
    assert (cache / "x.pyc").exists()
    assert world.git("status", "--porcelain") == ""


def test_a_skill_that_is_edited_in_the_working_copy_itself_is_committed(world: World) -> None:
    skill = ready(world.copy / "skills", "greet", files=HELP)
    published = world.publish(skill, to=str(world.copy))
    assert [release.change for release in published.releases] == ["added"]
    assert world.git("status", "--porcelain") == ""


def test_files_that_the_repository_ignores_are_published_all_the_same(world: World) -> None:
    (world.copy / ".gitignore").write_text("*.md\n")
    world.git("add", "-f", ".gitignore")
    world.git("commit", "--quiet", "-m", "ignore")
    world.publish(ready(world.top, "greet", files=HELP), to=str(world.copy))
    assert world.git("ls-files", "skills").splitlines() == [
        *("skills/greet/SKILL.md", "skills/greet/references/guide.md", "skills/greet/scripts/run.sh")
    ]


def test_the_hooks_of_a_working_copy_have_their_say(world: World) -> None:
    world.publish(ready(world.top / "a", "greet", files=HELP), to=str(world.copy))
    before = read_tree(str(world.copy / "skills" / "greet"))
    world.hook("pre-commit", 'echo "no skills on fridays" >&2; exit 1', of=world.copy / ".git")
    new = ready(world.top / "b", "greet", files={"references/new.md": "new"})
    with pytest.raises(FailedError) as error:
        world.publish(new, ready(world.top, "other"), to=str(world.copy))
    assert error.value.code == "commit-refused"
    assert error.value.message.endswith("no skills on fridays.")
    assert read_tree(str(world.copy / "skills" / "greet")) == before
    assert not (world.copy / "skills" / "other").exists()
    assert world.git("status", "--porcelain") == ""


def test_a_working_copy_on_another_branch_is_left_alone(world: World) -> None:
    skill = ready(world.top, "greet")
    with pytest.raises(ConflictError) as error:
        world.publish(skill, to=str(world.copy), branch="other")
    assert error.value.code == "wrong-branch"
    world.git("checkout", "--quiet", "--detach")
    with pytest.raises(ConflictError, match="on no branch"):
        world.publish(skill, to=str(world.copy))


def test_the_first_commit_of_a_working_copy(world: World) -> None:
    fresh = world.top / "fresh"
    world.git("init", "--quiet", str(fresh), at=world.top)
    published = world.publish(ready(world.top, "greet"), to=str(fresh))
    assert (published.changed, published.branch) == (True, "main")
    assert world.git("rev-list", "--count", "HEAD", at=fresh) == "1"


def test_the_first_commit_that_is_refused_leaves_nothing(world: World) -> None:
    fresh = world.top / "fresh"
    world.git("init", "--quiet", str(fresh), at=world.top)
    world.hook("pre-commit", "exit 1", of=fresh / ".git")
    with pytest.raises(FailedError):
        world.publish(ready(world.top, "greet"), to=str(fresh))
    assert world.git("status", "--porcelain", at=fresh) == ""


def test_a_working_copy_is_pushed_when_asked(world: World) -> None:
    skill = ready(world.top, "greet")
    published = publish_git([skill], str(world.copy), place=world.place, push=True)
    assert (published.pushed, world.head()) == (True, published.revision)
    again = publish_git([skill], str(world.copy), place=world.place, push=True)
    assert (again.changed, again.pushed) == (False, False)


def test_a_push_that_is_refused_leaves_the_commit(world: World) -> None:
    world.hook("update", 'echo "not today" >&2; exit 1')
    with pytest.raises(FailedError) as error:
        publish_git([ready(world.top, "greet")], str(world.copy), place=world.place, push=True)
    assert (error.value.code, "The commit is made" in error.value.hint) == ("push-refused", True)
    assert world.git("log", "-1", "--format=%s") == "Publish greet"


def test_a_directory_that_is_no_repository(world: World) -> None:
    plain = world.top / "plain"
    plain.mkdir()
    (plain / "file").write_text("x")
    for location in (plain, plain / "file", world.copy / ".git"):
        with pytest.raises(UsageError) as error:
            publish_git([ready(world.top, "greet")], str(location), place=world.place)
        assert error.value.code == "not-a-repository"
    with pytest.raises(NotFoundError):
        publish_git([ready(world.top, "greet")], str(world.top / "nowhere"), place=world.place)
