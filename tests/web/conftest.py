"""A library with a few skills, and its pages served on a real socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from web.site import Site, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The pages, signed in."""
    with serve(tmp_path) as served:
        yield served
