"""The judge of what is kept: secrets that are gathered in one place, whether or not something takes them away from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.taint.network import Judgement
from whet.guard.taint.secret import owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.taint.mark import Mark


def judge_kept(marks: frozenset[Mark], where: str) -> Iterator[Judgement]:
    """Report a value that is written or shown and holds the keys of several services or several stores of secrets."""
    owners = {owner(mark.subject) for mark in marks if mark.kind == "key"}
    stores = {mark.what for mark in marks if mark.kind == "secret" and mark.grave and mark.whole}
    if len(owners) > 2 or len(stores) > 1:
        said = ", ".join(sorted(stores or {mark.subject for mark in marks if mark.kind == "key"})[:4])
        yield Judgement("gathers-secrets", None, where, f"It puts several secrets into one place: {said}")
