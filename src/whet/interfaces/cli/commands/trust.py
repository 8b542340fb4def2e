"""`whet trust`: let a repository's skills in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Skills of a repository tell your agents what to do, so they are not loaded before you have looked at them. "
        "Trust holds for the repository around the working directory, in all of its worktrees."
    )
    parser.option("--list", text="Show what is trusted instead.")


def run(context: Context, options: Namespace) -> Outcome:
    """Trust the repository, or tell what is trusted."""
    return Outcome(context.library.trusted() if options.list else context.library.trust())


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table of what is trusted; a sentence about what was decided."""
    if not options.list:
        screen.said.append(_decision(answer, screen))
    elif answer["trusted"]:
        screen.table(("SINCE", "PATH"), [(item["since"], screen.place(item["path"])) for item in answer["trusted"]])
    else:
        screen.said.append("No repository is trusted.")


def _decision(answer: dict[str, Any], screen: Screen) -> str:
    verb = "is trusted now" if answer["changed"] else "was trusted already"
    names = answer["skills"]
    return f"{screen.place(answer['project'])} {verb}: {plural(len(names), 'skill')}{_names(names)}."


def _names(names: list[str]) -> str:
    return f" ({', '.join(names[:10])}{', …' if len(names) > 10 else ''})" if names else ""
