"""The world that every adapter is tried in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adapters.world import World, made

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    machine = made(tmp_path, monkeypatch)
    yield machine
    machine.library.close()
