"""What outlives a conversation: the shape of a session as JSON."""

from __future__ import annotations

from typing import Any

from whet.errors import UsageError
from whet.skill.schema import find_problems

_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [key for key in properties if key not in optional]}


def _pair(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 2, "maxItems": 2}


_ACTIVE = _object(
    {
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
    }
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


def check_session(data: Any, version: int) -> None:
    """Raise UsageError unless the data is a session that was saved by this version of `Session.to_json`."""
    for problem in find_problems(data, SESSION, "it"):
        if problem.keyword != "string":  # half of a character does no harm
            raise _bad_session(problem.text)
    if data["version"] != version:
        raise _bad_session(f"version is {data['version']}")


def _bad_session(what: str) -> UsageError:
    return UsageError("bad-session", f"This is not a saved session: {what}.", hint="Start a new session.")
