"""Which values of a session are parameters, under which names, and how they are put back as `{names}`.

A value counts when the user gave it, or when it belongs to this machine or person whoever gave it: places below a home
or project, addresses, numbers that identify. The same value in several places and spellings is one parameter.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.facts.model import Parameter, Sort
from whet.skill.names import slug
from whet.skill.terms import is_common, terms

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from whet.learning.facts.model import Sort
    from whet.learning.facts.tool_calls import Act

EXTENSIONS = frozenset(
    """
    pdf doc docx xls xlsx ppt pptx csv tsv json jsonl yaml yml toml xml html htm md rst txt tex log sql db sqlite
    parquet png jpg jpeg gif svg webp bmp tiff mp3 mp4 mov avi mkv wav flac zip tar gz tgz bz2 7z py js ts tsx jsx mjs
    java kt go rs rb php c cc cpp h hpp cs swift scala sh bash ps1 ipynb r jl lua css scss vue svelte proto ini cfg
    conf env nc npz npy h5 pt onnx pem crt key bib srt vtt ics eml msg patch diff lock tf tfvars gradle pot po stl
    obj geojson gpx
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of ninety strings
)
USUAL = frozenset(
    """
    readme.md package.json package-lock.json pyproject.toml requirements.txt setup.py setup.cfg dockerfile makefile
    docker-compose.yml docker-compose.yaml compose.yaml cargo.toml cargo.lock go.mod go.sum tsconfig.json pom.xml
    build.gradle gemfile composer.json environment.yml environment.yaml changelog.md license.md contributing.md
    skill.md claude.md agents.md index.html conftest.py __init__.py main.py yarn.lock pnpm-lock.yaml uv.lock
    poetry.lock chart.yaml values.yaml  .env .gitignore tox.ini manifest.json
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of fifty strings
)
"""File names that are the same in every project."""
ROOTS = frozenset(
    """
    root home Users tmp workspace workspaces app data mnt srv repo repos project projects code logs output outputs input
    inputs content work private Volumes media github builds testbed sandbox
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of thirty strings
)
"""First parts of paths that differ from machine to machine; those of the system do not."""
_SYSTEM = frozenset(("etc", "usr", "bin", "sbin", "lib", "dev", "proc", "sys", "boot"))
"""Directories that exist on every machine; everything below them counts too."""
_PATH = re.compile(r"(?<![\w.:/~$}\\-])(?:/|~/|[A-Za-z]:[\\/])(?:[\w.@%+~-]{1,120}[\\/]){0,20}[\w.@%+~*-]{0,120}")
_NAME = re.compile(
    r"(?<![\w./\\@%-])(?:[\w-]{1,60}/){0,6}[\w-]{1,80}(?:\.[\w-]{1,40}){0,4}\.([A-Za-z][A-Za-z0-9]{0,6})(?![\w(/@-])"
)
_METHOD = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\s{1,3}\Z")
_OPEN = tuple("{<$*")
"""What follows the beginning of a pattern of paths, which is no path."""
_EXAMPLE = re.compile(r"(?i)(?:\b(?:for example|e\.g\.|such as|like|format|not)\b|\()[^.\n]{0,30}\Z")
_CALLED = re.compile(r"\b(?:called|named|titled|entitled)\s+((?:[A-Z][\w-]{1,30})(?:\s+[A-Z][\w-]{1,30}){0,3})")
_LITERAL = re.compile(r"\"([^\"\n\\]{2,120})\"|'([^'\n\\]{2,120})'")
_MONTHS = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?"
)
_DATE = (
    rf"\b(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?,? (?:19|20)\d\d\b"
    rf"|\b\d{{1,2}}\.? (?:{_MONTHS})\.?,? (?:19|20)\d\d\b"
)
_AMOUNT = (
    r"(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF) ?)\d{1,3}(?:[ ,.']?\d{3})*(?:[.,]\d{1,2})?(?!\w)"
    r"|(?<![\w.])\d[\d.,]{0,12} ?(?:€|USD|EUR|GBP|CHF)(?!\w)"
)
_PHONE = (
    r"(?<![\w.-])(?:\+\d{1,3}[ -]?)?(?:\(\d{2,4}\)[ -]?|\d{2,4}[ -])\d{3}[ -]?\d{3,5}(?!\w)"
    r"|(?<![\w.-])\+\d{10,13}(?![\w.])|(?i:(?<=phone )|(?<=phone: )|(?<=tel )|(?<=mobile ))\d{9,13}(?![\w.])"
)
_EMAIL = re.compile(r"(?<![\w.+:/-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}(?!\w|:[\w~/.])")
_REMOTE = re.compile(r"\b(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id)[ \t][^\n]{0,400}")
_LOGIN = re.compile(r"(?<![\w.+/@-])(?!git@)[\w.-]{1,40}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}(?![\w@])")
_RUN = re.compile(
    r"(?:\b(?:python[\d.]*|node|ruby|perl|php|bash|sh|zsh|Rscript|deno run|uv run)[ \t]+(?:-\w+[ \t]+){0,3}"
    r"|(?<![\w.])\./)"
    r"([\w-][\w./-]{0,120}\.\w{1,5})"
)
_TICKET = (
    r"(?<![\w-])(?!(?:CVE|UTF|ISO|SHA|GPT|RFC|HTTP|COVID|GHSA|CWE)-)(?:[A-Z][A-Z0-9]{1,9}|[A-Z](?=-\d{3}))"
    r"(?:-\d{1,6}){1,3}(?!\w)"
)
_CODE = r"(?<![\w-])(?=\w{6,12}(?!\w))[A-Z]{1,6}\d{1,6}[A-Z][A-Z0-9]{0,8}(?!\w)"
_SHAPES: tuple[tuple[Sort, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\b(?:https?|ssh|git|ftp|s3|gs)://[^\s`'\"<>(){}\[\]|\\]{3,300}")),
    ("email", _EMAIL),
    ("id", re.compile(r"(?<![\w-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![\w-])")),
    ("id", re.compile(r"(?<![\w#-])(?=[0-9a-f]{0,39}[0-9])(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}(?![\w-])")),
    ("id", re.compile(_TICKET)),
    ("id", re.compile(_CODE)),
    ("id", re.compile(r"(?<![\w&#])#\d{1,6}(?![\w-])")),
    ("date", re.compile(r"(?<![\w-])(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")),
    ("date", re.compile(_DATE)),
    ("date", re.compile(r"(?<![\w/.])\d{1,2}([/.])\d{1,2}\1(?:19|20)\d\d(?![\w/])")),
    ("amount", re.compile(_AMOUNT)),
    ("version", re.compile(r"(?<![\w.-])v?\d{1,4}\.\d{1,4}\.\d{1,5}(?:[-+.][\w.]{1,20})?(?![\w-])")),
    ("phone", re.compile(_PHONE)),
)
_MADE_UP = re.compile(
    r"(?<![\w#-])(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|[a-z][a-z-]{1,40}-(?=[a-z]{0,9}\d)[a-z0-9]{6,10}-[a-z0-9]{5})(?![\w-])"
    r"|(?<![0-9A-Za-z#])(?=[0-9a-f]{0,39}[0-9])(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}(?![0-9A-Za-z])"
)
_RELEASE = re.compile(
    r"(?i)\b(?:release|version|tag|revision|build)\s+[`'\"]?v?(\d{1,4}(?:\.\d{1,4}){1,3})(?![\w.]*\d)"
)
_DAY = re.compile(r"(?<!\d)(?<!\d-)(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?(?!\d)(?!-\d)")
_NUMBERED = re.compile(
    r"(?i)\b(build|ticket|issue|order|case|run|job|invoice|account|customer|incident|request|asset|claim|task|patient|booking)"
    r"\s+(?:no\.?\s*|number\s+|id\s+|#)?(\d{3,14})(?!\w|[.,]\d)"
)
_COMPANY = re.compile(
    r"\b(?!(?:For|From|To|The|And|By|With|Of)\b)((?:[A-Z][\w&-]{1,30} ){1,3}"
    r"(?:GmbH|AG|Inc|Ltd|LLC|SA|SE|Corp|KG|BV|Oy|AB|PLC|SARL|SRL))\b"
)
_PERSON = re.compile(
    r"(?:\b(?:from|for|by|of|to|customer|employee|user|client)\s+|\()"
    r"([A-Z][\w'-]{1,20}(?: (?:(?:de|van|von|der|den|la|di|da|del|bin|al)\b|[A-Z][\w'.-]{0,20})){1,3})"
    r"(?=[ ,]{0,2}[<(]?[\w.+-]{1,64}@[\w-]{1,63}\.)"
)
_COINED = re.compile(r"(?<![\w./-])[a-z][a-z0-9]{1,20}(?:[-_][a-z0-9]{2,20}){1,5}(?![\w/-]|\.\w)")
_SIGNED = re.compile(
    r"\bhttps?://[^\s`'\"<>|]{3,200}(?:/20\d\d/|[?&](?:Expires|Signature|token|sig|X-Amz)\b)[^\s`'\"<>|]{0,300}"
)
_MENTION = re.compile(r"(?<=\()#\d{1,5}(?=\))")
_OWNERS = (
    "table|column|customer|tenant|branch|service|namespace|host|server|bucket|repository|repo|environment|cluster|queue"
    "|topic|database|schema|region|team|channel|deployment|container|product|dataset|collection|vendor|supplier|store|shop"
    "|film|movie|asset|course|campaign|station|patient|plant"
)
"""What has a name of its own: the word beside it is a value as soon as a command holds it."""
_OWNED = re.compile(
    rf"(?i)\b(?P<noun>{_OWNERS})\s+(?P<mark>[`'\"]?)(?P<word>[a-z][\w.-]{{1,40}}\b)(?P=mark)"
    rf"|(?<![\w-])(?P<quote>[`'\"]?)(?P<before>[a-z][\w.-]{{1,40}}\b)(?P=quote)\s+(?P<owner>{_OWNERS})\b(?!\s+[`'\"])"
)
_BETWEEN = re.compile(r"[\s\"'`,()\[\];]+")
_OWNED_MOST = 8
_ADJECTIVES = frozenset(
    """
    nullable local remote main new old same given target source existing current single entire whole own temporary
    empty other staging production test first last second public private default primary foreign available running
    title name names description page pages code id ids number type types list lists data detail details owner
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of fifty strings
)
"""Words that say which one of its kind, or what of it, and are the same for everybody."""
_ROW = 4
"""Names in a row from which on they are a list."""
_QUOTED = re.compile(r"(?<![\w=])[\"“'‘]([^\"“”'‘’\n`{}<>=:;|]{2,60})[\"”'’](?!\w)")


class Value(NamedTuple):
    """A value in a text."""

    text: str
    sort: Sort
    at: int


def paths(text: str, *, anywhere: bool = False) -> Iterator[Value]:
    """Absolute paths; without `anywhere` only those that differ from machine to machine."""
    for found in _PATH.finditer(text):
        path = found[0].rstrip(".*,")
        first = path.removeprefix("/").partition("/")[0]
        ours = path[:1] == "~" or path[1:2] == ":" or first in ROOTS
        deep = path.rstrip("/").count("/") > 1 and (first not in _SYSTEM or _extension(path))
        asked = anywhere and deep and not _METHOD.search(text[max(0, found.start() - 10) : found.start()])
        if "%" not in path and text[found.end() : found.end() + 1] not in _OPEN and len(path) > 2 and (ours or asked):
            yield Value(path, "file" if _extension(path) else "directory", found.start())


def file_names(text: str) -> Iterator[Value]:
    """Names of files without a place, or with one below the working directory."""
    for found in _NAME.finditer(text):
        if found[1].lower() in EXTENSIONS and found[0].rpartition("/")[2].lower() not in USUAL:
            yield Value(found[0], "file", found.start())


def values(text: str) -> Iterator[Value]:
    """Everything else that has the shape of a value, without those inside one another."""
    taken: list[tuple[int, int]] = []
    for sort, shape in _SHAPES:
        for found in shape.finditer(text):
            start, end = found.span()
            value = found[0].rstrip(".,;:)") if sort == "url" else found[0]
            shown = sort == "date" and _EXAMPLE.search(text[max(0, start - 40) : start])
            if not shown and not any(start < stop and begin < end for begin, stop in taken):
                taken.append((start, end))
                yield Value(value, sort, start)


def emails(text: str) -> Iterator[Value]:
    """The addresses of people."""
    return (Value(found[0], "email", found.start()) for found in _EMAIL.finditer(text))


def logins(commands: str) -> dict[str, None]:
    """Users on other machines: what looks like an address of mail and is handed to `ssh` and its like."""
    return {found[0]: None for line in _REMOTE.finditer(commands) for found in _LOGIN.finditer(line[0])}


def scripts(commands: str) -> set[str]:
    """The scripts of a project that commands run: they belong to how it is done."""
    return {found[1] for found in _RUN.finditer(commands)}


def listed(text: str) -> dict[str, None]:
    """Names of files that stand in a row: what was there that day, and not how it is done."""
    found: dict[str, None] = {}
    row: list[str] = []
    for word in (*_BETWEEN.split(text), ""):
        if "." in word and word.rpartition(".")[2].lower() in EXTENSIONS and "/" not in word and word[0] not in ".*$-{":
            row.append(word)
        elif word not in ("-", "\\", "+") or not row:
            if len(row) >= _ROW:
                found.update(dict.fromkeys(row))
            row = []
    return found


def identifiers(text: str) -> set[str]:
    """What only a machine makes up: digests, commits, and names that end in a random part, such as those of pods."""
    return set(_MADE_UP.findall(text))


def quoted(text: str) -> Iterator[Value]:
    """Names in quotation marks that read like names of things: with a capital, a digit or a blank in them."""
    for found in _QUOTED.finditer(text):
        name = found[1].strip()
        if (
            re.search(r"[A-Z].*[A-Z]|\d|\w \w", name)
            and not re.search(r"[/\\_]|\.\w|(?:^| )-|\.$", name)
            and len(name) > 2
        ):
            yield Value(name, "name", found.start())


def called(text: str) -> Iterator[Value]:
    """Names that are given as names: `a service called Blue Heron`."""
    for found in _CALLED.finditer(text):
        yield Value(found[1], "name", found.start(1))


def releases(text: str) -> Iterator[Value]:
    """Versions of two parts, which only the word before them tells from other numbers."""
    return (Value(found[1], "version", found.start(1)) for found in _RELEASE.finditer(text))


def numbered(text: str) -> Iterator[Value]:
    """Numbers of things: `build 88213`, `account 123456789012`."""
    return (Value(found[2], "id", found.start(2)) for found in _NUMBERED.finditer(text))


def parties(text: str) -> Iterator[tuple[str, Value]]:
    """Companies, and people who stand beside their address, with what to call them."""
    for noun, shape in (("company", _COMPANY), ("person", _PERSON)):
        yield from ((noun, Value(found[1], "name", found.start(1))) for found in shape.finditer(text))


def coined(text: str, commands: str) -> Iterator[Value]:
    """Names with a hyphen or underscore that somebody made up: a directory of several paths, a test that is run."""
    for found in _COINED.finditer(text):
        inside = re.findall(rf"(?:/|::){re.escape(found[0])}(?=[/.\s\"']|\Z)", commands)
        if len(inside) > 1 or (inside and inside[0].startswith("::")):
            yield Value(found[0], "name", found.start())


def passing(commands: str) -> Iterator[Value]:
    """What only holds for a while: signed addresses, numbers of pull requests."""
    yield from (Value(found[0], "url", found.start()) for found in _SIGNED.finditer(commands))
    yield from (Value(found[0], "id", found.start()) for found in _MENTION.finditer(commands))


def is_code(text: str) -> bool:
    """Is all of it the number of a ticket, a digest or the like?"""
    return any(re.fullmatch(shape, text) for shape in (_TICKET, _CODE, r"\d{4,14}", _MADE_UP.pattern))


def days(text: str) -> Iterator[Value]:
    """Dates and months, also those inside the names of files."""
    return (Value(found[0], "date", found.start()) for found in _DAY.finditer(text))


def owned(text: str, commands: str) -> dict[str, str]:
    """Plain words that were handed to a command and name a thing of the case, a table for instance; with that thing."""
    found: dict[str, str] = {}
    start = 0
    while (hit := _OWNED.search(text, start)) and len(found) < _OWNED_MOST:
        word, noun = hit["word"] or hit["before"], (hit["noun"] or hit["owner"]).lower()
        start = hit.end("before") if hit["before"] else hit.end("noun")
        plain = not (hit["mark"] or hit["quote"])
        key = next(iter(terms(word)), "")
        if plain and (not key or is_common(key) or word.lower() in _ADJECTIVES or re.fullmatch(_OWNERS, word.lower())):
            continue
        if re.search(rf"(?<=[\s=/:@'\"]){re.escape(word)}(?=[\s=/:;,'\"]|\Z)", commands):
            found.setdefault(word, noun)
    return found


def passed_on(story: str, commands: str) -> Iterator[Value]:
    """What was told in passing and then handed to a tool as it was: names, streets, numbers of a single case."""
    for found in _LITERAL.finditer(commands):
        text = (found[1] or found[2]).strip(" ,.;:")
        at = story.find(text) if len(text) > 3 and re.search(r"\d|\w \w|[A-Z]", text) else -1
        if at >= 0 and not re.search(r"[_/\\{}<>=%]", text) and not story[at - 1 : at].isalnum():
            yield Value(text, "name", at)


def _extension(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    end = name.rpartition(".")[2].lower() if "." in name[1:] else ""
    return end if end in EXTENSIONS or re.fullmatch(r"[a-z][a-z0-9]{1,3}", end) else ""


_ASKED = 20
"""Values of the request that become parameters of their own."""
_FOUND_OUT = 6
"""The same for those that only the session's commands hold."""
_SHARED = 400
"""Values beyond those that are put under one name together."""
_LONGEST = 300
_DETAILS = 12
_NAME_LENGTH = 60
_MONTH = len("2026-01")
_FEW_DAYS = 2
"""Dates in commands beyond which they are data."""
_COUNTED = re.compile(r"((?:.*/)?[^/\d]*)(\d{1,6})([^/\d]*(?:\.\w{1,8})?)", re.DOTALL)
"""A file with a single number in its name."""
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


_BEFORE_FORM = {"version": r"\d.", "id": r"0-9A-Za-z", "date": r"\d", "email": r"\w.", "phone": r"\d", "name": r"\w"}
"""Characters that do not stand before a value of a sort; a number may be part of a path."""
_AFTER_FORM = {"version": r"(?!\w|\.\d)", "id": r"(?![0-9A-Za-z])", "date": r"(?!\d)", "name": r"(?!\w)"}
"""What does not follow it; a number may be glued to the rest of a name."""


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
    words = owned(said, commands)
    for noun, value in (*parties(said), *_handed_over(said, found)):
        _collect(collected, Found(noun, value.text, value.sort, f"the {noun}"))
    for login in logins(commands):
        _collect(collected, Found("login", login, "email", "the user and the machine"))
    named = (*_places(said, scripts(commands)), *numbered(said), *values(said), *releases(said), *called(said))
    for value in (*named, *_quoted(said, goal, commands), *coined(said, commands)):
        _collect(collected, _named(value, said, written, collected, words))
    collected = _some(collected, _ASKED)
    for word, noun in words.items():
        _collect(collected, _word(noun, word, commands, collected))
    for noun, day in _dates(said, commands, collected):
        _collect(collected, Found(noun, day, "date", f"the {noun}"))
    for value in list(passed_on(story, commands))[:_DETAILS]:
        if not any(value.text in one.value for one in collected.values()):
            _collect(collected, Found("detail", value.text, "name", "a detail of the case"))
    found_out = {value.text: Found("email", value.text, "email", "the email") for value in emails(commands)}
    found_out |= {value.text: _passing(value) for value in passing(commands)}
    found_out |= {text: Found("id", text, "id", "the id") for text in sorted(identifiers(commands))}
    for one in _some({key: one for key, one in found_out.items() if key not in collected}, _FOUND_OUT).values():
        _collect(collected, one)
    if row := [name for name in listed(commands) if name not in said][:_SHARED]:
        _collect(collected, Found("files", row[0], "file", "the files of the case", tuple(row)))
    for place in _bases(said, commands, found, project):
        _collect(collected, place)
        if place.name == "workdir":
            _below(collected, place.value)
    return tuple(_parameter(one, request, commands, written) for one in collected.values())


def _parameter(one: Found, request: str, commands: str, written: set[str]) -> Parameter:
    return Parameter(one.name, one.value, one.sort, _where(one, request, commands, written), one.about, one.spellings)


def _passing(value: Value) -> Found:
    if value.text.startswith("#"):
        return Found("issue", value.text, "id", "the number of the issue or pull request")
    return Found(value.sort, value.text, value.sort, f"the {value.sort}")


def _dates(said: str, commands: str, collected: Mapping[str, Found]) -> Iterable[tuple[str, str]]:
    """Dates that stand inside other things: those the user gave, and the day on which it was done."""
    if not any(True for _ in days(said)) and not any(True for _ in days(commands)):
        return
    apart = Blanks(_parameter(one, "", "", set()) for one in collected.values())
    told, done = apart(said), apart(commands)
    asked = [value.text for value in days(said) if value.text in told or value.text in done]
    found_out = {value.text for value in days(done) if len(value.text) > _MONTH} - set(asked)
    for day in (*dict.fromkeys(asked), *(sorted(found_out) if len(found_out) <= _FEW_DAYS else ())):
        yield "month" if len(day) == _MONTH else "date", day


def _some(collected: dict[str, Found], most: int) -> dict[str, Found]:
    """The first values as they are, and the others as one parameter for each sort."""
    some = dict(list(collected.items())[:most])
    for one in list(collected.values())[most : most + _SHARED]:
        key = f"other {one.sort}"
        shared = some.get(key) or Found(f"other_{one.sort}", one.value, one.sort, f"another {one.sort}")
        some[key] = shared._replace(spellings=(*shared.spellings, one.value, *one.spellings))
    return some


def _word(noun: str, word: str, commands: str, collected: Mapping[str, Found]) -> Found:
    """A thing that has a name of its own; the second one of its kind is called by the option it was given to."""
    option = re.search(rf"(?<![\w-])--?([a-z][a-z-]{{1,20}})[ =][\"']?{re.escape(word)}(?![\w-])", commands)
    if option and option[1] != noun and noun in {one.name for one in collected.values()}:
        return Found(f"{option[1].replace('-', '_')}_{noun}", word, "word", f"the {noun} for `--{option[1]}`")
    return Found(noun, word, "word", f"the {noun}")


def _places(text: str, run: Container[str]) -> Iterable[Value]:
    named = list(paths(text, anywhere=True))
    inside = [(value.at, value.at + len(value.text)) for value in named]
    known = {value.text.replace("\\", "/").rpartition("/")[2] for value in named}
    others = [
        value
        for value in file_names(text)
        if value.text not in known
        and value.text not in run
        and not any(start <= value.at < end for start, end in inside)
    ]
    series = _series({value.text for value in (*named, *others)})
    kept = [
        value for value in (*named, *others) if value.text not in series and not _HOME.fullmatch(value.text.rstrip("/"))
    ]
    return sorted(kept, key=lambda value: value.at)


def _series(names: Iterable[str]) -> set[str]:
    """Files that are counted, such as `page-01.png` and `page-02.png`: how they are named, and no values."""
    counted: dict[str, dict[int, str]] = {}
    for name in names:
        number = _COUNTED.fullmatch(name)
        if number:
            counted.setdefault(f"{number[1]}#{number[3]}", {})[int(number[2])] = name
    return {name for some in counted.values() if len(some) > 1 and some.keys() & {0, 1} for name in some.values()}


def _handed_over(text: str, found: Sequence[Act]) -> Iterable[tuple[str, Value]]:
    """Names and numbers that a connected tool was given, under the name the tool has for them."""
    for act in found:
        if act.tool.startswith("mcp__"):
            for key, value in act.given.items():
                name = slug(key).replace("-", "_")
                if not isinstance(value, str) or not 2 < len(value) < _NAME_LENGTH or not name:
                    continue
                told = re.search(r"[A-Z\d]", value) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
                if told or is_code(value):
                    yield name, Value(value, "id" if is_code(value) else "name", 0)


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


def _named(
    value: Value, text: str, written: set[str], collected: dict[str, Found], words: Mapping[str, str]
) -> Found | None:
    before = text[max(0, value.at - 120) : value.at]
    if value.sort in ("file", "directory"):
        return _place(value, before, written, collected, words)
    name: str = value.sort
    noun = _BEFORE.search(before)
    if value.sort == "date" and _FROM.search(before):
        name, about = "start_date", "the first date"
    elif value.sort == "date" and _UNTIL.search(before):
        name, about = "end_date", "the last date"
    elif value.sort in ("id", "name") and noun and _NOUN.match(noun[1].lower()):
        name, about = noun[1].lower(), f"the {noun[1].lower()}"
    elif value.text.startswith("#"):
        name, about = "issue", "the number of the issue or pull request"
    elif value.text.startswith("test_"):
        name, about = "test", "the test"
    else:
        about = f"the {value.sort}"
    word = value.text if value.sort == "name" and value.text.isalpha() else ""
    spellings = tuple(form for form in dict.fromkeys((word.title(), word.upper())) if form and form != value.text)
    return Found(name, value.text, value.sort, about, spellings)


def _place(
    value: Value, before: str, written: set[str], collected: dict[str, Found], words: Mapping[str, str]
) -> Found | None:
    path = value.text.rstrip("/\\")
    base = path.replace("\\", "/").rpartition("/")[2]
    if any(base == one.spellings[-1] for one in collected.values() if one.spellings and "/" not in path):
        return None
    stem, _, end = base.rpartition(".") if value.sort == "file" else (base, "", "dir")
    nouns = {slug(word): noun for word, noun in words.items()}
    parts = [nouns.get(part, re.sub(r"\d", "", part)) for part in slug(stem).split("-")]
    kept = [part for part in parts if len(part) > 1] or ["given"]
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
    """Puts the names of parameters where their values stand.

    A plain word is a value only beside what it names; in a command, where words are arguments, it is one anywhere.
    """

    __slots__ = ("_code", "_names", "_prose")

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self._names: dict[str, str] = {}
        edges: dict[str, tuple[str, str]] = {}
        for one in parameters:
            for form in (one.example, *one.spellings):
                if form:
                    self._names.setdefault(form, one.name)
                    edges.setdefault(form, _edges(form, one))
        forms = sorted(edges, key=lambda form: (-len(form), form))
        prose, code = ([edges[form][kind] for form in forms] for kind in (0, 1))
        self._prose = _any_of(prose, forms)
        self._code = _any_of(code, forms) if code != prose else self._prose

    def __call__(self, text: str) -> str:
        if "`" not in text:
            return self._put(text, self._prose)
        parts = re.split(r"(`[^`\n]{1,400}`)", text)
        return "".join(self._put(part, self._code if at % 2 else self._prose) for at, part in enumerate(parts))

    def code(self, text: str) -> str:
        """The same for commands and scripts."""
        return self._put(text, self._code)

    def _put(self, text: str, pattern: re.Pattern[str]) -> str:
        named = pattern.sub(lambda found: f"{{{self._names[found[0]]}}}", text)
        return _AGAIN.sub(r"\1", named)


def _any_of(patterns: Sequence[str], forms: Sequence[str]) -> re.Pattern[str]:
    """A pattern for any of these, which looks closer only where one of them can begin."""
    first = "".join(re.escape(letter) for letter in sorted({form[0] for form in forms}))
    return re.compile(f"(?=[{first}])(?:{'|'.join(patterns)})" if forms else r"(?!)")


def _edges(form: str, one: Parameter) -> tuple[str, str]:
    """How a value is found in prose, and in code."""
    plain = re.escape(form)
    if one.sort == "word":
        noun = re.sub(r"_\d+\Z", "", one.name).rpartition("_")[2]
        beside = rf"(?<=\b{noun} ){plain}\b|(?<=\b{noun} [`'\"]){plain}\b|(?<!\w){plain}(?=[`'\"]? {noun}\b)"
        glued = "_" in form  # a name of several words is known inside another one, too
        return beside, rf"(?<![A-Za-z0-9-]){plain}(?![A-Za-z0-9-])" if glued else rf"(?<![\w-]){plain}(?![\w-])"
    before = _BEFORE_FORM.get(one.sort, r"\w.~-" if form[0] in "/~" else r"/@\w.~-")
    after = _AFTER_FORM.get(one.sort, r"(?![\w@-])")
    edge = rf"(?<![{before}]){plain}{after}"
    return edge, edge
