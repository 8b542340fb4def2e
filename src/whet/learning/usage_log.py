r"""The log of usage events: a file for each day, appended to without a lock.

An event is one line, appended by one write. It is complete if its checksum matches, and has a line break at either end,
so that a torn write before or after it does not damage it:

    \nCHECKSUM\tTIME\tKIND\tSKILL\tDIGEST\tVERSION\n

The database records how far each file is counted. A file that is no longer written is deleted when all of it is
counted. There is no sync: a killed process loses nothing that was acknowledged, a power failure may cost the last
seconds.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from zlib import crc32

from whet.records import NamedTuple
from whet.store.directories import make_missing
from whet.store.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Kind: TypeAlias = Literal["view", "use", "patch", "helped", "failed", "corrected"]

KINDS = frozenset(("view", "use", "patch", "helped", "failed", "corrected"))

LARGE = 256 * 1024
"""Bytes after which the log is counted automatically."""
LONGEST = 4096
"""Longest line in bytes. A longer one is not written."""
LAST = 2**63 - 1
"""The latest time that an event can have."""
DAY = 24 * 3600 * 10**9

_ESCAPES = {ord("%"): "%25", ord("\t"): "%09", ord("\n"): "%0A"}

if sys.platform == "win32":
    import _winapi
    import msvcrt

    _READ_AND_APPEND = 0x80000000 | 0x4
    """Generic reading, and appending only: without the right to write elsewhere, a write is an append."""
    _SHARED = 0x1 | 0x2 | 0x4
    _OPEN_OR_CREATE = 4

    def _open(path: str) -> int:
        handle = _winapi.CreateFile(path, _READ_AND_APPEND, _SHARED, 0, _OPEN_OR_CREATE, 0x80, 0)
        return msvcrt.open_osfhandle(handle, os.O_NOINHERIT)

else:

    def _open(path: str) -> int:
        return open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


class Event(NamedTuple):
    """An event of a skill."""

    time: int
    """Nanoseconds since 1970 UTC."""
    kind: Kind
    skill: str
    """The qualified name."""
    digest: str
    """The digest of the skill's content at that time."""
    version: str = ""
    """The declared version of that content."""


def encode(event: Event) -> bytes:
    """Return the line of an event; its fields may contain any text."""
    if event.kind not in KINDS:
        raise ValueError(f"{event.kind!r} is not a kind of event")
    time, *texts = event
    body = "\t".join((str(time), *(text.translate(_ESCAPES) for text in texts))).encode("utf-8", "surrogatepass")
    return b"\n%08x\t%s\n" % (crc32(body), body)


def decode(line: bytes) -> Event | None:
    """Return the event of a line without its line breaks; None if the line is damaged."""
    checksum, _, body = line.partition(b"\t")
    if checksum != b"%08x" % crc32(body):
        return None
    try:
        time, kind, *texts = body.decode("utf-8", "surrogatepass").split("\t")
        skill, digest, version = (
            text.replace("%09", "\t").replace("%0A", "\n").replace("%25", "%") for text in texts[:3]
        )
        if kind not in KINDS or not 0 < int(time) <= LAST:
            return None
    except ValueError:  # too few fields, no number, no UTF-8
        return None
    return Event(int(time), kind, skill, digest, version)  # type: ignore[arg-type]  # it is among KINDS


class Log:
    """The log in one directory. What fails is an `OSError`."""

    __slots__ = ("directory",)

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def append(self, event: Event) -> bool:
        """Append an event; return whether to count now: a day begins, or the file became large, or twice as large."""
        event = event._replace(time=min(max(event.time, 1), LAST))
        line = encode(event)
        if len(line) > LONGEST:
            raise OSError(errno.EMSGSIZE, f"the event has more than {LONGEST:,} bytes")
        path = os.path.join(self.directory, _name(event.time))
        try:
            fd = _open(path)
        except FileNotFoundError:
            make_missing(self.directory)
            fd = _open(path)
        try:
            if os.write(fd, line) < len(line.rstrip(b"\n")):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            end = os.lseek(fd, 0, os.SEEK_CUR)
        finally:
            os.close(fd)
        begins = end == len(line) and len(self.sizes()) > 1
        return begins or end // LARGE != (end - len(line)) // LARGE

    def stamp(self) -> tuple[tuple[str, int], ...]:
        """Return a value that differs after an event."""
        with suppress(OSError):
            return tuple(self.sizes().items())
        return ()

    def sizes(self) -> dict[str, int]:
        """Return the files of the log, and their sizes."""
        try:
            with os.scandir(self.directory) as entries:
                found = {
                    entry.name: entry.stat().st_size
                    for entry in entries
                    if entry.name.startswith("events") and entry.is_file(follow_symlinks=False)
                }
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return dict(sorted(found.items()))

    def read(self, name: str, start: int = 0) -> tuple[list[Event], int]:
        """Return the events of a file from an offset on, and the offset after them; damaged lines are left out."""
        found: list[Event] = []
        try:
            file = open(os.path.join(self.directory, name), "rb", opener=open_regular)  # noqa: SIM115  closed below
        except FileNotFoundError:
            return [], 0  # another process has counted and removed it
        with file:
            end = file.seek(min(start, os.fstat(file.fileno()).st_size))
            while (piece := file.readline(LONGEST)) and (piece.endswith(b"\n") or len(piece) == LONGEST):
                end += len(piece)
                if event := decode(piece.removesuffix(b"\n")):
                    found.append(event)
        return found, end

    def remove_old(self, name: str, now: int) -> bool:
        """Delete a counted file, unless it may still be written; return whether it was deleted."""
        if name not in (_name(now), _name(now - DAY), _name(now + DAY)):
            with suppress(OSError):
                os.unlink(os.path.join(self.directory, name))
                return True
        return False


def _name(time: int) -> str:
    return f"events-{min(max(time, 1), LAST) // DAY:06}.log"
