"""A change to a configuration as a person reads it: a unified diff, in which neighbouring secrets are not shown.

Hidden are the values of keys and options whose names sound like secrets, and what looks like a secret wherever it is.
"""

from __future__ import annotations

import re

_NAMED = r"(?:token|key|secret|passw|credential|authorization|bearer)[\w.-]{0,60}[\"']?"
_VALUE = r"""(?:"(?:[^"\\]|\\.){1,4000}"|'[^']{1,4000}'|[^\s"',\[\]{}](?:[^,\]}]|,(?![\s"'])){0,4000})"""
_SECRET = re.compile(
    rf"((?<![\w.-])(?:[\w.-]{{0,200}}?{_NAMED}\s{{0,8}}[:=]|--?[\w.-]{{0,60}}?{_NAMED}[\s,])\s{{0,8}}){_VALUE}",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"\s*(?:- )?[\"']?--?[\w.-]{{0,60}}?{_NAMED},?\s*", re.IGNORECASE)
"""A line that is an option alone; its value is in the next one."""
_WORD = re.compile(rf"^(\s*(?:- )?){_VALUE}")
_TOKEN = re.compile(r"\b(sk-|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA)[\w-]{6,400}")
_LONGEST = 240
_AROUND = 60


def difference(path: str, before: str, after: str) -> str:
    """The unified diff of a file, without secrets; "" for no difference."""
    from difflib import unified_diff

    old, new = (text.replace("\r\n", "\n").split("\n") for text in (before, after))
    if before == after:
        return ""
    if not before:
        old = []
    if not after:
        new = []
    for lines in (old, new):
        if lines and not lines[-1]:
            lines.pop()
        for at in [at for at, line in enumerate(lines[:-1], 1) if _OPTION.fullmatch(line)]:
            lines[at] = _WORD.sub(r'\1"…"', lines[at])
    shown = list(unified_diff(old, new, path if before else "/dev/null", path if after else "/dev/null", lineterm=""))
    return "\n".join(_shown(shown))


def _shown(lines: list[str]) -> list[str]:
    from whet.guard.secrets import redact

    masked = [redact(_TOKEN.sub(r"\1…", _SECRET.sub(r'\1"…"', line))) for line in lines]
    return [_cut(line, _partner(masked, at)) if len(line) > _LONGEST else line for at, line in enumerate(masked)]


def _partner(lines: list[str], at: int) -> str:
    """The line that a long one replaces or is replaced by, for a file that is all in one line."""
    other = at + 1 if lines[at].startswith("-") else at - 1
    signs = {"-": "+", "+": "-"}
    if 0 <= other < len(lines) and lines[other][:1] == signs.get(lines[at][:1]):
        return lines[other]
    return ""


def _cut(line: str, other: str) -> str:
    """The part of a long line in which it differs from the other, with something around it."""
    start = next((at for at, pair in enumerate(zip(line[1:], other[1:], strict=False)) if pair[0] != pair[1]), 0)
    behind = zip(reversed(line[1:]), reversed(other[1:]), strict=False)
    end = len(line) - next((at for at, pair in enumerate(behind) if pair[0] != pair[1]), len(line) - 1)
    begin = max(1, start + 1 - _AROUND)
    stop = min(len(line), max(end, start + 1) + _AROUND) if other else _LONGEST
    return f"{line[0]}{'…' if begin > 1 else ''}{line[begin:stop]}{'…' if stop < len(line) else ''}"
