"""What the curator must remember: pins, which skills are stale, and when it last ran.

    lifecycle = Lifecycle(state, clock)
    lifecycle.pin(str(card.id), "Needed once a year.")
    lifecycle.set_states({str(card.id): "stale"})
    lifecycle.ran(plan.at)

It is kept with the user's decisions in the state database, because a pin is one: forgetting it would cost a skill its
protection. So a damaged database is an error here too, and reading never creates one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.library.state import text_of
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.authoring.commits import Committed
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
    """The curator's memory. Skills go by their ids; a skill about which nothing is noted is active."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock

    def pins(self) -> dict[str, Pin]:
        """The pins, by the ids of skills; those of an older Whet by the key of a name."""
        rows = self.state.read("SELECT name, reason, since FROM pins ORDER BY name")
        return {text_of(name): Pin(text_of(reason), _time(since)) for name, reason, since in rows}

    def pin(self, skill: str, reason: str = "") -> bool:
        """Pin a skill, given by its id; False when it already was. A new reason replaces the old one."""
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
        """Keep what is noted about skills that lie elsewhere now; what is put away is archived, what is back is not."""
        if self.state.existing() is None and all(commit.entry.action != "archive" for commit in commits):
            return ()
        now = self._clock()
        with self.state.write() as connection:
            for commit in commits:
                old, new = str(commit.before or ""), str(commit.after or "")
                if commit.moved:
                    for known in (old, *commit.old_names):
                        query = "INSERT OR IGNORE INTO pins SELECT ?, reason, since FROM pins WHERE name = ?"
                        connection.execute(query, (new, known))
                    connection.execute("DELETE FROM pins WHERE name = ?", (old,))
                    connection.execute("UPDATE OR REPLACE lifecycle SET path = ? WHERE path = ?", (new, old))
                elif commit.entry.action == "archive":
                    connection.execute(_SET, (old, "archived", now))
                elif not old:
                    connection.execute("DELETE FROM lifecycle WHERE path = ?", (new,))
        return ()

    def states(self) -> dict[str, tuple[str, int]]:
        """The skills that are not active, by id, or as an older Whet has them by directory: what, and since when."""
        rows = self.state.read("SELECT path, state, since FROM lifecycle ORDER BY path")
        return {_path(path): (state, _time(since)) for path, state, since in rows if state in STATES}

    def set_states(self, states: Mapping[str, str]) -> None:
        """Note what these skills are from now on, all or none; one that is so already keeps its time."""
        if unknown := sorted({*states.values()} - STATES):
            raise ValueError(f"{unknown[0]!r} is not a skill state")
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
