"""Running one program within bounds: started without input, read to a limit, ended with all it started.

A `Keeper` stands by the process. The plain one knows process groups and nothing else; the boxes have keepers of their
own, which let the process begin once its limits are set, tell when it takes too much, and end all that is in the box.
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
"""A program that prints this many bytes more than anybody will read is ended."""
_GRACE = 0.5
"""Seconds that processes left behind have to finish what they print once the program itself has ended."""
_TICK = 0.02
"""Seconds between two looks at what a box takes."""


class Ran(NamedTuple):
    """How a program ended."""

    output: str
    """What it printed; what it printed as errors when that is all there is; or why it did not start or was stopped."""
    code: int | None
    """Its exit code; None when it did not finish or did not start."""
    problem: str
    """Empty, `timeout`, `stopped`, `not-found` (the program), `limit` (it took too much) or `failed`."""
    truncated: bool
    level: str = ""
    """The level of the box it ran in, `none` where there was no box, nothing where nobody said."""
    errors: str = ""
    """What it printed as errors, apart from the rest."""


class Command(NamedTuple):
    """What is started: the arguments, the whole environment, the directory, and descriptors to hand on."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    descriptors: tuple[int, ...] = ()


class Keeper:
    """Stands by a process from before its start to after its end."""

    watches = False
    """Whether `excess` has anything to tell."""

    def begun(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """The process was started, and must be at work in so many seconds."""

    def excess(self) -> str:
        """What it takes too much of, if anything."""
        return ""

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process and, where there are process groups, everything in its own."""
        if sys.platform == "win32":
            process.kill()
            return
        import signal

        with suppress(ProcessLookupError, PermissionError):  # nothing is left, or (macOS) only what nobody collected
            os.killpg(process.pid, signal.SIGKILL)

    def failure(self) -> str | None:
        """Why the program never began, for a process that ended by itself; empty when what it printed says so."""
        return None

    def close(self) -> None:
        """Let go of everything; called once, also when nothing was started."""


def run(
    command: Command,
    keeper: Keeper,
    *,
    seconds: float,
    limit: int,
    stop: threading.Event | None = None,
    exact: bool = False,
) -> Ran:
    """Run a program with no input; more output than `limit` characters is read and thrown away, far more ends it.

    Another thread ends it by setting `stop`. With `exact`, `output` and `errors` are what it printed to the letter.
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
        code = 128 - code  # ended by a signal, told as a shell tells it
    return Ran(text[:limit], code, late or ("failed" if code else ""), cut, errors=texts[1][:limit])


def _wait(
    process: subprocess.Popen[bytes],
    keeper: Keeper,
    deadline: float,
    stop: threading.Event | None,
    signals: HeldSignals,
) -> tuple[str, str]:
    """Wait for the end: was it ended for being late or by `stop`, and of what did it take too much?"""
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
    """Waits for the end of a process. Where the kernel can tell of it, nobody has to look again and again."""

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
        """Whether it ended within so many seconds."""
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
    """Read a pipe to its end and keep its beginning: one byte more than the cap, to know that there was more."""
    total = 0
    with pipe:
        while total <= cap + _FAR_OVER:
            if not (chunk := pipe.read(1 << 16)):
                return
            total += len(chunk)
            kept += chunk[: max(0, cap + 1 - len(kept))]
    end_early()
