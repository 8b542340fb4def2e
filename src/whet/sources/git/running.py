"""Running git so that it always ends, whatever the other side does.

Each run is a process group of its own without a terminal. While it works, one loop looks after it: whether somebody
cancelled, whether its time is up, whether nothing has happened for too long, and how large the directory it writes to
has become. Whatever goes wrong, the whole group is killed before the error is raised.

Output is read by a function of the caller's in a thread of its own, as it comes; it raises when there is too much.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Generic, NamedTuple, TypeVar

from whet.errors import FailedError, InvalidError
from whet.store.failures import os_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")

_MIB = 1024 * 1024
_PULSE = 0.05
"""Seconds between two looks at a running git."""
_GRACE = 5.0
"""Seconds for reading what an ended git has still written."""
_LAST_WORDS = 0.5
"""Seconds that its standard error may stay open; an ssh that it left running for later may hold that for ever."""
_TALK = 16 * 1024
"""Bytes of what git says that are kept, the last ones."""
_CHUNK = 64 * 1024
_PROGRESS = re.compile(rb"(?:Receiving|Unpacking) objects: +\d+% \((\d+)/(\d+)\)")


class Watch(NamedTuple):
    """What ends a run early, and who hears how far it is."""

    cancelled: threading.Event
    directory: str
    """Where git works, and what may not grow beyond `size` bytes."""
    size: int
    total: float
    """Seconds for all of it."""
    stall: float = 0.0
    """Seconds without any sign of life; 0 when silence is normal."""
    progress: Callable[[int, int], None] | None = None


class Ran(NamedTuple, Generic[T]):
    """How a git ended by itself."""

    code: int
    output: T | None
    """What the reader made of it; None where git failed."""
    talk: str
    """The end of what it said on its standard error."""


def up_to(limit: int) -> Callable[[IO[bytes]], bytes]:
    """A reader of at most so many bytes."""

    def read(stream: IO[bytes]) -> bytes:
        data = stream.read(limit + 1)
        if len(data) > limit:
            raise too_large(f"The list of its content has more than {limit // _MIB} MiB.")
        return data

    return read


def too_large(what: str) -> InvalidError:
    """The error of a repository that is more than Whet takes in."""
    return InvalidError("source-too-large", what, hint="Name the directory of one skill, or a smaller repository.")


def run_git(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    watch: Watch,
    read: Callable[[IO[bytes]], T],
    feed: bytes = b"",
) -> Ran[T]:
    """Run git with `feed` on its standard input until it ends. Raises what `read` raises, and the errors of `watch`."""
    try:
        process = subprocess.Popen(  # noqa: S603  a list of arguments, no shell; what strangers wrote is checked before
            command,
            env=dict(env),
            cwd=watch.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )
    except OSError as error:
        raise os_failure(error, command[0], doing="run", other="git-failed") from error
    crew = _Crew(process, read, feed)
    try:
        _look_after(process, crew, watch)
        crew.finish()
    except BaseException:
        _kill(process)
        crew.finish()
        raise
    if crew.error is not None:
        raise crew.error
    if process.returncode:
        return Ran(process.returncode, None, crew.talk())
    if not crew.complete:
        raise FailedError("git-failed", "git ended before its answer was complete.", hint="Try again.")
    return Ran(0, crew.output, crew.talk())


class _Crew(Generic[T]):
    """The threads that feed a git, read what it answers, and listen to what it says."""

    def __init__(self, process: subprocess.Popen[bytes], read: Callable[[IO[bytes]], T], feed: bytes) -> None:
        self.output: T | None = None
        self.error: BaseException | None = None
        self.complete = False
        self.heard = 0
        self.progress = (0, 0)
        self._talk = b""
        self._threads: list[threading.Thread] = []
        self._start(self._feed, process.stdin, feed)
        self._start(self._read, process.stdout, read)
        self._start(self._listen, process.stderr)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def talk(self) -> str:
        """The last lines of standard error, without progress that was written over."""
        lines = (line.rpartition(b"\r")[2] for line in self._talk.replace(b"\r\n", b"\n").split(b"\n"))
        return b"\n".join(lines).decode("utf-8", "replace").strip()

    def finish(self) -> None:
        """Wait for the pipes to end; what somebody else still holds open is left to its thread."""
        *workers, listener = self._threads
        for thread in workers:
            thread.join(_GRACE)
        listener.join(_LAST_WORDS)

    def _feed(self, stream: IO[bytes], data: bytes) -> None:
        try:
            with stream:
                stream.write(data)
        except OSError:  # git ended without reading all; why, its exit tells
            return

    def _read(self, stream: IO[bytes], read: Callable[[IO[bytes]], T]) -> None:
        with stream:
            try:
                self.output = read(stream)
                self.complete = True
                while stream.read(_CHUNK):
                    pass
            except EOFError:  # it ended early, and its exit tells why
                return
            except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
                self.error = error

    def _listen(self, stream: IO[bytes]) -> None:
        with stream:
            while piece := os.read(stream.fileno(), _CHUNK):
                self.heard += len(piece)
                self._talk = (self._talk + piece)[-_TALK:]
                for found in _PROGRESS.finditer(piece):
                    self.progress = (int(found[1]), int(found[2]))


def _look_after(process: subprocess.Popen[bytes], crew: _Crew[T], watch: Watch) -> None:
    """Wait until git ends; raise when it must not go on."""
    started = moved = time.monotonic()
    life, told = (0, 0), (0, 0)
    while True:
        ended = _ended(process)
        now, weight = time.monotonic(), _weight(watch.directory)
        if weight > watch.size:
            raise too_large(f"The repository has more than {watch.size // _MIB} MiB.")
        if ended:
            return
        if watch.cancelled.is_set():
            raise FailedError("cancelled", "It was cancelled.", hint="Nothing was changed.")
        if crew.error is not None:
            raise crew.error
        if (crew.heard, weight) != life:
            life, moved = (crew.heard, weight), now
        if watch.progress and crew.progress != told:
            told = crew.progress
            watch.progress(*told)
        if watch.stall and now - moved > watch.stall:
            raise _too_slow(f"The server sent nothing for {watch.stall:g} s.")
        if now - started > watch.total:
            raise _too_slow(f"It was not done after {watch.total:g} s.")


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_PULSE)
    except subprocess.TimeoutExpired:
        return False
    return True


def _too_slow(what: str) -> FailedError:
    return FailedError("too-slow", what, hint="Try again later, or raise network_timeout in config.toml.")


def _weight(directory: str) -> int:
    """The bytes below a directory that changes meanwhile."""
    total = 0
    try:
        with os.scandir(directory) as found:
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    total += _weight(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return total
    return total


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and everything it started. Its group exists as long as anything in it does."""
    if sys.platform == "win32":
        process.kill()
    else:
        import signal

        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    process.wait()
