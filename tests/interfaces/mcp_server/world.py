"""A machine in a temporary directory with skills of every kind, and clients of its server, in memory and as processes.

    server = world.server()
    async with connected(server, "legacy") as client:
        answer = await client.call_tool("skills_list", {})

The clients are those of the official SDK. An era is how they speak: `legacy` with a handshake, `auto` without.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from whet import Library
from whet.api.session_pool import LibraryPool, SessionPool
from whet.interfaces.mcp.server import SkillServer
from whet.prompt.tokens import ESTIMATE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator
    from pathlib import Path

    from whet.api.tool_definitions import Writes

ERAS = ("legacy", "auto")
EITHER = ("auto", pytest.param("legacy", marks=pytest.mark.deep))
"""The same, for what takes long and hardly depends on the era."""
WHET = (sys.executable, "-P", "-m", "whet")
TOKEN = "a-token-for-tests-only"
ENOUGH = 30.0
"""Seconds after which whatever a test waits for does not come any more."""
_RAW: TypeAdapter[Any] = TypeAdapter(dict[str, Any])


class World:
    """A home with skills, Whet's state, a directory where servers start, a trusted repository."""

    def __init__(self, top: Path) -> None:
        self.home, self.state, self.work, self.project = (top / name for name in ("home", "state", "work", "project"))
        for path in (self.home, self.state, self.work, self.project / ".git"):
            path.mkdir(parents=True)
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
        self.env = {**kept, "HOME": str(self.home), "WHET_HOME": str(self.state), "PYTHONUTF8": "1"}
        self.root = self.home / ".agents" / "skills"
        self.root.mkdir(parents=True)
        self._made: list[Library] = []
        self.config()

    def config(self, text: str = "") -> None:
        """Write the settings."""
        self.put(self.state / "config.toml", text)

    def skill(
        self, name: str, description: str = "", *, more: str = "", body: str = "Do it.\n", root: Path | None = None
    ) -> Path:
        """Write a skill; its directory."""
        directory = (root or self.root) / name
        directory.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n{more}---\n{body}"
        self.put(directory / "SKILL.md", text)
        return directory

    def put(self, path: Path, text: str) -> None:
        """Write a file at one stroke, so that nobody sees half of it."""
        beside = self.work / "unfinished"
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)

    def furnish(self) -> None:
        """Skills with files, with arguments, for a person or a model only, switched off, and one of the repository."""
        pdf = self.skill("pdf", "Fills forms in PDF files.", body="Read references/guide.md.\n")
        for path, data in (("references/guide.md", b"# Guide\n"), ("logo.bin", b"\x89\x00\xff"), ("a b.txt", b"x\r\n")):
            (pdf / path).parent.mkdir(exist_ok=True)
            (pdf / path).write_bytes(data)
        hint = 'argument-hint: "[issue] [priority]"\n'
        self.skill("fix-issue", "Fixes an issue.", more=hint, body="Fix <$0> at <$1> now.\n")
        self.skill("write-up", "Writes something up.", body="About: $ARGUMENTS.\n")
        self.skill("deploy", "Deploys it.", more="disable-model-invocation: true\n")
        self.skill("background", "Knows things.", more="user-invocable: false\n")
        self.skill("off", "Is switched off.")
        self.skill("repo-rules", "Rules of the repository.", root=self.project / ".agents" / "skills")
        self.config('disabled = ["off"]\n')
        with self.open(str(self.project)) as library:
            library.settings.trust()

    def open(self, project: str | None = None) -> Library:
        """A library, as the server opens it."""
        library = Library.open(project=project or self.work, env=self.env)
        self._made.append(library)
        return library

    def server(self, writes: Writes = "propose", *, alone: bool = True) -> SkillServer:
        """A server in this process."""
        self.libraries = LibraryPool(self.open)
        return SkillServer(SessionPool(self.libraries.get, writes=writes, tokenizer=ESTIMATE), alone=alone)

    def text(self, name: str) -> str:
        """The main file of a skill."""
        return (self.root / name / "SKILL.md").read_text(encoding="utf-8")

    def close(self) -> None:
        """Let all libraries go."""
        for library in self._made:
            library.close()

    # processes

    def stdio(self, *words: str, **env: str) -> StdioServerParameters:
        """How the server is started as a process of one client."""
        command, *arguments = (*WHET, "mcp", *words)
        return StdioServerParameters(command=command, args=arguments, env={**self.env, **env}, cwd=self.work)

    def process(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """The server as a process whose streams are pipes."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*WHET, "mcp", *words], env={**self.env, **env}, cwd=self.work, stdin=pipe, stdout=pipe, stderr=pipe
        )

    @contextmanager
    def http(self, *words: str, **env: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """A server over HTTP on a free port: its address, and its process."""
        process = self.process("--http", "--port", "0", *words, **{"WHET_MCP_TOKEN": TOKEN, **env})
        assert process.stderr and process.stdin and process.stdout
        try:
            first = process.stderr.readline().decode()
            assert first.startswith("Serving http://"), first + process.stderr.read().decode()
            yield first.split()[1], process
        finally:
            process.terminate()
            process.communicate(timeout=ENOUGH)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A furnished machine."""
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    made = World(tmp_path)
    made.furnish()
    yield made
    made.close()


@asynccontextmanager
async def connected(
    server: SkillServer | StdioServerParameters, era: str, *, watched: bool = False, limited: bool = True, **how: Any
) -> AsyncIterator[Client]:
    """A client of this server, which fails rather than wait for ever; `watched` lets the server tell of changes."""
    with anyio.fail_after(4 * ENOUGH if limited else None):
        async with anyio.create_task_group() as tasks:
            if watched and isinstance(server, SkillServer):
                tasks.start_soon(server.watch)
            async with Client(server, mode=era, read_timeout_seconds=ENOUGH, **how) as client:
                yield client
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_http(url: str, era: str, *, token: str = TOKEN, **how: Any) -> AsyncIterator[Client]:
    """A client of a server over HTTP."""
    with anyio.fail_after(4 * ENOUGH):
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=era, read_timeout_seconds=ENOUGH, **how) as client:
                yield client


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """What a method answers that the SDK has no function for, as it came."""
    request = types.Request[dict[str, Any], str](method=method, params=params)
    answer: dict[str, Any] = await client.session.send_request(request, _RAW)
    return answer


async def error_of(awaited: Awaitable[Any]) -> types.ErrorData:
    """The error that this ends with."""
    with pytest.raises(MCPError) as caught:
        await awaited
    return caught.value.error


def roots_at(*uris: str) -> types.ListRootsResult:
    """What a client with these roots answers."""
    return types.ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in uris]})


def text_of(result: types.GetPromptResult) -> str:
    """The text of the one message of a prompt."""
    [message] = result.messages
    assert isinstance(message.content, types.TextContent) and message.role == "user"
    return message.content.text


class Heard:
    """Notifications that a client got, in their order: a `message_handler`."""

    def __init__(self) -> None:
        self.got: list[str] = []
        self._more = anyio.Event()

    async def __call__(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        uri = getattr(message.params, "uri", None)
        self.got.append(f"{message.method} {uri}" if uri else message.method)
        self._more.set()
        self._more = anyio.Event()

    async def until(self, *methods: str) -> None:
        """Wait for all of these."""
        with anyio.fail_after(ENOUGH):
            while not set(methods) <= set(self.got):
                await self._more.wait()

    def clear(self) -> None:
        """Forget what came so far."""
        self.got.clear()
