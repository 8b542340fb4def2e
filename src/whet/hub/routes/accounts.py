"""Owners, members, tokens and invitations over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.hub.accounts import (
    INVITATION_DAYS,
    accept_invitation,
    create_own_token,
    describe_account,
    invite,
    list_tokens,
    revoke_own_token,
)
from whet.hub.members import create_owner, find_owner, list_members, set_hub_role, set_member
from whet.hub.requests import Route, read_count, send_json
from whet.hub.tokens import ACCOUNT, DAYS
from whet.values import as_json

if TYPE_CHECKING:
    from starlette.responses import Response

    from whet.hub.requests import Asked

ACCEPT = "/api/v1/invitations/accept"
_OWNER = "/api/v1/owners/{owner}"
_MEMBER = f"{_OWNER}/members/{{account}}"


async def _account(asked: Asked) -> Response:
    return send_json(describe_account(asked.who))


async def _tokens(asked: Asked) -> Response:
    return send_json(await asked.read(list_tokens, asked.hub, asked.who))


async def _create_token(asked: Asked) -> Response:
    fields = await asked.fields("scopes", "label", "days")
    scopes, days = tuple(fields.get("scopes", ACCOUNT).split()), read_count(fields, "days", DAYS)
    made = await asked.work(create_own_token, asked.hub, asked.who, scopes, fields.get("label", ""), days)
    return send_json(made.to_json(), 201)


async def _revoke_token(asked: Asked) -> Response:
    return send_json(await asked.work(revoke_own_token, asked.hub, asked.who, asked.number("id")))


async def _set_role(asked: Asked) -> Response:
    role = await asked.reason("role") or ""
    await asked.work(set_hub_role, asked.hub, asked.who, asked.request.path_params["account"], role)
    return send_json({"account": asked.request.path_params["account"], "role": role or None})


async def _create_owner(asked: Asked) -> Response:
    fields = await asked.fields("owner")
    made = await asked.work(create_owner, asked.hub, asked.who, fields.get("owner", ""))
    return send_json(made.to_json(), 201)


async def _owner(asked: Asked) -> Response:
    owner = asked.request.path_params["owner"]
    found = await asked.read(asked.hub.database.read, lambda ask: find_owner(ask, owner))
    return send_json(found.to_json())


async def _members(asked: Asked) -> Response:
    owner = asked.request.path_params["owner"]
    return send_json({"members": as_json(await asked.read(list_members, asked.hub, asked.who, owner))})


async def _set_member(asked: Asked) -> Response:
    owner, account = asked.request.path_params["owner"], asked.request.path_params["account"]
    role = await asked.reason("role")
    await asked.work(set_member, asked.hub, asked.who, owner, account, "" if role is None else role or "?")
    return send_json({"owner": owner, "account": account, "role": role})


async def _invite(asked: Asked) -> Response:
    fields = await asked.fields("owner", "role", "days")
    days = read_count(fields, "days", INVITATION_DAYS)
    made = await asked.work(invite, asked.hub, asked.who, fields.get("owner", ""), fields.get("role", ""), days)
    return send_json(made.to_json(), 201)


async def _accept(asked: Asked) -> Response:
    fields = await asked.fields("invitation", "account", "label")
    values = (fields.get(name, "") for name in ("invitation", "account", "label"))
    return send_json((await asked.work(accept_invitation, asked.hub, asked.who, *values)).to_json(), 201)


ROUTES = (
    Route("GET", "/api/v1/account", _account, "token"),
    Route("DELETE", "/api/v1/account/token", _revoke_token),
    Route("GET", "/api/v1/account/tokens", _tokens),
    Route("POST", "/api/v1/account/tokens", _create_token),
    Route("DELETE", "/api/v1/account/tokens/{id}", _revoke_token),
    Route("PUT", "/api/v1/accounts/{account}/role", _set_role),
    Route("DELETE", "/api/v1/accounts/{account}/role", _set_role),
    Route("POST", "/api/v1/owners", _create_owner),
    Route("GET", _OWNER, _owner),
    Route("GET", f"{_OWNER}/members", _members),
    Route("PUT", _MEMBER, _set_member),
    Route("DELETE", _MEMBER, _set_member),
    Route("POST", "/api/v1/invitations", _invite),
    Route("POST", ACCEPT, _accept),
)
