"""`whet learn duplicates`: its options, and what a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.errors import UsageError
from whet.interfaces.cli.commands.match import configure_duplicates as configure
from whet.interfaces.cli.commands.match import render_duplicates as render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Parser
from whet.notes import Note
from whet.routing.duplicates import Duplicates, Pair

if TYPE_CHECKING:
    from whet.interfaces.cli.parser import Namespace

PAIR = Pair("keys", "stills\x1b[2J", 0.7, ("ffmpeg", "png"), ("/a", "/b"))
ANSWER = Duplicates((PAIR,), compared=4, total=12, threshold=0.5, report=())


def options(*words: str) -> Namespace:
    parser = Parser("duplicates", "")
    configure(parser)
    return parser.read(words)


def screen(*, tty: bool) -> Screen:
    return Screen(tty=tty, colour=False, columns=80)


def test_nothing_need_be_said() -> None:
    given = options()
    assert (given.name, given.threshold, given.limit) == (None, None, 50)
    given = options("keys", "--threshold", "0.4", "--limit", "3")
    assert (given.name, given.threshold, given.limit) == ("keys", 0.4, 3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threshold", "much"], "--threshold: 'much' is not a number."),
        (["--threshold", "0"], "--threshold: '0' is not above 0 and up to 1."),
        (["--threshold", "nan"], "--threshold: 'nan' is not above 0 and up to 1."),
        (["--threshold", "1.5"], "--threshold: '1.5' is not above 0 and up to 1."),
        (["--limit", "0"], "--limit: '0' is not above zero."),
        (["a", "b"], "'b' is an unexpected argument."),
    ],
)
def test_what_makes_no_sense(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        options(*words)
    assert error.value.message == message


def test_pairs_for_a_program() -> None:
    shown = screen(tty=False)
    render(ANSWER, shown, options())
    assert shown.text() == "0.70\tkeys\tstills\\x1b[2J\tffmpeg, png\n"
    assert shown.messages == ["1 near-duplicate pair among 12 skills."]
    assert len(shown.hints) == 1


def test_pairs_for_a_person() -> None:
    shown = screen(tty=True)
    render(ANSWER, shown, options("keys"))
    heading, row = shown.text().splitlines()
    assert heading.split() == ["SCORE", "ONE", "OTHER", "SHARED", "WORDS"]
    assert row.split() == ["0.70", "keys", "stills\\x1b[2J", "ffmpeg,", "png"]
    assert shown.messages == ["1 skill like keys among 12 skills."]


@pytest.mark.parametrize(
    ("scores", "sentence", "hints"),
    [
        ((0.7, 0.4), "1 near-duplicate pair and 1 pair that is alike among 12 skills.", 1),
        ((0.4, 0.3), "2 pairs that are alike among 12 skills.", 0),
    ],
)
def test_pairs_below_the_usual_threshold_are_alike_and_no_more(
    scores: tuple[float, ...], sentence: str, hints: int
) -> None:
    pairs = tuple(PAIR._replace(score=score) for score in scores)
    shown = screen(tty=True)
    render(ANSWER._replace(pairs=pairs, threshold=0.3), shown, options())
    assert (shown.messages, len(shown.hints)) == ([sentence], hints)


def test_nothing_found_and_what_could_not_be_read() -> None:
    shown = screen(tty=True)
    note = Note("skill-gone", "warning", "It no longer exists.", skill="gone")
    render(ANSWER._replace(pairs=(), report=(note,)), shown, options())
    assert shown.text() == ""
    assert shown.messages == [
        "gone is judged by its name and description: It no longer exists.",
        "0 near-duplicate pairs among 12 skills.",
    ]
    assert shown.hints == []
