"""The hub over HTTP: which method of which address asks for what, who may, and how failures are said.

Every row of `ROUTES` is one method of one address. A token is looked at first, then the form of the request, then the
registry decides. Reads of SQLite are so quick that they are done where they are asked for; everything else goes to a
thread.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from whet.errors import WhetError
from whet.hub.registry import PAGE
from whet.hub.tokens import ANYBODY
from whet.skill.versions import is_semver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

_STATUS = {
    "bad-request": 400,
    "bad-archive": 400,
    "token-needed": 401,
    "not-allowed": 403,
    "quarantined": 403,
    "bad-method": 405,
    "too-slow": 408,
    "version-exists": 409,
    "length-needed": 411,
    "too-large": 413,
    "digest-mismatch": 422,
    "name-mismatch": 422,
    "version-mismatch": 422,
    "not-publishable": 422,
    "held": 422,
    "too-many-requests": 429,
}
_BY_CLASS = {"UsageError": 400, "InvalidError": 422, "RefusedError": 403, "NotFoundError": 404, "ConflictError": 409}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_UPLOAD_SECONDS = 120
_MOST_JSON = 64 * 1024
_MOST_QUERY = 200
_WINDOW = 60
_MOST_CALLERS = 50_000


class Limits(NamedTuple):
    """Requests a minute from one address, or with one token."""

    reads: int = 1_200
    writes: int = 120
    failures: int = 30
    """Requests with a token that is not one."""


def create_app(hub: Hub, limits: Limits = Limits()) -> Starlette:  # noqa: B008  immutable
    """The application of a hub."""
    server = _Server(hub, limits)
    routes = [
        Route(path, server.endpoint(methods), methods=[*methods], include_in_schema=False)
        for path, methods in server.table().items()
    ]

    async def missing(request: Request, _error: Exception) -> Response:
        return _failure("not-found", f"There is nothing at {request.url.path}.", "See docs/hub-api.md.", 404)

    return Starlette(routes=routes, exception_handlers={404: missing})


class _RequestError(Exception):
    def __init__(self, code: str, message: str, hint: str = "", **headers: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.headers = code, message, hint, headers


class _Asked(NamedTuple):
    """A request with what is known of whoever makes it."""

    request: Request
    who: Identity
    path: Mapping[str, str]

    def limit(self) -> int:
        text = self.request.query_params.get("limit", "20")
        if not text.isdecimal() or not 1 <= int(text[:6]) <= PAGE:
            raise _RequestError("bad-request", f"The limit must be 1 to {PAGE}.")
        return int(text)

    def cursor(self) -> str:
        return self.request.query_params.get("cursor", "")[:512]

    def number(self, name: str) -> int:
        text = self.path.get(name) or self.request.query_params.get(name, "0")
        if not text.isdecimal() or len(text) > 18:
            raise _RequestError("bad-request", f"`{name}` must be a whole number.")
        return int(text)


class _Server:
    def __init__(self, hub: Hub, limits: Limits) -> None:
        self.hub, self.limits = hub, limits
        self.counts: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    def table(self) -> dict[str, dict[str, Callable[[_Asked], Awaitable[Response]]]]:
        """Address -> method -> what answers. `GET` answers `HEAD`, too."""
        version = "/api/v1/skills/{owner}/{name}/versions/{version}"
        return {
            "/api/v1": {"GET": self.describe},
            "/api/v1/skills": {"GET": self.skills},
            "/api/v1/skills/{owner}/{name}": {"GET": self.skill},
            "/api/v1/skills/{owner}/{name}/status": {"PUT": self.status},
            "/api/v1/skills/{owner}/{name}/versions": {"GET": self.versions},
            version: {"GET": self.version, "PUT": self.publish, "POST": self.publish},
            f"{version}/archive": {"GET": self.archive},
            f"{version}/yank": {"PUT": self.yank, "DELETE": self.yank},
            f"{version}/quarantine": {"PUT": self.quarantine, "DELETE": self.quarantine},
            "/api/v1/digests/{digest}": {"GET": self.digest},
            "/api/v1/changes": {"GET": self.changes},
            "/api/v1/log/proof/{number}": {"GET": self.proof},
            "/api/v1/log/consistency/{number}": {"GET": self.consistency},
            "/log/checkpoint": {"GET": self.checkpoint},
            "/log/tile/{rest:path}": {"GET": self.tile},
            "/healthz": {"GET": self.health},
            "/readyz": {"GET": self.ready},
        }

    def endpoint(self, methods: Mapping[str, Callable[[_Asked], Awaitable[Response]]]) -> Callable[..., Any]:
        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            headers: dict[str, str] = {}
            try:
                who = await self._identify(request)
                headers |= self._count(request, who, "reads" if method == "GET" else "writes")
                response = await methods[method](_Asked(request, who, request.path_params))
            except _RequestError as failure:
                response = _failure(failure.code, failure.message, failure.hint)
                headers |= failure.headers
            except WhetError as error:
                response = _failure(error.code, error.message, error.hint, _BY_CLASS.get(type(error).__name__, 503))
            if response.status_code == 401:
                headers["WWW-Authenticate"] = "Bearer"
            private = "authorization" in request.headers
            if private and response.headers.get("cache-control", "").startswith("public"):
                response.headers["cache-control"] = response.headers["cache-control"].replace("public", "private", 1)
            response.headers.update(headers)
            response.headers.setdefault("cache-control", "private, no-cache" if private else "no-cache")
            response.headers["x-content-type-options"] = "nosniff"
            return response

        return answer

    async def _identify(self, request: Request) -> Identity:
        header = request.headers.get("authorization", "")
        scheme, _, token = header.partition(" ")
        if not header:
            if self.hub.settings.private and request.url.path not in ("/api/v1", "/healthz", "/readyz"):
                raise _RequestError("token-needed", "This hub needs a token.", "Set WHET_HUB and WHET_HUB_TOKEN.")
            return ANYBODY
        if scheme.lower() != "bearer":
            raise _RequestError(
                "token-needed", "The hub takes bearer tokens only.", "Send `Authorization: Bearer TOKEN`."
            )
        try:
            who: Identity = await self._ask(self.hub.identify, token.strip())
        except WhetError:
            self._count(request, ANYBODY, "failures")
            raise
        return who

    def _count(self, request: Request, who: Identity, kind: str) -> dict[str, str]:
        """Count a request; what the answer says of the limit. Raises _RequestError for one too many."""
        most, now = getattr(self.limits, kind), int(time.monotonic())
        caller = who.account or (request.client.host if request.client else "")
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
            raise _RequestError(
                "too-many-requests", message, f"Wait {wait} seconds.", **headers, **{"Retry-After": wait}
            )
        return headers

    async def _ask(self, ask: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Read from the database: here where that is quick, else in a thread."""
        if not self.hub.threads:
            return ask(*arguments, **named)
        return await anyio.to_thread.run_sync(lambda: ask(*arguments, **named))

    # reading

    async def describe(self, _asked: _Asked) -> Response:
        return _json(self.hub.describe())

    async def skills(self, asked: _Asked) -> Response:
        name = asked.request.query_params.get("name", "")[:_MOST_QUERY]
        return _json(await self._ask(self.hub.skills, asked.who, name=name, limit=asked.limit(), cursor=asked.cursor()))

    async def skill(self, asked: _Asked) -> Response:
        return _json(await self._ask(self.hub.skill, asked.who, asked.path["owner"], asked.path["name"]))

    async def versions(self, asked: _Asked) -> Response:
        place = asked.path["owner"], asked.path["name"]
        found = await self._ask(self.hub.versions, asked.who, *place, limit=asked.limit(), cursor=asked.cursor())
        return _json(found)

    async def version(self, asked: _Asked) -> Response:
        return _cached(asked.request, await self._ask(self.hub.version, asked.who, *_place(asked)))

    async def archive(self, asked: _Asked) -> Response:
        sha256, data = await anyio.to_thread.run_sync(self.hub.archive, asked.who, *_place(asked))
        headers = {"ETag": f'"sha256:{sha256}"', "Cache-Control": "public, max-age=31536000, immutable"}
        if asked.request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type="application/zip", headers=headers)

    async def digest(self, asked: _Asked) -> Response:
        if not _DIGEST.fullmatch(asked.path["digest"]):
            raise _RequestError("bad-request", "This is not a digest.", "It is sha256: and 64 hexadecimal digits.")
        return _json(await self._ask(self.hub.find_digest, asked.who, asked.path["digest"]))

    # writing

    async def publish(self, asked: _Asked) -> Response:
        digest = asked.request.headers.get("whet-digest", "")
        if not _DIGEST.fullmatch(digest):
            raise _RequestError("bad-request", "The header Whet-Digest is missing or not a digest.")
        most = self.hub.settings.archive_bytes
        owner, name, _ = place = _place(asked)
        self.hub.allow(asked.who, "publish", owner, name)  # before a byte of the body is read
        data = await _body(asked.request, most)
        done = await anyio.to_thread.run_sync(self.hub.publish, asked.who, *place, data, digest)
        response = _text(done.document, 201 if done.created else 200)
        response.headers["Location"] = asked.request.url.path
        return response

    async def yank(self, asked: _Asked) -> Response:
        reason = await _reason(asked.request)
        return _text(await anyio.to_thread.run_sync(self.hub.yank, asked.who, *_place(asked), reason))

    async def quarantine(self, asked: _Asked) -> Response:
        reason = await _reason(asked.request)
        return _text(await anyio.to_thread.run_sync(self.hub.quarantine, asked.who, *_place(asked), reason))

    async def status(self, asked: _Asked) -> Response:
        fields = await _fields(asked.request, "status", "successor", "reason")
        status = fields.pop("status", "")

        def change() -> Json:
            return self.hub.set_status(asked.who, asked.path["owner"], asked.path["name"], status, **fields)

        return _json(await anyio.to_thread.run_sync(change))

    # the log

    async def changes(self, asked: _Asked) -> Response:
        found = await self._ask(self.hub.log.entries, asked.number("after"), asked.limit())
        entries = [{"index": number, **json.loads(entry)} for number, entry in found]
        return _json({"changes": entries, "next": found[-1][0] + 1 if found else asked.number("after")})

    async def proof(self, asked: _Asked) -> Response:
        return PlainTextResponse(await self._ask(self.hub.log.prove, asked.number("number")))

    async def consistency(self, asked: _Asked) -> Response:
        checkpoint, path = await self._ask(self.hub.log.prove_consistency, asked.number("number"))
        return _json({"checkpoint": checkpoint, "path": [value.hex() for value in path]})

    async def checkpoint(self, _asked: _Asked) -> Response:
        return PlainTextResponse(await self._ask(self.hub.log.checkpoint))

    async def tile(self, asked: _Asked) -> Response:
        kind, number, width = read_tile_path(asked.path["rest"])
        if kind == "entries":
            data = await self._ask(self.hub.log.bundle, number, width)
        else:
            data = await self._ask(self.hub.log.tile, int(kind), number, width)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(data, media_type="application/octet-stream", headers=headers)

    # the operator

    async def health(self, _asked: _Asked) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(self, _asked: _Asked) -> Response:
        await anyio.to_thread.run_sync(self.hub.log.checkpoint)
        return PlainTextResponse("ready\n")


def read_tile_path(text: str) -> tuple[str, int, int]:
    """The level (or `entries`), the number and the width of a tile: `0/x001/234.p/17`. Raises WhetError for others."""
    match = re.fullmatch(r"([0-5]|entries)/((?:x\d{3}/)*\d{3})(?:\.p/([1-9]\d{0,2}))?", text)
    width = int(match[3] or 256) if match else 0
    if match is None or not (1 <= width < 256 or match[3] is None) or len(match[2]) > 23:
        raise _RequestError("bad-request", "This is not the address of a tile.")
    return match[1], int(match[2].replace("/", "").replace("x", "")), width


def _place(asked: _Asked) -> tuple[str, str, str]:
    version = asked.path["version"]
    if not is_semver(version) or len(version) > 64:
        raise _RequestError("bad-request", "This is not a semantic version.", "It looks like 1.4.0.")
    return asked.path["owner"], asked.path["name"], version


async def _body(request: Request, most: int) -> bytes:
    """The body of a request, no longer than it says and than is allowed, within two minutes."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise _RequestError("length-needed", "The header Content-Length is missing.")
    if len(length) > 12 or int(length) > most:
        raise _RequestError("too-large", f"The hub accepts {most:,} bytes.", "Leave out what the skill does not need.")
    data = bytearray()
    with anyio.move_on_after(_UPLOAD_SECONDS) as scope:
        async for chunk in request.stream():
            data += chunk
            if len(data) > most:
                raise _RequestError("too-large", f"The hub accepts {most:,} bytes.")
    if scope.cancelled_caught:
        raise _RequestError("too-slow", "The upload took too long.", "Try again on a better connection.")
    return bytes(data)


async def _reason(request: Request) -> str | None:
    """The reason in the body of a PUT; None for a DELETE."""
    return None if request.method == "DELETE" else (await _fields(request, "reason")).get("reason", "")


async def _fields(request: Request, *names: str) -> dict[str, str]:
    try:
        fields = json.loads(await _body(request, _MOST_JSON))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name, ""), str) for name in names):
        raise _RequestError("bad-request", f"The body must be a JSON object with {', '.join(names)}.")
    return {name: fields[name] for name in names if name in fields}


def _json(value: Json, status: int = 200) -> Response:
    return _text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), status)


def _text(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


def _cached(request: Request, text: str) -> Response:
    """A text with its tag; 304 where the caller has it already."""
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    response = _text(text)
    response.headers["ETag"] = tag
    return response


def _failure(code: str, message: str, hint: str, status: int = 500) -> Response:
    return _json({"error": message, "code": code, "hint": hint}, _STATUS.get(code, status))
