"""`whet learn eval triggers`: its options, and the report as people and programs read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import InvalidError, UsageError
from whet.interfaces.cli.commands.evals import configure_eval as configure
from whet.interfaces.cli.commands.evals import render_triggers as render
from whet.interfaces.cli.commands.evals import render_unusable
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Parser
from whet.interfaces.cli.text import width
from whet.notes import Note
from whet.routing.evals.formats import Case
from whet.routing.evals.judge import Judged
from whet.routing.evals.report import TriggerEvals, against_minima, tally
from whet.routing.evals.suggestions import Suggestion

if TYPE_CHECKING:
    from whet.interfaces.cli.parser import Namespace

LONG = " ".join(["stamp the contract that came in this morning"] * 3)


def judged(message: str, *, fits: bool, tier: Any, winner: str = "", skill: str = "p", first: str = "") -> Judged:
    case = Case(message, skill, fits, "[0]")
    return Judged(case, tier, 1, 0.5 if skill else None, winner, first or winner, rightful=False)


RESULTS = (
    judged("fill these forms", fits=True, tier="must", winner="p"),
    judged(LONG, fits=True, tier="none", first="d"),
    judged("write about pdf", fits=True, tier="may", winner="d"),
    judged("pdf", fits=True, tier="may", winner="p"),
    judged("fill the bath", fits=False, tier="must", winner="p"),
    judged("write letters", fits=True, tier="must", winner="d", skill="d"),
    judged("sing", fits=False, tier="may", winner="d", skill=""),
)
NAMES = {"p": "pdf", "d": "docx"}
SUGGESTIONS = (Suggestion("pdf", "use", "stamp", 2, 1.5), Suggestion("pdf", "avoid", "bath", 1))


def answer(*, held_out: bool = False, suggestions: tuple[Suggestion, ...] = SUGGESTIONS) -> TriggerEvals:
    report = tally(RESULTS, NAMES)._replace(suggestions=suggestions, held_out=held_out)
    note = Note("case-unlabelled", "info", "[3] has none.", "Add.", path="t.json")
    return TriggerEvals(report, (), (note,))


def options(*words: str) -> Namespace:
    parser = Parser("eval", "")
    configure(parser)
    return parser.read(["triggers", *words])


def test_a_program_gets_lines() -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(against_minima(answer()), screen, options())
    assert screen.text() == (
        "pdf\t5\t0.50\t0.25\t0.75\t0.75\n"
        "docx\t1\t1.00\t1.00\t1.00\t1.00\n"
        f"pdf\tmissed\t0.50\tdocx\t{LONG}\n"
        "pdf\toffered\t0.50\t\tpdf\n"
        "pdf\tfalse\t0.50\t\tfill the bath\n"
        "pdf\tstolen\t\tdocx\twrite about pdf\n"
        "no skill\tfalse\t\tdocx\tsing\n"
    )
    assert screen.messages == [
        "t.json: info: [3] has none. Add. [case-unlabelled]",
        "Suggestion for pdf: say 'stamp' (in 2 messages; tried: 1.5 more right answers, an offer counting half)",
        "Suggestion for pdf: do not use for 'bath' (in 1 message; not tried)",
        "7 messages: triggers automatically with precision 0.67 and recall 0.40; is offered with 0.67 and 0.80.",
    ]


def test_a_person_gets_the_messages_behind_the_numbers() -> None:
    screen = Screen(tty=True, colour=False, columns=80)
    render(against_minima(answer(held_out=True)), screen, options("--held-out"))
    assert screen.text() == (
        "SKILL  MESSAGES  MUST P  MUST R  OFFERED P  OFFERED R\n"
        "pdf    5         0.50    0.25    0.75       0.75\n"
        "docx   1         1.00    1.00    1.00       1.00\n"
        "\n"
        "pdf\n"
        "  missed   stamp the contract that came in this mornin…  (50%, docx ranks first)\n"
        "  offered  pdf  (50%)\n"
        "  false    fill the bath  (50%, must)\n"
        "  stolen   write about pdf  (by docx)\n"
        "\n"
        "no skill\n"
        "  false    sing  (docx may)\n"
        "\n"
        "Suggestions\n"
        "  pdf: say 'stamp' (in 2 messages; tried: 1.5 more right answers, an offer\n"
        "    counting half)\n"
        "  pdf: do not use for 'bath' (in 1 message; not tried)\n"
    )
    assert max(map(width, screen.text().splitlines())) <= 80
    assert screen.messages[-1].startswith("7 held-out messages: ")


def test_a_missed_minimum_is_said_at_the_end() -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(against_minima(answer(), min_recall=0.9), screen, options("--min-recall", "0.9"))
    assert screen.messages[-1] == (
        "Below the minimum: the recall of pdf is 0.75, not 0.90; the recall of all skills together is 0.80, not 0.90. "
        "[below-minimum]"
    )
    assert screen.hints == ["Run again with `--suggest`, and look at the missed, false and stolen messages."]


def test_a_library_without_evals() -> None:
    screen = Screen(tty=True, colour=False, columns=80)
    empty = TriggerEvals(tally((), {}), (), ())
    render(against_minima(empty), screen, options("--suggest"))
    assert (screen.text(), screen.messages) == ("", ["No skill has trigger evals yet."])
    assert len(screen.hints) == 1


def test_a_file_without_a_usable_row() -> None:
    screen = Screen(tty=True, colour=False, columns=80)
    report = answer().to_json()["report"]
    error = InvalidError("not-trigger-evals", "t.json has no usable rows.", hint="Write some.", report=report)
    render_unusable(error, screen, options("--file", "t.json"))
    assert (screen.text(), screen.messages, screen.hints) == (
        "",
        [
            "t.json: info: [3] has none. Add. [case-unlabelled]",
            "t.json has no usable rows. [not-trigger-evals]",
        ],
        ["Write some."],
    )


def test_who_could_not_be_helped_is_said() -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(against_minima(answer(suggestions=())), screen, options("--suggest"))
    assert screen.messages[-1] == "No words were found that would help pdf."
    render(TriggerEvals(tally(RESULTS[:1], NAMES), (), ()), screen, options("--suggest"))
    assert screen.messages[-1] == "No words are needed."


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
