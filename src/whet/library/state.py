"""Decisions about skills: trusted repositories and directories, disabled and blocked skills, listing modes, pins, and
the bundle of a project.

Reading never creates the state database; the first decision does. A damaged database is an error, not an empty one:
forgetting that a skill was disabled would offer it again.
"""

from __future__ import annotations

from whet.records import NamedTuple
from whet.store.clock import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.library.skill_id import SkillId
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase
    from whet.values import Json


class Trusted(NamedTuple):
    """A repository whose skills may be loaded, or a directory that links may lead into."""

    identity: str
    """The identity of a repository (`whet.library.repository`), or the resolved path of a directory."""
    path: str
    since: int

    def to_json(self) -> Json:
        """Return the repository as JSON."""
        return {**self._asdict(), "since": iso(self.since)}


class Recalled(NamedTuple):
    """The decisions that are needed before any skill is read."""

    disabled: frozenset[tuple[str, str]] = frozenset()
    """Disabled skills, by id or by the key of a name, and the surface; "" for all surfaces."""
    trusted: frozenset[str] = frozenset()
    """The identities of everything trusted."""
    listed: tuple[tuple[str, str, str], ...] = ()
    """The id of a skill, the identity of a project or "" for everywhere, and the listing mode there."""
    in_use: tuple[tuple[str, str], ...] = ()
    """The identity of a project and the bundle that it uses."""
    blocked: tuple[tuple[str, Blocked], ...] = ()
    """The skills that the guard blocks: by id, or by main file if an older Whet blocked them."""


class Blocked(NamedTuple):
    """The reason why the guard blocks a skill."""

    reason: str
    verdict: str = ""
    """The verdict of the scan; "" if an older Whet decided."""
    stamp: str = ""
    """The `whet.library.card.card_stamp` of the scanned content; "" if it has to be scanned again."""


class TrustedKey(NamedTuple):
    """A key of another person whose signatures are trusted."""

    key: str
    """The form of `whet.skill.signature.PublicKey`."""
    name: str
    """The user's name for its holder."""
    since: int


class Decisions:
    """The user's decisions."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self.clock = clock

    def trusted(self) -> tuple[Trusted, ...]:
        """Return the repositories and directories that the user trusts."""
        rows = self.state.read("SELECT identity, path, since FROM trusted ORDER BY path")
        return tuple(Trusted(text_of(identity), text_of(path), since) for identity, path, since in rows)

    def trust(self, identity: str, path: str) -> bool:
        """Trust a repository or a directory; return False if it was already trusted."""
        with self.state.write() as connection:
            return bool(
                connection.execute(
                    "INSERT OR IGNORE INTO trusted VALUES (?, ?, ?)", (identity, path, self.clock())
                ).rowcount
            )

    def untrust(self, identity: str) -> bool:
        """Revoke trust; return False if there was none."""
        if self.state.existing() is None:
            return False
        with self.state.write() as connection:
            return bool(connection.execute("DELETE FROM trusted WHERE identity = ?", (identity,)).rowcount)

    def trusted_keys(self) -> tuple[TrustedKey, ...]:
        """Return the keys of other people whose signatures are trusted."""
        rows = self.state.read("SELECT key, name, since FROM trusted_keys ORDER BY name, key")
        return tuple(TrustedKey(text_of(key), text_of(name), since) for key, name, since in rows)

    def trust_key(self, key: str, name: str) -> bool:
        """Trust a key; return False if it was already trusted under this name."""
        row = (key, name, self.clock())
        with self.state.write() as connection:
            sql = (
                "INSERT INTO trusted_keys VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET name = excluded.name WHERE name != excluded.name"
            )
            return bool(connection.execute(sql, row).rowcount)

    def untrust_key(self, key: str) -> bool:
        """Stop trusting a key, or the key of a name; return False if it was not trusted."""
        if self.state.existing() is None:
            return False
        with self.state.write() as connection:
            return bool(connection.execute("DELETE FROM trusted_keys WHERE ? IN (key, name)", (key,)).rowcount)

    def recall(self) -> Recalled:
        """Return all decisions that are needed before any skill is read, with one query."""
        query = (
            "SELECT 0, name, surface, '', '' FROM disabled UNION ALL SELECT 1, identity, '', '', '' FROM trusted "
            "UNION ALL SELECT 2, name, project, mode, '' FROM listed "
            "UNION ALL SELECT 3, project, bundle, '', '' FROM in_use "
            "UNION ALL SELECT 4, path, reason, verdict, stamp FROM blocked"
        )
        rows = [(kind, *map(text_of, row)) for kind, *row in self.state.recall(query)]
        return Recalled(
            frozenset((name, surface) for kind, name, surface, *_ in rows if kind == 0),
            frozenset(identity for kind, identity, *_ in rows if kind == 1),
            tuple((name, project, mode) for kind, name, project, mode, _ in rows if kind == 2),
            tuple((project, bundle) for kind, project, bundle, *_ in rows if kind == 3),
            tuple((path, Blocked(*why)) for kind, path, *why in rows if kind == 4),
        )

    def disabled(self) -> frozenset[tuple[str, str]]:
        """Return the disabled skills, and the surface of each."""
        return self.recall().disabled

    def list_as(self, name: str, mode: str, project: str = "") -> None:
        """Set how a skill is listed, everywhere or in one project."""
        with self.state.write() as connection:
            connection.execute("REPLACE INTO listed VALUES (?, ?, ?, ?)", (name, project, mode, self.clock()))

    def use(self, project: str, bundle: str | None) -> bool:
        """Offer only the skills of a bundle in a project ("": all skills; None: as the settings say).

        Returns whether this changed the decision.
        """
        if dict(self.recall().in_use).get(project) == bundle:
            return False
        with self.state.write() as connection:
            connection.execute("DELETE FROM in_use WHERE project = ?", (project,))
            if bundle is not None:
                connection.execute("INSERT INTO in_use VALUES (?, ?, ?)", (project, bundle, self.clock()))
        return True

    def disable(self, name: str, surface: str = "") -> bool:
        """Disable a skill; return False if it was already disabled."""
        with self.state.write() as connection:
            return bool(
                connection.execute(
                    "INSERT OR IGNORE INTO disabled VALUES (?, ?, ?)", (name, surface, self.clock())
                ).rowcount
            )

    def enable(self, name: str, surface: str = "") -> bool:
        """Enable a skill on one surface or on all of them; return False if it was enabled."""
        if self.state.existing() is None:
            return False
        query = "DELETE FROM disabled WHERE name = ? AND ? IN ('', surface)"
        with self.state.write() as connection:
            return bool(connection.execute(query, (name, surface)).rowcount)

    def move(self, old: SkillId, new: SkillId, names: Sequence[str] = ()) -> None:
        """Keep the decisions about a skill that has moved; `names` are its former names.

        Decisions by name also stay in force for other skills of that name.
        """
        if self.state.existing() is None:
            return
        with self.state.write() as connection:
            for table, columns in (("disabled", "surface, since"), ("pins", "reason, since")):
                for known in (str(old), *names):
                    query = f"INSERT OR IGNORE INTO {table} SELECT ?, {columns} FROM {table} WHERE name = ?"  # noqa: S608  ours
                    connection.execute(query, (str(new), known))
                connection.execute(f"DELETE FROM {table} WHERE name = ?", (str(old),))  # noqa: S608  ours
            connection.execute("UPDATE OR REPLACE listed SET name = ? WHERE name = ?", (str(new), str(old)))
            connection.execute("UPDATE OR REPLACE blocked SET path = ? WHERE path = ?", (str(new), str(old)))

    def pins(self) -> dict[str, str]:
        """Return the reasons of pins, by the ids of skills, or by name keys if an older Whet pinned them."""
        rows = self.state.read("SELECT name, reason FROM pins ORDER BY name")
        return {text_of(name): text_of(reason) for name, reason in rows}

    def pin(self, skill: str, reason: str = "") -> None:
        """Pin a skill, given by its id. The reason replaces the old one."""
        query = "INSERT INTO pins VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET reason = excluded.reason"
        with self.state.write() as connection:
            connection.execute(query, (skill, reason.encode("utf-8", "replace").decode(), self.clock()))

    def unpin(self, *skills: str) -> bool:
        """Remove pins, given by ids or keys of names; return False if there was none."""
        if self.state.existing() is None:
            return False
        with self.state.write() as connection:
            query = "DELETE FROM pins WHERE name = ?"
            return sum([connection.execute(query, (skill,)).rowcount for skill in skills]) > 0

    def blocked(self) -> dict[str, Blocked]:
        """Return the skills that the guard blocks, with the reasons: by id, or by main file from an older Whet."""
        return dict(self.recall().blocked)

    def block(self, skill: str, why: Blocked) -> bool:
        """Block a skill; return False if it was already blocked for the same reason."""
        if self.blocked().get(skill) == why:
            return False
        query = "REPLACE INTO blocked (path, reason, verdict, stamp, since) VALUES (?, ?, ?, ?, ?)"
        with self.state.write() as connection:
            connection.execute(query, (skill, *why, self.clock()))
        return True

    def unblock(self, *skills: str) -> bool:
        """Unblock a skill, under any of its names; return False if it was not blocked."""
        known = self.blocked().keys() & {*skills}
        if not known:
            return False
        with self.state.write() as connection:
            return sum([connection.execute("DELETE FROM blocked WHERE path = ?", (one,)).rowcount for one in known]) > 0


def text_of(value: object) -> str:
    """Return a column as text, which it may not be in a damaged row: one odd row must not hide the others."""
    return value if isinstance(value, str) else repr(value)
