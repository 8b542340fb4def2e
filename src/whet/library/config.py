"""What is decided before any skill is looked at: the settings in force, the roots, what is switched off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.library.discovery import Bounds
from whet.library.readiness import LocalProbe
from whet.library.roots import Place, Root, configured_roots, explicit_roots
from whet.library.settings import PROJECT_FILE, Settings, SettingsReader, lowered
from whet.library.visibility import BY_COMMAND, Disabled
from whet.notes import Note

if TYPE_CHECKING:
    from whet.guard.policy import Table
    from whet.library.readiness import Probe
    from whet.library.repository import Repository
    from whet.library.state import Decisions
    from whet.store.clock import Clock


class ResolvedConfig(NamedTuple):
    """What is decided before any skill is looked at."""

    place: Place
    roots: tuple[Root, ...]
    bounds: Bounds
    repository: Repository | None
    """The project, unless the roots were given explicitly."""
    trusted: bool
    """Whether that project is."""
    disabled: Disabled
    settings: Settings
    probe: Probe
    """What is asked whether a skill is ready: the one given, or this machine as it is now."""
    notes: tuple[Note, ...]
    """What is wrong with the settings."""
    project_policy: tuple[tuple[str, str, str], ...] = ()
    """What the (trusted) project wants to be stricter."""

    @property
    def policy(self) -> Table:
        """The policy in force."""
        from whet.guard.policy import table_with

        return table_with(self.settings.policy, self.project_policy)


class Configuration:
    """Resolves the configuration of one place, as it is now. Settings files are read again when they changed."""

    def __init__(
        self, place: Place, roots: tuple[str, ...] | None, decisions: Decisions, clock: Clock, probe: Probe | None
    ) -> None:
        """With `roots`, exactly these directories are searched; without a `probe`, this machine is asked."""
        self._place = place
        self._roots = roots
        self._decisions = decisions
        self._probe = probe
        self._settings = SettingsReader(place, clock)

    def resolve(self) -> ResolvedConfig:
        """Where skills are looked for now, and what is switched off."""
        place = self._place
        settings, notes = self._settings.read_user()
        disabled_by_command, identities = self._decisions.recall()
        off = [(name, surface, BY_COMMAND) for name, surface in disabled_by_command]
        for surface, names in (("", settings.disabled), *settings.disabled_on):
            off.extend((name, surface, "config.toml") for name in names)
        repository: Repository | None = None
        trusted = False
        policy: tuple[tuple[str, str, str], ...] = ()
        blocked: dict[str, str] = {}
        links = (*(os.path.realpath(path) for path in settings.links), *sorted(identities))
        if self._roots is not None:
            roots = explicit_roots(self._roots, place)
        else:
            roots, repository, escaped = configured_roots(place, settings, identities, links)
            trusted = repository.identity in identities
            notes = (*notes, *escaped)
            if trusted:
                project, project_notes = self._settings.read_project(repository.root)
                off.extend((name, "", PROJECT_FILE) for name in project.disabled)
                policy, blocked = project.policy, self._decisions.blocked()
                notes = (*notes, *project_notes, *_looser(settings, project, repository))
                settings, raised = lowered(settings, project, repository.root)
                notes = (*notes, *raised)
        bases = (*(root.real for root in roots if root.trusted), *links)
        bounds = Bounds(settings.depth, settings.max_directories, bases)
        probe = self._probe or LocalProbe(place.env, place.platform, settings=dict(settings.skill_settings))
        disabled = Disabled(off, blocked)
        return ResolvedConfig(place, roots, bounds, repository, trusted, disabled, settings, probe, notes, policy)


def _looser(settings: Settings, project: Settings, repository: Repository) -> tuple[Note, ...]:
    """The cells of a project's policy that would loosen something: they do not count."""
    if not project.policy:
        return ()
    from whet.guard.policy import looser

    path = os.path.join(repository.root, PROJECT_FILE)
    hint = "A project can only make the policy stricter. To relax it, change your own config.toml."
    return tuple(
        Note("policy-looser", "warning", f"policy.{trust}.{verdict} = {action!r} is ignored.", hint, path=path)
        for trust, verdict, action in looser(settings.policy, project.policy)
    )
