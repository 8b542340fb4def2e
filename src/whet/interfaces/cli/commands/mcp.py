"""`whet mcp`: the library as an MCP server, on the standard streams or over HTTP."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.api import Library
    from whet.api.tools import Writes
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_HTTP_ONLY = ("host", "port", "allow_host", "allow_origin")


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Clients start it themselves; `whet connect CLIENT` tells them how. It gives them the tools skills_list, "
        "skill_view, skills_search, skill_manage, skill_feedback and skill_distill, every skill as a prompt (a slash "
        "command of the client) and as resources, and the Skills extension (io.modelcontextprotocol/skills). What a "
        "model changes waits as a proposal (`whet pending`) unless --allow-writes is given.\n\n"
        "With --http one process serves many clients, on this machine unless --host says otherwise. They need the "
        "token that --print-token prints (or WHET_MCP_TOKEN sets); `/mcp?project=DIR` at the end of the address says "
        "which project a client is about."
    )
    parser.option("--http", text="Serve over HTTP instead of the standard streams.")
    parser.option("--host", metavar="H", text="The address to listen on; 127.0.0.1 when left out.")
    parser.option("--port", metavar="N", type=int, text="The port to listen on; 9438 when left out, 0 for any.")
    text = "A further name that the server is reached by; may be given again."
    parser.option("--allow-host", metavar="H", action="append", default=[], text=text)
    text = "A web page that may ask, such as https://app.example; may be given again."
    parser.option("--allow-origin", metavar="O", action="append", default=[], text=text)
    parser.option("--allow-writes", text="Let models change skills without asking; everything can be undone.")
    parser.option("--read-only", text="Do not offer the tools that change skills.")
    parser.option("--print-token", text="Print the token for HTTP, and serve nothing.")


def run(context: Context, options: Namespace) -> Outcome:
    """Serve until the client goes or the process is stopped."""
    if options.print_token:
        return Outcome({"success": True, "token": _token(context.library)})
    if options.allow_writes and options.read_only:
        raise UsageError("usage", "--allow-writes and --read-only exclude each other.", hint="Give one of them.")
    if not options.http and any(getattr(options, name) not in (None, []) for name in _HTTP_ONLY):
        raise UsageError("usage", "That option is for --http.", hint="Add --http.")
    if options.json:
        hint = "Leave out --json; the protocol is JSON anyway."
        raise UsageError("usage", "A server has no answer to print.", hint=hint)
    if not options.http and sys.stdin.isatty():
        print("Waiting for a client on the standard streams. `whet connect CLIENT` sets one up.", file=sys.stderr)
    writes: Writes = "allow" if options.allow_writes else "none" if options.read_only else "propose"
    _serve(context, options, writes)
    return Outcome({"success": True})


def _serve(context: Context, options: Namespace, writes: Writes) -> None:
    try:
        from whet.interfaces.mcp.http import Address
        from whet.interfaces.mcp.running import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        hint = "Install it: pip install 'whet[mcp]'."
        raise UsageError("extra-missing", f"The server needs the extra `mcp` ({error.name}).", hint=hint) from error
    if not options.http:
        serve_stdio(context.open_library, writes=writes, hooks=not options.root)
        return
    given = {name: getattr(options, name) for name in ("host", "port") if getattr(options, name) is not None}
    address = Address(**given, hosts=tuple(options.allow_host), origins=tuple(options.allow_origin))
    token = _token(context.library)

    def ready(where: str) -> None:
        print(f"Serving {where}\nThe token: whet mcp --print-token", file=sys.stderr, flush=True)

    serve_http(context.open_library, address, token, writes=writes, hooks=not options.root, ready=ready)


def _token(library: Library) -> str:
    from whet.interfaces.mcp.http import TOKEN_VARIABLE, token_of

    return token_of(library.place.state, library.place.env.get(TOKEN_VARIABLE))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The token, where it was asked for."""
    if "token" in answer:
        screen.line(answer["token"])
