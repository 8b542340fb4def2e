"""`whet list`: names and descriptions, by category; on a pipe one line for each skill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import number
from whet.interfaces.cli.text import clean, pad, plural, width

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_NAME_SHARE = 0.4
"""Of the terminal's width; names longer than that do not push the descriptions of the others to the right."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "On a pipe, each skill is a line with its name, a tab and its description."
    parser.option("--category", metavar="C", text="Only this category and those below it.")
    parser.option("--query", metavar="Q", text="Only skills that match these words, the best first.")
    parser.option("--limit", metavar="N", type=number, text="At most this many.")
    parser.option("--cursor", metavar="CURSOR", text="Go on behind this one, as the list before told.")
    parser.option("--all", text="Also the hidden ones, with the reason.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for tier 1."""
    return Outcome(
        context.library.list(
            options.category,
            options.query,
            options.limit,
            options.cursor,
            caller=context.caller,
            include_hidden=options.all,
        )
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table for a terminal, lines for a program."""
    skills = answer["skills"]
    if screen.tty:
        _table(skills, answer["categories"], screen, grouped=not options.query)
    else:
        for skill in skills:
            cells = [
                skill["name"],
                skill["description"],
                *([f"hidden: {skill['hidden']}"] if "hidden" in skill else []),
            ]
            screen.line("\t".join(map(clean, cells)))
    if not skills:
        screen.said.append(answer["hint"])
    screen.said.extend(f"The root {path} does not exist." for path in answer.get("missing_roots", ()))
    if answer["next"]:
        screen.said.append(f"{answer['count']:,} of {answer['total']:,}; more with --cursor '{answer['next']}'.")
    if aside := "; ".join(_aside(answer)):
        screen.said.append(f"{aside}.")


def _table(skills: list[dict[str, Any]], categories: list[dict[str, Any]], screen: Screen, *, grouped: bool) -> None:
    """By category, or in the order they come."""
    by_category: dict[str, list[dict[str, Any]]] = {}
    for skill in skills:
        by_category.setdefault(skill["category"] if grouped else "", []).append(skill)
    descriptions = {category["name"]: category["description"] for category in categories}
    grouped = len(by_category) > 1
    indent = "  " if grouped else ""
    names = [width(clean(skill["name"])) for skill in skills]
    most = int(screen.columns * _NAME_SHARE)
    column = max((columns for columns in names if columns <= most), default=0)
    for number_, category in enumerate(sorted(by_category)):
        if grouped and number_:
            screen.line()
        if grouped and category:
            about = descriptions.get(category, "")
            title = clean(category)
            about = f"  {screen.fit(about, width(title) + 2)}" if about else ""
            screen.line(screen.paint(title, "bold") + screen.paint(about, "dim"))
        for skill in by_category[category]:
            screen.line(indent + _row(skill, column, len(indent), screen))


def _row(skill: dict[str, Any], column: int, indent: int, screen: Screen) -> str:
    name = pad(clean(skill["name"]), column)
    mark = f"[{skill['hidden']}] " if "hidden" in skill else "" if skill["ready"] else "[not ready] "
    description = screen.fit(skill["description"], indent + width(name) + 2 + len(mark))
    marked = screen.paint(mark, "dim" if "hidden" in skill else "yellow")
    return f"{screen.paint(name, 'cyan')}  {marked}{description}".rstrip()


def _aside(answer: dict[str, Any]) -> Iterator[str]:
    """What is not in the list, and what to do about it."""
    if count := answer.get("waiting"):
        yield f"{plural(count, 'project skill')} waiting for trust (`whet trust`)"
    if count := answer.get("hidden"):
        yield f"{count:,} hidden (`whet list --all`)"
    if count := answer.get("shadowed"):
        yield f"{count:,} shadowed (`whet doctor`)"
    if count := answer.get("left_out"):
        yield f"{count:,} left out (`whet doctor`)"
