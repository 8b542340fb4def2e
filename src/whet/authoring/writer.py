"""The only way to change a skill: locked, recorded before and after, complete at every moment.

1. Changes of killed writers are settled: complete ones are entered into the journal, all others are reversed. Both
   contents are known, so either is possible, and no caller got an acknowledgement.
2. All skills of the change are locked, always in the same order. Their contents are compared with what the caller saw.
3. Everything that needs disk space is done: both contents are stored, the new ones are prepared next to the old ones,
   and space for the last step is reserved. The change is recorded as an intent.
4. The files are changed, each skill in one step: new ones first, removed ones last, so that a skill that moves always
   exists. Replaced and removed content is only moved aside; reversing is a rename.
5. The intent becomes entries of the journal. Only now is the change acknowledged, and the old content deleted.

An error says whether anything was changed (`changed` among its details).

A skill that was edited by other means since its last entry gets a separate entry first, so that the chain of contents
has no gap and the edit can be undone like any other.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from whet.authoring.journal import REVERSALS, Edit, Note
from whet.authoring.permissions import parse_permissions, read_permissions
from whet.authoring.trees import digest, replacing, write_tree
from whet.errors import ConflictError, FailedError, WhetError
from whet.library.package import read_tree
from whet.records import NamedTuple
from whet.store.atomic import clean_leftovers, leftovers, sync_places, sync_spares, trade
from whet.store.directories import sync_directory
from whet.store.failures import os_failures
from whet.store.intents import CLEAN, EDIT, Handler
from whet.store.locks import FileLock, lock_path
from whet.store.room import reserve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.authoring.journal import Entry, Journal
    from whet.skill.tree import Item, Tree
    from whet.store.atomic import Swap
    from whet.store.intents import Intent

_LOCK_SECONDS = 30.0
"""Long enough for a handful of others to change the same skill first."""
_PATIENCE = 2.0
"""Seconds that a reader waits for a writer."""
_ATTEMPTS = 5
_BACK = ("rollback", "restore", *REVERSALS)
"""Actions that return to an earlier content."""
_PAGE, _PAGES, _PAGES_EACH = 4096, 32, 8
"""Page size of the database; number of pages that a change may touch, and per entry."""


class TreeChange(NamedTuple):
    """The intended content of one skill's directory."""

    action: str
    skill: str
    path: str
    after: Mapping[str, Item] | None
    """None: the skill is removed."""
    expected: str | None = None
    """The digest the caller saw, "" for no skill; None if it does not matter."""
    before: Mapping[str, Item] | None = None
    """The content the caller saw, with the digest `expected`; compared with the disk right before the change."""
    version: str = ""
    """The declared version after the change, if the caller knows it."""


class Provenance(NamedTuple):
    """The author of a change, and the reason."""

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
        """Called inside the transaction of a change, with the lock's data; raising reverses the change."""

    def write(self, changes: Sequence[TreeChange], by: Provenance, lock: Any = None) -> tuple[Entry, ...]:
        """Make all of these changes or none; return their entries. Raises WhetError.

        `lock` is kept with the intent and passed to `settled`: the future lock entries (`Edit.lock`).
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
                except WhetError as error:
                    if isinstance(error, ConflictError):
                        error.details["paths"] = paths
                    if not error.details.setdefault("changed", False) and isinstance(error, FailedError):
                        error.hint = f"{error.hint} Nothing was changed."
                    raise
        message = " ".join((f"An earlier change to {paths[0]} is unfinished.", *told))
        raise FailedError("unsettled-change", message, hint="Fix the problem, then try again.", path=paths[0])

    @contextmanager
    def hold(self, paths: Iterable[str], seconds: float = _LOCK_SECONDS) -> Iterator[None]:
        """Lock these skills against other writers; locks that this thread already holds are not requested again."""
        held: frozenset[str] = getattr(self._own, "held", frozenset())
        wanted = sorted(set(paths) - held)
        with ExitStack() as locks:
            for path in wanted:
                locks.enter_context(self._lock(path, seconds))
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
        modes = {path: read_permissions(path, tree) for path, tree in before.items()}
        id_ = f"r{os.urandom(8).hex()}"  # no run looks like the number of an entry
        by = by if by.run else by._replace(run=id_)
        after = self.journal.keep_all([change.after for change in changes] + [*before.values()])
        made = [self._note(change, now, by, modes[change.path], of) for change, of in zip(changes, after, strict=False)]
        heads = self.journal.heads(before)
        notes = [*_found(changes, now, heads), *made]
        pairs = zip([None, *made], made, strict=False)  # a rename's new path comes directly after its old one
        wanted = {note.path: parse_permissions(self._wanted_modes(note, earlier, heads)) for earlier, note in pairs}
        edit = Edit(id_, tuple(notes), lock)
        order = sorted(changes, key=lambda change: _turn(now[change.path], change.after is not None))
        aside = [change.path for change in order if now[change.path]]
        with reserve(self._state, _room(edit)) as free, self._cleaning(aside) as cleaning, ExitStack() as stack:
            self.journal.begin(edit)
            swaps: list[Swap] = []
            try:
                swaps += [
                    stack.enter_context(replacing(change.path, before[change.path], change.after, wanted[change.path]))
                    for change in order
                ]
                sync_spares(swaps)
                for change, swap in zip(order, swaps, strict=True):
                    _check_same(change, now[change.path], digest(read_tree(change.path)))  # editors ignore locks
                    swap.apply()
                sync_places(swaps)
                free()
                return self._settle(edit, cleaning)
            except BaseException as error:
                free()
                if self._is_entered(edit):  # the next process makes up for the rest
                    if isinstance(error, WhetError):
                        return self.journal.entries(run=by.run, last=len(changes))
                elif not self._take_back(edit, swaps) and isinstance(error, WhetError):
                    error.details["changed"] = True
                    error.message += " The change is incomplete and could not be undone."
                    error.hint = "Run `whet doctor --repair` to finish or undo it."
                raise

    def _settle(self, edit: Edit, cleaning: Callable[[], None] = lambda: None) -> tuple[Entry, ...]:
        """Record a change, and all data about its skills in the same database."""
        with self.journal.state.write():
            entries = self.journal.settle(edit)
            self.settled(entries, edit.lock)
            cleaning()
            return entries

    @contextmanager
    def _cleaning(self, paths: Sequence[str]) -> Iterator[Callable[[], None]]:
        """Yield a function that records leftovers next to these skills, which are removed before the block ends."""
        begun: list[str] = []

        def begin() -> None:
            if paths:
                begun.append(self.journal.intents.begin(CLEAN, list(paths)))

        yield begin
        for id_ in begun:
            with suppress(WhetError):
                self.journal.intents.settle(id_, durable=False)

    def _note(self, change: TreeChange, now: Mapping[str, str], by: Provenance, modes: str, after: str) -> Note:
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
            modes,
        )

    def _wanted_modes(self, note: Note, earlier: Note | None, heads: Mapping[str, Entry]) -> str:
        """Return the permissions of an earlier content; a renamed skill keeps its own.

        The entry that last replaced a content has its permissions. Otherwise files keep theirs; new ones get the usual.
        """
        if earlier and earlier.action == note.action == "rename" and not note.before and not earlier.after:
            return earlier.modes
        if not note.after or (note.before and note.action not in _BACK) or note.path not in heads:
            return ""
        known = reversed(self.journal.entries(path=note.path))
        return next((entry.modes for entry in known if entry.before == note.after), "")

    def _is_entered(self, edit: Edit) -> bool:
        """Return whether the change is in the history. If unknown, it is not: its transaction has failed."""
        try:
            return not self.journal.intents.is_open(edit.id)
        except WhetError:
            return False

    def _take_back(self, edit: Edit, swaps: Sequence[Swap]) -> bool:
        """Restore the old content; if even that fails, the intent stays and the next process tries again."""
        back = 0
        with suppress(WhetError):
            self.journal.turn(edit)
        for swap in reversed(swaps):
            with suppress(WhetError, OSError):
                swap.take_back()
                back += 1
        if back < len(swaps):
            return False
        try:
            sync_places(swaps)
        except WhetError:
            return False
        with suppress(WhetError):
            self.journal.drop(edit)
        return True

    def recover(self) -> tuple[str, ...]:
        """Settle the changes of killed writers; return a sentence for each success or failure."""
        return self.journal.intents.recover(self.handlers())

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers for intents of killed writers."""
        return {
            EDIT: Handler(self._locks, self._recover, _describe),
            CLEAN: Handler(self._locks, self._clean, lambda intent: f"Cleaning up next to {intent.payload[0]}"),
        }

    def hidden(self) -> frozenset[str]:
        """Return the directories that readers leave out while changes are open, so that no change is visible in part.

        Until all new directories exist, these are left out; from then on, those that will be removed.
        """
        found: set[str] = set()
        for edit in self._several():
            come = [note.path for note in edit.own if note.after and not note.before]
            gone = [note.path for note in edit.own if note.before and not note.after]
            made = all(map(os.path.lexists, come)) if come else not all(map(os.path.lexists, gone))
            found.update(gone if made else come)
        return frozenset(found)

    def wait(self) -> bool:
        """Wait a moment for running changes of several skills that could be visible in part; return whether any ran."""
        mixed = [edit for edit in self._several() if any(note.before and note.after for note in edit.own)]
        for edit in mixed:
            with suppress(WhetError), self.hold(edit.paths, _PATIENCE):
                pass
        return bool(mixed)

    def _several(self) -> list[Edit]:
        """Return the open changes of more than one skill; a single one is never visible in part."""
        return [edit for edit in self.journal.edits() if len(edit.paths) > 1]

    def _locks(self, intent: Intent) -> list[FileLock]:
        paths = set(intent.payload) if intent.kind == CLEAN else {note.path for note in Edit.from_intent(intent).notes}
        return [self._lock(path, 0.0) for path in sorted(paths - getattr(self._own, "held", frozenset()))]

    def _recover(self, intent: Intent) -> str:
        edit = Edit.from_intent(intent)
        made = sorted(edit.own, key=lambda note: _turn(note.before, bool(note.after)))
        current = {note.path: read_tree(note.path) for note in made}
        now = {path: digest(tree) for path, tree in current.items()}
        complete = all(now[note.path] == note.after for note in made)
        if not complete:
            for note in reversed(made):
                if now[note.path] in (note.after, "") and now[note.path] != note.before:
                    self._restore_content(note, current[note.path])
        for note in made:
            _clean(note.path)
        if complete:
            self._settle(edit)
            return f"{_describe(intent)} was complete; it is now in the history."
        self.journal.drop(edit)
        return f"{_describe(intent)} was incomplete; it is undone."

    def _clean(self, intent: Intent) -> str:
        for path in intent.payload:
            _clean(path)
        self.journal.intents.settle(intent.id)
        return ""

    def _restore_content(self, note: Note, current: Tree | None) -> None:
        """Restore a skill's earlier content: the directory that was moved aside, else the stored one."""
        if note.before and (aside := _find_aside(note.path, note.before)):
            with os_failures(note.path, doing="put back"):
                if current is None:
                    os.rename(aside, note.path)
                else:
                    trade(aside, note.path)
                sync_directory(os.path.dirname(note.path))
        else:
            write_tree(note.path, current, self.journal.content(note.before), parse_permissions(note.modes))

    def _lock(self, path: str, seconds: float) -> FileLock:
        return FileLock(lock_path(self._state, "skill", path), timeout=seconds)


def _describe(intent: Intent) -> str:
    return f"A change to {', '.join(dict.fromkeys(note.skill for note in Edit.from_intent(intent).notes))}"


def _turn(before: str, after: bool) -> int:
    """Return the order of a skill among others: new ones first, removed ones last."""
    return 0 if not before else 1 if after else 2


def _room(edit: Edit) -> int:
    """Return an upper bound on the bytes needed to record a change: database pages and the new text of the lock."""
    return _PAGE * (_PAGES + _PAGES_EACH * len(edit.notes)) + 4 * len(json.dumps(edit.lock))


def _find_aside(path: str, of: str) -> str:
    """Return the directory with that content that was moved aside from a path; "" if there is none."""
    for found in leftovers(os.path.dirname(path)):
        if os.path.basename(found).startswith(f".{os.path.basename(path)}.") and os.path.isdir(found):
            with suppress(WhetError):
                if digest(read_tree(found)) == of:
                    return found
    return ""


def _found(changes: Sequence[TreeChange], now: Mapping[str, str], heads: Mapping[str, Entry]) -> list[Note]:
    """Return entries for changes by other means since the last entry about these skills.

    They belong to no run: undoing a run must not undo somebody else's earlier change.
    """
    notes = []
    for change in changes:
        head = heads.get(change.path)
        known = head.after if head else ""
        if known != now[change.path]:
            reason = "Changed outside Whet." if head else "Existed before its history began."
            found = ("unknown", "found", "found", change.skill, change.path, reason, known, now[change.path])
            notes.append(Note(*found, "", ""))
    return notes


def _check_same(change: TreeChange, seen: str, now: str) -> None:
    if seen != now:
        message = f"{change.skill} has just been changed by another process."
        raise ConflictError("skill-changed", message, hint="Review it again, then decide.", digest=now)


def _clean(path: str) -> None:
    """Remove a killed writer's leftovers next to a skill, and in it; failures are harmless."""
    with suppress(WhetError):
        clean_leftovers(os.path.dirname(path))
    for directory, *_ in os.walk(path):
        with suppress(WhetError):
            clean_leftovers(directory)
