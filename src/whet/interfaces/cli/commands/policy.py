"""`whet policy show|explain|override|revoke`: what is let in, why, and exceptions from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._findings import DECISIONS, show_findings
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

ACTIONS = ("show", "explain", "override", "revoke")
_VERDICTS = ("safe", "caution", "dangerous")


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The table says what is done with a skill, by how far its origin is trusted and what a scan finds. Change it "
        'under [policy] in config.toml, such as policy.community.caution = "ask"; a project\'s .whet.toml can only '
        "make it stricter. An override lets one skill in exactly as it is now; it needs a reason, is recorded, and "
        "ends when the skill changes."
    )
    parser.positional("action", "ACTION", "What to do.", choices=ACTIONS)
    parser.positional("name", "NAME", "The skill.", optional=True)
    parser.option("--trust", metavar="T", default="", text="With explain: a row of the table.")
    parser.option("--verdict", metavar="V", default="", text="With explain: safe, caution or dangerous.")
    parser.option("--reason", metavar="R", default="", text="With override and revoke: why; the record keeps it.")


def run(context: Context, options: Namespace) -> Outcome:
    """Do it."""
    _check(options)
    library = context.library
    if options.action == "show":
        return Outcome(library.policy)
    if options.action == "override":
        return Outcome(library.override(options.name, options.reason))
    if options.action == "revoke":
        return Outcome(library.revoke(options.name, options.reason))
    return Outcome(library.explain(options.name or "", trust=options.trust, verdict=options.verdict))


def _check(options: Namespace) -> None:
    """Raise UsageError when the action does not go with what is given besides."""
    action, message = options.action, ""
    cell = bool(options.trust or options.verdict)
    if action == "show" and options.name is not None:
        message = f"{options.name!r} is one argument too many."
    elif action != "explain" and cell:
        message = "--trust and --verdict are for explain only."
    elif action == "explain" and (options.name is not None) == cell:
        message = "Give the NAME of a skill, or --trust and --verdict."
    elif action == "explain" and cell and not (options.trust and options.verdict):
        message = "--trust and --verdict go together."
    elif action in ("override", "revoke") and options.name is None:
        message = f"The NAME to {action} is missing."
    elif action == "override" and not options.reason.strip():
        message = "--reason is missing."
    if message:
        raise UsageError("usage", message, hint="`whet policy --help` explains it.")


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The table, or a decision in a sentence."""
    if options.action == "show":
        _table(answer, screen)
        return
    decision = screen.paint(answer["decision"], DECISIONS[answer["decision"]])
    if screen.tty:
        screen.paragraph(answer["reason"], len(answer["decision"]) + 2, f"{decision}: ")
        show_findings(answer.get("findings", ()), answer.get("path", ""), screen)
    else:
        screen.line(f"{decision}: {clean(answer['reason'])}")
    if options.action == "override":
        screen.said.append(f"{answer['name']} is let in as it is now; when it changes, that is over.")
    elif options.action == "revoke":
        screen.said.append(
            f"The override of {answer['name']} is over." if answer["changed"] else "There was no override."
        )


def _table(answer: dict[str, Any], screen: Screen) -> None:
    notes: dict[str, None] = {}
    rows = []
    for row in answer["policy"]:
        cells = []
        for verdict in _VERDICTS:
            cell = row[verdict]
            mark = "" if cell["source"] == "default" else f" ({cell['source']})"
            notes.update({cell["source"]: None} if mark else {})
            cells.append(f"{cell['action']}{mark}")
        rows.append((row["trust"], *cells))
    if screen.tty:
        screen.table(("TRUST", "SAFE", "CAUTION", "DANGEROUS"), rows)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
    source = f"changed by {' and '.join(notes)}" if notes else "as Whet comes"
    screen.said.append(f"The policy is {source}.")
