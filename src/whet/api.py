"""The front door: a `Library` is the skills of one place, always as they are on disk now.

    from whet import Library

    library = Library.open()
    for skill in library.list()["skills"]:
        print(skill["name"], "-", skill["description"])
    print(library.view("writing-skills")["content"])

Every call looks at the disk again (a few microseconds a skill), so that edits by anyone are seen; the snapshot in
`catalogue` only changes when something changed. A `Library` may be shared between threads: snapshots are immutable and
replaced as a whole.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict

from whet.errors import NotFoundError, RefusedError, UsageError, WhetError
from whet.library.cache import Cache
from whet.library.catalogue import Catalogue, assemble, competes, find, left_out
from whet.library.discovery import Bounds, Shelf, discover, revalidate, unchanged, undisturbed
from whet.library.readiness import LocalProbe, missing
from whet.library.report import Entry
from whet.library.repository import find_repository, is_same
from whet.library.roots import Place, Root, configured_roots, escaped_roots, explicit_roots, user_root
from whet.library.settings import PROJECT_FILE, config_path, read_project_settings, read_settings
from whet.library.state import Decisions
from whet.library.visibility import BY_COMMAND, PERSON, Caller, Disabled, hidden
from whet.skill.gates import OPEN
from whet.skill.names import key as name_key
from whet.store.clock import system_clock
from whet.store.home import user_home, whet_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.disclosure import Loaded, Opened
    from whet.library.readiness import Probe
    from whet.library.repository import Repository
    from whet.skill.model import Skill
    from whet.store.clock import Clock


class Change(TypedDict):
    """What a reload found, by name."""

    added: list[str]
    removed: list[str]
    changed: list[str]
    unchanged: int
    total: int


class Survey(NamedTuple):
    """What is decided before any skill is looked at."""

    roots: tuple[Root, ...]
    bounds: Bounds
    repository: Repository | None
    """The project, unless the roots were given explicitly."""
    disabled: Disabled
    notes: tuple[Entry, ...]
    """What is wrong with the settings."""


class _Snapshot(NamedTuple):
    """Everything one look at the disk brought."""

    survey: Survey
    shelves: tuple[Shelf, ...]
    catalogue: Catalogue


class Library:
    """The skills of one place. Make one with `Library.open`."""

    def __init__(self, place: Place, roots: Sequence[str] | None, *, clock: Clock, probe: Probe | None) -> None:
        self.place = place
        self.cache = Cache(place.state, clock)
        self.decisions = Decisions(place.state, clock)
        self._probe = probe
        self._explicit = None if roots is None else tuple(roots)
        self._clock = clock
        self._snapshot: _Snapshot | None = None
        self._reported: Catalogue | None = None
        """What the last reload told of; looking in between does not move it."""

    @classmethod
    def open(
        cls,
        roots: Sequence[str | os.PathLike[str]] | None = None,
        home: str | os.PathLike[str] | None = None,
        project: str | os.PathLike[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        platform: str = sys.platform,
        clock: Clock = system_clock,
        probe: Probe | None = None,
    ) -> Library:
        """Open the library of this machine and project, or of exactly the given `roots`.

        `home` is Whet's state directory (default: `$WHET_HOME`, else the platform's data directory), `project` the
        directory to look for project skills from (default: the working directory). Nothing is read yet.
        """
        env = os.environ if env is None else env
        if isinstance(roots, (str, os.PathLike)):
            roots = [roots]
        state = os.path.abspath(os.fspath(home)) if home is not None else whet_home(env, platform)
        directory = os.path.abspath(os.fspath(project)) if project is not None else _working_directory()
        if not os.path.isdir(directory):
            raise UsageError("no-such-project", f"There is no directory {directory}.", hint="Check --project.")
        named = None if roots is None else [os.fspath(root) for root in roots]
        if any("\0" in root for root in named or ()):
            raise UsageError("bad-root", "The path of a root has a NUL in it.", hint="Check --root.")
        person = (
            state if named is not None and not env.get("HOME") and platform != "win32" else user_home(env, platform)
        )
        place = Place(directory, person, state, platform, env)
        return cls(place, named, clock=clock, probe=probe)

    def close(self) -> None:
        """Let the databases go. The library can still be used; they are opened again when needed."""
        self.cache.close()
        self.decisions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # looking

    @property
    def probe(self) -> Probe:
        """What is asked whether a skill is ready: the one given, or this machine as it is now."""
        return self._probe or LocalProbe(self.place.env, self.place.platform)

    @property
    def catalogue(self) -> Catalogue:
        """The skills as they are on disk now."""
        return self._look().catalogue

    def reload(self) -> Change:
        """Look at the disk and tell what changed since the last reload, or since the first look of this library."""
        before = {card.full_name: card for card in self._reported.cards} if self._reported else {}
        self._reported = self.catalogue
        now = {card.full_name: card for card in self._reported.cards}
        added = [name for name in now if name not in before]
        removed = [name for name in before if name not in now]
        same = {name for name, card in now.items() if name in before and before[name].settled() == card.settled()}
        changed = [name for name in now if name in before and name not in same]
        return Change(added=added, removed=removed, changed=changed, unchanged=len(same), total=len(now))

    def survey(self) -> Survey:
        """Where skills are looked for now, and what is switched off."""
        place = self.place
        path, named = config_path(place.state, place.env), bool(place.env.get("WHET_CONFIG"))
        settings, notes = read_settings(path, home=place.home, named=named)
        off = [(name, surface, BY_COMMAND) for name, surface in self.decisions.disabled()]
        off.extend((name, "", "config.toml") for name in settings.disabled)
        off.extend((name, surface, "config.toml") for surface, names in settings.disabled_on for name in names)
        repository: Repository | None = None
        if self._explicit is not None:
            roots = explicit_roots(self._explicit, place)
        else:
            trusted = frozenset(item.identity for item in self.decisions.trusted())
            roots, repository = configured_roots(place, settings, trusted)
            notes = (*notes, *escaped_roots(place, settings, repository))
            if repository.identity in trusted:
                names, project_notes = read_project_settings(repository.root, home=place.home)
                off.extend((name, "", PROJECT_FILE) for name in names)
                notes = (*notes, *project_notes)
        bases = (*(root.real for root in roots if root.trusted), *(os.path.realpath(path) for path in settings.links))
        bounds = Bounds(settings.depth, settings.max_directories, bases)
        return Survey(roots, bounds, repository, Disabled(off), notes)

    def _look(self) -> _Snapshot:
        """Look at everything. Unchanged shelves, and the catalogue if all are unchanged, stay the same objects."""
        if self._snapshot is None:
            self._make_user_root()
        survey = self.survey()
        before = self._snapshot
        known: dict[Root, Shelf] = {}
        if before is not None and before.survey.bounds == survey.bounds:
            known = {shelf.root: shelf for shelf in before.shelves}
        now = self._clock()
        shelves = []
        for root in survey.roots:
            old = known.get(root) or (self.cache.shelf(root, survey.bounds) if root.trusted else None)
            bounds = survey.bounds
            if not root.trusted:  # its links may lead about in it, and nobody else's into it
                bounds = bounds._replace(bases=(*bounds.bases, root.real))
            shelf = discover(root, bounds, old, now)
            if shelf is not old:
                self.cache.save(shelf, old, bounds)
            shelves.append(shelf)
        same = before is not None and [*map(id, shelves)] == [*map(id, before.shelves)]
        catalogue = before.catalogue if before is not None and same else assemble(shelves)
        self._snapshot = _Snapshot(survey, tuple(shelves), catalogue)
        self._reported = self._reported or catalogue
        return self._snapshot

    def _make_user_root(self) -> None:
        """On a fresh machine, make the directory people put their skills in. Not being able to is no reason to fail."""
        if self._explicit is None:
            with suppress(OSError):
                os.makedirs(user_root(self.place), exist_ok=True)

    def find(self, name: str) -> Card:
        """The skill of that name, checked against the disk, without looking at the others where that is safe.

        A name that is known and unchanged is answered at a cost that grows only with the number of directories; else
        (unknown, changed, a qualified name, something that came or went where it would take precedence) means a full
        look. What this does not see is another skill, elsewhere, that was edited to take the same name: a list does.
        """
        return self._find(name)[0]

    def _find(self, name: str) -> tuple[Card, Survey]:
        survey, before = self.survey(), self._snapshot
        if before is None or (before.survey.roots, before.survey.bounds) == (survey.roots, survey.bounds):
            card = self._remembered(name_key(name), survey, before)
            if card is not None and revalidate(card) and self._undisturbed(card, survey, before):
                return card, survey
        snapshot = self._look()
        return find(snapshot.catalogue, name), snapshot.survey

    def _remembered(self, key: str, survey: Survey, snapshot: _Snapshot | None) -> Card | None:
        if snapshot is not None:
            return snapshot.catalogue.by_key.get(key)
        for root in survey.roots:
            if root.trusted and (cards := self.cache.cards(key, root, survey.bounds)):
                return cards[0]
        return None

    def _undisturbed(self, card: Card, survey: Survey, snapshot: _Snapshot | None) -> bool:
        """Has nothing come or gone, since they were last looked at, in the roots where a skill would beat this one?"""
        for root in (*competes(card, survey.roots), card.root):
            if snapshot is not None:
                shelf = next(shelf for shelf in snapshot.shelves if shelf.root == root)
                known, same = bool(shelf.containers), all(map(undisturbed, shelf.containers.values()))
            else:
                items = self.cache.containers(root, survey.bounds)
                known, same = bool(items), items is not None and all(map(unchanged, items))
            if not same or (not known and os.path.lexists(root.path)):
                return False
        return True

    # the three tiers

    def list(
        self,
        category: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        *,
        caller: Caller = PERSON,
        include_hidden: bool = False,
    ) -> dict[str, Any]:
        """Tier 1: names, descriptions and categories of the skills this caller may see; never a body."""
        from whet.library.listing import list_answer

        snapshot = self._look()
        disabled, probe = snapshot.survey.disabled, self.probe

        def describe(card: Card) -> dict[str, Any]:
            ready = card.gates is OPEN or not missing(card.gates, probe)
            answer = {**card.to_json(), "ready": ready}
            if include_hidden and (reason := hidden(card, caller, disabled, probe)):
                answer["hidden"] = reason.code
            return answer

        catalogue = snapshot.catalogue
        cards = catalogue.cards
        if not include_hidden:
            cards = tuple(card for card in cards if hidden(card, caller, disabled, probe) is None)
        answer = list_answer(
            cards,
            category=category,
            query=query,
            limit=limit,
            cursor=cursor,
            describe=describe,
            categories=catalogue.categories,
        )
        aside = {
            "waiting": len(catalogue.waiting),
            "hidden": len(catalogue.cards) - len(cards),
            "shadowed": len(catalogue.shadowed),
            "left_out": len(left_out(catalogue)),
            "missing_roots": [root.path for root in catalogue.roots if not os.path.isdir(root.real)],
        }
        return {**answer, **{key: value for key, value in aside.items() if value}}

    def view(
        self,
        name: str,
        file_path: str | None = None,
        page: int = 1,
        *,
        caller: Caller = PERSON,
        loaded: Loaded | None = None,
    ) -> dict[str, Any]:
        """Tier 2, one skill's instructions; with `file_path` tier 3, one of its files.

        With `loaded`, content this conversation has seen already is answered with a short stub. A skill hidden from a
        model is refused; a person may look at anything.
        """
        from whet.library.disclosure import file_answer, stub, view_answer

        card, survey = self._find(name)
        probe = self.probe
        reason = hidden(card, caller, survey.disabled, probe)
        if reason and caller.model:
            raise RefusedError(reason.code, f"{card.full_name} is not available: {reason.message}", hint=reason.hint)
        if file_path is not None:
            answer = file_answer(card, file_path, page=page, bases=survey.bounds.bases)
        else:
            answer = view_answer(self.open_card(card), probe, page=page)
            if reason:
                answer["hidden"] = reason._asdict()
        if loaded is not None and loaded.knows(card.path, file_path or "", page, answer["digest"]):
            return stub(card, file_path or "", page, answer["digest"])
        return answer

    def open_card(self, card: Card) -> Opened:
        """Read a skill in full: its typed form, its files, its digest."""
        from whet.library.disclosure import open_skill

        survey = self._snapshot.survey if self._snapshot else self.survey()
        return open_skill(card, cache=self.cache, now=self._clock(), bases=survey.bounds.bases)

    def skill(self, name: str) -> Skill:
        """The skill as a typed value."""
        return self.open_card(self.find(name)).skill

    def digest(self) -> str:
        """One digest over all skills: what this library amounts to."""
        from whet.skill.tree import library_digest

        return library_digest((card.qualified, self.open_card(card).digest) for card in self.catalogue.cards)

    # places

    def roots(self) -> dict[str, Any]:
        """Where skills are looked for, most important first, and how many are in each place."""
        roots = [
            {**shelf.root.to_json(), "exists": os.path.isdir(shelf.root.real), "skills": sum(1 for _ in shelf.cards())}
            for shelf in self._look().shelves
        ]
        return {"success": True, "roots": roots}

    def new_root(self, *, project: bool = False) -> str:
        """The directory a new skill goes to: the person's own, the first explicit root, or the project's."""
        if project:
            repository = self.survey().repository
            if repository is None:
                raise UsageError("no-project", "Explicit roots have no project.", hint="Leave out --root or --here.")
            return os.path.join(repository.root, ".agents", "skills")
        return self.survey().roots[0].path if self._explicit else user_root(self.place)

    # decisions

    def trusted(self) -> dict[str, Any]:
        """Every repository that is trusted, and since when."""
        from whet.store.clock import iso

        items = [{**item._asdict(), "since": iso(item.since)} for item in self.decisions.trusted()]
        return {"success": True, "trusted": items}

    def trust(self) -> dict[str, Any]:
        """Trust the repository around the project directory; its skills are loaded from now on."""
        return self._decide_trust(trusted=True)

    def untrust(self, path: str | None = None) -> dict[str, Any]:
        """Take that trust back; with a `path`, from the repository trusted under it, which may be gone by now."""
        if path is None:
            return self._decide_trust(trusted=False)
        wanted = os.path.abspath(path)
        identity = find_repository(wanted, home=self.place.home).identity if os.path.isdir(wanted) else wanted
        for item in self.decisions.trusted():
            if wanted == item.path or identity == item.identity:
                self.decisions.untrust(item.identity)
                return {"success": True, "project": item.path, "trusted": False, "changed": True, "skills": []}
        hint = "`whet trust --list` shows what is trusted."
        raise NotFoundError("not-trusted", f"{wanted} is not among the trusted repositories.", hint=hint)

    def _decide_trust(self, *, trusted: bool) -> dict[str, Any]:
        if self._explicit is not None:
            raise UsageError("no-project", "Explicit roots need no trust.", hint="Leave out --root.")
        if is_same(self.place.directory, self.place.home):
            hint = "Go to the project first, or name it with --project."
            raise UsageError("no-project", "The home directory is never a project.", hint=hint)
        repository = find_repository(self.place.directory, home=self.place.home)
        if trusted and not self._has_project(repository):
            hint = "Go to the project first, or name it with --project."
            raise UsageError("no-project", f"{repository.root} is no repository and has no skills.", hint=hint)
        if trusted:
            changed = self.decisions.trust(repository.identity, repository.root)
        else:
            changed = self.decisions.untrust(repository.identity)
        catalogue = self.catalogue
        names = [card.full_name for card in (*catalogue.cards, *catalogue.waiting) if card.scope == "project"]
        return {"success": True, "project": repository.root, "trusted": trusted, "changed": changed, "skills": names}

    def _has_project(self, repository: Repository) -> bool:
        """Is there anything to trust: a repository, or skills in the directory?"""
        marked = os.path.lexists(os.path.join(repository.root, ".git"))
        return marked or any(root.scope == "project" for root in self.survey().roots)

    def enable(self, name: str, surface: str = "") -> dict[str, Any]:
        """Offer a skill again, everywhere or on one surface."""
        return self._decide_enabled(name, surface, enabled=True)

    def disable(self, name: str, surface: str = "") -> dict[str, Any]:
        """Stop offering a skill, everywhere or on one surface."""
        return self._decide_enabled(name, surface, enabled=False)

    def _decide_enabled(self, name: str, surface: str, *, enabled: bool) -> dict[str, Any]:
        key = name_key(name)
        card: Card | None = None
        if (key, surface) not in self.decisions.disabled():
            card = self.find(name)
            # Asked for by its qualified name or its path, it is this one that is meant and not all of its name.
            key = card.key if key == card.key else name_key(card.qualified)
        if enabled:
            keys = {key} if card is None else {key, card.key, name_key(card.qualified)}
            changed = sum(self.decisions.enable(item, surface) for item in keys) > 0
        else:
            changed = self.decisions.disable(key, surface)
        answer = {"success": True, "name": key, "surface": surface, "enabled": enabled, "changed": changed, "hint": ""}
        disabled = self.survey().disabled
        if enabled and (source := disabled.source(card, surface) if card else disabled.by(key, surface)):
            answer["enabled"] = False
            answer["hint"] = f"It is still switched off by {source}."
        return answer

    # telling

    def report(self) -> tuple[Entry, ...]:
        """Everything that is wrong or surprising about what is on disk; `whet doctor` adds a look at the machine."""
        snapshot = self._look()
        entries, probe = [*snapshot.survey.notes, *snapshot.catalogue.report()], self.probe
        for card in snapshot.catalogue.cards:
            if card.description and (reason := hidden(card, PERSON, snapshot.survey.disabled, probe)):
                entries.append(Entry(reason.code, "info", card.full_name, card.path, reason.message, reason.hint))
        if self.cache.problem:
            entries.append(self.cache.problem)
        return tuple(entries)

    def doctor(self) -> tuple[Entry, ...]:
        """The report, and what a closer look at the machine brings up, worst first.

        A library that cannot be looked at at all, such as one with a damaged state database, still gets a report.
        """
        from whet.library.doctor import examine, examine_state, worst_first

        entries = list(examine_state(self.place.state))
        try:
            entries.extend((*self.report(), *examine(self.catalogue, self.probe)))
        except WhetError as error:
            if error.code not in {entry.code for entry in entries}:
                entries.append(Entry(error.code, "error", "", "", error.message, error.hint))
        return worst_first(entries)

    def repair(self) -> dict[str, Any]:
        """Mend what can be mended without asking, and tell what was done and what is lost."""
        from whet.library.doctor import repair_roots, repair_state

        self.decisions.close()
        state = repair_state(self.place.state)
        roots = repair_roots(root for root in self.survey().roots if root.trusted)
        return {"repaired": [*state.done, *roots.done], "lost": [*state.lost, *roots.lost]}

    def watch(self) -> Iterator[Change]:
        """Wait for changes and tell them as they happen. Needs the `watch` extra; nothing else does."""
        from whet.library.watch import wait_for_changes

        roots = self._look().survey.roots
        for _ in wait_for_changes([root.real for root in roots]):
            change = self.reload()
            if change["added"] or change["removed"] or change["changed"]:
                yield change


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        hint = "Go to a directory that exists, or name one with --project."
        raise UsageError("no-such-project", "The working directory is not there any more.", hint=hint) from error
