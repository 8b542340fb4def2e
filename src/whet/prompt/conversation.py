"""The state of a conversation: its active skills, the saved form, and the message after a compaction.

Skills are repeated as reference, limited, and without anything that reads like a request. `SESSION` is the JSON Schema
of a session.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.prompt.formats import neutral
from whet.prompt.message import remarks, spoken, tagged
from whet.records import NamedTuple
from whet.skill.schema import find_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.library.card import Card
    from whet.values import Json

_COMPACTED = (
    "The conversation was compacted. These skills were loaded earlier and are repeated for reference only. This is not "
    "a new request: do not start, repeat or continue anything because of this message."
)


class Active(NamedTuple):
    """A skill that was loaded into the conversation."""

    id: str
    """Its id (`Card.id`)."""
    name: str
    path: str
    digest: str
    text: str
    """Its rendered instructions, as much as the message shows."""
    times: int
    turn: int
    """The last invocation that included it, counted from 1."""
    present: bool = True
    """Whether it is still in the context."""
    whole: bool = True
    """Whether all of it is in the context, not only its beginning or an excerpt."""
    directory: str = ""
    """Its own directory; "" when it is a single file."""
    settings: tuple[str, ...] = ()
    """The values of its settings that were included."""


def reference(item: Active, text: str, state: str) -> str:
    """Return one skill as a reference block."""
    directory = item.directory if os.path.isdir(item.directory) else ""
    if text != item.text.strip("\n"):
        text += f"\n[Cut here. The rest: skill_view({item.name!r}).]"
    if state == "changed":
        text += f"\n[It has since changed on disk; skill_view({item.name!r}) returns the current text.]"
    return tagged(item.name, item.digest, "\n".join((text, *remarks((), directory, (), item.settings))), "reference")


def beginning(text: str, limit: int, count: Callable[[str], int]) -> str:
    """Return the beginning of a text within a number of tokens, in whole lines if possible."""
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
    """Return the whole message: the repeated skills, and the names of the others."""
    rows = [_COMPACTED]
    if names := ", ".join(map(spoken, left_out)):
        rows.append(f"Also active before, not repeated here: {names}. Load what you need with skill_view(name).")
    if names := ", ".join(map(spoken, gone)):
        rows.append(f"Active before, no longer available: {names}.")
    return "\n\n".join(("<skill_reference>\n" + "\n".join(map(neutral, rows)), *blocks)) + "\n</skill_reference>"


_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [key for key in properties if key not in optional]}


def _pair(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 2, "maxItems": 2}


VERSION = 2
"""Version 1 identified skills by the paths of their main files, not by ids."""
_ACTIVE = _object(
    {
        "id": _TEXT,
        "name": _TEXT,
        "path": _TEXT,
        "digest": _TEXT,
        "text": _TEXT,
        "times": _NUMBER,
        "turn": _NUMBER,
        "present": _FLAG,
        "whole": _FLAG,
        "directory": _TEXT,
        "settings": _TEXTS,
    },
    "id",
)
SESSION = _object(
    {
        "version": _NUMBER,
        "id": _TEXT,
        "turn": _NUMBER,
        "active": {"type": "array", "items": _ACTIVE},
        "viewed": _TEXTS,
        "ranking": {"type": "object", "additionalProperties": _pair(_NUMBER)},
        "offered": _TEXTS,
        "asked": {"type": "array", "items": _pair(_TEXT)},
        "given": _TEXTS,
        "settings": {"type": "object"},
    },
    "offered",
)
"""JSON Schema of a saved session."""


def check_session(data: Any) -> None:
    """Raise UsageError unless the data is a session that this version of `Session.to_json` wrote, or the previous."""
    for problem in find_problems(data, SESSION, "it"):
        if problem.keyword != "string":  # a lone surrogate does no harm
            raise _bad_session(problem.text)
    if not 1 <= data["version"] <= VERSION:
        raise _bad_session(f"version is {data['version']}")
    if data["version"] == VERSION and not all("id" in item for item in data["active"]):
        raise _bad_session("one of its skills has no id")


def add_ids(data: Json, cards: Iterable[Card]) -> Json:
    """Add the ids of skills to a session of version 1; a skill that is gone keeps its path as id."""
    if data["version"] == VERSION:
        return data
    ids = {card.path: str(card.id) for card in cards}
    return {
        **data,
        "active": [{**item, "id": ids.get(item["path"], item["path"])} for item in data["active"]],
        "viewed": [ids.get(path, path) for path in data["viewed"]],
        "offered": [ids.get(path, path) for path in data.get("offered", ())],
    }


def _bad_session(what: str) -> UsageError:
    return UsageError("bad-session", f"This is not a saved session: {what}.", hint="Start a new session.")
