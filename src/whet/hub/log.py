"""The hub's log of everything it did, in its database: appended in the transaction of the act, never changed.

An entry is one line of JSON. The row of the log's head is taken first by every change, so that changes of any number of
hubs on one database come one after the other, and the log holds them in that order.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError, NotFoundError
from whet.sources.transparency import (
    EMPTY_ROOT,
    Checkpoint,
    LogKey,
    Proof,
    Tree,
    completed_nodes,
    hash_leaf,
    is_origin,
    sign_checkpoint,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from whet.hub.database import Database, Transaction

TILE = 256
"""Hashes or entries of one tile."""
MOST_ENTRY = 65_535
"""Bytes of an entry: bundles give its length in two bytes."""


class Logged(NamedTuple):
    """An entry that was appended."""

    number: int
    entry: str
    proof: str
    """As `whet.sources.transparency.Proof` reads it."""


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
        """Keep other changes waiting until this transaction ends; the number of the next entry."""
        sql = "SELECT size FROM log_head WHERE id = 1" + self._database.for_update  # noqa: S608  a constant
        size: int = transaction.get(sql)[0]
        return size

    def append(self, transaction: Transaction, owner: str, name: str, act: dict[str, Any]) -> Logged:
        """Write an act down, in the transaction that does it."""
        entry = json.dumps(act, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
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
        transaction.run("UPDATE log_head SET size = ?, checkpoint = ? WHERE id = 1", number + 1, checkpoint)
        return Logged(number, entry, str(Proof(number, tuple(tree.prove_inclusion(number)), checkpoint)))

    # what others read

    def checkpoint(self) -> str:
        """The newest signed checkpoint."""
        text: str = self._database.read(lambda found: found.get("SELECT checkpoint FROM log_head WHERE id = 1"))[0]
        return text

    def prove(self, number: int) -> str:
        """The proof that an entry is in the log, under the newest checkpoint."""

        def ask(transaction: Transaction) -> str:
            size, checkpoint = _head(transaction)
            if not 0 <= number < size:
                raise NotFoundError("entry-not-found", f"The log has no entry {number}.", hint=f"It has {size}.")
            return str(Proof(number, tuple(Tree(size, _reader(transaction)).prove_inclusion(number)), checkpoint))

        return self._database.read(ask)

    def prove_consistency(self, old: int) -> tuple[str, list[bytes]]:
        """The newest checkpoint, and what shows that the log of `old` entries is its beginning."""

        def ask(transaction: Transaction) -> tuple[str, list[bytes]]:
            size, checkpoint = _head(transaction)
            if not 0 <= old <= size:
                raise NotFoundError("entry-not-found", f"The log never had {old} entries.", hint=f"It has {size}.")
            return checkpoint, Tree(size, _reader(transaction)).prove_consistency(old)

        return self._database.read(ask)

    def entries(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Entries in order, from number `after` on."""
        sql = "SELECT number, entry FROM log_entries WHERE number >= ? ORDER BY number LIMIT ?"
        return [(row[0], row[1]) for row in self._database.read(lambda found: found.all(sql, after, limit))]

    def tile(self, level: int, number: int, width: int = TILE) -> bytes:
        """The hashes of one tile: of `TILE` nodes, or of the first `width` of one that is not full."""
        sql = "SELECT hash FROM log_nodes WHERE level = ? AND number >= ? AND number < ? ORDER BY number"
        first = number * TILE
        rows = self._database.read(lambda found: found.all(sql, 8 * level, first, first + width))
        if len(rows) < width:
            raise NotFoundError("tile-not-found", "The log has no such tile.", hint="The checkpoint gives its size.")
        return b"".join(bytes(row[0]) for row in rows)

    def bundle(self, number: int, width: int = TILE) -> bytes:
        """The entries below one tile of level 0, each after its length in two bytes."""
        found = self.entries(number * TILE, width)
        if len(found) < width:
            raise NotFoundError("tile-not-found", "The log has no such tile.", hint="The checkpoint gives its size.")
        data = (entry.encode() for _, entry in found)
        return b"".join(len(each).to_bytes(2, "big") + each for each in data)

    def verify(self) -> int:
        """Read the whole log again; how many entries it has. Raises FailedError `log-damaged`."""
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
            if checkpoint.size != size or Tree(size, lambda *node: nodes[node]).root() != checkpoint.root:
                raise _damaged("its checkpoint is about another log")
            return size

        return self._database.read(ask)


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
