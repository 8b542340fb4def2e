"""The HTTP client of Whet.

A request must not lead into the private network of the user, wherever its address came from. Therefore every name is
looked up once, every IP address found is checked, and the connection goes to one of those: a second lookup of the name
may give another address. TLS still checks the certificate of the name. Redirects are followed here, each checked like
the first address.

    web = Web(env=os.environ)
    page = web.get("https://example.com/skills/SKILL.md", limit=1024 * 1024)

A `Web` is thread-safe; connections are reused until `close`.
"""

from __future__ import annotations

import hashlib
import threading
import time
from typing import TYPE_CHECKING, Self

from whet.errors import InvalidError, RefusedError, UsageError
from whet.sources.web.addresses import Allowed, joined, read_address
from whet.sources.web.request import Request, Response, Watch
from whet.sources.web.responses import bad_response, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.sources.web.addresses import Address
    from whet.sources.web.pool import Pool

_MIB = 1024 * 1024
MOST_REDIRECTS = 5


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
        check: Callable[[Address], None] = lambda _address: None,
    ) -> None:
        """`timeout` limits the seconds without data, `total` those of the whole call.

        `resolve` looks up a host and a port instead of the system; `pause` waits between attempts. `check` raises an
        error for an address that must not be visited, given or reached by a redirect.
        """
        self._env = env
        self._allowed = Allowed(private_hosts)
        self.timeout = timeout
        self.total = total
        self._resolve = resolve
        self._pause = pause
        self._check = check
        self._lock = threading.Lock()
        self._pool: Pool | None = None

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
        """Fetch at most `limit` bytes from an address and check their hash, if one is given. Raises WhetError.

        If a server compresses its response, the hash may be that of the compressed bytes: then they are the body.
        """
        response = self._travel(url, Request(headers, limit, accept, progress=progress), cancelled)
        if sha256 and _is_hash_of(sha256, response.body):
            return response
        response = _unpacked(response, limit)
        if sha256 and not _is_hash_of(sha256, response.body):
            shown = read_address(response.url).shown
            message = f"The content from {shown} does not match its SHA-256."
            raise InvalidError("digest-mismatch", message, hint="Do not use it. Ask the publisher.", promised=sha256)
        return response

    def send(
        self,
        url: str,
        *,
        body: bytes,
        content_type: str,
        method: str = "POST",
        headers: Mapping[str, str] = {},
        limit: int = _MIB,
        cancelled: threading.Event | None = None,
    ) -> Response:
        """Send a request once; repeat it only if the server says that it did not accept it. Raises WhetError."""
        request = Request(headers, limit, method=method, body=body, content_type=content_type)
        return _unpacked(self._travel(url, request, cancelled), limit)

    def head(self, url: str, *, headers: Mapping[str, str] = {}) -> Response:
        """Send a HEAD request. Raises WhetError."""
        return self._travel(url, Request(headers, 0, reading=False, method="HEAD"), None)

    def wait(self, seconds: float) -> None:
        """Wait before the next request."""
        self._pause(seconds)

    def follow(self, url: str, *, headers: Mapping[str, str] = {}, cancelled: threading.Event | None = None) -> str:
        """Return the final address after all redirects, without reading the body. Raises WhetError."""
        return self._travel(url, Request(headers, 0, reading=False), cancelled).url

    def addresses(self, url: str) -> tuple[str, ...]:
        """Return the checked IP addresses of a host; none if a proxy will look it up.

        Raises RefusedError `private-address`, `not-https`, UsageError `bad-address`, FailedError `unreachable`.
        """
        address = read_address(url)
        return self._open().find(address, Watch(address.shown, self.timeout, self.total, None))

    def check_told(self, location: str) -> None:
        """Check the host of an ssh address that a list or a lock names, like that of a web address.

        The user's own keys would open it: a stranger's list or lock must not lead into a private network.
        """
        scheme, _, rest = location.partition("://")
        if scheme == "ssh":
            self.addresses(f"https://{rest.partition('/')[0].rpartition('@')[2]}")

    def close(self) -> None:
        """Close idle connections. A later request opens new ones."""
        if self._pool is not None:
            self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Missing if the constructor raised an error.
        if getattr(self, "_pool", None) is not None:
            self.close()

    def _open(self) -> Pool:
        from whet.sources.web.pool import Pool

        with self._lock:
            if self._pool is None:
                self._pool = Pool(self._env, self._allowed, self._resolve, self._pause)
            return self._pool

    def _travel(self, url: str, request: Request, cancelled: threading.Event | None) -> Response:
        """Send a request and follow redirects."""
        address = read_address(url)
        request.check()
        watch = Watch(address.shown, self.timeout, self.total, cancelled)
        seen: set[Address] = set()
        while address not in seen and len(seen) <= MOST_REDIRECTS:
            watch.check()
            watch.shown = address.shown
            self._allowed.check(address)
            self._check(address)
            response = self._open().request(address, request, watch)
            if not response.is_redirect:
                return response
            seen.add(address)
            target = self._target(address, request, response)
            if target.origin != address.origin:
                request = request._replace(headers={})
            address = target
        message = f"{read_address(url).shown} redirects in a loop, or more than {MOST_REDIRECTS} times."
        raise RefusedError("too-many-redirects", message, hint="Use the final address.")

    def _target(self, address: Address, request: Request, response: Response) -> Address:
        """Return the target of a redirect, if it may be visited."""
        location = response.headers.get("location", "")
        if request.method not in ("GET", "HEAD") or not location:
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


def _unpacked(response: Response, limit: int) -> Response:
    coding, shown = response.headers.get("content-encoding", ""), read_address(response.url).shown
    return response._replace(body=unpack(response.body, coding, limit, shown))


def _is_hash_of(sha256: str, body: bytes) -> bool:
    return hashlib.sha256(body).hexdigest() == sha256.removeprefix("sha256:").lower()
