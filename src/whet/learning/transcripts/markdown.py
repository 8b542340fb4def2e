"""Transcripts in Markdown: headings say who speaks. `## User`, `## Assistant`, `## Tool call: Bash`, `## Result`.

A heading counts only where it is nothing but such a name, and never in a fenced block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.tables import NAMES, meanings
from whet.learning.transcripts.values import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.learning.transcripts.collector import Collector

_SIDES = meanings(NAMES, "speakers")
_HEADING = re.compile(
    rf"#{{1,6}}[ \t]+(?:tool[ _-])?(?P<name>{'|'.join(_SIDES)})(?:[ \t]*:[ \t]*(?P<rest>.*?))?[ \t]*:?", re.IGNORECASE
)
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_BLOCK = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]{0,3}\1|\Z)", re.MULTILINE | re.DOTALL)


def read(text: str, into: Collector) -> bool:
    """Read a transcript; return False if the text is none, because fewer than two sides speak."""
    sections = list(_sections(text))
    sides = {side for side, tool, said in sections if said.strip() or tool}
    if "user" not in sides or not sides & {"assistant", "call"}:
        return False
    for side, tool, said in sections:
        if side == "user":
            into.user(said.strip())
        elif side == "call":
            _call(tool, _inner(said.strip()).strip(), into)
        elif side == "result":
            into.returned(_inner(said.strip()))
        elif side == "assistant":
            into.said("assistant", said)
        else:
            into.said("note", said, 0, side)
    return True


def _call(tool: str, text: str, into: Collector) -> None:
    given = arguments(text)
    shell = tool.lower() in {"", "bash", "shell", "terminal", "command"}
    into.called(tool or "Bash", {"command": text} if shell and set(given) <= {"input"} else given)


def _inner(text: str) -> str:
    """Return the content of a text's fences, or the text if there are none."""
    blocks = [found[2] for found in _BLOCK.finditer(text)]
    return "\n".join(blocks) if blocks else text


def _sections(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the speaker, the tool of a call, and the text of each section."""
    side = tool = fence = ""
    kept: list[str] = []
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        heading = None if fence or mark else _HEADING.fullmatch(line)
        if heading is None:
            kept.append(line)
            continue
        if side:
            yield side, tool, "\n".join(kept)
        side, rest = _SIDES[heading["name"].lower()], heading["rest"] or ""
        tool, kept = (rest.strip(" `*")[:80], []) if side == "call" else ("", [rest])
    if side:
        yield side, tool, "\n".join(kept)
