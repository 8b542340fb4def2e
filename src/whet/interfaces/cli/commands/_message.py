"""What the commands about a user's message share: reading it, how sure an answer is, what else is worth knowing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_LONGEST = 1_000_000
"""Bytes of standard input that are read."""


def configure_message(parser: Parser) -> None:
    """The arguments that say what the user said."""
    parser.positional("message", "MESSAGE", "What the user said; - reads it from standard input.", many=True)


def message_of(words: Sequence[str]) -> str:
    """The message: the words, or standard input for a single `-`."""
    if list(words) != ["-"]:
        return " ".join(words)
    data = sys.stdin.buffer.read(_LONGEST) if sys.stdin else b""
    return data.decode("utf-8", "replace")


def share(value: float) -> str:
    """A probability as people read it."""
    return f"{value:.0%}"


def say_notes(answer: dict[str, Any], screen: Screen) -> None:
    """What is worth knowing about the answer."""
    for note in answer["notes"]:
        screen.said.append(note["message"])
        if note["hint"]:
            screen.hints.append(note["hint"])
