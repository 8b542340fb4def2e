"""The check of paths inside a skill.

Every path from a model, a user, an archive or a registry passes through `check` before it is used on the disk. It is
checked as text, by the strictest rules of any system, so that a path that is valid here is valid everywhere: Windows
device names and streams are refused on Linux, too. The rooms that use the disk check where links lead.
"""

from __future__ import annotations

import unicodedata

from whet.errors import UsageError
from whet.patterns import compile_late
from whet.skill.finder import MAIN_FILE
from whet.skill.names import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUPPORT_DIRECTORIES = ("references", "templates", "scripts", "assets")
"""Directories of supporting files."""

MAX_SEGMENT_BYTES = 255
MAX_PATH_BYTES = 1024
MAX_SEGMENTS = 16
MAX_PORTABLE = 180
"""Longest path that fits below a user's directory on Windows, where many programs stop at 260 characters."""

_DEVICE = compile_late(r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?")
_FORBIDDEN = compile_late(r'[<>"|?*]')
_SHOWN = 80

_HINTS = {
    "path-empty": "Name a file inside the skill, such as references/guide.md.",
    "path-absolute": "Give the path relative to the skill's directory, such as references/guide.md.",
    "path-traversal": "Write the path without '.', '..', empty parts or a trailing slash.",
    "path-backslash": "Separate the parts of the path with forward slashes.",
    "path-drive": "Give a relative path without a drive, a server or a colon.",
    "path-control": "Use visible characters only.",
    "path-too-long": (
        f"Use at most {MAX_SEGMENTS} parts of {MAX_SEGMENT_BYTES} bytes and {MAX_PATH_BYTES} bytes in all."
    ),
    "path-reserved": "Choose a name that Windows can store too.",
    "path-not-support": f"Put the file in one of {', '.join(f'{name}/' for name in SUPPORT_DIRECTORIES)}.",
    "path-main-file": f"Change {MAIN_FILE} with edit or patch, and remove a skill with delete.",
}


def check(path: str, *, writing: bool = False) -> str:
    """Return the path if it is safe to use inside a skill, and to write to if `writing`; otherwise raise `UsageError`.

    A path to read is returned unchanged, because a file is found only under its exact name. A path to write is composed
    (NFC), so that one name is not stored in two ways.
    """
    problem = _shape_problem(path)
    if problem is None:
        if writing:
            path = unicodedata.normalize("NFC", path)
        segments = path.split("/")
        problem = _segments_problem(path, segments) or (_writing_problem(segments) if writing else None)
    if problem is None:
        return path
    code, what = problem
    named = f"The path {shown(path)}" if path.strip() else "The path"
    raise UsageError(code, f"{named} {what}.", hint=_HINTS[code])


def shown(path: str) -> str:
    """Return a path for a sentence: quoted, escaped if invisible, shortened."""
    return repr(path if len(path) <= _SHOWN else f"{path[:_SHOWN]}…")


def collides(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs that cannot both exist on every system, the earlier path first.

    Two paths that are equal after composition and case folding; a file that is also the directory of another; two files
    in one directory with two spellings. A path that ends in a slash is a directory and may repeat.
    """
    pairs: list[tuple[str, str]] = []
    files: dict[str, str] = {}
    directories: dict[str, dict[str, str]] = {}
    """Folded directory -> each spelling -> the first path that uses the spelling."""
    for path in paths:
        head, _, last = path.rpartition("/")
        if last:
            folded = _fold(path)
            if folded in files:
                pairs.append((files[folded], path))
            elif folded in directories:
                pairs.append((next(iter(directories[folded].values())), path))
            files.setdefault(folded, path)
        while head:
            folded = _fold(head)
            spellings = directories.setdefault(folded, {})
            if head in spellings:
                break
            if folded in files:
                pairs.append((files[folded], path))
            if spellings:
                pairs.append((next(iter(spellings.values())), path))
            spellings[head] = path
            head = head.rpartition("/")[0]
    return tuple(dict.fromkeys(pairs))


def unportable(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each path that cannot exist on every system, and the problem as part of a sentence."""
    known = tuple(paths)
    for path in known:
        problem = _shape_problem(path) or _segments_problem(path, path.split("/"))
        if problem is not None:
            yield path, problem[1]
        elif found := _FORBIDDEN.search(path):
            yield path, f"contains {found[0]}, which no name on Windows may have"
        elif len(path) > MAX_PORTABLE:
            yield path, f"has {len(path)} characters; many programs on Windows fail above {MAX_PORTABLE}"
    for first, second in collides(known):
        yield second, f"differs from {shown(first)} only in its case or spelling"


def _fold(path: str) -> str:
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def _shape_problem(path: str) -> tuple[str, str] | None:
    """Return the problem of the path as a whole, cheapest check first: a hostile path can be very long."""
    if not path.strip():
        return "path-empty", "is empty"
    if len(path) > MAX_PATH_BYTES:
        return "path-too-long", f"has {len(path)} characters"
    if not (path.isascii() and path.isprintable()) and any(map(hidden, path)):
        return "path-control", "contains control or invisible characters"
    if path.startswith("\\\\"):
        return "path-drive", "names a server"
    if ":" in path:
        return "path-drive", "contains a colon, which denotes a drive or a stream"
    if "\\" in path:
        return "path-backslash", "contains a backslash"
    if path.startswith("/"):
        return "path-absolute", "is absolute"
    return None


def _segments_problem(path: str, segments: list[str]) -> tuple[str, str] | None:
    for segment in segments:
        if segment in {"", ".", ".."}:
            return "path-traversal", f"has the part {segment!r}"
    if len(segments) > MAX_SEGMENTS:
        return "path-too-long", f"has {len(segments)} parts"
    size = len(path.encode())
    if size > MAX_PATH_BYTES:
        return "path-too-long", f"has {size} bytes"
    for segment in segments:
        if len(segment.encode()) > MAX_SEGMENT_BYTES:
            return "path-too-long", f"has a part of {len(segment.encode())} bytes"
        if segment.endswith((".", " ")):
            return "path-reserved", f"has the part {segment!r}, which ends in a dot or a space"
        if _DEVICE.fullmatch(segment):
            return "path-reserved", f"has the part {segment!r}, a device on Windows"
    return None


def _writing_problem(segments: list[str]) -> tuple[str, str] | None:
    if any(_fold(segment) == _fold(MAIN_FILE) for segment in segments):
        return "path-main-file", f"is {MAIN_FILE}, which file operations cannot change"
    if len(segments) < 2 or segments[0] not in SUPPORT_DIRECTORIES:
        return "path-not-support", "is not in a supporting directory"
    return None
