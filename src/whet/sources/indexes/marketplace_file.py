"""A Claude marketplace (`.claude-plugin/marketplace.json`) as values: bytes in, plugins and notes out.

A marketplace lists plugins; a plugin brings skills among other things, and only these are of interest here. A plugin
lies in the marketplace's own directory, in a repository, or in an archive. Where a program or a package manager would
have to be run to get it, it is told and left alone: nothing is ever run to find out what there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.notes import Note
from whet.skill import paths
from whet.skill.names import key
from whet.sources.indexes.answers import Answer, bad_response, parsed, plain, shown
from whet.sources.model import Ref
from whet.sources.refs.pages import document, repository, shorthand
from whet.sources.refs.parts import OddError, check_ref, read_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


FILE = ".claude-plugin/marketplace.json"
FILE_BYTES = 8 * 1024 * 1024
SKILLS = "skills"
"""Where a plugin keeps its skills when nobody says otherwise."""

_MOST_SKILLS = 2_000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SCP = re.compile(r"([A-Za-z0-9_.-]+)@([A-Za-z0-9.-]+):(?!/)(.+)")
_REPOSITORIES = ("github", "url", "git-subdir", "git")
_NEVER_RUN = ("npm", "pip", "command")
"""Sources for which a program would have to be run."""


class Plugin(NamedTuple):
    """One plugin of a marketplace."""

    name: str
    description: str
    roots: tuple[str, ...]
    """Its directory in the place where it lies, "" for the root of that place; where that is not clear, the likeliest
    first."""
    place: Ref | None = None
    """The repository or archive in which it lies; None: the marketplace's own directory."""
    skills: tuple[str, ...] = ()
    """Directories below its own that are skills or hold some, where the marketplace names them."""

    def members(self, directories: Iterable[str]) -> list[str]:
        """Which of the skills of a place, by their directories, belong to this plugin."""
        known = list(directories)
        for root in self.roots:
            named = {_join(root, skill) for skill in self.skills or (SKILLS,)}
            found = [item for item in known if not named.isdisjoint(_at_or_above(item))]
            if not found and not self.skills:
                found = [item for item in known if item == root]
            if found:
                return found
        return []


class Marketplace(NamedTuple):
    """What a marketplace lists."""

    name: str
    plugins: tuple[Plugin, ...]
    notes: tuple[Note, ...]


class Groups(Mapping[str, str]):
    """Which plugin a directory belongs to: that of the closest directory, at or above it, that a plugin names."""

    __slots__ = ("_named",)

    def __init__(self, named: Mapping[str, str]) -> None:
        self._named = named

    def __getitem__(self, directory: str) -> str:
        closest = directory
        while closest not in self._named and closest:
            closest = closest.rpartition("/")[0]
        return self._named[closest]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


def read_marketplace(data: object, *, local: bool = False) -> Marketplace:
    """The plugins of a marketplace, from its bytes or the JSON in them. Raises InvalidError `bad-response`.

    `local` says that the file lies on this machine: then its plugins may, too.
    """
    answer = Answer(parsed(data, FILE) if isinstance(data, bytes) else data, FILE)
    metadata = answer.part("metadata")
    root = _inner((metadata.maybe("pluginRoot") if metadata else None) or "", "metadata.pluginRoot")
    plugins: dict[str, Plugin] = {}
    notes: list[Note] = []
    for position, value in enumerate(answer.values("plugins")):
        where = f"plugins[{position}]"
        try:
            entry = Answer(value, where)
            plugin = _plugin(entry, root, local=local, notes=notes)
        except (InvalidError, UsageError) as error:
            notes.append(Note("plugin-wrong", "error", f"{where} is skipped: {error.message}", skill=_called(value)))
            continue
        if plugin is not None and key(plugin.name) in plugins:
            message = f"{where}: the marketplace lists {plugin.name} before; the first one counts."
            notes.append(Note("plugin-duplicate", "warning", message, skill=plugin.name))
        elif plugin is not None:
            plugins[key(plugin.name)] = plugin
    return Marketplace(answer.prose("name"), tuple(plugins.values()), tuple(notes))


def groups(data: object) -> Groups:
    """Directory of a skill -> plugin, for plugins in the marketplace's own directory, as `read_marketplace` reads it.

    Whoever only wants to know what belongs together gets nothing from a file that cannot be read.
    """
    try:
        plugins = read_marketplace(data).plugins
    except InvalidError:
        return Groups({})
    found: dict[str, str] = {}
    for plugin in plugins:
        for root in plugin.roots if plugin.place is None else ():
            for directory in plugin.skills or (SKILLS, ""):
                found.setdefault(_join(root, directory), plugin.name)
    return Groups(found)


def _plugin(entry: Answer, root: str, *, local: bool, notes: list[Note]) -> Plugin | None:
    name = plain(entry.text("name"), 100)
    if not name or "/" in name:
        raise bad_response(f"{shown(name)} cannot be the name of a plugin.")
    described, skills = entry.prose("description"), _skills(entry)
    if isinstance(entry.value("source"), str):
        return Plugin(name, described, _relative(entry.text("source"), root), skills=skills)
    source = entry.needed("source")
    kind = source.text("source")
    if kind == "local":
        return Plugin(name, described, _relative(source.text("path"), root), skills=skills)
    if kind == "archive":
        return Plugin(name, described, ("",), _archive(source), skills)
    if kind in _REPOSITORIES:
        place = _repository(source, kind, local=local)
        within = source.text("path") if kind == "git-subdir" else source.maybe("path") or ""
        return Plugin(name, described, (_inner(within, "path"),), place, skills)
    if kind in _NEVER_RUN:
        message, hint = f"comes from {kind}, which Whet does not run", "Ask its publisher for a repository."
    else:
        message, hint = f"comes from {shown(kind)}, which Whet does not know", "A newer Whet may know it."
    notes.append(Note("plugin-not-supported", "error", f"The plugin {name} {message}.", hint, skill=name))
    return None


def _repository(source: Answer, kind: str, *, local: bool) -> Ref:
    field = "repo" if kind == "github" else "url"
    text = source.text(field)
    if scp := _SCP.fullmatch(text):
        text = f"ssh://{scp[1]}@{scp[2]}/{scp[3]}"
    try:
        if local and text.startswith("file:///"):
            found = Ref("git", text.rstrip("/"))
        else:
            found = repository(text) if "://" in text else shorthand(text)
        ref = check_ref(source.text("ref")) if "ref" in source else ""
    except OddError as odd:
        raise bad_response(f"{shown(text)} {odd.what}.") from odd
    except (UsageError, ValueError) as error:
        raise bad_response(f"The {field} is no address of a repository.") from error
    if found.ref or found.path:
        raise bad_response(f"{shown(text)} is not the address of a whole repository.")
    sha = source.maybe("sha") or ""
    if sha and not _COMMIT.fullmatch(sha):
        raise bad_response(f"The sha {shown(sha)} is no whole commit.")
    return found._replace(ref=sha or ref)


def _archive(source: Answer) -> Ref:
    url = source.text("url")
    try:
        found = document(read_address(url))
    except (OddError, UsageError, ValueError) as odd:
        raise bad_response(f"The url {shown(url)} is no address of an archive.") from odd
    if not found.location.startswith("https://"):
        raise bad_response(f"The url {shown(url)} is no https address.")
    return found._replace(ref=f"sha256:{source.sha256('sha256', prefix='')}" if "sha256" in source else "")


def _skills(entry: Answer) -> tuple[str, ...]:
    """The directories that an entry names as its skills; one text stands for a list of one."""
    value = entry.value("skills")
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else entry.values("skills")
    if len(listed) > _MOST_SKILLS:
        raise bad_response(f"It names {len(listed)} skills; at most {_MOST_SKILLS} are read.")
    if not all(isinstance(item, str) for item in listed):
        raise bad_response("One of its skills is no path.")
    return tuple(dict.fromkeys(_inner(item, "skills") for item in listed))


def _relative(text: str, root: str) -> tuple[str, ...]:
    """A plugin's directory: a bare name lies below `pluginRoot`, `./` starts at the top, and not everybody knows."""
    inner = _inner(text, "source")
    below = _join(root, inner)
    return tuple(dict.fromkeys((inner, below) if text.startswith(".") else (below, inner)))


def _inner(text: str, field: str) -> str:
    """A path in a place, however it is spelled; "" is the place itself."""
    inner = text.removeprefix("./").removesuffix("/")
    if inner in ("", "."):
        return ""
    try:
        return paths.check(inner)
    except UsageError as error:
        raise bad_response(f"The field {field} is no directory in its place: {error.message}") from error


def _called(value: object) -> str:
    name = value.get("name") if isinstance(value, dict) else ""
    return plain(name, 100) if isinstance(name, str) else ""


def _at_or_above(directory: str) -> Iterator[str]:
    """A directory and all those around it, up to the root of the place."""
    while directory:
        yield directory
        directory = directory.rpartition("/")[0]
    yield ""


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory and name else directory or name
