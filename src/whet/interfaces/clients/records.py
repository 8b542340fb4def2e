"""What Whet remembers of a connection, so that it can be taken back: a record, and the files as they were.

    $WHET_HOME/connections/CLIENT-KEY.json          the record; KEY stands for the client's configuration file
    $WHET_HOME/connections/CLIENT-KEY.N.backup      the N-th file as it was before

Configurations hold secrets: all of this is for the owner only. A record is written before the files it speaks of, so
that whatever a killed process got done can be taken back too; therefore `after` names every state Whet may have left.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError
from whet.interfaces.clients.wiring import Added
from whet.store.atomic import make_directories, write_bytes
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.interfaces.clients.known import Format

_PRIVATE = 0o600


class FileRecord(NamedTuple):
    """One configuration file that was changed."""

    path: str
    format: Format
    before: str | None
    """Its digest before Whet first changed it; "" for no file, None where that is no longer what undoing leads to."""
    after: tuple[str, ...]
    """Its digests as Whet left it, or would have."""
    backup: str
    """Where its content from before lies; "" where there was none."""
    added: tuple[Added, ...]
    directories: tuple[str, ...] = ()
    """Directories that were made for it, the outermost first."""


class Record(NamedTuple):
    """One connection."""

    client: str
    here: bool
    hooks: bool
    files: tuple[FileRecord, ...]

    def file(self, path: str) -> FileRecord | None:
        """What is known of the file at this path."""
        return next((file for file in self.files if file.path == path), None)


def digest(data: bytes | None) -> str:
    """The digest of a file's content; "" for no file."""
    if data is None:
        return ""
    from hashlib import sha256

    return sha256(data).hexdigest()


def record_path(state: str, client: str, path: str) -> str:
    """Where the record of this client with this configuration file is."""
    from hashlib import sha256

    key = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return os.path.join(state, "connections", f"{client}-{key}.json")


def read_record(path: str) -> Record | None:
    """The record, or None where there is none. Raises FailedError for one that cannot be read."""
    try:
        with os_failures(path, doing="read", other="read-failed"), open(path, "rb") as stream:
            data = json.loads(stream.read())
        return Record(data["client"], data["here"], data["hooks"], tuple(map(_file, data["files"])))
    except FailedError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise FailedError(
            "connection-record-broken",
            f"The record of the connection {path} cannot be read.",
            hint="Remove it and run `whet connect CLIENT` again; the backups beside it stay.",
            path=path,
        ) from error


def write_record(path: str, record: Record) -> None:
    """Keep the record."""
    files = [{**file._asdict(), "added": [note.to_json() for note in file.added]} for file in record.files]
    data = {"client": record.client, "here": record.here, "hooks": record.hooks, "files": files}
    _write(path, f"{json.dumps(data, indent=2)}\n".encode())


def write_backup(record: str, at: int, data: bytes) -> str:
    """Keep a file as it was, and tell where; an earlier backup is not overwritten."""
    number = at
    while os.path.lexists(path := f"{record.removesuffix('.json')}.{number}.backup"):
        number += 1
    _write(path, data)
    return path


def forget(path: str, record: Record) -> None:
    """Remove the record and its backups."""
    for name in (*(file.backup for file in record.files if file.backup), path):
        with os_failures(name, doing="remove"):
            try:
                os.unlink(name)
            except FileNotFoundError:
                continue


def record_paths(state: str) -> Iterator[str]:
    """The records there are, sorted."""
    directory = os.path.join(state, "connections")
    try:
        with os_failures(directory, doing="list", other="read-failed"):
            names = sorted(os.listdir(directory))
    except FailedError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return
        raise
    yield from (os.path.join(directory, name) for name in names if name.endswith(".json"))


def _file(data: dict[str, Any]) -> FileRecord:
    added = tuple(Added.from_json(note) for note in data["added"])
    return FileRecord(
        data["path"],
        data["format"],
        data["before"],
        tuple(data["after"]),
        data["backup"],
        added,
        tuple(data["directories"]),
    )


def _write(path: str, data: bytes) -> None:
    directory = os.path.dirname(path)
    make_directories(directory)
    with os_failures(directory, doing="protect"):
        os.chmod(directory, 0o700)
    write_bytes(path, data, mode=_PRIVATE)
