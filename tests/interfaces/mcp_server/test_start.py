"""What a client asks first is answered before the SDK is loaded, and as the SDK answers it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_server.test_transports import HELLO, READY, Pipe
from mcp_server.world import World, world
from whet.interfaces.mcp.handshake import VERSIONS

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["world"]

SPY = """
import json, os, sys
bare = set(sys.modules)
from whet.interfaces.mcp.stdio import Streams
real = Streams.answer
def answer(self, number, result):
    with open(os.environ["SPY"], "a") as file:
        print(json.dumps(sorted(set(sys.modules) - bare)), file=file)
    real(self, number, result)
Streams.answer = answer
"""
STATIC = ("tools/list", "resources/templates/list", "ping")
LISTS = ("prompts/list", "resources/list")
FIRST = {
    *("handshake", "stdio", "introduction"),
    *(
        "api",
        "api.tool_definitions",
        "authoring",
        "authoring.operations",
        "errors",
        "library",
        "library.state",
        "notes",
        "patterns",
        "records",
    ),
    *("skill", "skill.schema", "store", "store.cache", "store.clock", "store.home", "store.state"),
    *(
        f"store.{name}"
        for name in ("atomic", "database", "directories", "failures", "locks", "packed", "regular", "schema")
    ),
}


def hello(version: str = "2025-06-18", number: int | str = 1, **capabilities: Any) -> dict[str, Any]:
    """A client's first request."""
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


def loaded_at_each_answer(world: World, tmp_path: Path, *methods: str) -> list[set[str]]:
    """The modules that a server has loaded when it answers the handshake, then each of these."""
    (tmp_path / "sitecustomize.py").write_text(SPY, encoding="utf-8")
    seen = tmp_path / "seen"
    seen.unlink(missing_ok=True)
    pipe = Pipe(world.process(PYTHONPATH=str(tmp_path), SPY=str(seen)))
    try:
        pipe.send(HELLO, READY)
        assert pipe.answer()["id"] == 1
        for number, method in enumerate(methods, 2):
            assert "result" in pipe.ask(number, method)
        return [set(json.loads(line)) for line in seen.read_text(encoding="utf-8").splitlines()]
    finally:
        pipe.end()


def test_no_library_and_no_sdk_before_the_tools_are_told(world: World, tmp_path: Path) -> None:
    look(world)
    seen = loaded_at_each_answer(world, tmp_path, *STATIC)
    assert len(seen) == 1 + len(STATIC)
    ours = {name.removeprefix("whet.").removeprefix("interfaces.mcp.") for name in seen[-1] if name[:5] == "whet."}
    assert ours - {"interfaces", "interfaces.cli", "interfaces.mcp"} <= FIRST
    assert len(seen[-1]) < 90


def look(world: World) -> None:
    """Have a server look at the skills."""
    pipe = Pipe(world.process())
    pipe.send(HELLO, READY)
    pipe.ask(2, "no/such")
    assert pipe.end()[0] == 0


def test_no_sdk_before_the_lists_are_told(world: World, tmp_path: Path) -> None:
    seen = loaded_at_each_answer(world, tmp_path, *LISTS)
    assert len(seen) == 1 + len(LISTS)
    assert seen[-1] & {"mcp", "mcp_types", "pydantic", "anyio", "asyncio", "starlette"} == set()


@pytest.mark.parametrize(
    "version",
    ["2026-07-28", *(pytest.param(version, marks=pytest.mark.deep) for version in (*VERSIONS, "1999-01-01", ""))],
)
def test_the_handshake_is_that_of_the_sdk(world: World, version: str) -> None:
    look(world)
    results = []
    for before in (b"", b"no message\n"):  # after which everything is left to the SDK
        pipe = Pipe(world.process())
        pipe.send(before, hello(version))
        while (answer := pipe.answer()).get("id") != 1:
            pass
        results.append(answer)
        assert pipe.end()[:2] == (0, b"")
    assert results[0] == {**results[1], "result": {**results[1]["result"], "instructions": told_to_others(world)}}
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


def told_to_others(world: World) -> str:
    """What a client is told of the skills before anybody looked at them for it."""
    pipe = Pipe(world.process())
    greeting = hello()
    greeting["params"]["clientInfo"]["name"] = "new"
    pipe.send(greeting)
    told: str = pipe.answer()["result"]["instructions"]
    assert pipe.end()[0] == 0
    return told


def test_first_answers_are_those_of_the_sdk(world: World) -> None:
    pipe = Pipe(world.process())
    try:
        pipe.send(hello(number="one"), READY)
        assert pipe.answer()["id"] == "one"
        early = [pipe.ask(number, method) for number, method in enumerate((*STATIC, *LISTS))]
        assert pipe.ask(9, "no/such")["error"]["code"] == -32601
        assert [pipe.ask(number, method) for number, method in enumerate((*STATIC, *LISTS))] == early
        assert pipe.end() == (0, b"", b"")
    finally:
        pipe.process.kill()


def test_everything_is_answered_once_whatever_comes_first(world: World) -> None:
    ask = {"jsonrpc": "2.0", "method": "tools/list"}
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "skill_view", "arguments": {"name": "pdf"}}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "t"}}
    pipe = Pipe(world.process())
    pipe.send(
        hello(number=0),
        {**ask, "id": "t"},  # before the client says that it is ready
        cancel,  # of what is answered already
        READY,
        {**ask, "id": 2, "params": {"_meta": {"progressToken": 1}}},
        {**call, "id": 3},
        {**ask, "id": 4, "params": {"cursor": "nonsense"}},
        {**ask, "id": 5, "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}},
        {**ask, "id": 6, "method": "ping"},
        {**ask, "id": 7, "method": "prompts/list"},
        {**call, "id": 8},
    )
    answers = [pipe.answer() for _ in range(9)]
    assert pipe.end() == (0, b"", b"")
    assert sorted(str(answer["id"]) for answer in answers) == ["0", "2", "3", "4", "5", "6", "7", "8", "t"]
    assert {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer} == {5: -32600}
    text = {
        answer["id"]: answer["result"]["structuredContent"]["content"] for answer in answers if answer["id"] in (3, 8)
    }
    assert text[3] == text[8]


@pytest.mark.parametrize(
    "params",
    [
        {"protocolVersion": "2025-06-18"},
        *(pytest.param(odd, marks=pytest.mark.deep) for odd in ({}, {"protocolVersion": 1}, None)),
    ],
)
def test_a_handshake_that_says_too_little_is_refused(world: World, params: Any) -> None:
    pipe = Pipe(world.process())
    pipe.send({**HELLO, "params": params})
    assert "error" in pipe.answer()
    assert pipe.ask(2, "tools/list")["error"]["code"] == -32602
    pipe.send(HELLO)
    assert pipe.answer()["result"]["serverInfo"]["name"] == "whet"
    assert pipe.end()[0] == 0


@pytest.mark.parametrize("lines", [(), (HELLO,), (HELLO, READY)])
def test_a_client_that_goes_at_once_ends_it(world: World, lines: tuple[Any, ...]) -> None:
    pipe = Pipe(world.process())
    pipe.send(*lines)
    code, out, errors = pipe.end()
    assert (code, errors, len(out.splitlines())) == (0, b"", min(1, len(lines)))


def test_the_skills_are_named_from_the_second_start_until_the_person_decides_otherwise(world: World) -> None:
    def told() -> str:
        pipe = Pipe(world.process())
        pipe.send(HELLO, READY)
        text: str = pipe.answer()["result"]["instructions"]
        pipe.ask(2, "no/such")
        assert pipe.end()[0] == 0
        return text

    first, second = told(), told()
    assert "skills_search" in first and "pdf" not in first
    assert "pdf" in second and "repo-rules" not in second
    with world.open() as library:
        library.settings.disable("pdf")
    assert "pdf" not in told() and "write-up" in told()
    world.config('disabled = ["write-up"]\n')
    assert "write-up" not in told()


def test_a_client_whose_roots_lie_elsewhere_learns_that_its_lists_are_others(world: World) -> None:
    pipe = Pipe(world.process())
    try:
        pipe.send(hello(roots={}), READY)
        assert pipe.answer()["id"] == 1
        names = [prompt["name"] for prompt in pipe.ask(2, "prompts/list")["result"]["prompts"]]
        assert "pdf" in names and "repo-rules" not in names
        asked = pipe.answer()
        assert asked["method"] == "roots/list"
        roots = {"roots": [{"uri": world.project.as_uri()}]}
        pipe.send({"jsonrpc": "2.0", "id": asked["id"], "result": roots})
        told = {pipe.answer()["method"], pipe.answer()["method"]}
        assert told == {"notifications/prompts/list_changed", "notifications/resources/list_changed"}
        names = [prompt["name"] for prompt in pipe.ask(3, "prompts/list")["result"]["prompts"]]
        assert "repo-rules" in names
        assert pipe.end()[0] == 0
    finally:
        pipe.process.kill()


@pytest.mark.parametrize(
    ("client", "given", "count"),
    [
        ("claude-code", {"arguments": "look", "word2": "at", "word3": '"test_a', "word4": 'b"'}, 60),
        ("gemini-cli-mcp-client", {"arguments": 'look at "test_a b"'}, 1),
    ],
)
def test_what_a_person_types_arrives_whole(world: World, client: str, given: dict[str, str], count: int) -> None:
    """As these two clients fill in arguments: a word each, and the whole line into the only one that is required."""
    pipe = Pipe(world.process())
    greeting = hello()
    greeting["params"]["clientInfo"]["name"] = client
    pipe.send(greeting, READY)
    prompts = {prompt["name"]: prompt["arguments"] for prompt in pipe.ask(2, "prompts/list")["result"]["prompts"]}
    assert [argument["required"] for argument in prompts["write-up"]] == [count == 1] * count
    told = pipe.ask(3, "prompts/get", name="write-up", arguments=given)["result"]["messages"][0]["content"]["text"]
    assert 'About: look at "test_a b".' in told
    named = {"issue": "12", "priority": "high"} if count > 1 else {"arguments": "12 high"}
    told = pipe.ask(4, "prompts/get", name="fix-issue", arguments=named)["result"]["messages"][0]["content"]["text"]
    assert "Fix <12> at <high> now." in told
    assert pipe.end()[0] == 0
