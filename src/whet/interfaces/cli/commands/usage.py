"""`whet usage`: how often skills are viewed, used and changed, and whether they helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.context import Command
from whet.interfaces.cli.rendering import format_time
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


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


def run_usage(context: Context, options: Namespace) -> Answer:
    """Ask for the counts, or take some over."""
    usage = context.library.learning.usage
    if options.outcome is not None:
        if options.name is None:
            raise misuse("usage", "--outcome is about a NAME.")
        context.library.learning.note_outcome(options.name, options.outcome)
    if options.source is not None:
        if options.name is not None:
            raise misuse("usage", "--import takes no NAME.")
        import os

        from whet.learning.usage_import import import_hermes

        answer = import_hermes(usage, os.path.abspath(os.path.expanduser(options.source))).to_json()
    elif options.name is None:
        answer = {"success": True, "skills": [total.to_json() for total in usage.named(_names(context))]}
    else:
        name, skills = _find_counted(context, options.name)
        whole, versions = usage.of(*skills), usage.versions(*skills)
        answer = {
            "success": True,
            "name": name,
            "total": whole._replace(skill=name).to_json() if whole else None,
            "versions": [total._replace(skill=name).to_json() for total in versions],
        }
    return {**answer, "report": [entry.to_json() for entry in usage.problems]}


def _names(context: Context) -> dict[str, str]:
    """Id -> what a person calls the skill, with its scope."""
    return {str(card.id): card.qualified for card in context.library.catalogue.cards}


def _find_counted(context: Context, name: str) -> tuple[str, tuple[str, ...]]:
    """A skill's name, and what it is counted as; it may be gone. Raises NotFoundError for one that never was."""
    from whet.learning.usage import counted_as
    from whet.skill.names import key

    try:
        card = context.library.card(name)
    except WhetError:
        found = [total.skill for total in context.library.learning.usage.totals()]
        found = [skill for skill in found if key(name) in (key(skill), key(skill.rpartition("/")[2]))]
        if not found:
            raise
        return found[0].rpartition("/")[2], tuple(found)
    skills = counted_as(card)
    return (card.qualified if context.library.learning.usage.of(*skills) else card.full_name), skills


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
        screen.grid(
            ("VERSION", *map(str.upper, _COUNTS), "LAST", "DIGEST"),
            rows,
            f"Nothing is recorded about {answer['name']} yet.",
        )
    else:
        rows = [
            (total["skill"], *_count_cells(total), format_time(screen, total["last"])) for total in answer["skills"]
        ]
        screen.grid(("SKILL", *map(str.upper, _COUNTS), "LAST"), rows, "Nothing is recorded yet.")
    for entry in answer["report"]:
        screen.say(f"{entry['severity']}: {entry['message']} [{entry['code']}]")


def _count_cells(total: Json) -> tuple[str, ...]:
    return tuple(str(total[name]) for name in _COUNTS)


COMMANDS = {"usage": Command(configure_usage, run_usage, render_usage)}
