"""`search`, `inspect`, `tap`: skills that others offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import UsageError
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import DECISIONS, VERDICTS, render_findings
from whet.interfaces.cli.terminal import progress
from whet.interfaces.cli.text import clean, plural, short_revision

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from whet.api.sources import TapInfo
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.sources.install.installer import InspectedSkill, Inspection
    from whet.sources.search import SearchResult


def configure_search(parser: Parser) -> None:
    parser.details = (
        "Asks all taps at once (`whet tap list`), or one source. What a source has is remembered for an hour. To look "
        "for skills you have, use `whet list --query`."
    )
    parser.positional("query", "QUERY", "What to look for.", many=True)
    parser.option("--source", metavar="SOURCE", default="", text="Look in this tap or source only.")
    parser.option("--limit", metavar="N", type=amount, default=20, text="Show at most so many (default 20).")
    parser.option("--offline", text="Look only at what is remembered.")


def run_search(context: Context, options: Namespace) -> Answer:
    query = " ".join(options.query)
    with progress(context, options) as library:
        found = library.sources.search(query, options.limit, source=options.source, offline=options.offline)
    return Answer(found, render_search)


def render_search(found: SearchResult, screen: Screen, _options: Namespace) -> None:
    if found.skills:
        rows = [(skill.install, skill.trust, skill.offer.description) for skill in found.skills]
        screen.table(("INSTALL", "TRUST", "DESCRIPTION"), rows)
    screen.say(f"{plural(len(found.skills), 'skill')} found in {plural(found.asked, 'source')}.")
    screen.say(*(note.message for note in found.notes))
    if found.skills:
        screen.hint("`whet inspect` shows one in full, `whet install` takes it in.")
    else:
        screen.hint("`whet tap list` shows where was looked; `whet tap add` adds a source.")


def configure_inspect(parser: Parser) -> None:
    parser.details = (
        "Lists the skills of a source. Those that are named, or the only one there is, are fetched and scanned: their "
        "files, what the guard found and what the policy would do. Nothing is written."
    )
    parser.positional("source", "SOURCE", "A source, as `whet install` takes it.")
    parser.option("--skill", metavar="S", action="append", default=[], text="Look into this skill; may be given again.")


def run_inspect(context: Context, options: Namespace) -> Answer:
    with progress(context, options) as library:
        return Answer(library.sources.inspect(options.source, options.skill), render_inspect)


def render_inspect(found: Inspection, screen: Screen, _options: Namespace) -> None:
    """The list, or the skills that were looked into."""
    for skill in found.inspected:
        _render_inspected(skill, screen)
    if not found.inspected:
        rows = [(offer.name, offer.version, offer.path, offer.description) for offer in found.skills]
        screen.table(("NAME", "VERSION", "PATH", "DESCRIPTION"), rows)
    revision = f" at {short_revision(found.revision)}" if found.revision else ""
    shown = f"{clean(found.shown)}{clean(revision)}, a {found.trust} source"
    screen.say(f"{shown}: {plural(len(found.skills), 'skill')}.")
    screen.say(*(note.message for note in found.notes))


def _render_inspected(skill: InspectedSkill, screen: Screen) -> None:
    offer, (scan, decision) = skill.offer, skill.judgement
    screen.line(screen.paint(clean(f"{offer.name} {offer.version}".rstrip()), "bold"))
    screen.paragraph(offer.description, 2)
    for file in skill.files:
        mark = "link" if file.link else "run" if file.executable else ""
        screen.line(f"  {file.size:>9,}  {mark:<4}  {clean(file.path)}")
    verdict = screen.paint(decision.verdict, VERDICTS[decision.verdict])
    action = screen.paint(decision.action, DECISIONS[decision.action])
    screen.line(f"  {verdict}, {action}: {clean(decision.reason)}")
    render_findings(scan.findings, offer.path, screen)


_TAP_ARGUMENTS = {"add": ("NAME", "SOURCE"), "remove": ("NAME",), "list": ()}


def configure_tap(parser: Parser) -> None:
    parser.details = (
        "A tap is searched by `whet search`, and its skills are installed as NAME:SKILL. `whet tap add NAME SOURCE`, "
        "`whet tap remove NAME`, `whet tap list`."
    )
    parser.positional("action", "ACTION", "What to do.", choices=tuple(_TAP_ARGUMENTS))
    parser.positional("words", "NAME", "The name, and for `add` the source.", many=True, optional=True)


def run_tap(context: Context, options: Namespace) -> Answer:
    wanted = _TAP_ARGUMENTS[options.action]
    if len(options.words) != len(wanted):
        takes = " and ".join(wanted) or "nothing else"
        usage = " ".join(("whet tap", options.action, *wanted))
        raise UsageError("usage", f"`whet tap {options.action}` takes {takes}.", hint=f"Usage: {usage}")
    sources = context.library.sources
    if options.action == "list":
        return Answer(sources.list_taps(), render_taps, key="taps")
    change = sources.add_tap if options.action == "add" else sources.remove_tap
    return Answer(change(*options.words), render_tap, key="tap")


def render_taps(taps: Sequence[TapInfo], screen: Screen, _options: Namespace) -> None:
    screen.table(("NAME", "TRUST", "SOURCE"), [(tap.name, tap.trust, tap.shown) for tap in taps])


def render_tap(tap: TapInfo, screen: Screen, options: Namespace) -> None:
    done = "is a tap now" if options.action == "add" else "is no tap any more"
    screen.say(f"{tap.name} ({tap.shown}) {done}.")


COMMANDS = {
    "search": Command(configure_search, run_search),
    "inspect": Command(configure_inspect, run_inspect),
    "tap": Command(configure_tap, run_tap),
}
