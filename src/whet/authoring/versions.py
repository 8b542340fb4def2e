"""The next version of a changed skill.

People number skills in many ways: with one number, two or three, with dates, with words, or not at all. The next
version has the form of the previous one, so that every scheme is kept. Whet decides nothing by versions (it uses
content digests); they help people to distinguish two states of a skill, so a version is never repeated, and always
short enough for frontmatter.
"""

from __future__ import annotations

import re

from whet.errors import UsageError
from whet.patterns import compile_late

MAX_LENGTH = 64
"""Longest version in characters."""

PARTS = ("major", "minor", "patch")

_NUMBERS = compile_late(r"([vV]?)([0-9]{1,18}(?:\.[0-9]{1,18}){0,2})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_DATE = compile_late(r"[vV]?(?:19|20)[0-9]{2}([-./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12][0-9]|3[01])")
_COUNTED = compile_late(r"(.+)\.([0-9]{1,18})", re.DOTALL)
_EXAMPLES = "Use major, minor, patch, or a version such as 1.2.0."


def next_version(current: str, told: str = "") -> str:
    """Return the version after `current`, unless `told` names a part to raise or a version.

    By default the last number goes up, and a pre-release becomes its release; dates and words get a number after a dot.
    No version stands for an unnumbered first one.
    """
    now = "".join(c if c.isprintable() and not c.isspace() else "-" for c in current.strip()) or "1"
    part = told.lower()
    if told and part not in PARTS:
        return _given(told, now)
    dated = _DATE.fullmatch(now)
    found = None if dated else _NUMBERS.fullmatch(now)
    if found and (found[2].count(".") == 2 or not (found[3] or found[4])):
        return _raised(found[1], found[2].split("."), part, candidate=bool(found[3]))
    if part:
        raise UsageError(
            "bad-version", f"The version {now[:MAX_LENGTH]!r} has no {part} part to raise.", hint=_EXAMPLES
        )
    counted = None if dated else _COUNTED.fullmatch(now)
    base, number = (counted[1], _plus_one(counted[2])) if counted else (now, "1")
    return f"{base[: MAX_LENGTH - len(number) - 1]}.{number}"


def _given(told: str, now: str) -> str:
    shown = repr(told[:MAX_LENGTH])
    if len(told) > MAX_LENGTH or " " in told or not told.isprintable():
        message = f"{shown} is not a version: use 1 to {MAX_LENGTH} printable characters without spaces."
        raise UsageError("bad-version", message, hint=_EXAMPLES)
    if told == now:
        raise UsageError("bad-version", f"The skill already has version {shown}.", hint=_EXAMPLES)
    return told


def _raised(mark: str, numbers: list[str], part: str, *, candidate: bool) -> str:
    """Raise one number and clear those after it; a pre-release of exactly that version only loses its suffix."""
    at = PARTS.index(part) if part else len(numbers) - 1
    numbers += ["0"] * (at + 1 - len(numbers))
    behind = numbers[at + 1 :]
    if not (candidate and all(int(number) == 0 for number in behind)):
        numbers = [*numbers[:at], _plus_one(numbers[at]), *("0" for _ in behind)]
    return mark + ".".join(numbers)


def _plus_one(number: str) -> str:
    """Return the next number with as many digits: 09 is followed by 10, 007 by 008."""
    return str(int(number) + 1).zfill(len(number))
