"""Reading files that other people and processes may be changing, linking and breaking while we look.

A `Signature` tells cheaply whether a file may have changed. Time stamps are coarse: a file written again within one
tick keeps its signature, so a file that was touched a moment before it was read counts as *unsettled* and is read
again next time (`settled`). `open_beneath` opens a path inside a directory one component at a time, never following a
link out of it, so that swapping a directory for a link between the check and the use gains nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from whet.errors import FailedError, NotFoundError, RefusedError

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
READ_FLAGS = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Open for reading; a link, or a pipe nobody writes to, must not catch us."""

_TICK = 50_000_000
_COARSE_TICK = 2_000_000_000
_MILLISECOND = 1_000_000
_MAX_LINKS = 16


class Signature(NamedTuple):
    """What `stat` says of a file; equal means unchanged, once settled."""

    mtime: int
    ctime: int
    size: int
    inode: int


UNSETTLED = Signature(-1, -1, -1, -1)
"""Equal to no file's signature: look again next time."""


def signature(status: os.stat_result, now: int) -> Signature:
    """The signature of a file looked at `now`, or UNSETTLED when it may still change within the same tick."""
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if not settled(changed, now):
        return UNSETTLED
    return Signature(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def settled(changed: int, now: int) -> bool:
    """Is a time stamp old enough that another change would have given a different one?"""
    return now - changed > (_TICK if changed % _MILLISECOND else _COARSE_TICK)


def read_descriptor(descriptor: int, limit: int) -> bytes:
    """Everything from here to the end of the file, at most `limit` bytes."""
    pieces = []
    while limit > 0 and (piece := os.read(descriptor, min(limit, 1 << 20))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def read_file(path: str, limit: int) -> bytes:
    """A regular file's content, at most `limit` bytes, following links. Raises OSError."""
    descriptor = os.open(path, READ_FLAGS & ~_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return read_descriptor(descriptor, limit)
    finally:
        os.close(descriptor)


def inside(path: str, base: str) -> bool:
    """Is `path` the directory `base` or below it? Both are taken as resolved."""
    return path == base or path.startswith(base if base.endswith(os.sep) else base + os.sep)


def open_beneath(base: str, relative: str) -> int:
    """A descriptor of the regular file `relative` inside `base`, no component of which may lead outside.

    Links are followed as long as they stay inside. `relative` has been checked by `whet.skill.paths` already.
    """
    if not _NOFOLLOW:
        return _open_resolved(base, relative)
    pending = relative.split("/")[::-1]
    chain = [os.open(base, os.O_RDONLY | os.O_DIRECTORY)]
    links = 0
    try:
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if len(chain) == 1:
                    raise _escape(base, relative)
                os.close(chain.pop())
                continue
            flags = READ_FLAGS | (os.O_DIRECTORY if pending else 0)
            try:
                chain.append(os.open(part, flags, dir_fd=chain[-1]))
            except OSError as error:
                if not _is_link(part, chain[-1]):
                    raise _open_failed(error, base, relative) from error
                links += 1
                target = os.readlink(part, dir_fd=chain[-1])
                if links > _MAX_LINKS or os.path.isabs(target):
                    raise _escape(base, relative) from error
                pending.extend(target.split("/")[::-1])
        found = chain.pop()
        if stat.S_ISREG(os.fstat(found).st_mode):
            return found
        os.close(found)
        raise NotFoundError("file-not-found", f"{relative} is not a file.", hint="Name one of the skill's files.")
    finally:
        for descriptor in chain:
            os.close(descriptor)


def _is_link(part: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(part, dir_fd=directory).st_mode)
    except OSError:
        return False


def _open_resolved(base: str, relative: str) -> int:
    """Where the platform cannot open without following links: resolve, compare, open."""
    path = os.path.realpath(os.path.join(base, *relative.split("/")))
    if not inside(path, os.path.realpath(base)):
        raise _escape(base, relative)
    try:
        return os.open(path, READ_FLAGS)
    except OSError as error:
        raise _open_failed(error, base, relative) from error


def _escape(base: str, relative: str) -> RefusedError:
    return RefusedError(
        "path-escape",
        f"{relative} leads outside {base} through a link.",
        hint="Copy the file into the skill instead of linking to it.",
    )


def _open_failed(error: OSError, base: str, relative: str) -> FailedError | NotFoundError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFoundError(
            "file-not-found", f"There is no file {relative} in {base}.", hint="List the skill's files."
        )
    return FailedError(
        "unreadable", f"{relative} in {base} cannot be read: {error.strerror}.", hint="Check its permissions."
    )
