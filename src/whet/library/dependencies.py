"""Dependencies between the skills of a library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.library.files import read_file
from whet.notes import Note
from whet.skill.dialects import read_version
from whet.skill.frontmatter import MAX_DOCUMENT, read_document
from whet.skill.names import key
from whet.skill.versions import in_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.library.card import Card
    from whet.skill.gates import SkillNeed

_NAMED = 5
"""Number of missing skills that a message names."""


def version_of(card: Card) -> str:
    """Return the version that a skill of the library declares; "" if it declares none."""
    try:
        return read_version(read_document(read_file(card.path, MAX_DOCUMENT)), flat=card.kind == "flat")
    except OSError:
        return ""


def dependants(cards: Iterable[Card], name: str) -> tuple[str, ...]:
    """Return the names of the skills that need the skill of this name."""
    wanted = key(name)
    return tuple(
        card.full_name
        for card in cards
        if card.key != wanted and any(key(need.name) == wanted for need in card.gates.skills)
    )


def name_range(need: SkillNeed, version: str) -> str:
    """Return why a version is not in the required range; "" if it is."""
    if in_range(version, need.range):
        return ""
    return f"It needs {need}; {need.name} {version or 'without a version'} is not in that range."


def examine_dependencies(cards: Iterable[Card]) -> Iterator[Note]:
    """Yield notes about required skills that are missing or have an unusable version."""
    known: Mapping[str, Card] = {card.key: card for card in cards}
    for card in known.values():
        absent = [need for need in card.gates.skills if key(need.name) not in known]
        if absent:
            more = f" and {len(absent) - _NAMED:,} more" if len(absent) > _NAMED else ""
            message = f"It needs {', '.join(map(str, absent[:_NAMED]))}{more}, which is missing."
            hint = f"Install it: `whet install {absent[0].source or 'SOURCE'} --skill {absent[0].name}`."
            yield Note("dependency-missing", "warning", message, hint, skill=card.full_name, path=card.path)
        for need in card.gates.skills:
            other = known.get(key(need.name))
            if other and need.range and (problem := name_range(need, version_of(other))):
                hint = f"`whet update {need.name}` may bring one that is."
                yield Note("dependency-range", "warning", problem, hint, skill=card.full_name, path=card.path)
