"""What a commit holds, as values: the listing of its tree, and the readers of git's batch answers.

A tree is text that a stranger wrote. Names are kept as they are, decoded without loss; that a path occurs twice, which
git itself would not write, is remembered for whoever uses it.
"""

from __future__ import annotations

import posixpath
from typing import IO, TYPE_CHECKING, NamedTuple

from whet.errors import FailedError
from whet.sources.git.running import too_large

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ENTRIES = 300_000
"""Files and directories of one commit that are looked at."""
LISTING_BYTES = 48 * 1024 * 1024
"""Bytes of one listing. A small repository can be built whose listing never ends."""

_HOPS = 16
"""Links that are followed one after another."""


class Node(NamedTuple):
    """One entry of a tree that is not itself a tree."""

    oid: str
    link: bool
    executable: bool
    module: bool
    """Another repository, of which nothing is here but the name of a commit."""


class Snapshot(NamedTuple):
    """Everything a commit holds."""

    files: Mapping[str, Node]
    trees: Mapping[str, str]
    """Directory -> its id; "" is the root."""
    doubled: tuple[str, ...]
    """Paths that occur more than once."""


def read_listing(listed: bytes, root: str) -> Snapshot:
    """The answer of `ls-tree -r -t -z` for a tree with the id `root`."""
    files: dict[str, Node] = {}
    trees = {"": root}
    doubled: list[str] = []
    lines = listed.split(b"\0")
    if len(lines) > MAX_ENTRIES:
        raise too_large(f"The repository has more than {MAX_ENTRIES:,} files and directories.")
    for line in lines:
        head, tab, name = line.partition(b"\t")
        if not tab:
            continue
        mode, kind, oid = head.decode("ascii", "replace").split()
        path = name.decode("utf-8", "surrogateescape")
        if path in files or path in trees:
            doubled.append(path)
        if kind == "tree":
            trees[path] = oid
        else:
            files[path] = Node(oid, mode == "120000", mode == "100755", kind != "blob")
    return Snapshot(files, trees, tuple(doubled))


def read_sizes(stream: IO[bytes]) -> dict[str, int]:
    """The answer of `cat-file --batch-check`: id -> size, without what is not there."""
    sizes = {}
    for line in stream:
        oid, *rest = line.decode("ascii", "replace").split()
        if len(rest) == 2:
            sizes[oid] = int(rest[1])
    return sizes


def read_contents(stream: IO[bytes]) -> dict[str, bytes]:
    """The answer of `cat-file --batch` for objects that are all there."""
    contents = {}
    while header := stream.readline():
        parts = header.decode("ascii", "replace").split()
        if len(parts) != 3:
            message = "An object of the repository is missing or damaged."
            raise FailedError("git-failed", message, hint="Try again.", object=parts[0] if parts else "")
        size = int(parts[2])
        data = stream.read(size)
        if len(data) != size or not stream.read(1):
            raise EOFError
        contents[parts[0]] = data
    return contents


def links_on(snapshot: Snapshot, path: str) -> str:
    """The first part of a path, from the root, that is a link; "" when none is."""
    parts = path.split("/")
    heads = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((head for head in heads if head in snapshot.files and snapshot.files[head].link), "")


def followed(snapshot: Snapshot, path: str, targets: Mapping[str, bytes]) -> str | None:
    """Where a path leads through the links whose targets are known; None when that is outside, or nowhere."""
    for _ in range(_HOPS):
        head = links_on(snapshot, path)
        if not head:
            return path if path in snapshot.trees or path in snapshot.files else None
        target = targets.get(snapshot.files[head].oid)
        if target is None or target.startswith(b"/"):
            return None
        text = target.decode("utf-8", "surrogateescape")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(head), text) + path[len(head) :])
        if path == ".":
            return ""
        if path == ".." or path.startswith("../"):
            return None
    return None
