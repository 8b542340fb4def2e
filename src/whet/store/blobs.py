"""Contents stored under their own SHA-256: the same content is stored once, and damage is always noticed.

A blob is at `ab/cdef...` (the digest, split after two characters). Blobs are written atomically and never change, so
readers need no lock. Removal needs care: another process may have put a blob whose reference is not yet committed.
Therefore putting a blob again makes it young, only blobs that have been old for a while are removed, and the two
operations exclude each other by a lock.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256

from whet.errors import FailedError, NotFoundError, UsageError
from whet.patterns import compile_late
from whet.store.atomic import clean_leftovers, move_aside, write_files
from whet.store.directories import PRIVATE, make_directories, sync_directory
from whet.store.failures import os_failures
from whet.store.locks import FileLock, lock_path
from whet.store.regular import is_irregular, long_path, open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

CONTENTS = "contents"
"""Directory of the contents of skills, below the state directory."""
_DIGEST = compile_late(r"[0-9a-f]{64}")
_SHARD = compile_late(r"[0-9a-f]{2}")
_REST = compile_late(r"[0-9a-f]{62}")
_LOCK_SECONDS = 10.0


class Blobs:
    """The blobs in one directory, which is created at the first `put`."""

    __slots__ = ("directory",)

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def put(self, data: bytes, *, durable: bool = True) -> str:
        """Store the content and return its digest; storing it again is cheap, and repairs a damaged copy."""
        (digest,) = self.put_all((data,), durable=durable)
        return digest

    def put_all(self, contents: Iterable[bytes], *, durable: bool = True) -> list[str]:
        """Store several contents, made durable together, and return the digest of each."""
        named = [(sha256(data).hexdigest(), data) for data in contents]
        paths = {self._path(digest): (digest, data) for digest, data in named}
        there = {path: blob for path, blob in paths.items() if os.path.lexists(path)}
        if there:
            with self._lock():
                damaged = {}
                for path, (digest, data) in there.items():
                    if is_irregular(path):
                        move_aside(path)
                    if self.check(digest):
                        damaged[path] = data
                        continue
                    with os_failures(path):
                        os.utime(path)
                write_files(damaged, mode=PRIVATE)
        new = {path: data for path, (_, data) in paths.items() if path not in there}
        missing = [shard for shard in {os.path.dirname(path) for path in new} if not os.path.isdir(shard)]
        if missing:
            make_directories(self.directory, durable=durable, private=True)
            with os_failures(self.directory):
                for shard in missing:
                    with suppress(FileExistsError):  # another process has just made it
                        os.mkdir(long_path(shard), 0o700)
                if durable:
                    sync_directory(self.directory)
        write_files(new, mode=PRIVATE, durable=durable)
        return [digest for digest, _ in named]

    def get(self, digest: str) -> bytes:
        """Return the content, checked against its digest. A damaged blob is moved aside; `put` can restore it."""
        path = self._path(digest)
        data = _read(path)
        if data is None:
            raise NotFoundError(
                "blob-missing",
                f"There is no stored content {digest}.",
                hint="Run `whet doctor` to see what refers to it.",
                digest=digest,
            )
        return data if sha256(data).hexdigest() == digest else self._judged(digest)

    def check(self, digest: str) -> str:
        """Check one blob; return "" if it is intact, else `blob-missing`, `blob-corrupt` or why it cannot be read."""
        try:
            data = _read(self._path(digest))
        except FailedError as error:
            return error.code
        return "blob-missing" if data is None else "" if sha256(data).hexdigest() == digest else "blob-corrupt"

    def make_readable(self) -> None:
        """Restore the owner's read permission on every blob."""
        for digest in self.digests():
            with suppress(OSError):
                if os.stat(path := self._path(digest)).st_mode & PRIVATE != PRIVATE:
                    os.chmod(path, PRIVATE)

    def kept(self, digest: str) -> int:
        """Return when the content was last put, in nanoseconds."""
        path = self._path(digest)
        with os_failures(path, doing="read", other="read-failed"):
            return os.stat(path).st_mtime_ns

    def has(self, digest: str) -> bool:
        """Return whether a blob with that digest exists; it may be damaged."""
        return os.path.isfile(self._path(digest))

    def digests(self) -> Iterator[str]:
        """Yield the digests of all blobs, sorted."""
        for shard in self._shards():
            for name in _names(os.path.join(self.directory, shard)):
                if _REST.fullmatch(name):
                    yield shard + name

    def remove_unreferenced(self, keep: Collection[str], *, older_than_ns: int, now_ns: int) -> tuple[str, ...]:
        """Remove the blobs that are not in `keep` and were last put more than `older_than_ns` before `now_ns`.

        `keep` are the references at `now_ns` or later; `older_than_ns` must be longer than any writer takes from `put`
        to committing its reference. Return the removed digests. Leftovers of killed writers are removed, too.
        """
        kept = frozenset(keep)
        youngest = now_ns - older_than_ns
        removed = tuple(
            digest for digest in self.digests() if digest not in kept and self._remove_older(digest, youngest)
        )
        for shard in self._shards():
            clean_leftovers(os.path.join(self.directory, shard))
        return removed

    def _path(self, digest: str) -> str:
        if not _DIGEST.fullmatch(digest):
            raise UsageError(
                "bad-digest",
                f"{digest!r} is not a SHA-256 digest.",
                hint="Give 64 hexadecimal characters (0-9, a-f).",
            )
        return os.path.join(self.directory, digest[:2], digest[2:])

    def _lock(self) -> FileLock:
        return FileLock(lock_path(self.directory, "blobs", ""), timeout=_LOCK_SECONDS)

    def _shards(self) -> list[str]:
        return [name for name in _names(self.directory) if _SHARD.fullmatch(name)]

    def _remove_older(self, digest: str, youngest: int) -> bool:
        path = self._path(digest)
        with self._lock(), os_failures(path, doing="remove"):
            try:
                if os.stat(path).st_mtime_ns >= youngest:
                    return False
                os.unlink(path)
            except FileNotFoundError:
                return False
            return True

    def _judged(self, digest: str) -> bytes:
        """Read a seemingly damaged blob again under the lock; return its content, or move it aside."""
        path = self._path(digest)
        broken = path
        with self._lock():
            data = _read(path)
            if data is not None and sha256(data).hexdigest() == digest:
                return data
            if data is not None:
                broken = move_aside(path)
        raise FailedError(
            "blob-corrupt",
            f"The stored content {digest} is damaged.",
            hint=f"The damaged file is kept as {broken}. Check the disk, then run `whet doctor`.",
            digest=digest,
            path=broken,
        )


def _read(path: str) -> bytes | None:
    try:
        with os_failures(path, doing="read", other="read-failed"), open(path, "rb", opener=open_regular) as file:
            return file.read()
    except FailedError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _names(directory: str) -> list[str]:
    with os_failures(directory, doing="list", other="read-failed"):
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            return []
