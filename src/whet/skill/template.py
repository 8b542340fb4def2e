"""The text of the template for new skills: what is left of it makes a skill a draft."""

from __future__ import annotations

from whet.skill.gates import DRAFT

PHRASES = (
    DRAFT,
    "for its nearest neighbours",
    "what goes wrong without this skill, and the idea that prevents it",
    "a message users really send, word for word",
    "another one, in other words.",
    "one that does not name the subject.",
    "the nearest neighbour, and what to do instead",
    "the first action, with the exact command and one default",
    "what you see when it worked.",
    "the last action, which checks the whole result",
    "the state that ends the task.",
    "a fact that contradicts a reasonable guess, and what to do about it",
    "what the user said and what was there.",
    'a command and its version, or "None."',
    "what it does not do or cannot know.",
)
"""What the template says where a skill has something of its own to say."""
MARKERS = ("TODO", "FIXME", "TBD", "orem ipsum")
"""What a draft marks unfinished parts with."""


def may_be_draft(text: str) -> bool:
    """Can a text have something of a draft in it? Whether it does, a closer look decides."""
    return any(part in text for part in (*MARKERS, *PHRASES))
