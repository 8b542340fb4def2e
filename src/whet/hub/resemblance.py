"""Detect versions that copy another owner's skill, or whose name is easily confused with it.

Every skill has a sketch in the database: the 32 smallest hashes of its runs of three words. Skills that share some of
them are compared in full. A version that copies a popular skill, or whose name is easily confused with it, is published
in quarantine until a moderator has looked at it. All resemblances are shown with the version.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.hub.lookalikes import looks_like
from whet.hub.search import Listed, load_texts

if TYPE_CHECKING:
    from whet.hub.database import Database, Transaction
    from whet.hub.search import SearchIndex
    from whet.values import Json

TOLD = 0.5
"""Share of a text from which on a resemblance is reported."""
COPIED = 0.75
"""Share from which on it is a copy."""
_SKETCH = 32
_SHARED = 3
"""Hashes that two sketches must share for a comparison."""
_SHORTEST = 25
"""Runs of words below which texts are alike by chance."""
_COMPARED = 8
_WORD = re.compile(r"[^\W_]+")


class Resemblance(NamedTuple):
    """A skill of another owner that a version resembles."""

    owner: str
    name: str
    share: float
    """Part of the shorter text that occurs word for word in the other one."""


class Judged(NamedTuple):
    """The result of comparing a version before it is published."""

    resembles: tuple[Resemblance, ...] = ()
    held: str = ""
    """Why a moderator must look at it, or ""."""

    def to_json(self) -> list[Json]:
        """Return the resemblances for the text of the version."""
        return [{**found._asdict(), "share": round(found.share, 2)} for found in self.resembles]


def judge(database: Database, index: SearchIndex, owner: str, name: str, body: str) -> Judged:
    """Compare a new version with the skills of other owners."""
    popular = index.overshadowing(owner, name)
    return database.read(lambda ask: _judge(ask, index, owner, name, body, popular))


def keep_sketch(transaction: Transaction, skill: int, body: str) -> None:
    """Store the sketch that later versions of others are compared with."""
    transaction.run("DELETE FROM sketches WHERE skill = ?", skill)
    if hashes := _sketch(_runs(body)):
        marks = ", ".join(["(?, ?)"] * len(hashes))
        values = [value for each in hashes for value in (each, skill)]
        transaction.run(f"INSERT INTO sketches (hash, skill) VALUES {marks}", *values)  # noqa: S608  only marks


def _judge(
    transaction: Transaction, index: SearchIndex, owner: str, name: str, body: str, popular: list[Listed]
) -> Judged:
    resembles = _compare(transaction, owner, body)
    sql = """SELECT v.document FROM versions v JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
        WHERE o.name = ? AND s.name = ? AND v.quarantined IS NULL"""
    before = [json.loads(row[0]) for row in transaction.all(sql, owner, name)]
    accepted = {f"{found['owner']}/{found['name']}" for version in before for found in version["resembles"]}
    for found in resembles:
        known = index.skills.get(f"{found.owner}/{found.name}")
        if known is None or known.key in accepted or found.share < COPIED:
            continue
        if known.popular or looks_like(known.name, name):
            return Judged(resembles, f"It is {found.share:.0%} the same as {known.key}.")
    if popular and not before:
        return Judged(resembles, f"Its name is easily mistaken for {popular[0].key}.")
    return Judged(resembles)


def _compare(transaction: Transaction, owner: str, body: str) -> tuple[Resemblance, ...]:
    own = _runs(body)
    hashes = _sketch(own)
    if not hashes:
        return ()
    marks = ", ".join("?" * len(hashes))
    sql = f"""SELECT o.name, s.name, v.id FROM sketches k JOIN skills s ON k.skill = s.id
        JOIN owners o ON s.owner = o.id JOIN versions v ON v.skill = s.id AND v.version = s.latest
        WHERE k.hash IN ({marks}) AND s.private = 0 AND o.name <> ?
        GROUP BY o.name, s.name, v.id HAVING COUNT(*) >= {_SHARED} ORDER BY COUNT(*) DESC, v.id LIMIT {_COMPARED}"""  # noqa: S608  marks and constants
    found = []
    for other, name, version in transaction.all(sql, *hashes, owner):
        runs = _runs(load_texts(transaction, version).body)
        share = len(own & runs) / max(1, min(len(own), len(runs)))
        if share >= TOLD:
            found.append(Resemblance(other, name, share))
    return tuple(sorted(found, key=lambda each: (-each.share, each.owner, each.name)))


def _runs(body: str) -> frozenset[str]:
    """Return every run of three words."""
    words = _WORD.findall(body.lower())
    return frozenset(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


def _sketch(runs: frozenset[str]) -> list[int]:
    if len(runs) < _SHORTEST:
        return []
    hashes = (int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest(), "big") >> 1 for run in runs)
    return sorted(hashes)[:_SKETCH]
