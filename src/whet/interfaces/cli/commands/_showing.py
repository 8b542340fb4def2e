"""What the commands that tell about changes share: tables, times and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.text import clean, clean_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.output import Screen, Style

_STYLES: tuple[tuple[str, Style], ...] = (
    ("+++", "bold"),
    ("---", "bold"),
    ("@@", "cyan"),
    ("+", "green"),
    ("-", "red"),
)


def grid(screen: Screen, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for a terminal; for a program a line for each row, with tabs between its cells."""
    if screen.tty and rows:
        screen.table(heads, rows)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))


def moment(screen: Screen, time: str | None) -> str:
    """A time as a person reads it, to the minute; a program gets all of it."""
    if not time:
        return "never" if screen.tty else ""
    return f"{time[:10]} {time[11:16]}" if screen.tty else time


def difference(screen: Screen, text: str) -> None:
    """Add a difference, line by line, in colour where colour is wanted."""
    for line in clean_block(text).removesuffix("\n").split("\n") if text else ():
        style = next((style for mark, style in _STYLES if line.startswith(mark)), None)
        screen.line(screen.paint(line, style) if style else line)
