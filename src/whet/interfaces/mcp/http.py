"""The server over HTTP: by default only for this machine, with a token, never for a page in a browser.

A request must carry the token (`Authorization: Bearer ...`), which is in a file that only its owner can read, must name
a known host of the server, and must not come from a web page (`Origin`) unless that page is allowed. Each of these
alone stops most attacks; together they cost nothing.
"""

from __future__ import annotations

import hmac
import os
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from whet.errors import RefusedError, UsageError
from whet.store.failures import os_failures
from whet.store.regular import open_regular

if TYPE_CHECKING:
    import socket
    from collections.abc import Collection, MutableMapping

    from anyio import Lock
    from starlette.types import ASGIApp, Receive, Scope, Send

    from whet.interfaces.mcp.server import SkillServer

PATH = "/mcp"
PORT = 9438
"""WHET on the keys of a telephone."""
TOKEN_FILE = "mcp-token"  # noqa: S105  the name of a file
TOKEN_VARIABLE = "WHET_MCP_TOKEN"  # noqa: S105  the name of a variable
SHORTEST_TOKEN = 16
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_TOKEN_BYTES = 32
_LONGEST_TOKEN = 4_096
_GRACE = 2
"""Seconds that open streams get when the server stops."""


class Address(NamedTuple):
    """The address to listen on, and the allowed callers."""

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    """Other host names of the server."""
    origins: tuple[str, ...] = ()
    """Web pages that are allowed: `https://app.example`."""


def token_of(state: str, variable: str | None) -> str:
    """Return the token: from the variable, else from the state directory, where it is created on first use."""
    if variable is not None:
        return _checked(variable.strip(), TOKEN_VARIABLE)
    path = os.path.join(state, TOKEN_FILE)
    with os_failures(path):
        try:
            descriptor = open_regular(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return _new_token(state, path)
        with os.fdopen(descriptor, "rb") as file:
            if os.name != "nt" and os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
            return _checked(file.read(_LONGEST_TOKEN).decode("ascii", "replace").strip(), path)


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        hint = "Remove it to get a new one. A token has at least 16 printable characters and no spaces."
        raise UsageError("bad-token", f"The token in {where} is not valid.", hint=hint)
    return token


def _new_token(state: str, path: str) -> str:
    """Create a token; if two processes do so at once, both get the first one."""
    from secrets import token_urlsafe

    from whet.store.directories import PRIVATE, make_directories

    make_directories(state, private=True)
    fresh = f"{path}.{token_urlsafe(6)}"
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w", encoding="ascii") as file:
            file.write(f"{token_urlsafe(_TOKEN_BYTES)}\n")
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        with suppress(OSError):
            os.unlink(fresh)
    return token_of(state, None)


class Gate:
    """Allows requests with the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the token."""
        if scope["type"] == "lifespan" or self._knows(scope):
            await self._app(scope, receive, send)
            return
        body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"The token is missing or wrong."}}'
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"www-authenticate", b'Bearer realm="whet"'),
        ]
        start: MutableMapping[str, Any] = {"type": "http.response.start", "status": 401, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": body})

    def _knows(self, scope: MutableMapping[str, Any]) -> bool:
        given = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token, self._token)


class Turns:
    """Delays a request while another one of its session has the same id: the SDK matches answers by id alone.

    Without this, all answers would go to the newest of them, and the others would wait forever.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns: WeakValueDictionary[tuple[bytes, str], Lock] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when it is its turn."""
        from anyio import Lock

        session = next((value for name, value in scope.get("headers", ()) if name == b"mcp-session-id"), b"")
        if not session or scope.get("method") != "POST":
            await self._app(scope, receive, send)
            return
        messages = [message := await receive()]
        while message.get("more_body"):
            messages.append(message := await receive())
        waiting = iter(messages)

        async def replay() -> MutableMapping[str, Any]:
            return next(waiting, None) or await receive()

        id_ = _request_id(b"".join(message.get("body", b"") for message in messages))
        async with self._turns.setdefault((session, id_), Lock()) if id_ else nullcontext():
            await self._app(scope, replay, send)


def _request_id(body: bytes) -> str:
    """Return the id of the request in a body, as the SDK compares it; "" if it is not a JSON request."""
    from pydantic_core import from_json

    try:
        message = from_json(body)
    except ValueError:
        return ""
    return str(message.get("id", "")) if isinstance(message, dict) and "method" in message else ""


def application(server: SkillServer, address: Address, token: str) -> ASGIApp:
    """Return the complete application, for any ASGI server."""
    from mcp.server.transport_security import TransportSecuritySettings

    own = f"[{address.host}]" if ":" in address.host else address.host
    names = {*_LOOPBACK, *address.hosts, *(() if _every(address.host) else (own,))}
    security = TransportSecuritySettings(
        allowed_hosts=sorted([*names, *(f"{name}:*" for name in names)]),
        allowed_origins=[_origin(origin) for origin in address.origins],
    )
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=security, host=address.host)
    gate: ASGIApp = Gate(Turns(app), token)
    if not address.origins:
        return gate
    from starlette.middleware.cors import CORSMiddleware

    return CORSMiddleware(
        gate,
        allow_origins=security.allowed_origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id"],
    )


def _origin(text: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/"):
        raise UsageError("bad-origin", f"{text!r:.100} is not an origin.", hint="Use one such as https://app.example.")
    return text.rstrip("/")


def _every(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")  # noqa: S104  to be recognised, not bound


def check_host(host: str, hosts: Collection[str]) -> None:
    """Raise RefusedError for listening on every address without a host name."""
    if _every(host) and not hosts:
        hint = "Name the hosts with `--allow-host NAME`, or bind one address."
        raise RefusedError("host-needed", "A server that listens on every address must know its host names.", hint=hint)


async def serve(server: SkillServer, listening: socket.socket, app: ASGIApp) -> None:
    """Serve until the process is stopped."""
    import anyio
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE, ws="none", server_header=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch)
        await uvicorn.Server(config).serve(sockets=[listening])
        tasks.cancel_scope.cancel()
