"""How going back is told: the skills that were changed by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.authoring.writer import By
    from whet.interfaces.cli.output import Screen


def by(options: Namespace) -> By:
    """A person, with the reason that is given."""
    from whet.authoring.writer import By

    return By("user", reason=options.reason)


def tell_back(answer: dict[str, Any], screen: Screen) -> None:
    """The paths of the skills that are there, as data; a skill that is gone by it is only said."""
    for skill in answer["skills"]:
        if skill["digest"]:
            screen.line(screen.place(skill["path"]))
            screen.said.append(f"{skill['name']} is as it was (entry {skill['entry']}).")
        else:
            screen.said.append(f"{skill['name']} is gone again (entry {skill['entry']}).")
