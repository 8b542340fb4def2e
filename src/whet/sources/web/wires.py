"""Connections to servers that never wait for long.

Everything that waits (for a name, a connection, a handshake, a byte) waits in short slices and looks up between them:
whether somebody wants it to end, whether the whole has taken too long, whether nothing has come for too long. To that
end `http.client` is given a `Wire` in place of its socket. Wires also count what comes, so that no part of an answer
that `http.client` reads by itself, such as headers, is without an end.

This module loads `http.client` and `ssl`; import it where something is really fetched.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import io
import os
import selectors
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING

from whet.errors import FailedError, InvalidError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Buffer

    from whet.sources.web.addresses import Address
    from whet.sources.web.proxies import Proxy

SLICE = 0.25
"""Seconds that are waited without looking up."""

_NEXT_ADDRESS = 5.0
"""Seconds after which the next IP address of a host is tried, if it has another."""
_HEADERS = 256 * 1024
"""Bytes of all that comes before a body."""
_BUFFER = 64 * 1024
_UNDERWAY = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN, getattr(errno, "WSAEWOULDBLOCK", 0)})


_BUNDLES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Where systems keep the certificates that they trust."""


class DroppedError(Exception):
    """The other side let go of the connection; a second try may help."""

    def __init__(self, reason: str, *, began: bool = False) -> None:
        super().__init__(reason)
        self.began = began
        """Whether a part of the answer had come."""


class Watch:
    """When a call has to end."""

    __slots__ = ("_cancelled", "_ends", "_total", "shown", "stall")

    def __init__(self, shown: str, stall: float, total: float, cancelled: threading.Event | None) -> None:
        self.shown = shown
        """The address that is being visited, for messages."""
        self.stall = stall
        self._total = total
        self._ends = time.monotonic() + total
        self._cancelled = cancelled

    def check(self) -> None:
        """Raise FailedError `cancelled` or `too-slow` if it is time."""
        if self._cancelled is not None and self._cancelled.is_set():
            raise FailedError("cancelled", "It was cancelled.", hint="Nothing was changed.")
        if time.monotonic() > self._ends:
            raise self._slow(f"did not finish within {self._total:g} seconds", "Try again later.")

    def waiting(self, since: float, what: str) -> None:
        """`check`, and raise `too-slow` if nothing has happened since then."""
        self.check()
        if time.monotonic() - since > self.stall:
            hint = "Try again later, or raise network_timeout in config.toml."
            raise self._slow(f"{what} for {self.stall:g} seconds", hint)

    def slice(self) -> float:
        """Seconds until the next `check`."""
        return max(0.001, min(SLICE, self.stall, self._ends - time.monotonic()))

    def pause(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Let some time pass."""
        while seconds > 0:
            self.check()
            sleep(min(seconds, SLICE))
            seconds -= SLICE
        self.check()

    def _slow(self, problem: str, hint: str) -> FailedError:
        return FailedError("too-slow", f"{self.shown} {problem}.", hint=hint)


class Wire:
    """What `http.client` uses of a socket, with an eye on the watch and on the amount."""

    __slots__ = ("_allowed", "_closed", "_readers", "_socket", "patience", "ragged", "watch")

    def __init__(self, connected: socket.socket, watch: Watch) -> None:
        self._socket = connected
        self._closed = False
        self._readers = 0
        self.watch = watch
        self.patience: float | None = None
        """Seconds after which a read comes back with nothing; None to wait as long as the watch lets it."""
        self.ragged = False
        """Whether the other side ended without saying goodbye, as it must with TLS."""
        self._allowed = _HEADERS

    def allow(self, amount: int) -> None:
        """Let so many more bytes come."""
        self._allowed = amount

    def handshake(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on, with the server of this name and no other."""
        self._socket.settimeout(SLICE)
        self._socket = secured = context.wrap_socket(
            self._socket, server_hostname=host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        since = time.monotonic()
        while True:
            secured.settimeout(self.watch.slice())
            try:
                return secured.do_handshake()
            except TimeoutError:
                self.watch.waiting(since, "did not answer")

    def sendall(self, data: Buffer) -> None:
        """Send everything."""
        view = memoryview(data).cast("B")
        since = time.monotonic()
        while view:
            self.watch.check()
            self._socket.settimeout(self.watch.slice())
            try:
                view = view[self._socket.send(view[:_BUFFER]) :]
                since = time.monotonic()
            except TimeoutError:
                self.watch.waiting(since, "took nothing")

    def receive(self, into: Buffer) -> int | None:
        """Some bytes; 0 at the end, None if patience was at an end first."""
        since = time.monotonic()
        while True:
            if self.patience is None:
                self.watch.check()
            self._socket.settimeout(self.watch.slice() if self.patience is None else self.patience)
            try:
                count = self._socket.recv_into(into)
            except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
                if self.patience is not None:
                    return None
                self.watch.waiting(since, "sent nothing")
                continue
            except ssl.SSLEOFError:
                self.ragged = True
                return 0
            self._allowed -= count
            if self._allowed < 0:
                message = f"{self.watch.shown} answers with more than its headers and its body may have."
                raise InvalidError("response-too-large", message, hint="Check the address.")
            return count

    def is_quiet(self) -> bool:
        """Whether the connection stands and nothing waits to be read, as it must be before a request."""
        self.patience = 0.0
        self.allow(_HEADERS)
        try:
            return self.receive(bytearray(1)) is None
        except OSError:
            return False
        finally:
            self.patience = None

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The reading side, as `http.client` asks for it. As with a socket, it survives `close`."""
        self._readers += 1
        return io.BufferedReader(_Reader(self), _BUFFER)

    def close(self) -> None:
        """Let go of it, unless somebody still reads."""
        self._closed = True
        if not self._readers:
            self._socket.close()

    def release(self) -> None:
        """A reader has ended."""
        self._readers -= 1
        if self._closed:
            self.close()


class _Reader(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int | None:
        return self._wire.receive(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._wire.release()


class Connection(http.client.HTTPConnection):
    """A connection of `http.client` over a wire that is already there."""

    auto_open = 0

    def __init__(self, wire: Wire) -> None:
        super().__init__("")
        self.wire = wire
        self.sock = wire

    def ask(
        self, method: str, address: Address, headers: Mapping[str, str], body: bytes | None
    ) -> http.client.HTTPResponse:
        """Send a request and read the head of the answer. Raises DroppedError and InvalidError `bad-response`."""
        self.wire.allow(_HEADERS)
        try:
            self.putrequest(method, address.target, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": address.netloc, **headers}.items():
                self.putheader(name, value)
            self.endheaders(body)
            return self.getresponse()
        except (ConnectionError, http.client.HTTPException, ssl.SSLError) as error:
            raise _failed(error, self.wire.watch.shown) from error


def open_wire(
    address: Address, found: Sequence[str], proxy: Proxy | None, context: ssl.SSLContext | None, watch: Watch
) -> Wire:
    """A wire to a server: at one of the IP addresses that were found for it, or through a proxy.

    With a context it speaks TLS. Raises DroppedError and FailedError `unreachable`.
    """
    if proxy is None:
        wire = Wire(_connected(found, address.port, watch), watch)
    else:
        wire = Wire(_connected(found, proxy.port, watch, f" by way of the proxy {proxy.shown}"), watch)
    try:
        if proxy is not None:
            _tunnel(wire, address, proxy)
        if context is not None:
            wire.handshake(context, address.host)
    except ssl.SSLCertVerificationError as error:
        wire.close()
        hint = "Check the address and the clock. For a certificate authority of your own, set SSL_CERT_FILE."
        message = f"{watch.shown} has no valid certificate: {error.verify_message or error.reason}."
        raise FailedError("unreachable", message, hint=hint) from error
    except (ConnectionError, http.client.HTTPException, ssl.SSLError) as error:
        wire.close()
        raise _failed(error, watch.shown) from error
    except BaseException:
        wire.close()
        raise
    return wire


def resolved(host: str, port: int, watch: Watch) -> tuple[str, ...]:
    """The IP addresses of a host, as this machine finds them. Raises FailedError `unreachable`."""
    found: list[str] = []
    problem: list[OSError | UnicodeError] = []
    done = threading.Event()

    def look_up() -> None:
        try:
            found.extend(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            problem.append(error)
        finally:
            done.set()

    # Nothing can interrupt the system while it looks up a name; a thread is left to itself instead.
    threading.Thread(target=look_up, name="whet-resolve", daemon=True).start()
    since = time.monotonic()
    while not done.wait(watch.slice()):
        watch.waiting(since, "was not found in the name system")
    if problem or not found:
        hint = "Check the spelling of the host and the connection to the internet."
        raise FailedError("unreachable", f"The host {host} has no address.", hint=hint) from next(iter(problem), None)
    return tuple(dict.fromkeys(found))


def tls_context(env: Mapping[str, str]) -> ssl.SSLContext:
    """Certificates are checked against those of the system and those that SSL_CERT_FILE and SSL_CERT_DIR name."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    file, directory = env.get("SSL_CERT_FILE"), env.get("SSL_CERT_DIR")
    if file or directory:
        try:
            context.load_verify_locations(file or None, directory or None)
        except OSError as error:
            message = f"The certificates in {file or directory} cannot be read: {error.strerror or error}."
            hint = "Correct or unset SSL_CERT_FILE and SSL_CERT_DIR."
            raise UsageError("bad-certificates", message, hint=hint) from error
    elif not context.cert_store_stats()["x509_ca"]:
        # Some builds of Python look where the system keeps nothing.
        for bundle in filter(os.path.isfile, _BUNDLES):
            context.load_verify_locations(bundle)
    return context


def _failed(error: Exception, shown: str) -> Exception:
    """What a failure of the layers below means."""
    if isinstance(error, (ConnectionError, ssl.SSLEOFError)):
        return DroppedError(str(error) or "the connection was closed")
    if isinstance(error, ssl.SSLError):
        message = f"{shown} cannot be spoken to over TLS: {error.reason or error}."
        return FailedError("unreachable", message, hint="Check the address and its port.")
    if isinstance(error, http.client.LineTooLong) or type(error) is http.client.HTTPException:
        message = f"{shown} answers with too many headers."
        return InvalidError("response-too-large", message, hint="Check the address.")
    return InvalidError("bad-response", f"{shown} does not answer in HTTP.", hint="Check the address and its port.")


def _connected(found: Sequence[str], port: int, watch: Watch, way: str = "") -> socket.socket:
    problem: OSError | None = None
    for left, ip in zip(range(len(found) - 1, -1, -1), found, strict=True):
        try:
            return _connect(ip, port, watch, min(watch.stall, _NEXT_ADDRESS) if left else watch.stall)
        except OSError as error:
            problem = error
    reason = problem.strerror or str(problem) if problem else "it has no address"
    message = f"{watch.shown} cannot be reached{way}: {reason}."
    raise FailedError("unreachable", message, hint="Check the address and the connection.") from problem


def _connect(ip: str, port: int, watch: Watch, patience: float) -> socket.socket:
    connecting = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        code = connecting.connect_ex((ip, port))
        if code in _UNDERWAY:
            code = _outcome(connecting, watch, patience)
        if not code:
            # Only a matter of speed; some systems refuse it when the other side has closed already.
            with contextlib.suppress(OSError):
                connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connecting
    except BaseException:
        connecting.close()
        raise
    connecting.close()
    raise OSError(code, os.strerror(code))


def _outcome(connecting: socket.socket, watch: Watch, patience: float) -> int:
    """The error code of a connection that is being made; 0 when it stands."""
    since = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(connecting, selectors.EVENT_WRITE)
        while not selector.select(watch.slice()):
            watch.check()
            if time.monotonic() - since > patience:
                return errno.ETIMEDOUT
    return connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def _tunnel(wire: Wire, address: Address, proxy: Proxy) -> None:
    """Have the proxy connect to a server; it looks up the name."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    head = [f"CONNECT {host}:{address.port} HTTP/1.1", f"Host: {host}:{address.port}"]
    if proxy.authorization:
        head.append(f"Proxy-Authorization: {proxy.authorization}")
    wire.sendall("\r\n".join([*head, "", ""]).encode())
    answer = http.client.HTTPResponse(wire, method="CONNECT")  # type: ignore[arg-type]  # a wire has all that is used
    try:
        answer.begin()
    finally:
        answer.close()
    if not 200 <= answer.status < 300:
        message = f"The proxy {proxy.shown} refuses the way to {wire.watch.shown}: {answer.status}."
        hint = "Check HTTPS_PROXY and its credentials, or name the host in NO_PROXY."
        raise FailedError("unreachable", message, hint=hint)
