"""The one way a skill changes: locked, written down before and after, whole at every moment, never half of a batch.

1. Changes of killed writers are settled: what is completely there is entered into the journal, anything else is taken
   back. Both contents are known, so either is possible, and nobody was told that it was done.
2. All skills concerned are locked, in one order everywhere. What they hold is compared with what the caller saw.
3. Both contents are stored and the change is written down as an intent.
4. The files are changed, each skill in one step. If that fails, the others are put back.
5. The intent becomes entries of the journal. Only now is the change acknowledged.

A skill that was edited by other means since its last entry gets an entry of its own first, so that the chain of
contents has no gap and the edit can be undone like any other.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.journal import Edit, Note
from whet.authoring.trees import digest, write_tree
from whet.errors import ConflictError, FailedError, WhetError
from whet.library.package import read_tree
from whet.store.atomic import clean_leftovers
from whet.store.intents import EDIT, Handler
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.authoring.journal import Entry, Journal
    from whet.skill.tree import Item, Tree
    from whet.store.intents import Intent

_LOCK_SECONDS = 30.0
"""Long enough for a handful of others to check and make their changes of the same skill first."""
_ATTEMPTS = 5


class TreeChange(NamedTuple):
    """What one skill's directory shall hold."""

    action: str
    skill: str
    path: str
    after: Mapping[str, Item] | None
    """None: no skill any more."""
    expected: str | None = None
    """The digest the caller saw, "" for no skill; None when it does not matter."""
    before: Mapping[str, Item] | None = None
    """What the caller saw, which `expected` names; it is compared with the disk right before the change."""
    version: str = ""
    """What the skill will say its version is, where the caller knows."""


class Provenance(NamedTuple):
    """Who changes something, and why."""

    actor: str
    origin: str = "foreground"
    reason: str = ""
    checked: str = ""
    run: str = ""


USER = Provenance("user")


class Writer:
    """Changes skills on disk and keeps their history."""

    def __init__(self, journal: Journal, state: str) -> None:
        self.journal = journal
        self._state = state
        self._own = threading.local()
        self.settled: Callable[[Sequence[Entry], Any], None] = lambda *_: None
        """Is called inside the transaction that enters a change, with what the lock will say; raising takes the change
        back."""

    def write(self, changes: Sequence[TreeChange], by: Provenance, lock: Any = None) -> tuple[Entry, ...]:
        """Make all of these changes or none; their entries. Raises WhetError.

        `lock` is kept with the intent and handed to `settled`: what a lock will say of these skills (`Edit.lock`).
        """
        changes = [change._replace(path=os.path.realpath(change.path)) for change in changes]
        paths = sorted({change.path for change in changes})
        told: tuple[str, ...] = ()
        for _ in range(_ATTEMPTS):
            told = self.recover()
            with self.hold(paths):
                if any(note.path in paths for edit in self.journal.edits() for note in edit.notes):
                    continue  # its writer died a moment ago
                try:
                    return self._write(changes, by, lock)
                except ConflictError as error:
                    error.details["paths"] = paths
                    raise
        message = " ".join((f"An earlier change of {paths[0]} is not settled.", *told))
        raise FailedError("unsettled-change", message, hint="Mend what is in its way, then try again.", path=paths[0])

    @contextmanager
    def hold(self, paths: Iterable[str]) -> Iterator[None]:
        """Keep other writers from these skills; what this thread holds already is not asked for again."""
        held: frozenset[str] = getattr(self._own, "held", frozenset())
        wanted = sorted(set(paths) - held)
        with ExitStack() as locks:
            for path in wanted:
                locks.enter_context(self._lock(path, _LOCK_SECONDS))
            self._own.held = held.union(wanted)
            try:
                yield
            finally:
                self._own.held = held

    def _write(self, changes: Sequence[TreeChange], by: Provenance, lock: Any) -> tuple[Entry, ...]:
        before = {
            change.path: read_tree(change.path) if change.before is None else dict(change.before) for change in changes
        }
        now = {path: digest(tree) for path, tree in before.items()}
        for change in changes:
            if change.expected is not None:
                _check_same(change, change.expected, now[change.path])
        id_ = f"r{os.urandom(8).hex()}"  # no run reads as the number of an entry
        by = by if by.run else by._replace(run=id_)
        notes = [*self._found(changes, now), *(self._note(change, now, by) for change in changes)]
        for tree in before.values():
            self.journal.keep(tree)
        edit = Edit(id_, tuple(notes), lock)
        self.journal.begin(edit)
        done: list[str] = []
        try:
            for change in changes:
                _check_same(change, now[change.path], digest(read_tree(change.path)))  # an editor knows no locks
                done.append(change.path)
                write_tree(change.path, before[change.path], change.after)
            return self._settle(edit)
        except BaseException:
            self._take_back(edit, done, before)
            raise

    def _settle(self, edit: Edit) -> tuple[Entry, ...]:
        """Enter a change, and with it everything that is kept about its skills in the same database."""
        with self.journal.state.write():
            entries = self.journal.settle(edit)
            self.settled(entries, edit.lock)
            return entries

    def _note(self, change: TreeChange, now: Mapping[str, str], by: Provenance) -> Note:
        after = self.journal.keep(change.after)
        return Note(
            by.actor,
            by.origin,
            change.action,
            change.skill,
            change.path,
            by.reason,
            now[change.path],
            after,
            by.checked,
            by.run,
        )

    def _found(self, changes: Sequence[TreeChange], now: Mapping[str, str]) -> list[Note]:
        """Entries for what was changed by other means since the journal last heard of these skills.

        They belong to no run: taking a run back must not take back what somebody else did before it.
        """
        notes = []
        for change in changes:
            head = self.journal.head(change.path)
            known = head.after if head else ""
            if known != now[change.path]:
                reason = "Changed by other means." if head else "Was there before its history began."
                found = ("unknown", "found", "found", change.skill, change.path, reason, known, now[change.path])
                notes.append(Note(*found, "", ""))
        return notes

    def _take_back(self, edit: Edit, paths: Sequence[str], before: Mapping[str, Tree | None]) -> None:
        """Put back what was there; where even that fails, the intent stays and the next writer tries again."""
        intents = self.journal.intents
        with suppress(WhetError):
            if not intents.is_open(edit.id):
                return  # it was interrupted after it was entered: the change is made
        back = 0
        for path in reversed(paths):
            with suppress(WhetError, OSError):
                write_tree(path, read_tree(path), before[path])
                back += 1
        with suppress(WhetError):
            if back == len(paths):
                intents.settle(edit.id)

    def recover(self) -> tuple[str, ...]:
        """Settle the changes of writers that were killed; what was done or could not be done, a sentence each."""
        return self.journal.intents.recover({EDIT: Handler(self._locks, self._recover, _describe)})

    def _locks(self, intent: Intent) -> list[FileLock]:
        paths = {note.path for note in Edit.from_intent(intent).notes}
        return [self._lock(path, 0.0) for path in sorted(paths - getattr(self._own, "held", frozenset()))]

    def _recover(self, intent: Intent) -> str:
        edit = Edit.from_intent(intent)
        made = [note for note in edit.notes if note.action != "found"]
        for note in made:
            _clean(note.path)
        current = {note.path: read_tree(note.path) for note in made}
        now = {path: digest(tree) for path, tree in current.items()}
        if all(now[note.path] == note.after for note in made):
            self._settle(edit)
            return f"{_describe(intent)} was complete and is now in the history."
        for note in reversed(made):
            if now[note.path] == note.after or not now[note.path]:
                write_tree(note.path, current[note.path], self.journal.content(note.before))
        self.journal.intents.settle(edit.id)
        return f"{_describe(intent)} was not complete and was taken back."

    def _lock(self, path: str, seconds: float) -> FileLock:
        return FileLock(lock_path(self._state, "skill", path), timeout=seconds)


def _describe(intent: Intent) -> str:
    return f"A change of {', '.join(dict.fromkeys(note.skill for note in Edit.from_intent(intent).notes))}"


def _check_same(change: TreeChange, seen: str, now: str) -> None:
    if seen != now:
        message = f"{change.skill} was changed by somebody else a moment ago."
        raise ConflictError("skill-changed", message, hint="Look at it again, then decide.", digest=now)


def _clean(path: str) -> None:
    """Remove what a killed writer left beside a skill, and in it; what cannot be removed is no part of any skill."""
    with suppress(WhetError):
        clean_leftovers(os.path.dirname(path))
    for directory, *_ in os.walk(path):
        with suppress(WhetError):
            clean_leftovers(directory)
