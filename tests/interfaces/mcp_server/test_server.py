"""Tools, skills and resources through the official client, in both eras of the protocol."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import mcp_types as types
import pytest
import yaml

from mcp_server.world import ERAS, World, ask, connected, error_of, world
from whet.api.tool_definitions import answer_schemas, definitions
from whet.interfaces.mcp.server import INSTRUCTIONS

if TYPE_CHECKING:
    from mcp.client import Client

__all__ = ["world"]

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]
KEPT = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what the SDK stamps on all of them."""
    return {key: value for key, value in answer.items() if key != "_meta"}


# the handshake


async def test_the_server_says_what_it_can_and_which_skills_there_are(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        told = client.server_capabilities
        assert told.completions is not None
        assert told.prompts and told.prompts.list_changed
        assert told.resources and told.resources.list_changed and told.resources.subscribe
        assert told.extensions == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
        assert client.server_info and (client.server_info.name, client.server_info.title) == ("whet", "Whet")
        said = client.instructions or ""
        assert "pdf: Fills forms in PDF files." in said and "skills_search" in said
        assert not any(name in said for name in ("deploy", "off:", "repo-rules"))


async def test_what_it_says_is_bounded(world: World, era: str) -> None:
    for number in range(200):
        world.skill(f"skill-number-{number}", "Does one of many things. " * 20)
    async with connected(world.server(), era) as client:
        assert 500 < len(client.instructions or "") <= INSTRUCTIONS


# tools


async def test_the_tools_are_those_of_the_library(world: World, era: str) -> None:
    answers = answer_schemas()
    async with connected(world.server(), era) as client:
        listed = (await client.list_tools()).tools
    assert [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed] == [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "outputSchema": answers[tool.name],
            "annotations": {
                "title": tool.title,
                "readOnlyHint": tool.read_only,
                "destructiveHint": tool.destructive,
                "idempotentHint": tool.read_only,
                "openWorldHint": False,
            },
        }
        for tool in definitions("propose")
    ]
    for tool in listed:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("skills_list", {}),
        ("skills_list", {"limit": 1}),
        ("skills_list", {"query": "forms"}),
        ("skill_view", {"name": "pdf"}),
        ("skill_view", {"name": "pdf", "file_path": "references/guide.md"}),
        ("skills_search", {"message": "fill in a form"}),
        ("skill_feedback", {"name": "pdf", "outcome": "helped"}),
        ("skill_feedback", {"name": "pdf", "message": "fill it in", "fits": True}),
        ("skills_list", {"limit": 0}),
        ("skill_view", {"name": "no-such"}),
        ("skill_view", {"name": "off"}),
        ("skill_view", {"name": "pdf", "file_path": "../../secret"}),
        ("skill_view", {}),
        ("skills_search", {"message": 3}),
        ("skill_manage", {"operations": []}),
        ("skill_feedback", {}),
    ],
)
async def test_a_call_is_answered_as_the_library_answers_it(
    world: World, era: str, name: str, arguments: dict[str, Any]
) -> None:
    with world.open() as library:
        for _ in range(2):  # feedback that was given before changes nothing
            expected = library.tools(writes="propose").call(name, arguments)
    async with connected(world.server(), era) as client:
        result = await client.call_tool(name, arguments)
    assert result.structured_content == expected
    assert result.is_error is not expected["success"]
    [content] = result.content
    assert isinstance(content, types.TextContent) and json.loads(content.text) == expected


async def test_an_unknown_tool_and_bad_parameters_are_errors_of_the_protocol(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        unknown = await error_of(client.call_tool("no_such_tool", {}))
        assert (unknown.code, unknown.message) == (-32602, "There is no tool 'no_such_tool'.")
        for method, params in (
            ("tools/call", {}),
            ("tools/call", {"name": 3}),
            ("tools/call", {"name": "skills_list", "arguments": [1]}),
            ("resources/read", {}),
            ("resources/directory/read", {"uri": 3}),
            ("skills/get", {}),
            ("skills/list", {"cursor": {}}),
            ("prompts/get", {"name": "pdf", "arguments": {"arguments": 3}}),
            ("completion/complete", {"ref": {"type": "odd"}, "argument": {"name": "a", "value": "b"}}),
        ):
            assert (await error_of(ask(client, method, **params))).code == -32602, (method, params)
        assert (await error_of(ask(client, "no/such"))).code == -32601
        assert not (await client.call_tool("skills_list", {})).is_error


# skills and resources


async def every_page(client: Client, method: str, kind: str, **params: Any) -> list[dict[str, Any]]:
    """All items of a list in pages."""
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await ask(client, method, **params, **cursor)
        items += answer[kind]
        if "nextCursor" not in answer:
            return items
        cursor = {"cursor": answer["nextCursor"]}


async def data_at(client: Client, uri: str) -> bytes:
    """The bytes of a resource."""
    [content] = (await client.read_resource(uri)).contents
    assert content.uri == uri
    if isinstance(content, types.TextResourceContents):
        return content.text.encode()
    return base64.b64decode(content.blob)


async def test_a_host_can_verify_every_file_of_every_skill(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        skills = await every_page(client, "skills/list", "skills")
        assert [skill["uri"] for skill in skills] == [
            f"skill://{name}/SKILL.md" for name in ("background", "fix-issue", "pdf", "write-up")
        ]
        for skill in skills:
            got = await ask(client, "skills/get", uri=skill["uri"])
            assert plain(got) == {**KEPT, "skill": skill}
            assert skill["resources"][0]["uri"] == skill["uri"]
            for resource in skill["resources"]:
                data = await data_at(client, resource["uri"])
                digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
                assert resource == {"uri": resource["uri"], "digest": digest, "size": len(data)}
            _, block, _ = (await data_at(client, skill["uri"])).decode().split("---\n", 2)
            assert skill["frontmatter"] == yaml.safe_load(block)


async def test_answers_of_the_extension_say_how_long_they_hold(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        listed = await ask(client, "skills/list")
        assert {key: listed[key] for key in KEPT} == KEPT
        for uri in ("skill://pdf/references", "skill://pdf/references/"):
            assert plain(await ask(client, "resources/directory/read", uri=uri)) == {
                **KEPT,
                "resources": [
                    {
                        "uri": "skill://pdf/references/guide.md",
                        "name": "guide.md",
                        "mimeType": "text/markdown",
                        "size": 8,
                    }
                ],
            }


async def test_resources_are_listed_and_read(world: World, era: str) -> None:
    names = ("background", "fix-issue", "pdf", "write-up")
    async with connected(world.server(), era) as client:
        listed = (await client.list_resources()).resources
        assert [item.uri for item in listed] == ["skill://index.json", *(f"skill://{name}/SKILL.md" for name in names)]
        index = json.loads(await data_at(client, "skill://index.json"))
        assert [skill["url"] for skill in index["skills"]] == [item.uri for item in listed[1:]]
        templates = (await client.list_resource_templates()).resource_templates
        assert [item.uri_template for item in templates] == ["skill://{+path}/SKILL.md", "skill://{+path}/{+file}"]
        assert await data_at(client, "skill://pdf/logo.bin") == b"\x89\x00\xff"
        assert await data_at(client, "skill://pdf/a%20b.txt") == b"x\r\n"
        assert (await data_at(client, "skill://background/SKILL.md")).decode() == world.text("background")


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("skill://no-such/SKILL.md", "resource-not-found"),
        ("skill://off/SKILL.md", "disabled"),
        ("skill://deploy/SKILL.md", "explicit-only"),
        ("skill://repo-rules/SKILL.md", "resource-not-found"),
        ("skill://pdf/../off/SKILL.md", "bad-resource-address"),
        ("skill://pdf/%2e%2e/off/SKILL.md", "bad-resource-address"),
        ("file:///etc/passwd", "bad-resource-address"),
        ("", "bad-resource-address"),
    ],
)
async def test_an_address_that_leads_nowhere_is_an_error(world: World, era: str, uri: str, code: str) -> None:
    async with connected(world.server(), era) as client:
        for method in ("resources/read", "skills/get", "resources/directory/read"):
            error = await error_of(ask(client, method, uri=uri))
            assert (error.code, error.data["code"]) == (-32602, code), method


async def test_a_cursor_that_is_none_is_an_error(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        for method in ("resources/list", "prompts/list", "skills/list"):
            error = await error_of(ask(client, method, cursor="nonsense"))
            assert (error.code, error.data["code"]) == (-32602, "bad-cursor"), method


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_only_what_is_there_can_be_subscribed_to(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        if era == "auto":  # which has streams for it
            assert (await error_of(ask(client, "resources/subscribe", uri="skill://pdf/SKILL.md"))).code == -32601
            return
        for _ in range(2):
            await client.subscribe_resource("skill://pdf/references/guide.md")
        assert (await error_of(client.subscribe_resource("skill://no-such/SKILL.md"))).code == -32602
        for _ in range(2):
            await client.unsubscribe_resource("skill://pdf/references/guide.md")
