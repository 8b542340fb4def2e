"""The history: versions of a skill, their differences, and all ways to restore an earlier one.

Going back is a change like any other: it is written and recorded in the same way, and can itself be undone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING

from whet.authoring.commits import Commit
from whet.authoring.journal import REVERSALS
from whet.authoring.journal import Note as Written
from whet.authoring.main_file import main_of, said
from whet.authoring.merge import Conflict, merge_text
from whet.authoring.results import (
    Difference,
    Export,
    LostContent,
    LostContents,
    Proof,
    Reversal,
    SkillHistory,
    StoredFile,
)
from whet.authoring.trees import digest
from whet.authoring.writer import USER, TreeChange
from whet.errors import ConflictError, FailedError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.package import read_tree
from whet.notes import SWITCHES, Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.names import closest, key
from whet.store.chain import REPAIR_HINT, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from whet.authoring.commits import Committer
    from whet.authoring.journal import Entry, Journal
    from whet.authoring.writer import Provenance
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.skill.tree import Item, Tree
    from whet.store.repair import Repaired


_VERSION = compile_late(r"^(---\n(?:(?!---\n).*\n)*?[ ]*version:)([^\n]*)")
"""The version in frontmatter."""


class Version(NamedTuple):
    """One former content of a skill."""

    number: int
    entry: Entry


def lifetime(journal: Journal, path: str) -> list[Entry]:
    """Return every entry about a skill, oldest first, including those before it was renamed."""
    entries = list(journal.entries(path=path, switches=True))
    while entries and (gone := _renamed_from(journal, entries[0])):
        earlier = [entry for entry in journal.entries(path=gone.path, switches=True) if entry.id < entries[0].id]
        entries = [*earlier, *entries]
    return entries


def _renamed_from(journal: Journal, entry: Entry) -> Entry | None:
    """Return the entry about the old path if this one is a rename to a new path."""
    if entry.action != "rename" or entry.before:
        return None
    gone = [other for other in journal.entries(run=entry.run) if other.action == "rename" and not other.after]
    return gone[0] if len(gone) == 1 else None  # several were renamed at once, so the pair is unknown


def find_makers(entries: Iterable[Entry]) -> dict[str, str]:
    """Return who created the skill in each directory; renaming or restoring does not count."""
    makers: dict[str, str] = {}
    renamed = ""
    for entry in entries:
        if not entry.before and entry.after:
            known = renamed if entry.action == "rename" else entry.path
            moved = entry.action in ("rename", "restore", *REVERSALS)
            makers[entry.path] = makers.get(known, entry.actor) if moved else entry.actor
        renamed = entry.path if entry.action == "rename" and not entry.after else ""
    return makers


def versions(journal: Journal, path: str) -> tuple[Version, ...]:
    """Return the contents a skill has had, oldest first, numbered from 1; removals have no number."""
    entries = [entry for entry in journal.entries(path=path) if entry.after]
    return tuple(Version(number, entry) for number, entry in enumerate(entries, 1))


def version_at(journal: Journal, path: str, number: int) -> Version:
    """Return one version by its number. Raises NotFoundError."""
    known = versions(journal, path)
    if not 1 <= number <= len(known):
        hint = f"States 1 to {len(known)} exist." if known else "Whet has not changed it yet."
        raise NotFoundError("no-such-version", f"There is no state {number}.", hint=hint)
    return known[number - 1]


def difference(before: Mapping[str, Item] | None, after: Mapping[str, Item] | None, names: tuple[str, str]) -> str:
    """Return the difference between two contents as a unified diff; files that are not text are named."""
    from difflib import unified_diff

    old, new = before or {}, after or {}
    parts: list[str] = []
    for path in sorted({*old, *new}):
        one, other = old.get(path), new.get(path)
        if one == other:
            continue
        left, right = _text(one), _text(other)
        if left is None or right is None or (one and one.link) or (other and other.link):
            parts.append(f"{path}: {_described(one)} -> {_described(other)}\n")
            continue
        if one and other and one.executable != other.executable:
            parts.append(f"{path}: {'now' if other.executable else 'no longer'} executable\n")
        origin = f"{names[0]}/{path}" if one else "/dev/null"
        target = f"{names[1]}/{path}" if other else "/dev/null"
        lines = list(unified_diff(left.splitlines(keepends=True), right.splitlines(keepends=True), origin, target))
        if not lines and (one is None or other is None):
            parts.append(f"{path}: {_described(one)} -> {_described(other)}\n")
        parts.extend(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return "".join(parts)


def _text(item: Item | None) -> str | None:
    if item is None:
        return ""
    try:
        return None if b"\0" in item.data else item.data.decode()
    except UnicodeDecodeError:
        return None


def _described(item: Item | None) -> str:
    if item is None:
        return "nothing"
    return f"a link to {item.data.decode(errors='replace')}" if item.link else f"{len(item.data):,} bytes"


def to_version(journal: Journal, skill: str, path: str, number: int | None) -> TreeChange:
    """Return the change that goes back to a version; without a number, to the content before the last change."""
    known = versions(journal, path)
    current = read_tree(path)
    now = digest(current)
    if number is None:
        entries = journal.entries(path=path)
        held = [*(entry.before for entry in entries), *(entry.after for entry in entries[-1:])]
        older = [of for of in held if of and of != now]
        if not older:
            hint = f"`whet history {quote(skill)}` lists its states." if known else "Whet has not changed it yet."
            raise NotFoundError("no-such-version", f"{skill} has no earlier state.", hint=hint)
        wanted = older[-1]
    else:
        wanted = version_at(journal, path, number).entry.after
    if wanted == now:
        raise UsageError(
            "nothing-changes",
            f"{skill} is already in that state.",
            hint=f"`whet history {quote(skill)}` lists its states.",
        )
    return TreeChange("rollback", skill, path, journal.content(wanted), now)


def revert_entries(journal: Journal, entries: Sequence[Entry], action: str = "undo") -> list[TreeChange]:
    """Return the changes that undo entries, the last one first. Raises ConflictError if later changes conflict.

    A skill that has changed since is merged: the entry's changes are undone on lines without later changes.
    """
    trees: dict[str, Tree | None] = {}
    seen: dict[str, str] = {}
    names: dict[str, str] = {}
    for entry in sorted(entries, key=lambda entry: -entry.id):
        path = entry.path
        if entry.action == "found" and not entry.before and journal.entries(path=path)[0].id == entry.id:
            message = f"Change {entry.id} only records that {entry.skill} existed before its history began."
            raise ConflictError(
                "cannot-undo", message, hint=f"`whet remove {quote(entry.skill)}` removes it.", entry=entry.id
            )
        if path not in trees:
            trees[path] = read_tree(path)
            seen[path] = digest(trees[path])
            names[path] = entry.skill
        before, after = journal.content(entry.before), journal.content(entry.after)
        try:
            trees[path] = _reverted(entry, trees[path], before, after)
        except ConflictError as error:
            error.hint = _ways_back(journal, entry) or error.hint
            raise
    return [TreeChange(action, names[path], path, tree, seen[path]) for path, tree in trees.items()]


def _ways_back(journal: Journal, entry: Entry) -> str:
    """Return hints for an entry that cannot be undone: only commands that work."""
    known, name = journal.entries(path=entry.path), quote(entry.skill)
    gone = {*_undone(known), *find_reversals(known)}
    later = [other for other in known if other.id > entry.id and other.id not in gone and other.run]
    now = digest(read_tree(entry.path))
    states = [state.number for state in versions(journal, entry.path) if state.entry.after == entry.before]
    ways = []
    if later and later[-1].after == now:
        ways.append(f"`whet undo {later[-1].id}` undoes the last change to {entry.skill} first.")
    if states and entry.before != now:
        ways.append(
            f"`whet undo {name} --to {states[-1]}` returns {entry.skill} to the state before change {entry.id}, "
            "without anything that came after it; the history keeps what it has now."
        )
    if now and (old := _renamed_from(journal, entry)):
        ways.append(f"`whet skill rename {name} {quote(old.skill)}` renames it back and keeps what has changed.")
    elif now and not entry.before:
        ways.append(f"`whet remove {name}` removes {entry.skill}; the history keeps it.")
    return " ".join(ways)


def _reverted(entry: Entry, now: Tree | None, before: Tree | None, after: Tree | None) -> Tree | None:
    if digest(now) == entry.after:
        return before
    hint = f"`whet history {quote(entry.skill)}` lists what came after it, and its states."
    if now is None or before is None or after is None:
        message = f"{entry.skill} has changed since change {entry.id}."
        raise ConflictError("cannot-undo", message, hint=hint, entry=entry.id)
    result = dict(now)
    for path in {*before, *after}:
        if before.get(path) == after.get(path):
            continue
        if now.get(path) == after.get(path):
            restored_item = before.get(path)
        elif (restored_item := _merged(now.get(path), after.get(path), before.get(path))) is None:
            message = f"{path} of {entry.skill} has changed since change {entry.id}."
            raise ConflictError("cannot-undo", message, hint=hint, entry=entry.id, path=path)
        if restored_item is not None:
            result[path] = restored_item
        else:
            result.pop(path, None)
    return result


def _merged(now: Item | None, after: Item | None, before: Item | None) -> Item | None:
    """Return the current file without an entry's change; None if that is not possible.

    The version is kept: every change raises it, which must not prevent undoing an older one.
    """
    texts = [_text(item) if item and not item.link else None for item in (now, after, before)]
    if now is None or None in texts:
        return None
    current, base, earlier = (text or "" for text in texts)
    version = _VERSION.search(current)
    if version:
        base, earlier = (_VERSION.sub(lambda found: found[1] + version[2], text, count=1) for text in (base, earlier))
    pieces = merge_text(*(text.encode() for text in (base, current, earlier)), touching=True)
    merged = [piece for piece in pieces if not isinstance(piece, Conflict)]
    return now._replace(data=b"".join(merged)) if len(merged) == len(pieces) else None


def _preview(changes: Iterable[TreeChange]) -> str:
    """Return the difference that changes would make."""
    return "".join(difference(read_tree(one.path), one.after, (one.skill, one.skill)) for one in changes)


def find_deleted(journal: Journal, name: str) -> TreeChange:
    """Return the change that restores the last deleted skill of that name."""
    gone: dict[str, Entry] = {}
    for entry in journal.entries():
        if entry.after:
            gone.pop(entry.path, None)
        elif entry.before and entry.action != "rename":
            gone[entry.path] = entry
    found = [entry for entry in gone.values() if key(entry.skill) == key(name)]
    if not found:
        near = list(closest(name, [entry.skill for entry in gone.values()]))
        hint = f"Did you mean {', '.join(near)}?" if near else "Whet has not removed a skill with that name."
        raise NotFoundError("nothing-to-restore", f"No removed skill is named {name!r}.", hint=hint, suggestions=near)
    entry = max(found, key=lambda entry: entry.id)
    return TreeChange("restore", entry.skill, entry.path, journal.content(entry.before), "")


LOCK_ACTIONS = ("adopt", "update", *REVERSALS)
"""Actions that may change only the lock's entry of a skill; an update may keep all of its lines."""
INSTALL = "install"
"""The origin of changes by installing, updating and adopting."""
_SHORTEST_RUN = 4
"""Characters of a run's id that are enough to name it."""
_LOOKED_BACK = 10_000
"""Number of entries that are searched for the last change; found changes belong to no run."""
_NAMED = 5
"""Number of changes that the reason of an undo names."""
_UNDOES = compile_late(r"Undo of (\S+)\.")
"""The reason of an undo that does not name its target in its run."""
_LONGEST_NUMBER = 18


def find_reversals(entries: Iterable[Entry]) -> dict[int, set[int]]:
    """Return the numbers of the entries that each undo reverses, by the number of the undo's entry, oldest first."""
    runs: dict[str, list[Entry]] = {}
    numbered: dict[str, list[Entry]] = {}
    for entry in entries:
        runs.setdefault(entry.run, []).append(entry)
        numbered[str(entry.id)] = [entry]
    found: dict[int, set[int]] = {}
    for run, made in runs.items():
        if not run or not _is_undo(made[0]):
            continue
        named = _UNDOES.fullmatch(made[0].reason)
        what = run.partition(".")[2] or (named[1] if named else "")
        targets = numbered.get(what) or runs.get(what, [])
        if _are_joined(targets[:1]):
            targets = runs[targets[0].run]
        for entry in made:
            own = {target.id for target in targets if target.path == entry.path}
            found[entry.id] = own or {target.id for target in targets}
    return found


def _is_undo(entry: Entry) -> bool:
    """Return whether an entry reverses another. For a decision, the run names what it reverses."""
    if not is_switch(entry):
        return entry.action in REVERSALS
    return bool(entry.run.partition(".")[2] or _UNDOES.fullmatch(entry.reason))


def _undone(entries: Sequence[Entry]) -> set[int]:
    """Return the numbers of the undone entries, unless the undo was undone, too."""
    found: set[int] = set()
    for undo, numbers in sorted(find_reversals(entries).items(), reverse=True):
        if undo not in found:
            found |= numbers
    return found


def _redone(entries: Sequence[Entry], known: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the changes that are redone when these entries are undone; empty unless the entries undid them."""
    takes = find_reversals(known)
    found, undone = {entry.id for entry in entries}, False
    while found and found <= takes.keys():
        found, undone = set().union(*(takes[number] for number in found)), not undone
    return tuple(entry for entry in known if entry.id in found) if undone else ()


def is_switch(entry: Entry) -> bool:
    """Return whether an entry is a decision that changed no files."""
    return entry.action in SWITCHES


def _has_effect(entry: Entry) -> bool:
    return entry.before != entry.after or is_switch(entry) or is_lock_change(entry)


def is_lock_change(entry: Entry) -> bool:
    """Return whether an entry changed only the lock's entry of a skill."""
    return entry.before == entry.after != "" and entry.action in LOCK_ACTIONS


def _are_joined(entries: Iterable[Entry]) -> bool:
    """Return whether entries belong together: undoing one half of a rename or merge would lose the skill."""
    return any(entry.action in ("rename", "merge") for entry in entries)


def _check_last(entry: Entry, known: Iterable[Entry]) -> None:
    """Raise ConflictError for a change of the lock after which the skill was installed or updated again."""
    after = [one.id for one in known if one.id > entry.id and one.path == entry.path and one.origin == INSTALL]
    if after:
        message = f"{entry.skill} has been updated since change {entry.id}."
        hint = f"`whet undo {after[-1]}` undoes the last update first."
        raise ConflictError("cannot-undo", message, hint=hint, entry=entry.id)


def find_lost(journal: Journal) -> list[LostContent]:
    """Return skills whose stored content no entry of the history names, the last stored one at the end."""
    found = []
    for of in journal.unnamed():
        tree = journal.content(of) or {}
        with suppress(WhetError):
            name = said(main_of(tree).document, "name")
            found.append(LostContent(name, of, journal.blobs.kept(of.removeprefix("sha256:")), len(tree)))
    return sorted(found, key=lambda content: content.time)


class History:
    """The history of one library, with undo and rollback."""

    def __init__(self, workspace: Workspace, committer: Committer) -> None:
        self._workspace = workspace
        self._committer = committer
        self._journal = committer.writer.journal
        self.switched: Callable[[Card], Iterable[str]] = lambda _: ()
        """Called after a skill is enabled or disabled; returns sentences about other changes."""
        self.reverse: Callable[[Entry, Card | None, Provenance], Commit] = lambda *_: Commit(())
        """Reverses another decision, about a skill or (without a card) about a project."""

    def compact(self) -> int:
        """Remove stored contents that nothing refers to; return the number of files.

        Raises FailedError if the history is damaged; then nothing is removed.
        """
        return self._journal.compact()

    def examine(self) -> Iterator[Note]:
        """Yield the problems of the history: the first of each kind, and their number."""
        found: dict[str, list[Problem]] = {}
        for problem in self._journal.verify():
            found.setdefault("history-cut" if problem.code == "history-cut" else "history-damaged", []).append(problem)
        for code, problems in found.items():
            more = f" There are {len(problems)} such problems." if len(problems) > 1 else ""
            message = problems[0].message + more
            yield Note(
                code, "error", message, "`whet history verify` lists all. " + REPAIR_HINT, path=self._journal.state.path
            )

    def lost(self) -> LostContents:
        """Return skills whose content is stored but whose entries are lost; `restore` brings them back, too."""
        return LostContents(tuple(find_lost(self._journal)))

    def repair(self) -> Repaired:
        """Restore everything that the log and the skills still have, and record losses."""
        return self._journal.repair()

    def interrupted(self) -> tuple[Note, ...]:
        """Return notes on changes that a killed process left unfinished."""
        hint = "Run `whet doctor --repair`; the next change also resolves it."
        found = [
            Note("interrupted-change", "warning", "A change was interrupted.", hint, skill=note.skill, path=note.path)
            for edit in self._journal.edits()
            for note in edit.own
        ]
        why = "A change was interrupted, and its record cannot be read: {}."
        look = "Compare your skills with `whet history`; nothing else is recorded about that change."
        damaged = self._journal.unreadable()
        return (*found, *(Note("interrupted-change", "warning", why.format(id_), look) for id_ in damaged))

    def recover(self) -> tuple[str, ...]:
        """Settle the changes of killed processes; return a sentence for each."""
        return self._committer.writer.recover()

    def _directory(self, name: str) -> tuple[str, str]:
        """Return name and directory of an existing or former skill."""
        try:
            card, _ = self._workspace.find(name)
        except (NotFoundError, RefusedError) as error:
            # a broken link of a client to a removed skill does not hide its history
            hides = isinstance(error, RefusedError) and error.code != "link-broken"
            found = [] if hides else [entry for entry in self._journal.entries() if key(entry.skill) == key(name)]
            if not found:
                raise
            return found[-1].skill, found[-1].path
        return card.name, card.place

    def entries(self, name: str | None = None, last: int | None = None) -> SkillHistory:
        """Return the entries about one skill with its versions, or the last entries about all."""
        if name is None:
            return SkillHistory(self._journal.entries(last=last, switches=True))
        skill, path = self._directory(name)
        numbers = tuple((version.entry.id, version.number) for version in versions(self._journal, path))
        own = lifetime(self._journal, path)[-last if last else 0 :]
        return SkillHistory(tuple(own), skill, path, numbers)

    def diff(self, name: str, one: int | None = None, other: int | None = None) -> Difference:
        """Return the difference from one state (default: the previous one) to another (default: the current one)."""
        skill, path = self._directory(name)
        known = versions(self._journal, path)
        if one is None and not known:
            raise NotFoundError("no-such-version", f"{skill} has no history.", hint="Whet has not changed it yet.")
        current = read_tree(path)
        if one is None:
            # the version before the current content
            now = digest(current)
            earlier = [version for version in known if version.entry.after != now]
            left = earlier[-1] if earlier else known[0]
        else:
            left = version_at(self._journal, path, one)
        before = self._journal.content(left.entry.after)
        if other is None:
            after, label = current, "now"
        else:
            right = version_at(self._journal, path, other)
            after, label = self._journal.content(right.entry.after), f"state-{right.number}"
        return Difference(skill, left.number, other, difference(before, after, (f"state-{left.number}", label)))

    def rollback(
        self, name: str, number: int | None = None, by: Provenance = USER, *, dry_run: bool = False
    ) -> Reversal:
        """Go back to a state (default: the previous one); with `dry_run`, only show the difference."""
        skill, path = self._directory(name)
        change = to_version(self._journal, skill, path, number)
        wanted = digest(change.after)
        state = number or max(
            (state.number for state in versions(self._journal, path) if state.entry.after == wanted), default=0
        )
        if dry_run:
            return Reversal((), state=state, skill=skill, diff=_preview([change]))
        by = by._replace(reason=by.reason or f"To state {state}.")
        return Reversal(*self._committer.commit([change], by), state=state, skill=skill)

    def undo(self, what: int | str | None = None, by: Provenance = USER, *, dry_run: bool = False) -> Reversal:
        """Undo the last change, or the last one to a skill by its name; an entry by its number, a run by its id.

        The last change is the last one that is not undone: repeated calls go back change by change. To undo an undo,
        name it, or call `redo`. With `dry_run`, nothing changes. Raises UsageError `nothing-changes` for a change that
        is already undone.
        """
        return self._undo(*self._find_change(what), by, dry_run=dry_run)

    def redo(self, what: int | str | None = None, by: Provenance = USER, *, dry_run: bool = False) -> Reversal:
        """Redo the last undone change, or the last one of a skill by its name: undo that undo.

        A number is that of the change or of its undo. Raises UsageError `nothing-changes` if no undo is left.
        """
        number = int(what) if what is not None and str(what).isdecimal() else None
        path = "" if what is None or number is not None else self._directory(str(what))[1]
        reversals = find_reversals(self._journal.entries(last=_LOOKED_BACK, switches=True))
        for run in self.undoable(path, undos=True):
            known = {entry.id for entry in run}.union(*(reversals.get(entry.id, ()) for entry in run))
            if _is_undo(run[0]) and (number is None or number in known):
                return self._undo(run[0].run, run, by, dry_run=dry_run)
        whose = f"Change {number} is not" if number is not None else f"No change{f' to {what}' if path else ''} is"
        hint = "`whet history` lists the changes and the undos; `whet undo` undoes a change."
        raise UsageError("nothing-changes", f"{whose} undone, so there is nothing to redo.", hint=hint)

    def _find_change(self, what: int | str | None) -> tuple[str, Sequence[Entry]]:
        """Return the id of the run or the number that names a change, and its entries."""
        if what is None:
            return self._last_change()
        what = str(what)
        entries: Sequence[Entry] = ()
        if what.isdecimal() and len(what) <= _LONGEST_NUMBER:
            entries = (self._journal.entry(int(what)),)
            if _are_joined(entries):
                entries = self._journal.entries(run=entries[0].run)
        elif what:
            entries = self._journal.entries(run=what, switches=True)
        if not entries:
            try:
                name, path = self._directory(what)
            except NotFoundError:
                entries = self._run_entries(what)
                what = entries[0].run
            else:
                return self._last_change(path, name)
        return what, entries

    def _run_entries(self, start: str) -> Sequence[Entry]:
        """Return the entries of the run whose id begins with `start`. Raises NotFoundError."""
        known = self._journal.entries(last=_LOOKED_BACK, switches=True) if len(start) >= _SHORTEST_RUN else ()
        runs = {entry.run for entry in known if entry.run.startswith(start)}
        if len(runs) == 1:
            return self._journal.entries(run=runs.pop(), switches=True)
        hint = "`whet history` lists the changes with their numbers; on a terminal, `whet undo` offers them as a list."
        message = f"The history has no change, no run and no skill {start!r}."
        if runs:
            message, hint = f"The ids of {len(runs)} runs begin with {start!r}.", "Write more of the id."
        raise NotFoundError("no-such-entry", message, hint=hint)

    def _last_change(self, path: str = "", name: str = "") -> tuple[str, Sequence[Entry]]:
        """Return the last run that is not undone, of one skill if its path is given, with its remaining entries."""
        runs = self.undoable(path)
        if not runs:
            what = f"{name} has no change left to undo." if path else "Every change is already undone."
            undone = any(_is_undo(run[0]) for run in self.undoable(path, undos=True))
            again = f"`whet redo {quote(name)}`" if path else "`whet redo`"
            hint = f"{again} makes the last undone change again." if undone else "`whet history` lists the changes."
            raise UsageError("nothing-changes", what, hint=hint)
        return runs[0][0].run, runs[0]

    def undoable(self, path: str = "", *, undos: bool = False) -> tuple[tuple[Entry, ...], ...]:
        """Return the runs that can be undone, the last one first, each with the entries that are not undone yet.

        With a path, only changes of the skill there, but always both sides of a rename or merge. With `undos`, also the
        undos, which redo the change when they are undone; a redo is not listed next to the change itself.
        """
        known = self._journal.entries(last=_LOOKED_BACK, switches=True)
        if not any(entry.run for entry in known):
            raise NotFoundError("no-such-entry", "The history is empty.", hint="There is nothing to undo yet.")
        back, reversals = _undone(known), find_reversals(known)
        redone = {one for one, numbers in reversals.items() if not numbers.isdisjoint(reversals)}
        left_out = back | redone if undos else back
        runs: dict[str, list[Entry]] = {}
        for entry in known:
            if entry.run and (undos or not _is_undo(entry)) and entry.id not in left_out and _has_effect(entry):
                runs.setdefault(entry.run, []).append(entry)
        newest = sorted(runs.values(), key=lambda own: -own[-1].id)
        if path:
            newest = [own if _are_joined(own) else [entry for entry in own if entry.path == path] for own in newest]
        return tuple(tuple(own) for own in newest if any(not path or entry.path == path for entry in own))

    def switch(self, card: Card, surfaces: Collection[str] | None, *, on: bool, by: Provenance = USER) -> Commit:
        """Enable or disable a skill on these surfaces ("": everywhere; None: wherever it is disabled).

        Returns no entries if nothing changes.
        """
        decisions, path = self._workspace.decisions, card.place
        with self._journal.state.write():
            off = {surface for name, surface in decisions.disabled() if name in card.known_as}
            chosen = off if surfaces is None else set(surfaces)
            changed = sorted(chosen & off if on else chosen - off)
            if not changed:
                return Commit(())
            if on:
                for name in card.known_as:
                    decisions.enable(name)
            for surface in off.difference(changed) if on else changed:
                decisions.disable(str(card.id), surface)
            commit = self.decide("enable" if on else "disable", card.name, path, *changed, by=by)
        return commit._replace(notes=tuple(self.switched(card)))

    def decide(self, action: str, skill: str, path: str, *origins: str, by: Provenance = USER) -> Commit:
        """Record a decision about the skill or the project at a path, once for each origin."""
        head = self._journal.head(path)
        content, run = head.after if head else "", by.run or f"r{os.urandom(8).hex()}"
        about = (action, skill, path, by.reason, content, content, by.checked, run)
        return Commit(self._journal.append(Written(by.actor, origin, *about) for origin in origins))

    def _switch_back(self, entries: Sequence[Entry], by: Provenance) -> Commit:
        """Reverse the decision of entries of one run."""
        path, action = entries[0].path, entries[0].action
        if action in ("trust", "untrust", "use"):  # about a project
            return self.reverse(entries[0], None, by)
        card = self._workspace.snapshot().catalogue.at(path)
        if card is None:
            message = f"{entries[0].skill} is no longer at {path}."
            hint = "Undo what came after it first: `whet history` lists the changes."
            raise ConflictError("cannot-undo", message, hint=hint, entry=entries[0].id)
        if action in ("enable", "disable"):
            return self.switch(card, [entry.origin for entry in entries], on=action == "disable", by=by)
        return self.reverse(entries[0], card, by)

    def describe_change(self, entries: Iterable[Entry]) -> str:
        """Return the difference that the entries made."""
        content = self._journal.content
        changes = ((entry.skill, entry.before, entry.after) for entry in entries)
        return "".join(difference(content(before), content(after), (skill, skill)) for skill, before, after in changes)

    def _undo(self, what: str, entries: Sequence[Entry], by: Provenance, *, dry_run: bool) -> Reversal:
        known = self._journal.entries(last=_LOOKED_BACK, switches=True)
        back = _undone(known)
        entries = [entry for entry in entries if _has_effect(entry)]
        if not entries:
            raise UsageError("nothing-changes", f"{what} changed nothing.", hint="Choose another entry.")
        done = UsageError("nothing-changes", f"{what} is already undone.", hint="Choose another entry.")
        entries = [entry for entry in entries if entry.id not in back]
        if not entries:
            raise done
        run = by.run or f"u{os.urandom(8).hex()}.{what}"
        numbers = ", ".join(str(entry.id) for entry in entries) if len(entries) <= _NAMED else what
        again = _redone(entries, known)
        reason = f"Undo of {numbers}."
        if again and not by.run:  # the run names the undone change
            numbers = ", ".join(str(entry.id) for entry in again) if len(again) <= _NAMED else again[0].run
            reason = f"Redo of {numbers}."
        by = by._replace(reason=by.reason or reason, run=run)
        locked = [entry for entry in entries if is_lock_change(entry)]
        for entry in locked:
            _check_last(entry, (later for later in known if later.id not in back))
        own = {entry.path for entry in locked}
        if is_switch(entries[0]):
            if dry_run:
                return Reversal((), undone=tuple(entries), again=again, diff="")
            written, notes = self._switch_back(entries, by)
        else:
            changes = [
                change
                for change in revert_entries(self._journal, entries, "redo" if again else "undo")
                if digest(change.after) != change.expected or change.path in own
            ]
            if changes and dry_run:
                return Reversal((), undone=tuple(entries), again=again, diff=_preview(changes))
            written, notes = self._committer.commit(changes, by) if changes else Commit(())
        if not written:
            raise done
        return Reversal(written, notes, tuple(entries), again)

    def verify(self) -> Proof:
        """Verify the history."""
        from whet.store.repair import check_state

        damage = check_state(self._journal.state.directory)
        found = (Problem(0, "state-corrupt", damage),) if damage else ()
        try:
            problems, last = (*found, *self._journal.verify()), self._journal.entries(last=1, switches=True)
        except FailedError as error:
            if not damage:
                raise
            return Proof((Problem(0, error.code, error.message),), 0, "")
        return Proof(problems, last[-1].id if last else 0, last[-1].lineage if last else "")

    def export(self, name: str) -> Export:
        """Return one skill's whole history: its entries, exactly as they are hashed, and all their contents."""
        from base64 import b64encode

        skill, path = self._directory(name)
        entries = self._journal.entries(path=path, switches=True)
        contents: dict[str, dict[str, StoredFile]] = {}
        for of in sorted({of for entry in entries for of in (entry.before, entry.after) if of}):
            tree = self._journal.content(of) or {}
            contents[of] = {
                file: StoredFile(b64encode(item.data).decode(), item.executable, item.link)
                for file, item in sorted(tree.items())
            }
        return Export(skill, entries, contents)
