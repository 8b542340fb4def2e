"""`whet feedback`: say whether a message was for a skill; later searches take it into account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._message import message_of, say_notes
from whet.interfaces.cli.commands._showing import grid, moment
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_ACTIONS = ("fits", "does_not_fit", "forget", "list")
_NO_SKILL = "(none)"
"""In place of a name, for a message that no skill should come up for."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "`whet feedback NAME MESSAGE --fits` makes the message an example of the skill, --does-not-fit a "
        "counterexample; the latest word on a message counts. `whet feedback --none MESSAGE` keeps every skill away "
        "from such messages. --forget takes it back, for all messages without MESSAGE. `whet feedback [NAME] --list` "
        "shows what was said; on a pipe, each is a line of time, skill, fits or does not fit, who said it and the "
        "message, with tabs between them. Secrets in messages are hidden."
    )
    parser.positional("name", "NAME", "The skill; with --none, left out.", optional=True)
    parser.positional(
        "message", "MESSAGE", "What the user said; - reads it from standard input.", many=True, optional=True
    )
    parser.option("--fits", text="The message is for this skill.")
    parser.option("--does-not-fit", text="The message is not for this skill.")
    parser.option("--none", text="The message is for no skill; or, with --forget and --list, those that are.")
    parser.option("--forget", text="Take back what was said.")
    parser.option("--list", text="Show what was said.")


def run(context: Context, options: Namespace) -> Outcome:
    """Do it."""
    name, words = options.name, options.message
    if options.none:
        words, name = [*filter(None, [name]), *words], None
    _check(options, name, words)
    library = context.library
    if options.list:
        return Outcome(library.list_feedback("" if options.none else name))
    message = message_of(words) if words else None
    if options.forget:
        return Outcome(library.forget_feedback(name, message))
    return Outcome(library.feedback(name, message or "", fits=options.fits))


def _check(options: Namespace, name: str | None, words: list[str]) -> None:
    """Raise UsageError when the options do not go with each other or with the arguments."""
    given = [action for action in _ACTIONS if getattr(options, action)]
    message = ""
    if len(given) > 1 or not (given or options.none):
        message = "Give one of --fits, --does-not-fit, --none, --forget and --list."
    elif options.none and (options.fits or options.does_not_fit):
        message = "--none goes with --forget and --list only."
    elif options.list and words:
        message = f"{words[0]!r} is one argument too many."
    elif not options.list and not options.none and name is None:
        message = "NAME is missing."
    elif not options.list and not options.forget and not words:
        message = "MESSAGE is missing."
    if message:
        raise UsageError("usage", message, hint="`whet feedback --help` explains it.")


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table, or a sentence."""
    if options.list:
        rows = [
            (
                moment(screen, item["time"]),
                item["skill"] or _NO_SKILL,
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
    if options.forget:
        screen.said.append(f"Forgot {plural(answer['forgotten'], 'remark')}; {_known(answer)}.")
        return
    screen.said.append(f"{'Noted' if answer['changed'] else 'Known already'}; {_known(answer)}.")
    say_notes(answer, screen)


def _known(answer: dict[str, Any]) -> str:
    """What is known of a skill, or of messages for none."""
    if answer["name"] is None:
        return f"{plural(answer['counterexamples'], 'message')} for no skill"
    known = f"{plural(answer['examples'], 'example')}, {plural(answer['counterexamples'], 'counterexample')}"
    return f"{answer['name']} has {known}"
