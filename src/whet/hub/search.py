"""Search on a hub: our own ranker over the newest version of every skill.

Each process has its own index. Before every search it is updated from new entries of the log, so that replicas never
answer from an old state. A file stores it while the hub is down.

Exact names come first, with one exception: a skill whose name is easily confused with that of a popular skill of
another owner does not lead by its name alone; the popular skill comes before it.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter, OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from whet.errors import UsageError
from whet.hub.cursors import make_cursor, read_cursor
from whet.hub.lookalikes import looks_like
from whet.hub.tokens import sees
from whet.routing.router import Entry, Router
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.hub.database import Database, Row, Transaction
    from whet.hub.tokens import Identity
    from whet.values import Json

T = TypeVar("T")
MOST = 100
"""Largest number of results."""
POPULAR = 50
"""Downloads from which on a skill is popular, independent of its tier."""
_MUCH = 10
"""Factor of downloads by which a popular skill must exceed a similar one."""
_TIERS = ("community", "verified", "official")
_EXACT = ("this is its name",)
_MEANT = ("it is popular, and its name is almost the same",)
_REMEMBERED = 256
_REMEMBERED_LISTS = 16
"""Lists of all skills are long, so few are cached."""
_MANY = 500
"""Entries of the log from which on the whole index is compared with the database."""
_ROWS = """SELECT o.name, s.name, s.private, o.tier, s.downloads, s.document, v.id, v.digest
    FROM skills s JOIN owners o ON s.owner = o.id LEFT JOIN versions v ON v.skill = s.id AND v.version = s.latest"""


class Facets(NamedTuple):
    """Required values of results; "" for any."""

    owner: str = ""
    tier: str = ""
    verdict: str = ""
    topic: str = ""


ANYTHING = Facets()


class Listed(NamedTuple):
    """A skill in the search index."""

    owner: str
    name: str
    private: bool
    tier: str
    downloads: int
    document: str
    version: int | None
    """Id of the newest version; None if none can be installed."""
    digest: str
    verdict: str
    topics: tuple[str, ...]

    @property
    def key(self) -> str:
        """Key in the index."""
        return f"{self.owner}/{self.name}"

    @property
    def standing(self) -> tuple[int, int]:
        """Sort key among skills of the same name."""
        return _TIERS.index(self.tier), self.downloads

    @property
    def popular(self) -> bool:
        """Whether users look for it by its name."""
        return self.tier != _TIERS[0] or self.downloads >= POPULAR

    def overshadows(self, other: Listed) -> bool:
        """Return whether this is a popular skill that the other one is easily confused with."""
        return (
            self.popular
            and self.owner != other.owner
            and self.standing[0] >= other.standing[0]
            and (self.standing[0] > other.standing[0] or self.downloads >= _MUCH * other.downloads)
            and looks_like(self.name, other.name)
        )


class Result(NamedTuple):
    """A skill that was found."""

    skill: Listed
    score: float
    why: tuple[str, ...]


class _Open:
    """The keys of the skills that a caller may find."""

    def __init__(self, skills: Mapping[str, Listed], who: Identity, facets: Facets) -> None:
        self.skills, self._who, self._facets = skills, who, facets

    def __contains__(self, key: object) -> bool:
        found = self.skills.get(str(key))
        return found is not None and found.version is not None and _fits(found, self._who, self._facets)


class SearchIndex:
    """The search index of one process. Thread-safe."""

    def __init__(self, database: Database, path: str) -> None:
        self._database = database
        self._path = path
        self._router: Router | None = None
        self._lock = threading.Lock()
        self.skills: dict[str, Listed] = {}
        """Every skill by OWNER/NAME, including private ones."""
        self._names: dict[str, frozenset[str]] = {}
        self._popular: set[str] = set()
        self._next = 0
        self._remembered: OrderedDict[object, tuple[Result, ...]] = OrderedDict()
        self._lists: OrderedDict[object, tuple[list[Listed], Json]] = OrderedDict()

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            if self._router is not None:
                self._router.close()
                self._router = None

    def catch_up(self) -> Router:
        """Update the index from the database."""
        with self._lock:
            if self._router is None:
                self._router, self._next = Router(self._path), 0
                self.skills.clear()
            size = self._database.read(lambda ask: ask.get("SELECT size FROM log_head WHERE id = 1"))[0]
            if size != self._next or not self.skills:
                self._step(self._router)
            return self._router

    def count_downloads(self) -> None:
        """Update the popularity of skills: downloads are not in the log."""
        router = self.catch_up()
        sql = "SELECT o.name, s.name, s.downloads FROM skills s JOIN owners o ON s.owner = o.id WHERE s.downloads > 0"
        rows = self._database.read(lambda ask: ask.all(sql))
        with self._lock:
            for owner, name, downloads in rows:
                known = self.skills.get(f"{owner}/{name}")
                if known is not None and known.downloads != downloads and router is self._router:
                    self.skills[known.key] = again = known._replace(downloads=downloads)
                    self._remembered.clear()
                    self._lists.clear()
                    if again.popular:
                        self._popular.add(again.key)

    def search(self, who: Identity, query: str, facets: Facets = ANYTHING) -> tuple[Result, ...]:
        """Return the skills that best match a query, at most `MOST`, best first."""
        router = self.catch_up()
        asked = self._next, who.scopes, query, facets
        with self._lock:
            if (known := self._remembered.get(asked)) is not None:
                return known
        allowed = _Open(self.skills, who, facets)
        named = self._named(query, allowed)
        ranked = {found.key: found for found in router.find(query, MOST, allowed=allowed)}
        results: list[Result] = []
        for key in dict.fromkeys([*named, *ranked]):
            score, why = (ranked[key].score, ranked[key].why) if key in ranked else (0.0, ())
            results.append(Result(allowed.skills[key], score, (*named.get(key, ()), *why)))
        found = tuple(results[:MOST])
        self._remember(self._remembered, asked, found, _REMEMBERED)
        return found

    def _remember(self, known: OrderedDict[object, T], asked: object, found: T, most: int) -> None:
        with self._lock:
            known[asked] = found
            while len(known) > most:
                known.popitem(last=False)

    def page(self, who: Identity, query: str, facets: Facets, limit: int, cursor: str) -> Json:
        """Return a page of results, and counts of all results by owner, tier, verdict and topic."""
        text = " ".join(query.split())
        if not 1 <= len(text) <= 200:
            raise UsageError("bad-request", "`q` must have 1 to 200 characters.", hint="Say what the skill is for.")
        found = self.search(who, text, facets)
        start = _offset(cursor)
        scored = ({"score": each.score, "why": list(each.why)} for each in found[start : start + limit])
        skills = [each.skill for each in found]
        page = _page(skills, _count(skills), start, limit)
        return {**page, "skills": [{**skill, **score} for skill, score in zip(page["skills"], scored, strict=True)]}

    def browse(self, who: Identity, facets: Facets, limit: int, cursor: str) -> Json:
        """Return a page of all skills that `who` may see, the most downloaded first, with the same counts."""
        self.catch_up()
        asked = self._next, who.scopes, facets
        known = self._lists.get(asked)
        if known is None:
            allowed = _Open(self.skills, who, facets)
            found = [skill for key, skill in [*allowed.skills.items()] if key in allowed]
            found.sort(key=lambda each: (-each.downloads, each.key))
            known = found, _count(found)
            self._remember(self._lists, asked, known, _REMEMBERED_LISTS)
        return _page(*known, _offset(cursor), limit)

    def overshadowing(self, owner: str, name: str) -> list[Listed]:
        """Return the popular public skills that a skill of this name is easily confused with."""
        self.catch_up()
        own = Listed(owner, name, False, _TIERS[0], 0, "", None, "", "", ())
        own = self.skills.get(own.key, own)
        found = (self.skills[key] for key in sorted(self._popular))
        return [other for other in found if not other.private and other.overshadows(own)]

    def nearest(self, who: Identity, texts: Texts, count: int, without: str = "") -> list[Listed]:
        """Return the skills that `who` may see which are nearest to a text."""
        router = self.catch_up()
        allowed = _Open(self.skills, who, ANYTHING)
        message = f"{texts.name.replace('-', ' ')}. {texts.description}"
        found = router.find(message, count + 1, allowed=allowed)
        return [allowed.skills[each.key] for each in found if each.key != without][:count]

    def sample(self, who: Identity, count: int) -> list[Listed]:
        """Return some skills that `who` may see, the same every time."""
        self.catch_up()
        allowed = _Open(self.skills, who, ANYTHING)
        keys = sorted(allowed.skills)
        step = max(1, len(keys) // count)
        return [allowed.skills[key] for key in keys[::step] if key in allowed][:count]

    def texts(self, skills: Iterable[Listed]) -> dict[str, Texts]:
        """Return the texts of skills."""

        def ask(transaction: Transaction) -> dict[str, Texts]:
            return {each.key: load_texts(transaction, each.version) for each in skills if each.version is not None}

        return self._database.read(ask)

    def _named(self, query: str, allowed: _Open) -> dict[str, tuple[str, ...]]:
        """Return the skills with the requested name; a popular skill comes before one that looks like it."""
        wanted = query.lower().replace(" ", "-")
        if wanted in allowed:
            return {wanted: _EXACT}
        exact = [allowed.skills[key] for key in self._names.get(wanted, ()) if key in allowed]
        exact.sort(key=lambda each: (-each.standing[0], -each.standing[1], each.owner))
        popular = [allowed.skills[key] for key in self._popular if key in allowed]
        shadows = [other for other in popular if any(other.overshadows(each) for each in exact)]
        shadows.sort(key=lambda each: (-each.standing[0], -each.standing[1], each.owner))
        return {**dict.fromkeys((each.key for each in shadows), _MEANT), **{each.key: _EXACT for each in exact}}

    def _step(self, router: Router) -> None:
        """Read the changes since the last update; everything if there are many."""

        def ask(transaction: Transaction) -> tuple[int, list[Row], set[str] | None]:
            size: int = transaction.get("SELECT size FROM log_head WHERE id = 1")[0]
            if not self.skills or size - self._next > _MANY:
                return size, transaction.all(_ROWS), None
            sql = "SELECT DISTINCT owner, name FROM log_entries WHERE number >= ? AND number < ? AND owner <> ''"
            changed = transaction.all(sql, self._next, size)
            whole = {owner for owner, name in changed if not name}
            rows = [row for owner in whole for row in transaction.all(f"{_ROWS} WHERE o.name = ?", owner)]
            for owner, name in changed:
                if name and owner not in whole:
                    rows += transaction.all(f"{_ROWS} WHERE o.name = ? AND s.name = ?", owner, name)
            return size, rows, {f"{row[0]}/{row[1]}" for row in rows}

        size, rows, changed = self._database.read(ask)
        found = [_listed(row) for row in rows]
        entries = [
            Entry(each.key, each.digest, partial(self._read, each.version))
            for each in found
            if each.version is not None
        ]
        if changed is None:
            router.update(entries)
        else:
            old = {key: known.digest for key in changed if (known := self.skills.get(key)) and known.version}
            router.change(
                [entry for entry in entries if old.get(entry.key) != entry.stamp],
                [each.key for each in found if each.version is None],
            )
        if changed is None:
            skills, names, popular = dict[str, Listed](), dict[str, frozenset[str]](), set[str]()
        else:
            skills, names, popular = dict(self.skills), self._names, set(self._popular)
        for each in found:
            skills[each.key] = each
            names[each.name] = names.get(each.name, frozenset()) | {each.key}
            (popular.add if each.popular else popular.discard)(each.key)
        self.skills, self._names, self._popular = skills, names, popular
        self._next = size
        self._remembered.clear()
        self._lists.clear()

    def _read(self, version: int | None) -> Texts:
        return self._database.read(lambda ask: load_texts(ask, version))


def show_skill(document: str, downloads: int) -> Json:
    """Return the entry of a skill in lists: its stored text, and its downloads, which change too often to be stored."""
    return {**json.loads(document), "downloads": downloads}


def load_texts(transaction: Transaction, version: int | None) -> Texts:
    """Return the text of a version."""
    row = transaction.get("SELECT data FROM texts WHERE version = ?", version)
    said = json.loads(zlib.decompress(bytes(row[0])))
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    return Texts(**fields)


def _listed(row: Row) -> Listed:
    owner, name, private, tier, downloads, document, version, digest = row
    said = json.loads(document)
    return Listed(
        owner,
        name,
        bool(private),
        tier,
        downloads,
        document,
        version,
        digest or "",
        said["verdict"] or "",
        tuple(said["topics"]),
    )


def _fits(skill: Listed, who: Identity, facets: Facets) -> bool:
    return (
        (not skill.private or sees(who, skill.owner, skill.name))
        and facets.owner in ("", skill.owner)
        and facets.tier in ("", skill.tier)
        and facets.verdict in ("", skill.verdict)
        and (not facets.topic or facets.topic in skill.topics)
    )


def _count(skills: Sequence[Listed]) -> Json:
    """Count the skills by value."""
    return {
        "owner": dict(Counter(skill.owner for skill in skills).most_common(20)),
        "tier": dict(Counter(skill.tier for skill in skills)),
        "verdict": dict(Counter(skill.verdict for skill in skills)),
        "topic": dict(Counter(topic for skill in skills for topic in skill.topics).most_common(20)),
    }


def _page(found: Sequence[Listed], facets: Json, start: int, limit: int) -> Json:
    """Return `limit` of the results from `start` on, and the counts of all."""
    end = start + limit
    return {
        "skills": [show_skill(skill.document, skill.downloads) for skill in found[start:end]],
        "facets": facets,
        "next": make_cursor(str(end)) if end < len(found) else None,
    }


def _offset(cursor: str) -> int:
    if not cursor:
        return 0
    [text] = read_cursor(cursor, 1)
    if not text.isdecimal() or len(text) > 4:
        raise UsageError("bad-request", "The cursor is not valid.", hint="Start again without a cursor.")
    return int(text)
