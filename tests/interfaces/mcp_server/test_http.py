"""The server over HTTP, and the command that starts it: who is let in, and what is refused."""

from __future__ import annotations

import errno
import http.client
import json
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlsplit

import pytest

from mcp_server.world import ENOUGH, ERAS, TOKEN, World, error_of, over_http, world
from whet.extras import how_to_install
from whet.interfaces.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["world"]

Whet: TypeAlias = "Callable[..., tuple[int, str, str]]"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@pytest.fixture
def whet(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Whet:
    """Run `whet mcp` in this process: its exit code, and what it says."""
    monkeypatch.chdir(world.work)

    def run(*words: str, **env: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["mcp", *words], {**world.env, **env})
        return code, *capsys.readouterr()

    return run


class Door:
    """Requests to a server as they are on the wire."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 0

    def knock(
        self, method: str = "POST", body: Any = PING, target: str = "/mcp", **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of an answer; a header that is None is left out."""
        given: dict[str, str | None] = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection = http.client.HTTPConnection(self.host, self.port, timeout=ENOUGH)
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            kept = {name: value for name, value in given.items() if value is not None}
            connection.request(method, target, data if method == "POST" else None, kept)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


def test_only_who_has_the_token_and_comes_from_here_is_let_in(world: World) -> None:
    with world.http("--allow-host", "box.example", "--allow-origin", "https://app.example/") as (url, process):
        door = Door(url)

        def status(method: str = "POST", body: Any = PING, target: str = "/mcp", **headers: str | None) -> int:
            return door.knock(method, body, target, **headers)[0]

        opened, headers, _ = door.knock(body=HELLO)
        session = headers["mcp-session-id"]
        assert (opened, "server" in headers) == (200, False)
        assert status(Mcp_Session_Id=session) == 200
        assert status(Authorization=f"bearer {TOKEN}", Mcp_Session_Id=session) == 200

        for wrong in (
            None,
            "",
            TOKEN,
            "Bearer",
            f"Bearer {TOKEN}x",
            f"Bearer  {TOKEN}",
            f"Basic {TOKEN}",
            "Bearer \xff",
        ):
            for method in ("POST", "GET", "DELETE", "PUT", "OPTIONS"):
                code, headers, body = door.knock(method, Authorization=wrong, Mcp_Session_Id=session)
                assert (code, headers["www-authenticate"]) == (401, 'Bearer realm="whet"'), (wrong, method)
                assert json.loads(body)["error"]["message"] == "The token is missing or wrong."
        assert status(target="/", Authorization=None) == status(target="/mcp/../x", Authorization=None) == 401

        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "https://app.example.evil.example"):
            assert status(Origin=origin, Mcp_Session_Id=session) == 403, origin
        assert status(Origin="https://app.example", Mcp_Session_Id=session) == 200
        asked: dict[str, Any] = {"Authorization": None, "Access_Control_Request_Method": "POST"}
        code, told, _ = door.knock("OPTIONS", Origin="https://app.example", **asked)
        assert (code, told["access-control-allow-origin"]) == (200, "https://app.example")
        code, told, _ = door.knock("OPTIONS", Origin="https://evil.example", **asked)
        assert (code, "access-control-allow-origin" in told) == (400, False)
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil"):
            assert status(Host=host, Mcp_Session_Id=session) == 421, host
        for host in (f"localhost:{door.port}", "localhost", "[::1]:9", "box.example", "box.example:443"):
            assert status(Host=host, Mcp_Session_Id=session) == 200, host

        assert status() == 400  # no session
        assert status(Mcp_Session_Id="nobody") == 404
        assert status("PUT") == 405
        assert status("GET", Mcp_Session_Id="nobody") == 404
        assert status(body=b"{", Mcp_Session_Id=session) == 400
        assert status(body=b"[]", Mcp_Session_Id=session) == 400
        assert status(body=b"\xff", Mcp_Session_Id=session) == 400
        assert status(body=b" " * (4 * 1024 * 1024 + 1), Mcp_Session_Id=session) == 413
        assert status(Content_Type="text/plain", Mcp_Session_Id=session) in (400, 415)
        assert status(target="/elsewhere") == 404
        assert status("DELETE", Mcp_Session_Id=session) == 200
        assert status(Mcp_Session_Id=session) == 404
        assert status(body=HELLO) == 200
        if sys.platform != "win32":
            process.send_signal(signal.SIGINT)
            assert process.wait(ENOUGH) in (0, 130)
            assert process.stderr and b"Traceback" not in process.stderr.read()


@pytest.mark.anyio
async def test_the_address_may_name_a_project(world: World) -> None:
    with world.http() as (url, _):
        for era in ERAS:
            for path, count in ((world.project, 5), (world.work, 4)):
                async with over_http(f"{url}?project={quote(str(path))}", era) as client:
                    listed = (await client.call_tool("skills_list", {})).structured_content
                    assert listed and listed["count"] == count
                    assert ("repo-rules" in (client.instructions or "")) == (count == 5)
            for wrong in (str(world.work / "gone"), "relative", "", "/\0"):
                async with over_http(f"{url}?project={quote(wrong)}", era) as client:
                    error = await error_of(client.call_tool("skills_list", {}))
                    assert (error.code, error.data["code"]) == (-32602, "no-such-project")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_it_stops_while_a_stream_is_open(world: World) -> None:
    with world.http() as (url, process):
        door = Door(url)
        session = door.knock(body=HELLO)[1]["mcp-session-id"]
        connection = http.client.HTTPConnection(door.host, door.port, timeout=ENOUGH)
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream", "Mcp-Session-Id": session}
        connection.request("GET", "/mcp", headers=headers)
        assert connection.getresponse().status == 200
        process.terminate()
        assert process.wait(ENOUGH) == 143
        connection.close()
        assert process.stderr and b"Traceback" not in process.stderr.read()


# the command


def test_without_the_extra_it_says_what_to_install(world: World, tmp_path: Path) -> None:
    blocker = "import sys\nfor name in ('mcp', 'mcp_types', 'anyio'):\n    sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(blocker, encoding="utf-8")
    for words in ((), ("--http",)):
        process = world.process(*words, PYTHONPATH=str(tmp_path))
        out, errors = process.communicate(timeout=ENOUGH)
        assert (process.returncode, out) == (2, b"")
        assert errors.startswith(b"error: The server needs the extra `mcp`.\n")
        assert errors.endswith(f"hint: Install it with `{how_to_install('mcp')}`.\n".encode())


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--json"], 2, "The server has no answer to print."),
        (["--allow-writes", "--read-only"], 2, "--allow-writes and --read-only exclude each other."),
        (["--port", "0"], 2, "That option needs `--http`."),
        (["--http", "--port", "-1"], 2, "-1 is not a port."),
        (["--http", "--port", "70000"], 2, "70000 is not a port."),
        (["--http", "--port", "0", "--allow-origin", "nonsense"], 2, "'nonsense' is not an origin."),
        (["--http", "--port", "0", "--host", "0.0.0.0"], 3, "must know its host names."),
        (["--http", "--port", "0", "--host", "no-such.invalid"], 4, "Cannot listen on no-such.invalid:0"),
    ],
)
def test_what_cannot_be_served_is_refused(whet: Whet, words: list[str], code: int, message: str) -> None:
    ended, out, errors = whet(*words)
    assert ended == code
    assert message in out + errors and "Traceback" not in errors


def test_a_port_that_is_taken_is_told(whet: Whet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, errors = whet("--http", "--port", str(port))
    message = f"error: Cannot listen on 127.0.0.1:{port}: {os.strerror(errno.EADDRINUSE)}."
    assert (code, errors) == (4, f"{message}\nhint: Choose another with `--port`; 0 picks a free one.\n")


def test_the_token_is_made_once_and_kept_from_others(world: World, whet: Whet) -> None:
    first = whet("--print-token")
    file = world.state / "mcp-token"
    assert first == whet("--print-token") == (0, file.read_text(encoding="ascii"), "")
    assert len(first[1].strip()) >= 43
    if os.name != "nt":
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o644)
        assert whet("--print-token") == first
        assert file.stat().st_mode & 0o777 == 0o600
    assert whet("--print-token", WHET_MCP_TOKEN="x" * 20)[1] == "x" * 20 + "\n"
    for bad in ("", "short", "with a space in it", "ünüsable-as-a-token"):
        assert whet("--print-token", WHET_MCP_TOKEN=bad)[0] == 2, bad
    file.write_text("short\n", encoding="ascii")
    assert whet("--print-token")[0] == 2
