r"""The log of usage events: written without a lock, emptied without losing a line.

    events.log            where events are appended
    events-RANDOM.part    a segment: a former log that is being counted

An event is one line, appended by one write. It is whole exactly when its checksum fits, and has a line break at either
end, so that what a torn write left before it, or a failing disk behind it, does not spoil it:

    \nCHECKSUM\tTIME\tKIND\tSKILL\tDIGEST\tVERSION\tSESSION\n

To count, the log is renamed to a segment. A writer that had opened it before may write after that. So whoever counts
appends an *end line* to the segment: what stands before it is counted, what stands behind it is not. A writer looks,
once it has written, whether its file is still the log. If it is, the end line is yet to come. If it is not, and the
end line stands before the event, the event is written again, to the new log. Every event is thus counted once, nobody
waits for a writer, and a segment can be deleted as soon as it is counted.

There is no sync: a killed process loses nothing that was acknowledged, a power failure may cost the last seconds.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from zlib import crc32

from whet.records import NamedTuple
from whet.store.directories import make_missing, sync_directory
from whet.store.locks import is_file_at
from whet.store.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    Kind: TypeAlias = Literal["view", "use", "patch", "helped", "failed", "corrected"]

KINDS = frozenset(("view", "use", "patch", "helped", "failed", "corrected"))

LARGE = 256 * 1024
"""Bytes after which the log is counted without anybody asking."""
LONGEST = 4096
"""Bytes of a line. One that is longer is not written."""
LAST = 2**63 - 1
"""The latest time that a count can have."""

_LOG = "events.log"
_ATTEMPTS = 100
"""How often an event is written again because the log was renamed meanwhile."""
_ESCAPES = {ord("%"): "%25", ord("\t"): "%09", ord("\n"): "%0A"}

if sys.platform == "win32":
    import _winapi
    import msvcrt

    _READ_AND_APPEND = 0x80000000 | 0x4
    """Generic reading, and writing at the end only: without the right to write elsewhere, a write is an append."""
    _SHARED = 0x1 | 0x2 | 0x4
    _OPEN_OR_CREATE = 4

    def _open(path: str) -> int:
        handle = _winapi.CreateFile(path, _READ_AND_APPEND, _SHARED, 0, _OPEN_OR_CREATE, 0x80, 0)
        return msvcrt.open_osfhandle(handle, os.O_NOINHERIT)

else:

    def _open(path: str) -> int:
        return open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)


class Event(NamedTuple):
    """Something that happened to a skill."""

    time: int
    """Nanoseconds since 1970 UTC."""
    kind: Kind
    skill: str
    """The qualified name."""
    digest: str
    """Of the skill's content at that time."""
    version: str = ""
    """What that content calls itself."""
    session: str = ""
    """The conversation it happened in. It is in the log only; counts do not tell conversations apart."""


def encode(event: Event) -> bytes:
    """The line of an event; any text may stand in its fields."""
    if event.kind not in KINDS:
        raise ValueError(f"{event.kind!r} is not a kind of event")
    time, *texts = event
    fields = [str(min(max(time, 1), LAST)), *(text.translate(_ESCAPES) for text in texts)]
    return _line("\t".join(fields).encode("utf-8", "surrogatepass"))


def decode(line: bytes) -> Event | None:
    """The event of a line, which comes without its line breaks; None when the line is damaged."""
    checksum, _, body = line.partition(b"\t")
    if checksum != b"%08x" % crc32(body):
        return None
    try:
        text = body.decode("utf-8", "surrogatepass")
        fields = text.split("\t")
        time, kind, skill, digest, version, session = map(_unescaped, fields) if "%" in text else fields
        if kind not in KINDS or not 0 < int(time) <= LAST:
            return None
    except ValueError:  # another number of fields, no number, no UTF-8
        return None
    return Event(int(time), kind, skill, digest, version, session)  # type: ignore[arg-type]  # it is among KINDS


def _line(body: bytes) -> bytes:
    return b"\n%08x\t%s\n" % (crc32(body), body)


def _unescaped(text: str) -> str:
    return text.replace("%09", "\t").replace("%0A", "\n").replace("%25", "%")


_END = _line(b"end")


class Log:
    """The log and its segments in one directory. What fails is an `OSError`."""

    __slots__ = ("directory", "path")

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.path = os.path.join(directory, _LOG)

    def append(self, event: Event) -> bool:
        """Add an event; whether it is the one with which the log became large, or twice as large, and so on."""
        line = encode(event)
        if len(line) > LONGEST:
            raise OSError(errno.EMSGSIZE, f"the event has more than {LONGEST:,} bytes")
        for _ in range(_ATTEMPTS):
            fd = self._opened()
            try:
                _write(fd, line)
                end = os.lseek(fd, 0, os.SEEK_CUR)
                if is_file_at(fd, self.path) or _counts(fd, end):
                    return end // LARGE != (end - len(line)) // LARGE
            finally:
                os.close(fd)
        raise OSError(errno.EBUSY, "the log was renamed again and again")

    def stamp(self) -> tuple[int, int]:
        """What differs after an event."""
        with suppress(OSError):
            found = os.stat(self.path)
            return found.st_mtime_ns, found.st_size
        return 0, 0

    def _opened(self) -> int:
        try:
            return _open(self.path)
        except FileNotFoundError:
            make_missing(self.directory)
            return _open(self.path)

    # The rest is for whoever counts. All but `names` and `read` is for one process at a time.

    def names(self) -> list[str]:
        """The segments, and the log as the last one if there is one."""
        try:
            with os.scandir(self.directory) as entries:
                found = [entry.name for entry in entries if _is_ours(entry)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(found, key=lambda name: (name == _LOG, name))

    def read(self, name: str) -> Iterator[Event | None]:
        """The events of the log or a segment, up to the end line; None for every damaged line."""
        with open(os.path.join(self.directory, name), "rb", opener=open_regular) as file:
            while piece := file.readline(LONGEST):
                line = piece.removesuffix(b"\n")
                if line == _END.strip():
                    return
                if line:
                    yield decode(line)

    def seal(self, name: str) -> str:
        """Make a segment of the log, if `name` is its name, and end the segment; returns the segment's name."""
        if name == _LOG:
            name = f"events-{os.urandom(8).hex()}.part"
            os.rename(self.path, os.path.join(self.directory, name))
            sync_directory(self.directory)  # or after a power failure it is the log again, and counted again
        fd = _open(os.path.join(self.directory, name))
        try:
            if _end(fd) is None:
                _write(fd, _END)
        finally:
            os.close(fd)
        return name

    def remove(self, name: str) -> None:
        """Delete a segment that is counted."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, name))


def _is_ours(entry: os.DirEntry[str]) -> bool:
    named = entry.name == _LOG or (entry.name.startswith("events-") and entry.name.endswith(".part"))
    return named and entry.is_file(follow_symlinks=False)


def _write(fd: int, line: bytes) -> None:
    if os.write(fd, line) < len(line.rstrip(b"\n")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _counts(fd: int, offset: int) -> bool:
    """Whether what was written to a former log, up to the offset, is counted or will be."""
    linked = os.fstat(fd).st_nlink > 0  # asked before the end is looked for: both may come in between
    end = _end(fd)
    if end is None:
        return linked  # without an end line, whoever deleted it did not count it
    return offset <= end


def _end(fd: int) -> int | None:
    """Where the end line of an open file begins."""
    os.lseek(fd, 0, os.SEEK_SET)
    data = bytearray()
    while piece := os.read(fd, 1 << 20):
        data += piece
    at = data.find(_END.rstrip())
    return None if at < 0 else at
