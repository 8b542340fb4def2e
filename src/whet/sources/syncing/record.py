"""What `whet sync` made, written down before it is made, so that taking it back removes exactly that.

`sync.json` names every link, copy and directory. An entry may be ahead of the disk (somebody pulled the plug between
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
from whet.library.files import inside, read_file
from whet.library.package import read_tree
from whet.store.atomic import make_directories, sync_directory, write_bytes
from whet.store.failures import os_failure, os_failures
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "sync.json"
VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
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


def record_path(state: str) -> str:
    """Where it is written down."""
    return os.path.join(state, FILE)


def writing(state: str) -> FileLock:
    """Held by whoever changes what is synced."""
    return FileLock(lock_path(state, "sync", FILE), timeout=_PATIENCE)


def read_record(state: str) -> Record:
    """What was made so far. Raises InvalidError `sync-damaged`."""
    path = record_path(state)
    try:
        data = read_file(path, MAX_BYTES + 1)
    except FileNotFoundError:
        return EMPTY
    except OSError as error:
        raise os_failure(error, path, doing="read", other="read-failed") from error
    try:
        return _record(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"{path} is damaged, so it is not known what sync made: {str(error) or type(error).__name__}."
        hint = "Run `whet doctor --repair`; it keeps the file and finds the links again by where they point."
        raise InvalidError("sync-damaged", message, hint=hint, path=path) from error


def _record(value: Any) -> Record:
    if not isinstance(value, dict) or value.get("version") != VERSION:
        raise ValueError("it is not of a kind this Whet knows")
    entries, directories = value["made"], value["directories"]
    if not isinstance(entries, list) or not isinstance(directories, list):
        raise TypeError("its entries are no lists")
    made = [_made(entry) for entry in entries]
    return Record({one.path: one for one in made}, tuple(_absolute(path) for path in directories))


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


def write_record(state: str, record: Record) -> None:
    """Write down what was made; without anything there is no file."""
    path = record_path(state)
    if not record.made and not record.directories:
        with os_failures(path, doing="remove"):
            if os.path.lexists(path):
                os.unlink(path)
                sync_directory(state)
        return
    value = {
        "version": VERSION,
        "made": [record.made[key]._asdict() for key in sorted(record.made)],
        "directories": list(record.directories),
    }
    make_directories(state)
    write_bytes(path, json.dumps(value, indent=1).encode() + b"\n")


def set_aside(state: str) -> str:
    """Move a record that cannot be read out of the way; where to."""
    path = record_path(state)
    number = 1
    while os.path.lexists(f"{path}.damaged-{number}"):
        number += 1
    with os_failures(path, doing="move"):
        os.rename(path, f"{path}.damaged-{number}")
    return f"{path}.damaged-{number}"


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
