"""`whet feedback`: say which skill a message is for, see what was said, take it back. Answers are plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, WhetError

if TYPE_CHECKING:
    from whet.library.lookout import Lookout
    from whet.routing.feedback import Feedback


def give(
    feedback: Feedback, lookout: Lookout, name: str, message: str, *, fits: bool, origin: str = "person"
) -> dict[str, Any]:
    """Note that a message is, or is not, for a skill. Raises NotFoundError, UsageError, FailedError."""
    card, _ = lookout.find(name)
    changed = feedback.record(card.full_name, message, fits=fits, origin=origin)
    return {"success": True, "name": card.full_name, "fits": fits, "changed": changed, **_counts(feedback, card.key)}


def listed(feedback: Feedback, lookout: Lookout, name: str | None = None) -> dict[str, Any]:
    """What was said about a skill, or about all of them, the newest first; a skill may be gone."""
    key = None if name is None else _key(feedback, lookout, name)
    remarks = feedback.entries(key)
    cards = lookout.look().catalogue.by_key
    shown = [
        {**item.to_json(), "skill": cards[item.skill].full_name if item.skill in cards else item.skill}
        for item in remarks
    ]
    return {"success": True, "feedback": shown, "count": len(shown)}


def forget(feedback: Feedback, lookout: Lookout, name: str, message: str | None = None) -> dict[str, Any]:
    """Take back what was said about a message, or about a skill altogether; the skill may be gone."""
    key = _key(feedback, lookout, name)
    forgotten = feedback.forget(key, message)
    if message is not None and not forgotten:
        hint = f"`whet feedback {name} --list` shows what was said."
        raise NotFoundError("no-such-feedback", f"Nothing was said about this message and {name}.", hint=hint)
    return {"success": True, "name": name, "forgotten": forgotten, **_counts(feedback, key)}


def _key(feedback: Feedback, lookout: Lookout, name: str) -> str:
    """The key under which a skill has feedback. Raises NotFoundError for one that neither is there nor has any."""
    from whet.skill.names import key

    try:
        return lookout.find(name)[0].key
    except WhetError:
        if key(name) in feedback.all_marks():
            return key(name)
        raise


def _counts(feedback: Feedback, key: str) -> dict[str, int]:
    known = feedback.examples(key)
    return {"examples": len(known.examples), "counterexamples": len(known.counterexamples)}
