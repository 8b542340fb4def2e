"""The roots: scopes, the directories of installed clients, and their order.

The directories themselves are in the table of `clients`. A directory that is reached twice (declared twice, or linked)
is one root, under the first scope that names it.
"""

from __future__ import annotations

import os
import sys

from whet.errors import UsageError
from whet.library.clients import DIRECTORIES
from whet.library.files import inside
from whet.library.repository import Repository, find_repository, is_same, project_directories
from whet.library.settings import expand
from whet.library.skill_id import portable
from whet.notes import Note
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from whet.library.plugins import PluginFolder
    from whet.library.settings import Settings
    from whet.values import Json


LOCK_NAME = "whet-lock.json"
"""The name of the lock, a file next to a root."""


class Place(NamedTuple):
    """The environment of Whet, passed in and never looked up."""

    directory: str
    home: str
    state: str
    platform: str
    env: Mapping[str, str]


class Root(NamedTuple):
    """One directory of skills."""

    path: str
    scope: str
    client: str = ""
    kind: str = "skills"
    """`skills` or `commands`; `skill`: the directory is one skill, and others in it are not searched."""
    namespace: str = ""
    """The plugin whose name prefixes these skills' names."""
    trusted: bool = True
    """False if the skills belong to an untrusted repository; they are counted, not loaded."""
    real: str = ""
    """The path with links resolved."""
    home: str = ""
    """The home directory of the user, with links resolved."""

    @property
    def id(self) -> str:
        """The beginning of the ids of its skills (`whet.library.skill_id`)."""
        return f"plugin:{self.namespace}" if self.namespace else portable(self.real or self.path, self.home)

    def to_json(self) -> Json:
        """Return the root as JSON."""
        return {name: value for name, value in self._asdict().items() if name != "home"}


def org_directories(platform: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the administrator's directories: Whet's own, then those of other clients."""
    if platform == "darwin":
        support = "/Library/Application Support"
        return (f"{support}/whet/skills", f"{support}/ClaudeCode/.claude/skills")
    if platform == "win32":
        data = env.get("PROGRAMDATA", r"C:\ProgramData")
        return (os.path.join(data, "whet", "skills"),)
    return ("/etc/whet/skills", "/etc/codex/skills", "/etc/claude-code/.claude/skills")


def gallery_directory() -> str:
    """Return the directory of the skills that ship with Whet. It is not a root: they count once they are installed."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bundled")


def gallery_names() -> frozenset[str]:
    """Return the names of the skills that ship with Whet."""
    return frozenset(entry.name for entry in os.scandir(gallery_directory()) if entry.name != "__pycache__")


def user_root(place: Place) -> str:
    """Return the directory of the user's own skills, which every client can find."""
    return os.path.join(place.home, ".agents", "skills")


def own_roots(place: Place) -> tuple[str, ...]:
    """Return all directories that can hold the user's own skills, whether they exist or not."""
    return tuple(_join(place.home, one.user) for one in DIRECTORIES if one.kind == "skills")


def new_root(place: Place, explicit: Collection[str] | None, *, project: bool = False) -> str:
    """Return the directory for a new skill: the user's own, the first explicit root, or the project's.

    It may not exist yet. Raises UsageError `no-project` if explicit roots have no project.
    """
    if project:
        if explicit is not None:
            raise UsageError(
                "no-project", "`--here` does not work with explicit roots.", hint="Leave out --root or --here."
            )
        return os.path.join(find_repository(place.directory, home=place.home).root, ".agents", "skills")
    roots = explicit_roots(explicit or (), place)
    return roots[0].path if roots else user_root(place)


def explicit_roots(paths: Collection[str], place: Place) -> tuple[Root, ...]:
    """Return exactly these directories as roots, in this order."""
    declared = (
        Root(os.path.normpath(os.path.join(place.directory, expand(path, place.home))), "external") for path in paths
    )
    return tuple(_resolve(declared, place.home))


class Configured(NamedTuple):
    """The roots of a place."""

    roots: tuple[Root, ...]
    """The roots, most important first."""
    repository: Repository
    """The project that they were found from."""
    notes: tuple[Note, ...]
    """Notes on client directories of the project that are links out of its repository: they are not roots."""


def configured_roots(
    place: Place,
    settings: Settings,
    trusted: Collection[str],
    links: Collection[str] = (),
    plugins: Collection[PluginFolder] = (),
) -> Configured:
    """Return all roots of this place, with those of the clients' plugins.

    Default directories count only if they exist; one that the settings name is kept even if it is missing, so that it
    can be reported. A project's own directory may be a link into one of `links`.
    """
    repository = find_repository(place.directory, home=place.home)
    by_scope: dict[str, list[Root]] = {scope: [] for scope in settings.precedence}
    directories = [one for one in DIRECTORIES if not settings.clients or one.client in settings.clients]
    if settings.project_skills and not is_same(place.directory, place.home):
        known = repository.identity in trusted
        for directory in project_directories(place.directory, repository):
            base = os.path.join(directory, "")
            by_scope["project"].extend(
                Root(path, "project", one.client, one.kind, trusted=known)
                for one in directories
                if one.project and os.path.isdir(path := base + one.project.replace("/", os.sep))
            )
    base = os.path.join(place.home, "")
    by_scope["user"].extend(
        Root(path, "user", one.client, one.kind)
        for one in directories
        if os.path.isdir(path := base + one.user.replace("/", os.sep))
    )
    by_scope["org"].extend(
        Root(path, "org") for path in org_directories(place.platform, place.env) if os.path.isdir(path)
    )
    by_scope["external"].extend(Root(path, "external") for path in settings.external)
    by_scope["external"].extend(Root(path, "plugin", namespace=namespace) for namespace, path in settings.plugins)
    by_scope["external"].extend(
        Root(folder.path, "plugin", folder.client, folder.kind, folder.namespace) for folder in plugins
    )
    declared = [root for scope in settings.precedence for root in by_scope[scope]]
    # A directory that is both the project's and the user's is the user's: users need not trust their own home.
    own = {os.path.realpath(root.path) for root in declared if root.scope == "user"}
    kept = (root for root in declared if root.scope != "project" or os.path.realpath(root.path) not in own)
    allowed = (os.path.realpath(repository.root), *links)
    found: list[Root] = []
    notes: list[Note] = []
    for root in _resolve(kept, place.home):
        if root.scope != "project" or any(inside(root.real, base) for base in allowed):
            found.append(root)
        else:
            message = f"The link points to {root.real}, outside the repository."
            hint = f"Move the skills into the repository, or run `whet guard trust {root.real}` if you trust them."
            notes.append(Note("link-escape", "error", message, hint, path=root.path))
    return Configured(tuple(found), repository, tuple(notes))


def _join(base: str, relative: str) -> str:
    return os.path.join(base, relative.replace("/", os.sep))


_HOMES = {"": ""}
"""Resolved home directories. They do not change while a process runs, and every call needs them."""


def _resolve_home(home: str) -> str:
    if home not in _HOMES:
        _HOMES[home] = os.path.realpath(home)
    return _HOMES[home]


def _resolve(roots: Iterator[Root], home: str) -> Iterator[Root]:
    seen: set[str] = set()
    home = _resolve_home(home)
    for root in roots:
        real = os.path.realpath(root.path)
        if real not in seen:
            seen.add(real)
            yield root._replace(real=real, home=home)


def platform_name(platform: str = sys.platform) -> str:
    """Return the platform by the name that skills use."""
    return {"darwin": "macos", "win32": "windows"}.get(platform, "linux" if platform.startswith("linux") else platform)
