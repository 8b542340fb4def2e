"""Sessions of existing agents, as reported by hooks: offers, and which are worth learning from.

    sessions = Sessions(state, clock)
    sessions.note("claude-code", id, project=cwd, prompts=1)
    for seen in sessions.waiting():
        ...
        sessions.learned(seen.client, seen.id)

A session is known by its client and the client's own id. The store has its directory, the path of its transcript,
counts of events, and the offered skills; never anybody's text.

Failures of hooks are in `hooks.log` (`whet.learning.hook_log`), because hooks must not report them to their client:
`examine` reports them to `whet doctor`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.learning.hook_log import append, clear, read
from whet.learning.signals import NOTHING, Counts, is_hard
from whet.records import NamedTuple
from whet.store.clock import iso
from whet.values import Json, fields_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from whet.authoring.commits import Committed
    from whet.notes import Note
    from whet.store.clock import Clock
    from whet.store.repair import Repaired
    from whet.store.state import StateDatabase

MOST = 2_000
"""Number of sessions that are kept; the least recently active ones are dropped."""
_SECOND = 1_000_000_000
_DAY = 24 * 3600 * _SECOND
REMEMBERED = 14 * _DAY
"""Time for which offers of a conversation are kept; clients do not continue older ones."""
QUIET = 3600 * _SECOND
"""Time without events after which a session is over: not every client reports the end."""
AGAIN = 3600 * _SECOND
"""Minimum time before another process retries a session; then the first was killed."""
LATER = _DAY
"""Time before a session without a result is tried again."""
LEARNING = "learn"
"""The name under which failures of automatic learning are logged, like the events of hooks."""
TOLD = 7 * _DAY
"""Time for which the doctor reports a failure."""
_TWICE = 5 * _SECOND
"""A repeated report within this time is the same event: a client may also run the hooks of another one."""
BUSY_MS = 1000
"""Milliseconds to wait for other processes: a client waits, too."""
_LONGEST_STATE = 256 * 1024
_FOREVER = 2**63 - 1

_COUNTED = ", ".join(Counts._fields)
_COLUMNS = f"client, id, project, transcript, first, last, {_COUNTED}, hard, ended, learned"
_KNOWN = f"""
SELECT project, transcript, last, {_COUNTED}, failing, learned, ended, mark FROM sessions WHERE client = ? AND id = ?
"""  # noqa: S608  columns are ours
_NOTE = """
INSERT INTO sessions (client, id, project, transcript, first, last) VALUES (?1, ?2, '', '', ?3, ?3)
ON CONFLICT (client, id) DO NOTHING
"""
_UPDATE = """
UPDATE sessions SET project = ?, transcript = ?, last = ?, prompts = ?, tools = ?, errors = ?, recoveries = ?,
corrections = ?, failing = ?, learned = ?, ended = ?, mark = ?, hard = ?,
later = CASE WHEN learned THEN 0 ELSE later END, pending = CASE WHEN ? THEN pending END WHERE client = ? AND id = ?
"""


class Seen(NamedTuple):
    """The known facts about one session."""

    client: str
    id: str
    project: str
    """The directory the client worked in."""
    transcript: str
    """The path of the client's transcript; "" if unknown."""
    first: int
    last: int
    counts: Counts
    hard: bool
    ended: bool
    learned: bool

    def to_json(self) -> Json:
        """Return the session as JSON."""
        return {**fields_json(self), "first": iso(self.first), "last": iso(self.last)}


class Failure(NamedTuple):
    """A failure of a hook."""

    time: int
    client: str
    event: str
    code: str
    message: str


class Sessions:
    """The sessions of one state directory, safe for threads and processes. Reading creates nothing.

    A power failure may lose the last events: tool calls do not wait for the disk.
    """

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.database = state
        self._state = state.directory
        self._clock = clock

    # events

    def note(
        self,
        client: str,
        id: str,  # noqa: A002  what it is called everywhere else
        *,
        project: str = "",
        transcript: str = "",
        prompts: int = 0,
        tools: int = 0,
        errors: int = 0,
        corrections: int = 0,
        ended: bool | None = None,
        mark: int = 0,
        seen: Counts = NOTHING,
        learning: bool = True,
    ) -> bool:
        """Add to the record of a session; return False if the same event was recorded a moment ago.

        `seen` are known totals. Without `learning`, neither counts nor the path of the transcript are kept.

        Two events with the same `mark`, other than 0, are the same. A message after a session was learned from makes it
        wait again. Pending text is for the last message: only tool calls, and a beginning (`ended=False`), which may be
        reported late, keep it. Raises FailedError.
        """
        now, key = self._clock(), _key(client, id)
        with self.database.write(durable=False) as connection:
            new = connection.execute(_NOTE, (*key, now)).rowcount
            known = connection.execute(_KNOWN, key).fetchone()
            if not new and mark and mark == known[11] and now - known[2] < _TWICE:
                return False
            worked = tools > errors
            counts = Counts(
                known[3] + prompts,
                known[4] + tools,
                known[5] + errors,
                known[6] + (1 if worked and known[8] else 0),
                known[7] + (corrections if known[3] else 0),
            )
            counts = Counts(*map(max, counts, seen)) if learning else Counts(*known[3:8])
            failing = (not worked) if tools and learning else known[8]
            over = known[10] if ended is None and not prompts else bool(ended)
            learned = 0 if prompts else known[9]
            places = _text(project, 4096) or known[0], _text(transcript if learning else "", 4096) or known[1]
            hard = is_hard(counts)
            stays = tools > 0 or ended is False
            values = (*places, max(now, known[2]), *counts, failing, learned, over, mark or known[11], hard, stays)
            connection.execute(_UPDATE, (*values, *key))
            if new:
                self._prune(connection, now)
        return True

    def _prune(self, connection: sqlite3.Connection, now: int) -> None:
        """Delete old data, whenever a session begins."""
        connection.execute(
            "UPDATE sessions SET state = NULL, pending = NULL "
            "WHERE last < ? AND (state IS NOT NULL OR pending IS NOT NULL)",
            (now - REMEMBERED,),
        )
        connection.execute(
            "DELETE FROM sessions WHERE (client, id) IN "
            "(SELECT client, id FROM sessions ORDER BY last DESC LIMIT -1 OFFSET ?)",
            (MOST,),
        )

    def _get(self, column: str, client: str, id: str) -> Any:  # noqa: A002  what it is called everywhere else
        query = f"SELECT {column} FROM sessions WHERE client = ? AND id = ?"  # noqa: S608  columns are ours
        rows = self.database.read(query, _key(client, id))
        return rows[0][0] if rows else None

    def _set(self, columns: str, client: str, id: str, *values: Any) -> bool:  # noqa: A002  as above
        """Change columns of a session; return False if it is unknown."""
        query = f"UPDATE sessions SET {columns} WHERE client = ? AND id = ?"  # noqa: S608  columns are ours
        with self.database.write(durable=False) as connection:
            return bool(connection.execute(query, (*values, *_key(client, id))).rowcount)

    # conversations

    def state(self, client: str, id: str) -> Any:  # noqa: A002  what it is called everywhere else
        """Return the saved conversation, as passed to `keep`; None if there is none that can be read."""
        return _unpacked(self._get("state", client, id))

    def keep(self, client: str, id: str, state: Any) -> None:  # noqa: A002  as above
        """Save a known conversation; None deletes it."""
        self._set("state = ?", client, id, _packed(state))

    def hold(self, client: str, id: str, text: str, state: Any, turn: str = "") -> None:  # noqa: A002  as above
        """Keep text for later in a turn, and the conversation after it was said."""
        self._set("pending = ?", client, id, _packed([turn, text, state]))

    def take_pending(self, client: str, id: str, turn: str = "") -> str:  # noqa: A002  as above
        """Return the pending text of this turn, once: the caller must pass it on."""
        held = self._get("pending", client, id)
        pending = _unpacked(held)
        if not pending or (turn and pending[0] and turn != pending[0]):
            return ""
        query = "UPDATE sessions SET state = ?, pending = NULL WHERE client = ? AND id = ? AND pending = ?"
        with self.database.write(durable=False) as connection:
            taken = connection.execute(query, (_packed(pending[2]), *_key(client, id), held)).rowcount
        return str(pending[1]) if taken else ""

    def limits(self, client: str, id: str) -> list[Any]:  # noqa: A002  as above
        """Return the limits of the skills that were loaded in a session, as passed to `limit`."""
        return _unpacked(self._get("limits", client, id)) or []

    def limit(self, client: str, id: str, limits: Sequence[Any]) -> None:  # noqa: A002  as above
        """Add the limits of loaded skills, which hold until the session is over; an empty list deletes all."""
        key = _key(client, id)
        with self.database.write(durable=False) as connection:
            connection.execute(_NOTE, (*key, self._clock()))
            (text,) = connection.execute("SELECT limits FROM sessions WHERE client = ? AND id = ?", key).fetchone()
            kept = _unpacked(text) or []
            kept += [one for one in limits if one not in kept]
            query = "UPDATE sessions SET limits = ? WHERE client = ? AND id = ?"
            connection.execute(query, (_packed(kept) if limits else None, *key))

    def follow(self, commits: Sequence[Committed], /) -> Iterable[str]:
        """Update conversations after skills were renamed, in the transaction of the rename."""
        moves = {str(commit.before): commit for commit in commits if commit.moved}
        if not moves:
            return ()
        query = "SELECT client, id, state, pending FROM sessions WHERE state IS NOT NULL OR pending IS NOT NULL"
        with self.database.write() as connection:
            for client, id_, state, pending in connection.execute(query).fetchall():
                held = _unpacked(pending)
                waiting = [*held[:2], _moved(held[2], moves)] if held else None
                values = _packed(_moved(_unpacked(state), moves)), _packed(waiting)
                if values != (state, pending):
                    change = "UPDATE sessions SET state = ?, pending = ? WHERE client = ? AND id = ?"
                    connection.execute(change, (*values, client, id_))
        return ()

    # learning

    def waiting(self, *, now: bool = False) -> tuple[Seen, ...]:
        """Return the difficult sessions that are over and were not learned from yet, oldest first.

        With `now`, without those that another process has just claimed, or that must wait.
        """
        time = self._clock()
        query = f"SELECT {_COLUMNS} FROM sessions WHERE hard AND NOT learned AND (ended OR last < ?) AND later <= ?"  # noqa: S608  columns are ours
        rows = self.database.read(f"{query} ORDER BY last, id", (time - QUIET, time if now else _FOREVER))
        return tuple(map(_seen, rows))

    def take_up(self, client: str, id: str) -> bool:  # noqa: A002  as above
        """Claim a waiting session for automatic learning; return False if another process was faster.

        If the process is killed, the session waits again, each time about twice as long: it may be the cause.
        """
        time = self._clock()
        query = (
            "UPDATE sessions SET later = ?1 + min(?2, max(?3, ?1 - last)) "
            "WHERE client = ?4 AND id = ?5 AND NOT learned AND later <= ?1"
        )
        with self.database.write(durable=False) as connection:
            return bool(connection.execute(query, (time, LATER, AGAIN, *_key(client, id))).rowcount)

    def leave(self, client: str, id: str) -> None:  # noqa: A002  as above
        """Let a session wait for a day before the next attempt."""
        self._set("later = ?", client, id, self._clock() + LATER)

    def forget(self, client: str, id: str) -> None:  # noqa: A002  as above
        """Delete what was recorded of a session for learning."""
        counts = ", ".join(f"{name} = 0" for name in Counts._fields)
        self._set(f"{counts}, hard = 0, learned = 1, transcript = ''", client, id)

    def all(self) -> tuple[Seen, ...]:
        """Return every stored session, newest first."""
        return tuple(map(_seen, self.database.read(f"SELECT {_COLUMNS} FROM sessions ORDER BY last DESC, id")))  # noqa: S608  columns are ours

    def learned(self, client: str, id: str) -> bool:  # noqa: A002  as above
        """Record that a session was learned from, or is not worth it; return False if it is unknown."""
        return self.database.existing() is not None and self._set("learned = 1", client, id)

    # failures

    def failed(self, client: str, event: str, code: str, message: str) -> None:
        """Log a failure. Never raises."""
        append(self._state, client, event, code, message, self._clock())

    def failures(self) -> tuple[Failure, ...]:
        """Return the failures of hooks, oldest first."""
        return tuple(sorted(Failure(*row) for row in read(self._state)))

    def examine(self) -> tuple[Note, ...]:
        """Return notes on recent failures, one for each kind, and whether learning has stopped."""
        from whet.learning.selection.budget import State

        return (*told(self.failures(), self._clock()), *State(self.database, self._clock).examine())

    def repair(self) -> Repaired:
        """Delete the reported failures."""
        from whet.learning.selection.budget import State
        from whet.store.repair import Repaired

        aside = State(self.database, self._clock).repair()
        count = len(self.failures())
        clear(self._state)
        return Repaired((*aside, f"Cleared {count} hook failures.") if count else aside)


def told(failures: tuple[Failure, ...], now: int) -> tuple[Note, ...]:
    """Return the doctor's notes on failures: one for each kind, with the last message."""
    from whet.notes import Note

    kinds: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in failures:
        if now - failure.time < TOLD:
            kinds.setdefault((failure.client, failure.event, failure.code), []).append(failure)
    hint = "The client was not affected. `whet doctor --repair` clears this."
    entries = []
    for (client, event, code), known in sorted(kinds.items()):
        last = max(known)
        times = "once" if len(known) == 1 else f"{len(known)} times"
        how = f"failed {times}, last at {iso(last.time)}: {last.message.rstrip('.')} ({code})."
        if event == LEARNING:
            message = f"Learning from sessions of {client or 'clients'} {how}"
            entries.append(Note("learning-failed", "warning", message, hint))
        else:
            message = f"The hook `{event or '?'}` of {client or 'a client'} {how}"
            entries.append(Note("hook-failed", "warning", message, hint))
    return tuple(entries)


def _seen(row: tuple[Any, ...]) -> Seen:
    return Seen._make((*row[:6], Counts(*row[6:11]), *map(bool, row[11:])))


def _packed(value: Any) -> str | None:
    """Return a conversation as text; None if it is too large: repeating an offer is better than growth."""
    import json

    text = json.dumps(value, separators=(",", ":"))
    return text if value is not None and len(text) <= _LONGEST_STATE else None


def _unpacked(text: str | None) -> Any:
    """Return the conversation of a text; None if it cannot be read."""
    import json

    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError, TypeError):
        return None


def _moved(state: Any, moves: Mapping[str, Committed]) -> Any:
    """Return a saved conversation with the current names of renamed skills."""
    if not isinstance(state, dict):
        return state

    def named(id_: str) -> str:
        return str(moves[id_].after) if id_ in moves else id_

    active = []
    for item in state.get("active", ()):
        if item.get("id") in moves:
            entry = moves[item["id"]].entry
            path = os.path.join(entry.path, os.path.basename(item["path"]))
            item = {**item, "id": named(item["id"]), "name": entry.skill, "path": path, "directory": entry.path}  # noqa: PLW2901  the same skill
        active.append(item)
    lists = {name: [*map(named, state.get(name, ()))] for name in ("viewed", "offered")}
    return {**state, "active": active, **lists}


def _key(client: str, id: str) -> tuple[str, str]:  # noqa: A002  as above
    return _text(client, 100), _text(id, 256)


def _text(text: str, most: int) -> str:
    """Return the text in a form that a database can hold, cut last, so that it is found again."""
    return text[:most].encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")[:most]
