"""Requests, responses, and the time limits of a call."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whet import __version__
from whet.errors import FailedError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

SLICE = 0.25
"""Longest wait in seconds between two checks."""

_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding"})
_NAME = compile_late(r"[A-Za-z0-9-]{1,80}")
_VALUE = compile_late(r"[\t\x20-\x7e]{0,8192}")


class Response(NamedTuple):
    """The final response after redirects."""

    url: str
    """Address after all redirects."""
    status: int
    headers: dict[str, str]
    """Names in lower case; values of the same name joined by commas."""
    body: bytes

    @property
    def is_redirect(self) -> bool:
        """Whether the status is a redirect."""
        return self.status in (301, 302, 303, 307, 308)


class Request(NamedTuple):
    """A request to any address."""

    headers: Mapping[str, str]
    """Headers of the caller: sent only to the first origin."""
    limit: int
    accept: str = "*/*"
    reading: bool = True
    """Whether the body is read."""
    progress: Callable[[int, int], None] | None = None
    method: str = "GET"
    body: bytes | None = None
    content_type: str = ""

    def check(self) -> None:
        """Raise UsageError for a header with line breaks, or one that controls the length of the request."""
        for name, value in {"Accept": self.accept, "Content-Type": self.content_type, **self.headers}.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() in _OURS:
                hint = "Check its token or setting for line breaks and unusual characters."
                raise UsageError("bad-header", f"The header {name[:80]!r} cannot be sent.", hint=hint)

    def all_headers(self) -> dict[str, str]:
        """Return our headers and those of the caller, which take precedence."""
        ours = {"User-Agent": f"whet/{__version__}", "Accept": self.accept, "Accept-Encoding": "identity"}
        if self.body is not None:
            ours |= {"Content-Type": self.content_type, "Content-Length": str(len(self.body))}
        named = {name.lower() for name in self.headers}
        return {**{name: value for name, value in ours.items() if name.lower() not in named}, **self.headers}


class Watch:
    """The time limits of a call."""

    __slots__ = ("_cancelled", "_ends", "_total", "shown", "stall")

    def __init__(self, shown: str, stall: float, total: float, cancelled: threading.Event | None) -> None:
        self.shown = shown
        """Current address, for messages."""
        self.stall = stall
        self._total = total
        self._ends = time.monotonic() + total
        self._cancelled = cancelled

    def check(self) -> None:
        """Raise FailedError `cancelled` or `too-slow` if the call must end."""
        if self._cancelled is not None and self._cancelled.is_set():
            raise FailedError("cancelled", "Cancelled.", hint="Nothing was changed.")
        if time.monotonic() > self._ends:
            raise self._slow(f"did not finish within {self._total:g} seconds", "Try again later.")

    def waiting(self, since: float, what: str) -> None:
        """Like `check`, and raise `too-slow` if nothing has happened since then."""
        self.check()
        if time.monotonic() - since > self.stall:
            hint = "Try again later, or raise network_timeout in config.toml."
            raise self._slow(f"{what} for {self.stall:g} seconds", hint)

    def slice(self) -> float:
        """Return the seconds until the next `check`."""
        return max(0.001, min(SLICE, self.stall, self._ends - time.monotonic()))

    def pause(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Sleep in slices."""
        while seconds > 0:
            self.check()
            sleep(min(seconds, SLICE))
            seconds -= SLICE
        self.check()

    def _slow(self, problem: str, hint: str) -> FailedError:
        return FailedError("too-slow", f"{self.shown} {problem}.", hint=hint)
