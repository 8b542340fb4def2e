"""How every edit is done and checked, whatever the format.

An edit is done on the text by the format's own functions and, separately, on the parsed value; then the new text must
read as the new value. Whatever an unusual file does to the first is caught by the second, so that no edit has to be
trusted: it is right, or RefusedError "client-config-unusual" with what to add by hand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, RefusedError
from whet.interfaces.clients.values import check_texts, missing_from, named, nested
from whet.skill.text_edit import Path, UnsupportedLayout, same, value_at, with_value, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.interfaces.clients.known import Format

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
    raise UnsupportedLayout(f"{named(path)} is no list")


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
