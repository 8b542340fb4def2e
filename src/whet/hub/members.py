"""Owners and their members, with their roles.

An owner's admins manage its members; the last admin cannot leave. Every change is an entry in the log, and applies at
once to all tokens (`whet.hub.tokens.allowed_scopes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError
from whet.hub.registry import check_account, ensure_account, time_text
from whet.hub.tokens import HUB_ROLES, ROLES

if TYPE_CHECKING:
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

_MOST_OWNERS = 5
"""Owners that one account can create."""


class Member(NamedTuple):
    """A member of an owner."""

    account: str
    role: str
    since: int

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return {"account": self.account, "role": self.role, "since": time_text(self.since)}


class Owner(NamedTuple):
    """An owner of skills, with its tier and how it was earned."""

    owner: str
    tier: str
    won: str
    """Such as `dns:example.com`; "" for a tier that needs no proof."""
    created: int
    id: int

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return {"owner": self.owner, "tier": self.tier, "won": self.won, "created": time_text(self.created)}


def find_owner(transaction: Transaction, owner: str) -> Owner:
    """Return an owner. Raise NotFoundError."""
    row = transaction.one("SELECT name, tier, won, created, id FROM owners WHERE name = ?", owner)
    if row is None:
        raise NotFoundError("owner-not-found", f"There is no owner {owner}.", hint="List skills: /api/v1/skills")
    return Owner(*row)


def create_owner(hub: Hub, who: Identity, owner: str) -> Owner:
    """Create an owner; the caller becomes its admin. Raises WhetError."""
    hub.allow(who, "account" if hub.settings.open_owners else "admin", owner, "")
    now = hub.now()

    def change(transaction: Transaction) -> Owner:
        hub.log.lock(transaction)
        if transaction.one("SELECT 1 FROM owners WHERE name = ?", owner) is not None:
            raise ConflictError("owner-exists", f"The owner {owner} already exists.", hint="Choose another name.")
        account = ensure_account(transaction, who.account, now)
        sql = "SELECT COUNT(*) FROM members WHERE account = ? AND role = 'admin'"
        if transaction.get(sql, account)[0] >= _MOST_OWNERS and not who.may("admin"):
            message = f"An account can create {_MOST_OWNERS} owners."
            raise RefusedError("too-many-owners", message, hint="Ask the hub's operator for more.")
        number = hub.ensure_owner(transaction, owner, now)
        put_member(hub, transaction, who, (number, owner), (account, who.account), "admin", now)
        return find_owner(transaction, owner)

    return hub.database.write(change)


def list_members(hub: Hub, who: Identity, owner: str) -> tuple[Member, ...]:
    """Return the members of an owner, for its members. Raises WhetError."""
    if not who.may("manage", owner):
        hub.allow(who, "read", owner, "")

    def ask(transaction: Transaction) -> tuple[Member, ...]:
        sql = """SELECT a.name, m.role, m.since FROM members m JOIN accounts a ON m.account = a.id
            WHERE m.owner = ? ORDER BY a.name"""
        return tuple(Member(*row) for row in transaction.all(sql, find_owner(transaction, owner).id))

    return hub.database.read(ask)


def set_member(hub: Hub, who: Identity, owner: str, account: str, role: str, *, create: bool = False) -> None:
    """Give an account a role for an owner; "" removes it, which members may also do for themselves.

    With `create`, a missing account and owner are created. Raises WhetError.
    """
    if role or who.account != account or who.kind == "anonymous":
        hub.allow(who, "manage", owner, "")
    if role and role not in ROLES:
        raise UsageError("bad-request", f"{role!r} is not a role.", hint=f"Roles are {', '.join(ROLES)}.")
    now = hub.now()

    def change(transaction: Transaction) -> None:
        hub.log.lock(transaction)
        if create:
            ensure_account(transaction, check_account(account), now)
            hub.ensure_owner(transaction, owner, now)
        number = find_owner(transaction, owner).id
        row = transaction.one("SELECT id FROM accounts WHERE name = ?", account)
        if row is None:
            raise NotFoundError("account-not-found", f"There is no account {account}.", hint="Invite the person.")
        put_member(hub, transaction, who, (number, owner), (row[0], account), role, now)

    hub.database.write(change)


def put_member(
    hub: Hub,
    transaction: Transaction,
    who: Identity,
    owner: tuple[int, str],
    account: tuple[int, str],
    role: str,
    now: int,
) -> None:
    """Store the role of an account for an owner, each as id and name; "" for none. Raises WhetError."""
    row = transaction.one("SELECT role FROM members WHERE owner = ? AND account = ?", owner[0], account[0])
    old = row[0] if row else ""
    if old == role:
        return
    if old == "admin" and not who.may("admin"):
        sql = "SELECT COUNT(*) FROM members WHERE owner = ? AND role = 'admin'"
        if transaction.get(sql, owner[0])[0] == 1:
            message = f"{account[1]} is the only admin of {owner[1]}."
            raise ConflictError("last-admin", message, hint="Make someone else an admin first.")
    if role:
        sql = """INSERT INTO members (owner, account, role, since) VALUES (?, ?, ?, ?)
            ON CONFLICT (owner, account) DO UPDATE SET role = excluded.role"""
        transaction.run(sql, owner[0], account[0], role, now)
    else:
        transaction.run("DELETE FROM members WHERE owner = ? AND account = ?", owner[0], account[0])
    act = {"act": "member", "owner": owner[1], "account": account[1], "role": role or None}
    hub.log.append(transaction, owner[1], "", {**act, **hub.sign(who, now)})


def set_hub_role(hub: Hub, who: Identity, account: str, role: str, *, create: bool = False) -> None:
    """Make an account an admin or a moderator of the hub; "" removes the role. Raises WhetError."""
    hub.allow(who, "admin", "the hub", "")
    if role not in HUB_ROLES:
        names = ", ".join(name for name in HUB_ROLES if name)
        raise UsageError("bad-request", f"{role!r} is not a role of the hub.", hint=f"Roles are {names}.")
    now = hub.now()

    def change(transaction: Transaction) -> None:
        hub.log.lock(transaction)
        if create:
            ensure_account(transaction, check_account(account), now)
        row = transaction.one("SELECT id, role FROM accounts WHERE name = ?", account)
        if row is None:
            raise NotFoundError("account-not-found", f"There is no account {account}.", hint="Invite the person.")
        put_hub_role(hub, transaction, who, (row[0], account), role, now)

    hub.database.write(change)


def put_hub_role(
    hub: Hub, transaction: Transaction, who: Identity, account: tuple[int, str], role: str, now: int
) -> None:
    """Store the role of an account, as id and name, for the whole hub."""
    changed = transaction.run("UPDATE accounts SET role = ? WHERE id = ? AND role <> ?", role, account[0], role)
    if changed:
        act = {"act": "role", "account": account[1], "role": role or None}
        hub.log.append(transaction, "", "", {**act, **hub.sign(who, now)})
