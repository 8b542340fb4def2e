"""A place where a skill is expected, what to say of its form, and the refusal when it cannot be taken."""

from __future__ import annotations

import os
from typing import NamedTuple

from whet.notes import Note
from whet.skill.finder import MAIN_FILE


class Spot(NamedTuple):
    """A place where a skill's main file is expected."""

    path: str
    directory: str
    category: str
    kind: str
    real: str = ""

    @property
    def stem(self) -> str:
        """What the skill is called when it does not say so itself."""
        if self.kind == "skill":
            return self.directory.rpartition(os.sep)[2]
        return self.path.rpartition(os.sep)[2].removesuffix(".md")

    @property
    def odd(self) -> bool:
        """Is this a form that has a better one today?"""
        return self.kind != "skill" or not self.path.endswith(MAIN_FILE)


def old_form(spot: Spot) -> tuple[Note, ...]:
    """What to say of a skill in a form that has a better one today; nothing of one in today's form."""
    if not spot.odd:
        return ()
    name = os.path.basename(spot.path)
    if spot.kind == "flat":
        message, hint = f"{name} is a skill without a directory.", f"Move it to {name[:-3]}/SKILL.md."
        return (Note("flat-skill", "info", message, hint),)
    if spot.kind == "command":
        message, hint = f"{name} is a command file.", f"Move it to skills/{name[:-3]}/SKILL.md."
        return (Note("command-file", "info", message, hint),)
    return (Note("old-main-name", "warning", f"The main file is called {name}.", "Rename it to SKILL.md."),)


class Refused(Exception):  # noqa: N818  not an error of the caller's, only a way out of a listing
    """An entry that is not taken; carries its report line."""

    def __init__(self, entry: Note) -> None:
        super().__init__(entry.message)
        self.entry = entry


def unreadable(path: str, error: OSError) -> Refused:
    """The refusal of a file that cannot be opened or read."""
    reason = error.strerror or str(error)
    return Refused(
        Note("unreadable", "error", f"The file cannot be read: {reason}.", "Check its permissions.", path=path)
    )
