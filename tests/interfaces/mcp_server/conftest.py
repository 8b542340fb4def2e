"""Every test that waits does so on asyncio, as the server does."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of tests that are marked `anyio`."""
    return "asyncio"
