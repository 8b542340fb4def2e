"""Agents and a person work on the same skill at the same time: four clients of one server, and the command line.

Every edit appends a line before the last one. What was acknowledged must be in the skill and in its history, and must
be seen by whoever looks from then on.
"""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest

sys.path.append(str(Path(__file__).parent.parent / "interfaces"))

from mcp_server.world import ENOUGH, ERAS, World, over_http

from journeys.machines import Machine, main

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.client import Client

pytestmark = pytest.mark.anyio
END = "The end."
NAME = "diary"
PROCESSES = True
EACH = 4
"""Edits of each writer."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Diary:
    """A machine with the skill, and everything that was said about it."""

    def __init__(self, top: Path) -> None:
        self.machine = Machine(top / "person")
        (self.machine.root / NAME).mkdir(parents=True)
        text = main(NAME, "Keeps a diary.", f"{END}\n")
        (self.machine.root / NAME / "SKILL.md").write_text(text, encoding="utf-8")
        self.server = World(top / "server")  # only for starting servers; its home is not used
        self.server.env, self.server.work = self.machine.env, self.machine.work
        self.acknowledged: list[str] = []
        self.refused: list[str] = []

    def lines(self) -> list[str]:
        """What was written."""
        body = self.machine.text(NAME).rpartition("---\n")[2]
        return [line for line in body.split("\n") if line and line != END]

    def heard(self, line: str, answer: dict[str, Any]) -> bool:
        """What a writer was told; whether it is to try again, because somebody else was first."""
        (self.acknowledged if answer["success"] else self.refused).append(answer.get("code", line))
        return not answer["success"]

    async def by_client(self, client: Client, line: str) -> None:
        operation = {"action": "patch", "name": NAME, "find": END, "replace": f"{line}\n{END}"}
        while True:
            answer = (await client.call_tool("skill_manage", {"operations": [operation]})).structured_content
            if not self.heard(line, answer or {}):
                break

    async def by_person(self, line: str) -> None:
        words = ("patch", NAME, "--find", END, "--replace", f"{line}\n{END}", "--json")
        while True:
            done = await anyio.to_thread.run_sync(self.machine.run, *words)
            if not self.heard(line, json.loads(done.stdout)):
                break

    async def seen_by(self, client: Client) -> None:
        """Nothing that was acknowledged by now is missing in what this client reads."""
        before = list(self.acknowledged)
        view = (await client.call_tool("skill_view", {"name": NAME})).structured_content
        assert view and set(before) <= set(view["content"].split("\n")), (before, view)
        before = list(self.acknowledged)
        [content] = (await client.read_resource(f"skill://{NAME}/SKILL.md")).contents
        assert set(before) <= set(getattr(content, "text", "").split("\n"))

    async def seen_by_person(self) -> None:
        before = list(self.acknowledged)
        answer = await anyio.to_thread.run_sync(self.machine.ask, "show", NAME)
        assert set(before) <= set(answer["content"].split("\n"))

    def settled(self, *, unheard: int = 0) -> None:
        """At the end nothing is lost or doubled, and the history proves it. Of some edits nobody heard what became."""
        written = self.lines()
        assert len(written) == len(set(written)) and set(self.acknowledged) <= set(written)
        assert len(written) <= len(self.acknowledged) + unheard
        assert set(self.refused) <= {"skill-changed"}
        entries = self.machine.ask("history", NAME)["entries"]
        assert [entry["action"] for entry in entries] == ["found", *("patch" for _ in written)]
        assert self.machine.ask("verify-history")["valid"] is True


async def clients_of(url: str, stack: AsyncExitStack) -> list[Client]:
    """Two clients of each era."""
    return [await stack.enter_async_context(over_http(url, era)) for era in (*ERAS, *ERAS)]


async def test_no_edit_is_lost_and_no_answer_is_stale(tmp_path: Path, *, quick: bool) -> None:
    diary = Diary(tmp_path)
    each = 2 if quick else EACH

    async def write(client: Client, reader: Client, who: int) -> None:
        for number in range(each):
            await diary.by_client(client, f"agent-{who}-{number}")
            await diary.seen_by(reader)

    async def person() -> None:
        for number in range(each - 1):
            await diary.by_person(f"person-{number}")
            await diary.seen_by(clients[number % len(clients)])
            await diary.seen_by_person()

    with diary.server.http("--allow-writes") as (url, _):
        async with AsyncExitStack() as stack:
            clients = await clients_of(url, stack)
            with anyio.fail_after(4 * ENOUGH):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(person)
                    for who, client in enumerate(clients):
                        tasks.start_soon(write, client, clients[who - 1], who)
            for client in clients:
                await diary.seen_by(client)
    diary.settled()
    assert len(diary.acknowledged) == 5 * each - 1


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
async def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    begun: set[str] = set()
    enough = anyio.Event()

    async def write(client: Client, who: str) -> None:
        for number in range(10 * EACH):
            line = f"{who}-{number}"
            begun.add(line)
            await diary.by_client(client, line)
            if len(diary.acknowledged) >= 2 * EACH:
                enough.set()

    async def until_it_dies(url: str, era: str, who: str) -> None:
        try:
            async with over_http(url, era) as client:
                await write(client, who)
        except* Exception:  # noqa: BLE001  however a client notices that the server is gone
            assert enough.is_set()

    async def strike(kill: Callable[[], None]) -> None:
        with anyio.fail_after(ENOUGH):
            await enough.wait()
        kill()

    with diary.server.http("--allow-writes") as (url, process):
        with anyio.fail_after(4 * ENOUGH):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(strike, process.kill)
                for who, era in enumerate((*ERAS, *ERAS)):
                    tasks.start_soon(until_it_dies, url, era, f"first-{who}")
    unheard = begun - set(diary.acknowledged)
    assert set(diary.lines()) <= begun
    with diary.server.http("--allow-writes") as (url, _):
        async with AsyncExitStack() as stack:
            clients = await clients_of(url, stack)
            for who, client in enumerate(clients):
                await diary.seen_by(client)
                await diary.by_client(client, f"second-{who}")
            await diary.by_person("person")
            for client in clients:
                await diary.seen_by(client)
    diary.settled(unheard=len(unheard))
