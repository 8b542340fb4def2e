"""Installed skills: rows of `state.db` that change together with the skills, and the lock that is rendered from them.

The lock is the truth: users and git may change it between two commands, so it is read first and their changes are kept.
The rows remember every entry that it ever had, and since which entry of the history: they find earlier entries and
rebuild a lost lock. An install is one transaction:

1. Read the lock; a damaged one ends the install here. Write the new one beside it, so that a full disk or a read-only
   directory is noticed before anything changes.
2. Change the skills (`whet.authoring.writer`), with an intent that holds the new entries of the lock.
3. Write the entries of the history, the rows here and an intent to render the lock together.
4. Replace the old lock with the new one and delete the intent.

Every other change of an installed skill (undo, rename, delete) updates the rows in its own transaction. Any process
that finds an intent to render the lock renders it: the change it describes has happened.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from whet.authoring.history import INSTALL, find_reversals, is_lock_change
from whet.errors import ConflictError, FailedError, InvalidError, UsageError, WhetError
from whet.guard.audit import plain
from whet.library.files import inside
from whet.library.roots import LOCK_NAME
from whet.records import NamedTuple
from whet.skill.paths import check, collides
from whet.sources.lock import file as locks
from whet.sources.lock.file import Installed, Lock, lock_file
from whet.store.atomic import clean_leftovers, leftovers, staging, write_bytes
from whet.store.directories import make_directories, sync_directory
from whet.store.failures import os_failures
from whet.store.intents import LOCK, Handler
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from whet.authoring.commits import Committed
    from whet.authoring.journal import Entry, Journal
    from whet.store.clock import Clock
    from whet.store.intents import Intent
    from whet.values import Json

    Entries = Mapping[str, Installed | None]

_SECONDS = 60.0
_ATTEMPTS = 20
_MADE = ""
"""Path of the row that records that Whet created the lock, which is removed when it is empty."""
GONE = "Restore it from git, or rebuild it with `whet doctor --repair`."


class LockChange(NamedTuple):
    """New entries of a lock, once a change is made."""

    file: str
    new: dict[str, Installed | None]
    """By path; None for a skill that leaves the lock."""
    found: dict[str, Installed]
    """Current entries of these skills that Whet did not write."""
    id: str
    """Id of the intent to render the lock."""

    def to_json(self) -> Json:
        """Return the change as an intent stores it."""
        new, found = (
            {path: entry and locks.entry_json(entry) for path, entry in entries.items()}
            for entries in (self.new, self.found)
        )
        return {"file": self.file, "new": new, "found": found, "id": self.id}

    @classmethod
    def from_json(cls, value: Any) -> LockChange:
        """Read the change that an intent stores."""
        new = {path: entry and _read_entry(path, entry) for path, entry in value["new"].items()}
        found = {path: _read_entry(path, entry) for path, entry in value.get("found", {}).items()}
        return cls(value["file"], new, found, value.get("id", ""))


class Row(NamedTuple):
    """The lock entry of a skill since one entry of the history; None if the lock no longer has it."""

    path: str
    journal: int
    entry: Installed | None


class Installs:
    """The installed skills of all locks on one machine. Reading creates nothing."""

    def __init__(self, journal: Journal, clock: Clock, recover: Callable[[], Sequence[str]]) -> None:
        """`recover` settles the changes of skills that killed writers left (`Writer.recover`)."""
        self.clock = clock
        self._journal = journal
        self._intents = journal.intents
        self._database = journal.state
        self._recover = recover

    # changing

    def commit(
        self,
        root: str,
        changes: Entries,
        write: Callable[[Any], object] | None,
        seen: Entries | None = None,
    ) -> None:
        """Change skills and their entries in the lock, both or neither. Raises WhetError.

        `write` gets a value to pass to `Writer.write` and changes the skills; it is None if only the lock changes. If
        it raises, nothing is changed. `changes` are the new entries by path, None for a removed skill. `seen` are the
        entries that the caller saw in the lock at some paths; if they are different by now, nothing is changed.
        """
        file = lock_file(root)
        prefix = _prefix(root)
        new = {path: _checked(root, prefix, path, entry) for path, entry in changes.items()}
        with self.alone(file):
            self.settle_alone(file)
            before = locks.content(file)
            lock = self._read(file) if before is None else locks.parse(locks.decoded(before, file), file)
            _check_seen(lock, seen or {})
            after = _applied(lock, new)
            if write is None and after == lock:
                return
            change = LockChange(file, new, self._found(file, lock.entries, new), os.urandom(8).hex())
            rows: Sequence[int] = ()
            made = False
            empties = self._is_over(file, after)
            with _ready(file, before, None if empties or after == lock else after) as ready:
                try:
                    if write is not None:
                        write(change.to_json())
                        made = True
                    else:
                        rows = self._enter_alone(change)
                    if empties:
                        self.settle_alone(file)
                    else:
                        _replace(file, before, ready, new)
                except BaseException as error:
                    with suppress(WhetError):  # the next process settles the rest
                        if write is None and locks.content(file) == before:
                            self._withdraw(change, rows)
                        self.settle_alone(file)
                        if made and isinstance(error, WhetError):
                            return
                    if made and isinstance(error, WhetError):
                        error.details["changed"] = True
                        error.message = f"The skills have changed, but {file} is not up to date: {error.message}"
                        error.hint = "Fix the problem, then run `whet doctor --repair` to finish."
                    raise
            with suppress(WhetError):  # the change is made; the next process notices that
                self._strike([change.id])

    def amend(self, root: str, changes: Callable[[dict[str, Installed]], Entries]) -> bool:
        """Change only the lock, computed from its current entries; return whether anything changed."""
        for attempt in range(_ATTEMPTS):
            now = {entry.path: entry for entry in self.entries(root)}
            new = {path: entry for path, entry in changes(now).items() if entry != now.get(path)}
            if not new:
                break
            try:
                self.commit(root, new, None, {path: now.get(path) for path in new})
            except ConflictError as error:
                if error.code != "skill-changed" or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return True
        return False

    def enter(self, made: Iterable[Entry], planned: Any) -> None:
        """Record a planned install; call it in the transaction that adds it to the history."""
        self._enter(LockChange.from_json(planned), {entry.path: entry.id for entry in made})

    def _enter_alone(self, change: LockChange) -> Sequence[int]:
        """Record a change of the lock alone; raise ConflictError if a skill of it changed since it was read."""
        with self._database.write():
            if self._pending(change.file):
                raise _taken(change.file)
            return self._enter(change, {})

    def _enter(self, change: LockChange, made: Mapping[str, int]) -> Sequence[int]:
        """Record new entries of a lock and the intent to render it; return the ids of the rows."""
        last = self._journal.entries(last=1)
        now = last[-1].id if last else 0
        said: list[Row] = []
        for path, entry in change.new.items():
            number = made.get(os.path.realpath(directory_of(change.file, path)))
            if path in change.found:
                said.append(Row(path, number - 1 if number else now, change.found[path]))
            said.append(Row(path, number or now, entry))
        if not os.path.lexists(change.file):
            said.append(Row(_MADE, now, None))
        with self._database.write() as connection:
            rows = [self._add(connection, change.file, row) for row in said]
            self._intents.begin(LOCK, change._replace(found={}).to_json(), change.id)
        return rows

    def _withdraw(self, change: LockChange, rows: Sequence[int]) -> None:
        """Delete a change of the lock alone that could not be written."""
        with self._database.write() as connection:
            connection.executemany("DELETE FROM installs WHERE id = ?", [(row,) for row in rows])
            self._intents.settle(change.id)

    def _found(self, file: str, entries: Iterable[Installed], new: Entries) -> dict[str, Installed]:
        """Return the entries of a lock for these skills that are not recorded yet."""
        said = {row.path: row.entry for row in self._rows(file)}
        return {entry.path: entry for entry in entries if entry.path in new and said.get(entry.path) != entry}

    def remember(self, file: str) -> None:
        """Record the entries of a lock that are not recorded yet; the caller holds the lock file.

        They count from the last known row of their skill, so that they never count as an install (`was_installed`).
        """
        entries = locks.read(file).entries
        found = self._found(file, entries, {entry.path: entry for entry in entries})
        if found:
            since = {row.path: row.journal for row in self._rows(file)}
            with self._database.write() as connection:
                for path, entry in found.items():
                    self._add(connection, file, Row(path, since.get(path, 0), entry))

    def _add(self, connection: Connection, file: str, row: Row) -> int:
        """Insert a row and return its id."""
        text = json.dumps(locks.entry_json(row.entry), sort_keys=True) if row.entry else None
        query = "INSERT INTO installs (time, lock, path, journal, entry, digest) VALUES (?, ?, ?, ?, ?, ?)"
        values = (self.clock(), plain(file), row.path, row.journal, text, row.entry.digest if row.entry else "")
        return int(connection.execute(query, values).lastrowid or 0)

    def was_installed(self, root: str, entry: Installed) -> bool:
        """Return whether a user of this machine installed the skill from the source in the lock, which may be pulled.

        Each install wrote a row with its number in the history; later entries of the lock have other rows.
        """
        file = lock_file(root)
        directory = os.path.realpath(directory_of(file, entry.path))
        made = {one.id for one in self._journal.entries(path=directory) if one.origin == INSTALL}
        first: dict[int, Installed | None] = {}
        for row in self._rows(file, entry.path):
            first.setdefault(row.journal, row.entry)
        return any(said and said.source == entry.source for number, said in first.items() if number in made)

    # following

    def follow(self, commits: Sequence[Committed], roots: Iterable[str]) -> None:
        """Update the locks after a change of skills (`locks_of`); call it in the transaction of the change.

        Removed skills leave the lock, renamed ones stay in it under their new name, and a skill that returned to an
        earlier content gets its entry of that time.
        """
        for file, own in self.locks_of(commits, roots).items():
            self._follow(file, own)

    def locks_of(self, commits: Sequence[Committed], roots: Iterable[str]) -> dict[str, list[Committed]]:
        """Return the locks that a change of skills affects, with their part of it.

        These are the locks of `roots`, and others, such as another project's, that are known to name a changed skill.
        """
        found: dict[str, list[Committed]] = {}
        rest = list(commits)
        for root in roots:
            if own := [commit for commit in rest if inside(commit.entry.path, root)]:
                found[lock_file(root)] = own
                rest = [commit for commit in rest if commit not in own]
        for (file,) in self._database.read("SELECT DISTINCT lock FROM installs") if rest else ():
            named = {row.path for row in self._rows(file)}
            places = [(commit, {commit.entry.path, _old_directory(commit)}) for commit in rest]
            if own := [commit for commit, ways in places if named & {relative_path(file, way) for way in ways}]:
                found[file] = own
        return found

    def _follow(self, file: str, commits: Sequence[Committed]) -> None:
        now = self._now(file)
        new: dict[str, Installed | None] = {}
        for commit in commits:
            path = relative_path(file, commit.entry.path)
            old = relative_path(file, _old_directory(commit))
            if old != path and old in now:
                new |= {old: None, path: now[old]._replace(path=path)}
            elif not commit.entry.after:
                new[path] = None
            elif commit.back:
                if number := self._reversed_lock_change(commit.entry):
                    said = [row.entry for row in self._rows(file, path) if row.journal < number]
                    earlier = new[path] = said[-1] if said else None
                else:
                    earlier = self._earlier(file, path, commit.entry, now.get(path))
                if earlier:
                    new[path] = earlier._replace(pinned=now[path].pinned if path in now else earlier.pinned)
        new = {path: entry for path, entry in new.items() if entry != now.get(path)}
        if not new:
            return
        for path, entry in new.items():  # keep the base of merges as long as the lock names it
            with suppress(WhetError):
                if entry and (base := self._journal.content(entry.digest)):
                    self._journal.retain(directory_of(file, path), base)
        change = LockChange(file, new, self._found(file, now.values(), new), os.urandom(8).hex())
        self._enter(change, {commit.entry.path: commit.entry.id for commit in commits})

    def _now(self, file: str) -> dict[str, Installed]:
        """Return the entries of a lock with pending changes; the recorded ones if it is missing or unreadable."""
        try:
            known = {entry.path: entry for entry in locks.read(file).entries} if os.path.lexists(file) else None
        except WhetError:
            known = None
        entries: dict[str, Installed | None] = {**(self.known(file) if known is None else known)}
        for change in self._pending(file):
            entries |= change.new
        return {path: entry for path, entry in entries.items() if entry}

    def _reversed_lock_change(self, made: Entry) -> int:
        """Return the number of the entry that an undo reverses if that changed only the lock, else 0."""
        known = self._journal.entries(path=made.path)
        targets = find_reversals(known).get(made.id, ())
        return max((entry.id for entry in known if entry.id in targets and is_lock_change(entry)), default=0)

    def _earlier(self, file: str, path: str, made: Entry, now: Installed | None) -> Installed | None:
        """Return the lock entry of the time when the skill last had the content that is back now."""
        if now is not None and now.digest == made.after:
            return now
        rows = self._rows(file, path)
        exact = [row.entry for row in rows if row.entry and row.entry.digest == made.after]
        if exact:
            return exact[-1]
        past = [entry for entry in self._journal.entries(path=made.path) if entry.id < made.id]
        ends = [*(entry.id for entry in past[1:]), made.id]
        held = [end for entry, end in zip(past, ends, strict=False) if entry.after == made.after]
        said = [row.entry for row in rows if held and row.journal < held[-1]]
        return said[-1] if said else None

    # rendering

    def settle(self, root: str) -> tuple[str, ...]:
        """Finish the work of killed processes; return one sentence about each change."""
        return self.settle_lock(lock_file(root))

    def settle_lock(self, file: str) -> tuple[str, ...]:
        """Like `settle`, for the path of a lock."""
        if not self._pending(file) and not self._journal.edits():
            return ()
        with self.alone(file):
            return self.settle_alone(file)

    def settle_alone(self, file: str) -> tuple[str, ...]:
        """Like `settle_lock`, for a caller that holds the lock file."""
        _clean(file)
        told = tuple(self._recover()) if self._journal.edits() else ()
        pending = self._pending(file)
        if not pending:
            return told
        lock = self._read(file)
        new = lock
        for change in pending:
            new = _applied(new, change.new)
        if self._is_over(file, new):
            locks.remove(file)
            with self._database.write() as connection:
                connection.execute("DELETE FROM installs WHERE lock = ? AND path = ?", (plain(file), _MADE))
        elif new != lock:
            locks.write(file, new)
        self._strike([change.id for change in pending])
        kinds = {
            path: "removal" if entry is None else "installation" for one in pending for path, entry in one.new.items()
        }
        return (*told, *(f"The {kind} of {path} was complete; it is now in {file}." for path, kind in kinds.items()))

    def _is_over(self, file: str, lock: Lock) -> bool:
        """Return whether a lock that Whet created is empty, so that it can be removed."""
        return lock == Lock() and not os.path.islink(file) and any(row.path == _MADE for row in self._rows(file))

    def handler(self) -> Handler:
        """Return the handler that renders locks with pending changes."""

        def finish(intent: Intent) -> str:
            return " ".join(self.settle_alone(intent.payload["file"]))

        return Handler(
            lambda intent: [self._lock(intent.payload["file"], 0.0)],
            finish,
            lambda intent: f"The entry in {intent.payload['file']}",
        )

    def _lock(self, file: str, seconds: float) -> FileLock:
        return FileLock(lock_path(self._database.directory, "lock", file), timeout=seconds)

    def _strike(self, ids: Sequence[str]) -> None:
        """Delete the intents of changes that the lock has now."""
        with self._database.write():
            for id_ in ids:
                self._intents.settle(id_)

    @contextmanager
    def alone(self, file: str, *, seconds: float = _SECONDS) -> Iterator[None]:
        """Hold the lock file for this process."""
        with self._lock(file, seconds):
            yield

    # reading

    def entries(self, root: str) -> tuple[Installed, ...]:
        """Return the skills installed in a root, by path. Raise WhetError for a lock that cannot be read."""
        file = lock_file(root)
        if self._journal.edits():
            self._recover()
        if self._pending(file):
            with suppress(FailedError), self.alone(file, seconds=0.0):  # others work on it, or it is read-only
                self.settle_alone(file)
        lock = self._read(file)
        for change in self._pending(file):
            lock = _applied(lock, change.new)
        prefix = _prefix(root)
        return tuple(entry for entry in lock.entries if entry.path.startswith(prefix))

    def pending(self, file: str) -> dict[str, Installed | None]:
        """Return the pending entries of a lock, by path."""
        return {path: entry for change in self._pending(file) for path, entry in change.new.items()}

    def _pending(self, file: str) -> list[LockChange]:
        return [LockChange.from_json(one.payload) for one in self._intents.open(LOCK) if one.payload["file"] == file]

    def _read(self, file: str) -> Lock:
        """Read a lock. Raise WhetError if it is unreadable, or missing although its skills exist."""
        lock = locks.read(file)
        if not lock.entries and not os.path.lexists(file):
            pending = self.pending(file)
            if known := [entry for entry in self.left_by(file) if entry.path not in pending]:
                if os.path.lexists(file):  # another thread or process has written it meanwhile
                    return locks.read(file)
                names = ", ".join(entry.name for entry in known)
                raise InvalidError(
                    "lock-missing", f"{file} is missing, so the sources of {names} are unknown.", hint=GONE
                )
        return lock

    def left_by(self, file: str) -> list[Installed]:
        """Return the recorded entries of a lock whose skills still exist."""
        return [entry for path, entry in self.known(file).items() if os.path.isdir(directory_of(file, path))]

    def known(self, file: str) -> dict[str, Installed]:
        """Return the last recorded entry of each skill of a lock."""
        last = {row.path: row.entry for row in self._rows(file)}
        return {path: entry for path, entry in last.items() if entry is not None}

    def _rows(self, file: str, path: str = "") -> list[Row]:
        """Return the recorded entries of a lock, oldest first: all, or those of one skill."""
        query = "SELECT path, journal, entry FROM installs WHERE lock = ? AND ? IN ('', path) ORDER BY id"
        rows = self._database.read(query, (plain(file), path))
        return [Row(path, number, _parse_entry(path, text)) for path, number, text in rows]


def directory_of(file: str, relative: str) -> str:
    """Return the directory of a path in a lock."""
    return os.path.join(os.path.dirname(file), *relative.split("/"))


def relative_path(file: str, directory: str) -> str:
    """Return the path of a directory as a lock records it; one on another drive unchanged, which no lock contains."""
    try:
        return os.path.relpath(directory, os.path.dirname(file)).replace(os.sep, "/")
    except ValueError:
        return directory


def _old_directory(commit: Committed) -> str:
    """Return the directory of a skill before it moved, or the current one if it did not."""
    directory = commit.entry.path
    if not commit.moved or commit.before is None or commit.after is None:
        return directory
    for _ in commit.after.path.split("/"):
        directory = os.path.dirname(directory)
    return os.path.join(directory, *commit.before.path.split("/"))


def _parse_entry(path: str, text: str | None) -> Installed | None:
    if text is None:
        return None
    try:
        return _read_entry(path, json.loads(text))
    except ValueError as error:
        raise _unreadable(path, error) from error


def _read_entry(path: str, value: Any) -> Installed:
    try:
        return locks.entry_of(path, value)
    except locks.LockDamagedError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> FailedError:
    hint = "Restore Whet's state directory from a backup."
    return FailedError("state-corrupt", f"A record of {path} cannot be read: {error}", hint=hint)


def _prefix(root: str) -> str:
    """Return the common prefix of the paths of all skills in a root."""
    return f"{os.path.basename(os.path.realpath(root))}/"


def _checked(root: str, prefix: str, path: str, entry: Installed | None) -> Installed | None:
    """Return the entry as the lock stores it; `prefix` is the one of the root. Raises UsageError."""
    check(path)
    if not path.startswith(prefix):
        message = f"{path} is not in the root {root}."
        raise UsageError("outside-root", message, hint=f"Use a path below {prefix}")
    if entry is None:
        return None
    entry = entry._replace(path=path, files=tuple(sorted(entry.files)))
    try:
        return locks.entry_of(path, locks.entry_json(entry))
    except locks.LockDamagedError as error:
        raise UsageError("bad-entry", error.message, hint="Nothing was changed.") from error


def _check_seen(lock: Lock, seen: Entries) -> None:
    now = {entry.path: entry for entry in lock.entries}
    for path, entry in seen.items():
        if now.get(path) != entry:
            raise _taken(path)


def _taken(path: str) -> ConflictError:
    message = f"Another process has just installed, updated or removed {path}."
    return ConflictError("skill-changed", message, hint="Review it again, then decide.")


def _applied(lock: Lock, changes: Entries) -> Lock:
    for path, entry in changes.items():
        lock = locks.changed(lock, path, entry)
    return lock


@contextmanager
def _ready(file: str, before: bytes | None, after: Lock | None) -> Iterator[str]:
    """Write the new lock beside the old one, so that a full disk is noticed first; yield "" if nothing changes."""
    if after is None:
        yield ""
        return
    for one, other in collides(entry.path for entry in after.entries):
        message = f"{one} and {other} cannot both be installed."
        raise ConflictError("path-collision", message, hint="Choose another name, or remove one of them.")
    real = os.path.realpath(file)
    make_directories(os.path.dirname(real))
    with staging(real) as staged:
        ready = os.path.join(staged, LOCK_NAME)
        with os_failures(file):
            mode = None if before is None else stat.S_IMODE(os.stat(real).st_mode)
        write_bytes(ready, locks.dump(after).encode(), mode=mode)
        yield ready


def _replace(file: str, before: bytes | None, ready: str, new: Entries) -> None:
    """Put the new lock in place; if the old one was edited meanwhile, apply only the changes."""
    if locks.content(file) != before:
        locks.write(file, _applied(locks.read(file), new))
    elif ready:
        real = os.path.realpath(file)
        with os_failures(file):
            os.replace(ready, real)
            sync_directory(os.path.dirname(real))


def left_beside(file: str) -> list[str]:
    """Return the temporary files of writers of a lock, at work or killed."""
    found = leftovers(os.path.dirname(os.path.realpath(file)))
    return [path for path in found if os.path.basename(path).startswith(f".{LOCK_NAME}.")]


def _clean(file: str) -> None:
    """Remove the files that a killed process left beside the lock; the doctor reports those that cannot be removed."""
    with suppress(FailedError):
        if left_beside(file):
            clean_leftovers(os.path.dirname(os.path.realpath(file)))
