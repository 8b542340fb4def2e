"""Intents: planned changes, recorded before they are made. One log for every change of several things that must agree.

    id_ = intents.begin("edit", {...})      # before anything is changed
    ...                                     # files, one after the other
    with state.write():                     # the results, in one transaction
        intents.settle(id_)
        ...

A killed process leaves its intent. The next process takes the locks that its writer held, so that a living one is not
disturbed, and finishes the change or undoes it: `recover`, with a handler for each kind.
"""

from __future__ import annotations

import os

from whet.errors import WhetError
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from whet.store.clock import Clock
    from whet.store.locks import FileLock
    from whet.store.state import StateDatabase

EDIT = "edit"
"""A change of skills (`whet.authoring.writer`), with their new lock entries."""
CLEAN = "clean"
"""Leftovers beside changed skills (`whet.authoring.writer`)."""
LOCK = "lock"
"""A lock with pending changes (`whet.sources.lock.installs`)."""

SYNC = "sync"
"""Links and copies to make for other clients (`whet.sources.sync.record`)."""

CONNECT = "connect"
"""A planned connection of a client (`whet.interfaces.clients.records`)."""


UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors raised by reading a damaged intent."""


class Intent(NamedTuple):
    """A begun change that is not settled."""

    id: str
    kind: str
    payload: Any
    """JSON that the handler needs to finish or undo the change; None if it is damaged."""


class Handler(NamedTuple):
    """The recovery of one kind of intents."""

    locks: Callable[[Intent], Iterable[FileLock]]
    """Returns the locks of a living writer, in the order in which it takes them; they do not wait."""
    finish: Callable[[Intent], str]
    """Finishes or undoes the change and settles it; returns a sentence about it, "" for nothing to report."""
    describe: Callable[[Intent], str]
    """Returns a description, as the beginning of a sentence."""


class Intents:
    """The intents of one state directory. Reading creates nothing."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def begin(self, kind: str, payload: Any, id_: str = "") -> str:
        """Record a planned change; return its id."""
        import json  # listing cached skills does not need it

        id_ = id_ or os.urandom(8).hex()
        with self._state.write() as connection:
            row = (id_, self._clock(), kind, json.dumps(payload))
            connection.execute("INSERT INTO intents (id, time, kind, payload) VALUES (?, ?, ?, ?)", row)
        return id_

    def settle(self, id_: str, *, durable: bool = True) -> bool:
        """Delete an intent that is finished or undone. Return False if another process has done so.

        `durable=False`: after a power failure it may be open again.
        """
        with self._state.write(durable=durable) as connection:
            return connection.execute("DELETE FROM intents WHERE id = ?", (id_,)).rowcount > 0

    def open(self, kind: str) -> list[Intent]:
        """Return the open intents of a kind, oldest first."""
        import json
        from contextlib import suppress

        query = "SELECT id, kind, payload FROM intents WHERE kind = ? ORDER BY number"
        found = []
        for id_, kind_, text in self._state.read(query, (kind,)):
            payload = None
            with suppress(ValueError):
                payload = json.loads(text)
            found.append(Intent(id_, kind_, payload))
        return found

    def is_open(self, id_: str) -> bool:
        """Return whether an intent is not settled."""
        return bool(self._state.read("SELECT 1 FROM intents WHERE id = ?", (id_,)))

    def turn(self) -> None:
        """Count the begin, undo or end of a change of several things that readers see."""
        with self._state.write() as connection:
            connection.execute("INSERT INTO counts VALUES ('turns', 1) ON CONFLICT DO UPDATE SET value = value + 1")

    def mark(self) -> tuple[int, bool]:
        """Return the number of turns, and whether anything is open: a reader between two equal counts sees no turn."""
        query = "SELECT (SELECT value FROM counts WHERE name = 'turns'), EXISTS (SELECT 1 FROM intents)"
        rows = self._state.recall(query)
        return (rows[0][0] or 0, bool(rows[0][1])) if rows else (0, False)

    def recover(self, handlers: Mapping[str, Handler]) -> tuple[str, ...]:
        """Settle the intents of killed processes; return a sentence about each result or failure."""
        from contextlib import ExitStack

        done: list[str] = []
        for kind, handler in handlers.items():
            for intent in self.open(kind):
                with ExitStack() as locks:
                    try:
                        for lock in handler.locks(intent):
                            locks.enter_context(lock)
                        if self.is_open(intent.id):
                            done.append(handler.finish(intent))
                    except WhetError as error:
                        if error.code != "lock-timeout":  # else its writer is alive
                            done.append(f"{handler.describe(intent)} could not be finished or undone: {error.message}")
                    except UNREADABLE:
                        done.append(f"The interrupted operation {intent.id} cannot be read; it stays as it is.")
        return tuple(sentence for sentence in done if sentence)
