"""What the user decides about skills: which repository is trusted, which skill is switched off. Answers are JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.repository import find_repository, is_same
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from whet.library.card import Card
    from whet.library.repository import Repository
    from whet.library.workspace import Workspace

_GO_THERE = "Go to the project first, or name it with --project."


def list_trusted(workspace: Workspace) -> dict[str, Any]:
    """Every repository that is trusted, and since when."""
    from whet.store.clock import iso

    items = [{**item._asdict(), "since": iso(item.since)} for item in workspace.decisions.trusted()]
    return {"success": True, "trusted": items}


def set_trust(workspace: Workspace, *, trusted: bool) -> dict[str, Any]:
    """Trust the repository around the project directory, or take that trust back."""
    place = workspace.place
    if workspace.explicit is not None:
        raise UsageError("no-project", "Explicit roots need no trust.", hint="Leave out --root.")
    if is_same(place.directory, place.home):
        raise UsageError("no-project", "The home directory is never a project.", hint=_GO_THERE)
    repository = find_repository(place.directory, home=place.home)
    if trusted and not _has_project(workspace, repository):
        raise UsageError("no-project", f"{repository.root} is no repository and has no skills.", hint=_GO_THERE)
    verdicts: list[dict[str, Any]] = []
    if trusted:
        from whet.library.guarding import remember_review, review

        found = review(workspace)  # before anything is loaded
        remember_review(workspace, found)
        verdicts = [item.to_json() for item in found]
        changed = workspace.decisions.trust(repository.identity, repository.root)
    else:
        changed = workspace.decisions.untrust(repository.identity)
    catalogue = workspace.snapshot().catalogue
    names = [card.full_name for card in (*catalogue.cards, *catalogue.waiting) if card.scope == "project"]
    answer = {"success": True, "project": repository.root, "trusted": trusted, "changed": changed, "skills": names}
    return {**answer, **({"verdicts": verdicts} if trusted else {})}


def untrust_path(workspace: Workspace, path: str) -> dict[str, Any]:
    """Take trust back from the repository trusted under a path, which may be gone by now."""
    wanted = os.path.abspath(path)
    home = workspace.place.home
    identity = find_repository(wanted, home=home).identity if os.path.isdir(wanted) else wanted
    for item in workspace.decisions.trusted():
        if wanted == item.path or identity == item.identity:
            workspace.decisions.untrust(item.identity)
            return {"success": True, "project": item.path, "trusted": False, "changed": True, "skills": []}
    hint = "`whet trust --list` shows what is trusted."
    raise NotFoundError("not-trusted", f"{wanted} is not among the trusted repositories.", hint=hint)


def _has_project(workspace: Workspace, repository: Repository) -> bool:
    """Is there anything to trust: a repository, or skills in the directory?"""
    marked = os.path.lexists(os.path.join(repository.root, ".git"))
    return marked or any(root.scope == "project" for root in workspace.config().roots)


def set_enabled(workspace: Workspace, name: str, surface: str, *, enabled: bool) -> dict[str, Any]:
    """Offer a skill, or stop offering it, everywhere or on one surface."""
    decisions, off = workspace.decisions, workspace.decisions.disabled()
    card: Card | None = None
    told = name_key(name)
    try:
        card, _ = workspace.find(name)
        keys = [*card.known_as]
        told = told if told == card.key else keys[-1]
    except WhetError:  # it may be gone
        keys = [key for key, where in off if where == surface and told in (key, name_key(key.rpartition("/")[2]))]
        if not keys:
            raise
    if enabled:
        changed = sum([decisions.enable(key, surface) for key in keys]) > 0
    else:
        changed = all((key, surface) not in off for key in keys) and decisions.disable(keys[0], surface)
    answer = {"success": True, "name": told, "surface": surface, "enabled": enabled, "changed": changed, "hint": ""}
    disabled = workspace.config().disabled
    if enabled and (source := disabled.source(card, surface) if card else disabled.by(told, surface)):
        answer["enabled"] = False
        answer["hint"] = f"It is still switched off by {source}."
    return answer
