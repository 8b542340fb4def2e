"""Choosing from a list at the terminal: arrow keys, a filter, marks for several, and details that unfold.

Existing libraries cost too much: prompt_toolkit and its derivatives (questionary, InquirerPy) take 5.5 MB and load in
more time than a whole command; curses takes the whole screen and is missing on Windows; readchar waits forever after a
lone Esc. All it takes is reading a key and drawing ten lines.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, RefusedError
from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.output import screen_for
from whet.interfaces.cli.terminal import ask, can_ask, end_progress, leave, page, terminal_rows, write
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.api import Library
    from whet.errors import AmbiguousError
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace
    from whet.library.card import Card

_ROWS = 12
"""Number of choices on the screen."""
_ESCAPE_WAIT = 0.05
"""Seconds to wait for the rest of a key that begins with Esc."""
_SEQUENCES = {
    "A": "up",
    "B": "down",
    "H": "home",
    "F": "end",
    "1~": "home",
    "4~": "end",
    "5~": "page-up",
    "6~": "page-down",
}
_PLAIN = {
    "\r": "enter",
    "\n": "enter",
    "\x1b": "escape",
    "\x7f": "erase",
    "\x08": "erase",
    "\x01": "all",
    "\x04": "escape",
    "\x00": "escape",
    "\t": "details",
}
"""Ctrl-A marks all, Ctrl-D leaves (as NUL if it was pressed before the list), Tab shows more.

Every letter belongs to the filter.
"""
_WINDOWS = {0x21: "page-up", 0x22: "page-down", 0x23: "end", 0x24: "home", 0x26: "up", 0x28: "down"}
"""Keys without a letter, by their virtual code."""
_ALT = 0x12


class Choice(NamedTuple):
    """One line of a list."""

    cells: tuple[str, ...]
    """The columns of the line."""
    detail: Callable[[Screen], None] | None = None
    """Adds the details that Tab shows."""
    words: str = ""
    """Other words that the filter searches."""


class _List:
    """The state of a list: the filter, the cursor and the marks."""

    def __init__(self, choices: Sequence[Choice], *, many: bool) -> None:
        self.choices = choices
        self.many = many
        self.details = any(choice.detail for choice in choices)
        self.filter = ""
        self.marked: set[int] = set()
        self.at = 0
        """Index among the shown choices."""
        self._texts = [clean(" ".join((*choice.cells, choice.words))).casefold() for choice in choices]

    @property
    def shown(self) -> list[int]:
        """The choices that match the filter."""
        words = self.filter.casefold().split()
        return [number for number, text in enumerate(self._texts) if all(word in text for word in words)]

    def press(self, key: str) -> None:
        """Handle a key, except those that end the selection."""
        shown = self.shown
        moves = {"up": -1, "down": 1, "page-up": -_ROWS, "page-down": _ROWS, "home": -len(shown), "end": len(shown)}
        if key in moves:
            self.at = min(max(self.at + moves[key], 0), max(len(shown) - 1, 0))
        elif key == "all" and self.many:
            self.marked = self.marked - {*shown} if {*shown} <= self.marked else self.marked | {*shown}
        elif key == " " and self.many:
            self.marked ^= {*shown[self.at : self.at + 1]}
        elif key == "erase":
            self.filter, self.at = self.filter[:-1], 0
        elif len(key) == 1 and key.isprintable() and (self.filter or key != "/"):  # a habit from other programs
            self.filter, self.at = self.filter + key, 0

    def chosen(self) -> list[int]:
        """Return the choices for Enter: the marked ones, or the one under the cursor."""
        return sorted(self.marked) or self.shown[self.at : self.at + 1]


def pick(title: str, choices: Sequence[Choice], env: Mapping[str, str], *, many: bool = False) -> list[int]:
    """Return the numbers of the person's choices, from 0; empty after Esc. There must be something to choose."""
    if env.get("TERM") == "dumb":
        return _pick_by_number(title, choices, env, many=many)
    end_progress()
    state, drawn = _List(choices, many=many), 0
    with _keys() as read:
        try:
            while True:
                frame = _draw(title, state, env)
                write(f"{_back(drawn)}{frame}\x1b[?25l")
                drawn = frame.count("\n")
                key = read()
                if key == "details" and state.details:
                    write(_back(drawn))
                    page(_unfold(state, env))
                    drawn = 0
                elif key == "escape":
                    return []
                elif key == "enter" and (chosen := state.chosen()):
                    return chosen
                else:
                    state.press(key)
        except KeyboardInterrupt:
            raise leave() from None
        finally:
            write(f"{_back(drawn)}\x1b[?25h")


def _pick_by_number(title: str, choices: Sequence[Choice], env: Mapping[str, str], *, many: bool) -> list[int]:
    """Let a person choose by number if the cursor cannot be moved."""
    screen = screen_for(sys.stderr, env)
    for number, choice in enumerate(choices, 1):
        screen.line(f"{number:>4}  {screen.fit('  '.join(choice.cells), 6)}")
    write(screen.text())
    numbers = "numbers with commas" if many else "a number"
    while True:
        words = ask(f"{title} ({numbers}; empty: none) ").replace(",", " ").split()
        chosen = [int(word) - 1 for word in words if word.isdecimal() and 0 < int(word[:9]) <= len(choices)]
        if len(chosen) == len(words) and (many or len(words) <= 1):
            return sorted({*chosen})


def _draw(title: str, state: _List, env: Mapping[str, str]) -> str:
    screen = screen_for(sys.stderr, env)
    shown = state.shown
    room = max(min(_ROWS, terminal_rows() - 5), 3)
    first = min(max(state.at - room // 2, 0), max(len(shown) - room, 0))
    marked = f"  {len(state.marked)} of {len(state.choices)} marked" if state.marked else ""
    screen.line(f"{screen.paint(screen.fit(title, 24), 'bold')}{screen.paint(marked, 'dim')}")
    if state.filter:
        screen.line(f"filter: {screen.fit(state.filter, 9)}")
    rows = [*screen.align([choice.cells for choice in state.choices], screen.columns - (7 if state.many else 3))]
    for place, number in enumerate(shown[first : first + room], first):
        mark = ("[x] " if number in state.marked else "[ ] ") if state.many else ""
        line = screen.fit(f"{'>' if place == state.at else ' '} {mark}{'  '.join(rows[number]).rstrip()}", 1)
        screen.line(screen.paint(line, "cyan") if place == state.at else line)
    if not shown:
        screen.line("  no match")
    elif len(shown) > room:
        screen.line(screen.paint(f"  {first + 1} to {min(first + room, len(shown))} of {len(shown)}", "dim"))
    keys = ["arrows move", "type to filter"]
    keys += ["space marks"] if state.many else []
    keys += ["Tab shows the change"] if state.details else []
    screen.line(screen.paint(screen.fit(", ".join([*keys, "Enter chooses", "Esc leaves"]), 1), "dim"))
    return screen.text()


def _unfold(state: _List, env: Mapping[str, str]) -> str:
    """Return the details of the choice under the cursor."""
    screen = screen_for(sys.stderr, env)
    for number in state.shown[state.at : state.at + 1]:
        choice = state.choices[number]
        screen.line(screen.paint(screen.fit("  ".join(choice.cells), 0), "bold"))
        if choice.detail:
            choice.detail(screen)
        screen.line()
    return screen.text()


def pick_one(title: str, choices: Sequence[Choice], env: Mapping[str, str]) -> int:
    """Return the number of the person's choice. Raises RefusedError if they leave."""
    return _pick_some(title, choices, env, many=False)[0]


def pick_several(title: str, choices: Sequence[Choice], env: Mapping[str, str]) -> list[int]:
    """Return the numbers of the marked choices. Raises RefusedError if the person leaves."""
    return _pick_some(title, choices, env, many=True)


def _pick_some(title: str, choices: Sequence[Choice], env: Mapping[str, str], *, many: bool) -> list[int]:
    if chosen := pick(title, choices, env, many=many):
        return chosen
    raise RefusedError("not-agreed", "Nothing was chosen.", hint="Nothing was changed.")


def choose_skills(
    context: Context,
    options: Namespace,
    command: str,
    title: str,
    find: Callable[[Library], Sequence[Card]] | None = None,
    missing: str = "There are no skills to choose from.",
    *,
    many: bool = False,
) -> list[str]:
    """Let a person choose one skill, or `many`, of all or of those that `find` returns.

    Raises UsageError if nobody can be asked, NotFoundError with the message `missing` if there is nothing to choose,
    and RefusedError if they leave.
    """
    if not can_ask(options):
        raise misuse(command, "NAME is missing.")
    cards = find(context.library) if find else context.library.catalogue.cards
    if not cards:
        raise NotFoundError("skill-not-found", missing, hint="`whet list --all` shows every skill.")
    marks = (f"[{card.mark}] " if card.mark else "" for card in cards)
    rows = ((card.full_name, card.scope, f"{mark}{card.description}") for card, mark in zip(cards, marks, strict=True))
    return [cards[number].full_name for number in _pick_some(title, [*map(Choice, rows)], context.env, many=many)]


def settle(error: AmbiguousError, options: Namespace, env: Mapping[str, str]) -> bool:
    """Let a person choose what an ambiguous name refers to, and store it in the options; False if nobody can.

    Raises RefusedError if they leave.
    """
    candidates: list[str] = error.details.get("candidates", [])
    given = vars(options)
    if not candidates or not can_ask(options):
        return False
    if error.code == "several-skills" and len(given.get("sources", ())) == 1:
        about = error.details["descriptions"]
        choices = [Choice(cells) for cells in zip(candidates, about, strict=True)]
        chosen = pick_several("Which skills?", choices, env)
        options.skill = [candidates[number] for number in chosen]
        return True
    name = error.details.get("name")
    field = next((field for field, value in given.items() if name and (value == name or name in _words(value))), "")
    if not field:
        return False
    about = error.details.get("descriptions", [""] * len(candidates))
    choices = [Choice(cells) for cells in zip(candidates, about, strict=True)]
    meant = candidates[pick_one(f"Which {name}?", choices, env)]
    value = given[field]
    setattr(options, field, [meant if word == name else word for word in value] if isinstance(value, list) else meant)
    return True


def _words(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _back(lines: int) -> str:
    """Return the codes that move to the beginning of the drawing and clear everything below."""
    return f"\r\x1b[{lines}A\x1b[J" if lines else "\r\x1b[J"


if sys.platform == "win32":

    @contextmanager
    def _keys() -> Iterator[Callable[[], str]]:
        """Yield a function that reads a key and returns its name."""
        import ctypes
        import struct

        kernel = ctypes.windll.kernel32
        kernel.SetConsoleMode(kernel.GetStdHandle(-12), 7)  # standard error understands escape sequences
        source = ctypes.c_void_p(kernel.GetStdHandle(-10))
        event, count = ctypes.create_string_buffer(20), ctypes.c_ulong()

        def read() -> str:
            # Not `msvcrt.getwch`: it returns "à" for the letter, and for the first half of an arrow key.
            if not kernel.ReadConsoleInputW(source, event, 1, ctypes.byref(count)):
                return "escape"  # nobody is there
            kind, down, _, code, _, letter = struct.unpack("<H2xiHHHH4x", event.raw)
            if kind != 1 or not (down or (code == _ALT and letter)):
                return ""
            if letter == 3:
                raise KeyboardInterrupt
            return _PLAIN.get(chr(letter), chr(letter)) if letter else _WINDOWS.get(code, "")

        yield read

else:

    @contextmanager
    def _keys() -> Iterator[Callable[[], str]]:
        """Yield a function that reads a key and returns its name; the terminal is restored afterwards."""
        import select
        import termios
        import tty

        source = sys.stdin.fileno()
        before = termios.tcgetattr(source)

        def byte(wait: float | None = None) -> bytes:
            ready = wait is None or select.select([source], [], [], wait)[0]
            return os.read(source, 1) if ready else b""

        def read() -> str:
            first = byte()
            if not first:
                return "escape"  # nobody is there
            if first == b"\x1b":
                return _read_sequence(byte)
            more = next((count for mark, count in ((0xF0, 3), (0xE0, 2), (0xC0, 1)) if first[0] >= mark), 0)
            key = (first + b"".join(byte() for _ in range(more))).decode(errors="replace")
            return _PLAIN.get(key, key)

        try:
            tty.setcbreak(source, termios.TCSADRAIN)
            yield read
        finally:
            termios.tcsetattr(source, termios.TCSADRAIN, before)


def _read_sequence(byte: Callable[[float], bytes]) -> str:
    """Return the name of a key that begins with Esc; Esc alone leaves."""
    if byte(_ESCAPE_WAIT) not in (b"[", b"O"):
        return "escape"
    text = ""
    while piece := byte(_ESCAPE_WAIT):
        text += piece.decode("latin-1")
        if "@" <= text[-1] <= "~":
            break
    return _SEQUENCES.get(text, "")
