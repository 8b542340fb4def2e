"""Whether skills are found by meaning, told without loading what finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.library.report import Entry

if TYPE_CHECKING:
    from whet.library.settings import Settings


def examine(settings: Settings) -> tuple[Entry, ...]:
    """What is missing for finding skills by meaning, where that is wanted."""
    from whet.routing.meaning import installed

    return (lexical_only(),) if settings.semantic and not installed() else ()


def lexical_only() -> Entry:
    """That the extra for finding skills by meaning is not installed."""
    message = "Skills are found by their words alone; with an extra, by their meaning, too."
    return Entry("lexical-only", "info", "", "", message, "Install it: `pip install 'whet[semantic]'`.")
