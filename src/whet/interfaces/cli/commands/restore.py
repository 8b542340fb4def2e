"""`whet restore [NAME]`: a deleted skill, or everything that the lock names, back where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._changing import change, tell, versioned
from whet.interfaces.cli.commands._plans import plan_options, planned, show_plan
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "With a name, the skill that was deleted comes back from the history; of several that had the name, the one "
        "that was deleted last. A skill that the lock names and that is not there is installed again.\n\n"
        "Without a name, everything the lock names is brought back exactly as it was installed, from this machine's "
        "history or from its source at the recorded revision."
    )
    parser.positional("name", "NAME", "The skill that is gone.", optional=True)
    parser.option("--force", text="Take back edits too; the history keeps them.")
    parser.option("--stage", text="Only propose it; `whet approve` does it.")
    plan_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Bring it back."""
    names = [options.name] if options.name else []
    if options.name and not options.force and not context.library.is_locked(options.name, here=options.here):
        if options.dry_run:
            hint = f"`whet history {options.name}` shows what there was."
            raise UsageError("usage", "--dry-run is for skills that the lock names.", hint=hint)
        return Outcome(change(context, options, "restore"))
    if options.stage:
        hint = "--dry-run shows what would be done."
        raise UsageError("usage", "--stage is for skills that the lock does not name.", hint=hint)
    return planned(
        context,
        options,
        lambda library: library.plan_restore(*names, here=options.here, force=options.force),
        "Restore",
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The path of the skill, or a line for each."""
    if "plan" not in answer:
        tell(answer, screen, f"Restored {versioned(answer)}.")
        return
    if not answer["plan"]:
        screen.said.append("The lock names nothing.")
    show_plan(answer, screen, options)
