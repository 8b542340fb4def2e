"""Being a danger, or speaking of one: what the place of a passage says about how it is meant.

Under a heading such as "Red flags", behind "watch for", in quotation marks or with a `never` in front, a danger is spoken
of and not ordered. Each such sign takes a step off what it weighs, two at most; a heading alone takes one, whatever the
skill says it is about. In a comment that nobody sees when the page is rendered, it weighs a step more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.tables import shape

if TYPE_CHECKING:
    from whet.guard.prose.markdown import Block

_MENTIONING = shape("prose", "mentioning", 0, frame=r"\b(?:{})")


@lru_cache(maxsize=1024)
def mentions(trail: str) -> bool:
    """Are dangers spoken of under these headings?"""
    return _MENTIONING.search(trail) is not None


_SPEAKING = shape("prose", "speaking", frame=r"(?:\b(?:{})\b|❌|✗|🚫|⛔)")
_END = expression(r"(?<=[.!?:])\s+")
_QUOTED = expression(r"(?:^|[\s(\[|,])[\"'“‘`«][^\"'“”‘’`«»\n]{0,80}$")


class Meant(NamedTuple):
    """How a passage is meant."""

    steps: int
    """How many steps less it weighs."""
    shown: bool
    """Its own sentence says that it is only mentioned."""


def meant(block: Block, before: str, *, quoted: bool = False) -> Meant:
    """How a passage is meant, by its block and by what stands before it in the block."""
    quoted = quoted or _QUOTED.search(_END.split(before[-200:])[-1][-90:]) is not None
    said = speaks(before)
    if block.kind == "comment":
        return Meant(-1, said or quoted)
    signs = (mentions(block.trail), said, quoted, block.kind == "fence" and block.closed)
    return Meant(min(sum(signs), 2), said or quoted)


def speaks(before: str) -> bool:
    """Do the words before it in its sentence say that it is only mentioned?"""
    return _SPEAKING.search(_END.split(before[-200:])[-1]) is not None
