"""Does a description get its skill chosen? It says what and when, in words that a request would hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.notes import Note
from whet.skill.validate.fixable import written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.skill.frontmatter import Document

MIN_CHARACTERS = 40
LOOKED_AT = 2_000
"""Characters of a description that are judged; the specification allows half as many."""

_WHEN = re.compile(
    r"(?i)\bwhen(?:ever)?\b|\b(?:use[ds]?|apply|invoke|activate|trigger)s?\s+(?:\w+\s+){0,3}?(?:for|if|to|before|after|on|with)\b"
    r"|\bif (?:the user|you|someone)\b|\btriggers?\b|\b(?:wenn|quand|lorsque|cuando|quando|когда)\b"
    r"|当.{1,40}时|用于|适用|場合|とき|ときに|使用する|경우|때"
)
_ONLY_WHEN = re.compile(r"(?i)\s*(?:use|apply|invoke|activate)\s+(?:\w+\s+){0,3}?when(?:ever)?\b[^.!?;\n]*[.!?;]?\s*")
_TRIGGER = re.compile(
    r"(?i)[\"“”'‘`«「『][^\"“”'’`»」』\n]{2,80}[\"”'’`»」』]|(?<![\w/])\.[a-z][a-z0-9]{1,5}\b"
    r"|\b(?:such as|e\.g\.|for example|mentions?|mentioning|asks?|asking|asked|says?|requests?|wants?)\b|例如|比如|「"
)
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
_SITUATION = re.compile(r"(?i)\b(?:when(?:ever)?|use|for|if)\b")
_ALTERNATIVE = re.compile(r"(?i)\bor\b|,.*(?:,|\band\b)|\(1\)")
_VAGUE = re.compile(
    r"(?i)\b(?:helps? (?:you |users? )?with|stuff|things|various|miscellaneous|and (?:much |many )?more|many tasks"
    r"|general tasks|common tasks)\b"
)
_MARKETING = re.compile(
    r"(?i)\b(?:powerful|comprehensive|seamless(?:ly)?|cutting[- ]edge|revolutionary|world[- ]class|best[- ]in[- ]class"
    r"|state[- ]of[- ]the[- ]art|blazing(?:ly)?|effortless(?:ly)?|robust|amazing|ultimate|game[- ]chang\w+"
    r"|next[- ]gen(?:eration)?|supercharge[ds]?|enterprise[- ]grade|battle[- ]tested|unparalleled|magical(?:ly)?)\b"
)


def check_description(document: Document) -> Iterator[Note]:
    """The findings about the wording; an absent description is for the specification to report."""
    description = (written(document, "description") or "")[:LOOKED_AT].strip()
    if not description:
        return
    line = document.lines.get("description")
    said = any(document.values.get(key) for key in ("when_to_use", "when-to-use"))
    triggers = said or bool(document.values.get("triggers"))
    if len(description) < MIN_CHARACTERS:
        message = f"The description has {len(description)} characters; say what the skill does and when to use it."
        yield Note("description-short", "warning", message, line=line)
    if not said and not _WHEN.search(description):
        message = "The description does not say when to use the skill; add a sentence such as 'Use when ...'."
        yield Note("description-says-no-when", "warning", message, line=line)
    if _ONLY_WHEN.fullmatch(description):
        message = "The description says when to use the skill but not what it does."
        yield Note("description-says-no-what", "info", message, line=line)
    if not triggers and not _TRIGGER.search(description) and not _several_situations(description):
        message = "The description names no concrete words, files or requests that call for the skill."
        yield Note("description-no-triggers", "info", message, line=line)
    for code, pattern, advice in (
        ("description-vague", _VAGUE, "fits any skill; name the things instead"),
        ("description-marketing", _MARKETING, "is praise; say what the skill does instead"),
    ):
        if words := list(dict.fromkeys(found[0].lower() for found in pattern.finditer(description))):
            listed = ", ".join(repr(word) for word in words)
            yield Note(code, "warning", f"In the description, {listed} {advice}.", line=line)


def _several_situations(description: str) -> bool:
    """Whether a sentence lists more than one occasion: `Use when merging, splitting or signing`."""
    for sentence in _SENTENCE_END.split(description):
        occasion = _SITUATION.search(sentence)
        if occasion and _ALTERNATIVE.search(sentence.replace("\n", " "), occasion.end()):
            return True
    return False
