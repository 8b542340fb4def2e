"""`whet feedback`: say which skill a message is for, see what was said, take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.visibility import MODEL, hidden
from whet.notes import Note
from whet.routing.feedback import NO_SKILL
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.routing.feedback import Feedback, Remark


class Noted(NamedTuple):
    """A remark that was kept, and what is known of its skill now."""

    name: str | None
    """None for messages that no skill should come up for."""
    fits: bool
    changed: bool
    """Whether it says anything new."""
    examples: int
    counterexamples: int
    notes: tuple[Note, ...] = ()

    def to_json(self) -> Json:
        """The remark as every surface answers it."""
        return answer_json(self)


class Said(NamedTuple):
    """A remark, and what its skill is called; None for messages that no skill should come up for."""

    remark: Remark
    skill: str | None

    def to_json(self) -> Json:
        """The remark as a list holds it."""
        return {**self.remark.to_json(), "skill": self.skill}


class Remarks(NamedTuple):
    """What was said, the newest first."""

    feedback: tuple[Said, ...]

    def to_json(self) -> Json:
        """The remarks as every surface answers them."""
        return {**answer_json(self), "count": len(self.feedback)}


class Forgotten(NamedTuple):
    """What was taken back, and what is left."""

    name: str | None
    forgotten: int
    examples: int
    counterexamples: int

    def to_json(self) -> Json:
        """It as every surface answers it."""
        return answer_json(self)


def give(
    feedback: Feedback, workspace: Workspace, name: str | None, message: str, *, fits: bool, origin: str = "person"
) -> Noted:
    """Note that a message is, or is not, for a skill; without a name, that it is for none.

    Raises NotFoundError, UsageError, FailedError.
    """
    keys: Sequence[str]
    if name is None:
        if fits:
            message = "A message that fits must come with the name of the skill it fits."
            raise UsageError("skill-not-named", message, hint="Give the name; without one, a message fits no skill.")
        changed = feedback.record(NO_SKILL, message, fits=False, origin=origin)
        told, keys, notes = None, (NO_SKILL,), []
    else:
        card, config = workspace.find(name)
        changed = feedback.record(str(card.id), message, fits=fits, origin=origin, names=card.known_as[1:])
        told, keys = card.full_name, card.known_as[:2]
        notes = [_silent(card, reason)] if (reason := hidden(card, MODEL, config.disabled, config.probe)) else []
    return Noted(told, fits, changed, *_counts(feedback, keys), tuple(notes))


def listed(feedback: Feedback, workspace: Workspace, name: str | None = None) -> Remarks:
    """What was said about a skill, or about all of them, the newest first; a skill may be gone.

    The name "" stands for messages that no skill should come up for; their `skill` is None.
    """
    remarks = feedback.entries(*(() if name is None else _keys(feedback, workspace, name)))
    names = {key: card.full_name for card in workspace.snapshot().catalogue.cards for key in card.known_as[:2]}
    return Remarks(
        tuple(Said(item, names.get(item.skill) or item.skill.rpartition("/")[2] or None) for item in remarks)
    )


def forget(feedback: Feedback, workspace: Workspace, name: str | None, message: str | None = None) -> Forgotten:
    """Take back what was said about a message, or about a skill altogether; the skill may be gone.

    Without a name, it is about messages that no skill should come up for.
    """
    keys = (NO_SKILL,) if name is None else _keys(feedback, workspace, name)
    forgotten = feedback.forget(*keys, message=message)
    if message is not None and not forgotten:
        hint = f"`whet feedback {name or '--none'} --list` shows what was said."
        about = f"this message and {name}" if name else "this message and no skill"
        raise NotFoundError("no-such-feedback", f"Nothing was said about {about}.", hint=hint)
    return Forgotten(name, forgotten, *_counts(feedback, keys))


def _silent(card: Card, reason: Note) -> Note:
    """A remark that feedback changes little, because the skill does not come up by itself."""
    message = f"{card.full_name} does not come up by itself, whatever is said: {reason.message}"
    return Note(reason.code, "info", message, reason.hint, skill=card.full_name, path=card.path)


def _keys(feedback: Feedback, workspace: Workspace, name: str) -> Sequence[str]:
    """What a skill has feedback by. Raises NotFoundError for one that neither is there nor has any."""
    from whet.skill.names import key

    if name == NO_SKILL:
        return (NO_SKILL,)
    try:
        return workspace.find(name)[0].known_as[:2]
    except WhetError:
        known = [skill for skill in feedback.all_marks() if key(name) in (skill, key(skill.rpartition("/")[2]))]
        if not known:
            raise
        return known


def _counts(feedback: Feedback, keys: Sequence[str]) -> tuple[int, int]:
    known = feedback.examples(*keys)
    return len(known.examples), len(known.counterexamples)
