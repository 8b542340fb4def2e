"""The same skills for every client: one root, and links (or copies) of its skills where each client looks.

A plan says what would be done and what is left alone, and why; applying it looks again first, and does only what is
still as the plan saw it. What is made is on record (`whet.sources.syncing.record`) before it is there, so that the next
sync or undo completes whatever was cut off halfway, and undo takes back exactly what was made.

    plan = plan_sync(place, state, user_root(place), ("claude", "cursor"), how="link")
    report = apply_sync(plan, place, state)
    undo_sync(place, state)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.library.files import inside
from whet.library.repository import is_same
from whet.sources.syncing.doing import Done, Work
from whet.sources.syncing.places import base_of, folders, known_clients, named, present_clients, start_of, target_of
from whet.sources.syncing.plan import ACTIONS, MAKING, Step, SyncPlan, plan_sync
from whet.sources.syncing.record import (
    How,
    Made,
    Record,
    content_digest,
    link_text,
    read_record,
    read_rows,
    set_aside,
    standing,
    write_record,
    writing,
)
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whet.library.roots import Place
    from whet.store.state import StateDatabase

__all__ = [
    "ACTIONS",
    "Done",
    "Repaired",
    "Step",
    "SyncPlan",
    "SyncReport",
    "Synced",
    "apply_sync",
    "known_clients",
    "plan_sync",
    "present_clients",
    "repair_sync",
    "synced",
    "undo_sync",
]


class SyncReport(NamedTuple):
    """What became of each step."""

    steps: tuple[Done, ...]
    cleaned: tuple[str, ...] = ()
    """What an earlier sync left behind when it was cut off, and is gone now."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON carries it."""
        return {"steps": [done.to_json() for done in self.steps], "cleaned": list(self.cleaned)}


class Synced(NamedTuple):
    """One thing that sync made, and how it is now."""

    client: str
    name: str
    path: str
    how: How
    root: str
    state: Literal["fine", "stale", "edited", "broken", "gone", "replaced"]
    """`stale`: the skill has changed since it was copied. `broken`: the skill is gone. `replaced`: now it is something
    else."""

    def to_json(self) -> dict[str, Any]:
        """What was made, as JSON carries it."""
        return self._asdict()


class Repaired(NamedTuple):
    """What became of a damaged record."""

    kept: str
    """Where the damaged file is now; "" when there was none."""
    links: tuple[str, ...]
    """The links that were found again."""

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON carries it."""
        return {"kept": self.kept, "links": list(self.links)}


def apply_sync(plan: SyncPlan, place: Place, state: StateDatabase) -> SyncReport:
    """Do what the plan says, as far as it is still as the plan saw it. What fails is reported, the rest goes on."""
    with writing(state):
        work = Work(state, plan.root, plan.base, read_record(state))
        work.clean_up(plan.clients)
        again = plan_sync(
            place,
            state,
            plan.root,
            plan.clients,
            how=plan.how,
            project=plan.project,
            names=plan.names,
            force=plan.force,
        )
        fresh = {(step.client, step.path): step for step in again.steps}
        steps = [_still(step, fresh.get((step.client, step.path))) for step in plan.steps]
        work.do([done.step for done in steps if done.outcome == "done"])
        return SyncReport(tuple(work.done.get(done.step, done) for done in steps), tuple(work.cleaned))


def _still(step: Step, now: Step | None) -> Done:
    """A planned step as it is now. How something of ours is brought up to date may change, but not what is wanted."""
    if step.state not in ACTIONS:
        return Done(step, "left")
    if now and (now.state == step.state or (now.state in MAKING and step.state in MAKING)):
        return Done(now, "done")
    if now and now.state == "fine":
        return Done(now, "left")
    return Done(step, "changed", "It has changed meanwhile, so nothing was done. Sync again.")


def undo_sync(
    place: Place, state: StateDatabase, *, project: bool = False, clients: Collection[str] = ()
) -> SyncReport:
    """Take back everything that sync made at home or in the project, or only for some clients, and nothing else."""
    with writing(state):
        work = Work(state, "", base_of(place, project=project), read_record(state))
        work.undo(named(clients))
        return SyncReport(tuple(work.done.values()), tuple(work.cleaned))


def synced(state: StateDatabase, clients: Collection[str] = ()) -> tuple[Synced, ...]:
    """Everything that sync made, at home and in any project, and how it is now."""
    return tuple(
        Synced(made.client, made.name, made.path, made.how, made.root, _now(made))
        for made in read_record(state).made.values()
        if not clients or made.client in named(clients)
    )


def _now(made: Made) -> Literal["fine", "stale", "edited", "broken", "gone", "replaced"]:
    found = standing(made)
    if found == "other":
        return "replaced"
    if found != "ours":
        return found
    source = os.path.join(made.root, *made.source.split("/"))
    if not os.path.isdir(source):
        return "broken"
    return "stale" if made.how == "copy" and content_digest(source) != content_digest(made.path) else "fine"


# --- a damaged record -----------------------------------------------------------------------------------------------


def repair_sync(
    place: Place, state: StateDatabase, roots: Collection[str], *, projects: Collection[str] = ()
) -> Repaired:
    """Write a record that cannot be read anew, from what is on the disk.

    A link is ours when it points to the skill of its name in one of the roots, written the way sync writes it. Copies
    and directories cannot be told from other people's, so they are theirs from now on.
    """
    with writing(state):
        found = {made.path: made for made in _links(place, roots, projects)}
        kept = set_aside(state) if read_rows(state) else ""
        write_record(state, Record(found))
    return Repaired(kept, tuple(sorted(found)))


def _links(place: Place, roots: Collection[str], projects: Collection[str]) -> Iterator[Made]:
    for where, project in [(place, False), *((place._replace(directory=path), True) for path in projects)]:
        base = base_of(where, project=project)
        for root in map(os.path.abspath, roots):
            for folder in folders(where, root, known_clients(), project=project):
                if os.path.isdir(folder.path) and not is_same(folder.path, root):
                    yield from _links_in(folder.path, folder.client, root, base)


def _links_in(folder: str, client: str, root: str, base: str) -> Iterator[Made]:
    real, start = os.path.realpath(folder), start_of(root, base)
    with os_failures(folder, doing="list", other="read-failed"):
        names = sorted(os.listdir(folder))
    for name in names:
        path = os.path.join(folder, name)
        text = link_text(path)
        full = os.path.normpath(os.path.join(real, text))
        if not text or full == start or not inside(full, start) or os.path.basename(full) != name:
            continue
        source = os.path.relpath(full, start).replace(os.sep, "/")
        if text == target_of(root, source, folder, base):
            yield Made(path, real, base, root, source, client, "link", text)
