"""The door for the guard: what is asked, and obeyed, before a write becomes visible.

There is no write without a check. `Guarded` is the real one: it scans what a skill would become and asks the policy,
for an agent's writing the row `agent-created`, for a person's own the row `local`. Every answer is in the record; so is
the word of the person who approves what the check wanted a person to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from whet.errors import FailedError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.authoring.writer import Provenance, TreeChange
    from whet.guard.gate import Judgement
    from whet.library.workspace import Workspace
    from whet.skill.tree import Item


class Verdict(NamedTuple):
    """What a check says of a skill that is about to be written."""

    decision: str
    """`allow`, `ask` (a person decides: the write becomes a proposal) or `block`."""
    label: str
    """What the journal keeps: `safe`, `caution` or `dangerous`."""
    reason: str = ""


class Check(Protocol):
    """Looks at what a skill will be. Raising blocks the write: a check that fails is no check that passed."""

    def __call__(self, name: str, after: Mapping[str, Item], actor: str) -> Verdict:
        """The verdict on one skill."""


class Accepted(Protocol):
    """Is told that a person lets through what a check asked about, and why."""

    def __call__(self, name: str, after: Mapping[str, Item], actor: str, reason: str) -> None:
        """Note it. Raising keeps the write from happening."""


class Checked(NamedTuple):
    """What a check says of several skills together."""

    label: str
    """For the journal."""
    cause: str = ""
    """Why a person must decide, if one must."""
    remarks: tuple[str, ...] = ()
    """What was found and allowed."""


class Review:
    """The check of everything that one change writes."""

    def __init__(self, check: Check, accepted: Accepted | None = None) -> None:
        """`accepted` hears when a person lets through what the check asked about."""
        self._check = check
        self._accepted = accepted

    def check(self, changes: Sequence[TreeChange], by: Provenance) -> Checked:
        """What the check says of all results together. Raises RefusedError for what may not be written."""
        labels: dict[str, None] = {}
        causes: dict[str, None] = {}
        remarks: dict[str, None] = {}
        for change in changes:
            if change.after is None:
                continue
            try:
                verdict = self._check(change.skill, change.after, by.actor)
            except FailedError:  # the machine failed, and says so itself
                raise
            except Exception as error:
                message = f"{change.skill} could not be checked: {error}."
                raise FailedError("check-failed", message, hint="Nothing was written.") from error
            if verdict.decision not in ("allow", "ask"):
                message = f"{change.skill} may not be written: {verdict.reason or 'the check says no.'}"
                raise RefusedError("blocked", message, hint="`whet scan` shows what was found.")
            labels[verdict.label] = None
            if verdict.decision == "ask":
                causes[verdict.reason or f"A person must see {change.skill} first."] = None
            elif verdict.label != "safe" and verdict.reason:
                remarks[verdict.reason] = None
        return Checked(", ".join(labels), " ".join(causes), tuple(remarks))

    def accept(self, changes: Sequence[TreeChange], by: Provenance) -> None:
        """Tell the guard that a person lets these through."""
        for change in changes:
            if self._accepted is not None and change.after is not None:
                self._accepted(change.skill, change.after, by.actor, by.reason)


class Guarded:
    """The guard as a check."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, name: str, after: Mapping[str, Item], actor: str) -> Verdict:
        """Scan, decide, record."""
        judgement = self._judged(after, actor)
        self._workspace.judge.record("write", name, "", judgement, actor)
        decision = judgement.decision
        return Verdict(decision.action, decision.verdict, decision.reason)

    def accepted(self, name: str, after: Mapping[str, Item], actor: str, reason: str) -> None:
        """Record the override: from now on exactly this content is let through."""
        self._workspace.judge.override(name, "", self._judged(after, actor), reason, actor)

    def _judged(self, after: Mapping[str, Item], actor: str) -> Judgement:
        from whet.guard.policy import actor_trust
        from whet.library.guarding import table_of

        judge = self._workspace.judge
        return judge.judge(judge.attestations.scan(after), actor_trust(actor), table_of(self._workspace.config()))
