"""The world that every adapter is tried in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adapters.world import World, made

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


NEED_A_LIBRARY = ("test_langchain.py", "test_pydantic_ai.py", "test_workspaces.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing other agent libraries takes seconds; in the quick tier, the providers' own formats stand for them."""
    return True if config.getoption("quick") and collection_path.name in NEED_A_LIBRARY else None


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    machine = made(tmp_path, monkeypatch)
    yield machine
    machine.library.close()
