"""`eval`, `improve`, `test`: measure a skill, and improve it if a version is proved better."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError
from whet.interfaces.cli.arguments import misuse, skill_argument
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import paint_diff, render_failure, render_report
from whet.interfaces.cli.terminal import progress
from whet.interfaces.cli.text import clean, clean_block, plural, shorten
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.api.learning import GeneratedTriggers
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.learning.evals.descriptions import Description
    from whet.learning.evals.results import Evaluation, Side
    from whet.learning.evals.skill_tests import OwnTests
    from whet.learning.improve import Improvement, Round
    from whet.routing.evals.report import Overall, Report, Tally, TriggerEvals
    from whet.routing.evals.suggestions import Suggestion


_AGAINST = ("none", "old")
_SKILL_OPTIONS = (
    *("model", "grader", "runs", "out", "against", "min_pass_rate", "budget"),
    *("optimise_description", "apply"),
)
_DESCRIPTION_OPTIONS = ("model", "apply", "optimise_description")
_TRIGGER_OPTIONS = ("file", "held_out", "min_precision", "min_recall", "suggest")


def _configure_skill(parser: Parser) -> None:
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5 or recorded:FILE.")
    parser.option("--grader", metavar="SPEC", text="The model that grades (default: the same model).")
    parser.option("--runs", metavar="N", read=amount, text="Run each eval this many times (default 1).")
    parser.option("--out", metavar="DIR", text="Write outputs, grades and benchmark.json here.")
    parser.option(
        "--against", metavar="W", choices=_AGAINST, text="Compare with no skill, or with the previous version."
    )
    parser.option(
        "--min-pass-rate", metavar="R", read=fraction, text="Exit with 1 if the pass rate is below this, 0 to 1."
    )
    parser.option("--budget", metavar="TOKENS", read=amount, text="Spend at most this many tokens (default 1,000,000).")
    parser.option("--optimise-description", text="Look for a better description instead.")
    parser.option("--apply", text="Write the better description.")


def fraction(text: str) -> float:
    """Parse a number from 0 to 1, as the value of an option."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0.0 <= value <= 1.0:
        return value
    raise ValueError(f"{text!r} is not a number from 0 to 1")


def _check_options(options: Namespace, *, triggers: bool) -> None:
    """Raise UsageError for an option that belongs to the other form of the command."""
    present = {name for name in (*_SKILL_OPTIONS, *_TRIGGER_OPTIONS) if getattr(options, name) not in (None, False)}
    given = [name for name in (_SKILL_OPTIONS if triggers else _TRIGGER_OPTIONS) if name in present]
    if not triggers and options.names:
        raise misuse("learn eval", f"{options.names[0]!r} is an unexpected argument.")
    if not triggers and not given:
        if options.optimise_description:
            given = [name for name in _SKILL_OPTIONS if name in present and name not in _DESCRIPTION_OPTIONS]
        elif options.apply:
            raise misuse("learn eval", "`--apply` needs `--optimise-description`.")
    if given:
        form = "whet learn eval triggers" if triggers else f"whet learn eval {options.kind}"
        form += " --optimise-description" if options.optimise_description and not triggers else ""
        raise misuse("learn eval", f"--{given[0].replace('_', '-')} does not work with `{form}`.")


def _run_skill(context: Context, options: Namespace) -> Answer:
    with progress(context, options) as library:
        if options.optimise_description:
            best = library.learning.optimise_description(options.kind, options.model or "", apply=options.apply)
            return Answer(best, render_description)
        answer = library.learning.eval_skill(
            options.kind,
            options.model,
            grader=options.grader,
            runs=options.runs or 1,
            against=options.against or "none",
            out=options.out,
            min_pass_rate=options.min_pass_rate,
            **({"budget": options.budget} if options.budget else {}),
        )
    return Answer(answer, render_evaluation, 1 if answer.problem else 0)


def render_evaluation(found: Evaluation, screen: Screen, _options: Namespace) -> None:
    """Print the pass rates, and their meaning."""
    _render_report(found.report, screen)
    old = found.against == "old"
    sides: tuple[Side, Side] = ("with_skill", "old_skill" if old else "without_skill")
    rows = [
        (row.eval, *(_format_rate(row.rates.get(side)) for side in sides), " ".join(row.flags), row.text)
        for row in found.expectations
    ]
    screen.grid(("EVAL", "WITH", "OLD" if old else "WITHOUT", "FLAGS", "EXPECTATION"), rows)
    rates = [found.summary.sides[side].pass_rate for side in sides]
    means = [_format_rate(rate and round(rate.mean, 4)) for rate in rates]
    than = "with the previous version" if old else "without it"
    screen.say(
        f"{plural(len(found.evals), 'eval')}, {plural(found.runs, 'run')} each: pass rate {means[0]} with "
        f"{clean(found.name)}, {means[1]} {than}; {found.tokens:,} tokens."
    )
    if found.out:
        screen.say(f"Everything is in {screen.place(found.out)}.")
    render_failure(found.problem, screen)


def _render_report(report: Sequence[Note], screen: Screen) -> None:
    screen.say(*(f"{screen.place(note.path)}: {clean(note.message)} [{note.code}]" for note in report))


def render_description(found: Description, screen: Screen, _options: Namespace) -> None:
    """Print the best description, and its scores."""
    counts = f"{plural(len(found.tried), 'candidate')} tried on {plural(found.held_out, 'held-out message')}"
    before, after = found.before.held_out, found.after.held_out
    if not found.improved:
        screen.say(f"{counts}; none is better than the current description ({before:.2f}).")
        return
    screen.paragraph(found.description)
    screen.say(f"{counts}; the best one raises {before:.2f} to {after:.2f}.")
    if found.applied:
        screen.say(f"Written; {clean(found.name)} is now at version {found.version}.")
    else:
        screen.hint("Run it again with `--apply` to write it.")


def _format_rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


_TRIGGERS = "triggers"
_MOST_MESSAGES = 5
"""Number of messages of one kind that are shown for one skill."""
_NO_SKILL = "no skill"


def configure_eval(parser: Parser) -> None:
    parser.example("whet learn eval pdf --model openai:gpt-5", "does the skill help?")
    parser.example("whet learn eval triggers", "do skills trigger when they should?")
    parser.example("whet learn eval triggers pdf --suggest", "with words that would help")
    parser.details = (
        "`whet learn eval NAME` runs the tasks in the skill's evals/evals.json. A model does each task with the skill "
        "and without it; checks and the model grade the results, and the difference shows what the skill is worth. "
        "Exits with 1 if the skill does worse, if runs are missing, or if the pass rate is below --min-pass-rate. "
        "--optimise-description looks for a description that triggers the skill better and measures it on held-out "
        "trigger evals; without --model, it uses words from those evals. --apply writes the result.\n\n"
        "`whet learn eval triggers` tries the labelled messages in evals/triggers.json of each skill, a JSON list of "
        "{query, should_trigger}; other common formats work too. It needs no model. MUST counts the messages for "
        "which a skill triggers automatically, OFFERED those for which it is at least offered to the model. "
        "--min-precision is for the precision of MUST, --min-recall for the recall of OFFERED; both apply to each "
        "skill and to all together, except skills that only a person may invoke. Exits with 1 if a value is too low, "
        "or if a message is for a skill that does not exist.\n\n"
        "In a pipe, fields are separated by tabs. `whet learn eval NAME` prints a line for each expectation: eval, "
        "pass rate with and without the skill, flags and expectation. `whet learn eval triggers` prints a line for "
        "each skill: name, messages and the four numbers; then a line for each wrong message: name, what went wrong "
        "(missed, offered, false, stolen), confidence, the skill that won or ranks first, and the message."
    )
    parser.positional("kind", "NAME", "A skill to evaluate, or `triggers`.")
    parser.positional(
        "names", "NAME", "With triggers: only these skills (default: all with evals).", many=True, optional=True
    )
    _configure_skill(parser)
    parser.option("--file", metavar="FILE", text="Triggers: read the messages from this file.")
    parser.option("--held-out", text="Triggers: hold out two fifths of the messages to report on; learn from the rest.")
    parser.option(
        "--min-precision", metavar="P", read=fraction, text="Triggers: exit with 1 if a precision is below this."
    )
    parser.option("--min-recall", metavar="R", read=fraction, text="Triggers: exit with 1 if a recall is below this.")
    parser.option("--suggest", text="Triggers: suggest words for the descriptions.")


def run_eval(context: Context, options: Namespace) -> Answer:
    """Run the evals, and compare with the requested minima."""
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
        return Answer(error, render_unusable, error.exit_code)
    answer = against_minima(answer, min_precision=options.min_precision, min_recall=options.min_recall)
    return Answer(answer, render_triggers, 1 if answer.problem else 0)


def render_unusable(error: InvalidError, screen: Screen, _options: Namespace) -> None:
    """Print why no row of a file can be used."""
    render_report([Note(**note) for note in error.details["report"]], screen, place=True, hint=True)
    render_failure(Note.from_error(error, "error"), screen)


def render_triggers(evals: TriggerEvals, screen: Screen, options: Namespace) -> None:
    """Print a table and the messages behind it; lines for a program."""
    render_report(evals.notes, screen, place=True, hint=True)
    _render_numbers(evals.report, screen)
    _render_summary(evals.report, screen, options)
    render_failure(evals.problem, screen)


def _render_numbers(report: Report, screen: Screen) -> None:
    rows = [(tally.skill, str(tally.cases), *_format_numbers(tally)) for tally in report.skills]
    screen.grid(("SKILL", "MESSAGES", "MUST P", "MUST R", "OFFERED P", "OFFERED R"), rows)
    for tally in (*report.skills, *filter(None, [report.no_skill])):
        _render_mistakes(tally, screen)
    if report.suggestions and screen.tty:
        screen.line()
        screen.line(screen.paint("Suggestions", "bold"))
        for item in report.suggestions:
            screen.paragraph(_format_suggestion(item), 4, "  ")
    else:
        screen.say(*(f"Suggestion for {_format_suggestion(item)}" for item in report.suggestions))


def _render_summary(report: Report, screen: Screen, options: Namespace) -> None:
    if not report.cases:
        screen.say("No skill has trigger evals yet.")
        screen.hint("Write evals/triggers.json in a skill: a JSON list of {query, should_trigger}.")
        return
    which = "held-out message" if report.held_out else "message"
    must_p, must_r, offered_p, offered_r = _format_numbers(report.overall)
    screen.say(
        f"{plural(report.cases, which)}: triggers automatically with precision {must_p} and recall {must_r}; is "
        f"offered with {offered_p} and {offered_r}."
    )
    if options.suggest and (unhelped := _skills_without_suggestion(report)):
        screen.say(f"No words were found that would help {', '.join(unhelped)}.")
    elif options.suggest and not report.suggestions:
        screen.say("No words are needed.")


def _skills_without_suggestion(report: Report) -> list[str]:
    """Return the skills with mistakes and without a suggestion."""
    helped = {item.skill for item in report.suggestions}
    wrong = (one.skill for one in report.skills if not one.explicit and (one.missed or one.false_triggers))
    return [clean(name) for name in wrong if name not in helped]


def _format_numbers(found: Tally | Overall) -> tuple[str, ...]:
    must, offered = found.must, found.offered
    shares = (must.precision, must.recall, offered.precision, offered.recall)
    return tuple(_format_rate(share and round(share, 4)) for share in shares)


class Mistake(NamedTuple):
    """A message with a wrong result."""

    kind: str
    """`missed`, `offered`, `false` or `stolen`."""
    message: str
    other: str
    """The skill that won, or ranks first, instead."""
    confidence: float | None = None
    tier: str = ""


def _mistakes(tally: Tally) -> Iterator[Mistake]:
    """Yield the messages with wrong results for one skill, or for no skill."""
    stolen = {message for theft in tally.stolen for message in theft.messages}
    groups = {"missed": tally.missed, "offered": tally.only_offered, "false": tally.false_triggers}
    for kind, rows in groups.items():
        for row in rows:
            other = row.winner or row.first or ""
            if kind != "offered" or row.message not in stolen:
                yield Mistake(kind, row.message, other if other != tally.skill else "", row.confidence, row.tier)
    for theft in tally.stolen:
        yield from (Mistake("stolen", message, theft.by) for message in theft.messages)


def _render_mistakes(tally: Tally, screen: Screen) -> None:
    """Print the messages with wrong results for one skill."""
    wrong, name = [*_mistakes(tally)], tally.skill or _NO_SKILL
    if not screen.tty:
        for one in wrong:
            sure = "" if one.confidence is None else f"{one.confidence:.2f}"
            screen.line("\t".join(map(clean, (name, one.kind, sure, one.other, one.message))))
        return
    if wrong:
        screen.line()
        screen.line(screen.paint(clean(name), "bold"))
    shown: Counter[str] = Counter()
    for one in wrong:
        shown[one.kind] += 1
        if shown[one.kind] <= _MOST_MESSAGES:
            _render_message(one, ", ".join(_mistake_notes(one)), screen)
    if left := sum(max(0, count - _MOST_MESSAGES) for count in shown.values()):
        screen.line(f"  {left} more with --json.")


def _mistake_notes(one: Mistake) -> Iterator[str]:
    """Yield the confidence for a message, and the skill that came first."""
    other = clean(one.other)
    if one.confidence is not None:
        yield f"{one.confidence:.0%}"
    if one.kind == "missed":
        yield f"{other} ranks first" if other else "nothing offered"
    elif one.kind == "false":
        yield f"{other} {one.tier}".lstrip() if one.confidence is None else one.tier
    elif one.kind == "stolen":
        yield f"by {other}"


def _render_message(one: Mistake, note: str, screen: Screen) -> None:
    style = screen.paint(f"{one.kind:<7}", "yellow" if one.kind in ("missed", "offered") else "red")
    room = max(screen.columns - 15 - len(note), 20)
    screen.line(f"  {style}  {shorten(clean(one.message), room)}  ({note})")


def _format_suggestion(item: Suggestion) -> str:
    where = "say" if item.kind == "use" else "do not use for"
    found = f"in {plural(item.messages, 'message')}; {_format_proof(item.gain)}"
    return f"{clean(item.skill)}: {where} '{clean(item.phrase)}' ({found})"


def _format_proof(gain: float | None) -> str:
    """Describe the result of trying a suggestion."""
    if gain is None:
        return "not tried"
    if gain == int(gain):
        return f"tried: {plural(int(gain), 'more right answer')}"
    return f"tried: {gain:.1f} more right answers, an offer counting half"


_IMPROVE_NUMBERS = ("rounds", "edits", "runs", "budget")


def configure_improve(parser: Parser) -> None:
    parser.details = (
        "Runs the skill's evals. A model sees what failed and proposes a few small edits to the instructions; with "
        "five or more evals, two fifths are held out. A candidate is accepted only if the skill stays valid, grows "
        "little, leaves evals/ and tests/ alone, and does better overall and no worse on any eval. It becomes a "
        "proposal (`whet proposals approve`), or with --write the next "
        "version. Exits with 1 if nothing better was found. "
        "In a pipe, each line has round, verdict, score before and after, tokens, edits and reason, separated by "
        "tabs; the diff follows."
    )
    skill_argument(parser)
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5 or recorded:FILE.")
    parser.option("--grader", metavar="SPEC", text="The model that grades (default: the same model).")
    parser.option("--rounds", metavar="N", read=amount, text="Try this many rounds (default 3).")
    parser.option("--edits", metavar="N", read=amount, text="Make at most N edits in one round (default 4).")
    parser.option("--runs", metavar="N", read=amount, text="Run each eval this many times (default 1).")
    parser.option("--write", text="Write the next version instead of proposing it.")
    parser.option("--dry-run", text="Show what would be better; keep nothing.")
    parser.exclude(("--write", "--dry-run"))
    parser.option("--budget", metavar="TOKENS", read=amount, text="Spend at most this many tokens (default 1,000,000).")


def run_improve(context: Context, options: Namespace) -> Answer:
    given = {name: value for name in _IMPROVE_NUMBERS if (value := getattr(options, name)) is not None}
    with progress(context, options) as library:
        answer = library.learning.improve(
            *(options.name, options.model), grader=options.grader, write=options.write, dry_run=options.dry_run, **given
        )
    return Answer(answer, render_improve, 1 if answer.problem else 0)


def render_improve(found: Improvement, screen: Screen, _options: Namespace) -> None:
    """Print a row for each round, the change, and its outcome."""
    _render_report(found.report, screen)
    rows = [
        (
            str(number),
            row.verdict,
            _format_rate(row.before),
            _format_rate(row.after),
            f"{row.tokens:,}",
            str(len(row.edited.done)),
            _explain_round(row),
        )
        for number, row in enumerate(found.rounds, 1)
    ]
    screen.grid(("ROUND", "VERDICT", "BEFORE", "AFTER", "TOKENS", "EDITS", "WHY"), rows)
    if found.diff:
        if screen.tty:
            screen.line()
        paint_diff(screen, found.diff)
    evals = found.learned_from + found.held_out
    held = f", {found.held_out} of them held out" if found.held_out else ""
    before, after = _format_rate(found.before.score), _format_rate(found.after.score)
    change = f"from {before} to {after}" if found.improved else f"stays {before}"
    screen.say(f"{clean(found.name)}: the score {change} on {plural(evals, 'eval')}{held}; {found.tokens:,} tokens.")
    _render_end(found, screen)


def _render_end(found: Improvement, screen: Screen) -> None:
    """Print the outcome, and the next step."""
    render_failure(found.problem, screen)
    if found.problem:
        return
    if found.stopped:
        screen.say(f"{clean(found.stopped.message)} [{found.stopped.code}]")
    if found.kept and found.kept.proposal is None:
        screen.say(f"Written; {clean(found.name)} is now at version {clean(found.kept.one().version)}.")
    elif found.kept:
        screen.say(f"Saved as proposal {found.kept.proposal}. {clean(found.kept.reason)}")
        screen.hint(found.kept.hint)
    elif found.improved:
        screen.hint("Run it again without `--dry-run` to keep it.")


def _explain_round(row: Round) -> str:
    """Return the reasons against a candidate, or the purpose of its edits."""
    if row.reasons:
        return " ".join(reason.message for reason in row.reasons)
    return " ".join(edit.to_json()["why"] for edit in row.edited.done)


_OUTPUT_LINES = 20
"""Lines of a failed test's output."""


def configure_test(parser: Parser) -> None:
    parser.details = (
        "Runs the tests in the skill's tests/ directory: test_*.py, *_test.py, *.sh and other executables. Each "
        "test runs in the sandbox on a copy of the skill, without network, for at most a minute; without a sandbox "
        "nothing runs. Exit code 0 means passed, 77 means skipped. Exits with 1 if a test fails. In a pipe, each "
        "line has status, seconds and path, separated by tabs; the last output of a failed test is on standard error."
    )
    skill_argument(parser)
    parser.option("--list", text="Only list the tests.")


def run_test(context: Context, options: Namespace) -> Answer:
    with progress(context, options) as library:
        found = library.learning.run_tests(options.name, only_list=options.list)
    return Answer(found, render_test, 1 if found.problem else 0)


def render_test(found: OwnTests, screen: Screen, _options: Namespace) -> None:
    """Print a row for each test, then the output of failed ones."""
    tests = found.tests
    if tests is None:
        for path in found.found:
            screen.line(clean(path))
        screen.say(f"{plural(len(found.found), 'test')}.")
        return
    screen.grid(("STATUS", "SECONDS", "TEST"), [(test.status, f"{test.seconds:.1f}", test.path) for test in tests])
    for test in tests:
        if test.status not in ("passed", "skipped") and test.output:
            printed = [f"  {line}" for line in clean_block(test.output).rstrip("\n").split("\n")[-_OUTPUT_LINES:]]
            if screen.tty:
                for line in ("", screen.paint(clean(test.path), "bold"), *printed):
                    screen.line(line)
            else:
                screen.say(f"{clean(test.path)} printed:", *printed)
    passed, skipped = (sum(test.status == status for test in tests) for status in ("passed", "skipped"))
    failed = len(tests) - passed - skipped
    screen.say(f"{plural(len(tests), 'test')}: {passed} passed, {failed} failed, {skipped} skipped.")
    if found.problem:
        screen.say(f"{clean(found.problem.message)} [{found.problem.code}]")
        screen.hint("`--json` has their full output.")


def configure_triggers(parser: Parser) -> None:
    parser.details = (
        "Writes 50 messages into the skill's evals/triggers.generated.json. The skill is meant for 25 of them, which "
        "come from its description, triggers and instructions. It is not meant for the other 25: its exceptions, "
        "other kinds of work, everyday talk. `whet learn eval triggers` uses them to check whether the skill triggers "
        "for its own words. Replace them with messages from real users when you have some."
    )
    skill_argument(parser)
    parser.option("--dry-run", text="Only show the messages.")


def run_triggers(context: Context, options: Namespace) -> Answer:
    return Answer(context.library.learning.generate_triggers(options.name, dry_run=options.dry_run), render_generated)


def render_generated(made: GeneratedTriggers, screen: Screen, _options: Namespace) -> None:
    if not made.path:
        for label, messages in (("for", made.messages.should_trigger), ("not for", made.messages.should_not_trigger)):
            for message in messages:
                screen.line(f"{label}\t{clean(message)}")
        return
    screen.line(screen.place(made.path))
    count = len(made.messages.should_trigger) + len(made.messages.should_not_trigger)
    screen.say(f"Wrote {count} messages, generated from its own text.")
    screen.hint(f"`whet learn eval triggers {made.messages.skill}` tries them.")


COMMANDS = {
    "learn eval": Command(configure_eval, run_eval),
    "learn triggers": Command(configure_triggers, run_triggers),
    "learn improve": Command(configure_improve, run_improve),
    "skill test": Command(configure_test, run_test),
}
