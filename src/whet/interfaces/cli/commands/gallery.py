"""`gallery`: the skills that ship with Whet, added one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.commands.install import run_install
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.plans import force_option, plan_options
from whet.interfaces.cli.rendering import VERDICTS, render_text
from whet.interfaces.cli.terminal import can_ask
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.sources.gallery import GalleryPage, GallerySkill

_STYLES: dict[str, Style] = {"added": "green", "edited": "green", "outdated": "yellow", "missing": "red"}
_HINTS = {
    "available": "`whet gallery add {}` adds it.",
    "outdated": "`whet update {}` updates it.",
    "missing": "`whet install` restores it.",
}


def configure_list(parser: Parser) -> None:
    parser.details = (
        "A skill of the gallery does not appear in lists, prompts or searches until you add it. Then it is an "
        "installed skill like any other: your clients find it, `whet update` installs what a newer Whet ships, and "
        "your edits are kept."
    )


def render_gallery(skills: Sequence[GallerySkill], screen: Screen, _options: Namespace) -> None:
    """Print a line for each skill."""
    rows = [(skill.name, skill.state, skill.description) for skill in skills]
    screen.table(("NAME", "STATE", "DESCRIPTION"), rows)
    screen.say(f"{sum(skill.added for skill in skills)} of {plural(len(skills), 'skill')} added.")
    screen.hint("`whet gallery show NAME` shows one; `whet gallery add NAME` adds it.")


def configure_show(parser: Parser) -> None:
    parser.positional("name", "NAME", "The skill.")


def render_page(page: GalleryPage, screen: Screen, _options: Namespace) -> None:
    """Print a skill's description, its state, its files, and its instructions as they ship."""
    skill, decision = page.skill, page.inspected.judgement.decision
    state = screen.paint(skill.state, _STYLES.get(skill.state, "dim"))
    screen.line(f"{screen.paint(clean(skill.name), 'bold', 'cyan')} {clean(skill.version)}  {state}")
    screen.paragraph(skill.description)
    for file in page.inspected.files:
        screen.line(f"  {file.size:>9,}  {'run' if file.executable else '':<4}{clean(file.path)}")
    screen.line(f"  {screen.paint(decision.verdict, VERDICTS[decision.verdict])}")
    screen.line()
    render_text(page.inspected.instructions, screen)
    if hint := _HINTS.get(skill.state):
        screen.hint(hint.format(skill.name))


def configure_add(parser: Parser) -> None:
    parser.details = (
        "Installs them into ~/.agents/skills, or with --here into the project. Without NAME, you choose from a list on "
        "a terminal."
    )
    parser.positional("names", "NAME", "The skills.", many=True, optional=True)
    plan_options(parser)


def run_add(context: Context, options: Namespace) -> Answer:
    """Install skills from the gallery."""
    if not options.names and not can_ask(options):
        raise misuse("gallery add", "NAME is missing.")
    chosen = getattr(options, "skill", [])  # chosen by a person if no name was given
    options.sources, options.skill = ["gallery:whet"], options.names or chosen
    options.all, options.frozen, options.force, options.min_age = False, False, False, None
    return run_install(context, options)


def configure_remove(parser: Parser) -> None:
    parser.details = "`whet undo` brings them back, with your edits."
    parser.positional("names", "NAME", "The skills.", many=True)
    force_option(parser)
    plan_options(parser, override=False)


def run_remove(context: Context, options: Namespace) -> Answer:
    """Remove skills that were added from the gallery, and no others."""
    from whet.interfaces.cli.commands import write
    from whet.sources.gallery import check_added

    check_added(context.library.sources.gallery(), options.names)
    vars(options).update(archive=False, stage=False)
    return write.run_remove(context, options)


COMMANDS = {
    "gallery": Command(configure_list, lambda c, _: Answer(c.library.sources.gallery(), render_gallery, key="skills")),
    "gallery show": Command(configure_show, lambda c, o: Answer(c.library.sources.show_gallery(o.name), render_page)),
    "gallery add": Command(configure_add, run_add),
    "gallery remove": Command(configure_remove, run_remove),
}
