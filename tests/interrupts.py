"""Ctrl-C at a chosen line of what runs a program."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType


def interrupt(run: Callable[[], object], module: ModuleType, moment: int) -> str:
    """Run a program that never ends, and interrupt it at one line of those that start and watch it; the function.

    The lines are counted in the module, `subprocess` and `threading`.
    """
    files, lines, place = {one.__file__ for one in (module, subprocess, threading)}, 0, ""

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines, place
        if frame.f_code.co_filename not in files:
            return None
        lines += event == "line"
        if lines == moment:
            sys.settrace(None)
            place = frame.f_code.co_name
            signal.raise_signal(signal.SIGINT)
        return trace

    def give_up(*_: object) -> None:
        raise AssertionError(f"It did not end when it was interrupted in {place}, at line {moment}.")

    before, tracer = signal.signal(signal.SIGALRM, give_up), sys.gettrace()
    signal.setitimer(signal.ITIMER_REAL, 30)
    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        sys.settrace(tracer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return place
