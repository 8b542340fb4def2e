"""The half of the front door that changes skills: managing, history, usage, the curator. `Library` is made of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.library.roots import user_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.authoring.checks import Check
    from whet.authoring.commits import Committed
    from whet.authoring.editor import SkillEditor
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
        self._editor: SkillEditor | None = None
        self._usage: Usage | None = None
        self._lifecycle: Lifecycle | None = None
        self._sessions: Sessions | None = None

    @property
    def edit(self) -> SkillEditor:
        """Creating, editing and deleting skills, their history, proposals, and every way back."""
        if self._editor is None:
            from whet.authoring.checks import Guarded
            from whet.authoring.editor import SkillEditor
            from whet.authoring.journal import Journal

            journal, guard = Journal(self.workspace.state, self.workspace.clock), Guarded(self.workspace)
            check, accepted = (self._check, None) if self._check else (guard, guard.accepted)
            editor = SkillEditor(self.workspace, journal, check=check, new_root=self.new_root, accepted=accepted)
            self._subscribe(editor)
            self._editor = editor
        return self._editor

    def _subscribe(self, editor: SkillEditor) -> None:
        """Let everything that is known about skills follow what is done to them."""
        from whet.authoring.commits import follow_moves

        editor.on_commit(follow_moves(self.workspace.decisions))
        editor.on_commit(self._memory.follow)
        editor.committer.after_commit(self.usage.follow, "The change is not counted")
        editor.committer.after_commit(self._follow_bundles, "Bundles keep the old name")

    def _follow_bundles(self, commits: Sequence[Committed]) -> Iterable[str]:
        if not any(commit.moved for commit in commits):
            return ()
        from whet.prompt.asking import bundle_directories
        from whet.prompt.bundles import follow_bundles

        directories = bundle_directories(self.workspace, self.workspace.snapshot())
        return tuple(follow_bundles(directories, directories[-1], commits))

    @property
    def usage(self) -> Usage:
        """How often each skill is viewed and used, and whether it helped. All of it stays on this machine."""
        if self._usage is None:
            from whet.learning.usage import Usage

            self._usage = Usage(self.workspace.state, self.workspace.clock)
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
        """The curator behind `curate`, `pin` and `archive`."""
        from whet.learning.curating import Curating

        return Curating(self.edit, self.usage, self._memory)

    @property
    def _memory(self) -> Lifecycle:
        """Pins, and what the curator remembers."""
        if self._lifecycle is None:
            from whet.learning.lifecycle import Lifecycle

            self._lifecycle = Lifecycle(self.workspace.state, self.workspace.clock)
        return self._lifecycle

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
        """Change skills: an ordered batch of operations, applied wholly or not at all.

        An operation has an `action` (create, edit, patch, delete, write_file, remove_file, rename or restore), a `name`
        and what the action takes; `whet.authoring.tool.schema()` has all of it. `actor`, `origin` and `reason` go into
        the history. With `stage`, changes wait as proposals until a person approves them. `viewed` says whether a
        skill, given by its directory and the digest it has now, was looked at: where not, there is a warning, and a
        refusal when the origin is not `foreground`.

        A single operation is answered with {name, path, version, digest, entry, ...}, several with a list of
        `results`; `similar` names skills that a new one resembles. Raises UsageError, NotFoundError, ConflictError,
        InvalidError or RefusedError, and then nothing was changed.
        """
        from whet.authoring.writer import Provenance

        by = Provenance(actor, origin, reason)
        return self.edit.apply(operations, by, stage=stage, viewed=viewed, allowed=allowed).to_json()

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
        recorded = self.usage.record(OUTCOMES[outcome], str(card.id), self.workspace.open(card).digest)
        return {"success": True, "name": card.full_name, "outcome": outcome, "recorded": recorded}

    def used(self) -> dict[str, Use]:
        """How often each skill was used and when last, by the key of its name."""
        from whet.prompt.ranking import used

        names = {str(card.id): card.qualified for card in self.workspace.snapshot().catalogue.cards}
        return used(self.usage.named(names))

    def record(self, kind: Kind, card: Card, digest: str, session: str = "") -> None:
        """Count that a skill was viewed or used. It never fails and never waits."""
        self.usage.record(kind, str(card.id), digest, session=session)

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
