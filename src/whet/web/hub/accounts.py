"""Sign in to the pages of a hub: with a token, at the hub's identity provider, or with an invitation.

A browser keeps the token in a cookie that scripts cannot read. The API ignores cookies, so that another site cannot use
it on the user's behalf; forms are accepted from the hub's own pages only.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import RedirectResponse

from whet.errors import RefusedError
from whet.hub.accounts import accept_invitation, describe_account, revoke_own_token
from whet.hub.routes.identities import LOGIN
from whet.hub.sign_ins import RETURN, make_challenge, make_secret, redeem
from whet.web.hub.requests import SIGN_IN, action, forget, let_in, page
from whet.web.pages import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from whet.hub.accounts import Granted
    from whet.hub.requests import Asked

LABEL = "Web pages"
"""Label of tokens created by the pages; they are revoked at sign-out."""
_STARTED = "whet_sign_in"
_SECONDS = 600


async def _show(asked: Asked) -> Page:
    account = describe_account(asked.who) if asked.who.account else None
    provider = bool(asked.hub.settings.login.issuer)
    return Page("hub_sign_in.html", {"signed_in": account, "provider": provider}, {"next": asked.query("next")})


async def _enter(asked: Asked) -> Response:
    form = await asked.form()
    token = form.get("token", "").strip()
    try:
        who = await asked.read(asked.hub.identify, token)
    except RefusedError as error:
        raise RefusedError("login-failed", error.message, hint=error.hint) from None  # a guess, and counted as one
    return let_in(asked, token, max(0, who.expires - asked.hub.now()), _own_address(form.get("next", "")))


def _own_address(text: str) -> str:
    """Return an address of this hub; the front page instead of any other."""
    return text if text.startswith("/") and text[1:2] not in ("/", "\\") and text.isprintable() else "/"


async def _leave(asked: Asked) -> Response:
    await _revoke(asked)
    response = RedirectResponse("/", 303)
    forget(asked, response)
    return response


async def _revoke(asked: Asked) -> None:
    """Revoke the token of this browser, if the pages created it."""
    if asked.who.detail == LABEL:
        await asked.work(revoke_own_token, asked.hub, asked.who, 0)


async def _let_in(asked: Asked, granted: Granted, address: str) -> Response:
    """Continue with a new token instead of the one that the browser had."""
    await _revoke(asked)
    return let_in(asked, granted.token, granted.expires - asked.hub.now(), address)


async def _begin(asked: Asked) -> Response:
    """Send the browser to the provider; on return, the cookie proves that this browser began."""
    state, verifier = make_secret(), make_secret()
    query = {
        "redirect_uri": asked.hub.settings.url + RETURN,
        "state": state,
        "code_challenge": make_challenge(verifier),
        "code_challenge_method": "S256",
    }
    response = RedirectResponse(f"{LOGIN}?{urlencode(query)}", 303)
    secure = asked.hub.settings.url.startswith("https:")
    kept = f"{state}.{verifier}"
    response.set_cookie(_STARTED, kept, max_age=_SECONDS, secure=secure, httponly=True, samesite="lax")
    return response


async def _return(asked: Asked) -> Response:
    state, _, verifier = asked.request.cookies.get(_STARTED, "")[:200].partition(".")
    if not state or not hmac.compare_digest(state.encode(), asked.query("state").encode()):
        raise RefusedError("login-failed", "This sign-in was not begun in this browser, or is over.", hint="Try again.")
    if asked.query("error"):
        message = asked.query("error_description") or "The provider refused the login."
        raise RefusedError("login-failed", message, hint="Try again.")
    granted = await asked.work(redeem, asked.hub, asked.query("code"), verifier, LABEL)
    response = await _let_in(asked, granted, "/")
    response.delete_cookie(_STARTED)
    return response


async def _invitation(asked: Asked) -> Page:
    return Page("hub_invitation.html", {"account": asked.who.account})


async def _accept(asked: Asked) -> Response:
    form = await asked.form()
    secret = form.get("invitation", "").strip().rpartition("#")[2]
    name = form.get("account", "").strip()
    granted = await asked.work(accept_invitation, asked.hub, asked.who, secret, name, LABEL)
    return await _let_in(asked, granted, SIGN_IN)


ROUTES = (
    *page(SIGN_IN, _show, is_open=True),
    action(SIGN_IN, _enter, is_open=True),
    page(f"{SIGN_IN}/provider", _begin, is_open=True)[1],
    page(RETURN, _return, is_open=True)[1],
    action("/sign-out", _leave, is_open=True),
    *page("/invitation", _invitation, is_open=True),
    action("/invitation", _accept, is_open=True),
)
