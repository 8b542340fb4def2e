"""Making and taking back what a sync plans: first written down, then done, so that nothing is ever made unrecorded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.authoring.trees import digest, write_tree
from whet.errors import ConflictError, NotFoundError, WhetError
from whet.library.files import inside
from whet.library.package import read_tree
from whet.sources.syncing.plan import MESSAGES, Step
from whet.sources.syncing.record import Made, Record, standing, without, write_record
from whet.store.atomic import clean_leftovers, make_directories, sync_directory
from whet.store.failures import os_failure, os_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from whet.skill.tree import Tree
    from whet.sources.syncing.plan import State
    from whet.store.state import StateDatabase


class Done(NamedTuple):
    """What became of one step."""

    step: Step
    outcome: Literal["done", "left", "failed", "changed"]
    """`left`: there was nothing to do, or nothing that may be done. `changed`: it was not as planned any more."""
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """The step and its outcome as JSON carries them."""
        return {**self.step.to_json(), "outcome": self.outcome, "message": self.message or self.step.message}


class Work:
    """One sync or undo, by whoever holds the lock of the record."""

    def __init__(self, state: StateDatabase, root: str, base: str, record: Record) -> None:
        self.state = state
        self.root = root
        self.base = base
        self.record = record
        self.done: dict[Step, Done] = {}
        self.cleaned: list[str] = []

    # --- making

    def do(self, steps: Sequence[Step]) -> None:
        """Clear what has to go, write down what is to come, make it."""
        if not steps:
            return
        for step in steps:
            if step.state in ("remove", "replace"):
                self.attempt(step, self.remove)
        wanted = [step for step in steps if step.state != "remove" and self.going(step)]
        self.intend(wanted)
        for step in wanted:
            if step.state == "refresh":
                self.attempt(step, self.refresh)
            else:
                self.attempt(step, self.link if step.how == "link" else self.copy)
        self.settle()

    def going(self, step: Step) -> bool:
        """Whether nothing has gone wrong with a step so far."""
        return step not in self.done or self.done[step].outcome == "done"

    def attempt(self, step: Step, act: Callable[[Step], None]) -> None:
        """Do something for a step and note how that went."""
        try:
            act(step)
        except WhetError as error:
            self.done[step] = Done(step, "failed", error.message)
        else:
            self.done[step] = Done(step, "done")

    def intend(self, steps: Iterable[Step]) -> None:
        """Write down every link and directory that is about to be made."""
        made, directories = dict(self.record.made), list(self.record.directories)
        for step in steps:
            directories.extend(path for path in _missing(os.path.dirname(step.path)) if path not in directories)
            if step.how == "link":
                made[step.path] = self.made(step)
        self.write(Record(made, tuple(directories)))

    def made(self, step: Step) -> Made:
        """What will be on record of a step."""
        folder = os.path.realpath(os.path.dirname(step.path))
        return Made(step.path, folder, self.base, self.root, step.source, step.client, step.how, step.target)

    def link(self, step: Step) -> None:
        """Make a link; a copy where links cannot be made."""
        folder = os.path.dirname(step.path)
        make_directories(folder)
        try:
            os.symlink(step.target, step.path, target_is_directory=True)
        except FileExistsError as error:
            raise os_failure(error, step.path, doing="link") from error
        except (OSError, NotImplementedError):  # no such thing on this disk, or not for this user
            self.put(self.made(step)._replace(how="copy", target="", instead=True))
            return
        with os_failures(step.path):
            sync_directory(folder)

    def copy(self, step: Step) -> None:
        """Make a copy where nothing is."""
        make_directories(os.path.dirname(step.path))
        self.put(self.made(step))

    def put(self, made: Made) -> None:
        """Write down a new copy, then make it."""
        tree = self.content(made)
        self.enter(made._replace(digest=digest(tree)))
        write_tree(made.path, None, tree)

    def refresh(self, step: Step) -> None:
        """Give a copy of ours the content that the skill has now."""
        made = self.record.made[step.path]
        tree, before = self.content(made), read_tree(made.path)
        if before is None or digest(before) not in (made.digest, made.coming):
            message = f"{made.path} has changed meanwhile."
            raise ConflictError("skill-changed", message, hint="Sync again.", path=made.path)
        made = made._replace(digest=digest(before), coming=digest(tree))
        self.enter(made)
        write_tree(made.path, before, tree)
        self.record.made[made.path] = made._replace(digest=made.coming, coming="")

    def content(self, made: Made) -> Tree:
        """The skill that a copy is of."""
        source = os.path.join(made.root, *made.source.split("/"))
        tree = read_tree(source)
        if tree is None:
            raise NotFoundError("path-not-found", f"There is no {source} any more.", hint="Sync again.", path=source)
        return tree

    # --- taking back

    def undo(self, clients: Collection[str]) -> None:
        """Remove everything we made below the base, as far as it is still as we made it, and the empty directories."""
        self.clean_up(clients)
        chosen = self.of(clients)
        for made in chosen:
            found = standing(made)
            if found == "gone":
                continue
            step = Step(made.client, made.name, made.path, "remove", made.how, made.source, made.target)
            if found == "ours":
                self.attempt(step, self.remove)
            else:
                state: State = "edited" if found == "edited" else "in-the-way"
                self.done[step] = Done(step._replace(state=state, message=MESSAGES[state]), "left")
        self.settle()
        self.empty({os.path.dirname(made.path) for made in chosen} if clients else None)

    def remove(self, step: Step) -> None:
        """Take away what we made; it was looked at a moment ago."""
        made = self.record.made[step.path]
        if made.how == "copy":
            write_tree(made.path, {}, None)
            return
        with os_failures(made.path, doing="remove"):
            os.unlink(made.path)
            sync_directory(made.folder)

    def empty(self, folders: Collection[str] | None) -> None:
        """Remove the directories that were made for what is gone now; those that hold something else stay."""
        kept: list[str] = []
        for path in sorted(self.record.directories, key=len, reverse=True):
            needed = any(inside(made, path) for made in self.record.made)
            asked = folders is None or any(inside(folder, path) for folder in folders)
            if needed or not asked or not inside(path, self.base):
                kept.append(path)
                continue
            try:
                os.rmdir(path)
                sync_directory(os.path.dirname(path))
            except OSError:  # it is gone, or somebody has something in it: it is theirs now
                continue
        self.write(self.record._replace(directories=tuple(reversed(kept))))

    # --- the record

    def settle(self) -> None:
        """Forget what is not there, or not ours, or is somebody else's by now."""
        lost = [
            path
            for path, made in self.record.made.items()
            if made.base == self.base and standing(made) in ("gone", "other")
        ]
        self.write(without(self.record, lost))

    def enter(self, made: Made) -> None:
        """Put one entry on record before it becomes true."""
        self.write(self.record._replace(made={**self.record.made, made.path: made}))

    def write(self, record: Record) -> None:
        """Write the record."""
        write_record(self.state, record)
        self.record = record

    def of(self, clients: Collection[str]) -> list[Made]:
        """What we made below the base, for some clients or for all."""
        mine = [made for made in self.record.made.values() if made.base == self.base]
        return [made for made in mine if not clients or made.client in clients]

    def clean_up(self, clients: Collection[str]) -> None:
        """Remove, or put back, what a sync that was cut off left beside what we made."""
        folders = {made.folder for made in self.of(clients) if os.path.isdir(made.folder)}
        for folder in sorted(folders):
            self.cleaned.extend(
                done.path for done in clean_leftovers(folder) if done.outcome in ("removed", "restored")
            )


def _missing(directory: str) -> list[str]:
    """The directories that have to be made for this one, outermost first."""
    missing: list[str] = []
    while not os.path.lexists(directory) and os.path.dirname(directory) != directory:
        missing.insert(0, directory)
        directory = os.path.dirname(directory)
    return missing
