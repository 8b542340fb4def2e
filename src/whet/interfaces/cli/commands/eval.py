"""`whet eval triggers`: how well skills come up for the messages they are for, and stay away from the others.

`whet eval NAME`, how well a skill does its work, is in `_evaluating`; the word `triggers` is never a skill here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError
from whet.interfaces.cli.commands import _evaluating as evaluating
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural, shorten

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

TRIGGERS = "triggers"
_MOST = 5
"""Messages of a kind that are shown for one skill."""
_GROUPS = (("missed", "missed"), ("offered", "only_offered"), ("false", "false_triggers"))
_NO_SKILL = "no skill"
_TIERS = (("must", "precision"), ("must", "recall"), ("offered", "precision"), ("offered", "recall"))


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        f"{evaluating.DETAILS}\n\n"
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
    evaluating.configure(parser)
    share = evaluating.share
    parser.option("--file", metavar="FILE", text="Triggers: take the messages from this file.")
    parser.option("--held-out", text="Triggers: report on two fifths of the messages; learn from the others.")
    parser.option("--min-precision", metavar="P", type=share, text="Triggers: exit with 1 when a precision is below.")
    parser.option("--min-recall", metavar="R", type=share, text="Triggers: exit with 1 when a recall is below.")
    parser.option("--suggest", text="Triggers: suggest words for the descriptions.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask, and compare with what is asked for."""
    evaluating.check_options(options, triggers=options.kind == TRIGGERS)
    if options.kind != TRIGGERS:
        return evaluating.run(context, options)
    from whet.routing.evals.answer import against_minima

    try:
        answer = _asked(context, options)
    except InvalidError as error:
        if "report" not in error.details:
            raise
        return Outcome(error.to_json(), error.exit_code)
    answer = against_minima(answer, min_precision=options.min_precision, min_recall=options.min_recall)
    return Outcome(answer, 0 if answer["success"] else 1)


def _asked(context: Context, options: Namespace) -> dict[str, Any]:
    return context.library.eval_triggers(
        options.names, file=options.file, held_out=options.held_out, suggest=options.suggest
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table and the messages behind it; lines for a program."""
    if options.kind != TRIGGERS:
        evaluating.render(answer, screen, options)
        return
    for entry in answer["report"]:
        told = f"{entry['message']} {entry['hint']}".rstrip()
        screen.said.append(f"{screen.place(entry['path'])}: {entry['severity']}: {told} [{entry['code']}]")
    if "skills" in answer:
        _numbers_and_messages(answer, screen)
        _sum_up(answer, screen, options)
    if not answer["success"]:
        screen.said.append(f"{answer['error']} [{answer['code']}]")
        screen.hints.append(answer["hint"])


def _numbers_and_messages(answer: dict[str, Any], screen: Screen) -> None:
    rows = [(item["skill"], str(item["cases"]), *_numbers(item)) for item in answer["skills"]]
    if screen.tty and rows:
        screen.table(("SKILL", "MESSAGES", "MUST P", "MUST R", "OFFERED P", "OFFERED R"), rows)
    elif not screen.tty:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
    for item in (*answer["skills"], *filter(None, [answer["no_skill"]])):
        _details(item, screen)
    suggestions = answer["suggestions"]
    if suggestions and screen.tty:
        screen.line()
        screen.line(screen.paint("Suggestions", "bold"))
        for item in suggestions:
            screen.paragraph(_suggestion(item), 4, "  ")
    else:
        screen.said.extend(f"Suggestion for {_suggestion(item)}" for item in suggestions)


def _sum_up(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    if not answer["cases"]:
        screen.said.append("No skill has trigger evals yet.")
        screen.hints.append("Write evals/triggers.json in a skill: a JSON list of {query, should_trigger}.")
        return
    which = "held-out message" if answer["held_out"] else "message"
    must_p, must_r, offered_p, offered_r = _numbers(answer["overall"])
    screen.said.append(
        f"{plural(answer['cases'], which)}: comes up by itself with precision {must_p} and recall {must_r}, "
        f"is offered with {offered_p} and {offered_r}."
    )
    if options.suggest and (unhelped := _unhelped(answer)):
        screen.said.append(f"No words were found that would help {', '.join(unhelped)}.")
    elif options.suggest and not answer["suggestions"]:
        screen.said.append("No words are needed.")


def _unhelped(answer: dict[str, Any]) -> list[str]:
    """The skills that something went wrong for and that have no suggestion."""
    helped = {item["skill"] for item in answer["suggestions"]}
    counted = (item for item in answer["skills"] if not item["explicit"])
    wrong = (item["skill"] for item in counted if item["missed"] or item["false_triggers"])
    return [clean(name) for name in wrong if name not in helped]


def _numbers(item: dict[str, Any]) -> tuple[str, ...]:
    values = (item[tier][measure] for tier, measure in _TIERS)
    return tuple("-" if value is None else f"{value:.2f}" for value in values)


def _wrong(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
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


def _details(item: dict[str, Any], screen: Screen) -> None:
    """The messages that went wrong for one skill."""
    wrong, name = [*_wrong(item)], item["skill"] or _NO_SKILL
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
        for kind, row, other in [entry for entry in wrong if entry[0] == shown][:_MOST]:
            left -= 1
            _message(kind, row["message"], ", ".join(_notes(kind, row, clean(other))), screen)
    if left:
        screen.line(f"  {left} more with --json.")


def _notes(kind: str, row: dict[str, Any], other: str) -> Iterator[str]:
    """How sure it was of a message, and who was before."""
    if row["confidence"] is not None:
        yield f"{row['confidence']:.0%}"
    if kind == "missed":
        yield f"{other} ranks first" if other else "nothing offered"
    elif kind == "false":
        yield f"{other} {row['tier']}".lstrip() if row["confidence"] is None else row["tier"]
    elif kind == "stolen":
        yield f"by {other}"


def _message(kind: str, message: str, note: str, screen: Screen) -> None:
    style = screen.paint(f"{kind:<7}", "yellow" if kind in ("missed", "offered") else "red")
    room = max(screen.columns - 15 - len(note), 20)
    screen.line(f"  {style}  {shorten(clean(message), room)}  ({note})")


def _suggestion(item: dict[str, Any]) -> str:
    where = "say" if item["kind"] == "use" else "do not use for"
    found = f"in {plural(item['messages'], 'message')}; {_proof(item)}"
    return f"{clean(item['skill'])}: {where} '{clean(item['phrase'])}' ({found})"


def _proof(item: dict[str, Any]) -> str:
    """What came of trying a suggestion."""
    gain = item["gain"]
    if gain is None:
        return "not tried"
    if gain == int(gain):
        return f"tried: {plural(int(gain), 'more right answer')}"
    return f"tried: {gain:.1f} more right answers, an offer counting half"
