"""`whet learn`: sessions that were hard become proposals for skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._showing import grid
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.text import clean, clean_block, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Without SESSION, all sessions that wait are looked at, the newest first, within the day's allowance. A "
        "session is worth it when it took five tool calls or more, when an error was got over, or when you put it "
        "right; what was easy, bad luck, unresolved or secret is left. What is learned waits as a proposal: `whet "
        "pending` shows it, `whet approve` does it. On a pipe, each session is a line of session, verdict, skill, "
        "proposal and reason, with tabs between them."
    )
    parser.positional("sessions", "SESSION", "CLIENT:ID, or the FILE of a transcript.", many=True, optional=True)
    parser.option("--write", text="Write skills instead of proposing them; what you wrote yourself is only proposed.")
    parser.option("--dry-run", text="Tell what would be learned, and change nothing.")
    parser.option("--limit", metavar="N", type=amount, text="Look at no more sessions than this.")


def run(context: Context, options: Namespace) -> Outcome:
    """Learn."""
    if options.write and options.dry_run:
        raise UsageError("usage", "Give --write or --dry-run, not both.", hint="`whet learn --help` explains it.")
    answer = context.library.learn(*options.sessions, write=options.write, dry_run=options.dry_run, limit=options.limit)
    return Outcome(answer, 1 if answer["failed"] and options.sessions else 0)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each session, and what to do next."""
    rows = [
        (
            report["session"],
            report["action"] if report["captured"] else report["code"],
            report.get("skill", ""),
            str(report.get("proposal", "")),
            " ".join(report["why"][1:] if report["captured"] else report["why"]),
        )
        for report in answer["sessions"]
    ]
    grid(screen, ("SESSION", "VERDICT", "SKILL", "PROPOSAL", "WHY"), rows)
    for report in answer["sessions"]:
        if options.dry_run and report["captured"]:
            screen.line()
            screen.line(clean_block(report["preview"]).rstrip("\n"))
        screen.said.extend(f"{clean(report['session'])}: {clean(text)}" for text in report.get("warnings", ()))
    screen.said.extend(answer.get("warnings", ()))
    if not rows and not answer["left"]:
        screen.said.append("No session waits.")
        return
    done = "would be captured" if options.dry_run else "captured"
    screen.said.append(f"{plural(len(rows), 'session')} looked at, {answer['captured']} {done}.")
    if "stopped" in answer:
        screen.said.append(f"{plural(answer['left'], 'session')} left. {clean(answer['stopped_why'])}")
    if any(report.get("staged") for report in answer["sessions"]):
        screen.hints.append("`whet pending` shows what is proposed; `whet approve ID` does it.")
