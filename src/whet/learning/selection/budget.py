"""Limits of learning: a daily allowance, and a breaker for repeated failures.

The counts are of one day, UTC. The breaker stops learning after several consecutive failures or rejected proposals: for
an hour first, then twice as long each time, until something works or is approved. Unreported results of automatic
learning are kept as news. Unreadable values count as empty and are reported.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.store.clock import iso
from whet.values import as_json, read_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.learning.selection.worth import Report
    from whet.notes import Note
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

_READ = "SELECT key, value FROM learning"
_SECOND = 1_000_000_000
_NEWS = 50
"""Number of news items that are kept."""
LIMIT = 3
"""Number of consecutive failures, or rejections, that stop learning."""
FIRST = 3600 * _SECOND
"""Nanoseconds of the first stop; each further stop is twice as long."""
LONGEST = 7 * 24 * 3600 * _SECOND


class Allowance(NamedTuple):
    """The daily limits."""

    sessions: int = 40
    """Number of sessions that are read."""
    skills: int = 5
    """Number of skills that are proposed or written."""
    tokens: int = 200_000
    """Tokens of a model, if one is used."""


ALLOWANCE = Allowance()


class Day(NamedTuple):
    """The use on one day."""

    date: str = ""
    sessions: int = 0
    skills: int = 0
    tokens: int = 0


class Breaker(NamedTuple):
    """The state of the breaker."""

    failures: int = 0
    """Number of consecutive failures."""
    trips: int = 0
    """Number of stops since something worked or was approved."""
    until: int = 0
    seen: int = 0
    """Time of the last decision that counted."""
    reason: str = ""
    """The reason of the last stop."""


class Memory(NamedTuple):
    """Everything that is kept between two runs."""

    day: Day = Day()
    breaker: Breaker = Breaker()
    news: tuple[int | str, ...] = ()


class State:
    """Today's use, the breaker, and unreported news."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self.problem = ""
        """A problem of the stored values, in a sentence."""

    def read(self) -> Memory:
        """Return the stored values, as far as they can be read."""
        return self._parse(self._state.read(_READ))

    def _parse(self, rows: Iterable[tuple[Any, ...]]) -> Memory:
        from typing import get_type_hints

        found, kinds = Memory(), get_type_hints(Memory)
        for key, value in rows:
            try:
                found = found._replace(**{key: read_value(kinds[key], json.loads(value), key)})
            except (KeyError, ValueError, TypeError, RecursionError):
                self.problem = f"The record of {key} cannot be read; counting starts again."
        return found

    @contextmanager
    def _changing(self) -> Iterator[list[Memory]]:
        """Yield the stored values in a list, to be replaced; they are written at the end of the block."""
        with self._state.write() as connection:
            held = [self._parse(connection.execute(_READ).fetchall())]
            yield held
            connection.execute("DELETE FROM learning")
            rows = [(key, json.dumps(value, sort_keys=True)) for key, value in as_json(held[0]).items()]
            connection.executemany("INSERT INTO learning VALUES (?, ?)", rows)

    def examine(self) -> tuple[Note, ...]:
        """Return notes for the doctor: damaged rows, or that learning has stopped, with the reason."""
        from whet.errors import FailedError
        from whet.notes import Note

        try:
            until, why = self.until(), self.read().breaker.reason
        except FailedError:  # the state database cannot be read, which the doctor reports
            return ()
        if self.problem:
            hint = "Run `whet doctor --repair` to move the file away."
            return (Note("learning-corrupt", "warning", self.problem, hint, path=self._state.path),)
        message = f"Learning from waiting sessions stops until {iso(until)}: {why}"
        hint = "`whet learn sessions SESSION` works anyway."
        return (Note("learning-stopped", "info", message, hint, path=self._state.path),) if until else ()

    def repair(self) -> tuple[str, ...]:
        """Delete unreadable values; return sentences about that."""
        self.read()
        if not self.problem:
            return ()
        with self._changing():
            problem, self.problem = self.problem, ""
        return (problem,)

    def add_news(self, report: Report) -> None:
        """Keep the result of a session as news: the number of a proposal, or the name of a skill."""
        piece: int | str = (report.proposal if report.staged else report.skill) or ""
        with self._changing() as held:
            held[0] = held[0]._replace(news=(*held[0].news, piece)[-_NEWS:])

    def take_news(self) -> tuple[int | str, ...]:
        """Return the unreported news and mark it as reported."""
        if not self.read().news:
            return ()
        with self._changing() as held:
            pieces, held[0] = held[0].news, held[0]._replace(news=())
        return pieces

    def used(self) -> Allowance:
        """Return today's use."""
        return Allowance(*self._today(self.read())[1:])

    def left(self) -> Allowance:
        """Return the rest of today's allowance; never below zero."""
        return Allowance(*(max(0, most - spent) for most, spent in zip(ALLOWANCE, self.used(), strict=True)))

    def spend(self, *, sessions: int = 0, skills: int = 0, tokens: int = 0) -> None:
        """Record use."""
        with self._changing() as held:
            date, *used = self._today(held[0])
            new = Day(date, used[0] + sessions, used[1] + skills, used[2] + tokens)
            held[0] = held[0]._replace(day=new)

    def _today(self, kept: Memory) -> Day:
        date = iso(self._clock())[:10]
        return kept.day if kept.day.date == date else Day(date)

    def until(self) -> int:
        """Return when learning may continue, in nanoseconds since 1970; 0 if it may now."""
        now, until = self._clock(), self.read().breaker.until
        return until if now < until <= now + LONGEST else 0  # further ahead only if the clock went back

    def failed(self, why: str) -> None:
        """Record a failure; too many in a row stop learning."""
        with self._changing() as held:
            failures = held[0].breaker.failures + 1
            new = held[0].breaker._replace(failures=failures)
            new = self._stop(new, f"{failures} failures in a row, the last: {why}") if failures >= LIMIT else new
            held[0] = held[0]._replace(breaker=new)

    def worked(self) -> None:
        """Record a success; consecutive failures are counted from zero again."""
        if self.read().breaker.failures:
            with self._changing() as held:
                held[0] = held[0]._replace(breaker=held[0].breaker._replace(failures=0))

    def decided(self, decisions: Iterable[tuple[int, str]]) -> None:
        """Take people's decisions about proposals into account: (time, `approved` or `rejected`), in any order.

        Only decisions since the last stop count. An approval makes the next stop a short one again.
        """
        known = self.read().breaker
        new = sorted(item for item in decisions if item[0] > known.seen and item[1] in ("approved", "rejected"))
        approved = max((time for time, state in new if state == "approved"), default=0)
        row = sum(time > approved for time, _ in new)
        if row < LIMIT and not (approved and known.trips):
            return
        with self._changing() as held:
            changed = held[0].breaker
            if approved:
                changed = changed._replace(trips=0, seen=approved)
            if row >= LIMIT:
                changed = self._stop(changed._replace(seen=new[-1][0]), f"{row} proposals in a row were rejected.")
            held[0] = held[0]._replace(breaker=changed)

    def _stop(self, breaker: Breaker, why: str) -> Breaker:
        until = self._clock() + min(LONGEST, FIRST * 2 ** min(breaker.trips, 40))
        return breaker._replace(until=until, trips=breaker.trips + 1, failures=0, reason=why)
