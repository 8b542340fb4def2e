"""`whet sync [CLIENT...]`: the same skills for other clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._plans import here_option
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_SILENT = ("fine",)
_OF_A_CLIENT = ("same-place", "reads-itself", "no-directory")
"""States that are about a client and all skills; said once."""
_PLANNED = {"refresh": "refresh", "replace": "replace", "remove": "remove"}
_DONE = {"refresh": "refreshed", "replace": "replaced", "remove": "removed"}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Your skills lie in ~/.agents/skills (those of a project in .agents/skills). Clients that look elsewhere get a "
        "link to each of them, or a copy. What is already there and was not made by sync is never touched; --undo "
        "takes back exactly what was made."
    )
    text = "The clients, such as claude, codex, cursor, gemini (default: all that are here)."
    parser.positional("clients", "CLIENT", text, many=True, optional=True)
    parser.option("--skill", metavar="S", action="append", default=[], text="Only this skill; may be given again.")
    parser.option("--copy", text="Make copies instead of links; they are refreshed by the next sync.")
    parser.option("--force", text="Also for clients that read .agents/skills themselves.")
    parser.option("--dry-run", text="Only show what would be done.")
    parser.option("--undo", text="Take back what sync made.")
    parser.option("--list", text="Show what sync made, and how it is now.")
    here_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Plan and do it, or take it back."""
    library = context.library
    if options.list:
        return Outcome(library.synced(*options.clients))
    if options.undo and (options.dry_run or options.copy or options.force or options.skill):
        hint = "`whet sync --list` shows what it would take back."
        raise UsageError("usage", "--undo takes back everything that sync made, and only that.", hint=hint)
    if options.undo:
        return Outcome(library.unsync(*options.clients, here=options.here))
    plan = library.plan_sync(
        *options.clients,
        how="copy" if options.copy else "link",
        here=options.here,
        names=options.skill,
        force=options.force,
    )
    if options.dry_run:
        steps = [{**step.to_json(), "outcome": "planned"} for step in plan.steps]
        return Outcome({"success": True, "steps": steps, "cleaned": []})
    answer = library.sync(plan)
    failed = any(step["outcome"] in ("failed", "changed") for step in answer["steps"])
    return Outcome(answer, 1 if failed else 0)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for everything that was made; sentences about what was left alone."""
    if options.list:
        _list(answer["made"], screen)
        return
    changes = [step for step in answer["steps"] if _changes(step)]
    for step in changes:
        screen.line(f"{step['client']:<10}{_word(step):<10}{screen.place(step['path'])}")
    for step in answer["steps"]:
        if step["state"] not in (*_SILENT, *_OF_A_CLIENT) and not _changes(step):
            screen.said.append(f"{step['client']}: {step['name']}: {step['message']}")
    told = {step["client"]: step["message"] for step in answer["steps"] if step["state"] in _OF_A_CLIENT}
    screen.said.extend(f"{client}: {message}" for client, message in told.items())
    if not answer["steps"] and not options.undo:
        screen.said.append("No other client is here.")
        screen.hints.append("Name one, such as `whet sync claude`.")
        return
    screen.said.append(f"{plural(len(changes), 'change')} {'would be ' if options.dry_run else ''}made.")


def _list(made: list[dict[str, Any]], screen: Screen) -> None:
    if made:
        rows = [(item["client"], item["name"], item["how"], item["state"], screen.place(item["path"])) for item in made]
        screen.table(("CLIENT", "SKILL", "HOW", "STATE", "PATH"), rows)
    else:
        screen.said.append("Sync has made nothing.")


def _changes(step: dict[str, Any]) -> bool:
    """Was something done, or would be?"""
    return step["outcome"] == "done" or (step["outcome"] == "planned" and step["state"] in ("make", *_PLANNED))


def _word(step: dict[str, Any]) -> str:
    copies = step["how"] == "copy"
    if step["outcome"] == "planned":
        return _PLANNED.get(step["state"], "copy" if copies else "link")
    return _DONE.get(step["state"], "copied" if copies else "linked")
