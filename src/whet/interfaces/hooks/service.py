"""Hooks answered by a running process with a warm library: a socket in Whet's state directory.

    service = Service(state, hooks.answer)
    service.start()

A request is seven fields, each ended by a NUL (a word that says what this is, the version of Whet, event, client,
working directory, home, settings file), then the payload, up to the end of the stream. It is sent once the service has
sent `!`: a stopped process has a socket as well, and must not repeat the work later. The answer is `+LENGTH` and a line
break, then the output; or `-` for another version, home or settings file: then the caller does the work itself. Only
the user can open the directory, so every caller is the same user.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from whet import __version__
from whet.interfaces.hooks import DIRECTORY, FIELDS, LONGEST_PATH, MAGIC, MOST, check_own
from whet.store.directories import make_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SOCKET = re.compile(r"hook-(\d{1,10})\.sock(?:\.new)?")
_AT_ONCE = 16
"""Number of requests that are answered at the same time; further callers do the work themselves."""
_SECONDS = 5.0
"""Seconds for a request to arrive, and for an answer to be read."""
_MOST_HEADER = 32 * 1024


class Service:
    """A socket that answers hooks, and the threads behind it."""

    def __init__(
        self,
        state: str,
        answer: Callable[[str, str, bytes, str], bytes],
        *,
        env: Mapping[str, str] = os.environ,
        after: Callable[[str], None] | None = None,
    ) -> None:
        """`answer` gets client, event, payload and working directory, in any thread; `after` gets the event before the
        client has its answer, because after the last one the client may end this process.
        """
        self.path = os.path.join(state, DIRECTORY, f"hook-{os.getpid()}.sock")
        self._answer = answer
        self._after = after
        self._place = (env.get("HOME", ""), env.get("WHET_CONFIG", ""))
        self._socket: socket.socket | None = None
        self._listening: threading.Thread | None = None
        self._free = threading.Semaphore(_AT_ONCE)

    def start(self) -> bool:
        """Start answering; return False if no socket is available, which only costs speed."""
        fresh = f"{self.path}.new"
        if not hasattr(socket, "AF_UNIX") or len(os.fsencode(fresh)) > LONGEST_PATH:
            return False
        directory = os.path.dirname(self.path)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            make_missing(directory)
            check_own(directory)
            os.chmod(directory, 0o700)
            remove_stale(directory)
            with suppress(FileNotFoundError):
                os.unlink(fresh)
            made.bind(fresh)
            made.listen(_AT_ONCE)
            os.rename(fresh, self.path)  # once it listens, so that nobody finds a socket that does not
        except OSError:
            made.close()
            return False
        self._socket = made
        self._listening = threading.Thread(target=self._listen, args=(made,), name="whet-hooks", daemon=True)
        self._listening.start()
        return True

    def close(self) -> None:
        """Stop accepting requests. Running ones are answered."""
        made, self._socket = self._socket, None
        if made is None:
            return
        with suppress(OSError):
            os.unlink(self.path)
        with suppress(OSError):
            made.shutdown(socket.SHUT_RDWR)  # wakes up the thread that waits for a request
        made.close()
        if self._listening is not None:
            self._listening.join(timeout=1)

    def _listen(self, listening: socket.socket) -> None:
        while True:
            try:
                client_socket, _ = listening.accept()
            except OSError:
                if self._socket is None:
                    return
                time.sleep(0.05)  # out of descriptors or similar, which passes
                continue
            if not self._free.acquire(blocking=False):
                client_socket.close()
                continue
            try:
                threading.Thread(target=self._serve, args=(client_socket,), name="whet-hook", daemon=True).start()
            except RuntimeError:  # no thread is available
                self._free.release()
                client_socket.close()

    def _serve(self, client_socket: socket.socket) -> None:
        try:
            with client_socket, suppress(OSError):  # a caller that is gone needs no answer
                client_socket.settimeout(_SECONDS)
                client_socket.sendall(b"!")
                request = _read_request(client_socket)
                if request is None or not self._is_ours(request[:FIELDS]):
                    client_socket.sendall(b"-")
                    return
                event, client, cwd = map(os.fsdecode, request[2:5])
                text = self._answer(client, event, request[FIELDS], cwd)
                if self._after is not None:
                    self._after(event)
                client_socket.sendall(b"+%d\n%b" % (len(text), text))
        finally:
            self._free.release()

    def _is_ours(self, fields: list[bytes]) -> bool:
        """Return whether the request is from the same Whet, for the same user, with the same settings."""
        known = [MAGIC, __version__.encode(), *map(os.fsencode, self._place)]
        return [*fields[:2], *fields[5:]] == known


def _read_request(client_socket: socket.socket) -> list[bytes] | None:
    """Return the fields of a request and its payload; None if it is invalid or too slow."""
    deadline, data = time.monotonic() + _SECONDS, bytearray()
    while len(data) <= MOST + _MOST_HEADER:
        client_socket.settimeout(max(0.001, deadline - time.monotonic()))
        piece = client_socket.recv(65536)
        if not piece:
            request = bytes(data).split(b"\0", FIELDS)
            return request if len(request) == FIELDS + 1 and len(request[FIELDS]) <= MOST else None
        data += piece
    return None


def remove_stale(directory: str) -> list[str]:
    """Remove the sockets of processes that no longer run; return their names."""
    removed = []
    for name in sorted(os.listdir(directory)):
        found, path = _SOCKET.fullmatch(name), os.path.join(directory, name)
        if found and not _runs(int(found[1])) and not _is_answered(path):
            with suppress(OSError):
                os.unlink(path)
                removed.append(name)
    return removed


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return (
        process != os.getpid()
    )  # this process has no socket yet: the file is from a former process with the same number


def _is_answered(path: str) -> bool:
    """Return whether a process answers, perhaps in another container."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client_socket:
        client_socket.settimeout(0.2)
        try:
            client_socket.connect(path)
        except OSError:
            return False
        return True
