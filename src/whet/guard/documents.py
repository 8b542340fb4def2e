"""The texts of a package that the checkers read."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.finding import Hit, Seen

Kind = Literal[
    "markdown", "python", "shell", "powershell", "javascript", "json", "yaml", "toml", "html", "text", "code"
]
"""The kind of a text, determined by its content first and its name second; `code` is any other programming language."""


class Document(NamedTuple):
    """One text of a package: a file, or text hidden in one."""

    path: str
    """The path in the package; inside an archive, `assets/a.zip!/run.sh`."""
    kind: Kind
    text: str
    """Canonical text: line feeds end lines, invisible characters are removed, look-alikes are folded. Lines keep their
    numbers."""
    line: int = 1
    """The line of the file where the text begins."""
    via: tuple[str, ...] = ()
    """The encodings that were removed, outermost first, such as `("base64", "gzip")`; empty for the file itself."""

    @property
    def hidden(self) -> bool:
        """Whether the text is invisible to someone who opens the file. A notebook cell is visible."""
        return any(how != "notebook" for how in self.via)


class Reading(NamedTuple):
    """All readable texts of a package, and the hits found while reading, each with its path."""

    documents: tuple[Document, ...]
    hits: tuple[tuple[str, Hit], ...]


def checker(language: str) -> Callable[..., Seen]:
    """Return the function that checks programs of a language; other languages share that of `guard/code`."""
    room = _CHECKERS.get(language, "code.checker")
    check: Callable[..., Seen] = import_module(f"whet.guard.{room}").check
    return check


_CHECKERS = {
    "shell": "shell.checker",
    "python": "python.checker",
    "javascript": "javascript.checker",
    "powershell": "code.windows",
}
