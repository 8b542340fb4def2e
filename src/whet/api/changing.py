"""The half of the front door that changes skills: managing, history, usage, the curator. `Library` is made of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.library.roots import user_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.authoring.changes import Changes
    from whet.authoring.checks import Check
    from whet.learning.curating import Curating
    from whet.learning.lifecycle import Lifecycle
    from whet.learning.sessions import Sessions
    from whet.learning.usage import Kind, Usage
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.prompt.ranking import Use


OUTCOMES: dict[str, Kind] = {"helped": "helped", "failed": "failed", "corrected": "corrected"}
"""How a skill can have done."""


class Changing:
    """What can be done to the skills of one place."""

    def __init__(self, workspace: Workspace, check: Check | None) -> None:
        self.workspace = workspace
        self.place = workspace.place
        self._check = check
        self._changes: Changes | None = None
        self._usage: Usage | None = None
        self._lifecycle: Lifecycle | None = None
        self._sessions: Sessions | None = None

    @property
    def changes(self) -> Changes:
        """Creating, editing and deleting skills, their history, and every way back."""
        if self._changes is None:
            from whet.authoring.changes import Changes
            from whet.authoring.checks import Guarded
            from whet.authoring.journal import Journal
            from whet.authoring.manage import Author

            journal, guard = Journal(self.workspace.state, self.workspace.clock), Guarded(self.workspace)
            check, accepted = (self._check, None) if self._check else (guard, guard.accepted)
            self._changes = Changes(
                Author(self.workspace, journal, check=check, new_root=self.new_root, accepted=accepted)
            )
        return self._changes

    @property
    def usage(self) -> Usage:
        """How often each skill is viewed and used, and whether it helped. All of it stays on this machine."""
        if self._usage is None:
            from whet.learning.usage import Usage

            self._usage = Usage(self.place.state, self.workspace.clock)
        return self._usage

    @property
    def sessions(self) -> Sessions:
        """The sessions of existing agents, as their hooks tell of them, and what hooks failed at."""
        if self._sessions is None:
            from whet.learning.sessions import Sessions

            self._sessions = Sessions(self.workspace.state, self.workspace.clock)
        return self._sessions

    @property
    def curating(self) -> Curating:
        """The curator behind `curate`, `pin` and `archive`. Call those: they let the lock follow."""
        from whet.learning.curating import Curating

        if self._lifecycle is None:
            from whet.learning.lifecycle import Lifecycle

            self._lifecycle = Lifecycle(self.workspace.state, self.workspace.clock)
        return Curating(self.changes.author, self.usage, self._lifecycle)

    def manage(
        self,
        operations: Sequence[Mapping[str, Any]],
        *,
        actor: str = "user",
        origin: str = "foreground",
        reason: str = "",
        stage: bool = False,
        viewed: Callable[[str, str], bool] | None = None,
        allowed: Callable[[Card], None] | None = None,
    ) -> dict[str, Any]:
        """Change skills: an ordered batch of operations, applied wholly or not at all (the tool `skill_manage`)."""
        from whet.authoring.writer import Provenance

        answer = self.changes.manage(
            operations, Provenance(actor, origin, reason), stage=stage, viewed=viewed, allowed=allowed
        )
        for operation, result in zip(operations, answer.get("results", [answer]), strict=True):
            self._count(result, staged=bool(answer.get("staged")))
            if result.get("created"):
                result["similar"] = self._similar(result["name"], operation)
            elif "created" in result:
                result["similar"] = []
        return answer

    def _count(self, result: dict[str, Any], *, staged: bool) -> None:
        """Count a change, and keep the counts of a skill that has another name now."""
        name = result.pop("counted", "")
        if not name or staged:
            return
        if "renamed_from" in result:
            new = f"{name.partition(':')[0]}:{result['name']}"
            self.usage.rename(name, new)
            name = new
        self.usage.record("patch", name, result["digest"], version=result["version"])

    def _similar(self, name: str, operation: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The other skills that are for nearly the same job as a new one."""
        from whet.routing.duplicates_answer import resembling
        from whet.routing.texts import Texts

        told = Texts(name, operation.get("description") or "", operation.get("body") or "")
        found = resembling(self.workspace, name, told)
        return [{"name": item.name, "score": round(item.score, 2), "shared": list(item.shared)} for item in found]

    def skill_manage(self, arguments: Any, **how: Any) -> dict[str, Any]:
        """What answers a model that calls the tool `skill_manage`; `manage` is for programs.

        `arguments` is whatever the model sent. Nothing is raised: an error is an answer, with `success` false. The
        actor is `agent`; `viewed` and `stage` are those of `manage`.
        """
        from whet.authoring.tool import answer

        return answer(arguments, lambda items, why: self.manage(items, actor="agent", reason=why, **how))

    def note_outcome(self, name: str, outcome: str) -> dict[str, Any]:
        """Note how a skill did: it `helped`, it `failed`, or the user `corrected` what came of it.

        It counts for the version that is there now. `recorded` is false when it could not be noted. Raises UsageError
        `bad-outcome`.
        """
        if outcome not in OUTCOMES:
            raise UsageError("bad-outcome", f"{outcome!r} is no outcome.", hint=f"Say one of {', '.join(OUTCOMES)}.")
        card, _ = self.workspace.find(name)
        recorded = self.usage.record(OUTCOMES[outcome], card.qualified, self.workspace.open(card).digest)
        return {"success": True, "name": card.full_name, "outcome": outcome, "recorded": recorded}

    def used(self) -> dict[str, Use]:
        """How often each skill was used and when last, by the key of its name."""
        from whet.prompt.ranking import used

        return used(self.usage.totals())

    def record(self, kind: Kind, card: Card, digest: str, session: str = "") -> None:
        """Count that a skill was viewed or used. It never fails and never waits."""
        self.usage.record(kind, card.qualified, digest, session=session)

    def new_root(self, *, project: bool = False) -> str:
        """The directory a new skill goes to: the person's own, the first explicit root, or the project's.

        It may not be there yet. Raises UsageError `no-project` where explicit roots have no project.
        """
        if project:
            repository = self.workspace.config().repository
            if repository is None:
                raise UsageError("no-project", "Explicit roots have no project.", hint="Leave out --root or --here.")
            return os.path.join(repository.root, ".agents", "skills")
        return self.workspace.config().roots[0].path if self.workspace.explicit else user_root(self.place)
