"""Which sessions may be learned from: those of projects that have not said `learn = "off"` meanwhile."""

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
    """The sessions that wait and may be learned from, the oldest first."""
    waiting = context.sessions.waiting()
    off = {project for project in {seen.project for seen in waiting} if has_say(project) and _is_off(context, project)}
    return tuple(seen for seen in waiting if seen.project not in off)


def has_say(project: str) -> bool:
    """Is there a file with settings in the directory of a project, or above it?"""
    directory = os.path.abspath(project) if project else ""
    while directory:
        if os.path.lexists(os.path.join(directory, PROJECT_FILE)):
            return True
        above = os.path.dirname(directory)
        directory = above if above != directory else ""
    return False


def is_off(configuration: Configuration) -> bool:
    """Is nothing to be learned here? Settings that cannot be read may say so."""
    try:
        return configuration.resolve().settings.learn == "off"
    except WhetError:
        return True


def _is_off(context: LearningContext, project: str) -> bool:
    from whet.library.config import Configuration

    known = context.workspace
    place = known.place._replace(directory=project)
    return is_off(Configuration(place, known.explicit, known.decisions, known.clock, None))
