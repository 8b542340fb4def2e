"""Find the skills that fit a message, with an index that is kept up to date with a library.

router = Router(path)
router.update(entries)
for found in router.find("backport the login fix to 2.x"):
    print(found.key, found.score, found.why)
"""

from __future__ import annotations

from whet.errors import WhetError
from whet.records import NamedTuple
from whet.routing import features
from whet.routing.features import LONGEST, Asked, ask, corrected
from whet.routing.index import SHORTEST_TYPO, VERSION, Index, New, damage
from whet.routing.scoring import FITTED, MAY, MUST, Candidates, Explainer, Twins, judge
from whet.routing.words import read_message
from whet.skill.terms import number, terms
from whet.store.database import MEMORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from typing import Literal

    from whet.routing.features import Found as Holders
    from whet.routing.index import Postings
    from whet.routing.texts import Texts

_CANDIDATES = 100
"""Number of skills that are compared with each other."""
_BATCH = 2048
"""Number of skills that are read and written at once."""
OFFERED = 8
"""Maximum number of skills that a message may trigger."""


class Entry(NamedTuple):
    """A skill to index; `read` is called only if `stamp` is new."""

    key: str
    stamp: str
    read: Callable[[], Texts]


class Updated(NamedTuple):
    """The result of an update."""

    added: int
    changed: int
    removed: int
    total: int
    failed: tuple[tuple[str, str], ...]
    """The key of every skill that could not be read, with the reason."""


class Found(NamedTuple):
    """A skill that fits a message."""

    key: str
    score: float
    """The probability that the skill is right, from 0 to 1."""
    why: tuple[str, ...]
    also: tuple[str, ...] = ()
    """The keys of near-identical skills, best first."""


class Detected(NamedTuple):
    """The decision whether a message triggers a skill."""

    decision: Literal["must", "may", "none"]
    first: Found | None
    """The skill that is triggered or offered first."""
    confidence: float
    others: tuple[Found, ...]
    """Other skills that may be offered, most likely first."""
    nearest: str | None = None
    """The closest skill if the decision is `none`; `confidence` is its score."""

    @property
    def key(self) -> str | None:
        """The key of the first skill, or None."""
        return self.first.key if self.first else None


def decide(found: Sequence[Found]) -> Detected:
    """Decide whether one of the best matches should be triggered or offered."""
    likely = [one for one in found if one.score >= MAY]
    if not likely:
        return Detected("none", None, found[0].score, (), found[0].key) if found else Detected("none", None, 0.0, ())
    first, *others = likely
    return Detected("must" if first.score >= MUST else "may", first, first.score, tuple(others))


class Router:
    """An index and its queries. Threads may share it."""

    mark = f"{VERSION} "
    """The format version of the index; skills indexed under another version are read again."""

    def __init__(self, path: str, collection: str = "") -> None:
        """`collection` names the skills of one library among those of other libraries in the same file."""
        self._path = path
        self._index = Index(path, collection)
        self.weights = FITTED

    @property
    def state(self) -> object:
        """The identity and generation of the index, to detect changes."""
        with damage(self._path):
            return self._index.facts()[0]

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    @property
    def made_from(self) -> str:
        """The `made_from` value of the last complete `update`, or empty if the index was changed since."""
        with damage(self._path):
            return self._index.made_from()

    def update(self, entries: Iterable[Entry], made_from: str = "") -> Updated:
        """Update the index: read new and changed skills, and remove missing ones.

        `made_from` identifies the source of the entries. It is stored until the index is changed.
        """
        with damage(self._path):
            if self._index.worn:
                self._index.clear()
            generation, known, elsewhere = self._index.known()
        stamps, waiting = dict[str, str](), dict[str, Entry]()
        failed: list[tuple[str, str]] = []

        def put(new: Sequence[New] = (), shared: Sequence[tuple[str, str]] = (), gone: Sequence[str] = ()) -> list[str]:
            """Change the index; return the keys of shared skills that are no longer there."""
            nonlocal generation
            with damage(self._path):
                missing, changed = self._index.put(new, shared, gone)
            generation += changed
            return missing

        def put_waiting() -> None:
            """Index the waiting entries, in batches so that memory use stays bounded."""
            if shared := [pair for key in waiting if (pair := (key, stamps[key])) in elsewhere]:
                for key in {key for key, _ in shared}.difference(put(shared=shared)):
                    del waiting[key]
            if read := list(self._read(waiting.values(), failed)):
                put(read)
            waiting.clear()

        for entry in entries:
            stamps[entry.key] = self.mark + entry.stamp
            waiting[entry.key] = entry
            if known.get(entry.key) == stamps[entry.key]:
                del waiting[entry.key]
            if len(waiting) == _BATCH:
                put_waiting()
        put_waiting()
        for key, _ in failed:
            stamps.pop(key, None)
        if gone := [key for key in known if key not in stamps]:
            put(gone=gone)
        if made_from and not failed:
            with damage(self._path):
                self._index.mark(made_from, generation)
        added = sum(key not in known for key in stamps)
        changed = sum(known.get(key, stamp) != stamp for key, stamp in stamps.items())
        return Updated(added, changed, len(gone), len(stamps), tuple(failed))

    def change(self, entries: Iterable[Entry], gone: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
        """Add or replace these skills and remove `gone`; other skills stay.

        Return the key and reason of every skill that could not be read; it is removed.
        """
        failed: list[tuple[str, str]] = []
        read = list(self._read(entries, failed))
        with damage(self._path):
            self._index.put(read, gone=[*gone, *(key for key, _ in failed)])
        return tuple(failed)

    def touch(self) -> None:
        """Record that this collection is in use, so that it is kept."""
        with damage(self._path):
            self._index.touch()

    def copy(self) -> Router:
        """Return a copy in memory for experiments."""
        made = Router(MEMORY)
        made._index.close()
        with damage(self._path):
            made._index = self._index.copy()
        return made

    def _read(self, entries: Iterable[Entry], failed: list[tuple[str, str]]) -> Iterable[New]:
        from whet.routing.analysis import analyse

        for entry in entries:
            try:
                texts = entry.read()
            except (WhetError, OSError) as error:
                failed.append((entry.key, str(error)))
                continue
            yield New(entry.key, self.mark + entry.stamp, analyse(texts))

    def find(
        self,
        message: str,
        k: int = 10,
        *,
        allowed: Container[str] | None = None,
        context: str = "",
        grouped: bool = False,
        searched: bool = True,
    ) -> tuple[Found, ...]:
        """Return the skills that fit a message best, best first; every result has at least one reason.

        Only skills whose keys are in `allowed` are compared. `context` is the text before the message and beside it.
        With `grouped`, near-identical skills are listed in `also` of the best of them. With `searched=False`, no skill
        is likely if the message does not read like a request.
        """
        given = self.candidates(message, allowed, max(k, _CANDIDATES), context)
        found: list[Found] = []
        places: list[int] = []
        with damage(self._path):
            judged = judge(given, self.weights, searched=searched)
            explained, twins = Explainer(given, judged), Twins(given.rows if grouped else ())
            for at in judged.order():
                same = next((rank for rank, other in enumerate(places) if grouped and twins.are(other, at)), None)
                if same is not None:
                    found[same] = found[same]._replace(also=(*found[same].also, given.keys[at]))
                elif len(found) < k and (reasons := explained.why(at)):
                    before = (found[-1].score, judged.scores[places[-1]]) if found else (1.0, 0.0)
                    found.append(Found(given.keys[at], judged.behind(at, *before), reasons))
                    places.append(at)
        return tuple(found)

    def detect(self, message: str, *, allowed: Container[str] | None = None, context: str = "") -> Detected:
        """Decide whether a message triggers a skill, and which one."""
        return decide(self.find(message, OFFERED, allowed=allowed, context=context, grouped=True, searched=False))

    def confidence(self, message: str, key: str) -> float:
        """Return the probability that this skill is right for a message."""
        given = self.candidates(message)
        with damage(self._path):
            return judge(given, self.weights).sure[given.keys.index(key)] if key in given.keys else 0.0

    def candidates(
        self, message: str, allowed: Container[str] | None = None, most: int = _CANDIDATES, context: str = ""
    ) -> Candidates:
        """Return up to `most` candidate skills for a message; only `allowed` skills count."""
        with self._index.steady(), damage(self._path):
            alive = self._index.facts()[1]
            asked, postings = self._read_message(message, context, alive)
            rarity = features.rarities(postings, asked, alive)
            totals = features.scores(postings, asked, rarity, alive)
            slots = features.best(totals, most) if allowed is None else self._best_allowed(allowed, totals, most)
            table = features.table(postings, asked, rarity, slots)
            found = self._index.rows(table.slots)
            keys, rows = tuple(found[slot][0] for slot in table.slots), tuple(found[slot][1] for slot in table.slots)
            return Candidates(asked, table, keys, rows, features.compare(asked, table, rows), alive.count(1))

    def _read_message(self, message: str, context: str, alive: bytearray) -> tuple[Asked, Holders]:
        """Return a message, in English and with typing errors corrected if that finds more, and its postings."""
        asked, postings = self._asked(message, context)
        if reading := read_message(asked.text, lambda word: self._knows(word, alive)):
            own, english = (self._asked(text, context, message) for text in reading)
            asked, postings = max((own, english), key=lambda read: _described(read[0], read[1], alive))
        if guesses := self._guesses(asked, postings, alive):
            asked = corrected(asked, guesses)
            postings = self._index.postings(asked.numbers)
        return asked, postings

    def _asked(self, read: str, context: str, message: str = "") -> tuple[Asked, Holders]:
        """Return a message as it is read, and the postings of its terms."""
        asked = ask(read, context)
        if message:
            asked = asked._replace(text=message[:LONGEST])
        return asked, self._index.postings(asked.numbers)

    def _knows(self, word: str, alive: bytearray) -> bool:
        """Return whether any skill has this word in its name or description."""
        return any(_is_described(found, alive) for found in self._index.postings(map(number, terms(word))).values())

    def _best_allowed(self, allowed: Container[str], totals: list[float], most: int) -> list[int]:
        """Return the best allowed slots; scores of other skills are set to 0 until all of the best are allowed."""
        seen: set[int] = set()
        while True:
            slots = features.best(totals, most)
            fresh = [slot for slot in slots if slot not in seen]
            refused = [slot for slot, key in self._index.keys(fresh).items() if key not in allowed]
            if not refused:
                return slots
            seen.update(fresh)
            for slot in refused:
                totals[slot] = 0.0

    def _guesses(self, asked: Asked, postings: Holders, alive: bytearray) -> dict[str, str]:
        """Return corrections for words of a message that no skill has, if a skill has one with a similar spelling."""
        known = {term for term, found in postings.items() if any(_has(part, alive) for part in found)}
        unknown = [
            term
            for term, at in zip(asked.terms[: asked.own], asked.numbers, strict=False)
            if at not in known and term.isascii() and term.isalpha() and len(term) >= SHORTEST_TYPO
        ]
        alike = {term: self._index.spelled_like(term) for term in unknown[:8]}
        described = self._index.postings({number(word) for found in alike.values() for word in found})
        leading = {at for at, found in described.items() if _is_described(found, alive)}
        guesses = {}
        for term, found in alike.items():
            if guess := next((word for word in found if number(word) in leading), None):
                guesses[term] = guess
        return guesses


def _has(part: Postings, alive: bytearray) -> bool:
    """Return whether any of these skills is in the collection."""
    return any(map(alive.__getitem__, part.slots))


def _is_described(found: Iterable[Postings], alive: bytearray) -> bool:
    """Return whether any skill has this term in its name or description. Terms of removed skills may still be known."""
    return any(part.described and _has(part, alive) for part in found)


def _described(asked: Asked, postings: Holders, alive: bytearray) -> int:
    """Return the number of terms of a message that are in the name or description of any skill."""
    return sum(_is_described(postings.get(term, ()), alive) for term in asked.numbers[: asked.own])
