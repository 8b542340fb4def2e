"""The parts of a library that learning uses, and the skills it leaves to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.editor import INSTALLED

if TYPE_CHECKING:
    from whet.authoring.editor import SkillEditor
    from whet.learning.evals.evaluation import Try
    from whet.learning.sessions import Sessions
    from whet.learning.usage import Usage
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.routing.feedback import Feedback


class LearningContext(NamedTuple):
    """The parts of a library that learning uses."""

    workspace: Workspace
    editor: SkillEditor
    """Changes skills, with its history and proposals."""
    sessions: Sessions
    """The sessions that hooks reported."""
    usage: Usage
    """Usage and outcomes of skills."""
    feedback: Feedback
    """Feedback on which messages a skill is for."""
    attempt: Try
    """Lets a model do a task of a skill's evals."""


def held_back(context: LearningContext, card: Card) -> str:
    """Return why a skill of the user is not changed without asking, in a sentence; "" if it may be."""
    if not context.workspace.decisions.pins().keys().isdisjoint(card.known_as):
        return "It is pinned."
    return INSTALLED if card.place in context.editor.installed() else ""
