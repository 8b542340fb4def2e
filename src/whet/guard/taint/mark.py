"""Marks, which say where a value comes from and follow it through a program in any language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

HOLE = "\ufffc"
"""Placeholder for an unknown part of a constant text."""

Kind = Literal[
    "secret", "env", "names", "key", "captured", "place", "folder", "listing", "file",
    "fetched", "served", "socket", "decoded", "encoded", "assembled", "project", "encrypted",
]  # fmt: skip
"""`secret`: the content of a private file or store. `env`: the whole environment; `names`: its variable names. `key`: a
secret environment variable. `captured`: what a person types, copies, sees or browses. `place`, `folder`, `listing`:
paths of private files. `file`: a local file. `fetched`: from a server; `served`: from a client of the program's own
server; `socket`: from a raw connection. `encoded`: the output of an encoder. `assembled`: joined from several files. `project`: the
names of all files of a project."""


class Mark(NamedTuple):
    """The origin of a value."""

    kind: Kind
    what: str = ""
    """A human-readable description."""
    subject: str = ""
    """The URL, path or variable."""
    grave: bool = False
    """Whether it cannot be taken by accident; for `fetched`, whether the source is disreputable."""
    whole: bool = False
    """Whether it is the whole file or environment, not a part that was looked up."""


NO_MARKS: frozenset[Mark] = frozenset()
ENVIRONMENT = Mark("env", "the whole environment", "environment", grave=True, whole=True)

UNCHECKED = "a server whose certificate is not checked"
"""What a mark says of content from such a server."""


def comes_from(marks: Iterable[Mark], *kinds: Kind) -> bool:
    """Return whether a mark is of one of these kinds."""
    return any(mark.kind in kinds for mark in marks)


def subject_of(marks: Iterable[Mark], kind: Kind) -> str:
    """Return the subject of the first mark of a kind."""
    return next((mark.subject for mark in sorted(marks) if mark.kind == kind), "")
