"""Telling clients of changes: on their own channel after a handshake, in a stream that they open without one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

from mcp_server.world import ENOUGH, Heard, World, ask, connected, error_of, roots_at, world
from whet.interfaces.mcp import server as server_module
from whet.interfaces.mcp import watcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.client.subscriptions import Subscription

    from whet.interfaces.mcp.server import SkillServer

__all__ = ["world"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
RESOURCES = "notifications/resources/list_changed"
PROMPTS = "notifications/prompts/list_changed"
GUIDE = "skill://pdf/references/guide.md"
MAIN = "skill://pdf/SKILL.md"
UPDATED = "notifications/resources/updated"
BOTH = {ResourcesListChanged(), PromptsListChanged()}


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "PAUSE", 0.01)
    monkeypatch.setattr(watcher, "SHARE", 1.0)


def create(world: World) -> None:
    world.skill("fresh", "Is new.")


def describe(world: World) -> None:
    world.skill("pdf", "Fills forms and signs them.", body="Read references/guide.md.\n")


def delete(world: World) -> None:
    shutil.rmtree(world.root / "write-up")


def disable(world: World) -> None:
    with world.open() as library:
        library.settings.disable("write-up")


def disable_here(world: World) -> None:
    with world.open() as library:
        library.settings.disable("write-up", surface="mcp")


def enable(world: World) -> None:
    world.config()


def hide_from_models(world: World) -> None:
    world.skill("write-up", "Writes something up.", more="disable-model-invocation: true\n")


def hint(world: World) -> None:
    world.skill("write-up", "Writes something up.", more='argument-hint: "[about]"\n')


def bundle(world: World) -> None:
    with world.open() as library:
        library.settings.save_bundle("release", ["pdf"])


CHANGES: list[tuple[Callable[[World], None], set[str]]] = [
    (create, {RESOURCES, PROMPTS}),
    (describe, {RESOURCES, PROMPTS}),
    (delete, {RESOURCES, PROMPTS}),
    (disable, {RESOURCES, PROMPTS}),
    (disable_here, {RESOURCES, PROMPTS}),
    (enable, {RESOURCES, PROMPTS}),
    (hide_from_models, {RESOURCES}),
    (hint, {PROMPTS}),
    (bundle, {PROMPTS}),
]
EVENTS: dict[str, Any] = {RESOURCES: ResourcesListChanged(), PROMPTS: PromptsListChanged()}


class Rounds:
    """Counts how often a server looked around."""

    def __init__(self, server: SkillServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ended = anyio.Event()
        real = server._look

        async def look(audiences: Any) -> None:
            await real(audiences)
            self._ended.set()
            self._ended = anyio.Event()

        monkeypatch.setattr(server, "_look", look)

    async def pass_by(self, number: int = 3) -> None:
        """Wait until this many looks, begun after now, are over."""
        with anyio.fail_after(ENOUGH):
            for _ in range(number + 1):
                await self._ended.wait()


async def events(stream: Subscription, number: int) -> set[Any]:
    """The next events of a stream."""
    with anyio.fail_after(ENOUGH):
        return {await anext(stream) for _ in range(number)}


# with a handshake


@pytest.mark.parametrize(("change", "expected"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
async def test_a_client_is_told_which_lists_changed(
    world: World, change: Callable[[World], None], expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, server = Heard(), world.server()
    rounds = Rounds(server, monkeypatch)
    async with connected(server, "legacy", watched=True, message_handler=heard) as client:
        await client.list_tools()
        change(world)
        await heard.until(*expected)
        await rounds.pass_by()
    assert sorted(heard.got) == sorted(expected)


async def test_nothing_is_told_when_nothing_changed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard, server = Heard(), world.server()
    rounds = Rounds(server, monkeypatch)
    async with connected(server, "legacy", watched=True, message_handler=heard) as client:
        await client.list_resources()
        await client.subscribe_resource(MAIN)
        await client.subscribe_resource(GUIDE)
        (world.root / "pdf" / "new.txt").write_text("A file nobody listens to.", encoding="utf-8")
        world.skill("write-up", "Writes something up.", body="About something else: $ARGUMENTS.\n")
        await client.call_tool("skill_view", {"name": "pdf"})
        await rounds.pass_by()
    assert heard.got == []


async def test_subscribers_are_told_of_what_they_subscribed_to(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard, server = Heard(), world.server()
    rounds = Rounds(server, monkeypatch)
    async with connected(server, "legacy", watched=True, message_handler=heard) as client:
        await client.subscribe_resource(GUIDE)
        world.put(world.root / "pdf" / "references" / "guide.md", "# Better\n")
        await heard.until(f"{UPDATED} {GUIDE}")
        await client.subscribe_resource(MAIN)
        world.skill("pdf", "Fills forms in PDF files.", body="Do something else.\n")
        await heard.until(f"{UPDATED} {MAIN}")
        heard.clear()
        await client.unsubscribe_resource(MAIN)
        world.skill("pdf", "Fills forms in PDF files.", body="Do nothing.\n")
        await rounds.pass_by()
        assert heard.got == []
        shutil.rmtree(world.root / "pdf")
        await heard.until(f"{UPDATED} {GUIDE}", RESOURCES, PROMPTS)


async def test_a_change_before_the_first_look_of_all_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "PAUSE", 0.5)
    heard = Heard()
    async with connected(world.server(), "legacy", watched=True, message_handler=heard) as client:
        await client.list_resources()
        create(world)
        await heard.until(RESOURCES, PROMPTS)


async def test_its_own_change_is_told_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "PAUSE", 10 * ENOUGH)
    heard, other = Heard(), Heard()
    server = world.server("allow", alone=False)
    operation = {"action": "create", "name": "fresh", "description": "Is new.", "body": "Do it."}
    async with (
        connected(server, "legacy", watched=True, message_handler=heard) as client,
        connected(server, "legacy", message_handler=other) as neighbour,
    ):
        await neighbour.list_resources()
        made = await client.call_tool("skill_manage", {"operations": [operation]})
        assert not made.is_error, made.structured_content
        await heard.until(RESOURCES, PROMPTS)
        await other.until(RESOURCES, PROMPTS)


async def test_clients_are_told_of_their_own_project(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def roots(_: Any) -> types.ListRootsResult:
        return roots_at(world.project.as_uri())

    heard, other = Heard(), Heard()
    server = world.server(alone=False)
    rounds = Rounds(server, monkeypatch)
    async with (
        connected(server, "legacy", watched=True, message_handler=heard, list_roots_callback=roots) as client,
        connected(server, "legacy", message_handler=other) as elsewhere,
    ):
        await client.list_resources()
        await elsewhere.list_resources()
        world.skill("repo-more", root=world.project / ".agents" / "skills")
        await heard.until(RESOURCES, PROMPTS)
        await rounds.pass_by()
        assert other.got == []


async def test_other_roots_are_other_lists(world: World) -> None:
    here = [world.work.as_uri()]

    async def roots(_: Any) -> types.ListRootsResult:
        return roots_at(*here)

    heard = Heard()
    async with connected(
        world.server(), "legacy", watched=True, message_handler=heard, list_roots_callback=roots
    ) as client:
        await client.list_resources()
        here[:] = [world.project.as_uri()]
        await client.send_roots_list_changed()
        await client.list_tools()
        await heard.until(RESOURCES, PROMPTS)


async def test_a_client_that_does_not_listen_holds_nobody_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_PATIENCE", 0.05)
    heard, server = Heard(), world.server(alone=False)

    async def never(_: Any) -> None:
        await anyio.sleep_forever()

    async with (
        connected(server, "legacy", message_handler=never) as deaf,
        connected(server, "legacy", watched=True, message_handler=heard) as client,
    ):
        await deaf.list_resources()
        await client.list_resources()
        for number in range(5):
            heard.clear()
            world.skill(f"fresh-{number}")
            await heard.until(RESOURCES, PROMPTS)


async def test_subscriptions_are_no_more_than_can_be_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_MOST_SUBSCRIBED", 1)
    async with connected(world.server(), "legacy") as client:
        await client.subscribe_resource(MAIN)
        assert (await error_of(client.subscribe_resource(GUIDE))).code == -32602
        await client.subscribe_resource(MAIN)
    async with connected(world.server(), "auto") as client:
        wanted = {"resourceSubscriptions": [MAIN, GUIDE]}
        assert (await error_of(ask(client, "subscriptions/listen", notifications=wanted))).code == -32602


async def test_who_is_gone_is_forgotten(world: World) -> None:
    server = world.server()
    async with connected(server, "legacy") as client:
        await client.list_tools()
        assert len(server._connections) == 1
    assert server._connections == {}
    async with connected(server, "auto") as client:
        async with client.listen(resources_list_changed=True):
            assert len(server._streams) == 1
        with anyio.fail_after(ENOUGH):
            while server._streams:
                await anyio.sleep(0.01)


# without


@pytest.mark.parametrize(("change", "expected"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
async def test_a_stream_tells_which_lists_changed(
    world: World, change: Callable[[World], None], expected: set[str]
) -> None:
    async with (
        connected(world.server(), "auto", watched=True) as client,
        client.listen(resources_list_changed=True, prompts_list_changed=True) as stream,
    ):
        change(world)
        assert await events(stream, len(expected)) == {EVENTS[method] for method in expected}


async def test_a_stream_tells_only_what_it_was_opened_for(world: World) -> None:
    async with (
        connected(world.server(), "auto", watched=True) as client,
        client.listen(resource_subscriptions=[GUIDE]) as stream,
        client.listen(prompts_list_changed=True) as prompts,
    ):
        world.skill("fresh")
        assert await events(prompts, 1) == {PromptsListChanged()}
        world.put(world.root / "pdf" / "references" / "guide.md", "# Better\n")
        assert await events(stream, 1) == {ResourceUpdated(uri=GUIDE)}


async def test_a_stream_follows_the_project_of_its_client(world: World) -> None:
    async def roots(_: Any) -> types.ListRootsResult:
        return roots_at(world.project.as_uri())

    async with (
        connected(world.server(), "auto", watched=True, list_roots_callback=roots) as client,
        client.listen(resources_list_changed=True, prompts_list_changed=True) as stream,
    ):
        await client.call_tool("skills_list", {})  # which asks for the roots
        assert await events(stream, 2) == BOTH
        world.skill("repo-more", root=world.project / ".agents" / "skills")
        assert await events(stream, 2) == BOTH


async def test_its_own_change_is_told_at_once_in_a_stream(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "PAUSE", 10 * ENOUGH)
    operation = {"action": "create", "name": "fresh", "description": "Is new.", "body": "Do it."}
    async with (
        connected(world.server("allow"), "auto", watched=True) as client,
        client.listen(resources_list_changed=True, prompts_list_changed=True) as stream,
    ):
        assert not (await client.call_tool("skill_manage", {"operations": [operation]})).is_error
        assert await events(stream, 2) == BOTH


async def test_broken_settings_end_no_stream(world: World) -> None:
    async with (
        connected(world.server(), "auto", watched=True) as client,
        client.listen(resources_list_changed=True) as stream,
    ):
        (world.state / "config.toml").write_text("disabled = [", encoding="utf-8")
        await anyio.sleep(0.05)
        world.config('disabled = ["pdf"]\n')
        assert await events(stream, 1) == {ResourcesListChanged()}


@pytest.mark.parametrize("client", ["cursor", "somebody"])
async def test_a_skill_may_be_switched_off_for_one_client(
    world: World, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, server = Heard(), world.server(alone=False)
    rounds = Rounds(server, monkeypatch)
    who = types.Implementation(name=client, version="1")
    async with (
        connected(server, "legacy") as neighbour,
        connected(server, "legacy", watched=True, message_handler=heard, client_info=who) as own,
    ):
        await neighbour.list_resources()
        await own.list_resources()
        with world.open() as library:
            library.settings.disable("write-up", surface="cursor")
        if client == "cursor":
            await heard.until(RESOURCES, PROMPTS)
            assert "skill://write-up/SKILL.md" not in {item.uri for item in (await own.list_resources()).resources}
        else:
            await rounds.pass_by()
            assert heard.got == []
        assert "skill://write-up/SKILL.md" in {item.uri for item in (await neighbour.list_resources()).resources}
