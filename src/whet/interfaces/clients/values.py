"""What the editing modules share: paths and changes on parsed values, and the failures of reading."""

from __future__ import annotations

from typing import Any

from whet.errors import InvalidError, UsageError
from whet.skill.text_edit import Path, UnsupportedLayout

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 200
BOM = "\ufeff"


def broken(text: str, at: int, reason: str) -> InvalidError:
    """The text breaks the rules of its format at this offset."""
    line, column = place(text, at)
    return InvalidError(
        "client-config-broken",
        f"The configuration cannot be read: line {line}, column {column}: {reason.rstrip('.')}.",
        hint="Correct the file there, then run it again. Nothing was changed.",
        line=line,
        column=column,
    )


def too_deep(text: str, at: int) -> InvalidError:
    """The text nests deeper at this offset than any configuration does."""
    line, column = place(text, at)
    reason = f"The configuration nests deeper than {MAX_DEPTH} levels: line {line}, column {column}."
    return too_large(reason, line=line, column=column)


def too_large(reason: str, **details: int) -> InvalidError:
    """The text, or what it stands for, is larger than any configuration is."""
    hint = "Check whether this is the right file. Nothing was changed."
    return InvalidError("client-config-too-large", reason, hint=hint, **details)


def named(path: Path) -> str:
    """The path as a person would say it."""
    return ".".join(map(str, path)) if path else "the document"


def place(text: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1; a byte order mark takes no column."""
    before = text[: max(at, 0)].removeprefix(BOM)
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def checked_size(text: str) -> None:
    """Raise InvalidError for text that is too large or has no UTF-8 form."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise broken(text, error.start, "a lone surrogate is no character") from None
    if size > MAX_BYTES:
        raise too_large(f"The configuration has {size:,} bytes; {MAX_BYTES:,} are the most that is read.")


def is_deep(value: Any) -> bool:
    """Whether a value has more levels than any configuration does."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    return bool(level)


def missing_from(value: Any, path: Path, *, null_is_empty: bool = False) -> int:
    """How many steps of the path are there. Raises UnsupportedLayout where the path cannot lead on.

    Steps are keys of tables and numbers of items. With `null_is_empty` a null is a table with nothing in it.
    """
    for done, step in enumerate(path):
        if isinstance(value, dict) or (value is None and null_is_empty):
            if not isinstance(step, str):
                raise UnsupportedLayout(f"{named(path[:done])} is a table, not a list")
            if value is None or step not in value:
                if not all(isinstance(rest, str) for rest in path[done:]):
                    raise UnsupportedLayout(f"{named(path[: done + 1])} is not there")
                return done
            value = value[step]
        elif isinstance(value, list):
            if not isinstance(step, int) or not 0 <= step < len(value):
                raise UnsupportedLayout(f"{named(path[:done])} is a list without an item {step!r}")
            value = value[step]
        else:
            raise UnsupportedLayout(f"{named(path[:done])} is {_kind(value)}, not a table")
    return len(path)


def nested(path: Path, value: Any) -> Any:
    """The value inside the tables that lead to it."""
    for step in reversed(path):
        value = {step: value}
    return value


def check_texts(value: Any) -> None:
    """Raise UsageError for a value with a key or text that has a lone surrogate."""
    levels = [value]
    while levels:
        item = levels.pop()
        if isinstance(item, dict):
            levels.extend((*item, *item.values()))
        elif isinstance(item, list):
            levels.extend(item)
        elif isinstance(item, str) and item != item.encode(errors="replace").decode():
            reason = f"The text {item!r} has no UTF-8 form."
            raise UsageError("client-config-value", reason, hint="Only a JSON file can hold it; use another path.")


def _kind(value: Any) -> str:
    words = {type(None): "null", str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return words.get(type(value), f"a {type(value).__name__}")
