"""The files of a package as values, and their digest.

The digest identifies content: in caches, locks, scans, activations and history. It covers every file and link with its
path, its executable bit and the hash of its content, and nothing else: no times, no owners, no order. Paths that
`ignored` matches never count.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from types import MappingProxyType

from whet.errors import InvalidError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.finder import MAIN_FILE, main_file
from whet.skill.paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal

    from whet.errors import WhetError
    from whet.skill.frontmatter import Document

IGNORED = frozenset({".git", "__pycache__", ".DS_Store"})
"""Names of files and directories that are never part of a package."""

_LINE = compile_late(rb"([^\0]+)\0(file|executable|link)\0([0-9a-f]{64})\n")
_ROOTED = compile_late(r"[/\\]|[A-Za-z]:")


class Entry(NamedTuple):
    """A file or symbolic link of a package."""

    path: str
    kind: Literal["file", "link"]
    executable: bool
    size: int
    sha256: str
    """Hash of the content; for a link, of its target."""
    target: str = ""


class _Content(NamedTuple):
    data: bytes
    """Content of the file; for a link, its target."""
    executable: bool = False
    link: bool = False


class Item(_Content):
    """A file with its content, or a link."""

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, computed once."""
        return hashlib.sha256(self.data).hexdigest()


Tree = dict[str, Item]
"""Items by path, with forward slashes: everything the digest covers."""


class Limits(NamedTuple):
    """The limits of a package. Memory use stays within a small multiple of `total_bytes`."""

    files: int = 2_000
    file_bytes: int = 16 * 1024 * 1024
    total_bytes: int = 64 * 1024 * 1024
    ratio: int = 200
    """Unpacked bytes for each packed byte of an archive, once more than `ratio_from` bytes have been unpacked."""
    ratio_from: int = 1024 * 1024

    @property
    def archive_bytes(self) -> int:
        """Largest size of an archive: with headers, padding and extended attributes for each file."""
        return self.total_bytes + self.files * 4096 + 64 * 1024


DEFAULT_LIMITS = Limits()
"""Limits of a package in transport."""


class _Files(NamedTuple):
    name: str
    """Name of its directory; empty if unknown."""
    tree: Tree
    """Everything the digest covers."""
    problems: tuple[WhetError, ...] = ()
    """Files that could not be read, or cannot be part of a package; none if it was read strictly."""
    aside: Mapping[str, Item] = MappingProxyType({})
    """Files that the digest does not cover but a program could run."""
    skipped: tuple[str, ...] = ()
    """Names in an archive that are never part of a package, and were left out."""


class Package(_Files):
    """The files of a skill as a value, from a directory, an archive or a repository."""

    @cached_property
    def digest(self) -> str:
        """The content digest."""
        return digest(entries(self.tree))

    @cached_property
    def main(self) -> str:
        """Path of its main file. Raises UsageError if it has none."""
        if found := main_file(self.tree):
            return found
        raise UsageError("not-a-package", f"The skill has no {MAIN_FILE}.", hint="Name the directory of a skill.")

    @cached_property
    def document(self) -> Document:
        """Its parsed main file."""
        from whet.skill.frontmatter import read_document

        return read_document(self.tree[self.main].data)


def file_entry(path: str, data: bytes, *, executable: bool = False) -> Entry:
    """Return the entry of a regular file with this content."""
    return Entry(path, "file", executable, len(data), hashlib.sha256(data).hexdigest())


def link_entry(path: str, target: str) -> Entry:
    """Return the entry of a symbolic link, whose content is its target."""
    data = _bytes(target)
    return Entry(path, "link", executable=False, size=len(data), sha256=hashlib.sha256(data).hexdigest(), target=target)


def digest(entries: Iterable[Entry]) -> str:
    """Return the content digest of a package, `sha256:` and 64 hex digits, for entries in any order."""
    return _sha256([manifest(entries)])


def manifest(entries: Iterable[Entry]) -> bytes:
    """Return the text that is hashed: a line for each file and link, sorted by path."""
    lines: dict[bytes, bytes] = {}
    for entry in entries:
        if ignored(entry.path):
            continue
        path = _bytes(entry.path)
        if path in lines:
            raise InvalidError(
                "duplicate-path",
                f"The path {shown(entry.path)} is listed twice in one package.",
                hint="List each file once.",
            )
        if b"\0" in path:
            raise InvalidError(
                "path-control",
                f"The path {shown(entry.path)} contains a NUL character.",
                hint="Remove the file; no file system can hold that name.",
            )
        mark = b"link" if entry.kind == "link" else b"executable" if entry.executable else b"file"
        lines[path] = b"%s\0%s\0%s\n" % (path, mark, entry.sha256.encode())
    return b"".join(lines[path] for path in sorted(lines))


def read_manifest(data: bytes) -> tuple[tuple[str, str, str], ...]:
    """Return path, mark (`file`, `executable` or `link`) and hash of each line of a manifest; () for any other text."""
    lines = [found.groups() for found in _LINE.finditer(data)]
    if sum(len(path) + len(mark) + len(hash_) + 3 for path, mark, hash_ in lines) != len(data):
        return ()
    try:
        return tuple((_text(path), _text(mark), _text(hash_)) for path, mark, hash_ in lines)
    except UnicodeDecodeError:
        return ()


def entries(tree: Mapping[str, Item]) -> Iterator[Entry]:
    """Yield the part of each item that the digest covers."""
    for path, item in tree.items():
        if item.link:
            yield link_entry(path, item.data.decode("utf-8", "surrogateescape"))
        else:
            yield Entry(path, "file", item.executable, len(item.data), item.sha256)


def library_digest(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a whole library, over the qualified name and the digest of each of its skills.

    Names come from frontmatter and may contain any character, so each is prefixed with its length.
    """
    return _sha256(sorted(b"%d:%s%s\n" % (len(_bytes(name)), _bytes(name), of.encode()) for name, of in pairs))


def ignored(path: str) -> bool:
    """Return whether a path is, or is inside, something that is never part of a package."""
    return not IGNORED.isdisjoint(path.split("/"))


def escapes(link_path: str, target: str) -> bool:
    """Return whether a symbolic link at `link_path` may lead out of the package, judged by the texts alone.

    A `..` after a name counts as leaving, because the name may be a link itself and its parent elsewhere. Thus links
    that stay inside one by one cannot be chained into one that leaves. Backslashes are read both ways, as systems
    differ.
    """
    if not target or _ROOTED.match(target):
        return True
    depth = link_path.count("/")
    return any(_climbs(spelling.split("/"), depth) for spelling in (target, target.replace("\\", "/")))


def _climbs(segments: list[str], depth: int) -> bool:
    descended = False
    for segment in segments:
        if segment == "..":
            depth -= 1
            if descended or depth < 0:
                return True
        elif segment not in {"", "."}:
            descended = True
    return False


def _bytes(text: str) -> bytes:
    """Encode as UTF-8, including lone surrogates for undecodable file names: each text has its own bytes."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _sha256(chunks: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for chunk in chunks:
        total.update(chunk)
    return f"sha256:{total.hexdigest()}"
