"""The half of the front door that takes skills elsewhere: to other clients, to other people, to other machines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from whet.api.sourcing import Sourcing
from whet.errors import NotFoundError, UsageError, WhetError
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.sources.install.plan import Plan
    from whet.sources.publishing.prepare import Prepared
    from whet.sources.syncing.sync import SyncPlan
    from whet.store.state import Repaired


class Sharing(Sourcing):
    """Syncing, publishing, snapshots."""

    # other clients

    def plan_sync(
        self,
        *clients: str,
        how: Literal["link", "copy"] = "link",
        here: bool = False,
        names: Sequence[str] = (),
        force: bool = False,
    ) -> SyncPlan:
        """What it takes to give these clients, or all that are here, the skills of the user or of the project.

        A client gets links, or copies, in the directory it reads. Clients that read the root themselves get nothing,
        unless `force` says so. Nothing is changed yet; `sync` does what the plan says.
        """
        from whet.sources.syncing.sync import plan_sync

        root = self.new_root(project=here)
        return plan_sync(
            self.place, self.workspace.state, root, clients, how=how, project=here, names=names, force=force
        )

    def sync(self, plan: SyncPlan) -> dict[str, Any]:
        """Do what a plan of `plan_sync` says, as far as things are still as it saw them.

        `steps` have an `outcome` each; one that fails does not stop the others.
        """
        from whet.sources.syncing.sync import apply_sync

        return {"success": True, **apply_sync(plan, self.place, self.workspace.state).to_json()}

    def unsync(self, *clients: str, here: bool = False) -> dict[str, Any]:
        """Take back everything that syncing made, and nothing else."""
        from whet.sources.syncing.sync import undo_sync

        return {"success": True, **undo_sync(self.place, self.workspace.state, project=here, clients=clients).to_json()}

    def synced(self, *clients: str) -> dict[str, Any]:
        """What syncing made, and how it is now: `made` are {client, name, path, how, root, state}."""
        from whet.sources.syncing.sync import synced

        return {"success": True, "made": [item.to_json() for item in synced(self.workspace.state, clients)]}

    # other people

    def publish(
        self,
        *paths: str,
        git: str = "",
        index: str = "",
        hub: str = "",
        owner: str = "",
        branch: str = "",
        into: str = "skills",
        message: str = "",
        push: bool | None = None,
        prune: bool = False,
    ) -> dict[str, Any]:
        """Put skills, given by their directories, into a git repository, a web directory or a hub.

        Exactly one of `git`, `index` (a directory) and `hub` says where. `branch`, `into`, `message` and `push` are for
        git, `owner` is for a hub; `prune` removes from a web directory what neither index names any more. `releases`
        tell what was added, `prepared` what was checked. Raises InvalidError or RefusedError for a skill that is not
        fit to be published, UsageError `no-version` for one without a version that a hub needs.
        """
        if sum(map(bool, (git, index, hub))) != 1:
            hint = "Give exactly one of --git, --index and --hub."
            raise UsageError("usage", "It must be said where to publish.", hint=hint)
        from whet.sources.publishing.prepare import prepare

        prepared = [prepare(path, scan=self.workspace.judge.attestations.scan) for path in paths]
        if git:
            from whet.sources.publishing.git import publish_git

            published = publish_git(
                prepared, git, place=self.place, branch=branch, into=into, message=message, push=push
            )
        elif index:
            from whet.sources.publishing.index import prune_index, publish_index

            published = publish_index(prepared, os.path.expanduser(index))
            if prune:
                pruned = prune_index(published.target)
                published = published._replace(notes=(*published.notes, *pruned.notes), removed=pruned.removed)
        else:
            return self._publish_hub(prepared, hub, owner)
        return {**published.to_json(), "prepared": [skill.to_json() for skill in prepared]}

    def _publish_hub(self, prepared: Sequence[Prepared], hub: str, owner: str) -> dict[str, Any]:
        from whet.sources.refs.reading import read_ref
        from whet.sources.registries.hub import get_token, publish_to_hub

        ref = read_ref(hub if hub.startswith("hub:") else f"hub:{hub}", self.place)
        token = get_token(ref.location, self.place.env)
        releases = []
        for skill in prepared:
            if not skill.version:
                hint = "Put it into the frontmatter, as `metadata: {version: ...}`."
                raise UsageError("no-version", f"{skill.name} has no version.", hint=hint)
            known = (owner or ref.path, skill.name, skill.version)
            created = publish_to_hub(self.web, ref.location, token, *known, skill.archive, skill.digest)
            change = "added" if created else "unchanged"
            releases.append({"name": skill.name, "version": skill.version, "digest": skill.digest, "change": change})
        return {
            "success": True,
            "kind": "hub",
            "target": ref.location,
            "changed": any(release["change"] == "added" for release in releases),
            "releases": releases,
            "prepared": [skill.to_json() for skill in prepared],
            "notes": [],
        }

    # other machines

    def export_snapshot(self, path: str, *, here: bool = False, overwrite: bool = False) -> dict[str, Any]:
        """Write the skills of the user, with `here` also those of the project, and the taps into one file.

        `left_out` says what could not go in and why. Raises ConflictError where the file is there already, unless
        `overwrite` is set.
        """
        from whet.sources.install.importing import exported
        from whet.sources.publishing.snapshots import export_snapshot

        skills, problems = exported(self.installer(), "user")
        if here:
            more, unread = exported(self.installer(here=True), "project")
            skills, problems = [*skills, *more], [*problems, *unread]
        taps = [tap._asdict() for tap in self.taps.all() if not tap.default]
        made = export_snapshot(skills, taps, path, overwrite=overwrite, clock=self.workspace.clock)
        return made._replace(left_out=(*problems, *made.left_out)).to_json()

    def plan_import(self, path: str, *, here: bool = False) -> Plan:
        """Bring in the skills of a snapshot: those of the user, or with `here` those of the project.

        They are judged like any others; nothing is changed until `apply`. Raises NotFoundError or InvalidError for a
        file that is no snapshot.
        """
        from whet.library.files import read_file
        from whet.sources.install.importing import plan_import
        from whet.sources.publishing.snapshots import LIMITS, read_snapshot
        from whet.store.failures import os_failures

        full = os.path.expanduser(path)
        if not os.path.isfile(full):
            raise NotFoundError("path-not-found", f"There is no file {full}.", hint="Check the path.", path=full)
        with os_failures(full, doing="read", other="read-failed"):
            snapshot = read_snapshot(read_file(full, LIMITS.total_bytes + 1))
        return plan_import(self.installer(here=here), snapshot, "project" if here else "user")

    # mending

    def examine_locks(self) -> tuple[Note, ...]:
        """What `doctor` tells of the locks, and of the record of what syncing made."""
        from whet.sources.syncing.record import read_record

        try:
            read_record(self.workspace.state)
        except WhetError as error:
            path = str(error.details.get("path", ""))
            return (*super().examine_locks(), Note.from_error(error, "error", path=path))
        return super().examine_locks()

    def repair_locks(self) -> Repaired:
        """What `repair` does about the locks, and about the record of what syncing made."""
        from whet.store.state import Repaired

        locks = super().repair_locks()
        if not any(entry.code == "sync-damaged" for entry in self.examine_locks()):
            return locks
        from whet.sources.syncing.sync import repair_sync

        repository = self.workspace.config().repository
        projects = (repository.root,) if repository else ()
        mended = repair_sync(self.place, self.workspace.state, self._own_roots(), projects=projects)
        done = f"Set the damaged record of syncing aside as {mended.kept} and found {len(mended.links)} links again."
        return Repaired((*locks.done, done), locks.lost)
