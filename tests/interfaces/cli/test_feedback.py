"""`whet learn feedback`: which options go together, and what is said."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import UsageError
from whet.interfaces.cli.commands.match import configure_feedback as configure
from whet.interfaces.cli.commands.match import render_forgotten, render_noted, render_remarks
from whet.interfaces.cli.commands.match import run_feedback as run
from whet.interfaces.cli.context import Context
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace, Parser
from whet.routing.feedback import Forgotten, Noted, Remark, Remarks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

REMARK = Remark(1_794_722_400 * 10**9, "pdf", "Fill\nit", fits=True, origin="person")
NOTED = Noted("pdf", fits=True, changed=True, examples=1, counterexamples=0)


def options(*words: str) -> Namespace:
    parser = Parser("feedback", "")
    configure(parser)
    return parser.read(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pdf", "Fill it"], "Use one of `--fits`, `--does-not-fit`, `--none`, `--forget` and `--list`."),
        (
            ["pdf", "Fill it", "--fits", "--does-not-fit"],
            "Use one of `--fits`, `--does-not-fit`, `--none`, `--forget` and `--list`.",
        ),
        (["--fits"], "NAME is missing."),
        (["--forget"], "NAME is missing."),
        (["pdf", "--does-not-fit"], "MESSAGE is missing."),
        (["pdf", "Fill it", "--list"], "'Fill it' is an unexpected argument."),
        (["--none"], "MESSAGE is missing."),
        (["--none", "Fill it", "--fits"], "`--none` works only with `--forget` and `--list` here."),
        (["--none", "Fill it", "--list"], "'Fill it' is an unexpected argument."),
    ],
)
def test_what_does_not_go_together(words: list[str], message: str) -> None:
    given = options(*words)
    with pytest.raises(UsageError) as caught:
        run(Context(given, {}), given)
    assert (caught.value.code, caught.value.message) == ("usage", message)


@pytest.mark.parametrize(
    ("render", "answer", "sentence"),
    [
        (render_noted, NOTED, "Noted; pdf has 1 example, 0 counterexamples."),
        (render_noted, NOTED._replace(changed=False), "Already known; pdf has 1 example, 0 counterexamples."),
        (render_forgotten, Forgotten("pdf", 3, 1, 0), "Removed 3 remarks; pdf has 1 example, 0 counterexamples."),
        (render_noted, NOTED._replace(name=None, counterexamples=2), "Noted; 2 messages for no skill."),
        (render_forgotten, Forgotten(None, 1, 0, 0), "Removed 1 remark; 0 messages for no skill."),
        (render_remarks, Remarks(()), "There is no feedback yet."),
    ],
)
def test_a_sentence(render: Callable[[Any, Screen, Namespace], None], answer: Any, sentence: str) -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(answer, screen, Namespace())
    assert (screen.text(), screen.messages) == ("", [sentence])


@pytest.mark.parametrize(
    ("tty", "text"),
    [
        (
            False,
            (
                "2026-11-15T06:00:00Z\tpdf\tfits\tperson\tFill it\n"
                "2026-11-15T06:00:00Z\t(none)\tdoes not fit\tperson\tSing\n"
            ),
        ),
        (
            True,
            (
                "WHEN              SKILL   VERDICT       WHO     MESSAGE\n"
                "2026-11-15 06:00  pdf     fits          person  Fill it\n"
                "2026-11-15 06:00  (none)  does not fit  person  Sing\n"
            ),
        ),
    ],
)
def test_the_list(tty: bool, text: str) -> None:
    screen = Screen(tty=tty, colour=False, columns=80)
    unwanted = REMARK._replace(skill=None, fits=False, message="Sing")
    render_remarks(Remarks((REMARK._replace(skill="pdf"), unwanted)), screen, Namespace())
    assert screen.text() == text


def test_several_words_or_standard_input_are_one_message(
    whet: Callable[..., CompletedProcess[str]], skill: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    skill("pdf", "Fills in forms.")
    skill("ship", "Ships it.", extra="disable-model-invocation: true\n")
    assert (
        whet("learn", "feedback", "pdf", "fill", "it", "in", "--fits").stderr
        == "Noted; pdf has 1 example, 0 counterexamples.\n"
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"stamp it\n"), encoding="utf-8"))
    assert whet("learn", "feedback", "pdf", "-", "--does-not-fit").returncode == 0
    assert whet("learn", "feedback", "--none", "sing", "to me").stderr == "Noted; 1 message for no skill.\n"
    listed = json.loads(whet("learn", "feedback", "--list", "--json").stdout)["feedback"]
    assert [(item["skill"], item["message"], item["fits"]) for item in listed] == [
        (None, "sing to me", False),
        ("pdf", "stamp it", False),
        ("pdf", "fill it in", True),
    ]
    assert json.loads(whet("learn", "feedback", "--none", "--list", "--json").stdout)["feedback"] == listed[:1]
    assert whet("learn", "feedback", "ship", "now", "--fits").stderr == (
        "Noted; ship has 1 example, 0 counterexamples.\n"
        "ship never triggers automatically, whatever the feedback: Only a person may invoke it.\n"
        "hint: Type /ship.\n"
    )
    assert (
        whet("learn", "feedback", "--none", "sing", "to me", "--forget").stderr
        == "Removed 1 remark; 0 messages for no skill.\n"
    )
