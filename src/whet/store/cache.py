"""`cache.db`: everything that can be rebuilt, in one file that every room shares.

The cache only saves work. A damaged file, or one of another version, is set aside and rebuilt; one that cannot be
opened or written is not used. Nothing here raises because of that; `problem` reports it.
"""

from __future__ import annotations

import os
from _thread import RLock

from whet.errors import FailedError, NotFoundError, WhetError
from whet.notes import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from whet.store.database import Database

FILE = "cache.db"
_BUSY_MS = 200


class CacheDatabase:
    """The cache of one state directory, opened on first use. Thread-safe."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, FILE)
        self.problem: Note | None = None
        self._database: Database | None = None
        self._broken = False
        self._turn = RLock()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._turn:
            if self._database is not None:
                self._database.close()
            self._database = None

    def open(self, *, suspect: bool = False) -> Database:
        """Return the database, created if missing. Raise FailedError. `suspect`: first check the whole file."""
        if self._database is None:
            from whet.store.database import rebuildable
            from whet.store.schema import CACHE

            self._database, aside = rebuildable(self.path, CACHE, durable=False, busy_ms=_BUSY_MS, suspect=suspect)
            if aside:
                self._rebuilt(aside)
        return self._database

    def use(self, ask: Callable[[Database], Any], *, create: bool = True) -> Any:
        """Call `ask` with the database; an unusable one is rebuilt once, any other failure is noted and returns None.

        If there is no file and `create` is false, `ask` is not called.
        """
        with self._turn:
            suspect = False
            for first in (True, False):
                if self._broken or (not create and self._database is None and not os.path.exists(self.path)):
                    break
                try:
                    answer = ask(self.open(suspect=suspect))
                    told = self.problem
                    if told is not None and (told.code, told.path) == ("cache-unavailable", self.path):
                        self.problem = None
                    return answer  # noqa: TRY300  the answer of the `try` block
                except (UnicodeEncodeError, OverflowError):
                    break  # a path that is not Unicode, or a date beyond SQLite's: it is not cached
                except FailedError as error:
                    if error.code in ("state-busy", "lock-timeout"):
                        break
                    suspect = error.code == "state-corrupt"
                    if not first or not (suspect or (error.code == "state-failed" and self._set_aside())):
                        self._broken = error.code != "disk-full"
                        self.problem = Note("cache-unavailable", "info", error.message, error.hint, path=self.path)
                        break
                    self.close()
                except UnicodeDecodeError:  # SQLite quotes what it found
                    if not first or not self._set_aside():
                        self._broken = True
            return None

    def _rebuilt(self, aside: str) -> None:
        hint = "Nothing was lost. The file can be deleted."
        message = f"The cache was unusable; Whet moved it to {aside} and rebuilt it."
        self.problem = Note("cache-rebuilt", "info", message, hint, path=self.path)

    def _set_aside(self) -> bool:
        """Set aside a database that is sound for SQLite, but not ours."""
        from whet.store.database import set_aside

        self.close()
        try:
            self._rebuilt(set_aside(self.path))
        except NotFoundError:
            return True  # another process was faster
        except WhetError as error:
            self.problem = Note("cache-unavailable", "info", error.message, error.hint, path=self.path)
            return False
        return True
