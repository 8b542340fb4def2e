"""How going back is told: the skills that were changed by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whet.interfaces.cli.output import Screen


def tell_back(answer: dict[str, Any], screen: Screen) -> None:
    """The paths of the skills that are there, as data; a skill that is gone by it is only said."""
    for skill in answer["skills"]:
        if skill["digest"]:
            screen.line(screen.place(skill["path"]))
            screen.said.append(f"{skill['name']} is as it was (entry {skill['entry']}).")
        else:
            screen.said.append(f"{skill['name']} is gone again (entry {skill['entry']}).")
