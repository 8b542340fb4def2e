"""Read the entries of a zip so strictly that no two programs could see different ones.

A zip describes every entry twice, in the header before its data and in the directory at the end, and readers differ in
which one they use. Here both must agree, and the entries, the directory and the end must fill the file without gaps or
overlaps: data that one reader skips could be content for another. Nothing is unpacked while listing.
"""

from __future__ import annotations

import stat
import zlib
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from whet.skill.archive_formats import DamagedError, Member, TooManyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOCAL, _LOCAL_MARK = Struct("<4s5H3L2H"), b"PK\x03\x04"
_CENTRAL, _CENTRAL_MARK = Struct("<4s6H3L5H2L"), b"PK\x01\x02"
_END, _END_MARK = Struct("<4s4H2LH"), b"PK\x05\x06"
_END_64, _END_64_MARK = Struct("<4sQ2H2L4Q"), b"PK\x06\x06"
_LOCATOR, _LOCATOR_MARK = Struct("<4sLQL"), b"PK\x06\x07"
_DESCRIPTORS, _DESCRIPTOR_MARK = (Struct("<3L"), Struct("<L2Q")), b"PK\x07\x08"
_EXTRA = Struct("<2H")
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
"""Value of a field whose content is in the 64-bit fields."""

_SIZES_BEHIND = 0x8
_PATCHED = 0x20
_UTF8 = 0x800
_ENCRYPTED = 0x2041
_VERSION = 63  # the last specification
_STORED, _DEFLATED, _AES = 0, 8, 99
_EXTRA_64, _EXTRA_NAME = 0x0001, 0x7075
_EMPTY_STREAM = 2  # bytes of an empty deflate stream
_CHUNK = 64 * 1024
_KINDS = {0: "file", stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class _Entry(NamedTuple):
    """An entry as the directory describes it."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    offset: int
    extra: dict[int, bytes]


def zip_members(data: bytes, most: int) -> Iterator[Member]:
    """Yield the entries of a zip. Raise DamagedError, or TooManyError if there are more than `most`."""
    start, end, count = _directory(data)
    if count > most:
        raise TooManyError
    entries = list(_entries(data, start, end, count))
    bodies = _bodies(data, entries, start)
    for entry, body in zip(entries, bodies, strict=True):
        name, kind = _name(entry), _KINDS.get(stat.S_IFMT(entry.mode), "special")
        if entry.flags & _ENCRYPTED or entry.method == _AES:
            kind = "encrypted"
        elif name.endswith("/") and kind == "file":
            kind = "directory"
        if kind == "directory" and (entry.size or entry.packed > _EMPTY_STREAM):
            raise DamagedError("a directory has content")
        executable = bool(entry.mode & stat.S_IXUSR)
        yield Member(name, kind, executable, entry.packed, _reader(data, body, entry))


def _directory(data: bytes) -> tuple[int, int, int]:
    """Return the start and end of the directory, and its number of entries."""
    at = data.rfind(_END_MARK)
    if at < 0 or at + _END.size > len(data):
        raise DamagedError("it has no end record")
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack_from(data, at)
    if at + _END.size + comment != len(data):
        raise DamagedError("data follows its end record")
    if disk or first_disk or here != count:
        raise DamagedError("it is one part of a split archive")
    if at >= _LOCATOR.size and data.startswith(_LOCATOR_MARK, at - _LOCATOR.size):
        return _directory_64(data, at - _LOCATOR.size, (count, size, offset))
    if offset + size != at:
        raise DamagedError("its directory is not where it should be")
    return offset, at, count


def _directory_64(data: bytes, locator: int, short: tuple[int, int, int]) -> tuple[int, int, int]:
    """Like `_directory`, for a zip with 64-bit fields; `short` are the values of the others."""
    at = locator - _END_64.size
    if at < 0 or _LOCATOR.unpack_from(data, locator) != (_LOCATOR_MARK, 0, at, 1):
        raise DamagedError("its directory is not where it should be")
    mark, length, _, _, disk, first_disk, here, count, size, offset = _END_64.unpack_from(data, at)
    if mark != _END_64_MARK or length != _END_64.size - 12 or disk or first_disk or here != count:
        raise DamagedError("its end record is damaged")
    full = (_FULL_16, _FULL_32, _FULL_32)
    if any(said not in pair for said, *pair in zip(short, (count, size, offset), full, strict=True)):
        raise DamagedError("its end records disagree")
    if offset + size != at:
        raise DamagedError("its directory is not where it should be")
    return offset, at, count


def _entries(data: bytes, start: int, end: int, count: int) -> Iterator[_Entry]:
    at = start
    for _ in range(count):
        if at + _CENTRAL.size > end:
            raise DamagedError("its directory is truncated")
        fields = _CENTRAL.unpack_from(data, at)
        mark, _, needed, flags, method, _, _, crc, packed, size = fields[:10]
        named, extended, remark, disk, _, attributes, offset = fields[10:]
        at += _CENTRAL.size
        name, extra = data[at : at + named], _extra(data[at + named : at + named + extended])
        at += named + extended + remark
        if mark != _CENTRAL_MARK or disk or at > end:
            raise DamagedError("its directory is damaged")
        if needed & 0xFF > _VERSION or flags & _PATCHED:
            raise DamagedError("an entry needs a newer zip format")
        wide = extra.get(_EXTRA_64, b"")
        numbers = [int.from_bytes(wide[place : place + 8], "little") for place in range(0, len(wide) - 7, 8)]
        try:
            size, packed, offset = (numbers.pop(0) if value == _FULL_32 else value for value in (size, packed, offset))
        except IndexError as error:
            raise DamagedError("a size is missing") from error
        yield _Entry(name, flags, method, crc, packed, size, attributes >> 16, offset, extra)
    if at != end:
        raise DamagedError("its directory has more entries than it declares")


def _extra(block: bytes) -> dict[int, bytes]:
    """Return the extra fields of an entry; incomplete data at the end is ignored as padding."""
    fields: dict[int, bytes] = {}
    at = 0
    while at + _EXTRA.size <= len(block):
        kind, length = _EXTRA.unpack_from(block, at)
        at += _EXTRA.size
        fields.setdefault(kind, block[at : at + length])
        at += length
    return fields


def _name(entry: _Entry) -> str:
    """Return the entry's name; without the UTF-8 flag it may still be UTF-8, or repeated in its own field."""
    try:
        name = entry.name.decode()
    except UnicodeDecodeError as error:
        if entry.flags & _UTF8:
            raise DamagedError("a name is not UTF-8") from error
        name = entry.name.decode("cp437")
    field = entry.extra.get(_EXTRA_NAME, b"")
    if field[:5] != b"\x01" + zlib.crc32(entry.name).to_bytes(4, "little"):
        return name
    second = field[5:].decode("utf-8", "surrogateescape")
    if second != name and (entry.flags & _UTF8 or entry.name.isascii()):
        raise DamagedError("an entry has two names")
    return second


def _bodies(data: bytes, entries: list[_Entry], end: int) -> list[int]:
    """Return the start of each entry's data, after checking that they fill everything up to `end`."""
    starts = sorted(range(len(entries)), key=lambda number: entries[number].offset)
    offsets = [*(entries[number].offset for number in starts), end]
    if offsets[0]:
        raise DamagedError("data precedes its entries")
    bodies = [0] * len(entries)
    for number, (offset, following) in zip(starts, pairwise(offsets), strict=True):
        entry = entries[number]
        bodies[number] = _body(data, entry, offset, following)
        behind = bodies[number] + entry.packed
        if behind > following:
            raise DamagedError("its entries overlap")
        if data[behind:following] not in _behind(entry):
            raise DamagedError("there is data between its entries")
    return bodies


def _body(data: bytes, entry: _Entry, offset: int, end: int) -> int:
    """Return the start of an entry's data; its own header must agree with the directory."""
    if offset + _LOCAL.size > end:
        raise DamagedError("an entry is truncated")
    mark, _, flags, method, _, _, crc, packed, size, named, extended = _LOCAL.unpack_from(data, offset)
    at: int = offset + _LOCAL.size
    if mark != _LOCAL_MARK or data[at : at + named] != entry.name:
        raise DamagedError("an entry is not where the directory says")
    facts = ((crc, entry.crc), (packed, entry.packed), (size, entry.size))
    agree = all(said in (fact, _FULL_32) or (said == 0 and flags & _SIZES_BEHIND) for said, fact in facts)
    marks = _ENCRYPTED | _SIZES_BEHIND
    if not agree or method != entry.method or flags & marks != entry.flags & marks:
        raise DamagedError("an entry does not match the directory")
    at += named + extended
    return at


def _behind(entry: _Entry) -> set[bytes]:
    """Return what may follow an entry's data: nothing, or its sizes in one of four forms."""
    if not entry.flags & _SIZES_BEHIND:
        return {b""}
    plain, wide = _DESCRIPTORS
    sizes = {wide.pack(entry.crc, entry.packed, entry.size)}
    if max(entry.packed, entry.size) <= _FULL_32:
        sizes.add(plain.pack(entry.crc, entry.packed, entry.size))
    return {b"", *sizes, *(_DESCRIPTOR_MARK + spelling for spelling in sizes)}


def _reader(data: bytes, start: int, entry: _Entry) -> Callable[[int], Iterator[bytes]]:
    def pieces(size: int) -> Iterator[bytes]:
        if entry.method not in (_STORED, _DEFLATED):
            raise DamagedError(f"it uses compression method {entry.method}")
        packed = (data[at : min(at + _CHUNK, end)] for at in range(start, end, _CHUNK))
        unpacked = crc = 0
        for piece in _inflated(packed, size) if entry.method == _DEFLATED else packed:
            unpacked += len(piece)
            crc = zlib.crc32(piece, crc)
            if unpacked > entry.size:
                break
            yield piece
        if unpacked != entry.size:
            raise DamagedError("its size does not match the archive")
        if crc != entry.crc:
            raise DamagedError("its checksum is wrong")

    end = start + entry.packed
    return pieces


def _inflated(packed: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Unpack a stream in pieces of at most `size` bytes; it must end where its data does."""
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    for given in packed:
        if engine.eof:
            raise DamagedError("data follows its content")
        left, piece = given, b"."
        while (left or len(piece) == size) and not engine.eof:
            try:
                piece = engine.decompress(left, size)
            except zlib.error as error:
                raise DamagedError(str(error)) from error
            left = engine.unconsumed_tail
            yield piece
    if not engine.eof or engine.unused_data:
        raise DamagedError("its content does not end where it should")
