"""The project that a client works in: told by its roots, which it may change, get wrong, or keep to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest

from mcp_server.world import EITHER, World, connected, roots_at, text_of, world
from whet.interfaces.mcp import server as server_module
from whet.interfaces.mcp.client_session import project_of

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.client import Client

__all__ = ["world"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
MINE = ["background", "fix-issue", "pdf", "write-up"]
WITH_PROJECT = ["background", "fix-issue", "pdf", "repo-rules", "write-up"]


class Roots:
    """What a client answers when it is asked for its roots."""

    def __init__(self, *uris: str) -> None:
        self.uris = uris
        self.asked = 0

    async def __call__(self, _: Any) -> types.ListRootsResult:
        self.asked += 1
        return roots_at(*self.uris)


async def names(client: Client) -> list[str]:
    """The skills that a client is told of."""
    answer = (await client.call_tool("skills_list", {})).structured_content
    assert answer is not None
    return [skill["name"] for skill in answer["skills"]]


@pytest.mark.parametrize("era", EITHER)
async def test_the_roots_of_the_client_decide_the_project(world: World, era: str) -> None:
    roots = Roots((world.work / "gone").as_uri(), world.project.as_uri())
    async with connected(world.server(), era, list_roots_callback=roots) as client:
        assert await names(client) == WITH_PROJECT
        [content] = (await client.read_resource("skill://repo-rules/SKILL.md")).contents
        assert isinstance(content, types.TextResourceContents) and "Rules of the repository." in content.text
        assert "Do it." in text_of(await client.get_prompt("repo-rules"))
        assert len((await client.list_resources()).resources) == 1 + len(WITH_PROJECT)
    assert roots.asked == 1
    async with connected(world.server(), era) as client:  # another client, without roots
        assert await names(client) == MINE


@pytest.mark.parametrize("era", EITHER)
@pytest.mark.parametrize("ask", ["read", "prompt"])
async def test_every_request_that_can_be_answered_with_a_question_asks(world: World, era: str, ask: str) -> None:
    async with connected(world.server(), era, list_roots_callback=Roots(world.project.as_uri())) as client:
        if ask == "read":
            assert len((await client.read_resource("skill://repo-rules/SKILL.md")).contents) == 1
        else:
            assert "Do it." in text_of(await client.get_prompt("repo-rules"))


@pytest.mark.parametrize("era", EITHER)
async def test_among_many_clients_each_has_its_own_project(world: World, era: str) -> None:
    server = world.server(alone=False)
    async with (
        connected(server, era, list_roots_callback=Roots(world.project.as_uri())) as one,
        connected(server, era, list_roots_callback=Roots(world.work.as_uri())) as other,
        connected(server, era) as third,
    ):
        for _ in range(2):
            assert await names(one) == WITH_PROJECT
            assert await names(other) == await names(third) == MINE


async def test_a_client_may_change_its_roots(world: World) -> None:
    roots = Roots(world.work.as_uri())
    async with connected(world.server(), "legacy", list_roots_callback=roots) as client:
        assert await names(client) == MINE
        roots.uris = (world.project.as_uri(),)
        assert await names(client) == MINE  # it did not say so yet
        await client.send_roots_list_changed()
        assert await names(client) == WITH_PROJECT


@pytest.mark.parametrize("era", EITHER)
async def test_roots_that_are_no_directories_here_are_passed_over(world: World, era: str) -> None:
    gone = (world.work / "gone").as_uri()
    file = (world.state / "config.toml").as_uri()
    async with connected(world.server(), era, list_roots_callback=Roots(gone, file)) as client:
        assert await names(client) == MINE
    async with connected(world.server(), era, list_roots_callback=Roots()) as client:
        assert await names(client) == MINE


async def test_a_client_that_fails_to_tell_its_roots_is_served_all_the_same(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail(_: Any) -> types.ErrorData:
        return types.ErrorData(code=-32000, message="Not today.")

    async with connected(world.server(), "legacy", list_roots_callback=fail) as client:
        assert await names(client) == MINE
    assert capsys.readouterr().err == "whet mcp: The client does not report its roots (Not today.).\n"


async def test_a_client_that_never_tells_its_roots_is_served_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_ROOTS_WAIT", 0.05)

    async def silence(_: Any) -> types.ListRootsResult:
        await anyio.sleep_forever()
        raise AssertionError

    async with connected(world.server(), "legacy", list_roots_callback=silence) as client:
        assert await names(client) == MINE
        assert await names(client) == MINE


def test_a_root_is_the_first_that_is_a_directory_here(tmp_path: Path) -> None:
    spaced = tmp_path / "a b ü"
    spaced.mkdir()
    local = spaced.as_uri()
    assert project_of([local]) == str(spaced)
    assert project_of([local.replace("file://", "file://localhost")]) == str(spaced)
    assert project_of(["file:///no/such", local, tmp_path.as_uri()]) == str(spaced)
    for uri in (
        "",
        "file:",
        "file://elsewhere" + local[7:],
        "http" + local[4:],
        "file:///%00",
        "file://[",
        "::",
        "//[",
    ):
        assert project_of([uri]) is None, uri
