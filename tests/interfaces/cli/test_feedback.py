"""`whet feedback`: which options go together, and what is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import UsageError
from whet.interfaces.cli.commands.feedback import configure, render, run
from whet.interfaces.cli.context import Context
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Parser

if TYPE_CHECKING:
    from argparse import Namespace

REMARK = {"time": "2026-11-15T06:00:00Z", "skill": "pdf", "message": "Fill\nit", "fits": True, "origin": "person"}
COUNTS = {"name": "pdf", "examples": 1, "counterexamples": 0}


def options(*words: str) -> Namespace:
    parser = Parser("feedback", "")
    configure(parser)
    return parser.read(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pdf", "Fill it"], "Give one of --fits, --does-not-fit, --forget and --list."),
        (["pdf", "Fill it", "--fits", "--does-not-fit"], "Give one of --fits, --does-not-fit, --forget and --list."),
        (["--fits"], "NAME is missing."),
        (["--forget"], "NAME is missing."),
        (["pdf", "--does-not-fit"], "MESSAGE is missing."),
        (["pdf", "Fill it", "--list"], "'Fill it' is one argument too many."),
    ],
)
def test_what_does_not_go_together(words: list[str], message: str) -> None:
    given = options(*words)
    with pytest.raises(UsageError) as caught:
        run(Context(given, {}), given)
    assert (caught.value.code, caught.value.message) == ("usage", message)


@pytest.mark.parametrize(
    ("words", "answer", "sentence"),
    [
        (["pdf", "x", "--fits"], {"changed": True}, "Noted; pdf has 1 example, 0 counterexamples."),
        (["pdf", "x", "--does-not-fit"], {"changed": False}, "Known already; pdf has 1 example, 0 counterexamples."),
        (["pdf", "--forget"], {"forgotten": 3}, "Forgot 3 remarks; pdf has 1 example, 0 counterexamples."),
        (["--list"], {"feedback": []}, "Nothing was said yet."),
    ],
)
def test_a_sentence(words: list[str], answer: dict[str, Any], sentence: str) -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render({"success": True, **COUNTS, **answer}, screen, options(*words))
    assert (screen.text(), screen.said) == ("", [sentence])


@pytest.mark.parametrize(
    ("tty", "text"),
    [
        (False, "2026-11-15T06:00:00Z\tpdf\tfits\tperson\tFill it\n"),
        (
            True,
            "WHEN              SKILL  VERDICT  WHO     MESSAGE\n2026-11-15 06:00  pdf    fits     person  Fill it\n",
        ),
    ],
)
def test_the_list(tty: bool, text: str) -> None:
    screen = Screen(tty=tty, colour=False, columns=80)
    render({"success": True, "feedback": [REMARK], "count": 1}, screen, options("--list"))
    assert screen.text() == text
