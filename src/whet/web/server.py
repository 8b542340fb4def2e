"""Serve the pages of a library on this machine until stopped."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from whet.extras import missing_extra
from whet.sockets import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.api import Library
    from whet.notes import Note

_HOST = "127.0.0.1"


def check_ui() -> None:
    """Raise UsageError if the packages for the pages are not installed."""
    try:
        import uvicorn  # noqa: F401  is it installed?

        import whet.web.ui.app  # noqa: F401
    except ImportError as error:
        raise missing_extra("The pages need the extra `ui`.", "ui") from error


def serve_ui(
    library: Library,
    port: int,
    announce: Callable[[str], None],
    *,
    read_only: bool = False,
    examine: Callable[[], Iterable[Note]] = tuple,
) -> None:
    """Serve `whet ui`. `announce` gets the sign-in address for a browser, once the server answers."""
    check_ui()
    import uvicorn

    from whet.web.security import LocalOnly, SignIn
    from whet.web.ui.app import create_app

    listening = listen(_HOST, port)
    port = listening.getsockname()[1]
    sign_in = SignIn(lambda token: announce(f"http://{_HOST}:{port}/sign-in?token={token}"))

    class Server(uvicorn.Server):
        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets)  # type: ignore[arg-type]  # only passed on
            if self.started:
                announce(f"http://{_HOST}:{port}/sign-in?token={sign_in.token}")

    library.matcher.index_manager.build_in_background()
    app = LocalOnly(create_app(library, read_only=read_only, examine=examine), sign_in, port, read_only=read_only)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=2
    )
    with suppress(KeyboardInterrupt):  # uvicorn's reaction to a stop
        Server(config).run(sockets=[listening])
