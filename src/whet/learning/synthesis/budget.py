"""How much is learned a day, and when to stop: an allowance, and a breaker for when nothing good comes of it.

The counts are of one day, UTC.
The breaker stops after so many failures, or so many rejected proposals, in a row: for an hour first, then twice as long
each time, until something works or is approved. What cannot be read counts as nothing, and is told of.

Beside it are the news: what was learned by itself, until somebody was told.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.notes import Note
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

_READ = "SELECT key, value FROM learning"
_SECOND = 1_000_000_000
_NEWS = 50
"""Pieces of news that are kept."""


class Allowance(NamedTuple):
    """What may be used in one day."""

    sessions: int = 40
    """Sessions that are read."""
    skills: int = 5
    """Skills that are proposed or written."""
    tokens: int = 200_000
    """Tokens of a model, where one is used."""


class State:
    """What both remember."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self.clock = clock
        self.problem = ""
        """What is wrong with what is kept, a sentence."""

    def read(self) -> dict[str, Any]:
        """What is kept, as far as it can be read."""
        return self._parsed(self._state.read(_READ))

    def _parsed(self, rows: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
        import json

        found: dict[str, Any] = {}
        for key, value in rows:
            try:
                found[key] = json.loads(value)
            except (ValueError, TypeError, RecursionError):
                self.problem = f"What is kept of {key} cannot be read; counting begins anew."
        return found

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """What is kept, to be changed in place; it is written at the end of the block."""
        import json

        with self._state.write() as connection:
            found = self._parsed(connection.execute(_READ).fetchall())
            yield found
            connection.execute("DELETE FROM learning")
            rows = [(key, json.dumps(value, sort_keys=True)) for key, value in found.items()]
            connection.executemany("INSERT INTO learning VALUES (?, ?)", rows)

    def examine(self) -> tuple[Note, ...]:
        """What the doctor tells: that its rows are damaged, or that learning has stopped for a while, and why."""
        from whet.errors import FailedError
        from whet.notes import Note

        try:
            until, why = Breaker(self).until(), Breaker(self).reason()
        except FailedError:  # the state database cannot be read, which the doctor tells
            return ()
        if self.problem:
            hint = "Run `whet doctor --repair`: it sets the file aside."
            return (Note("learning-corrupt", "warning", self.problem, hint, path=self._state.path),)
        if not until:
            return ()
        message = f"Learning from what waits stops until {iso(until)}: {why}"
        return (Note("learning-stopped", "info", message, "`whet learn SESSION` works anyway.", path=self._state.path),)

    def repair(self) -> tuple[str, ...]:
        """Forget what cannot be read; what was done, in sentences."""
        self.read()
        if not self.problem:
            return ()
        with self.changing():
            problem, self.problem = self.problem, ""
        return (problem,)

    def add_news(self, report: dict[str, Any]) -> None:
        """Keep what became of a session until somebody is told: the number of a proposal, or the name of a skill."""
        piece = report["proposal"] if report["staged"] else report["skill"]
        with self.changing() as kept:
            kept["news"] = [*_pieces(kept), piece][-_NEWS:]

    def news(self) -> list[int | str]:
        """What nobody was told yet: numbers of proposals, and names of skills that were written."""
        return _pieces(self.read())

    def take_news(self) -> list[int | str]:
        """The same, and from now on somebody was told; whoever takes it tells it."""
        with self.changing() as kept:
            pieces = _pieces(kept)
            kept["news"] = []
        return pieces


def _pieces(kept: dict[str, Any]) -> list[int | str]:
    found = kept.get("news")
    return [piece for piece in found if type(piece) in (int, str)] if isinstance(found, list) else []


class Account:
    """What was used today."""

    def __init__(self, state: State, allowance: Allowance | None = None) -> None:
        self.allowance = allowance or Allowance()
        self._state = state

    def used(self) -> Allowance:
        """What was used so far today."""
        return _counts(self._state.read(), self._today())

    def left(self) -> Allowance:
        """What is left of today's allowance; never below zero."""
        used = self.used()
        return Allowance(*(max(0, most - spent) for most, spent in zip(self.allowance, used, strict=True)))

    def spend(self, *, sessions: int = 0, skills: int = 0, tokens: int = 0) -> None:
        """Note what was used."""
        with self._state.changing() as kept:
            used = _counts(kept, self._today())
            new = Allowance(used.sessions + sessions, used.skills + skills, used.tokens + tokens)
            kept["day"] = {"date": self._today(), **new._asdict()}

    def _today(self) -> str:
        return iso(self._state.clock())[:10]


def _counts(kept: dict[str, Any], today: str) -> Allowance:
    day = kept.get("day")
    if not isinstance(day, dict) or day.get("date") != today:
        return Allowance(0, 0, 0)
    return Allowance(*(_number(day.get(field)) for field in Allowance._fields))


class Breaker:
    """Stops learning for a growing time when it fails, or when people do not want what comes of it."""

    def __init__(
        self, state: State, *, limit: int = 3, first: int = 3600 * _SECOND, longest: int = 7 * 24 * 3600 * _SECOND
    ) -> None:
        """`limit` in a row stop it, for `first` nanoseconds, doubled each time up to `longest`."""
        self.limit, self.first, self.longest = limit, first, longest
        self._state = state

    def until(self) -> int:
        """When learning may go on, in nanoseconds since 1970; 0 when it may now."""
        kept = _breaker(self._state.read())
        now, until = self._state.clock(), kept["until"]
        return until if now < until <= now + self.longest else 0  # further ahead only when the clock went back

    def reason(self) -> str:
        """Why it stopped last."""
        told = self._state.read().get("breaker")
        return str(told.get("reason", "")) if isinstance(told, dict) else ""

    def failed(self, why: str) -> None:
        """Note a failure."""
        with self._state.changing() as kept:
            new = _breaker(kept)
            new["failures"] += 1
            if new["failures"] >= self.limit:
                self._trip(new, f"{new['failures']} failures in a row, the last: {why}")
            kept["breaker"] = new

    def worked(self) -> None:
        """Note that learning from a session did not fail; failures are counted from the beginning again."""
        if not _breaker(self._state.read())["failures"]:
            return
        with self._state.changing() as kept:
            kept["breaker"] = {**_breaker(kept), "failures": 0}

    def decided(self, decisions: Iterable[tuple[int, str]]) -> None:
        """Look at what people decided about proposals: (time, `approved` or `rejected`), in any order.

        Only what was decided since the breaker last stopped counts. An approval makes the next stop a short one again.
        """
        known = _breaker(self._state.read())
        new = sorted(item for item in decisions if item[0] > known["seen"] and item[1] in ("approved", "rejected"))
        row = 0
        for _, state in new:
            row = row + 1 if state == "rejected" else 0
        approved = any(state == "approved" for _, state in new)
        if row < self.limit and not (approved and known["trips"]):
            return
        with self._state.changing() as kept:
            changed = _breaker(kept)
            if approved:
                changed["trips"] = 0
                changed["seen"] = max(time for time, state in new if state == "approved")
            if row >= self.limit:
                changed["seen"] = new[-1][0]
                self._trip(changed, f"{row} proposals in a row were rejected.")
            kept["breaker"] = changed

    def _trip(self, kept: dict[str, Any], why: str) -> None:
        kept["until"] = self._state.clock() + min(self.longest, self.first * 2 ** min(kept["trips"], 40))
        kept["trips"] += 1
        kept["failures"] = 0
        kept["reason"] = why


def _breaker(kept: dict[str, Any]) -> dict[str, Any]:
    """The state of the breaker, whole, whatever the file says."""
    found = kept.get("breaker")
    known = found if isinstance(found, dict) else {}
    numbers = {field: _number(known.get(field)) for field in ("failures", "trips", "until", "seen")}
    return {**numbers, "reason": str(known.get("reason", ""))}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
