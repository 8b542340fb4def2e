"""Accounts: the user's own tokens, and invitations that create accounts for others.

An invitation is a link that works once and for a limited time. The hub stores only the hash of its secret; the secret
follows the `#` of the link, which browsers do not send.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError
from whet.hub.members import find_owner, put_hub_role, put_member
from whet.hub.registry import DAY, check_account, keep_token, time_text
from whet.hub.tokens import ACCOUNT, DAYS, HUB_ROLES, OPERATOR, ROLES, allowed_scopes, check_scopes

if TYPE_CHECKING:
    from whet.hub.database import Row, Transaction
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

INVITATION_DAYS = 7
_MOST_DAYS = 365
_MOST_TOKENS = 50
"""Largest number of active tokens of one account."""


class Granted(NamedTuple):
    """A new token, shown once."""

    account: str
    token: str
    scopes: tuple[str, ...]
    expires: int
    owner: str = ""
    role: str = ""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return {**self._asdict(), "scopes": list(self.scopes), "expires": time_text(self.expires)}


class Invitation(NamedTuple):
    """A new invitation."""

    link: str
    """Shown once; the hub stores only the hash of its secret."""
    secret: str
    owner: str
    """"" for an invitation to the hub itself."""
    role: str
    expires: int

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return {
            "link": self.link,
            "invitation": self.secret,
            "owner": self.owner,
            "role": self.role,
            "expires": time_text(self.expires),
        }


# own tokens


def describe_account(who: Identity) -> Json:
    """Return the account and permissions of a token. Raises RefusedError."""
    if not who.account:
        raise RefusedError("token-needed", "Send a token to learn whose it is.", hint="`whet hub login` gets one.")
    return {
        "account": who.account,
        "kind": who.kind,
        "label": who.detail,
        "scopes": list(who.scopes),
        "expires": time_text(who.expires),
    }


def create_own_token(hub: Hub, who: Identity, scopes: tuple[str, ...], label: str, days: int) -> Granted:
    """Create another token of an account, with all or some of its permissions. Raises WhetError."""
    hub.allow(who, ACCOUNT, "the account", "")
    if not 1 <= days <= _MOST_DAYS:
        raise UsageError("bad-request", f"A token is valid for 1 to {_MOST_DAYS} days.", hint="Choose fewer days.")
    if scopes != (ACCOUNT,):
        missing = [scope for scope in check_scopes(scopes) if not _holds(who, scope)]
        if missing or not scopes:
            message = f"{who.account} may not {missing[0] if missing else 'do nothing'}."
            raise RefusedError("not-allowed", message, hint="A token cannot allow more than your roles do.")
    now = hub.now()
    return hub.database.write(lambda change: grant(change, who.account, scopes, label, now, now + days * DAY))


def _holds(who: Identity, scope: str) -> bool:
    return not {scope, scope.partition("/")[0], "admin"}.isdisjoint(who.scopes)


def grant(
    transaction: Transaction, account: str, scopes: tuple[str, ...], label: str, now: int, expires: int = 0
) -> Granted:
    """Create a personal token of an existing account. Raise RefusedError if there are too many."""
    number, role = transaction.get("SELECT id, role FROM accounts WHERE name = ?", account)
    sql = "SELECT COUNT(*) FROM tokens WHERE account = ? AND revoked = 0 AND expires > ?"
    if transaction.get(sql, number, now)[0] >= _MOST_TOKENS:
        message = f"{account} has {_MOST_TOKENS} tokens."
        raise RefusedError("too-many-tokens", message, hint="Revoke those that nobody uses.")
    expires = expires or now + DAYS * DAY
    token = keep_token(transaction, number, scopes, label, now, expires, personal=True)
    sql = "SELECT o.name, m.role FROM members m JOIN owners o ON m.owner = o.id WHERE m.account = ? ORDER BY o.name"
    members = [(row[0], row[1]) for row in transaction.all(sql, number)]
    return Granted(account, token, allowed_scopes(scopes, role, members), expires)


def list_tokens(hub: Hub, who: Identity) -> Json:
    """Return the active tokens of an account, without their secrets. Raises RefusedError."""
    hub.allow(who, ACCOUNT, "the account", "")
    sql = """SELECT t.id, t.label, t.scopes, t.created, t.expires, t.used FROM tokens t
        JOIN accounts a ON t.account = a.id WHERE a.name = ? AND t.revoked = 0 AND t.expires > ? ORDER BY t.id"""
    rows = hub.database.read(lambda ask: ask.all(sql, who.account, hub.now()))
    return {"tokens": [_token_json(row) for row in rows]}


def _token_json(row: Row) -> Json:
    number, label, scopes, created, expires, used = row
    return {
        "id": number,
        "label": label,
        "scopes": json.loads(scopes),
        "created": time_text(created),
        "expires": time_text(expires),
        "used": time_text(used) if used else None,
    }


def revoke_own_token(hub: Hub, who: Identity, number: int) -> Json:
    """Revoke one of the caller's tokens; without a number, the one that was sent. Raises WhetError."""
    if number and number != who.token:
        hub.allow(who, ACCOUNT, "the account", "")
    if not who.token:
        raise RefusedError("token-needed", "Send the token to revoke.", hint="`whet hub login` gets one.")
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        sql = """UPDATE tokens SET revoked = ? WHERE id = ? AND revoked = 0
            AND account = (SELECT id FROM accounts WHERE name = ?)"""
        if not transaction.run(sql, now, number or who.token, who.account):
            raise NotFoundError("token-not-found", "You have no such token.", hint="List them: /api/v1/account/tokens")
        act = {"act": "revoke", "account": who.account, "tokens": 1}
        hub.log.append(transaction, "", "", {**act, **hub.sign(who, now)})
        return {"revoked": 1}

    return hub.database.write(change)


# invitations


def invite(
    hub: Hub, who: Identity, owner: str, role: str, days: int = INVITATION_DAYS, *, create: bool = False
) -> Invitation:
    """Create a link that works once and gives an account with a role. Raises WhetError.

    Without an owner, the role is for the whole hub, and only the hub's admins may give it. With `create`, a missing
    owner is created.
    """
    hub.allow(who, *(("manage", owner) if owner else ("admin", "the hub")), "")
    roles = ROLES if owner else HUB_ROLES
    if role not in roles:
        names = ", ".join(name for name in roles if name)
        raise UsageError("bad-request", f"{role!r} is not a role.", hint=f"Roles are {names}.")
    if not 1 <= days <= _MOST_DAYS:
        raise UsageError("bad-request", f"An invitation is valid for 1 to {_MOST_DAYS} days.", hint="Use fewer days.")
    secret, now = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("="), hub.now()

    def change(transaction: Transaction) -> Invitation:
        if owner and create:
            hub.log.lock(transaction)
            hub.ensure_owner(transaction, owner, now)
        elif owner:
            find_owner(transaction, owner)
        sql = "INSERT INTO invitations (hash, owner, role, creator, created, expires) VALUES (?, ?, ?, ?, ?, ?)"
        transaction.run(sql, _hash(secret), owner, role, who.account, now, now + days * DAY)
        return Invitation(f"{hub.settings.url}/invitation#{secret}", secret, owner, role, now + days * DAY)

    return hub.database.write(change)


def accept_invitation(hub: Hub, who: Identity, secret: str, account: str, label: str) -> Granted:
    """Accept an invitation: a caller without a token gets a new account, others the role. Raises WhetError."""
    if who.account:
        hub.allow(who, ACCOUNT, "the account", "")
    name, now = who.account or check_account(account), hub.now()

    def change(transaction: Transaction) -> Granted:
        hub.log.lock(transaction)
        sql = "SELECT id, owner, role, creator FROM invitations WHERE hash = ? AND used = 0 AND expires > ?"
        row = transaction.one(sql, _hash(secret), now)
        # If its creator has lost the permission since, it is void.
        if row is None or not _may_invite(transaction, row[3], row[1]):
            message = "The invitation is unknown, used or expired."
            raise NotFoundError("invitation-not-found", message, hint="Ask for a new one.")
        found, owner, role, creator = row
        if not who.account:
            sql = "INSERT INTO accounts (name, created) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
            if not transaction.run(sql, name, now):
                raise ConflictError(
                    "account-exists", f"The account {name} already exists.", hint="Choose another name."
                )
        number: int = transaction.get("SELECT id FROM accounts WHERE name = ?", name)[0]
        transaction.run("UPDATE invitations SET used = ?, account = ? WHERE id = ?", now, number, found)
        by = who._replace(account=creator, kind="invitation", detail=name, scopes=("admin",))
        if owner:
            _raise_member(hub, transaction, by, owner, (number, name), role, now)
        elif role:
            put_hub_role(hub, transaction, by, (number, name), role, now)
        return grant(transaction, name, (ACCOUNT,), label, now)._replace(owner=owner, role=role)

    return hub.database.write(change)


def _raise_member(
    hub: Hub, transaction: Transaction, by: Identity, owner: str, account: tuple[int, str], role: str, now: int
) -> None:
    """Give a role, unless the account already has a higher one: an invitation never lowers a role."""
    number = find_owner(transaction, owner).id
    row = transaction.one("SELECT role FROM members WHERE owner = ? AND account = ?", number, account[0])
    ranks = [*ROLES]
    if row is None or ranks.index(row[0]) < ranks.index(role):
        put_member(hub, transaction, by, (number, owner), account, role, now)


def _may_invite(transaction: Transaction, creator: str, owner: str) -> bool:
    """Return whether the creator of an invitation may still invite. The operator always may."""
    if creator == OPERATOR.account:
        return True
    row = transaction.get("SELECT id, role FROM accounts WHERE name = ?", creator)
    sql = "SELECT scopes FROM tokens WHERE account = ? AND personal = 0 AND revoked = 0"
    given = {scope for kept in transaction.all(sql, row[0]) for scope in json.loads(kept[0])}
    if row[1] == "admin" or given & {"admin", f"manage:{owner}"}:
        return True
    sql = """SELECT 1 FROM members m JOIN owners o ON m.owner = o.id
        WHERE m.account = ? AND o.name = ? AND m.role = 'admin'"""
    return transaction.one(sql, row[0], owner) is not None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
