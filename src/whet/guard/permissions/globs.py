"""Wildcards without regular expressions: rules come from packages, and must not be able to cause much work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def name_matches(pattern: str, text: str) -> bool:
    """Return whether a name matches a pattern in which `*` stands for any characters. Nothing else is special."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    last = others.pop()
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in others:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def row_matches(pattern: Sequence[str], row: Sequence[str], any_number: str) -> bool:
    """Return whether a row of names matches a row of patterns, in which `any_number` stands for any number of names."""
    reached = {0}
    for part in pattern:
        if part == any_number:
            reached = set(range(min(reached), len(row) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(row) and name_matches(part, row[at])}
        if not reached:
            return False
    return len(row) in reached
