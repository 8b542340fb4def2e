"""The template's text for new skills, and the note in an outline: a skill that still has them is a draft."""

from __future__ import annotations

import re

from whet.patterns import compile_late
from whet.skill.gates import DRAFT

OUTLINE = "Whet recorded this without a model."
"""Beginning of the note in the outline of a session."""
PHRASES = (
    DRAFT,
    OUTLINE,
    "for similar tasks that belong elsewhere",
    "what goes wrong without this skill, and the idea that prevents it",
    "a message users really send, word for word",
    "the same request in other words.",
    "a request that does not name the subject.",
    "a similar task that this skill is not for, and what to do instead",
    "the first action, with the exact command and one default",
    "what you see when it worked.",
    "the last action, which checks the whole result",
    "how you know that the task is complete.",
    "a fact that surprises people, and what to do about it",
    "what the user asks, and which files are at hand.",
    'a command and its version, or "None."',
    "what it does not do or cannot know.",
)
"""Phrases of the template or of the note in an outline that an author must replace."""
MARKERS = ("TODO", "FIXME", "TBD", "orem ipsum")
"""Markers of unfinished parts."""


def is_template(head: bytes) -> bool:
    """Return whether the start of a main file still has a TODO and text of the template or of an outline's note."""
    return b"TODO" in head and any(phrase.encode() in head for phrase in PHRASES)


_RARE = "XDmw"
"""Rare letters; every marker and phrase has one of them."""


def _make_searches() -> list[tuple[str, re.Pattern[str]]]:
    """Return a search around each rare letter for the markers and phrases with it, instead of one search for each."""
    groups: dict[str, list[str]] = {}
    for part in (*MARKERS, *PHRASES):
        rare = next(letter for letter in (*_RARE, part) if letter in part)
        groups.setdefault(rare, []).append(f"{re.escape(part.split(rare, 1)[1])}(?<={re.escape(part)})")
    return [(rare, compile_late(f"{re.escape(rare)}(?:{'|'.join(ends)})")) for rare, ends in groups.items()]


_SEARCHES = _make_searches()


def may_be_draft(text: str) -> bool:
    """Return whether a text may be a draft; a closer check decides."""
    return any(rare in text and pattern.search(text) for rare, pattern in _SEARCHES)
