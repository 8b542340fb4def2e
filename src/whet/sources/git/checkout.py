"""Read the branch and commit checked out around a directory, without running git.

Running git in a stranger's directory can run programs that its configuration names; reading three small files cannot.
"""

from __future__ import annotations

import os
from contextlib import suppress

from whet.errors import WhetError
from whet.library.files import read_file
from whet.patterns import compile_late

_LARGEST = 4 * 1024 * 1024
"""Largest file of packed references in bytes; the other files have one line."""
_COMMIT = compile_late(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def read_checkout(directory: str) -> str:
    """Return the branch and the commit that are checked out around a directory, as `main@COMMIT`.

    Without a branch, it is `@COMMIT`; before the first commit, `main@`; outside a repository, "".
    """
    above = os.path.realpath(directory)
    while not os.path.lexists(git := os.path.join(above, ".git")):
        if above == (above := os.path.dirname(above)):
            return ""
    if os.path.isfile(git):  # a worktree or a submodule: the file names the directory
        git = os.path.join(above, _line(git).removeprefix("gitdir:").strip())
    head = _line(os.path.join(git, "HEAD"))
    if not head.startswith("ref:"):
        return f"@{head}" if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref:").strip()
    if ".." in name:  # not a valid reference, and could lead outside
        return ""
    common = os.path.join(git, _line(os.path.join(git, "commondir")))
    commit = _line(os.path.join(common, *name.split("/"))) or _find_packed(common, name)
    return f"{name.removeprefix('refs/heads/')}@{commit if _COMMIT.fullmatch(commit) else ''}"


def _line(path: str) -> str:
    return _text(path).partition("\n")[0].strip()


def _find_packed(common: str, name: str) -> str:
    lines = (line.partition(" ") for line in _text(os.path.join(common, "packed-refs")).splitlines())
    return next((commit for commit, _, ref in lines if ref.strip() == name), "")


def _text(path: str) -> str:
    with suppress(OSError, WhetError):
        return read_file(path, _LARGEST).decode("utf-8", "replace")
    return ""
