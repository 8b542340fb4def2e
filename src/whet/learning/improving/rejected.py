"""What was tried and was no good, so that nobody pays for trying it again.

There is a file for each skill in `improving/` of the state directory. A candidate is known by what the skill would be
with it, its evals included: when either changes, it is another candidate. A file that cannot be read counts as empty,
and is told of.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.store.atomic import make_directories, write_text
from whet.store.clock import iso
from whet.store.failures import os_failures
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.evals.gate import Reason
    from whet.learning.improving.edits import Edit
    from whet.store.clock import Clock

DIRECTORY = "improving"
KEPT = 20
"""Candidates of one skill that are remembered."""
_SHORT = 500
"""Characters of an edit's texts that are remembered."""
_LARGEST = 1 << 20
_LOCK_SECONDS = 10.0


class Rejected(NamedTuple):
    """A candidate that was no good."""

    digest: str
    edits: list[dict[str, Any]]
    """Their kinds and the beginnings of their texts."""
    reasons: list[dict[str, str]]
    """What spoke against it: {code, message}."""
    time: str = ""


def rejection(digest: str, edits: Sequence[Edit], reasons: Sequence[Reason]) -> Rejected:
    """A candidate as it is remembered."""
    short = [{field: text[:_SHORT] for field, text in edit.to_json().items()} for edit in edits]
    return Rejected(digest, short, [reason.to_json() for reason in reasons])


class Buffer:
    """The rejected candidates of one skill, by the path of its directory."""

    def __init__(self, state: str, path: str, clock: Clock) -> None:
        self._state, self._clock = state, clock
        name = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self._file = os.path.join(state, DIRECTORY, f"{name}.json")
        self.problem = ""
        """What is wrong with the file, a sentence."""

    def read(self) -> list[Rejected]:
        """What is remembered, the oldest first."""
        with os_failures(self._file, doing="read", other="read-failed"):
            try:
                with open(self._file, "rb") as file:
                    rows = json.loads(file.read(_LARGEST))
                return [Rejected(*(_typed(row, field) for field in Rejected._fields)) for row in rows][-KEPT:]
            except FileNotFoundError:
                return []
            except (ValueError, TypeError, KeyError, RecursionError):
                self.problem = f"{self._file} cannot be read; what was rejected before is forgotten."
                return []

    def add(self, new: Rejected) -> None:
        """Remember a candidate."""
        make_directories(os.path.dirname(self._file))
        with FileLock(lock_path(self._state, "improving", os.path.basename(self._file)), timeout=_LOCK_SECONDS):
            rows = [row for row in self.read() if row.digest != new.digest]
            kept = [row._asdict() for row in (*rows, new._replace(time=iso(self._clock())))[-KEPT:]]
            write_text(self._file, json.dumps(kept, ensure_ascii=False, indent=1) + "\n", mode=0o600)


def _typed(row: dict[str, Any], field: str) -> Any:
    """A field of a row, which is of its kind. Raises TypeError, KeyError."""
    value = row[field]
    if field not in ("edits", "reasons"):
        if not isinstance(value, str):
            raise TypeError
        return value
    rows = [dict(item) for item in value]
    if not all(isinstance(text, str) for item in rows for text in item.values()):
        raise TypeError
    return [{name: item[name] for name in ("code", "message")} for item in rows] if field == "reasons" else rows
