"""A hub in a process of its own, asked over real sockets."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from hub.world import make_archive
from whet.hub.instance import HubConfig, create_hub, open_hub

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SKILL = "/api/v1/skills/acme/review"
VERSION = f"{SKILL}/versions/1.0.0"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> tuple[int, str]:
        return self.status, self.json["code"]


class Served:
    """A hub in a process of its own."""

    def __init__(self, port: int, tokens: Mapping[str, str], process: subprocess.Popen[str] | None = None) -> None:
        self.port, self.tokens, self._process = port, tokens, process

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End the process as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def ask(self, method: str, path: str, who: str = "", body: bytes = b"", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if who:
            named["Authorization"] = f"Bearer {self.tokens.get(who, who)}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body or None, named)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def changes(self, who: str = "") -> list[Any]:
        """The first hundred changes."""
        found: list[Any] = self.ask("GET", "/api/v1/changes?limit=100", who).json["changes"]
        return found

    def publish(self, who: str = "ada", path: str = VERSION, **made: Any) -> Answer:
        archive = make_archive(**made)
        return self.ask("PUT", path, who, archive.data, Content_Type="application/zip", Whet_Digest=archive.digest)


@contextmanager
def serving(top: Path, address: str, *, private: bool = False, config: str = "") -> Iterator[Served]:
    """A hub that serves; `config` are further lines of its configuration."""
    directory = str(top / "hub")
    database = address if "://" in address else ""
    made = create_hub(directory, HubConfig("hub.example", "Acme", private, database))
    with open(os.path.join(directory, "hub.toml"), "a", encoding="utf-8") as file:
        file.write(config)
    hub = open_hub(directory)
    tokens = {
        "admin": made.admin_token,
        "ada": hub.create_token("ada", ("publish:acme", "yank:acme")),
        "bob": hub.create_token("bob", ("publish:acme/other", "read")),
        "mo": hub.create_token("mo", ("moderate",)),
        "reader": hub.create_token("rea", ("read",)),
    }
    hub.close()
    with serving_directory(directory, tokens) as served:
        yield served


@contextmanager
def serving_directory(directory: str, tokens: Mapping[str, str], port: int = 0) -> Iterator[Served]:
    """A hub that exists already, on a port that may have been another's before."""
    top = os.path.dirname(directory)
    words = [sys.executable, "-m", "whet", "hub", "serve", directory, "--port", str(port)]
    env = {**os.environ, "WHET_HOME": os.path.join(top, "state"), "HOME": top}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith("listening on http://127.0.0.1:"), line
            yield Served(int(line.rpartition(":")[2]), tokens, server)
        finally:
            server.terminate()
