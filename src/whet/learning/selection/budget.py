"""How much is learned a day, and when to stop: an allowance, and a breaker for when nothing good comes of it.

The counts are of one day, UTC. The breaker stops after so many failures, or so many rejected proposals, in a row: for
an hour first, then twice as long each time, until something works or is approved. Beside it are the news: what was
learned by itself, until somebody was told. What cannot be read counts as nothing, and is told of.
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
"""Pieces of news that are kept."""
LIMIT = 3
"""Failures, or rejections, in a row that stop learning."""
FIRST = 3600 * _SECOND
"""Nanoseconds for which it stops first; twice as long each further time."""
LONGEST = 7 * 24 * 3600 * _SECOND


class Allowance(NamedTuple):
    """What may be used in one day."""

    sessions: int = 40
    """Sessions that are read."""
    skills: int = 5
    """Skills that are proposed or written."""
    tokens: int = 200_000
    """Tokens of a model, where one is used."""


ALLOWANCE = Allowance()


class Day(NamedTuple):
    """What was used on one day."""

    date: str = ""
    sessions: int = 0
    skills: int = 0
    tokens: int = 0


class Breaker(NamedTuple):
    """Whether learning stops for a while."""

    failures: int = 0
    """In a row, up to now."""
    trips: int = 0
    """How often it stopped since something worked or was approved."""
    until: int = 0
    seen: int = 0
    """When the last decision was made that counted."""
    reason: str = ""
    """Why it stopped last."""


class Memory(NamedTuple):
    """All that is remembered between two runs."""

    day: Day = Day()
    breaker: Breaker = Breaker()
    news: tuple[int | str, ...] = ()


class State:
    """What was used today, whether learning stops for a while, and what nobody was told yet."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self.problem = ""
        """What is wrong with what is kept, a sentence."""

    def read(self) -> Memory:
        """What is kept, as far as it can be read."""
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
        """What is kept, to be replaced in the list; it is written at the end of the block."""
        with self._state.write() as connection:
            held = [self._parse(connection.execute(_READ).fetchall())]
            yield held
            connection.execute("DELETE FROM learning")
            rows = [(key, json.dumps(value, sort_keys=True)) for key, value in as_json(held[0]).items()]
            connection.executemany("INSERT INTO learning VALUES (?, ?)", rows)

    def examine(self) -> tuple[Note, ...]:
        """What the doctor tells: that its rows are damaged, or that learning has stopped for a while, and why."""
        from whet.errors import FailedError
        from whet.notes import Note

        try:
            until, why = self.until(), self.read().breaker.reason
        except FailedError:  # the state database cannot be read, which the doctor tells
            return ()
        if self.problem:
            hint = "Run `whet doctor --repair` to move the file away."
            return (Note("learning-corrupt", "warning", self.problem, hint, path=self._state.path),)
        message = f"Learning from waiting sessions stops until {iso(until)}: {why}"
        hint = "`whet learn sessions SESSION` works anyway."
        return (Note("learning-stopped", "info", message, hint, path=self._state.path),) if until else ()

    def repair(self) -> tuple[str, ...]:
        """Forget what cannot be read; what was done, in sentences."""
        self.read()
        if not self.problem:
            return ()
        with self._changing():
            problem, self.problem = self.problem, ""
        return (problem,)

    def add_news(self, report: Report) -> None:
        """Keep what became of a session until somebody is told: the number of a proposal, or the name of a skill."""
        piece: int | str = (report.proposal if report.staged else report.skill) or ""
        with self._changing() as held:
            held[0] = held[0]._replace(news=(*held[0].news, piece)[-_NEWS:])

    def take_news(self) -> tuple[int | str, ...]:
        """What nobody was told yet; from now on somebody was, and whoever takes it tells it."""
        if not self.read().news:
            return ()
        with self._changing() as held:
            pieces, held[0] = held[0].news, held[0]._replace(news=())
        return pieces

    def used(self) -> Allowance:
        """What was used so far today."""
        return Allowance(*self._today(self.read())[1:])

    def left(self) -> Allowance:
        """What is left of today's allowance; never below zero."""
        return Allowance(*(max(0, most - spent) for most, spent in zip(ALLOWANCE, self.used(), strict=True)))

    def spend(self, *, sessions: int = 0, skills: int = 0, tokens: int = 0) -> None:
        """Note what was used."""
        with self._changing() as held:
            date, *used = self._today(held[0])
            new = Day(date, used[0] + sessions, used[1] + skills, used[2] + tokens)
            held[0] = held[0]._replace(day=new)

    def _today(self, kept: Memory) -> Day:
        date = iso(self._clock())[:10]
        return kept.day if kept.day.date == date else Day(date)

    def until(self) -> int:
        """When learning may go on, in nanoseconds since 1970; 0 when it may now."""
        now, until = self._clock(), self.read().breaker.until
        return until if now < until <= now + LONGEST else 0  # further ahead only when the clock went back

    def failed(self, why: str) -> None:
        """Note a failure; learning stops where it is one too many in a row."""
        with self._changing() as held:
            failures = held[0].breaker.failures + 1
            new = held[0].breaker._replace(failures=failures)
            new = self._stop(new, f"{failures} failures in a row, the last: {why}") if failures >= LIMIT else new
            held[0] = held[0]._replace(breaker=new)

    def worked(self) -> None:
        """Note that learning from a session did not fail; failures are counted from the beginning again."""
        if self.read().breaker.failures:
            with self._changing() as held:
                held[0] = held[0]._replace(breaker=held[0].breaker._replace(failures=0))

    def decided(self, decisions: Iterable[tuple[int, str]]) -> None:
        """Look at what people decided about proposals: (time, `approved` or `rejected`), in any order.

        Only what was decided since learning last stopped counts. An approval makes the next stop a short one again.
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
