"""The shell parser: a script as the commands it would run, in order, each with where and how it runs.

The grammar is tree-sitter's for bash. The tree is walked once, without recursion, with a limit on the work; text that the
grammar cannot parse still yields commands, because an attack that breaks the grammar must not become invisible.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.shell.tree import Walk
from whet.guard.shell.words import Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.shell.command import Command

PIECE = 200_000
"""Bytes that are parsed at once; a longer text is cut at line ends."""
_OPERATORS = 1_500
_MOST_PIECES = 40
_LONGEST_LINE = 4_000
_OPERATOR = re.compile(rb"[|&;<>()]|\$\{")


class Script(NamedTuple):
    """The commands that a text would run."""

    commands: tuple[Command, ...]
    stopped: str
    """Why the script was not read to the end: it is too long or too tangled."""
    functions: frozenset[str]
    known: Known
    """The constants that are known at the end of the script."""


def parse(text: str, known: Known | None = None, *, splice: bool = False) -> Script:
    """Parse a script and add the constants that it defines to `known`. Never fails: see `stopped`.

    With `splice`, the constant scripts of `eval` and `sh -c` are read as part of it.
    """
    known = Known.within() if known is None else known
    walk = Walk(known, splice=splice)
    clean = text.replace("\r\n", "\n")
    clean = clean.replace("\0", " ").replace("\r", "\n" if "\n" not in clean else " ")
    prepared, spliced = _spliced(_unbraced(clean))
    line = 1
    for number, piece in enumerate(_pieces(prepared.encode("utf-8", "replace"))):
        if number >= _MOST_PIECES:
            walk.stop(line)
        if walk.stopped:
            break
        broken = walk.read(piece, line)
        if broken and b"\n" in piece:
            _by_line(walk, piece, line, broken)
        line += piece.count(b"\n")
    commands = tuple(_moved(walk.commands, spliced)) if spliced else tuple(walk.commands)
    return Script(commands, walk.stopped, frozenset(walk.functions), known)


def _by_line(walk: Walk, piece: bytes, line: int, broken: set[int]) -> None:
    """Read each line with a syntax error separately: a stray quote must not swallow the next command."""
    lines = piece.split(b"\n")
    for number in sorted(broken):
        if number < len(lines) and len(lines[number]) <= _LONGEST_LINE and lines[number].strip():
            walk.read(lines[number], line + number)


_LOOSE_BRACES = expression(
    r"(?:(?<=[\s;|&(`])|^)\{(?![\s{},])[^\s{}'\"`$]{1,400},[^\s{}'\"`$]{0,400}\}(?=[\s;|&)`]|$)", re.MULTILINE
)


def _unbraced(text: str) -> str:
    """Turn `{curl,-s,url}`, which the grammar cannot parse, into the words it becomes; no character changes its position."""
    if "{" not in text:
        return text
    return _LOOSE_BRACES.sub(lambda found: " " + found[0][1:-1].replace(",", " ") + " ", text)


_CONTINUED = expression(r"(?<=[^\s\\])\\\n(?=[^\s#])")


def _spliced(text: str) -> tuple[str, list[int]]:
    """Join words that are broken over two lines; return the text, and the lines of the result where a line end was removed."""
    if "\\\n" not in text:
        return text, []
    gone: list[int] = []
    out: list[str] = []
    start = 0
    line = 1
    for found in _CONTINUED.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        if _commented(text[max(begin, found.start() - 400) : found.start()]):
            continue
        piece = text[start : found.start()]
        line += piece.count("\n")
        out.append(piece)
        gone.append(line)
        start = found.end()
    out.append(text[start:])
    return "".join(out), gone


def _commented(line: str) -> bool:
    for found in re.finditer(r"(?:^|\s)#", line):
        before = line[: found.start()]
        if before.count("'") % 2 == 0 and before.count('"') % 2 == 0:
            return True
    return False


def _moved(commands: list[Command], spliced: list[int]) -> Iterator[Command]:
    for command in commands:
        yield command._replace(line=command.line + bisect_left(spliced, command.line))


def _pieces(text: bytes) -> Iterator[bytes]:
    """Yield the text in pieces that the grammar parses quickly: it is quadratic in the operators of one statement."""
    operators = [found.start() for found in _OPERATOR.finditer(text)]
    start = first = 0
    while start < len(text) or start == 0:
        end = start + PIECE
        if first + _OPERATORS < len(operators):
            end = min(end, operators[first + _OPERATORS])
        if end < len(text):
            middle = start + (end - start) // 2
            cut = max(text.rfind(b"\n\n", middle, end), text.rfind(b"\n}\n", middle, end) + 1)
            cut = cut if cut > middle else text.rfind(b"\n", start, end)
            end = cut + 1 if cut > start else max(end, start + 1)
        yield text[start:end]
        start = end
        first = bisect_left(operators, start)
