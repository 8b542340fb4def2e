"""Shelves and digests remembered between processes, in `cache.db`.

The cache only saves work (`whet.store.cache`): every row is checked against the disk before it is believed. Rows of a
root are only used when its *fingerprint*, everything that decides what a walk of it finds, is the same. Checked means:
the signature fits the disk and the *proof*, a checksum, fits the row, because SQLite itself does not notice a flipped
bit. A row that somebody changed together with its proof is believed; whoever can write the state directory can do
worse.

Many processes share the file. A root carries the *version* of its last save: who saves and finds another version than
the one last seen compares with what is there now, so that no row goes missing between two that save in turns.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from whet.library.card import Card
from whet.library.discovery import Container, RootListing
from whet.library.files import Signature
from whet.notes import Note
from whet.skill.gates import OPEN
from whet.store.cache import DamagedError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from whet.library.discovery import Bounds
    from whet.library.roots import Root
    from whet.skill.gates import Gates
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.database import Database

READER = "3"
"""Raised whenever the same file would be read into a different card."""
_FORGET_AFTER = 90 * 24 * 3600 * 10**9
_NOTHING_MORE = (OPEN, (), (), "", "")
"""What most cards have behind their root, as far as it is kept."""

_CARD_COLUMNS = (
    "path, directory, name, key, description, category, kind, mtime, ctime, size, inode, folder, real, more, proof"
)
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


def _root_row(connection: sqlite3.Connection, root: Root, bounds: Bounds) -> tuple[int, int, str] | None:
    """Number, version and notes of a root whose rows may be used."""
    query = "SELECT id, version, notes FROM roots WHERE path = ? AND fingerprint = ? AND bases IN ('', ?)"
    row = connection.execute(query, (root.path, fingerprint(root, bounds), "\0".join(bounds.bases))).fetchone()
    return None if row is None else (row[0], row[1], row[2])


def _load(database: Database, root: Root, bounds: Bounds) -> _Saved | None:
    with _reading(database) as connection:
        row = _root_row(connection, root, bounds)
        if row is None:
            return None
        notes = tuple(Note(*note) for note in _parse(row[2]))
        return _Saved(row[1], RootListing(root, _load_containers(connection, row[0], root), notes))


def _load_containers(connection: sqlite3.Connection, number: int, root: Root) -> dict[str, Container]:
    cards: dict[str, list[Card]] = {}
    query = f"SELECT container, {_CARD_COLUMNS} FROM cards WHERE root = ?"  # noqa: S608  our own column names
    for row in connection.execute(query, (number,)):
        cards.setdefault(row[0], []).append(_card(row[1:], root))
    containers = {}
    query = f"SELECT {_CONTAINER_COLUMNS} FROM containers WHERE root = ?"  # noqa: S608  our own column names
    for row in connection.execute(query, (number,)):
        if row[9] != len(cards.get(row[0], ())) or row[10] != _proof(row[0], row[1], row[7], row[8]):
            raise ValueError(f"{row[0]} is not as it was saved")
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
        raise LookupError("skills in directories that are not there")
    return containers


def _by_key(database: Database, key: str, root: Root, bounds: Bounds) -> tuple[Card, ...]:
    # INDEXED BY: left to itself, SQLite walks through all cards of the root.
    rows = "cards INDEXED BY cards_by_key WHERE key = ? AND root = ? ORDER BY real != '', path"
    query = f"SELECT {_CARD_COLUMNS} FROM {rows}"  # noqa: S608  our own column names
    with _reading(database) as connection:
        row = _root_row(connection, root, bounds)
        return () if row is None else tuple(_card(found, root) for found in connection.execute(query, (key, row[0])))


def _containers(database: Database, root: Root, bounds: Bounds) -> list[tuple[str, Signature]] | None:
    query = "SELECT path, mtime, ctime, size, inode FROM containers WHERE root = ?"
    with _reading(database) as connection:
        row = _root_row(connection, root, bounds)
        if row is None:
            return None
        return [(found[0], Signature._make(found[1:])) for found in connection.execute(query, (row[0],))]


def _save(database: Database, shelf: RootListing, old: _Saved | None, bounds: Bounds, now: int) -> int:
    """Bring the rows of a root up to date and give them a new version."""
    version = int.from_bytes(os.urandom(7), "big")
    root, notes = shelf.root, _dump(shelf.notes) if shelf.notes else ""
    with database.write() as connection:
        connection.execute("DELETE FROM roots WHERE used < ?", (now - _FORGET_AFTER,))
        containers = _saved_containers(connection, root, bounds, old)
        if containers is None:
            connection.execute("DELETE FROM roots WHERE path = ?", (root.path,))
            connection.execute(
                "INSERT INTO roots (path, fingerprint, bases, version, used) VALUES (?, ?, '', 0, 0)",
                (root.path, fingerprint(root, bounds)),
            )
        connection.execute(
            "UPDATE roots SET bases = ?, version = ?, used = ?, notes = ? WHERE path = ?",
            (link_bases(shelf, bounds), version, now, notes, root.path),
        )
        (number,) = connection.execute("SELECT id FROM roots WHERE path = ?", (root.path,)).fetchone()
        _save_difference(connection, number, containers or {}, shelf.containers)
    return version


def _saved_containers(
    connection: sqlite3.Connection, root: Root, bounds: Bounds, old: _Saved | None
) -> dict[str, Container] | None:
    """What the rows of a root say now; None when they are of no use."""
    row = _root_row(connection, root, bounds)
    if row is None:
        return None
    if old is not None and old.version == row[1]:
        return old.shelf.containers
    try:
        return _load_containers(connection, row[0], root)
    except (TypeError, ValueError, LookupError):
        return None


def _save_difference(
    connection: sqlite3.Connection, number: int, old: dict[str, Container], new: dict[str, Container]
) -> None:
    changed: list[Container] = []
    gone: list[tuple[int, str, str]] = []
    fresh: list[tuple[Any, ...]] = []
    for path, item in new.items():
        before = old.get(path)
        if before == item:
            continue
        if before is None or len(before.cards) != len(item.cards) or before._replace(cards=item.cards) != item:
            changed.append(item)
        was = {card.path: card for card in before.cards} if before else {}
        fresh.extend(_card_row(number, path, card) for card in item.cards if was.pop(card.path, None) != card)
        gone.extend((number, path, place) for place in was)
    lost = [(number, path) for path in old if path not in new]
    connection.executemany("DELETE FROM containers WHERE root = ? AND path = ?", lost)
    connection.executemany("DELETE FROM cards WHERE root = ? AND container = ? AND path = ?", gone)
    connection.executemany(
        "INSERT INTO containers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET category = excluded.category,"
        " depth = excluded.depth, mtime = excluded.mtime, ctime = excluded.ctime, size = excluded.size,"
        " inode = excluded.inode, description = excluded.description, more = excluded.more,"
        " cards = excluded.cards, proof = excluded.proof",
        (_container_row(number, item) for item in changed),
    )
    connection.executemany("REPLACE INTO cards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", fresh)


def _container_row(number: int, item: Container) -> tuple[Any, ...]:
    more = _dump((item.children, item.notes, item.watched)) if item.children or item.notes or item.watched else ""
    proof = _proof(item.path, item.category, item.description, more)
    head = (number, item.path, item.category, item.depth, *item.signature)
    return (*head, item.description, more, len(item.cards), proof)


def _card_row(number: int, container: str, card: Card) -> tuple[Any, ...]:
    rest = card[14:19]
    more = "" if rest == _NOTHING_MORE else _dump(rest)
    return (number, container, *card[:13], more, _proof(*card[:7], card.real, more))


def _card(row: tuple[Any, ...], root: Root) -> Card:
    if row[14] != _proof(*row[:7], *row[12:14]):
        raise ValueError(f"{row[0]} is not as it was saved")
    if not row[13]:
        return Card._make((*row[:13], root, *_NOTHING_MORE, None, ""))
    from whet.notes import Note

    gates, notes, extras, when, hint = _parse(row[13])
    remarks = tuple(Note(*note) for note in notes)
    return Card._make((*row[:13], root, _gates(gates), remarks, tuple(map(tuple, extras)), when, hint, None, ""))


def _proof(*texts: str) -> int:
    """A checksum of the texts of a row. Raises TypeError when one is anything else, as it can be after damage."""
    return crc32("\0".join(texts).encode())


def _gates(values: list[Any]) -> Gates:
    from whet.skill.gates import EnvVar, Gates, Setting, Tool

    kinds: dict[str, Callable[..., Any]] = {"env": EnvVar, "settings": Setting}
    kinds.update(dict.fromkeys(("tools", "optional_tools", "fallback_for"), Tool))
    fields: list[Any] = []
    for name, value in zip(Gates._fields, values, strict=True):
        if name in kinds:
            fields.append(tuple(kinds[name](*item) for item in value))
        else:
            fields.append(tuple(value) if isinstance(value, list) else value)
    gates = Gates._make(fields)
    return OPEN if gates == OPEN else gates


def _dump(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _parse(text: str) -> Any:
    if not text:
        return ()
    import json

    return json.loads(text)
