"""Does everything the body points to exist? Links and file names of the package itself."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from whet.notes import Note
from whet.skill.paths import SUPPORT_DIRECTORIES
from whet.skill.validate.markdown import inline_code, without_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.skill.validate.markdown import Row

_LINK = re.compile(r"\]\([ \t]*<?([^)\s>]+)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#~\\]|.*[{}<>$*|]")
_FILE = re.compile(rf"(?:^|[\s\"'=(]|\./|\}}/)((?:{'|'.join(SUPPORT_DIRECTORIES)})/[\w.-][\w./-]*+)(?![*<{{$\[])")
_LIKE_A_PATH = re.compile(r".*/.*|.*\.[A-Za-z0-9]{1,8}")


def check_references(prose: list[Row], files: tuple[str, ...]) -> Iterator[Note]:
    """Pointers to files that are not there, and files that are hard to reach."""
    known = set(files)
    for file in files:
        while file := posixpath.dirname(file):
            known.add(file)
    seen: set[str] = set()
    for row in prose:
        for target in _targets(row.text):
            path = posixpath.normpath(target)
            if path not in known and path not in seen:
                seen.add(path)
                message = f"{target} is not in the package."
                yield Note("reference-dangling", "warning", message, line=row.line)
    nested = [file for file in files if file.startswith("references/") and file.count("/") > 1]
    if nested:
        others = f" and {len(nested) - 1} more lie" if len(nested) > 1 else " lies"
        message = f"{nested[0]}{others} deeper than one level below references/."
        yield Note("reference-nested", "info", message)


def _targets(text: str) -> Iterator[str]:
    if "](" in text:
        for link in _LINK.findall(without_code(text)):
            path = _unquoted(re.split(r"[#?]", link, maxsplit=1)[0])
            if path and not _ELSEWHERE.match(link) and _LIKE_A_PATH.fullmatch(path):
                yield path
    for code in inline_code(text):
        for path in _FILE.findall(code):
            yield path.rstrip(".")


def _unquoted(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote

    return unquote(path)
