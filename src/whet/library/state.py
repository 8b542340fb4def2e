"""What was decided about skills: trusted repositories and directories, disabled and blocked skills.

Reading never creates the state database; the first decision does. A damaged one is an error, not an empty one:
forgetting that a skill was disabled would offer it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.library.skill_id import SkillId
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase
    from whet.values import Json


class Trusted(NamedTuple):
    """A repository whose skills may be loaded, or a directory that links may lead into."""

    identity: str
    """What a repository is known by (`whet.library.repository`); of a directory, where it really is."""
    path: str
    since: int

    def to_json(self) -> Json:
        """The repository as JSON carries it."""
        return {**self._asdict(), "since": iso(self.since)}


class Decisions:
    """What the user decided."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock

    def trusted(self) -> tuple[Trusted, ...]:
        """Every repository and directory the user trusts."""
        rows = self.state.read("SELECT identity, path, since FROM trusted ORDER BY path")
        return tuple(Trusted(text_of(identity), text_of(path), since) for identity, path, since in rows)

    def trust(self, identity: str, path: str) -> bool:
        """Trust a repository or a directory; False when it already was."""
        with self.state.write() as connection:
            return bool(
                connection.execute(
                    "INSERT OR IGNORE INTO trusted VALUES (?, ?, ?)", (identity, path, self._clock())
                ).rowcount
            )

    def untrust(self, identity: str) -> bool:
        """Take trust back; False when there was none."""
        if self.state.existing() is None:
            return False
        with self.state.write() as connection:
            return bool(connection.execute("DELETE FROM trusted WHERE identity = ?", (identity,)).rowcount)

    def recall(self) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
        """What is switched off, and the identities of all that is trusted.

        Skills are switched off by their ids, all of a name by its key, on one surface or, with "", on all.
        """
        query = "SELECT name, surface FROM disabled UNION ALL SELECT identity, NULL FROM trusted"
        rows = self.state.read(query)
        off = ((text_of(name), text_of(surface)) for name, surface in rows if surface is not None)
        return frozenset(off), frozenset(text_of(identity) for identity, surface in rows if surface is None)

    def disabled(self) -> frozenset[tuple[str, str]]:
        """What is switched off, and on which surface."""
        return self.recall()[0]

    def disable(self, name: str, surface: str = "") -> bool:
        """Switch a skill off; False when it already was."""
        with self.state.write() as connection:
            return bool(
                connection.execute(
                    "INSERT OR IGNORE INTO disabled VALUES (?, ?, ?)", (name, surface, self._clock())
                ).rowcount
            )

    def enable(self, name: str, surface: str = "") -> bool:
        """Switch a skill on again, on one surface or on all of them; False when it was on."""
        if self.state.existing() is None:
            return False
        query = "DELETE FROM disabled WHERE name = ? AND ? IN ('', surface)"
        with self.state.write() as connection:
            return bool(connection.execute(query, (name, surface)).rowcount)

    def move(self, old: SkillId, new: SkillId, names: Sequence[str] = ()) -> None:
        """Keep what was decided about a skill that lies elsewhere now; `names` are those it had.

        What is switched off by a name stays so for others of that name.
        """
        if self.state.existing() is None:
            return
        with self.state.write() as connection:
            for known in (str(old), *names):
                query = "INSERT OR IGNORE INTO disabled SELECT ?, surface, since FROM disabled WHERE name = ?"
                connection.execute(query, (str(new), known))
            connection.execute("DELETE FROM disabled WHERE name = ?", (str(old),))
            connection.execute("UPDATE OR REPLACE blocked SET path = ? WHERE path = ?", (str(new), str(old)))

    def blocked(self) -> dict[str, str]:
        """The skills of repositories that the guard keeps back, and why: by id, those of an older Whet by main file."""
        rows = self.state.read("SELECT path, reason FROM blocked")
        return {text_of(path): text_of(reason) for path, reason in rows}

    def block(self, skill: str, reason: str) -> bool:
        """Keep a skill back; False when it was for this reason."""
        query = (
            "INSERT INTO blocked VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE SET reason = excluded.reason, "
            "since = excluded.since WHERE reason <> excluded.reason"
        )
        with self.state.write() as connection:
            return bool(connection.execute(query, (skill, reason, self._clock())).rowcount)

    def unblock(self, *skills: str) -> bool:
        """Let a skill be, under whatever it is known; False when it was not kept back."""
        known = self.blocked().keys() & {*skills}
        if not known:
            return False
        with self.state.write() as connection:
            return sum([connection.execute("DELETE FROM blocked WHERE path = ?", (one,)).rowcount for one in known]) > 0


def text_of(value: object) -> str:
    """A column as text, which after a flipped bit it may not be: one odd row must not keep the others from counting."""
    return value if isinstance(value, str) else repr(value)
