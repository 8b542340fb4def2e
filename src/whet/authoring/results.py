"""Results of changing skills: frozen values, and their JSON on every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.records import NamedTuple
from whet.store.clock import iso
from whet.values import as_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.authoring.journal import Entry
    from whet.store.chain import Problem
    from whet.values import Json

_WAITS = (
    "Nothing is changed yet. It waits until a person runs `whet proposals approve {0}`; `whet proposals show {0}` "
    "shows it."
)


class Similar(NamedTuple):
    """Another skill that is for nearly the same job as a new one."""

    name: str
    score: float
    shared: tuple[str, ...]
    """The most significant words that they share."""

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        return fields_json(self)


class Change(NamedTuple):
    """The effect of one operation on one skill."""

    action: str
    skill: str
    path: str
    version: str
    """The declared version; "" if the skill is gone or declares none."""
    digest: str
    """The digest of its content; "" if it is gone."""
    id: int | None = None
    """Number of the last entry in the history; None if nothing was written."""
    notes: tuple[str, ...] = ()
    """Notes for the caller, as sentences."""
    proposal: int | None = None
    """Number of the proposal that it became, if a person has to decide."""
    reason: str = ""
    """Why a person has to decide."""
    created: bool | None = None
    """Whether the skill is new; None for other actions than create."""
    similar: tuple[Similar, ...] = ()
    """Skills that a new one resembles."""
    replacements: int | None = None
    """Number of pieces that a patch replaced."""
    file: str | None = None
    """The file that was written or removed."""
    renamed_from: str | None = None

    def to_result(self) -> Json:
        """Return its part in a list of results."""
        told: Json = {"action": self.action, "name": self.skill, "path": self.path}
        told |= {"version": self.version, "digest": self.digest}
        for name in ("created", "replacements", "file", "renamed_from"):
            if (value := getattr(self, name)) is not None:
                told[name] = value
        if self.created is not None:
            told["similar"] = [item.to_json() for item in self.similar]
        return told

    def to_json(self) -> Json:
        """Return the change as JSON, alone."""
        return Changes((self,), () if self.id is None else (self.id,), self.notes, self.proposal, self.reason).to_json()


class Changes(NamedTuple):
    """The effect of a batch of operations, made or proposed."""

    changes: tuple[Change, ...]
    """One for each operation."""
    entries: tuple[int, ...] = ()
    """Numbers of the entries in the history."""
    notes: tuple[str, ...] = ()
    proposal: int | None = None
    """Number of the proposal that it became, if a person has to decide."""
    reason: str = ""

    def one(self) -> Change:
        """Return the change of a batch of one."""
        (change,) = self.changes
        last = self.entries[-1] if self.entries else None
        return change._replace(id=last, notes=self.notes, proposal=self.proposal, reason=self.reason)

    def to_json(self) -> Json:
        """Return the answer as JSON: flat for one operation, a list of results for several."""
        told: Json = {"success": True, "warnings": list(self.notes), "entries": list(self.entries)}
        if len(self.changes) == 1:
            told |= {**self.changes[0].to_result(), "entry": self.entries[-1] if self.entries else None}
        else:
            told |= {
                "operations_applied": len(self.changes),
                "results": [change.to_result() for change in self.changes],
            }
        if self.proposal is not None:
            told |= {"staged": True, "proposal": self.proposal, "reason": self.reason, "hint": self.hint}
        return told

    @property
    def hint(self) -> str:
        """What to do about a proposal; "" if it is not one."""
        return "" if self.proposal is None else _WAITS.format(self.proposal)


class Reversal(NamedTuple):
    """The effect of going back, made or planned."""

    entries: tuple[Entry, ...]
    """The new entries; empty in a dry run."""
    notes: tuple[str, ...] = ()
    undone: tuple[Entry, ...] = ()
    """The changes that an undo reversed."""
    again: tuple[Entry, ...] = ()
    """The changes that are made again, if these were their undos."""
    state: int = 0
    """The state that a skill returned to; 0 for an undo."""
    skill: str = ""
    """The name of that skill."""
    diff: str | None = None
    """The difference, in a dry run."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        if self.diff is not None:
            names = [self.skill] if self.skill else list(dict.fromkeys(entry.skill for entry in self.undone))
            undone = [entry.id for entry in self.undone]
            answer = {"success": True, "dry_run": True, "skills": names, "undone": undone, "diff": self.diff}
            return answer | ({"state": self.state} if self.state else {})
        skills = [
            {"name": entry.skill, "path": entry.path, "digest": entry.after, "entry": entry.id}
            for entry in self.entries
        ]
        told = {"success": True, "skills": skills, "entry": self.entries[-1].id}
        told |= {"state": self.state} if self.state else {}
        return told | (skills[0] if len(skills) == 1 else {}) | ({"warnings": list(self.notes)} if self.notes else {})


class SkillHistory(NamedTuple):
    """Entries about one skill, or about all, oldest first."""

    entries: tuple[Entry, ...]
    name: str | None = None
    path: str = ""
    versions: tuple[tuple[int, int], ...] = ()
    """For one skill: the number of an entry, and the number of the version it made."""

    def to_json(self) -> Json:
        """Return the history as JSON."""
        entries = [entry.to_json() for entry in self.entries]
        if self.name is None:
            return {"success": True, "name": None, "entries": entries}
        numbers = dict(self.versions)
        entries = [{**entry, "version": numbers.get(entry["id"])} for entry in entries]
        return {"success": True, "name": self.name, "path": self.path, "entries": entries}


class LostContent(NamedTuple):
    """A stored content that no entry of the history names."""

    name: str
    digest: str
    time: int
    """When it was stored last."""
    files: int

    def to_json(self) -> Json:
        """Return the content as JSON."""
        return {**self._asdict(), "time": iso(self.time)}


class LostContents(NamedTuple):
    """Stored contents that no entry of the history names, the last stored one at the end."""

    contents: tuple[LostContent, ...]

    def to_json(self) -> Json:
        """Return the contents as JSON."""
        return {"success": True, "contents": [content.to_json() for content in self.contents]}


class Difference(NamedTuple):
    """The difference between two versions of a skill."""

    name: str
    older: int
    newer: int | None
    """None for the current content."""
    text: str
    """A unified diff."""

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> Json:
        """Return the difference as JSON."""
        return {"success": True, "name": self.name, "from": self.older, "to": self.newer, "text": self.text}


class Proof(NamedTuple):
    """Whether the history is intact."""

    problems: tuple[Problem, ...]
    entries: int
    """Number of the last entry."""
    lineage: str
    """The digest over all contents; keep a copy elsewhere."""

    @property
    def valid(self) -> bool:
        """Whether everything is as it was written."""
        return not self.problems

    def to_json(self) -> Json:
        """Return the proof as JSON."""
        told = {"success": True, "valid": self.valid, "entries": self.entries, "lineage": self.lineage}
        problems = [{"entry": number, "code": code, "message": text} for number, code, text in self.problems]
        return {**told, "problems": problems}


class StoredFile(NamedTuple):
    """One file of an earlier content."""

    base64: str
    executable: bool
    link: bool


class Export(NamedTuple):
    """One skill's whole history: its entries, exactly as they are hashed, and all their contents."""

    name: str
    entries: tuple[Entry, ...]
    contents: Mapping[str, Mapping[str, StoredFile]]
    """Digest -> path -> file."""

    def to_json(self) -> Json:
        """Return the history as JSON."""
        entries = [{**entry.to_json(), "time_ns": entry.time} for entry in self.entries]
        return {"success": True, "name": self.name, "entries": entries, "contents": as_json(self.contents)}


class Decision(NamedTuple):
    """The outcome of a proposal."""

    proposal: int
    state: str
    """`approved` or `rejected`."""
    entries: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        told: Json = {"success": True, "proposal": self.proposal, "state": self.state}
        if self.state == "approved":
            told["entries"] = list(self.entries)
        return told | ({"warnings": list(self.notes)} if self.notes else {})
