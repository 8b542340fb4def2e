"""Does the body carry a reader through? Its sections, its examples, and how each step is checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.notes import Severity
    from whet.skill.validate.markdown import Row, Section

MIN_EXAMPLES = 2

_SECTIONS = {
    "Overview": re.compile(r"(?i)overview|introduction|about|purpose|what (?:it|this)\b.*"),
    "Usage": re.compile(r"(?i).*\b(?:usage|how to use|steps?|procedures?|workflows?|instructions|quick ?start)\b.*"),
    "Examples": re.compile(r"(?i).*\bexamples?\b.*"),
    "Dependencies": re.compile(r"(?i).*\b(?:dependencies|requirements|prerequisites|requires)\b.*"),
    "Limitations": re.compile(r"(?i).*\b(?:limitations?|limits|caveats|gotchas|pitfalls|known issues)\b.*"),
    "Changelog": re.compile(r"(?i).*\b(?:change ?log|version history|release notes|changes)\b.*"),
}
_PROCEDURE = re.compile(r"(?i).*\b(?:usage|steps?|procedures?|workflows?)\b.*")
_STEP_TITLE = re.compile(r"(?i)(?:step|phase)\s*\d+\b.*|\d+[.):]\s.*")
_STEP = re.compile(r" {0,3}\d{1,3}[.)][ \t]+\S.*")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)])[ \t]+\S.*|\*\*.+")
_CHECKED = re.compile(
    r"(?i)\b(?:success|succeed|done (?:when|if|once)|verif|expect|check|confirm|ensure|make sure|validate|until"
    r"|pass(?:es|ed)\b|exit(?:s| code| status)\b|should (?:see|show|print|return|read|be|pass|exit|contain|list|say)\b"
    r"|(?:prints|shows|reports|returns|outputs)\b)"
)


def check_sections(sections: tuple[Section, ...], *, published: bool) -> Iterator[Note]:
    """The sections that a stranger needs, and at least two examples."""
    severity = _severity(published=published)
    for name, title in _SECTIONS.items():
        if not any(title.fullmatch(section.title) for section in sections):
            yield Note("section-missing", severity, f"There is no section {name}.")
    examples = _outermost(sections, _SECTIONS["Examples"])
    count = sum(map(_examples, examples))
    if examples and count < MIN_EXAMPLES:
        message = f"There are fewer than {MIN_EXAMPLES} examples."
        yield Note("examples-few", severity, message, line=examples[0].line)


def check_steps(sections: tuple[Section, ...], *, published: bool) -> Iterator[Note]:
    """Every numbered step of a procedure says how to tell that it worked."""
    for section in _outermost(sections, _PROCEDURE):
        for step in _steps(section):
            if not any(_CHECKED.search(row.text) for row in step):
                start = step[0].text.strip("# ")
                message = f"The step {start[:60]!r} does not say how to tell that it worked."
                yield Note("step-without-check", _severity(published=published), message, line=step[0].line)


def _severity(*, published: bool) -> Severity:
    return "warning" if published else "info"


def _outermost(sections: tuple[Section, ...], title: re.Pattern[str]) -> list[Section]:
    """The sections of that title that do not lie inside another one of it."""
    found: list[Section] = []
    until = 0
    for section in sections:
        if title.fullmatch(section.title) and section.line > until:
            found.append(section)
            until = section.rows[-1].line
    return found


def _examples(section: Section) -> int:
    """How many examples a section holds, by whatever it sets them apart with."""
    fences = sum(1 for row, before in zip(section.rows[1:], section.rows, strict=False) if row.code and not before.code)
    items = sum(1 for row in section.rows if not row.code and _ITEM.fullmatch(row.text))
    text = any(row.text.strip() for row in section.rows[1:])
    return max(len(section.parts), fences, items, int(text))


def _steps(section: Section) -> Iterator[tuple[Row, ...]]:
    """The rows of each step: parts whose titles are numbered, or else numbered items."""
    numbered = [part for part in section.parts if _STEP_TITLE.fullmatch(part.title)]
    if numbered:
        top = min(part.level for part in numbered)
        yield from (part.rows for part in numbered if part.level == top)
        return
    step: list[Row] = []
    for row in section.rows[1:]:
        if not row.code and (_STEP.fullmatch(row.text) or row.text.startswith("#")):
            if step:
                yield tuple(step)
            step = []
        if step or (not row.code and _STEP.fullmatch(row.text)):
            step.append(row)
    if step:
        yield tuple(step)
