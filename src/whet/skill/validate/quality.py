"""The profile `quality`: a linter for skills that are chosen when they should be and work when they are.

Nothing here makes a package invalid; the specification does that. A warning is worth mending, an info worth knowing.
What is asked of a published package in any case (sections, checks behind steps) is only an info for a private one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.notes import Note
from whet.skill.body import first_prose
from whet.skill.coerce import split_tools
from whet.skill.validate.fixable import written
from whet.skill.validate.markdown import rows_of, sections_of, without_code
from whet.skill.validate.procedure import check_sections, check_steps
from whet.skill.validate.references import check_references
from whet.skill.validate.wording import check_description

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.skill.frontmatter import Document
    from whet.skill.validate.input import ValidationInput
    from whet.skill.validate.markdown import Row

MAX_LINES = 500
MAX_TOKENS = 5_000
CHARACTERS_PER_TOKEN = 4

INCIDENTS = 4
INCIDENTS_PER_1000 = 0.5

_BROAD = re.compile(r"(?i)\*|(?:bash|shell|sh|terminal|powershell|execute|run_command)(?:\([\s:*]*\))?")
_INCIDENT = re.compile(
    r"(?:\b(?:PRs?|MRs?|[Pp]ull [Rr]equests?|[Ii]ssues?|[Bb]ugs?|[Tt]ickets?)\s*#?|/(?:pull|issues|merge_requests)/"
    r"|(?<![\w&/#])#(?=\d{3}))\d{1,6}\b(?!;)"
)
_LEFTOVER = re.compile(
    r"\b(?:TODO|FIXME|TBD)\b(?!\.\w|s?[/\w\s,'\"-]{0,20}\b(?:comments?|markers?|lists?|items?|tags?|annotations?|notes?)\b)"
    r"|\b[Ll]orem ipsum\b"
)
_MARKERS = ("TODO", "FIXME", "TBD", "orem ipsum")
_QUOTATION = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”")


def check(package: ValidationInput, document: Document) -> Iterator[Note]:
    """Every finding of the linter."""
    body = document.body
    rows = rows_of(body, document.body_line)
    sections = sections_of(rows)
    prose = [row for row in rows if not row.code]
    yield from check_description(document)
    yield from _size(body, document)
    yield from check_sections(sections, published=package.published)
    yield from check_steps(sections, published=package.published)
    yield from check_references(prose, package.files)
    yield from _grants(document)
    yield from _incidents(prose, document.body_line)
    yield from _leftovers(prose, document)
    if body and not body.endswith("\n"):
        yield Note(
            "no-final-newline", "info", "The file does not end with a line end.", line=rows[-1].line, fix="Adds one."
        )


def _size(body: str, document: Document) -> Iterator[Note]:
    line = document.body_line
    if not body.strip():
        yield Note("body-empty", "warning", "There are no instructions below the frontmatter.", line=line)
    lines = body.count("\n") + (not body.endswith("\n"))
    if lines > MAX_LINES:
        message = f"The body has {lines:,} lines; keep it to {MAX_LINES} and move the rest to references/."
        yield Note("body-too-long", "warning", message, line=line)
    tokens = len(body) // CHARACTERS_PER_TOKEN
    if tokens > MAX_TOKENS:
        message = f"The body has about {tokens:,} tokens; keep it to {MAX_TOKENS:,} and move the rest to references/."
        yield Note("body-too-many-tokens", "warning", message, line=line)
    values = document.values
    if not values.get("description") and (prose := first_prose(body)):
        message = f"Without a description, clients show {prose[:40]!r} in its place."
        yield Note("description-from-body", "warning", message, line=document.lines.get("description"))


def _grants(document: Document) -> Iterator[Note]:
    for key in ("allowed-tools", "allowed_tools"):
        for tool in split_tools(document.values.get(key)):
            if _BROAD.fullmatch(tool):
                message = f"The skill asks for {tool} without limits; name the commands, such as Bash(git:*)."
                yield Note("broad-tool-grant", "warning", message, line=document.lines.get(key))


def _incidents(prose: list[Row], line: int) -> Iterator[Note]:
    text = "\n".join(without_code(row.text) for row in prose)
    count = sum(1 for _ in _INCIDENT.finditer(text))
    if count >= INCIDENTS and count * 1000 >= INCIDENTS_PER_1000 * len(text):
        message = f"The body refers to {count} issues and pull requests; write down the procedure, not its history."
        yield Note("incident-log-shape", "warning", message, line=line)


def _leftovers(prose: list[Row], document: Document) -> Iterator[Note]:
    places = [(document.lines.get("description"), written(document, "description") or "")]
    if any(marker in document.body for marker in _MARKERS):
        places.extend((row.line, without_code(row.text)) for row in prose)
    for line, text in places:
        if found := _LEFTOVER.search(_QUOTATION.sub("", text)):
            yield Note("leftover-marker", "warning", f"{found[0]} was left in.", line=line)
