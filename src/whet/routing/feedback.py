"""Feedback of people and agents on which skill a message is for: durable, and read by every later search.

A message that a skill was right for becomes an example of it, one that it was wrong for a counterexample. Feedback
belongs to the id of a skill (`whet.library.skill_id`) and follows it, so that it survives renames, updates and a skill
that is deleted and restored; feedback that an older Whet stored by name counts for the skill of that name. If there
are several remarks on the same message the latest counts, except that neither an agent nor a hook overrules a person.
A message that should trigger no skill is stored under the name "": it is a counterexample of all of them. Secrets are
hidden before anything is written.
"""

from __future__ import annotations

import unicodedata

from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.visibility import MODEL, hidden
from whet.notes import Note
from whet.records import NamedTuple
from whet.routing.texts import checked
from whet.skill.names import key as name_key
from whet.skill.terms import terms
from whet.store.clock import iso
from whet.values import Json, answer_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Literal, TypeAlias

    from whet.library.card import Card
    from whet.library.skill_id import SkillId
    from whet.library.workspace import Workspace
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

    Origin: TypeAlias = Literal["person", "agent", "hook"]

NO_SKILL = ""
"""The name for messages that should trigger no skill."""
ORIGINS = ("person", "agent", "hook")
MOST = 50
"""Maximum number of examples, and of counterexamples, for one skill."""
LONGEST = 2_000
"""Maximum length of a stored message."""
KEPT = 1_000
"""Maximum number of stored remarks on one skill."""
_ALIKE = 0.6
"""The share of its terms that each of two similar messages has in common with the other."""
_COLUMNS = "time, skill, message, fits, origin"
_FIRST = "origin = 'person' DESC, id DESC"


class Remark(NamedTuple):
    """Feedback on one message."""

    time: int
    skill: str | None
    """Its id, or its name key from an older Whet; in a list the name of the skill, None for no skill."""
    message: str
    fits: bool
    origin: str

    def to_json(self) -> Json:
        """Return the remark as JSON."""
        return {**self._asdict(), "time": iso(self.time)}


class Examples(NamedTuple):
    """Messages that a skill is for, and messages that it is not for."""

    examples: tuple[str, ...]
    counterexamples: tuple[str, ...]


class Feedback:
    """The feedback of one state directory. Reading never creates it."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock

    def record(
        self, skill: str, message: str, *, fits: bool, origin: str = "person", names: Sequence[str] = ()
    ) -> bool:
        """Store a remark on the skill with this id; return whether it is new. Raises UsageError, FailedError.

        It is on disk when this returns. Feedback that an older Whet stored under one of the `names` moves to the id.
        """
        if origin not in ORIGINS:
            raise UsageError("bad-origin", f"{origin!r} is not an origin.", hint=f"Use one of {', '.join(ORIGINS)}.")
        text = kept(checked(message))
        key, normal = _stored(skill), normalised(text)
        with self.state.write() as connection:
            self._take_over(connection, key, names)
            known = connection.execute(
                "SELECT id, fits, origin FROM feedback WHERE skill = ? AND normal = ?", (key, normal)
            ).fetchone()
            if known and known[2] == "person" and origin != "person":
                return False
            if known and (bool(known[1]), known[2]) == (fits, origin):
                connection.execute("UPDATE feedback SET time = ? WHERE id = ?", (self._clock(), known[0]))
                return False
            if known:  # delete and insert instead of update: the new id shows the change
                connection.execute("DELETE FROM feedback WHERE id = ?", (known[0],))
            connection.execute(
                "INSERT INTO feedback (time, skill, message, normal, fits, origin) VALUES (?, ?, ?, ?, ?, ?)",
                (self._clock(), key, text, normal, fits, origin),
            )
            if fits:  # the latest remark counts: the message is for a skill
                connection.execute(
                    "DELETE FROM feedback WHERE skill = ? AND normal = ? AND (origin <> 'person' OR ? = 'person')",
                    (NO_SKILL, normal, origin),
                )
            connection.execute(
                f"DELETE FROM feedback WHERE id IN "  # noqa: S608  the order is ours
                f"(SELECT id FROM feedback WHERE skill = ? ORDER BY {_FIRST} LIMIT -1 OFFSET ?)",
                (key, KEPT),
            )
        return not known or bool(known[1]) is not fits

    def forget(self, *skills: str, message: str | None = None) -> int:
        """Delete the feedback on a message, or all feedback on the skills; return the number of remarks."""
        if self.state.existing() is None:
            return 0
        normal = None if message is None else normalised(kept(message))
        query = "DELETE FROM feedback WHERE skill = ? AND (? IS NULL OR normal = ?)"
        with self.state.write() as connection:
            return sum([connection.execute(query, (_stored(skill), normal, normal)).rowcount for skill in skills])

    def move(self, old: SkillId, new: SkillId, names: Sequence[str] = ()) -> None:
        """Move the feedback on a skill to its new id; feedback that is already there takes precedence."""
        if self.state.existing() is None:
            return
        with self.state.write() as connection:
            self._take_over(connection, str(new), (str(old), *names))

    def _take_over(self, connection: sqlite3.Connection, skill: str, others: Iterable[str]) -> None:
        for known in map(_plain, others):
            connection.execute("UPDATE OR IGNORE feedback SET skill = ? WHERE skill = ?", (skill, known))
            connection.execute("DELETE FROM feedback WHERE skill = ?", (known,))

    def examples(self, *skills: str) -> Examples:
        """Return the examples and counterexamples of a skill: those from people first, then the newest.

        A skill may have several keys: its id, and its name in feedback of an older Whet.
        """
        marks = ", ".join("?" * len(skills))
        query = f"SELECT message FROM feedback WHERE skill IN ({marks}) AND fits = ? ORDER BY {_FIRST} LIMIT ?"  # noqa: S608  ours
        keys = [*map(_stored, skills)]
        found = (self.state.read(query, (*keys, fits, MOST)) for fits in (True, False))
        return Examples(*(tuple(dict.fromkeys(row[0] for row in rows)) for rows in found))

    def is_unwanted(self, message: str) -> bool:
        """Return whether feedback says that this message, or a similar one, should trigger no skill."""
        unwanted = self.examples(NO_SKILL).counterexamples
        if not unwanted:
            return False
        query = "SELECT skill FROM feedback WHERE normal = ? AND (fits OR skill = ?)"
        exactly = [row[0] for row in self.state.read(query, (normalised(kept(message)), NO_SKILL))]
        return NO_SKILL in exactly if exactly else much_like(message[:LONGEST], unwanted)

    def all_marks(self) -> dict[str, str]:
        """Return for each skill with feedback, by key, a text that changes whenever its feedback does."""
        rows = self.state.read(
            "SELECT skill, COUNT(*), MAX(id), SUM(id), SUM(LENGTH(message)) FROM feedback GROUP BY skill"
        )
        return {row[0]: "-".join(map(str, row[1:])) for row in rows}

    def entries(self, *skills: str) -> tuple[Remark, ...]:
        """Return all remarks, or those on some skills, newest first."""
        rows = self.state.read(f"SELECT {_COLUMNS} FROM feedback ORDER BY id DESC")  # noqa: S608  columns are ours
        keys = {*map(_stored, skills)}
        return tuple(
            Remark(time, name, message, bool(fits), origin)
            for time, name, message, fits, origin in rows
            if not skills or name in keys
        )


def much_like(message: str, others: Iterable[str]) -> bool:
    """Return whether one of these messages is similar to this one."""
    own = {*terms(message)}
    for other in others:
        known = {*terms(other)}
        if len(own & known) >= _ALIKE * max(len(own), len(known), 1) or message == other:
            return True
    return False


def kept(message: str) -> str:
    """Return a message as it is stored: without secrets, and shortened."""
    from whet.guard.secrets.hide import hide_secrets

    return _plain(hide_secrets(message.strip()[: 2 * LONGEST])[0][:LONGEST].strip())


def normalised(message: str) -> str:
    """Return a message without differences in case, spacing and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", message).casefold().split())


def _stored(skill: str) -> str:
    """Return the stored key of a skill: its id, or the key of a bare name."""
    return _plain(skill if "/" in skill else name_key(skill))


def _plain(text: str) -> str:
    """Return the text without characters that a database cannot store."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


class Noted(NamedTuple):
    """A stored remark, and the number of examples of its skill."""

    name: str | None
    """None for messages that should trigger no skill."""
    fits: bool
    changed: bool
    """Whether the remark is new."""
    examples: int
    counterexamples: int
    notes: tuple[Note, ...] = ()

    def to_json(self) -> Json:
        """Return the remark as JSON."""
        return answer_json(self)


class Remarks(NamedTuple):
    """All remarks, newest first."""

    feedback: tuple[Remark, ...]

    def to_json(self) -> Json:
        """Return the remarks as JSON."""
        return {**answer_json(self), "count": len(self.feedback)}


class Forgotten(NamedTuple):
    """The number of deleted remarks, and of those that are left."""

    name: str | None
    forgotten: int
    examples: int
    counterexamples: int

    def to_json(self) -> Json:
        """Return the value as JSON."""
        return answer_json(self)


def give(
    feedback: Feedback, workspace: Workspace, name: str | None, message: str, *, fits: bool, origin: str = "person"
) -> Noted:
    """Record that a message is, or is not, for a skill; without a name, that it is for no skill.

    Raises NotFoundError, UsageError, FailedError.
    """
    keys: Sequence[str]
    if name is None:
        if fits:
            message = "Feedback that a message fits needs the name of the skill."
            raise UsageError("skill-not-named", message, hint="Pass the name; without one, the message fits no skill.")
        changed = feedback.record(NO_SKILL, message, fits=False, origin=origin)
        told, keys, notes = None, (NO_SKILL,), []
    else:
        card, config = workspace.find(name)
        changed = feedback.record(str(card.id), message, fits=fits, origin=origin, names=card.known_as[1:])
        told, keys = card.full_name, card.known_as[:2]
        notes = [_silent(card, reason)] if (reason := hidden(card, MODEL, config.disabled, config.probe)) else []
    return Noted(told, fits, changed, *_counts(feedback, keys), tuple(notes))


def listed(feedback: Feedback, workspace: Workspace, name: str | None = None) -> Remarks:
    """Return the remarks on a skill, or on all skills, newest first; the skill may no longer exist.

    The name "" stands for messages that should trigger no skill; their `skill` is None.
    """
    remarks = feedback.entries(*(() if name is None else _keys(feedback, workspace, name)))
    names = {key: card.full_name for card in workspace.snapshot().catalogue.cards for key in card.known_as[:2]}
    keys = (item.skill or NO_SKILL for item in remarks)
    shown = (names.get(key) or key.rpartition("/")[2] or None for key in keys)
    return Remarks(tuple(item._replace(skill=skill) for item, skill in zip(remarks, shown, strict=True)))


def forget(feedback: Feedback, workspace: Workspace, name: str | None, message: str | None = None) -> Forgotten:
    """Delete the feedback on a message, or all feedback on a skill; the skill may no longer exist.

    Without a name, the feedback on messages that should trigger no skill is meant.
    """
    keys = (NO_SKILL,) if name is None else _keys(feedback, workspace, name)
    forgotten = feedback.forget(*keys, message=message)
    if message is not None and not forgotten:
        hint = f"`whet learn feedback {name or '--none'} --list` shows the feedback there is."
        about = f"this message and {name}" if name else "this message and no skill"
        raise NotFoundError("no-such-feedback", f"There is no feedback on {about}.", hint=hint)
    return Forgotten(name, forgotten, *_counts(feedback, keys))


def _silent(card: Card, reason: Note) -> Note:
    """Return a note that feedback has little effect, because the skill never triggers automatically."""
    message = f"{card.full_name} never triggers automatically, whatever the feedback: {reason.message}"
    return Note(reason.code, "info", message, reason.hint, skill=card.full_name, path=card.path)


def _keys(feedback: Feedback, workspace: Workspace, name: str) -> Sequence[str]:
    """Return the feedback keys of a skill. Raises NotFoundError if it neither exists nor has feedback."""
    if name == NO_SKILL:
        return (NO_SKILL,)
    try:
        return workspace.find(name)[0].known_as[:2]
    except WhetError:
        own = name_key(name)
        known = [skill for skill in feedback.all_marks() if own in (skill, name_key(skill.rpartition("/")[2]))]
        if not known:
            raise
        return known


def _counts(feedback: Feedback, keys: Sequence[str]) -> tuple[int, int]:
    known = feedback.examples(*keys)
    return len(known.examples), len(known.counterexamples)
