"""What a server must stand: changes that wait, cancelled calls, a library that fails, settings that are broken."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest

from mcp_server.world import EITHER, ENOUGH, World, ask, connected, error_of, roots_at, world
from whet.api.tools import Tools
from whet.errors import FailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.client import Client

__all__ = ["world"]

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", EITHER)]


def patch(name: str, find: str, replace: str) -> dict[str, Any]:
    """The arguments that replace one text in a skill by another."""
    return {"operations": [{"action": "patch", "name": name, "find": find, "replace": replace}]}


# changes


async def test_changes_wait_as_proposals(world: World, era: str) -> None:
    before = world.text("pdf")
    async with connected(world.server("propose"), era) as client:
        result = await client.call_tool("skill_manage", patch("pdf", "Read", "Study"))
        assert result.structured_content and result.structured_content["success"]
        view = await client.call_tool("skill_view", {"name": "pdf"})
        assert view.structured_content and "Read references" in view.structured_content["content"]
    assert world.text("pdf") == before
    with world.open() as library:
        [proposal] = library.proposals.pending().to_json()["proposals"]
        assert library.edit.proposals.approve(proposal["id"]).to_json()["success"]
    assert world.text("pdf").endswith("---\nStudy references/guide.md.\n")


async def test_changes_are_made_where_they_are_allowed(world: World, era: str) -> None:
    async with connected(world.server("allow"), era) as client:
        result = await client.call_tool("skill_manage", patch("pdf", "Read", "Study"))
        assert not result.is_error
        view = await client.call_tool("skill_view", {"name": "pdf"})
        assert view.structured_content and "Study references" in view.structured_content["content"]
    with world.open() as library:
        assert library.proposals.pending().to_json()["proposals"] == []


async def test_changes_of_an_installed_skill_wait_even_where_changes_are_allowed(world: World, era: str) -> None:
    source = world.skill("brought", body="Read it.\n", root=world.work / "source")
    with world.open() as library:
        library.sources.install(str(source))
    before = world.text("brought")
    async with connected(world.server("allow"), era) as client:
        answer = (await client.call_tool("skill_manage", patch("brought", "Read", "Study"))).structured_content
        assert answer and (answer["staged"], answer["reason"]) == (True, "It is installed.")
    assert world.text("brought") == before


async def test_a_server_that_only_reads_does_not_offer_to_change(world: World, era: str) -> None:
    async with connected(world.server("none"), era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            *("skills_list", "skill_view", "skills_search", "skill_feedback"),
        ]
        error = await error_of(client.call_tool("skill_manage", patch("pdf", "Read", "Study")))
        assert (error.code, error.message) == (-32602, "There is no tool 'skill_manage'.")
        assert (await error_of(client.call_tool("skill_distill", {"transcript": "x"}))).code == -32602
        assert not {"skill_manage", "skill_distill"} & set((client.instructions or "").split())


async def test_what_one_client_viewed_another_did_not(world: World, era: str) -> None:
    server = world.server("allow", alone=False)

    async def warned(client: Client, old: str, new: str) -> bool:
        answer = (await client.call_tool("skill_manage", patch("pdf", old, new))).structured_content
        assert answer and answer["success"], answer
        return "viewed" in str(answer.get("warnings"))

    async with connected(server, era) as one, connected(server, era) as other:
        await one.call_tool("skill_view", {"name": "pdf"})
        assert await warned(other, "Read", "Study")
        await one.call_tool("skill_view", {"name": "pdf"})
        assert await warned(one, "Study", "Read") is (era == "auto")  # without a handshake all are strangers


# calls that are slow, or cancelled


class Slow:
    """Holds up the calls of one tool until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, slow: str, *, after: bool = False) -> None:
        self.begun, self.ended, self._go = threading.Event(), threading.Event(), threading.Event()
        real: Callable[..., dict[str, Any]] = Tools.call

        def call(tools: Tools, name: str, arguments: Any = None) -> dict[str, Any]:
            if name != slow:
                return real(tools, name, arguments)
            answer = real(tools, name, arguments) if after else {}
            self.begun.set()
            assert self._go.wait(ENOUGH)
            answer = answer or real(tools, name, arguments)
            self.ended.set()
            return answer

        monkeypatch.setattr(Tools, "call", call)

    async def has_begun(self) -> None:
        assert await anyio.to_thread.run_sync(self.begun.wait, ENOUGH)

    async def finish(self) -> None:
        self._go.set()
        assert await anyio.to_thread.run_sync(self.ended.wait, ENOUGH)


async def test_a_slow_call_holds_nobody_up(world: World, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch, "skills_search")
    async with connected(world.server(), era) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "skills_search", {"message": "forms"})
        await slow.has_begun()
        assert not (await client.call_tool("skills_list", {})).is_error
        assert len((await client.list_prompts()).prompts) == 5
        await slow.finish()


async def test_a_cancelled_call_is_not_answered_and_the_server_goes_on(
    world: World, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, "skills_search")
    answers: list[Any] = []

    async def search(client: Client) -> None:
        answers.append(await client.call_tool("skills_search", {"message": "forms"}))

    async with connected(world.server(), era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search, client)
            await slow.has_begun()
            tasks.cancel_scope.cancel()
        assert not (await client.call_tool("skills_list", {})).is_error
        await slow.finish()
        assert not (await client.call_tool("skill_view", {"name": "pdf"})).is_error
    assert answers == []


@pytest.mark.parametrize("after", [False, True])
async def test_a_change_that_is_cancelled_is_made_wholly_or_not_at_all(
    world: World, era: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, "skill_manage", after=after)
    async with connected(world.server("allow"), era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "skill_manage", patch("pdf", "Read", "Study"))
            await slow.has_begun()
            tasks.cancel_scope.cancel()
        await slow.finish()
    assert world.text("pdf").endswith("---\nStudy references/guide.md.\n")
    with world.open() as library:
        assert [entry["action"] for entry in library.history.entries("pdf").to_json()["entries"]] == [
            "found",
            "patch",
        ]
        assert library.edit.history.verify().valid


# failures


async def test_an_unforeseen_failure_tells_nothing_of_the_inside(
    world: World, era: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> dict[str, Any]:
        raise RuntimeError("secret inside /home/person")

    server = world.server()
    async with connected(server, era) as client:
        for owner, name in (("resource_server.Served", "list_skills"), ("resource_server.Served", "read")):
            monkeypatch.setattr(f"whet.interfaces.mcp.{owner}.{name}", fail)
        monkeypatch.setattr("whet.interfaces.mcp.prompts.list_prompts", fail)
        for awaited in (
            ask(client, "skills/list"),
            client.read_resource("skill://pdf/SKILL.md"),
            client.list_prompts(),
        ):
            error = await error_of(awaited)
            assert (error.code, error.message, error.data) == (-32603, "Something went wrong inside Whet.", None)
        assert not (await client.call_tool("skills_list", {})).is_error
    assert capsys.readouterr().err == "whet mcp: RuntimeError: secret inside /home/person\n" * 3


async def test_a_failure_of_the_machine_is_told_as_one(world: World, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> dict[str, Any]:
        raise FailedError("disk-full", "The disk is full.", hint="Make room.")

    async with connected(world.server(), era) as client:
        monkeypatch.setattr("whet.interfaces.mcp.resource_server.Served.list_skills", fail)
        error = await error_of(ask(client, "skills/list"))
    assert error == types.ErrorData(
        code=-32603,
        message="The disk is full.",
        data={"success": False, "error": "The disk is full.", "code": "disk-full", "hint": "Make room."},
    )


@pytest.mark.parametrize("text", ["disabled = [", "\x00", "disabled = 3\n"])
async def test_broken_settings_are_told_until_they_are_mended(world: World, era: str, text: str) -> None:
    (world.state / "config.toml").write_text(text, encoding="utf-8")
    async with connected(world.server(), era) as client:
        for awaited in (
            *(ask(client, "skills/list"), client.list_prompts(), client.list_resources()),
            client.read_resource("skill://pdf/SKILL.md"),
        ):
            error = await error_of(awaited)
            assert (error.code, error.data["code"]) == (-32602, "bad-config")
        assert (await client.list_tools()).tools
        for config in (text, None, text):
            if config is None:
                world.config()
            else:
                (world.state / "config.toml").write_text(config, encoding="utf-8")
            listed = await client.call_tool("skills_list", {})
            assert listed.structured_content is not None
            assert (listed.is_error, listed.structured_content.get("code")) == (
                (False, None) if config is None else (True, "bad-config")
            )


async def test_a_project_that_is_gone_is_an_error_and_nothing_else(world: World, era: str) -> None:
    gone = world.work / "gone"
    gone.mkdir()

    async def roots(_: Any) -> types.ListRootsResult:
        return roots_at(gone.as_uri())

    server = world.server()
    async with connected(server, era, watched=True, list_roots_callback=roots) as client:
        assert not (await client.call_tool("skills_list", {})).is_error
        gone.rmdir()
        world.libraries._kept.clear()
        for _ in range(2):
            server._nudge.set()
            await anyio.wait_all_tasks_blocked()
            await client.call_tool("skills_list", {})
