"""Zips that somebody has tampered with, each built as bytes."""

from __future__ import annotations

import stat
import struct
from functools import partial
from typing import TYPE_CHECKING

from sources.forging import (
    ENCRYPTED,
    FULL,
    LINK,
    MAIN,
    MANY,
    RATIO,
    SKILL,
    SPECIAL,
    UNREADABLE,
    UNSAFE,
    Raw,
    deflated,
    noise,
    raw_zip,
    unicode_name,
    zip64_end,
    zip_end,
    zip_parts,
    zipped,
)

if TYPE_CHECKING:
    from sources.forging import Kinds


def overlapping() -> bytes:
    """One entry's data is another entry: how a small zip becomes a bomb."""
    inner = zip_parts([Raw("a/y", bytes(100))]).body
    start = len(zip_parts([MAIN]).body) + 30 + len("a/x")
    return zipped(Raw("a/x", inner), Raw("a/y", bytes(100), offset=start))


def shared_data() -> bytes:
    """Ten entries, one piece of data."""
    here = len(zip_parts([MAIN]).body)
    body, directory, _ = zip_parts([MAIN, Raw("a/x", noise(500))])
    entries = [Raw("a/x", noise(500), offset=here) for _ in range(9)]
    more = zip_parts(entries).directory
    return body + directory + more + zip_end(11, len(directory + more), len(body))


def two_zips() -> bytes:
    """Read from the front it is one skill, read from the back another."""
    return raw_zip([MAIN]) + raw_zip([Raw("a/SKILL.md", SKILL + b"Other.\n")])


def two_directories() -> bytes:
    """A second directory and a second end behind the first."""
    body, directory, _ = zip_parts([MAIN, Raw("a/x", b"1")])
    shorter = zip_parts([MAIN]).directory
    first = zip_end(2, len(directory), len(body))
    return body + directory + first + shorter + zip_end(1, len(shorter), len(body + directory + first))


def zip_in_comment() -> bytes:
    """The comment of a zip is a directory of its own, and ends like one."""
    body, directory, count = zip_parts([MAIN])
    hidden = directory + zip_end(count, len(directory), len(body + directory) + 22)
    return body + directory + zip_end(count, len(directory), len(body), comment=hidden)


def end_in_comment() -> bytes:
    """The comment holds the end of a zip without anything in it."""
    return raw_zip([MAIN], comment=zip_end(0, 0, 0))


def between() -> bytes:
    """Data that no directory names lies between the entries and the directory."""
    body, directory, count = zip_parts([MAIN])
    return body + b"hidden" + directory + zip_end(count, len(directory), len(body) + 6)


def unlisted() -> bytes:
    """An entry that the directory does not name."""
    body, _, _ = zip_parts([MAIN, Raw("a/x", b"1")])
    directory = zip_parts([MAIN]).directory
    return body + directory + zip_end(1, len(directory), len(body))


def zip64(count: int = 1, *, short: int = 1, offset: int = 0, at: int = 0) -> bytes:
    """A zip with an end of 64 bits; by default a good one."""
    body, directory, _ = zip_parts([MAIN])
    start = len(body) + len(directory)
    end = zip64_end(count, len(directory), len(body) + offset, start + at)
    return body + directory + end + zip_end(short, len(directory), len(body))


def in_parts() -> bytes:
    """One of several disks."""
    body, directory, count = zip_parts([MAIN])
    return body + directory + zip_end(count, len(directory), len(body), disk=1)


def wide(*values: int) -> bytes:
    """The extra field with sizes of 64 bits."""
    return struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values), *values)


def bomb(size: int = 40 * 1024 * 1024) -> Raw:
    """Zeros."""
    return Raw("a/zeros", bytes(size), method=8, packed=deflated(bytes(size)))


def nested_bomb() -> bytes:
    """A bomb in a bomb: the inner one compresses once more."""
    inner = raw_zip([Raw(f"{number}", bytes(2 * 1024 * 1024)) for number in range(8)])
    return zipped(Raw("a/inner.zip", inner, method=8, packed=deflated(inner)))


def many_small_bombs() -> bytes:
    """None of them is large, all of them are."""
    packed = deflated(bytes(900 * 1024))
    return zipped(*(Raw(f"a/{number}", bytes(900 * 1024), method=8, packed=packed) for number in range(20)))


ZIPS: Kinds = {
    "empty name": (partial(zipped, Raw("", b"1")), UNSAFE),
    "only a slash": (partial(zipped, Raw("/", b"")), UNSAFE),
    "name not UTF-8": (partial(zipped, Raw("", name_bytes=b"a/\xff", flags=0x800)), UNREADABLE),
    "two names": (partial(zipped, Raw("a/x", b"1", local_name=b"a/y")), UNREADABLE),
    "two names of one length": (partial(zipped, Raw("a/x.md", b"1", local_name=b"a/x.sh")), UNREADABLE),
    "second name in a field": (partial(zipped, Raw("a/x", extra=unicode_name(b"a/x", "../x"))), UNREADABLE),
    "unsafe name in a field": (
        partial(zipped, Raw("", name_bytes=b"a/\x82", extra=unicode_name(b"a/\x82", "../x"))),
        UNSAFE,
    ),
    "name in a field not UTF-8": (
        partial(zipped, Raw("", name_bytes=b"a/\x82", extra=unicode_name(b"a/\x82", "a/x")[:-1] + b"\xff")),
        UNSAFE,
    ),
    "encrypted": (partial(zipped, Raw("a/x", b"1", flags=1)), ENCRYPTED),
    "encrypted main file": (partial(raw_zip, [MAIN._replace(flags=1)]), ENCRYPTED),
    "strongly encrypted": (partial(zipped, Raw("a/x", b"1", flags=0x40)), ENCRYPTED),
    "encrypted directory": (partial(zipped, Raw("a/x", b"1", flags=0x2000)), ENCRYPTED),
    "AES": (partial(zipped, Raw("a/x", b"1", method=99)), ENCRYPTED),
    "encrypted in one header": (partial(zipped, Raw("a/x", b"1", local_flags=1)), UNREADABLE),
    "LZMA": (partial(zipped, Raw("a/x", b"1", method=14)), UNREADABLE),
    "bzip2": (partial(zipped, Raw("a/x", b"1", method=12)), UNREADABLE),
    "patched data": (partial(zipped, Raw("a/x", b"1", flags=0x20)), UNREADABLE),
    "unknown compression": (partial(zipped, Raw("a/x", b"1", method=4242)), UNREADABLE),
    "two methods": (
        partial(zipped, Raw("a/x", b"12", method=8, packed=deflated(b"12"), local_method=0)),
        UNREADABLE,
    ),
    "link inside": (partial(zipped, Raw("a/x", b"SKILL.md", mode=stat.S_IFLNK | 0o777)), LINK),
    "link outside": (partial(zipped, Raw("a/x", b"/etc/passwd", mode=stat.S_IFLNK | 0o777)), LINK),
    "link as a directory": (partial(zipped, Raw("a/x/", b"..", mode=stat.S_IFLNK | 0o777)), LINK),
    "link as the main file": (partial(raw_zip, [MAIN._replace(mode=stat.S_IFLNK | 0o777)]), LINK),
    "link that is left out": (partial(zipped, Raw("a/.git/x", b"/etc", mode=stat.S_IFLNK | 0o777)), LINK),
    "pipe": (partial(zipped, Raw("a/x", mode=stat.S_IFIFO | 0o644)), SPECIAL),
    "device": (partial(zipped, Raw("a/x", mode=stat.S_IFCHR | 0o644)), SPECIAL),
    "disk": (partial(zipped, Raw("a/x", mode=stat.S_IFBLK | 0o644)), SPECIAL),
    "socket": (partial(zipped, Raw("a/x", mode=stat.S_IFSOCK | 0o644)), SPECIAL),
    "directory with content": (partial(zipped, Raw("a/x/", b"content")), UNREADABLE),
    "directory with packed content": (partial(zipped, Raw("a/x/", packed=b"content")), UNREADABLE),
    "wrong checksum": (partial(zipped, Raw("a/x", b"12", crc=1)), UNREADABLE),
    "size too small": (partial(zipped, Raw("a/x", b"12", size=1)), UNREADABLE),
    "size too large": (partial(zipped, Raw("a/x", b"12", size=3)), UNREADABLE),
    "packed size too small": (partial(zipped, Raw("a/x", b"12", size=3, method=8, packed=deflated(b"12"))), UNREADABLE),
    "sizes that disagree": (partial(zipped, Raw("a/x", b"12", local_size=1)), UNREADABLE),
    "sizes behind that disagree": (
        partial(zipped, Raw("a/x", b"12", flags=8, local_size=0, behind=b"12" * 6)),
        UNREADABLE,
    ),
    "a header that promises little": (
        partial(zipped, Raw("a/x", b"1", method=8, packed=deflated(bytes(2 * 1024 * 1024)))),
        UNREADABLE,
    ),
    "stream cut off": (partial(zipped, Raw("a/x", noise(500), method=8, packed=deflated(noise(500))[:-9])), UNREADABLE),
    "no stream": (partial(zipped, Raw("a/x", b"1", method=8, packed=b"\xff\xff")), UNREADABLE),
    "data behind the stream": (
        partial(zipped, Raw("a/x", b"12", method=8, packed=deflated(b"12") + b"hidden")),
        UNREADABLE,
    ),
    "much data behind the stream": (
        partial(zipped, Raw("a/x", b"12", method=8, packed=deflated(b"12") + noise(200_000))),
        UNREADABLE,
    ),
    "header of another": (partial(zipped, Raw("a/x", b"1", offset=0)), UNREADABLE),
    "header outside": (partial(zipped, Raw("a/x", b"1", offset=1 << 30)), UNREADABLE),
    "same entry twice": (partial(zipped, MAIN._replace(offset=0)), UNREADABLE),
    "overlapping entries": (overlapping, UNREADABLE),
    "shared data": (shared_data, UNREADABLE),
    "data after the end": (partial(raw_zip, [MAIN], tail=b"x"), UNREADABLE),
    "zeros after the end": (partial(raw_zip, [MAIN], tail=bytes(600)), UNREADABLE),
    "directory elsewhere": (partial(raw_zip, [MAIN], shift=1), UNREADABLE),
    "script before the start": (lambda: b"#!/bin/sh\n" + raw_zip([MAIN]), UNREADABLE),
    "program before the start": (lambda: b"PK, a program" + raw_zip([MAIN]), UNREADABLE),
    "picture before the start": (lambda: b"GIF89a" + raw_zip([MAIN]), UNREADABLE),
    "true offsets behind other data": (
        lambda: (
            b"PK!!"
            + (parts := zip_parts([MAIN], 4)).body
            + parts.directory
            + zip_end(1, len(parts.directory), 4 + len(parts.body))
        ),
        UNREADABLE,
    ),
    "two zips": (two_zips, UNREADABLE),
    "two directories": (two_directories, UNREADABLE),
    "zip in the comment": (zip_in_comment, UNREADABLE),
    "end in the comment": (end_in_comment, UNREADABLE),
    "comment longer than it is": (
        lambda: (
            (parts := zip_parts([MAIN])).body
            + parts.directory
            + zip_end(1, len(parts.directory), len(parts.body), claim=9)
        ),
        UNREADABLE,
    ),
    "data between": (between, UNREADABLE),
    "entry that is not listed": (unlisted, UNREADABLE),
    "data behind an entry": (partial(raw_zip, [MAIN._replace(behind=b"hidden"), Raw("a/x")]), UNREADABLE),
    "count too small": (partial(raw_zip, [MAIN, Raw("a/x", b"1")], count=1), UNREADABLE),
    "count too large": (partial(raw_zip, [MAIN], count=2), UNREADABLE),
    "one of several parts": (in_parts, UNREADABLE),
    "sizes of 64 bits missing": (partial(zipped, Raw("a/x", b"1", offset=FULL, size=FULL)), UNREADABLE),
    "sizes of 64 bits too short": (partial(zipped, Raw("a/x", b"1", size=FULL, extra=wide(1)[:-1])), UNREADABLE),
    "sizes of 64 bits that lie": (partial(zipped, Raw("a/x", b"1", size=FULL, extra=wide(1 << 60))), UNREADABLE),
    "offset of 64 bits outside": (partial(zipped, Raw("a/x", b"1", offset=FULL, extra=wide(1 << 62))), UNREADABLE),
    "ends that disagree": (partial(zip64, 1, short=2), UNREADABLE),
    "count of 64 bits that lies": (partial(zip64, 1 << 40, short=0xFFFF), MANY),
    "directory of 64 bits elsewhere": (partial(zip64, offset=7), UNREADABLE),
    "end of 64 bits elsewhere": (partial(zip64, at=3), UNREADABLE),
    "bomb": (lambda: zipped(bomb()), RATIO),
    "nested bomb": (nested_bomb, RATIO),
    "many small bombs": (many_small_bombs, RATIO),
    "a hundred thousand entries": (
        lambda: raw_zip([Raw(f"a/{at}") for at in range(100_000)], count=34_464),
        UNREADABLE | MANY,
    ),
    "a hundred thousand directories": (
        lambda: (
            (parts := zip_parts([Raw(f"a/{at}/") for at in range(100_000)])).body
            + parts.directory
            + zip64_end(100_000, len(parts.directory), len(parts.body), len(parts.body + parts.directory))
            + zip_end(0xFFFF, len(parts.directory), len(parts.body))
        ),
        MANY,
    ),
}
