"""Running the server: on the standard streams for one client, or over HTTP for many; hooks are answered meanwhile.

Slow imports are deferred until they are needed, because a client waits.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, cast

from whet.api.session_pool import LibraryPool, SessionPool
from whet.interfaces.mcp import prompts
from whet.interfaces.mcp.client_session import ClientSession
from whet.interfaces.mcp.introduction import Introduction
from whet.interfaces.mcp.watcher import Known
from whet.prompt.tokens import ESTIMATE
from whet.sockets import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.api import Library
    from whet.api.tool_definitions import Writes
    from whet.interfaces.mcp.http import Address
    from whet.interfaces.mcp.stdio import Streams
    from whet.values import Json

    Open = Callable[[str | None], Library]
    """Opens the library of a project; None is the directory where the server was started."""


def serve_stdio(streams: Streams, open_library: Open, *, writes: Writes, hooks: bool, runs: bool = False) -> None:
    """Serve one client until it disconnects. The SDK is loaded when it is needed."""
    libraries = LibraryPool(open_library)
    sessions = SessionPool(libraries.get, writes=writes, runs=runs, tokenizer=ESTIMATE)  # an exact one loads slowly
    client = ClientSession(sessions, streams.client)

    told: list[Known] = []

    def answer(method: str) -> Json:
        context = client.context()
        told.append(Known(context))  # first: later changes are then reported
        is_prompts = method == "prompts/list"
        return prompts.list_prompts(context.tools, None) if is_prompts else context.served.list_resources()

    streams.answer_lists(answer)
    with _hooks(libraries, hooks=hooks):
        import anyio
        from mcp.server.stdio import stdio_server

        from whet.interfaces.mcp.server import SkillServer

        server = SkillServer(sessions, alone=True)
        if streams.client:
            introduction = Introduction(os.environ, streams.client, writes)
            server.resume(client, introduction, told[0] if told else None)

        async def run() -> None:
            file = anyio.wrap_file(cast("IO[str]", streams))
            async with (
                stdio_server(file, file) as (reading, writing),
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(server.watch)
                await server.run(reading, writing, server.create_initialization_options())
                tasks.cancel_scope.cancel()

        streams.hand_over()
        anyio.run(run)


def serve_http(
    open_library: Open,
    address: Address,
    token: str,
    *,
    writes: Writes,
    hooks: bool,
    ready: Callable[[str], None],
    runs: bool = False,
) -> None:
    """Serve many clients until the process is stopped; `ready` gets the address."""

    import anyio

    from whet.interfaces.mcp import http
    from whet.interfaces.mcp.server import SkillServer

    async def run() -> None:
        sessions = SessionPool(libraries.get, writes=writes, runs=runs, tokenizer=ESTIMATE)
        server = SkillServer(sessions, alone=False)
        app = http.application(server, address, token)
        with listen(address.host, address.port) as listening:
            host, port = listening.getsockname()[:2]
            ready(f"http://{f'[{host}]' if ':' in host else host}:{port}{http.PATH}")
            await http.serve(server, listening, app)

    http.check_host(address.host, address.hosts)
    libraries = LibraryPool(open_library)
    with _hooks(libraries, hooks=hooks):
        anyio.run(run)


@contextmanager
def _hooks(libraries: LibraryPool, *, hooks: bool) -> Iterator[None]:
    """With `hooks`, answer the hooks of clients meanwhile, from the same warm libraries."""
    from whet.interfaces.hooks.background import learn_after
    from whet.interfaces.hooks.handler import Hooks
    from whet.interfaces.hooks.service import Service

    place = libraries.get(None).workspace.place
    answering = Hooks(place.state, lambda directory: libraries.get(directory or None))
    after = partial(learn_after, state=place.state, env=place.env)
    service = Service(place.state, answering.answer, env=place.env, after=after)
    try:
        if hooks:
            service.start()
        yield
    except* KeyboardInterrupt:
        pass  # the normal end of a server
    finally:
        service.close()
        answering.close()
        libraries.close()
