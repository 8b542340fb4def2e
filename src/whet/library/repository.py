"""The repository around a directory, and who it is.

Trust is given to a repository, not to a path on disk: all worktrees of one repository share it. The identity is read
from git's own files, without running git. Everything in a project directory may come out of a stranger's archive, so
nothing there is believed that names another directory: a `.git` *file* counts only when the repository it names keeps a
record of this very worktree, and a `.git` *link* counts for nothing. Otherwise an unpacked archive could borrow the
identity of a repository the user trusts.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from whet.library.files import read_file

_MAX_LEVELS = 64
_MAX_POINTER = 4096


class Repository(NamedTuple):
    """A project directory and the identity its trust hangs on."""

    root: str
    identity: str


def find_repository(start: str, *, home: str) -> Repository:
    """The nearest repository at or above `start`; without one, `start` itself. The home is never a project."""
    directory = start
    for _ in range(_MAX_LEVELS):
        if is_same(directory, home):
            break
        marker = os.path.join(directory, ".git")
        if os.path.lexists(marker):
            return Repository(directory, _identity(directory, marker))
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
    return Repository(start, os.path.realpath(start))


def is_same(one: str, other: str) -> bool:
    """Are these the same directory, also when a link leads to one of them?"""
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def project_directories(start: str, repository: Repository) -> tuple[str, ...]:
    """The directories whose skills belong to the project, nearest first: from `start` up to the repository's root."""
    found = [start]
    while found[-1] != repository.root:
        found.append(os.path.dirname(found[-1]))
    return tuple(found)


def _identity(root: str, marker: str) -> str:
    if os.path.islink(marker):
        return os.path.realpath(root)
    if os.path.isdir(marker):
        return os.path.realpath(marker)
    named = _pointer(marker, "gitdir:", root)
    if named:
        record = os.path.realpath(named)
        common = os.path.realpath(_pointer(os.path.join(record, "commondir"), "", record) or root)
        back = _pointer(os.path.join(record, "gitdir"), "", record)
        kept = os.path.dirname(record) == os.path.join(common, "worktrees")
        if kept and back and os.path.realpath(back) == os.path.realpath(marker):
            return common
    return os.path.realpath(root)


def _pointer(path: str, prefix: str, base: str) -> str:
    """The path a one-line git file names, or "" when it names none."""
    try:
        line = os.fsdecode(read_file(path, _MAX_POINTER).partition(b"\n")[0]).strip()
    except OSError:
        return ""
    if not line.startswith(prefix) or "\0" in line:
        return ""
    return os.path.join(base, line.removeprefix(prefix).strip())
