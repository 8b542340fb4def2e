"""`whet improve NAME`: a skill that fails its evals gets better, or stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._showing import difference, grid
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_NUMBERS = ("rounds", "edits", "runs", "budget")


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The skill's evals are done with the skill as it is. A model is shown what failed and proposes a few small "
        "edits of the instructions; with five evals or more, two fifths of them are kept from it. A candidate is "
        "accepted only if the package stays sound, grows little, leaves evals/ and tests/ alone, does better on all "
        "evals together and worse on none. It becomes a proposal (`whet approve`), or with --write the next version. "
        "What is rejected is remembered and not tried again. Exits with 1 where nothing better was found. On a pipe, "
        "each round is a line of round, verdict, score before and after, tokens, edits and why, with tabs between "
        "them; the difference follows."
    )
    parser.positional("name", "NAME", "The skill.")
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5 or recorded:FILE.")
    parser.option("--grader", metavar="SPEC", text="The model that judges, where it is to be another.")
    parser.option("--rounds", metavar="N", type=amount, text="Try so many times (default 3).")
    parser.option("--edits", metavar="N", type=amount, text="Edits in one round (default 4).")
    parser.option("--runs", metavar="N", type=amount, text="Do each eval so many times (default 1).")
    parser.option("--write", text="Write the next version instead of proposing it.")
    parser.option("--dry-run", text="Tell what would be better, and keep nothing.")
    parser.option("--budget", metavar="TOKENS", type=amount, text="What all of it may cost (default 1,000,000).")


def run(context: Context, options: Namespace) -> Outcome:
    """Improve it."""
    if options.write and options.dry_run:
        raise UsageError("usage", "Give --write or --dry-run, not both.", hint="`whet improve --help` explains it.")
    given = {name: value for name in _NUMBERS if (value := getattr(options, name)) is not None}
    with Bar(options) as bar:
        context.library.progress = bar
        answer = context.library.improve(
            *(options.name, options.model),
            grader=options.grader,
            write=options.write,
            dry_run=options.dry_run,
            **given,
        )
    return Outcome(answer, 0 if answer["success"] else 1)


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A row for each round, what changes, and what became of it."""
    for entry in answer["report"]:
        screen.said.append(f"{screen.place(entry['path'])}: {clean(entry['message'])} [{entry['code']}]")
    screen.said.extend(map(clean, answer["warnings"]))
    rows = [
        (
            *(str(number), row["verdict"], _rate(row["before"]), _rate(row["after"]), f"{row['tokens']:,}"),
            *(str(len(row["edits"])), _why(row)),
        )
        for number, row in enumerate(answer["rounds"], 1)
    ]
    grid(screen, ("ROUND", "VERDICT", "BEFORE", "AFTER", "TOKENS", "EDITS", "WHY"), rows)
    if answer["diff"]:
        if screen.tty:
            screen.line()
        difference(screen, answer["diff"])
    evals = answer["learned_from"] + answer["held_out"]
    held = f", {answer['held_out']} of them held out" if answer["held_out"] else ""
    before, after = (_rate(answer[one]["score"]) for one in ("before", "after"))
    change = f"from {before} to {after}" if answer["improved"] else f"stays {before}"
    screen.said.append(
        f"{clean(answer['name'])}: the score {change} on {plural(evals, 'eval')}{held}; {answer['tokens']:,} tokens."
    )
    _end(answer, screen)


def _end(answer: dict[str, Any], screen: Screen) -> None:
    """What became of it, and what to do next."""
    if not answer["success"]:
        screen.said.append(f"{clean(answer['error'])} [{answer['code']}]")
        screen.hints.append(answer["hint"])
        return
    if answer["stopped"]:
        screen.said.append(f"{clean(answer['stopped']['message'])} [{answer['stopped']['code']}]")
    if answer["written"]:
        screen.said.append(f"It is written; {clean(answer['name'])} is at version {clean(answer['version'])}.")
    elif "proposal" in answer:
        screen.said.append(f"It waits as proposal {answer['proposal']}. {clean(answer['cause'])}")
        screen.hints.append(answer["hint"])
    elif answer["improved"]:
        screen.hints.append("Run it without --dry-run to keep it.")


def _why(row: dict[str, Any]) -> str:
    """What speaks against a candidate, or what its edits are for."""
    if row["reasons"]:
        return " ".join(reason["message"] for reason in row["reasons"])
    return " ".join(edit["why"] for edit in row["edits"])


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
