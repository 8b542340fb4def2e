"""Talk with a person at the terminal while a command runs: a progress line, and questions."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from whet.errors import RefusedError
from whet.interfaces.cli.text import clean, pad, shorten

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from whet.api import Library
    from whet.interfaces.cli.context import Context
    from whet.sources.model import Progress

_COLUMNS = 72
_BAR = 20
_PAUSE = 0.1
_PATIENCE = 0.5
"""Seconds before anything is shown: what is done by then needs no telling."""
_KILOBYTE = 1_000
_MEGABYTE = 1_000_000


class Bar:
    """Shows the last progress it was called with, at most ten times a second; before the first, that it is working."""

    def __init__(self, options: Namespace) -> None:
        tty = sys.stderr is not None and sys.stderr.isatty()
        self._last: Progress | None = None
        self._drawn = ""
        self._ended = threading.Event()
        shows = tty and not (options.quiet or options.json)
        self._drawing = threading.Thread(target=self._draw, daemon=True) if shows else None

    def __enter__(self) -> Self:
        if self._drawing:
            self._drawing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._drawing:
            self._drawing.join()
        if self._drawn:
            self._write(" " * _COLUMNS + "\r")

    def __call__(self, progress: Progress) -> None:
        self._last = progress

    def _draw(self) -> None:
        pause = _PATIENCE
        while not self._ended.wait(pause):
            pause = _PAUSE
            text = format_progress(self._last) if self._last else "Working…"
            if text != self._drawn:
                self._drawn = text
                self._write(pad(shorten(text, _COLUMNS), _COLUMNS) + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text}")
        sys.stderr.flush()


@contextmanager
def progress(context: Context, options: Namespace) -> Iterator[Library]:
    """The library, with a progress line for as long as the block runs."""
    with Bar(options) as bar:
        context.library.progress = bar
        yield context.library


def format_progress(done_so_far: Progress) -> str:
    """The progress in one line: a bar where the end is known, else what has come so far."""
    what, done, total, unit = done_so_far
    amount = _size(done) if unit == "bytes" else f"{done:,} {unit}"
    if total <= 0:
        return f"{clean(what)}: {amount}"
    filled = min(_BAR, done * _BAR // total)
    return f"[{'#' * filled}{' ' * (_BAR - filled)}] {min(100, done * 100 // total):>3} %  {clean(what)}: {amount}"


def _size(count: int) -> str:
    return f"{count / _MEGABYTE:.1f} MB" if count >= _MEGABYTE else f"{count / _KILOBYTE:.0f} kB"


def can_ask(options: Namespace) -> bool:
    """Can and may a person be asked?"""
    if getattr(options, "yes", False) or options.no_input or options.json or options.quiet:
        return False
    if os.environ.get("CI"):  # some of these machines have a terminal, and nobody at it
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def agree(question: str, *, default: bool = True, show: Callable[[], str] | None = None) -> bool:
    """Whether a person says yes; nobody there is a no. Where something is to `show`, `d` shows it."""
    choices = "Y/n" if default else "y/N"
    while True:
        sys.stderr.write(f"{question} [{choices}{', d shows the difference' if show else ''}] ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not show or line.strip().lower() != "d":
            return line.strip().lower() in ("y", "yes") or bool(default and line and not line.strip())
        sys.stderr.write(show())


def ask(question: str) -> str:
    """What a person answers. Raises RefusedError when there is nobody."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise RefusedError("not-agreed", "Nobody answered.", hint="Nothing was changed. --yes asks nothing.")
    return line.strip()
