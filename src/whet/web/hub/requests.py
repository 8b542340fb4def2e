"""Declare and answer pages of a hub: who may see them, the origin of forms, and shared values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from whet.hub.requests import RequestError, Route, cookie_name
from whet.web.pages import Moved, Page, send
from whet.web.security import HEADERS, is_own

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whet.hub.requests import Asked

    Answer = Callable[[Asked], Awaitable[Page | Moved | Response]]

SIGN_IN = "/sign-in"
_MENU = (("/skills", "Skills"), ("/collections", "Collections"), ("/log", "Log"), ("/about", "About"))


def page(path: str, answer: Answer, *, is_open: bool = False) -> tuple[Route, Route]:
    """Return the routes of a page and of its JSON; `is_open` for one that a private hub shows to everyone."""
    name = "/index" if path == "/" else path
    return _route("GET", f"{name}.json", answer, is_open, as_json=True), _route("GET", path, answer, is_open)


def action(path: str, answer: Answer, *, is_open: bool = False) -> Route:
    """Return the route of a form."""
    return _route("POST", path, answer, is_open)


def _route(method: str, path: str, answer: Answer, is_open: bool, *, as_json: bool = False) -> Route:
    """Return a route that answers with a page, even for errors."""

    async def respond(asked: Asked) -> Response:
        return finish(asked, await _answer(asked, answer, as_json=as_json, is_open=is_open))

    def finish(asked: Asked, result: Page | Moved | Response) -> Response:
        response = _send(asked, result, as_json=as_json)
        response.headers.update(HEADERS)
        if asked.who.account or "set-cookie" in response.headers:
            response.headers["Cache-Control"] = "private, no-store"
        elif response.status_code < 500 and cookie_name(asked.hub.settings.url) in asked.request.cookies:
            forget(asked, response)
        return response

    def fail(asked: Asked, error: RequestError) -> Response:
        return finish(asked, Page("failure.html", error.to_json(), status=error.status))

    return Route(method, path, respond, browser=True, page=True, fail=fail)


async def _answer(asked: Asked, answer: Answer, *, as_json: bool, is_open: bool) -> Page | Moved | Response:
    request = asked.request
    if asked.hub.settings.private and not asked.who.account and not is_open:
        if as_json or request.method == "POST":
            raise RequestError("token-needed", "This hub is private.", "Sign in.")
        return Moved(f"{SIGN_IN}?{urlencode({'next': request.url.path})}")
    if request.method == "POST" and not is_own(request.headers, origin(asked)):
        raise RequestError("not-allowed", "This form does not come from a page of this hub.", "Use the page.")
    return await answer(asked)


def origin(asked: Asked) -> str:
    """Return the scheme and host under which browsers know the hub."""
    parts = urlsplit(asked.hub.settings.url)
    return f"{parts.scheme}://{parts.netloc}"


def _send(asked: Asked, result: Page | Moved | Response, *, as_json: bool) -> Response:
    if isinstance(result, Moved):
        return RedirectResponse(result.address, 303)
    if isinstance(result, Response):
        return result
    shared: dict[str, Any] = {
        "menu": (*_MENU, *((("/moderation", "Moderation"),) if asked.who.may("moderate") else ())),
        "notices": (),
        "local": False,
        "name_of_site": asked.hub.settings.title or "Hub",
        "read_only": True,
        "account": asked.who.account,
    }
    return send(asked.request, result, as_json=as_json, **shared)


def let_in(asked: Asked, token: str, seconds: int, address: str) -> Response:
    """Store a token as a cookie of the browser, and redirect."""
    response = RedirectResponse(address, 303)
    url = asked.hub.settings.url
    secure = url.startswith("https:")
    response.set_cookie(cookie_name(url), token, max_age=seconds, secure=secure, httponly=True, samesite="lax")
    return response


def forget(asked: Asked, response: Response) -> None:
    """Delete the token cookie of a browser."""
    url = asked.hub.settings.url
    response.delete_cookie(cookie_name(url), secure=url.startswith("https:"), httponly=True, samesite="lax")
