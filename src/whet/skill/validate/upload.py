"""The profile `upload`: the additional requirements of claude.ai, the Skills API and skill packagers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.notes import Note
from whet.skill.validate.fixable import written

if TYPE_CHECKING:
    from whet.skill.frontmatter import Document

RESERVED = ("anthropic", "claude")

_REFUSED = frozenset(
    (
        *(
            "dialect-key",
            "main-file-name",
            "byte-order-mark",
            "name-not-text",
            "description-not-text",
            "compatibility-not-text",
        ),
        *("allowed-tools-not-text", "metadata-not-a-map", "metadata-not-text"),
    )
)
"""Warnings of the specification that are errors for a strict host."""


def check(document: Document, findings: list[Note]) -> list[Note]:
    """Return the findings of the specification as a strict host sees them, and its own."""
    found = [f._replace(severity="error") if f.code in _REFUSED else f for f in findings]
    lines = document.lines
    name = written(document, "name") or ""
    for key, text in (("name", name), ("description", written(document, "description") or "")):
        if "<" in text or ">" in text:
            message = f"The {key} contains an angle bracket, which strict hosts treat as a tag."
            found.append(Note("angle-brackets", "error", message, line=lines.get(key)))
    for word in RESERVED:
        if word in name.lower():
            message = f"The name {name!r} contains the reserved word {word!r}."
            found.append(Note("name-reserved-word", "error", message, line=lines.get("name")))
    if not name.isascii():
        message = f"The name {name!r} has letters outside a-z."
        found.append(Note("name-not-ascii", "error", message, line=lines.get("name")))
    return found
