"""What `whet sync` made, written down before it is made, so that taking it back removes exactly that.

The record names every link, copy and directory. An entry may be ahead of the disk (somebody pulled the plug between
writing it down and making it), never behind it. What stands at the place decides: a link is ours while it points where
we pointed it, a copy while it has the content we gave it. Where the client's directory or the root has become another
one since (a link to the other, say), a copy is nobody's copy any more: it may be the skill itself that lies there.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.authoring.trees import digest
from whet.errors import InvalidError, WhetError
from whet.library.files import inside
from whet.library.package import read_tree
from whet.store.atomic import write_bytes
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.store.state import StateDatabase

_PATIENCE = 30.0

How = Literal["link", "copy"]
Standing = Literal["ours", "edited", "gone", "other"]


class Made(NamedTuple):
    """One skill that was made available to one client."""

    path: str
    """The link or the copy."""
    folder: str
    """The directory it was made in, with links resolved."""
    base: str
    """The home or the project."""
    root: str
    source: str
    """The skill's directory, seen from the root, with forward slashes."""
    client: str
    how: How
    target: str = ""
    """Of a link: where it points, as it is written."""
    digest: str = ""
    """Of a copy: its content."""
    coming: str = ""
    """Of a copy: the content it is being given; it may have either."""
    instead: bool = False
    """It is a copy because a link could not be made."""

    @property
    def name(self) -> str:
        """The name the client sees."""
        return os.path.basename(self.path)


class Record(NamedTuple):
    """Everything that was made."""

    made: dict[str, Made]
    """By path."""
    directories: tuple[str, ...] = ()
    """Those that had to be made, outermost first."""


EMPTY = Record({})


def writing(state: StateDatabase) -> FileLock:
    """Held by whoever changes what is synced."""
    return FileLock(lock_path(state.directory, "sync", ""), timeout=_PATIENCE)


def read_record(state: StateDatabase) -> Record:
    """What was made so far. Raises InvalidError `sync-damaged`."""
    made: list[Made] = []
    directories: list[str] = []
    try:
        for kind, entry in read_rows(state):
            if kind == "made":
                made.append(_made(json.loads(entry)))
            else:
                directories.append(_absolute(json.loads(entry)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"It is not known what sync made; the record is damaged: {str(error) or type(error).__name__}."
        hint = "Run `whet doctor --repair`; it keeps the record and finds the links again by where they point."
        raise InvalidError("sync-damaged", message, hint=hint, path=state.path) from error
    return Record({one.path: one for one in made}, tuple(directories))


def read_rows(state: StateDatabase) -> list[tuple[Any, ...]]:
    """The record as it is stored."""
    return state.read("SELECT kind, entry FROM synced ORDER BY number")


def _made(entry: Any) -> Made:
    if not isinstance(entry, dict):
        raise TypeError("an entry is no object")
    instead = entry.pop("instead", False)
    made = Made(**entry, instead=instead is True)
    if not all(isinstance(value, str) for value in entry.values()) or made.how not in ("link", "copy"):
        raise TypeError("an entry has a value of another kind")
    for path in (made.path, made.folder, made.base, made.root):
        _absolute(path)
    return made


def _absolute(path: Any) -> str:
    if not isinstance(path, str) or not os.path.isabs(path) or os.path.normpath(path) != path:
        raise ValueError(f"{path!r} is no absolute path")
    return path


def write_record(state: StateDatabase, record: Record) -> None:
    """Write down what was made."""
    if not record.made and not record.directories and state.existing() is None:
        return
    rows = [("made", json.dumps(record.made[key]._asdict())) for key in sorted(record.made)]
    rows += [("directory", json.dumps(path)) for path in record.directories]
    with state.write() as connection:
        connection.execute("DELETE FROM synced")
        connection.executemany("INSERT INTO synced (kind, entry) VALUES (?, ?)", rows)


def set_aside(state: StateDatabase) -> str:
    """Keep a record that cannot be read as a file; where."""
    number = 1
    while os.path.lexists(path := os.path.join(state.directory, f"sync.damaged-{number}")):
        number += 1
    write_bytes(path, json.dumps(read_rows(state), indent=1, default=repr).encode() + b"\n", mode=0o600)
    return path


# --- what stands there ----------------------------------------------------------------------------------------------


def standing(made: Made) -> Standing:
    """Whether what was made is still there, and still as it was made."""
    if not os.path.lexists(made.path):
        return "gone"
    if os.path.realpath(os.path.dirname(made.path)) != made.folder:
        return "other"
    if made.how == "link":
        return "ours" if link_text(made.path) == made.target else "other"
    if os.path.islink(made.path) or not os.path.isdir(made.path) or inside(made.folder, os.path.realpath(made.root)):
        return "other"
    return "ours" if content_digest(made.path) in {made.digest, made.coming} - {""} else "edited"


def link_text(path: str) -> str:
    """Where a link points, as it is written; "" for what is no link."""
    try:
        return os.readlink(path).removeprefix("\\\\?\\")
    except OSError:
        return ""


def content_digest(directory: str) -> str:
    """The digest of a skill's directory; "" where it cannot be told."""
    try:
        return digest(read_tree(directory))
    except WhetError:
        return ""


def without(record: Record, paths: Iterable[str]) -> Record:
    """The record without these entries."""
    gone = set(paths)
    return record._replace(made={path: made for path, made in record.made.items() if path not in gone})
