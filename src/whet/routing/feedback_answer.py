"""`whet feedback`: say which skill a message is for, see what was said, take it back. Answers are plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.visibility import MODEL, hidden
from whet.notes import Note
from whet.routing.feedback import NO_SKILL

if TYPE_CHECKING:
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.routing.feedback import Feedback


def give(
    feedback: Feedback, workspace: Workspace, name: str | None, message: str, *, fits: bool, origin: str = "person"
) -> dict[str, Any]:
    """Note that a message is, or is not, for a skill; without a name, that it is for none.

    Raises NotFoundError, UsageError, FailedError.
    """
    if name is None:
        if fits:
            message = "A message that fits must come with the name of the skill it fits."
            raise UsageError("skill-not-named", message, hint="Give the name; without one, a message fits no skill.")
        changed = feedback.record(NO_SKILL, message, fits=False, origin=origin)
        told, key, notes = None, NO_SKILL, []
    else:
        card, config = workspace.find(name)
        changed = feedback.record(card.full_name, message, fits=fits, origin=origin)
        told, key = card.full_name, card.key
        notes = [_silent(card, reason)] if (reason := hidden(card, MODEL, config.disabled, config.probe)) else []
    answer = {"success": True, "name": told, "fits": fits, "changed": changed, **_counts(feedback, key)}
    return {**answer, "notes": [note.to_json() for note in notes]}


def listed(feedback: Feedback, workspace: Workspace, name: str | None = None) -> dict[str, Any]:
    """What was said about a skill, or about all of them, the newest first; a skill may be gone.

    The name "" stands for messages that no skill should come up for; their `skill` is None.
    """
    key = None if name is None else _key(feedback, workspace, name)
    remarks = feedback.entries(key)
    cards = workspace.snapshot().catalogue.by_key
    shown = [
        {**item.to_json(), "skill": cards[item.skill].full_name if item.skill in cards else item.skill or None}
        for item in remarks
    ]
    return {"success": True, "feedback": shown, "count": len(shown)}


def forget(feedback: Feedback, workspace: Workspace, name: str | None, message: str | None = None) -> dict[str, Any]:
    """Take back what was said about a message, or about a skill altogether; the skill may be gone.

    Without a name, it is about messages that no skill should come up for.
    """
    key = NO_SKILL if name is None else _key(feedback, workspace, name)
    forgotten = feedback.forget(key, message)
    if message is not None and not forgotten:
        hint = f"`whet feedback {name or '--none'} --list` shows what was said."
        about = f"this message and {name}" if name else "this message and no skill"
        raise NotFoundError("no-such-feedback", f"Nothing was said about {about}.", hint=hint)
    return {"success": True, "name": name, "forgotten": forgotten, **_counts(feedback, key)}


def _silent(card: Card, reason: Note) -> Note:
    """A remark that feedback changes little, because the skill does not come up by itself."""
    message = f"{card.full_name} does not come up by itself, whatever is said: {reason.message}"
    return Note(reason.code, "info", message, reason.hint, skill=card.full_name, path=card.path)


def _key(feedback: Feedback, workspace: Workspace, name: str) -> str:
    """The key under which a skill has feedback. Raises NotFoundError for one that neither is there nor has any."""
    from whet.skill.names import key

    if name == NO_SKILL:
        return NO_SKILL
    try:
        return workspace.find(name)[0].key
    except WhetError:
        if key(name) in feedback.all_marks():
            return key(name)
        raise


def _counts(feedback: Feedback, key: str) -> dict[str, int]:
    known = feedback.examples(key)
    return {"examples": len(known.examples), "counterexamples": len(known.counterexamples)}
