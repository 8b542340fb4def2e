"""The half of the front door that brings skills in and out: plans, the lock, pins. `Library` is made of it.

library.install("anthropics/skills", skills=["pdf"])
plan = library.plan_update()
print(plan.to_json())
library.apply(plan)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.api.reaching import Reaching
from whet.errors import WhetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.authoring.commits import Committed
    from whet.authoring.editor import SkillEditor
    from whet.notes import Note
    from whet.sources.install.installer import Installer
    from whet.sources.install.plan import Plan
    from whet.sources.lock.file import Installed
    from whet.sources.merging.merge import Prefer
    from whet.store.state import Repaired


class Sourcing(Reaching):
    """Installing, updating, and what the lock knows."""

    # plans

    def plan_install(
        self,
        *sources: str,
        skills: Sequence[str] = (),
        every: bool = False,
        here: bool = False,
        prefer: Prefer = "",
    ) -> Plan:
        """Take skills in: fetched, checked, scanned and decided about; nothing is changed until `apply`.

        A source is a repository (`owner/repo`, `owner/repo/path@ref`), a path, an archive, an address or `tap:skill`.
        `skills` names those to take of it, `every` takes all; a source with one skill needs neither. `prefer` (ours or
        theirs) decides what clashes with edits here. A step that cannot be done is in the plan and says why.
        """
        from whet.sources.install.applying import plan_install

        with self._reading(sources):
            return plan_install(self.installer(here=here), self._wanted(sources, skills, every=every), prefer=prefer)

    def plan_update(self, *names: str, here: bool = False, prefer: Prefer = "") -> Plan:
        """Bring installed skills, or all, to what their sources have now; edits made here are merged in.

        What clashes is a step in state `conflict`, unless `prefer` says ours or theirs. Pinned skills are `held`.
        """
        from whet.sources.install.applying import plan_update

        return plan_update(self.installer(here=here), names, prefer=prefer)

    def plan_restore(self, *names: str, here: bool = False, force: bool = False) -> Plan:
        """Bring back what the lock names, exactly as it was installed; with `force`, also where it was edited."""
        from whet.sources.install.applying import plan_restore

        return plan_restore(self.installer(here=here), names, force=force)

    def plan_uninstall(self, *names: str, here: bool = False) -> Plan:
        """Take installed skills away. Without names there is nothing to do."""
        from whet.sources.install.applying import plan_uninstall

        return plan_uninstall(self.installer(here=here), names)

    def plan_adopt(self, *names: str, source: str = "", here: bool = False) -> Plan:
        """Take charge of skills that are there already, so that the lock names them.

        Without names, of all that the lock does not name yet. With `source`, one skill is recorded as coming from
        there, and gets updates.
        """
        from whet.sources.install.adopting import plan_adopt

        wanted = self._wanted([source], (), every=False)[0] if source else None
        return plan_adopt(self.installer(here=here), names, wanted)

    def apply(self, plan: Plan, *, actor: str = "user", reason: str = "", override: str = "") -> dict[str, Any]:
        """Do what is ready in a plan, all of it or nothing, and record every decision.

        `override` says why what the policy asks about or blocks is done all the same. It answers with the plan (`plan`,
        a list of steps; `counts` of their states), what was `done`, and what the policy `refused`. Raises ConflictError
        when something is not as it was when the plan was made.
        """
        from whet.sources.install.applying import apply

        return apply(self._installer(plan.root), plan, actor=actor, reason=reason, override=override)

    def install(self, *sources: str, reason: str = "", override: str = "", **how: Any) -> dict[str, Any]:
        """Plan and apply in one call; `how` is what `plan_install` takes, and it answers like `apply`.

        Where one thing that was asked for cannot be taken in, nothing is: RefusedError for what the policy does not let
        in, ConflictError for what is in the way, FailedError for what the source could not give.
        """
        from whet.sources.install.applying import accept, check_complete

        plan = self.plan_install(*sources, **how)
        check_complete(accept(plan) if override else plan)
        return self.apply(plan, reason=reason, override=override)

    def update(self, *names: str, reason: str = "", override: str = "", **how: Any) -> dict[str, Any]:
        """Bring skills to what their sources have now; `how` is what `plan_update` takes, and it answers like `apply`.

        Conflicts and what the policy does not let in are left as they are and told.
        """
        return self.apply(self.plan_update(*names, **how), reason=reason, override=override)

    def uninstall(self, *names: str, reason: str = "", **how: Any) -> dict[str, Any]:
        """Take installed skills away; `how` is what `plan_uninstall` takes, and it answers like `apply`.

        The history keeps them, and `undo` brings them back.
        """
        return self.apply(self.plan_uninstall(*names, **how), reason=reason)

    # telling

    def outdated(self, *names: str, here: bool = False) -> dict[str, Any]:
        """Which installed skills have something newer at their sources; nothing is changed.

        `skills` are all that were asked about, with {status, outdated, edited, missing, pinned, latest}; `outdated`
        counts them.
        """
        from whet.sources.install.telling import outdated

        return outdated(self.installer(here=here), names)

    def verify(self, *names: str, here: bool = False) -> dict[str, Any]:
        """Is everything as it was installed, file by file? No source is asked.

        `valid` is the answer; of each of `skills`, `status` and `files` tell what is different. `unmanaged` are skills
        that no lock names.
        """
        from whet.sources.install.telling import verify

        return verify(self.installer(here=here), names)

    def why(self, name: str) -> dict[str, Any]:
        """Where a skill comes from, who let it in and why.

        `installed` is what the lock says of it, `history` how it came, `decision` what the guard said. Each is empty
        where nothing is known.
        """
        from whet.sources.install.telling import why

        card, _ = self.workspace.find(name)
        return why(self.installer(here=card.scope == "project"), card)

    def is_locked(self, name: str, *, here: bool = False) -> bool:
        """Does the lock name this skill?"""
        installer = self.installer(here=here)
        return bool(installer.called(name, installer.installed()))

    # pins

    def pin(self, name: str, reason: str = "") -> dict[str, Any]:
        """Leave this skill as it is: updates and the curator pass it by until `unpin`."""
        card, _ = self.workspace.find(name)
        changed = self._pinned(card.directory, card.name, reason or "yes")
        answer = self.curating.pin(name, reason)
        return {**answer, "changed": changed or answer["changed"]}

    def unpin(self, name: str) -> dict[str, Any]:
        """Treat this skill, which may be gone by now, like any other again."""
        try:
            directory = self.workspace.find(name)[0].directory
        except WhetError:
            directory = ""
        changed = self._pinned(directory, name, "")
        answer = self.curating.unpin(name)
        return {**answer, "changed": changed or answer["changed"]}

    def _pinned(self, directory: str, name: str, pinned: str) -> bool:
        """Write a pin into every lock that names the skill; whether that changed anything."""
        from whet.sources.install.following import set_pin

        changed = False
        for installer in self._installers():
            known = installer.relative(os.path.realpath(directory)) if directory else name
            changed = set_pin(installer, known, pinned) or changed
        return changed

    def _installers(self) -> list[Installer]:
        """The depots of all roots that have a lock, or had one: the user's, and the project's."""
        from whet.sources.lock.file import lock_file

        files = {root: lock_file(root) for root in self._own_roots()}
        kept = (root for root, file in files.items() if os.path.lexists(file) or self.ledger.left_by(file))
        return [self._installer(root) for root in kept]

    def _origins(self) -> dict[str, str]:
        """The same for installed skills: they are trusted as far as their source is, wherever they lie now."""
        origins = super()._origins()
        for installer in self._installers():
            for entry in self._last_known(installer):
                if entry.trust not in ("", "local"):
                    origins[os.path.realpath(installer.directory(entry.path))] = entry.trust
        return origins

    def _last_known(self, installer: Installer) -> Sequence[Installed]:
        """What is installed; where the lock cannot be read, which the doctor tells, what is remembered of it."""
        from whet.sources.lock.file import lock_file

        try:
            return installer.installed()
        except WhetError:
            return tuple(self.ledger.known(lock_file(installer.root)).values())

    # mending

    def examine_locks(self) -> tuple[Note, ...]:
        """What `doctor` tells of the locks, and of the memory of what was installed."""
        if not any(map(os.path.lexists, self._lock_files())):
            return ()
        return tuple(entry for root in self._own_roots() for entry in self.ledger.examine(root))

    def repair_locks(self) -> Repaired:
        """What `repair` does about locks: settle what was interrupted; rebuild those that are damaged or gone."""
        from whet.store.state import Repaired

        if not any(map(os.path.lexists, self._lock_files())):
            return Repaired()
        done = [*map(self.ledger.repair, self._own_roots())]
        return Repaired(tuple(it for part in done for it in part.done), tuple(it for part in done for it in part.lost))

    def _own_roots(self) -> list[str]:
        """The roots that skills can be installed in: the user's, and the project's."""
        roots = [self.new_root()]
        if self.workspace.explicit is None:
            roots.append(self.new_root(project=True))
        return list(dict.fromkeys(map(os.path.realpath, roots)))

    def _lock_files(self) -> list[str]:
        from whet.sources.lock.file import lock_file

        return [self.workspace.state.path, *map(lock_file, self._own_roots())]

    # history

    def history(self, name: str | None = None, last: int | None = None) -> dict[str, Any]:
        """The entries about one skill with its versions, or the last entries about all: who changed what, and why."""
        return self.edit.history.entries(name, last).to_json()

    def diff(self, name: str, one: int | None = None, other: int | None = None) -> dict[str, Any]:
        """What changed from a version, else the one before what is there now, to another, else to what is there."""
        return self.edit.history.diff(name, one, other).to_json()

    def pending(self, number: int | None = None) -> dict[str, Any]:
        """The proposals that wait for a person, or one of them with what it would change."""
        proposals = self.edit.proposals
        if number is None:
            waiting = [proposal.to_json() for proposal in proposals.pending()]
            return {"success": True, "proposals": waiting, "count": len(waiting)}
        proposal = proposals.one(number)
        return {"success": True, **proposal.to_json(), "diff": proposals.diff(proposal)}

    def reject(self, number: int, remark: str = "") -> dict[str, Any]:
        """Leave undone what was proposed; the remark says why."""
        return self.edit.proposals.reject(number, remark).to_json()

    def rollback(self, name: str, number: int | None = None, reason: str = "") -> dict[str, Any]:
        """Go back to a version of a skill, or to the one before; the lock goes with it.

        `number` is a `version` that `history` tells. It is a change like any other, so `undo` takes it back.
        Raises NotFoundError `no-such-version`.
        """
        from whet.authoring.writer import Provenance

        return self.edit.history.rollback(name, number, Provenance("user", reason=reason)).to_json()

    def undo(self, what: int | str, reason: str = "") -> dict[str, Any]:
        """Take back one change, by its number, or everything of one run, by its id; the lock goes with it.

        Both are in `history`. Raises NotFoundError `no-such-entry`, ConflictError `cannot-undo` where the skill
        was changed since.
        """
        from whet.authoring.writer import Provenance

        return self.edit.history.undo(what, Provenance("user", reason=reason)).to_json()

    def approve(self, number: int, reason: str = "") -> dict[str, Any]:
        """Do what was proposed; the lock goes with it. `pending` lists proposals, `reject` drops one.

        Raises RefusedError `reason-needed` where the guard asks for a reason and none is given, ConflictError where
        the skill was changed since.
        """
        from whet.authoring.writer import Provenance

        return self.edit.proposals.approve(number, Provenance("user", reason=reason)).to_json()

    def archive(self, name: str, reason: str = "") -> dict[str, Any]:
        """Put a skill away by hand: it is no longer there, and `undo` brings it back. The lock goes with it.

        Raises ConflictError for a pinned skill, RefusedError for one that is not the user's to put away.
        """
        return self.curating.archive(name, reason)

    def curate(self, *, apply: bool = False, if_due: bool = False) -> dict[str, Any]:
        """What the curator would do, or with `apply` did, about skills that an agent wrote and nobody uses.

        With `if_due`, it works only when an interval has gone by. `plan` and `report` tell the same for programs and
        for people. What is archived is one `run`, which `undo` takes back; merges become proposals.
        """
        return self.curating.curate(apply=apply, if_due=if_due)

    def _subscribe(self, editor: SkillEditor) -> None:
        super()._subscribe(editor)
        editor.committer.after_commit(self._follow_locks, "The lock was not changed")

    def _follow_locks(self, commits: Sequence[Committed]) -> Iterable[str]:
        """Let the locks follow what was done to installed skills."""
        from whet.sources.install.following import catch_up

        told: list[str] = []
        for installer in self._installers():
            try:
                told += catch_up(installer, [commit.entry.id for commit in commits])
            except WhetError as error:
                told.append(f"The lock was not changed: {error.message}")
        return told
