"""Collections: skills of any owner, grouped for everyone or only for the members of an owner.

Publishers of an owner manage its collections. Callers who may not see a private skill do not see it in a collection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import NotFoundError, UsageError
from whet.hub.cursors import make_cursor, read_cursor
from whet.hub.registry import check_address, time_text
from whet.hub.search import show_skill
from whet.hub.tokens import sees

if TYPE_CHECKING:
    from whet.hub.database import Row, Transaction
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

MOST_SKILLS = 500
_SQL = """SELECT o.name, c.name, c.title, c.description, c.private, c.updated, c.id
    FROM collections c JOIN owners o ON c.owner = o.id"""


def list_collections(hub: Hub, who: Identity, owner: str = "", limit: int = 20, cursor: str = "") -> Json:
    """Return a page of the collections that `who` may see, by owner and name; optionally of one owner."""
    first, after = read_cursor(cursor, 2) if cursor else ("", "")
    sql = f"""{_SQL} WHERE (o.name > ? OR (o.name = ? AND c.name > ?)) AND (? = '' OR o.name = ?)
        ORDER BY o.name, c.name LIMIT ?"""
    found: list[Row] = []
    while len(found) <= limit:
        rows = hub.database.read(lambda ask: ask.all(sql, first, first, after, owner, owner, limit + 1))  # noqa: B023
        found += [row for row in rows if not row[4] or sees(who, row[0], "")]
        if len(rows) <= limit:
            break
        first, after = rows[-1][0], rows[-1][1]
    last = found[limit - 1] if len(found) > limit else None
    return {
        "collections": [_show(row) for row in found[:limit]],
        "next": make_cursor(last[0], last[1]) if last else None,
    }


def show_collection(hub: Hub, who: Identity, owner: str, name: str) -> Json:
    """Return one collection with its skills, in the order in which they were added."""
    return hub.database.read(lambda ask: _show_all(ask, who, owner, name))


def set_collection(
    hub: Hub, who: Identity, owner: str, name: str, *, title: str, description: str = "", visibility: str = "public"
) -> Json:
    """Create a collection, or change its description."""
    hub.allow(who, "publish", owner, "")
    check_address(owner, name)
    if not 1 <= len(title) <= 100 or len(description) > 1000 or visibility not in ("public", "private"):
        hint = "A title has 1 to 100 characters, a description up to 1,000; the visibility is public or private."
        raise UsageError("bad-request", "The collection is not valid.", hint=hint)
    now, private = hub.now(), int(visibility == "private")

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        number = hub.ensure_owner(transaction, owner, now)
        sql = """INSERT INTO collections (owner, name, title, description, private, updated) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (owner, name) DO UPDATE SET title = excluded.title, description = excluded.description,
            private = excluded.private, updated = excluded.updated"""
        transaction.run(sql, number, name, title, description, private, now)
        act = {"act": "collection", "owner": owner, "collection": name, "title": title, "visibility": visibility}
        hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)}, hidden=bool(private))
        return _show_all(transaction, who, owner, name)

    return hub.database.write(change)


def remove_collection(hub: Hub, who: Identity, owner: str, name: str) -> None:
    """Remove a collection; its skills stay."""
    hub.allow(who, "publish", owner, "")
    now = hub.now()

    def change(transaction: Transaction) -> None:
        hub.log.lock(transaction)
        row = _find(transaction, who, owner, name)
        transaction.run("DELETE FROM collection_skills WHERE collection = ?", row[6])
        transaction.run("DELETE FROM collections WHERE id = ?", row[6])
        act = {"act": "collection", "owner": owner, "collection": name, "removed": True}
        hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)}, hidden=bool(row[4]))

    hub.database.write(change)


def put_skill(hub: Hub, who: Identity, owner: str, name: str, skill: tuple[str, str], note: str | None) -> Json:
    """Add a skill with a note to a collection; None removes it."""
    hub.allow(who, "publish", owner, "")
    if note is not None and len(note) > 500:
        raise UsageError("bad-request", "The note must have up to 500 characters.", hint="Shorten it.")
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        row, found = _find(transaction, who, owner, name), hub.find_skill(transaction, who, *skill)
        before = transaction.one(
            "SELECT note FROM collection_skills WHERE collection = ? AND skill = ?", row[6], found.id
        )
        if (before[0] if before else None) == note:
            return _show_all(transaction, who, owner, name)
        if note is None:
            transaction.run("DELETE FROM collection_skills WHERE collection = ? AND skill = ?", row[6], found.id)
        else:
            count = transaction.get("SELECT COUNT(*) FROM collection_skills WHERE collection = ?", row[6])[0]
            if count >= MOST_SKILLS and not before:
                raise UsageError("bad-request", f"A collection has up to {MOST_SKILLS} skills.", hint="Make another.")
            sql = """INSERT INTO collection_skills VALUES (?, ?, ?, ?)
                ON CONFLICT (collection, skill) DO UPDATE SET note = excluded.note"""
            transaction.run(sql, row[6], found.id, note, now)
        transaction.run("UPDATE collections SET updated = ? WHERE id = ?", now, row[6])
        act = {"act": "collection", "owner": owner, "collection": name, "skill": "/".join(skill)}
        act["change"] = "removed" if note is None else "added"
        hidden = bool(row[4] or found.private)
        hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)}, hidden=hidden)
        return _show_all(transaction, who, owner, name)

    return hub.database.write(change)


def _find(transaction: Transaction, who: Identity, owner: str, name: str) -> Row:
    row = transaction.one(f"{_SQL} WHERE o.name = ? AND c.name = ?", owner, name)
    if row is None or (row[4] and not sees(who, owner, "")):
        hint = f"List them: /api/v1/collections?owner={owner}"
        raise NotFoundError("collection-not-found", f"There is no collection {owner}/{name}.", hint=hint)
    return row


def _show(row: Row) -> Json:
    owner, name, title, description, private, updated, _ = row
    said = {"owner": owner, "name": name, "title": title, "description": description}
    return {**said, "private": bool(private), "updated": time_text(updated)}


def _show_all(transaction: Transaction, who: Identity, owner: str, name: str) -> Json:
    row = _find(transaction, who, owner, name)
    sql = """SELECT o.name, s.name, s.private, s.document, s.downloads, c.note
        FROM collection_skills c JOIN skills s ON c.skill = s.id JOIN owners o ON s.owner = o.id
        WHERE c.collection = ? ORDER BY c.added, o.name, s.name"""
    skills = [
        {**show_skill(found[3], found[4]), "note": found[5]}
        for found in transaction.all(sql, row[6])
        if not found[2] or sees(who, found[0], found[1])
    ]
    return {**_show(row), "skills": skills}
