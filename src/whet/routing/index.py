"""The search index: which skills have which terms, in tables of `cache.db` that can always be made anew.

Every skill, as it was at one time, has a *slot*, a number that is never given twice. What an update adds is a
*segment*: for each term, the slots and their weights, as one row. An edit writes a small segment and strikes the old
slot out; eight small segments of a size are put together into one of the next, so the work of an edit does not grow
with the library, and a message is answered by reading one or a few rows for each of its terms.

A row of postings has a number made of its segment and its term, so that a segment is written in the order of the file.
It holds, column by column, those who have the term in name or description and then those who have it in the body alone.

Workspaces that see different skills share the tables: each has a *collection*, the slots that are its own. A skill that
several of them see is indexed once, and one that no collection has any more is removed.

Everything happens in transactions: a reader sees the index before an update or after it, and a process that is killed
in between leaves the one before.
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
    """For each term the skills that have it: of each one number, its slot counted from the first of the segment and,
    in the byte below, its weight."""

VERSION = 9
"""Raised when what is kept of a skill changes; everything is read again then."""
_TOGETHER = 8
"""So many segments of a size become one."""
_LARGE = 512
"""Skills of a segment that is left as it is: reading one more row costs less than writing everything again."""
_NARROW = 1 << 16
"""Slots that a segment may range over for each to take two bytes, counted from its first; else they take four."""
_COLLECTIONS = 8
"""Collections that are kept; beyond that, those not used for longest are removed."""
_DAY = 24 * 3600 * 10**9
SHORTEST_TYPO = 5
"""Letters of a word that may be a mistyped one; shorter ones are too much alike."""
_LONGEST_TYPO = 24
_ASKED = 500
"""Values in one query."""
_TERM = 0xFFFFFFFF
"""The part of a row's number that is its term."""
_BACKWARDS = "<"
"""Before a word that is spelled from its end."""
_LOWEST, _SLOT = (0, 1) if sys.byteorder == "little" else (7, 0)
"""Where in a number of eight bytes the lowest lies, and which half is the upper one."""
_TABLES = ("facts", "collections", "skills", "rows", "segments", "postings", "words")


class Postings(NamedTuple):
    """Skills of a segment that have one term: their slots, ascending, and the weight it has for each."""

    slots: array[int]
    weights: bytes
    described: bool
    """Whether they have it in name or description, or in the body alone."""


class _Segment(NamedTuple):
    """Where the postings of an update are, and what their slots are counted from."""

    id: int
    first: int
    last: int

    @property
    def code(self) -> str:
        """The type of slots in arrays."""
        return "H" if self.last - self.first < _NARROW else "I"


class State(NamedTuple):
    """What tells whether something read earlier still holds."""

    origin: int
    """Another number whenever slots are given from the beginning again."""
    generation: int
    """How often the collection was changed since."""


class Known(NamedTuple):
    """The skills that are in the index."""

    generation: int
    """Of the collection."""
    stamps: dict[str, str]
    """Of every skill of the collection, by its key."""
    elsewhere: set[tuple[str, str]]
    """Key and stamp of those that only other collections have."""


class Put(NamedTuple):
    """What became of a change."""

    missing: list[str]
    """Keys of skills that others had and have no more."""
    before: int
    after: int
    """The generations of the collection."""


class Row(NamedTuple):
    """What is kept of one skill beside the postings of its terms."""

    name: str
    sequence: bytes
    """The codes of the terms of name, description and body in order."""
    lead: int
    """How many of the sequence are name and description."""
    description: int
    """Terms of the description."""
    phrases: tuple[tuple[int, int, str], ...]
    """What a user may say word for word, quoted or as triggers: where in the sequence, how many terms, the words."""
    against: frozenset[int]
    """Terms of what it says it is not for, and is not also for."""
    examples: tuple[frozenset[int], ...]
    """The terms of each message that was for it."""
    counterexamples: tuple[frozenset[int], ...]
    """The terms of each message that was not for it."""


class Analysis(NamedTuple):
    """One skill, ready to be put into an index."""

    terms: list[int]
    """The numbers of its terms, those of name and description first."""
    leading: int
    """How many of them are in name or description."""
    weights: bytes
    """For each term a byte: BM25F."""
    spellings: frozenset[str]
    """The words of name and description that are kept, for correcting typing errors."""
    row: Row


class New(NamedTuple):
    """A skill to be put in, in place of the one with that key."""

    key: str
    stamp: str
    analysis: Analysis


class Index:
    """One collection, read and written."""

    def __init__(self, path: str, collection: str = "") -> None:
        self._tables = Database.open(path, CACHE, durable=False)
        self._name = collection

    def close(self) -> None:
        """Let the file go."""
        self._tables.close()

    # reading

    @contextmanager
    def steady(self) -> Iterator[None]:
        """What is read in the block is all of one moment, whatever others write meanwhile."""
        with self._tables.snapshot():
            yield

    def facts(self) -> tuple[State, bytearray]:
        """What the collection is at, and which of all slots are its own."""
        with self._tables.snapshot() as connection:  # between two moments, a collection has slots that do not exist
            return _facts(connection, self._name)

    def known(self) -> Known:
        """What there is, of the collection and of others."""
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
        """What the collection was last found to be in step with; "" when it was changed since."""
        found = self._tables.read("SELECT made_from FROM index_collections WHERE name = ?", [self._name])
        return str(found[0][0]) if found else ""

    def mark(self, made_from: str, generation: int) -> None:
        """Remember what the collection is in step with, unless somebody changed it since this generation."""
        query = "UPDATE index_collections SET made_from = ? WHERE name = ? AND generation = ?"
        with suppress(FailedError), self._tables.write() as connection:
            connection.execute(query, (made_from, self._name, generation))

    def postings(self, terms: Iterable[int]) -> dict[int, list[Postings]]:
        """Who has these terms, in each segment; a term that nobody has is left out."""
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
        """The keys of these skills, and what is kept of them."""
        query = "SELECT slot, key, data FROM index_skills JOIN index_rows USING (slot) WHERE slot IN"
        return {slot: (key, Row._make(unpack(data))) for slot, key, data in self._by_slot(query, slots)}

    def keys(self, slots: Sequence[int]) -> dict[int, str]:
        """The keys of the skills at these slots."""
        return dict(self._by_slot("SELECT slot, key FROM index_skills WHERE slot IN", slots))

    def spelled_like(self, word: str) -> list[str]:
        """Known words that differ from this one by a letter added, left out, changed or swapped with its neighbour.

        Such a word has the same beginning or the same end, of half the letters.
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
        """Change the collection in one transaction: put skills in, each in place of the one with its key, or take out.

        `shared` are key and stamp of skills that others have already, unless they are `missing` by now.
        """
        with self._tables.write() as connection:
            wanted = [(skill.key, skill.stamp) for skill in new] + [*shared]
            slots = {pair: _find(connection, pair) for pair in wanted}  # another process may be faster
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
                return Put(missing, state.generation, state.generation + 1)
            return Put(missing, state.generation, state.generation)

    def touch(self) -> None:
        """Remember that the collection is used, once a day, where anything can be remembered."""
        now = system_clock()
        found = self._tables.read("SELECT used FROM index_collections WHERE name = ?", [self._name])
        if found and abs(now - found[0][0]) > _DAY:
            with suppress(FailedError), self._tables.write() as connection:
                connection.execute("UPDATE index_collections SET used = ? WHERE name = ?", (now, self._name))

    def clear(self) -> None:
        """Take everything out, of all collections."""
        with self._tables.write() as connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM index_{table}")  # noqa: S608  our own names

    def copy(self) -> Index:
        """The collection as it is now, in memory, to try things with."""
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
        """Have so many slots been struck out that starting anew is better?"""
        slots = len(self.facts()[1])
        return slots > 4096 and slots > 4096 + 2 * self._tables.read("SELECT count(*) FROM index_skills")[0][0]


_numbers = partial(array, "Q")
_NOBODY = _numbers()


def _facts(connection: sqlite3.Connection, name: str) -> tuple[State, bytearray]:
    """What a collection is at, and for each of all slots whether it is its own: 1 or 0."""
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
    """Write a segment of so many skills, at slots from the first to the last."""
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
    """The number of skills with the term in name or description, the slots of all, and their weights."""
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
    """Put small segments together while there are many of a size."""
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
    """Put segments together without what was struck out."""
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
    for found in (described, bodied):  # segments may hold slots from before and after those of another
        found.update([(term, _numbers(sorted(entries))) for term, entries in found.items()])
    if slots:
        _write(connection, described, bodied, first, last, len(slots))


def _level(size: int) -> int:
    """The power of eight a segment's number of skills is at."""
    return (max(size, 1).bit_length() - 1) // 3


def _used(connection: sqlite3.Connection) -> bytearray:
    """Which slots any collection has."""
    masks = [mask for (mask,) in connection.execute("SELECT slots FROM index_collections")]
    used = 0
    for mask in masks:
        used |= int.from_bytes(mask, "little")
    return bytearray(used.to_bytes(max(map(len, masks), default=0), "little"))


def _settle(connection: sqlite3.Connection, name: str, generation: int, alive: bytearray) -> None:
    """Write which slots are in use, and that something changed; remove what nobody uses any more."""
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
    """Tell an index whose contents make no sense as what it is."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise FailedError(
            "state-corrupt",
            f"The search index {path} is damaged: {error}.",
            hint="Delete it; Whet rebuilds it.",
        ) from error
