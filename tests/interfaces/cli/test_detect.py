"""`whet find --decide`: whether a skill should come up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from prompt.world import card

from whet.interfaces.cli.commands.match import render_detect as render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace
from whet.notes import Note
from whet.prompt.matcher import Assessment, Detection, Match
from whet.routing.scoring import MAY, MUST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

BACKPORT = Match(card("backport"), 0.97, ("matched trigger 'backport'", "words: fix, branch"))
GIT = Match(card("git"), 0.12, ())
ANSWER = Detection(
    "must",
    BACKPORT,
    0.97,
    others=(Match(card("git\x1b[2J"), 0.6, ("words: branch",)),),
    notes=(Note("one", "info", "One.", "Two."),),
)
NONE = Detection("none", None, 0.12, nearest=GIT)
ABOUT = Assessment(
    GIT.card,
    rank=2,
    confidence=0.12,
    level="none",
    reasons=("words: branch",),
    against=("it says it is not for 'fix'",),
    instead="backport",
    ahead=BACKPORT,
    hidden=None,
)


@pytest.fixture(autouse=True)
def library(skill: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    skill("backport", "Backports a fix to a release branch. Use when asked to backport.")
    skill("ship-it", "Ships the shop to production.", extra="disable-model-invocation: true\n")


def test_the_document(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("find", "--decide", "please backport this fix to the release branch", "--json")
    answer = json.loads(run.stdout)
    assert (run.returncode, answer["success"], answer["skill"]) == (0, True, "backport")
    assert answer["decision"] in ("must", "may") and answer["evidence"]


def test_what_is_for_people_comes_up_when_it_is_named(whet: Callable[..., CompletedProcess[str]]) -> None:
    assert "ship-it" not in whet("find", "--decide", "ship the shop to production").stdout
    named = whet("find", "--decide", "/ship-it the shop")
    assert (named.returncode, named.stdout) == (0, "must\tship-it\t1.0000\tthe message names it\n")


def test_files_in_play_keep_skills_for_other_files_away(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("rust-port", "Backports a fix to a Rust release branch.", extra="paths: ['src/*.rs']\n")
    message = "please backport this rust fix to the rust release branch"
    assert "rust-port" in whet("find", "--decide", message).stdout
    assert "rust-port" in whet("find", "--decide", message, "--file", "a.py", "--file", "src/a.rs").stdout
    assert "rust-port" not in whet("find", "--decide", message, "--file", "a.py", "--file", "b.py").stdout


def test_that_nothing_should_come_up_is_an_answer(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("find", "--decide", "good morning")
    assert (run.returncode, run.stdout[:6], run.stderr) == (0, "none\t\t", "")


def test_a_terminal_gets_the_decision_and_the_evidence() -> None:
    screen = Screen(tty=True, colour=False, columns=80)
    render(ANSWER, screen, Namespace())
    assert screen.text() == (
        "DECISION  SKILL       FIT  WHY\n"
        "must      backport    97%  matched trigger 'backport'; words: fix, branch\n"
        "may       git\\x1b[2J  60%  words: branch\n"
    )
    assert (screen.messages, screen.hints) == (["One."], ["Two."])
    empty = Screen(tty=True, colour=False, columns=80)
    render(NONE, empty, Namespace())
    assert empty.text() == "none  no skill should trigger\n"
    assert empty.hints == [
        "Nearest: git (12%). `whet find` shows more; `whet learn feedback --help` shows how to improve matching."
    ]
    far = Screen(tty=True, colour=False, columns=80)
    render(NONE._replace(confidence=0.004), far, Namespace())
    assert far.hints == []


def test_the_help_gives_the_scale_and_the_thresholds(whet: Callable[..., CompletedProcess[str]]) -> None:
    told = " ".join(whet("find", "--help").stdout.split())
    for sentence in ("from 0 to 100 %", f"must ({MUST:.0%} or more)", f"may ({MAY:.0%} or more)"):
        assert sentence.replace("% or", " % or") in told


HIDDEN = Note("explicit-only", "info", "Only a person may.", "Type /git.")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({}, ["rank 2", "backport triggers instead", "it needs 28% to be offered and 75% to trigger automatically"]),
        (
            {"level": "may"},
            ["rank 2", "backport ranks first", "it needs 28% to be offered and 75% to trigger automatically"],
        ),
        (
            {"instead": None},
            ["rank 2", "backport (97%) ranks before it", "it needs 28% to be offered and 75% to trigger automatically"],
        ),
        (
            {"instead": None, "ahead": None, "rank": None, "hidden": HIDDEN},
            ["nothing in the message points to it", "it is not offered: Only a person may. Type /git."],
        ),
        ({"instead": None, "ahead": None, "rank": 1, "level": "must"}, ["rank 1"]),
    ],
)
def test_why_a_skill_does_not_come_up(change: dict[str, Any], place: list[str]) -> None:
    about = ABOUT._replace(**change)
    screens = [Screen(tty=tty, colour=False, columns=80) for tty in (True, False)]
    for screen in screens:
        render(NONE._replace(about=about), screen, Namespace())
    reasons = ["words: branch", "against it: it says it is not for 'fix'", *place]
    assert screens[0].text() == (
        f"none  no skill should trigger\n\ngit  12%  {about.level}\n"
        + "".join(f"      {reason}\n" for reason in reasons)
    )
    assert screens[1].text() == f"none\t\t0.1200\t\nabout\tgit\t0.1200\t{'; '.join(reasons)}\n"


def test_one_skill_is_asked_about(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("find", "--decide", "ship the shop to production", "--skill", "ship-it", "--json")
    answer = json.loads(run.stdout)
    assert (answer["decision"], answer["about"]["name"], answer["about"]["hidden"]["code"]) == (
        "none",
        "ship-it",
        "explicit-only",
    )
    told = whet("find", "--decide", "ship the shop to production")
    assert (told.stdout, told.stderr) == (
        "none\t\t0.0000\t\n",
        "ship-it fits, but only a person may invoke it.\nhint: Type /ship-it.\n",
    )
    assert whet("find", "--decide", "ship it", "--skill", "sihp-it").returncode == 1


def test_a_pipe_gets_lines() -> None:
    screen = Screen(tty=False, colour=False, columns=80)
    render(ANSWER, screen, Namespace())
    assert screen.text() == (
        "must\tbackport\t0.9700\tmatched trigger 'backport'; words: fix, branch\n"
        "may\tgit\\x1b[2J\t0.6000\twords: branch\n"
    )
