"""Output: data to standard output, messages to standard error, in the form that the terminal can show.

A command's whole answer is collected first and written in one go, so that with `--json` there is always exactly one
document, and everything has reached the pipe or the disk before the process says that it succeeded.
"""

from __future__ import annotations

import errno
import os
import sys

from whet.errors import FailedError
from whet.interfaces.cli.text import clean, clean_block, clean_json, pad, shorten, width, wrap
from whet.store.home import shorten_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TextIO

    Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

_CODES: dict[str, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
SEVERITY_STYLES: dict[str, Style] = {"error": "red", "warning": "yellow", "info": "cyan"}

_LAST = 16
"""Minimum width of the last column of a table on a terminal, as long as the others have `_NARROW`."""
_NARROW = 16

_PIECE = 1 << 20
"""Characters of an answer that are encoded at once: a very large list need not be in memory twice."""

PIPE_GONE = 141
"""The shell's exit code of a program that ended because nobody read its output."""


class Screen:
    """The output for a person: lines of data, then messages about them. It is collected; nothing is written here."""

    def __init__(self, *, tty: bool, colour: bool, columns: int, home: str = "") -> None:
        self.tty = tty
        """Whether it is laid out for a terminal; otherwise nothing is shortened or wrapped, for programs."""
        self.columns = columns
        self.verbose = False
        """Whether more output was requested."""
        self._colour = colour
        self._home = home
        self._lines: list[str] = []
        self.messages: list[str] = []
        """Sentences for standard error."""
        self.hints: list[str] = []
        """Next steps, printed after the messages."""

    def say(self, *messages: str) -> None:
        """Add sentences for standard error."""
        self.messages.extend(messages)

    def hint(self, *hints: str) -> None:
        """Add next steps."""
        self.hints.extend(hints)

    def line(self, text: str = "") -> None:
        """Add one line, or several."""
        self._lines.append(text)

    def text(self) -> str:
        """Return everything added so far."""
        return "\n".join([*self._lines, ""])

    def paint(self, text: str, *styles: Style) -> str:
        """Return the text in colour, if colour is wanted."""
        if not self._colour or not text or not styles:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def place(self, path: str) -> str:
        """Return a path for a person: on a terminal, the home is shortened to `~`."""
        return clean(shorten_home(path, self._home) if self.tty else path)

    def places(self, text: str) -> str:
        """Shorten the paths in a sentence; those in quotes stay, because a shell would not expand them."""
        return shorten_home(text, self._home) if self.tty else text

    def fit(self, text: str, used: int) -> str:
        """Return one harmless line that fits next to `used` columns; everything if it is not for a terminal."""
        text = clean(text)
        return shorten(text, max(self.columns - used, 10)) if self.tty else text

    def paragraph(self, text: str, indent: int = 0, lead: str = "") -> None:
        """Add a sentence or more, wrapped for a terminal; `lead` replaces the indent of the first line."""
        text = self.places(clean(text))
        for line in wrap(text, max(self.columns - indent, 20)) if self.tty else [text]:
            self.line((lead or " " * indent) + line)
            lead = ""

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add columns under their headings; the last one has its full length, or as much as the terminal allows."""
        for number, cells in enumerate(self.align([heads, *rows], self.columns)):
            self.line("  ".join(self.paint(cell, "bold") if number == 0 else cell for cell in cells).rstrip())

    def align(self, rows: Sequence[Sequence[str]], columns: int) -> Iterator[list[str]]:
        """Yield the rows with cells of equal width; for a terminal, shortened to `columns`."""
        rows = [[clean(cell) for cell in row] for row in rows]
        widths = [max(width(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
        while self.tty and sum(widths) + 2 * len(widths) > columns - _LAST and max(widths) > _NARROW:
            widths[widths.index(max(widths))] -= 1
        used = sum(widths) + 2 * len(widths)
        for row in rows:
            last = shorten(row[-1], max(columns - used, 1)) if self.tty else row[-1]
            yield [*map(pad, map(shorten, row, widths), widths), last]

    def facts(self, facts: Iterable[tuple[str, str]], column: int) -> None:
        """Add a line for each label and its text."""
        for label, text in facts:
            lead = self.paint(label.ljust(column), "dim")
            if "\x1b" in text or not text:  # painted, and short
                self.line(f"{lead}{text}")
            else:
                self.paragraph(text, column, lead)

    def grid(self, heads: Sequence[str], rows: Sequence[Sequence[str]], empty: str = "") -> None:
        """Add a table for a terminal; for a program a line for each row, with tabs between its cells.

        Without rows, print the sentence `empty`.
        """
        self.say(*(() if rows or not empty else (empty,)))
        if self.tty and rows:
            self.table(heads, rows)
        else:
            self._lines.extend("\t".join(map(clean, row)) for row in rows)


def screen_for(stream: TextIO | None, env: Mapping[str, str]) -> Screen:
    """Return the screen for a stream, with colour and width from the environment."""
    tty = stream is not None and stream.isatty()
    home = env.get("HOME", "") if env.get("HOME") != os.sep else ""
    return Screen(tty=tty, colour=wants_colour(env, tty=tty), columns=_columns(stream, env), home=home)


def wants_colour(env: Mapping[str, str], *, tty: bool) -> bool:
    """Return whether to use colour: NO_COLOR wins, then FORCE_COLOR; otherwise a terminal that is not dumb gets it."""
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return env["FORCE_COLOR"] != "0"
    return tty and env.get("TERM") != "dumb"


def _columns(stream: TextIO | None, env: Mapping[str, str]) -> int:
    if env.get("COLUMNS", "").isdecimal() and int(env["COLUMNS"]) > 0:
        return int(env["COLUMNS"])
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80  # type: ignore[union-attr]  # see below
    except (OSError, ValueError, AttributeError):  # not a terminal: any width will do
        return 80


class Console:
    """The two streams of one command."""

    def __init__(self, *, json: bool, quiet: bool, env: Mapping[str, str]) -> None:
        self.json = json
        self.quiet = quiet
        self.answered = False
        """Whether the only answer has been written to standard output."""
        self._talk = screen_for(sys.stderr, env)

    def document(self, answer: Mapping[str, Any]) -> None:
        """Write the one JSON document."""
        import json

        text = json.dumps(answer, ensure_ascii=False, indent=2 if sys.stdout and sys.stdout.isatty() else None)
        self.write(f"{clean_json(text)}\n".encode())

    def data(self, text: str) -> None:
        """Write text for a person or a pipe."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        for start in range(0, len(text) or 1, _PIECE):
            self.write(text[start : start + _PIECE].encode(encoding, "backslashreplace"))

    def write(self, data: bytes) -> None:
        """Write to standard output and make sure that the data arrived. Raises FailedError, and BrokenPipeError."""
        self.answered = True
        if not data:
            return
        try:
            _send(sys.stdout, data)
            _check_closing(sys.stdout)
        except OSError as error:
            _discard()
            if error.errno == errno.EPIPE or (sys.platform == "win32" and error.errno == errno.EINVAL):
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error
            raise FailedError(
                "output-failed",
                f"Standard output cannot be written: {error.strerror or error}.",
                hint="Free some space, or write the output elsewhere.",
            ) from error

    def say(self, text: str) -> None:
        """Print a message, unless `quiet` is set."""
        if not self.quiet:
            self._sentence(text)

    def hint(self, text: str) -> None:
        """Print a next step, unless `quiet` is set."""
        if text and not self.quiet:
            self._sentence(text, "hint:", "cyan")

    def error(self, message: str) -> None:
        """Print an error, always."""
        self._sentence(message, "error:", "red", "bold")

    def block(self, text: str) -> None:
        """Print a message of several lines."""
        if not self.quiet:
            self._to_stderr(clean_block(text.rstrip("\n")))

    def _sentence(self, text: str, label: str = "", *styles: Style) -> None:
        """Print a sentence after its label, wrapped for a terminal."""
        text = self._talk.places(clean(f"{label} {text}" if label else text))
        text = "\n".join(wrap(text, self._talk.columns)) if self._talk.tty else text
        self._to_stderr(self._talk.paint(label, *styles) + text[len(label) :])

    def _to_stderr(self, line: str) -> None:
        from contextlib import suppress

        with suppress(OSError, AttributeError):  # without standard error there is nowhere left to report it
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def _send(output: TextIO | None, data: bytes) -> None:
    """Write everything, even to a pipe that its other end made non-blocking."""
    if output is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    stream, rest = output.buffer, memoryview(data)
    while True:
        try:
            while rest:
                rest = rest[stream.write(rest) :]
            stream.flush()
        except BlockingIOError as error:
            import select

            rest = rest[error.characters_written :]
            select.select([], [stream], [])
        else:
            return


def _check_closing(stream: TextIO) -> None:
    """Close a copy of the descriptor: some file systems report a full disk only when a file is closed."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # not a file: a stream of a test or a caller
        return
    os.close(os.dup(descriptor))


def _discard() -> None:
    """Redirect the rest of the buffer to nowhere, or the interpreter would complain at exit."""
    from contextlib import suppress

    with suppress(OSError, ValueError, AttributeError):  # not a file, or already closed
        target = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, target)
        os.close(nowhere)
