"""A command at a pseudo-terminal: what it shows is waited for, what a person types is typed."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from typing import TYPE_CHECKING, Self

from journeys.machines import WHET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from journeys.machines import Machine

UP, DOWN, ESC, ENTER, TAB = "\x1b[A", "\x1b[B", "\x1b", "\r", "\t"
_MOVES = r"\x1b\[(?:\?25[lh]|(\d*)([AJK]))|\x1b\[[\d;]*m"
"""What the picker sends: the cursor hidden or shown, up, erase below; and colours."""


class Terminal:
    """A command at a terminal of 100 columns, or as many as COLUMNS says."""

    def __init__(self, machine: Machine, *words: str, **more: str) -> None:
        import pty

        self._leader, follower = pty.openpty()
        env = {**machine.env, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "100", "PAGER": "cat", **more}
        self.process = subprocess.Popen(
            [*WHET, *words], env=env, cwd=machine.work, stdin=follower, stdout=follower, stderr=follower
        )
        os.close(follower)
        self.raw = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)

    def _read(self) -> bool:
        """Take in what comes; False when there will be no more."""
        assert select.select([self._leader], [], [], 30)[0], f"nothing more came behind {self.raw!r}"
        try:
            piece = os.read(self._leader, 65536)
        except OSError:  # Linux says EIO when the other side is closed
            piece = b""
        self.raw += piece.decode()
        return bool(piece)

    def until(self, text: str, times: int = 1) -> Self:
        """Wait until the command has shown this, so many times."""
        while self.raw.count(text) < times:
            assert self._read(), f"{text!r} never came: {self.raw!r}"
        return self

    def types(self, text: str) -> Self:
        """Type a line."""
        return self.press(f"{text}\n")

    def press(self, *keys: str) -> Self:
        """Press keys, one after the other."""
        for key in keys:
            os.write(self._leader, key.encode())
        return self

    def now(self) -> list[str]:
        """The lines that are on the screen now."""
        return screen(self.raw)

    def interrupt(self) -> tuple[int, list[str]]:
        """Press Ctrl-C, and again while nothing comes of it: one just before a read begins shows only at the next."""
        self.process.send_signal(signal.SIGINT)
        for _ in range(30):
            if not select.select([self._leader], [], [], 1)[0]:
                self.process.send_signal(signal.SIGINT)
            elif not self._read():
                break
        return self.end()

    def end(self) -> tuple[int, list[str]]:
        """The exit code, and the lines that are on the screen in the end."""
        while self._read():
            pass
        return self.process.wait(), screen(self.raw)


def screen(raw: str) -> list[str]:
    """The lines that a terminal has at the end of this: with the cursor going back and up, and what is erased."""
    lines, row, column = [""], 0, 0
    for text, amount, move in _pieces(raw):
        if move == "A":
            row = max(row - int(amount or 1), 0)
        elif move == "J":
            lines[row:] = [lines[row][:column]]
        elif move == "K":
            lines[row] = lines[row][:column]
        for piece in re.split(r"(\r|\n)", text):
            if piece == "\r":
                column = 0
            elif piece == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            else:
                lines[row] = lines[row][:column].ljust(column) + piece + lines[row][column + len(piece) :]
                column += len(piece)
    return [line.rstrip() for line in lines[: -1 if lines[-1] == "" else None]]


def _pieces(raw: str) -> Iterator[tuple[str, str, str]]:
    """Texts, and between them moves of the cursor."""
    at = 0
    for found in re.finditer(_MOVES, raw):
        yield raw[at : found.start()], "", ""
        yield "", found[1] or "", found[2] or ""
        at = found.end()
    yield raw[at:], "", ""
