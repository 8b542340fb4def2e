"""What the Markdown body says: its first prose line and its sections."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_NOT_PROSE = re.compile(r"[#>|`~<!\[]|---|===|\*\*\*|[-*+][ ]|\d+[.)][ ]")
WHEN = re.compile(r"when to use|when should (?:i|you) use|use this (?:skill )?when", re.IGNORECASE)
WHEN_NOT = re.compile(r"(?:do\s*n[o']t|don't|when\s+not\s+to|not\s+for)\b.*(?:use)?", re.IGNORECASE)


def first_prose(body: str) -> str:
    """The first line of running text, or the first list or quote line when there is nothing else."""
    second_best = ""
    fenced = False
    for row in body.split("\n", 200)[:200]:
        line = row.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif line and not fenced:
            if not _NOT_PROSE.match(line):
                return line
            if not second_best and line[0] in "-*+>0123456789[":
                second_best = line.lstrip("-*+> ")
    return second_best


def section(body: str, title: re.Pattern[str]) -> str:
    """The text below the first heading that matches, up to the next heading of any level."""
    headings = list(_HEADING.finditer(body))
    for heading, following in zip(headings, [*headings[1:], None], strict=False):
        if title.match(heading[1].strip("*_ :")):
            return body[heading.end() : following.start() if following else len(body)].strip()
    return ""
