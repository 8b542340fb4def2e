"""The plan of a sync: each skill of the root for each client, compared with the files on disk.

A plan never changes anything that sync did not make: not a skill of the same name, not an edited copy, not a link of
another tool. Each of these is listed with the reason why it is left alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.authoring.trees import digest
from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.clients import CLIENTS, DIRECTORIES, Directory, client_named, describe_obstruction
from whet.library.files import inside, read_file
from whet.library.package import find_skills, read_tree
from whet.library.repository import find_repository, is_same
from whet.skill.finder import LIBRARY, MAIN_FILE
from whet.skill.frontmatter import MAX_DOCUMENT, read_document
from whet.skill.names import closest
from whet.skill.template import may_be_draft
from whet.sources.sync.record import How, Made, Record, content_digest, read_record, standing
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from whet.library.roots import Place
    from whet.store.state import StateDatabase

_SHARED = ".agents/skills"
_IGNORING = frozenset(client.name for client in CLIENTS if client.ignores_users_only)
"""Clients that show their model skills that are for users only."""

State = Literal[
    "make",
    "refresh",
    "replace",
    "remove",
    "fine",
    "edited",
    "same",
    "in-the-way",
    "broken",
    "unreadable",
    "name-taken",
    "same-place",
    "reads-itself",
    "no-directory",
    "outside",
    "refused",
    "disabled",
    "users-only",
    "manual",
    "draft",
]
MAKING = ("make", "refresh", "replace")
ACTIONS = (*MAKING, "remove")
"""States that require an action."""

MESSAGES: dict[State, str] = {
    "make": "It will be made.",
    "refresh": "The skill has changed; the copy will be updated.",
    "replace": "It will be remade with the current settings.",
    "remove": "The skill is gone; this will be removed.",
    "fine": "It is up to date.",
    "edited": "This copy was edited; Whet leaves it alone.",
    "same": "The same skill is already there; Whet leaves it alone.",
    "in-the-way": "Something else is there; Whet leaves it alone.",
    "broken": "A broken link is there; Whet leaves it alone.",
    "name-taken": "Another skill with this name takes precedence.",
    "same-place": "It is the same directory as the root.",
    "reads-itself": "It reads .agents/skills itself and needs no link.",
    "no-directory": "It has no skill directory there.",
    "outside": "It is outside the project.",
    "refused": "Whet does not load this skill, so no client gets it.",
    "disabled": "It is disabled. `whet enable` gives it to clients again.",
    "users-only": "It is for users only, and this client shows it to its model. Name it with `--skill` to sync it.",
    "manual": "You list it as `manual`, and this client would show it to its model. Name it with `--skill` to sync it.",
    "draft": "It is a draft. Finish it and sync again, or name it with `--skill`.",
}


class Step(NamedTuple):
    """One skill for one client, or, without a name, one client."""

    client: str
    name: str
    path: str
    state: State
    how: How = "link"
    source: str = ""
    """Directory of the skill, relative to the root."""
    target: str = ""
    """Target of the link."""
    digest: str = ""
    """Digest of the copy."""
    message: str = ""

    def to_json(self) -> Json:
        """Return the step as JSON."""
        return fields_json(self)


class SyncPlan(NamedTuple):
    """The steps of a sync."""

    root: str
    base: str
    how: How
    project: bool
    clients: tuple[str, ...]
    names: tuple[str, ...]
    force: bool
    steps: tuple[Step, ...]
    refused: tuple[tuple[str, str], ...] = ()
    """Directories of skills that Whet itself does not load, with the reasons."""
    manual: tuple[str, ...] = ()
    """Directories of skills that are listed as `manual`."""
    disabled: tuple[tuple[str, str], ...] = ()
    """Directories of disabled skills, each with a client that does not get it."""
    only: tuple[str, ...] = ()
    """Paths of the skills to sync, relative to the root; empty for all skills."""

    def to_json(self) -> Json:
        """Return the plan as JSON."""
        return fields_json(self)


def plan_sync(
    place: Place,
    state: StateDatabase,
    root: str,
    clients: Collection[str],
    *,
    how: How,
    project: bool = False,
    names: Collection[str] = (),
    force: bool = False,
    refused: Collection[tuple[str, str]] = (),
    manual: Collection[str] = (),
    disabled: Collection[tuple[str, str]] = (),
    only: Collection[str] = (),
) -> SyncPlan:
    """Plan to give these clients the skills of the root; without clients, all that this user has.

    Clients that read the root themselves get nothing unless `force` is true. With `names`, only those skills are
    synced. No client gets a skill whose directory is `refused`, `disabled` for it, or `manual` and not in `names`:
    existing links and copies of it are removed. With `only`, skills with other paths are left alone.
    """
    root, base = os.path.abspath(root), base_of(place, project=project)
    check_root(root, base, project=project)
    chosen = named(clients) or present_clients(place)
    record = read_record(state)
    kept = (tuple(refused), tuple(manual), tuple(disabled), tuple(only))
    denied = (dict(refused), frozenset(manual), frozenset(disabled))
    looking = _Looking(root, base, how, record, frozenset(names), frozenset(only), *denied)
    looking.check_names()
    steps: list[Step] = []
    for folder in folders(place, root, chosen, project=project):
        forced = force or any(made.client == folder.client and made.root == root for made in looking.mine.values())
        steps.extend(looking.client(folder, project=project, force=forced))
    return SyncPlan(root, base, how, project, chosen, tuple(names), force, tuple(steps), *kept)


class _Looking:
    """Finds the steps for one root and one way to sync."""

    def __init__(
        self,
        root: str,
        base: str,
        how: How,
        record: Record,
        names: Collection[str],
        only: Collection[str],
        refused: Mapping[str, str],
        manual: Collection[str],
        disabled: Collection[tuple[str, str]],
    ) -> None:
        self.root = root
        self.base = base
        self.how = how
        self.names = names
        self.only = only
        self.refused = refused
        self.manual = manual
        self.disabled = disabled
        self.skills = skills_below(root)
        self.mine = {path: made for path, made in record.made.items() if made.base == base and not made.away}
        self.digests: dict[str, str] = {}

    def check_names(self) -> None:
        """Raise NotFoundError for a name that is neither a skill nor in the record."""
        known = {*self.skills.values(), *(made.name for made in self.mine.values())}
        for name in self.names:
            if name not in known:
                near = list(closest(name, known))
                hint = f"Did you mean {', '.join(near)}?" if near else "`whet list` shows your skills."
                message = f"There is no skill {name!r} in {self.root}."
                raise NotFoundError("skill-not-found", message, hint=hint, suggestions=near)

    def client(self, folder: Folder, *, project: bool, force: bool) -> Iterator[Step]:
        """Yield the steps for one client."""
        state: State | None = None
        if not folder.path:
            state = "no-directory"
        elif is_same(folder.path, self.root):
            state = "same-place"
        elif obstruction := describe_obstruction(folder.path):
            yield Step(folder.client, "", folder.path, "in-the-way", message=obstruction)
            return
        elif project and not inside(os.path.realpath(folder.path), os.path.realpath(self.base)):
            state = "outside"
        elif folder.reads and not force:
            state = "reads-itself"
        if state:
            yield Step(folder.client, "", folder.path, state, message=MESSAGES[state])
            return
        taken: dict[str, str] = {}
        for source, name in self.skills.items():
            path = os.path.join(folder.path, name)
            if self.only and source not in self.only:
                taken.setdefault(name.casefold(), source)
                continue
            if denied := self.denied(folder.client, source):
                if not self.names or name in self.names:
                    message = f"{MESSAGES[denied]} {self.refused.get(_join(self.root, source), '')}".rstrip()
                    yield Step(folder.client, name, path, denied, self.how, source, message=message)
                continue
            if not self.names and (shown := self.shown_to_models(folder.client, source)):
                yield Step(folder.client, name, path, shown, self.how, source, message=MESSAGES[shown])
                continue
            first = taken.setdefault(name.casefold(), source)
            if self.names and name not in self.names:
                continue
            if first != source:
                message = f"{MESSAGES['name-taken']} It is {first}."
                yield Step(folder.client, name, path, "name-taken", self.how, source, message=message)
            else:
                yield self.skill(folder, source, path)
        yield from self.gone(folder, taken)

    def skill(self, folder: Folder, source: str, path: str) -> Step:
        """Return the step for one skill of one client."""
        made = self.mine.get(path)
        # A junction or copy in place of a link that could not be made stays.
        how: How = made.how if made and made.instead and self.how == "link" else self.how
        step = Step(folder.client, os.path.basename(path), path, "make", how, source)
        if how == "copy":
            try:
                step = step._replace(digest=self.digest(source))
            except WhetError as error:
                return step._replace(state="unreadable", message=error.message)
        else:
            junction = made is not None and made.instead and made.how == "link"
            target = target_of(self.root, source, "" if junction else folder.path, self.base)
            step = step._replace(target=target)
        state = self.own(made, step) if made else ""
        if not state:
            state = self.foreign(step) if os.path.lexists(path) else "make" if self.is_finished(source) else "draft"
        return step._replace(state=state, message=MESSAGES[state])

    def own(self, made: Made, step: Step) -> State | Literal[""]:
        """Return the state of one of our links or copies; "" if it is no longer ours."""
        found = standing(made)
        if found in ("gone", "other"):
            return ""
        if made.how != step.how:
            return "replace" if found == "ours" else "edited"
        if made.how == "link":
            return "fine" if made.target == step.target else "replace"
        if content_digest(made.path) == step.digest:
            return "fine" if found == "ours" else "same"
        return "refresh" if found == "ours" else "edited"

    def foreign(self, step: Step) -> State:
        """Return the state for a path that belongs to others."""
        source = os.path.join(self.root, *step.source.split("/"))
        if is_same(step.path, source):
            return "same"
        if not os.path.exists(step.path):
            return "broken"
        content = content_digest(step.path) if os.path.isdir(step.path) else ""
        return "same" if content and content == content_digest(source) else "in-the-way"

    def gone(self, folder: Folder, taken: Collection[str]) -> Iterator[Step]:
        """Yield the steps for links and copies of skills that are no longer in the root."""
        for made in self.mine.values():
            if made.client != folder.client or made.root != self.root or made.name.casefold() in taken:
                continue
            if (self.names and made.name not in self.names) or (self.only and made.source not in self.only):
                continue
            found = standing(made)
            if found in ("ours", "edited"):
                state: State = "remove" if found == "ours" else "edited"
                yield Step(made.client, made.name, made.path, state, made.how, made.source, message=MESSAGES[state])

    def denied(self, client: str, source: str) -> Literal["refused", "disabled", ""]:
        """Return why this client does not get the skill, even by name, or ""."""
        directory = _join(self.root, source)
        if directory in self.refused:
            return "refused"
        return "disabled" if (directory, client) in self.disabled else ""

    def shown_to_models(self, client: str, source: str) -> Literal["users-only", "manual", ""]:
        """Return why the model of this client would see a skill that it should not, or ""."""
        manual = _join(self.root, source) in self.manual
        if client in _IGNORING:
            return "users-only" if self.is_for_users(source) else "manual" if manual else ""
        return "manual" if manual and not self.is_for_users(source) else ""

    def is_for_users(self, source: str) -> bool:
        """Return whether the skill says that models should not see it."""
        data = self.read(source)
        if b"disable-model-invocation" not in data:
            return False
        values = read_document(data.decode("utf-8", "replace")).values
        return str(values.get("disable-model-invocation", "")).lower() == "true"

    def is_finished(self, source: str) -> bool:
        """Return whether no template text is left in the skill; always true if skills are named."""
        text = "" if self.names else self.read(source).decode("utf-8", "replace")
        if not may_be_draft(text):
            return True
        from whet.skill.validate.quality import check_leftovers

        return not any(check_leftovers(read_document(text)))

    def read(self, source: str) -> bytes:
        """Read the main file of a skill; return b"" if it cannot be read."""
        try:
            return read_file(_join(self.root, f"{source}/{MAIN_FILE}"), MAX_DOCUMENT)
        except OSError:
            return b""

    def digest(self, source: str) -> str:
        """Return the digest of a skill, computed once."""
        if source not in self.digests:
            self.digests[source] = digest(read_tree(os.path.join(self.root, *source.split("/"))))
        return self.digests[source]


# --- the skills of a root and the directories of clients --------------------------------------------------------------


class Folder(NamedTuple):
    """The skills directory of a client."""

    client: str
    path: str
    """Empty if the client has none."""
    reads: bool
    """Whether the client reads the root itself."""


def named(clients: Collection[str]) -> tuple[str, ...]:
    """Return the directory names of these clients, in any spelling. Raise NotFoundError."""
    known = known_clients()
    owners = {client.name: client.directory.client for client in CLIENTS if client.directory.client in known}
    return tuple(name if name in known else owners[client_named(name, owners).name] for name in clients)


def base_of(place: Place, *, project: bool) -> str:
    """Return the directory that clients' directories are relative to: the repository, or the home."""
    return find_repository(place.directory, home=place.home).root if project else place.home


def known_clients() -> tuple[str, ...]:
    """Return every client that skills can be synced to."""
    return tuple(one.client for one in _directories())


def present_clients(place: Place) -> tuple[str, ...]:
    """Return the clients of this user: those with their own directory in the home."""
    return tuple(one.client for one in _directories() if os.path.isdir(os.path.dirname(_join(place.home, one.user))))


def folders(place: Place, root: str, names: Collection[str], *, project: bool) -> tuple[Folder, ...]:
    """Return the directories of these clients."""
    base = base_of(place, project=project)
    shared = is_same(root, os.path.join(base, ".agents", "skills"))
    readers = {one.directory.client for one in CLIENTS if _SHARED in (one.project if project else one.user)}
    return tuple(
        Folder(
            one.client,
            _join(base, relative) if (relative := one.project if project else one.user) else "",
            shared and one.client in readers,
        )
        for one in _directories()
        if one.client in names
    )


def check_root(root: str, base: str, *, project: bool) -> None:
    """Raise an error if a root is missing, or if links from a project to it would leave the project.

    The usual directory of skills may be missing.
    """
    if not os.path.isdir(root) and (os.path.lexists(root) or root != _join(base, _SHARED)):
        hint = "Put skills there first. `whet sync --undo` removes what was synced."
        raise NotFoundError("path-not-found", f"There is no directory {root}.", hint=hint, path=root)
    if project and not inside(os.path.realpath(root), os.path.realpath(base)):
        hint = "Sync a project's own .agents/skills, or sync for the user."
        raise UsageError("sync-outside", f"{root} is outside the project {base}.", hint=hint, path=root)


def skills_below(root: str) -> dict[str, str]:
    """Return the skills of a root: relative path -> name of the directory, in order.

    As in a library, but a link may lead to a skill and not to a whole category, and the root itself is not a skill.
    """
    found, problems = find_skills(root, LIBRARY) if os.path.isdir(root) else ((), ())
    for _, problem in problems:
        if problem.code != "too-deep":
            raise problem
    return {path: path.rpartition("/")[2] for path in found if path}


def target_of(root: str, source: str, folder: str, base: str) -> str:
    """Return the target of a link in `folder` to a skill: relative, so that both can move together.

    A junction (no `folder`) has the absolute path.
    """
    full = _join(start_of(root, base), source)
    if not folder:
        return full
    try:
        return os.path.relpath(full, os.path.realpath(folder))
    except ValueError:  # on another drive
        return full


def start_of(root: str, base: str) -> str:
    """Return the root as links use it: below the real base, by its own name, which may be a link that changes later."""
    lexical, below = os.path.normpath(root), os.path.normpath(base)
    if inside(lexical, below):
        return os.path.normpath(os.path.join(os.path.realpath(base), os.path.relpath(lexical, below)))
    return os.path.realpath(root)


def _directories() -> tuple[Directory, ...]:
    """Return the directories that can be synced to: not the root itself, and none that its client fills."""
    return tuple(one for one in DIRECTORIES if one.role == "own" and one.client != "agents")


def _join(base: str, relative: str) -> str:
    return os.path.join(base, *(part for part in relative.split("/") if part))
