"""Running the server: on the standard streams for one client, or over HTTP for many; hooks are answered meanwhile."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from whet.api.session_pool import LibraryPool
from whet.interfaces.hooks.background import learn_after
from whet.interfaces.hooks.handler import Hooks
from whet.interfaces.hooks.service import Service
from whet.interfaces.mcp import http
from whet.interfaces.mcp.server import SkillServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.api import Library
    from whet.api.tools import Writes

    Open = Callable[[str | None], Library]
    """Opens the library of a project; None is where the server was started."""


def serve_stdio(open_library: Open, *, writes: Writes, hooks: bool) -> None:
    """Serve one client until it goes."""

    async def run() -> None:
        server = SkillServer(libraries, writes=writes, alone=True)
        async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:
            with redirect_stdout(sys.stderr):  # what is printed would else come behind the last message
                tasks.start_soon(server.watch)
                await server.run(reading, writing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    with _libraries(open_library, hooks=hooks) as libraries:
        _leave_at_once()
        anyio.run(run)


def _leave_at_once() -> None:
    """End with the first signal: a thread that waits for the client's next line would hold everything up.

    Nothing is lost by that; what is being written is settled by whoever comes next.
    """

    def end(*_: object) -> None:
        os._exit(0)

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, end)


def serve_http(
    open_library: Open, address: http.Address, token: str, *, writes: Writes, hooks: bool, ready: Callable[[str], None]
) -> None:
    """Serve many clients until the process is told to stop; `ready` is told the address."""

    async def run() -> None:
        server = SkillServer(libraries, writes=writes, alone=False)
        app = http.application(server, address, token)
        with http.bind(address) as listening:
            host, port = listening.getsockname()[:2]
            ready(f"http://{f'[{host}]' if ':' in host else host}:{port}{http.PATH}")
            await http.serve(server, listening, app)

    http.check_host(address.host, address.hosts)
    with _libraries(open_library, hooks=hooks) as libraries:
        anyio.run(run)


@contextmanager
def _libraries(open_library: Open, *, hooks: bool) -> Iterator[LibraryPool]:
    """The libraries of a server; with `hooks`, hooks of clients are answered from them too, which are warm."""
    libraries = LibraryPool(open_library)
    place = libraries.get(None).workspace.place
    answering = Hooks(place.state, lambda directory: libraries.get(directory or None))
    after = partial(learn_after, state=place.state, env=place.env)
    service = Service(place.state, answering.answer, env=place.env, after=after)
    try:
        if hooks:
            service.start()
        yield libraries
    except* KeyboardInterrupt:
        pass  # which is how a server is meant to end
    finally:
        service.close()
        answering.close()
        libraries.close()
