"""Shelves and digests remembered between processes, in `cache.db`.

The cache only saves work (`whet.store.cache`): every row is checked against the disk before it is believed. Rows of a
root are only used when its *fingerprint*, everything that decides what a walk of it finds, is the same. Checked means:
the signature fits the disk and the *proof*, a checksum, fits the row, because SQLite itself does not notice a flipped
bit. A row that somebody changed together with its proof is believed; whoever can write the state directory can do
worse.

The cards of a root are kept in *parts* of some dozens, by a hash of their keys: a list reads few large rows, a skill
is found by its name in one of them, and an edit writes one. A part is what `marshal` makes of plain tuples, which
is read several times faster than rows of columns; its proof is checked before it is read.

Many processes share the file. A root carries the *version* of its last save: who saves and finds another version than
the one last seen compares with what is there now, so that no row goes missing between two that save in turns.
"""

from __future__ import annotations

import marshal
import os
import threading
from contextlib import contextmanager
from zlib import crc32

from whet.library.card import Card
from whet.library.discovery import Container, RootListing
from whet.library.files import Signature
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.gates import OPEN
from whet.store.cache import DamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from whet.library.discovery import Bounds
    from whet.library.roots import Root
    from whet.skill.gates import Gates, Install
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.database import Database

    _Kept = tuple[tuple[Any, ...], str, str]
    """What is kept of a card: its fields before the root as they are, those behind it as JSON, and its container."""

READER = "9"
"""Raised whenever the same file would be read into a different card."""
_FORGET_AFTER = 90 * 24 * 3600 * 10**9
_NOTHING_MORE = (OPEN, (), (), "", "")
"""What most cards have behind their root, as far as it is kept."""
_PLAIN = (*_NOTHING_MORE, True, "", "")
"""All of it: a skill that asks for nothing is ready."""
_OWN, _READY = map(Card._fields.index, ("root", "ready"))
_PER_PART = 32
_FEWEST, _MOST = _PER_PART // 4, _PER_PART * 2
"""Cards in a part, on average; beyond these bounds everything is divided anew."""
_FORMAT = 4
"""Of `marshal`: every Python that Whet runs on reads and writes it."""
_CONTAINER_COLUMNS = "path, category, depth, mtime, ctime, size, inode, description, more, cards, proof"


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


class Cache:
    """What is remembered of roots and packages. Nothing here raises; what fails is in the database's `problem`."""

    def __init__(self, database: CacheDatabase, clock: Clock) -> None:
        self.database = database
        self._clock = clock
        self._turn = threading.RLock()
        self._saved: dict[str, _Saved] = {}
        """By root, the shelf last loaded or saved and its version."""

    def shelf(self, root: Root, bounds: Bounds) -> RootListing | None:
        """What was found below the root the last time anybody looked."""
        found: _Saved | None = self.database.use(lambda database: _load(database, root, bounds))
        if found is None:
            return None
        self._saved[root.path] = found
        return found.shelf

    def cards(self, key: str, root: Root, bounds: Bounds) -> tuple[Card, ...]:
        """The remembered skills of one name below one root, without loading the others."""
        return self.database.use(lambda database: _by_key(database, key, root, bounds)) or ()

    def containers(self, root: Root, bounds: Bounds) -> list[tuple[str, Signature]] | None:
        """The remembered directories below a root, without what is in them; None when the root is not remembered."""
        found: list[tuple[str, Signature]] | None = self.database.use(
            lambda database: _containers(database, root, bounds)
        )
        return found

    def size(self, root: Root, bounds: Bounds) -> int | None:
        """About how many skills are remembered below a root, from one row; None when it is not remembered."""

        def ask(database: Database) -> int | None:
            with _reading(database) as connection:
                row = _root_row(connection, root, bounds)
                return None if row is None else row.parts * _PER_PART

        size: int | None = self.database.use(ask, create=False)
        return size

    def save(self, shelf: RootListing, before: RootListing | None, bounds: Bounds) -> bool:
        """Remember a shelf; only what differs from `before` is written, if that is the one loaded or saved last."""
        with self._turn:
            old = self._saved.pop(shelf.root.path, None)
            if old is not None and old.shelf is not before:
                old = None
            version: int | None = self.database.use(lambda database: _save(database, shelf, old, bounds, self._clock()))
            if version is not None:
                self._saved[shelf.root.path] = _Saved(version, shelf)
        return version is not None

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


class _Saved(NamedTuple):
    """A shelf and the version under which its rows are in the database."""

    version: int
    shelf: RootListing


@contextmanager
def _reading(database: Database) -> Iterator[sqlite3.Connection]:
    """One state of the database for several queries; what cannot be understood is damage."""
    with database.snapshot() as connection:
        try:
            yield connection
        except UnicodeEncodeError:
            raise
        except (TypeError, ValueError, LookupError) as error:
            raise DamagedError from error


class _RootRow(NamedTuple):
    """A root whose rows may be used."""

    number: int
    version: int
    parts: int
    notes: str


def _root_row(connection: sqlite3.Connection, root: Root, bounds: Bounds) -> _RootRow | None:
    query = "SELECT id, version, parts, notes FROM roots WHERE path = ? AND fingerprint = ? AND bases IN ('', ?)"
    row = connection.execute(query, (root.path, fingerprint(root, bounds), "\0".join(bounds.bases))).fetchone()
    return None if row is None else _RootRow._make(row)


def _load(database: Database, root: Root, bounds: Bounds) -> _Saved | None:
    with _reading(database) as connection:
        row = _root_row(connection, root, bounds)
        if row is None:
            return None
        notes = tuple(Note(*note) for note in _parse(row.notes))
        return _Saved(row.version, RootListing(root, _load_containers(connection, row.number, root), notes))


def _load_containers(connection: sqlite3.Connection, number: int, root: Root) -> dict[str, Container]:
    cards: dict[str, list[Card]] = {}
    rest, new = (root, *_PLAIN), tuple.__new__
    for data, proof in connection.execute("SELECT data, proof FROM cards WHERE root = ?", (number,)):
        for own, more, container in _read_part(data, proof):
            cards.setdefault(container, []).append(new(Card, own + rest) if not more else _card(own, more, root))
    containers = {}
    query = f"SELECT {_CONTAINER_COLUMNS} FROM containers WHERE root = ?"  # noqa: S608  our own column names
    for row in connection.execute(query, (number,)):
        if row[9] != len(cards.get(row[0], ())) or row[10] != _proof(row[0], row[1], row[7], row[8]):
            raise ValueError(f"{row[0]} does not match the cache")
        children, notes, watched = _parse(row[8]) or ((), (), ())
        containers[row[0]] = Container(
            row[0],
            row[1],
            row[2],
            Signature(*row[3:7]),
            tuple(cards.pop(row[0], ())),
            tuple((path, real) for path, real in children),
            tuple(Note(*note) for note in notes),
            tuple((path, Signature(*seen)) for path, seen in watched),
            row[7],
        )
    if cards:
        raise LookupError("skills in directories that do not exist")
    return containers


def _part(key: str, parts: int) -> int:
    """Where the cards with this key are kept."""
    return crc32(key.encode("utf-8", "surrogatepass")) % parts


def _read_part(data: bytes, proof: int) -> Sequence[_Kept]:
    if crc32(data) != proof:
        raise DamagedError
    found: Sequence[_Kept] = marshal.loads(data)  # noqa: S302  checked to be what was written
    return found


def _by_key(database: Database, key: str, root: Root, bounds: Bounds) -> tuple[Card, ...]:
    with _reading(database) as connection:
        row = _root_row(connection, root, bounds)
        if row is None or not row.parts:
            return ()
        query, place = "SELECT data, proof FROM cards WHERE root = ? AND part = ?", (row.number, _part(key, row.parts))
        part = connection.execute(query, place).fetchone()
        found = [] if part is None else [_card(own, more, root) for own, more, _ in _read_part(*part) if own[3] == key]
        return tuple(sorted(found, key=lambda card: (card.real != "", card.path)))


def _containers(database: Database, root: Root, bounds: Bounds) -> list[tuple[str, Signature]] | None:
    query = "SELECT path, mtime, ctime, size, inode FROM containers WHERE root = ?"
    with _reading(database) as connection:
        row = _root_row(connection, root, bounds)
        if row is None:
            return None
        return [(found[0], Signature._make(found[1:])) for found in connection.execute(query, (row.number,))]


def _save(database: Database, shelf: RootListing, old: _Saved | None, bounds: Bounds, now: int) -> int:
    """Bring the rows of a root up to date and give them a new version."""
    version = int.from_bytes(os.urandom(7), "big")
    root, notes = shelf.root, _dump(shelf.notes) if shelf.notes else ""
    with database.write() as connection:
        connection.execute("DELETE FROM roots WHERE used < ?", (now - _FORGET_AFTER,))
        row = _root_row(connection, root, bounds)
        containers = _saved_containers(connection, row, root, old) if row else None
        if row is None or containers is None:
            connection.execute("DELETE FROM roots WHERE path = ?", (root.path,))
            query = "INSERT INTO roots (path, fingerprint, bases, version, used, parts) VALUES (?, ?, '', 0, 0, 0)"
            number = connection.execute(query, (root.path, fingerprint(root, bounds))).lastrowid or 0
            row, containers = _RootRow(number, 0, 0, ""), {}
        parts = _save_difference(connection, row, containers, shelf.containers)
        connection.execute(
            "UPDATE roots SET bases = ?, version = ?, used = ?, parts = ?, notes = ? WHERE id = ?",
            (link_bases(shelf, bounds), version, now, parts, notes, row.number),
        )
    return version


def _saved_containers(
    connection: sqlite3.Connection, row: _RootRow, root: Root, old: _Saved | None
) -> dict[str, Container] | None:
    """What the rows of a root say now; None when they are of no use."""
    if old is not None and old.version == row.version:
        return old.shelf.containers
    try:
        return _load_containers(connection, row.number, root)
    except (TypeError, ValueError, LookupError, DamagedError):
        return None


def _save_difference(
    connection: sqlite3.Connection, row: _RootRow, old: dict[str, Container], new: dict[str, Container]
) -> int:
    """Write what differs; the number of parts."""
    changed: list[Container] = []
    gone: list[Card] = []
    fresh: list[tuple[Card, str]] = []
    for path, item in new.items():
        before = old.get(path)
        if before is item:
            continue
        if before is None or len(before.cards) != len(item.cards) or before._replace(cards=item.cards) != item:
            changed.append(item)
        was = {card.path: card for card in before.cards} if before else {}
        for card in item.cards:
            if was.get(card.path) == card:
                del was[card.path]
            else:
                fresh.append((card, path))
        gone.extend(was.values())
    lost = [path for path in old if path not in new]
    gone.extend(card for path in lost for card in old[path].cards)
    connection.executemany("DELETE FROM containers WHERE root = ? AND path = ?", ((row.number, path) for path in lost))
    connection.executemany(
        "INSERT INTO containers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET category = excluded.category,"
        " depth = excluded.depth, mtime = excluded.mtime, ctime = excluded.ctime, size = excluded.size,"
        " inode = excluded.inode, description = excluded.description, more = excluded.more,"
        " cards = excluded.cards, proof = excluded.proof",
        (_container_row(row.number, item) for item in changed),
    )
    total, parts = sum(len(item.cards) for item in new.values()), row.parts
    if not _FEWEST * parts <= total <= _MOST * parts:
        parts = 1 << max(0, (total - 1).bit_length() - (_PER_PART - 1).bit_length()) if total else 0
        gone, fresh = [], [(card, path) for path, item in new.items() for card in item.cards]
        connection.execute("DELETE FROM cards WHERE root = ?", (row.number,))
    _save_cards(connection, row.number, parts, gone, fresh)
    return parts


def _save_cards(
    connection: sqlite3.Connection, number: int, parts: int, gone: Sequence[Card], fresh: Sequence[tuple[Card, str]]
) -> None:
    """Write the parts that these cards left or came to."""
    changes: dict[int, dict[str, _Kept | None]] = {}
    for card in gone:
        changes.setdefault(_part(card.key, parts), {})[card.path] = None
    for card, container in fresh:
        changes.setdefault(_part(card.key, parts), {})[card.path] = _kept_card(card, container)
    for part, changed in changes.items():
        row = connection.execute("SELECT data, proof FROM cards WHERE root = ? AND part = ?", (number, part)).fetchone()
        cards = {kept[0][0]: kept for kept in _read_part(*row)} if row else {}
        data = marshal.dumps([kept for kept in {**cards, **changed}.values() if kept], _FORMAT)
        connection.execute("REPLACE INTO cards VALUES (?, ?, ?, ?)", (number, part, data, crc32(data)))


def _container_row(number: int, item: Container) -> tuple[Any, ...]:
    more = _dump((item.children, item.notes, item.watched)) if item.children or item.notes or item.watched else ""
    proof = _proof(item.path, item.category, item.description, more)
    head = (number, item.path, item.category, item.depth, *item.signature)
    return (*head, item.description, more, len(item.cards), proof)


def _kept_card(card: Card, container: str) -> _Kept:
    rest = card[_OWN + 1 : _READY]
    more = "" if rest == _NOTHING_MORE else _dump(rest)
    own = card._replace(key=card.name) if card.key == card.name else card  # one text, written once
    return own[:_OWN], more, container


def _card(own: tuple[Any, ...], more: str, root: Root) -> Card:
    if not more:
        return Card._make((*own, root, *_PLAIN))
    kept, notes, extras, when, hint = _parse(more)
    gates, remarks = _gates(kept), tuple(Note(*note) for note in notes)
    ready = True if gates is OPEN else None
    return Card._make((*own, root, gates, remarks, tuple(map(tuple, extras)), when, hint, ready, "", ""))


def _proof(*texts: str) -> int:
    """A checksum of the texts of a row. Raises TypeError when one is anything else, as it can be after damage."""
    return crc32("\0".join(texts).encode())


def _gates(values: list[Any]) -> Gates:
    from whet.skill.gates import EnvVar, Gates, Setting, SkillNeed, Tool

    kinds: dict[str, Callable[..., Any]] = {
        "env": EnvVar,
        "settings": Setting,
        "installs": _read_install,
        "skills": SkillNeed,
    }
    kinds.update(dict.fromkeys(("tools", "optional_tools", "fallback_for"), Tool))
    fields: list[Any] = []
    for name, value in zip(Gates._fields, values, strict=True):
        if name in kinds:
            fields.append(tuple(kinds[name](*item) for item in value))
        else:
            fields.append(tuple(value) if isinstance(value, list) else value)
    gates = Gates._make(fields)
    return OPEN if gates == OPEN else gates


def _read_install(*values: Any) -> Install:
    from whet.skill.gates import Install

    return Install._make(tuple(value) if isinstance(value, list) else value for value in values)


def _dump(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _parse(text: str) -> Any:
    if not text:
        return ()
    import json

    return json.loads(text)
