"""A real client for each test, on a machine of its own, with a scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from real_clients.clients import CLIENTS, RealClient
from real_clients.model import ScriptedModel
from real_clients.programs import Programs, find_programs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The clients; where they cannot be had, the test is skipped and says why."""
    found = find_programs()
    if found.missing:
        pytest.skip(found.missing)
    return found


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that says "Done." until it is given a script."""
    with ScriptedModel() as made:
        yield made


@pytest.fixture(params=CLIENTS, ids=lambda kind: kind.name)
def client(request: pytest.FixtureRequest, tmp_path: Path, programs: Programs, model: ScriptedModel) -> RealClient:
    """Each client in turn; those of `parametrize("client", [...], indirect=True)` only."""
    made: RealClient = request.param(tmp_path, programs, model)
    return made
