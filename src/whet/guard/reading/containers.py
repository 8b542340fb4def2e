"""The content of files that are not text: members of archives, data after a picture, text in its metadata.

Archives are opened in memory, member by member, and bytes are counted: no header is trusted, nothing is written to disk.
Unlike the reader of `.skill` packages, this one continues after an error, because the readable part of a suspicious
archive is worth reading; the error itself is reported.
"""

from __future__ import annotations

import io
import re
import stat
import struct
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.finding import Hit
from whet.guard.reading import encodings
from whet.skill.tree import escapes

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator

_MIB = 1024 * 1024
_CHUNK = 256 * 1024
_ZIP_ENTRY, _MOST_LISTED = b"PK\x01\x02", 20_000
_RATIO, _RATIO_FROM = 200, 4 * _MIB


class Budget:
    """The entries and bytes of one package that may still be unpacked."""

    __slots__ = ("bytes", "entries")

    def __init__(self, entries: int = 2_000, total: int = 64 * _MIB) -> None:
        self.entries = entries
        self.bytes = total


class Part(NamedTuple):
    """One member of a container, or a text found in it."""

    name: str
    data: bytes
    executable: bool = False


class Inside(NamedTuple):
    """The content of a container, and the problems found in it."""

    parts: tuple[Part, ...]
    hits: tuple[Hit, ...] = ()


class _BombError(Exception):
    """The archive unpacks to far more than its size; the message gives the ratio."""


class _SpentError(Exception):
    """The archive holds more than is read of a package; the message names the limit."""


class _Meter:
    """Compares the unpacked size with the packed size and the budget."""

    __slots__ = ("_budget", "_made", "_packed")

    def __init__(self, budget: Budget, packed: int) -> None:
        self._budget, self._packed, self._made = budget, max(packed, 1), 0

    def add(self, size: int) -> None:
        self._made += size
        self._budget.bytes -= size
        if self._made > _RATIO_FROM and self._made > _RATIO * self._packed:
            raise _BombError(f"it unpacks to more than {_RATIO} times its size")
        if self._budget.bytes < 0:
            raise _SpentError("it unpacks to more than is read of a package")

    def entry(self) -> None:
        self._budget.entries -= 1
        if self._budget.entries < 0:
            raise _SpentError("it has more entries than are read of a package")


def unpack(data: bytes, what: str, name: str, budget: Budget) -> Inside:
    """Return the members of an archive. `what` is its kind; `name` is its path, from which a single member gets its name."""
    parts: list[Part] = []
    hits: list[Hit] = []
    meter = _Meter(budget, len(data))
    try:
        if what == "zip":
            _zip(data, parts, hits, meter)
        elif what == "tar":
            _tar(data, parts, hits, meter)
        else:
            inner = _inflate(data, what, meter)
            parts.append(Part(_inner_name(name, what), inner))
    except _BombError as error:
        hits.append(Hit("archive-bomb", 1, f"{error}"))
    except _SpentError as error:
        hits.append(Hit("too-large", 1, f"{error}"))
    except _damage() as error:
        hits.append(Hit("unreadable-archive", 1, f"{what}: {str(error) or type(error).__name__}"))
    return Inside(tuple(parts), tuple(hits))


def _damage() -> tuple[type[Exception], ...]:
    """Return the exceptions that the standard library raises for damaged archives."""
    import lzma
    import tarfile
    import zipfile
    import zlib

    damaged = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error)
    return (*damaged, OSError, EOFError, ValueError, RuntimeError, OverflowError)


def _inner_name(name: str, what: str) -> str:
    base = name.rsplit("/", 1)[-1]
    stem, dot, extension = base.rpartition(".")
    if extension.lower() in ("tgz", "tbz", "tbz2", "txz"):
        return f"{stem}.tar"
    return stem if dot and stem else f"{base}.{what}"


def _path_hits(name: str, hits: list[Hit]) -> None:
    plain = name.replace("\\", "/")
    if ".." in plain.split("/"):
        hits.append(Hit("archive-path", 1, name[:160]))
    elif plain.startswith("/") or re.match(r"[A-Za-z]:/", plain):
        hits.append(Hit("archive-path", 1, name[:160], "warn"))


def _zip(data: bytes, parts: list[Part], hits: list[Hit], meter: _Meter) -> None:
    import zipfile

    if data.count(_ZIP_ENTRY) > _MOST_LISTED:  # opening the archive would list all of them
        raise _SpentError("it has more entries than are read of a package")
    archive = zipfile.ZipFile(io.BytesIO(data))
    locked = []
    for entry in archive.infolist():
        meter.entry()
        name = entry.orig_filename
        _path_hits(name, hits)
        if entry.flag_bits & 0x2041 or entry.compress_type == 99:
            locked.append(name)
        elif not name.endswith("/"):
            mode = entry.external_attr >> 16
            content = _zip_content(archive, entry, hits, meter)
            if stat.S_ISLNK(mode):
                _link(name, content.decode("utf-8", "replace"), hits)
            elif content:
                parts.append(Part(name, content, bool(mode & stat.S_IXUSR)))
    if locked:
        hits.append(Hit("locked-archive", 1, f"{len(locked)} locked: {', '.join(locked[:5])}"))


def _zip_content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, hits: list[Hit], meter: _Meter) -> bytes:
    pieces = []
    try:
        with archive.open(entry) as stream:
            while piece := stream.read(_CHUNK):
                meter.add(len(piece))
                pieces.append(piece)
    except _damage() as error:
        hits.append(Hit("unreadable-archive", 1, f"{entry.orig_filename}: {str(error) or type(error).__name__}"))
    return b"".join(pieces)


def _link(name: str, target: str, hits: list[Hit]) -> None:
    if escapes(name, target):
        hits.append(Hit("link-escapes", 1, f"{name} -> {target[:160]}"))


def _tar(data: bytes, parts: list[Part], hits: list[Hit], meter: _Meter) -> None:
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for entry in archive:
            meter.entry()
            _path_hits(entry.name, hits)
            if entry.issym():
                _link(entry.name, entry.linkname, hits)
            elif entry.islnk():
                _path_hits(entry.linkname, hits)
            elif entry.isreg() and not entry.issparse():
                meter.add(entry.size)
                stream = archive.extractfile(entry)
                parts.append(Part(entry.name, stream.read() if stream else b"", bool(entry.mode & stat.S_IXUSR)))
            elif not entry.isdir():
                hits.append(Hit("not-analysed", 1, f"{entry.name}: neither a file, a link nor a directory"))


def _inflate(data: bytes, what: str, meter: _Meter) -> bytes:
    """Decompress one stream, or several in sequence."""
    import bz2
    import lzma
    import zlib

    pieces = []
    while data:
        if what == "gzip":
            gunzip = zlib.decompressobj(31)
            piece = gunzip.decompress(data, _CHUNK)
            while piece:
                meter.add(len(piece))
                pieces.append(piece)
                piece = gunzip.decompress(gunzip.unconsumed_tail, _CHUNK)
            done, rest = gunzip.eof, gunzip.unused_data
        else:
            stream = bz2.BZ2Decompressor() if what == "bzip2" else lzma.LZMADecompressor(memlimit=128 * _MIB)
            piece = stream.decompress(data, _CHUNK)
            while piece or not (stream.eof or stream.needs_input):
                meter.add(len(piece))
                pieces.append(piece)
                piece = stream.decompress(b"", _CHUNK) if not stream.eof else b""
            done, rest = stream.eof, stream.unused_data
        if not done:
            raise EOFError("it is cut off")
        data = rest.lstrip(b"\0")
        if data and data[:2] != {"gzip": b"\x1f\x8b", "bzip2": b"BZ", "xz": b"\xfd7"}.get(what):
            break
    return b"".join(pieces)


def zip_at_end(data: bytes) -> int:
    """Return the offset of a zip archive at the end of other data; -1 if there is none."""
    end = data.rfind(b"PK\x05\x06", max(0, len(data) - 66_000))
    if end <= 0 or len(data) < end + 22:
        return -1
    size, offset = struct.unpack("<II", data[end + 12 : end + 20])
    start = end - size - offset
    return start if start > 0 and data[start : start + 2] == b"PK" else -1


def rest_of_image(data: bytes, what: str) -> bytes:
    """Return the data after the end of a picture, without the whitespace and zeros that some programs leave."""
    end = {"png": _png_end, "jpeg": _jpeg_end, "gif": _gif_end, "riff": _riff_end, "pdf": _pdf_end}[what](data)
    return data[end:].strip(b"\0\r\n\t ") if 0 < end < len(data) else b""


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the type of each chunk, and the start and end of its content."""
    at = 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], at + 8, at + 8 + length
        at += 12 + length


def _png_end(data: bytes) -> int:
    return next((end + 4 for kind, _, end in _png_chunks(data) if kind == b"IEND"), -1)


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the marker, start and end of each segment up to the image data."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        yield marker, at + 4, at + 2 + length
        if marker == 0xDA or length < 2:
            return
        at += 2 + length


def _jpeg_end(data: bytes) -> int:
    for marker, _, end in _jpeg_segments(data):
        if marker == 0xDA:
            found = data.find(b"\xff\xd9", end)
            return found + 2 if found >= 0 else -1
    return -1


def _gif_end(data: bytes) -> int:
    flags = int.from_bytes(data[10:11])
    at = 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    while at < len(data):
        kind = data[at]
        if kind == 0x3B:
            return at + 1
        if kind == 0x21:
            at += 2
        elif kind == 0x2C and at + 10 <= len(data):
            flags = data[at + 9]
            at += 11 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
        else:
            return -1
        while at < len(data) and data[at]:
            at += data[at] + 1
        at += 1
    return -1


def _riff_end(data: bytes) -> int:
    return (int.from_bytes(data[4:8], "little") + 9) // 2 * 2


def _pdf_end(data: bytes) -> int:
    found = data.rfind(b"%%EOF")
    return found + 5 if found >= 0 else -1


def words_of_image(data: bytes, what: str) -> str:
    """Return the text in the metadata of a picture: comments and descriptions."""
    found: list[bytes] = []
    if what == "png":
        found = [_png_text(kind, data[start:end]) for kind, start, end in _png_chunks(data) if kind in _PNG_TEXT]
    elif what == "jpeg":
        found = [data[start:end] for marker, start, end in _jpeg_segments(data) if marker in (0xE1, 0xED, 0xFE)]
    elif what == "gif":
        found = [match[1] for match in re.finditer(rb"!\xfe.([\x20-\x7e\r\n\t]{20,255})", data)]
    lines = []
    for content in found[:50]:
        try:
            text = content.decode()
            readable = text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable()
        except UnicodeDecodeError:
            readable = False
        lines += [text] if readable else [run for run in encodings.strings(content) if len(run) >= 20]
    return "\n".join(line for line in lines if len(line) >= 20)


_PNG_TEXT = (b"tEXt", b"iTXt", b"zTXt")


def _png_text(kind: bytes, content: bytes) -> bytes:
    import zlib

    _, _, rest = content.partition(b"\0")
    if kind == b"tEXt":
        return rest
    packed = kind == b"zTXt" or rest[:1] == b"\x01"
    rest = rest[2:].split(b"\x00", 2)[-1] if kind == b"iTXt" else rest[1:]
    try:
        return zlib.decompressobj().decompress(rest, _MIB) if packed else rest
    except zlib.error:
        return rest


_PDF_ACTIVE = re.compile(rb"/(?:JavaScript|JS|Launch)\b(?!\s*null)")


def pdf_actions(data: bytes) -> tuple[str, ...]:
    """Return the names in a PDF that make it act when it is opened, including those in packed objects."""
    import zlib

    found = {match[0].decode() for match in _PDF_ACTIVE.finditer(_unhashed(_without_streams(data)))}
    for match in islice(re.finditer(rb"/ObjStm[^>]{0,300}>>\s{0,4}stream\r?\n", data), 200):
        try:
            objects = zlib.decompressobj().decompress(data[match.end() :], _MIB)
        except zlib.error:
            continue
        found |= {name[0].decode() for name in _PDF_ACTIVE.finditer(_unhashed(objects))}
    return tuple(sorted(found))


def _without_streams(data: bytes) -> bytes:
    """Return the objects of a PDF without their packed content, in which any name may occur by chance."""
    pieces, at = [], 0
    while (start := data.find(b"stream\n", at)) >= 0 or (start := data.find(b"stream\r", at)) >= 0:
        end = data.find(b"endstream", start)
        if end < 0:
            break
        pieces.append(data[at:start])
        at = end + 9
    return b"".join((*pieces, data[at:]))


def _unhashed(data: bytes) -> bytes:
    if not re.search(rb"/[A-Za-z]{0,10}#[0-9a-fA-F]{2}", data):
        return data
    return re.sub(rb"#([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), data)
