"""What is worth knowing beside an answer about a message, told without loading what finds skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.library.report import Entry

if TYPE_CHECKING:
    from whet.library.card import Card
    from whet.library.settings import Settings
    from whet.library.visibility import Hidden


def examine(settings: Settings) -> tuple[Entry, ...]:
    """What is missing for finding skills by meaning, where that is wanted."""
    from whet.routing.meaning import installed

    return (lexical_only(),) if settings.semantic and not installed() else ()


def lexical_only() -> Entry:
    """That the extra for finding skills by meaning is not installed."""
    message = "Skills are found by their words alone; with an extra, by their meaning, too."
    return Entry("lexical-only", "info", "", "", message, "Install it: `pip install 'whet[semantic]'`.")


def fits_but_hidden(card: Card, reason: Hidden) -> Entry:
    """That a skill fits, and why it does not come up all the same."""
    message, hint = f"{card.full_name} fits, but is not offered: {reason.message}", reason.hint
    if reason.code == "explicit-only":
        message, hint = f"{card.full_name} fits, but only a person may invoke it.", f"Type /{card.full_name}."
    return Entry("fits-but-hidden", "info", card.full_name, card.path, message, hint)


def named_unknown(name: str, hint: str) -> Entry:
    """That a message begins with the name of a skill that is not there."""
    return Entry("named-unknown", "info", "", "", f"There is no skill {name!r}.", hint)


def no_skill_wanted() -> Entry:
    """That no skill comes up because somebody said so."""
    message = "Somebody said that no skill should come up for a message like this."
    hint = "`whet feedback --none --list` shows it; with --forget, it is taken back."
    return Entry("no-skill-wanted", "info", "", "", message, hint)
