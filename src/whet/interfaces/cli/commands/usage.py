"""`whet usage`: how often skills are viewed, used and changed, and whether they helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.context import Command, Outcome
from whet.interfaces.cli.rendering import format_time
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.skill.values import Json


_COUNTS = ("views", "uses", "patches", "helped", "failed", "corrected")
_OUTCOMES = ("helped", "failed", "corrected")


def configure_usage(parser: Parser) -> None:
    parser.details = (
        "On a pipe, each skill (with NAME: each version) is a line with its counts and the time of the last event, "
        "with tabs between them. Importing a file again adds only what has grown since."
    )
    parser.positional("name", "NAME", "Only this skill, by version.", optional=True)
    parser.option("--outcome", metavar="O", choices=_OUTCOMES, text="Note how NAME did: helped, failed or corrected.")
    parser.option("--import", metavar="FILE", dest="source", text="Add the counts of a Hermes .usage.json.")


def run_usage(context: Context, options: Namespace) -> Outcome:
    """Ask for the counts, or take some over."""
    usage = context.library.usage
    if options.outcome is not None:
        if options.name is None:
            raise misuse("usage", "--outcome is about a NAME.")
        context.library.note_outcome(options.name, options.outcome)
    if options.source is not None:
        if options.name is not None:
            raise misuse("usage", "--import takes no NAME.")
        import os

        from whet.learning.usage_import import import_hermes

        answer = import_hermes(usage, os.path.abspath(os.path.expanduser(options.source)))
    elif options.name is None:
        answer = {"success": True, "skills": [total.to_json() for total in usage.totals()]}
    else:
        name = _recorded_name(context, options.name)
        whole, versions = usage.of(name), usage.versions(name)
        answer = {
            "success": True,
            "name": name,
            "total": whole.to_json() if whole else None,
            "versions": [total.to_json() for total in versions],
        }
    return Outcome({**answer, "report": [entry.to_json() for entry in usage.problems]})


def _recorded_name(context: Context, name: str) -> str:
    """The name under which a skill is counted; it may be gone. Raises NotFoundError for one that never was."""
    from whet.skill.names import key

    known = {key(total.skill): total.skill for total in context.library.usage.totals()}
    if key(name) in known:
        return known[key(name)]
    card = context.library.find(name)
    return known.get(key(card.qualified)) or known.get(key(card.full_name)) or known.get(card.key) or card.full_name


def render_usage(answer: Json, screen: Screen, options: Namespace) -> None:
    """A table for a terminal, lines for a program."""
    if options.source is not None:
        screen.say(f"Took over the counts of {plural(answer['imported'], 'skill')}.")
        screen.say(*(f"Left out {item['skill']}: {item['reason']}" for item in answer["skipped"]))
    elif options.name is not None:
        rows = [
            (total["version"], *_count_cells(total), format_time(screen, total["last"]), total["digest"])
            for total in answer["versions"]
        ]
        screen.grid(("VERSION", *map(str.upper, _COUNTS), "LAST", "DIGEST"), rows)
        if not rows:
            screen.say(f"Nothing is recorded about {answer['name']} yet.")
    else:
        rows = [
            (total["skill"], *_count_cells(total), format_time(screen, total["last"])) for total in answer["skills"]
        ]
        screen.grid(("SKILL", *map(str.upper, _COUNTS), "LAST"), rows)
        if not rows:
            screen.say("Nothing is recorded yet.")
    for entry in answer["report"]:
        screen.say(f"{entry['severity']}: {entry['message']} [{entry['code']}]")


def _count_cells(total: Json) -> tuple[str, ...]:
    return tuple(str(total[name]) for name in _COUNTS)


COMMANDS = {"usage": Command(configure_usage, run_usage, render_usage)}
