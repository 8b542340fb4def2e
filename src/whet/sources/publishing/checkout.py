"""Publishing in somebody's own working copy: their branch, their hooks, their rules, and only our directories.

What is not committed there is theirs: it is never overwritten. Either the commit is made, or everything is as it was.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import write_tree
from whet.errors import ConflictError, FailedError, UsageError
from whet.library.package import read_tree
from whet.library.standalone import alone
from whet.skill.tree import ignored
from whet.sources.publishing.git import check_identity, check_way, push_failure, released
from whet.sources.publishing.prepare import Published
from whet.sources.publishing.running import NETWORK_SECONDS, Git, environment, workshop
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.library.roots import Place
    from whet.skill.tree import Tree
    from whet.sources.publishing.prepare import Prepared

_FROM_INPUT = ("--pathspec-from-file=-", "--pathspec-file-nul")


class Repository(NamedTuple):
    """A repository on this machine."""

    top: str
    """The top of the working copy, or the repository itself if it has none."""
    bare: bool
    git: Git

    def path(self, inner: str) -> str:
        """Where something of it lies on disk."""
        return os.path.join(self.top, *inner.split("/"))


def repository_of(location: str, place: Place, cancelled: threading.Event) -> Repository:
    """The repository that a path lies in. Raises UsageError `not-a-repository`."""
    directory = os.path.realpath(os.path.expanduser(location))
    hint = "Name a working copy of a git repository, or the address of one."
    if not os.path.isdir(directory):
        raise UsageError("not-a-repository", f"{location} is no directory.", hint=hint)
    outside = Git(workshop(place), environment(place.env), cancelled)
    git = outside._replace(options=("-C", directory))
    done = git.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if done.code:
        raise UsageError("not-a-repository", f"{location} is no git repository: {done.last}.", hint=hint)
    bare, inside = done.out.split()
    if bare == "true":
        return Repository(directory, bare=True, git=git)
    if inside != "true":
        raise UsageError("not-a-repository", f"{location} is not in a working copy.", hint=hint)
    top = os.path.realpath(git.ask("rev-parse", "--show-toplevel"))
    return Repository(top, bare=False, git=outside._replace(options=("-C", top)))


def publish_checkout(
    prepared: Sequence[Prepared], found: Repository, place: Place, *, branch: str, into: str, message: str, push: bool
) -> Published:
    """Commit these skills in a working copy, each in its directory, and nothing else."""
    git = found.git
    current = _branch(found, branch)
    check_identity(git)
    at = {f"{into}/{skill.name}".removeprefix("/"): skill for skill in prepared}
    with ExitStack() as alone_with:
        for path in at:
            check_way(path, lambda above: _listed(found.path(above)))
            alone_with.enter_context(alone(place.state, found.path(path)))
        before = {path: _committed(found, path, skill) for path, skill in at.items()}
        objects = {path: _id(git, path) for path in at}
        try:
            _commit(found, at, before, message)
        except BaseException:
            _put_back(found, before)
            raise
    releases = tuple(released(skill, path, objects[path], _id(git, path)) for path, skill in at.items())
    changed = any(release.change != "unchanged" for release in releases)
    revision = git.run("rev-parse", "--verify", "--quiet", "HEAD").out.strip()
    pushed = push and _push(git, current)
    return Published("git", found.top, changed, releases, revision, current, pushed)


def _branch(found: Repository, wanted: str) -> str:
    current = found.git.run("symbolic-ref", "--short", "--quiet", "HEAD").out.strip()
    if not current or wanted not in ("", current):
        stands = f"on the branch {current}" if current else "on no branch"
        hint = f"Run `git switch {wanted or 'BRANCH'}` there first."
        raise ConflictError("wrong-branch", f"The working copy {found.top} is {stands}.", hint=hint)
    return current


def _committed(found: Repository, path: str, skill: Prepared) -> Tree | None:
    """The directory as it is, if nothing in it would be lost: it is committed, or it is the skill itself already."""
    directory = found.path(path)
    tree = read_tree(directory)
    if tree == skill.tree:
        return tree
    listed = found.git.ask("status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching", "--", path)
    names = [row[3:] for row in listed.split("\0") if not (row[:2] == "!!" and ignored(row[3:].rstrip("/")))]
    if any(names):
        message = f"{directory} has changes that are not committed: {', '.join(filter(None, names[:3]))}."
        hint = "Commit them, or put them away with `git stash -u`."
        raise ConflictError("uncommitted-changes", message, hint=hint, path=directory)
    return tree


def _commit(found: Repository, at: Mapping[str, Prepared], before: Mapping[str, Tree | None], message: str) -> None:
    for path, skill in at.items():
        write_tree(found.path(path), before[path], skill.tree)
    files = [f"{path}/{name}" for path, skill in at.items() for name in {**(before[path] or {}), **skill.tree}]
    names = "\0".join(files).encode("utf-8", "surrogateescape")
    # Each file by its name: what the repository ignores would be left out, and what the package ignores added.
    _try(found, "add", "--all", "--force", *_FROM_INPUT, data=names)
    if found.git.run("diff", "--cached", "--quiet", "--", *at).code:
        _try(found, "commit", "--quiet", "--only", "-m", message, *_FROM_INPUT, data=names)


def _put_back(found: Repository, before: Mapping[str, Tree | None]) -> None:
    for path, tree in before.items():
        now = read_tree(found.path(path))
        if now != tree:
            write_tree(found.path(path), now, tree)
            found.git._replace(cancelled=threading.Event()).run("reset", "--quiet", "--", path)


def _push(git: Git, branch: str) -> bool:
    """Push the branch to where it comes from; whether that changed anything there."""
    remote = git.run("config", "--get", f"branch.{branch}.remote").out.strip() or "origin"
    merge = git.run("config", "--get", f"branch.{branch}.merge").out.strip() or f"refs/heads/{branch}"
    done = git.run("push", remote, f"refs/heads/{branch}:{merge}", seconds=NETWORK_SECONDS)
    if done.code:
        raise push_failure(remote, branch, done, "The commit is made; pull, and push it with git.")
    return "Everything up-to-date" not in done.talk


def _try(found: Repository, *words: str, data: bytes) -> None:
    done = found.git.run(*words, data=data)
    if done.code:
        message = f"git {words[0]} refused in {found.top}: {done.last}."
        hint = "Nothing was committed, and the directory is as it was."
        raise FailedError("commit-refused", message, hint=hint, output=done.talk)


def _id(git: Git, path: str) -> str:
    return git.run("rev-parse", "--verify", "--quiet", f"HEAD:{path}").out.strip()


def _listed(directory: str) -> dict[str, str]:
    if not os.path.isdir(directory):
        return {}
    with os_failures(directory, doing="list"), os.scandir(directory) as found:
        return {entry.name: "tree" if entry.is_dir(follow_symlinks=False) else "other" for entry in found}
