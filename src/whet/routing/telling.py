"""What is worth knowing beside an answer about a message, told without loading what finds skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.notes import Note

if TYPE_CHECKING:
    from whet.library.card import Card
    from whet.library.settings import Settings


def examine(settings: Settings) -> tuple[Note, ...]:
    """What is missing for finding skills by meaning, where that is wanted."""
    from whet.routing.meaning import installed

    return (lexical_only(),) if settings.semantic and not installed() else ()


def lexical_only() -> Note:
    """That the extra for finding skills by meaning is not installed."""
    message = "Skills are found by their words alone; with an extra, by their meaning, too."
    return Note("lexical-only", "info", message, "Install it: `pip install 'whet[semantic]'`.")


def fits_but_hidden(card: Card, reason: Note) -> Note:
    """That a skill fits, and why it does not come up all the same."""
    message, hint = f"{card.full_name} fits, but is not offered: {reason.message}", reason.hint
    if reason.code == "explicit-only":
        message, hint = f"{card.full_name} fits, but only a person may invoke it.", f"Type /{card.full_name}."
    return Note("fits-but-hidden", "info", message, hint, skill=card.full_name, path=card.path)


def named_unknown(name: str, hint: str) -> Note:
    """That a message begins with the name of a skill that is not there."""
    return Note("named-unknown", "info", f"There is no skill {name!r}.", hint)


def no_skill_wanted() -> Note:
    """That no skill comes up because somebody said so."""
    message = "Somebody said that no skill should come up for a message like this."
    hint = "`whet feedback --none --list` shows it; with --forget, it is taken back."
    return Note("no-skill-wanted", "info", message, hint)
