"""Your decisions: which projects to trust, which skills to disable or pin, and bundles."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.commits import Commit
from whet.authoring.writer import USER
from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError, WhetError, path_text
from whet.library.repository import find_remotes, find_repository, is_same
from whet.library.settings import LISTING, PROJECT_FILE, SETTINGS, Settings, config_path, read_project_settings
from whet.library.state import Trusted
from whet.library.visibility import PERSON
from whet.notes import read_replacement
from whet.skill.names import key as name_key
from whet.sources.lock.pins import read_entry, read_pin, read_pinned, write_pinned
from whet.values import Json, Rows, answer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whet.api.sources import SkillSources
    from whet.authoring.history import History
    from whet.authoring.journal import Entry
    from whet.authoring.writer import Provenance
    from whet.library.bundles import Bundle
    from whet.library.card import Card
    from whet.library.repository import Repository
    from whet.library.roots import Root
    from whet.library.trust import SkillDecision
    from whet.library.workspace import Workspace
    from whet.notes import Note
    from whet.prompt.requests import Unavailable
    from whet.store.locks import FileLock

_LOCK_SECONDS = 10.0
_GO_THERE = "Change to the project first, or pass it with `--project`."


class TrustedRepositories(Rows[Trusted]):
    """All trusted repositories and directories."""

    __slots__ = ()

    def to_json(self) -> Json:
        """Return the repositories as JSON."""
        return {"success": True, "trusted": [item.to_json() for item in self]}


class Trust(NamedTuple):
    """Whether a repository, or a directory that links lead into, is trusted now."""

    project: str
    trusted: bool
    changed: bool
    """Whether this call changed the decision."""
    skills: tuple[str, ...] = ()
    verdicts: tuple[SkillDecision, ...] | None = None
    """The guard's decision about each skill; None when trust is revoked."""

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        answer = answer_json(self._replace(verdicts=None))
        del answer["verdicts"]
        return answer if self.verdicts is None else answer | {"verdicts": [item.to_json() for item in self.verdicts]}


class Switch(NamedTuple):
    """Whether a skill is offered now."""

    name: str
    surface: str
    """The surface; "" for all surfaces."""
    enabled: bool
    changed: bool
    """Whether this call changed the decision."""
    hint: str = ""
    """The settings file that still disables the skill, in a sentence."""
    notes: tuple[str, ...] = ()
    """Sentences about its links and copies for clients, and about clients that still load it."""

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        answer = answer_json(self)
        return answer if self.notes else {name: value for name, value in answer.items() if name != "notes"}


class PinChange(NamedTuple):
    """Whether a skill is pinned now."""

    name: str
    pinned: bool
    changed: bool
    """Whether this call changed the decision."""

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        return answer_json(self)


class ListingChange(NamedTuple):
    """The way a skill is listed for models from now on."""

    name: str
    mode: str
    """One of `always`, `normal`, `name`, `manual`."""
    project: str
    """The project that the decision is for; "" for everywhere."""
    changed: bool
    """Whether this call changed the decision."""
    hint: str = ""
    """The setting that still lists the skill in another way, in a sentence."""

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        return answer_json(self)


class Bundles(Rows["Bundle"]):
    """The bundles that apply here."""

    __slots__ = ("default", "in_use", "notes")

    def __init__(self, bundles: Sequence[Bundle], notes: tuple[Note, ...], in_use: str = "", default: str = "") -> None:
        super().__init__(bundles)
        self.in_use = in_use
        self.default = default
        """The command of the default bundle; "" if there is none."""
        self.notes = notes
        """Problems of the bundle files."""

    def to_json(self) -> Json:
        """Return the bundles as JSON."""
        report = [note.to_json() for note in self.notes]
        bundles = [bundle.to_json() for bundle in self]
        return {"success": True, "bundles": bundles, "in_use": self.in_use, "default": self.default, "report": report}


class BundleView(NamedTuple):
    """A bundle, and the reasons why parts of it cannot be used."""

    bundle: Bundle
    missing: tuple[Unavailable, ...]
    """Its unavailable skills, each with the reason."""
    notes: tuple[Note, ...] | None = None
    """Commands that now mean something else; None unless the bundle was just saved."""

    def to_json(self) -> Json:
        """Return the bundle as JSON."""
        answer = {"success": True, **self.bundle.to_json(), "missing": [item._asdict() for item in self.missing]}
        return answer if self.notes is None else answer | {"report": [note.to_json() for note in self.notes]}


class BundleUse(NamedTuple):
    """The bundle that a project uses from now on."""

    project: str
    bundle: str
    """The command of the bundle; "" if every skill is offered."""
    changed: bool
    """Whether this call changed the decision."""
    skills: tuple[str, ...] = ()
    missing: tuple[Unavailable, ...] = ()
    """Its unavailable skills, each with the reason."""

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        return {**answer_json(self), "missing": [item._asdict() for item in self.missing]}


class RemovedBundle(NamedTuple):
    """A bundle that was removed."""

    bundle: Bundle
    kept: str
    """The new path of its file."""

    def to_json(self) -> Json:
        """Return the bundle as JSON."""
        return {"success": True, **self.bundle.to_json(), "kept": self.kept}


class RootView(NamedTuple):
    """A directory where Whet looks for skills."""

    root: Root
    exists: bool
    skills: int
    """Number of skills in it."""

    def to_json(self) -> Json:
        """Return the root as JSON."""
        return {**self.root.to_json(), "exists": self.exists, "skills": self.skills}


class Roots(Rows[RootView]):
    """The directories where Whet looks for skills, most important first."""

    __slots__ = ()

    def to_json(self) -> Json:
        """Return the roots as JSON."""
        return {"success": True, "roots": [root.to_json() for root in self]}


class SettingValue(NamedTuple):
    """One setting as it applies here."""

    name: str
    value: Any
    default: Any
    help: str

    @property
    def changed(self) -> bool:
        """Whether the value differs from the default."""
        return bool(self.value != self.default)


class SettingValues(NamedTuple):
    """The settings that apply here, and the files they come from."""

    file: str
    """Your own `config.toml`."""
    exists: bool
    """False if you have not written it yet."""
    project_file: str
    """The `.whet.toml` of this project; "" if there is none or the project is not trusted."""
    machine_file: str
    """The administrator's policy for this machine; "" if there is none."""
    settings: tuple[SettingValue, ...]
    notes: tuple[Note, ...] = ()
    """Values that Whet cannot use, and names that are not settings."""

    def to_json(self) -> Json:
        """Return the settings as JSON."""
        return answer_json(self)


class SkillSettings:
    """Your decisions about the skills of one library."""

    def __init__(
        self,
        workspace: Workspace,
        sources: Callable[[], SkillSources],
        history: Callable[[], History],
    ) -> None:
        self._workspace = workspace
        self._decisions = workspace.decisions
        self._sources = sources
        self._history = history

    # trust

    def trusted(self) -> TrustedRepositories:
        """Return all trusted repositories and directories, and since when they are trusted."""
        return TrustedRepositories(self._decisions.trusted())

    def trust(self, path: str | os.PathLike[str] | None = None) -> Trust:
        """Trust the repository around the project directory; its skills are loaded from now on.

        They are scanned first; skills that the policy does not allow stay hidden, and `verdicts` lists them all.
        `review` shows the same beforehand. Raises UsageError `no-project` if there is nothing to trust.

        With a `path`, trust that directory of skills, or the one that a link leads to: links in a root may lead there.
        """
        return self._trust(None if path is None else path_text(path))[0]

    def _trust(self, path: str | None, by: Provenance = USER) -> tuple[Trust, Commit]:
        """Trust a directory or this repository; return the trust and the entry in the history."""
        if path is not None:
            return self._trust_directory(path, by)
        return self._trust_project(self._workspace, self._project(), by)

    def _trust_project(self, there: Workspace, repository: Repository, by: Provenance) -> tuple[Trust, Commit]:
        """Trust the repository that a workspace is in."""
        from whet.library.trust import remember, review_project

        if not _has_skills(there, repository):
            raise UsageError("no-project", f"{repository.root} is not a repository and has no skills.", hint=_GO_THERE)
        self._check_allowed(repository)
        read_project_settings(repository.root, home=there.place.home)  # it must be readable before it is trusted
        gate = self._workspace.gate
        found = review_project(gate, there.snapshot())  # before any skill is loaded
        remember(gate, self._decisions, found, "trust", "user")
        made = self._set_trust(repository.identity, repository.root, trusted=True, by=by)
        return Trust(repository.root, True, bool(made.entries), _project_skills(there), found), made

    def _check_allowed(self, repository: Repository) -> None:
        """Raise RefusedError for a repository from a source that the policy of this machine does not allow."""
        machine = self._workspace.config().machine
        other = next((each for each in find_remotes(repository) if machine and not machine.allows(each)), "")
        if machine and other:
            message = f"The policy of this machine does not allow the source {other} of this repository."
            hint = f"{machine.path} lists the sources that are allowed."
            raise RefusedError("source-not-allowed", message, hint=hint)

    def _set_trust(self, identity: str, path: str, *, trusted: bool, by: Provenance = USER) -> Commit:
        """Trust a repository or a directory, or stop trusting it, and record that in the history."""
        with self._workspace.state.write():
            done = self._decisions.trust(identity, path) if trusted else self._decisions.untrust(identity)
            action, name = "trust" if trusted else "untrust", os.path.basename(path)
            return self._history().decide(action, name, path, identity, by=by) if done else Commit(())

    def _trust_directory(self, path: str, by: Provenance) -> tuple[Trust, Commit]:
        """Allow links into a directory, unless the policy blocks one of the skills in it."""
        from whet.library.trust import link_target, remember, review_directory

        workspace = self._workspace
        directory = link_target(os.path.join(workspace.place.directory, path), workspace.place.home)
        found = review_directory(workspace.gate, workspace.config(), directory, workspace.clock())
        remember(workspace.gate, self._decisions, found, "trust", "user")
        if blocked := [item for item in found if item.decision.action == "block"]:
            message = f"{blocked[0].card.name} in {directory} is blocked: {blocked[0].decision.reason}"
            hint = "Read it. To load it anyway, add its directory to `links` in config.toml."
            raise RefusedError("guard-blocked", message, hint=hint)
        made = self._set_trust(directory, directory, trusted=True, by=by)
        return Trust(directory, True, bool(made.entries), tuple(item.card.name for item in found), found), made

    def untrust(self, path: str | os.PathLike[str] | None = None) -> Trust:
        """Stop trusting the repository or, with a `path`, what is trusted under it, which may no longer exist."""
        if path is None:
            repository = self._project()
            changed = self._set_trust(repository.identity, repository.root, trusted=False)
            return Trust(repository.root, False, bool(changed.entries), _project_skills(self._workspace))
        wanted, home = os.path.abspath(path_text(path)), self._workspace.place.home
        identity = find_repository(wanted, home=home).identity if os.path.isdir(wanted) else wanted
        for item in self._decisions.trusted():
            if wanted == item.path or item.identity in (identity, os.path.realpath(wanted)):
                self._set_trust(item.identity, item.path, trusted=False)
                return Trust(item.path, False, True)
        hint = "`whet guard trust --list` shows what is trusted."
        raise NotFoundError("not-trusted", f"{wanted} is not trusted.", hint=hint)

    def _project(self) -> Repository:
        """Return the repository around the project directory. Raises UsageError `no-project`."""
        place = self._workspace.place
        if self._workspace.explicit is not None:
            raise UsageError("no-project", "Explicit roots do not need trust.", hint="Leave out --root.")
        if is_same(place.directory, place.home):
            raise UsageError("no-project", "The home directory is never a project.", hint=_GO_THERE)
        return find_repository(place.directory, home=place.home)

    # offered skills

    def disabled(self, surface: str | None = None) -> list[Card]:
        """Return the skills that `disable` disabled on a surface ("": everywhere; None: on any). Files can disable
        more.
        """
        off = {key for key, where in self._decisions.disabled() if surface in (None, where)}
        return [card for card in self._workspace.snapshot().catalogue.cards if not off.isdisjoint(card.known_as)]

    def enable(self, name: str, surface: str = "") -> Switch:
        """Offer a skill again, everywhere or on one surface, such as a client.

        `enabled` is false, and `hint` says why, if a settings file still disables it. Links for clients that were
        removed when it was disabled are made again.
        """
        keys, known_as, card = self._disabled_keys(name, surface)
        if card is not None:
            made, notes = self._history().switch(card, [surface] if surface else None, on=True)
            changed = bool(made)
        else:
            changed, notes = sum([self._decisions.enable(key, surface) for key in keys]) > 0, ()
        disabled = self._workspace.config().disabled
        source = next((found for key in (*keys, known_as) if (found := disabled.by(key, surface))), None)
        hint = f"It is still disabled by {source}." if source else ""
        return Switch(known_as, surface, not source, changed, hint, notes)

    def disable(self, name: str, surface: str = "") -> Switch:
        """Stop offering a skill, everywhere or on one surface, such as `cli` or a client. It stays on disk.

        Its links and copies for clients are removed; `notes` names the clients that still load it.
        """
        _, known_as, card = self._disabled_keys(name, surface)
        if card is None:
            return Switch(known_as, surface, False, False)
        made, notes = self._history().switch(card, [surface], on=False)
        return Switch(known_as, surface, False, bool(made), notes=(*notes, *self._name_loaders(card, surface)))

    def _name_loaders(self, card: Card, surface: str) -> Iterator[str]:
        """Yield sentences about the clients that load a disabled skill directly from its directory."""
        if self._workspace.explicit is not None:
            return
        from whet.library.client_lists import describe_hiding, list_for
        from whet.library.clients import present_clients

        place = self._workspace.place
        chosen = [client for client in present_clients(place) if surface in ("", client.name)]
        lists = (list_for(client, place, {card.resolved}) for client in chosen)
        loading = [found for found in lists if found.skills]
        if titles := [found.title for found in loading]:
            verbs = ("reads", "loads") if len(titles) == 1 else ("read", "load")
            where = os.path.dirname(card.location)
            yield f"{' and '.join(titles)} {verbs[0]} {where} directly and still {verbs[1]} it."
            yield describe_hiding(card.path, loading)

    def _disabled_keys(self, name: str, surface: str) -> tuple[Sequence[str], str, Card | None]:
        """Return the keys of a skill, the name that was meant, and the skill; None if the skill no longer exists."""
        wanted = name_key(name)
        try:
            card, _ = self._workspace.find(name)
        except WhetError:
            off = self._decisions.disabled()
            keys = [key for key, where in off if where == surface and _is_named(key, wanted)]
            if not keys:
                raise
            return keys, wanted, None
        return card.known_as, wanted if wanted == card.key else card.known_as[-1], card

    def list_as(self, name: str, mode: str, *, here: bool = False) -> ListingChange:
        """Set how a skill is listed for models: `always`, `normal`, `name` (without its description) or `manual`.

        With `here`, for this project only. `hint` names the setting that still lists it in another way.
        """
        if mode not in LISTING:
            message = f"{mode!r} is not a way to list a skill."
            raise UsageError("bad-listing", message, hint=f"Use one of {', '.join(LISTING)}.")
        card, config = self._workspace.find(name)
        project = config.repository if here else None
        if here and project is None:
            raise UsageError("no-project", "Explicit roots have no project.", hint="Leave out --root.")
        where = project.identity if project else ""
        said = {(key, place): way for key, place, way in self._decisions.recall().listed}
        changed = not (said.get((str(card.id), where), "normal") == mode == config.disabled.listed(card).mode)
        if changed:
            self._set_listing(card, mode, where)
        now = self._workspace.config().disabled.listed(card)
        hint = "" if now.mode == mode else f"It is listed as `{now.mode}` by {now.source}."
        return ListingChange(card.full_name, mode, project.root if project else "", changed, hint)

    def _set_listing(self, card: Card, mode: str, project: str, by: Provenance = USER) -> Commit:
        """Set how a skill is listed, everywhere or in a project, and record that in the history."""
        with self._workspace.state.write():
            said = {(key, place): way for key, place, way in self._decisions.recall().listed}
            before = said.get((str(card.id), project), "normal")
            self._decisions.list_as(str(card.id), mode, project)
            origin = f"{before} -> {mode}{f' in {project}' if project else ''}"
            return self._history().decide("list-as", card.name, card.place, origin, by=by)

    # pins

    def pinned(self) -> list[Card]:
        """Return the pinned skills."""
        pins, locked = self._decisions.pins(), self._sources().pins()
        return [
            card
            for card in self._workspace.snapshot().catalogue.cards
            if not pins.keys().isdisjoint(card.known_as) or os.path.realpath(card.directory) in locked
        ]

    def pin(self, name: str, reason: str = "") -> PinChange:
        """Pin this skill: updates and the curator leave it alone until `unpin`.

        A reason replaces that of an earlier pin; without one, an earlier reason stays.
        """
        card, _ = self._workspace.find(name)
        made = self._set_pin(card, reason or read_pin(card, self._workspace, read_entry(card)) or "")
        return PinChange(card.name, True, bool(made.entries))

    def _set_pin(self, card: Card, reason: str | None, by: Provenance = USER) -> Commit:
        """Pin a skill, or unpin it if `reason` is None, and record that in the history with the reason of the earlier
        pin.
        """
        before = read_pin(card, self._workspace, read_entry(card))
        changed = self._sources().set_pin(card.directory, card.name, write_pinned(reason)) or before != reason
        with self._workspace.state.write():
            if reason is None:
                changed = self._decisions.unpin(*card.known_as) or changed
            else:
                self._decisions.pin(str(card.id), reason)
            if not changed:
                return Commit(())
            by, action = by._replace(reason=by.reason or reason or ""), "unpin" if reason is None else "pin"
            return self._history().decide(action, card.name, card.place, write_pinned(before), by=by)

    def unpin(self, name: str) -> PinChange:
        """Unpin this skill, which may no longer exist."""
        try:
            card, _ = self._workspace.find(name)
        except WhetError:
            keys = [key for key in self._decisions.pins() if _is_named(key, name_key(name))]
            unlocked = self._sources().set_pin("", name, "")
            return PinChange(name_key(name), False, self._decisions.unpin(*keys) or unlocked)
        return PinChange(name_key(name), False, bool(self._set_pin(card, None).entries))

    # bundles

    def bundles(self) -> Bundles:
        """Return the bundles: named sets of skills with an instruction, invoked as `/name`."""
        from whet.library.bundles import read_bundles

        config = self._workspace.config()
        in_use = config.disabled.in_use
        return Bundles(*read_bundles(config.bundle_directories), in_use.slug if in_use else "", config.default_bundle)

    def use(self, name: str | None) -> BundleUse:
        """Offer only the skills of this bundle in this project; with None, offer every skill again.

        Raises NotFoundError for an unknown bundle, and UsageError `no-project` with explicit roots.
        """
        config = self._workspace.config()
        project, default = config.repository, config.default_bundle
        if project is None:
            raise UsageError("no-project", "Explicit roots have no project.", hint="Leave out --root.")
        view = None if name is None else self.bundle(name)
        chosen = view.bundle.slug if view else ""
        changed = bool(self._set_use(project.root, project.identity, None if chosen == default else chosen).entries)
        if view is None:
            return BundleUse(project.root, "", changed)
        return BundleUse(project.root, view.bundle.slug, changed, view.bundle.skills, self.bundle(name or "").missing)

    def _set_use(self, root: str, project: str, bundle: str | None, by: Provenance = USER) -> Commit:
        """Set the bundle of a project ("": none; None: the default), and record that in the history."""
        with self._workspace.state.write():
            before = dict(self._decisions.recall().in_use).get(project)
            if not self._decisions.use(project, bundle):
                return Commit(())
            was, now = ("default" if one is None else f"/{one}" if one else "none" for one in (before, bundle))
            return self._history().decide("use", os.path.basename(root), root, f"{was} -> {now} in {project}", by=by)

    def reverse(self, entry: Entry, card: Card | None, by: Provenance) -> Commit:
        """Reverse a decision about a skill or a project that is in the history. Raises ConflictError."""
        before, _, project = read_replacement(entry.origin)
        if entry.action == "use":
            bundle = None if before == "default" else before.removeprefix("/") if before != "none" else ""
            return self._set_use(entry.path, project, bundle, by)
        if entry.action == "trust":
            return self._set_trust(entry.origin, entry.path, trusted=False, by=by)
        if entry.action == "untrust":
            return self._trust_again(entry, by)
        if card is None:
            return Commit(())
        if entry.action == "list-as":
            return self._set_listing(card, before, project, by)
        return self._set_pin(card, read_pinned(entry.origin), by)

    def _trust_again(self, entry: Entry, by: Provenance) -> Commit:
        """Trust again a project that was trusted before, from any working directory; its skills are scanned first."""
        from whet.library.workspace import Workspace

        if entry.origin == entry.path:
            with suppress(NotFoundError):  # a project without a repository has the same identity and no skills here
                return self._trust_directory(entry.path, by)[1]
        workspace = self._workspace
        repository = find_repository(entry.path, home=workspace.place.home)
        if repository.identity != entry.origin:
            message = f"{entry.path} is no longer the repository that you trusted."
            raise ConflictError("cannot-undo", message, hint="Run `whet guard trust` there.", entry=entry.id)
        there = Workspace(workspace.place._replace(directory=entry.path), None, workspace.clock, None)
        there.hidden, there.origins = workspace.hidden, workspace.origins
        try:
            return self._trust_project(there, repository, by)[1]
        finally:
            there.close()

    def bundle(self, name: str) -> BundleView:
        """Return a bundle, and which of its skills are not available (`missing`). Raises NotFoundError."""
        from whet.library.bundles import find_bundle

        return self._view_bundle(find_bundle(self.bundles(), name))

    def save_bundle(
        self,
        name: str,
        skills: Sequence[str],
        *,
        description: str = "",
        instruction: str = "",
        project: bool = False,
        overwrite: bool = False,
    ) -> BundleView:
        """Write a bundle, for this user or into the project; a file that it replaces is kept next to it.

        Raises ConflictError if the name is taken, unless `overwrite` is set, and UsageError `no-project` without a
        trusted project. `notes` name the commands that now mean something else.
        """
        from whet.library.bundles import save_bundle
        from whet.prompt.requests import menu_report

        directory = self._bundle_directory(project=project)
        with self._one_writer():
            bundle = save_bundle(
                directory,
                name=name,
                skills=skills,
                description=description,
                instruction=instruction,
                overwrite=overwrite,
                private=not project,
            )
        notes = tuple(
            note
            for note in menu_report(self._workspace.snapshot(), PERSON)
            if note.path == bundle.path or note.message.startswith(f"/{bundle.slug} means the bundle ")
        )
        return self._view_bundle(bundle)._replace(notes=notes)

    def remove_bundle(self, name: str, *, project: bool = False) -> RemovedBundle:
        """Remove a bundle of the user or of the project; its file is kept under another name."""
        from whet.library.bundles import find_bundle, read_bundles, remove_bundle

        with self._one_writer():
            bundle = find_bundle(read_bundles((self._bundle_directory(project=project),))[0], name)
            return RemovedBundle(bundle, remove_bundle(bundle))

    def _view_bundle(self, bundle: Bundle) -> BundleView:
        from whet.prompt.requests import lacking

        return BundleView(bundle, lacking(bundle, self._workspace.snapshot(), PERSON))

    def _bundle_directory(self, *, project: bool) -> str:
        config = self._workspace.config()
        if project and (config.repository is None or not config.trusted):
            hint = "Run `whet guard trust` in the project first."
            raise UsageError("no-project", "A project bundle needs a trusted project.", hint=hint)
        return config.bundle_directories[0 if project else -1]

    def _one_writer(self) -> FileLock:
        """Return the lock that allows one writer of bundles at a time."""
        from whet.store.locks import FileLock, lock_path

        return FileLock(lock_path(self._workspace.place.state, "bundles", "bundles"), timeout=_LOCK_SECONDS)

    # directories

    def values(self) -> SettingValues:
        """Return the settings that apply here, and their files. Raises UsageError `bad-config`."""
        config, place = self._workspace.config(), self._workspace.place
        file = config_path(place.state, place.env)
        project = os.path.join(config.repository.root, PROJECT_FILE) if config.repository and config.trusted else ""
        defaults = Settings()
        rows = (
            SettingValue(row.name, getattr(config.settings, row.name), getattr(defaults, row.name), row.help)
            for row in SETTINGS
        )
        return SettingValues(
            file,
            os.path.isfile(file),
            project if project and os.path.isfile(project) else "",
            config.machine.path if config.machine else "",
            tuple(rows),
            tuple(note for note in config.notes if note.path in (file, project)),
        )

    def roots(self) -> Roots:
        """Return the roots, most important first, with the number of skills in each."""
        return Roots(
            [
                RootView(shelf.root, os.path.isdir(shelf.root.real), sum(1 for _ in shelf.cards()))
                for shelf in self._workspace.snapshot().shelves
            ]
        )


def _is_named(key: str, wanted: str) -> bool:
    """Return whether `key`, an id or a name of a removed skill, stands for the wanted name."""
    return wanted in (key, name_key(key.rpartition("/")[2]))


def _has_skills(workspace: Workspace, repository: Repository) -> bool:
    """Return whether there is anything to trust: a repository, or skills in the directory."""
    marked = os.path.lexists(os.path.join(repository.root, ".git"))
    return marked or any(root.scope == "project" for root in workspace.config().roots)


def _project_skills(workspace: Workspace) -> tuple[str, ...]:
    catalogue = workspace.snapshot().catalogue
    return tuple(card.full_name for card in (*catalogue.cards, *catalogue.waiting) if card.scope == "project")
