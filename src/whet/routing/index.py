"""The index on disk: which skills have which terms, in one SQLite file that can always be made anew.

Every skill has a *slot*, a number that is never given twice. What an update adds is a *segment*: for each term, the
slots and their weights, as one row. An edit writes a small segment and strikes the old slot out; eight segments of a
size are put together into one of the next, so the work of an edit does not grow with the library, and a message is
answered by reading one or a few rows for each of its terms.

Everything happens in transactions: a reader sees the index before an update or after it, and a process that is killed
in between leaves the one before.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from whet.errors import FailedError
from whet.skill.terms import number

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from whet.routing.analysis import Analysis

_TOGETHER = 8
"""So many segments of a size become one."""
SHORTEST_TYPO = 5
"""Letters of a word that may be a mistyped one; shorter ones are too much alike."""
_LONGEST_TYPO = 24
_ASKED = 500
"""Values in one query."""
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE skills (
    slot INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, name TEXT NOT NULL, lead INTEGER NOT NULL,
    name_terms INTEGER NOT NULL, description INTEGER NOT NULL, body INTEGER NOT NULL, vector BLOB, more TEXT
);
CREATE TABLE sequences (slot INTEGER PRIMARY KEY, terms BLOB NOT NULL);
CREATE TABLE segments (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE postings (
    term INTEGER NOT NULL, segment INTEGER NOT NULL, entries BLOB NOT NULL, PRIMARY KEY (term, segment)
) WITHOUT ROWID;
CREATE INDEX postings_of ON postings (segment);
CREATE TABLE spellings (cut INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (cut, word)) WITHOUT ROWID;
"""


class Postings(NamedTuple):
    """The skills that have one term: their slots, ascending within a segment, and their four weights."""

    slots: np.ndarray
    weights: np.ndarray


class State(NamedTuple):
    """What tells whether something read earlier still holds."""

    origin: int
    """Another number whenever slots are given from the beginning again."""
    generation: int
    """How often it was changed since."""


class Row(NamedTuple):
    """What is kept of one skill beside its terms."""

    slot: int
    key: str
    name: str
    lead: int
    name_terms: int
    description: int
    body: int
    more: Mapping[str, Any]


class New(NamedTuple):
    """A skill to be put in, in place of the one with that key."""

    key: str
    stamp: str
    analysis: Analysis
    vector: bytes
    name: str
    phrases: Sequence[str]


class Kept(Protocol):
    """Where the tables are."""

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query."""

    def use(self) -> AbstractContextManager[sqlite3.Connection]:
        """The connection for this thread alone."""

    def write(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction."""

    def close(self) -> None:
        """Let it go."""


class Index:
    """The tables, read and written."""

    def __init__(self, path: str) -> None:
        self._kept = _in_memory() if path == ":memory:" else _on_disk(path)

    def close(self) -> None:
        """Let the file go."""
        self._kept.close()

    # reading

    @contextmanager
    def steady(self) -> Iterator[None]:
        """What is read in the block is all of one moment, whatever others write meanwhile."""
        with self._kept.use() as connection:
            connection.execute("BEGIN")
            try:
                yield
            finally:
                if connection.in_transaction:  # some failures end it
                    connection.execute("COMMIT")

    def facts(self) -> tuple[State, np.ndarray]:
        """What the index is at, and which slots are in use."""
        found = dict(self._kept.read("SELECT name, value FROM facts"))
        state = State(int(found.get("origin", 0)), int(found.get("generation", 0)))
        return state, np.frombuffer(found.get("alive", b""), dtype=np.bool_)

    def stamps(self) -> dict[str, str]:
        """The stamp of every skill that is in."""
        return dict(self._kept.read("SELECT key, stamp FROM skills"))

    def postings(self, terms: Iterable[int]) -> dict[int, Postings]:
        """Who has these terms; a term that nobody has is left out."""
        parts: dict[int, list[bytes]] = {}
        for asked in _portions(list(terms)):
            marks = ",".join("?" * len(asked))
            query = f"SELECT term, entries FROM postings WHERE term IN ({marks}) ORDER BY term, segment"  # noqa: S608  only marks
            for term, entries in self._kept.read(query, asked):
                parts.setdefault(term, []).append(entries)
        return {term: _joined(map(_unpacked, blobs)) for term, blobs in parts.items()}

    def rows(self, slots: Sequence[int]) -> dict[int, Row]:
        """What is kept of these skills."""
        query = "SELECT slot, key, name, lead, name_terms, description, body, more FROM skills WHERE slot IN"
        return {row[0]: _row(row) for row in self._by_slot(query, slots)}

    def sequences(self, slots: Sequence[int]) -> dict[int, np.ndarray]:
        """The terms of these skills in order."""
        found = self._by_slot("SELECT slot, terms FROM sequences WHERE slot IN", slots)
        return {slot: np.frombuffer(terms, dtype=np.uint32) for slot, terms in found}

    def vectors(self, beyond: int) -> tuple[list[int], list[bytes]]:
        """The slots above `beyond` that have a vector, and the vectors."""
        query = "SELECT slot, vector FROM skills WHERE slot > ? AND vector <> x'' ORDER BY slot"
        found = self._kept.read(query, [beyond])
        return [slot for slot, _ in found], [vector for _, vector in found]

    def keys(self, slots: Sequence[int]) -> dict[int, str]:
        """The keys of the skills at these slots."""
        return dict(self._by_slot("SELECT slot, key FROM skills WHERE slot IN", slots))

    def spelled_like(self, word: str) -> list[str]:
        """Known words that differ from this one by a letter added, left out, changed or swapped with its neighbour."""
        cuts = list(map(number, _cuts(word)))
        marks = ",".join("?" * len(cuts))
        query = f"SELECT DISTINCT word FROM spellings WHERE cut IN ({marks}) ORDER BY word"  # noqa: S608  only marks
        return [other for (other,) in self._kept.read(query, cuts) if _one_apart(word, other)]

    def _by_slot(self, query: str, slots: Sequence[int]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for asked in _portions(list(slots)):
            found += self._kept.read(f"{query} ({','.join('?' * len(asked))})", asked)
        return found

    # writing

    def put(self, skills: Sequence[New]) -> None:
        """Put skills in, each in place of an older one with its key, in one transaction."""
        with self._kept.write() as connection:
            fresh = [skill for skill in skills if not _is_in(connection, skill)]  # another process may be faster
            if fresh:
                _strike(connection, [skill.key for skill in fresh])
                _add(connection, fresh)

    def join(self) -> None:
        """Put all segments together, after much was added."""
        with self._kept.write() as connection:
            segments = [segment for (segment,) in connection.execute("SELECT id FROM segments")]
            if len(segments) > 1:
                _merge(connection, segments)

    def drop(self, keys: Sequence[str]) -> None:
        """Take skills out."""
        with self._kept.write() as connection:
            _strike(connection, keys)

    def clear(self) -> None:
        """Take everything out."""
        with self._kept.write() as connection:
            for table in ("facts", "skills", "sequences", "segments", "postings", "spellings"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608  our own names

    @property
    def worn(self) -> bool:
        """Have so many slots been struck out that starting anew is better?"""
        _, alive = self.facts()
        return len(alive) > 4096 + 4 * int(alive.sum())


_NOTHING: Mapping[str, Any] = {}


def _row(found: tuple[Any, ...]) -> Row:
    row = Row._make((*found[:-1], json.loads(found[-1]) if found[-1] else _NOTHING))
    if min(row.lead, row.name_terms, row.description, row.body) < 0:
        raise ValueError(f"a number of terms of {row.key} is below nothing")
    return row


def _is_in(connection: sqlite3.Connection, skill: New) -> bool:
    query = "SELECT 1 FROM skills WHERE key = ? AND stamp = ?"
    return connection.execute(query, (skill.key, skill.stamp)).fetchone() is not None


def _strike(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    alive = _alive(connection)
    for key in keys:
        found = connection.execute("DELETE FROM skills WHERE key = ? RETURNING slot", [key]).fetchone()
        if found:
            alive[found[0]] = False
            connection.execute("DELETE FROM sequences WHERE slot = ?", found)
    _settle(connection, alive)


def _add(connection: sqlite3.Connection, skills: Sequence[New]) -> None:
    alive = _alive(connection)
    first = len(alive)
    for slot, skill in enumerate(skills, first):
        kept = skill.analysis
        more = {
            "phrases": list(skill.phrases),
            "against": sorted(kept.against),
            "counter": [sorted(terms) for terms in kept.counter],
            "examples": [sorted(terms) for terms in kept.examples],
        }
        connection.execute(
            "INSERT INTO skills VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                slot,
                skill.key,
                skill.stamp,
                skill.name,
                kept.lead,
                kept.name_terms,
                *kept.lengths,
                skill.vector,
                json.dumps({name: value for name, value in more.items() if value}) if any(more.values()) else "",
            ),
        )
        connection.execute("INSERT INTO sequences VALUES (?, ?)", (slot, kept.sequence.tobytes()))
    spellings = set[str]().union(*(skill.analysis.spellings for skill in skills))
    cuts = ((number(cut), word) for word in spellings for cut in _cuts(word))
    connection.executemany("INSERT OR IGNORE INTO spellings VALUES (?, ?)", cuts)
    terms = np.concatenate([skill.analysis.terms for skill in skills])
    slots = np.repeat(np.arange(first, first + len(skills)), [len(skill.analysis.terms) for skill in skills])
    weights = np.concatenate([skill.analysis.weights for skill in skills], axis=1)
    segment = connection.execute("INSERT INTO segments (size) VALUES (?)", [len(skills)]).lastrowid
    _write(connection, segment, terms, slots.astype(np.uint32), weights)
    _settle(connection, np.concatenate([alive, np.ones(len(skills), dtype=np.bool_)]))
    _tidy(connection)


def _write(
    connection: sqlite3.Connection, segment: int | None, terms: np.ndarray, slots: np.ndarray, weights: np.ndarray
) -> None:
    """One row for each term."""
    order = np.lexsort((slots, terms))
    terms, slots, weights = terms[order], slots[order], weights[:, order]
    starts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]])) if len(terms) else np.zeros(0, dtype=int)
    ends = [*starts[1:], len(terms)]
    connection.executemany(
        "INSERT INTO postings VALUES (?, ?, ?)",
        (
            (int(terms[start]), segment, slots[start:end].tobytes() + weights[:, start:end].tobytes())
            for start, end in zip(starts, ends, strict=True)
        ),
    )


def _tidy(connection: sqlite3.Connection) -> None:
    """Put segments together while there are many of a size."""
    while True:
        levels: dict[int, list[int]] = {}
        for segment, size in connection.execute("SELECT id, size FROM segments").fetchall():
            levels.setdefault(_level(size), []).append(segment)
        full = next((found for _, found in sorted(levels.items()) if len(found) >= _TOGETHER), None)
        if full is None:
            return
        _merge(connection, full)


def _merge(connection: sqlite3.Connection, segments: Sequence[int]) -> None:
    """Put segments together without what was struck out; some hundred terms at a time, so that memory stays small."""
    alive = _alive(connection)
    merged = connection.execute("INSERT INTO segments (size) VALUES (0)").lastrowid
    kept = np.zeros(len(alive), dtype=np.bool_)
    old = ",".join("?" * len(segments))
    query = f"SELECT DISTINCT term FROM postings WHERE segment IN ({old}) ORDER BY term"  # noqa: S608  only marks
    for asked in _portions([term for (term,) in connection.execute(query, segments)]):
        marks = ",".join("?" * len(asked))
        query = f"SELECT term, entries FROM postings WHERE term IN ({marks}) AND segment IN ({old})"  # noqa: S608  only marks
        found = [(term, _unpacked(entries)) for term, entries in connection.execute(query, [*asked, *segments])]
        terms = np.concatenate([np.full(len(part.slots), term, dtype=np.uint32) for term, part in found])
        slots = np.concatenate([part.slots for _, part in found])
        weights = np.concatenate([part.weights for _, part in found], axis=1)
        living = alive[slots]
        kept[slots[living]] = True
        _write(connection, merged, terms[living], slots[living], weights[:, living])
    for table, column in (("postings", "segment"), ("segments", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN ({old})", segments)  # noqa: S608  our own names
    connection.execute("UPDATE segments SET size = ? WHERE id = ?", (int(kept.sum()), merged))


def _level(size: int) -> int:
    """The power of eight a segment's number of skills is at."""
    return (max(size, 1).bit_length() - 1) // 3


def _unpacked(entries: bytes) -> Postings:
    count = len(entries) // 8
    weights = np.frombuffer(entries, dtype=np.uint8, offset=4 * count).reshape(4, count)
    return Postings(np.frombuffer(entries, dtype=np.uint32, count=count), weights)


def _joined(parts: Iterable[Postings]) -> Postings:
    found = list(parts)
    if len(found) == 1:
        return found[0]
    if not found:
        return Postings(np.zeros(0, dtype=np.uint32), np.zeros((4, 0), dtype=np.uint8))
    slots = np.concatenate([part.slots for part in found])
    weights = np.concatenate([part.weights for part in found], axis=1)
    if (slots[1:] < slots[:-1]).any():
        order = np.argsort(slots, kind="stable")
        slots, weights = slots[order], weights[:, order]
    return Postings(slots, weights)


def _cuts(word: str) -> set[str]:
    """A word, and what is left of it without one of its letters; longer words only, or half of all would be alike."""
    if not SHORTEST_TYPO <= len(word) <= _LONGEST_TYPO:
        return set()
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _one_apart(one: str, other: str) -> bool:
    """Is it one letter added, left out or changed, or two neighbours swapped?"""
    if len(one) > len(other):
        one, other = other, one
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[same:] == other[same + 1 :]
    swapped = one[same + 1 : same + 2] + one[same : same + 1] + one[same + 2 :]
    return one[same + 1 :] == other[same + 1 :] or swapped == other[same:]


def _alive(connection: sqlite3.Connection) -> np.ndarray:
    found = connection.execute("SELECT value FROM facts WHERE name = 'alive'").fetchone()
    return np.frombuffer(found[0] if found else b"", dtype=np.bool_).copy()


def _settle(connection: sqlite3.Connection, alive: np.ndarray) -> None:
    """Write which slots are in use, and that something changed."""
    connection.execute("INSERT OR IGNORE INTO facts VALUES ('origin', random())")
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('alive', ?)", [alive.tobytes()])
    connection.execute("INSERT INTO facts VALUES ('generation', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1")


def _portions(values: list[int]) -> Iterator[list[int]]:
    return (values[at : at + _ASKED] for at in range(0, len(values), _ASKED))


@contextmanager
def damage(path: str) -> Iterator[None]:
    """Tell an index whose contents make no sense as what it is."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise FailedError(
            "state-corrupt", f"The search index {path} is damaged: {error}.", hint="Delete it; it is made anew."
        ) from error


def _on_disk(path: str) -> Kept:
    from whet.store.database import Database, Schema

    return Database.open(path, Schema(application_id=0x5748524F, migrations=(_SCHEMA,)), durable=False)


def _in_memory() -> Kept:
    import sqlite3

    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.executescript(_SCHEMA)
    return _Memory(connection)


class _Memory:
    """Tables that are gone when they are let go of."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.RLock()

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, params).fetchall()

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
