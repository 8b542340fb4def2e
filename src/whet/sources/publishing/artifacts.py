"""The one file that clients of a well-known index fetch for a skill.

Its bytes depend on nothing but the files of the package, except for deflate, whose output differs between builds of
zlib. So whether a published skill has changed is told by the content of its artifact, never by the artifact itself.
"""

from __future__ import annotations

import hashlib
import io
import struct
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.authoring.trees import digest
from whet.errors import InvalidError
from whet.skill.archive import unpack
from whet.skill.finder import MAIN_FILE
from whet.skill.tree import Item

if TYPE_CHECKING:
    from whet.skill.tree import Tree

_GZIP = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
"""The head of a gzip stream: deflate, no name, no time, best compression, unknown system."""


class Artifact(NamedTuple):
    """The one file that a client fetches for a skill."""

    kind: Literal["skill-md", "archive"]
    data: bytes

    @property
    def sha256(self) -> str:
        """The hash of its bytes, which the index promises."""
        return hashlib.sha256(self.data).hexdigest()


def artifact(tree: Tree) -> Artifact:
    """The artifact of a package: its main file where it has no other, else an archive."""
    main = tree[MAIN_FILE]
    if len(tree) == 1 and not main.executable:
        return Artifact("skill-md", main.data)
    return Artifact("archive", tar_gz(tree))


def tar_gz(tree: Tree) -> bytes:
    """The files at the root of a tar, without owners and times, compressed without a name and a time."""
    import tarfile
    import zlib

    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree, key=str.encode):
            item = tree[path]
            entry = tarfile.TarInfo(path)
            entry.size = len(item.data)
            entry.mode = 0o755 if item.executable else 0o644
            archive.addfile(entry, io.BytesIO(item.data))
    data = target.getvalue()
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    ends = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return b"".join((_GZIP, packer.compress(data), packer.flush(), ends))


def content_digest(kind: str, data: bytes) -> str:
    """The content digest of the package in an artifact; "" when it cannot be read."""
    if kind == "skill-md":
        return digest({MAIN_FILE: Item(data)})
    try:
        return unpack(data).digest
    except InvalidError:
        return ""
