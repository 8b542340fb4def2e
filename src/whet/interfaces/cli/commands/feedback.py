"""`whet feedback`: say whether a message was for a skill; later searches take it into account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._showing import grid, moment
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_ACTIONS = ("fits", "does_not_fit", "forget", "list")


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "`whet feedback NAME MESSAGE --fits` makes the message an example of the skill, --does-not-fit a "
        "counterexample; the latest word on a message counts. --forget takes it back, for all messages without "
        "MESSAGE. `whet feedback [NAME] --list` shows what was said; on a pipe, each is a line of time, skill, fits "
        "or does not fit, who said it and the message, with tabs between them. Secrets in messages are hidden."
    )
    parser.positional("name", "NAME", "The skill.", optional=True)
    parser.positional("message", "MESSAGE", "What the user said.", optional=True)
    parser.option("--fits", text="The message is for this skill.")
    parser.option("--does-not-fit", text="The message is not for this skill.")
    parser.option("--forget", text="Take back what was said.")
    parser.option("--list", text="Show what was said.")


def run(context: Context, options: Namespace) -> Outcome:
    """Do it."""
    _check(options)
    library = context.library
    if options.list:
        return Outcome(library.list_feedback(options.name))
    if options.forget:
        return Outcome(library.forget_feedback(options.name, options.message))
    return Outcome(library.feedback(options.name, options.message, fits=options.fits))


def _check(options: Namespace) -> None:
    """Raise UsageError when the options do not go with each other or with the arguments."""
    given = [action for action in _ACTIONS if getattr(options, action)]
    message = ""
    if len(given) != 1:
        message = "Give one of --fits, --does-not-fit, --forget and --list."
    elif options.list and options.message is not None:
        message = f"{options.message!r} is one argument too many."
    elif not options.list and options.name is None:
        message = "NAME is missing."
    elif not options.list and not options.forget and options.message is None:
        message = "MESSAGE is missing."
    if message:
        raise UsageError("usage", message, hint="`whet feedback --help` explains it.")


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table, or a sentence."""
    if options.list:
        rows = [
            (
                moment(screen, item["time"]),
                item["skill"],
                "fits" if item["fits"] else "does not fit",
                item["origin"],
                item["message"],
            )
            for item in answer["feedback"]
        ]
        grid(screen, ("WHEN", "SKILL", "VERDICT", "WHO", "MESSAGE"), rows)
        if not rows:
            screen.said.append("Nothing was said yet.")
        return
    known = f"{plural(answer['examples'], 'example')}, {plural(answer['counterexamples'], 'counterexample')}"
    if options.forget:
        screen.said.append(f"Forgot {plural(answer['forgotten'], 'remark')}; {answer['name']} has {known}.")
    else:
        done = "Noted" if answer["changed"] else "Known already"
        screen.said.append(f"{done}; {answer['name']} has {known}.")
