"""The contents of each root and the digests of packages, cached between processes.

The cache only saves work: everything is checked against the disk before it is used. Each root has a file of its own
(`whet.store.packed`), because a list reads all of it and opens no database for that; digests are rows of `cache.db`. A
file is only used when the root's *fingerprint*, everything that affects the result of a walk, is the same. A file that
somebody changed together with its checksums is trusted; whoever can write the state directory can do worse.

The first part of a file holds the directories, the second which names are in which of the other parts, and these hold
some cards each, in the order of the directories: a list reads them all, a skill is found by its name in one. Every
state of a root has a *version*, which the search index refers to.

Many processes share the files, and the last one that saves wins. Nothing is lost: missing and wrong entries are found
by looking at the disk.
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
    """Stored cards: the fields before `root` and, by position, the fields after it if they are not the usual ones."""

READER = "11"
"""Increased whenever the same file would be read into a different card."""
_NOTHING_MORE = (OPEN, (), (), "", "")
"""The stored fields after `root` of most cards."""
_PLAIN = (*_NOTHING_MORE, True, "", "", "")
"""All fields after `root` of most cards: a skill that requires nothing is ready."""
_OWN, _READY = map(Card._fields.index, ("root", "ready"))
_PER_PART = 128
"""Cards per part."""
_PER_QUERY = 500
"""Paths per query."""
_COUNT = 5
"""Index of the number of skills in a stored directory."""
_DIRECTORIES, _KEYS, _CARDS = range(3)
"""Numbers of the parts; all parts from the last number on hold cards."""


def fingerprint(root: Root, bounds: Bounds) -> str:
    """Return everything besides files and links that affects which skills are found below a root and which are scanned.

    A look at an untrusted project scans nothing, so its result is not valid once the project is trusted.
    """
    return "\0".join(
        (READER, root.kind, root.namespace, root.scope, str(root.trusted), str(bounds.depth), str(bounds.directories))
    )


def link_bases(shelf: RootListing, bounds: Bounds) -> str:
    """Return the directories that links may lead into; "" if there are no links, because then they do not matter."""
    met = (
        any(card.real for card in shelf.cards())
        or any(real for item in shelf.containers.values() for _, real in item.children)
        or any(note.code.startswith("link-") for item in shelf.containers.values() for note in item.notes)
    )
    return "\0".join(bounds.bases) if met else ""


class _Head(NamedTuple):
    """The head of a root's file."""

    path: str
    fingerprint: str
    bases: str
    version: int
    skills: int
    """Number of skills that were found."""
    notes: tuple[tuple[Any, ...], ...]


class _Saved(NamedTuple):
    """A root listing and its version in the file."""

    version: int
    shelf: RootListing


class Cache:
    """The cache of roots and packages. Its methods never raise; failures are in the database's `problem`."""

    def __init__(self, database: CacheDatabase) -> None:
        self.database = database
        self._directory = os.path.join(os.path.dirname(database.path), DIRECTORY)
        self._turn = RLock()
        self._saved: dict[str, _Saved] = {}
        """By root, the listing last loaded or saved and its version."""

    def shelf(self, root: Root, bounds: Bounds) -> RootListing | None:
        """Return the last known contents of the root."""

        def load(file: PackedFile, head: _Head) -> _Saved:
            notes = tuple(Note(*note) for note in head.notes)
            return _Saved(head.version, RootListing(root, _load_containers(file, root), notes))

        found = self._read(root, bounds, load)
        if found is None:
            return None
        self._saved[root.path] = found
        return found.shelf

    def cards(self, key: str, root: Root, bounds: Bounds) -> tuple[Card, ...]:
        """Return the cached skills of one name below one root, without loading the others."""

        def look(file: PackedFile, _head: _Head) -> list[Card]:
            numbers = [number for number, keys in enumerate(file.part(_KEYS), _CARDS) if key in keys]
            return [card for number in numbers for card in _load_cards(file.part(number), root) if card.key == key]

        found = self._read(root, bounds, look) or ()
        return tuple(sorted(found, key=lambda card: (card.real != "", card.path)))

    def containers(self, root: Root, bounds: Bounds) -> list[Container] | None:
        """Return the cached directories below a root, without their skills; None if the root is not cached."""

        def look(file: PackedFile, _head: _Head) -> list[Container]:
            return [_load_container(item, ()) for item in file.part(_DIRECTORIES)]

        return self._read(root, bounds, look)

    def size(self, root: Root, bounds: Bounds) -> int | None:
        """Return the number of cached skills below a root; None if it is not cached."""
        return self._read(root, bounds, lambda _, head: head.skills)

    def save(self, shelf: RootListing, bounds: Bounds) -> bool:
        """Save the contents of a root. An empty root gets no file, because looking at it is as cheap."""
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
        """Return the version under which exactly this listing was saved, in any process; None if it is not saved."""
        saved = self._saved.get(shelf.root.path)
        return saved.version if saved is not None and saved.shelf is shelf else None

    def digest(self, directory: str, tree: str) -> str:
        """Return the cached digest of a package with this tree of files, or ""."""
        query = "SELECT digest FROM digests WHERE directory = ? AND tree = ?"
        rows = self.database.use(lambda database: database.read(query, (directory, tree)))
        return rows[0][0] if rows else ""

    def save_digest(self, directory: str, tree: str, digest: str) -> None:
        def write(database: Database) -> None:
            with database.write() as connection:
                connection.execute("REPLACE INTO digests VALUES (?, ?, ?)", (directory, tree, digest))

        self.database.use(write)

    def passed(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the stamps of those of these skills that passed the guard, by path."""

        def read(database: Database) -> list[tuple[str, str]]:
            found: list[tuple[str, str]] = []
            for at in range(0, len(paths), _PER_QUERY):
                some = paths[at : at + _PER_QUERY]
                query = "SELECT path, stamp FROM passed WHERE path IN"
                found += database.read(f"{query} ({','.join('?' * len(some))})", some)
            return found

        return dict(self.database.use(read, create=False) or ()) if paths else {}

    def save_passed(self, stamps: Mapping[str, str]) -> None:
        """Save the stamps of skills that passed the guard, by path."""

        def write(database: Database) -> None:
            if not database.read_only:
                with database.write() as connection:
                    connection.executemany("REPLACE INTO passed VALUES (?, ?)", [*stamps.items()])

        if stamps:
            self.database.use(write)

    def _path(self, root: Root) -> str:
        return os.path.join(self._directory, f"root-{crc32(os.fsencode(root.path)):08x}")

    def _read(self, root: Root, bounds: Bounds, read: Callable[[PackedFile, _Head], T]) -> T | None:
        """Read the file of a root; None if it is missing or cannot be used."""
        try:
            with PackedFile(self._path(root)) as file:
                head = _Head._make(file.head)
                same = (head.path, head.fingerprint) == (root.path, fingerprint(root, bounds))
                return read(file, head) if same and head.bases in ("", "\0".join(bounds.bases)) else None
        except DAMAGE:
            return None


def _packed(shelf: RootListing, bounds: Bounds, version: int) -> tuple[tuple[Any, ...], list[Any]]:
    """Return a root listing as head and parts of a file."""
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
    own = [card._replace(key=card.name) if card.key == card.name else card for card in cards]  # one string, stored once
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
