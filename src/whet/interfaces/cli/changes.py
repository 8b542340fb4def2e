"""What the commands that change skills share: their options, the change itself and how it is rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.authoring.writer import Provenance
from whet.interfaces.cli.arguments import reason_option

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


def change_options(parser: Parser, *, version: bool = False) -> None:
    """Take what every change can be told; `--version` is taken, by the version of Whet."""
    if version:
        text = "The skill's next version: major, minor, patch, keep, or the version itself."
        parser.option("--set-version", metavar="V", default="", text=text)
    reason_option(parser)
    parser.option("--stage", text="Only propose it; `whet approve` does it.")


def change(
    context: Context,
    options: Namespace,
    action: str,
    *,
    viewed: Callable[[str, str], bool] | None = None,
    **fields: Any,
) -> Json:
    """Do one operation on the skill that the options name; fields that are None are not given."""
    operation = {"action": action, "name": options.name, **fields}
    if version := getattr(options, "set_version", ""):
        operation["version"] = version
    given = {name: value for name, value in operation.items() if value is not None}
    return context.library.edit.apply(
        [given], by=Provenance("user", reason=options.reason), stage=options.stage, viewed=viewed
    ).to_json()


def render_change(answer: Json, screen: Screen, done: str, *, path: bool = True) -> None:
    """The path of the skill as data, and as talk what was done, or what it waits for, and what is worth knowing."""
    if answer.get("staged"):
        number = answer["proposal"]
        screen.say(f"Proposal {number} waits: {answer['reason']} `whet approve {number}` does it.")
    else:
        if path:
            screen.line(screen.place(answer["path"]))
        if answer["entry"] is not None:
            screen.say(done)
    screen.say(*answer["warnings"])


def name_version(answer: Json) -> str:
    """The name of a skill and the version it has now."""
    return f"{answer['name']}, version {answer['version']}" if answer["version"] else str(answer["name"])


def render_return(answer: Json, screen: Screen, _options: Namespace) -> None:
    """The paths of the skills that are there again, as data; a skill that is gone again is only mentioned."""
    for skill in answer["skills"]:
        if skill["digest"]:
            screen.line(screen.place(skill["path"]))
            screen.say(f"{skill['name']} is as it was (entry {skill['entry']}).")
        else:
            screen.say(f"{skill['name']} is gone again (entry {skill['entry']}).")
