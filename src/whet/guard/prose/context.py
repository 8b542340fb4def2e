"""Whether a passage is a danger or only mentions one, judged by its position.

Under a heading such as "Red flags", after "watch for", in quotation marks or after a `never`, a danger is mentioned and not
ordered. Each of these signs lowers the severity by one step, two at most; a heading alone by one, whatever the skill is
about. In a comment that is invisible when the page is rendered, the severity is one step higher.
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
    """Return whether dangers are only mentioned under these headings."""
    return _MENTIONING.search(trail) is not None


_SPEAKING = shape("prose", "speaking", frame=r"(?:\b(?:{})\b|❌|✗|🚫|⛔)")
_END = expression(r"(?<=[.!?:])\s+")
_QUOTED = expression(r"(?:^|[\s(\[|,])[\"'“‘`«][^\"'“”‘’`«»\n]{0,80}$")


class Meant(NamedTuple):
    """How a passage is meant."""

    steps: int
    """Number of steps by which the severity is lowered."""
    shown: bool
    """The sentence itself says that the passage is only mentioned."""


def meant(block: Block, before: str, *, quoted: bool = False) -> Meant:
    """Return how a passage is meant, judged by its block and by the text before it in the block."""
    quoted = quoted or _QUOTED.search(_END.split(before[-200:])[-1][-90:]) is not None
    said = speaks(before)
    if block.kind == "comment":
        return Meant(-1, said or quoted)
    signs = (mentions(block.trail), said, quoted, block.kind == "fence" and block.closed)
    return Meant(min(sum(signs), 2), said or quoted)


def speaks(before: str) -> bool:
    """Return whether the words before a passage in its sentence say that it is only mentioned."""
    return _SPEAKING.search(_END.split(before[-200:])[-1]) is not None
