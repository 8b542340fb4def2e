"""Signals that are held: none is lost, also where a handler raises."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from whet.store.signals import HeldSignals

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="raises signals")


@pytest.fixture
def seen() -> Iterator[list[int]]:
    """What the handlers saw; each raises."""
    found: list[int] = []

    def handle(number: int, _frame: object) -> None:
        found.append(number)
        raise InterruptedError(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


def test_all_signals_that_wait_are_delivered_in_order_even_if_a_handler_raises(seen: list[int]) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    held = HeldSignals()
    held.__enter__()
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    assert seen == []
    with pytest.raises(InterruptedError):
        held.__exit__()
    assert seen == [signal.SIGINT, signal.SIGTERM]
    assert not held.holding
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_signal_that_comes_while_the_handlers_are_installed_waits(
    seen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    install = signal.signal

    def install_and_raise(number: int, handler: Any) -> object:
        before = install(number, handler)
        if isinstance(getattr(handler, "__self__", None), HeldSignals):
            signal.raise_signal(number)
        return before

    held = HeldSignals()
    with monkeypatch.context() as patched:
        patched.setattr(signal, "signal", install_and_raise)
        held.__enter__()
    assert seen == []
    with pytest.raises(InterruptedError):
        held.__exit__()
    assert seen == [signal.SIGINT, signal.SIGTERM]
