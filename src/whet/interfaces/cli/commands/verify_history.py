"""`whet verify-history`: a proof that nothing in the history was changed, dropped or slipped in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Every entry is bound to the one before it, and every content is kept under its digest. Prints the digest that "
        "the whole history amounts to. Exits with 1 when something does not fit."
    )


def run(context: Context, _options: Namespace) -> Outcome:
    """Prove it."""
    answer = context.library.changes.verify()
    return Outcome(answer, 0 if answer["valid"] else 1)


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The digest, or every problem in a line."""
    for problem in answer["problems"]:
        where = f"entry {problem['entry']}: " if problem["entry"] else ""
        severity = screen.paint("error", "red")
        screen.line(f"{where}{severity}: {clean(problem['message'])} [{problem['code']}]")
    count = "1 entry" if answer["entries"] == 1 else f"{answer['entries']:,} entries"
    if not answer["valid"]:
        screen.said.append(f"The history is not whole: {count}, {plural(len(answer['problems']), 'problem')}.")
        screen.hints.append("Restore Whet's state directory from a copy; skills themselves are not affected.")
    elif answer["entries"]:
        screen.line(answer["lineage"])
        screen.said.append(f"The history is whole: {count}.")
    else:
        screen.said.append("The history has no entries yet.")
