"""Interaction with a person at the terminal while a command runs: a progress line, and questions."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager

from whet.errors import RefusedError
from whet.interfaces.cli.output import screen_for
from whet.interfaces.cli.text import clean, plural, shorten, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event, Thread
    from typing import Self

    from whet.api import Library
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.parser import Namespace
    from whet.notes import Progress

_BAR = 20
_PAUSE = 0.1
_PATIENCE = 0.5
"""Seconds before anything is shown: shorter operations need no progress."""
_LESS = "-R -PsSpace shows more, q leaves$"
"""Options of `less` for a person who has set none: colours, and a prompt that says how to leave."""
_KILOBYTE = 1_000
_MEGABYTE = 1_000_000
_showing: list[Bar] = []
"""The bar on the screen, if there is one."""


class Bar:
    """Shows the last progress it was called with, at most ten times a second, until it ends and disappears.

    As a context manager it shows from the beginning that something is going on.
    """

    def __init__(self, options: Namespace) -> None:
        self._shows = (
            sys.stderr is not None
            and sys.stderr.isatty()
            and os.environ.get("TERM") != "dumb"
            and not (getattr(options, "quiet", False) or getattr(options, "json", False))
        )
        self._last: Progress | None = None
        self._since = 0.0
        self._drawing: tuple[Thread, Event] | None = None
        """The drawing thread, and the event that ends it."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __call__(self, progress: Progress) -> None:
        if self._last is None or self._last.what != progress.what:
            self._since = time.monotonic()
        self._last = progress
        self.start()

    def start(self) -> None:
        """Show it from now on."""
        if self._shows and self._drawing is None:
            from threading import Event, Thread

            end_progress()
            _showing.append(self)
            ended = Event()
            self._drawing = Thread(target=self._draw, args=[ended], daemon=True), ended
            self._drawing[0].start()

    def end(self) -> None:
        """Remove it from the screen; another call shows it again."""
        if self._drawing:
            thread, ended = self._drawing
            ended.set()
            thread.join()
            self._drawing = None
            _showing.remove(self)

    def _draw(self, ended: Event) -> None:
        pause, drawn = _PATIENCE, ""
        while not ended.wait(pause):
            pause = _PAUSE
            text = format_progress(self._last, time.monotonic() - self._since) if self._last else "Working…"
            if text != drawn:
                drawn = text
                write(f"\r{shorten(text, screen_for(sys.stderr, os.environ).columns - 1)}\x1b[K")
        if drawn:
            write("\r\x1b[K")


def end_progress() -> None:
    """Remove the progress line from the screen, before anything else is written there."""
    for bar in _showing[:]:
        bar.end()


def write(text: str) -> None:
    """Write to standard error at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


@contextmanager
def progress(context: Context, options: Namespace) -> Iterator[Library]:
    """Yield the library, with a progress line while the block runs."""
    library = context.library
    before = library.progress
    with Bar(options) as bar:
        library.progress = bar
        try:
            yield library
        finally:
            library.progress = before


def format_progress(done_so_far: Progress, seconds: float = 0.0) -> str:
    """Format progress in one line: a bar if the total is known, else the count; with the rate."""
    what, done, total, unit = done_so_far
    speed = int(done / seconds) if seconds >= 1 else 0
    rate = f", {_size(speed) if unit == 'bytes' else f'{speed:,}'}/s" if speed else ""
    if total <= 0:
        return f"{clean(what)}: {_size(done) if unit == 'bytes' else plural(done, unit.removesuffix('s'))}{rate}"
    filled = min(_BAR, done * _BAR // total)
    sizes = (_size(done), _size(total)) if unit == "bytes" else (f"{done:,}", plural(total, unit.removesuffix("s")))
    shown = f"{' of '.join(sizes)}{rate}"
    return f"[{'#' * filled}{' ' * (_BAR - filled)}] {min(100, done * 100 // total):>3} %  {clean(what)}: {shown}"


def _size(count: int) -> str:
    return f"{count / _MEGABYTE:.1f} MB" if count >= _MEGABYTE else f"{count / _KILOBYTE:.0f} kB"


def can_ask(options: Namespace) -> bool:
    """Return whether a person can and may be asked."""
    if options.yes or options.no_input or options.json or options.quiet:
        return False
    if os.environ.get("CI"):  # some of these machines have a terminal, but nobody at it
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def agree(question: str, *, default: bool = True, show: Callable[[], str] | None = None) -> bool:
    """Return whether a person says yes; no answer is a no. With `show`, `d` shows its text."""
    end_progress()
    choices = "Y/n" if default else "y/N"
    above, line_end, question = question.rpartition("\n")
    write(above + line_end)
    question = f"{question} [{choices}{', d shows the difference' if show else ''}]"
    question = "\n".join(wrap(question, screen_for(sys.stderr, os.environ).columns - 2)) + " "
    while (said := choose(question, ("y", "n", "d") if show else ("y", "n"))) == "d":
        page(show() if show else "")
    return said == "y" or bool(default and said == "")


def choose(question: str, letters: tuple[str, ...]) -> str | None:
    """Ask until a person types one of the letters; return "" for Enter alone, None if nobody is there."""
    whole = {"yes": "y", "no": "n"}
    while line := read_line(question):
        said = line.strip().lower()
        said = whole.get(said, said)
        if said in ("", *letters):
            return said
        write(f"Type {', '.join(letters[:-1])} or {letters[-1]}.\n")
    return None


def page(text: str) -> None:
    """Show a text that a person requested: in their pager (PAGER, or `less`) if it is longer than the terminal.

    Ctrl-C belongs to the pager: `less` stays, others end.
    """
    import shlex
    import shutil
    import signal
    import subprocess

    pager = shlex.split(os.environ.get("PAGER", "") or "less")
    if text.count("\n") < terminal_rows() or not shutil.which(pager[0]):
        write(text)
        return
    env = {"LESS": _LESS, **os.environ}
    before = signal.signal(signal.SIGINT, lambda *_: None)  # unlike SIG_IGN, the pager does not inherit this
    try:
        subprocess.run(pager, input=text.encode(errors="backslashreplace"), stdout=sys.stderr, env=env, check=False)  # noqa: S603  their own pager
    finally:
        signal.signal(signal.SIGINT, before)


def terminal_rows() -> int:
    """Return the number of lines of the terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).lines or 24
    except (OSError, ValueError):
        return 24


def ask(question: str, hint: str = "Nothing was changed.") -> str:
    """Return a person's answer. Raises RefusedError if nobody is there."""
    line = read_line(question)
    if not line:
        raise no_answer(hint)
    return line.strip()


def no_answer(hint: str) -> RefusedError:
    """Return the error for a question without an answer."""
    write("\n")
    return RefusedError("not-agreed", "There was no answer.", hint=hint)


def read_line(question: str) -> str:
    """Return the line that a person types; "" if nobody is there. Ctrl-C leaves the question."""
    end_progress()
    try:
        write(question)
        return sys.stdin.readline()
    except KeyboardInterrupt:
        write("\n")
        raise leave() from None


def leave(told: str = "Nothing was changed.") -> KeyboardInterrupt:
    """Return the interrupt of a person who leaves a question, which is not an error, with the message to show."""
    return KeyboardInterrupt(told)
