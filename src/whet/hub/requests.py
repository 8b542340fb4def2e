"""A request to the hub and its answer: the caller, the fields of the body, and errors."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

import anyio
from starlette.responses import Response

from whet.errors import NotFoundError
from whet.hub.registry import PAGE
from whet.skill.versions import is_semver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from whet.hub.mirrors import Mirrors
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

T = TypeVar("T")
FOREVER = "public, max-age=31536000, immutable"
"""`Cache-Control` of immutable answers."""
SKILL = "/api/v1/skills/{owner}/{name}"
VERSION = f"{SKILL}/versions/{{version}}"
STATUS = {
    "bad-request": 400,
    "bad-archive": 400,
    "token-needed": 401,
    "not-allowed": 403,
    "quarantined": 403,
    "not-found": 404,
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
    "bad-evals": 422,
    "too-many-reports": 429,
    "too-many-requests": 429,
}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_UPLOAD_SECONDS = 120
_MOST_JSON = 64 * 1024


class RequestError(Exception):
    """A request that cannot be answered: its code, a message and a hint."""

    def __init__(self, code: str, message: str, hint: str = "", *, status: int = 500, **headers: str) -> None:
        """`status` is for codes without one."""
        super().__init__(message)
        self.code, self.message, self.hint, self.headers = code, message, hint, headers
        self.status = STATUS.get(code, status)

    def to_json(self) -> Json:
        """Return the error as JSON."""
        return {"error": self.message, "code": self.code, "hint": self.hint}


def send_failure(_asked: Asked, error: RequestError) -> Response:
    """Return the API's answer for an error."""
    return send_json(error.to_json(), error.status)


class Route(NamedTuple):
    """One method of one address."""

    method: str
    """`GET` also answers `HEAD`."""
    path: str
    answer: Callable[[Asked], Awaitable[Response]]
    needs: str = ""
    """The verb that the caller needs, for the owner and the skill in the address; `token` for any token, "" for none.
    It is checked before the body is read.
    """
    browser: bool = False
    """Whether the cookie of a signed-in browser counts as a token; never for changes in the API."""
    page: bool = False
    """Whether the answer is a page. Pages decide themselves what a private hub shows to visitors without a token."""
    fail: Callable[[Asked, RequestError], Response] = send_failure
    """Makes the answer for an error."""


class Asked(NamedTuple):
    """A request with its caller."""

    hub: Hub
    request: Request
    who: Identity
    mirrors: Mirrors
    pulls: anyio.CapacityLimiter
    """Limits the concurrent requests that ask mirrors."""

    @property
    def caller(self) -> str:
        """The account, or the IP address without one."""
        return self.who.account or (self.request.client.host if self.request.client else "")

    @property
    def downloader(self) -> str:
        """The caller whose download counts; "" if nothing new is sent."""
        return self.caller if self.request.method == "GET" and "if-none-match" not in self.request.headers else ""

    @property
    def skill(self) -> tuple[str, str]:
        """Owner and name in the address."""
        return self.request.path_params["owner"], self.request.path_params["name"]

    @property
    def version(self) -> tuple[str, str, str]:
        """Owner, name and version in the address."""
        return (*self.skill, self.check_version(self.request.path_params["version"]))

    def check_version(self, text: str) -> str:
        """Return the text if it is a version."""
        if not is_semver(text) or len(text) > 64:
            message = f"{text[:64]!r} is not a semantic version."
            raise RequestError("bad-request", message, "Write it as MAJOR.MINOR.PATCH, such as 1.4.0.")
        return text

    @property
    def limit(self) -> int:
        """Entries per page."""
        text = self.query("limit") or "20"
        if not text.isdecimal() or not 1 <= int(text[:6]) <= PAGE:
            raise RequestError("bad-request", f"The limit must be 1 to {PAGE}.")
        return int(text)

    @property
    def cursor(self) -> str:
        """Start of the page; "" for the first one."""
        return self.query("cursor", 512)

    def query(self, name: str, most: int = 200) -> str:
        """Return a value of the query, shortened to `most` characters; "" if it is missing."""
        text = self.request.query_params.get(name, "")[:most]
        if "\0" in text:
            raise RequestError("bad-request", f"`{name}` contains a character that is not allowed in text.")
        return text

    def number(self, name: str) -> int:
        """Return a whole number of the address or query; 0 if it is missing."""
        text = str(self.request.path_params.get(name) or self.request.query_params.get(name, "0"))
        if not text.isdecimal() or len(text) > 18:
            raise RequestError("bad-request", f"`{name}` must be a whole number.")
        return int(text)

    def digest(self, text: str) -> str:
        """Return the text if it is a digest."""
        if not _DIGEST.fullmatch(text):
            raise RequestError("bad-request", "This is not a digest.", "It is sha256: and 64 hexadecimal digits.")
        return text

    async def read(self, ask: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Read from the database: here if that is fast, else in a thread."""
        if not self.hub.threads:
            return ask(*arguments, **named)
        return await anyio.to_thread.run_sync(lambda: ask(*arguments, **named))

    async def find(self, ask: Callable[..., T], *place: str, **named: Any) -> T:
        """Read a skill or a version; a missing one is first fetched from a mirror that may have it."""
        try:
            return await self.read(ask, self.who, *place, **named)
        except NotFoundError:
            if not self.mirrors.covers(place[0]) or not await self.pull(self.mirrors.pull, *place):
                raise
        return await self.read(ask, self.who, *place, **named)

    async def pull(self, do: Callable[..., T], *place: str) -> T:
        """Ask a mirror: a few at a time, so that others are served while a mirror does not answer."""
        return await anyio.to_thread.run_sync(lambda: do(*place), limiter=self.pulls)

    async def work(self, do: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Run a slow function in a thread."""
        return await anyio.to_thread.run_sync(lambda: do(*arguments, **named))

    async def body(self, most: int) -> bytes:
        """Return the body, within its stated length, the limit and two minutes."""
        length = self.request.headers.get("content-length", "")
        if not length.isdecimal():
            raise RequestError("length-needed", "The header Content-Length is missing.")
        if len(length) > 12 or int(length) > most:
            raise RequestError(
                "too-large", f"The hub accepts {most:,} bytes.", "Leave out what the skill does not need."
            )
        data = bytearray()
        with anyio.move_on_after(_UPLOAD_SECONDS) as scope:
            async for chunk in self.request.stream():
                data += chunk
                if len(data) > most:
                    raise RequestError("too-large", f"The hub accepts {most:,} bytes.")
        if scope.cancelled_caught:
            raise RequestError("too-slow", "The upload took too long.", "Try again on a better connection.")
        return bytes(data)

    async def fields(self, *names: str) -> dict[str, str]:
        """Return the texts with these names from the JSON of the body."""
        try:
            fields = json.loads(await self.body(_MOST_JSON))
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or not all(isinstance(fields.get(name, ""), str) for name in names):
            raise RequestError("bad-request", f"The body must be a JSON object with {', '.join(names)}.")
        return {name: fields[name] for name in names if name in fields}

    async def form(self) -> dict[str, str]:
        """Return the fields of a form."""
        try:
            text = (await self.body(_MOST_JSON)).decode("ascii")
            return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100))
        except ValueError:
            raise RequestError("bad-request", "The form cannot be read.", "Use the page.") from None

    async def reason(self, name: str = "reason") -> str | None:
        """Return the reason in the body of a PUT; None for a DELETE."""
        return None if self.request.method == "DELETE" else (await self.fields(name)).get(name, "")


def cookie_name(url: str) -> str:
    """Return the name of the cookie with the token of a signed-in browser. Only the host itself can set it."""
    return "__Host-whet_hub" if url.startswith("https:") else "whet_hub"


def read_count(fields: Mapping[str, str], name: str, usual: int) -> int:
    """Return the whole number in a text of the body."""
    text = fields.get(name, str(usual))
    if not text.isdecimal() or len(text) > 9:
        raise RequestError("bad-request", f"`{name}` must be a whole number, as a text.")
    return int(text)


def send_json(value: Json, status: int = 200) -> Response:
    """Return a JSON answer."""
    return send_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), status)


def send_text(text: str, status: int = 200) -> Response:
    """Return an answer that is already JSON."""
    return Response(text, status, media_type="application/json")
