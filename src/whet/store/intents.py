"""What is about to be done, written down first: one log for whoever changes more than one thing that must agree.

    id_ = intents.begin("edit", {...})      # before anything is changed
    ...                                     # files, one after the other
    with state.write():                     # what came of it, in one transaction
        intents.settle(id_)
        ...

A killed process leaves its intent. Whoever comes next takes the locks that its writer held, so that a living one is not
disturbed, and finishes the change or takes it back: `recover`, with a handler for each kind.
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
"""A change of skills (`whet.authoring.writer`), with what a lock will say of them."""
CLEAN = "clean"
"""What lies beside skills that were changed, and is no longer needed (`whet.authoring.writer`)."""
LOCK = "lock"
"""A lock that does not say yet what is installed (`whet.sources.lock.installs`)."""

SYNC = "sync"
"""What is about to be made for other clients (`whet.sources.sync.record`)."""

CONNECT = "connect"
"""What the connection of a client is about to be (`whet.interfaces.clients.records`)."""


UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading a damaged intent raises."""


class Intent(NamedTuple):
    """Something that was begun and is not settled."""

    id: str
    kind: str
    payload: Any
    """What the handler needs to finish the intent or undo it, as JSON; None where it is damaged."""


class Handler(NamedTuple):
    """How intents of one kind are recovered."""

    locks: Callable[[Intent], Iterable[FileLock]]
    """What its writer holds while it is alive, in the order in which it takes them; they wait for nobody."""
    finish: Callable[[Intent], str]
    """Finish it or take it back, and settle it; what was done, in a sentence, "" for nothing worth saying."""
    describe: Callable[[Intent], str]
    """What it is, as the beginning of a sentence."""


class Intents:
    """The intents of one state directory. Reading creates nothing."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def begin(self, kind: str, payload: Any, id_: str = "") -> str:
        """Write down what is about to be done; its id."""
        import json  # a list of skills that are known needs none

        id_ = id_ or os.urandom(8).hex()
        with self._state.write() as connection:
            row = (id_, self._clock(), kind, json.dumps(payload))
            connection.execute("INSERT INTO intents (id, time, kind, payload) VALUES (?, ?, ?, ?)", row)
        return id_

    def settle(self, id_: str, *, durable: bool = True) -> bool:
        """Strike an intent out: it is done, or taken back. False where somebody else has done so.

        Not `durable`: after a power failure it may be open again.
        """
        with self._state.write(durable=durable) as connection:
            return connection.execute("DELETE FROM intents WHERE id = ?", (id_,)).rowcount > 0

    def open(self, kind: str) -> list[Intent]:
        """The intents of a kind that are not settled, oldest first."""
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
        """Has nobody settled it?"""
        return bool(self._state.read("SELECT 1 FROM intents WHERE id = ?", (id_,)))

    def turn(self) -> None:
        """Count that a change of several things that readers see begins, is taken back, or ends."""
        with self._state.write() as connection:
            connection.execute("INSERT INTO counts VALUES ('turns', 1) ON CONFLICT DO UPDATE SET value = value + 1")

    def mark(self) -> tuple[int, bool]:
        """How many turns there were, and whether anything is open: who reads between two equal counts sees no turn."""
        query = "SELECT (SELECT value FROM counts WHERE name = 'turns'), EXISTS (SELECT 1 FROM intents)"
        rows = self._state.recall(query)
        return (rows[0][0] or 0, bool(rows[0][1])) if rows else (0, False)

    def recover(self, handlers: Mapping[str, Handler]) -> tuple[str, ...]:
        """Settle what killed processes left; what was done or could not be done, a sentence each."""
        from contextlib import ExitStack

        told: list[str] = []
        for kind, handler in handlers.items():
            for intent in self.open(kind):
                with ExitStack() as locks:
                    try:
                        for lock in handler.locks(intent):
                            locks.enter_context(lock)
                        if self.is_open(intent.id):
                            told.append(handler.finish(intent))
                    except WhetError as error:
                        if error.code != "lock-timeout":  # else its writer is alive
                            told.append(f"{handler.describe(intent)} could not be finished or undone: {error.message}")
                    except UNREADABLE:
                        told.append(f"The interrupted operation {intent.id} cannot be read; it stays as it is.")
        return tuple(sentence for sentence in told if sentence)
