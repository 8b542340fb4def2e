"""Atomic changes of files and directories: readers, and a power failure, find either the old or the new state.

A file is written beside its target under a temporary name, synced, and renamed over it. Several files are all written
and then synced together, so that the disk is waited for once. A directory cannot be renamed over another one: the two
are exchanged if the system can do that, else the old one is renamed first. If a change may have to be undone, the
replaced content stays beside it until that is decided (`Swap`).

    .NAME.whet-tmp-RANDOM     not yet in place, or no longer: garbage once its process is dead
    .NAME.whet-old-RANDOM     the complete old directory, until the new one is in place

A killed process leaves at most these behind; `clean_leftovers` removes the first kind, and restores the second if
nothing is in its place. The files of a living process carry a kernel lock, so that cleaning never disturbs it; on a
file system without such locks, the caller's own lock (`whet.store.locks`) must ensure that. Two writers of one target
need such a lock in any case.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import count

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.store.directories import sync_directory, sync_file_system
from whet.store.failures import os_failure, os_failures
from whet.store.locks import is_file_at, try_lock
from whet.store.regular import is_link, long_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Literal, Self, TypeVar

    T = TypeVar("T")

_WINDOWS = sys.platform == "win32"
if sys.platform == "win32":
    _NEW, _FILE, _ANY = os.O_BINARY, os.O_RDWR, os.O_RDONLY
else:
    _NEW, _FILE = os.O_NOFOLLOW, os.O_RDONLY | os.O_NOFOLLOW
    _ANY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

_LEFTOVER = compile_late(r"(?s)\.(?P<name>.+)\.whet-(?P<kind>tmp|old)-[0-9a-f]{16}(?:-journal|-wal|-shm)?")
_PAUSES = (0.01, 0.03, 0.1, 0.3, 0.6) if _WINDOWS else ()
"""Seconds. Windows cannot rename a file that a process has open, such as a virus scanner, so the rename is repeated."""
_LONGEST_NAME = 200
"""Bytes of the target's name in a temporary name, which keep it below the usual limit of 255."""
_MOST_OPEN = 512
"""Files that are open at once while several are written, or half of those that this process may still open."""
_MOST_SYNCS = 16
"""Concurrent syncs, which the file system combines into one write of its journal."""
_MANY = 32
"""Above this number, the whole file system is synced, if the system can do that."""
_FEW = 8
"""Up to this number, syncing one by one is as fast as starting threads."""


def write_bytes(path: str, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace the content of the file at `path` with `data`, atomically; a linked file stays linked.

    The permissions become `mode`; without it those of the existing file stay, and a new file gets 0o644 minus the
    umask. `durable=False` skips the syncs: a killed process still leaves no partial file, but a power failure may.
    """
    write_files({path: data}, mode=mode, durable=durable)


def write_files(files: Mapping[str, bytes], *, mode: int | None = None, durable: bool = True) -> None:
    """Like `write_bytes` for several files, in order; none gets its name before its content is durable."""
    items = [*files.items()]
    directories: dict[str, str] = {}
    most = _most_open() if len(items) > _MANY else _MANY
    for start in range(0, len(items), most):
        with ExitStack() as begun:
            drafts = [begun.enter_context(_Draft(*item, mode)) for item in items[start : start + most]]
            if durable:
                _sync_drafts(drafts)
            for draft in drafts:
                draft.finish()
                directories[os.path.dirname(draft.target)] = draft.path
    if durable:
        _sync_together(directories)


def _most_open() -> int:
    """Return how many files may be open at once."""
    if sys.platform == "win32":
        return 128
    from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

    allowed, _ = getrlimit(RLIMIT_NOFILE)
    if allowed == RLIM_INFINITY:
        return _MOST_OPEN
    used = os.open(os.devnull, os.O_RDONLY)  # it gets the lowest free number
    os.close(used)
    return max(min(_MOST_OPEN, (allowed - used) // 2), _MANY)


class _Draft:
    """A written file without its final name; it is removed at the end of the block unless it got its name."""

    def __init__(self, path: str, data: bytes, mode: int | None) -> None:
        self.path, self._data, self._mode = path, data, mode
        self.target = _target(path)
        self._fd = -1
        self._temporary = ""

    def __enter__(self) -> Self:
        with os_failures(self.path):
            mode = _existing_mode(self.target) if self._mode is None else self._mode
            self._fd, self._temporary = _create(self.target, 0o644 if mode is None else 0o600)
            try:
                if mode is not None:
                    os.chmod(self._temporary, mode)
                _write_all(self._fd, self._data)
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary:
            with suppress(FileNotFoundError):
                os.unlink(self._temporary)
        self._close()

    def sync(self) -> None:
        """Make the content durable."""
        with os_failures(self.path):
            os.fsync(self._fd)

    def finish(self) -> None:
        """Rename the file to its final name."""
        with os_failures(self.path):
            if _WINDOWS:  # cannot rename an open file; elsewhere closing it would release the lock
                self._close()
            _rename(self._temporary, self.target, over=True)
            self._temporary = ""

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def write_unseen(path: str, data: bytes, mode: int | None) -> None:
    """Write a file into a directory that is not in place yet, replacing one that exists; nobody reads it meanwhile."""
    with os_failures(path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEW
        given = 0o644 if mode is None else 0o600
        try:
            fd = os.open(long_path(path), flags, given)
        except FileExistsError:
            os.unlink(path)
            fd = os.open(long_path(path), flags, given)
        try:
            if mode is not None:
                os.chmod(path, mode)
            _write_all(fd, data)
            if _WINDOWS:  # cannot sync a file that is read-only later
                os.fsync(fd)
        finally:
            os.close(fd)


def write_text(path: str, text: str, *, mode: int | None = None, durable: bool = True) -> None:
    """Like `write_bytes` with the text as UTF-8; line endings are unchanged."""
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


@contextmanager
def staging(target: str, *, private: bool = False) -> Iterator[str]:
    """Create an empty directory beside `target` for its next content; removed at the end unless moved into place.

    `private`: only its owner has access.

    with staging(target) as staged:
        ...
        replace_directory(staged, target)
    """
    path = temporary_path(os.path.realpath(target))
    with os_failures(target, doing="prepare"):
        os.mkdir(long_path(path), 0o700 if private else 0o777)
    with _marked(path):
        try:
            yield path
        finally:
            if os.path.lexists(path):
                with suppress(OSError):  # the rest is a leftover, and reported as one
                    _remove(path)


def replace_directory(staged: str, target: str, *, durable: bool = True) -> str | None:
    """Move the complete directory `staged` to `target`, replacing it; on failure the old one is restored.

    Both must be on one file system. Return the path of the old directory if it could not be removed afterwards.
    """
    real = os.path.realpath(target)
    with os_failures(target, doing="replace"):
        for directory in (staged, real):
            if not os.path.isdir(directory) and (directory == staged or os.path.lexists(directory)):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
        if durable:
            _sync_together(dict.fromkeys(_below(staged), target))
        with _marked(real), _marked(staged):
            if not os.path.lexists(real):
                _rename(staged, real)
            else:
                trade(staged, real)
            if durable:
                sync_directory(os.path.dirname(real))
            try:
                if os.path.lexists(staged):
                    _remove(staged)
            except OSError:
                return staged
            return None


class Swap:
    """New content that is ready beside a file or directory, to replace it atomically, and to be reversed atomically.

        with Swap(path, had=True, has=True) as swap:
            swap.make_directory()       # or swap.write(data): what needs space is done first
            ...
            sync_spares([swap])
            swap.apply()
            sync_places([swap])
            ...
            swap.take_back()            # to reverse it

    The content that is not in place has a temporary name, `spare`, and is removed at the end of the block. Syncing is
    left to the caller, who knows everything that belongs to one change.
    """

    def __init__(self, target: str, *, had: bool, has: bool) -> None:
        """`had` and `has`: whether the target exists before and after. With neither, nothing changes."""
        self.target = os.path.realpath(target)
        self.spare = temporary_path(self.target)
        self._had, self._has = had, has
        self._applied = False
        self._marks = ExitStack()

    def __enter__(self) -> Self:
        if self._had:
            self._marks.enter_context(_marked(self.target))
        return self

    def __exit__(self, *_: object) -> None:
        with self._marks:
            if os.path.lexists(self.spare):
                with suppress(OSError):  # the rest is a leftover, and reported as one
                    _remove(self.spare)

    def make_directory(self) -> None:
        """Create the new content as an empty directory."""
        with os_failures(self.target, doing="prepare"):
            os.mkdir(long_path(self.spare))
        self._marks.enter_context(_marked(self.spare))

    def write(self, data: bytes, mode: int | None) -> None:
        """Create the new content as a file."""
        with os_failures(self.target):
            fd, self.spare = _create(self.target, 0o644 if mode is None else 0o600)
            self._marks.callback(os.close, fd)
            if mode is not None:
                os.chmod(self.spare, mode)
            _write_all(fd, data)
            if _WINDOWS:  # cannot rename an open file, or sync one that is read-only later
                os.fsync(fd)
                self._marks.close()

    def apply(self) -> None:
        """Put the new content in place. On failure the old one stays."""
        self._turn(had=self._had, has=self._has)

    def take_back(self) -> None:
        """Restore the old content, if the new one is in place."""
        if self._applied:
            self._turn(had=self._has, has=self._had)

    def _turn(self, *, had: bool, has: bool) -> None:
        with os_failures(self.target, doing="replace"):
            if had and has:
                trade(self.spare, self.target)
            elif has:
                if os.path.lexists(self.target):  # created by another process meanwhile, so it is not ours
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.target)
                _rename(self.spare, self.target)
            elif had:
                _rename(self.target, self.spare)
            self._applied = not self._applied


def sync_spares(swaps: Iterable[Swap]) -> None:
    """Make all new contents durable before they are put in place."""
    spares = {swap.spare: swap.target for swap in swaps if os.path.lexists(swap.spare)}
    if len(spares) > _MANY and not _WINDOWS:
        spares = _sync_whole(spares)
    _sync_together({path: target for spare, target in spares.items() for path in _below(spare)})


def sync_places(swaps: Iterable[Swap]) -> None:
    """Make the renames durable."""
    _sync_together({os.path.dirname(swap.target): swap.target for swap in swaps})


def trade(one: str, other: str) -> None:
    """Exchange two files or directories, atomically if the system can do that.

    If not, `other` is missing for a moment; `clean_leftovers` restores it.
    """
    if exchange(one, other):
        return
    old = _aside(other, "old")
    _rename(other, old)
    try:
        _rename(one, other)
    except BaseException:
        _rename(old, other)
        raise
    _rename(old, one)


def is_leftover(name: str) -> bool:
    """Return whether this is the temporary name of a write in progress, or of a replaced directory."""
    return name.startswith(".") and _LEFTOVER.fullmatch(name) is not None


def leftovers(directory: str) -> list[str]:
    """Return the temporary paths in `directory` itself, of killed and of living writers, sorted."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise os_failure(error, directory, doing="list", other="read-failed") from error
    paths = (os.path.join(directory, name) for name in sorted(names) if _LEFTOVER.fullmatch(name))
    return [path for path in paths if not is_link(path)]


class Cleaned(NamedTuple):
    """The result for one leftover."""

    path: str
    outcome: Literal["removed", "restored", "in-use", "failed"]
    """`restored`: it is the target again. `in-use`: a living process works on it, nothing was done."""
    detail: str
    """Path of the restored target, or reason of the failure; else empty."""


def clean_leftovers(directory: str) -> tuple[Cleaned, ...]:
    """Clean up after killed writers in `directory`; an old directory is restored if its place is empty."""
    paths = leftovers(directory)
    olds = [path for path in paths if _kind(path) == "old"]
    # Newest first: an older one of the same name had already been replaced when the newest was renamed.
    olds.sort(key=_changed, reverse=True)
    return tuple(_clean(path) for path in [*olds, *(path for path in paths if _kind(path) == "tmp")])


def temporary_path(target: str) -> str:
    """Return a new temporary name beside `target` that `leftovers` recognises."""
    return _aside(target, "tmp")


def free_name(path: str, mark: str = "broken", parts: Iterable[str] = ("",)) -> str:
    """Return the first of `PATH.broken-1`, `PATH.broken-2` and so on that is free, with each of `parts` appended."""
    names = (f"{path}.{mark}-{number}" for number in count(1))
    return next(name for name in names if not any(os.path.lexists(name + part) for part in parts))


def move_aside(path: str) -> str:
    """Rename an unusable file without overwriting another; return its new name."""
    aside = free_name(path)
    with os_failures(path, doing="move aside"):
        _rename(path, aside)
    return aside


def sync_file(path: str) -> None:
    """Make the content of a finished file durable."""
    fd = os.open(path, _FILE)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _aside(target: str, kind: Literal["tmp", "old"]) -> str:
    directory, name = os.path.split(target)
    if kind == "tmp":
        name = name.encode("utf-8", "surrogateescape")[:_LONGEST_NAME].decode("utf-8", "ignore")
    return os.path.join(directory, f".{name}.whet-{kind}-{os.urandom(8).hex()}")


def _kind(path: str) -> str:
    found = _LEFTOVER.fullmatch(os.path.basename(path))
    return found["kind"] if found else ""


def _changed(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _existing_mode(target: str) -> int | None:
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENXIO, "not a regular file", target)
    return stat.S_IMODE(status.st_mode)


def _create(target: str, mode: int) -> tuple[int, str]:
    """Create and lock a temporary file; use another name if a cleaner removed it before it was locked."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEW
    while True:
        path = long_path(temporary_path(target))
        fd = os.open(path, flags, mode)
        if _mark(fd) and is_file_at(fd, path):
            return fd, path
        os.close(fd)


def _rename(old: str, new: str, *, over: bool = False) -> None:
    """Rename a file or a directory; `over`: replace an existing file."""
    old, new = long_path(old), long_path(new)
    for pause in (*_PAUSES, None):
        try:
            (os.replace if over else os.rename)(old, new)
        except PermissionError:
            if pause is None:
                raise
            time.sleep(pause)
        else:
            return


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _mark(fd: int) -> bool:
    """Lock an open file to show that this process uses it; return false if another process has locked it."""
    try:
        return try_lock(fd)
    except OSError:  # a file system without locks
        return True


@contextmanager
def _marked(path: str) -> Iterator[bool]:
    """`_mark` a path while the block runs. A path that cannot be opened needs no mark."""
    fd = -1
    if not _WINDOWS:
        with suppress(OSError):
            fd = os.open(path, _ANY)
    try:
        yield fd < 0 or _mark(fd)
    finally:
        if fd >= 0:
            os.close(fd)


def _target(path: str) -> str:
    """Return the file that a path leads to."""
    return long_path(os.path.realpath(path) if os.path.islink(path) else os.path.abspath(path))


def _below(path: str) -> Iterator[str]:
    """Yield a path and every file and directory below it, without links."""
    if os.path.isdir(path):
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path
    yield path


def _sync_together(paths: Mapping[str, str]) -> None:
    """Sync these files and directories; errors name the values instead of the keys."""

    def sync(item: tuple[str, str]) -> None:
        path, shown = item
        with os_failures(shown):
            if os.path.isdir(path):
                sync_directory(path)
            else:
                sync_file(path)

    if _WINDOWS:  # cannot sync directories or read-only files
        return
    if len(paths) <= _MANY:
        _each(sync, [*paths.items()])
        return
    _each(sync, [*_sync_whole(paths).items()])


def _sync_whole(paths: Mapping[str, str]) -> dict[str, str]:
    """Sync each file system that has many of these paths, with all that is below them; return the other paths."""
    devices: dict[int, dict[str, str]] = {}
    for path, told in paths.items():
        with os_failures(told):
            devices.setdefault(os.stat(path).st_dev, {})[path] = told
    left: dict[str, str] = {}
    for there in devices.values():
        path, told = next(iter(there.items()))
        with os_failures(told):
            whole = len(there) > _MANY and sync_file_system(
                path if os.path.isdir(path) else os.path.dirname(_target(path))
            )
        if not whole:
            left |= there
    return left


def _sync_drafts(drafts: list[_Draft]) -> None:
    """Make the contents of files durable before they get their names."""
    directories = {os.path.dirname(draft.target) for draft in drafts}
    if len(drafts) > _MANY and len({os.stat(directory).st_dev for directory in directories}) == 1:
        with os_failures(drafts[0].path):
            if sync_file_system(directories.pop()):
                return
    _each(_Draft.sync, drafts)


def _each(do: Callable[[T], object], items: list[T]) -> None:
    """Call `do`, which waits for the disk, for each item, many at a time."""
    if len(items) > _FEW:
        from whet.store.concurrency import together

        together(do, items, _MOST_SYNCS)
        return
    for item in items:
        do(item)


def _clean(path: str) -> Cleaned:
    with _marked(path) as ours:
        if not ours:
            return Cleaned(path, "in-use", "")
        try:
            found = _LEFTOVER.fullmatch(os.path.basename(path))
            if found and found["kind"] == "old":
                target = os.path.join(os.path.dirname(path), found["name"])
                if not os.path.lexists(target):
                    _rename(path, target)
                    sync_directory(os.path.dirname(path))
                    return Cleaned(path, "restored", target)
            _remove(path)
        except FileNotFoundError:  # another process cleans here, too
            return Cleaned(path, "removed", "")
        except OSError as error:
            return Cleaned(path, "failed", error.strerror or str(error))
        return Cleaned(path, "removed", "")


def _remove(path: str) -> None:
    """Remove a file, or a directory with all its content, even if it is write-protected."""
    if not os.path.isdir(path):
        os.unlink(path)
        return
    with suppress(OSError):
        os.rmdir(path)
        return
    from shutil import rmtree

    path = long_path(path)
    try:
        rmtree(path)
    except PermissionError:
        for directory, _, files in os.walk(path):
            os.chmod(directory, stat.S_IRWXU)
            for name in files if _WINDOWS else ():
                os.chmod(os.path.join(directory, name), stat.S_IRUSR | stat.S_IWUSR)
        rmtree(path)


_HERE = -100 if sys.platform == "linux" else -2
"""AT_FDCWD: paths are used unchanged."""
_SWAP = 2
"""RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS."""


def exchange(one: str, other: str) -> bool:
    """Exchange two paths; return false, with nothing done, if the system or file system cannot do that."""
    swap = _call()
    return swap is not None and swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _SWAP) == 0


@lru_cache(maxsize=1)
def _call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    if name is None:
        return None
    import ctypes

    try:
        found = ctypes.CDLL(None, use_errno=True)[name]
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    found.restype = ctypes.c_int
    swap: Callable[[int, bytes, int, bytes, int], int] = found
    return swap
