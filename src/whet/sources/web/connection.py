"""Connections to servers that never block for long and read a response to its exact end.

Every wait (for a name, a connection, a handshake, a byte) is cut into short slices. Between two slices the connection
checks for cancellation, the total time and a stall. Received bytes are counted, so that every part of a response has a
limit and unexpected data after it is noticed.

`h11` parses the bytes and does no I/O itself. It is used instead of a larger client, because those choose the address,
the timeouts and the errors to ignore themselves.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, TypeVar

import h11

from whet.errors import FailedError, UsageError
from whet.sources.web.request import SLICE
from whet.sources.web.responses import bad_response, cut_off, too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.sources.web.addresses import Address
    from whet.sources.web.proxies import Proxy
    from whet.sources.web.request import Watch

T = TypeVar("T")

_NEXT_ADDRESS = 5.0
"""Seconds before the next IP address of a host is tried, if it has another."""
_HEAD = 56 * 1024
"""Largest response head in bytes; it is read in small pieces, so the limit is exceeded only slightly."""
_HEAD_PIECE = 8 * 1024
_HEADS = 256 * 1024
"""Largest number of bytes before a body."""
_FRAMES = 1024 * 1024
"""Bytes for chunk sizes and trailers, in addition to twice the limit of the body."""
_TRAILERS = 100
_PIECE = 64 * 1024
_UNDERWAY = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN, getattr(errno, "WSAEWOULDBLOCK", 0)})
_NOTHING_YET = (TimeoutError, BlockingIOError, ssl.SSLWantReadError)
_BUNDLES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Certificate bundles of common systems."""


class DroppedError(Exception):
    """The server closed the connection; a retry may help."""

    def __init__(self, reason: str, *, began: bool = False) -> None:
        super().__init__(reason)
        self.began = began
        """Whether part of the response had arrived."""


class Connection:
    """A connection to one server: `ask`, then `read` or `discard`, and again while it is `reusable`."""

    def __init__(self, connected: socket.socket, watch: Watch) -> None:
        self._socket = connected
        self.watch = watch
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._left = 0
        """Bytes that may still arrive."""
        self._ended = False
        self._ragged = False
        """Whether the server closed without the TLS closing message."""
        self.status = 0
        self.headers: dict[str, str] = {}
        """Names in lower case; values of the same name joined by commas."""
        self.reusable = False
        """Whether the last answer was read to its end and another request may follow."""

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def tunnel(self, address: Address, proxy: Proxy) -> None:
        """Ask the proxy at the other end to connect to a server; the proxy resolves the name."""
        host = f"[{address.host}]" if ":" in address.host else address.host
        target = f"{host}:{address.port}"
        credentials = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}
        self.ask("CONNECT", target, {"Host": target, **credentials})
        if not 200 <= self.status < 300:
            message = f"The proxy {proxy.shown} refuses to connect to {self.watch.shown}: {self.status}."
            hint = "Check HTTPS_PROXY and its credentials, or add the host to NO_PROXY."
            raise FailedError("unreachable", message, hint=hint)
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)

    def handshake(self, context: ssl.SSLContext, host: str) -> None:
        """Start TLS with the server of this name."""
        self._socket.settimeout(SLICE)
        self._socket = secured = context.wrap_socket(
            self._socket, server_hostname=host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        self._wait("did not answer", secured.do_handshake)

    def ask(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> None:
        """Send a request and read the head of the response. Raises DroppedError and WhetError."""
        self.reusable, self._left = False, _HEADS
        if self._protocol.our_state is h11.DONE:
            self._protocol.start_next_cycle()
        request = h11.Request(method=method, target=target, headers=list(headers.items()))
        with understand(self.watch.shown):
            for part in (request, *([h11.Data(data=body)] if body else []), h11.EndOfMessage()):
                self._send(self._protocol.send(part) or b"")
            while not isinstance(head := self._next(), h11.Response):
                pass
        self.status, self.headers = head.status_code, {}
        for name, value in ((name.decode("ascii"), value.decode("latin-1")) for name, value in head.headers):
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value

    def read(self, limit: int, progress: Callable[[int, int], None] | None = None) -> bytes:
        """Return the body as sent. Raises WhetError and DroppedError."""
        chunked = "transfer-encoding" in self.headers
        length = None if chunked else self._length()
        if length is not None and length > limit:
            raise too_large(self.watch.shown, limit)
        self._left = limit * 2 + _FRAMES
        pieces: list[bytes] = []
        done = 0
        try:
            while isinstance(event := self._next(), h11.Data):
                pieces.append(bytes(event.data))
                done += len(event.data)
                if done > limit:
                    raise too_large(self.watch.shown, limit)
                if progress is not None:
                    progress(done, length or 0)
        except ConnectionError as error:
            raise DroppedError(str(error), began=True) from error
        except OSError as error:
            raise cut_off(self.watch.shown, f"the connection failed: {error.strerror or error}") from error
        if not isinstance(event, h11.EndOfMessage) or len(event.headers) > _TRAILERS:
            raise bad_response(self.watch.shown, "does not finish its answer")
        if self._ragged:
            raise cut_off(self.watch.shown, "the connection ended without a close")
        lasting = self._protocol.our_state is self._protocol.their_state is h11.DONE
        behind = self._peek(0.0 if lasting else SLICE)  # wait briefly for a server that is about to close
        if behind and length is not None:
            raise cut_off(self.watch.shown, f"it sent more than the {length} bytes it announced")
        # With both a length and chunks, server and proxies may disagree on where the response ends.
        self.reusable = lasting and behind is None and not (chunked and "content-length" in self.headers)
        return b"".join(pieces)

    def discard(self) -> None:
        """Read and drop a short body, so that the connection can be reused."""
        length = self._length()
        if length is not None and length < _PIECE and "close" not in self.headers.get("connection", ""):
            self.read(length)

    def is_quiet(self) -> bool:
        """Return whether the connection is open with no unread data, as required before a request."""
        return self._peek(0.0) is None

    def _length(self) -> int | None:
        """Return the length of the body, if the server sends it; `h11` has checked that it is one number."""
        if self.status in (204, 304):
            return 0
        return int(self.headers["content-length"]) if "content-length" in self.headers else None

    def _next(self) -> object:
        """Return the next `h11` event."""
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as error:
                raise self._misunderstood(error) from error
            if event is not h11.NEED_DATA:
                return event
            self._protocol.receive_data(self._receive())

    def _misunderstood(self, error: h11.RemoteProtocolError) -> Exception:
        if error.error_status_hint == 431:
            return too_large(self.watch.shown)
        if self._protocol.their_state is h11.ERROR and self._ended and self.status:
            return cut_off(self.watch.shown, "the last part is missing")
        return bad_response(self.watch.shown, "does not answer with valid HTTP")

    def _receive(self) -> bytes:
        """Return the next bytes; b"" at the end."""
        try:
            most = _PIECE if self._protocol.their_state is h11.SEND_BODY else _HEAD_PIECE
            data = self._wait("sent nothing", lambda: self._socket.recv(most))
        except ssl.SSLEOFError:
            self._ragged, data = True, b""
        self._ended = not data
        if self._ended and self._left == _HEADS:
            raise DroppedError("the connection was closed")
        self._left -= len(data)
        if self._left < 0:
            raise too_large(self.watch.shown)
        return data

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._wait("accepted nothing", lambda: self._socket.send(view[:_PIECE])) :]  # noqa: B023  called at once

    def _peek(self, patience: float) -> bytes | None:
        """Return unrequested data; b"" at the end of the connection, None if there is none."""
        if unasked := self._protocol.trailing_data[0]:
            return unasked
        self._socket.settimeout(patience)
        try:
            return self._socket.recv(1)
        except _NOTHING_YET:
            return None
        except OSError:
            return b""

    def _wait(self, what: str, act: Callable[[], T]) -> T:
        """Run a blocking call in slices."""
        since = time.monotonic()
        while True:
            self.watch.check()
            self._socket.settimeout(self.watch.slice())
            try:
                return act()
            except _NOTHING_YET:
                self.watch.waiting(since, what)


def open_connection(
    address: Address, found: Sequence[str], proxy: Proxy | None, context: ssl.SSLContext | None, watch: Watch
) -> Connection:
    """Connect to a server: to one of its IP addresses, or through a proxy.

    With a context, use TLS. Raises DroppedError and FailedError `unreachable`.
    """
    way = f" through the proxy {proxy.shown}" if proxy else ""
    connection = Connection(_connect_any(found, proxy.port if proxy else address.port, watch, way), watch)
    try:
        with understand(watch.shown):
            if proxy is not None:
                connection.tunnel(address, proxy)
            if context is not None:
                connection.handshake(context, address.host)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def understand(shown: str) -> Iterator[None]:
    """Translate errors of the lower layers."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        hint = "Check the address and the clock. For a certificate authority of your own, set SSL_CERT_FILE."
        message = f"{shown} has no valid certificate: {error.verify_message or error.reason}."
        raise FailedError("unreachable", message, hint=hint) from error
    except (ConnectionError, ssl.SSLEOFError) as error:
        raise DroppedError(str(error) or "the connection was closed") from error
    except ssl.SSLError as error:
        message = f"The TLS connection to {shown} failed: {error.reason or error}."
        raise FailedError("unreachable", message, hint="Check the address and its port.") from error


def look_up(host: str, port: int, watch: Watch) -> tuple[str, ...]:
    """Resolve a host with the system's resolver. Raise FailedError `unreachable`."""
    found: list[str] = []
    problem: list[OSError | UnicodeError] = []
    done = threading.Event()

    def ask_system() -> None:
        try:
            found.extend(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            problem.append(error)
        finally:
            done.set()

    # A lookup cannot be interrupted, so it runs in a thread that may be abandoned.
    threading.Thread(target=ask_system, name="whet-resolve", daemon=True).start()
    since = time.monotonic()
    while not done.wait(watch.slice()):
        watch.waiting(since, "was not found by DNS")
    if problem or not found:
        hint = "Check the host name and your internet connection."
        raise FailedError("unreachable", f"The host {host} was not found.", hint=hint) from next(iter(problem), None)
    return tuple(dict.fromkeys(found))


def tls_context(env: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context with the certificates of the system and those of SSL_CERT_FILE and SSL_CERT_DIR."""
    context = ssl.create_default_context()
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # set by early releases of Python 3.11
    context.set_alpn_protocols(["http/1.1"])
    file, directory = env.get("SSL_CERT_FILE"), env.get("SSL_CERT_DIR")
    if file or directory:
        try:
            context.load_verify_locations(file or None, directory or None)
        except OSError as error:
            message = f"The certificates in {file or directory} cannot be read: {error.strerror or error}."
            hint = "Fix or unset SSL_CERT_FILE and SSL_CERT_DIR."
            raise UsageError("bad-certificates", message, hint=hint) from error
    elif not context.cert_store_stats()["x509_ca"]:
        # Some builds of Python look for certificates in the wrong directory.
        for bundle in filter(os.path.isfile, _BUNDLES):
            context.load_verify_locations(bundle)
    return context


def _connect_any(found: Sequence[str], port: int, watch: Watch, way: str) -> socket.socket:
    problem: OSError | None = None
    for left, ip in zip(range(len(found) - 1, -1, -1), found, strict=True):
        try:
            return _connect(ip, port, watch, min(watch.stall, _NEXT_ADDRESS) if left else watch.stall)
        except OSError as error:
            problem = error
    reason = problem.strerror or str(problem) if problem else "it has no address"
    message = f"{watch.shown} cannot be reached{way}: {reason}."
    raise FailedError("unreachable", message, hint="Check the address and your connection.") from problem


def _connect(ip: str, port: int, watch: Watch, patience: float) -> socket.socket:
    connecting = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        code = connecting.connect_ex((ip, port))
        if code in _UNDERWAY:
            code = _outcome(connecting, watch, patience)
        if not code:
            # Only an optimization; some systems refuse it if the other side has already closed.
            with contextlib.suppress(OSError):
                connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connecting
    except BaseException:
        connecting.close()
        raise
    connecting.close()
    raise OSError(code, os.strerror(code))


def _outcome(connecting: socket.socket, watch: Watch, patience: float) -> int:
    """Wait for a connection; return its error code, 0 on success."""
    since = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(connecting, selectors.EVENT_WRITE)
        while not selector.select(watch.slice()):
            watch.check()
            if time.monotonic() - since > patience:
                return errno.ETIMEDOUT
    return connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
