"""What outlives a conversation: the shape of a session as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.skill.schema import find_problems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.library.card import Card
    from whet.values import Json

_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [key for key in properties if key not in optional]}


def _pair(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 2, "maxItems": 2}


VERSION = 2
"""Version 1 knew skills by the paths of their main files, not by their ids."""
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
"""JSON Schema of a session that was saved."""


def check_session(data: Any) -> None:
    """Raise UsageError unless the data is a session that this version of `Session.to_json` wrote, or the one before."""
    for problem in find_problems(data, SESSION, "it"):
        if problem.keyword != "string":  # half of a character does no harm
            raise _bad_session(problem.text)
    if not 1 <= data["version"] <= VERSION:
        raise _bad_session(f"version is {data['version']}")
    if data["version"] == VERSION and not all("id" in item for item in data["active"]):
        raise _bad_session("a skill of it has no id")


def add_ids(data: Json, cards: Iterable[Card]) -> Json:
    """A session of version 1 with the ids of its skills; a skill that is gone keeps its path for one."""
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
