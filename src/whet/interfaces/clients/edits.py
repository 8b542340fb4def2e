"""How every edit is done and checked, whatever the format.

An edit is done on the text by the format's own functions and, separately, on the parsed value; then the new text must
read as the new value. Whatever an unusual file does to the first is caught by the second, so that no edit has to be
trusted: it is right, or RefusedError "client-config-unusual" with what to add by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, RefusedError
from whet.interfaces.clients.values import (
    Path,
    Unusual,
    bad_value,
    check_writable,
    missing_from,
    named,
    nested,
    same,
    value_at,
    with_value,
    without_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ODD = "the file is written in an unusual way"


class Editor(NamedTuple):
    """What a format must know. Each edit gets the document that `parse` made, whose `value` is what the text says.

    An edit gives a new text, or raises Unusual where it cannot be done.
    """

    parse: Callable[[str], Any]
    check: Callable[[Any], None]
    """Raises UsageError for a value that the format cannot write; it is made of known types already."""
    replaced: Callable[[Any, Path, Any], str]
    """Something else at a path that is there."""
    inserted: Callable[[Any, Path, str, Any], str]
    """A new key in the table at a path that is there."""
    appended: Callable[[Any, Path, Any], str]
    """A new item in the list at a path that is there."""
    removed: Callable[[Any, Path], str]
    written: Callable[[Any], str]
    """A whole document, to be shown."""
    emptied: Callable[[Any, Path], Iterable[Any]]
    """What else a value may be after a removal, where the format has no way to write an empty parent."""
    null: bool = True
    """Whether the format has a null."""
    null_is_empty: bool = False
    """Whether a null can be filled as if it were a table or a list."""


def put(editor: Editor, text: str, path: Path, value: Any) -> str:
    """The text with the value at the path."""
    _check_path(path)
    _check_value(editor, path, value)
    document = editor.parse(text)
    try:
        there = missing_from(document.value, path, null_is_empty=editor.null_is_empty)
        if there < len(path):
            new = editor.inserted(document, path[:there], str(path[there]), nested(path[there + 1 :], value))
        elif same(value_at(document.value, path), value):
            return text
        else:
            new = editor.replaced(document, path, value)
        _check_edit(editor, new, [with_value(document.value, path, value)])
    except Unusual as reason:
        raise _cannot_put(editor, reason, path, value) from None
    return new


def append(editor: Editor, text: str, path: Path, value: Any) -> str:
    """The text with an item behind the others of the list at the path."""
    _check_path(path)
    _check_value(editor, path, value)
    document = editor.parse(text)
    try:
        if missing_from(document.value, path, null_is_empty=editor.null_is_empty) < len(path):
            return put(editor, text, path, [value])
        item = (*path, len(_items(editor, document.value, path)))
        new = editor.appended(document, path, value)
        _check_edit(editor, new, [with_value(document.value, item, value)])
    except Unusual as reason:
        raise _cannot_put(editor, reason, path, [value]) from None
    return new


def take(editor: Editor, text: str, path: Path) -> str:
    """The text without what stands at the path; the same text where nothing does."""
    _check_path(path)
    document = editor.parse(text)
    try:
        if missing_from(document.value, path) < len(path):
            return text
    except Unusual:
        return text
    try:
        new = editor.removed(document, path)
        left = without_value(document.value, path)
        _check_edit(editor, new, [left, *editor.emptied(left, path)])
    except Unusual as reason:
        raise RefusedError(
            "client-config-unusual",
            f"{named(path)} cannot be removed: {reason}.",
            hint=f"Nothing was changed. Remove {named(path)} by hand.",
        ) from None
    return new


def added(editor: Editor, text: str, path: Path) -> Path:
    """The topmost path that `put` would make, or the item that `append` would add to a list that is there."""
    value = editor.parse(text).value
    try:
        there = missing_from(value, path, null_is_empty=editor.null_is_empty)
        return path[: there + 1] if there < len(path) else (*path, len(_items(editor, value, path)))
    except Unusual:
        return ()


def _items(editor: Editor, value: Any, path: Path) -> list[Any]:
    items = value_at(value, path)
    if isinstance(items, list):
        return items
    if items is None and editor.null_is_empty:
        return []
    raise Unusual(f"{named(path)} is no list")


def _check_edit(editor: Editor, new: str, accepted: list[Any]) -> None:
    try:
        value = editor.parse(new).value
    except InvalidError:
        raise Unusual(_ODD) from None
    if not any(same(value, expected) for expected in accepted):
        raise Unusual(_ODD)


def _check_path(path: Path) -> None:
    if not path:
        raise bad_value("A path is one or more names of keys and numbers of items.")


def _check_value(editor: Editor, path: Path, value: Any) -> None:
    check_writable(value, null=editor.null)
    editor.check([value, *(step for step in path if isinstance(step, str))])


def _cannot_put(editor: Editor, reason: Unusual, path: Path, value: Any) -> RefusedError:
    names = tuple(step for step in path if isinstance(step, str))
    return RefusedError(
        "client-config-unusual",
        f"{named(path)} cannot be set: {reason}.",
        hint=f"Nothing was changed. Add it by hand:\n{editor.written(nested(names, value)).rstrip()}",
    )
