"""An S3-compatible object store of its own for tests: moto's server, in memory, in a process of its own."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hub.postgres import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "hub"


def store_settings(port: int) -> dict[str, str]:
    """What a hub needs in its environment for the store at a port."""
    return {
        "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "whet",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }


def _create_bucket(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200
    finally:
        connection.close()


@contextmanager
def object_store_running() -> Iterator[int]:
    """The port of a store with one bucket. Raises OSError where none starts."""
    port = free_port()
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet) as server:
        try:
            for _ in range(600):
                try:
                    _create_bucket(port)
                    break
                except ConnectionRefusedError:
                    if server.poll() is not None:
                        raise
                    time.sleep(0.1)
            yield port
        finally:
            server.kill()
