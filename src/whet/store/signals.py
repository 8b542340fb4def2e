"""Delay Ctrl-C and SIGTERM to moments when raising an exception does no harm."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class HeldSignals:
    """Within it, SIGINT and SIGTERM wait until `deliver` is called, or until the end.

    Python calls a handler between any two instructions, and most handlers raise. Raised while `subprocess` starts a
    process, that leaves an unknown process; raised while it waits for one, it can leave a lock that nobody releases.
    Handlers only run in the main thread, so in other threads this does nothing.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, Any], object]] = {}
        self._waiting: list[int] = []
        self.holding = False
        """Whether signals are held, so that `deliver` must be called now and then."""

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.holding = True
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._receive)
            self.holding = bool(self._handlers)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
        finally:
            self.holding = False
            with ExitStack() as last_first:  # calls all of them, even if some raise
                while self._waiting:
                    number = self._waiting.pop()
                    last_first.callback(self._handlers[number], number, None)

    def deliver(self) -> None:
        """Call the handlers of the signals received so far. Raises what they raise."""
        while self._waiting:
            number = self._waiting.pop(0)
            self._handlers[number](number, None)

    def _receive(self, number: int, frame: object) -> None:
        """Hold a signal; call its handler if nothing is held, as when a handler raised during the exchange."""
        if self.holding:
            self._waiting.append(number)
        else:
            self._handlers[number](number, frame)
