"""The permissions of a skill's files and directories, as the history keeps them beside a content.

The digest covers who may run a file, and nothing else. What a skill's files and directories had beyond that when it was
changed or removed is kept with the entry of that change, and comes back with the content. Only what differs from the
usual (0644, 0755) is written down, as JSON: `*` is what the files have, `*/` what the directories have, then every path
that has something else, directories with a slash at the end; `/` is the skill's own. Bits that give the rights of
another user are never kept.
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
"""Nothing is known, or everything is as usual."""
_FILE, _DIRECTORY, _ALL = 0o644, 0o755, 0o777


def read_permissions(directory: str, tree: Mapping[str, Item] | None) -> str:
    """What the files of a tree and their directories have on disk; "" where that is the usual."""
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
    """What `read_permissions` wrote down."""
    return {path: int(mode, 8) & _ALL for path, mode in json.loads(text).items()} if text else NONE


def permission_of(known: Mapping[str, int], path: str, item: Item) -> int | None:
    """What a file gets; None where nothing is known, or where it is not the same for who may run it."""
    mode = known.get(path)
    if mode is None and "*" in known:
        mode = _runnable(known["*"], item)
    return None if mode is None or bool(mode & stat.S_IXUSR) != item.executable else mode


def folders_of(tree: Mapping[str, Item]) -> list[str]:
    """The directories in a tree, each with a slash at its end, the deepest first."""
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
    """The most frequent mode; in a tie, the strictest."""
    counted = Counter(modes)
    return min(counted, key=lambda mode: (-counted[mode], mode))


def _runnable(mode: int, item: Item) -> int:
    return mode | (mode & 0o444) >> 2 if item.executable else mode
