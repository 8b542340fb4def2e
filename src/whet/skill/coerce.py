"""Read loosely typed values: lists, flags and names in all their spellings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from whet.skill.block import Values

_TRUE = frozenset(("true", "yes", "on", "1", "y"))
_FALSE = frozenset(("false", "no", "off", "0", "n"))
_AROUND = " \t\r\n\"'"
"""Characters around a word that are not part of it."""


def truth(value: Any) -> bool | None:
    """Return a boolean in any of its spellings, or None."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def one_line(line: str) -> str:
    """Collapse runs of white space to one space."""
    return " ".join(line.split())


def words(value: Any, *, separators: str = r"[,\s]") -> tuple[str, ...]:
    """Return names from a list, a comma or space separated string, or a JSON-looking string."""
    if value is None:
        return ()
    if isinstance(value, str):
        import re

        items: Iterable[Any] = (piece.strip(_AROUND) for piece in re.split(separators, _unbracketed(value)))
    elif isinstance(value, list | tuple):
        items = value
    elif isinstance(value, dict):
        items = ()
    else:
        items = (value,)
    return unique(text(item) for item in items)


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """Return the non-empty items, each once, in order."""
    return tuple(dict.fromkeys(item for item in items if item))


def split_tools(value: Any) -> tuple[str, ...]:
    """Return tool grants from a list or from a space or comma separated string; parentheses keep a grant together."""
    if not isinstance(value, str):
        return words(value)
    grants: list[str] = []
    for piece in split_outside(_unbracketed(value), ", \t\r\n", "()"):
        if piece.startswith("(") and grants:
            grants[-1] += piece  # `Bash (git:*)` must not be read as all of Bash
        elif piece:
            grants.append(piece)
    return unique(grants)


def split_globs(value: Any) -> tuple[str, ...]:
    """Return globs from a list or from a comma separated string; braces keep a glob together."""
    return unique(split_outside(_unbracketed(value), ",", "{}")) if isinstance(value, str) else words(value)


def _unbracketed(line: str) -> str:
    line = line.strip()
    return line[1:-1] if line[:1] == "[" and line[-1:] == "]" else line


def split_outside(line: str, separators: str, brackets: str) -> Iterator[str]:
    """Yield the pieces between separators outside brackets. An unclosed bracket keeps the rest together."""
    depth = start = 0
    for at, letter in enumerate(line):
        if letter in brackets:
            depth = depth + 1 if letter == brackets[0] else max(0, depth - 1)
        elif letter in separators and not depth:
            yield line[start:at].strip(_AROUND)
            start = at + 1
    yield line[start:].strip(_AROUND)


def text(value: Any) -> str:
    """Return a scalar as text; "" for null, lists and mappings."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def mapping(value: object) -> Values:
    """Return a mapping, even one written as a JSON string; an empty one for anything else."""
    if isinstance(value, str):
        value = _from_json(value) if value.lstrip().startswith("{") else None
    return value if isinstance(value, dict) else {}


def _from_json(line: str) -> Any:
    """Parse a JSON string, even with extensions that YAML and JSON5 share, such as a comma before a bracket."""
    import json

    from whet.skill.block import BlockError, read_block

    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        try:
            return read_block(line).values
        except BlockError:
            return None


def listing(value: Any) -> list[Any]:
    """Return a list, or the single value in one."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
