"""The judge of harm: what is removed or emptied, and what means something only together with the rest of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.places import places
from whet.guard.tables import load_sets, shape
from whet.guard.taint.mark import HOLE
from whet.guard.taint.network import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.guard.finding import Severity

_OWN = frozenset(("", ".", "./", "*", "./*"))
_CASE = re.MULTILINE
"""Addresses of wallets tell upper from lower case."""


def is_home(path: str) -> bool:
    """Whether this is a user's home directory, the directory of all of them, or the root of the disk."""
    return shape("harm", "homes").fullmatch(path) is not None


def is_wiped(path: str, *, relative: bool = False) -> bool:
    """Is this a directory that holds a person's work or the system itself? With `relative`, also `.`, `*` and `..`."""
    if path in _OWN:
        return relative and bool(path)
    if relative and path.replace("\\", "/").rstrip("/*") in ("..", "../.."):
        return True
    return HOLE not in path and shape("harm", "wiped").fullmatch(path) is not None


def is_wallet(text: str) -> bool:
    """Is this the address of a wallet?"""
    return shape("harm", "wallets", _CASE).fullmatch(text) is not None


def names_wallet(text: str) -> bool:
    """Does a text name the address of a wallet, or know how one looks?"""
    return any(shape("harm", name, _CASE).search(text) for name in ("wallets", "wallet_patterns"))


def is_ransom_note(text: str) -> bool:
    """Does it ask for money for files?"""
    return len(text) > 20 and shape("harm", "ransoms", re.IGNORECASE | re.DOTALL).search(text[:4000]) is not None


def names_miner(text: str) -> bool:
    """Does it name a program that digs for coins, or speak its language?"""
    return shape("harm", "miners").search(text[:4000]) is not None


def judge_removed(paths: Iterable[str], *, whole: bool) -> Iterator[Judgement]:
    """Judge what is removed; `whole` when everything below goes, too."""
    for path in paths:
        if any(place.what == "shell history" for place in places(path)):
            yield Judgement("hide-traces", "critical", path, "The code deletes the shell history")
        if whole and is_wiped(path.rstrip()):
            yield Judgement("wipe-home", None, path[:80])


def judge_emptied(paths: Iterable[str]) -> Iterator[Judgement]:
    """Judge files that are written from their beginning."""
    for path in paths:
        if shape("harm", "traces").search(path):
            severity: Severity = "critical" if "history" in path else "warn"
            yield Judgement("hide-traces", severity, path, "The code empties a log or a history file")


def judge_together(did: Mapping[str, int]) -> Iterator[tuple[int, Judgement]]:
    """What a file does that means something only together, each with its line."""
    for row in load_sets("harm")["together"].values():
        if all(any(one in did for one in need.split("|")) for need in row["needs"]):
            at = next(one for one in row["at"].split("|") if one in did)
            yield did[at], Judgement(row["rule"], None, "", row.get("message", ""))
