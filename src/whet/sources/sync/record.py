"""What `whet sync` made, written down before it is made, so that taking it back removes exactly that.

The record names every link, copy and directory. What is about to be made is an intent, which becomes part of the record
when it is made; one that somebody pulled the plug on counts, too. So the record may be ahead of the disk, and is never
behind it. What stands at the place decides: a link is ours while it points where we pointed it, a copy while it has the
content we gave it. Where the client's directory or the root has become another one since (a link to the other, say), a
copy is nobody's copy any more: it may be the skill itself that lies there.
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
    """It is a junction or a copy because a link could not be made."""
    away: str = ""
    """Why it was removed: `gone` with its skill, and returns with it; `disabled`, until the skill is enabled again."""

    @property
    def name(self) -> str:
        """The name the client sees."""
        return os.path.basename(self.path)


class Follower(NamedTuple):
    """A client that gets every skill of a root, also those that come later."""

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
    """Those that had to be made, outermost first."""
    open: tuple[str, ...] = ()
    """The ids of the intents in it."""


def writing(state: StateDatabase, *, patience: float = _PATIENCE) -> FileLock:
    """Held by whoever changes what is synced."""
    return FileLock(lock_path(state.directory, "sync", ""), timeout=patience)


def read_record(state: StateDatabase) -> Record:
    """What was made so far, and what was begun. Raises InvalidError `sync-damaged`."""
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
    """The record with what an intent is about. A copy that is given another content may have either."""
    known = dict(record.made)
    for one in made:
        before = known.get(one.path)
        follows = before is not None and (before.how, one.how) == ("copy", "copy")
        known[one.path] = one._replace(digest=before.digest, coming=one.digest) if before and follows else one
    new = tuple(path for path in directories if path not in record.directories)
    return Record(known, (*record.directories, *new), (*record.open, id_))


def read_rows(state: StateDatabase) -> list[tuple[Any, ...]]:
    """The record as it is stored."""
    return state.read("SELECT kind, entry FROM synced ORDER BY number")


def read_followers(state: StateDatabase) -> tuple[Follower, ...]:
    """The clients that get what is new. Raises InvalidError `sync-damaged`."""
    try:
        rows = [json.loads(entry) for kind, entry in read_rows(state) if kind == "client"]
        return tuple(Follower(**row) for row in rows)
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(state, error) from error


def write_followers(state: StateDatabase, followers: Iterable[Follower]) -> None:
    """Write down the clients that get what is new."""
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
    """Write down what is about to be made; the record with it. `work` says what a killed sync or undo was doing."""
    if not made and not directories and not work:
        return record
    payload = {"made": [one._asdict() for one in made], "directories": list(directories), "work": work}
    return add(record, made, directories, Intents(state, system_clock).begin(SYNC, payload))


def write_record(state: StateDatabase, record: Record) -> Record:
    """Write down what was made, and strike out the intents that it came of; the record without them."""
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
    """Keep a record that cannot be read as a file; where, "" where there is none."""
    rows = [*read_rows(state), *state.read("SELECT kind, payload FROM intents WHERE kind = ?", (SYNC,))]
    if not rows:
        return ""
    path = free_name(os.path.join(state.directory, "sync.json"))
    write_bytes(path, json.dumps(rows, indent=1, default=repr).encode() + b"\n", mode=PRIVATE)
    with state.write() as connection:
        connection.execute("DELETE FROM intents WHERE kind = ?", (SYNC,))
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
    if is_link(made.path) or not os.path.isdir(made.path) or inside(made.folder, os.path.realpath(made.root)):
        return "other"
    return "ours" if content_digest(made.path) in {made.digest, made.coming} - {""} else "edited"


def source_of(made: Made) -> str:
    """The directory of the skill that something was made of."""
    return os.path.join(made.root, *made.source.split("/"))


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
