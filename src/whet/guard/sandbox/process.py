"""Running one program within limits: started without input, read up to a limit, ended with everything it started.

A `Keeper` accompanies the process. The plain one knows only process groups; the boxes have their own keepers, which let
the process begin once its limits are set, report excessive resource use, and end everything in the box.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    import threading
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO, Self

    from whet.store.signals import HeldSignals

_FAR_OVER = 1 << 20
"""A program that prints this many bytes more than will be read is ended."""
_GRACE = 0.5
"""Seconds that remaining processes have to finish their output after the program itself has ended."""
_TICK = 0.02
"""Seconds between two checks of a box."""


class Ran(NamedTuple):
    """How a program ended."""

    output: str
    """Its standard output; its error output if there is no other; or why it did not start or was stopped."""
    code: int | None
    """Its exit code; `None` if it did not finish or did not start."""
    problem: str
    """Empty, `timeout`, `stopped`, `not-found` (the program), `limit` (it used too much) or `failed`."""
    truncated: bool
    level: str = ""
    """The level of the box; `none` if there was no box, empty if unknown."""
    errors: str = ""
    """Its error output."""


class Command(NamedTuple):
    """A program to start: the arguments, the whole environment, the directory, and descriptors to pass on."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    descriptors: tuple[int, ...] = ()


class Keeper:
    """Accompanies a process from before its start until after its end."""

    watches = False
    """Whether `excess` may report anything."""

    def begun(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Prepare the process after its start; it must be running within `seconds`."""

    def excess(self) -> str:
        """Return a message about a limit that the process exceeds, or ""."""
        return ""

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process and, if there are process groups, everything in its group."""
        if sys.platform == "win32":
            process.kill()
            return
        import signal

        with suppress(ProcessLookupError, PermissionError):  # no process is left, or (macOS) only an uncollected one
            os.killpg(process.pid, signal.SIGKILL)

    def failure(self) -> str | None:
        """Return why the program of a process that ended never began; empty if its output says so, `None` if it began."""
        return None

    def close(self) -> None:
        """Release everything; called once, even if nothing was started."""


def run(
    command: Command,
    keeper: Keeper,
    *,
    seconds: float,
    limit: int,
    stop: threading.Event | None = None,
    exact: bool = False,
) -> Ran:
    """Run a program with no input; output beyond `limit` characters is discarded, and far more ends the program.

    Another thread ends it by setting `stop`. With `exact`, `output` and `errors` are exactly what it printed.
    """
    from whet.store.signals import HeldSignals

    try:
        with HeldSignals() as signals:
            return _run(command, keeper, seconds, limit, stop, signals, exact=exact)
    finally:
        keeper.close()


def _run(
    command: Command,
    keeper: Keeper,
    seconds: float,
    limit: int,
    stop: threading.Event | None,
    signals: HeldSignals,
    *,
    exact: bool,
) -> Ran:
    import subprocess
    import threading

    begun = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603 (running what a skill says is the purpose, decided by the caller)
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.cwd,
            env=dict(command.env),
            bufsize=0,
            pass_fds=command.descriptors,
            start_new_session=sys.platform != "win32",
        )
    except (OSError, ValueError) as problem:
        return Ran(str(problem), None, "failed", truncated=False)

    ended_early: list[bool] = []

    def end_early() -> None:
        ended_early.append(True)
        keeper.end(process)

    kept = (bytearray(), bytearray())
    readers = [
        threading.Thread(target=_drain, args=(pipe, room, 4 * limit, end_early), daemon=True)
        for pipe, room in zip((process.stdout, process.stderr), kept, strict=True)
    ]
    late, excess, broken = "", "", ""
    try:
        for reader in readers:
            reader.start()
        keeper.begun(process, seconds)
        late, excess = _wait(process, keeper, begun + seconds, stop, signals)
        if not late and not excess:
            for reader in readers:
                reader.join(_GRACE)
    except OSError as problem:  # its limits could not be set, so it does not run
        broken = str(problem)
    finally:
        keeper.end(process)
        process.wait()
    for reader in readers:
        reader.join(_GRACE)

    texts = [bytes(room).decode("utf-8", "replace") for room in kept]
    texts = texts if exact else [text.rstrip("\r\n") for text in texts]
    text = texts[0] if exact or texts[0].strip() else texts[1]
    if broken or excess:
        return Ran(broken or excess, None, "failed" if broken else "limit", truncated=False)
    if not late and not ended_early and (why := keeper.failure()) is not None:
        return Ran(why or text[:limit], None, "failed", truncated=False)
    cut = max(len(text), len(texts[1]) if exact else 0) > limit or bool(ended_early)
    code = None if late or ended_early else process.returncode
    if code is not None and code < 0:
        code = 128 - code  # ended by a signal, reported as a shell reports it
    return Ran(text[:limit], code, late or ("failed" if code else ""), cut, errors=texts[1][:limit])


def _wait(
    process: subprocess.Popen[bytes],
    keeper: Keeper,
    deadline: float,
    stop: threading.Event | None,
    signals: HeldSignals,
) -> tuple[str, str]:
    """Wait for the end; return `timeout`, `stopped` or "", and a message about an exceeded limit or ""."""
    looks = keeper.watches or stop is not None or signals.holding
    with _Ending(process) as ending:
        while True:
            signals.deliver()
            left = deadline - time.monotonic()
            if ending.wait(max(0, min(_TICK, left) if looks else left)):
                return "", ""
            if stop is not None and stop.is_set():
                return "stopped", ""
            if time.monotonic() >= deadline:
                return "timeout", ""
            if excess := keeper.excess():
                return "", excess


class _Ending:
    """Waits for the end of a process, without polling if the kernel can report it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._handle = process, -1

    def __enter__(self) -> Self:
        if sys.platform == "linux":
            with suppress(OSError):  # an old kernel
                self._handle = os.pidfd_open(self._process.pid)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def wait(self, seconds: float) -> bool:
        """Return whether the process ended within `seconds`."""
        import select
        import subprocess

        if self._handle >= 0:
            ended = select.poll()
            ended.register(self._handle, select.POLLIN)
            return bool(ended.poll(seconds * 1000)) and self._process.wait() is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def _drain(pipe: IO[bytes], kept: bytearray, cap: int, end_early: Callable[[], None]) -> None:
    """Read a pipe to its end and keep its beginning: one byte more than the cap, to show that there was more."""
    total = 0
    with pipe:
        while total <= cap + _FAR_OVER:
            if not (chunk := pipe.read(1 << 16)):
                return
            total += len(chunk)
            kept += chunk[: max(0, cap + 1 - len(kept))]
    end_early()
