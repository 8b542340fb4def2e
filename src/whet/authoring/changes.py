"""Everything that is done to skills and their history, answered as plain JSON values, the same on every surface.

changes = library.changes
changes.manage([{"action": "patch", "name": "deploy", "find": "prod", "replace": "staging"}])
changes.history("deploy")
changes.undo("17")
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.authoring.history import difference, exported, lifetime, to_version, undone, version_at, versions
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.errors import NotFoundError, RefusedError, UsageError
from whet.library.package import read_tree
from whet.notes import Note
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.authoring.journal import Entry
    from whet.authoring.manage import Author
    from whet.authoring.writer import Change
    from whet.library.card import Card


USER = Provenance("user")
_LONGEST_NUMBER = 18


class Changes:
    """The changes of one library. Every call says who makes it: a person, unless told otherwise."""

    def __init__(self, author: Author) -> None:
        self.author = author

    def manage(
        self,
        operations: Sequence[Mapping[str, Any]],
        by: Provenance = USER,
        *,
        viewed: Callable[[str, str], bool] | None = None,
        allowed: Callable[[Card], None] | None = None,
        stage: bool = False,
    ) -> dict[str, Any]:
        """Do all of these operations or none; see `whet.authoring.manage`."""
        return self.author.apply(operations, by, viewed=viewed, allowed=allowed, stage=stage)

    def compact(self) -> dict[str, Any]:
        """Remove stored contents that nothing refers to."""
        return {"success": True, "removed": self.author.journal.compact()}

    def interrupted(self) -> tuple[Note, ...]:
        """The changes that a killed process left unfinished, as a report tells them."""
        hint = "Run `whet doctor --repair`; the next change settles it too."
        return tuple(
            Note("interrupted-change", "warning", "A change was interrupted.", hint, skill=note.skill, path=note.path)
            for _, notes in self.author.journal.intents()
            for note in notes
            if note.action != "found"
        )

    def recover(self) -> dict[str, Any]:
        """Settle the changes of processes that were killed."""
        return {"success": True, "settled": list(self.author.writer.recover())}

    def _directory(self, name: str) -> tuple[str, str]:
        """Name and directory of a skill that is there, or was: the history also knows those that are gone."""
        try:
            card, _ = self.author.workspace.find(name)
        except NotFoundError as error:
            found = [entry for entry in self.author.journal.entries() if key(entry.skill) == key(name)]
            if not found:
                raise error from None
            return found[-1].skill, found[-1].path
        return card.name, os.path.realpath(card.directory)

    def history(self, name: str | None = None, last: int | None = None) -> dict[str, Any]:
        """The entries about one skill with its versions, or the last entries about all."""
        if name is None:
            entries = self.author.journal.entries(last=last)
            return {"success": True, "name": None, "entries": [entry.to_json() for entry in entries]}
        skill, path = self._directory(name)
        numbers = {version.entry.id: version.number for version in versions(self.author.journal, path)}
        own = lifetime(self.author.journal, path)[-last if last else 0 :]
        told = [{**entry.to_json(), "version": numbers.get(entry.id)} for entry in own]
        return {"success": True, "name": skill, "path": path, "entries": told}

    def diff(self, name: str, one: int | None = None, other: int | None = None) -> dict[str, Any]:
        """What changed from a version, else the one before what is there now, to another, else to what is there."""
        skill, path = self._directory(name)
        known = versions(self.author.journal, path)
        if one is None and not known:
            raise NotFoundError(
                "no-such-version", f"{skill} has no history.", hint="Nothing was changed through Whet yet."
            )
        current = read_tree(path)
        if one is None:
            # the version before the content that is there now
            now = digest(current)
            earlier = [version for version in known if version.entry.after != now]
            left = earlier[-1] if earlier else known[0]
        else:
            left = version_at(self.author.journal, path, one)
        before = self.author.journal.content(left.entry.after)
        if other is None:
            after, label = current, "now"
        else:
            right = version_at(self.author.journal, path, other)
            after, label = self.author.journal.content(right.entry.after), f"v{right.number}"
        text = difference(before, after, (f"v{left.number}", label))
        return {"success": True, "name": skill, "from": left.number, "to": other, "text": text}

    def rollback(self, name: str, number: int | None = None, by: Provenance = USER) -> dict[str, Any]:
        """Go back to a version."""
        skill, path = self._directory(name)
        return self._written([to_version(self.author.journal, skill, path, number)], by)

    def undo(self, what: str, by: Provenance = USER) -> dict[str, Any]:
        """Take back one entry by its number, or everything of one run by its id."""
        journal = self.author.journal
        entries: Sequence[Entry] = ()
        if what.isdecimal() and len(what) <= _LONGEST_NUMBER:
            entries = (journal.entry(int(what)),)
            if entries[0].action in ("rename", "merge"):  # one half of it would lose the skill
                entries = journal.entries(run=entries[0].run)
        elif what:
            entries = journal.entries(run=what)
        if not entries:
            hint = "`whet history` shows entries and runs."
            raise NotFoundError("no-such-entry", f"The history has no entry and no run {what!r}.", hint=hint)
        entries = [entry for entry in entries if entry.before != entry.after]
        if not entries:
            raise UsageError("nothing-changes", f"{what} changed nothing.", hint="Name another entry.")
        return self._written(undone(self.author.journal, entries), by._replace(reason=by.reason or f"Undo of {what}."))

    def _written(self, changes: Sequence[Change], by: Provenance = USER) -> dict[str, Any]:
        entries = self.author.writer.write(changes, by)
        made = [entry for entry in entries if entry.action != "found"]
        skills = [{"name": entry.skill, "path": entry.path, "digest": entry.after, "entry": entry.id} for entry in made]
        return {"success": True, "skills": skills, "entry": made[-1].id, **(skills[0] if len(skills) == 1 else {})}

    def verify(self) -> dict[str, Any]:
        """Prove the history."""
        problems = self.author.journal.verify()
        entries = self.author.journal.entries(last=1)
        lineage = entries[-1].lineage if entries else ""
        return {
            "success": True,
            "valid": not problems,
            "entries": entries[-1].id if entries else 0,
            "lineage": lineage,
            "problems": [problem._asdict() for problem in problems],
        }

    def export(self, name: str) -> dict[str, Any]:
        """One skill's whole history."""
        skill, path = self._directory(name)
        return {"success": True, "name": skill, **exported(self.author.journal, path)}

    def pending(self, number: int | None = None) -> dict[str, Any]:
        """The proposals that wait, or one of them with what it would change."""
        if number is None:
            waiting = self.author.proposals.all("pending")
            return {"success": True, "proposals": [proposal.to_json() for proposal in waiting], "count": len(waiting)}
        proposal = self.author.proposals.one(number)
        return {"success": True, **proposal.to_json(), "diff": self.author.proposals.diff(proposal)}

    def approve(self, number: int, by: Provenance = USER) -> dict[str, Any]:
        """Do what was proposed."""
        author = self.author
        proposal = author.proposals.one(number)
        changes = author.proposals.changes(proposal)
        checked = author.checked(changes, by._replace(actor=proposal.actor))  # it may know more by now
        if checked.cause:
            if not by.reason.strip():
                hint = f"Look at it with `whet pending {number}`, then say why: `whet approve {number} --reason R`."
                raise RefusedError("reason-needed", f"{checked.cause} That needs a reason.", hint=hint)
            author.accept(changes, by)
        written = author.proposals.approve(number, author.writer, by._replace(checked=checked.label))
        entries = [entry for entry in written if entry.action != "found"]
        return {"success": True, "proposal": number, "state": "approved", "entries": [entry.id for entry in entries]}

    def reject(self, number: int, remark: str) -> dict[str, Any]:
        """Leave it undone."""
        self.author.proposals.reject(number, remark)
        return {"success": True, "proposal": number, "state": "rejected"}
