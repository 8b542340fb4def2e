"""Logging in at a provider, and trusted publishing, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from whet.hub.namespaces import list_proofs, prove, set_tier
from whet.hub.publishers import FIELDS, add_publisher, exchange, list_publishers, remove_publisher
from whet.hub.requests import Route, send_json
from whet.hub.sign_ins import CALLBACK, begin, finish, redeem

if TYPE_CHECKING:
    from starlette.responses import Response

    from whet.hub.requests import Asked

LOGIN, TOKEN, EXCHANGE = "/api/v1/login", "/api/v1/login/token", "/api/v1/tokens/exchange"
OPEN = (LOGIN, CALLBACK, TOKEN, EXCHANGE)
"""Addresses that must be open to get a token."""
_PUBLISHERS = "/api/v1/owners/{owner}/publishers"
_PROOFS = "/api/v1/owners/{owner}/proofs"
_COOKIE = "whet_login"


async def _login(asked: Asked) -> Response:
    names = ("redirect_uri", "state", "code_challenge", "code_challenge_method")
    begun = await asked.work(begin, asked.hub, *(asked.query(name, 300) for name in names))
    response = RedirectResponse(begun.address, 302)
    secure = asked.hub.settings.url.startswith("https:")
    response.set_cookie(_COOKIE, begun.cookie, max_age=600, secure=secure, httponly=True, samesite="lax")
    return response


async def _callback(asked: Asked) -> Response:
    values = (asked.query("state"), asked.query("code", 4096), asked.query("error"))
    cookie = asked.request.cookies.get(_COOKIE, "")[:200]
    response = RedirectResponse(await asked.work(finish, asked.hub, *values, cookie), 302)
    response.delete_cookie(_COOKIE)
    return response


async def _redeem(asked: Asked) -> Response:
    fields = await asked.fields("code", "code_verifier", "label")
    values = (fields.get(name, "") for name in ("code", "code_verifier", "label"))
    return send_json((await asked.work(redeem, asked.hub, *values)).to_json(), 201)


async def _exchange(asked: Asked) -> Response:
    fields = await asked.fields("token")
    return send_json((await asked.work(exchange, asked.hub, fields.get("token", ""))).to_json(), 201)


async def _publishers(asked: Asked) -> Response:
    owner = asked.request.path_params["owner"]
    return send_json(await asked.read(list_publishers, asked.hub, asked.who, owner))


async def _add_publisher(asked: Asked) -> Response:
    fields, owner = await asked.fields(*FIELDS), asked.request.path_params["owner"]
    return send_json(await asked.work(add_publisher, asked.hub, asked.who, owner, fields), 201)


async def _remove_publisher(asked: Asked) -> Response:
    owner = asked.request.path_params["owner"]
    return send_json(await asked.work(remove_publisher, asked.hub, asked.who, owner, asked.number("id")))


async def _proofs(asked: Asked) -> Response:
    return send_json(await asked.read(list_proofs, asked.hub, asked.request.path_params["owner"]))


async def _prove(asked: Asked) -> Response:
    fields, owner = await asked.fields("kind", "value"), asked.request.path_params["owner"]
    values = fields.get("kind", ""), fields.get("value", "")
    return send_json(await asked.work(prove, asked.hub, asked.who, owner, *values))


async def _set_tier(asked: Asked) -> Response:
    fields, owner = await asked.fields("tier", "reason"), asked.request.path_params["owner"]
    values = fields.get("tier", ""), fields.get("reason", "")
    return send_json(await asked.work(set_tier, asked.hub, asked.who, owner, *values))


ROUTES = (
    Route("GET", LOGIN, _login),
    Route("GET", CALLBACK, _callback),
    Route("POST", TOKEN, _redeem),
    Route("POST", EXCHANGE, _exchange),
    Route("GET", _PUBLISHERS, _publishers),
    Route("POST", _PUBLISHERS, _add_publisher),
    Route("GET", _PROOFS, _proofs),
    Route("POST", _PROOFS, _prove),
    Route("PUT", "/api/v1/owners/{owner}/tier", _set_tier),
    Route("DELETE", f"{_PUBLISHERS}/{{id}}", _remove_publisher),
)
