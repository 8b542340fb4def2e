"""Path globs as skills write them: `*` within a segment, `**` across segments, `?`, `[...]`, `{a,b}`."""

from __future__ import annotations

import re
from functools import lru_cache

_PIECES = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]*\}|.", re.DOTALL)


def matches(glob: str, path: str) -> bool:
    """Does a project-relative path with forward slashes match? A glob without a slash matches in any directory."""
    return _compiled(glob.removeprefix("./")).fullmatch(path.replace("\\", "/").removeprefix("./")) is not None


@lru_cache(maxsize=512)
def _compiled(glob: str) -> re.Pattern[str]:
    if "/" not in glob.rstrip("/"):
        glob = f"**/{glob}"
    if glob.endswith("/"):
        glob += "**"
    return re.compile("".join(map(_translate, _PIECES.findall(glob))))


def _translate(piece: str) -> str:
    fixed = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    if piece in fixed:
        return fixed[piece]
    if piece[0] == "[" and len(piece) > 1:
        inside = piece[1:-1]
        negated = inside[:1] in "!^"
        return f"[{'^' if negated else ''}{re.escape(inside[negated:]).replace(chr(92) + '-', '-')}]"
    if piece[0] == "{" and len(piece) > 1:
        return (
            "(?:" + "|".join("".join(map(_translate, _PIECES.findall(part))) for part in piece[1:-1].split(",")) + ")"
        )
    return re.escape(piece)
