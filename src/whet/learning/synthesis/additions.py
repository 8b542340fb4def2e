"""What a session adds to a skill that is there already: rules, pitfalls, requirements and steps that it does not have.

Pure functions of texts. Nothing of the skill is taken away or put differently, however it is laid out: new points go to
the end of the section of that name, or into a section of their own. Few at a time, so that a person can look at them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.facts.shell import programs
from whet.routing.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECTIONS = ("Rules", "What the result must be like", "Pitfalls")
"""The sections of a distilled skill that are lists of points."""
MOST = 8
"""Points that one session adds to a section."""
_STEPS = "Steps"
_FURTHER = "Further steps"
_MOST_STEPS = 4
_SAME = 0.75
"""The share of the words of a point that stand in another one, from which on they say the same."""
_HEADING = re.compile(r"^## +(.+?)\s*$")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_POINT = re.compile(r"^(?:[-*+]|\d{1,3}\.) ")
_CODE = re.compile(r"^\s*`{3,}(?:bash|sh|shell)?\s*\n(.*?)^\s*`{3,}\s*$", re.MULTILINE | re.DOTALL)


class Merged(NamedTuple):
    """A body with what was added to it."""

    body: str
    added: tuple[str, ...]
    """The first line of each point that is new."""


def merged(body: str, drafted: str, refused: Sequence[str] = ()) -> Merged:
    """A body with the points of a drafted one that it lacks; `refused` are texts whose points nobody wants again."""
    known = [set(words(line)) for text in (body, *refused) for line in _lines(text)]
    added: list[str] = []
    text = body
    for title in SECTIONS:
        fresh = [point for point in points(drafted, title) if not _said(point, known)][:MOST]
        text = _with(text, title, fresh)
        added += fresh
        known += [set(words(point)) for point in fresh]
    commands = _commands("\n".join((body, *refused)))
    steps = [point for point in points(drafted, _STEPS) if (new := _commands(point)) and not new & commands]
    fresh = [re.sub(r"\A\d+\. ", "- ", point) for point in steps[:_MOST_STEPS]]
    text = _with(text, _FURTHER, fresh)
    return Merged(text, tuple(point.partition("\n")[0] for point in (*added, *fresh)))


def points(body: str, title: str) -> list[str]:
    """The points of a section, each with the lines that belong to it."""
    found: list[list[str]] = []
    for line, inside in _section(body, title):
        if not inside and _POINT.match(line):
            found.append([line])
        elif found:
            found[-1].append(line)
    return ["\n".join(lines).rstrip() for lines in found]


def _section(body: str, title: str) -> Iterator[tuple[str, bool]]:
    """The lines below a heading, and whether each is in a block of code."""
    here = False
    for line, inside in _marked(body):
        heading = None if inside else _HEADING.match(line)
        if heading:
            here = heading[1] == title
        elif here:
            yield line, inside


def _marked(body: str) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it is in a block of code; fences are."""
    fence = ""
    for line in body.split("\n"):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
            yield line, True
        elif found and line.strip().startswith(fence) and set(line.strip()) == {fence[0]}:
            fence = ""
            yield line, True
        else:
            yield line, bool(fence)


def _with(body: str, title: str, fresh: Sequence[str]) -> str:
    """A body with further points at the end of a section, which is made where it is missing."""
    if not fresh:
        return body
    lines = [line for line, _ in _marked(body)]
    marks = [inside for _, inside in _marked(body)]
    heads = [at for at, line in enumerate(lines) if not marks[at] and _HEADING.match(line)]
    start = next((at for at in heads if (found := _HEADING.match(lines[at])) and found[1] == title), None)
    if start is None:
        return "\n".join([body.rstrip("\n"), "", f"## {title}", "", *fresh, ""])
    end = next((at for at in heads if at > start), len(lines))
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    gap = [] if _POINT.match(lines[end - 1]) or lines[end - 1].startswith(" ") else [""]
    return "\n".join([*lines[:end], *gap, *fresh, *(lines[end:] or [""])])


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.strip())


def _said(point: str, known: Sequence[set[str]]) -> bool:
    own = set(words(point))
    return not own or any(len(own & other) >= _SAME * len(own) for other in known)


def _commands(text: str) -> set[str]:
    """The programs that blocks of code run."""
    return {ran.label for code in _CODE.finditer(text) for ran in programs(code[1]) if ran.label and not ran.looks}
