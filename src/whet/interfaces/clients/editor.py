"""How every configuration is edited and checked, whatever its format.

An edit is done on the text by the format's own functions and, separately, on the parsed value; then the new text must
read as the new value. Whatever an unusual file does to the first is caught by the second, so that no edit has to be
trusted: it is right, or RefusedError "client-config-unusual" with what to add by hand.
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
    """Editing one format: what it must know, and the edits. Paths are names of keys and numbers of items.

    Its own functions get the document that `parse` made, whose `value` is what the text says. They give a new text, or
    raise UnsupportedLayout where it cannot be done.
    """

    parse: Callable[[str], Any]
    span: Callable[[Any, Path], tuple[int, int]]
    """Where the value at a path that is there begins and ends."""
    replaced: Callable[[Any, Path, Any], str]
    """Something else at a path that is there."""
    inserted: Callable[[Any, Path, str, Any], str]
    """A new key in the table at a path that is there."""
    appended: Callable[[Any, Path, Any], str]
    """A new item in the list at a path that is there."""
    removed: Callable[[Any, Path], str]
    written: Callable[[Any], str]
    """A whole document, to be shown."""
    emptied: Callable[[Any, Path], Iterable[Any]] = lambda *_: ()
    """What else a value may be after a removal, where the format has no way to write an empty parent."""
    null_is_empty: bool = False
    """Whether a null can be filled as if it were a table or a list."""
    escapes: bool = False
    """Whether text that has no UTF-8 form can be written all the same."""

    def read(self, text: str) -> Any:
        """What the text says; an empty text is an empty table. Raises InvalidError with line and column."""
        return self.parse(text).value

    def put(self, text: str, path: Path, value: Any) -> str:
        """The text with the value at the path; tables that are missing on the way are made."""
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
        """The text with an item behind the others of the list at the path; what is missing on the way is made."""
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
        """The text without what stands at the path; the same text where nothing does. Empty parents stay."""
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
        """The text with dots for what stands at these paths, to be shown.

        Where the text does not say where that is (an alias, a key that is there twice) all around it goes. Raises
        UnsupportedLayout where that would be everything.
        """
        document = self.parse(text)
        shown, at = "", 0
        for start, stop in sorted({self._seen(document, path) for path in paths}, key=lambda span: (span[0], -span[1])):
            if start >= at:  # otherwise it is inside what is hidden already
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
    """How files of this format are edited."""
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
    """The text breaks the rules of its format at this offset."""
    line, column = place(text, at)
    return InvalidError(
        "client-config-broken",
        f"The configuration cannot be read: line {line}, column {column}: {reason.rstrip('.')}.",
        hint="Fix the file there, then run the command again. Nothing was changed.",
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
        raise broken(text, error.start, "a lone surrogate is not a character") from None
    if size > MAX_BYTES:
        raise too_large(f"The configuration has {size:,} bytes; the limit is {MAX_BYTES:,}.")


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
            raise UsageError("client-config-value", reason, hint="Only a JSON file can contain it; use another path.")


def _kind(value: Any) -> str:
    words = {type(None): "null", str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return words.get(type(value), f"a {type(value).__name__}")
