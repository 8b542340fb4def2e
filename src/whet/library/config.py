"""The configuration in force before any skill is read: settings, roots, disabled skills."""

from __future__ import annotations

import os

from whet.library.discovery import Bounds
from whet.library.plugins import PluginReader
from whet.library.readiness import LocalProbe
from whet.library.repository import find_remotes
from whet.library.roots import Place, Root, configured_roots, explicit_roots
from whet.library.settings import PROJECT_FILE, Settings, SettingsReader, lowered
from whet.library.visibility import BY_COMMAND, LISTED_BY_COMMAND, Disabled
from whet.notes import Note
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.guard.policy import MachinePolicy, Table
    from whet.library.readiness import Probe
    from whet.library.repository import Repository
    from whet.library.state import Decisions
    from whet.store.clock import Clock


class ResolvedConfig(NamedTuple):
    """The configuration in force before any skill is read."""

    place: Place
    roots: tuple[Root, ...]
    bounds: Bounds
    repository: Repository | None
    """The project, unless the roots were given explicitly."""
    trusted: bool
    """Whether the project is trusted."""
    disabled: Disabled
    settings: Settings
    probe: Probe
    """Decides whether a skill is ready: the given probe, or this machine as it is now."""
    notes: tuple[Note, ...]
    """Problems of the settings."""
    project_policy: tuple[tuple[str, str, str], ...] = ()
    """The cells in which the (trusted) project makes the policy stricter."""
    machine: MachinePolicy | None = None
    """The administrator's policy for this machine; None if there is none."""
    default_bundle: str = ""
    """The bundle that this project uses according to the settings."""

    @property
    def bundle_directories(self) -> tuple[str, ...]:
        """The directories of bundles: that of the project, if it is trusted, then that of the state directory."""
        own = os.path.join(self.place.state, "bundles")
        if self.repository is None or not self.trusted:
            return (own,)
        return (os.path.join(self.repository.root, ".agents", "bundles"), own)

    @property
    def policy(self) -> Table:
        """The policy in force. Raises RefusedError if that of the machine cannot be read."""
        from whet.guard.policy import NO_MACHINE_POLICY, table_with

        return table_with(self.settings.policy, self.project_policy, self.machine or NO_MACHINE_POLICY)


class Configuration:
    """Resolves the current configuration of one place. Settings files are read again when they change."""

    def __init__(
        self, place: Place, roots: tuple[str, ...] | None, decisions: Decisions, clock: Clock, probe: Probe | None
    ) -> None:
        """With `roots`, exactly these directories are searched; without a `probe`, this machine is probed."""
        self._place = place
        self._roots = roots
        self._decisions = decisions
        self._probe = probe
        self._settings = SettingsReader(place, clock)
        self._plugins = PluginReader(place, clock)

    def read_machine(self) -> MachinePolicy | None:
        """Return the administrator's policy for this machine; None if there is none. It opens no database."""
        return self._settings.read_machine()

    def resolve(self) -> ResolvedConfig:
        """Resolve the current roots, settings and disabled skills."""
        place = self._place
        settings, notes = self._settings.read_user()
        machine = self.read_machine()
        if machine is not None:
            notes = (*notes, _note_machine(machine))
        recalled = self._decisions.recall()
        identities = recalled.trusted
        off = [(name, surface, BY_COMMAND) for name, surface in recalled.disabled]
        for surface, names in (("", settings.disabled), *settings.disabled_on):
            off.extend((name, surface, "config.toml") for name in names)
        repository: Repository | None = None
        trusted = False
        policy: tuple[tuple[str, str, str], ...] = ()
        lowered_listing: tuple[tuple[str, str, str], ...] = ()
        default = settings.use
        links = (*(os.path.realpath(path) for path in settings.links), *sorted(identities))
        if self._roots is not None:
            roots = explicit_roots(self._roots, place)
        else:
            plugins = self._plugins.read(settings.clients, project=settings.project_skills)
            roots, repository, escaped = configured_roots(place, settings, identities, links, plugins.folders)
            trusted = repository.identity in identities
            if trusted and machine is not None and not _may_load(machine, repository):
                trusted, identities = False, identities - {repository.identity}
                roots, repository, escaped = configured_roots(place, settings, identities, links, plugins.folders)
                notes = (*notes, _not_allowed(machine, repository))
            notes = (*notes, *escaped, *plugins.notes)
            if trusted:
                project, project_notes = self._settings.read_project(repository.root)
                off.extend((name, "", PROJECT_FILE) for name in project.disabled)
                policy = project.policy
                default = project.use or default
                lowered_listing = _listing(project, PROJECT_FILE)
                notes = (*notes, *project_notes, *_looser(settings, project, repository))
                settings, raised = lowered(settings, project, repository.root)
                notes = (*notes, *raised, *_raised_listing(project, repository))
        bases = (*(root.real for root in roots if root.trusted), *links)
        bounds = Bounds(settings.depth, settings.max_directories, bases)
        probe = self._probe or LocalProbe(place.env, place.platform, settings=dict(settings.skill_settings))
        here = repository.identity if repository else ""
        by_command = sorted(recalled.listed, key=lambda row: row[1] == "")  # those of this project first
        listed = [(name, mode, LISTED_BY_COMMAND) for name, where, mode in by_command if where in ("", here)]
        disabled = Disabled(off, dict(recalled.blocked), (*listed, *_listing(settings, "config.toml")), lowered_listing)
        config = ResolvedConfig(
            *(place, roots, bounds, repository, trusted, disabled, settings, probe, notes, policy, machine),
            _command(default) if default else "",
        )
        in_use = dict(recalled.in_use).get(here, config.default_bundle) if here else ""
        return _use(config, in_use) if in_use else config


def _command(bundle: str) -> str:
    from whet.skill.names import command

    return command(bundle)


def _use(config: ResolvedConfig, slug: str) -> ResolvedConfig:
    """Offer only the skills of the project's bundle; a missing or untrusted bundle hides nothing."""
    from whet.library.bundles import read_bundles

    bundle = next((found for found in read_bundles(config.bundle_directories)[0] if found.slug == slug), None)
    if bundle is None:
        message = f"This project uses the bundle {slug}, which does not exist; every skill is offered."
        hint = "Create it, trust the repository that has it, or run `whet use --none`."
        return config._replace(notes=(*config.notes, Note("bundle-in-use", "warning", message, hint)))
    config.disabled.use(bundle)
    message = f"This project uses the bundle {slug}; no other skills are offered."
    note = Note("bundle-in-use", "info", message, "`whet use --none` offers every skill again.", path=bundle.path)
    return config._replace(notes=(*config.notes, note))


def _listing(settings: Settings, source: str) -> tuple[tuple[str, str, str], ...]:
    """Return the listing modes of a settings file: name, mode and file."""
    return tuple((name, mode, source) for mode, names in settings.listing for name in names)


def _raised_listing(project: Settings, repository: Repository) -> tuple[Note, ...]:
    """Return a note about skills that a project lists more prominently, which is ignored."""
    raised = [name for mode, names in project.listing if mode == "always" for name in names]
    if not raised:
        return ()
    path = os.path.join(repository.root, PROJECT_FILE)
    message = f"listing.always is ignored: {', '.join(raised)}."
    hint = "A project can only list skills less prominently. To list one first, run `whet list-as NAME always --here`."
    return (Note("listing-raised", "warning", message, hint, path=path),)


def _note_machine(machine: MachinePolicy) -> Note:
    """Return the note of `doctor` about the machine's policy."""
    if machine.problem:
        hint = "Ask the administrator of this machine to repair it. Until then Whet installs and writes nothing."
        return Note("machine-policy-unreadable", "error", machine.problem, hint, path=machine.path)
    said = " ".join(does for _, does in machine.lines()) or "It restricts nothing."
    return Note("machine-policy", "info", f"An administrator's policy applies. {said}", path=machine.path)


def _may_load(machine: MachinePolicy, repository: Repository) -> bool:
    """Return whether the skills of a repository may be loaded: it has no remotes, or only allowed ones."""
    return not machine.problem and all(map(machine.allows, find_remotes(repository)))


def _not_allowed(machine: MachinePolicy, repository: Repository) -> Note:
    message = "This repository is trusted, but the policy of this machine does not allow its source."
    hint = f"{machine.path} lists the sources that are allowed."
    return Note("source-not-allowed", "warning", message, hint, path=repository.root)


def _looser(settings: Settings, project: Settings, repository: Repository) -> tuple[Note, ...]:
    """Return notes about cells of a project's policy that would loosen it; they are ignored."""
    if not project.policy:
        return ()
    from whet.guard.policy import looser

    path = os.path.join(repository.root, PROJECT_FILE)
    hint = "A project can only make the policy stricter. To relax it, change your own config.toml."
    return tuple(
        Note("policy-looser", "warning", f"policy.{trust}.{verdict} = {action!r} is ignored.", hint, path=path)
        for trust, verdict, action in looser(settings.policy, project.policy)
    )
