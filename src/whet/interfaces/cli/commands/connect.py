"""`whet connect [CLIENT]`: Whet in the clients people already have; shown before it is done, and it can be undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.errors import RefusedError, UsageError
from whet.interfaces.cli.commands._plans import asks
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Parser
    from whet.interfaces.clients.plans import Plan

_STYLES: dict[str, Style] = {"+": "green", "-": "red", "@": "cyan"}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    from whet.interfaces.clients.known import CLIENTS

    parser.details = (
        "Adds Whet's MCP server to the client's configuration and, where the client has hooks, hooks that offer the "
        "fitting skills at a prompt and record which are used. The change is shown before it is made, everything else "
        "in the file stays byte for byte, and a backup is kept. Without CLIENT it lists the clients.\n\n"
        "Where nobody can be asked, the change is only shown; --yes makes it."
    )
    names = tuple(client.name for client in CLIENTS)
    parser.positional("client", "CLIENT", "The client to connect.", optional=True, choices=names)
    parser.option("--here", text="The project's configuration instead of your own: the MCP server only, by name.")
    parser.option("--no-hooks", text="Only the MCP server.")
    text = "What the client's model may do to skills (default: as it is, at first propose)."
    parser.option("--writes", metavar="W", choices=("propose", "allow"), text=text)
    parser.option("--undo", text="Take it back.")
    parser.option("--dry-run", text="Only show the change.")
    parser.option("--yes", text="Do not ask.")


def run(context: Context, options: Namespace) -> Outcome:
    """Plan, show, ask, apply; or list."""
    place = context.library.place
    if options.client is None:
        if wrong := _given(options, "--here", "--no-hooks", "--writes", "--undo", "--dry-run", "--yes"):
            raise UsageError("usage", f"{wrong} needs a CLIENT.", hint="`whet connect` lists the clients.")
        from whet.interfaces.clients.examining import overview

        return Outcome({"success": True, "clients": overview(place)})
    if options.undo and (wrong := _given(options, "--no-hooks", "--writes")):
        hint = f"`whet connect {options.client} --undo` takes back all that was added."
        raise UsageError("usage", f"--undo and {wrong} do not go together.", hint=hint)
    plan = _plan(context, options)
    if plan.is_empty and not plan.undo:
        return Outcome(plan.to_json(applied=False))
    if options.dry_run or not (options.yes or asks(options)):
        return Outcome(plan.to_json(applied=False))
    if not options.yes:
        _ask(plan, context)
    from whet.interfaces.clients.applying import apply

    backups = apply(plan, place.state)
    return Outcome(plan.to_json(applied=True, backups=backups))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The clients; or the change, what was done, and what to do next."""
    if "clients" in answer:
        _list(answer["clients"], screen)
        return
    title = _title(answer["client"])
    changes = [change for change in answer["changes"] if change["action"] != "none"]
    if not (answer["applied"] and asks(options)):  # it was shown when it was asked about
        _show(changes, screen)
    screen.said.extend(answer["notes"])
    if not changes and not options.undo:
        screen.said.append(f"{title} is already connected.")
        return
    if not answer["applied"]:
        screen.said.append("Nothing was changed.")
        if not options.dry_run:
            screen.hints.append("--yes makes the change.")
        return
    screen.said.append(f"{title} is {'no longer connected' if options.undo else 'connected'}.")
    screen.said.extend(f"Backup: {path}" for path in answer["backups"])
    screen.hints.append(answer["next"])


def _plan(context: Context, options: Namespace) -> Plan:
    from whet.interfaces.clients.connecting import plan_connection, plan_undo
    from whet.interfaces.clients.known import client_named
    from whet.interfaces.clients.locating import running_program

    client, place = client_named(options.client), context.library.place
    if options.undo:
        return plan_undo(client, place, here=options.here)
    writes = None if options.writes is None else options.writes == "allow"
    return plan_connection(
        client, place, running_program(), here=options.here, hooks=not options.no_hooks, writes=writes
    )


def _given(options: Namespace, *flags: str) -> str:
    """The first of the options that was given."""
    return next((flag for flag in flags if getattr(options, flag[2:].replace("-", "_"))), "")


def _ask(plan: Plan, context: Context) -> None:
    """Show the change where the question is, and go on with a yes only."""
    from whet.interfaces.cli.output import screen_for

    screen = screen_for(sys.stderr, context.env)
    _show([change.to_json() for change in plan.changes if change.action != "none"], screen)
    what = f"Disconnect {plan.client.title}" if plan.undo else f"Connect {plan.client.title}"
    sys.stderr.write(f"{screen.text()}{what}? [Y/n] ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line or line.strip().lower() not in ("", "y", "yes"):
        raise RefusedError("not-agreed", "It was not agreed to.", hint="Nothing was changed.")


def _show(changes: list[dict[str, Any]], screen: Screen) -> None:
    for at, change in enumerate(changes):
        if at:
            screen.line()
        for line in change["diff"].splitlines():
            style: Style | None = "bold" if line.startswith(("--- ", "+++ ")) else _STYLES.get(line[:1])
            screen.line(screen.paint(_harmless(line), style) if style else _harmless(line))


def _harmless(line: str) -> str:
    """A line of a diff that moves no cursor, with its indentation."""
    body = line[1:].expandtabs(4)
    indent = len(body) - len(body.lstrip(" "))
    return f"{clean(line[:1])}{body[:indent]}{clean(body[indent:])}"


def _list(clients: list[dict[str, Any]], screen: Screen) -> None:
    words = {True: "yes", False: "no", None: "-"}
    rows = [
        (
            one["client"],
            words[one["installed"]],
            words[one["connected"]],
            words[one["hooks"]],
            screen.place(one["path"]),
        )
        for one in clients
    ]
    screen.table(("CLIENT", "INSTALLED", "CONNECTED", "HOOKS", "CONFIGURATION"), rows)
    screen.said.extend(one["note"] for one in clients if one["note"])
    waiting = [one["client"] for one in clients if one["installed"] and not one["connected"]]
    if waiting:
        screen.hints.append(f"`whet connect {waiting[0]}` connects it; the change is shown first.")


def _title(name: str) -> str:
    from whet.interfaces.clients.known import client_named

    return client_named(name).title
