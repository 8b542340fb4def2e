"""Changes that wait for a person, with their difference, bound to the content they were made for.

A proposal stores the new content, not the edit: approving it writes exactly what was shown. If the skill has changed
since, the proposal is stale and must be made again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from whet.authoring.history import difference
from whet.authoring.results import Decision
from whet.authoring.trees import digest
from whet.authoring.writer import USER, Provenance, TreeChange
from whet.errors import ConflictError, FailedError, NotFoundError, RefusedError
from whet.library.package import read_tree
from whet.records import NamedTuple
from whet.store.clock import iso
from whet.store.locks import FileLock, lock_path
from whet.values import Json, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.authoring.commits import Commit, Committer
    from whet.authoring.journal import Journal
    from whet.guard.policy import Decision as GateDecision
    from whet.skill.tree import Item

_LOCK_SECONDS = 10.0
_COLUMNS = "id, time, actor, origin, reason, cause, changes, state, decided, remark"


class Proposed(NamedTuple):
    """One skill's part of a proposal."""

    action: str
    skill: str
    path: str
    base: str
    """Digest of the content it was made for; "" for no skill."""
    after: str
    shown: str = ""
    """Digest of the content that the difference is shown against, if that is not the base: the copied skill."""


class Proposal(NamedTuple):
    """A change that waits, or waited."""

    id: int
    time: int
    actor: str
    origin: str
    reason: str
    cause: str
    """Why it was not applied directly."""
    changes: tuple[Proposed, ...]
    state: str
    """`pending`, `approved`, `rejected` or `stale`."""
    decided: int
    remark: str

    def to_json(self) -> Json:
        """Return the proposal as JSON."""
        changes = [change._asdict() for change in self.changes]
        decided = iso(self.decided) if self.decided else ""
        return {**self._asdict(), "time": iso(self.time), "decided": decided, "changes": changes}


class PendingProposals(Rows[Proposal]):
    """The proposals that wait for a person."""

    __slots__ = ()

    def to_json(self) -> Json:
        """Return the proposals as JSON."""
        return {"success": True, "proposals": [proposal.to_json() for proposal in self], "count": len(self)}


class ShownProposal(NamedTuple):
    """A proposal, and its difference."""

    proposal: Proposal
    diff: str

    def to_json(self) -> Json:
        """Return the proposal as JSON."""
        return {"success": True, **self.proposal.to_json(), "diff": self.diff}


class Check(Protocol):
    """Checks the future content of a skill. Raising blocks the write: a failed check does not count as passed."""

    def __call__(self, name: str, after: Mapping[str, Item], actor: str) -> GateDecision:
        """Decide whether to allow it, to block it, or to ask a person, so that the write becomes a proposal."""


class Accept(Protocol):
    """Records that a person allows a content that a check asked about, with the reason."""

    def __call__(self, name: str, after: Mapping[str, Item], actor: str, reason: str) -> None:
        """Record it. Raising prevents the write."""


class Reviewed(NamedTuple):
    """The result of a check of several skills together."""

    label: str
    """`safe`, `caution` or `dangerous`, for the journal."""
    cause: str = ""
    """Why a person must decide; "" if nobody must."""
    remarks: tuple[str, ...] = ()
    """Reasons of allowed findings."""


class Review:
    """The check of everything that one change writes; no write happens without one."""

    def __init__(self, check: Check, accept: Accept | None = None) -> None:
        """`accept` is called when a person allows a content that the check asked about."""
        self._check = check
        self._accept = accept

    def check(self, changes: Sequence[TreeChange], by: Provenance) -> Reviewed:
        """Check all results together. Raises RefusedError for a content that may not be written."""
        labels: dict[str, None] = {}
        causes: dict[str, None] = {}
        remarks: dict[str, None] = {}
        for change in changes:
            if change.after is None:
                continue
            try:
                found = self._check(change.skill, change.after, by.actor)
            except (FailedError, RefusedError):  # the machine failed, or its policy forbids it, and says so itself
                raise
            except Exception as error:
                message = f"{change.skill} could not be checked: {error}."
                raise FailedError("check-failed", message, hint="Nothing was written.") from error
            if found.action not in ("allow", "ask"):
                message = f"{change.skill} is not allowed: {found.reason or 'the check refuses it.'}"
                raise RefusedError("blocked", message, hint="`whet scan` shows what was found.")
            labels[found.verdict] = None
            if found.action == "ask":
                causes[found.reason or f"A person must review {change.skill} first."] = None
            elif found.verdict != "safe" and found.reason:
                remarks[found.reason] = None
        return Reviewed(", ".join(labels), " ".join(causes), tuple(remarks))

    def accept(self, changes: Sequence[TreeChange], by: Provenance) -> None:
        """Tell the guard that a person allows these changes."""
        for change in changes:
            if self._accept is not None and change.after is not None:
                self._accept(change.skill, change.after, by.actor, by.reason)


class Proposals:
    """The proposals of one history."""

    def __init__(self, journal: Journal, committer: Committer, review: Review) -> None:
        self.journal = journal
        self.review = review
        self._committer = committer

    def propose(
        self,
        changes: Sequence[TreeChange],
        bases: Mapping[str, Mapping[str, Item] | None],
        by: Provenance,
        cause: str,
        originals: Mapping[str, Mapping[str, Item] | None] | None = None,
    ) -> int:
        """Store a change for later; return its number. `bases` are the contents it was made for, by path.

        If a skill is copied from elsewhere, `originals` has the copied content.
        """
        kept = [
            Proposed(
                change.action,
                change.skill,
                change.path,
                self.journal.keep(bases[change.path]),
                self.journal.keep(change.after),
                self.journal.keep((originals or {}).get(change.path)),
            )
            for change in changes
        ]
        values = (self.journal.clock(), by.actor, by.origin, by.reason, cause, json.dumps(kept))
        query = f"INSERT INTO proposals ({_COLUMNS}) VALUES (NULL, ?, ?, ?, ?, ?, ?, 'pending', 0, '')"  # noqa: S608  columns are ours
        with self.journal.state.write() as connection:
            return int(connection.execute(query, values).lastrowid or 0)

    def all(self, state: str = "") -> tuple[Proposal, ...]:
        """Return every proposal, oldest first, or those in one state."""
        query = f"SELECT {_COLUMNS} FROM proposals WHERE ? IN ('', state) ORDER BY id"  # noqa: S608  columns are ours
        return tuple(map(_proposal, self.journal.state.read(query, (state,))))

    def one(self, number: int) -> Proposal:
        """Return a pending proposal. Raises NotFoundError and ConflictError."""
        hint = "`whet proposals list` lists the proposals."
        query = f"SELECT {_COLUMNS} FROM proposals WHERE id = ?"  # noqa: S608  columns are ours
        rows = self.journal.state.read(query, (number,))
        if not rows:
            raise NotFoundError("no-such-proposal", f"There is no proposal {number}.", hint=hint)
        found = _proposal(rows[0])
        if found.state != "pending":
            raise ConflictError("proposal-decided", f"Proposal {number} is {found.state}.", hint=hint)
        return found

    def diff(self, proposal: Proposal) -> str:
        """Return the difference of a proposal."""
        content = self.journal.content
        return "".join(
            difference(content(change.shown or change.base), content(change.after), (change.skill, change.skill))
            for change in proposal.changes
        )

    def changes(self, proposal: Proposal) -> list[TreeChange]:
        """Return the changes of a proposal."""
        return [
            TreeChange(change.action, change.skill, change.path, self.journal.content(change.after), change.base)
            for change in proposal.changes
        ]

    def pending(self) -> PendingProposals:
        """Return the proposals that wait, oldest first; `show` has the details of one."""
        return PendingProposals(self.all("pending"))

    def show(self, number: int) -> ShownProposal:
        """Return a pending proposal with its difference. Raises NotFoundError and ConflictError."""
        proposal = self.one(number)
        return ShownProposal(proposal, self.diff(proposal))

    def approve(self, number: int, by: Provenance = USER) -> Decision:
        """Apply a proposal if nothing has changed since it was made."""
        proposal = self.one(number)
        changes = self.changes(proposal)
        checked = self.review.check(changes, by._replace(actor=proposal.actor))  # it may know more by now
        if checked.cause:
            if not by.reason.strip():
                look = f"Look at it with `whet proposals show {number}`"
                hint = f"{look}, then say why: `whet proposals approve {number} --reason R`."
                raise RefusedError("reason-needed", f"{checked.cause} Approving it needs a reason.", hint=hint)
            self.review.accept(changes, by)
        commit = self._write(number, by._replace(checked=checked.label))
        return Decision(number, "approved", tuple(entry.id for entry in commit.entries), commit.notes)

    def _write(self, number: int, by: Provenance) -> Commit:
        with self._deciding(number):
            proposal = self.one(number)
            for change in proposal.changes:
                current = read_tree(change.path)
                if digest(current) != change.base:
                    self._decide(number, "stale", "")
                    message = f"{change.skill} has changed since it was proposed."
                    hint = "Review the current skill and make the change again."
                    raise ConflictError("proposal-stale", message, hint=hint)
            reason = f"{proposal.reason} (proposal {number}, approved by {by.actor})".lstrip()
            commit = self._committer.commit(
                self.changes(proposal), Provenance(proposal.actor, proposal.origin, reason, by.checked)
            )
            self._decide(number, "approved", by.reason)
            return commit

    def reject(self, number: int, remark: str = "") -> Decision:
        """Reject a proposal."""
        with self._deciding(number):
            self.one(number)
            self._decide(number, "rejected", remark)
        return Decision(number, "rejected")

    def _deciding(self, number: int) -> FileLock:
        """Return the lock that allows one decision at a time."""
        return FileLock(lock_path(self.journal.state.directory, "proposal", str(number)), timeout=_LOCK_SECONDS)

    def _decide(self, number: int, state: str, remark: str) -> None:
        query = "UPDATE proposals SET state = ?, decided = ?, remark = ? WHERE id = ? AND state = 'pending'"
        with self.journal.state.write() as connection:
            connection.execute(query, (state, self.journal.clock(), remark, number))


def _proposal(row: tuple[Any, ...]) -> Proposal:
    proposal = Proposal(*row)
    return proposal._replace(changes=tuple(Proposed(*change) for change in json.loads(row[6])))
