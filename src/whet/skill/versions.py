"""Semantic versions and version ranges: `>=1.2,<2`, `^1.2.0`, `~1.4`, `1.x`."""

from __future__ import annotations

import re

from whet.patterns import compile_late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SEMVER = compile_late(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_SHORT = compile_late(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+.][0-9A-Za-z.+-]*)?")
_PART = compile_late(
    r"(>=|<=|==|~=|!=|>|<|=|\^|~)?\s*v?(\d{1,9}(?:\.(?:\d{1,9}|[xX*])){0,2}(?:[-+][0-9A-Za-z.+-]+)?|[xX*])"
)
_NAMED = compile_late(r"[\w.+-]*")

Version = tuple[int, int, int]


def is_semver(text: str) -> bool:
    """Return whether this is a semantic version, such as 1.4.0, without numbers of more than nine digits."""
    return bool(_SEMVER.fullmatch(text))


def read_version(text: str) -> Version | None:
    """Return the three numbers of a version, which may be short; None if it is invalid."""
    found = _SHORT.fullmatch(text.strip())
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else None


def satisfies(version: Version, wanted: str) -> bool | None:
    """Return whether a version is in a range; None if the range is invalid. `||` separates alternatives."""
    answers = [_meets_all(version, part) for part in wanted.split("||")]
    return None if None in answers else any(answers)


def is_range(text: str) -> bool:
    """Return whether this is a version or a version range without spaces."""
    return not any(map(str.isspace, text)) and satisfies((0, 0, 0), text) is not None


def has_sign(text: str) -> bool:
    """Return whether this can only be a range, such as ^1.2. A branch can be named 1.x."""
    return not _NAMED.fullmatch(text) and is_range(text)


def join_ranges(ranges: Iterable[str]) -> str:
    """Return one range, without spaces, of the versions in all of these; alternatives cannot be combined."""
    words = (re.sub(r"\s*(\|\|)\s*|(?<=[<>=~^!])\s+", r"\1", text.strip()) for text in ranges)
    return ",".join(dict.fromkeys(re.sub(r"[\s,]+", ",", text) for text in words if text))


def in_range(version: str, wanted: str) -> bool:
    """Return whether a version, as a skill writes it, is in a range; always true for an empty range."""
    numbers = read_version(version)
    return not wanted or (numbers is not None and satisfies(numbers, wanted) is True)


def _meets_all(version: Version, text: str) -> bool | None:
    rest, fits, parts = text.strip(), True, 0
    while rest:
        found = _PART.match(rest)
        if found is None:
            return None
        parts += 1
        fits = fits and _meets(version, found[1] or "=", found[2])
        rest = rest[found.end() :].lstrip(" ,")
    return fits if parts else None


def _meets(version: Version, sign: str, text: str) -> bool:
    digits = [int(part) for part in re.split(r"[-+]", text)[0].split(".") if part.isdigit()]
    least = (*digits, 0, 0, 0)[:3]
    if sign in ("=", "==", "^", "~", "~="):
        kept = len(digits)
        if sign == "^":
            kept = next((at + 1 for at, part in enumerate(digits) if part), len(digits))
        elif sign == "~":
            kept = min(kept, 2)
        elif sign == "~=":
            kept -= 1
        return version >= least and list(version[:kept]) == digits[:kept]
    if sign == "!=":
        return list(version[: len(digits)]) != digits
    return {">=": version >= least, "<=": version <= least, ">": version > least, "<": version < least}[sign]


def semver_key(text: str) -> tuple[Version, bool, tuple[tuple[bool, int, str], ...], str]:
    """Return the sort key of a semantic version, including prereleases; build names come last."""
    text, _, build = text.partition("+")
    numbers, _, early = text.partition("-")
    parts = (part for part in early.split(".") if part)
    before = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return read_version(numbers) or (0, 0, 0), not early, before, build
