"""The permissions of a skill's files and directories, kept in the history next to a content.

The digest covers only the executable bit. Other permissions of a changed or removed skill are kept with the entry of
that change, and restored with the content. Only differences from the usual (0644, 0755) are stored, as JSON: `*` for
files, `*/` for directories, then every path that differs, directories with a final slash; `/` is the skill's own.
Set-user-ID and set-group-ID bits are never kept.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.skill.tree import Item

NONE: Mapping[str, int] = {}
"""Unknown, or all as usual."""
_FILE, _DIRECTORY, _ALL = 0o644, 0o755, 0o777


def read_permissions(directory: str, tree: Mapping[str, Item] | None) -> str:
    """Return the permissions of a tree's files and directories on disk; "" if they are the usual ones."""
    if tree is None or sys.platform == "win32":
        return ""
    items = {path: item for path, item in tree.items() if not item.link}
    files = _on_disk(directory, items)
    folders = _on_disk(directory, ["/", *folders_of(tree)])
    found: dict[str, int] = {}
    usual = _most(mode & ~0o111 for mode in files.values()) if files else _FILE
    if usual != _FILE:
        found["*"] = usual
    within = _most(folders.values()) if folders else _DIRECTORY
    if within != _DIRECTORY:
        found["*/"] = within
    found |= {path: mode for path, mode in files.items() if mode != _runnable(usual, items[path])}
    found |= {path: mode for path, mode in folders.items() if mode != within}
    return json.dumps({path: f"{mode:o}" for path, mode in found.items()}, separators=(",", ":")) if found else ""


def parse_permissions(text: str) -> Mapping[str, int]:
    """Parse the result of `read_permissions`."""
    return {path: int(mode, 8) & _ALL for path, mode in json.loads(text).items()} if text else NONE


def permission_of(known: Mapping[str, int], path: str, item: Item) -> int | None:
    """Return the permissions for a file; None if unknown, or if the executable bit differs."""
    mode = known.get(path)
    if mode is None and "*" in known:
        mode = _runnable(known["*"], item)
    return None if mode is None or bool(mode & stat.S_IXUSR) != item.executable else mode


def folders_of(tree: Mapping[str, Item]) -> list[str]:
    """Return the directories in a tree, each with a final slash, the deepest first."""
    found = {path[: at + 1] for path in tree for at, letter in enumerate(path) if letter == "/"}
    return sorted(found, key=lambda path: (-path.count("/"), path))


def _on_disk(directory: str, paths: Iterable[str]) -> dict[str, int]:
    found = {}
    for path in paths:
        try:
            status = os.lstat(os.path.join(directory, *path.strip("/").split("/")))
        except OSError:
            continue
        found[path] = stat.S_IMODE(status.st_mode) & _ALL
    return found


def _most(modes: Iterable[int]) -> int:
    """Return the most frequent mode; in a tie, the strictest."""
    counted = Counter(modes)
    return min(counted, key=lambda mode: (-counted[mode], mode))


def _runnable(mode: int, item: Item) -> int:
    return mode | (mode & 0o444) >> 2 if item.executable else mode
