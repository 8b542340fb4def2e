"""The arguments of a call as they may be kept: JSON of a bounded size, without secrets.

A secret can be known by the name of its argument, by the argument before it, or by the label of the field that it is
put into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import BINARY
from whet.guard.secrets.places import names_secret
from whet.guard.secrets.values import ANY, LITERAL, is_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEPTH = 6
ITEMS = 100
_ROOM = 64_000
"""Characters of all the arguments of one call together."""
_LABELS = ("name", "key", "field", "label", "element", "id", "selector", "variable", "header")
_CONTENTS = ("value", "text", "content", "input")


class Arguments:
    """The arguments of one call."""

    def __init__(self, text: Callable[[str], str], learn: Callable[[str, str], None]) -> None:
        self._text = text
        """How a text is made fit to be kept."""
        self._learn = learn
        """Who is told of a secret."""
        self._room = _ROOM
        self.hidden = 0
        """Secrets that were known by a name."""

    def kept(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments as they may be kept."""
        return self._mapping(given, 0)

    def _value(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return BINARY
        if depth >= DEPTH and not isinstance(value, str):
            return "[...]"
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            return self._sequence(list(value), depth)
        return self._short(value if isinstance(value, str) else str(value))

    def _short(self, text: str) -> str:
        text = self._text(text)
        if len(text) > self._room:
            text = text[: self._room] + "[...]"
        self._room = max(0, self._room - len(text))
        return text

    def _secret(self, value: str, kind: str) -> str:
        self._learn(value, kind)
        self.hidden += 1
        return f"[secret:{kind}]"

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Mapping[str, Any]:
        labels = (value[label] for label in _LABELS if isinstance(value.get(label), str))
        labelled = next(filter(None, map(names_secret, labels)), "")
        kept: dict[str, Any] = {}
        for key, item in list(value.items())[:ITEMS]:
            name = self._short(key if isinstance(key, str) else str(key))[:200]
            kind = names_secret(name) or (labelled if key in _CONTENTS else "")
            if kind and isinstance(item, str) and is_secret(item, ANY if kind == ANY else LITERAL):
                kept[name] = self._secret(item, kind)
            else:
                kept[name] = self._value(item, depth + 1)
        return kept

    def _sequence(self, value: list[Any], depth: int) -> list[Any]:
        kept: list[Any] = []
        before = ""
        shown = self._words(value[:ITEMS])
        for item, safe in zip(value[:ITEMS], shown, strict=True):
            kind = names_secret(before) if before.startswith("-") and "=" not in before else ""
            if kind and safe == item and isinstance(item, str) and is_secret(item, ANY if kind == ANY else LITERAL):
                kept.append(self._secret(item, kind))
            else:
                kept.append(self._value(safe, depth + 1))
            before = item if isinstance(item, str) else ""
        return kept

    def _words(self, value: list[Any]) -> list[Any]:
        """The words of a command without the secrets that one knows by the words before them."""
        if len(value) < 3 or not all(isinstance(item, str) and item and " " not in item for item in value):
            return value
        found = self._text(" ".join(value)).split(" ")
        return found if len(found) == len(value) else value
