"""What the curator must remember: pins, which skills are stale, and when it last ran.

    lifecycle = Lifecycle(state, clock)
    lifecycle.pin("deploy", "Needed once a year.")
    lifecycle.set_states({step.path: step.after for step in plan.steps})
    lifecycle.ran(plan.at)

It is kept with the user's decisions in the state database, because a pin is one: forgetting it would cost a skill its
protection. So a damaged database is an error here too, and reading never creates one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.library.state import text_of
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

STATES = frozenset({"active", "stale", "archived"})

_LAST_RUN = "last_run"
_PIN = """
INSERT INTO pins VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET reason = excluded.reason WHERE excluded.reason <> ''
"""
_SET = """
INSERT INTO lifecycle VALUES (?, ?, ?)
ON CONFLICT (path) DO UPDATE SET state = excluded.state, since = excluded.since WHERE state <> excluded.state
"""


class Pin(NamedTuple):
    """Why a skill is never to be touched by the curator, and since when."""

    reason: str
    since: int


class Lifecycle:
    """The curator's memory. Names are compared by their key; a skill about which nothing is noted is active."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock

    def pins(self) -> dict[str, Pin]:
        """The pins, by the key of the name."""
        rows = self.state.read("SELECT name, reason, since FROM pins ORDER BY name")
        return {text_of(name): Pin(text_of(reason), _time(since)) for name, reason, since in rows}

    def pin(self, name: str, reason: str = "") -> bool:
        """Pin a skill; False when it already was. A new reason replaces the old one."""
        row = key(name), reason.encode("utf-8", "replace").decode(), self._clock()
        with self.state.write() as connection:
            known = connection.execute("SELECT 1 FROM pins WHERE name = ?", row[:1]).fetchone()
            connection.execute(_PIN, row)
        return known is None

    def unpin(self, name: str) -> bool:
        """Take a pin back; False when there was none."""
        if self.state.existing() is None:
            return False
        with self.state.write() as connection:
            return bool(connection.execute("DELETE FROM pins WHERE name = ?", (key(name),)).rowcount)

    def states(self) -> dict[str, tuple[str, int]]:
        """The skills that are not active, by directory: what they are, and since when."""
        rows = self.state.read("SELECT path, state, since FROM lifecycle ORDER BY path")
        return {_path(path): (state, _time(since)) for path, state, since in rows if state in STATES}

    def set_states(self, states: Mapping[str, str]) -> None:
        """Note what these skills are from now on, all or none; one that is so already keeps its time."""
        if unknown := sorted({*states.values()} - STATES):
            raise ValueError(f"{unknown[0]!r} is no state of a skill")
        now = self._clock()
        with self.state.write() as connection:
            for path, state in states.items():
                if state == "active":
                    connection.execute("DELETE FROM lifecycle WHERE path = ?", (_stored(path),))
                else:
                    connection.execute(_SET, (_stored(path), state, now))

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


def _stored(path: str) -> str | bytes:
    """A path as SQLite takes it: one that is no Unicode, as a file system may have it, as bytes."""
    data = path.encode("utf-8", "surrogatepass")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _path(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # damage
            return repr(value)
    return text_of(value)


def _time(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> int:
    """A time kept as text; 0 when damage made something else of it, which has the curator start over."""
    text = text_of(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
