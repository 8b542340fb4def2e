"""`whet learn usage`: how often skills are viewed, used and changed, and whether they helped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.rendering import format_time, render_report
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.learning.usage import SkillUsage, Total, UsageTotals


_COUNTS = ("views", "uses", "patches", "helped", "failed", "corrected")
_DEAD = 10
"""Number of dead skills that are shown."""
_OUTCOMES = ("helped", "failed", "corrected")


def configure_usage(parser: Parser) -> None:
    parser.details = (
        "After the table, Whet names skills that cost tokens in every prompt and do nothing: skills that were never "
        "loaded in 14 days or more, and skills that failed and never helped. It says how many tokens each costs, and "
        "which command removes it from prompts.\n\n"
        "In a pipe, each line has a skill (with NAME: a version), its counts and the time of the last event, "
        "separated by tabs."
    )
    parser.positional("name", "NAME", "Only this skill, version by version.", optional=True)
    parser.option("--outcome", metavar="O", choices=_OUTCOMES, text="Record how NAME did.")


def run_usage(context: Context, options: Namespace) -> Answer:
    """Show the counts, or record an outcome."""
    from whet.learning.usage import SkillUsage

    usage = context.library.learning.usage
    if options.outcome is not None:
        if options.name is None:
            raise misuse("learn usage", "`--outcome` needs a NAME.")
        context.library.learning.note_outcome(options.name, options.outcome)
    if options.name is None:
        return Answer(context.library.learning.usage_totals(), render_usage)
    name, skills = _find_counted(context, options.name)
    whole, versions = usage.of(*skills), usage.versions(*skills)
    found = SkillUsage(
        name,
        whole and whole._replace(skill=name),
        tuple(total._replace(skill=name) for total in versions),
        usage.problems,
    )
    return Answer(found, render_skill_usage)


def _find_counted(context: Context, name: str) -> tuple[str, tuple[str, ...]]:
    """Return a skill's name, and its keys in the counts; it may be gone. Raises NotFoundError for an unknown one."""
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


def render_usage(usage: UsageTotals, screen: Screen, _options: Namespace) -> None:
    """Print a table for a terminal, lines for a program."""
    rows = [(total.skill, *_count_cells(total), format_time(screen, total.last)) for total in usage.skills]
    screen.grid(("SKILL", *map(str.upper, _COUNTS), "LAST"), rows, "Nothing is recorded yet.")
    render_report(usage.report, screen)
    if usage.dead:
        total = sum(skill.tokens for skill in usage.dead)
        cost = "costs" if len(usage.dead) == 1 else "cost"
        dead = plural(len(usage.dead), "skill")
        screen.say(f"{dead} {cost} about {total:,} tokens in every prompt and did not help:")
        for skill in usage.dead[:_DEAD]:
            never = f"never loaded, known for {plural(skill.days, 'day')}"
            why = never if skill.reason == "never-loaded" else "loaded, and never helped"
            screen.say(f"  {skill.name}: {why}, {skill.tokens:,} tokens; `{skill.command}` removes it from prompts.")
        if len(usage.dead) > _DEAD:
            screen.say(f"  and {len(usage.dead) - _DEAD:,} more; `--json` lists all of them.")


def render_skill_usage(usage: SkillUsage, screen: Screen, _options: Namespace) -> None:
    """Print the counts of one skill, by version."""
    rows = [
        (total.version, *_count_cells(total), format_time(screen, total.last), total.digest) for total in usage.versions
    ]
    heads = ("VERSION", *map(str.upper, _COUNTS), "LAST", "DIGEST")
    screen.grid(heads, rows, f"Nothing is recorded about {usage.name} yet.")
    render_report(usage.report, screen)


def _count_cells(total: Total) -> tuple[str, ...]:
    return tuple(str(getattr(total, name)) for name in _COUNTS)


COMMANDS = {"learn usage": Command(configure_usage, run_usage)}
