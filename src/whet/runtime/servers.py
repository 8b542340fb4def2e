"""MCP servers as tools of a run, for the grants `mcp__SERVER__TOOL`.

They are the user's own: the files in the setting `mcp_servers` declare them as clients do (`mcpServers` or `servers` in
JSON, `mcp_servers` in TOML). A server runs outside the sandbox, with the rights of the user, and its effects are in no
diff. So a call needs no approval only if the server declares the tool read-only.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from whet.errors import FailedError, InvalidError
from whet.extras import missing_extra
from whet.learning.models.model import Tool
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import TextIO

    from mcp import Client

PREFIX = "mcp__"
PATIENCE = 30.0
"""Seconds for a server to start."""
_TABLES = ("mcpServers", "servers", "mcp_servers")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_SHOWN = 50_000


class Declared(NamedTuple):
    """A server as a file declares it."""

    name: str
    path: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}


class ServerTool(NamedTuple):
    """A tool of a server."""

    server: str
    name: str
    """Name on the server."""
    definition: Tool
    reads_only: bool
    """Whether the server says that it changes nothing."""


def server_of(tool: str) -> str:
    """Return the server that a grant or a call names; empty for anything else."""
    return tool.removeprefix(PREFIX).partition("__")[0] if tool.startswith(PREFIX) else ""


def is_left_out(tool: str, without: Collection[str]) -> bool:
    """Return whether a tool, or its whole server, is in `without`."""
    return tool in without or (tool.startswith(PREFIX) and f"{PREFIX}{server_of(tool)}" in without)


def read_servers(paths: Iterable[str], env: Mapping[str, str]) -> dict[str, Declared]:
    """Return the servers that files declare, by name; the first file with a name counts.

    Raises InvalidError `bad-mcp-servers`, NotFoundError if a file does not exist.
    """
    found: dict[str, Declared] = {}
    for path in paths:
        for name, entry in _tables(path):
            if declared := _declared(name, path, entry, env):
                found.setdefault(name, declared)
    return found


def _tables(path: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    import tomllib

    with os_failures(path, doing="read", other="read-failed"), open(path, encoding="utf-8-sig") as file:
        text = file.read()
    try:
        whole = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    except ValueError as error:
        raise _bad(path, f"is not {'TOML' if path.endswith('.toml') else 'JSON'}: {str(error)[:120]}") from error
    table = next((whole[key] for key in _TABLES if key in whole), None) if isinstance(whole, dict) else None
    if not isinstance(table, dict):
        raise _bad(path, f"has no table {', '.join(_TABLES[:-1])} or {_TABLES[-1]}")
    return [(name, entry) for name, entry in table.items() if isinstance(entry, dict)]


def _bad(path: str, problem: str) -> InvalidError:
    return InvalidError("bad-mcp-servers", f"{path} {problem}.", hint="Fix the file, or take it out of `mcp_servers`.")


def _declared(name: str, path: str, entry: Mapping[str, Any], env: Mapping[str, str]) -> Declared | None:
    """Return the server of one entry; None if it is disabled or of an unknown kind."""

    def filled(value: object) -> str:
        return _VARIABLE.sub(lambda found: env.get(found[1], found[2] or ""), str(value))

    def table(*keys: str) -> dict[str, str]:
        given: dict[str, Any] = next((entry[key] for key in keys if isinstance(entry.get(key), dict)), {})
        return {str(key): filled(value) for key, value in given.items()}

    if entry.get("disabled") is True or entry.get("enabled") is False:
        return None
    url = next((entry[key] for key in ("url", "httpUrl", "serverUrl") if isinstance(entry.get(key), str)), "")
    command = entry.get("command")
    if url:
        return Declared(name, path, url=filled(url), headers=table("headers", "http_headers"))
    if not isinstance(command, str) or not command:
        return None
    given = entry.get("args")
    arguments = tuple(map(filled, given)) if isinstance(given, list) else ()
    return Declared(name, path, os.path.expanduser(filled(command)), arguments, table("env"))


class Servers:
    """Connections to some servers, and their tools. A context manager; without servers, nothing is started."""

    def __init__(self, declared: Sequence[Declared], cwd: str) -> None:
        """`cwd` is the working directory of servers."""
        self._declared, self._cwd = declared, cwd
        self._open = ExitStack()
        self._clients: dict[str, Client] = {}
        self._portal: Any = None
        self.tools: dict[str, ServerTool] = {}
        """Every tool of the servers, by its name for the model."""

    def __enter__(self) -> Self:
        """Start or connect every server. Raise FailedError `mcp-server-failed`."""
        if not self._declared:
            return self
        try:
            import mcp  # noqa: F401  the extra
            from anyio.from_thread import start_blocking_portal
        except ImportError as error:
            raise missing_extra("MCP servers in runs need the extra `mcp`.", "mcp") from error
        with ExitStack() as opened:
            self._portal = opened.enter_context(start_blocking_portal())
            nowhere = opened.enter_context(open(os.devnull, "w", encoding="utf-8"))  # stderr of servers
            for one in self._declared:
                try:
                    self._clients[one.name] = opened.enter_context(
                        self._portal.wrap_async_context_manager(_client(one, self._cwd, nowhere))
                    )
                    listed = self._portal.call(self._list, one.name)
                except Exception as error:
                    raise _failed(one, error) from error
                self.tools.update((tool.definition.name, tool) for tool in listed)
            self._open = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop or disconnect every server."""
        self._open.close()

    async def _list(self, server: str) -> list[ServerTool]:
        found: list[ServerTool] = []
        cursor: str | None = None
        while True:
            page = await self._clients[server].list_tools(cursor=cursor)
            for tool in page.tools:
                full = f"{PREFIX}{server}__{tool.name}"
                reads = bool(tool.annotations and tool.annotations.read_only_hint)
                schema = dict(tool.input_schema)
                found.append(ServerTool(server, tool.name, Tool(full, tool.description or "", schema), reads))
            cursor = page.next_cursor
            if not cursor:
                return found

    def call(self, tool: str, given: Mapping[str, Any], seconds: float) -> tuple[str, bool]:
        """Return the answer of a tool, and whether it failed."""
        known = self.tools[tool]

        async def ask() -> tuple[str, bool]:
            answer = await self._clients[known.server].call_tool(known.name, dict(given), read_timeout_seconds=seconds)
            parts = [getattr(part, "text", None) or f"[{part.type}]" for part in answer.content]
            return "\n".join(parts) or "It answered nothing.", bool(answer.is_error)

        try:
            text, failed = self._portal.call(ask)
        except Exception as error:  # noqa: BLE001  whatever a server does, the model gets an answer
            return f"{known.server} failed: {_words(error)}", True
        return text[:_SHOWN], failed


def _client(one: Declared, cwd: str, errors: TextIO) -> Client:
    from mcp import Client, StdioServerParameters

    if not one.url:
        from mcp.client.stdio import stdio_client

        given = StdioServerParameters(command=one.command, args=list(one.arguments), env=dict(one.env), cwd=cwd)
        return Client(stdio_client(given, errlog=errors), read_timeout_seconds=PATIENCE)
    if not one.headers:
        return Client(one.url, read_timeout_seconds=PATIENCE)
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    with_headers = httpx2.AsyncClient(headers=dict(one.headers), timeout=PATIENCE)
    return Client(streamable_http_client(one.url, http_client=with_headers), read_timeout_seconds=PATIENCE)


def _failed(one: Declared, error: BaseException) -> FailedError:
    hint = f"It is declared in {one.path}. Run without it: `--without {PREFIX}{one.name}`."
    return FailedError("mcp-server-failed", f"The MCP server {one.name} does not work: {_words(error)}", hint=hint)


def _words(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{str(error)[:300] or type(error).__name__}."
