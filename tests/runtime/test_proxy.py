"""The way to the network: programs reach the hosts that a skill declares, and no others."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play, replies
from whet.guard.permissions.grants import read_grants
from whet.guard.sandbox.levels import level
from whet.runtime.proxy import Proxy, _target, declared_hosts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

boxed = pytest.mark.skipif(level().name != "bubblewrap", reason="only bubblewrap can hold programs to some hosts")


class Server(BaseHTTPRequestHandler):
    """Says which host it was asked for."""

    def do_GET(self) -> None:
        text = f"{self.path} of {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def server() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield served.server_address[1]
        served.shutdown()


@boxed
def test_programs_reach_only_declared_hosts(tmp_path: Path) -> None:
    world = World(tmp_path)
    with server() as port, server() as other:
        world.skill(f"Bash(curl:*) WebFetch(domain:localhost:{port})")
        commands = [
            f"curl -s http://localhost:{port}/page",
            f"curl -s -p http://localhost:{port}/tunnel",
            f"curl -s http://localhost:{other}/",
            f"curl -s --noproxy localhost http://localhost:{port}/direct",
            "curl -s http://name.example/",
            "curl -s -p http://203.0.113.7/",
        ]
        model = play([("Bash", {"command": command}) for command in commands], "Done.")
        with world.library() as library:
            result = library.run("worker", model=model, confirm=lambda _: True)
    said = replies(model)
    assert said[:2] == [f"/page of localhost:{port}", f"/tunnel of localhost:{port}"]
    assert said[2] == f"localhost:{other} is not one of the hosts that this skill declares."
    assert [one.code == 0 for one in result.report.commands] == [True, True, True, False, True, False]
    assert [tuple(one) for one in result.report.network] == [
        *(
            (f"localhost:{port}", True),
            (f"localhost:{other}", False),
            ("name.example", False),
            ("203.0.113.7:80", False),
        ),
    ]
    assert world.journal(result.run.id)[0]["hosts"] == [f"localhost:{port}"]


def test_hosts_are_those_that_grants_name() -> None:
    grants = read_grants(
        "WebFetch(domain:api.example.com) Bash(curl https://x.example/v1/:*) Bash(git log:*) WebFetch Read"
    )
    assert declared_hosts(grants) == ("api.example.com", "x.example")


@pytest.mark.parametrize(
    ("method", "text", "target"),
    [
        ("CONNECT", "x.example:443", ("x.example", 443, "")),
        ("CONNECT", "x.example:8443", ("x.example", 8443, "")),
        ("CONNECT", "[2001:db8::1]:443", ("[2001:db8::1]", 443, "")),
        ("CONNECT", "user@x.example:443", None),
        ("GET", "http://x.example/a?b", ("x.example", 80, "/a?b")),
        ("GET", "http://x.example:81", ("x.example", 81, "/")),
        ("GET", "https://x.example/", None),
        ("GET", "/a", None),
        ("GET", "http://x.example\\@y.example/", None),
    ],
)
def test_what_is_asked_of_the_proxy(method: str, text: str, target: tuple[str, int, str] | None) -> None:
    assert _target(method, text) == target


def test_a_public_name_that_leads_into_a_private_network_is_refused() -> None:
    proxy = Proxy(("api.example.com",), resolve=lambda _host, _port: ("10.0.0.7",))
    with pytest.raises(PermissionError):
        proxy._connect("api.example.com", 443, tunnel=True)
    assert [tuple(one) for one in proxy.take_contacts()] == [("api.example.com", False)]
