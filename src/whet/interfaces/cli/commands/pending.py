"""`whet pending`: the changes that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import number_given
from whet.interfaces.cli.commands._showing import difference, grid, moment
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_LABEL = 10


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "A change of a skill that is not yours to change, and one with --stage, waits until you approve or reject it. "
        "On a pipe, each is a line of number, time, who, what, skills and reason, with tabs between them."
    )
    parser.positional("id", "ID", "Show this one, with what it would change.", optional=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for all of them, or for one."""
    number = None if options.id is None else number_given(options.id, "a proposal", "pending")
    return Outcome(context.library.changes.pending(number))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table, or one proposal with its difference."""
    if options.id is not None:
        _one(answer, screen)
        return
    rows = [
        (
            str(proposal["id"]),
            moment(screen, proposal["time"]),
            proposal["actor"],
            _joined(proposal, "action"),
            _joined(proposal, "skill"),
            proposal["reason"] or proposal["cause"],
        )
        for proposal in answer["proposals"]
    ]
    grid(screen, ("ID", "WHEN", "WHO", "WHAT", "SKILL", "REASON"), rows)
    if rows:
        screen.hints.append("`whet pending ID` shows one; `whet approve ID` does it, `whet reject ID` does not.")
    else:
        screen.said.append("Nothing waits.")


def _one(answer: dict[str, Any], screen: Screen) -> None:
    facts = {
        "proposal": str(answer["id"]),
        "skill": _joined(answer, "skill"),
        "what": _joined(answer, "action"),
        "who": answer["actor"],
        "when": moment(screen, answer["time"]),
        "reason": answer["reason"],
        "waits": answer["cause"],
    }
    for label, text in facts.items():
        if text:
            screen.line(f"{screen.paint(label.ljust(_LABEL), 'dim')}{clean(text)}")
    screen.line()
    difference(screen, answer["diff"])
    screen.hints.append(f"`whet approve {answer['id']}` does it, `whet reject {answer['id']}` does not.")


def _joined(proposal: dict[str, Any], field: str) -> str:
    return ", ".join(dict.fromkeys(change[field] for change in proposal["changes"]))
