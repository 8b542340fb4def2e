"""What is given back after a compaction: skills as reference, bounded, and nothing that reads like a request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.prompt.formats import neutral
from whet.prompt.message import remarks, spoken, tagged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_COMPACTED = (
    "The conversation was compacted. These skills were loaded earlier and are repeated for reference only. This is not "
    "a new request: do not start, repeat or continue anything because of this message."
)


class Active(NamedTuple):
    """A skill that was loaded into the conversation."""

    id: str
    """What it is known by (`Card.id`)."""
    name: str
    path: str
    digest: str
    text: str
    """Its body as it was rendered, as much of it as a message shows."""
    times: int
    turn: int
    """The invocation it was last part of, counted from 1."""
    present: bool = True
    """Whether it is still in the context."""
    whole: bool = True
    """Whether all of it is, and not only its beginning or an excerpt."""
    directory: str = ""
    """Its own directory; "" when it is a single file."""
    settings: tuple[str, ...] = ()
    """The values of its settings that came with it."""


def reference(item: Active, text: str, state: str) -> str:
    """One skill as it is given back."""
    directory = item.directory if os.path.isdir(item.directory) else ""
    if text != item.text.strip("\n"):
        text += f"\n[Cut here. The rest: skill_view({item.name!r}).]"
    if state == "changed":
        text += f"\n[It has changed on disk since; skill_view({item.name!r}) gives what it says now.]"
    return tagged(item.name, item.digest, "\n".join((text, *remarks((), directory, (), item.settings))), "reference")


def beginning(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The beginning of a text within a number of tokens, whole lines only where there are any."""
    if count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    end = text.rfind("\n", 0, low + 1)
    return text[: end if end > 0 else low]


def message(blocks: Iterable[str], left_out: Iterable[str], gone: Iterable[str]) -> str:
    """The whole message: the skills given back, and by name those that are not."""
    rows = [_COMPACTED]
    if names := ", ".join(map(spoken, left_out)):
        rows.append(f"Also active before, not repeated here: {names}. Load with skill_view(name) what is needed.")
    if names := ", ".join(map(spoken, gone)):
        rows.append(f"Active before, not available any more: {names}.")
    return "\n\n".join(("<skill_reference>\n" + "\n".join(map(neutral, rows)), *blocks)) + "\n</skill_reference>"
