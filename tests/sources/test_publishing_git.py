"""Skills pushed to real git repositories by their address: bare ones, with hooks and races."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from sources.publishable import ready
from sources.remotes import World
from whet.errors import ConflictError, FailedError, UsageError, WhetError
from whet.library.package import read_tree
from whet.sources.publish.git import publish_git

if TYPE_CHECKING:
    from pathlib import Path

HELP = {"references/guide.md": "# Guide\n", "scripts/run.sh": "#!/bin/sh\necho ok\n"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_skill_is_pushed_to_the_default_branch(world: World) -> None:
    before = world.head()
    skill = ready(world.top, "greet", files=HELP, more='metadata:\n  version: "1.2"\n')
    published = world.publish(skill)
    assert published.to_json() == {
        "success": True,
        "kind": "git",
        "target": world.address,
        "changed": True,
        "published": [
            {"name": "greet", "version": "1.2", "digest": skill.digest, "change": "added", "at": "skills/greet"}
        ],
        "revision": world.head(),
        "branch": "trunk",
        "pushed": True,
        "removed": [],
        "notes": [],
        "prepared": [],
    }
    modes = world.git("ls-tree", "-r", "trunk", at=world.bare).splitlines()
    assert [(line.split(" ")[0], line.split("\t")[1]) for line in modes] == [
        ("100644", "README.md"),
        ("100644", "skills/greet/SKILL.md"),
        ("100644", "skills/greet/references/guide.md"),
        ("100755", "skills/greet/scripts/run.sh"),
    ]
    assert world.git("log", "-1", "--format=%an <%ae> %cn %P%n%B", "trunk", at=world.bare) == (
        f"A Person <person@example.com> A Person {before}\nPublish greet 1.2"
    )
    world.git("fsck", "--strict", at=world.bare)
    world.git("pull", "--quiet")
    assert read_tree(str(world.copy / "skills" / "greet")) == skill.tree
    assert world.leftovers() == []


def test_what_is_there_already_is_not_pushed_again(world: World) -> None:
    skill = ready(world.top, "greet", files=HELP)
    first = world.publish(skill)
    again = world.publish(skill)
    assert (again.changed, again.pushed, again.revision) == (False, False, first.revision)
    assert [release.change for release in again.releases] == ["unchanged"]


def test_a_directory_is_replaced_exactly(world: World) -> None:
    other = ready(world.top, "other")
    world.publish(ready(world.top / "a", "greet", files=HELP), other)
    published = world.publish(ready(world.top / "b", "greet", files={"references/new.md": "new"}), other)
    assert {release.name: release.change for release in published.releases} == {
        "greet": "updated",
        "other": "unchanged",
    }
    assert world.files() == [
        *("README.md", "skills/greet/SKILL.md", "skills/greet/references/new.md", "skills/other/SKILL.md")
    ]


def test_several_skills_are_one_commit(world: World) -> None:
    world.publish(ready(world.top, "one"), ready(world.top, "two", more='metadata:\n  version: "2"\n'))
    assert world.git("rev-list", "--count", "trunk", at=world.bare) == "2"
    assert world.git("log", "-1", "--format=%B", "trunk", at=world.bare) == "Publish 2 skills\n\n- one\n- two 2"


def test_a_named_branch_starts_from_the_default_one(world: World) -> None:
    before = world.head()
    published = world.publish(ready(world.top, "greet"), branch="release/greet")
    assert (published.branch, world.head("release/greet"), world.head()) == (
        *("release/greet", published.revision, before),
    )
    assert world.git("rev-parse", "release/greet^", at=world.bare) == before
    more = world.publish(ready(world.top, "more"), branch="release/greet")
    assert world.git("rev-parse", "release/greet^", at=world.bare) == published.revision
    assert more.revision == world.head("release/greet")


def test_the_first_commit_of_an_empty_repository(world: World) -> None:
    empty = world.top / "empty.git"
    world.git("init", "--quiet", "--bare", "--initial-branch=start", str(empty), at=world.top)
    published = world.publish(ready(world.top, "greet"), to=f"file://{empty}")
    assert (published.branch, published.pushed) == ("start", True)
    assert world.git("rev-list", "--count", "HEAD", at=empty) == "1"


def test_a_bare_repository_may_be_given_by_its_path(world: World) -> None:
    assert world.publish(ready(world.top, "greet"), to=str(world.bare)).revision == world.head()


def test_the_root_and_deeper_directories_can_be_published_into(world: World) -> None:
    world.publish(ready(world.top, "one"), into="")
    world.publish(ready(world.top, "two"), into="a/b c/")
    assert world.files() == ["README.md", "a/b c/two/SKILL.md", "one/SKILL.md"]


def test_a_server_that_filters_is_asked_for_less(world: World) -> None:
    world.git("config", "uploadpack.allowFilter", "true", at=world.bare)
    (world.copy / "large.txt").write_text("large\n" * 1000)
    world.git("add", ".")
    world.git("commit", "--quiet", "-m", "large")
    world.git("push", "--quiet")
    world.publish(ready(world.top, "greet", files=HELP))
    assert "large.txt" in world.files()
    world.git("fsck", "--strict", at=world.bare)


def test_names_and_bytes_arrive_as_they_are(world: World) -> None:
    (world.copy / ".gitattributes").write_text("* text=auto eol=lf filter=shout\n")
    world.git("add", ".")
    world.git("commit", "--quiet", "-m", "rules")
    world.git("push", "--quiet")
    directory = world.top / "greet"
    ready(world.top, "greet")
    (directory / "references").mkdir()
    (directory / "references" / 'Ünï "quoted" name.md').write_bytes(b"one\r\ntwo\r\n\0\n")
    (directory / "references" / ".gitignore").write_text("*\n")
    skill = ready(world.top, "greet")
    world.publish(skill)
    listed = world.git("-c", "core.quotePath=false", "ls-tree", "-r", "-z", "--name-only", "trunk", at=world.bare)
    assert 'skills/greet/references/Ünï "quoted" name.md' in listed.split("\0")
    shown = subprocess.run(
        ["git", "cat-file", "blob", 'trunk:skills/greet/references/Ünï "quoted" name.md'],
        cwd=world.bare,
        capture_output=True,
        check=True,
    )
    assert shown.stdout == b"one\r\ntwo\r\n\0\n"


def test_nothing_leaves_the_machine_when_nothing_is_pushed(world: World) -> None:
    before = world.head()
    skill = ready(world.top, "greet")
    published = publish_git([skill], world.address, place=world.place, push=False)
    assert (published.changed, published.pushed, published.revision, world.head()) == (True, False, before, before)


def test_no_hook_of_the_user_runs_in_the_temporary_repository(world: World) -> None:
    hooks, template = world.top / "hooks", world.top / "template"
    for name in ("pre-push", "pre-commit", "commit-msg", "post-checkout"):
        world.hook(name, f"touch '{world.top}/ran'; exit 1", of=world.top)
    for name in ("pre-push", "reference-transaction", "post-checkout"):
        world.hook(name, f"touch '{world.top}/ran'; exit 1", of=template)
    config = f"[core]\n\thooksPath = {hooks}\n[init]\n\ttemplateDir = {template}\n"
    with open(os.path.join(world.place.home, ".gitconfig"), "a", encoding="utf-8") as file:
        file.write(config)
    assert world.publish(ready(world.top, "greet")).pushed
    assert not (world.top / "ran").exists()


def test_variables_of_another_repository_do_not_lead_astray(world: World) -> None:
    stray = {"GIT_DIR": str(world.copy / ".git"), "GIT_INDEX_FILE": str(world.top / "index"), "GIT_WORK_TREE": "/"}
    skill = ready(world.top, "greet")
    published = publish_git([skill], world.address, place=world.place._replace(env={**world.place.env, **stray}))
    assert published.revision == world.head()


def test_who_is_unknown_to_git_does_not_commit(world: World) -> None:
    os.unlink(os.path.join(world.place.home, ".gitconfig"))
    before = world.head()
    with pytest.raises(UsageError) as error:
        world.publish(ready(world.top, "greet"))
    assert error.value.code == "no-git-identity"
    assert "git config --global user.name" in error.value.hint
    assert "git config --global user.email" in error.value.hint
    assert (world.head(), world.leftovers()) == (before, [])


@pytest.mark.parametrize("hook", ["update", "pre-receive"])
def test_a_server_that_refuses_is_quoted(world: World, hook: str) -> None:
    world.hook(hook, 'echo "trunk is protected." >&2; exit 1')
    before = world.head()
    with pytest.raises(FailedError) as error:
        world.publish(ready(world.top, "greet"))
    assert error.value.code == "push-refused"
    assert "hook declined); the server says: trunk is protected." in error.value.message
    assert error.value.hint.endswith("Nothing was published.")
    assert (world.head(), world.leftovers()) == (before, [])


def test_another_branch_may_be_open_where_one_is_protected(world: World) -> None:
    world.hook("update", '[ "$1" = refs/heads/trunk ] && exit 1; exit 0')
    assert world.publish(ready(world.top, "greet"), branch="proposal").pushed


def test_a_branch_that_is_checked_out_is_not_pushed_to(world: World) -> None:
    with pytest.raises(FailedError, match="checked out"):
        world.publish(ready(world.top, "greet"), to=f"file://{world.copy}")


def racing(world: World, times: int) -> None:
    """Let somebody else push just before ours arrives, so often."""
    rival = world.top / "rival"
    world.git("clone", "--quiet", str(world.bare), str(rival), at=world.top)
    script = f"""
        [ -n "$RIVAL" ] && exit 0
        count=$(cat {world.top}/count 2>/dev/null || echo 0)
        [ "$count" -ge {times} ] && exit 0
        echo $((count + 1)) > {world.top}/count
        unset GIT_DIR GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
        cd {rival} || exit 1
        echo $count > theirs-$count && git add . && git commit --quiet -m theirs && RIVAL=1 git push --quiet >&2
    """
    world.hook("pre-receive", script)


def test_who_was_faster_keeps_what_they_pushed(world: World) -> None:
    racing(world, 2)
    published = world.publish(ready(world.top, "greet"))
    assert published.revision == world.head()
    assert world.files() == ["README.md", "skills/greet/SKILL.md", "theirs-0", "theirs-1"]
    assert world.git("log", "--format=%s", "trunk", at=world.bare).splitlines() == (
        ["Publish greet", "theirs", "theirs", "first"]
    )


def test_a_race_that_is_always_lost_ends(world: World) -> None:
    racing(world, 100)
    with pytest.raises(FailedError) as error:
        world.publish(ready(world.top, "greet"))
    assert error.value.code == "push-refused"
    assert "Someone else pushed at the same time" in error.value.hint
    assert (world.top / "count").read_text() == "4\n"
    assert world.leftovers() == []


def test_somebody_pushed_the_same_in_between(world: World) -> None:
    racing(world, 1)
    skill = ready(world.top / "rival" / "skills", "greet")
    published = world.publish(skill)
    assert (published.changed, published.pushed, published.revision) == (False, False, world.head())
    assert world.git("log", "-1", "--format=%s", "trunk", at=world.bare) == "theirs"


def test_what_is_in_the_way_stays(world: World) -> None:
    (world.copy / "skills").symlink_to("elsewhere")
    (world.copy / "taken").mkdir()
    (world.copy / "taken" / "greet").write_text("a file")
    (world.copy / "Spelled").mkdir()
    (world.copy / "Spelled" / "file").write_text("x")
    world.git("add", ".")
    world.git("commit", "--quiet", "-m", "in the way")
    world.git("push", "--quiet")
    before = world.head()
    for into in ("skills", "taken", "spelled"):
        for to in (world.address, str(world.copy)):
            with pytest.raises(ConflictError) as error:
                world.publish(ready(world.top, "greet"), into=into, to=to)
            assert error.value.code == "path-blocked"
    assert (world.head(), world.git("status", "--porcelain")) == (before, "")


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("file:///no/repository/here", "source-not-found"),
        ("ext::sh -c touch% ran", "path-not-found"),
        ("ext::sh", "path-not-found"),
        ("git://example.com/x", "bad-address"),
        ("nowhere", "path-not-found"),
    ],
)
def test_where_nothing_can_be_published(world: World, to: str, code: str) -> None:
    with pytest.raises(WhetError) as error:
        world.publish(ready(world.top, "greet"), to=to)
    assert error.value.code == code


def test_words_that_make_no_sense_are_refused(world: World) -> None:
    skill = ready(world.top, "greet")
    for more, code in (
        ({"branch": "a..b"}, "bad-branch"),
        ({"branch": "-x"}, "bad-branch"),
        ({"into": "../out"}, "path-traversal"),
        ({"into": "x/.GIT/hooks"}, "path-ignored"),
    ):
        with pytest.raises(UsageError) as error:
            world.publish(skill, **more)
        assert error.value.code == code
    with pytest.raises(UsageError, match="2 of the skills"):
        world.publish(skill, skill)


def test_it_can_be_cancelled(world: World) -> None:
    stop = threading.Event()
    stop.set()
    world.hook("pre-receive", "sleep 5")
    with pytest.raises(FailedError) as error:
        publish_git([ready(world.top, "greet")], world.address, place=world.place, cancelled=stop)
    assert error.value.code == "cancelled"
    assert world.leftovers() == []


def test_passwords_are_not_repeated(world: World) -> None:
    with pytest.raises(WhetError) as error:
        world.publish(ready(world.top, "greet"), to="https://person:s3cret@127.0.0.1:1/owner/repo")
    assert error.value.code == "unreachable"
    assert "s3cret" not in str(error.value.to_json())
