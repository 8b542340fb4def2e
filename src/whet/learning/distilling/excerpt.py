"""The lines of a long script that hold what one cannot guess: settings, names of calls, options, comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.using import names
from whet.prompt.tokens import estimate
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINES = 400
"""Lines of a script that are looked at."""
_LEAST = 20
"""Tokens below which nothing can be said."""
_LONGEST = 200
_COMMENT = re.compile(r"(?:#|//|--|\*|\"\"\")\s*\S")
_DIVIDER = re.compile(r"[\W_]+\Z")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{2,40}\s*[:=]|\w{2,40}\s*[:=]\s*[\"'\d\[({-]")
_OPTION = re.compile(r"[(,]\s*\w{2,40}\s*=\s*[^=\s]|\s--?[a-z][\w-]+")
_DEFINES = re.compile(r"(?:def|class|async def|function|func|fn|public|private|CREATE|SELECT|WITH)\b")
_EMPTY = re.compile(
    r"(?:import|from|using|package|#include|require|use|print|console\.log|log(?:ger|ging)?\.|echo|printf|return|pass|else"
    r"|try|finally|except|end|fi|done)\b"
)
_LEGAL = re.compile(r"(?i)licen[sc]e|copyright|warrant|apache software|all rights reserved")
_CODING = re.compile(r"#!|# -\*-")


def excerpt(script: str, tokens: int) -> str:
    """The telling lines of a script in so many tokens, in their order; empty when there is no room for any."""
    if tokens < _LEAST:
        return ""
    lines = [line.rstrip() for line in script.split("\n")[:_LINES]]
    told: set[str] = set()
    kept: set[int] = set()
    room = tokens
    for at, _ in sorted(_telling(lines), key=lambda one: (-one[1], one[0])):
        line = lines[at]
        new = (names(line) | key_terms(line)) - told
        cost = estimate(line) + 1
        if new and cost <= room:
            kept.add(at)
            told |= new
            room -= cost
    return "\n".join(lines[at] for at in sorted(kept))


def _telling(lines: list[str]) -> Iterator[tuple[int, float]]:
    """The lines that say something, with how much each does."""
    for at, line in enumerate(lines):
        text = line.strip()
        if len(text) < 4 or len(text) > _LONGEST or _DIVIDER.match(text) or _EMPTY.match(text):
            continue
        if _LEGAL.search(text) or _CODING.match(text):
            continue
        held = names(text)
        weight = 0.4 * min(len(held), 5)
        weight += 1.0 * bool(_SETTING.match(text)) + 1.0 * bool(_OPTION.search(text)) + 0.6 * bool(_DEFINES.match(text))
        weight += 1.0 * (bool(_COMMENT.match(text)) and len(key_terms(text)) > 1)
        if weight >= 1.0:
            yield at, weight
