"""What was tried and was no good, so that nobody pays for trying it again.

A candidate is known by what the skill would be with it, its evals included: when either changes, it is another
candidate. What cannot be read counts as nothing, and is told of.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.evals.gate import Reason  # noqa: TC001  the types of `Rejected` are read at run time
from whet.learning.improving.edits import Edit
from whet.store.clock import iso
from whet.values import as_json, read_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

KEPT = 20
"""Candidates of one skill that are remembered."""
_SHORT = 500
"""Characters of an edit's texts that are remembered."""


class Rejected(NamedTuple):
    """A candidate that was no good."""

    digest: str
    edits: tuple[Edit, ...]
    """With the beginnings of their texts only."""
    reasons: tuple[Reason, ...]
    """What spoke against it."""
    time: str = ""


def rejection(digest: str, edits: Sequence[Edit], reasons: Sequence[Reason]) -> Rejected:
    """A candidate as it is remembered."""
    short = (Edit(**{field: text[:_SHORT] for field, text in edit.to_json().items()}) for edit in edits)
    return Rejected(digest, tuple(short), tuple(reasons))


class Buffer:
    """The rejected candidates of one skill, by the path of its directory."""

    def __init__(self, state: StateDatabase, path: str, clock: Clock) -> None:
        self._state, self._clock = state, clock
        self._skill = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self.problem = ""
        """What is wrong with what is remembered, a sentence."""

    def read(self) -> list[Rejected]:
        """What is remembered, the oldest first."""
        found = []
        for (content,) in self._state.read(
            "SELECT content FROM rejected_edits WHERE skill = ? ORDER BY number", (self._skill,)
        ):
            try:
                found.append(read_value(Rejected, json.loads(content), "it"))
            except (ValueError, TypeError, RecursionError):
                self.problem = "A rejected candidate cannot be read; it is forgotten."
        return found[-KEPT:]

    def add(self, new: Rejected) -> None:
        """Remember a candidate."""
        content = json.dumps(as_json(new._replace(time=iso(self._clock()))))
        with self._state.write() as connection:
            connection.execute("DELETE FROM rejected_edits WHERE skill = ? AND digest = ?", (self._skill, new.digest))
            query = "INSERT INTO rejected_edits (skill, digest, content) VALUES (?, ?, ?)"
            connection.execute(query, (self._skill, new.digest, content))
            connection.execute(
                "DELETE FROM rejected_edits WHERE skill = ?1 AND number NOT IN "
                "(SELECT number FROM rejected_edits WHERE skill = ?1 ORDER BY number DESC LIMIT ?2)",
                (self._skill, KEPT),
            )
