"""`connect`, `mcp`, `hook`: Whet in the clients people already have."""

from __future__ import annotations

import os
import sys

from whet.errors import NotFoundError, RefusedError, UsageError, WhetError
from whet.extras import missing_extra
from whet.interfaces.cli.arguments import require
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import number
from whet.interfaces.cli.rendering import count_lines, paint_diff
from whet.interfaces.cli.terminal import agree, can_ask
from whet.interfaces.cli.text import clean, join_unique, plural
from whet.interfaces.hooks.clients import CLIENTS, KINDS
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.api import Library
    from whet.api.tool_definitions import Writes
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.interfaces.clients.known import Connection
    from whet.interfaces.clients.plan import Change, Connecting, Plan
    from whet.interfaces.clients.records import Connections
    from whet.interfaces.clients.status import ClientStatus
    from whet.interfaces.hooks.handler import Failure
    from whet.library.roots import Place


_CONTRARY = (
    ("--undo", "--hooks"),
    ("--undo", "--no-hooks"),
    ("--undo", "--writes"),
    ("--hooks", "--no-hooks"),
    ("--here", "--hooks"),
    ("--undo", "--enforce"),
    ("--undo", "--no-enforce"),
    ("--here", "--enforce"),
    ("--no-hooks", "--enforce"),
    ("--enforce", "--no-enforce"),
)
"""Options that contradict each other or have no effect together."""
_HOOKS = (
    "The hooks suggest skills that fit each message, count which skills are used, and record where the transcript is, "
    "so that Whet can learn from difficult sessions. They store nothing that you or the model write."
)


def configure_connect(parser: Parser) -> None:
    from whet.interfaces.clients.known import CONNECTIONS, connection_named

    parser.example("whet connect", "choose clients from a list")
    parser.example("whet connect claude-code", "show the change, ask, make it")
    parser.example("whet connect codex cursor", "the same for two clients")
    parser.example("whet disconnect claude-code", "undo it")
    parser.details = (
        "Whet adds its MCP server to the client's configuration. If the client has hooks, Whet also adds hooks, which "
        "suggest skills that fit each prompt and record which skills are used. Whet shows the change first and leaves "
        "everything else in the file as it is. It keeps the old file in connections/ in its state directory, for "
        "--undo.\n\n"
        "On a terminal, Whet asks before it makes the change, and without CLIENT you choose from a list. In a pipe, "
        "Whet only shows the change or the list; --yes makes the change. Exits with 3 if you answer no or leave the "
        "list."
    )
    names = tuple(client.name for client in CONNECTIONS)
    text = "The clients to connect."
    parser.positional("clients", "CLIENT", text, many=True, optional=True, choices=names, read=connection_named)
    parser.option("--here", text="Change the project's configuration instead of yours; add only the MCP server.")
    parser.option("--hooks", text="Add hooks (default for a new connection).")
    parser.option("--no-hooks", text="Add only the MCP server, and remove existing hooks.")
    parser.option("--enforce", text="Refuse tool calls that the `allowed-tools` of the loaded skills do not cover.")
    parser.option("--no-enforce", text="Stop refusing tool calls.")
    text = "What the client's model may do to skills (default for a new connection: propose)."
    parser.option("--writes", metavar="W", choices=("propose", "allow"), text=text)
    text = "Undo the connection; with --here, the one in the project. `whet disconnect CLIENT` is the same."
    parser.option("--undo", text=text)
    parser.option("--list", text="Only list the clients; with --here, those of the project.")
    parser.option("--dry-run", text="Only show the change.")


def run_connect(context: Context, options: Namespace) -> Answer:
    from whet.interfaces.clients.plan import Connecting, apply
    from whet.interfaces.clients.records import Connections
    from whet.interfaces.clients.status import overview

    place, connections = context.library.workspace.place, Connections(context.library.workspace.state)
    if not options.clients:
        clients = overview(place, connections, here=options.here)
        if options.undo and not any(one.connected for one in clients):
            raise NotFoundError("not-connected", "No client is connected.", hint="`whet connect` connects one.")
        if options.list or not can_ask(options):
            _check_list(clients, options)
            return Answer(clients, render_clients, key="clients")
        _choose_clients(clients, options, context)
    for first, second in _CONTRARY:
        if _is_given(options, first) and _is_given(options, second):
            hint = "`whet connect --help` explains them."
            raise UsageError("usage", f"{first} and {second} exclude each other.", hint=hint)
    if not (options.undo or options.here or options.dry_run) and (options.yes or can_ask(options)):
        _require_server(options)
    chosen: dict[str, Connection] = {client.name: client for client in options.clients}
    plans = [_plan_connection(client, place, connections, options) for client in chosen.values()]
    may = not options.dry_run and (options.yes or can_ask(options))
    if may and not options.yes and any(not plan.is_empty for plan in plans):
        _ask_agreement(plans, context, options)
    done: list[Connecting] = []
    for plan in plans:
        nothing = plan.is_empty and not (plan.undo and plan.previous)
        try:
            backups = apply(plan, connections) if may and not nothing else ()
        except WhetError as error:
            earlier = [one.plan.client.title for one in done if one.applied]
            error.hint += f" Done before that: {', '.join(earlier)}." if earlier else ""
            raise
        done.append(Connecting(plan, may and not nothing, backups))
    hints = [hint for one in done if one.applied for hint in _hints(one.plan.client, context, options)]
    answer = Answer(done[0] if len(done) == 1 else done, render_connect, key="" if len(done) == 1 else "connections")
    for hint in hints:
        answer.hint(hint)
    return answer


def _hints(client: Connection, context: Context, options: Namespace) -> list[str]:
    """Return hints about links after a client was connected or disconnected."""
    if options.undo and (count := _count_synced(context, client.name)):
        links = "The link" if count == 1 else f"The {count:,} links"
        what = f"{links} that `whet sync` made for {client.title} {'stays' if count == 1 else 'stay'}"
        return [f"{what}; `whet sync {client.name} --undo` removes {'it' if count == 1 else 'them'}."]
    if options.undo or options.here or not _needs_sync(context, client.name):
        return []
    where = f"{client.title} does not look in ~/.agents/skills"
    return [f"{where}; `whet sync` links your skills to where it looks."]


def _count_synced(context: Context, client: str) -> int:
    """Return the number of skills that `whet sync` linked or copied for a client."""
    from whet.sources.sync.record import read_record

    try:
        made = read_record(context.library.workspace.state).made.values()
    except WhetError:
        return 0  # `whet doctor` reports it
    return sum(one.client == client and not one.away for one in made)


def render_connect(done: Connecting | list[Connecting], screen: Screen, options: Namespace) -> None:
    """Print the changes, the results, and the next step."""
    asked = can_ask(options) and not options.dry_run  # otherwise it was shown with the question
    several = done if isinstance(done, list) else [done]
    waits = [_render_connection(one, screen, options, asked=asked and not one.plan.is_empty) for one in several]
    if any(waits):
        screen.say("Nothing was changed.")
        if not options.dry_run and not asked:
            screen.hint(f"--yes makes the change{'' if options.verbose else '; -v shows it in full'}.")


def _render_connection(done: Connecting, screen: Screen, options: Namespace, *, asked: bool) -> bool:
    """Print one client's change; return whether it still has to be made."""
    plan, title = done.plan, done.plan.client.title
    if not asked:
        _render_changes(plan, screen, whole=options.verbose)
        screen.say(*_remarks(plan))
    if plan.is_empty and done.state.connected:
        screen.say(f"{title} is {'still' if options.undo else 'already'} connected.")
        return False
    if not done.applied:
        return True
    how = ("still " if done.state.connected else "no longer ") if options.undo else ""
    screen.say(f"{title} is {how}connected.")
    screen.say(*(f"Backup: {path}" for path in done.backups))
    undo = f"`whet disconnect {plan.client.name}{' --here' if options.here else ''}` undoes it."
    screen.hint(plan.next, "" if options.undo else undo)
    return False


def _needs_sync(context: Context, client: str) -> bool:
    """Return whether the client does not read the directory of your own skills."""
    from whet.library.clients import clients_without

    workspace = context.library.workspace
    root = os.path.realpath(workspace.new_root())
    own = (card for card in context.library.catalogue.cards if os.path.realpath(card.root.path) == root)
    names = [os.path.relpath(card.directory, card.root.path) for card in own]
    return any(one.name == client for one in clients_without(root, workspace.place, names))


def _plan_connection(client: Connection, place: Place, connections: Connections, options: Namespace) -> Plan:
    from whet.extras import find_installation
    from whet.interfaces.clients.locations import running_program
    from whet.interfaces.clients.plan import plan_connection, plan_undo

    if options.undo:
        return plan_undo(client, place, connections, here=options.here)
    hooks = options.hooks if options.hooks or options.no_hooks else None
    writes = None if options.writes is None else options.writes == "allow"
    enforce = options.enforce if options.enforce or options.no_enforce else None
    given = {"here": options.here, "hooks": hooks, "writes": writes, "enforce": enforce}
    program = running_program()._replace(clone=find_installation().clone)
    return plan_connection(client, place, connections, program, **given)


def _require_server(options: Namespace) -> None:
    """Refuse to connect a server that cannot start: install the missing extra if a person agrees, or raise."""
    from whet.extras import find_installation, shell_words
    from whet.interfaces.clients.locations import can_serve

    if can_serve():
        return
    names = join_unique([client.title for client in options.clients])
    error = missing_extra(f"Nothing was connected: {names} could not start the MCP server.", "mcp")
    commands = find_installation().commands("mcp")
    question = f"The MCP server needs the extra `mcp`. Install it with `{' && '.join(map(shell_words, commands))}`?"
    if not can_ask(options) or not agree(question):
        raise error
    import subprocess
    from importlib import invalidate_caches

    for command in commands:
        try:
            code = subprocess.call(command, stdout=2)  # noqa: S603  the command that the person has agreed to
        except OSError:
            code = 1
        if code:
            raise error
    invalidate_caches()
    if not can_serve():
        raise error


def _check_list(clients: Sequence[ClientStatus], options: Namespace) -> None:
    """Raise UsageError if the options need more than the list of clients."""
    flags = ("--hooks", "--no-hooks", "--enforce", "--no-enforce", "--writes", "--undo", "--dry-run", "--yes")
    if wrong := next((flag for flag in flags if _is_given(options, flag)), ""):
        connected = next((one.client for one in clients if one.connected), "")
        message = "Name the client to disconnect." if options.undo else f"{wrong} needs a CLIENT."
        hint = f"`whet disconnect {connected}` disconnects it." if options.undo else "`whet connect` lists the clients."
        raise UsageError("usage", message, hint=hint)


def _choose_clients(clients: Sequence[ClientStatus], options: Namespace, context: Context) -> None:
    """Let a person choose clients, installed ones first. Raises RefusedError if they leave."""
    from whet.interfaces.cli.output import screen_for
    from whet.interfaces.cli.picker import Choice, pick_several
    from whet.interfaces.clients.known import connection_named

    screen = screen_for(sys.stderr, context.env)
    clients = [one for one in clients if one.connected] if options.undo else clients
    clients = sorted(clients, key=lambda one: (not one.installed, one.connected))
    words = ("connected" if one.connected else "installed" if one.installed else "not installed" for one in clients)
    choices = [Choice((one.title, word, screen.place(one.path))) for one, word in zip(clients, words, strict=True)]
    title = f"{'Disconnect' if options.undo else 'Connect'} which clients?"
    options.clients = [connection_named(clients[at].client) for at in pick_several(title, choices, context.env)]


def _is_given(options: Namespace, flag: str) -> bool:
    return bool(getattr(options, flag[2:].replace("-", "_")))


def _ask_agreement(plans: Sequence[Plan], context: Context, options: Namespace) -> None:
    """Show the changes with the question, and ask. Raises RefusedError if the answer is no."""
    from whet.interfaces.cli.output import screen_for

    plans = [plan for plan in plans if not plan.is_empty]
    screen = screen_for(sys.stderr, context.env)
    for plan in plans:
        _render_changes(plan, screen, whole=options.verbose)
        for note in _remarks(plan):
            screen.paragraph(note)
    names = join_unique([plan.client.title for plan in plans])

    def show() -> str:
        unfolded = screen_for(sys.stderr, context.env)
        for plan in plans:
            _render_changes(plan, unfolded, whole=True)
        return unfolded.text()

    question = f"{screen.text()}{'Disconnect' if options.undo else 'Connect'} {names}?"
    if not agree(question, show=None if options.verbose else show):
        raise RefusedError("not-agreed", "You did not confirm.", hint="Nothing was changed.")


def _remarks(plan: Plan) -> list[str]:
    """Return notes about the change, and about what it leaves out."""
    done = plan.is_empty  # then every file is complete, which is said once
    left = [one for one in plan.left_out if not (done and any(one.what == change.path for change in plan.changes))]
    return [*plan.notes, *(f"Left out: {one.what}. {one.why}" for one in left)]


def _render_changes(plan: Plan, screen: Screen, *, whole: bool) -> None:
    """Print a line for each changed file, with the effect of the hooks; or the changes themselves."""
    changes = [change for change in plan.changes if change.action != "none"]
    for at, change in enumerate(changes):
        if not whole:
            screen.line(f"{change.action} {screen.place(change.path)}  {count_lines(change.diff)}{_describe(change)}")
            continue
        if at:
            screen.line()
        paint_diff(screen, change.diff)
    if any(entry.kind == "hook" for change in changes for entry in change.added):
        screen.paragraph(_HOOKS, 2)


def _describe(change: Change) -> str:
    """Describe the entries of Whet that a file has after the change."""
    hooks = sum(entry.kind == "hook" for entry in change.added)
    what = ["the MCP server"] if any(entry.kind == "server" for entry in change.added) else []
    what += [plural(hooks, "hook")] if hooks else []
    return f"  {' and '.join(what)}" if what else ""


def render_clients(clients: Sequence[ClientStatus], screen: Screen, options: Namespace) -> None:
    words = {True: "yes", False: "no", None: "-"}
    rows = [
        (
            one.client,
            words[one.installed],
            words[one.connected],
            one.writes or "-",
            words[one.hooks],
            screen.place(one.path),
        )
        for one in clients
    ]
    screen.table(("CLIENT", "FOUND HERE", "CONNECTED", "WRITES", "HOOKS", "CONFIGURATION"), rows)
    screen.say(*(one.note for one in clients if one.note))
    waiting = [one.client for one in clients if one.installed and not one.connected and not one.note]
    if waiting:
        option = " --here" if options.here else ""
        screen.hint(f"`whet connect {waiting[0]}{option}` connects it; the change is shown first.")


_HTTP_ONLY = ("host", "port", "allow_host", "allow_origin")


def configure_mcp(parser: Parser) -> None:
    parser.details = (
        "You rarely run this yourself: `whet connect CLIENT` sets up a client so that it starts the server. The "
        "server offers the tools skills_list, skill_view, skills_search, skill_manage, skill_feedback and "
        "skill_distill; every skill as a prompt (a slash command of the client) and as resources; and the Skills "
        "extension (io.modelcontextprotocol/skills). A model's changes wait as proposals (`whet proposals list`) "
        "unless you pass --allow-writes.\n\n"
        "With --http, one process serves many clients, on this machine unless you set --host. Clients need the token "
        "from --print-token (or WHET_MCP_TOKEN). To choose a project, add `/mcp?project=DIR` to the address."
    )
    parser.option("--http", text="Serve over HTTP instead of the standard streams.")
    parser.option("--host", metavar="H", text="The address to listen on (default 127.0.0.1).")
    parser.option("--port", metavar="N", read=number, text="The port to listen on (default 9438; 0 picks a free one).")
    text = "Another host name of the server; can be repeated."
    parser.option("--allow-host", metavar="H", many=True, default=[], text=text)
    text = "A web origin that may connect, such as https://app.example; can be repeated."
    parser.option("--allow-origin", metavar="O", many=True, default=[], text=text)
    parser.option("--allow-writes", text="Let models change skills without approval; every change can be undone.")
    parser.option("--read-only", text="Do not offer the tools that change skills.")
    parser.option("--allow-runs", text="Offer a tool that runs skills, as `whet run` does.")
    parser.option("--print-token", text="Print the HTTP token and exit.")


def run_mcp(context: Context, options: Namespace) -> Answer:
    """Serve until the client disconnects or the process is stopped."""
    if options.print_token:
        return Answer(_read_token(context.library), lambda token, screen, _: screen.line(token), key="token")
    if options.allow_writes and options.read_only:
        raise UsageError("usage", "--allow-writes and --read-only exclude each other.", hint="Use one of them.")
    if not options.http and any(getattr(options, name) not in (None, []) for name in _HTTP_ONLY):
        raise UsageError("usage", "That option needs `--http`.", hint="Add --http.")
    if options.json:
        hint = "Leave out `--json`; the protocol is JSON already."
        raise UsageError("usage", "The server has no answer to print.", hint=hint)
    if not options.http and sys.stdin and sys.stdin.isatty():
        print("Waiting for a client on the standard streams. `whet connect CLIENT` sets one up.", file=sys.stderr)
    writes: Writes = "allow" if options.allow_writes else "none" if options.read_only else "propose"
    _serve(context, options, writes)
    return Answer(True, lambda *_: None, key="success")


def _serve(context: Context, options: Namespace, writes: Writes) -> None:
    from whet.interfaces.mcp.serve import serve_http, serve_stdio
    from whet.interfaces.mcp.stdio import Streams, is_installed

    if not is_installed():
        raise missing_extra("The server needs the extra `mcp`.", "mcp")
    if not options.http:
        streams = context.streams or Streams(writes, context.env, runs=options.allow_runs)
        hooks, runs = not options.root, options.allow_runs
        serve_stdio(streams, context.open_library, writes=writes, hooks=hooks, runs=runs)
        return
    from whet.interfaces.mcp.http import Address

    given = {name: getattr(options, name) for name in ("host", "port") if getattr(options, name) is not None}
    address = Address(**given, hosts=tuple(options.allow_host), origins=tuple(options.allow_origin))
    token = _read_token(context.library)

    def ready(where: str) -> None:
        print(f"Serving {where}\nThe token: whet mcp --print-token", file=sys.stderr, flush=True)

    hooks, runs = not options.root, options.allow_runs
    serve_http(context.open_library, address, token, writes=writes, hooks=hooks, ready=ready, runs=runs)


def _read_token(library: Library) -> str:
    from whet.interfaces.mcp.http import TOKEN_VARIABLE, token_of

    return token_of(library.workspace.place.state, library.workspace.place.env.get(TOKEN_VARIABLE))


class HookAnswer(NamedTuple):
    """The output of a hook, and its failure."""

    output: str
    off: bool = False
    """Whether hooks are disabled."""
    failure: Failure | None = None


def configure_hook(parser: Parser) -> None:
    parser.details = (
        "Clients run this command; `whet connect` adds it to their settings. It reads an event from standard input "
        "and prints the answer that the client expects. At a prompt, it offers the few skills that fit. When a tool "
        "reads a skill, it counts that. For every session, it notes where the transcript is and whether the session "
        "was hard.\n\n"
        "A hook never disturbs its client: whatever happens, it exits with 0 and prints no errors. `whet doctor` and "
        "--json report what failed. To turn hooks off, set WHET_HOOKS=off."
    )
    parser.positional("event", "EVENT", "What happened in the session.", choices=KINDS)
    parser.option("--client", metavar="CLIENT", choices=tuple(CLIENTS), text="The client that sends the event.")


def run_hook(context: Context, options: Namespace) -> Answer:
    """Run the hook and report failures."""
    from contextlib import ExitStack

    from whet.interfaces.hooks.handler import Hooks, describe_failure
    from whet.interfaces.hooks.main import is_off, read_input

    require(options, "hook", "client")
    if is_off(context.env):
        return Answer(HookAnswer("", off=True), render_hook)
    here = context.library
    with ExitStack() as stack:

        def opened(directory: str) -> Library:
            if options.root or options.project or directory in ("", here.workspace.place.directory):
                return here
            return stack.enter_context(context.open_library(directory))

        hooks = Hooks(here.workspace.place.state, opened, noting=False)
        stack.callback(hooks.close)
        output, error = hooks.try_answer(options.client, options.event, read_input(0), here.workspace.place.directory)
    failure = None if error is None else describe_failure(error)
    return Answer(HookAnswer(output.decode("ascii"), failure=failure), render_hook)


def render_hook(answer: HookAnswer, screen: Screen, _options: Namespace) -> None:
    """Print the output as the client would get it."""
    if answer.output:
        screen.line(answer.output.rstrip("\n"))
    if answer.failure:
        screen.say(f"Failed: {clean(answer.failure.message)}")


COMMANDS = {
    "connect": Command(configure_connect, run_connect),
    "mcp": Command(configure_mcp, run_mcp),
    "hook": Command(configure_hook, run_hook),
}
