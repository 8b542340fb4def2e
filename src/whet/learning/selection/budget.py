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


class Memory(NamedTuple):
    """All that is remembered between two runs."""

    date: str = ""
    used: Allowance = Allowance(0, 0, 0)
    """On that day."""
    failures: int = 0
    """In a row, up to now."""
    trips: int = 0
    """How often it stopped since something worked or was approved."""
    until: int = 0
    seen: int = 0
    """When the last decision was made that counted."""
    reason: str = ""
    """Why it stopped last."""
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
        found: dict[str, Any] = {}
        for key, value in rows:
            try:
                found[key] = json.loads(value)
            except (ValueError, TypeError, RecursionError):
                self.problem = f"The record of {key} cannot be read; counting starts again."
        day, breaker = (row if isinstance(row := found.get(key), dict) else {} for key in ("day", "breaker"))
        news, used = found.get("news"), Allowance(*(_number(day.get(field)) for field in Allowance._fields))
        failures, trips, until, seen = (_number(breaker.get(field)) for field in ("failures", "trips", "until", "seen"))
        told = tuple(piece for piece in news if type(piece) in (int, str)) if isinstance(news, list) else ()
        date, reason = str(day.get("date", "")), str(breaker.get("reason", ""))
        return Memory(date, used, failures, trips, until, seen, reason, told)

    @contextmanager
    def _changing(self) -> Iterator[list[Memory]]:
        """What is kept, to be replaced in the list; it is written at the end of the block."""
        with self._state.write() as connection:
            held = [self._parse(connection.execute(_READ).fetchall())]
            yield held
            date, used, failures, trips, until, seen, reason, news = held[0]
            breaker = {"failures": failures, "trips": trips, "until": until, "seen": seen, "reason": reason}
            rows = {"day": {"date": date, **used._asdict()}, "breaker": breaker, "news": news}
            connection.execute("DELETE FROM learning")
            written = [(key, json.dumps(value, sort_keys=True)) for key, value in rows.items()]
            connection.executemany("INSERT INTO learning VALUES (?, ?)", written)

    def examine(self) -> tuple[Note, ...]:
        """What the doctor tells: that its rows are damaged, or that learning has stopped for a while, and why."""
        from whet.errors import FailedError
        from whet.notes import Note

        try:
            until, why = self.until(), self.read().reason
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
        return self._used(self.read())

    def left(self) -> Allowance:
        """What is left of today's allowance; never below zero."""
        return Allowance(*(max(0, most - spent) for most, spent in zip(ALLOWANCE, self.used(), strict=True)))

    def spend(self, *, sessions: int = 0, skills: int = 0, tokens: int = 0) -> None:
        """Note what was used."""
        with self._changing() as held:
            used = self._used(held[0])
            new = Allowance(used.sessions + sessions, used.skills + skills, used.tokens + tokens)
            held[0] = held[0]._replace(date=self._today(), used=new)

    def _used(self, kept: Memory) -> Allowance:
        return kept.used if kept.date == self._today() else Allowance(0, 0, 0)

    def _today(self) -> str:
        return iso(self._clock())[:10]

    def until(self) -> int:
        """When learning may go on, in nanoseconds since 1970; 0 when it may now."""
        now, until = self._clock(), self.read().until
        return until if now < until <= now + LONGEST else 0  # further ahead only when the clock went back

    def failed(self, why: str) -> None:
        """Note a failure; learning stops where it is one too many in a row."""
        with self._changing() as held:
            kept = held[0]._replace(failures=held[0].failures + 1)
            stops = kept.failures >= LIMIT
            held[0] = self._stop(kept, f"{kept.failures} failures in a row, the last: {why}") if stops else kept

    def worked(self) -> None:
        """Note that learning from a session did not fail; failures are counted from the beginning again."""
        if self.read().failures:
            with self._changing() as held:
                held[0] = held[0]._replace(failures=0)

    def decided(self, decisions: Iterable[tuple[int, str]]) -> None:
        """Look at what people decided about proposals: (time, `approved` or `rejected`), in any order.

        Only what was decided since learning last stopped counts. An approval makes the next stop a short one again.
        """
        known = self.read()
        new = sorted(item for item in decisions if item[0] > known.seen and item[1] in ("approved", "rejected"))
        approved = max((time for time, state in new if state == "approved"), default=0)
        row = sum(time > approved for time, _ in new)
        if row < LIMIT and not (approved and known.trips):
            return
        with self._changing() as held:
            if approved:
                held[0] = held[0]._replace(trips=0, seen=approved)
            if row >= LIMIT:
                held[0] = self._stop(held[0]._replace(seen=new[-1][0]), f"{row} proposals in a row were rejected.")

    def _stop(self, kept: Memory, why: str) -> Memory:
        until = self._clock() + min(LONGEST, FIRST * 2 ** min(kept.trips, 40))
        return kept._replace(until=until, trips=kept.trips + 1, failures=0, reason=why)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
