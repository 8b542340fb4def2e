"""`whet hook EVENT --client CLIENT` in a separate process: the first and usually the only import.

A client runs this at every prompt and every tool call, and waits. So almost nothing is imported: the payload goes to a
running process (`whet mcp`, see `service`), and its answer is printed. If there is none, the work is done here, which
takes longer; after the answer is printed, a process may be started that learns from finished sessions (`background`).

It never disturbs the client. It always exits with 0, even if it is terminated or takes too long; it prints the whole
answer or nothing, and nothing to standard error. Failures are logged for `whet doctor`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # it has no stubs; `signal` takes longer to import than all the rest
import _thread
import os
import sys

from whet.interfaces.hooks import DIRECTORY, MAGIC, MOST, check_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

SWITCH = "WHET_HOOKS"
"""The environment variable that disables hooks."""
_IDLE = 0.25
"""Seconds to wait for a client that has sent a whole object but does not close the stream."""
_READING = 2.0
_ASKING = 2.0
"""Seconds for reading the payload, and for the answer of a server."""
_GREETING = 0.15
"""Seconds in which a server must greet: a stopped one accepts a connection and is silent."""
_ALL = 4.5
_NOTING = 0.5
"""Seconds after which it gives up, and for logging that."""
_TRIED = 4
"""Number of servers that are tried."""
_SHAPE = 4
_BLOCK = 65536


class _Job:
    """The data to log when time is up."""

    state = ""
    client = ""
    event = ""
    in_process = False


def is_client_call(arguments: Sequence[str]) -> bool:
    """Return whether a client runs this command line, not a person who needs help."""
    asking = {"-h", "--help", "--version", "--json"}
    return not asking.intersection(arguments) and not os.isatty(0)


def is_off(env: Mapping[str, str]) -> bool:
    """Return whether hooks are disabled."""
    return env.get(SWITCH, "").lower() in ("off", "0", "no", "false")


def answer_client(arguments: Sequence[str]) -> NoReturn:
    """Answer the client and end the process. Never returns."""
    job = _Job()
    try:
        _take_precautions(job)
        if not is_off(os.environ):
            output = _answer(job, arguments)
            while output:
                output = output[os.write(1, output) :]
            if job.in_process and job.event in ("start", "end"):
                from whet.interfaces.hooks.background import start_work

                start_work(job.event, job.state, os.environ)
    except BaseException as error:  # noqa: BLE001  whatever it is, the client must not notice
        _note(job, error)
    finally:
        os._exit(0)


def _take_precautions(job: _Job) -> None:
    """Silence standard error, replace closed streams, and set a time limit."""
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:
        null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(_signal, name):
            _signal.signal(getattr(_signal, name), lambda *_: os._exit(0))
    _thread.start_new_thread(_watch, (job,))


def _watch(job: _Job) -> None:
    from time import sleep

    sleep(_ALL)
    try:
        _thread.start_new_thread(_give_up, (job,))
        sleep(_NOTING)  # a file system that hangs delays the other one
    finally:
        os._exit(0)


def _give_up(job: _Job) -> None:
    try:
        _log(job, "too-slow", f"It took more than {_ALL:g} seconds and was stopped.")
    finally:
        os._exit(0)


def _answer(job: _Job, arguments: Sequence[str]) -> bytes:
    """Return the output."""
    from whet.store.home import whet_home

    job.event, job.client = _read_arguments(arguments)
    payload = read_input(0)
    job.state = whet_home(os.environ)
    if not job.client:
        from whet.interfaces.hooks.handler import answer_arguments

        return answer_arguments(job.state, arguments, payload)
    cwd = _working_directory()
    answer = _ask_server(job, payload, cwd)
    if answer is None:
        from whet.interfaces.hooks.handler import answer_event

        job.in_process = True
        answer = answer_event(job.state, job.client, job.event, payload, cwd)
    return answer


def _read_arguments(arguments: Sequence[str]) -> tuple[str, str]:
    """Return the event and the client of a command line in the form of client settings; otherwise empty."""
    if len(arguments) == _SHAPE and arguments[2] == "--client" and arguments[1][:1] != "-":
        return arguments[1], arguments[3]
    return "", ""


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone; the client's own value counts more anyway
        return ""


def read_input(fd: int) -> bytes:
    """Read the payload, at most MOST bytes. A client that never closes the stream is not waited for."""
    from time import monotonic

    deadline = monotonic() + _READING
    pieces: list[bytes] = []
    size = 0
    while True:
        whole = bool(pieces) and pieces[-1].rstrip()[-1:] == b"}"
        left = max(0.0, deadline - monotonic())
        if not _has_input(fd, min(left, _IDLE) if whole else left):
            break
        piece = os.read(fd, _BLOCK)
        if not piece:
            break
        if size < MOST:
            pieces.append(piece[: MOST - size])
        size += len(piece)
    return b"".join(pieces)


def _has_input(fd: int, seconds: float) -> bool:
    """Return whether something can be read within this time, including the end."""
    if sys.platform == "win32":  # pipes cannot be waited for there; the watch ends a process that hangs
        return True
    from select import select

    return bool(select([fd], [], [], seconds)[0])


def _ask_server(job: _Job, payload: bytes, cwd: str) -> bytes | None:
    """Return the answer of a server; None if no server answers, b"" if it is too slow."""
    paths = _sockets(os.path.join(job.state, DIRECTORY))
    if not paths:
        return None
    from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket
    from time import monotonic

    from whet import __version__

    home, settings = os.environ.get("HOME", ""), os.environ.get("WHET_CONFIG", "")
    fields = (__version__, job.event, job.client, cwd, home, settings)
    request = b"\0".join((MAGIC, *map(os.fsencode, fields), payload))
    deadline = monotonic() + _ASKING
    for path in paths:
        server = socket(AF_UNIX, SOCK_STREAM)
        sent = False
        try:
            server.settimeout(_GREETING)
            server.connect(path)
            server.recv(1)
            server.settimeout(max(0.001, deadline - monotonic()))
            server.sendall(request)
            server.shutdown(SHUT_WR)
            sent = True
            answer = b""
            while piece := _receive(server, deadline - monotonic()):
                answer += piece
            length, _, text = answer[1:].partition(b"\n")
            if answer[:1] == b"+" and length.isdigit() and len(text) == int(length):
                return text
        except TimeoutError:
            if sent:  # it is at work, and doing it here would take even longer
                _log(job, "too-slow", f"A server took more than {_ASKING:g} seconds; it continues without the client.")
                return b""
        except OSError:
            pass  # its process is gone: try the next one, or work here
        finally:
            server.close()
    return None


def _receive(server: object, seconds: float) -> bytes:
    server.settimeout(max(0.001, seconds))  # type: ignore[attr-defined]  # a socket, whose type is not imported here
    piece: bytes = server.recv(_BLOCK)  # type: ignore[attr-defined]  # as above
    return piece


def _sockets(directory: str) -> list[str]:
    """Return the sockets of servers, newest first; empty on systems without such sockets."""
    if sys.platform == "win32":
        return []
    try:
        check_own(directory)
        paths = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".sock")]
        return sorted(paths, key=lambda path: os.lstat(path).st_mtime_ns, reverse=True)[:_TRIED]
    except OSError:
        return []


def _note(job: _Job, error: BaseException) -> None:
    """Log a failure, if possible."""
    try:
        from whet.interfaces.hooks.handler import note_failure

        note_failure(job.state, job.client, job.event, error)
    except BaseException as other:  # noqa: BLE001  not even that: its kind, in the log
        _log(job, "internal-error", f"{type(error).__name__}, and then {type(other).__name__}")


def _log(job: _Job, code: str, message: str) -> None:
    from whet.learning.hook_log import append

    if job.state:
        append(job.state, job.client, job.event, code, message)
