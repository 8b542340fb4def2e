"""`whet snapshot export|import FILE`: the whole library in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._plans import plan_options, planned, show_plan
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "`export` writes your skills (with --here also the project's), where they came from and your taps into one "
        "file. `import` brings them into another library; they are scanned like anything else that comes in, and what "
        "is there already is not replaced."
    )
    parser.positional("action", "ACTION", "What to do.", choices=("export", "import"))
    parser.positional("file", "FILE", "The snapshot.")
    parser.option("--overwrite", text="Replace the file, for `export`.")
    plan_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Write it, or bring it in."""
    if options.action == "export":
        if options.dry_run or options.override:
            raise UsageError(
                "usage", "`export` takes only --here and --overwrite.", hint="Leave out the other options."
            )
        return Outcome(context.library.export_snapshot(options.file, here=options.here, overwrite=options.overwrite))
    return planned(context, options, lambda library: library.plan_import(options.file, here=options.here), "Import")


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """What was written, or a line for each skill."""
    if options.action == "import":
        show_plan(answer, screen, options)
        return
    screen.line(screen.place(answer["path"]))
    screen.said.append(f"{plural(len(answer['skills']), 'skill')} in {answer['size']:,} bytes.")
    screen.said.extend(f"{entry['skill']}: {entry['message']}" for entry in answer["left_out"])
