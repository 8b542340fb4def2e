"""Trusted publishing: workflows of GitHub and GitLab publish with their own identity, without a stored secret.

An admin of an owner binds a skill to the ids of a repository and of its owner; names can be sold and reused. A workflow
presents the identity token of its run, once, and gets a token for a few minutes. The skill need not exist yet.
"""

from __future__ import annotations

import json
import re
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from whet.errors import InvalidError, NotFoundError, RefusedError, UsageError
from whet.hub.accounts import Granted
from whet.hub.members import find_owner
from whet.hub.oidc import LEEWAY, read_identity, read_issuer
from whet.hub.registry import ensure_account, keep_token, time_text
from whet.skill.names import is_ascii_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.hub.database import Row, Transaction
    from whet.hub.registry import Hub
    from whet.hub.settings import OwnProvider
    from whet.hub.tokens import Identity
    from whet.values import Json

FIELDS = ("provider", "repository", "repository_id", "owner_id", "workflow", "environment", "ref", "name")
_SECONDS = 15 * 60
_MOST_PUBLISHERS = 50
_NUMBER = re.compile(r"[0-9]{1,20}")
_TEXT = re.compile(r"[A-Za-z0-9_.@+*/-]{0,200}")
_COLUMNS = "provider, repository, repository_id, owner_id, workflow, environment, ref, name"


class Provider(NamedTuple):
    """A platform whose workflows can publish; the fields name its claims."""

    issuer: str
    repository_id: str
    owner_id: str
    repository: str
    workflow: str
    workflow_ref: str
    environment: str
    ref: str
    commit: str
    run: str
    raw: str


class Binding(NamedTuple):
    """A repository that may publish."""

    provider: str
    repository: str
    """Human-readable name; only the ids count."""
    repository_id: str
    owner_id: str
    workflow: str = ""
    """File of the workflow; "" for any."""
    environment: str = ""
    ref: str = ""
    """A pattern such as `refs/tags/v*`; "" for any."""
    name: str = ""
    """Name of the skill; "" for all of the owner's."""


@cache
def _known() -> dict[str, Provider]:
    text = resources.files("whet.hub").joinpath("providers.toml").read_text(encoding="utf-8")
    return {name: Provider(**values) for name, values in tomllib.loads(text).items()}


def providers(own: tuple[OwnProvider, ...]) -> dict[str, Provider]:
    """Return all platforms by name: the public ones, and those of the operator. Raises InvalidError."""
    known = _known()
    for provider in own:
        if provider.like not in _known():
            message = f"The provider {provider.name} is like {provider.like!r}, which is unknown."
            raise InvalidError("bad-hub-config", message, hint=f"Use {' or '.join(_known())}.")
        known = {**known, provider.name: _known()[provider.like]._replace(issuer=provider.issuer.rstrip("/"))}
    return known


def add_publisher(hub: Hub, who: Identity, owner: str, fields: Mapping[str, str]) -> Json:
    """Allow a repository to publish for an owner. Raises WhetError."""
    hub.allow(who, "manage", owner, "")
    binding = Binding(**{"name": "", **{name: fields.get(name, "") for name in FIELDS}})
    _check(hub, binding)
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        number = find_owner(transaction, owner).id
        if transaction.get("SELECT COUNT(*) FROM publishers WHERE owner = ?", number)[0] >= _MOST_PUBLISHERS:
            message = f"An owner can have {_MOST_PUBLISHERS} trusted publishers."
            raise RefusedError("too-many-publishers", message, hint="Remove those that nobody uses.")
        sql = f"""INSERT INTO publishers (owner, created, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            RETURNING id"""  # noqa: S608  constants
        row = transaction.get(sql, number, now, *binding)
        act = {"act": "publisher", "owner": owner, "publisher": row[0], "added": binding._asdict()}
        hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)})
        return {"id": row[0], **binding._asdict()}

    return hub.database.write(change)


def remove_publisher(hub: Hub, who: Identity, owner: str, number: int) -> Json:
    """Remove a repository's permission to publish and revoke its tokens. Raises WhetError."""
    hub.allow(who, "manage", owner, "")
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        sql = f"SELECT {_COLUMNS} FROM publishers WHERE id = ? AND owner = ?"  # noqa: S608  constants
        row = transaction.one(sql, number, find_owner(transaction, owner).id)
        if row is None:
            hint = f"List them: /api/v1/owners/{owner}/publishers"
            raise NotFoundError("publisher-not-found", f"{owner} has no trusted publisher {number}.", hint=hint)
        binding = Binding(*row)
        transaction.run("DELETE FROM publishers WHERE id = ?", number)
        sql = """UPDATE tokens SET revoked = ? WHERE revoked = 0
            AND account IN (SELECT id FROM accounts WHERE name = ?)"""
        transaction.run(sql, now, _account(binding.provider, binding.repository_id))
        act = {"act": "publisher", "owner": owner, "publisher": number, "removed": binding._asdict()}
        hub.log.append(transaction, owner, "", {**act, **hub.sign(who, now)})
        return {"removed": number}

    return hub.database.write(change)


def list_publishers(hub: Hub, who: Identity, owner: str) -> Json:
    """Return the repositories that may publish for an owner, for its members. Raises WhetError."""
    if not who.may("manage", owner):
        hub.allow(who, "read", owner, "")

    def ask(transaction: Transaction) -> list[Row]:
        number = find_owner(transaction, owner).id
        sql = f"SELECT id, used, {_COLUMNS} FROM publishers WHERE owner = ? ORDER BY id"  # noqa: S608  constants
        return transaction.all(sql, number)

    rows = hub.database.read(ask)
    return {
        "publishers": [
            {"id": row[0], "used": time_text(row[1]) if row[1] else None, **Binding(*row[2:])._asdict()} for row in rows
        ]
    }


def exchange(hub: Hub, token: str) -> Granted:
    """Exchange the identity token of a workflow run for a token for a few minutes. Raises WhetError."""
    issuer = read_issuer(token)
    known = providers(hub.settings.providers)
    name = next((name for name, provider in known.items() if issuer and provider.issuer == issuer), "")
    if not name:
        hint = f"The hub trusts {', '.join(provider.issuer for provider in known.values())}."
        raise RefusedError("identity-refused", "The identity token is from an issuer that is not trusted.", hint=hint)
    claims = read_identity(hub, token, issuer, hub.log.origin)
    used = claims.get("jti")
    if not isinstance(used, str) or not 1 <= len(used) <= 500:
        message = "The identity token has no `jti`."
        raise RefusedError("identity-refused", message, hint="Use the token of the platform as it is.")
    now, provider = hub.now(), known[name]
    said = {field: str(claims.get(getattr(provider, field), "")) for field in Binding._fields[1:7]}
    said |= {field: str(claims.get(getattr(provider, field), "")) for field in ("commit", "run")}

    def change(transaction: Transaction) -> Granted:
        transaction.run("DELETE FROM used_identities WHERE expires < ?", now)
        sql = "INSERT INTO used_identities (issuer, jti, expires) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        if not transaction.run(sql, issuer, used, int(claims["exp"]) + 2 * LEEWAY):
            message = "The identity token has been used already."
            raise RefusedError("identity-refused", message, hint="Get a new one for each publish.")
        sql = f"""SELECT p.id, o.name, {", ".join(f"p.{column}" for column in Binding._fields)}
            FROM publishers p JOIN owners o ON p.owner = o.id
            WHERE p.provider = ? AND p.repository_id = ? AND p.owner_id = ? ORDER BY p.id"""  # noqa: S608  constants
        rows = transaction.all(sql, name, said["repository_id"], said["owner_id"])
        fitting = [row for row in rows if _fits(Binding(*row[2:]), provider, said)]
        if not fitting:
            where = f"repository_id={said['repository_id']}, owner_id={said['owner_id']}, ref={said['ref']}"
            message = f"No owner of the hub trusts this workflow ({name}: {where}, workflow={said['workflow']})."
            raise RefusedError("publisher-not-trusted", message, hint="Ask the owner's admin to add the repository.")
        scopes = tuple(dict.fromkeys(f"publish:{row[1]}{f'/{row[9]}' if row[9] else ''}" for row in fitting))
        for row in fitting:
            transaction.run("UPDATE publishers SET used = ? WHERE id = ?", now, row[0])
        account = _account(name, said["repository_id"])
        number = ensure_account(transaction, account, now)
        proved = json.dumps({"provider": name, **said})
        label = f"{said['repository']}@{said['ref']}"
        made = keep_token(transaction, number, scopes, label, now, now + _SECONDS, claims=proved)
        return Granted(account, made, scopes, now + _SECONDS)

    return hub.database.write(change)


def _fits(binding: Binding, provider: Provider, said: Mapping[str, str]) -> bool:
    """Return whether a run matches a binding; its repository does."""
    if binding.environment and binding.environment != said["environment"]:
        return False
    if binding.ref and not fnmatchcase(said["ref"], binding.ref):
        return False
    host = urlsplit(provider.issuer).netloc
    start = provider.workflow_ref.format(host=host, repository=said["repository"], workflow=binding.workflow)
    return not binding.workflow or said["workflow"].startswith(start)


def _account(provider: str, repository_id: str) -> str:
    """Return the account name of a repository, which no user can have."""
    return f"{provider}:{repository_id}"


def _check(hub: Hub, binding: Binding) -> None:
    known = providers(hub.settings.providers)
    wrong = [name for name, value in binding._asdict().items() if not _TEXT.fullmatch(value)]
    wrong += [name for name in ("repository_id", "owner_id") if not _NUMBER.fullmatch(getattr(binding, name))]
    wrong += ["provider"] if binding.provider not in known else []
    wrong += ["repository"] if not binding.repository else []
    wrong += ["name"] if binding.name and not is_ascii_name(binding.name) else []
    if wrong:
        hint = f"provider is {' or '.join(known)}; repository_id and owner_id are the platform's numbers."
        raise UsageError("bad-request", f"`{wrong[0]}` is missing or does not have the required form.", hint=hint)
