"""The record of a connection in `state.db`, and backups of the files, so that it can be undone.

    $WHET_HOME/connections/CLIENT-KEY.N.backup      a file as it was before; KEY stands for the configuration file
    $WHET_HOME/connections/CLIENT-KEY.N.next        a file as it will be, until it is

Configurations hold secrets: only the owner can read these files, and every backup is named in a record. A new
connection is an intent before anything is written, backups included, and a file stays in the record until it is
restored, so that the work of a killed process can be undone; therefore `after` names every state Whet may
have left.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError
from whet.interfaces.clients.entries import Entry
from whet.interfaces.clients.locations import digest, read_file, resolve_spot
from whet.store.atomic import clean_leftovers, write_bytes
from whet.store.clock import system_clock
from whet.store.directories import PRIVATE, make_directories
from whet.store.failures import os_failures
from whet.store.intents import CONNECT, Intents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.interfaces.clients.known import Connection, Format
    from whet.library.roots import Place
    from whet.store.state import StateDatabase
    from whet.values import Json


class FileRecord(NamedTuple):
    """One configuration file that was changed."""

    path: str
    format: Format
    before: str | None
    """Its digest before Whet first changed it; "" if it was missing, None if undoing no longer restores it."""
    after: tuple[str, ...]
    """Its digests as Whet left it, or would have left it."""
    backup: str
    """The path of its former content; "" if there was none."""
    added: tuple[Entry, ...]
    directories: tuple[str, ...] = ()
    """Directories that were made for it, the outermost first."""


class Record(NamedTuple):
    """One connection."""

    client: str
    here: bool
    hooks: bool
    files: tuple[FileRecord, ...]

    def to_json(self) -> Json:
        """Return the record as it is stored."""
        files = [{**file._asdict(), "added": [entry.to_json() for entry in file.added]} for file in self.files]
        value = {"client": self.client, "here": self.here, "hooks": self.hooks, "files": files}
        plain: Json = json.loads(json.dumps(value, default=str))  # YAML has dates, JSON does not
        return plain

    @classmethod
    def from_json(cls, value: Json) -> Record:
        """Read a stored record. Raises ValueError, KeyError or TypeError for an invalid one."""
        return cls(value["client"], value["here"], value["hooks"], tuple(map(_file, value["files"])))


def _file(data: Json) -> FileRecord:
    lists = {key: tuple(data[key]) for key in ("after", "directories")}
    return FileRecord(**{**data, **lists, "added": tuple(map(Entry.from_json, data["added"]))})


class Write(NamedTuple):
    """A file to write or remove."""

    path: str
    before: str
    """Its current digest; "" if it is missing."""
    after: str
    next: str
    """The path of its new content; "" if it is removed or unchanged."""


def connection_id(client: str, path: str) -> str:
    """Return the id of the connection of this client with this configuration file."""
    from hashlib import sha256

    return f"{client}-{sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


class Connections:
    """The connections of one state directory. Reading creates nothing."""

    def __init__(self, state: StateDatabase) -> None:
        self.state = state
        self.directory = os.path.join(state.directory, "connections")
        self._intents = Intents(state, system_clock)

    def ids(self) -> list[str]:
        """Return all connections, finished or not, sorted."""
        begun = (intent.payload["id"] for intent in self._intents.open(CONNECT))
        return sorted({*begun, *(id_ for (id_,) in self.state.read("SELECT id FROM connections"))})

    def read(self, id_: str) -> Record | None:
        """Return the record of a connection, as it was last begun. Raises FailedError if it cannot be read."""
        begun = [one.payload["record"] for one in self._intents.open(CONNECT) if one.payload["id"] == id_]
        try:
            for (text,) in () if begun else self.state.read("SELECT record FROM connections WHERE id = ?", (id_,)):
                begun.append(json.loads(text))
            return Record.from_json(begun[-1]) if begun else None
        except (ValueError, KeyError, TypeError) as error:
            raise FailedError(
                "connection-record-broken",
                f"The record of the connection {id_} cannot be read.",
                hint="`whet disconnect CLIENT` clears it; then connect again.",
                path=self.state.path,
            ) from error

    def stored(self, id_: str) -> Record | None:
        """Return the record of a connection as it was before anything was begun."""
        rows = self.state.read("SELECT record FROM connections WHERE id = ?", (id_,))
        return Record.from_json(json.loads(rows[0][0])) if rows else None

    def begin(self, id_: str, record: Record, final: Record | None, writes: Sequence[Write]) -> None:
        """Record the intended state of a connection, and the writes that lead to it."""
        payload = {"id": id_, "record": record.to_json(), "final": final.to_json() if final else None}
        self._intents.begin(CONNECT, {**payload, "writes": [list(write) for write in writes]})

    def settle(self, id_: str, record: Record | None) -> None:
        """Keep this record and its backups, and delete its other backups; None deletes everything."""
        if record is None:
            self._remove_backups(id_, frozenset())
        with self.state.write() as connection:
            connection.execute("DELETE FROM connections WHERE id = ?", (id_,))
            if record is not None:
                connection.execute("INSERT INTO connections VALUES (?, ?)", (id_, json.dumps(record.to_json())))
            for intent in self._intents.open(CONNECT):
                if intent.payload["id"] == id_:
                    self._intents.settle(intent.id)
        if record is not None:
            self._remove_backups(id_, frozenset(os.path.basename(file.backup) for file in record.files))

    def _remove_backups(self, id_: str, kept: frozenset[str]) -> None:
        if os.path.isdir(self.directory):
            clean_leftovers(self.directory)
        for name in self._backups():
            if name.startswith(f"{id_}.") and name not in kept:
                with os_failures(name, doing="remove"), suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.directory, name))

    def _backups(self) -> list[str]:
        with os_failures(self.directory, doing="list", other="read-failed"):
            try:
                return sorted(os.listdir(self.directory))
            except FileNotFoundError:
                return []

    def backup_paths(self, id_: str, record: Record | None) -> Iterator[str]:
        """Yield free paths for new backups."""
        taken = {os.path.basename(file.backup) for file in record.files} if record else set()
        names = (f"{id_}.{number}.backup" for number in count())
        paths = (os.path.join(self.directory, name) for name in names if name not in taken)
        return (path for path in paths if not os.path.lexists(path))

    def write_backup(self, path: str, data: bytes) -> None:
        """Write a backup, for the owner only."""
        make_directories(self.directory, private=True)
        write_bytes(path, data, mode=PRIVATE)


def is_installed(client: Connection, place: Place, record: Record | None) -> bool:
    """Return whether there is a sign of the client on this machine, besides the files that Whet made."""
    made: dict[str, tuple[str, ...]] = {}
    for file in record.files if record else ():
        made.update(dict.fromkeys(file.directories, ()))
        if file.before == "":
            made[os.path.realpath(file.path)] = file.after
    signs = (resolve_spot(spot, place) for spot in client.signs)
    return any(os.path.lexists(path) and not _is_made(os.path.realpath(path), made) for path in signs if path)


def _is_made(path: str, made: dict[str, tuple[str, ...]]) -> bool:
    """Return whether this path contains only files that Whet made, unchanged."""
    if path not in made:
        return False
    if os.path.isdir(path):
        return all(_is_made(os.path.join(path, name), made) for name in os.listdir(path))
    return digest(read_file(path)) in made[path]
