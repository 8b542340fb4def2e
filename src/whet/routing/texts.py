"""The texts of a skill that routing reads, separated by what they are evidence for."""

from __future__ import annotations

from whet.errors import UsageError, expected_text
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from whet.library.card import Card
    from whet.skill.dialects import Words
    from whet.skill.model import Skill


class Texts(NamedTuple):
    """The texts of one skill."""

    name: str
    description: str
    body: str
    when_to_use: str = ""
    when_not_to_use: str = ""
    triggers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Messages that are known to fit this skill."""
    counterexamples: tuple[str, ...] = ()
    """Messages that are known not to fit it."""


def texts_of(skill: Skill | Words) -> Texts:
    """Return the texts of a skill as its author wrote them."""
    return Texts(
        skill.name,
        skill.description,
        skill.body,
        skill.when_to_use,
        skill.when_not_to_use,
        skill.triggers,
        skill.tags,
    )


def texts_of_card(card: Card) -> Texts:
    """Return the texts in the card of a skill."""
    return Texts(card.name, card.description, "", card.when)


def checked(message: Any) -> str:
    """Return the message. Raises UsageError if it is not text or is empty."""
    hint = "Pass the user's words."
    if not isinstance(message, str):
        raise expected_text("bad-message", "A message", message, hint=hint)
    if not message.strip():
        raise UsageError("message-empty", "The message is empty.", hint=hint)
    return message
