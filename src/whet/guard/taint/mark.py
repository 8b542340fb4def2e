"""Marks say where a value comes from and follow it through a program, whatever language the program is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

HOLE = "\ufffc"
"""Stands in a constant text for a part that is not known."""

Kind = Literal[
    "secret", "env", "names", "key", "captured", "place", "folder", "listing", "file",
    "fetched", "served", "socket", "decoded", "encrypted",
]  # fmt: skip
"""`secret`: the content of a private file or store. `env`: the whole environment; `names`: the names in it. `key`: a
secret variable of it. `captured`: what a person types, copies, sees or browses. `place`, `folder`, `listing`: where
private files lie. `file`: a local file. `fetched`: from a server; `served`: from a client of the program's own server;
`socket`: from a raw connection."""


class Mark(NamedTuple):
    """Where a value comes from."""

    kind: Kind
    what: str = ""
    """Words for a person."""
    subject: str = ""
    """The URL, path or variable it is about."""
    grave: bool = False
    """Nobody takes it by accident; of `fetched`: it comes from a place of no good name."""
    whole: bool = False
    """All of it, not a part that was looked up: the file as it is, the environment as it is."""


NO_MARKS: frozenset[Mark] = frozenset()
ENVIRONMENT = Mark("env", "the whole environment", "environment", grave=True, whole=True)


def comes_from(marks: Iterable[Mark], *kinds: Kind) -> bool:
    """Is any part of a value of one of these kinds?"""
    return any(mark.kind in kinds for mark in marks)


def subject_of(marks: Iterable[Mark], kind: Kind) -> str:
    """The address or path of the first mark of a kind."""
    return next((mark.subject for mark in sorted(marks) if mark.kind == kind), "")
