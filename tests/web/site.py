"""The pages of `whet ui` on a real socket, in this process, and a browser that says exactly what it is told to say."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import uvicorn

from whet import Library
from whet.interfaces.cli.commands.doctor import examine_machine
from whet.web.security import LocalOnly, SignIn
from whet.web.ui.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SKILLS = {
    "pdf-forms": "Fills in PDF forms. Use when a PDF form has to be filled in.",
    "backport": "Backports a fix to a release branch. Use when asked to backport.",
    "charts": "Draws charts from a CSV file. Use when asked for a plot.",
}


class Answer:
    """What came back."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        self.text = self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Site:
    """The served pages of one library."""

    def __init__(self, library: Library, home: Path, sign_in: SignIn, port: int) -> None:
        self.library, self.home, self.sign_in, self.port = library, home, sign_in, port
        self.host = f"127.0.0.1:{port}"
        self.cookie = ""

    def write(self, name: str, description: str, body: str = "Do it.\n", **files: str) -> str:
        """Write a skill by hand; its directory."""
        directory = self.home / ".agents" / "skills" / name
        directory.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n{body}"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        for path, content in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(content, encoding="utf-8")
        return str(directory)

    def send(self, method: str, path: str, headers: Mapping[str, str | None] | None = None, body: str = "") -> Answer:
        """A request with our Host and cookie, unless the headers say otherwise; None leaves one out."""
        told = {"Host": self.host, "Cookie": f"whet_ui_{self.port}={self.cookie}", **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in told.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders(body.encode())
            return Answer(connection.getresponse())
        finally:
            connection.close()

    @contextmanager
    def listen(self, address: str = "/events") -> Iterator[Iterator[tuple[str, Any]]]:
        """What an open page is told, from now on: events and their data."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", address, headers={"Cookie": f"whet_ui_{self.port}={self.cookie}"})
            lines = (line.decode().rstrip("\n") for line in connection.getresponse())
            assert next(lines) == "retry: 2000"
            yield (
                (line.removeprefix("event: "), json.loads(next(lines).removeprefix("data: ")))
                for line in lines
                if line.startswith("event: ")
            )
        finally:
            connection.close()

    def get(self, path: str, **query: str) -> Answer:
        """Look at a page as a browser does."""
        return self.send("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, headers: Mapping[str, str | None] | None = None, **form: str) -> Answer:
        """Send a form as a browser does from our own page."""
        own = {
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.send("POST", path, {**own, **(headers or {})}, urlencode(form))

    def enter(self) -> Answer:
        """Open the address that the terminal shows."""
        answer = self.send("GET", f"/sign-in?token={self.sign_in.token}", {"Cookie": None})
        self.cookie = answer.headers.get("set-cookie", "=;").partition("=")[2].partition(";")[0]
        return answer


@contextmanager
def serve(top: Path, *, read_only: bool = False) -> Iterator[Site]:
    """Serve the pages over a library with three skills."""
    home, work = top / "home", top / "work"
    for path in (home, work):
        path.mkdir()
    env = {"HOME": str(home), "WHET_HOME": str(top / "state"), "PATH": os.environ["PATH"]}
    library = Library.open(project=work, env=env)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    sign_in = SignIn()
    examine = partial(examine_machine, library)
    app = LocalOnly(create_app(library, read_only=read_only, examine=examine), sign_in, port, read_only=read_only)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    site = Site(library, home, sign_in, port)
    for name, description in SKILLS.items():
        site.write(name, description)
    while not server.started:
        time.sleep(0.01)
    try:
        site.enter()
        yield site
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
        library.close()
