"""Paths of clients' sessions: the file of a session by its id, if no hook reported it.

The table is `places.toml`.
"""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LAST = "last"
"""Stands for the id of the newest session of a client."""
_ID = re.compile(r"[\w.-]{4,200}")
_VARIABLE = re.compile(r"\$(\w+)")


class Place(NamedTuple):
    """A row of the table."""

    client: str
    base: list[str]
    files: list[str]
    many: bool = False


def places() -> list[Place]:
    """Return the table."""
    return [Place(**row) for row in load_table("transcripts/places")["place"]]


def find_session(client: str, id_: str, home: str, env: Mapping[str, str]) -> str:
    """Return the file of a client's session with this id, or of its newest; "" if there is none."""
    own = (place for place in places() if place.client == client and _ID.fullmatch(id_))
    found = [path for place in own for path in _files(place, id_, home, env)]
    return max(found, key=_changed) if found and id_ == LAST else next(iter(found), "")


def recent_sessions(home: str, env: Mapping[str, str], most: int) -> list[tuple[str, str, float]]:
    """Return the newest sessions in separate files: client, path and time of the last change."""
    found = {path: place.client for place in places() if not place.many for path in _files(place, LAST, home, env)}
    rows = [(client, path, _changed(path)) for path, client in found.items()]
    return sorted(rows, key=lambda row: row[2], reverse=True)[:most]


def _files(place: Place, id_: str, home: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the files that may hold a session."""
    base = next(filter(None, (_filled(base, home, env) for base in place.base)), "")
    names = {"{id}": "*", "{short}": "*"} if id_ == LAST else {"{id}": glob.escape(id_), "{short}": id_[:8]}
    for pattern in place.files:
        for mark, name in names.items():
            pattern = pattern.replace(mark, name)  # noqa: PLW2901  it is filled in
        with suppress(OSError):
            yield from filter(os.path.isfile, glob.iglob(os.path.join(glob.escape(base), pattern)))


def _filled(base: str, home: str, env: Mapping[str, str]) -> str:
    """Return a directory with its variable replaced; "" if that is not set."""
    if base.startswith("~"):
        return home + base[1:] if home else ""
    name = _VARIABLE.match(base)
    value = env.get(name[1], "") if name else base
    return value + base[name.end() :] if name and value else "" if name else base


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
