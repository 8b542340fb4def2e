"""The list of skills in each client: its own directories, search, reader and order.

Nothing here uses Whet's search: a client finds other files than Whet does, and loads what Whet refuses. The skills that
come with a client itself are not in the list. Some clients limit their list to a part of the model's context window and
shorten the rest. The window of a model is not known here, so a list says how large a window it needs in full.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from whet.library.client_formats import (
    BAD_NAME,
    BAD_YAML,
    LONG_DESCRIPTION,
    LONG_NAME,
    NO_DESCRIPTION,
    NO_FRONTMATTER,
    NO_NAME,
    READERS,
    SOME_FILES,
    USERS_ONLY,
    Dropped,
    Loaded,
)
from whet.library.clients import client_named, describe_obstruction, in_home
from whet.library.files import read_file
from whet.library.plugins import PluginReader
from whet.library.repository import find_repository, is_same, project_directories
from whet.notes import Note
from whet.skill.collation import collation_key
from whet.skill.finder import MAIN_FILE, is_main_file
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from whet.library.card import Card
    from whet.library.clients import Client
    from whet.library.plugins import PluginFolder
    from whet.library.roots import Place


class ClientSkill(NamedTuple):
    """A skill in the list of a client."""

    name: str
    """The name that the client shows; for a skill it does not list, the name in Whet."""
    description: str
    path: str
    scope: str
    listed: bool = True
    reason: str = ""
    """The reason why it is not listed, or how it is changed, in a few words; "" if neither."""
    users_only: bool = False
    """Whether it is listed although `disable-model-invocation` hides it from models."""

    @property
    def verdict(self) -> str:
        """`yes` or `no`, with the reason."""
        word = "yes" if self.listed else "no"
        return f"{word}, {self.reason}" if self.reason else word

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        return fields_json(self)


class ClientList(NamedTuple):
    """The skills that a client lists, and those that it finds but does not list."""

    client: str
    title: str
    version: str
    """The version this was measured with; "" for a client that was not measured."""
    skills: tuple[ClientSkill, ...]
    left_out: tuple[ClientSkill, ...]
    window: int = 0
    """The context window, in tokens, that the whole list needs (approximate); 0 if unknown."""
    over: str = ""
    """How the client shortens a list that does not fit."""

    def to_json(self) -> Json:
        """Return the list as JSON."""
        return {"success": True, **fields_json(self), "count": len(self.skills)}


_BYTES_A_TOKEN = 4
"""The estimate of clients that limit their lists."""


class _Root(NamedTuple):
    path: str
    scope: str
    relative: str
    plugin: PluginFolder | None = None


class _Found(NamedTuple):
    path: str
    folder: str
    root: _Root


def list_for(client: Client, place: Place, only: Collection[str] = ()) -> ClientList:
    """Return the list that this client would show here. With `only`, resolved paths, no other file is read."""
    skills: list[ClientSkill] = []
    left_out: list[ClientSkill] = []
    reals: set[str] = set()
    for group in _groups(client, place):
        wanted = (item for item in _search(client, group) if not only or os.path.realpath(item.path) in only)
        read = [skill for item in wanted if (skill := _read(client, item, reals))]
        left_out.extend(skill for skill in read if not skill.listed)
        _add(client, skills, left_out, _sort(client, [skill for skill in read if skill.listed]))
    if client.order == "name":
        skills.sort(key=lambda skill: collation_key(skill.name))
    if client.switches and skills:
        file = in_home(client, client.switches, place)
        rules = _read_switches(file)
        off = [skill for skill in skills if not _is_on(skill, rules)]
        skills = [skill for skill in skills if skill not in off]
        left_out.extend(skill._replace(listed=False, reason=f"hidden by {file}") for skill in off)
    size = sum(len(client.line.format(skill).encode("utf-8", "replace")) for skill in skills) if client.line else 0
    window = -(-size // _BYTES_A_TOKEN) * client.share
    return ClientList(client.name, client.title, client.version, tuple(skills), tuple(left_out), window, client.over)


def _read_switches(file: str) -> list[tuple[str, str, bool]]:
    """Return the `[[skills.config]]` tables of a file: `path` or `name`, its value, and whether it is enabled."""
    import tomllib

    try:
        tables = tomllib.loads(read_file(file, MAX_DOCUMENT).decode())["skills"]["config"]
        given = [(table, [key for key in ("path", "name") if key in table]) for table in tables]
        rules = [
            (keys[0], str(table[keys[0]]), table.get("enabled") is not False) for table, keys in given if len(keys) == 1
        ]
        return [(key, os.path.realpath(value) if key == "path" else value, on) for key, value, on in rules]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _is_on(skill: ClientSkill, rules: Iterable[tuple[str, str, bool]]) -> bool:
    """Return whether these rules leave a skill enabled; the last rule about it decides."""
    real = os.path.realpath(skill.path)
    mine = {("path", real), ("path", os.path.dirname(real)), ("name", skill.name)}
    return next((on for key, value, on in reversed([*rules]) if (key, value) in mine), True)


def _sort(client: Client, skills: list[ClientSkill]) -> list[ClientSkill]:
    if client.order == "reverse":  # except for a skill that is the root itself
        skills.reverse()
        return sorted(skills, key=lambda skill: skill.path.count(os.sep))
    if client.order == "scope":
        return sorted(skills, key=lambda skill: (skill.name, skill.path))
    if client.order == "source":
        return sorted(skills, key=lambda skill: skill.name)
    return sorted(skills, key=lambda skill: collation_key(skill.name)) if client.order == "root" else skills


def _add(client: Client, skills: list[ClientSkill], left_out: list[ClientSkill], more: list[ClientSkill]) -> None:
    """Add a group to the list; in some clients names must be unique."""
    if client.same == "all":
        skills.extend(more)
        return
    at = {skill.name: place for place, skill in enumerate(skills)}
    for skill in more:
        if skill.name not in at:
            at[skill.name] = len(skills)
            skills.append(skill)
            continue
        kept, lost = skills[at[skill.name]], skill
        if client.same != "first":
            kept, lost = lost, kept
        why = f"hidden by {kept.path}" if client.same != "any" else f"it or {kept.path}, whichever is read last"
        skills[at[skill.name]] = kept
        left_out.append(lost._replace(listed=False, reason=why))


def judge_skills(lists: Iterable[ClientList]) -> Callable[[Card], tuple[tuple[str, str], ...]]:
    """Return a function that says what each client does with a skill: the client's name, and `yes` or `no, why`."""
    known = [
        (
            found.client,
            {os.path.realpath(skill.path): skill.verdict for skill in (*found.left_out, *found.skills)},
            {skill.name: f"no, it loads {skill.path} instead" for skill in found.skills},
        )
        for found in lists
    ]

    def judge(card: Card) -> tuple[tuple[str, str], ...]:
        real = os.path.realpath(card.path)
        return tuple(
            (client, verdicts.get(real) or others.get(card.name, ELSEWHERE)) for client, verdicts, others in known
        )

    return judge


ELSEWHERE = "no, not in its directories"
"""The verdict on a skill that is in no directory of a client, if the client has no other of that name."""
_HINTS = {
    BAD_YAML.reason: "Put values that have a colon or begin with a special character in quotes.",
    NO_FRONTMATTER.reason: "Begin the file with `---`, `name:` and `description:`, in UTF-8 without a byte order mark.",
    NO_NAME.reason: "Add `name:` to the frontmatter, as text.",
    NO_DESCRIPTION.reason: "Add `description:` to the frontmatter, as text.",
    LONG_NAME.reason: "Shorten the name to 64 characters.",
    LONG_DESCRIPTION.reason: "Shorten the description to 1,024 characters.",
    BAD_NAME.reason: "Use small letters, digits and hyphens in the name.",
}


_NOT_OFFERED = ("shadowed", "disabled", "guard-blocked")
"""Codes of reasons why Whet does not offer a skill that clients may still load."""


def name_loaders(notes: Iterable[Note], lists: Sequence[ClientList]) -> Iterator[Note]:
    """Yield the notes; those about a skill that Whet does not offer also name the clients that still load it."""
    loaded = [(found, {os.path.realpath(skill.path) for skill in found.skills}) for found in lists]
    for note in notes:
        path = os.path.realpath(note.path) if note.code in _NOT_OFFERED else ""
        if clients := [found for found, paths in loaded if path in paths]:
            titles = [found.title for found in clients]
            load = "loads" if len(titles) == 1 else "load"
            message = f"{note.message} {' and '.join(titles)} still {load} this skill."
            hiding = "" if note.code == "shadowed" else describe_hiding(note.path, clients)
            hint = hiding if note.code == "disabled" else " ".join(filter(None, (note.hint, hiding)))
            yield note._replace(message=message, severity="warning", hint=hint)
        else:
            yield note


def describe_hiding(path: str, clients: Sequence[ClientList]) -> str:
    """Return how to hide a skill from clients that read its directory themselves."""
    ways = []
    for found in clients:
        client = client_named(found.client)
        if client.switches:
            table = f"`[[skills.config]]` with `path = '{path}'` and `enabled = false`"
            ways.append(f"To hide it from {found.title}, add {table} to its {os.path.basename(client.switches)}.")
    others = [found.title for found in clients if not client_named(found.client).switches]
    if others:
        directory = os.path.dirname(path)
        where = os.path.dirname(directory) if is_main_file(os.path.basename(path)) else directory
        ways.append(f"To hide it from {' and '.join(others)}, move it out of {where}.")
    return " ".join(ways)


def examine_clients(
    lists: Iterable[ClientList], root: str = "", own: Sequence[Card] = (), home: str = ""
) -> Iterator[Note]:
    """Yield notes about skills that these clients drop, cut, rename, or show to models although they should not.

    `own` are the skills in `root`, the user's own directory; some clients look elsewhere, in the user's `home`.
    """
    told: dict[tuple[str, str, str, str], list[str]] = {}
    for found in lists:
        judge = judge_skills([found])
        if count := sum(judge(card)[0][1] == ELSEWHERE for card in own):
            skills = "1 skill" if count == 1 else f"{count:,} skills"
            message = f"{found.title} does not load {skills} of yours, because it does not look in ~/.agents/skills."
            directory = os.path.join(home, *client_named(found.client).directory.user.split("/"))
            hint = describe_obstruction(directory) or f"`whet sync` links {'it' if count == 1 else 'them'}."
            yield Note("client-elsewhere", "info", message, hint, path=root)
        for skill in (*found.skills, *found.left_out):
            if skill.scope == "plugin":  # only its author can change it
                continue
            for code, reason in _problems(skill):
                told.setdefault((code, skill.path, skill.name, reason), []).append(found.title)
    for (code, path, name, reason), titles in told.items():
        yield describe_problem(code, reason, " and ".join(titles), len(titles), name, path)


def _problems(skill: ClientSkill) -> Iterator[tuple[str, str]]:
    """Yield the reportable problems of a skill, as codes and reasons."""
    if not skill.listed:
        if skill.reason not in (USERS_ONLY, SOME_FILES) and not skill.reason.startswith(("hidden by", "it or")):
            yield "client-drops", skill.reason
        return
    for change in filter(None, skill.reason.split(", ")):
        kind = change.partition(" ")[0]
        yield {"cut": "client-cuts", "though": "client-shows"}.get(kind, "client-renames"), change


def describe_problem(code: str, reason: str, titles: str, count: int, name: str, path: str) -> Note:
    """Return a note about one problem that some clients have with a skill."""
    verb = "" if count > 1 else "s"
    if code == "client-drops":
        message = f"{titles} do{'' if count > 1 else 'es'} not load this skill: {reason}."
        return Note(
            "client-drops", "warning", message, _HINTS.get(reason, "Correct the field, or quote its value."), name, path
        )
    if code == "client-cuts":
        hint = "Put what matters most first, or shorten the description."
        return Note("client-cuts", "info", f"{titles} show{verb} the description {reason}.", hint, name, path)
    if code == "client-shows":
        message = f"{titles} show{verb} this skill to the model, although `disable-model-invocation` is set."
        hint = "Keep it in a directory that only other clients read; Whet itself never offers it to a model."
        return Note("client-shows", "warning", message, hint, name, path)
    hint = "Give the skill and its directory the same name, in small letters, digits and hyphens."
    return Note("client-renames", "info", f"{titles} list{verb} this skill {reason}.", hint, name, path)


def check_for(client: Client, data: bytes, folder: str, path: str) -> tuple[Note, ...]:
    """Return notes about what this client would change or drop in a skill; empty if it loads the skill as it is."""
    read = _take(client, data, ClientSkill(folder, "", path, ""))
    return tuple(describe_problem(code, reason, client.title, 1, read.name, path) for code, reason in _problems(read))


# directories


def _groups(client: Client, place: Place) -> Iterator[list[_Root]]:
    """Yield the directories that a client reads, in its order; those of one group are sorted together."""
    above: tuple[str, ...] = ()
    if not is_same(place.directory, place.home):
        above = (place.directory,)
        if client.up:
            above = project_directories(place.directory, find_repository(place.directory, home=place.home))
    user = [_Root(in_home(client, path, place), "user", path) for path in client.user]
    project = [_Root(os.path.join(top, *path.split("/")), "project", path) for path in client.project for top in above]
    if client.order not in ("source", "name"):
        project.sort(key=lambda root: next(at for at, top in enumerate(above) if root.path.startswith(top + os.sep)))
    commands = [root for root in (*user, *project) if root.relative in client.commands]
    user, project = ([root for root in roots if root.relative not in client.commands] for roots in (user, project))
    plugins = [*_plugin_roots(client, place)] if client.plugins else []
    if client.order == "scope":
        yield from (project, [*user, *plugins])
    elif client.order == "source":
        yield from _sources(project, client, len(above))
        yield from ([root] for root in user)
    else:
        roots = (*user, *project) if client.user_first else (*project, *user)
        yield from ([root] for root in ((*plugins, *roots) if client.same == "last" else roots))
    if commands:
        yield commands
    if client.same == "all" and client.order == "root":  # the commands of all plugins come first
        yield from ([root] for root in sorted(plugins, key=lambda root: root.relative not in client.commands))


def _plugin_roots(client: Client, place: Place) -> Iterator[_Root]:
    for folder in PluginReader(place, time.time_ns).read((client.name,)).folders:
        relative = client.commands[0] if folder.kind == "commands" else client.project[0]
        yield _Root(folder.path, "plugin", relative, folder)


def _sources(project: list[_Root], client: Client, levels: int) -> Iterator[list[_Root]]:
    """Yield groups of directories: those of the project itself and those above it are separate groups."""
    if levels < 2:
        yield project
        return
    for path in client.project:
        same = [root for root in project if root.relative == path]
        yield same[:1]
        yield same[1:]


# skills


def _search(client: Client, group: list[_Root]) -> Iterator[_Found]:
    for root in group:
        if root.relative in client.commands:
            yield from _commands(root, deep=client.depth == 1)
            continue
        main = os.path.join(root.path, MAIN_FILE)
        if root.plugin and root.plugin.kind == "skill":
            yield _Found(main, os.path.basename(root.path), root)
            continue
        if client.root and os.path.isfile(main):
            yield _Found(main, os.path.basename(root.path), root)
            if not client.inside and client.depth != 1:
                continue
        yield from _walk(client, root, root.path, 1, frozenset((os.path.realpath(root.path),)))


def _walk(client: Client, root: _Root, directory: str, depth: int, above: frozenset[str]) -> Iterator[_Found]:
    """Yield the skills in the subdirectories of a directory."""
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return
    for name in names:
        path = os.path.join(directory, name)
        real = os.path.realpath(path)
        if real in above or name in client.skips or (name.startswith(".") and root.relative not in client.dotted):
            continue
        main = os.path.join(path, MAIN_FILE)
        is_skill = os.path.isfile(main) and (client.links == "files" or not os.path.islink(main))
        if is_skill:
            yield _Found(main, name, root)
        if (client.inside or not is_skill) and (not client.depth or depth < client.depth):
            yield from _walk(client, root, path, depth + 1, above | {real})


def _commands(root: _Root, *, deep: bool) -> Iterator[_Found]:
    for directory, folders, files in os.walk(root.path):
        folders[:] = sorted(folders) if deep else []
        for name in sorted(files):
            path = os.path.join(directory, name)
            if name.endswith(".md"):
                shown = os.path.relpath(directory if name == MAIN_FILE else path[:-3], root.path)
                yield _Found(path, shown.replace(os.sep, ":"), root)


def _read(client: Client, found: _Found, reals: set[str]) -> ClientSkill | None:
    """Return the skill as the client reads it; None for a file that it has already read under another name."""
    if client.same == "all":
        real = os.path.realpath(found.path)
        if real in reals:
            return None
        reals.add(real)
    try:
        with open(found.path, "rb") as file:
            data = file.read(MAX_DOCUMENT)
    except OSError:
        return None
    if found.root.relative in client.commands and not data.startswith(b"---"):  # commands need no frontmatter
        data = b"---\n---\n" + data
    skill = ClientSkill(found.folder, "", found.path, found.root.scope)
    if not (plugin := found.root.plugin):
        return _take(client, data, skill)
    if plugin.kind == "skill":
        skill = skill._replace(name=_said_name(data) or skill.name)
    taken = _take(client._replace(format=client.plugins), data, skill)
    return taken._replace(name=f"{plugin.namespace}:{taken.name}") if client.prefixed else taken


def _take(client: Client, data: bytes, skill: ClientSkill) -> ClientSkill:
    read = READERS[client.format](data, skill.name)
    if isinstance(read, Dropped):
        return skill._replace(listed=False, reason=read.reason)
    if read.hidden:
        return skill._replace(name=read.name, description=read.description, listed=False, reason=read.hidden)
    return _judge(client, data, read, skill)


_USERS_ONLY = re.compile(rb"^disable-model-invocation:\s*[\"']?true", re.MULTILINE | re.IGNORECASE)
_NAME = re.compile(rb"^name:[ \t]*[\"']?([^\"'\r\n#]*?)[\"']?[ \t]*\r?$", re.MULTILINE)


def _said_name(data: bytes) -> str:
    said = _NAME.search(data)
    return said[1].decode("utf-8", "replace").strip() if said else ""


def _judge(client: Client, data: bytes, read: Loaded, skill: ClientSkill) -> ClientSkill:
    """Return the listed skill with the client's changes."""
    changes = []
    if read.name != (_said_name(data) or skill.name):
        changes.append(f"as {read.name}" if read.name else "without a name")
    if read.cut:
        changes.append(f"cut at {len(read.description):,} characters")
    users_only = client.ignores_users_only and _USERS_ONLY.search(data) is not None
    if users_only:
        changes.append(f"though {USERS_ONLY}")
    return skill._replace(
        name=read.name, description=read.description, reason=", ".join(changes), users_only=users_only
    )
