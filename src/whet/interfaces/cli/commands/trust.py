"""`whet trust`: let a repository's skills in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.errors import RefusedError, UsageError
from whet.interfaces.cli.commands._findings import VERDICTS, show_findings
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Skills of a repository tell your agents what to do, so they are not loaded before you have looked at them. "
        "They are scanned first; where something is found, you are asked on a terminal. What the policy blocks stays "
        "hidden even then. Trust holds for the repository around the working directory, in all of its worktrees."
    )
    parser.option("--list", text="Show what is trusted instead.")
    parser.option("--review", text="Only scan its skills; trust nothing.")
    parser.option("--yes", text="Do not ask.")


def run(context: Context, options: Namespace) -> Outcome:
    """Trust the repository, or tell what is trusted."""
    library = context.library
    if options.list and options.review:
        raise UsageError("usage", "Give --list or --review, not both.", hint="`whet trust --help` explains it.")
    if options.list:
        return Outcome(library.trusted())
    if options.review:
        return Outcome(library.review())
    if _asks(options):
        found = [item for item in library.review()["verdicts"] if item["verdict"] != "safe"]
        if found and not _agreed(found):
            raise RefusedError("not-agreed", "The repository is not trusted.", hint="Nothing was changed.")
    return Outcome(library.trust())


def _asks(options: Namespace) -> bool:
    """Can and may a person be asked?"""
    if options.yes or options.no_input or options.json or options.quiet:
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _agreed(found: list[dict[str, Any]]) -> bool:
    for item in found:
        sys.stderr.write(f"{clean(item['name'])}: {item['verdict']}. {clean(item['reason'])}\n")
    sys.stderr.write("Trust this repository? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table of what is trusted; the verdicts; a sentence about what was decided."""
    if options.list:
        if answer["trusted"]:
            screen.table(("SINCE", "PATH"), [(item["since"], screen.place(item["path"])) for item in answer["trusted"]])
        else:
            screen.said.append("No repository is trusted.")
        return
    if options.review:
        for item in answer["verdicts"]:
            screen.line(f"{clean(item['name'])}: {screen.paint(item['verdict'], VERDICTS[item['verdict']])}")
            show_findings(item["findings"], item["path"], screen)
        screen.said.append(f"{plural(len(answer['verdicts']), 'skill')} scanned; nothing is decided.")
        return
    screen.said.append(_decision(answer, screen))
    screen.said.extend(
        f"{item['name']}: {item['verdict']}. {item['reason']}"
        for item in answer["verdicts"]
        if item["verdict"] != "safe"
    )
    if kept := [item["name"] for item in answer["verdicts"] if item["decision"] != "allow"]:
        screen.hints.append(f"{', '.join(kept)} stays hidden; `whet policy override NAME --reason R` lets it in.")


def _decision(answer: dict[str, Any], screen: Screen) -> str:
    verb = "is trusted now" if answer["changed"] else "was trusted already"
    names = answer["skills"]
    return f"{screen.place(answer['project'])} {verb}: {plural(len(names), 'skill')}{_names(names)}."


def _names(names: list[str]) -> str:
    return f" ({', '.join(names[:10])}{', …' if len(names) > 10 else ''})" if names else ""
