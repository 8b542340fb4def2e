"""Which values of a session are parameters, under which names, and how they are put back as `{names}`.

A value counts when the user gave it, or when it belongs to this machine or person whoever gave it: places below a home
or project, addresses, numbers that identify. The same value in several places and spellings is one parameter.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.facts.model import Parameter, Sort
from whet.learning.facts.values import (
    ROOTS,
    Value,
    called,
    emails,
    file_names,
    identifiers,
    listed,
    passed_on,
    paths,
    quoted,
    values,
)
from whet.skill.names import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.learning.facts.acts import Act

_ASKED = 20
"""Values of the request that become parameters of their own."""
_FOUND_OUT = 6
"""The same for those that only the session's commands hold."""
_SHARED = 400
"""Values beyond those that are put under one name together."""
_LONGEST = 300
_DETAILS = 12
_HOME = re.compile(r"/root(?=/|\Z)|/(?:home|Users)/[\w.-]{1,60}|[A-Za-z]:[\\/]Users[\\/][\w.-]{1,60}|~(?=/|\Z)")
_SKILL = re.compile(r"\A(.{0,200}/skills/([\w.-]{1,64}))(?:/|\Z)")
_BEFORE = re.compile(r"([A-Za-z]{3,20})[\s:`'\"“(#]{1,4}\Z")
_NOUN = re.compile(
    r"\A(?!(?:the|and|for|with|from|into|called|named|titled|this|that|use|see|like|are|was|using|via|add|set|put"
    r"|open|fix|not|its|new|old|file|only|than|then|over|about|after|before|until|since|till|between|by|on|at|to"
    r"|in|is|of|or|as|be)\Z)[a-z]{3,16}\Z"
)
_FROM = re.compile(r"(?i)\b(?:from|since|starting|start|begin(?:ning)?|after)\W{1,3}\Z")
_UNTIL = re.compile(r"(?i)\b(?:to|until|till|through|ending|end|before|by)\W{1,3}\Z")
_WRITING = re.compile(
    r"(?i)\b(?:write|save|saved|store|output|generate|create|produce|put|log|results?|export)\b[^.\n]{0,70}"
    r"\b(?:to|in|into|as|at|under)\W{1,4}\Z|\b(?:write|save|generate|create|produce)\W{1,4}\Z"
)


_BEFORE_FORM = {"version": r"\d.", "id": r"\w", "date": r"\d", "email": r"\w.", "phone": r"\d"}
"""Characters that do not stand before a value of a sort; a number may be part of a path."""


_AGAIN = re.compile(r"(\{files\})(?:[\s\"'`,\\-]{1,20}\{files\}){1,500}")
"""A list of files that has become one name many times over."""


class Found(NamedTuple):
    """A value on its way to becoming a parameter."""

    name: str
    value: str
    sort: Sort
    about: str
    spellings: tuple[str, ...] = ()


def parameters_of(
    request: str, goal: str, story: str, later: Iterable[str], found: Sequence[Act], project: str
) -> tuple[Parameter, ...]:
    """The parameters of a session: the user's own values first, then the places and people in its commands.

    `goal` is what it was about, and `story` what of the request nobody needs to know the next time.
    """
    commands = "\n".join(act.words[:20_000] for act in found)
    said = "\n".join((request, *later))
    collected: dict[str, Found] = {}
    written = {act.text("path") for act in found if act.tool in ("Write", "Edit")}
    for value in (*_places(said), *values(said), *called(said), *_quoted(said, goal, commands)):
        _collect(collected, _named(value, said, written, collected))
    collected = _some(collected, _ASKED)
    for value in list(passed_on(story, commands))[:_DETAILS]:
        if not any(value.text in one.value for one in collected.values()):
            _collect(collected, Found("detail", value.text, "name", "a detail of the case"))
    found_out = {value.text: Found("email", value.text, "email", "the email") for value in emails(commands)}
    found_out |= {text: Found("id", text, "id", "the id") for text in sorted(identifiers(commands))}
    for one in _some({key: one for key, one in found_out.items() if key not in collected}, _FOUND_OUT).values():
        _collect(collected, one)
    if row := [name for name in listed(commands) if name not in said][:_SHARED]:
        _collect(collected, Found("files", row[0], "file", "the files of the case", tuple(row)))
    for place in _bases(said, commands, found, project):
        _collect(collected, place)
        if place.name == "workdir":
            _below(collected, place.value)
    return tuple(
        Parameter(one.name, one.value, one.sort, _where(one, request, commands, written), one.about, one.spellings)
        for one in collected.values()
    )


def _some(collected: dict[str, Found], most: int) -> dict[str, Found]:
    """The first values as they are, and the others as one parameter for each sort."""
    some = dict(list(collected.items())[:most])
    for one in list(collected.values())[most : most + _SHARED]:
        key = f"other {one.sort}"
        shared = some.get(key) or Found(f"other_{one.sort}", one.value, one.sort, f"another {one.sort}")
        some[key] = shared._replace(spellings=(*shared.spellings, one.value, *one.spellings))
    return some


def _places(text: str) -> Iterable[Value]:
    named = list(paths(text, anywhere=True))
    inside = [(value.at, value.at + len(value.text)) for value in named]
    known = {value.text.replace("\\", "/").rpartition("/")[2] for value in named}
    others = [
        value
        for value in file_names(text)
        if value.text not in known and not any(start <= value.at < end for start, end in inside)
    ]
    homes = [value for value in named if _HOME.fullmatch(value.text.rstrip("/"))]
    return sorted((value for value in (*named, *others) if value not in homes), key=lambda value: value.at)


def _quoted(text: str, goal: str, commands: str) -> Iterable[Value]:
    """Names in quotes that were passed on: a title that is written somewhere, a person that is looked up."""
    return (
        value
        for value in quoted(text)
        if value.text not in goal and re.search(rf"(?<!\w){re.escape(value.text)}(?!\w)", commands)
    )


def _collect(collected: dict[str, Found], found: Found | None) -> None:
    if found and len(found.value) <= _LONGEST and found.value not in collected:
        taken = {one.name for one in collected.values()}
        name, number = found.name, 2
        while name in taken:
            name, number = f"{found.name}_{number}", number + 1
        collected[found.value] = found._replace(name=name)


def _below(collected: dict[str, Found], base: str) -> None:
    """Files are also spelled as they are seen from the working directory."""
    for key, one in collected.items():
        if one.sort not in ("file", "directory") or one.value == base:
            continue
        inner = one.value.removeprefix(f"{base}/")
        if inner != one.value and "/" in inner:
            collected[key] = one._replace(spellings=(*one.spellings, inner))
        elif not re.match(r"[/~]|[A-Za-z]:", one.value):
            collected[key] = one._replace(spellings=(f"{base}/{one.value}", *one.spellings))


def _named(value: Value, text: str, written: set[str], collected: dict[str, Found]) -> Found | None:
    before = text[max(0, value.at - 120) : value.at]
    if value.sort in ("file", "directory"):
        return _place(value, before, written, collected)
    name: str = value.sort
    noun = _BEFORE.search(before)
    if value.sort == "date" and _FROM.search(before):
        name, about = "start_date", "the first date"
    elif value.sort == "date" and _UNTIL.search(before):
        name, about = "end_date", "the last date"
    elif value.sort in ("id", "name") and noun and _NOUN.match(noun[1].lower()):
        name, about = noun[1].lower(), f"the {noun[1].lower()}"
    else:
        about = f"the {value.sort}"
    word = value.text if value.sort == "name" and value.text.isalpha() else ""
    spellings = tuple(form for form in dict.fromkeys((word.title(), word.upper())) if form and form != value.text)
    return Found(name, value.text, value.sort, about, spellings)


def _place(value: Value, before: str, written: set[str], collected: dict[str, Found]) -> Found | None:
    path = value.text.rstrip("/\\")
    base = path.replace("\\", "/").rpartition("/")[2]
    if any(base == one.spellings[-1] for one in collected.values() if one.spellings and "/" not in path):
        return None
    stem, _, end = base.rpartition(".") if value.sort == "file" else (base, "", "dir")
    kept = [word for part in slug(stem).split("-") if len(word := re.sub(r"\d", "", part)) > 1] or ["given"]
    about = f"the .{end} file" if value.sort == "file" else "the directory"
    made = any(one == path or one.endswith(f"/{path}") for one in written)
    about += " to write" if made or _WRITING.search(before) else " to work on"
    spellings = (value.text, path, base) if value.sort == "file" and len(base) > 4 else (value.text, path)
    return Found("_".join([*kept[:4], end.lower()]), path, value.sort, about, tuple(dict.fromkeys(spellings)))


def _bases(said: str, commands: str, found: Sequence[Act], project: str) -> Iterable[Found]:
    """The directories that paths of the session lie in, the deepest first: a skill's, the project, temporary ones."""
    seen = {value.text for value in (*paths(said), *paths(commands))}
    seen |= {path for act in found if (path := act.text("path")).startswith("/")}
    bases: dict[str, Found] = {}
    for path in sorted(seen):
        if skill := _SKILL.match(path):
            name = "_".join([*slug(skill[2]).split("-")[:5], "skill_dir"])
            bases.setdefault(skill[1], Found(name, skill[1], "directory", f"the directory of the skill {skill[2]}"))
    rest = sorted(path for path in seen if not _SKILL.match(path))
    project = project.rstrip("/\\")
    if not re.match(r"/|[A-Za-z]:[\\/]", project):
        asked = [value.text.rstrip("/") for value in paths(said)]
        project = posixpath.commonpath([posixpath.dirname(path) for path in asked]) if _alike(asked) else ""
    if project and project not in ("/", "~") and any(path.startswith(project) for path in rest):
        bases.setdefault(project, Found("workdir", project, "directory", "the directory to work in"))
    for path in rest:
        if any(path == base or path.startswith(f"{base}/") for base in bases):
            continue
        home = _HOME.match(path)
        if path.startswith("/tmp/") or path == "/tmp":  # noqa: S108  the session's own path is only named here
            bases.setdefault("/tmp", Found("scratch_dir", "/tmp", "directory", "a directory for temporary files"))  # noqa: S108
        elif home and home[0] != "~":
            bases.setdefault(home[0], Found("home_dir", home[0], "directory", "the home directory"))
        elif (first := path.removeprefix("/").partition("/")[0]) in ROOTS and path.startswith("/"):
            top = f"/{first}"
            bases.setdefault(
                top, Found(f"{slug(top).replace('-', '_')}_dir", top, "directory", "a directory of this machine")
            )
    return sorted(bases.values(), key=lambda one: -len(one.value))


def _alike(asked: Sequence[str]) -> bool:
    return bool(asked) and len({path.startswith("/") for path in asked}) == 1 and asked[0].startswith("/")


def _where(one: Found, request: str, commands: str, written: set[str]) -> tuple[str, ...]:
    places = (("request", request), ("steps", commands), ("files", "\n".join(sorted(written))))
    return tuple(name for name, text in places if any(form in text for form in (one.value, *one.spellings)))


class Blanks:
    """Puts the names of parameters where their values stand."""

    __slots__ = ("_names", "_pattern")

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self._names: dict[str, str] = {}
        edges: dict[str, str] = {}
        for one in parameters:
            for form in (one.example, *one.spellings):
                if form:
                    self._names.setdefault(form, one.name)
                    before = _BEFORE_FORM.get(one.sort, r"\w.~-" if form[0] in "/~" else r"/@\w.~-")
                    edges.setdefault(form, rf"(?<![{before}]){re.escape(form)}(?![\w@-])")
        forms = sorted(edges, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(edges[form] for form in forms) or r"(?!)")

    def __call__(self, text: str) -> str:
        named = self._pattern.sub(lambda found: f"{{{self._names[found[0]]}}}", text)
        return _AGAIN.sub(r"\1", named)
