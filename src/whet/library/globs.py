"""Path globs as skills write them: `*` within a segment, `**` for any segments, `?`, `[...]`, `{a,b}`.

The author of a skill writes its globs, so matching takes time in proportion to glob and path in all cases, and an
invalid glob matches nothing instead of failing.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PIECES = re.compile(r"\*+|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_SPELLINGS = 256
"""Number of globs that one glob with braces may expand to."""

Segments = tuple[re.Pattern[str] | None, ...]
"""The segments of a glob; None stands for `**`."""


def matches(glob: str, path: str) -> bool:
    """Return whether a project-relative path matches. A glob without a slash matches in any directory."""
    segments = path.replace("\\", "/").removeprefix("./").split("/")
    return any(_match(spelling, segments) for spelling in _compiled(glob))


def _match(glob: Segments, path: list[str]) -> bool:
    """Match segments. After a mismatch the last `**` takes one more segment, which is enough to find the first fit."""
    at = here = 0
    retry: tuple[int, int] | None = None
    while here < len(path):
        if at < len(glob):
            pattern = glob[at]
            if pattern is None:
                retry = (at, here)
                at += 1
                continue
            if pattern.fullmatch(path[here]):
                at, here = at + 1, here + 1
                continue
        if retry is None:
            return False
        retry = (retry[0], retry[1] + 1)
        at, here = retry[0] + 1, retry[1]
    return all(pattern is None for pattern in glob[at:])


@lru_cache(maxsize=512)
def _compiled(glob: str) -> tuple[Segments, ...]:
    return tuple(_segments(spelling) for spelling in _spellings(glob.removeprefix("./")) if spelling.strip("/"))


def _segments(glob: str) -> Segments:
    parts = glob.removeprefix("/").split("/")
    if "/" not in glob.rstrip("/"):
        parts.insert(0, "**")
    if parts[-1] == "":
        parts[-1] = "**"
    if parts[-1] == "**":
        parts.insert(-1, "*")  # a directory is not below itself
    return tuple(None if part == "**" else _pattern(part) for part in parts)


def _spellings(glob: str) -> list[str]:
    """Expand the braces of a glob; return no globs if there are too many."""
    done: list[str] = []
    pending = [glob]
    while pending:
        if len(done) + len(pending) > _MAX_SPELLINGS:
            return []
        text = pending.pop()
        braces = _BRACES.search(text)
        if braces is None:
            done.append(text)
        else:
            pending.extend(text[: braces.start()] + word + text[braces.end() :] for word in braces[1].split(","))
    return done


def _pattern(segment: str) -> re.Pattern[str]:
    """Return a segment as a regular expression; text between two `*` is only tried at its first match."""
    fixed = [""]
    for piece in _PIECES.findall(segment):
        if piece[0] == "*":
            fixed.append("")
        else:
            fixed[-1] += _translate(piece)
    first, *rest = fixed
    if rest:
        *between, last = rest
        first += "".join(f"(?>.*?{text})" for text in between) + f".*{last}"
    return re.compile(first, re.DOTALL)


def _translate(piece: str) -> str:
    if piece == "?":
        return "."
    return _character_class(piece[1:-1]) if len(piece) > 1 else re.escape(piece)


def _character_class(text: str) -> str:
    negated = text[:1] in ("!", "^") and len(text) > 1
    text = text[negated:]
    parts, at = [], 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            low, high = text[at], text[at + 2]
            if low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
            at += 3
        else:
            parts.append(re.escape(text[at]))
            at += 1
    if not parts:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(parts)}]"
