"""Distillations that wait for an answer, kept by an id, so that any process and any client can go on with them.

    kept = Kept(state, clock)
    id = kept.keep(distillation)
    with kept.alone():
        kept.keep(kept.read(id).answer(), id)

Each is a file of its own in Whet's state directory, readable by its owner only. Only the newest are kept, and none for
longer than two weeks: one that nobody went on with is forgotten by itself.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.errors import NotFoundError, UsageError
from whet.store.failures import os_failures
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from whet.learning.distilling.rounds import Distillation
    from whet.store.clock import Clock

DIRECTORY = "distillations"
"""Below Whet's state directory."""
MOST = 50
KEPT = 14 * 24 * 3600 * 1_000_000_000
"""Nanoseconds after which one that nobody went on with is forgotten."""
_ID = re.compile(r"[0-9a-f]{8,64}")
_LARGEST = 64 * 1024 * 1024
_PATIENCE = 30.0
"""Seconds to wait for whoever is changing one."""


class Kept:
    """The distillations of one directory of the state. Reading never creates it."""

    def __init__(self, state: str, clock: Clock, directory: str = DIRECTORY) -> None:
        self._state = state
        self._directory = os.path.join(state, directory)
        self._clock = clock

    def alone(self) -> FileLock:
        """Nobody else changes any while the block runs, so that no answer is lost between reading and keeping."""
        return FileLock(lock_path(self._state, "distillations", ""), timeout=_PATIENCE)

    def keep(self, distillation: Distillation, id: str = "") -> str:  # noqa: A002  what it is called everywhere else
        """Write a distillation down, anew or in the place of what has this id; its id."""
        import json

        from whet.store.atomic import make_directories, write_text

        name = id or os.urandom(6).hex()
        path = self._path(name)
        with os_failures(path):
            make_directories(self._directory)
            write_text(path, json.dumps(distillation.to_json()), mode=0o600)
            self._prune(path)
        return name

    def read(self, id: str) -> Distillation:  # noqa: A002  as above
        """The distillation of this id. Raises NotFoundError `no-such-distillation`, UsageError `bad-distillation`."""
        import json

        from whet.learning.distilling.rounds import Distillation

        path = self._path(id)
        with os_failures(path, doing="read", other="read-failed"):
            try:
                with open(path, "rb") as file:
                    data = file.read(_LARGEST)
            except FileNotFoundError as error:
                raise _unknown(id) from error
        try:
            return Distillation.from_json(json.loads(data))
        except (ValueError, RecursionError, UsageError) as error:
            message = f"The distillation {id} is damaged, or of another version."
            raise UsageError("bad-distillation", message, hint="Begin again with the session.", path=path) from error

    def newest(self) -> str:
        """The id of the one that was changed last; empty where there is none."""
        return next((os.path.basename(path)[:-5] for _, path in self._all()), "")

    def forget(self, id: str) -> None:  # noqa: A002  as above
        """Remove one, if it is there."""
        path = self._path(id)
        with os_failures(path, doing="remove"), suppress(FileNotFoundError):
            os.unlink(path)

    def _path(self, id: str) -> str:  # noqa: A002  as above
        if not _ID.fullmatch(id):
            raise _unknown(id)
        return os.path.join(self._directory, f"{id}.json")

    def _all(self) -> list[tuple[int, str]]:
        """When each was changed and where it is, the newest first."""
        found = []
        with os_failures(self._directory, doing="read", other="read-failed"), suppress(FileNotFoundError):
            for name in os.listdir(self._directory):
                if name.endswith(".json") and _ID.fullmatch(name[:-5]):
                    path = os.path.join(self._directory, name)
                    with suppress(FileNotFoundError):
                        found.append((os.stat(path).st_mtime_ns, path))
        return sorted(found, reverse=True)

    def _prune(self, newest: str) -> None:
        """Remove what is too old or too much, but never the one that was just written."""
        others = [(time, path) for time, path in self._all() if path != newest]
        old = self._clock() - KEPT
        for number, (time, path) in enumerate(others, 2):
            if number > MOST or time < old:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _unknown(id: str) -> NotFoundError:  # noqa: A002  as above
    hint = "It was finished, or is too old. Begin again with the session."
    return NotFoundError("no-such-distillation", f"There is no distillation {id!r:.80}.", hint=hint)
