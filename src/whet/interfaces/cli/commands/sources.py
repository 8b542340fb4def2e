"""`search`, `inspect`, `tap`: skills that others offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.terminal import progress
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.api.sources import TapInfo
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.sources.search import SearchResult


def configure_search(parser: Parser) -> None:
    parser.details = (
        "Searches all taps at once (`whet sources list`), or one source. Results are cached for an hour. To search "
        "your own skills, use `whet find`."
    )
    text = "Words to look for; without them, everything that the sources list."
    parser.positional("query", "QUERY", text, many=True, optional=True)
    parser.option("--source", metavar="SOURCE", default="", text="Search only this tap or source.")
    parser.option("--limit", metavar="N", read=amount, default=20, text="Show at most N skills (default 20).")
    parser.option("--offline", text="Search only cached results.")


def run_search(context: Context, options: Namespace) -> Answer:
    query = " ".join(options.query)
    with progress(context, options) as library:
        found = library.sources.search(query, options.limit, source=options.source, offline=options.offline)
    return Answer(found, render_search)


def render_search(found: SearchResult, screen: Screen, _options: Namespace) -> None:
    if found.skills:
        rows = [(skill.install, skill.trust, skill.offer.description) for skill in found.skills]
        screen.table(("INSTALL", "TRUST", "DESCRIPTION"), rows)
    if found.asked:  # otherwise the notes say why
        screen.say(f"{plural(len(found.skills), 'skill')} found in {plural(found.asked, 'source')}.")
    screen.say(*(note.message for note in found.notes))
    if found.skills:
        screen.hint("`whet show` shows one in full; `whet install` installs it.")
    else:
        screen.hint("`whet sources list` shows the sources; `whet sources add` adds one.")


def configure_add(parser: Parser) -> None:
    parser.details = (
        "From then on, `whet search` also searches this source, and `whet install NAME:SKILL` installs from it."
    )
    parser.positional("name", "NAME", "A name for the source.")
    parser.positional("source", "SOURCE", "A source, as for `whet install`.")


def configure_remove(parser: Parser) -> None:
    parser.details = "Skills that you installed from it stay."
    parser.positional("name", "NAME", "The name from `whet sources list`.")


def render_taps(taps: Sequence[TapInfo], screen: Screen, _options: Namespace) -> None:
    screen.table(("NAME", "TRUST", "SOURCE"), [(tap.name, tap.trust, tap.shown) for tap in taps])


def render_added(tap: TapInfo, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Added the source {tap.name}: {tap.shown}.")
    screen.say(*(note.message for note in tap.notes))


def render_removed(tap: TapInfo, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Removed the source {tap.name}: {tap.shown}.")


COMMANDS = {
    "sources list": Command(
        lambda _: None, lambda c, _: Answer(c.library.sources.list_taps(), render_taps, key="taps")
    ),
    "sources add": Command(
        configure_add, lambda c, o: Answer(c.library.sources.add_tap(o.name, o.source), render_added, key="tap")
    ),
    "sources remove": Command(
        configure_remove, lambda c, o: Answer(c.library.sources.remove_tap(o.name), render_removed, key="tap")
    ),
    "sources search": Command(configure_search, run_search),
}
