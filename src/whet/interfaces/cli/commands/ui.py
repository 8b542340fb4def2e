"""`ui`: the library as pages in a browser on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import number
from whet.interfaces.cli.terminal import can_ask

if TYPE_CHECKING:
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.parser import Namespace, Parser


def configure_ui(parser: Parser) -> None:
    parser.details = (
        "Only this machine can open the pages: the server listens on 127.0.0.1. The printed address signs in one "
        "browser; after that, the command prints a new address for the next one. Stop the server with Ctrl-C."
    )
    parser.option("--port", metavar="N", read=number, default=0, text="The port (default: any free one).")
    parser.option("--no-open", text="Print the address, but do not open a browser.")
    parser.option("--read-only", text="Do not allow changes from the pages.")
    parser.option("--check", text="Only check that Whet can serve the pages.")


def run_ui(context: Context, options: Namespace) -> Answer:
    """Serve the pages until stopped."""
    from functools import partial

    from whet.interfaces.cli.commands.doctor import examine_machine
    from whet.web.server import check_ui, serve_ui

    if options.check:
        check_ui()
        return Answer(True, lambda _, screen, __: screen.say("The pages can be served."), key="success")
    opens = can_ask(options) and not options.no_open
    shown = False

    def announce(address: str) -> None:
        nonlocal shown
        if shown:
            print(f"another browser: {address}", flush=True)
            return
        shown = True
        print(f"open {address}", flush=True)
        if opens:
            import webbrowser

            webbrowser.open(address)

    library = context.library
    examine = partial(examine_machine, library)
    serve_ui(library, options.port, announce, read_only=options.read_only, examine=examine)
    return Answer(True, lambda _, screen, __: screen.say("Stopped."), key="success")


COMMANDS = {"ui": Command(configure_ui, run_ui)}
