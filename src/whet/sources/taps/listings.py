"""What sources had when they were last asked: a cache, so that a second search costs nothing and works without a net.

One file for each source, in `listings/` of the state directory. The cache only saves work: a file that is damaged, too
large or about something else is as good as none and is replaced by the next answer.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import WhetError
from whet.sources.model import Offer
from whet.sources.refs.reading import read_ref, ref_text
from whet.store.atomic import make_directories, write_bytes
from whet.store.clock import system_clock
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.library.roots import Place
    from whet.store.clock import Clock

DIRECTORY = "listings"
MAX_FILES = 64
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_TOTAL_BYTES = 32 * 1024 * 1024

_FORMAT = 1
_HOUR = 3600 * 1_000_000_000
_WAIT = 5.0


class Kept(NamedTuple):
    """What a source had."""

    offers: tuple[Offer, ...]
    time: int
    """When it said so, in nanoseconds since 1970."""
    fresh: bool
    """Within the last hour: it need not be asked again."""


class Listings:
    """The cache of one person."""

    __slots__ = ("_clock", "_lock", "_place", "directory")

    def __init__(self, place: Place, clock: Clock = system_clock) -> None:
        self.directory = os.path.join(place.state, DIRECTORY)
        self._place = place
        self._clock = clock
        self._lock = FileLock(lock_path(place.state, DIRECTORY, ""), timeout=_WAIT)

    def find(self, key: str) -> Kept | None:
        """What was kept under a key, however old; None when there is nothing that can be read."""
        try:
            with open(self._path(key), "rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                return None
            return self._kept(json.loads(data.decode()), key)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, WhetError):
            return None

    def keep(self, key: str, revision: str, offers: Iterable[Offer]) -> bool:
        """Keep an answer, and let the oldest go where there are too many. False when it is too large to keep."""
        rows = [[*offer._replace(ref=None), ref_text(offer.ref)] for offer in offers]  # type: ignore[arg-type]  # the text stands for it
        document = {"format": _FORMAT, "key": key, "revision": revision, "time": self._clock(), "offers": rows}
        data = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        if len(data) > MAX_FILE_BYTES:
            return False
        make_directories(self.directory, durable=False)
        with self._lock:
            write_bytes(self._path(key), data, durable=False)
            self._prune(self._path(key))
        return True

    def _path(self, key: str) -> str:
        return os.path.join(self.directory, f"{sha256(key.encode('utf-8', 'backslashreplace')).hexdigest()[:32]}.json")

    def _kept(self, document: Any, key: str) -> Kept:
        if document["format"] != _FORMAT or document["key"] != key:
            raise ValueError("it is about something else")
        offers = tuple(_offer(row, self._place) for row in document["offers"])
        time = document["time"]
        return Kept(offers, time, 0 <= self._clock() - time < _HOUR)

    def _prune(self, newest: str) -> None:
        """Let the files go that were written longest ago, until few and small enough are left."""
        found = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.name.endswith(".json") and entry.path != newest:
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime_ns, status.st_size, entry.path))
        left = MAX_TOTAL_BYTES - os.path.getsize(newest)
        for number, (_, size, path) in enumerate(sorted(found, reverse=True), 2):
            left -= size
            if number > MAX_FILES or left < 0:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _offer(row: Any, place: Place) -> Offer:
    """One offer as it was kept; anything else raises."""
    *values, text = row
    offer = Offer(*values)._replace(ref=read_ref(text, place))
    texts = (offer.name, offer.description, offer.revision, offer.marker, offer.version, offer.digest, offer.group)
    if not all(isinstance(value, str) for value in texts) or not isinstance(offer.hidden, bool):
        raise TypeError("a value is of another type")
    return offer
