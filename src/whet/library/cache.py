"""Shelves and digests remembered between processes, in `cache.db`.

The cache only saves work: every row is checked against the disk before it is believed, a cache that is damaged or
made by another version is set aside and rebuilt, and one that cannot be opened or written is done without (`problem`
says so). Rows of a root are only used when its *fingerprint*, everything that decides what a walk of it finds, is the
same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError
from whet.library.card import Card
from whet.library.discovery import Container, Shelf
from whet.library.files import Signature
from whet.library.report import Entry
from whet.skill.model import OPEN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from whet.library.discovery import Bounds
    from whet.library.roots import Root
    from whet.skill.model import Gates
    from whet.store.clock import Clock
    from whet.store.database import Database

FILE = "cache.db"
READER = "1"
"""Raised whenever the same file would be read into a different card."""
_FORGET_AFTER = 90 * 24 * 3600 * 10**9
_BUSY_MS = 200

_SCHEMA = """
CREATE TABLE roots (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, used INTEGER NOT NULL, notes TEXT
);
CREATE TABLE containers (
    root INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE, path TEXT NOT NULL, category TEXT, depth INTEGER,
    mtime INTEGER, ctime INTEGER, size INTEGER, inode INTEGER, description TEXT, more TEXT,
    PRIMARY KEY (root, path)
) WITHOUT ROWID;
CREATE TABLE cards (
    root INTEGER NOT NULL, container TEXT NOT NULL, path TEXT NOT NULL, directory TEXT, name TEXT, key TEXT,
    description TEXT, category TEXT, kind TEXT, mtime INTEGER, ctime INTEGER, size INTEGER, inode INTEGER,
    folder INTEGER, real TEXT, more TEXT,
    PRIMARY KEY (root, container, path),
    FOREIGN KEY (root, container) REFERENCES containers ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX cards_by_key ON cards (key, root);
CREATE TABLE digests (directory TEXT PRIMARY KEY, tree TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
"""
_CARD_COLUMNS = "path, directory, name, key, description, category, kind, mtime, ctime, size, inode, folder, real, more"


def fingerprint(root: Root, bounds: Bounds) -> str:
    """Everything beside the files themselves that decides what is found below a root."""
    return "\0".join((READER, root.kind, root.namespace, str(bounds.depth), str(bounds.directories), *bounds.bases))


class Cache:
    """The cache of one state directory. Nothing here raises; what fails is in `problem`."""

    def __init__(self, state: str, clock: Clock) -> None:
        self.path = os.path.join(state, FILE)
        self.problem: Entry | None = None
        self._clock = clock
        self._database: Database | None = None
        self._broken = False

    def close(self) -> None:
        """Let the database go; the next use opens it again."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def shelf(self, root: Root, bounds: Bounds) -> Shelf | None:
        """What was found below the root the last time anybody looked."""
        shelf: Shelf | None = self._try(lambda database: _load(database, root, fingerprint(root, bounds)))
        return shelf

    def cards(self, key: str, root: Root, bounds: Bounds) -> tuple[Card, ...]:
        """The remembered skills of one name below one root, without loading the others."""
        return self._try(lambda database: _by_key(database, key, root, fingerprint(root, bounds))) or ()

    def containers(self, root: Root, bounds: Bounds) -> list[tuple[str, Signature]]:
        """The remembered directories below a root, without what is in them."""
        return self._try(lambda database: _containers(database, root, fingerprint(root, bounds))) or []

    def save(self, shelf: Shelf, before: Shelf | None, bounds: Bounds) -> bool:
        """Remember a shelf; only what differs from `before` is written."""
        print_ = fingerprint(shelf.root, bounds)
        return bool(self._try(lambda database: _save(database, shelf, before, print_, self._clock())))

    def digest(self, directory: str, tree: str) -> str:
        """The remembered digest of a package whose tree of files looks like this, or ""."""
        query = "SELECT digest FROM digests WHERE directory = ? AND tree = ?"
        rows = self._try(lambda database: database.read(query, (directory, tree)))
        return rows[0][0] if rows else ""

    def save_digest(self, directory: str, tree: str, digest: str) -> None:
        """Remember the digest of a package."""

        def write(database: Database) -> None:
            with database.write() as connection:
                connection.execute("REPLACE INTO digests VALUES (?, ?, ?)", (directory, tree, digest))

        self._try(write)

    def _open(self, *, suspect: bool = False) -> Database:
        if self._database is None:
            from whet.store.database import Schema, rebuildable

            schema = Schema(application_id=0x57484343, migrations=(_SCHEMA,))
            self._database, aside = rebuildable(
                self.path, schema, durable=False, busy_ms=_BUSY_MS, clock=self._clock, suspect=suspect
            )
            if aside:
                hint = "Nothing was lost. The file can be deleted."
                message = f"The catalogue cache could not be used; it was set aside as {aside} and rebuilt."
                self.problem = Entry("cache-rebuilt", "info", "", self.path, message, hint)
        return self._database

    def _try(self, use: Callable[[Database], Any]) -> Any:
        """Use the database; a damaged one is rebuilt once, any other failure is noted and answered with None."""
        if self._broken:
            return None
        for suspect in (False, True):
            try:
                return use(self._open(suspect=suspect))
            except FailedError as error:
                if error.code == "state-corrupt" and not suspect:
                    self.close()
                    continue
                if error.code != "state-busy":
                    self._broken = True
                    self.problem = Entry("cache-unavailable", "info", "", self.path, error.message, error.hint)
                return None
            except UnicodeEncodeError:
                return None  # a path that is not Unicode: SQLite cannot keep it, and listing it again is all it costs
        return None


def _root_id(database: Database, root: Root, print_: str) -> int | None:
    rows = database.read("SELECT id FROM roots WHERE path = ? AND fingerprint = ?", (root.path, print_))
    return rows[0][0] if rows else None


def _load(database: Database, root: Root, print_: str) -> Shelf | None:
    number = _root_id(database, root, print_)
    if number is None:
        return None
    cards: dict[str, list[Card]] = {}
    query = f"SELECT container, {_CARD_COLUMNS} FROM cards WHERE root = ?"  # noqa: S608  our own column names
    for row in database.read(query, (number,)):
        cards.setdefault(row[0], []).append(_card(row[1:], root))
    containers = {}
    query = "SELECT path, category, depth, mtime, ctime, size, inode, description, more FROM containers WHERE root = ?"
    for row in database.read(query, (number,)):
        children, notes, watched = _unpack(row[8])
        containers[row[0]] = Container(
            row[0],
            row[1],
            row[2],
            Signature(*row[3:7]),
            tuple(cards.get(row[0], ())),
            tuple(children),
            tuple(Entry(*note) for note in notes),
            tuple((path, Signature(*seen)) for path, seen in watched),
            row[7],
        )
    (notes,) = database.read("SELECT notes FROM roots WHERE id = ?", (number,))[0]
    return Shelf(root, containers, tuple(Entry(*note) for note in _parse(notes)))


def _by_key(database: Database, key: str, root: Root, print_: str) -> tuple[Card, ...]:
    number = _root_id(database, root, print_)
    query = f"SELECT {_CARD_COLUMNS} FROM cards WHERE key = ? AND root = ? ORDER BY path"  # noqa: S608  our own column names
    return () if number is None else tuple(_card(row, root) for row in database.read(query, (key, number)))


def _containers(database: Database, root: Root, print_: str) -> list[tuple[str, Signature]]:
    number = _root_id(database, root, print_)
    query = "SELECT path, mtime, ctime, size, inode FROM containers WHERE root = ?"
    return [(row[0], Signature(*row[1:])) for row in database.read(query, (number,))]


def _save(database: Database, shelf: Shelf, before: Shelf | None, print_: str, now: int) -> bool:
    with database.write() as connection:
        root = shelf.root
        connection.execute("DELETE FROM roots WHERE used < ?", (now - _FORGET_AFTER,))
        notes = _dump(shelf.notes) if shelf.notes else None
        known = connection.execute("SELECT id, fingerprint FROM roots WHERE path = ?", (root.path,)).fetchone()
        if known and (known[1] != print_ or before is None):
            connection.execute("DELETE FROM roots WHERE id = ?", (known[0],))
            known = None
        if known:
            number = known[0]
            connection.execute("UPDATE roots SET used = ?, notes = ? WHERE id = ?", (now, notes, number))
        else:
            before = None
            row = (root.path, print_, now, notes)
            insert = "INSERT INTO roots (path, fingerprint, used, notes) VALUES (?, ?, ?, ?)"
            number = connection.execute(insert, row).lastrowid
        _save_difference(connection, number, before.containers if before else {}, shelf.containers)
    return True


def _save_difference(
    connection: sqlite3.Connection, number: int, old: dict[str, Container], new: dict[str, Container]
) -> None:
    changed = [item for path, item in new.items() if old.get(path) is not item]
    gone: list[tuple[int, str, str]] = []
    fresh: list[tuple[Any, ...]] = []
    for item in changed:
        was = {card.path: card for card in old[item.path].cards} if item.path in old else {}
        fresh.extend(_card_row(number, item.path, card) for card in item.cards if was.pop(card.path, None) is not card)
        gone.extend((number, item.path, path) for path in was)
    lost = [(number, path) for path in old if path not in new]
    connection.executemany("DELETE FROM containers WHERE root = ? AND path = ?", lost)
    connection.executemany("DELETE FROM cards WHERE root = ? AND container = ? AND path = ?", gone)
    connection.executemany(
        "INSERT INTO containers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET category = excluded.category,"
        " depth = excluded.depth, mtime = excluded.mtime, ctime = excluded.ctime, size = excluded.size,"
        " inode = excluded.inode, description = excluded.description, more = excluded.more",
        (_container_row(number, item) for item in changed),
    )
    connection.executemany("REPLACE INTO cards VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", fresh)


def _container_row(number: int, item: Container) -> tuple[Any, ...]:
    more = _dump((item.children, item.notes, item.watched)) if item.children or item.notes or item.watched else None
    return (number, item.path, item.category, item.depth, *item.signature, item.description, more)


def _card_row(number: int, container: str, card: Card) -> tuple[Any, ...]:
    plain = card.gates == OPEN and not card.notes and not card.extras
    more = None if plain else _dump((card.gates, card.notes, card.extras))
    return (number, container, *card[:13], more)


def _card(row: tuple[Any, ...], root: Root) -> Card:
    if row[13] is None:
        return Card._make((*row[:13], root, OPEN, (), ()))
    from whet.skill.diagnostics import Diagnostic

    gates, notes, extras = _parse(row[13])
    remarks = tuple(Diagnostic(*note) for note in notes)
    return Card._make((*row[:13], root, _gates(gates), remarks, tuple(map(tuple, extras))))


def _gates(values: list[Any]) -> Gates:
    from whet.skill.model import EnvVar, Gates, Setting, Tool

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


def _unpack(more: str | None) -> Any:
    return _parse(more) if more else ((), (), ())


def _dump(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse(text: str | None) -> Any:
    import json

    return json.loads(text) if text else ()
