"""`whet eval triggers`: its options, and the report as people and programs read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import UsageError
from whet.interfaces.cli.commands.eval import configure, render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Parser
from whet.interfaces.cli.text import width
from whet.routing.evals.answer import against_minima
from whet.routing.evals.formats import Case
from whet.routing.evals.judging import Judged
from whet.routing.evals.report import tally
from whet.routing.evals.suggesting import Suggestion

if TYPE_CHECKING:
    from argparse import Namespace

LONG = "stamp the contract that came in this morning " * 3


def judged(message: str, *, fits: bool, tier: Any, winner: str = "", skill: str = "p", first: str = "") -> Judged:
    case = Case(message, skill, fits, "[0]")
    return Judged(case, tier, 1, 0.5, winner, first or winner, rightful=False)


RESULTS = (
    judged("fill these forms", fits=True, tier="must", winner="p"),
    judged(LONG, fits=True, tier="none", first="d"),
    judged("write about pdf", fits=True, tier="may", winner="d"),
    judged("fill the bath", fits=False, tier="must", winner="p"),
    judged("write letters", fits=True, tier="must", winner="d", skill="d"),
    judged("sing", fits=False, tier="may", winner="d", skill=""),
)
SUGGESTIONS = (Suggestion("p", "use", "stamp", 2, 1.5), Suggestion("p", "avoid", "bath", 1))


def answer(*, held_out: bool = False) -> dict[str, Any]:
    report = tally(RESULTS)._replace(suggestions=SUGGESTIONS, held_out=held_out)
    entry = {"code": "case-unlabelled", "severity": "info", "path": "t.json", "message": "[3] has no verdict."}
    return {"success": True, **report.to_json({"p": "pdf", "d": "docx"}), "files": [], "report": [entry]}


def options(*words: str) -> Namespace:
    parser = Parser("eval", "")
    configure(parser)
    return parser.read(["triggers", *words])


def test_a_program_gets_lines() -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(against_minima(answer()), screen, options())
    assert screen.text() == "pdf\t4\t0.50\t0.33\t0.67\t0.67\ndocx\t1\t1.00\t1.00\t1.00\t1.00\n"
    assert screen.said == [
        "Suggestion for pdf: say stamp  (2 messages, tried: +1.5 right)",
        "Suggestion for pdf: do not use for bath  (1 message, not tried)",
        "t.json: info: [3] has no verdict. [case-unlabelled]",
        "6 messages: comes up by itself with precision 0.67 and recall 0.50, is offered with 0.60 and 0.75.",
    ]


def test_a_person_gets_the_messages_behind_the_numbers() -> None:
    screen = Screen(tty=True, colour=False, columns=80)
    render(against_minima(answer(held_out=True)), screen, options("--held-out"))
    assert screen.text() == (
        "SKILL  MESSAGES  MUST P  MUST R  OFFERED P  OFFERED R\n"
        "pdf    4         0.50    0.33    0.67       0.67\n"
        "docx   1         1.00    1.00    1.00       1.00\n"
        "\n"
        "pdf\n"
        "  missed   stamp the contract that came in this morning sta…  (docx ranks first)\n"
        "  false    fill the bath  (must)\n"
        "  stolen   write about pdf  (docx, 1 message)\n"
        "\n"
        "no skill\n"
        "  false    sing  (docx, may)\n"
        "\n"
        "Suggestions\n"
        "  pdf: say stamp  (2 messages, tried: +1.5 right)\n"
        "  pdf: do not use for bath  (1 message, not tried)\n"
    )
    assert max(map(width, screen.text().splitlines())) <= 80
    assert screen.said[-1].startswith("6 held-out messages: ")


def test_a_missed_minimum_is_said_at_the_end() -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(against_minima(answer(), min_recall=0.9), screen, options("--min-recall", "0.9"))
    assert screen.said[-1] == "The recall of pdf is 0.67, below 0.90. [below-minimum]"
    assert screen.hints == ["Run it with --suggest, and look at what was missed, falsely brought up and stolen."]


def test_a_library_without_evals() -> None:
    screen = Screen(tty=True, colour=False, columns=80)
    empty = {"success": True, **tally(()).to_json({}), "files": [], "report": []}
    render(against_minima(empty), screen, options("--suggest"))
    assert (screen.text(), screen.said) == ("", ["No skill has trigger evals yet."])
    assert len(screen.hints) == 1


@pytest.mark.parametrize(
    "words", [["--min-precision", "1.5"], ["--min-recall", "x"], ["--min-recall", "nan"], ["--file"], ["--odd"]]
)
def test_options_that_cannot_be(words: list[str]) -> None:
    with pytest.raises(UsageError):
        options(*words)


def test_options() -> None:
    read = options("pdf", "docx", "--min-precision", "0.9", "--file", "t.csv")
    assert (read.kind, read.names, read.min_precision, read.min_recall, read.file) == (
        "triggers",
        ["pdf", "docx"],
        0.9,
        None,
        "t.csv",
    )
