"""`whet doctor`: everything that is wrong or surprising, worst first, each with a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.output import SEVERITY_STYLES
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.option("--repair", text="Mend what can be mended without asking, then report.")
    parser.option("--check", text="Exit with 1 when there is an error in the report.")


def run(context: Context, options: Namespace) -> Outcome:
    """Mend if asked to, then ask for the report."""
    from whet.guard.sandbox.levels import level
    from whet.interfaces.clients.examining import examine_connections
    from whet.library.doctor import examine_sandbox, worst_first

    library = context.library
    repaired = library.repair() if options.repair else {}
    found = (*library.doctor(), *examine_connections(library.place), examine_sandbox(level))
    report = [entry.to_json() for entry in worst_first(found)]
    failed = options.check and any(entry["severity"] == "error" for entry in report)
    return Outcome({"success": True, "report": report, **repaired}, 1 if failed else 0)


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """Groups by severity."""
    screen.said.extend(answer.get("repaired", ()))
    screen.said.extend(f"Lost: {sentence}" for sentence in answer.get("lost", ()))
    by_severity: dict[str, list[dict[str, Any]]] = {}
    for entry in answer["report"]:
        by_severity.setdefault(entry["severity"], []).append(entry)
    for at, (severity, entries) in enumerate(by_severity.items()):
        if at:
            screen.line()
        title = f"{len(entries):,} info" if severity == "info" else plural(len(entries), severity)
        screen.line(screen.paint(title, "bold", SEVERITY_STYLES[severity]))
        for entry in entries:
            _entry(entry, screen)


def _entry(entry: dict[str, Any], screen: Screen) -> None:
    code = screen.paint(entry["code"], SEVERITY_STYLES[entry["severity"]])
    place = screen.place(entry["path"]) + (f":{entry['line']}" if entry["line"] else "")
    skill = f"{clean(entry['skill'])}  " if entry["skill"] else ""
    screen.line(f"  {code}  {skill}{screen.paint(place, 'dim')}".rstrip())
    screen.paragraph(entry["message"], 6)
    if entry["hint"]:
        screen.paragraph(f"hint: {entry['hint']}", 6)
