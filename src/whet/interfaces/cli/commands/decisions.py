"""`trust`, `enable`, `pin` and their opposites."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from whet.errors import RefusedError
from whet.interfaces.cli.arguments import reason_option, skill_argument
from whet.interfaces.cli.context import Command
from whet.interfaces.cli.rendering import VERDICTS, render_findings
from whet.interfaces.cli.terminal import agree, can_ask
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.library.trust import SkillDecision
    from whet.values import Json


def configure_trust(parser: Parser) -> None:
    parser.details = (
        "Skills of a repository tell your agents what to do, so they are not loaded before you have looked at them. "
        "They are scanned first; where something is found, you are asked on a terminal. What the policy blocks stays "
        "hidden even then. Trust holds for the repository around the working directory, in all of its worktrees."
    )
    parser.option("--list", text="Show what is trusted instead.")
    parser.option("--review", text="Only scan its skills; trust nothing.")
    parser.option("--yes", text="Do not ask.")
    parser.exclude(("--list", "--review"))


def run_trust(context: Context, options: Namespace) -> Answer:
    """Trust the repository, or tell what is trusted."""
    library = context.library
    if options.list:
        return library.settings.trusted()
    if options.review:
        return library.guard.review()
    if can_ask(options):
        found = [item for item in library.guard.review().verdicts if item.scan.verdict != "safe"]
        if found and not _ask_trust(found):
            raise RefusedError("not-agreed", "The repository is not trusted.", hint="Nothing was changed.")
    return library.settings.trust()


def _ask_trust(found: list[SkillDecision]) -> bool:
    for item in found:
        sys.stderr.write(f"{clean(item.card.full_name)}: {item.scan.verdict}. {clean(item.decision.reason)}\n")
    return agree("Trust this repository? [y/N] ", default=False)


def render_trust(answer: Json, screen: Screen, options: Namespace) -> None:
    """A table of what is trusted; the verdicts; a sentence about what was decided."""
    if options.list:
        if answer["trusted"]:
            screen.table(("SINCE", "PATH"), [(item["since"], screen.place(item["path"])) for item in answer["trusted"]])
        else:
            screen.say("No repository is trusted.")
        return
    if options.review:
        for item in answer["verdicts"]:
            screen.line(f"{clean(item['name'])}: {screen.paint(item['verdict'], VERDICTS[item['verdict']])}")
            render_findings(item["findings"], item["path"], screen)
        screen.say(f"{plural(len(answer['verdicts']), 'skill')} scanned; nothing is decided.")
        return
    screen.say(_trust_message(answer, screen))
    unsafe = [item for item in answer["verdicts"] if item["verdict"] != "safe"]
    screen.say(*(f"{item['name']}: {item['verdict']}. {item['reason']}" for item in unsafe))
    if kept := [item["name"] for item in answer["verdicts"] if item["decision"] != "allow"]:
        screen.hint(f"{', '.join(kept)} stays hidden; `whet policy override NAME --reason R` lets it in.")


def _trust_message(answer: Json, screen: Screen) -> str:
    verb = "is trusted now" if answer["changed"] else "was trusted already"
    names = answer["skills"]
    return f"{screen.place(answer['project'])} {verb}: {plural(len(names), 'skill')}{_format_names(names)}."


def _format_names(names: list[str]) -> str:
    return f" ({', '.join(names[:10])}{', …' if len(names) > 10 else ''})" if names else ""


def configure_untrust(parser: Parser) -> None:
    parser.positional("path", "DIR", "A repository as `whet trust --list` shows it (default: this one).", optional=True)


def render_untrust(answer: Json, screen: Screen, _options: Namespace) -> None:
    verb = "is no longer trusted" if answer["changed"] else "was not trusted"
    screen.say(f"{screen.place(answer['project'])} {verb}.")


def _configure_surface(parser: Parser) -> None:
    skill_argument(parser)
    parser.option("--surface", metavar="S", default="", text="Only here, such as mcp or cli (default: everywhere).")


def render_enable(answer: Json, screen: Screen, _options: Namespace) -> None:
    where = f" on {answer['surface']}" if answer["surface"] else ""
    verb = "is offered again" if answer["changed"] else "was not switched off"
    screen.say(f"{answer['name']} {verb}{where}.")
    if answer["hint"]:
        screen.hint(answer["hint"])


def render_disable(answer: Json, screen: Screen, _options: Namespace) -> None:
    where = f" on {answer['surface']}" if answer["surface"] else ""
    verb = "is not offered any more" if answer["changed"] else "was switched off already"
    screen.say(f"{answer['name']} {verb}{where}.")
    option = f" --surface {answer['surface']}" if answer["surface"] else ""
    screen.hint(f"`whet enable {answer['name']}{option}` takes it back.")


def configure_pin(parser: Parser) -> None:
    skill_argument(parser)
    reason_option(parser)


def render_pin(answer: Json, screen: Screen, _options: Namespace) -> None:
    screen.say(f"{answer['name']} {'is' if answer['changed'] else 'was already'} pinned.")


def configure_unpin(parser: Parser) -> None:
    skill_argument(parser, "The skill, which may be gone by now.")


def render_unpin(answer: Json, screen: Screen, _options: Namespace) -> None:
    screen.say(f"{answer['name']} {'is no longer' if answer['changed'] else 'was not'} pinned.")


COMMANDS = {
    "trust": Command(configure_trust, run_trust, render_trust),
    "untrust": Command(configure_untrust, lambda c, o: c.library.settings.untrust(o.path), render_untrust),
    "enable": Command(_configure_surface, lambda c, o: c.library.settings.enable(o.name, o.surface), render_enable),
    "disable": Command(
        _configure_surface,
        lambda c, o: c.library.settings.disable(o.name, o.surface),
        render_disable,
    ),
    "pin": Command(configure_pin, lambda c, o: c.library.settings.pin(o.name, o.reason), render_pin),
    "unpin": Command(configure_unpin, lambda c, o: c.library.settings.unpin(o.name), render_unpin),
}
