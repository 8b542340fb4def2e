"""What the curator must remember: pins, and when it last ran.

    lifecycle = Lifecycle(state, clock)
    lifecycle.pin(str(card.id), "Needed once a year.")
    lifecycle.ran(plan.at)

It is kept with the user's decisions in the state database, because a pin is one: forgetting it would cost a skill its
protection. So a damaged database is an error here too, and reading never creates one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.library.state import text_of
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.authoring.commits import Committed
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

_LAST_RUN = "last_run"
_PIN = """
INSERT INTO pins VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET reason = excluded.reason
"""


class Pin(NamedTuple):
    """Why a skill is never to be touched by the curator, and since when."""

    reason: str
    since: int


class Lifecycle:
    """The curator's memory. Skills go by their ids."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock

    def pins(self) -> dict[str, Pin]:
        """The pins, by the ids of skills; those of an older Whet by the key of a name."""
        rows = self.state.read("SELECT name, reason, since FROM pins ORDER BY name")
        return {text_of(name): Pin(text_of(reason), _time(since)) for name, reason, since in rows}

    def pin(self, skill: str, reason: str = "") -> bool:
        """Pin a skill, given by its id; False when it already was. The reason replaces the old one."""
        row = skill, reason.encode("utf-8", "replace").decode(), self._clock()
        with self.state.write() as connection:
            known = connection.execute("SELECT 1 FROM pins WHERE name = ?", row[:1]).fetchone()
            connection.execute(_PIN, row)
        return known is None

    def unpin(self, *skills: str) -> bool:
        """Take pins back, given by ids or keys of names; False when there was none."""
        if self.state.existing() is None:
            return False
        with self.state.write() as connection:
            query = "DELETE FROM pins WHERE name = ?"
            return sum([connection.execute(query, (skill,)).rowcount for skill in skills]) > 0

    def follow(self, commits: Sequence[Committed]) -> Iterable[str]:
        """Keep the pins of skills that lie elsewhere now."""
        moved = [commit for commit in commits if commit.moved]
        if not moved or self.state.existing() is None:
            return ()
        with self.state.write() as connection:
            for commit in moved:
                old, new = str(commit.before or ""), str(commit.after or "")
                for known in (old, *commit.old_names):
                    query = "INSERT OR IGNORE INTO pins SELECT ?, reason, since FROM pins WHERE name = ?"
                    connection.execute(query, (new, known))
                connection.execute("DELETE FROM pins WHERE name = ?", (old,))
        return ()

    def last_run(self) -> int:
        """When the curator last ran; 0 for never."""
        rows = self.state.read("SELECT value FROM curator WHERE key = ?", (_LAST_RUN,))
        return _number(rows[0][0]) if rows else 0

    def ran(self, at: int, after: int | None = None) -> bool:
        """Remember that the curator ran. With `after`, only if that was its last run until now.

        False when it was not: another process has run meanwhile, and the plan made before is not to be applied.
        """
        with self.state.write() as connection:
            row = connection.execute("SELECT value FROM curator WHERE key = ?", (_LAST_RUN,)).fetchone()
            if after is not None and after != (_number(row[0]) if row else 0):
                return False
            connection.execute("REPLACE INTO curator VALUES (?, ?)", (_LAST_RUN, str(at)))
            return True


def _time(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> int:
    """A time kept as text; 0 when damage made something else of it, which has the curator start over."""
    text = text_of(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
