"""What Whet remembers of a connection, so that it can be taken back: a record, and the files as they were.

    $WHET_HOME/connections/CLIENT-KEY.json          the record; KEY stands for the client's configuration file
    $WHET_HOME/connections/CLIENT-KEY.N.backup      a file as it was before

Configurations hold secrets: all of this is for the owner only, and no backup lies there that no record names. A record
is written before the files it speaks of, backups included, and a file stays in it until it is as it was, so that
whatever a killed process got done can be taken back; therefore `after` names every state Whet may have left.
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
from whet.store.atomic import clean_leftovers, make_directories, write_bytes
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.interfaces.clients.known import Client, Format
    from whet.library.roots import Place
    from whet.values import Json


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
    added: tuple[Entry, ...]
    directories: tuple[str, ...] = ()
    """Directories that were made for it, the outermost first."""


class Record(NamedTuple):
    """One connection."""

    client: str
    here: bool
    hooks: bool
    files: tuple[FileRecord, ...]


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
    files = [{**file._asdict(), "added": [entry.to_json() for entry in file.added]} for file in record.files]
    data = {"client": record.client, "here": record.here, "hooks": record.hooks, "files": files}
    write_private(path, f"{json.dumps(data, indent=2, default=str)}\n".encode())


def write_private(path: str, data: bytes) -> None:
    """Write the record or a backup, for the owner only."""
    directory = os.path.dirname(path)
    make_directories(directory)
    with os_failures(directory, doing="protect"):
        os.chmod(directory, 0o700)
    write_bytes(path, data, mode=0o600)


def backup_paths(path: str, record: Record | None) -> Iterator[str]:
    """Where new backups go beside those of the record at this path."""
    taken = {os.path.basename(file.backup) for file in record.files} if record else set()
    names = (f"{path.removesuffix('json')}{number}.backup" for number in count())
    return (name for name in names if os.path.basename(name) not in taken and not os.path.lexists(name))


def settle(path: str, record: Record | None) -> None:
    """Keep this record with the backups it names, and no other of its backups; for None, nothing at all."""
    directory, own = os.path.split(path)
    kept = set()
    if record is not None:
        write_record(path, record)
        kept = {own, *(os.path.basename(file.backup) for file in record.files)}
    clean_leftovers(directory)
    for name in _names(directory):  # the record comes behind its backups
        if name.startswith(own.removesuffix("json")) and name not in kept:
            with os_failures(name, doing="remove"), suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))


def record_paths(state: str) -> Iterator[str]:
    """The records there are, sorted."""
    directory = os.path.join(state, "connections")
    yield from (os.path.join(directory, name) for name in _names(directory) if name.endswith(".json"))


def _names(directory: str) -> list[str]:
    with os_failures(directory, doing="list", other="read-failed"):
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            return []


def _file(data: Json) -> FileRecord:
    lists = {key: tuple(data[key]) for key in ("after", "directories")}
    return FileRecord(**{**data, **lists, "added": tuple(map(Entry.from_json, data["added"]))})


def is_installed(client: Client, place: Place, record: Record | None) -> bool:
    """Is there a sign of the client on this machine, besides what Whet made when it connected it?"""
    made: dict[str, tuple[str, ...]] = {}
    for file in record.files if record else ():
        made.update(dict.fromkeys(file.directories, ()))
        if file.before == "":
            made[os.path.realpath(file.path)] = file.after
    signs = (resolve_spot(spot, place) for spot in client.signs)
    return any(os.path.lexists(path) and not _is_made(os.path.realpath(path), made) for path in signs if path)


def _is_made(path: str, made: dict[str, tuple[str, ...]]) -> bool:
    """Is this nothing but what Whet made, as it made it?"""
    if path not in made:
        return False
    if os.path.isdir(path):
        return all(_is_made(os.path.join(path, name), made) for name in os.listdir(path))
    return digest(read_file(path)) in made[path]
