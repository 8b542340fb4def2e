"""What people and agents said about which skill a message is for: durable, and read by every later search.

A message that a skill was right for becomes an example of it, one that it was wrong for a counterexample. Feedback
belongs to the name of a skill (`whet.skill.names.key`), so that it outlives moves, updates and a skill that is deleted
and comes back. Of several remarks about the same message the latest counts, except that neither an agent nor a hook
overrules a person. A message that no skill should come up for is kept under the name "": it is a counterexample of all
of them. Secrets are hidden before anything is written.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from whet.errors import UsageError
from whet.routing.messages import checked, much_like
from whet.skill.names import key as name_key
from whet.store.clock import iso

if TYPE_CHECKING:
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

NO_SKILL = ""
"""What stands in place of a skill for messages that no skill should come up for."""
Origin: TypeAlias = Literal["person", "agent", "hook"]
ORIGINS: tuple[str, ...] = get_args(Origin)
MOST = 50
"""Examples, and counterexamples, that count for one skill."""
LONGEST = 2_000
"""Characters of a message that are kept."""
KEPT = 1_000
"""Remarks about one skill that are kept."""
_COLUMNS = "time, skill, message, fits, origin"
_FIRST = "origin = 'person' DESC, id DESC"


class Remark(NamedTuple):
    """What was said about one message."""

    time: int
    skill: str
    """The key of its name."""
    message: str
    fits: bool
    origin: str

    def to_json(self) -> dict[str, Any]:
        """The remark as every surface answers it."""
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

    def record(self, skill: str, message: str, *, fits: bool, origin: str = "person") -> bool:
        """Keep a remark about a skill, given by its name; whether it says anything new. Raises UsageError, FailedError.

        It is on the disk when this returns.
        """
        if origin not in ORIGINS:
            raise UsageError("bad-origin", f"{origin!r} is no origin.", hint=f"Say one of {', '.join(ORIGINS)}.")
        text = kept(checked(message))
        key, normal = _plain(name_key(skill)), normalised(text)
        with self.state.write() as connection:
            known = connection.execute(
                "SELECT id, fits, origin FROM feedback WHERE skill = ? AND normal = ?", (key, normal)
            ).fetchone()
            if known and known[2] == "person" and origin != "person":
                return False
            if known and (bool(known[1]), known[2]) == (fits, origin):
                connection.execute("UPDATE feedback SET time = ? WHERE id = ?", (self._clock(), known[0]))
                return False
            if known:  # deleted and added, not updated: it gets a new number, by which a change is noticed
                connection.execute("DELETE FROM feedback WHERE id = ?", (known[0],))
            connection.execute(
                "INSERT INTO feedback (time, skill, message, normal, fits, origin) VALUES (?, ?, ?, ?, ?, ?)",
                (self._clock(), key, text, normal, fits, origin),
            )
            if fits:  # the latest word counts: it is for a skill after all
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

    def forget(self, skill: str, message: str | None = None) -> int:
        """Drop what was said about a message, or about a skill altogether; how many remarks that were."""
        if self.state.existing() is None:
            return 0
        key = _plain(name_key(skill))
        with self.state.write() as connection:
            if message is None:
                return connection.execute("DELETE FROM feedback WHERE skill = ?", (key,)).rowcount
            normal = normalised(kept(message))
            return connection.execute("DELETE FROM feedback WHERE skill = ? AND normal = ?", (key, normal)).rowcount

    def rename(self, old: str, new: str) -> None:
        """Give what was said about one skill to another; where something was said about both, that one's counts."""
        if self.state.existing() is None:
            return
        names = _plain(name_key(new)), _plain(name_key(old))
        with self.state.write() as connection:
            connection.execute("UPDATE OR IGNORE feedback SET skill = ? WHERE skill = ?", names)
            connection.execute("DELETE FROM feedback WHERE skill = ? AND ? <> skill", (names[1], names[0]))

    def examples(self, skill: str) -> Examples:
        """Messages that a skill is for, and that it is not for: those from people before others, then the newest."""
        query = f"SELECT message FROM feedback WHERE skill = ? AND fits = ? ORDER BY {_FIRST} LIMIT ?"  # noqa: S608  ours
        key = _plain(name_key(skill))
        return Examples(*(tuple(row[0] for row in self.state.read(query, (key, fits, MOST))) for fits in (True, False)))

    def is_unwanted(self, message: str) -> bool:
        """Did somebody say that no skill should come up for this message, or one much like it?"""
        unwanted = self.examples(NO_SKILL).counterexamples
        if not unwanted:
            return False
        query = "SELECT skill FROM feedback WHERE normal = ? AND (fits OR skill = ?)"
        exactly = [row[0] for row in self.state.read(query, (normalised(kept(message)), NO_SKILL))]
        return NO_SKILL in exactly if exactly else much_like(message[:LONGEST], unwanted)

    def all_marks(self) -> dict[str, str]:
        """Every skill that has feedback, by its key, with a text that changes whenever its feedback does."""
        rows = self.state.read(
            "SELECT skill, COUNT(*), MAX(id), SUM(id), SUM(LENGTH(message)) FROM feedback GROUP BY skill"
        )
        return {row[0]: "-".join(map(str, row[1:])) for row in rows}

    def entries(self, skill: str | None = None) -> tuple[Remark, ...]:
        """Every remark, or those about one skill, the newest first."""
        key = None if skill is None else _plain(name_key(skill))
        query = f"SELECT {_COLUMNS} FROM feedback WHERE ? IS NULL OR skill = ? ORDER BY id DESC"  # noqa: S608  columns are ours
        rows = self.state.read(query, (key, key))
        return tuple(Remark(time, name, message, bool(fits), origin) for time, name, message, fits, origin in rows)


def kept(message: str) -> str:
    """A message as it is kept: without secrets, in a length that is read."""
    from whet.guard.secrets.redact import redact

    return _plain(redact(message.strip()[: 2 * LONGEST])[:LONGEST].strip())


def normalised(message: str) -> str:
    """What two spellings of one message have in common."""
    return " ".join(unicodedata.normalize("NFKC", message).casefold().split())


def _plain(text: str) -> str:
    """The text as a database can hold it."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
