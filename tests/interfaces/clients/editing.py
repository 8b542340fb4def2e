"""What the tests of every format share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.clients.editor import missing_from
from whet.skill.text_edit import UnsupportedLayout, value_at

if TYPE_CHECKING:
    from whet.interfaces.clients.editor import Editor

Path = tuple[Any, ...]


def containers(value: Any, path: Path = (), *, null: bool = False) -> list[Path]:
    """The path of every table and list in a value; with `null`, of every null too."""
    if value is None and null:
        return [path]
    if not isinstance(value, dict | list):
        return []
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(found for key, item in inner for found in containers(item, (*path, key), null=null))]


def taken_back(editor: Editor, text: str, new: str, path: Path, *, item: bool = False) -> str:
    """The new text without what was put at the path, or added to the list there, and without what was made for it."""
    taken = (*path, len(value_at(editor.read(new), path)) - 1) if item else path
    new = editor.take(new, taken)
    for length in range(len(taken) - 1, 0, -1):
        if not _is_there(editor, text, taken[:length]) and value_at(editor.read(new), taken[:length]) in ({}, []):
            new = editor.take(new, taken[:length])
    return new


def _is_there(editor: Editor, text: str, path: Path) -> bool:
    try:
        return missing_from(editor.read(text), path) == len(path)
    except UnsupportedLayout:
        return False
