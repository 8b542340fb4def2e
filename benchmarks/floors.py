"""The least that has to be done, written the way a person would who wants nothing else.

Whet is measured against these on the same files in the same run: how much does everything it does on top cost?
"""

from __future__ import annotations

import os
import re

_FENCES = re.compile(rb"---\n(.*?\n)---\n", re.DOTALL)


def scan(root: str) -> list[tuple[str, bytes]]:
    """Walk to every SKILL.md, read its first 4 KiB, split at the fences; no skill's folder is listed."""
    found = []
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if not entry.is_dir():
                    continue
                path = entry.path + "/SKILL.md"
                try:
                    with open(path, "rb") as file:
                        head = file.read(4096)
                except FileNotFoundError:
                    pending.append(entry.path)
                    continue
                if fences := _FENCES.match(head):
                    found.append((path, fences[1]))
    return found


def walk(root: str) -> list[tuple[str, bytes]]:
    """The same with `os.walk`, as most scripts have it: it lists what is in every skill's folder too."""
    found = []
    for directory, folders, files in os.walk(root):
        if "SKILL.md" in files:
            folders.clear()
            with open(os.path.join(directory, "SKILL.md"), "rb") as file:
                head = file.read(4096)
            if fences := _FENCES.match(head):
                found.append((directory, fences[1]))
    return found


def stat_all(paths: list[str]) -> int:
    """Ask the file system about every path."""
    for path in paths:
        os.stat(path)
    return len(paths)
