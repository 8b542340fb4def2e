"""What a kind of work is here: its two sessions, and what a skill made of them has to say and must not say."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.learning.transcripts.events import Transcript

_LETTERS = string.ascii_letters + string.digits


class Case(NamedTuple):
    """One session, and what belongs to it alone."""

    transcript: Transcript
    secrets: tuple[str, ...]
    once: tuple[str, ...]
    """Ids, dates, versions, paths, people and counts of this case; a skill must not keep them."""
    rules: tuple[str, ...]
    """Words of what the user put right, each of which is in a rule."""
    pitfalls: tuple[str, ...]
    """Words of what failed and of what helped, each of which is in a pitfall."""


class Kind(NamedTuple):
    """A kind of work."""

    name: str
    client: Callable[[Path, Transcript], Path]
    """Who kept the sessions."""
    suffix: str
    first: Case
    second: Case
    essential: tuple[str, ...]
    """Grants without which the work cannot be done."""
    other: tuple[str, ...]
    """Grants of what was really used besides."""
    asked: str
    """The job in other words."""


def made(beginning: str, length: int, alphabet: str = _LETTERS) -> str:
    """A secret that opens nothing, always the same; it is put together here so that no file holds one."""
    return beginning + "".join(random.Random(f"{beginning}{length}").choices(alphabet, k=length))
