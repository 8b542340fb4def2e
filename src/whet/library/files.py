"""Reading files that other people and processes may change, link or break at the same time.

A `Signature` shows cheaply whether a file may have changed. Time stamps are coarse: a file written again within one
tick keeps its signature, so a file that was touched a moment before it was read counts as *unsettled*: its time is
stored inverted (`~`), which matches no file, and it is read again next time. `open_beneath` opens a path inside a
directory one component at a time, never following a link out of it, so that an attacker gains nothing by replacing a
directory with a link after the check; with `bases`, the directory itself is opened in the same way.
"""

from __future__ import annotations

import errno
import os
import stat
from zlib import crc32

from whet.errors import FailedError, NotFoundError, RefusedError
from whet.records import NamedTuple
from whet.store.regular import BINARY, is_link_status, long_path, open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NOFOLLOW_ANY = getattr(os, "O_NOFOLLOW_ANY", 0)
"""On macOS, no component of a path may be a link."""
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_STEP = _DIRECTORY | _NOFOLLOW | getattr(os, "O_PATH", 0)
"""Flags for directories on the way: they need to be searchable, not readable."""
READ_FLAGS = os.O_RDONLY | BINARY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Open for reading; neither links nor pipes without a writer are followed or waited for."""

_TICK = 50_000_000
COARSE_TICK = 2_000_000_000
"""Nanoseconds after which a change is settled on every file system."""
_MILLISECOND = 1_000_000
UNREAD = frozenset((".git", ".DS_Store"))
"""Entries in a skill's directory that are never read."""
_MOST_STAMPED = 20_000
"""Number of files and directories of one skill in a stamp; a scan reads fewer."""
_MAX_DETOURS = 16
"""Number of links on the way to one file."""


class Signature(NamedTuple):
    """The status of a file; equal signatures mean an unchanged file."""

    mtime: int
    """Inverted if the file was unsettled."""
    ctime: int
    size: int
    inode: int


def signature(status: os.stat_result, now: int) -> Signature:
    """Return the signature of a file whose status was read at `now`."""
    return Signature(seen_mtime(status, now), status.st_ctime_ns, status.st_size, status.st_ino)


def raw_signature(status: os.stat_result) -> Signature:
    """Return the signature that a settled file would have, to compare it with a stored one."""
    return Signature(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def seen_mtime(status: os.stat_result, now: int) -> int:
    """Return the modification time of a file whose status was read at `now`, inverted if it is unsettled."""
    mtime, long_ago = status.st_mtime_ns, now - COARSE_TICK
    return mtime if mtime < long_ago > status.st_ctime_ns or settled(status, now) else ~mtime


def stamp(status: os.stat_result) -> int:
    """Return both times of a file in one number: resetting one of them does not restore the number."""
    return status.st_mtime_ns + status.st_ctime_ns


def seen_stamp(status: os.stat_result, now: int) -> int:
    """Return the stamp of a file whose status was read at `now`, inverted if it is unsettled."""
    mtime, ctime, long_ago = status.st_mtime_ns, status.st_ctime_ns, now - COARSE_TICK
    return mtime + ctime if mtime < long_ago > ctime or settled(status, now) else ~(mtime + ctime)


def settled(status: os.stat_result, now: int) -> bool:
    """Return whether the last change is old enough that another change would show.

    A modification time in the future was set by hand and is ignored; a change would set it to the present.
    """
    mtime, ctime = status.st_mtime_ns, status.st_ctime_ns
    changed = mtime if ctime < mtime <= now else ctime
    return now - changed > (_TICK if changed % _MILLISECOND else COARSE_TICK)


def tree_stamp(main: str, directory: str, now: int) -> str:
    """Return a stamp that changes whenever a scan of a skill could differ; "" while a file is too new to be sure.

    A skill is a main file and the directory with everything below it or, with "", the file alone. Only `stat` is used.
    """
    try:
        seen = [(main, os.stat(main))]
        left = [directory] if directory else []
        seen += [(top, os.stat(top)) for top in left]
        while left and len(seen) <= _MOST_STAMPED:
            with os.scandir(left.pop()) as found:
                below = [(entry.path, entry.stat(follow_symlinks=False)) for entry in found if entry.name not in UNREAD]
            seen += below
            left += [path for path, status in below if stat.S_ISDIR(status.st_mode) and not is_link_status(status)]
    except OSError:
        return ""
    if not all(settled(status, now) for _, status in seen):
        return ""
    newest = max(max(status.st_mtime_ns, status.st_ctime_ns) for _, status in seen)
    text = "\0".join(sorted(f"{path}\0{file_stamp(status)}" for path, status in seen))
    return f"{newest}.{len(seen)}.{crc32(text.encode('utf-8', 'surrogateescape')):08x}"


def file_stamp(status: os.stat_result) -> str:
    """Return a stamp that changes whenever a file's content may have changed."""
    return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}.{status.st_mode}"


def read_descriptor(descriptor: int, limit: int) -> bytes:
    """Return everything up to the end of the file, at most `limit` bytes."""
    pieces = []
    while limit > 0 and (piece := os.read(descriptor, min(limit, 1 << 20))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def read_file(path: str, limit: int) -> bytes:
    """Return the content of a regular file, at most `limit` bytes, following links. Raises OSError."""
    descriptor = open_regular(path, READ_FLAGS & ~_NOFOLLOW)
    try:
        return read_descriptor(descriptor, limit)
    finally:
        os.close(descriptor)


def inside(path: str, base: str) -> bool:
    """Return whether `path` is the directory `base` or below it; both must be resolved."""
    return path == base or path.startswith(base if base.endswith(os.sep) else base + os.sep)


def is_private(path: str, base: str) -> bool:
    """Return whether a path is below `base` and only this user can write to it and to everything on the way.

    Both must be resolved. Links themselves cannot be written. Files of the administrator are accepted.
    """
    if not base or path == base or not inside(path, base):
        return False
    users = {os.getuid(), 0} if hasattr(os, "getuid") else None
    while path != base:
        try:
            status = os.lstat(path)
        except OSError:
            return False
        if users is not None and (
            status.st_uid not in users or (status.st_mode & stat.S_IWOTH and not stat.S_ISLNK(status.st_mode))
        ):
            return False
        path = os.path.dirname(path)
    return True


def open_directory(path: str, bases: Sequence[str] | None = None) -> int:
    """Return a descriptor of a directory; with `bases`, only if it is in one of these (resolved) directories."""
    try:
        if bases is None:
            return os.open(path, _DIRECTORY)
        return _open_without_links(_allowed(path, bases), _DIRECTORY)
    except OSError as error:
        raise _gone(error, path) from error


class entered:  # noqa: N801  it is used as a function
    """The directory `name` of a place, to be listed and entered further; never through a link.

    The first place is a path, which `bases` limits. Raises OSError below it.
    """

    def __init__(self, place: str | int, name: str, *, bases: Sequence[str] | None = None) -> None:
        if isinstance(place, str) and not _NOFOLLOW:
            path = os.path.join(place, name)
            self._place: str | int = long_path(path if bases is None else _allowed(path, bases))
        elif isinstance(place, str):
            self._place = open_directory(os.path.join(place, name), bases)
        else:
            self._place = os.open(name, _DIRECTORY | _NOFOLLOW, dir_fd=place)

    def __enter__(self) -> str | int:
        return self._place

    def __exit__(self, *_: object) -> None:
        if isinstance(self._place, int):
            os.close(self._place)


def open_file(path: str, bases: Sequence[str]) -> int:
    """Return a descriptor of the regular file that `path` leads to, if the file is in one of `bases`."""
    try:
        found = _open_without_links(_allowed(path, bases), READ_FLAGS)
    except OSError as error:
        raise _gone(error, path) from error
    return _regular(found, path)


def open_beneath(base: str, relative: str, *, bases: Sequence[str] | None = None) -> int:
    """Return a descriptor of the regular file `relative` inside `base`; no component may lead outside.

    Links are followed as long as they stay inside. `whet.skill.paths` has already checked `relative`.
    """
    if not _NOFOLLOW:
        return _open_resolved(base, relative, bases)
    pending = relative.split("/")[::-1]
    chain = [open_directory(base, bases)]
    detours = 0
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
            flags = READ_FLAGS | (_DIRECTORY if pending else 0)
            try:
                chain.append(os.open(part, flags, dir_fd=chain[-1]))
            except OSError as error:
                target = _link_target(part, chain[-1])
                detours += 1
                if target is None and (error.errno != errno.ELOOP or detours > _MAX_DETOURS):
                    raise _open_failed(error, base, relative) from error
                if target is not None and (os.path.isabs(target) or detours > _MAX_DETOURS):
                    raise _escape(base, relative) from error
                # Without a target, it was a link a moment ago: another process is changing it, so try again.
                pending.extend([part] if target is None else target.split("/")[::-1])
        return _regular(chain.pop(), relative)
    finally:
        for descriptor in chain:
            os.close(descriptor)


def _regular(descriptor: int, path: str) -> int:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotFoundError("file-not-found", f"{path} is not a file.", hint="Name one of the skill's files.")


def _allowed(path: str, bases: Sequence[str]) -> str:
    real = os.path.realpath(path)
    if any(inside(real, base) for base in bases):
        return real
    raise RefusedError(
        "path-escape",
        f"{path} points to {real}, outside every root.",
        hint=f"If you trust what is there, run `whet guard trust {real}`; or copy the skill.",
    )


def _open_without_links(path: str, flags: int) -> int:
    """Open a resolved path; a component that has become a link since is an error."""
    if _NOFOLLOW_ANY or not _NOFOLLOW:
        return os.open(long_path(path), flags & ~_NOFOLLOW | _NOFOLLOW_ANY)
    *above, last = [part for part in path.split(os.sep) if part] or ["."]
    place = os.open(os.sep, _STEP)
    try:
        for part in above:
            below = os.open(part, _STEP, dir_fd=place)
            os.close(place)
            place = below
        return os.open(last, flags | _NOFOLLOW, dir_fd=place)
    finally:
        os.close(place)


def _link_target(part: str, directory: int) -> str | None:
    """Return the target of a link; None if the path is not a link."""
    try:
        return os.readlink(part, dir_fd=directory)
    except OSError:
        return None


def _open_resolved(base: str, relative: str, bases: Sequence[str] | None) -> int:
    """Open a file on platforms that cannot open without following links: resolve, compare, open."""
    path = os.path.realpath(os.path.join(base, *relative.split("/")))
    if not inside(path, os.path.realpath(base)):
        raise _escape(base, relative)
    if bases is not None:
        _allowed(base, bases)
    try:
        return _regular(os.open(long_path(path), READ_FLAGS), relative)
    except OSError as error:
        raise _open_failed(error, base, relative) from error


def _escape(base: str, relative: str) -> RefusedError:
    return RefusedError(
        "path-escape",
        f"{relative} leaves {base} through a link.",
        hint="Copy the file into the skill instead of linking to it.",
    )


def _gone(error: OSError, path: str) -> FailedError | NotFoundError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL):  # also while it is being changed
        return NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.")
    return FailedError("unreadable", f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")


def _open_failed(error: OSError, base: str, relative: str) -> FailedError | NotFoundError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFoundError(
            "file-not-found", f"There is no file {relative} in {base}.", hint="List the skill's files."
        )
    return FailedError(
        "unreadable", f"{relative} in {base} cannot be read: {error.strerror}.", hint="Check its permissions."
    )
