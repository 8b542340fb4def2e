"""HTML and SVG: visible text, text in comments, attributes and invisible elements, and scripts."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from whet.guard.documents import checker
from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen
from whet.guard.patterns import line_of

if TYPE_CHECKING:
    from whet.guard.finding import Fact

_OPEN = expression(r"<(script|style)\b[^>]{0,500}>", re.IGNORECASE)
_CLOSE = {name: expression(rf"</{name}\b", re.IGNORECASE) for name in ("script", "style")}
_HANDLER = expression(
    r"\son[a-z]{3,20}\s{0,4}=\s{0,4}(?:\"([^\"]{4,4000})\"|'([^']{4,4000})')"
    r"|\b(?:href|src|action|xlink:href)\s{0,4}=\s{0,4}(?:\"\s{0,4}javascript:([^\"]{4,4000})\""
    r"|'\s{0,4}javascript:([^']{4,4000})')",
    re.IGNORECASE,
)
"""Code in an attribute."""
_ACTIVE = expression(r"fetch|eval|atob|cookie|Storage|XMLHttpRequest|sendBeacon|import|Function|new Image|\.src")
_TAG = expression(r"<(?!!--)[^<>]{0,2000}>")
_SPOKEN = expression(
    r"\b(?:alt|title|aria-label|content|data-[\w-]{1,30}|placeholder|desc)\s*=\s*(?:\"([^\"]{20,2000})\""
    r"|'([^']{20,2000})')",
    re.IGNORECASE,
)


def check(text: str) -> Seen:
    """Check the text and the scripts of a page."""
    from whet.guard.prose import checker as prose
    from whet.guard.prose.orders import check_hidden

    hits: list[Hit] = []
    facts: list[Fact] = []
    parts, bare = _parted(text)
    for name, code, line in parts:
        seen = (checker("javascript")(code) if name == "script" else Seen()).shift(line)
        hits.extend((*check_hidden(code).shift(line).hits, *seen.hits))
        facts.extend(seen.facts)
    for handler in list(_HANDLER.finditer(text))[:100]:
        code = html.unescape(handler[1] or handler[2] or handler[3] or handler[4] or "")
        if not _ACTIVE.search(code):
            continue
        seen = checker("javascript")(code).at(line_of(text, handler.start()))
        hits.extend(seen.hits)
        facts.extend(seen.facts)
    for match in list(_SPOKEN.finditer(bare))[:200]:
        hits.extend(check_hidden(html.unescape(match[1] or match[2])).at(line_of(bare, match.start())).hits)
    said = prose.check(html.unescape(_TAG.sub(" ", bare)))
    return Seen((*hits, *said.hits), (*facts, *said.facts))


def _parted(text: str) -> tuple[list[tuple[str, str, int]], str]:
    """Return the scripts and styles of a page, each with its name and the number of lines before it, and the page with blank
    lines in their place. An unclosed element extends to the end, and also stays in the page."""
    parts: list[tuple[str, str, int]] = []
    kept: list[str] = []
    at = lines = 0
    while (opened := _OPEN.search(text, at)) is not None:
        name = opened[1].lower()
        closed = _CLOSE[name].search(text, opened.end())
        end = closed.start() if closed else len(text)
        code = text[opened.end() : end]
        lines += text.count("\n", at, opened.end())
        if code.strip():
            parts.append((name, code, lines))
        if closed is None:
            break
        lines += code.count("\n")
        kept += [text[at : opened.start()], "\n" * text.count("\n", opened.start(), end)]
        at = end
    return parts, "".join((*kept, text[at:]))
