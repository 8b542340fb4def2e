"""What was found below each root, and digests of packages, remembered between processes.

The cache only saves work: everything is checked against the disk before it is believed. Each root has a file of its own
(`whet.store.packed`), because a list reads all of it and opens no database for that; digests are rows of `cache.db`. A
file is only used when the root's *fingerprint*, everything that decides what a walk of it finds, is the same. One that
somebody changed together with its checksums is believed; whoever can write the state directory can do worse.

The first part of a file holds the directories, the second which names are in which of the others, and these hold some
cards each, in the order of the directories: a list reads them all, a skill is found by its name in one. Every state of
a root has a *version*, by which the search index knows it.

Many processes share the files, and who saves last wins. Nothing is lost by that: what a file does not know is found on
the disk, and what it knows wrongly is noticed there.
"""

from __future__ import annotations

import os
from _thread import RLock
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
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from whet.library.discovery import Bounds
    from whet.library.roots import Root
    from whet.skill.gates import Gates
    from whet.store.cache import CacheDatabase
    from whet.store.database import Database

    T = TypeVar("T")
    _Part = tuple[list[tuple[Any, ...]], dict[int, Any]]
    """Cards as they are kept: the fields before the root of each, and by its place what is behind the root, unless that
    is the usual."""

READER = "11"
"""Raised whenever the same file would be read into a different card."""
_NOTHING_MORE = (OPEN, (), (), "", "")
"""What most cards have behind their root, as far as it is kept."""
_PLAIN = (*_NOTHING_MORE, True, "", "", "")
"""All of it: a skill that asks for nothing is ready."""
_OWN, _READY = map(Card._fields.index, ("root", "ready"))
_PER_PART = 128
"""Cards in a part."""
_PER_QUERY = 500
"""Paths in a query."""
_COUNT = 5
"""Where a directory, as it is kept, says how many skills are in it."""
_DIRECTORIES, _KEYS, _CARDS = range(3)
"""The numbers of the parts; from the last one on, all hold cards."""


def fingerprint(root: Root, bounds: Bounds) -> str:
    """Everything beside the files and links themselves that decides what is found below a root, and what is scanned.

    A look that is not at a trusted project scans nothing, so what it found is not known to the look that does.
    """
    return "\0".join(
        (READER, root.kind, root.namespace, root.scope, str(root.trusted), str(bounds.depth), str(bounds.directories))
    )


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
        self._turn = RLock()
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
            numbers = [number for number, keys in enumerate(file.part(_KEYS), _CARDS) if key in keys]
            return [card for number in numbers for card in _load_cards(file.part(number), root) if card.key == key]

        found = self._read(root, bounds, look) or ()
        return tuple(sorted(found, key=lambda card: (card.real != "", card.path)))

    def containers(self, root: Root, bounds: Bounds) -> list[Container] | None:
        """The remembered directories below a root, without their skills; None when the root is not remembered."""

        def look(file: PackedFile, _head: _Head) -> list[Container]:
            return [_load_container(item, ()) for item in file.part(_DIRECTORIES)]

        return self._read(root, bounds, look)

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

    def passed(self, paths: Sequence[str]) -> dict[str, str]:
        """The stamp of each of these skills that passed the guard, by path."""

        def read(database: Database) -> list[tuple[str, str]]:
            found: list[tuple[str, str]] = []
            for at in range(0, len(paths), _PER_QUERY):
                some = paths[at : at + _PER_QUERY]
                query = "SELECT path, stamp FROM passed WHERE path IN"
                found += database.read(f"{query} ({','.join('?' * len(some))})", some)
            return found

        return dict(self.database.use(read, create=False) or ()) if paths else {}

    def save_passed(self, stamps: Mapping[str, str]) -> None:
        """Remember which skills the guard let pass, by their paths, and their stamps."""

        def write(database: Database) -> None:
            if not database.read_only:
                with database.write() as connection:
                    connection.executemany("REPLACE INTO passed VALUES (?, ?)", [*stamps.items()])

        if stamps:
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
    for item in shelf.containers.values():
        about = (item.path, item.category, item.depth, tuple(item.signature), item.description)
        containers.append((*about, len(item.cards), *plain((item.children, item.notes, item.watched))))
    cards = [*shelf.cards()]
    slices = [cards[start : start + _PER_PART] for start in range(0, len(cards), _PER_PART)]
    head = (shelf.root.path, fingerprint(shelf.root, bounds), link_bases(shelf, bounds), version, len(cards))
    keys = [tuple([card.key for card in part]) for part in slices]
    return (*head, plain(shelf.notes)), [containers, keys, *map(_keep_cards, slices)]


def _load_containers(file: PackedFile, root: Root) -> dict[str, Container]:
    cards: list[Card] = []
    parts = file.parts()
    directories, _keys = next(parts), next(parts)
    for part in parts:
        cards += _load_cards(part, root)
    containers = {}
    start = 0
    for item in directories:
        count = item[_COUNT]
        containers[item[0]] = _load_container(item, tuple(cards[start : start + count]))
        start += count
    if start != len(cards):
        raise ValueError("directories and cards do not match")
    return containers


def _load_container(item: tuple[Any, ...], cards: tuple[Card, ...]) -> Container:
    path, category, depth, seen, description, _, children, notes, watched = item
    return Container(
        path,
        category,
        depth,
        Signature._make(seen),
        cards,
        children,
        tuple([Note(*note) for note in notes]),
        tuple([(place, Signature._make(stamp)) for place, stamp in watched]),
        description,
    )


def _keep_cards(cards: list[Card]) -> _Part:
    own = [card._replace(key=card.name) if card.key == card.name else card for card in cards]  # one text, written once
    rest = {at: card[_OWN + 1 : _READY] for at, card in enumerate(cards)}
    more = {at: plain(fields) for at, fields in rest.items() if fields != _NOTHING_MORE}
    return [card[:_OWN] for card in own], more


def _load_cards(part: _Part, root: Root) -> list[Card]:
    rest, new = (root, *_PLAIN), tuple.__new__
    if {*map(len, part[0])} - {_OWN}:
        raise ValueError("a row is not a card")
    cards = [new(Card, own + rest) for own in part[0]]
    for at, more in part[1].items():
        cards[at] = _card(part[0][at], more, root)
    return cards


def _card(own: tuple[Any, ...], more: Any, root: Root) -> Card:
    kept, notes, extras, when, hint = more
    gates, remarks = _gates(kept), tuple(Note(*note) for note in notes)
    ready = True if gates is OPEN else None
    return Card._make((*own, root, gates, remarks, extras, when, hint, ready, "", "", ""))


def _gates(values: tuple[Any, ...]) -> Gates:
    from whet.skill.gates import EnvVar, Gates, Install, Setting, SkillNeed, Tool

    kinds: dict[str, Callable[..., Any]] = dict.fromkeys(("tools", "optional_tools", "fallback_for"), Tool)
    kinds |= {"env": EnvVar, "settings": Setting, "installs": Install, "skills": SkillNeed}
    gates = Gates._make(
        tuple(kinds[name](*item) for item in value) if name in kinds else value
        for name, value in zip(Gates._fields, values, strict=True)
    )
    return OPEN if gates == OPEN else gates
