"""Payloads of clients are shared with the journeys; the machine is this directory's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.machine import Machine

TESTS = Path(__file__).parents[2]
sys.path.extend([str(TESTS), str(TESTS / "interfaces")])


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    from hooks.machine import Machine

    monkeypatch.setattr("whet.interfaces.hooks.handler.PATIENCE", 60.0)  # a busy machine is no reason to say nothing
    made = Machine(tmp_path)
    yield made
    made.close()
