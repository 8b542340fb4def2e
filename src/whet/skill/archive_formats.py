"""Entries of archives in general, and the entries of a tar.

Nothing is unpacked while listing. `tarfile` tries to get as much as possible out of an archive; here an archive is
complete or damaged, so data that a reader would skip is an error.
"""

from __future__ import annotations

import io
import stat
import sys
from typing import TYPE_CHECKING, Self

from whet.records import NamedTuple

if TYPE_CHECKING:
    import tarfile
    from collections.abc import Callable, Iterable, Iterator

_MIB = 1024 * 1024
MAX_HEADER = _MIB // 4
"""Largest header with extra information about the next entry of a tar, in bytes."""
MAX_HEADERS = 16 * _MIB
"""Largest size of all such headers of a tar; reading them is the slowest part."""


class DamagedError(Exception):
    """The archive cannot be read completely."""


class TooManyError(Exception):
    """The archive has too many entries."""


class Member(NamedTuple):
    """An entry of an archive; its content is still packed."""

    name: str
    kind: str
    """`file`, `directory`, `link`, `special` or `encrypted`."""
    executable: bool
    packed: int
    """Packed bytes of the content."""
    pieces: Callable[[int], Iterator[bytes]]
    """Unpacks the content in pieces of at most the given size. Raises DamagedError."""


def tar_members(data: bytes) -> Iterator[Member]:
    """Yield the entries of an uncompressed tar."""
    import tarfile

    try:
        # In memory, and read after this call.
        archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:", tarinfo=_careful_tarinfo())  # noqa: SIM115
        for entry in archive:
            if (entry.isdir() or entry.name.endswith("/")) and entry.size:
                raise DamagedError("a directory has content")
            executable = bool(entry.mode & stat.S_IXUSR)
            yield Member(entry.name, _tar_kind(entry), executable, entry.size, _tar_reader(archive, entry))
    except (tarfile.TarError, ValueError, EOFError, OverflowError, OSError, RecursionError) as error:
        raise DamagedError(str(error) or type(error).__name__) from error
    # The reader stops silently at a header it cannot read; only zeros may follow the last entry.
    if not data[archive.offset :] or data.count(0, archive.offset) != len(data) - archive.offset:
        raise DamagedError("it is truncated, or one of its headers is damaged")


def gather_tar(pieces: Iterable[bytes], most: int) -> bytes:
    """Join a tar from its pieces; raise TooManyError as soon as there are more than `most` entries.

    `tar_members` reports an invalid header; from there on nothing is counted.
    """
    import tarfile

    _, about_next = _header_types()
    gathered, at, entries = io.BytesIO(), 0, 0
    for piece in pieces:
        gathered.write(piece)
        with gathered.getbuffer() as data:
            while at + tarfile.BLOCKSIZE <= len(data):
                try:
                    entry = tarfile.TarInfo.frombuf(
                        bytes(data[at : at + tarfile.BLOCKSIZE]), "utf-8", "surrogateescape"
                    )
                except (tarfile.TarError, ValueError):
                    at = sys.maxsize
                    break
                has_content = entry.isreg() or entry.type in about_next or entry.type not in tarfile.SUPPORTED_TYPES
                blocks = -(-max(entry.size, 0) // tarfile.BLOCKSIZE) if has_content else 0
                at += (1 + blocks) * tarfile.BLOCKSIZE
                entries += entry.type not in about_next
                if entries > most:
                    raise TooManyError
    return gathered.getvalue()


def _header_types() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the types of headers with a long name, and of all headers about the next entry."""
    import tarfile

    long = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
    return long, (*long, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)


def _careful_tarinfo() -> type[tarfile.TarInfo]:
    """Return the class of one archive's entries, which refuses large or contradictory headers."""
    import tarfile

    long, about_next = _header_types()
    total = 0

    class Careful(tarfile.TarInfo):
        def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
            nonlocal total
            if self.type in about_next:
                total += self.size
                if not 0 <= self.size <= MAX_HEADER or total > MAX_HEADERS:
                    raise DamagedError("its headers are too large")
            if self.type in long and archive.fileobj is not None:
                here = archive.fileobj.tell()
                text = archive.fileobj.read(self.size)
                archive.fileobj.seek(here)
                if b"\0" in text.rstrip(b"\0"):
                    raise DamagedError("a name continues past its end")
            found: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]  # made to be overridden, not typed
            if found.size < 0:
                raise DamagedError("an entry has a negative size")
            return found

        @classmethod
        def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
            try:
                return super().fromtarfile(archive)
            except tarfile.InvalidHeaderError as error:  # type: ignore[attr-defined]  # not in the stubs
                # Otherwise this entry and all later ones would be left out silently.
                raise DamagedError(str(error)) from error

    return Careful


def _tar_kind(entry: tarfile.TarInfo) -> str:
    if entry.isdir():
        return "directory"
    if entry.issym() or entry.islnk():
        return "link"
    return "file" if entry.isreg() and not entry.issparse() else "special"


def _tar_reader(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Callable[[int], Iterator[bytes]]:
    import tarfile

    def pieces(size: int) -> Iterator[bytes]:
        try:
            stream = archive.extractfile(entry)
            yield from _read(stream.read, size) if stream else ()
        except (tarfile.TarError, OSError) as error:
            raise DamagedError(str(error)) from error

    return pieces


def inflate(data: bytes, size: int) -> Iterator[bytes]:
    """Unpack a gzip stream in pieces of at most `size` bytes."""
    import gzip
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            yield from _read(stream.read, size)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(str(error)) from error


def _read(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    while piece := read(size):
        yield piece
