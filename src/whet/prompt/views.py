"""Tiers 2 and 3 for a caller: rendered bodies, refusals of hidden skills, stubs for loaded ones.

It also determines the variables and inline commands of a skill in one library.
"""

from __future__ import annotations

import os

from whet.library.disclosure import AlreadyLoaded, view_file, view_skill
from whet.library.visibility import PERSON, Caller, hidden, refusal
from whet.notes import Note
from whet.prompt.message import setting_lines
from whet.prompt.rendering import Rendered, Variables, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from whet.library.card import Card
    from whet.library.config import ResolvedConfig
    from whet.library.disclosure import Opened, View
    from whet.library.loaded import Loaded
    from whet.library.readiness import Probe
    from whet.library.workspace import Workspace
    from whet.prompt.shell import Runner, Shell


def refused_unless_seen(
    card: Card, caller: Caller, config: ResolvedConfig, asked_for: Collection[str], *, drafts: bool = False
) -> Note | None:
    """Raise RefusedError for a skill that a model may not use; return why it is hidden from a person.

    A model may use skills that the user asked for, and with `drafts` any draft.
    """
    reason = hidden(card, caller, config.disabled, config.probe)
    if reason and caller.model:
        unoffered = reason.code in ("explicit-only", "draft") and str(card.id) in asked_for
        if not (unoffered or (drafts and reason.code == "draft")):
            raise refusal(card, reason)
    return reason


def view(
    workspace: Workspace,
    name: str,
    file_path: str | None = None,
    page: int = 1,
    *,
    caller: Caller = PERSON,
    loaded: Loaded | None = None,
    session_id: str = "",
) -> View:
    """Return one skill's instructions; with `file_path`, one of its files as it is on disk."""
    card, config = workspace.find(name)
    return view_card(workspace, card, config, file_path, page, caller=caller, loaded=loaded, session_id=session_id)


def view_card(
    workspace: Workspace,
    card: Card,
    config: ResolvedConfig,
    file_path: str | None,
    page: int,
    *,
    caller: Caller,
    loaded: Loaded | None = None,
    session_id: str = "",
    probe: Probe | None = None,
    runner: Runner | None = None,
    settings: Mapping[str, Any] | None = None,
    asked_for: Collection[str] = (),
) -> View:
    """Return one skill's instructions, or with `file_path` one of its files, for a session or without one.

    Inline commands run only for a model, and only if the settings allow it: a person who views a skill does not want to
    run anything. `asked_for` are the ids of skills that the user asked for; a model may see these even if it must not
    choose them.
    """
    reason = refused_unless_seen(card, caller, config, asked_for)
    reason = reason or (None if caller.model else workspace.shadowed(card))
    shown: View
    if file_path is not None:
        if caller.model and card.scope == "project":
            workspace.admit(workspace.open(card), config)
        shown = view_file(card, file_path, page=page, bases=config.bounds.bases_of(card))
        seen = shown.digest
        if loaded is not None and loaded.knows(card.path, file_path, page, seen):
            return AlreadyLoaded(card, file_path, page, seen)
    else:
        opened = workspace.open(card)
        if caller.model:
            workspace.admit(opened, config)
        lines = setting_lines(opened.skill, dict(config.settings.skill_settings) if settings is None else settings)
        seen = "\n".join((opened.digest, *lines))
        if loaded is not None and loaded.knows(card.path, "", page, seen):
            return AlreadyLoaded(card, "", page, opened.digest)
        shell = shell_of(opened, workspace, config, runner) if caller.model else None
        rendered = render_skill(opened, variables_of(opened, config, session_id), shell=shell)
        view = view_skill(opened, probe or config.probe, page=page, body=rendered.text)
        apart = [_apart(card)] if caller.model and opened.skill.execution.context == "fork" else []
        shown = view._replace(notes=(*apart, *view.notes, *rendered.notes), settings=lines, hidden=reason)
        shown = shown._replace(listing=config.disabled.listed(card).mode, find_trust=lambda: workspace.trust(card))
        if blocked := config.disabled.kept_back(card):
            shown = shown._replace(verdict=blocked.verdict)
    if loaded is not None:
        loaded.add(card.path, file_path or "", page, seen)
    return shown


def _apart(card: Card) -> Note:
    """Return the note for a model that reads a skill for a separate agent."""
    message = f"{card.full_name} runs in a separate agent (`context: fork`). Do not carry it out in this conversation."
    hint = f"Call skill_run if you have it, or ask the user to run `whet run {card.full_name}`."
    return Note("runs-apart", "warning", message, hint, skill=card.full_name, path=card.path)


def variables_of(opened: Opened, config: ResolvedConfig, session_id: str = "") -> Variables:
    """Return the variables of one skill."""
    root = opened.card.root
    plugin = ""
    if root.namespace:
        plugin = os.path.dirname(root.path) if os.path.basename(root.path) == "skills" else root.path
    return Variables(
        skill_dir=opened.card.directory,
        skill_name=opened.card.full_name,
        session_id=session_id,
        project_dir=config.repository.root if config.repository else config.place.directory,
        plugin_root=plugin,
        effort=opened.skill.execution.effort,
    )


def shell_of(
    opened: Opened, workspace: Workspace, config: ResolvedConfig, runner: Runner | None = None
) -> Shell | None:
    """Return the shell for the skill's inline commands; None unless the settings allow it for the skill's trust.

    They run in a sandbox with the skill and the project, unless the settings say otherwise or the caller passes a
    runner.
    """
    allowed = config.settings.inline_shell
    if not allowed or not has_commands(opened.skill.body):
        return None
    from whet.library.trust import place_level

    level = place_level(opened.card)  # this says nothing about the user's root: a skill there may be installed
    if workspace.trust(opened.card) not in allowed and (level == "local" or level not in allowed):
        return None
    from whet.prompt.shell import LocalRunner, SandboxRunner, Shell, allowed_environment

    place = config.place
    env = allowed_environment(place.env)
    if runner is None and config.settings.sandbox == "off":
        runner = LocalRunner()
    if runner is None:
        from whet.guard.sandbox.box import box_for

        project = (config.repository.root, config.repository.identity) if config.repository else ()
        shown = (opened.card.directory, place.directory, *project, variables_of(opened, config).plugin_root)
        runner = SandboxRunner(box_for(shown=shown, cwd=place.directory, env=env, home=place.home))
    return Shell(runner, place.directory, env, opened.skill.execution.shell or "bash")


def render_skill(
    opened: Opened, variables: Variables, *, arguments: str | None = None, shell: Shell | None = None
) -> Rendered:
    """Return the skill's rendered body; the isolation of its commands is in the notes."""
    skill = opened.skill
    if shell is None or not has_commands(skill.body):
        return render(skill.body, variables, names=skill.arguments, arguments=arguments, shell=shell)
    from whet.prompt.shell import Left, SandboxRunner, Witness

    if isinstance(shell.runner, SandboxRunner) and not shell.runner.works():
        rendered = render(skill.body, variables, names=skill.arguments, arguments=arguments)
        return rendered._replace(notes=tuple(Left.instead(note) for note in rendered.notes))
    witness = Witness(shell.runner)
    rendered = render(
        skill.body, variables, names=skill.arguments, arguments=arguments, shell=shell._replace(runner=witness)
    )
    return rendered._replace(notes=(*rendered.notes, *witness.notes()))


def has_commands(body: str) -> bool:
    """Return whether a body may contain commands. If not, the machine need not be examined."""
    return "!`" in body or "`!" in body
