"""Carrying out a plan: backups and the record first, then one file after the other, each in one step.

Killed at any point, what is there can be taken back, and running the same again completes it: the server is written
last, and a client without it is not connected. A file that is no longer
as it was when the plan was shown is not written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.errors import ConflictError, FailedError
from whet.interfaces.clients.plans import read_file
from whet.interfaces.clients.records import (
    FileRecord,
    Record,
    digest,
    forget,
    write_backup,
    write_record,
)
from whet.store.atomic import make_directories, sync_directory, write_bytes
from whet.store.failures import os_failures
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from whet.interfaces.clients.plans import Change, Plan

_PATIENCE = 10.0


def apply(plan: Plan, state: str) -> tuple[str, ...]:
    """Do what the plan says and return the backups. Raises ConflictError where a file changed meanwhile."""
    with FileLock(lock_path(state, "connections", plan.client.name), timeout=_PATIENCE):
        for change in plan.changes:
            _check(change)
        if plan.undo:
            _undo(plan)
            return ()
        record = _recorded(plan)
        write_record(plan.record, record)
        written = 0
        try:
            for change in reversed(plan.changes):
                _write(change, private=not plan.here)
                written += 1
        finally:
            if not written:  # nothing came of it: what was remembered before is still true
                _forget_attempt(plan, record)
        _drop_old_backups(plan, record)
        return tuple(file.backup for file in record.files if file.backup)


def _forget_attempt(plan: Plan, record: Record) -> None:
    if plan.previous is None:
        forget(plan.record, record)
    else:
        write_record(plan.record, plan.previous)


def _recorded(plan: Plan) -> Record:
    """The record of what is about to be done; the backups it names are written here."""
    files = []
    for at, change in enumerate(plan.changes):
        known = plan.previous.file(change.path) if plan.previous else None
        if not change.added:
            continue
        files.append(_file_recorded(plan, at, change, known))
    hooks = any(note.kind == "hook" for file in files for note in file.added)
    return Record(plan.client.name, plan.here, hooks, tuple(files))


def _file_recorded(plan: Plan, at: int, change: Change, known: FileRecord | None) -> FileRecord:
    current, next_ = digest(change.before), digest(change.after)
    if known is not None and (current in known.after or current == known.before):
        after = tuple(dict.fromkeys((*(state for state in known.after if state == current), next_)))
        return known._replace(after=after, added=change.added)
    backup = write_backup(plan.record, at, change.before) if change.before is not None else ""
    # Whet's entries from earlier are in what is there now: undoing cannot lead back to it, it takes them out.
    before = current if known is None and change.action != "none" else None
    made = _missing_directories(change.path)
    return FileRecord(change.path, change.format, before, (next_,), backup, change.added, made)


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


def _undo(plan: Plan) -> None:
    for change in plan.changes:
        _write(change, private=not plan.here)
    if plan.previous is None:
        return
    for file in plan.previous.files:
        for directory in reversed(file.directories):
            with suppress(OSError):  # something else is in it by now, or it is gone
                os.rmdir(directory)
    forget(plan.record, plan.previous)


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


def _drop_old_backups(plan: Plan, record: Record) -> None:
    """Backups that no record names any more hold secrets for nothing."""
    kept = {file.backup for file in record.files}
    for file in plan.previous.files if plan.previous else ():
        if file.backup and file.backup not in kept:
            with os_failures(file.backup, doing="remove"), suppress(FileNotFoundError):
                os.unlink(file.backup)
