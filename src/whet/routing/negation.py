"""What a skill says it is not for: taken out of its description, where it would count as what it is for.

A description often ends in "Do not use for rebasing" or "NOT for one-off scripts". Left where it is, such a clause
brings the skill up for exactly the messages it wants to be left out of.
"""

from __future__ import annotations

import re

_OPENING = re.compile(
    r"""
    \b(?:do\s+not|don['’]?t|never|should\s+not|must\s+not|shouldn['’]?t|not\s+to\s+be)\s+(?:be\s+)?
        (?:used?|trigger(?:ed)?|invoked?|activated?|apply|applied|load(?:ed)?|fired?|select(?:ed)?|pick(?:ed)?|choose
        |chosen|call(?:ed)?|run\s+this)\b
    | \bnot\s+(?:intended\s+|meant\s+|suitable\s+|appropriate\s+|designed\s+)?for\b
    | \b(?:skip|avoid|exclude[sd]?)\s+(?:this\s+(?:skill\s+)?)?(?:when|if|for|using)\b
    | \bout\s+of\s+scope\b | \bout-of-scope\b
    | \bnot\s+when\b | \bunless\s+the\s+user\b
    | 请勿 | 不要(?:用于|使用) | 不适用于 | 使用しない
    """,
    re.IGNORECASE | re.VERBOSE,
)
_END = re.compile(r"(?<=[.!?;])(?:\s|$)|(?<=[。；！？])|\n\s*\n|\n\s*[-*•]|\s[—–]\s(?=use\b)", re.IGNORECASE)
_LIST_END = re.compile(r"\n\s*\n(?!\s*[-*•])")
_BRACKETS = 500
"""Characters within which a bracket is closed."""
_POINTER = re.compile(
    r"[(（\[](?:use|see|try|prefer|that\ is|those\ are|→)[^)）\]]{0,120}[)）\]]"
    r"|[(（]`?[a-z0-9]+(?:-[a-z0-9]+)+`?[)）]"
    r"|(?<=[;,])\ use\ .{0,80}",
    re.IGNORECASE,
)
"""Where to go instead: the name of another skill, which is not what this one is not for."""
_BACK = re.compile(r"[.!?;。；！？\n]\s*|\(|,\s+(?:but\s+)?$")


def without_negations(text: str) -> tuple[str, str]:
    """A text without the clauses that say what it is not for, and these clauses."""
    kept: list[str] = []
    taken: list[str] = []
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        before = text[at : opening.start()]
        start = at + max((found.end() for found in _BACK.finditer(before)), default=0)
        last = _closing(text, before, opening.end())
        end = _END.search(text, opening.end(), last)
        if end and text[opening.end() : end.start()].rstrip().endswith((":", "：")):
            end = _LIST_END.search(text, end.end(), last)  # "Not for:" and then a list
        stop = end.start() if end else last
        if opening.group().lower().startswith(("out", "使用")) and start < opening.start():
            taken.append(text[start:stop])  # "source builds are out of scope": what comes before is meant
        else:
            start = opening.start()
            taken.append(text[opening.end() : stop])
        kept.append(text[at:start])
        at = stop
    kept.append(text[at:])
    return " ".join(kept), _POINTER.sub(" ", "\n".join(taken))


def _closing(text: str, before: str, start: int) -> int:
    """Where what is said in brackets ends; the end of the text for what is not."""
    if max(map(before.rfind, "(（")) > max(map(before.rfind, ")）")):
        found = [text.find(mark, start, start + _BRACKETS) for mark in ")）"]
        return min((at for at in found if at >= 0), default=len(text))
    return len(text)
