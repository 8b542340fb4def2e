"""Tiers 2 and 3 as they are given out: the body rendered, hidden skills refused, what is loaded already as a stub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.library.disclosure import AlreadyLoaded, view_file, view_skill
from whet.library.visibility import PERSON, Caller, hidden, refusal
from whet.prompt.message import setting_lines
from whet.prompt.scene import render_skill, scene_of, shell_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whet.library.card import Card
    from whet.library.config import ResolvedConfig
    from whet.library.disclosure import Loaded, View
    from whet.library.readiness import Probe
    from whet.library.workspace import Workspace
    from whet.notes import Note
    from whet.prompt.shell import Runner


def refused_unless_seen(card: Card, caller: Caller, config: ResolvedConfig, asked_for: Collection[str]) -> Note | None:
    """Raise RefusedError for a skill that a model may not have; why it is hidden from a person comes back."""
    reason = hidden(card, caller, config.disabled, config.probe)
    if reason and caller.model and not (reason.code == "explicit-only" and str(card.id) in asked_for):
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
    """One skill's instructions; with `file_path`, one of its files as it lies on disk."""
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
    """One skill's instructions, or with `file_path` one of its files as it lies on disk; for a session, or without one.

    Inline commands run only for a model, and only where the settings allow it: a person who looks is not asking for
    anything to happen. `asked_for` are the ids of skills that the user asked for; a model may see these even if it
    must not choose them.
    """
    reason = refused_unless_seen(card, caller, config, asked_for)
    shown: View
    if file_path is not None:
        if caller.model and card.scope == "project":
            workspace.admit(workspace.open(card), config)
        shown = view_file(card, file_path, page=page, bases=config.bounds.bases)
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
        shell = shell_of(opened, config, runner) if caller.model else None
        rendered = render_skill(opened, scene_of(opened, config, session_id), shell=shell)
        view = view_skill(opened, probe or config.probe, page=page, body=rendered.text)
        shown = view._replace(notes=(*view.notes, *rendered.notes), settings=lines, hidden=reason)
    if loaded is not None:
        loaded.add(card.path, file_path or "", page, seen)
    return shown
