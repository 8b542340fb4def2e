"""What is about to happen to the skills of one root, as a value: shown, printed as JSON, and applied as it is.

A plan holds everything that was decided and every content that will be written, so that applying it asks nobody again:
no network, no second look at a source that may have changed meanwhile. What changed on disk since it was made is
noticed when it is applied.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.sources.lock.file import Installed, lock_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.guard.gate import Judgement
    from whet.notes import Note
    from whet.skill.tree import Item, Tree
    from whet.sources.merge import Clash
    from whet.values import Json

Action = Literal["install", "update", "merge", "adopt", "restore", "uninstall", "keep"]
State = Literal["ready", "nothing", "held", "ask", "blocked", "conflict", "failed"]
"""`ready` is done when the plan is applied, nothing else is.

`nothing`: it is already so. `held`: it is pinned. `ask` and `blocked`: the policy wants a person's word, or says no.
`conflict`: something is in the way that must not be overwritten. `failed`: the source could not give it.
"""
DECIDED: tuple[State, ...] = ("ask", "blocked")


class Step(NamedTuple):
    """What happens to one skill."""

    action: Action
    state: State
    name: str
    path: str
    """Its directory, relative to the directory of the lock, with forward slashes."""
    reason: str = ""
    """Why it is so, in a sentence."""
    code: str = ""
    """For programs: what stands in the way."""
    before: str = ""
    """The digest of what lies there now; "" for nothing."""
    after: str = ""
    """The digest of what will lie there; "" for nothing."""
    entry: Installed | None = None
    """What the lock will say; None: it will not name the skill any more."""
    previous: Installed | None = None
    """What the lock says now."""
    judgement: Judgement | None = None
    files: tuple[tuple[str, str], ...] = ()
    """Path and `added`, `changed` or `removed`: how the content changes."""
    powers: tuple[str, ...] = ()
    """What an update can do that what is there cannot."""
    clashes: tuple[Clash, ...] = ()
    notes: tuple[Note, ...] = ()
    hint: str = ""
    """Of a failure: what to do about it."""
    exit_code: int = 1
    """Of a failure: what a command ends with."""

    def to_json(self) -> Json:
        """The step as every surface answers it."""
        entry = self.entry or self.previous
        answer: Json = {
            "action": self.action,
            "state": self.state,
            "name": self.name,
            "path": self.path,
            "reason": self.reason,
            "code": self.code,
            "hint": self.hint,
            "before": self.before,
            "after": self.after,
            "source": entry.source if entry else "",
            "revision": entry.revision if entry else "",
            "version": entry.version if entry else "",
            "from": {"revision": self.previous.revision, "version": self.previous.version} if self.previous else None,
            "files": [{"path": path, "change": change} for path, change in self.files],
            "powers": list(self.powers),
            "clashes": [clash.to_json() for clash in self.clashes],
            "notes": [note.to_json() for note in self.notes],
        }
        if self.judgement:
            scan, decision = self.judgement
            grave = [finding.to_json() for finding in scan.findings if finding.severity != "info"]
            told = {key: value for key, value in decision.to_json().items() if key in ("trust", "verdict", "decision")}
            answer |= {**told, "why": decision.reason, "findings": grave}
        return answer

    def refusal(self) -> dict[str, str]:
        """What the policy says of a step that it stands in the way of."""
        decision = "ask" if self.state == "ask" else "block"
        return {"name": self.name, "decision": decision, "reason": self.reason}


class Plan(NamedTuple):
    """Everything that is about to happen to the skills of one root."""

    root: str
    steps: tuple[Step, ...]
    trees: Mapping[str, Tree]
    """Digest -> content, of everything that will be written and everything that later merges start from."""
    notes: tuple[Note, ...] = ()
    taps: tuple[tuple[str, str], ...] = ()
    """Name and source of taps that will be added."""

    @property
    def ready(self) -> tuple[Step, ...]:
        """What is done when the plan is applied."""
        return tuple(step for step in self.steps if step.state == "ready")

    def directory(self, step: Step) -> str:
        """The skill's directory."""
        return os.path.join(os.path.dirname(lock_file(self.root)), *step.path.split("/"))

    def to_json(self) -> Json:
        """The plan as every surface answers it; contents are named by their digests."""
        counts: dict[str, int] = {}
        for step in self.steps:
            counts[step.state] = counts.get(step.state, 0) + 1
        answer = {
            "root": self.root,
            "plan": [{**step.to_json(), "directory": self.directory(step)} for step in self.steps],
            "counts": counts,
            "refused": [step.refusal() for step in self.steps if step.state in DECIDED],
            "notes": [note.to_json() for note in self.notes],
        }
        taps = [{"name": name, "source": source} for name, source in self.taps]
        return {**answer, "taps": taps} if taps else answer


class Applied(NamedTuple):
    """A plan that was applied."""

    plan: Plan
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> tuple[str, ...]:
        """The names of what was changed."""
        return tuple(step.name for step in self.plan.ready)

    @property
    def installed(self) -> tuple[str, ...]:
        """The names of what is installed by it."""
        return tuple(step.name for step in self.plan.ready if step.entry)

    def to_json(self) -> Json:
        """The plan, and what was done of it, as every surface answers it."""
        answer = {"success": True, **self.plan.to_json(), "done": list(self.done), "installed": list(self.installed)}
        return answer | ({"warnings": list(self.warnings)} if self.warnings else {})


def file_changes(before: Mapping[str, Item] | None, after: Mapping[str, Item] | None) -> tuple[tuple[str, str], ...]:
    """How the files of one content become those of another."""
    old, new = before or {}, after or {}
    changed = sorted(path for path in {**old, **new} if old.get(path) != new.get(path))
    return tuple((path, _change(path, old, new)) for path in changed)


def _change(path: str, old: Mapping[str, Item], new: Mapping[str, Item]) -> str:
    if path not in old:
        return "added"
    return "changed" if path in new else "removed"
