"""The same tour over real processes: standard streams and HTTP, with a handshake and without; and odd clients."""

from __future__ import annotations

import http.client
import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged

from mcp_server.world import EITHER, ENOUGH, TOKEN, Heard, World, ask, connected, error_of, over_http, text_of, world
from whet.interfaces.mcp.prompts import PAGE

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp.client import Client

PROCESSES = True

__all__ = ["world"]

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
NOISY = """
import os
from whet.api.tools import Tools
real = Tools.call
def call(*arguments):
    print("noise")
    os.system("echo more")
    return real(*arguments)
Tools.call = call
"""
LIST = {"jsonrpc": "2.0", "method": "tools/list"}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@asynccontextmanager
async def served(world: World, transport: str, era: str, **how: Any) -> AsyncIterator[Client]:
    """A client of a server that is a process of its own."""
    if transport == "stdio":
        async with connected(world.stdio("--allow-writes"), era, **how) as client:
            yield client
        return
    with world.http("--allow-writes") as (url, _):
        async with over_http(url, era, **how) as client:
            yield client


@pytest.mark.anyio
@pytest.mark.parametrize("era", EITHER)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_tour(world: World, transport: str, era: str) -> None:
    for number in range(PAGE):
        world.skill(f"many-{number:03}")
    heard = Heard()
    async with served(world, transport, era, message_handler=heard) as client:
        assert client.server_info and client.server_info.name == "whet"
        greeted_early = (transport, era) == ("stdio", "legacy")  # before anybody has looked at the skills
        assert ("pdf" in (client.instructions or "")) is not greeted_early
        assert len((await client.list_tools()).tools) == 6
        with world.open() as library:
            expected = library.tools().call("skill_view", {"name": "pdf"})
        assert (await client.call_tool("skill_view", {"name": "pdf"})).structured_content == expected
        assert (await client.call_tool("skill_view", {"name": "no-such"})).is_error
        assert (await error_of(client.call_tool("no_such", {}))).code == -32602
        assert (await error_of(ask(client, "no/such"))).code == -32601
        assert (await error_of(client.read_resource("skill://no-such/SKILL.md"))).code == -32602
        assert len((await client.read_resource("skill://pdf/logo.bin")).contents) == 1
        assert "Fix <12> at <high> now." in text_of(
            await client.get_prompt("fix-issue", {"issue": "12", "priority": "high"})
        )
        first = await client.list_prompts()
        second = await client.list_prompts(cursor=first.next_cursor)
        assert (len(first.prompts), len(second.prompts), second.next_cursor) == (PAGE, 5, None)
        assert len((await ask(client, "skills/list"))["skills"]) == 50
        operation = {"action": "create", "name": "fresh", "description": "Is new.", "body": "Do it."}
        if era == "legacy":
            assert not (await client.call_tool("skill_manage", {"operations": [operation]})).is_error
            await heard.until("notifications/resources/list_changed", "notifications/prompts/list_changed")
        else:
            async with client.listen(resources_list_changed=True, prompts_list_changed=True) as stream:
                assert not (await client.call_tool("skill_manage", {"operations": [operation]})).is_error
                assert {await anext(stream), await anext(stream)} == {ResourcesListChanged(), PromptsListChanged()}
        assert "Do it." in text_of(await client.get_prompt("fresh"))


# standard streams


class Pipe:
    """A server that is spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.process, self._to, self._from, self._errors = process, process.stdin, process.stdout, process.stderr

    def send(self, *lines: bytes | dict[str, Any]) -> None:
        for line in lines:
            self._to.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        self._to.flush()

    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._from.readline())
        return answer

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """The answer with this number."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (answer := self.answer()).get("id") != number:
            pass
        return answer

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its input: the exit code, and what else it wrote."""
        out, errors = self.process.communicate(timeout=ENOUGH)
        return self.process.returncode, out, errors


def test_what_is_no_message_disturbs_nobody(world: World) -> None:
    pipe = Pipe(world.process())
    try:
        pipe.send(b"garbage\n", b"\n", b"{}\n", b"[]\n", b'"x"\n', b"null\n", b"\xff\xfe\xfd\n", b'{"jsonrpc":"2.0"\n')
        pipe.send(HELLO, READY)
        assert pipe.answer()["result"]["serverInfo"]["name"] == "whet"
        batch = [{"jsonrpc": "2.0", "id": 7, "method": "ping"}, {"jsonrpc": "2.0", "id": 8, "method": "ping"}]
        pipe.send(json.dumps(batch).encode() + b"\n", b"x" * 5_000_000 + b"\n")
        pipe.send(b'{"jsonrpc":"2.0","id":9,"method":"ping","params":' + b"[" * 100_000 + b"\n")
        pipe.send(b'{"jsonrpc":"2.0","id":2,"met')  # a message may come in pieces
        pipe.send(b'hod":"ping"}\n')
        while (answer := pipe.answer()).get("id") != 2:
            assert answer["error"]["code"] in (-32700, -32600)
        assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}
        large = pipe.ask(3, "tools/call", name="skills_search", arguments={"message": "forms " * 900_000})
        assert large["result"]["structuredContent"]["success"] in (True, False)
        odd = pipe.ask(4, "tools/call", name="skill_view", arguments={"name": "\u0000\u202e" * 100})
        assert odd["result"]["isError"]
        assert len(pipe.ask(5, "tools/list")["result"]["tools"]) == 6
        assert pipe.end() == (0, b"", b"")
    finally:
        pipe.process.kill()


def test_a_line_without_an_end_is_the_end(world: World) -> None:
    for line in (b'{"jsonrpc":"2.0","id":1,"met', json.dumps(HELLO).encode()):
        pipe = Pipe(world.process())
        pipe.send(line)
        code, out, errors = pipe.end()
        assert (code, errors) == (0, b"")
        assert out == b"" or json.loads(out)["id"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once(world: World, number: int) -> None:
    pipe = Pipe(world.process())
    pipe.send(HELLO)
    assert pipe.answer()["id"] == 1
    pipe.process.send_signal(number)
    assert pipe.process.wait(ENOUGH) == 0
    assert pipe.end()[1:] == (b"", b"")


def test_nothing_but_the_protocol_is_on_standard_output(world: World, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NOISY, encoding="utf-8")
    pipe = Pipe(world.process(PYTHONPATH=str(tmp_path)))
    try:
        pipe.send(HELLO, READY)
        assert pipe.answer()["id"] == 1
        assert pipe.ask(2, "tools/call", name="skills_list", arguments={})["result"]["isError"] is False
        code, out, errors = pipe.end()
        assert (code, out) == (0, b"")
        assert sorted(errors.split()) == [b"more", b"noise"]
    finally:
        pipe.process.kill()


def test_a_change_that_is_under_way_when_the_client_goes_is_whole(world: World) -> None:
    pipe = Pipe(world.process("--allow-writes"))
    pipe.send(HELLO, READY)
    operation = {"action": "patch", "name": "pdf", "find": "Read", "replace": "Study"}
    call = {"name": "skill_manage", "arguments": {"operations": [operation]}}
    pipe.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    assert pipe.end()[0] == 0
    with world.open() as library:
        assert library.edit.history.verify().valid
        text = library.read("pdf").content
    assert text.endswith(("Study references/guide.md.\n", "Read references/guide.md.\n"))


# requests that have one id

ALIKE = 12


def test_requests_with_one_id_all_get_an_answer_on_standard_streams(world: World) -> None:
    pipe = Pipe(world.process())
    try:
        pipe.send(HELLO, READY, *[{**LIST, "id": 7}] * ALIKE)
        answers = [pipe.answer() for _ in range(ALIKE + 1)]
        assert [answer["id"] for answer in answers] == [1] + [7] * ALIKE
        assert all(answer["result"]["tools"] for answer in answers[1:])
    finally:
        assert pipe.end()[0] == 0


@pytest.mark.parametrize("id_", [7, "seven"])
def test_requests_with_one_id_all_get_an_answer_over_http(world: World, id_: int | str) -> None:
    with world.http() as (url, _), ThreadPoolExecutor(ALIKE) as pool:
        session = post(url, HELLO)[1]
        answers = [*pool.map(lambda _: post(url, {**LIST, "id": id_}, session), range(ALIKE))]
        assert [(status, answer["id"]) for status, _, answer in answers] == [(200, id_)] * ALIKE
        assert all(answer["result"]["tools"] for _, _, answer in answers)


def post(url: str, message: dict[str, Any], session: str = "") -> tuple[int, str, dict[str, Any]]:
    """The status of an answer, the session it names, and the message in it."""
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **({"Mcp-Session-Id": session} if session else {}),
    }
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ENOUGH)
    try:
        connection.request("POST", parts.path, json.dumps(message), headers)
        answer = connection.getresponse()
        lines = (line for line in answer if not line.startswith((b"event: ", b"id: ", b"data: \r")))
        data = next(lines).removeprefix(b"data: ")  # else a sign of life, which is no answer
        return answer.status, answer.getheader("Mcp-Session-Id") or "", json.loads(data)
    finally:
        connection.close()
