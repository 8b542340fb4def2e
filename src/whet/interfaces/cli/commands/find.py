"""`whet find MESSAGE`: the skills that fit a message, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._message import configure_message, message_of, say_notes, share
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean, pad, width

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_FAINT = 0.05
"""What fits by less is shown only where nothing else is there."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Looks at names, triggers, descriptions and bodies. FIT is how probable it is that the skill is the right one "
        "for the message, WHY what speaks for it; skills that the message names (/name, $name) come first, and what "
        "fits by less than 5 % is shown only where nothing else is there. On a pipe, each skill is a line of name, fit "
        "from 0 to 1 and why, with tabs between them; --json has every skill that something speaks for.\n\n"
        "`whet detect` tells whether one of them would come up by itself, and, with --skill, why not. `whet feedback` "
        "tells when an answer was right or wrong, `whet eval triggers` measures many messages at once; `whet search` "
        "looks for skills that you do not have."
    )
    configure_message(parser)
    parser.option("-k", metavar="N", type=amount, default=5, text="At most this many (default 5).")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask the library."""
    library, message = context.library, message_of(options.message)
    with Bar(options) as bar:
        library.progress = bar
        return Outcome(library.find_relevant(message, options.k, caller=context.caller))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A table, the best first."""
    results = [item for item in answer["results"] if item["score"] >= _FAINT] or answer["results"]
    rows = [
        (item["name"], share(item["score"]) if screen.tty else f"{item['score']:.4f}", "; ".join(_why(item)))
        for item in results
    ]
    if screen.tty and rows:
        _table(rows, screen)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
    if not rows:
        screen.said.append("No skill fits.")
        screen.hints.append("`whet list` shows every skill, `whet search` looks for others.")
    elif results[0]["score"] < _FAINT:
        screen.said.append("No skill fits well.")
        screen.hints.append("`whet list` shows every skill, `whet search` looks for others, `whet feedback` teaches.")
    say_notes(answer, screen)


def _why(item: dict[str, Any]) -> list[str]:
    return ["only when asked for", *item["why"]] if item["explicit"] else item["why"]


def _table(rows: Sequence[tuple[str, str, str]], screen: Screen) -> None:
    """The rows under their headings; reasons go on below each other."""
    names = [clean(name) for name, *_ in rows]
    column = max(map(width, ("SKILL", *names)))
    indent = column + 7
    if indent > screen.columns // 2:
        column, indent = 0, 6
    screen.line(screen.paint(f"{pad('SKILL', column)}  FIT  {'WHY' if column else ''}".rstrip(), "bold"))
    for name, (_, fit, why) in zip(names, rows, strict=True):
        lead = f"{pad(name, column)}  {fit:<4} "
        if column and why:
            screen.paragraph(why, indent, lead)
        else:
            screen.line(lead.rstrip())
            screen.paragraph(why, indent)
