"""Distillations that wait for an answer, kept by an id, so that any process and any client can go on with them.

    kept = Kept(state, clock)
    id = kept.keep(distillation)
    with kept.alone():
        kept.keep(kept.read(id).answer(), id)

They are in the state database, which only its owner can read. Only the newest are kept, and none for longer than two
weeks: one that nobody went on with is forgotten by itself.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from whet.errors import NotFoundError, UsageError
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from whet.learning.distilling.rounds import Distillation
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

MOST = 50
KEPT = 14 * 24 * 3600 * 1_000_000_000
"""Nanoseconds after which one that nobody went on with is forgotten."""
_ID = re.compile(r"[0-9a-f]{8,64}")
_PATIENCE = 30.0
"""Seconds to wait for whoever is changing one."""


class Kept:
    """The distillations of one state directory, whoever began them. Reading never creates it."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state, self._clock = state, clock

    def alone(self) -> FileLock:
        """Nobody else changes any while the block runs, so that no answer is lost between reading and keeping."""
        return FileLock(lock_path(self._state.directory, "distillations", ""), timeout=_PATIENCE)

    def keep(self, distillation: Distillation, id: str = "") -> str:  # noqa: A002  what it is called everywhere else
        """Write a distillation down, anew or in the place of what has this id; its id."""
        import json

        name, content, now = _checked(id or os.urandom(6).hex()), json.dumps(distillation.to_json()), self._clock()
        with self._state.write() as connection:
            connection.execute("DELETE FROM distillations WHERE id = ?", (name,))
            query = "INSERT INTO distillations (id, time, content) VALUES (?, ?, ?)"
            newest = connection.execute(query, (name, now, content)).lastrowid
            connection.execute(
                "DELETE FROM distillations WHERE number <> ? AND (time < ? OR number NOT IN "
                "(SELECT number FROM distillations ORDER BY number DESC LIMIT ?))",
                (newest, now - KEPT, MOST),
            )
        return name

    def read(self, id: str) -> Distillation:  # noqa: A002  as above
        """The distillation of this id. Raises NotFoundError `no-such-distillation`, UsageError `bad-distillation`."""
        import json

        from whet.learning.distilling.rounds import Distillation

        rows = self._state.read("SELECT content FROM distillations WHERE id = ?", (_checked(id),))
        if not rows:
            raise _unknown(id)
        try:
            return Distillation.from_json(json.loads(rows[0][0]))
        except (ValueError, TypeError, RecursionError, UsageError) as error:
            message = f"The distillation {id} is damaged, or of another version."
            raise UsageError("bad-distillation", message, hint="Begin again with the session.") from error

    def newest(self) -> str:
        """The id of the one that was changed last; empty where there is none."""
        query = "SELECT id FROM distillations ORDER BY number DESC LIMIT 1"
        return next((str(id_) for (id_,) in self._state.read(query)), "")

    def forget(self, id: str) -> None:  # noqa: A002  as above
        """Remove one, if it is there."""
        if self._state.existing() is not None:
            with self._state.write() as connection:
                connection.execute("DELETE FROM distillations WHERE id = ?", (_checked(id),))


def _checked(id: str) -> str:  # noqa: A002  as above
    if not _ID.fullmatch(id):
        raise _unknown(id)
    return id


def _unknown(id: str) -> NotFoundError:  # noqa: A002  as above
    hint = "It was finished, or is too old. Begin again with the session."
    return NotFoundError("no-such-distillation", f"There is no distillation {id!r:.80}.", hint=hint)
