"""Which skill fits a message: an index kept in step with a library, asked for the best matches.

router = Router(path)
router.update(entries)
for found in router.find("backport the login fix to 2.x"):
    print(found.key, found.score, found.why)
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from whet.errors import WhetError
from whet.routing import features
from whet.routing.analysis import VERSION, analyse
from whet.routing.features import Asked, ask, corrected
from whet.routing.index import SHORTEST_TYPO, Index, New, State, damage
from whet.routing.meaning import NAME, WIDTH, meaning
from whet.routing.scoring import MAY, MUST, Candidates, Explainer, judge
from whet.routing.weights import FITTED, row
from whet.skill.terms import number
from whet.store.database import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from whet.routing.index import Postings, Put
    from whet.routing.texts import Texts

_CANDIDATES = 120
_CLOSER = 32
_BY_MEANING = 12
_BATCH = 500
"""Skills that are read and written at once."""
_AT_ONCE = 4096
"""Vectors that are compared at once."""
_MANY = 100
"""From so many new skills on, if they are most, all segments are put together."""
OFFERED = 8
"""Skills that may be called for at once."""


class Entry(NamedTuple):
    """A skill to be known: `read` is only called when `stamp` is new."""

    key: str
    stamp: str
    read: Callable[[], Texts]


class Updated(NamedTuple):
    """What an update did."""

    added: int
    changed: int
    removed: int
    total: int
    failed: tuple[tuple[str, str], ...]
    """Key and reason of every skill that could not be read."""


class Found(NamedTuple):
    """A skill for a message."""

    key: str
    score: float
    """From 0 to 1: how likely it is right."""
    why: tuple[str, ...]


class Detected(NamedTuple):
    """Whether a message calls for a skill."""

    decision: Literal["must", "may", "none"]
    key: str | None
    confidence: float
    evidence: tuple[str, ...]
    others: tuple[Found, ...]
    """What else may be called for, the likeliest first."""
    nearest: str | None = None
    """Where none is called for, the one that comes closest; how close is the confidence."""


_NOTHING = Detected("none", None, 0.0, (), ())


def decide(found: Sequence[Found]) -> Detected:
    """Whether one of the skills that fit best is called for."""
    likely = [one for one in found if one.score >= MAY]
    if not likely:
        return Detected("none", None, found[0].score, (), (), found[0].key) if found else _NOTHING
    first, *others = likely
    decision: Literal["must", "may"] = "must" if first.score >= MUST else "may"
    return Detected(decision, first.key, first.score, first.why, tuple(others))


class _Looked(NamedTuple):
    """A message, and how well every slot matches it."""

    asked: Asked
    postings: Mapping[int, Postings]
    rarity: np.ndarray
    totals: np.ndarray
    meant: np.ndarray | None


class Router:
    """One index and how to ask it. May be shared by threads."""

    def __init__(self, path: str, collection: str = "", *, semantic: bool = True) -> None:
        """`collection` names the skills that are meant, among those of other libraries in the same file."""
        self._path = path
        self._index = Index(path, collection)
        self.weights = FITTED
        self._meaning = meaning() if semantic else None
        self._lock = threading.Lock()
        self._vectors = np.zeros((0, WIDTH), dtype=np.int8)
        self._lengths = np.ones(0, dtype=np.float32)
        self._loaded = np.zeros(0, dtype=np.bool_)
        self._state = State(0, 0)

    @property
    def state(self) -> object:
        """Which index this is and how often it was changed, to be compared with later."""
        with damage(self._path):
            return self._index.facts()[0]

    @property
    def semantic(self) -> bool:
        """Is meaning taken into account?"""
        return self._meaning is not None

    def close(self) -> None:
        """Let the index go."""
        self._index.close()

    @property
    def mark(self) -> str:
        """How skills are read: those that were read otherwise are read again."""
        return f"{VERSION} {NAME if self._meaning else ''} "

    @property
    def made_from(self) -> str:
        """What the index was last found to be in step with, as `update` was told."""
        with damage(self._path):
            return self._index.made_from()

    def update(self, entries: Iterable[Entry], made_from: str = "") -> Updated:
        """Bring the index in step: read what is new or changed, forget what is gone.

        `made_from` names what the entries were made from. It is remembered as long as nobody changes the index.
        """
        with damage(self._path):
            if self._index.worn:
                self._index.clear()
            at, known, elsewhere = self._index.known()
        mark, wanted, changed = self.mark, set[str](), dict[str, Entry]()
        steps: list[Put] = []
        failed: list[tuple[str, str]] = []
        fresh = added = edited = 0

        def put() -> None:
            """Put in what is waiting: few at a time, so that memory does not grow with what is new."""
            nonlocal fresh, added, edited
            stamps = {key: mark + entry.stamp for key, entry in changed.items()}
            shared = [pair for pair in stamps.items() if pair in elsewhere]
            first = len(failed)
            with damage(self._path):
                steps.extend([self._index.put(shared=shared)] if shared else ())
            there = {key for key, _ in shared}.difference(steps[-1].missing if shared else ())
            waiting = [entry for key, entry in changed.items() if key not in there]
            read = list(self._read(waiting, mark, failed))
            with damage(self._path):
                steps.extend([self._index.put(read)] if read else ())
            for key, _ in failed[first:]:
                del stamps[key]
            old = sum(map(known.__contains__, stamps))
            fresh, added, edited = fresh + len(read), added + len(stamps) - old, edited + old
            known.update(stamps)  # should the same key come again
            changed.clear()

        for entry in entries:
            wanted.add(entry.key)
            if known.get(entry.key) != mark + entry.stamp:
                changed[entry.key] = entry
            else:
                changed.pop(entry.key, None)
            if len(changed) == _BATCH:
                put()
        if changed:
            put()
        unread = {key for key, _ in failed}
        gone = [key for key in known if key not in wanted or key in unread]
        with damage(self._path):
            if fresh > max(_MANY, len(wanted) // 2):
                self._index.join()
            if gone:
                steps.append(self._index.put(gone=gone))
            generations = [at, *(number for step in steps for number in (step.before, step.after))]
            if made_from and not failed and generations[::2] == [*generations[1::2], generations[-1]]:
                self._index.mark(made_from, generations[-1])  # nobody else changed it in between
        return Updated(added, edited, len(gone), len(wanted) - len(unread), tuple(failed))

    def touch(self) -> None:
        """Remember that this collection of skills is used, so that it is kept."""
        with damage(self._path):
            self._index.touch()

    def copy(self) -> Router:
        """The same in memory, to try things with."""
        made = Router(MEMORY, semantic=self.semantic)
        made._index.close()
        with damage(self._path):
            made._index = self._index.copy()
        return made

    def _read(self, entries: Iterable[Entry], mark: str, failed: list[tuple[str, str]]) -> Iterable[New]:
        for entry in entries:
            try:
                texts = entry.read()
            except (WhetError, OSError) as error:
                failed.append((entry.key, str(error)))
                continue
            vector = (
                self._meaning.stored(f"{texts.name.replace('-', ' ')}. {texts.description}") if self._meaning else b""
            )
            yield New(entry.key, mark + entry.stamp, analyse(texts), vector, texts.name, texts.triggers)

    def find(
        self,
        message: str,
        k: int = 10,
        *,
        allowed: Container[str] | None = None,
        recent: Sequence[str] = (),
    ) -> tuple[Found, ...]:
        """The skills that fit a message best, best first; only such as something speaks for.

        Only skills whose keys are `allowed` are compared with each other; `recent` are those used lately, the latest
        first: they decide between equals.
        """
        given = self.candidates(message, allowed, max(k, _CLOSER))
        with damage(self._path):
            judged = judge(given, self.weights, recent)
        explained = Explainer(given, judged)
        found: list[Found] = []
        least = 1.0
        for at in judged.order():
            if len(found) == k:
                break
            with damage(self._path):
                reasons = explained.why(at)
            if reasons:
                least = min(least, round(float(judged.sure[at]), 3))  # nobody is likelier than the one before
                found.append(Found(given.rows[at].key, least, reasons))
        return tuple(found)

    def detect(self, message: str, *, allowed: Container[str] | None = None) -> Detected:
        """Does a message call for a skill, and for which?"""
        return decide(self.find(message, OFFERED, allowed=allowed))

    def confidence(self, message: str, key: str) -> float:
        """How likely it is that this skill is right for a message."""
        given = self.candidates(message)
        at = next((at for at, row in enumerate(given.rows) if row.key == key), None)
        with damage(self._path):
            return 0.0 if at is None else float(judge(given, self.weights).sure[at])

    def candidates(self, message: str, allowed: Container[str] | None = None, closer: int = _CLOSER) -> Candidates:
        """The skills in question for a message, so many of them; nobody who is not allowed takes a place."""
        with self._index.steady():
            with damage(self._path):
                looked = self._looked_up(message)
            if allowed is not None:
                self._shut_out(allowed, looked)
            with damage(self._path):
                return self._compared(looked, closer)

    def _looked_up(self, message: str) -> _Looked:
        """How well every skill matches the terms of a message, and its meaning."""
        state, alive = self._index.facts()
        asked = ask(message)
        postings = self._index.postings(map(int, asked.numbers))
        guesses = self._guesses(asked, postings, alive)
        if guesses:
            asked = corrected(asked, guesses)
            postings = self._index.postings(map(int, asked.numbers))
        rarity = features.rarities(postings, asked, alive)
        totals = features.scores(postings, asked, rarity, alive)
        return _Looked(asked, postings, rarity, totals, self._meant(message, state, alive))

    def _compared(self, looked: _Looked, closer: int) -> Candidates:
        """The best of those that match, compared with each other."""
        asked, postings, rarity, totals, meant = looked
        near_by_meaning = np.zeros(len(totals), dtype=np.bool_)
        if meant is not None:
            near_by_meaning[_best(meant, _BY_MEANING)] = True
        wide = max(closer, _CANDIDATES)
        slots = features.distinct(np.concatenate([_best(totals, wide), np.flatnonzero(near_by_meaning)]))
        given = features.table(postings, asked, rarity, totals, slots)
        near = features.first(asked, given)
        ranked = features.standard(near) @ row(self.weights.first, features.FIRST)
        chosen = np.zeros(len(slots), dtype=np.bool_)
        chosen[np.argsort(-ranked, kind="stable")[:closer]] = True
        chosen |= near_by_meaning[given.slots]
        given = given._replace(slots=given.slots[chosen], found=given.found[:, :, chosen], bm25f=given.bm25f[chosen])
        kept = [int(slot) for slot in given.slots]
        rows, sequences = self._index.rows(kept), self._index.sequences(kept)
        there = tuple(rows[slot] for slot in kept)
        values = features.later(asked, given, near[chosen], there, [sequences[slot] for slot in kept])
        if meant is None:
            return Candidates(asked, given, there, values, features.LATER)
        return Candidates(asked, given, there, np.column_stack([values, meant[given.slots]]), features.WITH_MEANING)

    def _shut_out(self, allowed: Container[str], looked: _Looked) -> None:
        """Take away the scores of those who are not allowed, until all who would be looked at are."""
        totals, meant = looked.totals, looked.meant
        seen: set[int] = set()
        while True:
            best = [_best(totals, _CANDIDATES), *([] if meant is None else [_best(meant, _BY_MEANING)])]
            fresh = [int(slot) for slot in features.distinct(np.concatenate(best)) if int(slot) not in seen]
            keys = self._index.keys(fresh)
            refused = [slot for slot, key in keys.items() if key not in allowed]
            if not refused:
                return
            seen.update(fresh)
            totals[refused] = 0
            if meant is not None:
                meant[refused] = -1

    def _guesses(self, asked: Asked, postings: Mapping[int, Postings], alive: np.ndarray) -> dict[str, str]:
        """Mistyped words of a message: those that nobody has, where somebody has one that is spelled much alike."""
        known = {term for term, found in postings.items() if alive[found.slots].any()}
        unknown = [
            term
            for term, at in zip(asked.terms, asked.numbers, strict=True)
            if int(at) not in known and term.isascii() and term.isalpha() and len(term) >= SHORTEST_TYPO
        ]
        alike = {term: self._index.spelled_like(term) for term in unknown[:8]}
        described = self._index.postings({number(word) for found in alike.values() for word in found})
        guesses = {}
        for term, found in alike.items():
            there = (word for word in found if _is_described(described.get(number(word)), alive))
            if guess := next(there, None):
                guesses[term] = guess
        return guesses

    def _meant(self, message: str, state: State, alive: np.ndarray) -> np.ndarray | None:
        """How near every slot is to a message by meaning."""
        if self._meaning is None:
            return None
        with self._lock:
            if self._state != state:
                if self._state.origin != state.origin:
                    self._vectors, self._lengths, self._loaded = self._vectors[:0], self._lengths[:0], self._loaded[:0]
                self._load_vectors(alive)
                self._state = state
            near = self._nearness(self._meaning.vector(message[:3000]))
        near[~alive] = -1
        return near

    def _nearness(self, wanted: np.ndarray) -> np.ndarray:
        """How near every slot is to a vector; the vectors stay in bytes, a few at a time become numbers."""
        near = np.zeros(len(self._vectors), dtype=np.float32)
        for start in range(0, len(near), _AT_ONCE):
            end = start + _AT_ONCE
            near[start:end] = self._vectors[start:end].astype(np.float32) @ wanted
        return near / self._lengths

    def _load_vectors(self, alive: np.ndarray) -> None:
        """Read the vectors of the slots that are in use and were not read before."""
        old = min(len(self._vectors), len(alive))
        vectors, lengths = np.zeros((len(alive), WIDTH), dtype=np.int8), np.ones(len(alive), dtype=np.float32)
        loaded = np.zeros(len(alive), dtype=np.bool_)
        vectors[:old], lengths[:old], loaded[:old] = self._vectors[:old], self._lengths[:old], self._loaded[:old]
        for slots, stored in self._index.vectors(list(map(int, np.flatnonzero(alive & ~loaded)))):
            read = np.frombuffer(stored, dtype=np.int8).reshape(-1, WIDTH)
            vectors[slots] = read
            lengths[slots] = np.maximum(np.linalg.norm(read.astype(np.float32), axis=1), 1)
        self._vectors, self._lengths, self._loaded = vectors, lengths, loaded | alive


def _is_described(found: Postings | None, alive: np.ndarray) -> bool:
    """Does anybody have this term in name or description? Words of skills that are gone may still be known."""
    return found is not None and bool((found.weights[1:3] > 0)[:, alive[found.slots]].any())


def _best(scores: np.ndarray, most: int) -> np.ndarray:
    """The slots with the highest scores above nothing."""
    count = min(most, len(scores))
    found = np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
    return found[scores[found] > 0]
