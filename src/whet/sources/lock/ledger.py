"""What is installed, kept so that the lock, the history and the disk agree whenever a process is killed.

The lock is the truth about what is installed; people and git may change it between two commands. The ledger remembers
every entry that was ever made (in `state.db`), so that earlier ones can be found again and a lost lock can be rebuilt.
A change goes like this, alone by a lock of its own:

1. What killed processes left is settled. The lock is read; one that is damaged ends it here.
2. The new lock is written beside the old one, so that a full disk or a directory that may only be read is noticed
   before anything changed. The new entries are written down as pending.
3. The skills are changed (`whet.authoring.writer`), which is whole and in the history, or not at all.
4. The new lock takes the place of the old one, and the entries are done.

Whoever finds pending entries asks the history: if it knows of the run, they are carried into the lock, else they are
void. Thus nothing is in the lock that is not there, and nothing is there that the lock does not get to know.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from whet.errors import ConflictError, FailedError, InvalidError, UsageError, WhetError
from whet.skill.paths import check, collides
from whet.sources.lock import file as locks
from whet.sources.lock.file import Installed, Lock, lock_file
from whet.sources.lock.records import UNNEEDED, Records
from whet.store.atomic import clean_leftovers, leftovers, make_directories, staging, sync_directory, write_bytes
from whet.store.failures import os_failures
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.authoring.journal import Journal
    from whet.notes import Note
    from whet.sources.lock.records import Record
    from whet.store.clock import Clock
    from whet.store.state import Repaired, StateDatabase

_SECONDS = 60.0
GONE = "Take it from git again, or run `whet doctor --repair`, which rebuilds it."


class Ledger:
    """What is installed beside the locks of one machine. Reading never creates its database.

    `recover` settles the changes of skills that killed writers left (`Writer.recover`).
    """

    def __init__(self, state: StateDatabase, clock: Clock, journal: Journal, recover: Callable[[], object]) -> None:
        self.records = Records(state, clock)
        self.clock = clock
        self._journal = journal
        self._recover = recover
        self._state = state.directory

    # changing

    def commit(
        self,
        root: str,
        run: str,
        changes: Mapping[str, Installed | None],
        write: Callable[[], object] | None,
        seen: Mapping[str, Installed | None] | None = None,
    ) -> None:
        """Change skills and what the lock says of them, both or neither. Raises WhetError.

        `write` changes the skills and enters that into the history under `run`; None when only the lock changes. If it
        raises, nothing is changed. `changes` are the new entries by their paths, None for a skill that goes. `seen` is
        what the caller saw in the lock at some paths; where it says something else by now, nothing is changed.
        """
        file = lock_file(root)
        new = {path: _checked(root, path, entry) for path, entry in changes.items()}
        with self.alone(file):
            self.settle_alone(file)
            before = locks.content(file)
            lock = self._read(file) if before is None else locks.parse(locks.decoded(before, file), file)
            _check_seen(lock, seen or {})
            after = _applied(lock, new.items())
            if write is None and after == lock:
                return
            with _ready(file, before, after if after != lock else None) as ready:
                ids = self._intend(file, run, lock, new, journal=write is not None)
                try:
                    if write is not None:
                        write()
                    _replace(file, before, ready, new)
                except BaseException:
                    with suppress(WhetError):  # what cannot be decided now is decided by whoever comes next
                        self._decide(file, ids, unmade=write is None and locks.content(file) == before)
                    raise
            with suppress(WhetError):  # the change is made; whoever comes next finds that out again
                self.records.mark(ids, "done")

    def _intend(
        self, file: str, run: str, lock: Lock, new: Mapping[str, Installed | None], *, journal: bool
    ) -> list[int]:
        """Write down what is about to be done; and what the lock says of it now, if that came by another way."""
        head = self._journal.entries(last=1)
        now = head[-1].id if head else 0
        mark = now if journal else UNNEEDED
        if self.records.followed(file) is None:  # from now on the lock follows the history
            self.records.follow(file, now)
        found = [entry for entry in lock.entries if entry.path in new and self._last(file, entry.path) != entry]
        return self.records.intend(file, run, new.items(), mark, found)

    def _last(self, file: str, path: str) -> Installed | None:
        rows = self.records.done(file, path=path)
        return rows[-1].entry if rows else None

    def _decide(self, file: str, ids: Sequence[int], *, unmade: bool) -> None:
        """After a failure: what only concerned the lock, and is not in it, is over; the rest the history knows."""
        if unmade:
            self.records.mark(ids, "void")
        else:
            self.settle_alone(file)

    def settle(self, root: str) -> tuple[str, ...]:
        """Carry into the lock, or give up, what killed processes left; what was done, a sentence each."""
        file = lock_file(root)
        if not self.records.pending(file):
            return ()
        with self.alone(file):
            return self.settle_alone(file)

    def settle_alone(self, file: str) -> tuple[str, ...]:
        """`settle` for whoever is alone already."""
        _clean(file)
        rows = self.records.pending(file)
        if not rows:
            return ()
        self._recover()
        waiting = {note.run for edit in self._journal.edits() for note in edit.notes}
        told: list[str] = []
        made: list[Record] = []
        void: list[Record] = []
        for row in rows:
            what = f"The {'removal' if row.entry is None else 'installation'} of {row.path}"
            if row.run in waiting:
                told.append(f"{what} waits for a change that could not be settled.")
            elif self._happened(file, row):
                made.append(row)
                told.append(f"{what} was complete and is now in {file}.")
            else:
                void.append(row)
                told.append(f"{what} was not complete and was given up.")
        if made:
            lock = self._read(file)
            new = _applied(lock, ((row.path, row.entry) for row in made))
            if new != lock:
                locks.write(file, new)
        self.records.mark([row.id for row in made], "done")
        self.records.mark([row.id for row in void], "void")
        return tuple(told)

    def _happened(self, file: str, row: Record) -> bool:
        """Does the history know of the change, and is the skill there, or gone, accordingly?"""
        if row.journal == UNNEEDED:
            # Nobody was told that it was done, and the lock may be another one by now: only what it says counts.
            return next((entry for entry in locks.read(file).entries if entry.path == row.path), None) == row.entry
        made = [entry for entry in self._journal.entries(run=row.run) if entry.id > row.journal]
        directory = directory_of(file, row.path)
        own = [bool(entry.after) for entry in made if entry.path == os.path.realpath(directory)]
        there = own[-1] if own else os.path.isdir(directory)
        return bool(made) and there == (row.entry is not None)

    @contextmanager
    def alone(self, file: str, *, seconds: float = _SECONDS) -> Iterator[None]:
        """A lock file for this process alone."""
        with FileLock(lock_path(self._state, "lock", file), timeout=seconds):
            yield

    # reading

    def entries(self, root: str) -> tuple[Installed, ...]:
        """What is installed in a root, by path. Raises WhetError for a lock that cannot be read."""
        file = lock_file(root)
        rows = self.records.pending(file)
        if rows:
            try:
                with self.alone(file, seconds=0.0):
                    self.settle_alone(file)
            except FailedError:  # somebody is at work, or nothing may be written here
                pass
            rows = self.records.pending(file)
        lock = self._read(file)
        made = ((row.path, row.entry) for row in rows if row.journal != UNNEEDED and self._happened(file, row))
        return tuple(entry for entry in _applied(lock, made).entries if entry.path.startswith(_prefix(root)))

    def _read(self, file: str) -> Lock:
        """What a lock says. Raises WhetError for one that cannot be read, or that is gone while its skills are not."""
        lock = locks.read(file)
        if not lock.entries and not os.path.lexists(file) and (known := self.left_by(file)):
            names = ", ".join(entry.name for entry in known)
            raise InvalidError("lock-missing", f"{file} is gone, and with it where {names} came from.", hint=GONE)
        return lock

    def left_by(self, file: str) -> list[Installed]:
        """What the ledger last heard of the skills beside a lock that are still there."""
        return [entry for path, entry in self.known(file).items() if os.path.isdir(directory_of(file, path))]

    def find_by_digest(self, root: str, relative: str, digest: str) -> Installed | None:
        """The last entry for a skill that names this content: what is installed, or what was."""
        file = lock_file(root)
        now = next((entry for entry in locks.read(file).entries if entry.path == relative), None)
        if now is not None and now.digest == digest:
            return now
        rows = self.records.done(file, path=relative, digest=digest) if digest else ()
        return rows[-1].entry if rows else None

    def known(self, file: str) -> dict[str, Installed]:
        """What the ledger last heard of each skill beside a lock."""
        last = {row.path: row.entry for row in self.records.done(file)}
        return {path: entry for path, entry in last.items() if entry is not None}

    # mending

    def examine(self, root: str) -> tuple[Note, ...]:
        """What is wrong with the lock of a root."""
        from whet.sources.lock.repair import examine

        return examine(self, root)

    def repair(self, root: str) -> Repaired:
        """Settle what is pending; set a damaged lock aside and rebuild it, or one that is gone."""
        from whet.sources.lock.repair import repair

        return repair(self, root)


def directory_of(file: str, relative: str) -> str:
    """The directory that a lock names."""
    return os.path.join(os.path.dirname(file), *relative.split("/"))


def _prefix(root: str) -> str:
    """How the paths of all skills of a root begin."""
    return f"{os.path.basename(os.path.realpath(root))}/"


def _checked(root: str, path: str, entry: Installed | None) -> Installed | None:
    """The entry as the lock can hold it. Raises UsageError."""
    check(path)
    if not path.startswith(_prefix(root)):
        message = f"{path} does not lie in the root {root}."
        raise UsageError("outside-root", message, hint=f"Name a path below {_prefix(root)}")
    if entry is None:
        return None
    entry = entry._replace(path=path, files=tuple(sorted(entry.files)))
    try:
        return locks.entry_of(path, locks.entry_json(entry))
    except InvalidError as error:
        raise UsageError("bad-entry", error.message, hint="Nothing was changed.") from error


def _check_seen(lock: Lock, seen: Mapping[str, Installed | None]) -> None:
    now = {entry.path: entry for entry in lock.entries}
    for path, entry in seen.items():
        if now.get(path) != entry:
            message = f"{path} was installed, updated or removed by somebody else a moment ago."
            raise ConflictError("skill-changed", message, hint="Look at it again, then decide.")


def _applied(lock: Lock, changes: Iterable[tuple[str, Installed | None]]) -> Lock:
    for path, entry in changes:
        lock = locks.changed(lock, path, entry)
    return lock


@contextmanager
def _ready(file: str, before: bytes | None, after: Lock | None) -> Iterator[str]:
    """The new lock as a file beside the old one, so that what needs room is done first; "" where nothing changes."""
    if after is None:
        yield ""
        return
    for one, other in collides(entry.path for entry in after.entries):
        message = f"{one} and {other} cannot both be installed."
        raise ConflictError("path-collision", message, hint="Choose another name, or uninstall one of them.")
    real = os.path.realpath(file)
    make_directories(os.path.dirname(real))
    with staging(real) as staged:
        ready = os.path.join(staged, locks.NAME)
        with os_failures(file):
            mode = None if before is None else stat.S_IMODE(os.stat(real).st_mode)
        write_bytes(ready, locks.dump(after).encode(), mode=mode)
        yield ready


def _replace(file: str, before: bytes | None, ready: str, new: Mapping[str, Installed | None]) -> None:
    """Put the new lock in place; over one that somebody edited meanwhile, only what is new."""
    if locks.content(file) != before:
        locks.write(file, _applied(locks.read(file), new.items()))
    elif ready:
        real = os.path.realpath(file)
        with os_failures(file):
            os.replace(ready, real)
            sync_directory(os.path.dirname(real))


def left_beside(file: str) -> list[str]:
    """What writers of a lock have in work, or left when they were killed."""
    found = leftovers(os.path.dirname(os.path.realpath(file)))
    return [path for path in found if os.path.basename(path).startswith(f".{locks.NAME}.")]


def _clean(file: str) -> None:
    """Remove what a killed process left beside the lock; the doctor reports what cannot be removed."""
    with suppress(FailedError):
        if left_beside(file):
            clean_leftovers(os.path.dirname(os.path.realpath(file)))
