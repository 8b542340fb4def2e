"""The data files that a package ships beside its programs, as programs find them by path, and the budget for reading
files of a package again together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.tables import shape
from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.documents import Document

_LISTING = shape("taint", "listing", 0)
_CHEAPER = 8
"""How many characters of data cost as much as one character of a program: data is parsed, but not followed."""


class Budget:
    """The number of characters that may be read again, and the first file that did not fit."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.missed = ""

    def take(self, path: str, length: int) -> bool:
        """Take the length of a file from the budget and return True; return False if the file does not fit."""
        if length > self.left:
            self.missed = self.missed or path
            return False
        self.left -= length
        return True


class Shipped:
    """The files of a package that are not programs of a language."""

    def __init__(self, documents: Sequence[Document], language: str, budget: Budget) -> None:
        self.texts = {
            document.path: document.text for document in documents if document.kind != language and not document.via
        }
        self._budget = budget
        self._opened: set[str] = set()
        self._names = {path.rpartition("/")[2] for path in self.texts} - {"SKILL.md", "README.md"}

    def is_named(self, program: str) -> bool:
        """Return whether a program names one of the files, lists files, or builds a file name."""
        return any(name in program for name in self._names) or (
            bool(self._names) and _LISTING.search(program) is not None
        )

    def text(self, path: str) -> object:
        """Return the text of the data file at a path; `UNKNOWN` if there is none or several match."""
        tail = _tail(path)
        if not tail or path.startswith(("~", "/", "http")):
            return UNKNOWN
        if HOLE in tail:
            pattern = re.compile("(?:.*/)?" + re.escape(tail).replace(re.escape(HOLE), "[^/]{0,80}") + "$")
            found = [name for name in sorted(self.texts) if pattern.match(name)][:1] if tail.strip(HOLE + "/.") else []
        else:
            found = [name for name in self.texts if name == tail or name.endswith(f"/{tail}")]
        if len(found) != 1:
            return UNKNOWN
        text = self.texts[found[0]]
        if found[0] not in self._opened and not self._budget.take(found[0], len(text) // _CHEAPER):
            return UNKNOWN
        self._opened.add(found[0])
        return text

    def listing(self, folder: str, suffix: str = "") -> list[str]:
        """Return the data files in a directory, sorted."""
        tail = _tail(folder)
        if not tail or HOLE in tail:
            return []
        found = [
            path
            for path in self.texts
            if path.endswith(suffix)
            and (path.rpartition("/")[0] == tail or path.rpartition("/")[0].endswith(f"/{tail}"))
        ]
        return sorted(found)[:200]


def _tail(path: str) -> str:
    """Return a path without the leading parts that only lead to the program's directory."""
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", ".", "<here>") and not (part == HOLE and not parts):
            parts.append(part)
    return "/".join(parts)
