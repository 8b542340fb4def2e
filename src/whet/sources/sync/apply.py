"""Apply and undo a sync: the same skills for every client, as links or copies in its directories.

A plan says what will be done, what is left alone, and why. Applying it looks again and does only steps that are still
as the plan saw them. Every link and copy is recorded (`whet.sources.sync.record`) before it is made, so that the next
sync or undo completes an interrupted one, and undo removes exactly what sync made.

    plan = plan_sync(place, state, user_root(place), ("claude-code", "cursor"), how="link")
    report = apply_sync(plan, place, state)
    undo_sync(place, state)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.authoring.trees import digest, write_tree
from whet.errors import ConflictError, InvalidError, NotFoundError, WhetError
from whet.library.files import inside
from whet.library.package import read_tree
from whet.library.repository import is_same
from whet.sources.sync.plan import (
    ACTIONS,
    MAKING,
    MESSAGES,
    Step,
    SyncPlan,
    base_of,
    folders,
    known_clients,
    named,
    plan_sync,
    start_of,
    target_of,
)
from whet.sources.sync.record import (
    Follower,
    How,
    Made,
    Record,
    begin,
    content_digest,
    link_text,
    read_followers,
    read_record,
    set_aside,
    source_of,
    standing,
    write_followers,
    write_record,
    writing,
)
from whet.store.atomic import clean_leftovers
from whet.store.clock import system_clock
from whet.store.directories import make_directories, sync_directory
from whet.store.failures import os_failure, os_failures
from whet.store.intents import SYNC, Handler, Intents
from whet.store.regular import make_junction
from whet.values import Json, answer_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from whet.authoring.commits import Committed
    from whet.library.roots import Place
    from whet.library.skill_id import SkillId
    from whet.skill.tree import Tree
    from whet.sources.sync.plan import State
    from whet.store.intents import Intent
    from whet.store.state import StateDatabase


class Done(NamedTuple):
    """A step and its outcome."""

    step: Step
    outcome: Literal["planned", "done", "left", "failed", "changed"]
    """`left`: nothing to do, or nothing allowed. `changed`: the files changed after the plan was made."""
    message: str = ""

    def to_json(self) -> Json:
        """Return the step and its outcome as JSON."""
        return {**self.step.to_json(), "outcome": self.outcome, "message": self.message or self.step.message}


class SyncReport(NamedTuple):
    """The outcome of each step."""

    steps: tuple[Done, ...]
    cleaned: tuple[str, ...] = ()
    """Leftovers of an interrupted sync that were removed or put back."""

    def to_json(self) -> Json:
        """Return the report as JSON."""
        return answer_json(self)


class Synced(NamedTuple):
    """A link or copy that sync made, and its current state."""

    client: str
    name: str
    path: str
    how: How
    root: str
    state: Literal["fine", "stale", "edited", "broken", "gone", "replaced"]
    """`stale`: the skill has changed since it was copied. `broken`: the skill is gone. `replaced`: now something else.
    """

    def to_json(self) -> Json:
        """Return the link or copy as JSON."""
        return fields_json(self)


class Repaired(NamedTuple):
    """The repair of a damaged record."""

    kept: str
    """New path of the damaged file; "" if there was none."""
    links: tuple[str, ...]
    """Links that were found again."""

    def to_json(self) -> Json:
        """Return the repair as JSON."""
        return fields_json(self)


def apply_sync(plan: SyncPlan, place: Place, state: StateDatabase) -> SyncReport:
    """Apply the steps of a plan that are still as planned. A step that fails is reported, the others continue."""
    with writing(state):
        work = Work(state, plan.root, plan.base, read_record(state))
        work.clean_up(plan.clients)
        if not (plan.names or plan.only):
            _begin_to_follow(plan, state)
        again = plan_sync(
            place,
            state,
            plan.root,
            plan.clients,
            how=plan.how,
            project=plan.project,
            names=plan.names,
            force=plan.force,
            refused=plan.refused,
            manual=plan.manual,
            disabled=plan.disabled,
            only=plan.only,
        )
        fresh = {(step.client, step.path): step for step in again.steps}
        steps = [_still(step, fresh.get((step.client, step.path))) for step in plan.steps]
        work.do([done.step for done in steps if done.outcome == "done"])
        return SyncReport(tuple(work.done.get(done.step, done) for done in steps), tuple(work.cleaned))


def _begin_to_follow(plan: SyncPlan, state: StateDatabase) -> None:
    """Record that the clients of a sync of all skills also get later skills."""
    left_out = {step.client for step in plan.steps if not step.name}
    new = {Follower(one, plan.base, plan.root, plan.how) for one in plan.clients if one not in left_out}
    known = read_followers(state)
    places = {(one.client, one.base) for one in new}
    followers = new.union(one for one in known if (one.client, one.base) not in places)
    if followers != {*known}:
        write_followers(state, followers)


def _still(step: Step, now: Step | None) -> Done:
    """Return a planned step in its current state. The way to update a link or copy may change, its purpose may not."""
    if step.state not in ACTIONS:
        return Done(step, "left")
    if now and (now.state == step.state or (now.state in MAKING and step.state in MAKING)):
        return Done(now, "done")
    if now and now.state == "fine":
        return Done(now, "left")
    return Done(step, "changed", "It changed in the meantime, so nothing was done. Sync again.")


def undo_sync(
    place: Place, state: StateDatabase, *, project: bool = False, clients: Collection[str] = ()
) -> SyncReport:
    """Remove everything that sync made at home or in the project, or only for some clients."""
    with writing(state):
        work = Work(state, "", base_of(place, project=project), read_record(state))
        chosen = named(clients)
        known = read_followers(state)
        left = [one for one in known if one.base != work.base or (chosen and one.client not in chosen)]
        if len(left) < len(known):
            write_followers(state, left)
        work.undo(chosen)
        return SyncReport(tuple(work.done.values()), tuple(work.cleaned))


def handler(state: StateDatabase) -> Handler:
    """Return the handler that finishes an interrupted sync or undo."""

    def finish(intent: Intent) -> str:
        work = intent.payload.get("work") or {}
        if not work and any(one.payload.get("work") for one in Intents(state, system_clock).open(SYNC)):
            return ""  # part of the work of that intent
        bases = {work["base"]} if work else {made["base"] for made in intent.payload["made"]}
        full = False
        for base in bases:
            job = Work(state, work.get("root", ""), base, read_record(state), work.get("away", ""))
            job.clean_up(())
            if "undo" in work:
                job.undo(work["undo"])
            else:
                job.forget(*work.get("forget", ()))
                job.resume(Step(**step) for step in work.get("steps", ()))
            full |= job.full
        return "" if full else "An interrupted sync is now finished."

    return Handler(lambda _: [writing(state, patience=0.0)], finish, lambda _: "An interrupted sync")


def synced(state: StateDatabase, clients: Collection[str] = ()) -> tuple[Synced, ...]:
    """Return everything that sync made, at home and in projects, with its current state."""
    wanted = named(clients)
    return tuple(
        Synced(made.client, made.name, made.path, made.how, made.root, _now(made))
        for made in read_record(state).made.values()
        if not made.away and (not wanted or made.client in wanted)
    )


# --- following the skills ---------------------------------------------------------------------------------------------

_FOLLOW = "follow"
"""Marks an intent that a change of skills wrote."""


def follow_skills(state: StateDatabase, commits: Sequence[Committed]) -> None:
    """In the transaction of a change, record the steps for the links and copies of the changed skills.

    Links and copies of a removed skill are removed, and return when the removal is undone, except those that an earlier
    removal took from the same path. Those of a renamed skill get its new name. A record that cannot be read stops no
    change.
    """
    gone: dict[tuple[str, str], str] = {}
    back: set[tuple[str, str]] = set()
    for commit in commits:
        before, after = commit.before, commit.after
        if commit.back and after and not before:
            back.add(place_of(commit.entry.path, after))
        elif before and not after:
            gone[place_of(commit.entry.path, before)] = ""
        elif commit.moved and before and after and before.root == after.root:
            gone[place_of(commit.entry.path, after)[0], before.path] = after.path
    if not (gone or back):
        return

    def follow(made: Made) -> list[Step] | None:
        at = (os.path.realpath(made.root), made.source)
        if at in gone and made.away == "gone":
            return None
        if at in gone and not made.away and standing(made) == "ours":
            return [_step(made, "remove"), *([_rename(made, gone[at])] if gone[at] else [])]
        return [_step(made, "make")] if at in back and made.away == "gone" else []

    _begin_following(state, follow)


def follow_switch(state: StateDatabase, skill: str, disabled: Callable[[str], bool]) -> None:
    """After a skill was disabled or enabled, record the steps for its links and copies.

    They are removed for the clients that it is `disabled` for and return when it is enabled again. `skill` is its real
    directory.
    """

    def follow(made: Made) -> list[Step]:
        if os.path.realpath(source_of(made)) != skill:
            return []
        if disabled(made.client):
            return [_step(made, "remove")] if not made.away and standing(made) == "ours" else []
        return [_step(made, "make")] if made.away == "disabled" else []

    _begin_following(state, follow, "disabled")


def _begin_following(state: StateDatabase, follow: Callable[[Made], list[Step] | None], away: str = "") -> None:
    """Record the steps that `follow` returns for each link and copy; None forgets it.

    `away` is the reason for removals whose skill stays.
    """
    if not state.read("SELECT 1 FROM synced LIMIT 1"):
        return
    try:
        record = read_record(state)
    except InvalidError:
        return
    work: dict[tuple[str, str], tuple[list[Step], list[str]]] = {}
    for made in record.made.values():
        steps, forgotten = work.setdefault((made.root, made.base), ([], []))
        if (following := follow(made)) is None:
            forgotten.append(made.path)
        else:
            steps.extend(following)
    for (root, base), (steps, forgotten) in work.items():
        if steps or forgotten:
            told = [step._asdict() for step in steps]
            payload = {"root": root, "base": base, "steps": told, "forget": forgotten, _FOLLOW: True, "away": away}
            begin(state, record, (), work=payload)


def place_of(path: str, skill: SkillId) -> tuple[str, str]:
    """Return the real root of a skill, which may be gone, and its path below the root."""
    return os.path.realpath(path.removesuffix(os.path.join(os.sep, *skill.path.split("/")))), skill.path


def _step(made: Made, state: State) -> Step:
    return Step(made.client, made.name, made.path, state, made.how, made.source, made.target, message=MESSAGES[state])


def _rename(made: Made, source: str) -> Step:
    """Return the step that makes the same link or copy for a skill that moved in the root."""
    path = os.path.join(os.path.dirname(made.path), source.rpartition("/")[2])
    target = target_of(made.root, source, "" if made.instead else made.folder, made.base) if made.how == "link" else ""
    return _step(made._replace(path=path, source=source, target=target), "make")


def finish_following(state: StateDatabase) -> Iterator[str]:
    """After a change, apply the steps that `follow_skills` recorded; yield sentences about them."""
    if not any((intent.payload.get("work") or {}).get(_FOLLOW) for intent in Intents(state, system_clock).open(SYNC)):
        return
    with writing(state):
        intents = Intents(state, system_clock).open(SYNC)
        followed = [work for intent in intents if (work := intent.payload.get("work") or {}).get(_FOLLOW)]
        done: list[Done] = []
        for work in followed:
            job = Work(state, work["root"], work["base"], read_record(state), work.get("away", ""))
            job.forget(*work.get("forget", ()))
            job.resume(Step(**step) for step in work["steps"])
            done += job.done.values()
    yield from describe_steps(done)


def describe_steps(done: Sequence[Done]) -> Iterator[str]:
    """Yield a sentence about each kind of finished steps and about each step that failed."""
    for word, states in (("Removed", ("remove",)), ("Made", ("make", "replace")), ("Updated", ("refresh",))):
        made = [one.step for one in done if one.outcome == "done" and one.step.state in states]
        if made:
            linked, several = all(step.how == "link" for step in made), len(made) > 1
            what = ("links to" if several else "link to") if linked else ("copies of" if several else "copy of")
            skills = ", ".join(dict.fromkeys(step.name for step in made))
            clients = ", ".join(dict.fromkeys(step.client for step in made))
            yield f"{word} the {what} {skills} for {clients}."
    yield from (f"{one.step.path}: {one.message}" for one in done if one.outcome in ("failed", "changed"))


def _now(made: Made) -> Literal["fine", "stale", "edited", "broken", "gone", "replaced"]:
    found = standing(made)
    if found == "other":
        return "replaced"
    if found != "ours":
        return found
    source = source_of(made)
    if not os.path.isdir(source):
        return "broken"
    return "stale" if made.how == "copy" and content_digest(source) != content_digest(made.path) else "fine"


class Work:
    """One sync or undo, for the holder of the lock of the record."""

    def __init__(self, state: StateDatabase, root: str, base: str, record: Record, away: str = "") -> None:
        """`away` is the reason for removals whose skill stays (`Made.away`)."""
        self.state = state
        self.root = root
        self.base = base
        self.record = record
        self.away = away
        self.done: dict[Step, Done] = {}
        self.cleaned: list[str] = []
        self.full = False
        """Whether the disk was full at a step."""

    # --- making

    def do(self, steps: Sequence[Step], *, begun: bool = False) -> None:
        """Remove what must go, record what comes, then make it; `begun`: the steps are already recorded.

        Steps that fail because the disk is full stay recorded and are finished later.
        """
        if not steps and not self.record.open:
            return
        work = {"root": self.root, "base": self.base, "steps": [step._asdict() for step in steps]}
        if not begun:
            self.record = begin(self.state, self.record, (), work=work)
        removed = [self.record.made[step.path] for step in steps if step.state == "remove"]
        gone = (made for made in removed if self.away or not os.path.isdir(source_of(made)))
        self.leave(made._replace(away=self.away or "gone") for made in gone)
        for step in steps:
            if step.state in ("remove", "replace"):
                self.attempt(step, self.remove)
        wanted = [step for step in steps if step.state != "remove" and self.going(step)]
        made = [self.made(step) for step in wanted if step.how == "link" and step.state != "refresh"]
        missing = dict.fromkeys(path for step in wanted for path in _missing(os.path.dirname(step.path)))
        self.record = begin(self.state, self.record, made, tuple(missing))
        for step in wanted:
            if step.state == "refresh":
                self.attempt(step, self.refresh)
            else:
                self.attempt(step, self.link if step.how == "link" else self.copy)
        if not self.full:
            self.settle()

    def resume(self, steps: Iterable[Step]) -> None:
        """Apply the remaining steps of an interrupted sync."""
        left = []
        for step in steps:
            made = self.record.made.get(step.path)
            ours = made is not None and standing(made) == "ours"
            here = os.path.isdir(os.path.join(self.root, *step.source.split("/")))
            other = made is not None and (made.how, made.target) != (step.how, step.target) and not made.instead
            if step.state in MAKING and here and not os.path.lexists(step.path):
                left.append(step._replace(state="make"))
            elif ours and {"remove": True, "refresh": here, "replace": here and other}.get(step.state):
                left.append(step)
        self.do(left, begun=True)

    def going(self, step: Step) -> bool:
        """Return whether no action of a step has failed so far."""
        return step not in self.done or self.done[step].outcome == "done"

    def attempt(self, step: Step, act: Callable[[Step], None]) -> None:
        """Run `act` for a step and note the outcome."""
        try:
            act(step)
        except WhetError as error:
            self.full |= error.code == "disk-full"
            self.done[step] = Done(step, "failed", error.message)
        else:
            self.done[step] = Done(step, "done")

    def made(self, step: Step) -> Made:
        """Return the record of a step."""
        folder = os.path.realpath(os.path.dirname(step.path))
        return Made(step.path, folder, self.base, self.root, step.source, step.client, step.how, step.target)

    def link(self, step: Step) -> None:
        """Make a link; a junction or a copy if links cannot be made."""
        folder = os.path.dirname(step.path)
        make_directories(folder)
        try:
            os.symlink(step.target, step.path, target_is_directory=True)
        except FileExistsError as error:
            raise os_failure(error, step.path, doing="link") from error
        except (OSError, NotImplementedError):  # not supported by this disk, or not allowed for this user
            made = self.made(step)._replace(target=target_of(self.root, step.source, "", self.base), instead=True)
            self.forget(made.path)
            self.record = begin(self.state, self.record, [made])
            if not make_junction(made.target, made.path):
                self.put(made._replace(how="copy", target=""))
                return
        with os_failures(step.path):
            sync_directory(folder)

    def copy(self, step: Step) -> None:
        """Make a copy at a free path."""
        make_directories(os.path.dirname(step.path))
        self.put(self.made(step))

    def put(self, made: Made) -> None:
        """Record a new copy, then make it."""
        tree = self.content(made)
        self.forget(made.path)
        self.record = begin(self.state, self.record, [made._replace(digest=digest(tree))])
        write_tree(made.path, None, tree)

    def refresh(self, step: Step) -> None:
        """Update one of our copies to the current content of the skill."""
        made = self.record.made[step.path]
        tree, before = self.content(made), read_tree(made.path)
        if before is None or digest(before) not in (made.digest, made.coming):
            message = f"{made.path} changed in the meantime."
            raise ConflictError("skill-changed", message, hint="Sync again.", path=made.path)
        self.record.made[made.path] = made._replace(digest=digest(before), coming="")
        made = made._replace(digest=digest(tree), coming="")
        self.record = begin(self.state, self.record, [made])
        write_tree(made.path, before, tree)
        self.record.made[made.path] = made

    def content(self, made: Made) -> Tree:
        """Return the content of the skill that a copy is made from."""
        source = source_of(made)
        tree = read_tree(source)
        if tree is None:
            raise NotFoundError("path-not-found", f"{source} no longer exists.", hint="Sync again.", path=source)
        return tree

    # --- undo

    def undo(self, clients: Collection[str]) -> None:
        """Remove everything we made below the base that is still unchanged, and the empty directories."""
        self.clean_up(clients)
        chosen = self.of(clients)
        if chosen:
            self.record = begin(self.state, self.record, (), work={"base": self.base, "undo": sorted(clients)})
        self.forget(*(made.path for made in chosen if made.away))
        for made in chosen:
            found = standing(made)
            if found == "gone" or made.away:
                continue
            step = _step(made, "remove")
            if found == "ours":
                self.attempt(step, self.remove)
            else:
                state: State = "edited" if found == "edited" else "in-the-way"
                self.done[step] = Done(step._replace(state=state, message=MESSAGES[state]), "left")
        self.settle()
        self.empty({os.path.dirname(made.path) for made in chosen} if clients else None)

    def remove(self, step: Step) -> None:
        """Remove one of our links or copies; the caller has just checked it."""
        made = self.record.made[step.path]
        if made.how == "copy":
            write_tree(made.path, {}, None)
            return
        with os_failures(made.path, doing="remove"):
            os.unlink(made.path)
            sync_directory(made.folder)

    def empty(self, folders: Collection[str] | None) -> None:
        """Remove the directories that were made for removed entries; those with other content stay."""
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
            except OSError:  # it is gone, or contains files of others
                continue
        self.record = write_record(self.state, self.record._replace(directories=tuple(reversed(kept))))

    # --- the record

    def settle(self) -> None:
        """Write the record; forget entries that are gone or belong to others by now.

        Entries that were removed together with their skill are kept, to be made again when the skill returns.
        """
        mine = [made for made in self.record.made.values() if made.base == self.base and not made.away]
        self.forget(*(made.path for made in mine if standing(made) in ("gone", "other")))
        self.record = write_record(self.state, self.record)

    def leave(self, gone: Iterable[Made]) -> None:
        """Record entries that are about to be removed and may return."""
        self.record = begin(self.state, self.record, [*gone])

    def forget(self, *paths: str) -> None:
        """Remove entries from the record."""
        made = {path: made for path, made in self.record.made.items() if path not in paths}
        self.record = self.record._replace(made=made)

    def of(self, clients: Collection[str]) -> list[Made]:
        """Return what we made below the base, for some clients or for all."""
        mine = [made for made in self.record.made.values() if made.base == self.base]
        return [made for made in mine if not clients or made.client in clients]

    def clean_up(self, clients: Collection[str]) -> None:
        """Remove or put back the leftovers of an interrupted sync."""
        folders = {made.folder for made in self.of(clients) if os.path.isdir(made.folder)}
        for folder in sorted(folders):
            self.cleaned.extend(
                done.path for done in clean_leftovers(folder) if done.outcome in ("removed", "restored")
            )


def _missing(directory: str) -> list[str]:
    """Return the missing directories on the way to this one, outermost first."""
    missing: list[str] = []
    while not os.path.lexists(directory) and os.path.dirname(directory) != directory:
        missing.insert(0, directory)
        directory = os.path.dirname(directory)
    return missing


# --- a damaged record -----------------------------------------------------------------------------------------------


def repair_sync(
    place: Place, state: StateDatabase, roots: Collection[str], *, projects: Collection[str] = ()
) -> Repaired:
    """Rewrite an unreadable record from the disk.

    A link is ours if it points to the skill of its name in one of the roots and is written the way sync writes it.
    Copies and directories cannot be recognized, so they no longer belong to Whet.
    """
    with writing(state):
        found = {made.path: made for made in _links(place, roots, projects)}
        kept = set_aside(state)
        write_record(state, Record(found))
        write_followers(state, ())
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
        junction = not os.path.islink(path)
        if text == target_of(root, source, "" if junction else folder, base):
            yield Made(path, real, base, root, source, client, "link", text, instead=junction)
