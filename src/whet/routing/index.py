"""The search index: the skills that have each term, in tables of `cache.db` that can always be rebuilt.

Every state of a skill has a *slot*, a number that is never reused. An update adds a *segment*: for each term, the
slots and their weights, as one row. An edit writes a small segment and removes the old slot; eight small segments of
a size are merged into one of the next size, so the work of an edit does not grow with the library, and a query reads
one or a few rows for each of its terms.

The number of a row of postings consists of its segment and its term, so that a segment is written in file order. It
holds, column by column, the skills with the term in the name or description, then those with it only in the body.

Workspaces that see different skills share the tables: each has a *collection* of slots. A skill in several
collections is indexed once, and a skill in no collection is removed.

Everything happens in transactions: a reader sees the index before or after an update, and a process that is killed
during an update leaves the index as it was.
"""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice

from whet.errors import FailedError
from whet.records import NamedTuple
from whet.skill.names import is_slip
from whet.store.clock import system_clock
from whet.store.database import MEMORY, Database
from whet.store.packed import pack, unpack
from whet.store.schema import CACHE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    _Entries = defaultdict[int, array[int]]
    """The skills of each term, each as one number: its slot counted from the first of the segment and, in the lowest
    byte, its weight."""

VERSION = 10
"""The format version; everything is read again when it changes."""
_TOGETHER = 8
"""Number of segments of a size that are merged."""
_LARGE = 512
"""Number of skills from which a segment is not merged: reading one more row costs less than rewriting everything."""
_NARROW = 1 << 16
"""Range of slots that a segment stores in two bytes each, counted from its first; a wider one takes four."""
_COLLECTIONS = 8
"""Maximum number of collections; the least recently used are removed."""
_DAY = 24 * 3600 * 10**9
SHORTEST_TYPO = 5
"""Minimum length of a word that may be corrected; shorter words are too similar to each other."""
_LONGEST_TYPO = 24
_ASKED = 500
"""Maximum number of values in one query."""
_TERM = 0xFFFFFFFF
"""The bits of a row number that are its term."""
_BACKWARDS = "<"
"""Prefix of a word that is stored in reverse."""
_LOWEST, _SLOT = (0, 1) if sys.byteorder == "little" else (7, 0)
"""The position of the lowest byte in eight bytes, and of the upper half."""
_TABLES = ("facts", "collections", "skills", "rows", "segments", "postings", "words")


class Postings(NamedTuple):
    """The skills of a segment that have a term: their slots, ascending, and the weight of the term for each."""

    slots: array[int]
    weights: bytes
    described: bool
    """Whether the term is in the name or description, not only in the body."""


class _Segment(NamedTuple):
    """The postings of an update, and the range of their slots."""

    id: int
    first: int
    last: int

    @property
    def code(self) -> str:
        """The array type code of slots."""
        return "H" if self.last - self.first < _NARROW else "I"


class State(NamedTuple):
    """The state of a collection, to detect changes."""

    origin: int
    """A random number that changes whenever the index is started anew."""
    generation: int
    """Number of changes of the collection since then."""


class Known(NamedTuple):
    """The skills in the index."""

    generation: int
    """The generation of the collection."""
    stamps: dict[str, str]
    """The stamp of every skill of the collection, by key."""
    elsewhere: set[tuple[str, str]]
    """Key and stamp of skills that only other collections have."""


class Put(NamedTuple):
    """The result of a change."""

    missing: list[str]
    """Keys of shared skills that other collections no longer have."""
    changed: bool
    """Whether the collection has a new generation, the next one."""


class Row(NamedTuple):
    """The stored data of a skill besides the postings of its terms."""

    name: str
    sequence: bytes
    """The codes of the terms of name, description and body, in order."""
    lead: int
    """Number of terms in the sequence that are name and description."""
    description: int
    """Number of terms in the description."""
    phrases: tuple[tuple[int, int, str], ...]
    """Quoted phrases and triggers: position in the sequence, number of terms, and text."""
    against: frozenset[int]
    """Terms of the exclusions of the skill that are not also its subject."""
    examples: tuple[frozenset[int], ...]
    """The terms of each message that the skill was right for."""
    counterexamples: tuple[frozenset[int], ...]
    """The terms of each message that the skill was wrong for."""


class Analysis(NamedTuple):
    """The index data of one skill."""

    terms: list[int]
    """The numbers of its terms, those of name and description first."""
    leading: int
    """Number of terms in the name or description."""
    weights: bytes
    """The BM25F weight of each term, one byte each."""
    spellings: frozenset[str]
    """The words of name and description, for correcting typing errors."""
    row: Row


class New(NamedTuple):
    """A skill to add, replacing the one with the same key."""

    key: str
    stamp: str
    analysis: Analysis


class Index:
    """A collection of the index."""

    def __init__(self, path: str, collection: str = "") -> None:
        self._tables = Database.open(path, CACHE, durable=False)
        self._name = collection

    def close(self) -> None:
        """Close the file."""
        self._tables.close()

    # reading

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Return a context in which all reads see one state, even if other processes write."""
        with self._tables.snapshot():
            yield

    def facts(self) -> tuple[State, bytearray]:
        """Return the state of the collection, and for each slot whether the collection has it."""
        with self._tables.snapshot() as connection:  # without a snapshot, a collection may have slots that do not exist
            return _facts(connection, self._name)

    def known(self) -> Known:
        """Return the skills of this collection and of others."""
        with self._tables.snapshot() as connection:
            state, alive = _facts(connection, self._name)
            found = Known(state.generation, {}, set())
            for slot, key, stamp in connection.execute("SELECT slot, key, stamp FROM index_skills"):
                if slot < len(alive) and alive[slot]:
                    found.stamps[key] = stamp
                else:
                    found.elsewhere.add((key, stamp))
            return found

    def made_from(self) -> str:
        """Return the stored `made_from` value; empty if the collection was changed since."""
        found = self._tables.read("SELECT made_from FROM index_collections WHERE name = ?", [self._name])
        return str(found[0][0]) if found else ""

    def mark(self, made_from: str, generation: int) -> None:
        """Store the `made_from` value, unless the collection was changed since this generation."""
        query = "UPDATE index_collections SET made_from = ? WHERE name = ? AND generation = ?"
        with suppress(FailedError), self._tables.write() as connection:
            connection.execute(query, (made_from, self._name, generation))

    def postings(self, terms: Iterable[int]) -> dict[int, list[Postings]]:
        """Return the postings of each term, by segment; a term that no skill has is left out."""
        parts: dict[int, list[Postings]] = {}
        wanted = [*terms]
        if not wanted:
            return parts
        with self._tables.snapshot() as connection:
            segments = {segment.id: segment for segment in _segments(connection)}
            for asked in _portions([_id(segment, term) for segment in segments for term in wanted]):
                marks = ",".join("?" * len(asked))
                query = f"SELECT id, entries FROM index_postings WHERE id IN ({marks})"  # noqa: S608  only marks
                for row, entries in connection.execute(query, asked):
                    parts.setdefault(row & _TERM, []).extend(_unpack(segments[row >> 32], entries))
        return parts

    def rows(self, slots: Sequence[int]) -> dict[int, tuple[str, Row]]:
        """Return the keys and rows of the skills at these slots."""
        query = "SELECT slot, key, data FROM index_skills JOIN index_rows USING (slot) WHERE slot IN"
        return {slot: (key, Row._make(unpack(data))) for slot, key, data in self._by_slot(query, slots)}

    def keys(self, slots: Sequence[int]) -> dict[int, str]:
        """Return the keys of the skills at these slots."""
        return dict(self._by_slot("SELECT slot, key FROM index_skills WHERE slot IN", slots))

    def spelled_like(self, word: str) -> list[str]:
        """Return known words that differ by one letter added, left out, changed or swapped with its neighbour.

        Such words share the first half or the last half of their letters.
        """
        if not SHORTEST_TYPO <= len(word) <= _LONGEST_TYPO:
            return []
        half = (len(word) - 1) // 2
        found: set[str] = set()
        query = "SELECT word FROM index_words WHERE word BETWEEN ? AND ?"
        for start in (word[:half], _BACKWARDS + word[: -half - 1 : -1]):
            for (other,) in self._tables.read(query, (start, f"{start}~")):
                found.add(other[:0:-1] if other[0] == _BACKWARDS else other)
        return sorted(other for other in found if is_slip(word, other))

    def _by_slot(self, query: str, slots: Sequence[int]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for asked in _portions(list(slots)):
            found += self._tables.read(f"{query} ({','.join('?' * len(asked))})", asked)
        return found

    # writing

    def put(self, new: Sequence[New] = (), shared: Sequence[tuple[str, str]] = (), gone: Sequence[str] = ()) -> Put:
        """Change the collection in one transaction: add or replace skills, and remove the keys in `gone`.

        `shared` are key and stamp of skills that other collections have; `missing` in the result lists those now gone.
        """
        with self._tables.write() as connection:
            wanted = [(skill.key, skill.stamp) for skill in new] + [*shared]
            slots = {pair: _find(connection, pair) for pair in wanted}  # another process may have added them
            fresh = [skill for skill in new if slots[skill.key, skill.stamp] is None]
            missing = [pair[0] for pair in shared if slots[pair] is None]
            state, alive = _facts(connection, self._name)
            before = bytes(alive)
            for key in {*(key for key, _ in wanted), *gone}.difference(missing):
                for (slot,) in connection.execute("SELECT slot FROM index_skills WHERE key = ?", [key]):
                    alive[slot] = 0
            for there in slots.values():
                if there is not None:
                    alive[there] = 1
            if fresh:
                _add(connection, fresh, len(alive))
                alive += bytes([1]) * len(fresh)
            if alive != before:
                _settle(connection, self._name, state.generation + 1, alive)
                _tidy(connection)
            return Put(missing, alive != before)

    def touch(self) -> None:
        """Record once a day that the collection is in use; a write error is ignored."""
        now = system_clock()
        found = self._tables.read("SELECT used FROM index_collections WHERE name = ?", [self._name])
        if found and abs(now - found[0][0]) > _DAY:
            with suppress(FailedError), self._tables.write() as connection:
                connection.execute("UPDATE index_collections SET used = ? WHERE name = ?", (now, self._name))

    def clear(self) -> None:
        """Remove all skills of all collections."""
        with self._tables.write() as connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM index_{table}")  # noqa: S608  our own names

    def copy(self) -> Index:
        """Return a copy of the collection in memory for experiments."""
        made = Index(MEMORY, self._name)
        with self._tables.snapshot() as source, made._tables.write() as target:
            alive = self.facts()[1]
            for table in _TABLES:
                rows = source.execute(f"SELECT * FROM index_{table}").fetchall()  # noqa: S608  our own names
                if table in ("skills", "rows"):
                    rows = [row for row in rows if row[0] < len(alive) and alive[row[0]]]
                if rows:
                    marks = ",".join("?" * len(rows[0]))
                    target.executemany(f"INSERT INTO index_{table} VALUES ({marks})", rows)  # noqa: S608  only marks
        return made

    @property
    def worn(self) -> bool:
        """Whether so many slots are removed that a rebuild is better."""
        slots = len(self.facts()[1])
        return slots > 4096 and slots > 4096 + 2 * self._tables.read("SELECT count(*) FROM index_skills")[0][0]


_numbers = partial(array, "Q")
_NOBODY = _numbers()


def _facts(connection: sqlite3.Connection, name: str) -> tuple[State, bytearray]:
    """Return the state of a collection, and for each slot 1 if the collection has it, else 0."""
    found = dict(connection.execute("SELECT name, value FROM index_facts").fetchall())
    query = "SELECT generation, slots FROM index_collections WHERE name = ?"
    generation, mask = connection.execute(query, [name]).fetchone() or (0, b"")
    alive = bytearray(int(found.get("slots", 0)))
    if len(mask) > len(alive):
        raise ValueError(f"a collection has {len(mask):,} slots, and there are {len(alive):,}")
    alive[: len(mask)] = mask
    return State(int(found.get("origin", 0)), int(generation)), alive


def _find(connection: sqlite3.Connection, pair: tuple[str, str]) -> int | None:
    found = connection.execute("SELECT slot FROM index_skills WHERE key = ? AND stamp = ?", pair).fetchone()
    return None if found is None else int(found[0])


def _add(connection: sqlite3.Connection, skills: Sequence[New], first: int) -> None:
    """Add skills at the slots from `first` on."""
    for slot, skill in enumerate(skills, first):
        connection.execute("INSERT INTO index_skills VALUES (?, ?, ?)", (slot, skill.key, skill.stamp))
        connection.execute("INSERT INTO index_rows VALUES (?, ?)", (slot, pack(tuple(skill.analysis.row))))
    spellings = set[str]().union(*(skill.analysis.spellings for skill in skills))
    known = [word for word in spellings if SHORTEST_TYPO - 1 <= len(word) <= _LONGEST_TYPO + 1]
    words = sorted((*known, *(_BACKWARDS + word[::-1] for word in known)))
    connection.executemany("INSERT OR IGNORE INTO index_words VALUES (?)", ((word,) for word in words))
    described: _Entries = defaultdict(_numbers)
    bodied: _Entries = defaultdict(_numbers)
    for at, skill in enumerate(skills):
        high, weighed = at << 32, zip(skill.analysis.terms, skill.analysis.weights, strict=True)
        for term, weight in islice(weighed, skill.analysis.leading):
            described[term].append(high | weight)
        for term, weight in weighed:
            bodied[term].append(high | weight)
    _write(connection, described, bodied, first, first + len(skills) - 1, len(skills))


def _write(
    connection: sqlite3.Connection, described: _Entries, bodied: _Entries, first: int, last: int, size: int
) -> None:
    """Write a segment of `size` skills at the slots from `first` to `last`."""
    query = "INSERT INTO index_segments (first, last, size) VALUES (?, ?, ?)"
    segment = _Segment(connection.execute(query, (first, last, size)).lastrowid or 0, first, last)
    rows = (
        (_id(segment.id, term), _pack(segment.code, described.get(term, _NOBODY), bodied.get(term, _NOBODY)))
        for term in sorted(described.keys() | bodied.keys())
    )
    connection.executemany("INSERT INTO index_postings VALUES (?, ?)", rows)


def _segments(connection: sqlite3.Connection) -> list[_Segment]:
    query = "SELECT id, first, last FROM index_segments ORDER BY id"
    return [_Segment(*map(int, row)) for row in connection.execute(query).fetchall()]


def _id(segment: int, term: int) -> int:
    return segment << 32 | term


def _pack(code: str, described: array[int], bodied: array[int]) -> bytes:
    """Pack the number of skills with the term in name or description, the slots of all, and their weights."""
    entries, leading = (described + bodied).tobytes(), len(described)
    slots = array(code, [leading, *array("I", entries)[_SLOT::2]])
    return slots.tobytes() + entries[_LOWEST::8]


def _unpack(segment: _Segment, entries: bytes) -> list[Postings]:
    size = array(segment.code).itemsize
    leading = array(segment.code, entries[:size])[0]
    count, rest = divmod(len(entries) - size, size + 1)
    if rest or not 0 <= leading <= count or not count:
        raise ValueError("postings are empty or cut")
    slots, at = array(segment.code, entries[size : size * (count + 1)]), size * (count + 1)
    if segment.first:
        slots = array("I", map(segment.first.__add__, slots))
    described = Postings(slots[:leading], entries[at : at + leading], described=True)
    bodied = Postings(slots[leading:], entries[at + leading :], described=False)
    return [part for part in (described, bodied) if part.slots]


def _tidy(connection: sqlite3.Connection) -> None:
    """Merge small segments while there are many of a size."""
    while True:
        levels: dict[int, list[int]] = {}
        query = "SELECT id, size FROM index_segments WHERE size < ?"
        for segment, size in connection.execute(query, [_LARGE]).fetchall():
            levels.setdefault(_level(size), []).append(segment)
        full = next((found for _, found in sorted(levels.items()) if len(found) >= _TOGETHER), None)
        if full is None:
            return
        _merge(connection, full)


def _merge(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Merge segments without removed slots."""
    alive = _used(connection)
    segments = [segment for segment in _segments(connection) if segment.id in ids]
    first, last = min(segment.first for segment in segments), max(segment.last for segment in segments)
    described: _Entries = defaultdict(_numbers)
    bodied: _Entries = defaultdict(_numbers)
    slots: set[int] = set()
    for segment in sorted(segments, key=lambda segment: segment.first):
        span = (_id(segment.id, 0), _id(segment.id + 1, 0) - 1)
        for row, packed in connection.execute("SELECT id, entries FROM index_postings WHERE id BETWEEN ? AND ?", span):
            for part in _unpack(segment, packed):
                living = [(slot, weight) for slot, weight in zip(part.slots, part.weights, strict=True) if alive[slot]]
                if living:
                    kept = (described if part.described else bodied)[row & _TERM]
                    kept.extend((slot - first) << 32 | weight for slot, weight in living)
                    slots.update(slot for slot, _ in living)
        connection.execute("DELETE FROM index_postings WHERE id BETWEEN ? AND ?", span)
        connection.execute("DELETE FROM index_segments WHERE id = ?", [segment.id])
    for found in (described, bodied):  # the slot ranges of segments may overlap
        found.update([(term, _numbers(sorted(entries))) for term, entries in found.items()])
    if slots:
        _write(connection, described, bodied, first, last, len(slots))


def _level(size: int) -> int:
    """Return the logarithm of a segment's size to base eight, rounded down."""
    return (max(size, 1).bit_length() - 1) // 3


def _used(connection: sqlite3.Connection) -> bytearray:
    """Return for each slot whether any collection has it."""
    masks = [mask for (mask,) in connection.execute("SELECT slots FROM index_collections")]
    used = 0
    for mask in masks:
        used |= int.from_bytes(mask, "little")
    return bytearray(used.to_bytes(max(map(len, masks), default=0), "little"))


def _settle(connection: sqlite3.Connection, name: str, generation: int, alive: bytearray) -> None:
    """Store the slots and generation of a collection; remove old collections and the skills that no collection has."""
    before = _used(connection)
    connection.execute("INSERT OR IGNORE INTO index_facts VALUES ('origin', random())")
    connection.execute("INSERT OR REPLACE INTO index_facts VALUES ('slots', ?)", [len(alive)])
    connection.execute(
        "INSERT OR REPLACE INTO index_collections VALUES (?, ?, ?, ?, '')",
        (name, system_clock(), generation, bytes(alive)),
    )
    connection.execute(
        "DELETE FROM index_collections WHERE name <> ? AND name NOT IN"
        " (SELECT name FROM index_collections WHERE name <> ? ORDER BY used DESC LIMIT ?)",
        (name, name, _COLLECTIONS - 1),
    )
    after = _used(connection)
    unused = [slot for slot, used in enumerate(before) if used and not (slot < len(after) and after[slot])]
    for slot in unused:
        connection.execute("DELETE FROM index_skills WHERE slot = ?", [slot])
        connection.execute("DELETE FROM index_rows WHERE slot = ?", [slot])


def _portions(values: list[int]) -> Iterator[list[int]]:
    return (values[at : at + _ASKED] for at in range(0, len(values), _ASKED))


@contextmanager
def damage(path: str) -> Iterator[None]:
    """Raise FailedError for errors that invalid index data causes."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise FailedError(
            "state-corrupt",
            f"The search index {path} is damaged: {error}.",
            hint="Delete it; Whet rebuilds it.",
        ) from error
