"""`whet outdated [NAME...]`: what has something newer at its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._plans import here_option
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import plural, short_revision

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Exits with 1 when something is newer or gone, with 4 when a source does not answer. Contents are compared, "
        "not version numbers."
    )
    parser.positional("names", "NAME", "The skills (default: all that are installed).", many=True, optional=True)
    here_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Ask the sources."""
    with Bar(options) as bar:
        context.library.progress = bar
        answer = context.library.outdated(*options.names, here=options.here)
    states = {item["status"] for item in answer["skills"]}
    return Outcome(answer, 1 if answer["outdated"] or "gone" in states else 4 if "unavailable" in states else 0)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table of what is not current; a sentence about the rest."""
    skills = answer["skills"]
    rows = [_row(item) for item in skills if item["status"] != "current"]
    if rows:
        screen.table(("NAME", "STATUS", "NOW", "LATEST", "NOTE"), rows)
    current = sum(item["status"] == "current" for item in skills)
    counts = [f"{plural(answer['outdated'], 'skill')} outdated", f"{current} current"]
    if unknown := len(skills) - current - answer["outdated"]:
        counts.append(f"{unknown} unknown")
    screen.said.append(f"{', '.join(counts)}." if skills else "Nothing is installed.")
    followed = [item for item in skills if item["outdated"] and not item["pinned"]]
    if followed:
        update = "whet update --here" if options.here else "whet update"
        pinned = ", except what is pinned" if len(followed) < answer["outdated"] else ""
        screen.hints.append(f"`{update}` brings them in{pinned}; `{update} --dry-run` shows what would change.")


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    latest = item["latest"] or {"version": "", "revision": ""}
    marks = [word for word in ("pinned", "edited", "missing") if item[word]]
    note = "; ".join(filter(None, (", ".join(marks), item["reason"])))
    now = item["version"] or short_revision(item["revision"])
    newer = latest["version"] if latest["version"] not in ("", item["version"]) else short_revision(latest["revision"])
    return item["name"], item["status"], now, newer, note
