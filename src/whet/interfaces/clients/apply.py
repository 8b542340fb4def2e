"""Carrying out a plan: the intent and the backups first, then one file after the other, each in one step.

Killed at any point, what is there can be taken back, and running the same again completes it: the server is written
last, and a client without it is not connected. What is taken out stays in the record until it is out. A file that is
no longer as it was when the plan was shown is not written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.errors import ConflictError, FailedError
from whet.interfaces.clients.locations import digest, read_file
from whet.interfaces.clients.records import FileRecord, Record
from whet.store.atomic import make_directories, sync_directory, write_bytes
from whet.store.failures import os_failures
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.interfaces.clients.plan import Change, Plan
    from whet.interfaces.clients.records import Connections

_PATIENCE = 10.0


def apply(plan: Plan, connections: Connections) -> tuple[str, ...]:
    """Do what the plan says and return the backups. Raises ConflictError where a file changed meanwhile."""
    with FileLock(lock_path(connections.state.directory, "connections", plan.client.name), timeout=_PATIENCE):
        for change in plan.changes:
            _check(change)
        record = None if plan.undo else _recorded(plan, connections)
        kept = record.files if record else ()
        paths = {file.path for file in kept}
        going = [file for file in plan.previous.files if file.path not in paths] if plan.previous else []
        written = 0
        try:
            if record is not None:
                connections.begin(plan.connection, record._replace(files=(*kept, *going)))
                _back_up(plan, record, connections)
            for change in plan.changes if plan.undo else reversed(plan.changes):
                _write(change, private=not plan.here)
                written += change.action != "none"
        except BaseException:
            if not written:  # nothing came of it: what was remembered before is still true
                connections.settle(plan.connection, plan.previous)
            raise
        for directory in (directory for file in going for directory in reversed(file.directories)):
            with suppress(OSError):  # something else is in it by now, or it is gone
                os.rmdir(directory)
        connections.settle(plan.connection, record)
        return tuple(file.backup for file in kept if file.backup)


def _recorded(plan: Plan, connections: Connections) -> Record:
    """The record of the connection as the plan leaves it; a file that the plan knows nothing of stays in it."""
    previous = plan.previous.files if plan.previous else ()
    known = {file.path: file for file in previous}
    backups = connections.backup_paths(plan.connection, plan.previous)
    files = [_file_recorded(change, known.get(change.path), backups) for change in plan.changes if change.added]
    changed = {change.path for change in plan.changes}
    files += [file for file in previous if file.path not in changed]
    hooks = any(entry.kind == "hook" for file in files for entry in file.added)
    return Record(plan.client.name, plan.here, hooks, tuple(files))


def _file_recorded(change: Change, known: FileRecord | None, backups: Iterator[str]) -> FileRecord:
    current, next_ = digest(change.before), digest(change.after)
    if known is not None and (current in known.after or current == known.before):
        after = tuple(dict.fromkeys((*(state for state in known.after if state == current), next_)))
        return known._replace(after=after, added=change.added)
    # Whet's entries from earlier are in what is there now: undoing cannot lead back to it, it takes them out.
    before = current if known is None and change.action != "none" else None
    backup = "" if change.before is None else next(backups)
    made = _missing_directories(change.path)
    return FileRecord(change.path, change.format, before, (next_,), backup, change.added, made)


def _back_up(plan: Plan, record: Record, connections: Connections) -> None:
    """Write the backups that are not there yet, also those that a killed process did not get to."""
    contents = {change.path: change.before for change in plan.changes}
    for file in record.files:
        content = contents.get(file.path)
        is_original = file.before in (None, digest(content))
        if file.backup and content is not None and is_original and not os.path.lexists(file.backup):
            connections.write_backup(file.backup, content)


def _write(change: Change, *, private: bool) -> None:
    if change.action == "none":
        return
    _check(change)
    if change.after is None:
        _remove(change.path)
        return
    make_directories(os.path.dirname(os.path.realpath(change.path)))
    new = 0o600 if private else None
    write_bytes(change.path, change.after, mode=new if change.before is None else None)


def _check(change: Change) -> None:
    """Refuse what was changed since the plan was made, and what its owner made read-only."""
    if read_file(change.path) != change.before:
        raise ConflictError(
            "client-config-changed",
            f"{change.path} was changed while you looked.",
            hint="Run it again to see the change for the file as it is now. This file was not written.",
            path=change.path,
        )
    if change.before is None or change.action == "none":
        return
    if not os.stat(change.path).st_mode & stat.S_IWUSR:
        raise FailedError(
            "permission-denied",
            f"Cannot write {change.path}: it is read-only.",
            hint="Make it writable, or change it where it is made. Nothing was changed.",
            path=change.path,
        )


def _remove(path: str) -> None:
    with os_failures(path, doing="remove"):
        target = os.path.realpath(path)
        os.unlink(target)
        sync_directory(os.path.dirname(target))


def _missing_directories(path: str) -> tuple[str, ...]:
    missing = []
    directory = os.path.dirname(os.path.realpath(path))
    while not os.path.lexists(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return tuple(reversed(missing))
