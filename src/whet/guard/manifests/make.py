"""Makefiles and similar files: recipes, with variables replaced.

A variable may be set in an included file, so the files of a package are also checked together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.manifests.parsers import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Seen

_RECIPE = expression(r"^(?:\t| {2,8})[@+ -]{0,4}(.{0,20000})$")
_SET = expression(
    r"^(?:export\s{1,4}|override\s{1,4})?([\w.-]{1,60})\s{0,4}(:{0,3}=|\?=|\+=)\s{0,4}(.{0,2000}?)\s{0,20}(?:#.*)?$"
)
_DEFINE = expression(r"^define\s{1,4}([\w.-]{1,60})")
_USED = expression(r"\$[({]([\w.-]{1,60})[)}]")
_SHELL = expression(r"\$\(shell\s{1,4}((?:[^()]|\([^()]{0,500}\)){1,2000})\)")
_RUN = expression(r"\$\(shell\s{1,4}")
_INCLUDE = expression(r"^-?s?include\s{1,4}(\S{1,200})", re.MULTILINE)
_FETCHING = expression(r"\b(?:curl|wget)\b")
"""What may fetch a file that is included. An included file runs like a script that a shell sources."""
_KNOWN = {"SHELL": "sh", "MAKE": "make", "CURDIR": ".", "RM": "rm -f"}
_DEEP = 8
_LONGEST = 4000


def variables(text: str) -> dict[str, str]:
    """Return the variables that a Makefile sets."""
    found: dict[str, str] = {}
    inside = ""
    for row in text.split("\n")[:5000]:
        if inside:
            if row.strip() == "endef":
                inside = ""
            else:
                found[inside] = f"{found[inside]}\n{row}".strip()[:_LONGEST]
        elif define := _DEFINE.match(row):
            inside = define[1]
            found[inside] = ""
        elif not row.startswith("\t") and (one := _SET.match(row)):
            before = found.get(one[1], "")
            found[one[1]] = f"{before} {one[3]}".strip()[:_LONGEST] if one[2] == "+=" else one[3]
    return found


def put_in(text: str, known: Mapping[str, str]) -> str:
    """Return a text with the known variables replaced; the others look like shell variables."""

    def one(found: re.Match[str]) -> str:
        return known.get(found[1], _KNOWN.get(found[1], f"${found[1]}"))

    for _ in range(_DEEP):
        changed = _USED.sub(one, text)
        if changed == text or len(changed) > 4 * _LONGEST:
            break
        text = changed
    return _RUN.sub("$(", text[: 4 * _LONGEST]).replace("$$", "$")


def makefile(notes: Notes, _path: str, known: Mapping[str, str] | None = None) -> None:
    """Check the recipes of a Makefile, each on its line, and the commands that run when it is read."""
    if known is None:
        known = variables(notes.text)
    rows: list[str] = []
    going, fetching = False, _FETCHING.search(notes.text) is not None
    for row in notes.text.split("\n"):
        found = _RECIPE.match(row)
        going_now = going
        going = bool(found or going_now) and row.rstrip().endswith("\\")
        command = found[1] if found else row if going_now else ""
        shell = " ; ".join(_SHELL.findall(row))
        included = _INCLUDE.match(row) if fetching and not (command or shell) else None
        command = f". {included[1]}" if included else command or shell
        rows.append(put_in(command, known) if command else "")
    notes.commands(rows)


def is_makefile(name: str) -> bool:
    """Return whether this is the name of a Makefile or of a part of one."""
    return name in ("makefile", "gnumakefile", "justfile", ".justfile") or name.endswith(".mk")


def together(documents: Sequence[Document]) -> Iterator[tuple[str, Seen]]:
    """Yield the findings in Makefiles that include others of the package, with the variables of all of them."""
    files = {
        document.path: document for document in documents if is_makefile(_name(document.path)) and not document.via
    }
    for path, document in files.items():
        wanted = {_name(name) for name in _INCLUDE.findall(document.text)}
        others = [other for other in files.values() if other.path != path and _name(other.path) in wanted]
        if others:
            known: dict[str, str] = {}
            for other in (*others, document):
                known |= variables(other.text)
            notes = Notes(document.text, document.kind)
            makefile(notes, path, known)
            yield path, notes.seen()


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].lower()
