"""Files and directories that change in one step: whoever looks, and whenever the power fails, it is all old or all new.

A file is written beside its target under a temporary name, synced, and renamed over it. Of several, all are written,
then synced together: the disk is waited for once, and not for each. A directory cannot be renamed over another
one: the two trade places where the system can do that, else the old one steps aside first. Where a change
may have to be taken back, what it replaces stays beside it until that is decided (`Swap`).

    .NAME.whet-tmp-RANDOM     not yet in place, or no longer: rubbish once its process is dead
    .NAME.whet-old-RANDOM     the complete old directory, between stepping aside and the new one being in place

A killed process leaves at most these behind, and `clean_leftovers` removes the first and puts the second back when
nothing stands in its place. What a living process works on carries a kernel lock, so cleaning never disturbs it; where
the file system has no such locks, the caller's own lock (`whet.store.locks`) has to see to that. Two writers of one
target must agree by such a lock in any case.
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
"""Seconds. Windows renames nothing that a process has open, if only a virus scanner, so it is asked again."""
_LONGEST_NAME = 200
"""Bytes of the target's name kept in a temporary name, so that the whole stays below the usual 255."""
_MOST_OPEN = 128
"""Files that are open while several are written: some systems let a process have no more than 256."""
_MOST_SYNCS = 16
"""Syncs that are under way together: the file system answers them with one write of its own journal."""
_MANY = 32
"""More than so many are synced with everything else on their file system, where the system can do that."""
_FEW = 8
"""So many syncs take no longer one by one than it takes to start threads for them."""


def write_bytes(path: str, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Make `data` the whole content of the file at `path`, in one step; a linked file stays linked.

    The permissions become `mode`; without it those of the existing file stay, and a new file gets 0o644 less the umask.
    `durable=False` leaves out the syncs: a killed process still leaves no half file, but a power failure may.
    """
    write_files({path: data}, mode=mode, durable=durable)


def write_files(files: Mapping[str, bytes], *, mode: int | None = None, durable: bool = True) -> None:
    """`write_bytes` of several, in their order; none gets its name before its content is durable."""
    items = [*files.items()]
    directories: dict[str, str] = {}
    for start in range(0, len(items), _MOST_OPEN):
        with ExitStack() as begun:
            drafts = [begun.enter_context(_Draft(*item, mode)) for item in items[start : start + _MOST_OPEN]]
            if durable:
                _sync_drafts(drafts)
            for draft in drafts:
                draft.finish()
                directories[os.path.dirname(draft.target)] = draft.path
    if durable:
        _sync_together(directories)


class _Draft:
    """A file that is written and does not have its name yet; without it at the end of the block, it goes."""

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
        """Give the file its name."""
        with os_failures(self.path):
            if _WINDOWS:  # renames no open file; elsewhere it stays open because closing gives up the lock
                self._close()
            _rename(self._temporary, self.target, over=True)
            self._temporary = ""

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def write_unseen(path: str, data: bytes, mode: int | None) -> None:
    """Write a file into a directory that is not in place yet, instead of one that is there: nobody sees it half."""
    with os_failures(path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEW
        with suppress(FileNotFoundError):
            os.unlink(path)
        fd = os.open(long_path(path), flags, 0o644 if mode is None else 0o600)
        try:
            if mode is not None:
                os.chmod(path, mode)
            _write_all(fd, data)
            if _WINDOWS:  # syncs none that is read-only later
                os.fsync(fd)
        finally:
            os.close(fd)


def write_text(path: str, text: str, *, mode: int | None = None, durable: bool = True) -> None:
    """`write_bytes` of the text as UTF-8, line endings as they are."""
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


@contextmanager
def staging(target: str, *, private: bool = False) -> Iterator[str]:
    """An empty directory beside `target` to build its next content in; gone at the end unless moved into place.

    `private`: for its owner alone.

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
                with suppress(OSError):  # what stays is a leftover, and reported as one
                    _remove(path)


def replace_directory(staged: str, target: str, *, durable: bool = True) -> str | None:
    """Put the complete directory `staged` where `target` is or will be; on failure the old one is back in place.

    Both must be on one file system. Returns the path of the old directory if it could not be removed afterwards.
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
    """A content that is ready beside a file or directory, to take its place in one step, and to give it back in one.

        with Swap(path, had=True, has=True) as swap:
            swap.make_directory()       # or swap.write(data): what needs room is done first
            ...
            sync_spares([swap])
            swap.apply()
            sync_places([swap])
            ...
            swap.take_back()            # where it shall not be

    The content that is not in place lies under a temporary name, `spare`, and is removed at the end of the block.
    Syncing is left to the caller, who has all that belongs to one change.
    """

    def __init__(self, target: str, *, had: bool, has: bool) -> None:
        """`had` and `has`: whether something is there before and after. With neither, everything stays as it is."""
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
                with suppress(OSError):  # what stays is a leftover, and reported as one
                    _remove(self.spare)

    def make_directory(self) -> None:
        """Begin the new content as an empty directory."""
        with os_failures(self.target, doing="prepare"):
            os.mkdir(long_path(self.spare))
        self._marks.enter_context(_marked(self.spare))

    def write(self, data: bytes, mode: int | None) -> None:
        """Make the new content a file."""
        with os_failures(self.target):
            fd, self.spare = _create(self.target, 0o644 if mode is None else 0o600)
            self._marks.callback(os.close, fd)
            if mode is not None:
                os.chmod(self.spare, mode)
            _write_all(fd, data)
            if _WINDOWS:  # renames no open file, and syncs none that is read-only later
                os.fsync(fd)
                self._marks.close()

    def apply(self) -> None:
        """Put the new content in place. On failure the old one is."""
        self._turn(had=self._had, has=self._has)

    def take_back(self) -> None:
        """Put the old content in place again, if the new one is."""
        if self._applied:
            self._turn(had=self._has, has=self._had)

    def _turn(self, *, had: bool, has: bool) -> None:
        with os_failures(self.target, doing="replace"):
            if had and has:
                trade(self.spare, self.target)
            elif has:
                if os.path.lexists(self.target):  # somebody was faster, and it is theirs
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.target)
                _rename(self.spare, self.target)
            elif had:
                _rename(self.target, self.spare)
            self._applied = not self._applied


def sync_spares(swaps: Iterable[Swap]) -> None:
    """Make everything durable that is ready to take its place."""
    _sync_together({path: swap.target for swap in swaps if os.path.lexists(swap.spare) for path in _below(swap.spare)})


def sync_places(swaps: Iterable[Swap]) -> None:
    """Make it durable that contents have taken their places, or given them back."""
    _sync_together({os.path.dirname(swap.target): swap.target for swap in swaps})


def trade(one: str, other: str) -> None:
    """Put each of two files or directories in the place of the other, in one step where the system can do that.

    Where it cannot, there is nothing at `other` for a moment; `clean_leftovers` puts back what was there.
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
    """Is this the name of something that a write has not put in place yet, or has moved out of the way?"""
    return name.startswith(".") and _LEFTOVER.fullmatch(name) is not None


def leftovers(directory: str) -> list[str]:
    """What killed writers left in `directory` itself, and what living ones work on there: paths, sorted."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise os_failure(error, directory, doing="list", other="read-failed") from error
    paths = (os.path.join(directory, name) for name in sorted(names) if _LEFTOVER.fullmatch(name))
    return [path for path in paths if not is_link(path)]


class Cleaned(NamedTuple):
    """What became of one leftover."""

    path: str
    outcome: Literal["removed", "restored", "in-use", "failed"]
    """`restored`: it is the target again. `in-use`: a living process works on it, nothing was done."""
    detail: str
    """Where it was restored to, or why it failed; else empty."""


def clean_leftovers(directory: str) -> tuple[Cleaned, ...]:
    """Undo or complete what killed writers left in `directory`; an old directory goes back if its place is empty."""
    paths = leftovers(directory)
    olds = [path for path in paths if _kind(path) == "old"]
    # The newest first: an older one of the same name was already replaced when the newest stepped aside.
    olds.sort(key=_changed, reverse=True)
    return tuple(_clean(path) for path in [*olds, *(path for path in paths if _kind(path) == "tmp")])


def temporary_path(target: str) -> str:
    """A new temporary name beside `target` that `leftovers` recognises."""
    return _aside(target, "tmp")


def free_name(path: str, mark: str = "broken", parts: Iterable[str] = ("",)) -> str:
    """The first of `PATH.broken-1`, `PATH.broken-2` and so on that is free, with each of `parts` behind it."""
    names = (f"{path}.{mark}-{number}" for number in count(1))
    return next(name for name in names if not any(os.path.lexists(name + part) for part in parts))


def move_aside(path: str) -> str:
    """Rename what cannot be used, overwriting nothing; its new name."""
    aside = free_name(path)
    with os_failures(path, doing="move aside"):
        _rename(path, aside)
    return aside


def sync_file(path: str) -> None:
    """Make the content of a finished file survive a power failure."""
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
    """A new temporary file, open and marked as ours; another name if a cleaner took it before the mark was on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEW
    while True:
        path = long_path(temporary_path(target))
        fd = os.open(path, flags, mode)
        if _mark(fd) and is_file_at(fd, path):
            return fd, path
        os.close(fd)


def _rename(old: str, new: str, *, over: bool = False) -> None:
    """Rename a file or a directory; `over`: in the place of a file."""
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
    """Show other processes that this one is alive and uses the open file; false if another one shows the same."""
    try:
        return try_lock(fd)
    except OSError:  # a file system without locks
        return True


@contextmanager
def _marked(path: str) -> Iterator[bool]:
    """`_mark` for a path, as long as the block runs. Where it cannot be opened there is nothing to mark."""
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
    """The file that a path leads to."""
    return long_path(os.path.realpath(path) if os.path.islink(path) else os.path.abspath(path))


def _below(path: str) -> Iterator[str]:
    """Every file and directory below and including a path; links are left out."""
    if os.path.isdir(path):
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path
    yield path


def _sync_together(paths: Mapping[str, str]) -> None:
    """Sync these files and directories; each with what an error names instead of it."""

    def sync(item: tuple[str, str]) -> None:
        path, told = item
        with os_failures(told):
            if os.path.isdir(path):
                sync_directory(path)
            else:
                sync_file(path)

    if _WINDOWS:  # has no sync for directories, and none for files that are read-only
        return
    if len(paths) <= _MANY:
        _each(sync, [*paths.items()])
        return
    devices: dict[int, dict[str, str]] = {}
    for path, told in paths.items():
        with os_failures(told):
            devices.setdefault(os.stat(path).st_dev, {})[path] = told
    for there in devices.values():
        path, told = next(iter(there.items()))
        with os_failures(told):
            whole = len(there) > _MANY and sync_file_system(
                path if os.path.isdir(path) else os.path.dirname(_target(path))
            )
        if not whole:
            _each(sync, [*there.items()])


def _sync_drafts(drafts: list[_Draft]) -> None:
    """Make the contents of files durable that do not have their names yet."""
    directories = {os.path.dirname(draft.target) for draft in drafts}
    if len(drafts) > _MANY and len({os.stat(directory).st_dev for directory in directories}) == 1:
        with os_failures(drafts[0].path):
            if sync_file_system(directories.pop()):
                return
    _each(_Draft.sync, drafts)


def _each(do: Callable[[T], object], items: list[T]) -> None:
    """Do something that waits for the disk for each of several, many at a time."""
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
        except FileNotFoundError:  # another process cleans here too
            return Cleaned(path, "removed", "")
        except OSError as error:
            return Cleaned(path, "failed", error.strerror or str(error))
        return Cleaned(path, "removed", "")


def _remove(path: str) -> None:
    """Remove a file, or a directory with all it holds, also what is write-protected in it."""
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
"""AT_FDCWD: paths are taken as they are."""
_SWAP = 2
"""RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS."""


def exchange(one: str, other: str) -> bool:
    """Put each in the place of the other; false, and nothing done, where system or file system cannot do that."""
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
