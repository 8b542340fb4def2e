"""`whet connect [CLIENT]`: Whet in the clients people already have; shown before it is done, and it can be undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
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
_APART = (
    ("--undo", "--hooks"),
    ("--undo", "--no-hooks"),
    ("--undo", "--writes"),
    ("--hooks", "--no-hooks"),
    ("--here", "--hooks"),
)
"""Options that say opposite things, or of which one means nothing beside the other."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    from whet.interfaces.clients.known import CLIENTS, client_named

    parser.details = (
        "Adds Whet's MCP server to the client's configuration and, where the client has hooks, hooks that offer the "
        "fitting skills at a prompt and record which are used. The change is shown before it is made, everything else "
        "in the file stays byte for byte, and the file from before is kept in connections/ of Whet's state directory "
        "until --undo has used it. Without CLIENT it lists the clients, with --here those of the project.\n\n"
        "Where nobody can be asked, the change is only shown; --yes makes it."
    )
    names = tuple(client.name for client in CLIENTS)
    parser.positional("client", "CLIENT", "The client to connect.", optional=True, choices=names, read=client_named)
    parser.option("--here", text="The project's configuration instead of your own: the MCP server only, by name.")
    parser.option("--hooks", text="With hooks (default: as it is, at first with hooks).")
    parser.option("--no-hooks", text="Only the MCP server; takes the hooks out of a connected client.")
    text = "What the client's model may do to skills (default: as it is, at first propose)."
    parser.option("--writes", metavar="W", choices=("propose", "allow"), text=text)
    parser.option("--undo", text="Take it back; with --here, what was done in the project.")
    parser.option("--dry-run", text="Only show the change.")
    parser.option("--yes", text="Do not ask.")


def run(context: Context, options: Namespace) -> Outcome:
    """Plan, show, ask, apply; or list."""
    place = context.library.place
    if options.client is None:
        flags = ("--hooks", "--no-hooks", "--writes", "--undo", "--dry-run", "--yes")
        if wrong := next((flag for flag in flags if _given(options, flag)), ""):
            raise UsageError("usage", f"{wrong} needs a CLIENT.", hint="`whet connect` lists the clients.")
        from whet.interfaces.clients.examining import overview

        return Outcome({"success": True, "clients": overview(place, here=options.here)})
    for first, second in _APART:
        if _given(options, first) and _given(options, second):
            hint = "`whet connect --help` explains them."
            raise UsageError("usage", f"{first} and {second} do not go together.", hint=hint)
    plan = _plan(context, options)
    if plan.is_empty and not (plan.undo and plan.previous):
        return Outcome(plan.to_json(applied=False))
    if options.dry_run or not (options.yes or asks(options)):
        return Outcome(plan.to_json(applied=False))
    if not (options.yes or plan.is_empty or _agrees(plan, context)):
        return Outcome(plan.to_json(applied=False), 1)
    from whet.interfaces.clients.applying import apply

    backups = apply(plan, place.state)
    return Outcome(plan.to_json(applied=True, backups=backups))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The clients; or the change, what was done, and what to do next."""
    if "clients" in answer:
        _list(answer["clients"], screen, options)
        return
    title = options.client.title
    changes = [change for change in answer["changes"] if change["action"] != "none"]
    asked = bool(changes) and asks(options) and not options.dry_run
    if not asked:  # otherwise it was shown with the question
        _show(changes, screen)
        screen.said.extend(answer["notes"])
    if not changes and answer["connected"]:
        screen.said.append(f"{title} is {'still' if options.undo else 'already'} connected.")
        return
    if not answer["applied"]:
        screen.said.append("Nothing was changed.")
        if not options.dry_run and not asked:
            screen.hints.append("--yes makes the change.")
        return
    how = ("still " if answer["connected"] else "no longer ") if options.undo else ""
    screen.said.append(f"{title} is {how}connected.")
    screen.said.extend(f"Backup: {path}" for path in answer["backups"])
    screen.hints.append(answer["next"])


def _plan(context: Context, options: Namespace) -> Plan:
    from whet.interfaces.clients.connecting import plan_connection, plan_undo
    from whet.interfaces.clients.locating import running_program

    client, place = options.client, context.library.place
    if options.undo:
        return plan_undo(client, place, here=options.here)
    hooks = options.hooks if options.hooks or options.no_hooks else None
    writes = None if options.writes is None else options.writes == "allow"
    return plan_connection(client, place, running_program(), here=options.here, hooks=hooks, writes=writes)


def _given(options: Namespace, flag: str) -> bool:
    return bool(getattr(options, flag[2:].replace("-", "_")))


def _agrees(plan: Plan, context: Context) -> bool:
    """Show the change where the question is, and ask."""
    from whet.interfaces.cli.output import screen_for

    screen = screen_for(sys.stderr, context.env)
    _show([change.to_json() for change in plan.changes if change.action != "none"], screen)
    for note in plan.notes:
        screen.paragraph(note)
    what = f"Disconnect {plan.client.title}" if plan.undo else f"Connect {plan.client.title}"
    sys.stderr.write(f"{screen.text()}{what}? [Y/n] ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    return bool(line) and line.strip().lower() in ("", "y", "yes")


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


def _list(clients: list[dict[str, Any]], screen: Screen, options: Namespace) -> None:
    words = {True: "yes", False: "no", None: "-"}
    rows = [
        (
            one["client"],
            words[one["installed"]],
            words[one["connected"]],
            one["writes"] or "-",
            words[one["hooks"]],
            screen.place(one["path"]),
        )
        for one in clients
    ]
    screen.table(("CLIENT", "INSTALLED", "CONNECTED", "WRITES", "HOOKS", "CONFIGURATION"), rows)
    screen.said.extend(one["note"] for one in clients if one["note"])
    waiting = [one["client"] for one in clients if one["installed"] and not one["connected"] and not one["note"]]
    if waiting:
        option = " --here" if options.here else ""
        screen.hints.append(f"`whet connect {waiting[0]}{option}` connects it; the change is shown first.")
