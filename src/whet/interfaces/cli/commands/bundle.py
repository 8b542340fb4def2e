"""`whet bundle list|show|create|delete`: skills that are used together, under one name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, clean_block, plural, shorten

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

ACTIONS = ("list", "show", "create", "delete")
_ONLY_CREATE = ("skills", "description", "instruction", "force")
_LABEL = 10


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "A bundle is a small file that names skills and says how to use them together; `whet render NAME` and the "
        "slash command /NAME load all of them. On a pipe, each bundle of the list is a line with its name, its "
        "skills and its description, with tabs between them."
    )
    parser.positional("action", "ACTION", "What to do.", choices=ACTIONS)
    parser.positional("name", "NAME", "The bundle.", optional=True)
    parser.option("--skills", metavar="A,B", action="append", default=[], text="Its skills; may be given again.")
    parser.option("--description", metavar="D", default="", text="What the bundle is for.")
    parser.option("--instruction", metavar="T", default="", text="What a model is told about using them together.")
    parser.option("--here", text="The one in the project's .agents/bundles instead of your own.")
    parser.option("--force", text="Replace the bundle of that name; its file is kept with .before at its end.")


def run(context: Context, options: Namespace) -> Outcome:
    """Do it."""
    _check(options)
    library, name = context.library, options.name
    if options.action == "list":
        return Outcome(library.bundles())
    if options.action == "show":
        return Outcome(library.bundle(name))
    if options.action == "delete":
        return Outcome(library.remove_bundle(name, project=options.here))
    skills = [skill for given in options.skills for skill in given.split(",") if skill.strip()]
    about = {"description": options.description, "instruction": options.instruction}
    return Outcome(library.save_bundle(name, skills, project=options.here, overwrite=options.force, **about))


def _check(options: Namespace) -> None:
    """Raise UsageError when the action does not go with what is given besides."""
    action, message = options.action, ""
    if action == "list" and options.name is not None:
        message = f"{options.name!r} is one argument too many."
    elif action != "list" and options.name is None:
        message = f"The NAME to {action} is missing."
    elif action == "create" and not options.skills:
        message = "--skills is missing."
    elif action != "create" and (given := [option for option in _ONLY_CREATE if getattr(options, option)]):
        message = f"--{given[0]} is for create only."
    elif options.here and action not in ("create", "delete"):
        message = "--here is for create and delete only."
    if message:
        raise UsageError("usage", message, hint="`whet bundle --help` explains it.")


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table, a bundle, the path of its file, or where that went."""
    if options.action == "list":
        _list(answer, screen)
    elif options.action == "show":
        _show(answer, screen)
    elif options.action == "create":
        screen.line(screen.place(answer["path"]))
        screen.said.append(f"{answer['name']} names {plural(len(answer['skills']), 'skill')}.")
        _report(answer, screen)
    else:
        screen.said.append(f"{answer['name']} is deleted; its file is kept as {screen.place(answer['kept'])}.")
    missing = answer.get("missing", ())
    screen.said.extend(f"Missing: {item['message']} [{item['code']}]" for item in missing)
    screen.hints.extend(dict.fromkeys(item["hint"] for item in missing))


def _list(answer: dict[str, Any], screen: Screen) -> None:
    rows = [(bundle["name"], ", ".join(bundle["skills"]), bundle["description"]) for bundle in answer["bundles"]]
    if screen.tty and rows:
        half, third = screen.columns // 2, screen.columns // 3
        rows = [(shorten(clean(name), half), shorten(clean(skills), third), text) for name, skills, text in rows]
        screen.table(("NAME", "SKILLS", "DESCRIPTION"), rows)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
    _report(answer, screen)
    if not rows:
        screen.said.append("No bundles yet.")
        screen.hints.append("`whet bundle create NAME --skills A,B` makes one.")


def _report(answer: dict[str, Any], screen: Screen) -> None:
    for entry in answer["report"]:
        screen.said.append(f"{screen.place(entry['path'])}: {entry['severity']}: {entry['message']} [{entry['code']}]")


def _show(answer: dict[str, Any], screen: Screen) -> None:
    screen.line(screen.paint(clean(answer["name"]), "bold", "cyan"))
    if answer["description"]:
        screen.paragraph(answer["description"])
    screen.line()
    missing = {item["name"] for item in answer["missing"]}
    facts = [("path", screen.place(answer["path"]))]
    for number, skill in enumerate(answer["skills"]):
        mark = screen.paint("  (missing)", "yellow") if skill in missing else ""
        facts.append(("" if number else "skills", clean(skill) + mark))
    for label, text in facts:
        screen.line(f"{screen.paint(label.ljust(_LABEL), 'dim')}{text}")
    if answer["instruction"]:
        screen.line()
        screen.line(clean_block(answer["instruction"]).strip("\n"))
