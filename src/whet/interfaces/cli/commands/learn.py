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

    from whet.api import Library
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Without SESSION, all sessions that wait are looked at, the newest first, within the day's allowance. A "
        "session is worth it when it took five tool calls or more, when an error was got over, or when you put it "
        "right; what was easy, bad luck, unresolved or secret is left. What is learned waits as a proposal: `whet "
        "pending` shows it, `whet approve` does it. Where a model is named, here or in the settings, it words what is "
        "learned; nothing needs one. On a pipe, each session is a line of session, verdict, skill, proposal and "
        "reason, with tabs between them.\n\n"
        "When a client is connected, this happens by itself as far as the setting `learn` says; --waiting does the "
        "same by hand, or at the hand of a timer."
    )
    parser.positional("sessions", "SESSION", "CLIENT:ID, or the FILE of a transcript.", many=True, optional=True)
    parser.option("--write", text="Write skills instead of proposing them; what you wrote yourself is only proposed.")
    parser.option("--model", metavar="SPEC", text="Have this model word it, such as openai:gpt-5.")
    parser.option("--no-model", text="Ask no model, whatever the settings say.")
    parser.option("--dry-run", text="Tell what would be learned, and change nothing.")
    parser.option("--limit", metavar="N", type=amount, text="Look at no more sessions than this.")
    parser.option("--waiting", text="Learn from what waits as the setting `learn` says, and tell only how much it was.")


def run(context: Context, options: Namespace) -> Outcome:
    """Learn."""
    others = options.sessions or options.write or options.dry_run or options.limit or options.model or options.no_model
    for one, other, both in (
        ("--write", "--dry-run", options.write and options.dry_run),
        ("--model", "--no-model", options.model and options.no_model),
        ("--waiting", "anything else", options.waiting and others),
    ):
        if both:
            message = f"Give {one} or {other}, not both."
            raise UsageError("usage", message, hint="`whet learn --help` explains it.")
    if options.waiting:
        return Outcome({"success": True, "learned_from": _learn_waiting(context)})
    answer = context.library.learn(
        *options.sessions,
        write=True if options.write else None,
        model="" if options.no_model else options.model,
        dry_run=options.dry_run,
        limit=options.limit,
    )
    return Outcome(answer, 1 if answer["failed"] and options.sessions else 0)


def _learn_waiting(context: Context) -> int:
    """Learn as hooks have it done, each session in the library of its project."""
    from contextlib import ExitStack

    from whet.interfaces.hooks.learning import give_up_in_time, learn_waiting

    state = context.library.place.state
    give_up_in_time(state)
    with ExitStack() as stack:

        def opened(directory: str) -> Library:
            return stack.enter_context(context.open_library(directory or None))

        return learn_waiting(state, opened, context.env)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each session, and what to do next."""
    if options.waiting:
        screen.said.append(f"{plural(answer['learned_from'], 'session')} looked at.")
        return
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
