"""`whet inspect SOURCE`: what is there, before anything is taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._findings import DECISIONS, VERDICTS, show_findings
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean, plural, short_revision

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Lists the skills of a source. Those that are named, or the only one there is, are fetched and scanned: their "
        "files, what the guard found and what the policy would do. Nothing is written."
    )
    parser.positional("source", "SOURCE", "A source, as `whet install` takes it.")
    parser.option("--skill", metavar="S", action="append", default=[], text="Look into this skill; may be given again.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask the source."""
    with Bar(options) as bar:
        context.library.progress = bar
        return Outcome(context.library.inspect(options.source, options.skill))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The list, or the skills that were looked into."""
    for item in answer["inspected"]:
        _show(item, screen)
    if not answer["inspected"]:
        rows = [(item["name"], item["version"], item["path"], item["description"]) for item in answer["skills"]]
        screen.table(("NAME", "VERSION", "PATH", "DESCRIPTION"), rows)
    revision = f" at {short_revision(answer['revision'])}" if answer["revision"] else ""
    shown = f"{clean(answer['shown'])}{clean(revision)}, a {answer['trust']} source"
    screen.said.append(f"{shown}: {plural(len(answer['skills']), 'skill')}.")
    screen.said.extend(note["message"] for note in answer["notes"])


def _show(item: dict[str, Any], screen: Screen) -> None:
    screen.line(screen.paint(clean(f"{item['name']} {item['version']}".rstrip()), "bold"))
    screen.paragraph(item["description"], 2)
    for file in item["files"]:
        mark = "link" if file["link"] else "run" if file["executable"] else ""
        screen.line(f"  {file['size']:>9,}  {mark:<4}  {clean(file['path'])}")
    verdict = screen.paint(item["verdict"], VERDICTS[item["verdict"]])
    decision = screen.paint(item["decision"], DECISIONS[item["decision"]])
    screen.line(f"  {verdict}, {decision}: {clean(item['reason'])}")
    show_findings(item["findings"], item["path"], screen)
