"""How much is learned a day, and when to stop: an allowance, and a breaker for when nothing good comes of it.

Both keep their state in `learning.json` of the state directory, changed under a lock. The counts are of one day, UTC.
The breaker stops after so many failures, or so many rejected proposals, in a row: for an hour first, then twice as long
each time, until something works or is approved. A file that cannot be read counts as empty, and is told of.

The same file keeps the news: what was learned by itself, until somebody was told.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.notes import Note
    from whet.store.clock import Clock

FILE = "learning.json"
_SECOND = 1_000_000_000
_LOCK_SECONDS = 10.0
_LARGEST = 64 * 1024
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
    """The file behind both."""

    def __init__(self, state: str, clock: Clock) -> None:
        self._path = os.path.join(state, FILE)
        self._home = state
        self.clock = clock
        self.problem = ""
        """What is wrong with the file, a sentence."""

    def read(self) -> dict[str, Any]:
        """What is kept; nothing where there is no file, or none that can be read."""
        import json

        from whet.store.failures import os_failures

        with os_failures(self._path, doing="read", other="read-failed"):
            try:
                with open(self._path, "rb") as file:
                    found = json.loads(file.read(_LARGEST))
            except FileNotFoundError:
                return {}
            except (ValueError, RecursionError):
                found = None
        if not isinstance(found, dict):
            self.problem = f"{self._path} cannot be read; counting begins anew."
            return {}
        return found

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """What is kept, to be changed in place; it is written at the end of the block."""
        import json

        from whet.store.atomic import make_directories, write_text
        from whet.store.locks import FileLock, lock_path

        make_directories(self._home)
        with FileLock(lock_path(self._home, "learning", FILE), timeout=_LOCK_SECONDS):
            found = self.read()
            yield found
            write_text(self._path, json.dumps(found, sort_keys=True) + "\n", mode=0o600)

    def examine(self) -> tuple[Note, ...]:
        """What the doctor tells: that the file is damaged, or that learning has stopped for a while, and why."""
        from whet.errors import FailedError
        from whet.notes import Note

        try:
            until, why = Breaker(self).until(), Breaker(self).reason()
        except FailedError as error:
            return (Note.from_error(error, "warning", path=self._path),)
        if self.problem:
            hint = "Run `whet doctor --repair`: it sets the file aside."
            return (Note("learning-corrupt", "warning", self.problem, hint, path=self._path),)
        if not until:
            return ()
        message = f"Learning from what waits stops until {iso(until)}: {why}"
        return (Note("learning-stopped", "info", message, "`whet learn SESSION` works anyway.", path=self._path),)

    def repair(self) -> tuple[str, ...]:
        """Set a damaged file aside; what was done, in sentences."""
        from whet.store.failures import os_failures

        if not self.examine() or not self.problem:
            return ()
        aside = f"{self._path}.broken-{self.clock()}"
        with os_failures(self._path):
            os.replace(self._path, aside)
        return (f"Set the damaged {FILE} aside as {aside}; counting begins anew.",)

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
