"""Small readings of loosely typed values: what people write where a list, a flag or a name is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_TRUE = frozenset(("true", "yes", "on", "1", "y"))
_FALSE = frozenset(("false", "no", "off", "0", "n"))


def truth(value: Any) -> bool | None:
    """A boolean in any of its spellings, or None when it is none."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def one_line(line: str) -> str:
    """White space runs collapsed to one space."""
    return " ".join(line.split())


def words(value: Any, *, separators: str = r"[,\s]+") -> tuple[str, ...]:
    """Names from a list, a comma or space separated string, or a JSON-looking string."""
    if isinstance(value, str):
        line = value.strip()
        if line[:1] == "[" and line[-1:] == "]":
            line = line[1:-1]
        items: Iterable[Any] = (piece.strip("\"' ") for piece in re.split(separators, line))
    elif isinstance(value, list | tuple):
        items = value
    elif value is None or isinstance(value, dict):
        items = ()
    else:
        items = (value,)
    return unique(text(item) for item in items)


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The non-empty items, each once, in order."""
    return tuple(dict.fromkeys(item for item in items if item))


def split_tools(value: Any) -> tuple[str, ...]:
    """Tool grants from a list or from a space or comma separated string; parentheses keep a grant together."""
    if isinstance(value, str):
        return unique(re.findall(r"[^\s,()]+(?:\([^)]*\))?", value))
    return words(value)


def text(value: Any) -> str:
    """A scalar as text; nothing for null, lists and mappings."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def mapping(value: Any) -> dict[str, Any]:
    """A mapping, also one written as a JSON string; an empty one for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        import json

        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """A list, or the single value as one."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
