"""A change to a configuration as a unified diff, with secrets hidden.

Secrets are found in the parsed values, not in the text: everything in tables of environment variables and headers, all
values of keys and options whose names sound like secrets, texts that contain such a pair or a token, and the same
values elsewhere. In comments, only text that looks like a secret is hidden.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.interfaces.clients.editor import editor
from whet.skill.text_edit import UnsupportedLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.interfaces.clients.known import Format
    from whet.skill.text_edit import Path

_TABLES = frozenset(("env", "environment", "headers", "http_headers"))
_SOUNDS = r"(?:token|key|secret|passw|credential|authorization|bearer)[\w.-]{0,60}"
_NAME = re.compile(_SOUNDS, re.IGNORECASE)
_OPTION = re.compile(rf"--?[\w.-]{{0,60}}?{_SOUNDS}", re.IGNORECASE)
_TELLING = re.compile(
    rf"--?[\w.-]{{0,60}}?{_SOUNDS}\s|{_SOUNDS}[\"']?\s{{0,8}}[:=]"
    r"|\b(?:sk-|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA)[\w-]{6}",
    re.IGNORECASE,
)
_COMMON = 6
"""Shorter values are too common to be hidden elsewhere."""
_LONGEST = 240
_AROUND = 60


def difference(path: str, format_: Format, before: str, after: str) -> str:
    """Return the unified diff of a file, without secrets; "" if there is no difference."""
    from difflib import unified_diff

    from whet.guard.secrets.hide import hide_secrets

    if before == after:
        return ""
    around = 3
    try:
        before, after = (_masked(text, format_) for text in (before, after))
    except UnsupportedLayout:
        around = 0
    old, new = (text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else [] for text in (before, after))
    from_, to = (path if text else "/dev/null" for text in (before, after))
    lines = [hide_secrets(line)[0] for line in unified_diff(old, new, from_, to, lineterm="", n=around)]
    return "\n".join(_cut(line, _partner(lines, at)) if len(line) > _LONGEST else line for at, line in enumerate(lines))


def _masked(text: str, format_: Format) -> str:
    leaves = list(_leaves(editor(format_).read(text)))
    secrets = {leaf for _, leaf, hidden in leaves if hidden and len(str(leaf)) >= _COMMON}
    return editor(format_).masked(text, [path for path, leaf, hidden in leaves if hidden or leaf in secrets])


def _leaves(value: Any, path: Path = (), *, hidden: bool = False) -> Iterator[tuple[Path, Any, bool]]:
    """Yield every text and number in a value, and whether it is a secret by its place or its text."""
    if isinstance(value, dict):
        for key, item in value.items():
            named = str(key).lower() in _TABLES or _NAME.search(str(key)) is not None
            yield from _leaves(item, (*path, key), hidden=hidden or named)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            told = at > 0 and isinstance(value[at - 1], str) and _OPTION.fullmatch(value[at - 1]) is not None
            yield from _leaves(item, (*path, at), hidden=hidden or told)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, value, hidden or (isinstance(value, str) and _TELLING.search(value) is not None)


def _partner(lines: list[str], at: int) -> str:
    """Return the line that replaces a long one, or is replaced by it, for a file that is all in one line."""
    other = at + 1 if lines[at].startswith("-") else at - 1
    signs = {"-": "+", "+": "-"}
    if 0 <= other < len(lines) and lines[other][:1] == signs.get(lines[at][:1]):
        return lines[other]
    return ""


def _cut(line: str, other: str) -> str:
    """Return the part of a long line that differs from the other, with some context."""
    start = next((at for at, pair in enumerate(zip(line[1:], other[1:], strict=False)) if pair[0] != pair[1]), 0)
    behind = zip(reversed(line[1:]), reversed(other[1:]), strict=False)
    end = len(line) - next((at for at, pair in enumerate(behind) if pair[0] != pair[1]), len(line) - 1)
    begin = max(1, start + 1 - _AROUND)
    stop = min(len(line), max(end, start + 1) + _AROUND) if other else _LONGEST
    return f"{line[0]}{'…' if begin > 1 else ''}{line[begin:stop]}{'…' if stop < len(line) else ''}"
