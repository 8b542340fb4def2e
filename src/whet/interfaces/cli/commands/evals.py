"""`eval`, `improve`, `test`: what a skill is worth, and a better version where one is proved."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from whet.errors import InvalidError
from whet.interfaces.cli.arguments import misuse, skill_argument
from whet.interfaces.cli.context import Command, Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import paint_diff, render_failure
from whet.interfaces.cli.terminal import progress
from whet.interfaces.cli.text import clean, clean_block, plural, shorten

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


_AGAINST = ("none", "old")
_DETAILS = (
    "`whet eval NAME`: a skill's evals are tasks in evals/evals.json with what is expected of the result. A model does "
    "each with the skill and without it, checks and the model judge the results, and the difference is what the skill "
    "is worth. With --blind the grader also compares the two results of each task without knowing which had the "
    "skill, in both orders; only what it prefers both times wins. Exits with 1 where the skill does worse than what it "
    "is compared with, where runs are missing, and below --min-pass-rate. On a pipe, each expectation is a line of "
    "eval, the pass rate with the skill and without it, flags and the expectation, with tabs between them. "
    "--optimise-description looks for a description that brings the skill up more often when it should, tried on "
    "held-out trigger evals; without --model, it takes words from them. It is written only with --apply."
)
_SKILL_OPTIONS = (
    *("model", "grader", "runs", "out", "against", "blind", "min_pass_rate", "budget"),
    *("optimise_description", "apply"),
)
_DESCRIPTION_OPTIONS = ("model", "apply", "optimise_description")
_TRIGGER_OPTIONS = ("file", "held_out", "min_precision", "min_recall", "suggest")


def _configure_skill(parser: Parser) -> None:
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5 or recorded:FILE.")
    parser.option("--grader", metavar="SPEC", text="The model that judges, where it is to be another.")
    parser.option("--runs", metavar="N", type=amount, text="Do each eval so many times (default 1).")
    parser.option("--out", metavar="DIR", text="Keep outputs, grades, benchmark.json and a page with plots here.")
    parser.option("--against", metavar="W", choices=_AGAINST, text="Compare with no skill, or the version before.")
    parser.option("--blind", text="Compare results without telling which had the skill.")
    parser.option(
        "--min-pass-rate", metavar="R", type=fraction, text="Exit with 1 when the pass rate is below, 0 to 1."
    )
    parser.option("--budget", metavar="TOKENS", type=amount, text="What all of it may cost (default 1,000,000).")
    parser.option("--optimise-description", text="Look for a better description instead.")
    parser.option("--apply", text="Write the better description.")


def fraction(text: str) -> float:
    """A number from 0 to 1, for argparse's `type`."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0.0 <= value <= 1.0:
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")


def _check_options(options: Namespace, *, triggers: bool) -> None:
    """Raise UsageError for an option that belongs to the other form of the command."""
    present = {name for name in (*_SKILL_OPTIONS, *_TRIGGER_OPTIONS) if getattr(options, name) not in (None, False)}
    given = [name for name in (_SKILL_OPTIONS if triggers else _TRIGGER_OPTIONS) if name in present]
    if not triggers and options.names:
        raise misuse("eval", f"{options.names[0]!r} is one argument too many.")
    if not triggers and not given:
        if options.optimise_description:
            given = [name for name in _SKILL_OPTIONS if name in present and name not in _DESCRIPTION_OPTIONS]
        elif options.apply:
            raise misuse("eval", "--apply is for --optimise-description only.")
    if given:
        form = "whet eval triggers" if triggers else f"whet eval {options.kind}"
        form += " --optimise-description" if options.optimise_description and not triggers else ""
        raise misuse("eval", f"--{given[0].replace('_', '-')} does not go with `{form}`.")


def _run_skill(context: Context, options: Namespace) -> Answer:
    with progress(context, options) as library:
        if options.optimise_description:
            return library.learning.optimise_description(options.kind, options.model or "", apply=options.apply)
        answer = library.learning.eval_skill(
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
    return Outcome(answer, 1 if answer.problem else 0)


def _render_skill(answer: Json, screen: Screen, options: Namespace) -> None:
    """The pass rates, and what they say; or the descriptions that were tried."""
    if options.optimise_description:
        _render_description(answer, screen)
        return
    for entry in answer["report"]:
        screen.say(f"{screen.place(entry['path'])}: {clean(entry['message'])} [{entry['code']}]")
    other = "old_skill" if answer["against"] == "old" else "without_skill"
    sides = ("with_skill", other)
    rows = [
        (row["eval"], *(_format_rate(row["rates"].get(side)) for side in sides), " ".join(row["flags"]), row["text"])
        for row in answer["expectations"]
    ]
    screen.grid(("EVAL", "WITH", "OLD" if answer["against"] == "old" else "WITHOUT", "FLAGS", "EXPECTATION"), rows)
    rates = [answer["summary"][side]["pass_rate"] for side in sides]
    means = [_format_rate(None if one is None else one["mean"]) for one in rates]
    than = "with the version before" if answer["against"] == "old" else "without it"
    screen.say(
        f"{plural(len(answer['evals']), 'eval')}, {plural(answer['runs'], 'run')} each: pass rate {means[0]} with "
        f"{clean(answer['name'])}, {means[1]} {than}; {answer['tokens']:,} tokens."
    )
    if answer["blind"]:
        screen.say(_format_blind(answer["blind"]))
    if answer["out"]:
        screen.say(f"Everything is in {screen.place(answer['out'])}; open report.html in a browser.")
    render_failure(answer, screen)


def _format_blind(blind: Json) -> str:
    missing = f", {blind['missing']} missing" if blind["missing"] else ""
    counts = f"{blind['wins']} won, {blind['losses']} lost, {blind['ties']} tied"
    return f"Compared blindly, with the skill: {counts}{missing}."


def _render_description(answer: Json, screen: Screen) -> None:
    if answer["improved"]:
        screen.paragraph(answer["description"])
    before, after = (answer[one]["held_out"] for one in ("before", "after"))
    counts = f"{plural(len(answer['tried']), 'candidate')} tried on {plural(answer['held_out'], 'held-out message')}"
    if not answer["improved"]:
        screen.say(f"{counts}; none is better than the description there is ({before:.2f}).")
        return
    screen.say(f"{counts}; the best one raises {before:.2f} to {after:.2f}.")
    if answer["applied"]:
        screen.say(f"It is written; {clean(answer['name'])} is at version {answer['version']}.")
    else:
        screen.hint("Run it with --apply to write it.")


def _format_rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


_TRIGGERS = "triggers"
_MOST_MESSAGES = 5
"""Messages of a kind that are shown for one skill."""
_GROUPS = (("missed", "missed"), ("offered", "only_offered"), ("false", "false_triggers"))
_NO_SKILL = "no skill"
_TIERS = (("must", "precision"), ("must", "recall"), ("offered", "precision"), ("offered", "recall"))


def configure_eval(parser: Parser) -> None:
    parser.details = (
        f"{_DETAILS}\n\n"
        "`whet eval triggers`: a skill's trigger evals are labelled messages in evals/triggers.json, a JSON list of "
        "{query, should_trigger}; other common files and shapes are read too. MUST counts the messages for which a "
        "skill comes up by itself, OFFERED those for which it is at least offered to the model. The minima ask for a "
        "precision of MUST and a recall of OFFERED, of each skill and of all together, but for skills that only a "
        "person may invoke; the command exits with 1 where one is missed, or where a message is for a skill that is "
        "not there. On a pipe, each skill is a line of name, messages and the four numbers, with tabs between them; "
        "then each message that went wrong is a line of name, what went wrong (missed, offered, false, stolen), "
        "confidence, the skill that won or ranks first and the message."
    )
    parser.positional("kind", "NAME", "A skill, to evaluate what comes of it; or `triggers`.")
    parser.positional(
        "names", "NAME", "With triggers, only these skills; all that have evals otherwise.", many=True, optional=True
    )
    _configure_skill(parser)
    parser.option("--file", metavar="FILE", text="Triggers: take the messages from this file.")
    parser.option("--held-out", text="Triggers: report on two fifths of the messages; learn from the others.")
    parser.option(
        "--min-precision", metavar="P", type=fraction, text="Triggers: exit with 1 when a precision is below."
    )
    parser.option("--min-recall", metavar="R", type=fraction, text="Triggers: exit with 1 when a recall is below.")
    parser.option("--suggest", text="Triggers: suggest words for the descriptions.")


def run_eval(context: Context, options: Namespace) -> Answer:
    """Ask, and compare with what is asked for."""
    _check_options(options, triggers=options.kind == _TRIGGERS)
    if options.kind != _TRIGGERS:
        return _run_skill(context, options)
    from whet.routing.evals.report import against_minima

    try:
        answer = context.library.learning.eval_triggers(
            options.names, file=options.file, held_out=options.held_out, suggest=options.suggest
        )
    except InvalidError as error:
        if "report" not in error.details:
            raise
        return Outcome(error.to_json(), error.exit_code)
    answer = against_minima(answer, min_precision=options.min_precision, min_recall=options.min_recall)
    return Outcome(answer, 1 if answer.problem else 0)


def render_eval(answer: Json, screen: Screen, options: Namespace) -> None:
    """A table and the messages behind it; lines for a program."""
    if options.kind != _TRIGGERS:
        _render_skill(answer, screen, options)
        return
    for entry in answer["report"]:
        told = f"{entry['message']} {entry['hint']}".rstrip()
        screen.say(f"{screen.place(entry['path'])}: {entry['severity']}: {told} [{entry['code']}]")
    if "skills" in answer:
        _render_numbers(answer, screen)
        _render_summary(answer, screen, options)
    render_failure(answer, screen)


def _render_numbers(answer: Json, screen: Screen) -> None:
    rows = [(item["skill"], str(item["cases"]), *_format_numbers(item)) for item in answer["skills"]]
    screen.grid(("SKILL", "MESSAGES", "MUST P", "MUST R", "OFFERED P", "OFFERED R"), rows)
    for item in (*answer["skills"], *filter(None, [answer["no_skill"]])):
        _render_mistakes(item, screen)
    suggestions = answer["suggestions"]
    if suggestions and screen.tty:
        screen.line()
        screen.line(screen.paint("Suggestions", "bold"))
        for item in suggestions:
            screen.paragraph(_format_suggestion(item), 4, "  ")
    else:
        screen.say(*(f"Suggestion for {_format_suggestion(item)}" for item in suggestions))


def _render_summary(answer: Json, screen: Screen, options: Namespace) -> None:
    if not answer["cases"]:
        screen.say("No skill has trigger evals yet.")
        screen.hint("Write evals/triggers.json in a skill: a JSON list of {query, should_trigger}.")
        return
    which = "held-out message" if answer["held_out"] else "message"
    must_p, must_r, offered_p, offered_r = _format_numbers(answer["overall"])
    screen.say(
        f"{plural(answer['cases'], which)}: comes up by itself with precision {must_p} and recall {must_r}, "
        f"is offered with {offered_p} and {offered_r}."
    )
    if options.suggest and (unhelped := _skills_without_suggestion(answer)):
        screen.say(f"No words were found that would help {', '.join(unhelped)}.")
    elif options.suggest and not answer["suggestions"]:
        screen.say("No words are needed.")


def _skills_without_suggestion(answer: Json) -> list[str]:
    """The skills that something went wrong for and that have no suggestion."""
    helped = {item["skill"] for item in answer["suggestions"]}
    counted = (item for item in answer["skills"] if not item["explicit"])
    wrong = (item["skill"] for item in counted if item["missed"] or item["false_triggers"])
    return [clean(name) for name in wrong if name not in helped]


def _format_numbers(item: Json) -> tuple[str, ...]:
    values = (item[tier][measure] for tier, measure in _TIERS)
    return tuple("-" if value is None else f"{value:.2f}" for value in values)


def _mistakes(item: Json) -> Iterator[tuple[str, Json, str]]:
    """The messages that went wrong for one skill, or for none: how, the row, and who won or ranks first instead."""
    stolen = {message for theft in item["stolen"] for message in theft["messages"]}
    for kind, group in _GROUPS:
        for row in item[group]:
            other = row["winner"] or row["first"] or ""
            if kind != "offered" or row["message"] not in stolen:
                yield kind, row, other if other != item["skill"] else ""
    for theft in item["stolen"]:
        for message in theft["messages"]:
            yield "stolen", {"message": message, "confidence": None, "tier": ""}, theft["by"]


def _render_mistakes(item: Json, screen: Screen) -> None:
    """The messages that went wrong for one skill."""
    wrong, name = [*_mistakes(item)], item["skill"] or _NO_SKILL
    if not screen.tty:
        for kind, row, other in wrong:
            sure = "" if row["confidence"] is None else f"{row['confidence']:.2f}"
            screen.line("\t".join(map(clean, (name, kind, sure, other, row["message"]))))
        return
    if wrong:
        screen.line()
        screen.line(screen.paint(clean(name), "bold"))
    left = len(wrong)
    for shown in (*(kind for kind, _ in _GROUPS), "stolen"):
        for kind, row, other in [entry for entry in wrong if entry[0] == shown][:_MOST_MESSAGES]:
            left -= 1
            _render_message(kind, row["message"], ", ".join(_mistake_notes(kind, row, clean(other))), screen)
    if left:
        screen.line(f"  {left} more with --json.")


def _mistake_notes(kind: str, row: Json, other: str) -> Iterator[str]:
    """How sure it was of a message, and who was before."""
    if row["confidence"] is not None:
        yield f"{row['confidence']:.0%}"
    if kind == "missed":
        yield f"{other} ranks first" if other else "nothing offered"
    elif kind == "false":
        yield f"{other} {row['tier']}".lstrip() if row["confidence"] is None else row["tier"]
    elif kind == "stolen":
        yield f"by {other}"


def _render_message(kind: str, message: str, note: str, screen: Screen) -> None:
    style = screen.paint(f"{kind:<7}", "yellow" if kind in ("missed", "offered") else "red")
    room = max(screen.columns - 15 - len(note), 20)
    screen.line(f"  {style}  {shorten(clean(message), room)}  ({note})")


def _format_suggestion(item: Json) -> str:
    where = "say" if item["kind"] == "use" else "do not use for"
    found = f"in {plural(item['messages'], 'message')}; {_format_proof(item)}"
    return f"{clean(item['skill'])}: {where} '{clean(item['phrase'])}' ({found})"


def _format_proof(item: Json) -> str:
    """What came of trying a suggestion."""
    gain = item["gain"]
    if gain is None:
        return "not tried"
    if gain == int(gain):
        return f"tried: {plural(int(gain), 'more right answer')}"
    return f"tried: {gain:.1f} more right answers, an offer counting half"


_IMPROVE_NUMBERS = ("rounds", "edits", "runs", "budget")


def configure_improve(parser: Parser) -> None:
    parser.details = (
        "The skill's evals are done with the skill as it is. A model is shown what failed and proposes a few small "
        "edits of the instructions; with five evals or more, two fifths of them are kept from it. A candidate is "
        "accepted only if the package stays sound, grows little, leaves evals/ and tests/ alone, does better on all "
        "evals together and worse on none. It becomes a proposal (`whet approve`), or with --write the next version. "
        "What is rejected is remembered and not tried again. Exits with 1 where nothing better was found. On a pipe, "
        "each round is a line of round, verdict, score before and after, tokens, edits and why, with tabs between "
        "them; the difference follows."
    )
    skill_argument(parser)
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5 or recorded:FILE.")
    parser.option("--grader", metavar="SPEC", text="The model that judges, where it is to be another.")
    parser.option("--rounds", metavar="N", type=amount, text="Try so many times (default 3).")
    parser.option("--edits", metavar="N", type=amount, text="Edits in one round (default 4).")
    parser.option("--runs", metavar="N", type=amount, text="Do each eval so many times (default 1).")
    parser.option("--write", text="Write the next version instead of proposing it.")
    parser.option("--dry-run", text="Tell what would be better, and keep nothing.")
    parser.exclude(("--write", "--dry-run"))
    parser.option("--budget", metavar="TOKENS", type=amount, text="What all of it may cost (default 1,000,000).")


def run_improve(context: Context, options: Namespace) -> Answer:
    given = {name: value for name in _IMPROVE_NUMBERS if (value := getattr(options, name)) is not None}
    with progress(context, options) as library:
        answer = library.learning.improve(
            *(options.name, options.model), grader=options.grader, write=options.write, dry_run=options.dry_run, **given
        )
    return Outcome(answer, 1 if answer.problem else 0)


def render_improve(answer: Json, screen: Screen, _options: Namespace) -> None:
    """A row for each round, what changes, and what became of it."""
    for entry in answer["report"]:
        screen.say(f"{screen.place(entry['path'])}: {clean(entry['message'])} [{entry['code']}]")
    screen.say(*map(clean, answer["warnings"]))
    rows = [
        (
            *(
                str(number),
                row["verdict"],
                _format_rate(row["before"]),
                _format_rate(row["after"]),
                f"{row['tokens']:,}",
            ),
            *(str(len(row["edits"])), _explain_round(row)),
        )
        for number, row in enumerate(answer["rounds"], 1)
    ]
    screen.grid(("ROUND", "VERDICT", "BEFORE", "AFTER", "TOKENS", "EDITS", "WHY"), rows)
    if answer["diff"]:
        if screen.tty:
            screen.line()
        paint_diff(screen, answer["diff"])
    evals = answer["learned_from"] + answer["held_out"]
    held = f", {answer['held_out']} of them held out" if answer["held_out"] else ""
    before, after = (_format_rate(answer[one]["score"]) for one in ("before", "after"))
    change = f"from {before} to {after}" if answer["improved"] else f"stays {before}"
    screen.say(
        f"{clean(answer['name'])}: the score {change} on {plural(evals, 'eval')}{held}; {answer['tokens']:,} tokens."
    )
    _render_end(answer, screen)


def _render_end(answer: Json, screen: Screen) -> None:
    """What became of it, and what to do next."""
    render_failure(answer, screen)
    if not answer["success"]:
        return
    if answer["stopped"]:
        screen.say(f"{clean(answer['stopped']['message'])} [{answer['stopped']['code']}]")
    if answer["written"]:
        screen.say(f"It is written; {clean(answer['name'])} is at version {clean(answer['version'])}.")
    elif "proposal" in answer:
        screen.say(f"It waits as proposal {answer['proposal']}. {clean(answer['cause'])}")
        screen.hint(answer["hint"])
    elif answer["improved"]:
        screen.hint("Run it without --dry-run to keep it.")


def _explain_round(row: Json) -> str:
    """What speaks against a candidate, or what its edits are for."""
    if row["reasons"]:
        return " ".join(reason["message"] for reason in row["reasons"])
    return " ".join(edit["why"] for edit in row["edits"])


_OUTPUT_LINES = 20
"""Lines of what a failed test printed."""


def configure_test(parser: Parser) -> None:
    parser.details = (
        "Tests are what lies in tests/ of the skill: test_*.py, *_test.py, *.sh, and whatever else is executable. Each "
        "runs in the sandbox on a copy of the skill, without a network, for a minute at most; without a sandbox "
        "nothing is run. A test passes when it exits with 0; 77 says that it is skipped. Exits with 1 where one fails. "
        "On a pipe, each test is a line of status, seconds and path, with tabs between them; the last lines of what a "
        "failed one printed are on standard error."
    )
    skill_argument(parser)
    parser.option("--list", text="Only tell which tests there are.")


def run_test(context: Context, options: Namespace) -> Answer:
    with progress(context, options) as library:
        answer = library.learning.run_tests(options.name, only_list=options.list)
    return Outcome(answer, 1 if answer.problem else 0)


def render_test(answer: Json, screen: Screen, options: Namespace) -> None:
    """A row for each test, then what the failed ones printed."""
    tests = answer["tests"]
    if options.list:
        for test in tests:
            screen.line(clean(test["path"]))
        screen.say(f"{plural(len(tests), 'test')}.")
        return
    screen.grid(
        ("STATUS", "SECONDS", "TEST"), [(test["status"], f"{test['seconds']:.1f}", test["path"]) for test in tests]
    )
    for test in tests:
        if test["status"] not in ("passed", "skipped") and test["output"]:
            printed = [f"  {line}" for line in clean_block(test["output"]).rstrip("\n").split("\n")[-_OUTPUT_LINES:]]
            if screen.tty:
                for line in ("", screen.paint(clean(test["path"]), "bold"), *printed):
                    screen.line(line)
            else:
                screen.say(f"{clean(test['path'])} printed:", *printed)
    told = f"{plural(len(tests), 'test')}: {answer['passed']} passed, {answer['failed']} failed"
    screen.say(f"{told}, {answer['skipped']} skipped.")
    if not answer["success"]:
        screen.say(f"{clean(answer['error'])} [{answer['code']}]")
        screen.hint("--json has all that they printed.")


COMMANDS = {
    "eval": Command(configure_eval, run_eval, render_eval),
    "improve": Command(configure_improve, run_improve, render_improve),
    "test": Command(configure_test, run_test, render_test),
}
