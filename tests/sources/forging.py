"""Archives written byte by byte, so that every field of a header can be made to lie, and the codes of refusals."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    Kinds = dict[str, tuple[Callable[[], bytes], frozenset[str]]]

UNREADABLE = frozenset({"archive-not-readable"})
UNSAFE = frozenset({"archive-unsafe-path"})
COLLISION = frozenset({"archive-collision"})
ENCRYPTED = frozenset({"archive-encrypted"})
LINK = frozenset({"archive-link"})
SPECIAL = frozenset({"archive-special-file"})
RATIO = frozenset({"archive-ratio"})
MANY = frozenset({"archive-too-many-files"})

SKILL = b"---\nname: a\ndescription: Helps with things.\n---\nBody.\n"
FULL = 0xFFFFFFFF


class Raw(NamedTuple):
    """A zip entry whose two headers can be made to lie; what is not given is true."""

    name: str
    data: bytes = b""
    name_bytes: bytes | None = None
    local_name: bytes | None = None
    packed: bytes | None = None
    packed_size: int | None = None
    flags: int = 0
    local_flags: int | None = None
    method: int = 0
    local_method: int | None = None
    size: int | None = None
    local_size: int | None = None
    crc: int | None = None
    mode: int = 0
    offset: int | None = None
    extra: bytes = b""
    behind: bytes = b""
    """What follows the data."""


class Parts(NamedTuple):
    """A zip in its parts."""

    body: bytes
    directory: bytes
    total: int


def zip_parts(entries: list[Raw], start: int = 0) -> Parts:
    """The entries and the directory of a zip whose first byte lies at `start`."""
    body = bytearray()
    directory = bytearray()
    for entry in entries:
        name = entry.name.encode() if entry.name_bytes is None else entry.name_bytes
        local_name = name if entry.local_name is None else entry.local_name
        packed = entry.data if entry.packed is None else entry.packed
        packed_size = len(packed) if entry.packed_size is None else entry.packed_size
        size = len(entry.data) if entry.size is None else entry.size
        local_size = size if entry.local_size is None else entry.local_size
        crc = zlib.crc32(entry.data) if entry.crc is None else entry.crc
        offset = start + len(body) if entry.offset is None else entry.offset
        local_flags = entry.flags if entry.local_flags is None else entry.local_flags
        local_method = entry.method if entry.local_method is None else entry.local_method
        directory += struct.pack("<4s6H", b"PK\x01\x02", 0x0314, 20, entry.flags, entry.method, 0, 33)
        directory += struct.pack("<3L", crc, packed_size, size)
        directory += struct.pack("<5H2L", len(name), len(entry.extra), 0, 0, 0, entry.mode << 16, offset)
        directory += name + entry.extra
        body += struct.pack("<4s5H", b"PK\x03\x04", 20, local_flags, local_method, 0, 33)
        body += struct.pack("<3L2H", crc, packed_size, local_size, len(local_name), 0)
        body += local_name + packed + entry.behind
    return Parts(bytes(body), bytes(directory), len(entries))


def zip_end(
    count: int, size: int, offset: int, *, comment: bytes = b"", disk: int = 0, claim: int | None = None
) -> bytes:
    """The end of a zip; `claim` is a length of the comment that is not true."""
    length = len(comment) if claim is None else claim
    return struct.pack("<4s4H2LH", b"PK\x05\x06", disk, disk, count, count, size, offset, length) + comment


def zip64_end(count: int, size: int, offset: int, at: int) -> bytes:
    """The end of a zip with fields of 64 bits that lies at `at`, with its locator."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset)
    return record + struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)


def raw_zip(
    entries: list[Raw], *, count: int | None = None, comment: bytes = b"", tail: bytes = b"", shift: int = 0
) -> bytes:
    """A zip of these entries; `shift` is how far its directory is from where it says."""
    body, directory, total = zip_parts(entries)
    end = zip_end(total if count is None else count, len(directory), len(body) + shift, comment=comment)
    return body + directory + end + tail


def deflated(data: bytes) -> bytes:
    """A raw deflate stream."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


def unicode_name(name: bytes, other: str) -> bytes:
    """The extra field that gives an entry a second name."""
    field = b"\x01" + zlib.crc32(name).to_bytes(4, "little") + other.encode()
    return struct.pack("<2H", 0x7075, len(field)) + field


def tar_block(
    name: bytes, *, size: bytes | int = 0, kind: bytes = b"0", mode: bytes = b"0000644\0", link: bytes = b""
) -> bytes:
    """The header of a tar entry."""
    header = bytearray(512)
    header[: len(name)] = name
    header[100:108] = mode
    header[124:136] = b"%011o\0" % size if isinstance(size, int) else size
    header[148:156] = b" " * 8
    header[156:157] = kind
    header[157 : 157 + len(link)] = link
    header[257:265] = b"ustar\x0000"
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def tar_file(name: bytes, data: bytes, *, kind: bytes = b"0", mode: bytes = b"0000644\0") -> bytes:
    """A tar entry with its data."""
    return tar_block(name, size=len(data), kind=kind, mode=mode) + data + bytes(-len(data) % 512)


def pax(*records: tuple[str, str], kind: bytes = b"x") -> bytes:
    """A header that says more about the next entry, or with `g` about all that follow."""
    text = b""
    for key, value in records:
        record = f" {key}={value}\n".encode()
        length = len(record) + 1
        while len(str(length)) + len(record) != length:
            length += 1
        text += str(length).encode() + record
    return tar_file(b"PaxHeaders/x", text, kind=kind)


def named(name: str, data: bytes = b"x") -> bytes:
    """A tar entry with any name at all."""
    return pax(("path", name)) + tar_file(b"short", data)


def raw_tar(*blocks: bytes) -> bytes:
    """A tar of these entries and headers."""
    return b"".join(blocks) + bytes(1024)


def gzipped(data: bytes) -> bytes:
    """One gzip member."""
    return gzip.compress(data, mtime=0)


def noise(size: int) -> bytes:
    """Bytes that do not compress."""
    return random.Random(size).randbytes(size)


MAIN = Raw("a/SKILL.md", SKILL)
TAR_MAIN = tar_file(b"a/SKILL.md", SKILL)


def zipped(*entries: Raw) -> bytes:
    """A good skill and these entries."""
    return raw_zip([MAIN, *entries])


def tarred(*blocks: bytes) -> bytes:
    """A good skill and these blocks."""
    return raw_tar(TAR_MAIN, *blocks)
