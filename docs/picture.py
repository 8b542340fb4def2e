"""Draw the session of the README: real commands, run in an empty home, and what they print in colour."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import NamedTuple

from demo import BROKEN, SESSION, SHIP, STRANGE
from drawing import MONO, svg, text
from sessions import empty_home, run

PICTURE = Path(__file__).parent / "session.svg"
COLUMNS = 92
COMMANDS = (
    "whet gallery add reviewing-changes --yes",
    "whet list",
    "whet scan ./chart-helper",
    'whet find "reveiw the diff before we merge"',
    "whet distill monday.md --yes",
    "whet undo",
)
FILES = {
    "shop/chart-helper/SKILL.md": STRANGE,
    "shop/monday.md": SESSION,
    ".claude/skills/release-notes/SKILL.md": BROKEN,
    ".codex/skills/ship/SKILL.md": SHIP,
}
"""What is in the home before the first command; commands run in `shop`."""
_CELL, _LINE, _SIZE, _EDGE, _HEAD = 8.43, 20, 14, 22, 44
_STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}


class Span(NamedTuple):
    """Some characters in one style."""

    text: str
    classes: tuple[str, ...]


def record() -> list[list[Span]]:
    """Run the commands and take the lines of the whole session, with their colours."""
    lines: list[list[Span]] = []
    with empty_home() as home:
        for name, content in FILES.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(content, encoding="utf-8")
        for command in COMMANDS:
            if lines:
                lines.append([])
            lines.append([Span("$ ", ("green", "bold")), Span(command, ("text", "bold"))])
            lines += [_spans(line) for line in run(command, home, columns=COLUMNS, colour=True)]
    return lines


def _spans(line: str) -> list[Span]:
    spans: list[Span] = []
    classes: tuple[str, ...] = ("text",)
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b"):
            names = tuple(_STYLES[code] for code in part[2:-1].split(";") if code in _STYLES)
            classes = names if set(names) - {"bold"} else ("text", *names)
        elif part:
            spans.append(Span(part, classes))
    return spans


def picture() -> str:
    """The session as it is today, in a terminal."""
    return _draw(record())


def _draw(lines: list[list[Span]]) -> str:
    width = round(2 * _EDGE + COLUMNS * _CELL)
    height = _HEAD + len(lines) * _LINE + _EDGE - 6
    body = [f'<circle cx="{_EDGE + 4 + at * 18}" cy="21" r="5.5" class="bar"/>' for at in range(3)]
    for number, spans in enumerate(lines):
        column, y = 0, _HEAD + number * _LINE + 14
        pieces = []
        for span in spans:
            wide = len(span.text) * _CELL
            pieces.append(text(_EDGE + column * _CELL, y, span.text, *span.classes, size=_SIZE, columns=wide))
            column += len(span.text)
        body.append(f"<g>{''.join(pieces)}</g>")
    return svg(width, height, "A session with Whet: " + "; ".join(COMMANDS), MONO, body)


def read(picture: str) -> list[str]:
    """The lines of text in a picture."""
    return [unescape(re.sub(r"<[^>]+>", "", line)) for line in picture.splitlines() if line.startswith("<g>")]
