"""How others make an index fit: each policy lists the same skills, in the same lines, within the same budget.

They differ only in what they show of the descriptions. A name costs what it costs; descriptions share what is left.
When not even the names fit, those that do are listed in their order and nothing is described, except by Whet, which
chooses for itself whom to list.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from whet.library.card import Card
from whet.library.roots import Root
from whet.prompt.formats import MARK
from whet.prompt.index import Budget, Options, build
from whet.prompt.tokens import ESTIMATE
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BETWEEN = ": "
"""What stands between a name and its description."""

_ROOT = Root("/skills", "user", real="/skills")


class Skill(NamedTuple):
    """One skill of an index."""

    id: str
    name: str
    description: str


Shown = list[str | None]
"""What is shown of each description; None for a skill that is not listed at all."""


def line(name: str, description: str) -> str:
    """One line of an index."""
    return f"{MARK} {name}{BETWEEN}{description}\n" if description else f"{MARK} {name}\n"


def full(skills: Sequence[Skill], _: int) -> Shown:
    """Everything, whatever it costs: no policy can show more."""
    return [skill.description for skill in skills]


def names_only(skills: Sequence[Skill], budget: int) -> Shown:
    """No description at all."""
    return _names(skills, budget)[0]


def even(skills: Sequence[Skill], budget: int) -> Shown:
    """As Codex does: one character for everybody in turn, so that short ones are done first, long ones cut alike."""
    shown, room = _names(skills, budget)
    lengths = [0] * len(skills)
    hungry = [at for at, text in enumerate(shown) if text is not None and skills[at].description]
    while hungry:
        still = []
        for at in hungry:
            cost = 1 if lengths[at] else 1 + len(BETWEEN)
            if cost <= room:
                room -= cost
                lengths[at] += 1
                if lengths[at] < len(skills[at].description):
                    still.append(at)
        hungry = still
    return _cut(shown, skills, lengths)


def dropped(skills: Sequence[Skill], budget: int) -> Shown:
    """As Claude Code does: a description in full or not at all. It goes by use; here, without any, by a checksum."""
    shown, room = _names(skills, budget)
    for at in sorted(range(len(skills)), key=lambda at: (digest(skills[at].name), at)):
        description = skills[at].description
        cost = len(BETWEEN) + len(description)
        if description and shown[at] is not None and cost <= room:
            shown[at] = description
            room -= cost
    return shown


def uniform_cap(skills: Sequence[Skill], budget: int) -> Shown:
    """As OpenClaw does: the largest cap that, put on every description, makes all fit."""
    shown, room = _names(skills, budget)
    sizes = [0 if text is None else len(skill.description) for skill, text in zip(skills, shown, strict=True)]

    def cost(cap: int) -> int:
        return sum(min(size, cap) + len(BETWEEN) for size in sizes if size and cap)

    cap = bisect_right(range(max(sizes) + 1), room, key=cost) - 1
    return _cut(shown, skills, [cap] * len(skills))


def whet(skills: Sequence[Skill], budget: int) -> Shown:
    """The lines of Whet's own index, without its rules."""
    made = build([_card(skill) for skill in skills], Budget(budget, "characters"), Options(rules=False), ESTIMATE)
    lines = dict(zip((card.path for card in made.included), made.text.split("\n"), strict=False))
    return [
        lines[skill.id].removeprefix(f"{MARK} {skill.name}").removeprefix(BETWEEN) if skill.id in lines else None
        for skill in skills
    ]


POLICIES: dict[str, Callable[[Sequence[Skill], int], Shown]] = {
    "full": full,
    "whet": whet,
    "even": even,
    "uniform cap": uniform_cap,
    "dropped": dropped,
    "names only": names_only,
}


def digest(text: str) -> bytes:
    """A checksum, for an order that has nothing to do with anything."""
    return hashlib.sha256(text.encode()).digest()


def _names(skills: Sequence[Skill], budget: int) -> tuple[Shown, int]:
    """The names alone, and the room left for descriptions."""
    shown: Shown = []
    for skill in skills:
        cost = len(line(skill.name, ""))
        if cost > budget:
            return [*shown, *[None] * (len(skills) - len(shown))], 0
        budget -= cost
        shown.append("")
    return shown, budget


def _cut(shown: Shown, skills: Sequence[Skill], lengths: Sequence[int]) -> Shown:
    rows = zip(shown, skills, lengths, strict=True)
    return [text if text is None else skill.description[:length] for text, skill, length in rows]


def _card(skill: Skill) -> Card:
    """The skill as the index takes it; its id stands where the path of a real one does."""
    name, description = skill.name, skill.description
    return Card(skill.id, "", name, key(name), description, "", "skill", 0, 0, 0, 0, 0, "", _ROOT)
