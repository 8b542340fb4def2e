"""Values that vary from one time to the next, by their shape: paths, addresses, dates, numbers of things."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.skill.terms import is_common, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.learning.facts.model import Sort

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
"""Directories that are the same on every machine, with those below them."""
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
