"""Search for skills by words or by name: all sources at once, one ranking.

The words of a skill decide how well it fits (`whet.skill.rank`). Trust only orders skills that fit equally well, so
that the vendor's `pdf` comes before a stranger's. A source that does not answer is reported and fails no other.
`inspect` reports the skills that a source left out of its listing.

The last answer of a source is cached (`Listings`), so that a second search costs nothing and works offline. The answers
are rows of `cache.db`: a damaged or outdated one is ignored and replaced by the next answer.

A bare name (`pdf`, `pdf@^1.2`) means the one skill of that name in all taps. If several have it, the user must choose;
if a source that may be meant did not answer, the name resolves to nothing: otherwise an attacker who publishes a skill
under the name of a private one would only have to wait.
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

from whet.errors import AmbiguousError, FailedError, NotFoundError, UsageError, WhetError
from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill import rank as ranking
from whet.skill.names import closest, is_ascii_name, is_slip, key
from whet.skill.versions import is_range
from whet.sources.model import Offer
from whet.sources.refs.parse import read_ref, ref_text, shown
from whet.sources.taps import REGISTRIES
from whet.store.clock import iso, system_clock
from whet.store.concurrency import together
from whet.values import Json, answer_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Sequence

    from whet.library.roots import Place
    from whet.sources.model import FetchContext, Ref, SearchableSource, Source
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.database import Database

MAX_COUNT = 64
MAX_BYTES = 4 * 1024 * 1024
MAX_TOTAL_BYTES = 32 * 1024 * 1024

_FORMAT = 2
_HOUR = 3600 * 1_000_000_000
_TRUST = ("org", "local", "trusted", "agent-created", "directory", "community")
_VOUCHED = ("org", "local", "trusted")
_BARE = compile_late(r"([A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?)(?:@(.+))?")
_LISTED = 10
ASKED = (*REGISTRIES, "marketplace")
"""Kinds of sources that are searched with the query; all others list their skills."""


class Kept(NamedTuple):
    """A cached answer of a source."""

    offers: tuple[Offer, ...]
    time: int
    """Time of the answer, in nanoseconds since 1970."""
    fresh: bool
    """Whether it is less than an hour old, so that the source need not be asked again."""


class Listings:
    """The cache of answers of one user."""

    __slots__ = ("_clock", "_database", "_place")

    def __init__(self, database: CacheDatabase, place: Place, clock: Clock = system_clock) -> None:
        self._database = database
        self._place = place
        self._clock = clock

    def find(self, key: str) -> Kept | None:
        """Return the answer cached under a key, however old; None if there is none that can be read."""
        query = "SELECT document FROM listings WHERE key = ?"
        rows = self._database.use(lambda database: database.read(query, (_row_key(key),)), create=False)
        try:
            return self._kept(json.loads(rows[0][0]), key) if rows else None
        except (ValueError, TypeError, KeyError, RecursionError, WhetError):
            return None

    def keep(self, key: str, revision: str, offers: Iterable[Offer]) -> bool:
        """Cache an answer and delete the oldest ones if there are too many. Return False if it is too large.

        Raises FailedError if it cannot be written.
        """
        rows = [[*offer._replace(ref=None), ref_text(offer.ref)] for offer in offers]  # type: ignore[arg-type]  # the text stands for it
        now = self._clock()
        document = {"format": _FORMAT, "key": key, "revision": revision, "time": now, "offers": rows}
        text = json.dumps(document, separators=(",", ":"))
        if len(text) > MAX_BYTES:
            return False

        def write(database: Database) -> bool:
            with database.write() as connection:
                connection.execute("REPLACE INTO listings VALUES (?, ?, ?)", (_row_key(key), now, text))
                _prune(connection, _row_key(key))
            return True

        if not self._database.use(write):
            problem = self._database.problem
            message = problem.message if problem else f"{self._database.path} is in use."
            raise FailedError("state-failed", message, hint=problem.hint if problem else "Try again.")
        return True

    def _kept(self, document: Any, key: str) -> Kept:
        if document["format"] != _FORMAT or document["key"] != key:
            raise ValueError("it is for another query")
        offers = tuple(_offer(row, self._place) for row in document["offers"])
        time = document["time"]
        return Kept(offers, time, 0 <= self._clock() - time < _HOUR)


def _row_key(key: str) -> str:
    """Return a key as the database stores it."""
    return sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _prune(connection: sqlite3.Connection, newest: str) -> None:
    """Delete the oldest rows until the cache is within its limits."""
    query = "SELECT key, length(document) FROM listings ORDER BY key = ? DESC, time DESC, key"
    left = MAX_TOTAL_BYTES
    for number, (name, size) in enumerate(connection.execute(query, (newest,)).fetchall(), 1):
        left -= size
        if number > MAX_COUNT or (left < 0 and number > 1):
            connection.execute("DELETE FROM listings WHERE key = ?", (name,))


def _offer(row: Any, place: Place) -> Offer:
    """Read a cached offer; raise an error for anything else."""
    *values, text = row
    offer = Offer(*values)._replace(ref=read_ref(text, place))
    texts = (offer.name, offer.description, offer.revision, offer.marker, offer.version, offer.digest, offer.group)
    if not all(isinstance(value, str) for value in texts) or not isinstance(offer.hidden, bool):
        raise TypeError("a value has the wrong type")
    return offer


class Hit(NamedTuple):
    """A skill that was found."""

    offer: Offer
    tap: str
    """Name of the source in the search."""
    trust: str
    install: str
    """Text to pass to `whet install`."""

    def to_json(self) -> Json:
        """Return the hit as JSON."""
        offer = self.offer
        return {
            "name": offer.name,
            "description": offer.description,
            "version": offer.version,
            "group": offer.group,
            "tap": self.tap,
            "trust": self.trust,
            "install": self.install,
            "source": ref_text(offer.ref),
        }


class SearchResult(NamedTuple):
    """The result of a search."""

    query: str
    skills: tuple[Hit, ...]
    notes: tuple[Note, ...]
    """Notes about sources that did not answer, or whose cached results are shown."""
    asked: int
    """Number of sources that answered."""

    def to_json(self) -> Json:
        """Return the result as JSON."""
        return {**answer_json(self), "count": len(self.skills)}


class _Look(NamedTuple):
    """The result of asking one source."""

    tap: str
    ref: Ref
    offers: tuple[Offer, ...] = ()
    notes: tuple[Note, ...] = ()
    answered: bool = True
    kept: bool = False
    """Whether the answer is cached."""


class _Question(NamedTuple):
    """The question for a source that has too many skills to list."""

    text: str
    """Key of the question in the cache."""
    ask: Callable[[SearchableSource], tuple[Offer, ...]]


class Finder(NamedTuple):
    """The parts that a search needs."""

    reach: FetchContext
    open_source: Callable[[Ref, FetchContext], Source]
    trust: Callable[[Ref], str]
    cache: CacheDatabase
    clock: Clock = system_clock

    def look(
        self, sources: Iterable[tuple[str, Ref]], question: _Question, *, offline: bool = False, fresh: bool = False
    ) -> list[_Look]:
        """Ask each source for its skills; `fresh` ignores cached answers."""
        listings = Listings(self.cache, self.reach.place, self.clock)
        wanted = list(dict.fromkeys(sources))
        looks = together(
            lambda source: _look(*source, question, self, listings, offline=offline, fresh=fresh),
            wanted,
            end=self.reach.cancelled.set,
        )
        self.reach.check_cancelled()
        if looks and not any(look.answered for look in looks):
            notes = tuple(note for look in looks for note in look.notes)
            raise FailedError(
                "no-source-answered",
                f"None of {len(looks)} sources answered. {notes[0].message}",
                hint=f"{notes[0].hint or 'Check the network and try again.'} `whet find` searches the skills you have.",
                notes=[note.to_json() for note in notes],
            )
        return looks


def search(
    finder: Finder, sources: Iterable[tuple[str, Ref]], query: str, limit: int, *, offline: bool = False
) -> SearchResult:
    """Return the skills of the named sources that fit a query, best first.

    Each source is asked at most once an hour; `offline` asks only those on this disk. Raises FailedError
    `no-source-answered` if every source failed.
    """
    _check_limit(limit)
    question = _Question(f"{limit} {key(query)}", lambda source: source.search(query, limit))
    looks = finder.look(sources, question, offline=offline)
    notes = tuple(note for look in looks for note in look.notes)
    return SearchResult(query, _hits(looks, query, finder.trust)[:limit], notes, sum(look.answered for look in looks))


class Resolved(NamedTuple):
    """The meaning of a bare name."""

    source: Ref
    """The source, in the requested version."""
    path: str
    """The skill to choose from it; "" if the reference names it."""
    notes: tuple[Note, ...]


def split_name(text: str) -> tuple[str, str] | None:
    """Split a bare name into name and version range; return None for other texts."""
    found = _BARE.fullmatch(text.strip())
    return (found[1], found[2] or "") if found and (not found[2] or is_range(found[2])) else None


def resolve(finder: Finder, text: str, sources: Sequence[tuple[str, Ref]], own: Collection[str]) -> Resolved:
    """Resolve a bare name to one skill; `own` are the taps that the user added.

    Raises AmbiguousError `several-sources`, NotFoundError `name-not-found`, and FailedError `source-silent` if a source
    that may be meant did not answer.
    """
    name, version = split_name(text) or (text, "")
    question = _Question(f"= {key(name)}", lambda source: source.find(name))
    looks = finder.look(sources, question)
    if not _same(looks, name) and any(look.kept for look in looks):
        looks = finder.look(sources, question, fresh=True)
    same = _same(looks, name)
    hits = [Hit(offer, look.tap, finder.trust(offer.ref), _written(look, offer, version)) for look, offer in same]
    silent = [look for look in looks if not look.answered]
    if not hits:
        raise _not_found(looks, silent, name)
    if len(hits) > 1:
        refs = [hit.install for hit in hits]
        raise AmbiguousError(
            "several-sources",
            f"{len(hits)} sources have a skill named {name}: {', '.join(refs[:_LISTED])}.",
            hint=f"Name the source: `whet install {quote(refs[0])}`.",
            candidates=refs,
            descriptions=[hit.offer.description for hit in hits],
            name=text,
        )
    (hit,), ((look, offer),) = hits, same
    vouched = look.tap in own or hit.trust in _VOUCHED
    if missed := next((other for other in silent if other.tap in own or not vouched), None):
        message = f"{missed.notes[0].message} It may have the {name} that you mean; {hit.install} also has one."
        raise FailedError(
            "source-silent", message, hint=f"To install that one, run `whet install {quote(hit.install)}`."
        )
    notes = tuple(note for each in looks for note in each.notes)
    if not _is_known(offer.ref, hit.trust):
        notes += _lookalikes(looks, hit, finder.trust)
    if offer.ref._replace(path="", ref="") != look.ref._replace(path="", ref="") or look.ref.kind in ASKED:
        return Resolved(offer.ref._replace(ref=version or offer.ref.ref), "", notes)
    return Resolved(look.ref._replace(ref=version or look.ref.ref), offer.ref.path or name, notes)


def _same(looks: Sequence[_Look], name: str) -> list[tuple[_Look, Offer]]:
    """Return the skills with this name; if there are none, those in a directory of this name."""
    called: dict[str, tuple[_Look, Offer]] = {}
    placed: dict[str, tuple[_Look, Offer]] = {}
    for look in looks:
        for offer in look.offers:
            if key(offer.name) == key(name):
                called.setdefault(ref_text(offer.ref), (look, offer))
            elif key(offer.ref.path.rpartition("/")[2]) == key(name):
                placed.setdefault(ref_text(offer.ref), (look, offer))
    return list((called or placed).values())


def _written(look: _Look, offer: Offer, version: str) -> str:
    """Return the shortest text that installs this skill in this version range."""
    once = sum(key(other.name) == key(offer.name) for other in look.offers) == 1
    text = _install(look, offer, once)
    return (
        text
        if not version
        else f"{text}@{version}"
        if ":" in text and "/" not in text
        else shown(offer.ref._replace(ref=version))
    )


def _not_found(looks: Sequence[_Look], silent: Sequence[_Look], name: str) -> NotFoundError:
    taps = {look.tap: look.tap for look in looks if look.tap}
    known = {offer.name: _written(look, offer, "") for look in looks for offer in look.offers} | taps
    near = [known[found] for found in closest(name, known, 3)]
    places = [*(["the gallery"] if len(taps) < len(looks) else []), *([f"{len(taps)} sources"] if taps else [])]
    message = f"No skill in {' or '.join(places)} is named {name}."
    message += "".join(f" {note.message}" for look in silent[:1] for note in look.notes)
    if len(silent) > 1:
        message += f" {len(silent) - 1} more did not answer."
    hint = (
        f"Did you mean {', '.join(near)}?"
        if near
        else "`whet search` looks for words; `whet sources add` adds a source."
    )
    return NotFoundError("name-not-found", message, hint=hint, suggestions=near)


def _is_known(ref: Ref, trust: str) -> bool:
    """Return whether the source of a skill is vouched for, or a directory on this machine."""
    return trust in _VOUCHED or ref.kind == "path"


def _lookalikes(looks: Sequence[_Look], hit: Hit, trust: Callable[[Ref], str]) -> tuple[Note, ...]:
    """Return a note about an unknown skill whose name is nearly that of a known one."""
    for look in looks:
        for offer in look.offers:
            if is_slip(key(hit.offer.name), key(offer.name)) and _is_known(offer.ref, trust(offer.ref)):
                meant = _written(look, offer, "")
                message = f"{hit.install} comes from an untrusted source, and its name is almost the same as {meant}."
                return (Note("lookalike-name", "warning", message, f"If you mean that one, install {meant}."),)
    return ()


def _look(
    tap: str,
    ref: Ref,
    question: _Question,
    finder: Finder,
    listings: Listings,
    *,
    offline: bool,
    fresh: bool,
) -> _Look:
    """Return the skills of one source, cached or asked now."""
    asks = ref.kind in ASKED and not ref.path
    local = ref.kind in ("path", "archive", "gallery") or ref.location.startswith(("file:", "/", "\\"))
    key_ = f"{ref_text(ref)}\n{question.text}" if asks else ref_text(ref)
    kept = None if local else listings.find(key_)
    if kept and ((kept.fresh and not fresh) or offline):
        return _Look(tap, ref, kept.offers, kept=True)
    if offline and not local:
        message = f"{tap or shown(ref)} is not cached, and `--offline` asks no server."
        return _Look(
            tap, ref, notes=(_note("listing-not-kept", ref, message, "Search without --offline."),), answered=False
        )
    finder.reach.check_cancelled()
    try:
        source = finder.open_source(ref, finder.reach)
        try:
            if asks:
                revision, offers = "", question.ask(cast("SearchableSource", source))
            else:
                _, revision, offers, _ = source.inspect()
        finally:
            source.close()
    except WhetError as error:
        if error.code == "cancelled":
            raise
        return _failed(tap, ref, error, kept)
    return _Look(tap, ref, offers, () if local else _keep(listings, key_, revision, offers, ref))


def _failed(tap: str, ref: Ref, error: WhetError, kept: Kept | None) -> _Look:
    """Return the cached answer of a source that did not answer, if any, with a note."""
    message = f"{tap or shown(ref)} did not answer: {error.message}"
    if kept is None:
        return _Look(tap, ref, notes=(_note(error.code, ref, message, error.hint),), answered=False)
    message += f" Showing the results from {iso(kept.time)}."
    return _Look(tap, ref, kept.offers, (_note("listing-old", ref, message, error.hint),))


def _keep(listings: Listings, key_: str, revision: str, offers: Sequence[Offer], ref: Ref) -> tuple[Note, ...]:
    """Cache an answer; a failure to do so is only a note."""
    try:
        listings.keep(key_, revision, offers)
    except (WhetError, OSError) as error:
        message = f"The results of {shown(ref)} could not be cached: {error}"
        return (_note("listing-not-saved", ref, message, "Check the free space and the owner of the state directory."),)
    return ()


def _note(code: str, ref: Ref, message: str, hint: str) -> Note:
    return Note(code, "warning", message, hint, path=shown(ref))


def _fits(offers: Sequence[Offer], query: str) -> dict[int, ranking.Fit]:
    entries = [ranking.Entry(offer.name, offer.group, offer.description, offer.hidden) for offer in offers]
    return ranking.rank(entries, query)


def _hits(looks: Sequence[_Look], query: str, trust: Callable[[Ref], str]) -> tuple[Hit, ...]:
    """Return all skills that fit, each once, best first; among equals, the most trusted first."""
    texts: dict[str, tuple[_Look, Offer]] = {}
    for look in looks:
        for offer in look.offers:
            texts.setdefault(ref_text(offer.ref), (look, offer))
    found = [(text, look, offer) for text, (look, offer) in texts.items()]
    fits = _fits([offer for _, _, offer in found], query)
    for at, (_, look, _) in enumerate(found):
        if look.ref.kind in REGISTRIES:
            fits.setdefault(at, ranking.Fit(ranking.CLAIMED, float(at)))
    names = Counter((look.tap, key(offer.name)) for _, look, offer in found)
    hits = []
    for at, score in fits.items():
        text, look, offer = found[at]
        level = trust(offer.ref)
        order = _TRUST.index(level) if level in _TRUST else len(_TRUST)
        once = names[look.tap, key(offer.name)] == 1
        hits.append((score, order, key(offer.name), text, Hit(offer, look.tap, level, _install(look, offer, once))))
    return tuple(hit for *_, hit in sorted(hits, key=lambda item: item[:4]))


def _install(look: _Look, offer: Offer, once: bool) -> str:
    """Return the shortest text that installs exactly this skill."""
    named = once and is_ascii_name(look.tap) and is_ascii_name(offer.name)
    return f"{look.tap}:{offer.name}" if named and offer.ref.kind not in ASKED else shown(offer.ref)


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise UsageError("bad-limit", f"The limit must be at least 1, not {limit}.", hint="Pass a limit of 1 or more.")
