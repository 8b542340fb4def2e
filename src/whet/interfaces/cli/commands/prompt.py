"""`index`, `render`, `commands`, `bundle`: the texts that a model sees."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import render_report
from whet.interfaces.cli.text import clean, clean_block, plural, shorten, width
from whet.prompt.formats import FORMATS
from whet.prompt.message import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.api.settings import Bundles, BundleUse, BundleView, RemovedBundle
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.prompt.commands import Command as SlashCommand
    from whet.prompt.index import Index
    from whet.prompt.invocation import Invocation
    from whet.prompt.requests import Commands, Unavailable


def configure_index(parser: Parser) -> None:
    parser.details = (
        "The text is never larger than its budget: Whet shortens descriptions first, then leaves out the skills "
        "that matter least. Standard error reports what was cut. Use only one of --budget, --tokens and --window. "
        "With --for and --limit, the list has only skills that fit the message, for one turn."
    )
    parser.option("--budget", metavar="N", read=amount, text="At most N characters (default 8,000).")
    parser.option("--tokens", metavar="N", read=amount, text="At most N tokens.")
    parser.option("--window", metavar="N", read=amount, text="At most 2 % of a context window of N tokens.")
    parser.option(
        "--format", metavar="F", choices=tuple(FORMATS), default="bullet", text="The output format (default bullet)."
    )
    parser.option("--paths", text="Show each skill's file, for an agent that reads files itself.")
    parser.option("--no-rules", text="Leave out the instructions for the model.")
    parser.option("--limit", metavar="N", read=amount, text="At most N skills.")
    parser.option(
        "--for",
        metavar="MESSAGE",
        dest="message",
        text="What the user said; skills that fit it come first and keep their full descriptions.",
    )


def run_index(context: Context, options: Namespace) -> Answer:
    """Return the index that a model would get at the command line."""
    index = context.library.index(
        options.budget,
        tokens=options.tokens,
        window=options.window,
        format=options.format,
        rules=not options.no_rules,
        paths=options.paths,
        limit=options.limit,
        message=options.message,
        caller=context.caller._replace(model=True),
    )
    return Answer(index, render_index)


def render_index(index: Index, screen: Screen, options: Namespace) -> None:
    """Print only the text, even on a terminal; cost and omissions are messages."""
    total = len(index.included) + len(index.omitted)
    if index.text:
        screen.line(clean_block(index.text).removesuffix("\n"))
        about = "about " if index.tokenizer == "estimate" else ""
        screen.say(
            f"{plural(len(index.included), 'skill')}, {plural(len(index.text), 'character')}, "
            f"{about}{plural(index.tokens, 'token')}; "
            f"{len(index.shortened):,} shortened; {len(index.omitted):,} not listed."
        )
        report = index.report
        ways = {"always listed": report.always, "by name only": report.name_only, "manual only": report.manual}
        if said := ", ".join(f"{count:,} {way}" for way, count in ways.items() if count):
            screen.say(f"As you decided: {said}.")
        if not (index.rules or options.no_rules):
            screen.say("The rules for the model did not fit.")
    elif total:
        screen.say(f"The budget is too small for any index; {plural(total, 'skill')} not listed.")
        screen.hint("Use a larger budget.")
    else:
        screen.say("There are no skills that a model may see.")
        screen.hint("`whet list --all` shows every skill, `whet clients roots` shows where Whet looks for them.")
    if index.kept_back:
        screen.say(f"The guard blocks {plural(index.kept_back, 'skill')} (`whet doctor`).")
    screen.say(*(f"The root {path} does not exist." for path in index.missing_roots))


_NEEDS_QUOTES = re.compile(r"""[\s"']|\\(?!\w)""")
"""Characters that would split a word, or be removed from it, when arguments are split again."""


def configure_render(parser: Parser) -> None:
    parser.details = (
        "Control characters are escaped; --json prints the exact message. A single skill is printed in full unless "
        "you set --budget; several skills share 25,000 tokens."
    )
    parser.positional("names", "NAME", "Skills and bundles.", many=True)
    parser.option("--budget", metavar="N", read=amount, text="Shorten the skills to fit into N tokens.")
    text = "How much of each skill to include at most (default full); Whet shows the cost of each."
    parser.option("--strategy", metavar="S", choices=STRATEGIES, default="full", text=text)
    parser.words_behind("arguments", "ARGS", "What the user types after the name; a single word is used as is.")


def run_render(context: Context, options: Namespace) -> Answer:
    what = {"arguments": join_arguments(options.arguments), "budget": options.budget, "strategy": options.strategy}
    found = context.library.render(*options.names, **what, caller=context.caller)
    return Answer(found, render_render, 0 if any(skill.strategy != "omitted" for skill in found.skills) else 1)


def join_arguments(words: Sequence[str]) -> str:
    """Join words into one string that splits into the same words; a single word stays as it is."""
    return words[0] if len(words) == 1 else " ".join(map(_quote, words))


def _quote(word: str) -> str:
    if word and not _NEEDS_QUOTES.search(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def render_render(found: Invocation, screen: Screen, _options: Namespace) -> None:
    """Print only the message; cost and omissions are messages on standard error."""
    screen.line(clean_block(found.message))
    screen.say(f"{'; '.join(_message_cost(found))}.")
    _render_missing("Not loaded", found.missing, screen)
    for skill in found.skills:
        render_report(skill.notes, screen)


def _render_missing(word: str, missing: Sequence[Unavailable], screen: Screen) -> None:
    screen.say(*(f"{word}: {item.message} [{item.code}]" for item in missing))
    screen.hint(*dict.fromkeys(item.hint for item in missing))


def _message_cost(found: Invocation) -> Iterator[str]:
    """Yield the cost of the message, what was cut for it, and the cost of one skill at other strategies."""
    tokens = plural(found.tokens, "token")
    yield f"About {tokens}" if found.tokenizer == "estimate" else tokens
    strategies = {skill.name: skill.strategy for skill in found.skills}
    for name, strategy in strategies.items():
        if strategy != "full":
            yield f"{name} left out" if strategy == "omitted" else f"{name} as {_strategy_words(strategy)}"
    costs = found.strategies or {}
    worth = {key: cost for key, cost in costs.items() if key == "full" or cost < costs["full"]}
    others = [f"{_strategy_words(key)} {cost:,}" for key, cost in worth.items() if key not in strategies.values()]
    if others:
        yield f"as {', '.join(others)}"


def _strategy_words(strategy: str) -> str:
    return "full text" if strategy == "full" else strategy.replace("+", " and ")


def configure_commands(parser: Parser) -> None:
    parser.details = "In a pipe, each line has name, arguments and description, separated by tabs."
    parser.positional("prefix", "PREFIX", "Show only commands that start with or contain this.", optional=True)


def run_commands(context: Context, options: Namespace) -> Answer:
    return Answer(context.library.commands(options.prefix or "", sys.maxsize, caller=context.caller), render_commands)


def render_commands(commands: Commands, screen: Screen, options: Namespace) -> None:
    """Print a table for a terminal, lines for a program; collisions are messages."""
    if screen.tty:
        rows = [(_format_call(one, screen.columns // 3), one.description) for one in commands]
        screen.grid(("COMMAND", "DESCRIPTION"), rows)
    else:
        screen.grid((), [(f"/{one.name}", one.hint, one.description) for one in commands])
    if not commands:
        screen.say(f"No slash command has {options.prefix!r} in it." if options.prefix else "No slash commands.")
    render_report(commands.notes, screen, place=True, hint=True)


def _format_call(command: SlashCommand, most: int) -> str:
    """Format the command as it is typed; its arguments are shortened, its name is not."""
    name = f"/{clean(command.name)}"
    return f"{name} {shorten(clean(command.hint), most - width(name) - 1)}".rstrip()


_BUNDLE_ACTIONS = ("list", "show", "create", "delete")
_ONLY_CREATE = ("skills", "description", "instruction", "force")
_BUNDLE_LABEL = 10


def configure_bundle(parser: Parser) -> None:
    parser.details = (
        "A bundle is a small file that names skills and says how to use them together; `whet prompt render NAME` and "
        "the slash command /NAME load all of them. In a pipe, each line has name, skills and description, separated "
        "by tabs."
    )
    parser.positional("action", "ACTION", "What to do.", choices=_BUNDLE_ACTIONS)
    parser.positional("name", "NAME", "The bundle.", optional=True)
    parser.option("--skills", metavar="A,B", many=True, default=[], text="Its skills; can be repeated.")
    parser.option("--description", metavar="D", default="", text="What the bundle is for.")
    parser.option("--instruction", metavar="T", default="", text="Instructions for a model that uses them together.")
    parser.option("--here", text="Use the project's .agents/bundles instead of your own.")
    parser.option("--force", text="Replace an existing bundle; its old file is kept with the suffix .before.")


def run_bundle(context: Context, options: Namespace) -> Answer:
    _check_bundle(options)
    settings, name = context.library.settings, options.name
    if options.action == "list":
        return Answer(settings.bundles(), render_bundles)
    if options.action == "show":
        return Answer(settings.bundle(name), render_bundle)
    if options.action == "delete":
        return Answer(settings.remove_bundle(name, project=options.here), render_removed_bundle)
    skills = [skill for given in options.skills for skill in given.split(",")]
    about = {"description": options.description, "instruction": options.instruction}
    saved = settings.save_bundle(name, skills, project=options.here, overwrite=options.force, **about)
    return Answer(saved, render_saved_bundle)


def _check_bundle(options: Namespace) -> None:
    """Raise UsageError if the action does not go with the other arguments."""
    action, message = options.action, ""
    if action == "list" and options.name is not None:
        message = f"{options.name!r} is an unexpected argument."
    elif action != "list" and options.name is None:
        message = f"The NAME to {action} is missing."
    elif action == "create" and not options.skills:
        message = "--skills is missing."
    elif action != "create" and (given := [option for option in _ONLY_CREATE if getattr(options, option)]):
        message = f"`--{given[0]}` needs create."
    elif options.here and action not in ("create", "delete"):
        message = "`--here` works only with create and delete."
    if message:
        raise misuse("prompt bundle", message)


def render_bundles(bundles: Bundles, screen: Screen, _options: Namespace) -> None:
    rows = [(bundle.name, ", ".join(bundle.skills), bundle.description) for bundle in bundles]
    if screen.tty:
        half, third = screen.columns // 2, screen.columns // 3
        rows = [(shorten(clean(name), half), shorten(clean(skills), third), text) for name, skills, text in rows]
    screen.grid(("NAME", "SKILLS", "DESCRIPTION"), rows)
    render_report(bundles.notes, screen, place=True)
    if not rows:
        screen.say("No bundles yet.")
        screen.hint("`whet prompt bundle create NAME --skills A,B` creates one.")


def render_saved_bundle(view: BundleView, screen: Screen, _options: Namespace) -> None:
    """Print the path of the bundle's file."""
    screen.line(screen.place(view.bundle.path))
    screen.say(f"{view.bundle.name} names {plural(len(view.bundle.skills), 'skill')}.")
    render_report(view.notes or (), screen, place=True)
    _render_missing("Missing", view.missing, screen)


def render_removed_bundle(removed: RemovedBundle, screen: Screen, _options: Namespace) -> None:
    screen.say(f"{removed.bundle.name} is deleted; its file is kept as {screen.place(removed.kept)}.")


def render_bundle(view: BundleView, screen: Screen, _options: Namespace) -> None:
    bundle = view.bundle
    screen.line(screen.paint(clean(bundle.name), "bold", "cyan"))
    if bundle.description:
        screen.paragraph(bundle.description)
    screen.line()
    missing = {item.name for item in view.missing}
    facts = [("path", screen.place(bundle.path))]
    for number, skill in enumerate(bundle.skills):
        mark = screen.paint("  (missing)", "yellow") if skill in missing else ""
        facts.append(("" if number else "skills", clean(skill) + mark))
    screen.facts(facts, _BUNDLE_LABEL)
    if bundle.instruction:
        screen.line()
        screen.line(clean_block(bundle.instruction).strip("\n"))
    _render_missing("Missing", view.missing, screen)


def configure_use(parser: Parser) -> None:
    parser.details = (
        "While a project uses a bundle, all other skills are hidden there, from you and from models; `whet list "
        "--all` shows them. Without NAME, Whet lists the bundles and says which one is in use.\n\n"
        "A team can share bundles in the project's .agents/bundles (`whet prompt bundle create NAME --here`); Whet "
        "uses them once you trust the project. `use = 'backend'` in the project's .whet.toml sets the default for "
        "everyone; your choice here takes precedence."
    )
    parser.positional("name", "NAME", "The bundle to use.", optional=True)
    parser.option("--none", text="Offer every skill again.")


def run_use(context: Context, options: Namespace) -> Answer:
    settings = context.library.settings
    if options.name is not None and options.none:
        raise misuse("use", "`--none` takes no NAME.")
    if options.name is None and not options.none:
        return Answer(settings.bundles(), render_usable_bundles)
    return Answer(settings.use(options.name), render_use)


def render_usable_bundles(bundles: Bundles, screen: Screen, options: Namespace) -> None:
    render_bundles(bundles, screen, options)
    default = f", not {bundles.default}" if bundles.default else ""
    if bundles.in_use == bundles.default:
        default = ", as its settings say" if default else ""
    screen.say(f"This project uses {bundles.in_use or 'no bundle'}{default}.")


def render_use(use: BundleUse, screen: Screen, _options: Namespace) -> None:
    if use.bundle:
        now = "now uses" if use.changed else "already used"
        screen.say(f"This project {now} {use.bundle}: {plural(len(use.skills), 'skill')}.")
        screen.hint("`whet use --none` offers every skill again.")
    else:
        said = "Every skill is offered again" if use.changed else "Every skill was already offered"
        screen.say(f"{said} in this project.")
    _render_missing("Missing", use.missing, screen)


COMMANDS = {
    "use": Command(configure_use, run_use),
    "prompt index": Command(configure_index, run_index),
    "prompt render": Command(configure_render, run_render),
    "prompt commands": Command(configure_commands, run_commands),
    "prompt bundle": Command(configure_bundle, run_bundle),
}
