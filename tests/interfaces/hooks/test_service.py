"""The socket that answers hooks: many at once, hostile ones, dead servers, places where there can be none."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from journeys.payloads import as_bytes, context, payload

from hooks.machine import BACKPORT, Machine
from whet import __version__
from whet.interfaces.hooks import FIELDS, MAGIC, MOST
from whet.interfaces.hooks.service import Service, remove_stale

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets here")
HOME = os.environ.get("HOME", "")


@pytest.fixture
def state() -> Iterator[Path]:
    """A directory with a short path: that of a socket may have a hundred bytes."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="whet-", dir="/tmp") as directory:
        yield Path(directory)


def header(*, version: str = __version__, home: str = HOME, cwd: str = "/here") -> bytes:
    fields = (version, "prompt", "codex", cwd, home, os.environ.get("WHET_CONFIG", ""))
    return b"".join(field + b"\0" for field in (MAGIC, *map(os.fsencode, fields)))


def ask(path: str, request: bytes) -> bytes:
    """What a socket answers to these bytes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as guest:
        guest.settimeout(20)
        guest.connect(path)
        assert guest.recv(1) in (b"!", b"")
        answer = b""
        try:
            guest.sendall(request)
            guest.shutdown(socket.SHUT_WR)
        except OSError:  # it has had enough
            pass
        try:
            while piece := guest.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
        return answer


def told(client: str, event: str, payload: bytes, cwd: str) -> bytes:
    """An answer that shows what was asked."""
    return f"{client} {event} {len(payload)} {cwd}".encode()


@pytest.fixture
def service(state: Path) -> Iterator[Service]:
    made = Service(str(state), told)
    assert made.start()
    yield made
    made.close()


def test_a_request_is_answered_with_its_length(service: Service) -> None:
    assert ask(service.path, header() + b"payload") == b"+20\ncodex prompt 7 /here"
    assert ask(service.path, header(cwd="/a\nb\t") + b"\0\0") == b"+20\ncodex prompt 2 /a\nb\t"
    assert ask(service.path, header() + b"x" * MOST) == b"+26\ncodex prompt 1048576 /here"


def test_nobody_else_reaches_the_socket(service: Service, state: Path) -> None:
    assert os.stat(state / "run").st_mode & 0o777 == 0o700
    assert os.listdir(state / "run") == [f"hook-{os.getpid()}.sock"]
    service.close()
    service.close()
    assert os.listdir(state / "run") == []


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 3,
        b"\0" * 50,
        header(version="0.0.0"),
        header(home="/elsewhere"),
        header()[:-1],
        b"x" + header(),
        header() + b"x" * (MOST + 1),
        b"\xff" * 100_000,
    ],
)
def test_what_is_no_request_of_ours_is_refused_and_harms_nobody(service: Service, request_: bytes) -> None:
    assert ask(service.path, request_) == b"-"
    assert ask(service.path, header()) == b"+20\ncodex prompt 0 /here"


def test_a_flood_ends_at_the_limit(service: Service) -> None:
    assert ask(service.path, header() + b"x" * (8 * MOST)) in (b"-", b"")
    assert ask(service.path, header()) == b"+20\ncodex prompt 0 /here"


def test_guests_that_leave_or_stay_silent_hold_up_nobody(service: Service) -> None:
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(5)]
    for guest in silent:
        guest.connect(service.path)
    silent[0].sendall(header())
    silent[1].close()
    assert ask(service.path, header()) == b"+20\ncodex prompt 0 /here"
    for guest in silent:
        guest.close()


def test_many_are_answered_at_once(state: Path) -> None:
    meeting = threading.Barrier(8, timeout=20)

    def answer(_client: str, _event: str, payload: bytes, _cwd: str) -> bytes:
        meeting.wait()
        return payload

    service = Service(str(state), answer)
    assert service.start()
    answers: list[bytes] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(service.path, header() + b"same"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    service.close()
    assert answers == [b"+4\nsame"] * 8


def test_beyond_the_limit_guests_are_sent_away(state: Path) -> None:
    leave, busy = threading.Event(), threading.Semaphore(0)

    def answer(*_: object) -> bytes:
        busy.release()
        leave.wait(20)
        return b""

    service = Service(str(state), answer)
    assert service.start()
    threads = [threading.Thread(target=ask, args=(service.path, header())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert busy.acquire(timeout=20)
    assert ask(service.path, header()) == b""
    leave.set()
    for thread in threads:
        thread.join()
    deadline = time.monotonic() + 20
    while (answer_ := ask(service.path, header())) == b"" and time.monotonic() < deadline:
        pass
    assert answer_ == b"+0\n"
    service.close()


def test_the_sockets_of_dead_processes_are_removed(state: Path) -> None:
    (state / "run").mkdir()
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = f"hook-{int(gone.stdout)}.sock"
    for name in (dead, f"{dead}.new", f"hook-{os.getppid()}.sock", "hook-99999999999.sock", "other.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
            left.bind(str(state / "run" / name))
    (state / "run" / "notes.txt").write_text("x", encoding="utf-8")
    living = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    foreign = f"hook-{2**22 + 7}.sock"  # no process has this number here, but somebody answers
    living.bind(str(state / "run" / foreign))
    living.listen()
    assert remove_stale(str(state / "run")) == [dead, f"{dead}.new"]
    living.close()
    kept = {f"hook-{os.getppid()}.sock", "hook-99999999999.sock", "other.sock", "notes.txt", foreign}
    assert set(os.listdir(state / "run")) == kept


def test_a_socket_left_by_a_process_of_our_number_is_replaced(state: Path) -> None:
    (state / "run").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(state / "run" / f"hook-{os.getpid()}.sock"))
    service = Service(str(state), told)
    assert service.start()
    assert ask(service.path, header()) == b"+20\ncodex prompt 0 /here"
    service.close()


def test_a_place_that_is_not_ours_is_left_alone(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = state / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    (state / "run").symlink_to(elsewhere)
    assert not Service(str(state), told).start()
    (state / "run").unlink()
    (state / "run").mkdir()
    (state / "run").chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not Service(str(state), told).start()
    assert [path.stat().st_mode & 0o777 for path in (elsewhere, state / "run")] == [0o755] * 2
    assert os.listdir(elsewhere) == os.listdir(state / "run") == []


def test_where_no_socket_can_be_had_there_is_none(state: Path) -> None:
    assert not Service(str(state / ("x" * 100)), told).start()
    (state / "run").write_text("in the way", encoding="utf-8")
    service = Service(str(state), told)
    assert not service.start()
    service.close()


def test_an_answer_that_fails_costs_only_that_guest(state: Path) -> None:
    def broken(*_: object) -> bytes:
        raise OSError

    service = Service(str(state), broken)
    assert service.start()
    assert [ask(service.path, header()) for _ in range(20)] == [b""] * 20
    service.close()


def test_real_hooks_are_answered(state: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    service = Service(str(state), machine.hooks.answer, env=machine.env)
    assert service.start()
    sent = as_bytes(payload("codex", "prompt", cwd=str(machine.work), prompt=BACKPORT))
    answer = ask(service.path, header(home=machine.env["HOME"]) + sent)
    assert context(answer.partition(b"\n")[2]).startswith("The skill backport is for this request.")
    service.close()
    machine.close()


def test_the_header_has_as_many_fields_as_are_read() -> None:
    assert header().count(b"\0") == FIELDS
