"""`whet diff NAME`: what changed between two versions of a skill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import number_given
from whet.interfaces.cli.commands._showing import difference
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Without A, from the version before the present one; without B, to what is there now. Versions are counted by "
        "the history (`whet history NAME`). Control characters are printed as escapes; with --json the text is exact."
    )
    parser.positional("name", "NAME", "The skill.")
    parser.positional("one", "A", "From this version.", optional=True)
    parser.positional("other", "B", "To this version.", optional=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Compare."""
    given = [text for text in (options.one, options.other) if text is not None]
    return Outcome(
        context.library.changes.diff(options.name, *(number_given(text, "a version", "diff") for text in given))
    )


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The difference."""
    difference(screen, answer["text"])
    if not answer["text"]:
        screen.said.append("There is no difference.")
