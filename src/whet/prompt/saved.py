"""What outlives a conversation: the shape of a session as JSON, and what takes down what was done in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Recording(Protocol):
    """What takes down an agent loop. Every method may be called at any time; nothing is kept of secrets."""

    def user(self, text: str) -> None:
        """What the user said."""

    def assistant(self, text: str) -> None:
        """What the model said."""

    def note(self, text: str, about: str = "system") -> None:
        """What the loop put in itself: a system prompt, the body of a skill (`skill:NAME`), a summary."""

    def call(self, tool: str, given: Mapping[str, Any], id: str = "") -> str:  # noqa: A002  the name in the event
        """A tool that is called, with its arguments; gives the id that its result is to carry."""

    def result(self, text: str, id: str = "", *, failed: bool | None = None) -> None:  # noqa: A002  as above
        """What a call gave."""

    def save(self, path: str) -> None:
        """Write everything so far to a file."""


SESSION = {
    "version": int,
    "id": str,
    "turn": int,
    "active": list,
    "viewed": list,
    "ranking": dict,
    "asked": list,
    "given": list,
    "settings": dict,
}
ACTIVE = {
    "name": str,
    "path": str,
    "digest": str,
    "text": str,
    "times": int,
    "turn": int,
    "present": bool,
    "whole": bool,
    "directory": str,
    "settings": list,
}


def check_shape(data: Any, shape: Mapping[str, type]) -> None:
    """Raise UsageError unless the data has all of these keys with values of exactly these types."""
    if type(data) is not dict:
        raise bad_session(f"a {type(data).__name__} stands for an object")
    for key, kind in shape.items():
        if type(data.get(key)) is not kind:
            raise bad_session(f"{key} is missing" if key not in data else f"{key} is not of type {kind.__name__}")


def list_of(kind: type, data: Any, length: int | None = None) -> list[Any]:
    if type(data) is not list or any(type(item) is not kind for item in data) or length not in (None, len(data)):
        raise bad_session(f"{data!r:.80} is not a list of {length or 'any number of'} {kind.__name__}")
    return data


def bad_session(what: str) -> UsageError:
    return UsageError("bad-session", f"This is not a saved session: {what}.", hint="Start a new session.")
