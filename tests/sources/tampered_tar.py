"""Tars that somebody has tampered with, plain and in gzip, each built as bytes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sources.forging import (
    COLLISION,
    LINK,
    MAIN,
    MANY,
    RATIO,
    SPECIAL,
    TAR_MAIN,
    UNREADABLE,
    UNSAFE,
    gzipped,
    pax,
    raw_tar,
    raw_zip,
    tar_block,
    tar_file,
    tarred,
)

if TYPE_CHECKING:
    from sources.forging import Kinds


def long_name(text: bytes) -> bytes:
    """An entry whose name is told by a header in front of it."""
    return tar_file(b"././@LongLink", text, kind=b"L") + tar_file(b"short", b"x")


TARS: Kinds = {
    "empty name": (partial(tarred, tar_file(b"", b"x")), UNSAFE),
    "name not UTF-8": (partial(tarred, tar_block(b"a/\xff")), UNSAFE),
    "link inside": (partial(tarred, tar_block(b"a/x", kind=b"2", link=b"SKILL.md")), LINK),
    "link outside": (partial(tarred, tar_block(b"a/x", kind=b"2", link=b"/etc/passwd")), LINK),
    "link, then a file through it": (
        partial(tarred, tar_block(b"a/x", kind=b"2", link=b"/tmp"), tar_file(b"a/x/y", b"x")),
        LINK,
    ),
    "link as the main file": (partial(raw_tar, tar_block(b"a/SKILL.md", kind=b"2", link=b"/etc/passwd")), LINK),
    "link target in a header": (
        partial(tarred, pax(("linkpath", "/etc/passwd")), tar_block(b"a/x", kind=b"2", link=b"SKILL.md")),
        LINK,
    ),
    "long link target": (
        partial(tarred, tar_file(b"L", b"x" * 200 + b"\0", kind=b"K"), tar_block(b"a/x", kind=b"2", link=b"x")),
        LINK,
    ),
    "hard link inside": (partial(tarred, tar_block(b"a/x", kind=b"1", link=b"a/SKILL.md")), LINK),
    "hard link outside": (partial(tarred, tar_block(b"a/x", kind=b"1", link=b"/etc/shadow")), LINK),
    "device": (partial(tarred, tar_block(b"a/x", kind=b"3")), SPECIAL),
    "disk": (partial(tarred, tar_block(b"a/x", kind=b"4")), SPECIAL),
    "pipe": (partial(tarred, tar_block(b"a/x", kind=b"6")), SPECIAL),
    "sparse file": (partial(tarred, tar_block(b"a/x", kind=b"S")), SPECIAL),
    "sparse file by headers": (
        partial(tarred, pax(("GNU.sparse.size", "99999999"), ("GNU.sparse.map", "0,1")), tar_file(b"a/x", b"1")),
        SPECIAL,
    ),
    "sparse map without an end": (
        partial(tarred, pax(("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0")), tar_file(b"a/x", b"9999999\n1")),
        SPECIAL | UNREADABLE,
    ),
    "multi-volume": (partial(tarred, tar_block(b"a/x", kind=b"M")), SPECIAL),
    "volume label": (partial(tarred, tar_block(b"a/x", kind=b"V")), SPECIAL),
    "unknown kind": (partial(tarred, tar_block(b"a/x", kind=b"Z")), SPECIAL),
    "path in a header": (partial(tarred, pax(("path", "../x")), tar_file(b"a/x", b"1")), UNSAFE),
    "paths in a header": (partial(tarred, pax(("path", "a/y"), ("path", "/x")), tar_file(b"a/x", b"1")), UNSAFE),
    "path with NUL in a header": (partial(tarred, pax(("path", "a/x\0y")), tar_file(b"a/x", b"1")), UNSAFE),
    "path for all that follow": (
        lambda: raw_tar(pax(("path", "a/SKILL.md"), kind=b"g"), TAR_MAIN, tar_file(b"a/x", b"1")),
        COLLISION,
    ),
    "unsafe path for all that follow": (lambda: raw_tar(pax(("path", "../x"), kind=b"g"), TAR_MAIN), UNSAFE),
    "size in a header": (partial(tarred, pax(("size", "99999999999")), tar_file(b"a/x", b"1")), UNREADABLE),
    "negative size in a header": (partial(tarred, pax(("size", "-1024")), tar_file(b"a/x", b"1")), UNREADABLE),
    "wrong length of a record": (partial(tarred, tar_file(b"p", b"99 path=b\n", kind=b"x")), UNREADABLE),
    "no length of a record": (partial(tarred, tar_file(b"p", b" 0 path=b\n", kind=b"x")), UNREADABLE),
    "long name with NUL": (partial(tarred, long_name(b"a/x\0../../y\0")), UNREADABLE),
    "long name that is unsafe": (partial(tarred, long_name(b"../x\0")), UNSAFE),
    "long name of nothing": (partial(tarred, tar_file(b"L", b"a/x\0", kind=b"L")), UNREADABLE),
    "enormous name": (partial(tarred, long_name(b"a/" + b"x" * 300_000)), UNREADABLE),
    "enormous header": (partial(tarred, pax(("comment", "x" * 300_000)), tar_file(b"a/x", b"1")), UNREADABLE),
    "enormous headers": (partial(tarred, *[pax(("comment", "x" * 250_000)) + tar_file(b"a", b"")] * 70), UNREADABLE),
    "header after header": (partial(tarred, tar_file(b"L", b"a/x\0", kind=b"L") * 5000), UNREADABLE),
    "negative size": (partial(tarred, tar_block(b"a/x", size=b"\xff" * 12)), UNREADABLE),
    "negative size of a header": (partial(tarred, tar_block(b"p", size=b"\xff" * 12, kind=b"x")), UNREADABLE),
    "enormous size": (partial(tarred, tar_block(b"a/x", size=b"\x80" + b"\xff" * 11)), UNREADABLE),
    "size that is not a number": (partial(tarred, tar_block(b"a/x", size=b"12345678xyz\0")), UNREADABLE),
    "mode that is not a number": (partial(tarred, tar_block(b"a/x", mode=b"rwxr-xr-")), UNREADABLE),
    "wrong checksum": (partial(tarred, tar_block(b"a/x")[:-1] + b"!"), UNREADABLE),
    "directory with content": (partial(tarred, tar_file(b"a/x/", bytes(512), kind=b"5")), UNREADABLE),
    "file that ends in a slash": (partial(tarred, tar_file(b"a/x/", b"content")), UNREADABLE),
    "old directory with content": (partial(tarred, tar_file(b"a/x/", bytes(512), kind=b"\0")), UNREADABLE),
    "data after the end": (lambda: tarred() + b"x", UNREADABLE),
    "entry after the end": (partial(tarred, bytes(512), tar_file(b"a/x", b"1")), UNREADABLE),
    "tar after the end": (lambda: tarred() + tarred(), UNREADABLE),
    "data before the start": (lambda: b"#!/bin/sh\n".ljust(512, b"\n") + tarred(), UNREADABLE),
    "no end": (lambda: TAR_MAIN, UNREADABLE),
    "a hundred thousand entries": (partial(tarred, tar_block(b"a/d", kind=b"5") * 100_000), MANY),
}

GZIPS: Kinds = {
    "two tars": (lambda: gzipped(tarred()) + gzipped(tarred()), UNREADABLE),
    "data behind": (lambda: gzipped(tarred()) + b"hidden", UNREADABLE),
    "wrong checksum": (lambda: gzipped(tarred())[:-6] + bytes(6), UNREADABLE),
    "wrong length": (lambda: gzipped(tarred())[:-4] + b"\x01\0\0\0", UNREADABLE),
    "bomb": (lambda: gzipped(tarred(tar_file(b"a/zeros", bytes(40 * 1024 * 1024)))), RATIO),
    "bomb of zeros alone": (lambda: gzipped(bytes(40 * 1024 * 1024)), RATIO),
    "bomb in a second member": (lambda: gzipped(tarred()) + gzipped(bytes(40 * 1024 * 1024)), RATIO),
    "gzip in gzip": (lambda: gzipped(gzipped(tarred())), UNREADABLE),
    "zip in gzip": (lambda: gzipped(raw_zip([MAIN])), UNREADABLE),
}
