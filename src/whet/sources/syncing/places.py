"""Which skills a root has, and where the clients look for theirs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, UsageError
from whet.library.files import inside
from whet.library.package import find_skills
from whet.library.repository import find_repository, is_same
from whet.library.roots import CLIENTS, Client
from whet.skill.finder import LIBRARY
from whet.skill.names import closest

if TYPE_CHECKING:
    from collections.abc import Collection

    from whet.library.roots import Place

_NOT_SYNCED = ("agents", "codex-system")
"""The root itself, and a directory that a program fills on its own."""

_BOTH = ("user", "project")
READERS = {
    "codex": _BOTH,
    "copilot": _BOTH,
    "gemini": _BOTH,
    "hermes": ("project",),
    "openclaw": _BOTH,
    "opencode": _BOTH,
}
"""Clients that read `.agents/skills` themselves, and of whom. Others may; a link too many does no harm."""
_CONNECTED_AS = {"claude-code": "claude", "vscode": "copilot"}
"""What `whet connect` calls a client -> what sync calls it."""


class Folder(NamedTuple):
    """Where one client looks for skills."""

    client: str
    path: str
    """Empty: it has no such place."""
    reads: bool
    """It reads the root itself."""


def named(clients: Collection[str]) -> tuple[str, ...]:
    """The clients by the names they have here."""
    return tuple(_CONNECTED_AS.get(name, name) for name in clients)


def base_of(place: Place, *, project: bool) -> str:
    """The directory that clients' directories are relative to: the repository's, or the home."""
    return find_repository(place.directory, home=place.home).root if project else place.home


def known_clients() -> tuple[str, ...]:
    """Every client that skills can be synced to."""
    return tuple(client.name for client in _clients())


def present_clients(place: Place) -> tuple[str, ...]:
    """The clients this person has: those with a directory of their own in the home."""
    return tuple(client.name for client in _clients() if os.path.isdir(os.path.dirname(_join(place.home, client.user))))


def folders(place: Place, root: str, names: Collection[str], *, project: bool) -> tuple[Folder, ...]:
    """The directories of these clients. Raises NotFoundError for one that nobody knows."""
    known = {client.name: client for client in _clients()}
    for name in names:
        if name not in known:
            near = list(closest(name, known))
            hint = f"Did you mean {', '.join(near)}?" if near else f"Known are {', '.join(known)}."
            raise NotFoundError("unknown-client", f"There is no client {name!r}.", hint=hint, suggestions=near)
    base = base_of(place, project=project)
    shared = is_same(root, os.path.join(base, ".agents", "skills"))
    scope = "project" if project else "user"
    return tuple(
        Folder(
            name,
            _join(base, relative) if (relative := client.project if project else client.user) else "",
            shared and scope in READERS.get(name, ()),
        )
        for name, client in known.items()
        if name in names
    )


def check_root(root: str, base: str, *, project: bool) -> None:
    """Refuse a root that is not there, and one that a project's links would have to leave the project for."""
    if not os.path.isdir(root):
        hint = "Put skills there first; `whet sync --undo` takes back what was synced."
        raise NotFoundError("path-not-found", f"There is no directory {root}.", hint=hint, path=root)
    if project and not inside(os.path.realpath(root), os.path.realpath(base)):
        hint = "Sync a project's own .agents/skills, or sync for the user."
        raise UsageError("sync-outside", f"{root} lies outside the project {base}.", hint=hint, path=root)


def skills_below(root: str) -> dict[str, str]:
    """The skills of a root: path seen from it -> name of the directory, in order.

    As in a library, but a link may lead to a skill and not to a whole category, and the root itself is none.
    """
    found, problems = find_skills(root, LIBRARY)
    for _, problem in problems:
        if problem.code != "too-deep":
            raise problem
    return {path: path.rpartition("/")[2] for path in found if path}


def target_of(root: str, source: str, folder: str, base: str) -> str:
    """The text of a link in `folder` to a skill of the root: relative, so that both can move together."""
    full = _join(start_of(root, base), source)
    try:
        return os.path.relpath(full, os.path.realpath(folder))
    except ValueError:  # on another drive
        return full


def start_of(root: str, base: str) -> str:
    """The root as links lead to it: below the real base by its own name, which may be a link that is turned later."""
    lexical, below = os.path.normpath(root), os.path.normpath(base)
    if inside(lexical, below):
        return os.path.normpath(os.path.join(os.path.realpath(base), os.path.relpath(lexical, below)))
    return os.path.realpath(root)


def _clients() -> tuple[Client, ...]:
    return tuple(client for client in CLIENTS if client.kind == "skills" and client.name not in _NOT_SYNCED)


def _join(base: str, relative: str) -> str:
    return os.path.join(base, *(part for part in relative.split("/") if part))
