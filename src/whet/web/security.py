"""Who gets an answer from a page on this machine, and what a browser may do with it.

Any web page that a user visits can send requests to `127.0.0.1`, and a host name can be made to resolve to that
address. So a request is accepted only if its Host is ours, if it has the cookie of a browser that opened the address
printed by `whet ui`, and, if it changes something, if the browser says that it comes from our own page. A missing
header counts as no.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SAFE_METHODS = frozenset({"GET", "HEAD"})


class Headed:
    """An application whose answers have the security headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_headed)


class SignIn:
    """The one-time addresses by which a browser signs in, and the cookies of signed-in browsers."""

    def __init__(self, announce: Callable[[str], None] = lambda _: None) -> None:
        """`announce` gets a new token after one was used, so that another browser can sign in."""
        self._announce = announce
        self.token = secrets.token_urlsafe(24)
        self._sessions: set[str] = set()

    def use(self, token: str) -> str:
        """Return the cookie for an unused token; "" for any other."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return ""
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        self.token = secrets.token_urlsafe(24)
        self._announce(self.token)
        return session

    def knows(self, session: str) -> bool:
        """Return whether this is the cookie of a signed-in browser."""
        return session in self._sessions


class LocalOnly:
    """An application that answers only the user of this machine."""

    def __init__(self, app: ASGIApp, sign_in: SignIn, port: int, *, read_only: bool = False) -> None:
        self.app, self.sign_in, self.read_only = Headed(app), sign_in, read_only
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
        self.cookie = f"whet_ui_{port}"
        """Cookies ignore ports: two servers on one machine must not share one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refusal = (
            self._refuse(scope)
            if scope["type"] == "http"
            else PlainTextResponse("This server speaks only HTTP.\n", 400)
        )
        await (Headed(refusal) if refusal else self.app)(scope, receive, send)

    def _refuse(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return PlainTextResponse("This server answers only requests to its own address.\n", 403)
        if method == "GET" and scope["path"] == "/sign-in":
            return self._sign_in(scope)
        if not self.sign_in.knows(self._session(headers)):
            return PlainTextResponse("Open the address that `whet ui` printed.\n", 401)
        if method in SAFE_METHODS:
            return None
        if self.read_only:
            return PlainTextResponse("These pages are read-only.\n", 403)
        return (
            None
            if is_own(headers, f"http://{hosts[0]}")
            else PlainTextResponse("This request does not come from Whet's pages.\n", 403)
        )

    def _sign_in(self, scope: Scope) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        session = self.sign_in.use(given)
        if not session:
            text = "This address was used before. The terminal with `whet ui` shows a new one.\n"
            return PlainTextResponse(text, 401)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.cookie, session, httponly=True, samesite="strict", path="/")
        return response

    def _session(self, headers: Headers) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return cookie.value if cookie else ""


def is_own(headers: Headers, own: str) -> bool:
    """Return whether the browser says that a page of this origin sent this. Nothing, or two values, is no."""
    origin, site = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    if origin:
        return origin == [own] and site in ([], ["same-origin"])
    return site == ["same-origin"]
