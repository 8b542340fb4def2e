"""`whet eval triggers`: how well skills come up for the messages they are for, and stay away from the others."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural, shorten

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

KINDS = ("triggers",)
_MOST = 5
"""Messages of a kind that are shown for one skill."""
_TIERS = (("must", "precision"), ("must", "recall"), ("offered", "precision"), ("offered", "recall"))


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "A skill's evals are labelled messages in evals/triggers.json, a JSON list of {query, should_trigger}; other "
        "common files and shapes are read too. MUST counts the messages for which a skill comes up by itself, OFFERED "
        "those for which it is at least offered to the model. The minima ask for a precision of MUST and a recall of "
        "OFFERED, of each skill and of all together; the command exits with 1 where one is missed. On a pipe, each "
        "skill is a line of name, messages and the four numbers, with tabs between them."
    )
    parser.positional("kind", "KIND", "What to evaluate.", choices=KINDS)
    parser.positional("names", "NAME", "Only these skills; all that have evals otherwise.", many=True, optional=True)
    parser.option("--file", metavar="FILE", text="Take the messages from this file: JSON, JSON lines, YAML or CSV.")
    parser.option("--held-out", text="Report on two fifths of the messages; learn from the others.")
    parser.option("--min-precision", metavar="P", type=share, text="Exit with 1 when a precision is below, 0 to 1.")
    parser.option("--min-recall", metavar="R", type=share, text="Exit with 1 when a recall is below, 0 to 1.")
    parser.option("--suggest", text="Suggest words for the descriptions.")


def share(text: str) -> float:
    """A number from 0 to 1, for argparse's `type`."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0.0 <= value <= 1.0:
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask, and compare with what is asked for."""
    from whet.routing.evals.answer import against_minima

    answer = context.library.eval_triggers(
        options.names, file=options.file, held_out=options.held_out, suggest=options.suggest
    )
    answer = against_minima(answer, min_precision=options.min_precision, min_recall=options.min_recall)
    return Outcome(answer, 0 if answer["success"] else 1)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table and the messages behind it; lines for a program."""
    rows = [(item["skill"], str(item["cases"]), *_numbers(item)) for item in answer["skills"]]
    if screen.tty and rows:
        screen.table(("SKILL", "MESSAGES", "MUST P", "MUST R", "OFFERED P", "OFFERED R"), rows)
        for item in answer["skills"]:
            _details(item, screen)
        _no_skill(answer["no_skill"], screen)
        if answer["suggestions"]:
            screen.line()
            screen.line(screen.paint("Suggestions", "bold"))
        for item in answer["suggestions"]:
            screen.line(f"  {_suggestion(item, screen)}")
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
        screen.said.extend(f"Suggestion for {_suggestion(item, screen)}" for item in answer["suggestions"])
    for entry in answer["report"]:
        screen.said.append(f"{screen.place(entry['path'])}: {entry['severity']}: {entry['message']} [{entry['code']}]")
    _sum_up(answer, screen, options)


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
    if options.suggest and not answer["suggestions"]:
        screen.said.append("No words were found that would help.")
    if not answer["success"]:
        screen.said.append(f"{answer['error']} [{answer['code']}]")
        screen.hints.append(answer["hint"])


def _numbers(item: dict[str, Any]) -> tuple[str, ...]:
    values = (item[tier][measure] for tier, measure in _TIERS)
    return tuple("-" if value is None else f"{value:.2f}" for value in values)


def _details(item: dict[str, Any], screen: Screen) -> None:
    """The messages that went wrong for one skill."""
    if not (item["missed"] or item["false_triggers"] or item["stolen"]):
        return
    screen.line()
    screen.line(screen.paint(clean(item["skill"]), "bold"))
    for row in item["missed"][:_MOST]:
        ahead = f"{clean(row['first'])} ranks first" if row["first"] not in (None, item["skill"]) else "nothing offered"
        _message("missed", row["message"], ahead, screen)
    for row in item["false_triggers"][:_MOST]:
        _message("false", row["message"], row["tier"], screen)
    for theft in item["stolen"]:
        _message("stolen", theft["messages"][0], f"{clean(theft['by'])}, {plural(theft['count'], 'message')}", screen)
    left = sum(max(0, len(item[kind]) - _MOST) for kind in ("missed", "false_triggers"))
    if left:
        screen.line(f"  {left} more with --json.")


def _no_skill(item: dict[str, Any] | None, screen: Screen) -> None:
    """Messages for no skill, for which one came up."""
    if item is None or not item["false_triggers"]:
        return
    screen.line()
    screen.line(screen.paint("no skill", "bold"))
    for row in item["false_triggers"][:_MOST]:
        _message("false", row["message"], f"{clean(row['winner'] or '')}, {row['tier']}", screen)


def _message(kind: str, message: str, note: str, screen: Screen) -> None:
    style = screen.paint(f"{kind:<7}", "yellow" if kind == "missed" else "red")
    room = max(screen.columns - 15 - len(note), 20)
    screen.line(f"  {style}  {shorten(clean(message), room)}  ({note})")


def _suggestion(item: dict[str, Any], screen: Screen) -> str:
    where = "say" if item["kind"] == "use" else "do not use for"
    proof = f"tried: {item['gain']:+.1f} right" if item["verified"] else "not tried"
    phrase = screen.paint(clean(item["phrase"]), "cyan") if screen.tty else clean(item["phrase"])
    return f"{clean(item['skill'])}: {where} {phrase}  ({plural(item['messages'], 'message')}, {proof})"
