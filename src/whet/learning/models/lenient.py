"""JSON in what a model wrote: alone, between fences, or with prose around it.

Lenient about where it stands, strict about what it is: every value is what `json` reads from an unbroken piece of the
text. Nothing is repaired or completed, and nothing is taken out of the middle of something that is broken, since a
part of an answer that was cut off is not what the model meant.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

BROKEN = 1000
"""Beginnings of something broken that are passed over before the search is given up."""


class Found(NamedTuple):
    """A value and the piece of the text it was read from."""

    value: Any
    start: int
    end: int


def whole(text: str) -> Found | None:
    """The text as one value, of any kind."""
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Found(value, start, end) if not text[end:].strip(_BLANK) else None


def pieces(text: str) -> list[Found]:
    """The objects and lists that stand in the text, first to last; broken ones are passed over, `BROKEN` at most."""
    found: list[Found] = []
    position = broken = 0
    while (begun := _BEGINNING.search(text, position)) is not None and broken < BROKEN:
        start = begun.start()
        try:
            value, position = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string"):
                break  # the rest of the text lies in the string
            broken += 1
            # Behind what is wrong, not inside: `{"a": {"b": 1}, oops` must not yield what `b` stands in.
            position = max(error.pos, start + 1)
        except (ValueError, RecursionError):
            break  # a number too long, NaN, a depth nobody means: there is no telling where it ends
        else:
            found.append(Found(value, start, position))
    return found


def candidates(text: str) -> list[Found]:
    """What may be meant, likeliest first: the whole text, then the pieces from the last, where conclusions stand."""
    if (everything := whole(text)) is not None:
        return [everything]
    return pieces(text)[::-1]


_BLANK = " \t\r\n\ufeff"
_BEGINNING = re.compile(r"\{[ \t\r\n]*[\"}]|\[")


def _no_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
