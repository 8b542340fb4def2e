"""The entries of a zip or tar, as the standard library reads them, with what it lets pass refused.

Nothing is unpacked while listing. `zipfile` and `tarfile` are made to get as much as possible out of an archive; here
an archive is whole or it is damaged, so data that a reader would pass over is an error.
"""

from __future__ import annotations

import io
import stat
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import tarfile
    import zipfile
    from collections.abc import Callable, Iterator

_LOCAL_HEADER = 30
_ZIP_UTF8 = 0x800
_ZIP_ENCRYPTED = 0x2041
_AES = 99
_ZIP_END, _ZIP_END_SIZE = b"PK\x05\x06", 22
_ZIP_KINDS = {0: "file", stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class DamagedError(Exception):
    """The archive cannot be read as a whole."""


class Member(NamedTuple):
    """One entry as the archive lists it; its content is still packed."""

    name: str
    kind: str
    """`file`, `directory`, `link`, `special` or `encrypted`."""
    executable: bool
    packed: int
    """Bytes of the archive that hold the content."""
    pieces: Callable[[int], Iterator[bytes]]
    """Unpacks the content in pieces of at most so many bytes. Raises DamagedError."""


def zip_members(data: bytes) -> Iterator[Member]:
    """The entries of a zip."""
    import zipfile

    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error) as error:
        raise DamagedError(str(error)) from error
    if data.rfind(_ZIP_END) + _ZIP_END_SIZE + len(archive.comment) != len(data):
        raise DamagedError("data follows its end")
    entries = archive.infolist()
    for before, after in pairwise(sorted(entries, key=lambda entry: entry.header_offset)):
        if before.header_offset + _LOCAL_HEADER + before.compress_size > after.header_offset:
            raise DamagedError("its entries overlap")
    for entry in entries:
        kind = _ZIP_KINDS.get(stat.S_IFMT(entry.external_attr >> 16), "special")
        if entry.flag_bits & _ZIP_ENCRYPTED or entry.compress_type == _AES:
            kind = "encrypted"
        elif entry.orig_filename.endswith("/") and kind == "file":
            kind = "directory"
        if kind == "directory" and entry.file_size:
            raise DamagedError("a directory has content")
        executable = bool(entry.external_attr >> 16 & stat.S_IXUSR)
        yield Member(_zip_name(entry), kind, executable, entry.compress_size, _zip_reader(archive, entry))


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """The entry's name; one without the UTF-8 mark may be UTF-8 all the same."""
    name = entry.orig_filename
    if entry.flag_bits & _ZIP_UTF8 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        return name


def _zip_reader(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[int], Iterator[bytes]]:
    import zipfile
    import zlib

    def pieces(size: int) -> Iterator[bytes]:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedError(f"it is compressed by method {entry.compress_type}")
        try:
            with archive.open(entry) as stream:
                unpacked = 0
                for piece in _read(stream.read, size):
                    unpacked += len(piece)
                    yield piece
            if unpacked != entry.file_size:
                raise DamagedError("its size is not what the archive says")
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
            raise DamagedError(str(error) or type(error).__name__) from error

    return pieces


def tar_members(data: bytes) -> Iterator[Member]:
    """The entries of a tar that is not compressed."""
    import tarfile

    try:
        archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")  # noqa: SIM115  in memory, and read after this call
        for entry in archive:
            if entry.size < 0:
                raise DamagedError("an entry has a negative size")
            executable = bool(entry.mode & stat.S_IXUSR)
            yield Member(entry.name, _tar_kind(entry), executable, entry.size, _tar_reader(archive, entry))
    except (tarfile.TarError, ValueError, EOFError, OverflowError, OSError) as error:
        raise DamagedError(str(error) or type(error).__name__) from error
    # The reader stops without a word at a header it cannot read; after the last entry only zeros may follow.
    if not data[archive.offset :] or data.count(0, archive.offset) != len(data) - archive.offset:
        raise DamagedError("it is cut off, or one of its headers is damaged")


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
