"""The supporting files of a skill that is being changed: which paths they may have, and which they have."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from whet.authoring.drafts_main import not_text
from whet.errors import ConflictError, NotFoundError, UsageError
from whet.skill import names, paths
from whet.skill.finder import MAIN_FILE, is_main_file
from whet.skill.tree import ignored
from whet.store.atomic import is_leftover

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.skill.tree import Item

_LISTED = 100
"""Files that an error lists."""


def writable(path: str) -> str:
    """A path that a supporting file may have; the main file, and what would be one elsewhere, is none."""
    if len(path) <= paths.MAX_PATH_BYTES and any(map(_is_main, path.replace("\\", "/").split("/"))):
        message = f"The path {paths.shown(path)} names a main file, which the file calls do not touch."
        raise UsageError("main-file", message, hint=f"Change {MAIN_FILE} with edit or patch.")
    path = paths.check(path, writing=True)
    if ignored(path) or any(map(is_leftover, path.split("/"))):
        message = f"The path {paths.shown(path)} is never part of a skill."
        raise UsageError("path-ignored", message, hint="Choose another name.")
    return path


def _is_main(segment: str) -> bool:
    return is_main_file(names.key(segment).rstrip(". "))


def spelled(tree: Mapping[str, Item], path: str) -> str | None:
    """The path as the tree spells it, composed or not; None when it is not there."""
    if path in tree:
        return path
    return next((name for name in tree if unicodedata.normalize("NFC", name) == path), None)


def existing(tree: Mapping[str, Item], path: str) -> str:
    """The path of a file that is there, as the tree spells it."""
    if (known := spelled(tree, path)) is not None:
        return known
    files = sorted(tree)
    suggestions = list(names.closest(path, files))
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else f"Files: {', '.join(files[:20])}."
    message = f"The skill has no file {paths.shown(path)}."
    raise NotFoundError("file-not-found", message, hint=hint, suggestions=suggestions, files=files[:_LISTED])


def check_free(tree: Mapping[str, Item], path: str) -> None:
    """Refuse to write where another file, or a link, is in the way on some system."""
    if path in tree:
        if tree[path].link:
            message = f"{paths.shown(path)} is a link; what it leads to is not written through it."
            raise ConflictError("path-is-link", message, hint="Remove the link with remove_file first.", path=path)
        return
    for pair in paths.collides((*tree, path)):
        if path in pair:
            other = pair[0] if pair[1] == path else pair[1]
            message = f"The path {paths.shown(path)} and {paths.shown(other)} cannot both exist on every system."
            raise ConflictError("path-collision", message, hint="Choose another path.", path=other)


def text_at(tree: Mapping[str, Item], path: str) -> str:
    """The text of a file that is one."""
    item = tree[path]
    if item.link:
        raise not_text(path, "is a link")
    if b"\0" in item.data:
        raise not_text(path, "is a binary file")
    try:
        return item.data.decode()
    except UnicodeDecodeError as error:
        raise not_text(path, f"is not UTF-8 at byte {error.start}") from error
