"""The one way in which Whet fetches something from the web.

A request must not lead into the private network of whoever runs Whet, wherever its address came from. Therefore every
name is looked up once, every IP address found is judged, and the connection goes to one of those and to nowhere else:
a name that is looked up a second time may lead elsewhere. TLS still checks the certificate of the name. Redirects are
followed here, each judged like the first address.

It is built on `http.client`, because the judgement has to stand between looking up a name and connecting, which there
is a matter of handing it a connection of our own; everything else that a larger client would bring is not needed.

    web = Web(env=os.environ)
    page = web.get("https://example.com/skills/SKILL.md", limit=1024 * 1024)

A `Web` may be used by several threads; connections are kept and used again until `close`.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, Self

from whet import __version__
from whet.errors import InvalidError, RefusedError, UsageError
from whet.sources.web.addresses import Allowed, joined, read_address

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.sources.web.addresses import Address
    from whet.sources.web.connections import Connections
    from whet.sources.web.replies import Reply
    from whet.sources.web.wires import Watch

_MIB = 1024 * 1024

MOST_REDIRECTS = 5
RETRIES = 2
"""Times that a request is made again, where that may help."""

_PAUSES = (0.5, 1.5)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GIVEN = frozenset({200, 201, 202, 203, 204, 304})
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding"})
_NAME = re.compile(r"[A-Za-z0-9-]{1,80}")
_VALUE = re.compile(r"[\t\x20-\x7e]{0,8192}")


class Response(NamedTuple):
    """What came back in the end."""

    url: str
    """The address after all redirects."""
    status: int
    headers: dict[str, str]
    """Names in lower case; values of the same name joined by commas."""
    body: bytes


class _Request(NamedTuple):
    """What is asked of whatever address."""

    headers: Mapping[str, str]
    """Those of the caller: for the first origin only."""
    limit: int
    accept: str = "*/*"
    reading: bool = True
    """False: the answer is not read."""
    progress: Callable[[int, int], None] | None = None
    method: str = "GET"
    body: bytes | None = None
    content_type: str = ""


class Web:
    """Fetches from the public web, and from the private hosts that the user named."""

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        private_hosts: Collection[str] = (),
        timeout: float = 30.0,
        total: float = 300.0,
        resolve: Callable[[str, int], Sequence[str]] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`timeout` ends a call when nothing comes for so long, `total` when all of it took so long (seconds).

        `resolve` finds the IP addresses of a host and a port instead of the system; `pause` waits between tries.
        """
        self._env = env
        self._allowed = Allowed(private_hosts)
        self.timeout = timeout
        self.total = total
        self._resolve = resolve
        self._pause = pause
        self._lock = threading.Lock()
        self._connections: Connections | None = None

    def get(
        self,
        url: str,
        *,
        limit: int,
        accept: str = "*/*",
        headers: Mapping[str, str] = {},
        sha256: str = "",
        progress: Callable[[int, int], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Response:
        """What is at an address, at most `limit` bytes of it, with this hash if one is given. Raises WhetError.

        Where a server packs its answer, the hash may be that of the packed bytes: then they are the body.
        """
        response = self._travel(url, _Request(headers, limit, accept, progress=progress), cancelled)
        if sha256 and _is_hash_of(sha256, response.body):
            return response
        response = _unpacked(response, limit)
        if sha256 and not _is_hash_of(sha256, response.body):
            shown = read_address(response.url).shown
            message = f"What {shown} sends is not what was promised: its SHA-256 is another."
            raise InvalidError("digest-mismatch", message, hint="Do not use it. Ask its publisher.", promised=sha256)
        return response

    def post(
        self,
        url: str,
        *,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] = {},
        limit: int = _MIB,
        cancelled: threading.Event | None = None,
    ) -> Response:
        """Send something once; again only if the server said that it did not take it. Raises WhetError."""
        request = _Request(headers, limit, method="POST", body=body, content_type=content_type)
        return _unpacked(self._travel(url, request, cancelled), limit)

    def follow(self, url: str, *, headers: Mapping[str, str] = {}, cancelled: threading.Event | None = None) -> str:
        """Where an address leads in the end. What is there is not read. Raises WhetError."""
        return self._travel(url, _Request(headers, 0, reading=False), cancelled).url

    def addresses(self, url: str) -> tuple[str, ...]:
        """The IP addresses of an address's host, all of them judged; none if a proxy will look it up.

        Raises RefusedError `private-address`, `not-https`, UsageError `bad-address`, FailedError `unreachable`.
        """
        from whet.sources.web.wires import Watch

        address = read_address(url)
        return self._open().found(address, Watch(address.shown, self.timeout, self.total, None))

    def check_told(self, location: str) -> None:
        """Judge the host of an ssh address that somebody else named, as if it were one of the web.

        The user's own keys would open it: a list or a lock of strangers must not lead into a private network.
        """
        scheme, _, rest = location.partition("://")
        if scheme == "ssh":
            self.addresses(f"https://{rest.partition('/')[0].rpartition('@')[2]}")

    def close(self) -> None:
        """Close the connections that were kept. Whoever fetches again opens new ones."""
        if self._connections is not None:
            self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Not there if the constructor refused its arguments.
        if getattr(self, "_connections", None) is not None:
            self.close()

    def _open(self) -> Connections:
        from whet.sources.web.connections import Connections

        with self._lock:
            if self._connections is None:
                self._connections = Connections(self._env, self._allowed, self._resolve)
            return self._connections

    def _travel(self, url: str, request: _Request, cancelled: threading.Event | None) -> Response:
        """Ask at an address, and wherever it leads from there."""
        from whet.sources.web.wires import Watch

        address = read_address(url)
        _check_headers(request)
        watch = Watch(address.shown, self.timeout, self.total, cancelled)
        seen: set[Address] = set()
        while address not in seen and len(seen) <= MOST_REDIRECTS:
            watch.check()
            watch.shown = address.shown
            self._allowed.check(address)
            response = self._insist(address, request, watch)
            if response.status not in _REDIRECTS:
                return response
            seen.add(address)
            target = self._target(address, request, response)
            if target.origin != address.origin:
                request = request._replace(headers={})
            address = target
        message = f"{read_address(url).shown} leads in a circle, or over more than {MOST_REDIRECTS} redirects."
        raise RefusedError("too-many-redirects", message, hint="Use the address of the thing itself.")

    def _target(self, address: Address, request: _Request, response: Response) -> Address:
        """Where a redirect leads, if one may go there."""
        from whet.sources.web.replies import bad_response

        location = response.headers.get("location", "")
        if request.method != "GET" or not location:
            raise bad_response(address.shown, f"answers {response.status}, a redirect that cannot be followed")
        try:
            target = joined(address, location)
        except UsageError as error:
            raise bad_response(address.shown, "redirects to something that is not an address") from error
        downgraded = address.scheme == "https" and target.scheme == "http"
        if downgraded and not (address in self._allowed and target in self._allowed):
            message = f"{address.shown} redirects to {target.shown}, which is not https."
            raise RefusedError("not-https", message, hint="Use an address that stays on https.")
        return target

    def _insist(self, address: Address, request: _Request, watch: Watch) -> Response:
        """Ask at one address, and again where that may help."""
        from whet.sources.web.refusals import dropped, pause_before
        from whet.sources.web.wires import DroppedError

        tries = 0
        while True:
            last = tries == RETRIES
            try:
                reply = self._ask(address, request, watch)
                pause = None if last else pause_before(reply.status, reply.headers, request.method, _PAUSES[tries])
                if pause is None:
                    return _taken(address, request, reply)
                reply.close()
            except DroppedError as error:
                if last or request.method != "GET":
                    raise dropped(error, address.shown) from error
                pause = _PAUSES[tries]
            watch.pause(pause, self._pause)
            tries += 1

    def _ask(self, address: Address, request: _Request, watch: Watch) -> Reply:
        """Send the request, over a connection that is there already if it still stands."""
        from whet.sources.web.replies import Reply
        from whet.sources.web.wires import DroppedError

        headers = _headers(request)
        connections = self._open()
        connection = connections.kept(address, watch) if request.method == "GET" else None
        while True:
            reused = connection is not None
            connection = connection or connections.open(address, watch)
            try:
                response = connection.ask(request.method, address, headers, request.body)
            except BaseException as error:
                connection.close()
                if reused and isinstance(error, DroppedError):
                    connection = None
                    continue
                raise
            return Reply(connection, response, lambda kept: connections.keep(address.origin, kept))


def _headers(request: _Request) -> dict[str, str]:
    """Ours, and those of the caller, whose word counts where both have one."""
    ours = {"User-Agent": f"whet/{__version__}", "Accept": request.accept, "Accept-Encoding": "identity"}
    if request.body is not None:
        ours |= {"Content-Type": request.content_type, "Content-Length": str(len(request.body))}
    named = {name.lower() for name in request.headers}
    return {**{name: value for name, value in ours.items() if name.lower() not in named}, **request.headers}


def _taken(address: Address, request: _Request, reply: Reply) -> Response:
    """The answer, if it is one."""
    from whet.sources.web.refusals import refusal

    body = b""
    if reply.status in _REDIRECTS:
        reply.discard()
    elif reply.status in _GIVEN and not request.reading:
        reply.close()
    elif reply.status in _GIVEN:
        body = reply.read(request.limit, request.progress)
    else:
        raise refusal(reply, address.shown)
    return Response(address.url, reply.status, reply.headers, body)


def _unpacked(response: Response, limit: int) -> Response:
    from whet.sources.web.replies import unpacked

    coding = response.headers.get("content-encoding", "")
    return response._replace(body=unpacked(response.body, coding, limit, read_address(response.url).shown))


def _check_headers(request: _Request) -> None:
    """A header with a line break in it would be two; those that say where a request ends are not the caller's."""
    for name, value in {"Accept": request.accept, "Content-Type": request.content_type, **request.headers}.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() in _OURS:
            hint = "Check the token or setting it was made from for line breaks and odd characters."
            raise UsageError("bad-header", f"The header {name[:80]!r} cannot be sent.", hint=hint)


def _is_hash_of(sha256: str, body: bytes) -> bool:
    return hashlib.sha256(body).hexdigest() == sha256.removeprefix("sha256:").lower()
