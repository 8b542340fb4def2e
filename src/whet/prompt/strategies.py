"""How much of a skill goes into a message: everything, the overview and how to use it, the overview, the description.

The parts are taken from the headings people really write. What a skill does not have cannot be shown: without an
overview of its own, the description stands for it.
"""

from __future__ import annotations

import re

from whet.skill.body import sections

STRATEGIES = ("full", "overview+usage", "overview", "description")
"""From the most to the least."""

_OVERVIEW = re.compile(
    r"[\W\d_]*(?:overview|introduction|about|purpose|summary|what\b.*\b(?:is|does)\b)", re.IGNORECASE
)
_USAGE = re.compile(
    r"[\W\d_]*(?:usage|how\s+to\b|when\s+(?:to|not)\b|do\s+not\b|instructions?|steps?\b|workflow|procedure|process|"
    r"quick\s?start|getting\s+started|method|checklist|rules)",
    re.IGNORECASE,
)
_MOST_INTRODUCTION = 1_200
"""Characters of what stands before the first section, when it is taken for the overview."""


def excerpt(body: str, description: str, strategy: str) -> str:
    """The part of a body that a strategy shows."""
    if strategy == "full":
        return body
    if strategy == "description":
        return description
    rows = body.split("\n")
    found = sections(rows)
    if found and found[0].level == 1:  # the title, and what follows it
        del found[0]
    kept = set(range(_introduction(rows, found[0].start if found else len(rows))))
    wanted = (_OVERVIEW, _USAGE) if strategy == "overview+usage" else (_OVERVIEW,)
    chosen = [section for section in found if any(title.match(section.title) for title in wanted)]
    if strategy == "overview+usage" and found and not any(_USAGE.match(section.title) for section in chosen):
        chosen.append(found[0])
    for section in chosen:
        kept.update(range(section.start, section.end))
    shown = [rows[number] for number in sorted(kept)]
    if not any(map(_is_prose, shown)):
        return description
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown)).strip("\n")


def _introduction(rows: list[str], end: int) -> int:
    """How many of the rows before the first section fit into an overview: whole paragraphs, at least one."""
    used, last, prose, fenced = 0, 0, False, False
    for number, row in enumerate(rows[:end]):
        used += len(row) + 1
        if last and used > _MOST_INTRODUCTION:
            return last
        fenced ^= row.lstrip().startswith(("```", "~~~"))
        prose = prose or _is_prose(row)
        if prose and not fenced and not row.strip():
            last = number
    return end


def _is_prose(row: str) -> bool:
    return bool(row.strip()) and not row.startswith("#")
