"""`whet roots`: where skills are looked for, and what was found there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "The root that comes first wins when two skills have the same name."


def run(context: Context, _options: Namespace) -> Outcome:
    """Ask for the roots."""
    return Outcome(context.library.roots())


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A table."""
    rows = []
    for root in answer["roots"]:
        scope = f"plugin {root['namespace']}" if root["namespace"] else root["scope"]
        state = "missing" if not root["exists"] else "trusted" if root["trusted"] else "not trusted"
        rows.append((scope, root["client"], str(root["skills"]), state, screen.place(root["path"])))
    if rows:
        screen.table(("SCOPE", "CLIENT", "SKILLS", "STATE", "PATH"), rows)
    if any(not root["trusted"] and root["skills"] for root in answer["roots"]):
        screen.hints.append("Look at the project's skills, then run `whet trust`.")
