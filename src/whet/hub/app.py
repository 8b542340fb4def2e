"""The hub over HTTP: authentication, rate limits and errors. `whet.hub.routes` has the addresses.

The token is checked first, then the format of the request, then the registry decides. Reads of SQLite are fast enough
for the event loop; everything else runs in a thread.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import OrderedDict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from starlette import routing
from starlette.applications import Starlette
from starlette.responses import Response

from whet.errors import RefusedError, WhetError
from whet.hub.mirrors import Mirrors
from whet.hub.openapi import describe_api
from whet.hub.requests import Asked, RequestError, Route, cookie_name, send_json
from whet.hub.rescans import Rescan
from whet.hub.routes import (
    accounts,
    clawhub,
    discovery,
    identities,
    lifecycle,
    log,
    moderation,
    operator,
    search,
    skills,
)
from whet.hub.tokens import ANYBODY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from starlette.requests import Request

    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity

_LOG = logging.getLogger(__name__)


async def _describe_api(_asked: Asked) -> Response:
    return send_json(describe_api(ROUTES))


ROUTES: tuple[Route, ...] = (
    *skills.ROUTES,
    *lifecycle.ROUTES,
    *search.ROUTES,
    *accounts.ROUTES,
    *identities.ROUTES,
    *moderation.ROUTES,
    *log.ROUTES,
    *discovery.ROUTES,
    *clawhub.ROUTES,
    *operator.ROUTES,
    Route("GET", "/api/v1/openapi.json", _describe_api),
)
OPEN = ("/api/v1", "/api/v1/openapi.json", accounts.ACCEPT, *identities.OPEN, "/healthz", "/readyz")
"""Addresses that a private hub answers without a token."""
_MOST = {"reads": 1_200, "writes": 120, "failures": 30}
"""Requests a minute from one address or with one token; failures are those with an invalid secret."""
_GUESSES = ("invitation-not-found", "code-not-found", "login-failed", "identity-refused")
"""Errors that may come from guessing."""
_FAILED = "The hub failed; nothing was changed."
_WINDOW = 60
_MOST_CALLERS = 50_000
_PULLS = 8
"""Concurrent requests that ask mirrors."""
_TICK = 5
"""Seconds between two runs of the periodic tasks."""
_RESCAN = 2.0
"""Seconds of rescanning in each run."""


def create_app(hub: Hub, pages: Sequence[Route] = ()) -> Starlette:
    """Create the application of a hub, optionally with web pages."""
    server = _Server(hub)
    table: dict[str, dict[str, Route]] = {}
    for route in (*ROUTES, *pages):
        table.setdefault(route.path, {})[route.method] = route
    routes = [routing.Route(path, server.endpoint(methods), methods=[*methods]) for path, methods in table.items()]

    return Starlette(
        routes=routes,
        exception_handlers={404: server.answer_missing, 405: server.answer_bad_method},
        lifespan=server.lifespan,
    )


class _Server:
    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.mirrors = Mirrors(hub)
        self.pulls = anyio.CapacityLimiter(_PULLS)
        self.counts: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Run the periodic tasks while the hub serves."""
        async with anyio.create_task_group() as chores:
            chores.start_soon(self._tick)
            chores.start_soon(self._follow)
            yield
            chores.cancel_scope.cancel()
        self.mirrors.close()

    async def _tick(self) -> None:
        rescan = Rescan(self.hub)
        while True:
            try:
                await anyio.to_thread.run_sync(self.hub.tick)
                await anyio.to_thread.run_sync(rescan.work, _RESCAN)
            except Exception:  # noqa: BLE001  the database or an archive failed: try again later
                _LOG.exception("The hub's chores failed.")
            await anyio.sleep(_TICK)

    async def _follow(self) -> None:
        while self.mirrors.upstreams:
            try:
                await anyio.to_thread.run_sync(self.mirrors.follow, abandon_on_cancel=True)
            except Exception:  # noqa: BLE001  try again later
                _LOG.exception("The hub could not follow its mirrors.")
            await anyio.sleep(_TICK)

    def endpoint(self, methods: Mapping[str, Route]) -> Callable[..., Any]:
        """Return the function that answers the methods of one address."""

        async def answer(request: Request) -> Response:
            return await self._answer(request, methods["GET" if request.method == "HEAD" else request.method])

        return answer

    async def answer_missing(self, request: Request, _error: Exception) -> Response:
        """Answer that there is nothing at an address."""

        async def missing(_asked: Asked) -> Response:
            raise RequestError("not-found", f"There is nothing at {request.url.path}.", "See docs/hub-api.md.")

        return await self._answer(request, Route("GET", "", missing, browser=True))

    async def answer_bad_method(self, request: Request, error: Any) -> Response:
        """Answer that an address does not support a method."""
        allowed = error.headers["Allow"]

        async def refuse(_asked: Asked) -> Response:
            message = f"{request.url.path} does not support {request.method}."
            raise RequestError("bad-method", message, f"It supports {allowed}.", Allow=allowed)

        return await self._answer(request, Route("GET", "", refuse))

    async def _answer(self, request: Request, route: Route) -> Response:
        started = time.perf_counter()
        asked, headers = self._ask(request, ANYBODY), dict[str, str]()
        try:
            asked = self._ask(request, await self._identify(request, route))
            headers |= self._count(asked, "reads" if route.method == "GET" else "writes")
            self._allow(asked, route.needs)
            response = _tag(request, await route.answer(asked))
        except Exception as error:  # noqa: BLE001  whatever it is, the next request is answered
            failure = self._explain(request, error)
            response = route.fail(asked, failure)
            headers |= failure.headers
        if response.status_code == 401:
            headers["WWW-Authenticate"] = "Bearer"
        private = "authorization" in request.headers or (
            route.browser and cookie_name(self.hub.settings.url) in request.cookies
        )
        kept = response.headers.get("cache-control")
        if kept is None:
            headers["Cache-Control"] = "private, no-cache" if private else "no-cache"
        elif private and kept.startswith("public"):
            headers["Cache-Control"] = kept.replace("public", "private", 1)
        headers["X-Content-Type-Options"] = "nosniff"
        response.headers.update(headers)
        self.hub.metrics.count(request.method, route.path, response.status_code, time.perf_counter() - started)
        return response

    def _explain(self, request: Request, error: Exception) -> RequestError:
        """Return the error for the caller; internal errors are shown only to the operator."""
        if isinstance(error, RequestError):
            return error
        if not isinstance(error, WhetError):
            _LOG.error("A request failed.", exc_info=error)
            return RequestError("failed", _FAILED, "Try again in a moment.")
        if error.http_status >= 500:
            _LOG.error("%s: %s", error.code, error.message)
            return RequestError("failed", _FAILED, "Try again in a moment.", status=503)
        if error.code in _GUESSES:
            try:
                self._count(self._ask(request, ANYBODY), "failures")
            except RequestError as refusal:
                return refusal
        return RequestError(error.code, error.message, error.hint, status=error.http_status)

    def _ask(self, request: Request, who: Identity) -> Asked:
        return Asked(self.hub, request, who, self.mirrors, self.pulls)

    def _allow(self, asked: Asked, needs: str) -> None:
        """Raise RefusedError unless the caller may do what the address needs."""
        if needs == "token" and not asked.who.account:
            raise RequestError("token-needed", "This needs a token.", "Set WHET_HUB and WHET_HUB_TOKEN.")
        if needs and needs != "token":
            place = asked.request.path_params
            self.hub.allow(asked.who, needs, place.get("owner", ""), place.get("name", ""))

    async def _identify(self, request: Request, route: Route) -> Identity:
        if "\0" in request.scope["path"]:
            raise RequestError("bad-request", "The address contains a character that names cannot have.")
        header = request.headers.get("authorization", "")
        scheme, _, token = header.partition(" ")
        if header and scheme.lower() != "bearer":
            raise RequestError(
                "token-needed", "The hub accepts only bearer tokens.", "Send `Authorization: Bearer TOKEN`."
            )
        if not header and route.browser:
            token = request.cookies.get(cookie_name(self.hub.settings.url), "")
        if header or token:
            nobody = self._ask(request, ANYBODY)
            try:
                return await nobody.read(self.hub.identify, token.strip())
            except RefusedError:
                self._count(nobody, "failures")
                if header:
                    raise
        if self.hub.settings.private and not route.page and request.url.path not in OPEN:
            raise RequestError("token-needed", "This hub needs a token.", "Set WHET_HUB and WHET_HUB_TOKEN.")
        return ANYBODY

    def _count(self, asked: Asked, kind: str) -> dict[str, str]:
        """Count a request; return the rate limit headers. Raise RequestError if there are too many."""
        most, now = _MOST[kind], int(time.monotonic())
        caller = asked.caller
        since, count = self.counts.pop((caller, kind), (now, 0))
        if now - since >= _WINDOW:
            since, count = now, 0
        self.counts[caller, kind] = since, count + 1
        while len(self.counts) > _MOST_CALLERS:
            self.counts.popitem(last=False)
        left, wait = max(0, most - count - 1), str(max(1, since + _WINDOW - now))
        headers = {"RateLimit-Limit": str(most), "RateLimit-Remaining": str(left), "RateLimit-Reset": wait}
        if count >= most:
            message = f"More than {most} requests in a minute."
            refusal = RequestError("too-many-requests", message, f"Wait {wait} seconds.")
            refusal.headers |= {**headers, "Retry-After": wait}
            raise refusal
        return headers


def _tag(request: Request, response: Response) -> Response:
    """Add an ETag to the answer of a read; answer 304 if the caller already has it."""
    if response.status_code != 200 or request.method not in ("GET", "HEAD"):
        return response
    tag = response.headers.get("etag")
    if tag is None:
        response.headers["etag"] = tag = f'"{hashlib.sha256(response.body).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") != tag:
        return response
    kept = {name: value for name in ("etag", "cache-control") if (value := response.headers.get(name))}
    return Response(status_code=304, headers=kept)
