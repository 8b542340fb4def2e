"""Editing and checking configurations of all formats.

An edit is done on the text by the format's own functions and, separately, on the parsed value; then the new text must
read as the new value. The second catches every mistake of the first in an unusual file, so that no edit has to be
trusted: it is right, or raises RefusedError "client-config-unusual" with the text to add by hand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, RefusedError, UsageError
from whet.skill.text_edit import Path, UnsupportedLayout, same, value_at, with_value, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.interfaces.clients.known import Format

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 200
BOM = "\ufeff"


_ODD = "the file is written in an unusual way"


class Editor(NamedTuple):
    """Editing one format: its parser and its edits. Paths are names of keys and numbers of items.

    Its functions get the document that `parse` returned, whose `value` is the parsed text. They return a new text, or
    raise UnsupportedLayout if the edit is not possible.
    """

    parse: Callable[[str], Any]
    span: Callable[[Any, Path], tuple[int, int]]
    """Returns the start and the end of the value at an existing path."""
    replaced: Callable[[Any, Path, Any], str]
    """Replaces the value at an existing path."""
    inserted: Callable[[Any, Path, str, Any], str]
    """Adds a key to the table at an existing path."""
    appended: Callable[[Any, Path, Any], str]
    """Adds an item to the list at an existing path."""
    removed: Callable[[Any, Path], str]
    written: Callable[[Any], str]
    """Writes a whole document, for display."""
    emptied: Callable[[Any, Path], Iterable[Any]] = lambda *_: ()
    """Returns other values that are valid after a removal, if the format cannot write an empty parent."""
    null_is_empty: bool = False
    """Whether a null can be filled like a table or a list."""
    escapes: bool = False
    """Whether text without a UTF-8 form can be written."""

    def read(self, text: str) -> Any:
        """Parse the text; an empty text is an empty table. Raises InvalidError with line and column."""
        return self.parse(text).value

    def put(self, text: str, path: Path, value: Any) -> str:
        """Return the text with the value at the path; missing tables on the way are added."""
        if not self.escapes:
            check_texts([*path, value])
        document = self.parse(text)
        try:
            there = missing_from(document.value, path, null_is_empty=self.null_is_empty)
            if there < len(path):
                new = self.inserted(document, path[:there], str(path[there]), nested(path[there + 1 :], value))
            elif same(value_at(document.value, path), value):
                return text
            else:
                new = self.replaced(document, path, value)
            _check_edit(self, new, [with_value(document.value, path, value)])
        except UnsupportedLayout as reason:
            raise _cannot_put(self, reason, path, value) from None
        return new

    def append(self, text: str, path: Path, value: Any) -> str:
        """Return the text with an item at the end of the list at the path; missing tables on the way are added."""
        if not self.escapes:
            check_texts([*path, value])
        document = self.parse(text)
        try:
            if missing_from(document.value, path, null_is_empty=self.null_is_empty) < len(path):
                return self.put(text, path, [value])
            item = (*path, len(_items(self, document.value, path)))
            new = self.appended(document, path, value)
            _check_edit(self, new, [with_value(document.value, item, value)])
        except UnsupportedLayout as reason:
            raise _cannot_put(self, reason, path, [value]) from None
        return new

    def take(self, text: str, path: Path) -> str:
        """Return the text without the value at the path, or unchanged if there is none. Empty parents stay."""
        document = self.parse(text)
        try:
            if missing_from(document.value, path) < len(path):
                return text
        except UnsupportedLayout:
            return text
        try:
            new = self.removed(document, path)
            left = without_value(document.value, path)
            _check_edit(self, new, [left, *self.emptied(left, path)])
        except UnsupportedLayout as reason:
            raise RefusedError(
                "client-config-unusual",
                f"{named(path)} cannot be removed: {reason}.",
                hint=f"Nothing was changed. Remove {named(path)} by hand.",
            ) from None
        return new

    def masked(self, text: str, paths: Iterable[Path]) -> str:
        """Return the text with dots for the values at these paths, for display.

        If the text has no exact place (an alias, a repeated key), everything around it is hidden. Raises
        UnsupportedLayout if that would be the whole text.
        """
        document = self.parse(text)
        shown, at = "", 0
        for start, stop in sorted({self._seen(document, path) for path in paths}, key=lambda span: (span[0], -span[1])):
            if start >= at:  # otherwise it is inside a part that is already hidden
                shown, at = f'{shown}{text[at:start]}"…"', stop
        return shown + text[at:]

    def _seen(self, document: Any, path: Path) -> tuple[int, int]:
        while path:
            try:
                return self.span(document, path)
            except UnsupportedLayout:
                path = path[:-1]
        raise UnsupportedLayout(_ODD)


def editor(format_: Format) -> Editor:
    """Return the editor of a format."""
    found: Editor = import_module(f"whet.interfaces.clients.{format_}").EDITOR
    return found


def _items(editor: Editor, value: Any, path: Path) -> list[Any]:
    items = value_at(value, path)
    if isinstance(items, list):
        return items
    if items is None and editor.null_is_empty:
        return []
    raise UnsupportedLayout(f"{named(path)} is not a list")


def _check_edit(editor: Editor, new: str, accepted: list[Any]) -> None:
    try:
        value = editor.parse(new).value
    except InvalidError:
        raise UnsupportedLayout(_ODD) from None
    if not any(same(value, expected) for expected in accepted):
        raise UnsupportedLayout(_ODD)


def _cannot_put(editor: Editor, reason: UnsupportedLayout, path: Path, value: Any) -> RefusedError:
    names = tuple(step for step in path if isinstance(step, str))
    return RefusedError(
        "client-config-unusual",
        f"{named(path)} cannot be set: {reason}.",
        hint=f"Nothing was changed. Add it by hand:\n{editor.written(nested(names, value)).rstrip()}",
    )


# --- failures and values -------------------------------------------------------------------------------------------


def broken(text: str, at: int, reason: str) -> InvalidError:
    """Return the error for text that is invalid at this offset."""
    line, column = place(text, at)
    return InvalidError(
        "client-config-broken",
        f"The configuration cannot be read: line {line}, column {column}: {reason.rstrip('.')}.",
        hint="Fix the file there, then run the command again. Nothing was changed.",
        line=line,
        column=column,
    )


def too_deep(text: str, at: int) -> InvalidError:
    """Return the error for text that is nested too deeply at this offset."""
    line, column = place(text, at)
    reason = f"The configuration nests deeper than {MAX_DEPTH} levels: line {line}, column {column}."
    return too_large(reason, line=line, column=column)


def too_large(reason: str, **details: int) -> InvalidError:
    """Return the error for text, or a value, that is too large for a configuration."""
    hint = "Check whether this is the right file. Nothing was changed."
    return InvalidError("client-config-too-large", reason, hint=hint, **details)


def named(path: Path) -> str:
    """Format a path for a person."""
    return ".".join(map(str, path)) if path else "the document"


def place(text: str, at: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1; a byte order mark takes no column."""
    before = text[: max(at, 0)].removeprefix(BOM)
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def checked_size(text: str) -> None:
    """Raise InvalidError for text that is too large or has no UTF-8 form."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise broken(text, error.start, "a lone surrogate is not a character") from None
    if size > MAX_BYTES:
        raise too_large(f"The configuration has {size:,} bytes; the limit is {MAX_BYTES:,}.")


def is_deep(value: Any) -> bool:
    """Return whether a value has more levels than a configuration may have."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    return bool(level)


def missing_from(value: Any, path: Path, *, null_is_empty: bool = False) -> int:
    """Return the number of steps of the path that exist. Raises UnsupportedLayout if the path cannot continue.

    Steps are keys of tables and numbers of items. With `null_is_empty` a null is an empty table.
    """
    for done, step in enumerate(path):
        if isinstance(value, dict) or (value is None and null_is_empty):
            if not isinstance(step, str):
                raise UnsupportedLayout(f"{named(path[:done])} is a table, not a list")
            if value is None or step not in value:
                if not all(isinstance(rest, str) for rest in path[done:]):
                    raise UnsupportedLayout(f"{named(path[: done + 1])} does not exist")
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
    """Return the value inside the tables that lead to it."""
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
            raise UsageError("client-config-value", reason, hint="Only a JSON file can contain it; use another path.")


def _kind(value: Any) -> str:
    words = {type(None): "null", str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return words.get(type(value), f"a {type(value).__name__}")
