"""The hub's log of all its acts, in its database: appended in the transaction of the act, never changed.

An entry is one line of JSON. Acts about a private skill are hidden: the entry has only the kind of act, its time, and
the SHA-256 of a random salt followed by the full act. Callers who may see the skill also get salt and act, and can
check that they match the entry.

Every change first locks the row of the log's head, so that the changes of all hubs on one database happen one after the
other, and the log has them in that order.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, NotFoundError
from whet.sources.transparency import (
    EMPTY_ROOT,
    Checkpoint,
    LogKey,
    Proof,
    Tree,
    completed_nodes,
    diverged,
    hash_leaf,
    is_origin,
    sign_checkpoint,
    write_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from whet.hub.database import Database, Transaction
    from whet.values import Json

TILE = 256
"""Hashes or entries of one tile."""
MOST_ENTRY = 65_535
"""Largest entry in bytes: bundles give its length in two bytes."""


class Logged(NamedTuple):
    """An appended entry."""

    number: int
    entry: str
    proof: str
    """Text for `whet.sources.transparency.Proof`."""
    hidden: Hidden | None = None

    def to_json(self) -> Json:
        """Return the entry for the text of a version."""
        opened = {} if self.hidden is None else self.hidden.to_json()
        return {"index": self.number, "entry": self.entry, "proof": self.proof, **opened}


class Hidden(NamedTuple):
    """An act that its entry does not show."""

    salt: bytes
    act: str

    @property
    def hash(self) -> str:
        """The hash in the entry instead of the act."""
        return hashlib.sha256(self.salt + self.act.encode()).hexdigest()

    def to_json(self) -> Json:
        """Return the act and the salt, which reveal the entry."""
        return {"act": self.act, "salt": self.salt.hex()}


class Change(NamedTuple):
    """An entry, with the owner and name of its skill; both "" if it is not about a skill."""

    number: int
    owner: str
    name: str
    entry: str
    hidden: Hidden | None


class HubLog:
    """The log of one hub."""

    def __init__(self, database: Database, origin: str, key: Ed25519PrivateKey) -> None:
        if not is_origin(origin):
            raise FailedError("bad-log-name", f"{origin!r} cannot be the name of a log.", hint="Use a host name.")
        self._database = database
        self._key = key
        self.origin = origin
        self.public_key = LogKey(origin, key.public_key().public_bytes_raw())
        database.write(self._begin)

    def _begin(self, transaction: Transaction) -> None:
        empty = sign_checkpoint(Checkpoint(self.origin, 0, EMPTY_ROOT), self._key)
        transaction.run("INSERT INTO log_head VALUES (1, 0, ?) ON CONFLICT (id) DO NOTHING", empty)

    def lock(self, transaction: Transaction) -> int:
        """Block other changes until this transaction ends; return the number of the next entry."""
        sql = "SELECT size FROM log_head WHERE id = 1" + self._database.for_update  # noqa: S608  a constant
        size: int = transaction.get(sql)[0]
        return size

    def append(self, transaction: Transaction, owner: str, name: str, act: Json, *, hidden: bool = False) -> Logged:
        """Append an act in the transaction that carries it out; hidden if the skill is private at this moment."""
        entry, full = write_entry(act), None
        if hidden or (name and _is_private(transaction, owner, name)):
            full = Hidden(os.urandom(16), entry)
            entry = write_entry({"act": act["act"], "hidden": full.hash, "time": act["time"]})
        data = entry.encode()
        if len(data) > MOST_ENTRY:
            raise FailedError("entry-too-large", "The act is too large for the log.", hint="Shorten its reason.")
        number = self.lock(transaction)
        node = _reader(transaction)
        for level, at, value in completed_nodes(number, hash_leaf(data), node):
            transaction.run("INSERT INTO log_nodes VALUES (?, ?, ?)", level, at, value)
        tree = Tree(number + 1, node)
        checkpoint = sign_checkpoint(Checkpoint(self.origin, number + 1, tree.root()), self._key)
        transaction.run("INSERT INTO log_entries VALUES (?, ?, ?, ?)", number, owner, name, entry)
        if full:
            transaction.run("INSERT INTO log_hidden VALUES (?, ?, ?)", number, full.salt, full.act)
        transaction.run("UPDATE log_head SET size = ?, checkpoint = ? WHERE id = 1", number + 1, checkpoint)
        return Logged(number, entry, str(Proof(number, tuple(tree.prove_inclusion(number)), checkpoint)), full)

    # reading

    def checkpoint(self) -> str:
        """Return the newest signed checkpoint."""
        text: str = self._database.read(lambda found: found.get("SELECT checkpoint FROM log_head WHERE id = 1"))[0]
        return text

    def size(self) -> int:
        """Return the number of entries."""
        return self._database.read(_head)[0]

    def prove(self, number: int) -> str:
        """Return the proof that an entry is in the log, under the newest checkpoint."""

        def ask(transaction: Transaction) -> str:
            size, checkpoint = _head(transaction)
            if not 0 <= number < size:
                raise NotFoundError("entry-not-found", f"The log has no entry {number}.", hint=f"It has {size}.")
            return str(Proof(number, tuple(Tree(size, _reader(transaction)).prove_inclusion(number)), checkpoint))

        return self._database.read(ask)

    def prove_consistency(self, old: int, new: int | None = None) -> tuple[str, list[bytes]]:
        """Return the newest checkpoint, and the proof that the log of `old` entries is a prefix of that of `new`.

        Without `new`, of the log of the newest checkpoint.
        """

        def ask(transaction: Transaction) -> tuple[str, list[bytes]]:
            size, checkpoint = _head(transaction)
            end = size if new is None else new
            if not 0 <= old <= end <= size:
                wrong = old if old > size else end
                raise NotFoundError("entry-not-found", f"The log never had {wrong} entries.", hint=f"It has {size}.")
            return checkpoint, Tree(end, _reader(transaction)).prove_consistency(old)

        return self._database.read(ask)

    def entries(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Return entries in order, from number `after` on."""
        sql = "SELECT number, entry FROM log_entries WHERE number >= ? ORDER BY number LIMIT ?"
        return [(row[0], row[1]) for row in self._database.read(lambda found: found.all(sql, after, limit))]

    def changes(self, after: int, limit: int) -> list[Change]:
        """Return entries in order, with their skills and hidden acts."""
        sql = """SELECT e.number, e.owner, e.name, e.entry, h.salt, h.act
            FROM log_entries e LEFT JOIN log_hidden h ON h.number = e.number
            WHERE e.number >= ? ORDER BY e.number LIMIT ?"""
        rows = self._database.read(lambda found: found.all(sql, after, limit))
        return [
            Change(number, owner, name, entry, Hidden(bytes(salt), act) if act else None)
            for number, owner, name, entry, salt, act in rows
        ]

    def tile(self, level: int, number: int, width: int = TILE) -> bytes:
        """Return the hashes of one tile: `TILE` of them, or the first `width` of an incomplete tile."""
        sql = "SELECT hash FROM log_nodes WHERE level = ? AND number >= ? AND number < ? ORDER BY number"
        first = number * TILE
        rows = self._database.read(lambda found: found.all(sql, 8 * level, first, first + width))
        if len(rows) < width:
            raise NotFoundError("tile-not-found", "The log has no such tile.", hint="The checkpoint gives its size.")
        return b"".join(bytes(row[0]) for row in rows)

    def bundle(self, number: int, width: int = TILE) -> bytes:
        """Return the entries below one tile of level 0, each after its length in two bytes."""
        found = self.entries(number * TILE, width)
        if len(found) < width:
            raise NotFoundError("tile-not-found", "The log has no such tile.", hint="The checkpoint gives its size.")
        data = (entry.encode() for _, entry in found)
        return b"".join(len(each).to_bytes(2, "big") + each for each in data)

    def check_past(self, checkpoint: Checkpoint) -> None:
        """Raise InvalidError `log-diverged` unless the log had this root at this size."""

        def ask(transaction: Transaction) -> bytes:
            size = checkpoint.size
            return Tree(size, _reader(transaction)).root() if size <= _head(transaction)[0] else b""

        if self._database.read(ask) != checkpoint.root:
            raise diverged(f"it never had this checkpoint of {checkpoint.size} entries")

    def verify(self) -> int:
        """Check the whole log; return the number of entries. Raise FailedError `log-damaged`."""
        from whet.sources.transparency import read_checkpoint

        def ask(transaction: Transaction) -> int:
            size, note = _head(transaction)
            checkpoint = read_checkpoint(note, self.public_key)
            nodes: dict[tuple[int, int], bytes] = {}
            for number, (at, entry) in enumerate(
                transaction.all("SELECT number, entry FROM log_entries ORDER BY number")
            ):
                if at != number:
                    raise _damaged(f"entry {number} is missing")
                for level, place, value in completed_nodes(
                    number, hash_leaf(entry.encode()), lambda *node: nodes[node]
                ):
                    nodes[level, place] = value
            kept = {(row[0], row[1]): bytes(row[2]) for row in transaction.all("SELECT * FROM log_nodes")}
            if kept != nodes:
                raise _damaged("its entries do not have the hashes that were written down")
            sql = "SELECT e.entry, h.salt, h.act FROM log_hidden h JOIN log_entries e ON e.number = h.number"
            for entry, salt, act in transaction.all(sql):
                if json.loads(entry)["hidden"] != Hidden(bytes(salt), act).hash:
                    raise _damaged("a hidden act is not the one that was logged")
            if checkpoint.size != size or Tree(size, lambda *node: nodes[node]).root() != checkpoint.root:
                raise _damaged("its checkpoint is about another log")
            return size

        return self._database.read(ask)


def _is_private(transaction: Transaction, owner: str, name: str) -> bool:
    sql = "SELECT s.private FROM skills s JOIN owners o ON s.owner = o.id WHERE o.name = ? AND s.name = ?"
    row = transaction.one(sql, owner, name)
    return row is not None and bool(row[0])


def _head(transaction: Transaction) -> tuple[int, str]:
    size, checkpoint = transaction.get("SELECT size, checkpoint FROM log_head WHERE id = 1")
    return size, checkpoint


def _reader(transaction: Transaction) -> Callable[[int, int], bytes]:
    def node(level: int, number: int) -> bytes:
        row = transaction.one("SELECT hash FROM log_nodes WHERE level = ? AND number = ?", level, number)
        if row is None:
            raise _damaged(f"node {number} of level {level} is missing")
        return bytes(row[0])

    return node


def _damaged(why: str) -> FailedError:
    hint = "Restore the hub from a backup; `whet hub verify` shows whether it is whole."
    return FailedError("log-damaged", f"The log is damaged: {why}.", hint=hint)
