"""Whatever a client sends: an answer, or a clean error that says whose fault it is. Never a failure inside."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from mcp_server.world import ENOUGH, World, ask, connected
from whet.api.tool_definitions import definitions
from whet.api.tools import MAX_ANSWER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from anyio.from_thread import BlockingPortal
    from mcp.client import Client

TOOLS = {tool.name: tool.parameters for tool in definitions("propose")}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    [
        "pdf",
        "fix-issue",
        "off",
        "deploy",
        "",
        " ",
        "../x",
        "\0",
        "skill://pdf/SKILL.md",
        "x" * 5_000,
        "references/guide.md",
    ]
)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=10
)

free_objects = st.dictionaries(
    st.sampled_from(["role", "content", "type", "tool_calls", "input", "name", "goal", "tools", "fork"]) | texts,
    values | st.sampled_from(["user", "assistant", "tool", "function_call", "Fill in the form.", "Bash(git:*)"]),
    max_size=4,
)
"""What a schema says nothing about: messages, and answers to questions."""


def from_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema allows; the few keywords that our tools use."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([from_schema(one) for one in schema["anyOf"]])
    kind = schema["type"]
    if kind == "object" and "properties" not in schema:
        return free_objects
    if kind == "object":
        needed = schema.get("required", [])
        fields = {name: from_schema(one) for name, one in schema["properties"].items()}
        optional = {name: one for name, one in fields.items() if name not in needed}
        return st.fixed_dictionaries({name: fields[name] for name in needed}, optional=optional)
    if kind == "array":
        return st.lists(from_schema(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "integer":
        return st.integers(schema["minimum"], schema.get("maximum", 10**6))
    assert kind in ("string", "boolean")
    return texts if kind == "string" else st.booleans()


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    """A tool and arguments: as its schema wants them, with one thing broken, or anything at all."""
    name = draw(st.sampled_from(sorted(TOOLS)))
    how = draw(st.sampled_from(["valid", "broken", "anything"]))
    if how == "anything":
        return name, draw(st.dictionaries(st.sampled_from(["name", "operations", "limit", "message"]) | texts, values))
    arguments: dict[str, Any] = draw(from_schema(TOOLS[name]))
    if how == "broken":
        target = arguments
        operations = arguments.get("operations")
        if operations and draw(st.booleans()):
            target = draw(st.sampled_from(operations))
        key = draw(st.sampled_from(sorted(target)) if target else texts)
        if draw(st.booleans()):
            target.pop(key, None)
        else:
            target[key] = draw(values)
    return name, arguments


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One machine for all examples."""
    made = World(tmp_path_factory.mktemp("fuzz"))
    made.furnish()
    yield made
    made.close()


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """An event loop in another thread, which outlives the examples."""
    with anyio.from_thread.start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="module")
def clients(world: World, portal: BlockingPortal) -> Iterator[list[Client]]:
    """A client of each era."""

    @asynccontextmanager
    async def lasting(era: str) -> AsyncIterator[Client]:
        async with connected(world.server(), era, limited=False) as client:
            yield client

    wrapped = portal.wrap_async_context_manager
    with wrapped(lasting("legacy")) as one, wrapped(lasting("auto")) as other:
        yield [one, other]


def tried(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """How often something is tried."""
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )


def outcome(portal: BlockingPortal, call: Callable[..., Any], *arguments: Any) -> Any:
    """What comes of a request, or the code of its error."""
    try:
        return portal.call(call, *arguments)
    except MCPError as error:
        return error.error.code


@tried(250)
@given(call=calls())
def test_a_tool_answers_whatever_it_is_given(
    portal: BlockingPortal, clients: list[Client], call: tuple[str, Any]
) -> None:
    name, arguments = call
    for client in clients:
        result = outcome(portal, client.call_tool, name, arguments)
        assert isinstance(result, types.CallToolResult)
        answer = result.structured_content
        assert answer is not None and answer["success"] is not result.is_error
        assert answer["success"] or (answer["code"] != "tool-failed" and answer["error"] and answer["hint"]), answer
        assert len(json.dumps(answer, ensure_ascii=False)) <= MAX_ANSWER


ADDRESSES = st.builds("skill://{}".format, texts) | st.builds("skill://pdf/{}".format, texts) | texts


@tried(150)
@given(
    method=st.sampled_from(["resources/read", "resources/directory/read", "skills/get"]),
    uri=ADDRESSES,
    cursor=st.none() | texts,
)
def test_an_address_is_found_or_refused(
    portal: BlockingPortal, clients: list[Client], method: str, uri: str, cursor: str | None
) -> None:
    params = {"uri": uri} | ({"cursor": cursor} if cursor is not None and "directory" in method else {})
    for client in clients:
        result = outcome(portal, lambda client=client: ask(client, method, **params))
        assert result == -32602 or isinstance(result, dict)


@tried(60)
@given(
    method=st.sampled_from(["resources/list", "skills/list", "prompts/list", "tools/list", "resources/templates/list"]),
    cursor=texts | st.binary(max_size=20).map(lambda data: data.hex()),
)
def test_a_cursor_is_ours_or_refused(portal: BlockingPortal, clients: list[Client], method: str, cursor: str) -> None:
    for client in clients:
        result = outcome(portal, lambda client=client: ask(client, method, cursor=cursor))
        assert result == -32602 or isinstance(result, dict)


@tried(150)
@given(
    name=st.sampled_from(["pdf", "fix-issue", "write-up", "deploy"]) | texts,
    arguments=st.dictionaries(st.sampled_from(["arguments", "issue", "priority"]) | texts, texts, max_size=3),
)
def test_a_prompt_is_given_or_refused(
    portal: BlockingPortal, clients: list[Client], name: str, arguments: dict[str, str]
) -> None:
    for client in clients:
        result = outcome(portal, client.get_prompt, name, arguments)
        assert result == -32602 or len(result.messages) == 1


# frames


METHODS = st.sampled_from(
    [
        *("initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/subscribe"),
        *("prompts/list", "prompts/get", "skills/list", "skills/get", "completion/complete", "logging/setLevel"),
        *("subscriptions/listen", "server/discover", "notifications/initialized", "notifications/cancelled"),
        *("notifications/roots/list_changed", "notifications/progress", "roots/list"),
    ]
)


@st.composite
def frames(draw: st.DrawFn) -> types.JSONRPCMessage:
    """Messages in an order and with parameters that make no sense."""
    params: dict[str, Any] | None = draw(
        st.none() | st.dictionaries(st.sampled_from(["name", "uri", "arguments", "cursor", "requestId", "ref"]), values)
    )
    if draw(st.booleans()):
        params = {**(params or {}), "_meta": draw(st.just(MODERN) | values)}
    kind = draw(st.sampled_from(["request", "request", "notification", "response", "error"]))
    number = draw(st.integers(1, 5) | texts.filter(bool))
    if kind == "request":
        return types.JSONRPCRequest(jsonrpc="2.0", id=number, method=draw(METHODS | texts), params=params)
    if kind == "notification":
        return types.JSONRPCNotification(jsonrpc="2.0", method=draw(METHODS | texts), params=params)
    if kind == "response":
        return types.JSONRPCResponse(jsonrpc="2.0", id=number, result=params or {})
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=-1, message=draw(texts)))


HELLO = types.JSONRPCRequest(
    jsonrpc="2.0",
    id="hello",
    method="initialize",
    params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
)
LAST: dict[bool, types.JSONRPCRequest] = {
    False: types.JSONRPCRequest(jsonrpc="2.0", id="last", method="ping"),
    True: types.JSONRPCRequest(jsonrpc="2.0", id="last", method="tools/list", params={"_meta": MODERN}),
}


@tried(80)
@given(modern=st.booleans(), messages=st.lists(frames(), max_size=8))
def test_messages_in_any_order_leave_the_server_standing(
    portal: BlockingPortal, world: World, modern: bool, messages: list[types.JSONRPCMessage]
) -> None:
    errors: list[types.ErrorData] = []

    async def speak() -> None:
        server = world.server()
        first = LAST[True].model_copy(update={"id": "first"}) if modern else HELLO
        with anyio.fail_after(ENOUGH):
            async with (
                create_client_server_memory_streams() as ((reading, writing), (theirs, ours)),
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(server.run, theirs, ours, server.create_initialization_options())
                tasks.start_soon(listen, reading, tasks)
                for message in (first, *messages, LAST[modern]):
                    await writing.send(SessionMessage(message))

    async def listen(reading: Any, tasks: Any) -> None:
        async for item in reading:
            if isinstance(item.message, types.JSONRPCError):
                errors.append(item.message.error)
            if getattr(item.message, "id", None) == "last":
                assert isinstance(item.message, types.JSONRPCResponse)
                tasks.cancel_scope.cancel()

    portal.call(speak)
    assert all(error.code != -32603 and error.code < 0 for error in errors), errors
