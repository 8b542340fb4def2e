"""What was found below each root, and digests of packages, remembered between processes.

The cache only saves work: everything is checked against the disk before it is believed. Each root has a file of its own
(`whet.store.packed`), because a list reads all of it and opens no database for that; digests are rows of `cache.db`. A
file is only used when the root's *fingerprint*, everything that decides what a walk of it finds, is the same. One that
somebody changed together with its checksums is believed; whoever can write the state directory can do worse.

The first part of a file holds the directories, the others some cards each, by a hash of their keys: a list reads all of
them, a skill is found by its name in one. Every state of a root has a *version*, by which the search index knows it.

Many processes share the files, and who saves last wins. Nothing is lost by that: what a file does not know is found on
the disk, and what it knows wrongly is noticed there.
"""

from __future__ import annotations

import os
import threading
from zlib import crc32

from whet.errors import FailedError
from whet.library.card import Card
from whet.library.discovery import Container, RootListing
from whet.library.files import Signature
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.gates import OPEN
from whet.store.packed import DAMAGE, DIRECTORY, PackedFile, plain, write_packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from whet.library.discovery import Bounds
    from whet.library.roots import Root
    from whet.skill.gates import Gates
    from whet.store.cache import CacheDatabase
    from whet.store.database import Database

    T = TypeVar("T")
    _Kept = tuple[tuple[Any, ...], Any, int]
    """What is kept of a card: its fields before the root, those behind it unless they are the usual ones, and the
    number of its container."""

READER = "10"
"""Raised whenever the same file would be read into a different card."""
_NOTHING_MORE = (OPEN, (), (), "", "")
"""What most cards have behind their root, as far as it is kept."""
_PLAIN = (*_NOTHING_MORE, True, "", "")
"""All of it: a skill that asks for nothing is ready."""
_OWN, _READY = map(Card._fields.index, ("root", "ready"))
_PER_PART = 128
"""Cards in a part, on average."""


def fingerprint(root: Root, bounds: Bounds) -> str:
    """Everything beside the files and links themselves that decides what is found below a root."""
    return "\0".join((READER, root.kind, root.namespace, str(bounds.depth), str(bounds.directories)))


def link_bases(shelf: RootListing, bounds: Bounds) -> str:
    """Where links may lead, if any link was met; a root without links is the same whatever the other roots are."""
    met = (
        any(card.real for card in shelf.cards())
        or any(real for item in shelf.containers.values() for _, real in item.children)
        or any(note.code.startswith("link-") for item in shelf.containers.values() for note in item.notes)
    )
    return "\0".join(bounds.bases) if met else ""


class _Head(NamedTuple):
    """What a file says about its root."""

    path: str
    fingerprint: str
    bases: str
    """`link_bases`."""
    version: int
    skills: int
    """How many were found."""
    notes: tuple[tuple[Any, ...], ...]


class _Saved(NamedTuple):
    """A shelf and the version under which it is in its file."""

    version: int
    shelf: RootListing


class Cache:
    """What is remembered of roots and packages. Nothing here raises; what fails is in the database's `problem`."""

    def __init__(self, database: CacheDatabase) -> None:
        self.database = database
        self._directory = os.path.join(os.path.dirname(database.path), DIRECTORY)
        self._turn = threading.RLock()
        self._saved: dict[str, _Saved] = {}
        """By root, the shelf last loaded or saved and its version."""

    def shelf(self, root: Root, bounds: Bounds) -> RootListing | None:
        """What was found below the root the last time anybody looked."""

        def load(file: PackedFile, head: _Head) -> _Saved:
            notes = tuple(Note(*note) for note in head.notes)
            return _Saved(head.version, RootListing(root, _load_containers(file, root), notes))

        found = self._read(root, bounds, load)
        if found is None:
            return None
        self._saved[root.path] = found
        return found.shelf

    def cards(self, key: str, root: Root, bounds: Bounds) -> tuple[Card, ...]:
        """The remembered skills of one name below one root, without loading the others."""

        def look(file: PackedFile, _head: _Head) -> list[Card]:
            part: list[_Kept] = file.part(1 + _part(key, len(file) - 1))
            return [_card(own, more, root) for own, more, _ in part if own[3] == key]

        found = self._read(root, bounds, look) or ()
        return tuple(sorted(found, key=lambda card: (card.real != "", card.path)))

    def containers(self, root: Root, bounds: Bounds) -> list[tuple[str, Signature]] | None:
        """The remembered directories below a root, without what is in them; None when the root is not remembered."""
        return self._read(root, bounds, lambda file, _: [(item[0], Signature._make(item[3])) for item in file.part(0)])

    def size(self, root: Root, bounds: Bounds) -> int | None:
        """How many skills are remembered below a root; None when it is not remembered."""
        return self._read(root, bounds, lambda _, head: head.skills)

    def save(self, shelf: RootListing, bounds: Bounds) -> bool:
        """Remember a shelf. One with nothing in it is known by looking, so it has no file."""
        root = shelf.root
        version = int.from_bytes(os.urandom(7), "big") if shelf.containers or shelf.notes else 0
        path = self._path(root)
        with self._turn:
            self._saved.pop(root.path, None)
            try:
                if version:
                    write_packed(path, *_packed(shelf, bounds, version))
                elif os.path.lexists(path):
                    os.unlink(path)
            except (FailedError, OSError) as error:
                hint = error.hint if isinstance(error, FailedError) else ""
                self.database.problem = Note("cache-unavailable", "info", str(error), hint, path=self._directory)
                return False
            self._saved[root.path] = _Saved(version, shelf)
            if self.database.problem is not None and self.database.problem.path == self._directory:
                self.database.problem = None
        return True

    def version(self, shelf: RootListing) -> int | None:
        """A number that this shelf alone was saved under, whichever process loads it; None when it is not saved."""
        saved = self._saved.get(shelf.root.path)
        return saved.version if saved is not None and saved.shelf is shelf else None

    def digest(self, directory: str, tree: str) -> str:
        """The remembered digest of a package whose tree of files looks like this, or ""."""
        query = "SELECT digest FROM digests WHERE directory = ? AND tree = ?"
        rows = self.database.use(lambda database: database.read(query, (directory, tree)))
        return rows[0][0] if rows else ""

    def save_digest(self, directory: str, tree: str, digest: str) -> None:
        """Remember the digest of a package."""

        def write(database: Database) -> None:
            with database.write() as connection:
                connection.execute("REPLACE INTO digests VALUES (?, ?, ?)", (directory, tree, digest))

        self.database.use(write)

    def _path(self, root: Root) -> str:
        """The file of a root."""
        return os.path.join(self._directory, f"root-{crc32(os.fsencode(root.path)):08x}")

    def _read(self, root: Root, bounds: Bounds, read: Callable[[PackedFile, _Head], T]) -> T | None:
        """Read the file of a root; None where it is not there, or of no use."""
        try:
            with PackedFile(self._path(root)) as file:
                head = _Head._make(file.head)
                same = (head.path, head.fingerprint) == (root.path, fingerprint(root, bounds))
                return read(file, head) if same and head.bases in ("", "\0".join(bounds.bases)) else None
        except DAMAGE:
            return None


def _packed(shelf: RootListing, bounds: Bounds, version: int) -> tuple[tuple[Any, ...], list[Any]]:
    """A shelf as head and parts."""
    containers = []
    total = sum(len(item.cards) for item in shelf.containers.values())
    parts: list[list[_Kept]] = [[] for _ in range(max(1, total // _PER_PART))]
    for number, item in enumerate(shelf.containers.values()):
        more = plain((item.children, item.notes, item.watched))
        about = (item.path, item.category, item.depth, tuple(item.signature), item.description)
        containers.append((*about, len(item.cards), *more))
        for card in item.cards:
            parts[_part(card.key, len(parts))].append(_keep(card, number))
    head = (shelf.root.path, fingerprint(shelf.root, bounds), link_bases(shelf, bounds), version, total)
    return (*head, plain(shelf.notes)), [containers, *parts]


def _load_containers(file: PackedFile, root: Root) -> dict[str, Container]:
    known = file.part(0)
    cards: list[list[Card]] = [[] for _ in known]
    rest, new = (root, *_PLAIN), tuple.__new__
    for part in file.parts(1):
        for own, more, number in part:
            cards[number].append(new(Card, own + rest) if more is None else _card(own, more, root))
    containers = {}
    for found, (path, category, depth, seen, description, count, children, notes, watched) in zip(
        cards, known, strict=True
    ):
        if len(found) != count:
            raise ValueError(f"{path} does not match the cache")
        containers[path] = Container(
            path,
            category,
            depth,
            Signature._make(seen),
            tuple(found),
            children,
            tuple(Note(*note) for note in notes),
            tuple((place, Signature._make(stamp)) for place, stamp in watched),
            description,
        )
    return containers


def _part(key: str, parts: int) -> int:
    """In which of the parts the cards with this key are kept."""
    return crc32(key.encode("utf-8", "surrogatepass")) % parts


def _keep(card: Card, number: int) -> _Kept:
    rest = card[_OWN + 1 : _READY]
    own = card._replace(key=card.name) if card.key == card.name else card  # one text, written once
    return own[:_OWN], None if rest == _NOTHING_MORE else plain(rest), number


def _card(own: tuple[Any, ...], more: Any, root: Root) -> Card:
    if more is None:
        return Card._make((*own, root, *_PLAIN))
    kept, notes, extras, when, hint = more
    gates, remarks = _gates(kept), tuple(Note(*note) for note in notes)
    ready = True if gates is OPEN else None
    return Card._make((*own, root, gates, remarks, extras, when, hint, ready, "", ""))


def _gates(values: tuple[Any, ...]) -> Gates:
    from whet.skill.gates import EnvVar, Gates, Install, Setting, SkillNeed, Tool

    kinds: dict[str, Callable[..., Any]] = dict.fromkeys(("tools", "optional_tools", "fallback_for"), Tool)
    kinds |= {"env": EnvVar, "settings": Setting, "installs": Install, "skills": SkillNeed}
    gates = Gates._make(
        tuple(kinds[name](*item) for item in value) if name in kinds else value
        for name, value in zip(Gates._fields, values, strict=True)
    )
    return OPEN if gates == OPEN else gates
