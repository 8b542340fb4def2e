"""What routing reads of a skill: its own words, sorted by what they are evidence for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whet.skill.model import Skill


class Texts(NamedTuple):
    """The words of one skill."""

    name: str
    description: str
    body: str
    when_to_use: str = ""
    when_not_to_use: str = ""
    triggers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Messages that are known to be for this skill."""
    counterexamples: tuple[str, ...] = ()
    """Messages that are known not to be for it."""


def texts_of(skill: Skill) -> Texts:
    """The words of a skill as its author wrote them."""
    return Texts(
        skill.name,
        skill.description,
        skill.body,
        skill.when_to_use,
        skill.when_not_to_use,
        skill.triggers,
        skill.tags,
    )
