"""Archives that somebody has tampered with, each built as bytes.

`TAMPERED` must be refused by every reader with one of the codes beside it. `LEFT_OUT` is odd and harmless: what counts
is exactly what comes of it. `WITHOUT_SKILL` can be read, and holds nothing that could be installed.
"""

from __future__ import annotations

import stat
import struct
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sources.forging import (
    COLLISION,
    FULL,
    MAIN,
    SKILL,
    TAR_MAIN,
    UNREADABLE,
    UNSAFE,
    Raw,
    deflated,
    gzipped,
    named,
    noise,
    pax,
    raw_tar,
    raw_zip,
    tar_block,
    tar_file,
    tarred,
    unicode_name,
    zipped,
)
from sources.tampered_tar import GZIPS, TARS, long_name
from sources.tampered_zip import ZIPS, bomb, wide, zip64
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from sources.forging import Kinds


UNSAFE_NAMES = {
    "parent": "../x",
    "parent in the middle": "a/../../x",
    "parent at the end": "a/x/..",
    "absolute": "/etc/passwd",
    "two slashes": "//server/share/x",
    "drive": "C:/x",
    "drive without a slash": "a/C:x",
    "server": "\\\\server\\share\\x",
    "backslashes": "a\\..\\..\\x",
    "stream": "a/x.md:hidden",
    "dot part": "a/./x",
    "empty part": "a//x",
    "only a dot": ".",
    "only a space": " ",
    "NUL": "a/x\0.md",
    "new line": "a/x\ny",
    "terminal escape": "a/x\x1b[2J",
    "delete character": "a/x\x7f",
    "right to left": "a/x\u202edm.exe",
    "invisible": "a/SKILL\u200b.md",
    "line separator": "a/x\u2028y",
    "option": "a/-rf",
    "option with a value": "a/--checkpoint-action=exec=sh",
    "home": "~/x",
    "home inside": "a/~/x",
    "dot at the end": "a/x.",
    "space at the end": "a/x ",
    "device": "a/nul",
    "device with an ending": "a/CON.txt",
    "numbered device": "a/com1",
    "device with a superscript": "a/lpt\u00b9",
    "part too long": "a/" + "x" * 256,
    "path too long": "a/" + "/".join(["x" * 250] * 5),
    "too deep": "a/" + "/".join(["d"] * 17),
    "git respelled": "a/.GIT/hooks/pre-commit",
    "git respelled inside": "a/x/.Git/config",
    "cache respelled": "a/__PyCache__/x.pyc",
    "unsafe beside the folder": "__MACOSX/../../x",
    "unsafe in what is left out": "a/.git/../../x",
}

COLLIDING_NAMES = {
    "same name": ("a/x", "a/x"),
    "second main file": ("a/SKILL.md",),
    "other case": ("a/README.md", "a/readme.md"),
    "other case of the main file": ("a/skill.md",),
    "sharp s": ("a/stra\u00dfe", "a/STRASSE"),
    "composed and not": ("a/caf\u00e9", "a/cafe\u0301"),
    "file and directory": ("a/x", "a/x/y"),
    "directory and file": ("a/x/y", "a/x"),
    "listed directory and file": ("a/x/", "a/x"),
    "main file and directory": ("a/SKILL.md/x",),
    "directories in two cases": ("a/Docs/x", "a/docs/y"),
    "folders in two cases": ("A/x",),
}


def tar_named(name: str) -> bytes:
    """An entry of this name; a directory when it ends in a slash."""
    return tar_block(name.encode(), kind=b"5") if name.endswith("/") else named(name)


def cut(data: bytes, end: int) -> bytes:
    """An archive that ends too early."""
    return data[:end]


PLAIN = {
    "zip": raw_zip([MAIN, Raw("a/x", noise(3000), method=8, packed=deflated(noise(3000)))]),
    "tar": tarred(tar_file(b"a/x", noise(3000)))[:-1024],
    "gzip": gzipped(tarred(tar_file(b"a/x", noise(3000)))),
}

TAMPERED: Kinds = {
    **{f"zip: {kind}": row for kind, row in ZIPS.items()},
    **{f"tar: {kind}": row for kind, row in TARS.items()},
    **{f"gzip: {kind}": row for kind, row in GZIPS.items()},
    **{f"zip: name, {kind}": (partial(zipped, Raw(name, b"x")), UNSAFE) for kind, name in UNSAFE_NAMES.items()},
    **{f"tar: name, {kind}": (partial(tarred, named(name)), UNSAFE) for kind, name in UNSAFE_NAMES.items()},
    **{
        f"zip: directory, {kind}": (partial(zipped, Raw(f"{name}/")), UNSAFE)
        for kind, name in UNSAFE_NAMES.items()
        if name != "."
    },
    **{
        f"zip: {kind}": (partial(zipped, *(Raw(name) for name in names)), COLLISION)
        for kind, names in COLLIDING_NAMES.items()
    },
    **{
        f"tar: {kind}": (partial(tarred, *(tar_named(name) for name in names)), COLLISION)
        for kind, names in COLLIDING_NAMES.items()
    },
    **{
        f"{form}: cut off at {tenth}0 %": (partial(cut, data, len(data) * tenth // 10), UNREADABLE)
        for form, data in PLAIN.items()
        for tenth in range(10)
    },
    **{f"{form}: without its last byte": (partial(cut, data, -1), UNREADABLE) for form, data in PLAIN.items()},
}

LARGE = {
    *("tar: enormous headers", "tar: a hundred thousand entries"),
    *("zip: a hundred thousand entries", "zip: a hundred thousand directories"),
    *("gzip: bomb", "gzip: bomb in a second member", "zip: nested bomb"),
}
"""Megabytes each; `header after header`, `many small bombs` and a bomb of each form are the quick ones beside them."""


class Kept(NamedTuple):
    """What must come of an archive: its files beside the main file, and the names that were left out."""

    make: Callable[[], bytes]
    files: tuple[tuple[str, Item], ...] = ()
    skipped: tuple[str, ...] = ()


ONE = (("a/x", Item(b"1")),)
RUN = (("a/x", Item(b"1", executable=True)),)
INNER = raw_zip([MAIN, bomb(2 * 1024 * 1024)])

LEFT_OUT = {
    "zip: nothing odd": Kept(partial(zipped, Raw("a/x", b"1")), ONE),
    "zip: setuid": Kept(partial(zipped, Raw("a/x", b"1", mode=stat.S_IFREG | 0o6755)), RUN),
    "zip: sticky and writable by all": Kept(partial(zipped, Raw("a/x", b"1", mode=stat.S_IFREG | 0o1666)), ONE),
    "zip: comment": Kept(partial(raw_zip, [MAIN, Raw("a/x", b"1")], comment=b"hello"), ONE),
    "zip: end of 64 bits": Kept(zip64),
    "zip: end of 64 bits behind full fields": Kept(partial(zip64, short=0xFFFF)),
    "zip: sizes of 64 bits": Kept(partial(zipped, Raw("a/x", b"1", size=FULL, extra=wide(1))), ONE),
    "zip: sizes behind": Kept(
        partial(zipped, Raw("a/x", b"1", flags=8, behind=struct.pack("<3L", 0x83DCEFB7, 1, 1))), ONE
    ),
    "zip: sizes of 64 bits behind": Kept(
        partial(zipped, Raw("a/x", b"1", flags=8, behind=struct.pack("<4sL2Q", b"PK\x07\x08", 0x83DCEFB7, 1, 1))), ONE
    ),
    "zip: extra fields and padding": Kept(
        partial(zipped, Raw("a/x", b"1", extra=struct.pack("<2HL", 0x5455, 4, 9) + b"\0\0\0")), ONE
    ),
    "zip: UTF-8 with its mark": Kept(partial(zipped, Raw("a/\u00e9", flags=0x800)), (("a/\u00e9", Item(b"")),)),
    "zip: UTF-8 without its mark": Kept(partial(zipped, Raw("a/\u00e9")), (("a/\u00e9", Item(b"")),)),
    "zip: old encoding": Kept(partial(zipped, Raw("", name_bytes=b"a/\x82")), (("a/\u00e9", Item(b"")),)),
    "zip: old encoding and a field": Kept(
        partial(zipped, Raw("", name_bytes=b"a/\x82\x81", extra=unicode_name(b"a/\x82\x81", "a/\u65e5"))),
        (("a/\u65e5", Item(b"")),),
    ),
    "zip: same name in a field": Kept(partial(zipped, Raw("a/x", b"1", extra=unicode_name(b"a/x", "a/x"))), ONE),
    "zip: repository": Kept(partial(zipped, Raw("a/.git/hooks/pre-commit", b"x")), (), ("a/.git/hooks/pre-commit",)),
    "zip: repository inside": Kept(partial(zipped, Raw("a/b/.git", b"x")), (), ("a/b/.git",)),
    "zip: macOS": Kept(
        partial(zipped, Raw("__MACOSX/a/._x"), Raw("a/.DS_Store"), Raw("._a")),
        (),
        ("._a", "__MACOSX/a/._x", "a/.DS_Store"),
    ),
    "zip: compiled": Kept(partial(zipped, Raw("a/__pycache__/x.pyc")), (), ("a/__pycache__/x.pyc",)),
    "zip: archive inside stays packed": Kept(partial(zipped, Raw("a/x.zip", INNER)), (("a/x.zip", Item(INNER)),)),
    "zip: dot in front": Kept(partial(zipped, Raw("./a/x", b"1"), Raw("./")), ONE),
    "zip: hidden file": Kept(partial(zipped, Raw("a/.env", b"1")), (("a/.env", Item(b"1")),)),
    "zip: tilde in a name": Kept(partial(zipped, Raw("a/x~", b"1")), (("a/x~", Item(b"1")),)),
    "tar: nothing odd": Kept(partial(tarred, tar_file(b"a/x", b"1")), ONE),
    "tar: setuid": Kept(partial(tarred, tar_file(b"a/x", b"1", mode=b"0006755\0")), RUN),
    "tar: repository": Kept(partial(tarred, tar_file(b"a/.git/config", b"x")), (), ("a/.git/config",)),
    "tar: binary size": Kept(
        partial(tarred, tar_block(b"a/x", size=b"\x80" + (1).to_bytes(11, "big")) + b"1".ljust(512, b"\0")), ONE
    ),
    "tar: contiguous file": Kept(partial(tarred, tar_file(b"a/x", b"1", kind=b"7")), ONE),
    "tar: old file": Kept(partial(tarred, tar_file(b"a/x", b"1", kind=b"\0")), ONE),
    "tar: long name": Kept(partial(tarred, long_name(b"a/y\0")), (("a/y", Item(b"x")),)),
    "tar: comment for all": Kept(lambda: raw_tar(pax(("comment", "0123abc"), kind=b"g"), TAR_MAIN)),
    "tar: times and owners": Kept(
        partial(tarred, pax(("mtime", "-1.5"), ("uid", "0"), ("uname", "root")), tar_file(b"a/x", b"1")), ONE
    ),
    "gzip: empty member behind": Kept(lambda: gzipped(tarred()) + gzipped(b"")),
    "gzip: in several members": Kept(lambda: gzipped(tarred()[:700]) + gzipped(tarred()[700:])),
}

WITHOUT_SKILL: dict[str, Callable[[], bytes]] = {
    "zip: nothing": partial(raw_zip, []),
    "zip: only a folder": partial(raw_zip, [Raw("a/")]),
    "zip: no main file": partial(raw_zip, [Raw("a/README.md", b"x")]),
    "zip: main file is a directory": partial(raw_zip, [Raw("a/SKILL.md/"), Raw("a/x", b"1")]),
    "zip: main file is a directory with files": partial(raw_zip, [Raw("a/SKILL.md/x", b"1")]),
    "zip: main file of macOS": partial(raw_zip, [Raw("__MACOSX/SKILL.md", SKILL)]),
    "zip: main file of a dependency": partial(raw_zip, [Raw("a/node_modules/b/SKILL.md", SKILL)]),
    "zip: main file in a repository": partial(raw_zip, [Raw("a/.git/SKILL.md", SKILL)]),
    "zip: main file too deep": partial(raw_zip, [Raw("a/" + "d/" * 11 + "SKILL.md", SKILL)]),
    "zip: main file of another case": partial(raw_zip, [Raw("a/Skill.MD", SKILL)]),
    "tar: nothing": raw_tar,
    "tar: no main file": partial(raw_tar, tar_file(b"a/README.md", b"x")),
}
