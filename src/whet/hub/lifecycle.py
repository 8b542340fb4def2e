"""The life of a published skill: its status, tags and visibility, and security fixes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, UsageError
from whet.hub.registry import LATEST, check_address, check_reason, dump

if TYPE_CHECKING:
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

STATUSES = ("active", "deprecated", "archived")
_TAG = re.compile(r"(?!-)[a-z][a-z0-9-]{0,38}(?<!-)")


class Status(NamedTuple):
    """The maintenance status of a skill."""

    status: str = "active"
    successor: str = ""
    """The skill to use instead, as OWNER/NAME."""
    reason: str = ""


def set_status(
    hub: Hub, who: Identity, owner: str, name: str, status: str, *, successor: str = "", reason: str = ""
) -> Json:
    """Mark a skill as active, deprecated (with an optional successor), or archived: then it accepts no versions."""
    hub.allow(who, "publish", owner, name)
    if status not in STATUSES:
        raise UsageError("bad-request", f"{status!r} is not a status.", hint=f"Use {', '.join(STATUSES)}.")
    if status == "active":
        successor = reason = ""
    else:
        check_reason(reason)

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        hub.check_source(transaction, owner)
        skill = hub.find_skill(transaction, who, owner, name)
        if successor:
            _check_successor(hub, transaction, who, (owner, name), successor, private=bool(skill.private))
        write_status(hub, transaction, who, (owner, name), Status(status, successor, reason))
        return hub.show(transaction, who, owner, name)

    return hub.database.write(change)


def write_status(hub: Hub, transaction: Transaction, who: Identity, skill: tuple[str, str], status: Status) -> None:
    """Store the status of a skill and log the act; do nothing if it is unchanged."""
    owner, name = skill
    found = hub.find_skill(transaction, who, owner, name)
    known = transaction.get("SELECT status, successor, reason FROM skills WHERE id = ?", found.id)
    if Status(*known) == status:
        return
    now = hub.now()
    sql = "UPDATE skills SET status = ?, successor = ?, reason = ? WHERE id = ?"
    transaction.run(sql, *status, found.id)
    act = {"act": "status", "owner": owner, "name": name, **status._asdict()}
    hub.log.append(transaction, owner, name, {**act, **hub.sign(who, now)})
    hub.refresh(transaction, owner, name, now)


def set_tag(hub: Hub, who: Identity, owner: str, name: str, tag: str, version: str | None) -> Json:
    """Point a tag to a version; None removes the tag."""
    hub.allow(who, "publish", owner, name)
    if not _TAG.fullmatch(tag) or tag == LATEST:
        hint = f"Use a-z, 0-9 and hyphens; the hub itself sets `{LATEST}`."
        raise UsageError("bad-request", f"{tag!r} cannot be set as a tag.", hint=hint)
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        hub.check_source(transaction, owner)
        skill = hub.find_skill(transaction, who, owner, name)
        sql = "SELECT v.version FROM tags t JOIN versions v ON t.version = v.id WHERE t.skill = ? AND t.tag = ?"
        row = transaction.one(sql, skill.id, tag)
        if (row[0] if row else None) == version:
            return hub.show(transaction, who, owner, name)
        transaction.run("DELETE FROM tags WHERE skill = ? AND tag = ?", skill.id, tag)
        if version is not None:
            found = hub.find_version(transaction, who, owner, name, version)
            transaction.run("INSERT INTO tags VALUES (?, ?, ?)", skill.id, tag, found.id)
        act = {"act": "tag", "owner": owner, "name": name, "tag": tag, "version": version or ""}
        hub.log.append(transaction, owner, name, {**act, **hub.sign(who, now)})
        hub.refresh(transaction, owner, name, now)
        return hub.show(transaction, who, owner, name)

    return hub.database.write(change)


def set_visibility(hub: Hub, who: Identity, owner: str, name: str, visibility: str) -> Json:
    """Make a skill private or public. A skill that does not exist yet can be made private before its first version."""
    hub.allow(who, "publish", owner, name)
    check_address(owner, name)
    if visibility not in ("private", "public"):
        raise UsageError("bad-request", f"{visibility!r} is not a visibility.", hint="Use private or public.")
    private, now = visibility == "private", hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        hub.check_source(transaction, owner)
        if private:
            skill = hub.ensure_skill(transaction, owner, name, now, private=True)
        else:
            skill = hub.find_skill(transaction, who, owner, name)
            if transaction.one("SELECT id FROM versions WHERE skill = ?", skill.id) is None:
                hint = "Publish a version first."
                raise ConflictError("no-versions", f"{owner}/{name} has no version to show.", hint=hint)
        if bool(skill.private) is private and skill.document:
            return hub.show(transaction, who, owner, name)
        transaction.run("UPDATE skills SET private = ? WHERE id = ?", int(private), skill.id)
        act = {"act": "visibility", "owner": owner, "name": name, "visibility": visibility}
        hub.log.append(transaction, owner, name, {**act, **hub.sign(who, now)})
        hub.refresh(transaction, owner, name, now)
        return hub.show(transaction, who, owner, name)

    return hub.database.write(change)


def set_fixes(hub: Hub, who: Identity, owner: str, name: str, version: str, fixes: str | None) -> str:
    """Record which security problem a version fixes; None removes that. Return the version as it is sent.

    The hub states this, not the publisher: clients install such a version without waiting.
    """
    hub.allow(who, "moderate", owner, name)
    security = None if fixes is None else {"fixes": check_reason(fixes)}
    now = hub.now()

    def change(transaction: Transaction) -> str:
        hub.log.lock(transaction)
        found = hub.find_version(transaction, who, owner, name, version)
        text = json.loads(found.document)
        if text["security"] == security:
            return found.document
        document = dump({**text, "security": security})
        transaction.run("UPDATE versions SET document = ? WHERE id = ?", document, found.id)
        act = {"act": "security", "owner": owner, "name": name, "version": version, "fixes": fixes or ""}
        hub.log.append(transaction, owner, name, {**act, **hub.sign(who, now)})
        return document

    return hub.database.write(change)


def _check_successor(
    hub: Hub, transaction: Transaction, who: Identity, own: tuple[str, str], successor: str, *, private: bool
) -> None:
    other, _, name = successor.partition("/")
    if (other, name) == own:
        raise UsageError("bad-request", "A skill cannot be its own successor.", hint="Name another skill.")
    if hub.find_skill(transaction, who, other, name).private and not private:
        message = f"{successor} is private, and this skill is not."
        raise UsageError("bad-request", message, hint="Name a skill that everyone can see.")
