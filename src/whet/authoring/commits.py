"""The event behind every change, which all stores about skills follow.

Every change (by the editor, its history, an approved proposal, the curator, an install) ends in `commit` or `publish`.
Data in the state database (pins, disabled and blocked skills, feedback) follows in the same transaction; usage and
locks follow after it. All get each skill with its id before and after, so that a renamed skill keeps all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from whet.authoring.journal import REVERSALS
from whet.errors import WhetError
from whet.records import NamedTuple
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whet.authoring.journal import Entry, Journal
    from whet.authoring.writer import Provenance, TreeChange, Writer
    from whet.library.skill_id import SkillId


class Committed(NamedTuple):
    """The change of one skill."""

    entry: Entry
    """For a skill that moved, the entry about its new path."""
    before: SkillId | None
    """None if there was no skill."""
    after: SkillId | None
    """None if there is no skill any more."""
    old_name: str
    scope: str
    """The scope of its root; "" outside of all roots."""
    version: str = ""
    """Its declared version, if the writer knows it."""

    @property
    def moved(self) -> bool:
        """Whether it is the same skill at another path."""
        return self.before is not None and self.after is not None and self.before != self.after

    @property
    def back(self) -> bool:
        """Whether it returned to an earlier content."""
        return self.entry.action in ("rollback", "restore", *REVERSALS)

    @property
    def old_names(self) -> tuple[str, str]:
        """The names that stores used before ids: its old name, and that with its scope."""
        return key(self.old_name), key(f"{self.scope}:{self.old_name}")


class Commit(NamedTuple):
    """A change that was made."""

    entries: tuple[Entry, ...]
    """Its entries in the history, without those about changes that were found."""
    notes: tuple[str, ...] = ()
    """Sentences about stores that could not follow it."""


class Subscriber(Protocol):
    """Follows every change."""

    def __call__(self, commits: Sequence[Committed], /) -> Iterable[str]:
        """Follow the change; return sentences to report."""


class Committer:
    """Writes changes, and notifies the subscribers."""

    def __init__(self, writer: Writer, identify: Callable[[str], tuple[SkillId, str]]) -> None:
        """`identify` returns id and scope of the skill at a directory, which may be gone."""
        self.writer = writer
        self._identify = identify
        self._followed: tuple[tuple[Entry, ...], list[Committed]] = ((), [])
        """The change that was made last, which is identified once."""
        self._inside: list[Subscriber] = []
        self._after: list[tuple[Subscriber, str]] = []
        self.locks: Callable[[Sequence[Committed], Any], None] = lambda *_: None
        """Called inside the transaction, too, with an install's data for the lock (`Edit.lock`)."""
        writer.settled = self._follow

    def on_commit(self, subscriber: Subscriber) -> None:
        """Call this with every change, inside its transaction on the state database, even when a killed one is settled.

        So data about a skill is never out of date. Raising reverses the change.
        """
        self._inside.append(subscriber)

    def after_commit(self, subscriber: Subscriber, failed: str) -> None:
        """Call this after every change; `failed` is the message if it raises WhetError: the change is made anyway."""
        self._after.append((subscriber, failed))

    def commit(self, changes: Sequence[TreeChange], by: Provenance) -> Commit:
        """Make all of these changes or none. Raises WhetError."""
        return self.publish(self.writer.write(changes, by), changes)

    def _follow(self, entries: Sequence[Entry], lock: Any) -> None:
        made = tuple(entry for entry in entries if entry.action != "found")
        committed = self._committed(made)
        self._followed = made, committed
        for subscriber in self._inside if committed else ():
            subscriber(committed)
        if committed:
            self.locks(committed, lock)

    def publish(self, entries: Sequence[Entry], changes: Sequence[TreeChange] = ()) -> Commit:
        """Notify the later subscribers about entries in the history, made by these changes."""
        made = tuple(entry for entry in entries if entry.action != "found")
        followed, committed = self._followed
        versions = {change.path: change.version for change in changes}
        committed = [
            one._replace(version=versions.get(one.entry.path, ""))
            for one in (committed if followed == made else self._committed(made))
        ]
        notes: list[str] = []
        for subscriber, failed in self._after if committed else ():
            try:
                notes.extend(subscriber(committed))
            except WhetError as error:
                notes.append(f"{failed}: {error.message}")
        return Commit(made, tuple(notes))

    def _committed(self, made: Sequence[Entry]) -> list[Committed]:
        moves = find_moves(self.writer.journal, made)
        moved = {gone.path for gone in moves.values()}
        found = []
        for entry in made:
            if not entry.after and entry.path in moved:
                continue  # it is reported with its new path
            (here, scope), gone = self._identify(entry.path), moves.get(entry.path)
            before = self._identify(gone.path)[0] if gone else here if entry.before else None
            name = gone.skill if gone else entry.skill
            found.append(Committed(entry, before, here if entry.after else None, name, scope))
        return found


def find_moves(journal: Journal, entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the skills that moved in one change: their new paths, and the entries about their old ones.

    A rename is two entries; the one about the new path comes directly after the other. Undoing it is two entries, too,
    which restore the contents.
    """
    gone = {entry.id: entry for entry in entries if entry.before and not entry.after}
    come = [entry for entry in entries if entry.after and not entry.before]
    found: dict[str, Entry] = {}
    for new in come:
        for old in gone.values():
            if (old.action, new.action) == ("rename", "rename"):
                moved = new.id == old.id + 1 or len(gone) == len(come) == 1
            else:
                moved = old.action == new.action in REVERSALS and _reverses_move(journal, old, new)
            if moved:
                found[new.path] = old
    return found


def _reverses_move(journal: Journal, gone: Entry, come: Entry) -> bool:
    """Return whether the skill moved the other way before, between the same contents."""
    for first in journal.entries(path=come.path):
        if first.id < gone.id and first.before == come.after and not first.after:
            moves = find_moves(journal, [entry for entry in journal.entries(run=first.run) if entry.id < gone.id])
            if gone.path in moves and moves[gone.path].path == come.path:
                return True
    return False


class MoveStore(Protocol):
    """Keeps data about skills by their ids."""

    def move(self, old: SkillId, new: SkillId, names: Sequence[str] = ()) -> None:
        """Keep the data of a skill that has moved; `names` are its names in an older Whet."""


def follow_moves(store: MoveStore) -> Subscriber:
    """Return a subscriber that keeps a store's data about renamed skills."""

    def follow(commits: Sequence[Committed], /) -> Iterable[str]:
        for commit in commits:
            if commit.before and commit.after and commit.moved:
                store.move(commit.before, commit.after, commit.old_names)
        return ()

    return follow
