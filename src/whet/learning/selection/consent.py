"""Sessions that may be learned from: those of projects without `learn = "off"`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.library.settings import PROJECT_FILE

if TYPE_CHECKING:
    from whet.learning.context import LearningContext
    from whet.learning.sessions import Seen
    from whet.library.config import Configuration


def offered(context: LearningContext) -> tuple[Seen, ...]:
    """Return the waiting sessions that may be learned from, oldest first."""
    from whet.library.config import Configuration

    known, waiting, off = context.workspace, context.sessions.waiting(), set[str]()
    for project in filter(has_say, {seen.project for seen in waiting}):
        place = known.place._replace(directory=project)
        if is_off(Configuration(place, known.explicit, known.decisions, known.clock, None)):
            off.add(project)
    return tuple(seen for seen in waiting if seen.project not in off)


def has_say(project: str) -> bool:
    """Return whether there is a settings file in the directory of a project, or above it."""
    directory = os.path.abspath(project) if project else ""
    while directory:
        if os.path.lexists(os.path.join(directory, PROJECT_FILE)):
            return True
        above = os.path.dirname(directory)
        directory = above if above != directory else ""
    return False


def is_off(configuration: Configuration) -> bool:
    """Return whether learning is off here; unreadable settings may say so."""
    try:
        return configuration.resolve().settings.learn == "off"
    except WhetError:
        return True
