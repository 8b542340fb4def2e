"""`whet eval NAME`: what comes of a skill, with it and without it; and a better description, where one is proved."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._showing import grid
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

AGAINST = ("none", "old")
DETAILS = (
    "`whet eval NAME`: a skill's evals are tasks in evals/evals.json with what is expected of the result. A model does "
    "each with the skill and without it, checks and the model judge the results, and the difference is what the skill "
    "is worth. With --blind the grader also compares the two results of each task without knowing which had the "
    "skill, in both orders; only what it prefers both times wins. Exits with 1 where the skill does worse than what it "
    "is compared with, where runs are missing, and below --min-pass-rate. On a pipe, each expectation is a line of "
    "eval, the pass rate with the skill and without it, flags and the expectation, with tabs between them. "
    "--optimise-description looks for a description that brings the skill up more often when it should, tried on "
    "held-out trigger evals; without --model, it takes words from them. It is written only with --apply."
)
_OURS = (
    *("model", "grader", "runs", "out", "against", "blind", "min_pass_rate", "budget"),
    *("optimise_description", "apply"),
)
_TRIGGERS = ("file", "held_out", "min_precision", "min_recall", "suggest")
_PROPOSING = ("model", "apply", "optimise_description")


def configure(parser: Parser) -> None:
    """The options of `whet eval NAME`."""
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5 or recorded:FILE.")
    parser.option("--grader", metavar="SPEC", text="The model that judges, where it is to be another.")
    parser.option("--runs", metavar="N", type=amount, text="Do each eval so many times (default 1).")
    parser.option("--out", metavar="DIR", text="Keep outputs, grades, benchmark.json and a page with plots here.")
    parser.option("--against", metavar="W", choices=AGAINST, text="Compare with no skill, or the version before.")
    parser.option("--blind", text="Compare results without telling which had the skill.")
    parser.option("--min-pass-rate", metavar="R", type=share, text="Exit with 1 when the pass rate is below, 0 to 1.")
    parser.option("--budget", metavar="TOKENS", type=amount, text="What all of it may cost (default 1,000,000).")
    parser.option("--optimise-description", text="Look for a better description instead.")
    parser.option("--apply", text="Write the better description.")


def share(text: str) -> float:
    """A number from 0 to 1, for argparse's `type`."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0.0 <= value <= 1.0:
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")


def check_options(options: Namespace, *, triggers: bool) -> None:
    """Raise UsageError for an option that belongs to the other form of the command."""
    hint = "`whet eval --help` explains it."
    given = [name for name in (_OURS if triggers else _TRIGGERS) if getattr(options, name) not in (None, False)]
    if not triggers and options.names:
        raise UsageError("usage", f"{options.names[0]!r} is one argument too many.", hint=hint)
    if not triggers and not given:
        proposing = [name for name in _OURS if name not in _PROPOSING and getattr(options, name) not in (None, False)]
        if options.optimise_description and proposing:
            given = proposing
        elif options.apply and not options.optimise_description:
            raise UsageError("usage", "--apply is for --optimise-description only.", hint=hint)
    if given:
        form = "whet eval triggers" if triggers else f"whet eval {options.kind}"
        form += " --optimise-description" if options.optimise_description and not triggers else ""
        raise UsageError("usage", f"--{given[0].replace('_', '-')} does not go with `{form}`.", hint=hint)


def run(context: Context, options: Namespace) -> Outcome:
    """Measure, or propose."""
    library = context.library
    with Bar(options) as bar:
        library.progress = bar
        if options.optimise_description:
            return Outcome(library.optimise_description(options.kind, options.model or "", apply=options.apply))
        answer = library.eval_skill(
            options.kind,
            options.model,
            grader=options.grader,
            runs=options.runs or 1,
            against=options.against or "none",
            blind=options.blind,
            out=options.out,
            min_pass_rate=options.min_pass_rate,
            **({"budget": options.budget} if options.budget else {}),
        )
    return Outcome(answer, 0 if answer["success"] else 1)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The pass rates, and what they say; or the descriptions that were tried."""
    if options.optimise_description:
        _show_description(answer, screen)
        return
    for entry in answer["report"]:
        screen.said.append(f"{screen.place(entry['path'])}: {clean(entry['message'])} [{entry['code']}]")
    other = "old_skill" if answer["against"] == "old" else "without_skill"
    sides = ("with_skill", other)
    rows = [
        (row["eval"], *(_rate(row["rates"].get(side)) for side in sides), " ".join(row["flags"]), row["text"])
        for row in answer["expectations"]
    ]
    grid(screen, ("EVAL", "WITH", "OLD" if answer["against"] == "old" else "WITHOUT", "FLAGS", "EXPECTATION"), rows)
    rates = [answer["summary"][side]["pass_rate"] for side in sides]
    means = [_rate(None if one is None else one["mean"]) for one in rates]
    than = "with the version before" if answer["against"] == "old" else "without it"
    screen.said.append(
        f"{plural(len(answer['evals']), 'eval')}, {plural(answer['runs'], 'run')} each: pass rate {means[0]} with "
        f"{clean(answer['name'])}, {means[1]} {than}; {answer['tokens']:,} tokens."
    )
    if answer["blind"]:
        screen.said.append(_preferred(answer["blind"]))
    if answer["out"]:
        screen.said.append(f"Everything is in {screen.place(answer['out'])}; open report.html in a browser.")
    if not answer["success"]:
        screen.said.append(f"{clean(answer['error'])} [{answer['code']}]")
        screen.hints.append(answer["hint"])


def _preferred(blind: dict[str, Any]) -> str:
    missing = f", {blind['missing']} missing" if blind["missing"] else ""
    counts = f"{blind['wins']} won, {blind['losses']} lost, {blind['ties']} tied"
    return f"Compared blindly, with the skill: {counts}{missing}."


def _show_description(answer: dict[str, Any], screen: Screen) -> None:
    if answer["improved"]:
        screen.paragraph(answer["description"])
    before, after = (answer[one]["held_out"] for one in ("before", "after"))
    counts = f"{plural(len(answer['tried']), 'candidate')} tried on {plural(answer['held_out'], 'held-out message')}"
    if not answer["improved"]:
        screen.said.append(f"{counts}; none is better than the description there is ({before:.2f}).")
        return
    screen.said.append(f"{counts}; the best one raises {before:.2f} to {after:.2f}.")
    if answer["applied"]:
        screen.said.append(f"It is written; {clean(answer['name'])} is at version {answer['version']}.")
    else:
        screen.hints.append("Run it with --apply to write it.")


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
