"""`trust`, `enable`, `pin` and their opposites."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from whet.errors import NotFoundError, RefusedError
from whet.interfaces.cli.arguments import chosen_skill_argument, reason_option, skill_argument
from whet.interfaces.cli.commands.skills import LISTED
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.rendering import VERDICTS, render_findings, render_notes
from whet.interfaces.cli.terminal import agree, can_ask
from whet.interfaces.cli.text import clean, plural
from whet.library.settings import LISTING
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.api import Library
    from whet.api.guard import ProjectReview
    from whet.api.settings import (
        ListingChange,
        PinChange,
        SettingValues,
        SkillSettings,
        Switch,
        Trust,
        TrustedRepositories,
    )
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.card import Card
    from whet.library.trust import SkillDecision


def configure_trust(parser: Parser) -> None:
    parser.example("whet guard trust --review", "only scan the skills of this repository")
    parser.example("whet guard trust", "load them from now on")
    parser.example("whet guard trust --list", "what you trust")
    parser.details = (
        "A repository's skills tell your agents what to do, so Whet does not load them until you trust the "
        "repository. It scans them first, and asks you if it finds something. Skills that the policy blocks stay "
        "hidden.\n\n"
        "Without DIR, you trust the repository around the working directory, with all of its worktrees. With DIR, you "
        "trust that directory (if DIR is a link, the directory it leads to), and Whet follows links from the "
        "directories of your clients into it."
    )
    parser.positional("path", "DIR", "The repository or directory to trust (default: this repository).", optional=True)
    parser.option("--list", text="List what is trusted.")
    parser.option("--review", text="Only scan the skills; do not trust anything.")
    parser.exclude(("--list", "--review"))


def run_trust(context: Context, options: Namespace) -> Answer:
    """Trust the repository, or list what is trusted."""
    library = context.library
    if options.list:
        return Answer(library.settings.trusted(), render_trusted)
    if options.path and _is_project(library, options.path):
        library, options.path = context.open_library(os.path.abspath(os.path.expanduser(options.path))), None
    if options.review:
        return Answer(library.guard.review(options.path), render_review)
    if can_ask(options):
        found = [item for item in library.guard.review(options.path).verdicts if item.scan.verdict != "safe"]
        what = "directory" if options.path else "repository"
        if found and not _ask_trust(found, what):
            raise RefusedError("not-agreed", f"The {what} is not trusted.", hint="Nothing was changed.")
    return Answer(library.settings.trust(options.path), render_trust)


def _is_project(library: Library, path: str) -> bool:
    """Return whether this is a project with skills for those who work in it, not a directory of skills."""
    try:
        library.guard.review(path)
    except NotFoundError as error:
        return error.code == "no-skills-found"
    return False


def _ask_trust(found: list[SkillDecision], what: str) -> bool:
    for item in found:
        sys.stderr.write(f"{clean(item.card.full_name)}: {item.scan.verdict}. {clean(item.decision.reason)}\n")
    return agree(f"Trust this {what}?", default=False)


def render_trusted(trusted: TrustedRepositories, screen: Screen, _options: Namespace) -> None:
    if trusted:
        screen.table(("SINCE", "PATH"), [(iso(item.since), screen.place(item.path)) for item in trusted])
    else:
        screen.say("Nothing is trusted.")


def render_review(review: ProjectReview, screen: Screen, _options: Namespace) -> None:
    for item in review.verdicts:
        screen.line(f"{clean(item.card.full_name)}: {screen.paint(item.scan.verdict, VERDICTS[item.scan.verdict])}")
        render_findings(item.scan.findings, item.card.location, screen)
    screen.say(f"{plural(len(review.verdicts), 'skill')} scanned; nothing was changed.")


def render_trust(trust: Trust, screen: Screen, _options: Namespace) -> None:
    """Print the decision, and the skills that stay hidden."""
    verb = "is now trusted" if trust.changed else "was already trusted"
    more = ", …" if len(trust.skills) > 10 else ""
    names = f" ({', '.join(trust.skills[:10])}{more})" if trust.skills else ""
    screen.say(f"{screen.place(trust.project)} {verb}: {plural(len(trust.skills), 'skill')}{names}.")
    verdicts = trust.verdicts or ()
    unsafe = [item for item in verdicts if item.scan.verdict != "safe"]
    screen.say(*(f"{item.card.full_name}: {item.scan.verdict}. {item.decision.reason}" for item in unsafe))
    if kept := [item.card.full_name for item in verdicts if item.decision.action != "allow"]:
        screen.hint(f"{', '.join(kept)} stays hidden; `whet guard policy override NAME --reason R` allows it.")


def configure_untrust(parser: Parser) -> None:
    parser.positional(
        "path",
        "DIR",
        "A path from `whet guard trust --list` (default: this repository).",
        optional=True,
    )


def render_untrust(trust: Trust, screen: Screen, _options: Namespace) -> None:
    verb = "is no longer trusted" if trust.changed else "was not trusted"
    screen.say(f"{screen.place(trust.project)} {verb}.")


def _configure_surface(parser: Parser) -> None:
    parser.details = (
        "A disabled skill stays on disk, but Whet does not offer it and removes the links that `whet sync` made for "
        "it. Clients that read its directory directly still load it; Whet names them and says how to hide the skill "
        "there. The history records both enabling and disabling, and `whet undo` reverses either."
    )
    chosen_skill_argument(parser)
    parser.option(
        "--surface", metavar="S", default="", text="Only on this surface, such as mcp or cli (default: everywhere)."
    )


def _choose(
    context: Context, options: Namespace, verb: str, find: Callable[[Library], list[Card]], missing: str
) -> SkillSettings:
    """Let a person choose a skill if none is named; return the settings that decide about it."""
    if options.name is None:
        from whet.interfaces.cli.picker import choose_skills

        title = f"{verb.capitalize()} which skill?"
        [options.name] = choose_skills(context, options, f"skill {verb}", title, find, missing)
    return context.library.settings


def _others(library: Library, cards: list[Card]) -> list[Card]:
    known = {card.id for card in cards}
    return [card for card in library.catalogue.cards if card.id not in known]


def run_enable(context: Context, options: Namespace) -> Answer:
    def find(library: Library) -> list[Card]:
        return library.settings.disabled(options.surface or None)

    settings = _choose(context, options, "enable", find, "No skill is disabled.")
    return Answer(settings.enable(options.name, options.surface), render_enable)


def run_disable(context: Context, options: Namespace) -> Answer:
    def find(library: Library) -> list[Card]:
        return _others(library, library.settings.disabled(options.surface))

    settings = _choose(context, options, "disable", find, "There are no skills to disable.")
    return Answer(settings.disable(options.name, options.surface), render_disable)


def render_enable(switch: Switch, screen: Screen, _options: Namespace) -> None:
    verb = "is enabled" if switch.changed else "was not disabled"
    _render_switch(switch, screen, verb, switch.hint)


def render_disable(switch: Switch, screen: Screen, _options: Namespace) -> None:
    verb = "is disabled" if switch.changed else "was already disabled"
    option = f" --surface {switch.surface}" if switch.surface else ""
    _render_switch(switch, screen, verb, f"`whet enable {switch.name}{option}` enables it again.")


def _render_switch(switch: Switch, screen: Screen, verb: str, hint: str) -> None:
    screen.say(f"{switch.name} {verb}{f' on {switch.surface}' if switch.surface else ''}.")
    screen.say(*map(screen.places, switch.notes))
    screen.hint(*filter(None, [hint]))


def configure_list_as(parser: Parser) -> None:
    parser.details = (
        "`always` lists the skill first and in full, whatever the budget. `name` lists it without its description. "
        "`manual` does not list it: models do not find it, but you can still call it. `normal` is the default. This "
        "affects only the list; to protect a skill from updates, use `whet skill pin`."
    )
    skill_argument(parser)
    parser.positional("mode", "MODE", "How to list it.", choices=LISTING)
    parser.option("--here", text="Only in this project (default: everywhere).")


def render_list_as(listing: ListingChange, screen: Screen, _options: Namespace) -> None:
    words = {**LISTED, "normal": "listed as usual"}
    where = " in this project" if listing.project else ""
    screen.say(f"{listing.name} {'is' if listing.changed else 'was already'} {words[listing.mode]}{where}.")
    screen.hint(*filter(None, [listing.hint]))


def configure_pin(parser: Parser) -> None:
    chosen_skill_argument(parser)
    reason_option(parser)


def run_pin(context: Context, options: Namespace) -> Answer:
    def find(library: Library) -> list[Card]:
        return _others(library, library.settings.pinned())

    settings = _choose(context, options, "pin", find, "There are no skills to pin.")
    return Answer(settings.pin(options.name, options.reason), render_pin)


def render_pin(pin: PinChange, screen: Screen, _options: Namespace) -> None:
    screen.say(f"{pin.name} {'is' if pin.changed else 'was already'} pinned.")


def configure_unpin(parser: Parser) -> None:
    chosen_skill_argument(parser, "The skill, which may no longer exist")


def run_unpin(context: Context, options: Namespace) -> Answer:
    settings = _choose(context, options, "unpin", lambda library: library.settings.pinned(), "No skill is pinned.")
    return Answer(settings.unpin(options.name), render_unpin)


def render_unpin(pin: PinChange, screen: Screen, _options: Namespace) -> None:
    screen.say(f"{pin.name} {'is no longer' if pin.changed else 'was not'} pinned.")


def configure_settings(parser: Parser) -> None:
    parser.details = (
        "The first line names the file for your settings, in TOML, such as `min_age = 7`. The next lines are the "
        "settings that differ from their defaults; -v lists all settings and says what they do. In a pipe, each "
        "line has name and value, separated by a tab."
    )


def render_settings(found: SettingValues, screen: Screen, _options: Namespace) -> None:
    screen.line(screen.place(found.file))
    rows = [row for row in found.settings if row.changed or screen.verbose]
    if screen.tty and screen.verbose:
        screen.line()
        for row in rows:
            value = clean(_format_setting(row.value))
            screen.line(f"{screen.paint(row.name, 'bold')}{f' = {value}' if value else ''}")
            screen.paragraph(row.help, 2)
    else:
        screen.grid(("SETTING", "VALUE"), [(row.name, _format_setting(row.value)) for row in rows])
    screen.say(*([] if found.exists else ["The file does not exist yet."]))
    screen.say(*(f"{path} restricts these settings." for path in (found.project_file, found.machine_file) if path))
    render_notes(found.notes, screen)
    if not rows:
        screen.say("Every setting has its default value.")
    if not screen.verbose:
        screen.hint("-v lists all settings.")


def _format_setting(value: object) -> str:
    """Format a value for a person, as TOML if that is as short."""
    if isinstance(value, tuple):
        return ", ".join(": ".join(map(_format_setting, one)) if isinstance(one, tuple) else str(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


COMMANDS = {
    "settings": Command(configure_settings, lambda c, _: Answer(c.library.settings.values(), render_settings)),
    "guard trust": Command(configure_trust, run_trust),
    "guard untrust": Command(
        configure_untrust, lambda c, o: Answer(c.library.settings.untrust(o.path), render_untrust)
    ),
    "skill enable": Command(_configure_surface, run_enable),
    "skill disable": Command(_configure_surface, run_disable),
    "prompt list-as": Command(
        configure_list_as,
        lambda c, o: Answer(c.library.settings.list_as(o.name, o.mode, here=o.here), render_list_as),
    ),
    "skill pin": Command(configure_pin, run_pin),
    "skill unpin": Command(configure_unpin, run_unpin),
}
