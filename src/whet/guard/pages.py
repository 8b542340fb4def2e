"""HTML and SVG: what is shown, what is hidden in comments, attributes and invisible elements, and what scripts do."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from whet.guard.finding import Hit, Seen

if TYPE_CHECKING:
    from whet.guard.finding import Fact

_SCRIPT = re.compile(r"<script\b[^>]{0,500}>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_STYLE = re.compile(r"<style\b[^>]{0,500}>.*?</style\s*>", re.IGNORECASE | re.DOTALL)
_HANDLER = re.compile(
    r"\son[a-z]{3,20}\s{0,4}=\s{0,4}(?:\"([^\"]{4,4000})\"|'([^']{4,4000})')"
    r"|\b(?:href|src|action|xlink:href)\s{0,4}=\s{0,4}(?:\"\s{0,4}javascript:([^\"]{4,4000})\""
    r"|'\s{0,4}javascript:([^']{4,4000})')",
    re.IGNORECASE,
)
"""Code in an attribute."""
_ACTIVE = re.compile(r"fetch|eval|atob|cookie|Storage|XMLHttpRequest|sendBeacon|import|Function|new Image|\.src")
_TAG = re.compile(r"<(?!!--)[^<>]{0,2000}>")
_SPOKEN = re.compile(
    r"\b(?:alt|title|aria-label|content|data-[\w-]{1,30}|placeholder|desc)\s*=\s*(?:\"([^\"]{20,2000})\""
    r"|'([^']{20,2000})')",
    re.IGNORECASE,
)


def check(text: str) -> Seen:
    """What a page says and does."""
    from whet.guard import prose
    from whet.guard.prose_code import checker

    hits: list[Hit] = []
    facts: list[Fact] = []
    for script in _SCRIPT.finditer(text):
        if script[1].strip():
            line = text.count("\n", 0, script.start(1))
            seen = checker("javascript")(script[1])
            hits.extend(hit._replace(line=hit.line + line) for hit in seen.hits)
            facts.extend(fact._replace(line=fact.line + line) for fact in seen.facts)
    for handler in list(_HANDLER.finditer(text))[:100]:
        code = html.unescape(handler[1] or handler[2] or handler[3] or handler[4] or "")
        if not _ACTIVE.search(code):
            continue
        line = text.count("\n", 0, handler.start()) + 1
        seen = checker("javascript")(code)
        hits.extend(hit._replace(line=line) for hit in seen.hits)
        facts.extend(fact._replace(line=line) for fact in seen.facts)
    bare = _SCRIPT.sub(_blank, _STYLE.sub(_blank, text))
    attributes = [(match[1] or match[2], bare.count("\n", 0, match.start()) + 1) for match in _SPOKEN.finditer(bare)]
    for value, line in attributes[:200]:
        hits.extend(hit._replace(line=line) for hit in prose.check_hidden(html.unescape(value)).hits)
    said = prose.check(html.unescape(_TAG.sub(" ", bare)))
    return Seen((*hits, *said.hits), (*facts, *said.facts))


def _blank(match: re.Match[str]) -> str:
    """As many lines as there were, and nothing on them."""
    return "\n" * match[0].count("\n")
