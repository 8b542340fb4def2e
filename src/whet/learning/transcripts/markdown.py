"""Transcripts as text: Markdown with headings or labels for who speaks, and what Claude Code's `/export` writes.

A label counts only where it cannot be anything else: a heading that is nothing but a name, a name in bold, a name
before a colon. Nothing in a fenced block is a label.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.transcripts.names import meanings
from whet.learning.transcripts.values import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.learning.transcripts.collector import Collector

_SIDE = meanings("speakers")
_NAME = (
    r"(?P<tool>tool(?:[ _-](?:call|use|result|output))?|result|output|command)"
    rf"|(?P<side>{'|'.join(sorted(_SIDE, key=len, reverse=True))}|claude code|github copilot)"
)
_TIME = r"(?:[ \t]*[(\[][^)\]\n]{0,80}[)\]])?(?:[ \t]*[-–—@·|][ \t]*[\d:. TZ/+,-]{4,40}(?:[ap]m)?)?"
_HEADING = re.compile(
    rf"[ \t]*(?:#{{1,6}}[ \t]+|[*_]{{2,3}}|[-*][ \t]+\*\*)[^\w\n]{{0,8}}(?:{_NAME}){_TIME}"
    r"[ \t]*(?:[*_]{0,3}[ \t]*:?[ \t]*[*_]{0,3}[ \t]*$|[*_]{0,3}[ \t]*:[ \t]*[*_]{0,3}[ \t]*(?P<rest>[^\n]+)$)",
    re.IGNORECASE,
)
_PLAIN = re.compile(rf"(?:{_NAME}){_TIME}[ \t]*:(?:[ \t]+(?P<rest>[^\n]+))?[ \t]*$", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_BLOCK = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]{0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_SCREEN = re.compile(r"^[ \t]*([⏺●⎿>❯])[ \t]?(.*)$")
_ON_SCREEN = re.compile(r"^[⏺●] ", re.MULTILINE)
_CALL = re.compile(r"([A-Za-z][\w:. -]{0,60})\((.*)\)\s*$", re.DOTALL)
_DIFF = re.compile(r"^[ \t]*\d{1,7} ([+-])(.*)$", re.MULTILINE)
_SHOWN = {"update": "Edit", "multi-edit": "Edit", "fetch": "Web", "web search": "Web"}
_SCREEN_SIDES = {">": "user", "❯": "user", "⏺": "assistant", "●": "assistant", "⎿": "result"}


class Section(NamedTuple):
    """What one side said."""

    side: str
    tool: str
    text: str


def read(text: str, into: Collector) -> bool:
    """Take over a transcript; False where the text is none, since nobody or only one side speaks."""
    sections = list(_screen(text) if _ON_SCREEN.search(text) else _sections(text))
    sides = {section.side for section in sections if section.text.strip() or section.tool}
    if "user" not in sides or not sides & {"assistant", "call"}:
        return False
    for section, after in zip(sections, [*sections[1:], None], strict=True):
        _section(_changed(section, after), into)
    return True


def _section(section: Section, into: Collector) -> None:
    text = section.text.strip()
    if section.side == "user":
        into.user(text)
    elif section.side == "assistant":
        into.said("assistant", text)
    elif section.side == "call":
        _call(section.tool, text, into)
    elif section.side == "result":
        into.returned(_inner(text))
    else:
        into.said("note", text, 0, section.side)


def _changed(section: Section, after: Section | None) -> Section:
    """An edit with what it changed, where only its result shows that, in lines with numbers and signs."""
    if section.tool != "Edit" or after is None or after.side != "result":
        return section
    lines = {sign: [found[2] for found in _DIFF.finditer(after.text) if found[1] == sign] for sign in "-+"}
    given = arguments(section.text)
    if not any(lines.values()) or set(given) != {"path"}:
        return section
    import json

    given = {**given, "old": "\n".join(lines["-"]), "new": "\n".join(lines["+"])}
    return section._replace(text=json.dumps(given, ensure_ascii=False))


def _call(tool: str, text: str, into: Collector) -> None:
    inner = _inner(text).strip()
    given = arguments(inner)
    shell = tool.lower() in {"", "bash", "shell", "terminal", "command"}
    into.called(tool or "Bash", {"command": inner} if shell and set(given) <= {"input"} else given)


def _inner(text: str) -> str:
    """What stands in the fences of a text, or the text where there are none."""
    blocks = [found[2] for found in _BLOCK.finditer(text)]
    return "\n".join(blocks) if blocks else text


def _sections(text: str) -> Iterator[Section]:
    side, tool, fence = "", "", ""
    kept: list[str] = []
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        label = None if fence or mark else _HEADING.match(line) or _PLAIN.match(line)
        if label is None:
            kept.append(line)
            continue
        if side:
            yield Section(side, tool, "\n".join(kept))
        side, tool, first = _labelled(label)
        kept = [first] if first else []
    if side:
        yield Section(side, tool, "\n".join(kept))


def _labelled(label: re.Match[str]) -> tuple[str, str, str]:
    """Whose section begins, of which tool, and what it begins with."""
    rest = label["rest"] or ""
    if label["side"] and not label["tool"]:
        return _SIDE.get(label["side"].lower(), "assistant"), "", rest
    name = label["tool"].lower()
    if name.endswith(("result", "output")):
        return "result", "", rest
    if name == "command":
        return "call", "Bash", rest
    return "call", rest.strip(" `*")[:80], ""


def _screen(text: str) -> Iterator[Section]:
    """What a terminal showed: `>` before what was typed, a dot before what the model did, a hook before output."""
    side = ""
    kept: list[str] = []
    for line in text.splitlines():
        found = _SCREEN.match(line)
        if found and not (found[1] == ">" and line.startswith(" ")):
            if side:
                yield _shown(side, "\n".join(kept))
            side, kept = _SCREEN_SIDES[found[1]], [found[2]]
        else:
            kept.append(line.strip() if side == "result" else line)
    if side:
        yield _shown(side, "\n".join(kept))


def _shown(side: str, text: str) -> Section:
    found = _CALL.match(text.strip()) if side == "assistant" else None
    if found is None:
        return Section(side, "", text)
    tool = _SHOWN.get(found[1].lower(), found[1])
    key = {"Bash": "command", "Skill": "skill", "Web": "url", "Search": "query"}.get(tool, "path")
    import json

    return Section("call", tool, json.dumps({key: re.sub(r"\s*\n\s*", " ", found[2])}, ensure_ascii=False))
