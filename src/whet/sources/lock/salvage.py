"""What can still be read of a damaged lock: every entry that is whole by itself, of both sides of a merge.

Git leaves both versions of the lines it could not merge. Each side is put together again on its own; which of two
entries for a skill counts is for the caller to decide, who knows what lies on disk.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError
from whet.sources.lock.file import Installed, entry_of, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?")
_OBJECT = re.compile(r'(?<!\\)("(?:[^"\\\n]|\\.){1,2000}")\s{0,1000}:\s{0,1000}\{')
_CONTAINERS = ("skills", "files")
_MOST = 4 * 1024 * 1024
"""Characters of a damaged lock that are looked at: more than a lock of ten thousand skills has."""
_EFFORT = 32
"""How many times its length a text may be read for entries."""


class Salvaged(NamedTuple):
    """What was found in the text of a damaged lock."""

    entries: dict[str, tuple[Installed, ...]]
    """Path -> the different entries for it, those of our side first."""
    broken: tuple[str, ...]
    """The paths for which only something was found that is no whole entry."""
    extra: str = ""


def salvage(text: str) -> Salvaged:
    """Everything that is whole in the text of a damaged lock."""
    found: dict[str, list[Installed]] = {}
    broken: dict[str, None] = {}
    extra = ""
    for side in sides(text[:_MOST]):
        try:
            lock = parse(side, "")
        except InvalidError:
            items = list(_scan(side))
        else:
            items = [(entry.path, entry) for entry in lock.entries]
            extra = extra or lock.extra
        for path, entry in items:
            if entry is None:
                broken[path] = None
            elif entry not in found.setdefault(path, []):
                found[path].append(entry)
    lost = tuple(path for path in broken if path not in found)
    return Salvaged({path: tuple(entries) for path, entries in found.items()}, lost, extra)


def sides(text: str) -> tuple[str, ...]:
    """The versions of a text that a merge left in it, ours first; the text itself when there was no merge."""
    ours: list[str] = []
    theirs: list[str] = []
    state = "="
    marked = False
    for line in text.split("\n"):
        mark = _MARK.fullmatch(line.rstrip("\r"))
        if mark is not None and (mark[1][0] == "<" or state != "="):
            marked = True
            state = {"<": "ours", "|": "base", "=": "theirs", ">": "="}[mark[1][0]]
            continue
        if state in ("=", "ours"):
            ours.append(line)
        if state in ("=", "theirs"):
            theirs.append(line)
    return ("\n".join(ours), "\n".join(theirs)) if marked else (text,)


def _scan(text: str) -> Iterator[tuple[str, Installed | None]]:
    """Every named object in the text that is an entry; None for one that only looks like it."""
    decoder = json.JSONDecoder()
    effort = _EFFORT * len(text)
    at = 0
    while effort > 0 and (found := _OBJECT.search(text, at)):
        effort -= found.end() - at
        at = found.end()
        try:
            path = json.loads(found[1])
        except ValueError:
            continue
        if path in _CONTAINERS:
            continue
        start = found.end() - 1
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            effort -= error.pos + 1  # the decoder counts lines from the beginning
            if "digest" in text[start : error.pos]:
                yield path, None
            continue
        except (ValueError, RecursionError):
            effort -= len(text) - start
            continue
        effort -= end - start
        if "digest" in value:
            at = end
            yield path, _whole(path, value)


def _whole(path: str, value: object) -> Installed | None:
    if "\ufffd" in path or "\ufffd" in json.dumps(value, ensure_ascii=False):
        return None  # bytes that were no text: nobody knows what it said
    try:
        return entry_of(path, value)
    except InvalidError:
        return None
