"""The record of `whet sync`, written before each change, so that an undo removes exactly what sync made.

The record names every link, copy and directory. A link or copy that is about to be made is an intent, which becomes
part of the record when it is made; an interrupted one counts, too. So the record may be ahead of the disk, but never
behind it. The files on disk decide: a link is ours while it points where we pointed it, a copy while it has the content
we gave it. If the client's directory or the root has since been replaced (for example by a link to the other), a copy
is no longer ours: it may be the skill itself.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.authoring.trees import digest
from whet.errors import InvalidError, WhetError
from whet.library.files import inside
from whet.library.package import read_tree
from whet.store.atomic import free_name, write_bytes
from whet.store.clock import system_clock
from whet.store.directories import PRIVATE
from whet.store.intents import SYNC, Intents
from whet.store.locks import FileLock, lock_path
from whet.store.regular import is_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.store.state import StateDatabase
    from whet.values import Json

_PATIENCE = 30.0

How = Literal["link", "copy"]
Standing = Literal["ours", "edited", "gone", "other"]


class Made(NamedTuple):
    """A skill that was made available to a client."""

    path: str
    """Path of the link or copy."""
    folder: str
    """Real path of its parent directory."""
    base: str
    """The home or the project."""
    root: str
    source: str
    """Directory of the skill, relative to the root, with forward slashes."""
    client: str
    how: How
    target: str = ""
    """Target of a link, as written."""
    digest: str = ""
    """Digest of a copy."""
    coming: str = ""
    """Digest that a copy is being changed to; it may have either."""
    instead: bool = False
    """Whether it is a junction or a copy because a link could not be made."""
    away: str = ""
    """Why it was removed: `gone` with its skill, until that returns; `disabled`, until the skill is enabled."""

    @property
    def name(self) -> str:
        """The name that the client sees."""
        return os.path.basename(self.path)


class Follower(NamedTuple):
    """A client that gets every skill of a root, including later ones."""

    client: str
    base: str
    """The home or the project."""
    root: str
    how: How


class Record(NamedTuple):
    """Everything that was made, or is about to be."""

    made: dict[str, Made]
    """By path."""
    directories: tuple[str, ...] = ()
    """Directories that were created, outermost first."""
    open: tuple[str, ...] = ()
    """Ids of the intents in it."""


def writing(state: StateDatabase, *, patience: float = _PATIENCE) -> FileLock:
    """Return the lock that a writer of the record holds."""
    return FileLock(lock_path(state.directory, "sync", ""), timeout=patience)


def read_record(state: StateDatabase) -> Record:
    """Read what was made and what was begun. Raise InvalidError `sync-damaged`."""
    intents = Intents(state, system_clock).open(SYNC)
    try:
        record = _parse(
            [json.loads(entry) for kind, entry in read_rows(state) if kind == "made"],
            [json.loads(entry) for kind, entry in read_rows(state) if kind == "directory"],
        )
        for intent in intents:
            begun = _parse(intent.payload["made"], intent.payload["directories"])
            record = add(record, begun.made.values(), begun.directories, intent.id)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(state, error) from error
    return record


def _damaged(state: StateDatabase, error: Exception) -> InvalidError:
    message = f"The record of synced skills is damaged: {str(error) or type(error).__name__}."
    hint = "Run `whet doctor --repair`; it keeps the record and recovers the links from their targets."
    return InvalidError("sync-damaged", message, hint=hint, path=state.path)


def add(record: Record, made: Iterable[Made], directories: Iterable[str], id_: str) -> Record:
    """Return the record with the entries of an intent. A copy that is being changed may have either content."""
    known = dict(record.made)
    for one in made:
        before = known.get(one.path)
        follows = before is not None and (before.how, one.how) == ("copy", "copy")
        known[one.path] = one._replace(digest=before.digest, coming=one.digest) if before and follows else one
    new = tuple(path for path in directories if path not in record.directories)
    return Record(known, (*record.directories, *new), (*record.open, id_))


def read_rows(state: StateDatabase) -> list[tuple[Any, ...]]:
    """Return the stored rows of the record."""
    return state.read("SELECT kind, entry FROM synced ORDER BY number")


def read_followers(state: StateDatabase) -> tuple[Follower, ...]:
    """Read the clients that get new skills. Raise InvalidError `sync-damaged`."""
    try:
        rows = [json.loads(entry) for kind, entry in read_rows(state) if kind == "client"]
        return tuple(Follower(**row) for row in rows)
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(state, error) from error


def write_followers(state: StateDatabase, followers: Iterable[Follower]) -> None:
    """Store the clients that get new skills."""
    rows = [("client", json.dumps(one._asdict())) for one in sorted(followers)]
    with state.write() as connection:
        connection.execute("DELETE FROM synced WHERE kind = 'client'")
        connection.executemany("INSERT INTO synced (kind, entry) VALUES (?, ?)", rows)


def _parse(made: Any, directories: Any) -> Record:
    entries = [_made(entry) for entry in made]
    return Record({one.path: one for one in entries}, tuple(_absolute(path) for path in directories))


def _made(entry: Any) -> Made:
    if not isinstance(entry, dict):
        raise TypeError("an entry is not an object")
    instead, away = entry.pop("instead", False) is True, entry.pop("away", "")
    away = away if away in ("gone", "disabled") else "gone" if away is True else ""  # earlier versions wrote true
    made = Made(**entry, instead=instead, away=away)
    if not all(isinstance(value, str) for value in entry.values()) or made.how not in ("link", "copy"):
        raise TypeError("an entry has a value of the wrong type")
    for path in (made.path, made.folder, made.base, made.root):
        _absolute(path)
    return made


def _absolute(path: Any) -> str:
    if not isinstance(path, str) or not os.path.isabs(path) or os.path.normpath(path) != path:
        raise ValueError(f"{path!r} is not an absolute path")
    return path


def begin(
    state: StateDatabase,
    record: Record,
    made: Sequence[Made],
    directories: Sequence[str] = (),
    work: Json | None = None,
) -> Record:
    """Record what is about to be made and return the new record. `work` describes the sync or undo for its recovery."""
    if not made and not directories and not work:
        return record
    payload = {"made": [one._asdict() for one in made], "directories": list(directories), "work": work}
    return add(record, made, directories, Intents(state, system_clock).begin(SYNC, payload))


def write_record(state: StateDatabase, record: Record) -> Record:
    """Write the record and delete its intents; return the record without them."""
    if record == Record({}) and state.existing() is None:
        return record
    rows = [("made", json.dumps(record.made[key]._asdict())) for key in sorted(record.made)]
    rows += [("directory", json.dumps(path)) for path in record.directories]
    with state.write() as connection:
        connection.execute("DELETE FROM synced WHERE kind != 'client'")
        connection.executemany("INSERT INTO synced (kind, entry) VALUES (?, ?)", rows)
        for id_ in record.open:
            Intents(state, system_clock).settle(id_)
    return record._replace(open=())


def set_aside(state: StateDatabase) -> str:
    """Save an unreadable record as a file; return its path, "" if there was none."""
    rows = [*read_rows(state), *state.read("SELECT kind, payload FROM intents WHERE kind = ?", (SYNC,))]
    if not rows:
        return ""
    path = free_name(os.path.join(state.directory, "sync.json"))
    write_bytes(path, json.dumps(rows, indent=1, default=repr).encode() + b"\n", mode=PRIVATE)
    with state.write() as connection:
        connection.execute("DELETE FROM intents WHERE kind = ?", (SYNC,))
    return path


# --- state on disk --------------------------------------------------------------------------------------------------


def standing(made: Made) -> Standing:
    """Return whether a link or copy still exists as it was made."""
    if not os.path.lexists(made.path):
        return "gone"
    if os.path.realpath(os.path.dirname(made.path)) != made.folder:
        return "other"
    if made.how == "link":
        return "ours" if link_text(made.path) == made.target else "other"
    if is_link(made.path) or not os.path.isdir(made.path) or inside(made.folder, os.path.realpath(made.root)):
        return "other"
    return "ours" if content_digest(made.path) in {made.digest, made.coming} - {""} else "edited"


def source_of(made: Made) -> str:
    """Return the directory of the skill that a link or copy was made from."""
    return os.path.join(made.root, *made.source.split("/"))


def link_text(path: str) -> str:
    """Return the target of a link, as written; "" if it is not a link."""
    try:
        return os.readlink(path).removeprefix("\\\\?\\")
    except OSError:
        return ""


def content_digest(directory: str) -> str:
    """Return the digest of a skill's directory; "" if it cannot be read."""
    try:
        return digest(read_tree(directory))
    except WhetError:
        return ""
