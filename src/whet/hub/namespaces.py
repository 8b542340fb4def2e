"""Proofs of owners, and the tiers they earn.

A domain or a repository proves that it belongs to an owner by saying so: a TXT record of `_whet.DOMAIN`, or a file
`.whet-owner` in the repository, with the line `whet-owner=HUB/OWNER`. Only the holder of the domain or the repository
can write it, so no secret is needed. The hub's admins give the tier `official`, for a reason.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from whet.errors import InvalidError, UsageError, WhetError
from whet.hub.members import find_owner
from whet.hub.publishers import providers
from whet.hub.registry import check_reason, time_text

if TYPE_CHECKING:
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

TIERS = ("community", "verified", "official")
FILE = ".whet-owner"
_MOST = 64 * 1024
_DOMAIN = re.compile(r"(?=.{4,240}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,61}")
_REPOSITORY = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9][A-Za-z0-9_.-]*){1,5}")


def prove(hub: Hub, who: Identity, owner: str, kind: str, value: str) -> Json:
    """Check that a domain (`dns`) or a repository (a provider) says that it belongs to an owner. Raises WhetError."""
    hub.allow(who, "manage", owner, "")
    known = providers(hub.settings.providers)
    if not (_DOMAIN if kind == "dns" else _REPOSITORY).fullmatch(value) or not (kind == "dns" or kind in known):
        hint = f"Use dns and a domain, or {' or '.join(known)} and a repository."
        raise UsageError("bad-request", f"{value[:100]!r} cannot be proved by {kind[:20]!r}.", hint=hint)
    line = f"whet-owner={hub.log.origin}/{owner}"
    hub.database.read(lambda ask: find_owner(ask, owner))
    place = f"the TXT record of _whet.{value}" if kind == "dns" else f"the file {FILE} of {value}"
    try:
        said = _ask_domain(hub, value) if kind == "dns" else _ask_repository(hub, kind, value)
    except WhetError as error:
        message = f"{place[0].upper()}{place[1:]} cannot be read: {error.message}"
        raise InvalidError("not-proved", message, hint=f"It must say {line}") from error
    if line not in said:
        message = f"{place[0].upper()}{place[1:]} does not name {owner} as its owner."
        raise InvalidError("not-proved", message, hint=f"It must say {line}")
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        found = find_owner(transaction, owner)
        sql = """INSERT INTO proofs (owner, kind, value, proved) VALUES (?, ?, ?, ?)
            ON CONFLICT (owner, kind, value) DO UPDATE SET proved = excluded.proved"""
        transaction.run(sql, found.id, kind, value, now)
        act = {"act": "proof", "owner": owner, "kind": kind, "value": value}
        hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)})
        if found.tier == "community":
            _put_tier(hub, transaction, who, owner, "verified", f"{kind}:{value}", now)
        return find_owner(transaction, owner).to_json()

    return hub.database.write(change)


def set_tier(hub: Hub, who: Identity, owner: str, tier: str, reason: str) -> Json:
    """Set the tier of an owner, for a reason, as an admin of the hub. Raises WhetError."""
    hub.allow(who, "admin", "the hub", "")
    if tier not in TIERS:
        raise UsageError("bad-request", f"{tier!r} is not a tier.", hint=f"Tiers are {', '.join(TIERS)}.")
    check_reason(reason)
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        find_owner(transaction, owner)
        _put_tier(hub, transaction, who, owner, tier, reason, now)
        return find_owner(transaction, owner).to_json()

    return hub.database.write(change)


def list_proofs(hub: Hub, owner: str) -> Json:
    """Return the proofs of an owner, for everyone. Raises NotFoundError."""

    def ask(transaction: Transaction) -> Json:
        sql = "SELECT kind, value, proved FROM proofs WHERE owner = ? ORDER BY kind, value"
        rows = transaction.all(sql, find_owner(transaction, owner).id)
        return {"proofs": [{"kind": row[0], "value": row[1], "proved": time_text(row[2])} for row in rows]}

    return hub.database.read(ask)


def _put_tier(hub: Hub, transaction: Transaction, who: Identity, owner: str, tier: str, won: str, now: int) -> None:
    """Store a tier and how it was earned, and update all texts that show it."""
    sql = "UPDATE owners SET tier = ?, won = ? WHERE name = ? AND (tier <> ? OR won <> ?)"
    if not transaction.run(sql, tier, won, owner, tier, won):
        return
    act = {"act": "tier", "owner": owner, "tier": tier, "won": won}
    hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)})
    sql = "SELECT s.name, s.updated FROM skills s JOIN owners o ON s.owner = o.id WHERE o.name = ? ORDER BY s.name"
    for name, updated in transaction.all(sql, owner):
        hub.refresh(transaction, owner, name, updated)


def _ask_domain(hub: Hub, domain: str) -> list[str]:
    """Return the TXT records of a domain, from a resolver over HTTPS."""
    query = urlencode({"name": f"_whet.{domain}", "type": "TXT"})
    answer = hub.web.get(f"{hub.settings.resolver}?{query}", limit=_MOST, accept="application/dns-json")
    try:
        rows = json.loads(answer.body).get("Answer", [])
        return ["".join(re.findall(r'"([^"]*)"', row["data"])) or row["data"] for row in rows if row["type"] == 16]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidError("bad-response", "The resolver sent no valid answer.", hint="Try again later.") from error


def _ask_repository(hub: Hub, kind: str, repository: str) -> list[str]:
    provider = providers(hub.settings.providers)[kind]
    url = provider.raw.format(issuer=provider.issuer, repository=repository, file=FILE)
    return hub.web.get(url, limit=_MOST).body.decode("utf-8", "replace").split()
