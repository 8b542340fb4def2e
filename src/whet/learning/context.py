"""What learning works with, and which skills it leaves to people."""

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
    """The parts of a library that learning works with."""

    workspace: Workspace
    editor: SkillEditor
    """What changes skills, with its history and proposals."""
    sessions: Sessions
    """The sessions that hooks told of."""
    usage: Usage
    """How skills did."""
    feedback: Feedback
    """What skills are for, and what not."""
    attempt: Try
    """Has a model do a task of a skill's evals."""


def held_back(context: LearningContext, card: Card) -> str:
    """Why a skill is not changed without asking, though it is the user's: a sentence, or nothing."""
    if not context.workspace.decisions.pins().keys().isdisjoint(card.known_as):
        return "It is pinned."
    return INSTALLED if card.place in context.editor.installed() else ""
