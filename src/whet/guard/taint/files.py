"""The judge of what is kept: secrets that are gathered in one place, whether or not something takes them away from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.taint.mark import Mark
from whet.guard.taint.network import Judgement
from whet.guard.taint.secret import owner

if TYPE_CHECKING:
    from collections.abc import Iterator


PROJECT = Mark("listing", "all files of the project", ".")
"""The names of all files of a project; `PROJECT_FILES` is what is in them."""
PROJECT_FILES = frozenset((Mark("file", "all files of the project", ".", grave=True, whole=True),))
_PROJECT = expression(
    r"(?:\./|\.\./)?(?:\.|\.\.|src|app|lib|\*\*(?:/\*(?:\.\w{1,8})?)?|<here>(?:/\.\.){0,3})?/?(?:\*\*/\*(?:\.\w{1,8})?)?"
)


def is_project(path: str) -> bool:
    """Is this the directory of a person's project, or all files below it?"""
    return bool(path) and _PROJECT.fullmatch(path) is not None


def _told(marks: frozenset[Mark]) -> str:
    return ", ".join(sorted({mark.what for mark in marks})[:4])


def _stores(marks: frozenset[Mark]) -> frozenset[Mark]:
    """The stores of secrets, each once: one inside another is part of it."""
    stores = [mark for mark in marks if mark.kind == "secret" and mark.grave and mark.whole]
    outer = tuple(f"{mark.subject}/" for mark in stores if mark.subject)
    return frozenset(mark for mark in stores if not mark.subject.startswith(outer))


def judge_kept(marks: frozenset[Mark], where: str) -> Iterator[Judgement]:
    """Report a value that is written or shown and holds the keys of several services or several stores of secrets."""
    keys, stores = frozenset(mark for mark in marks if mark.kind == "key"), _stores(marks)
    several = len({mark.what for mark in stores}) > 1
    if several or len({owner(mark.subject) for mark in keys}) > 2:
        hidden = several and where.startswith(("/tmp/.", "/var/tmp/", "/dev/shm/"))  # noqa: S108  of the scanned program
        message = f"It collects several secrets in one place: {_told(stores or keys)}"
        yield Judgement("gathers-secrets", "critical" if hidden else None, where, message)


def judge_gathered(marks: frozenset[Mark]) -> Iterator[Judgement]:
    """Report a value of the program that holds several stores of secrets, wherever it goes."""
    stores = _stores(marks)
    if len({mark.what for mark in stores}) > 1:
        yield Judgement("gathers-secrets", None, "", f"It collects several secrets in one value: {_told(stores)}")
