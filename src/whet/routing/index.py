"""The search index: which skills have which terms, in tables of `cache.db` that can always be made anew.

Every skill, as it was at one time, has a *slot*, a number that is never given twice. What an update adds is a
*segment*: for each term, the slots and their weights, as one row. An edit writes a small segment and strikes the old
slot out; eight segments of a size are put together into one of the next, so the work of an edit does not grow with the
library, and a message is answered by reading one or a few rows for each of its terms.

Workspaces that see different skills share the tables: each has a *collection*, the slots that are its own. A skill that
several of them see is indexed once, and one that no collection has any more is removed.

Everything happens in transactions: a reader sees the index before an update or after it, and a process that is killed
in between leaves the one before.
"""

from __future__ import annotations

import json
from array import array
from contextlib import contextmanager, suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError
from whet.records import NamedTuple
from whet.skill.terms import number
from whet.store.clock import system_clock
from whet.store.database import MEMORY, Database
from whet.store.schema import CACHE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.routing.analysis import Analysis

VERSION = 5
"""Raised when what is kept of a skill changes; everything is read again then."""
_TOGETHER = 8
"""So many segments of a size become one."""
_COLLECTIONS = 8
"""Collections that are kept; beyond that, those not used for longest are removed."""
_DAY = 24 * 3600 * 10**9
SHORTEST_TYPO = 5
"""Letters of a word that may be a mistyped one; shorter ones are too much alike."""
_LONGEST_TYPO = 24
_ASKED = 500
"""Values in one query."""
_MERGED = 1 << 20
"""Bytes of postings that are put together at once."""
_TABLES = ("facts", "collections", "skills", "sequences", "segments", "postings", "spellings")


class Postings(NamedTuple):
    """The skills of a segment that have one term: their slots, ascending, and four weights for each."""

    slots: array[int]
    weights: bytes


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
    name: str
    phrases: Sequence[str]


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
        for asked in _portions(list(terms)):
            marks = ",".join("?" * len(asked))
            query = f"SELECT term, entries FROM index_postings WHERE term IN ({marks}) ORDER BY term, segment"  # noqa: S608  only marks
            for term, entries in self._tables.read(query, asked):
                parts.setdefault(term, []).append(_unpack(entries))
        return parts

    def rows(self, slots: Sequence[int]) -> dict[int, Row]:
        """What is kept of these skills."""
        query = "SELECT slot, key, name, lead, name_terms, description, body, more FROM index_skills WHERE slot IN"
        return {row[0]: _row(row) for row in self._by_slot(query, slots)}

    def sequences(self, slots: Sequence[int]) -> dict[int, array[int]]:
        """The terms of these skills in order."""
        found = self._by_slot("SELECT slot, terms FROM index_sequences WHERE slot IN", slots)
        return {slot: _numbers(terms) for slot, terms in found}

    def keys(self, slots: Sequence[int]) -> dict[int, str]:
        """The keys of the skills at these slots."""
        return dict(self._by_slot("SELECT slot, key FROM index_skills WHERE slot IN", slots))

    def spelled_like(self, word: str) -> list[str]:
        """Known words that differ from this one by a letter added, left out, changed or swapped with its neighbour."""
        cuts = list(map(number, _cuts(word)))
        marks = ",".join("?" * len(cuts))
        query = f"SELECT DISTINCT word FROM index_spellings WHERE cut IN ({marks}) ORDER BY word"  # noqa: S608  only marks
        return [other for (other,) in self._tables.read(query, cuts) if one_apart(word, other)]

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

    def join(self) -> None:
        """Put all segments together, after much was added."""
        with self._tables.write() as connection:
            segments = [segment for (segment,) in connection.execute("SELECT id FROM index_segments")]
            if len(segments) > 1:
                _merge(connection, segments)

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
                if table in ("skills", "sequences"):
                    rows = [row for row in rows if row[0] < len(alive) and alive[row[0]]]
                if rows:
                    marks = ",".join("?" * len(rows[0]))
                    target.executemany(f"INSERT INTO index_{table} VALUES ({marks})", rows)  # noqa: S608  only marks
        return made

    @property
    def worn(self) -> bool:
        """Have so many slots been struck out that starting anew is better?"""
        slots = len(self.facts()[1])
        return slots > 4096 and slots > 4096 + 4 * self._tables.read("SELECT count(*) FROM index_skills")[0][0]


_NOTHING: Mapping[str, Any] = {}


def _row(found: tuple[Any, ...]) -> Row:
    row = Row._make((*found[:-1], json.loads(found[-1]) if found[-1] else _NOTHING))
    if min(row.lead, row.name_terms, row.description, row.body) < 0:
        raise ValueError(f"a number of terms of {row.key} is below nothing")
    return row


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
        kept = skill.analysis
        more = {
            "phrases": list(skill.phrases),
            "against": sorted(kept.against),
            "counter": [sorted(terms) for terms in kept.counter],
            "examples": [sorted(terms) for terms in kept.examples],
        }
        connection.execute(
            "INSERT INTO index_skills VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                slot,
                skill.key,
                skill.stamp,
                skill.name,
                kept.lead,
                kept.name_terms,
                *kept.lengths,
                json.dumps({name: value for name, value in more.items() if value}) if any(more.values()) else "",
            ),
        )
        connection.execute("INSERT INTO index_sequences VALUES (?, ?)", (slot, kept.sequence.tobytes()))
    spellings = set[str]().union(*(skill.analysis.spellings for skill in skills))
    cuts = ((number(cut), word) for word in spellings for cut in _cuts(word))
    connection.executemany("INSERT OR IGNORE INTO index_spellings VALUES (?, ?)", cuts)
    segment = connection.execute("INSERT INTO index_segments (size) VALUES (?)", [len(skills)]).lastrowid
    found: dict[int, tuple[array[int], array[int]]] = {}
    for slot, skill in enumerate(skills, first):
        for term, weight in zip(skill.analysis.terms, array("I", skill.analysis.weights), strict=True):
            if (entry := found.get(term)) is None:
                entry = found[term] = array("I"), array("I")
            entry[0].append(slot)
            entry[1].append(weight)
    connection.executemany(
        "INSERT INTO index_postings VALUES (?, ?, ?)",
        ((term, segment, found[term][0].tobytes() + found[term][1].tobytes()) for term in sorted(found)),
    )


def _tidy(connection: sqlite3.Connection) -> None:
    """Put segments together while there are many of a size."""
    while True:
        levels: dict[int, list[int]] = {}
        for segment, size in connection.execute("SELECT id, size FROM index_segments").fetchall():
            levels.setdefault(_level(size), []).append(segment)
        full = next((found for _, found in sorted(levels.items()) if len(found) >= _TOGETHER), None)
        if full is None:
            return
        _merge(connection, full)


def _merge(connection: sqlite3.Connection, segments: Sequence[int]) -> None:
    """Put segments together without what was struck out; some hundred terms at a time, so that memory stays small."""
    alive = _used(connection)
    merged = connection.execute("INSERT INTO index_segments (size) VALUES (0)").lastrowid
    kept: set[int] = set()
    old = ",".join("?" * len(segments))
    query = f"SELECT term, SUM(LENGTH(entries)) FROM index_postings WHERE segment IN ({old}) GROUP BY term"  # noqa: S608  only marks
    sizes = array("q", chain.from_iterable(connection.execute(query, segments)))
    for asked in _by_size(zip(sizes[::2], sizes[1::2], strict=True)):
        marks = ",".join("?" * len(asked))
        query = f"SELECT term, entries FROM index_postings WHERE term IN ({marks}) AND segment IN ({old}) ORDER BY term"  # noqa: S608  only marks
        parts: dict[int, list[Postings]] = {}
        for term, entries in connection.execute(query, [*asked, *segments]):
            parts.setdefault(term, []).append(_living(_unpack(entries), alive))
        for found in parts.values():
            kept.update(*(part.slots for part in found))
        connection.executemany(
            "INSERT INTO index_postings VALUES (?, ?, ?)",
            ((term, merged, entries) for term, found in parts.items() if (entries := _join(found))),
        )
    for table, column in (("postings", "segment"), ("segments", "id")):
        connection.execute(f"DELETE FROM index_{table} WHERE {column} IN ({old})", segments)  # noqa: S608  our own names
    connection.execute("UPDATE index_segments SET size = ? WHERE id = ?", (len(kept), merged))


def _living(part: Postings, alive: bytearray) -> Postings:
    """Without those that were struck out."""
    living = [at for at, slot in enumerate(part.slots) if alive[slot]]
    if len(living) == len(part.slots):
        return part
    slots = array("I", [part.slots[at] for at in living])
    return Postings(slots, b"".join(part.weights[4 * at : 4 * at + 4] for at in living))


def _join(parts: list[Postings]) -> bytes:
    """Several segments' postings of a term as one row, by slot."""
    slots, weights = array("I"), array("I")
    for part in sorted((part for part in parts if part.slots), key=lambda part: part.slots[0]):
        slots += part.slots
        weights += array("I", part.weights)
    if any(one > other for one, other in pairwise(slots)):
        order = sorted(range(len(slots)), key=slots.__getitem__)
        slots, weights = array("I", [slots[at] for at in order]), array("I", [weights[at] for at in order])
    return slots.tobytes() + weights.tobytes()


def _level(size: int) -> int:
    """The power of eight a segment's number of skills is at."""
    return (max(size, 1).bit_length() - 1) // 3


def _unpack(entries: bytes) -> Postings:
    half = len(entries) // 2
    if not entries or len(entries) % 8:
        raise ValueError("postings are empty or cut")
    return Postings(_numbers(entries[:half]), entries[half:])


def _numbers(data: bytes) -> array[int]:
    return array("I", data)


def _cuts(word: str) -> set[str]:
    """A word, and what is left of it without one of its letters; longer words only, or half of all would be alike."""
    if not SHORTEST_TYPO <= len(word) <= _LONGEST_TYPO:
        return set()
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def one_apart(one: str, other: str) -> bool:
    """Is it one letter added, left out or changed, or two neighbours swapped?"""
    if len(one) > len(other):
        one, other = other, one
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[same:] == other[same + 1 :]
    swapped = one[same + 1 : same + 2] + one[same : same + 1] + one[same + 2 :]
    return one[same + 1 :] == other[same + 1 :] or swapped == other[same:]


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
        connection.execute("DELETE FROM index_sequences WHERE slot = ?", [slot])


def _by_size(terms: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Terms in portions whose postings are of a size; a term that everybody has may be a portion of its own."""
    portion: list[int] = []
    room = _MERGED
    for term, size in terms:
        if portion and (size > room or len(portion) == _ASKED):
            yield portion
            portion, room = [], _MERGED
        portion.append(term)
        room -= size
    if portion:
        yield portion


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
