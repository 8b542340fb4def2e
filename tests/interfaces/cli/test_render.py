"""`whet prompt render`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.interfaces.cli.commands.prompt import join_arguments
from whet.interfaces.cli.verbs import parser_of
from whet.prompt.arguments import split_arguments
from whet.prompt.invocation import SHARED_TOKENS
from whet.prompt.tokens import installed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

ABOUT = "" if installed().exact else "About "
BODY = """\
Ship $0 to $1: $ARGUMENTS.

## Usage

Carefully.

## Details

"""


def answer(whet: Callable[..., CompletedProcess[str]], *words: str) -> dict[str, Any]:
    run = whet("--json", "prompt", "render", *words)
    assert (run.returncode, run.stderr) == (0, "")
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def ship(skill: Callable[..., Path]) -> Path:
    """A skill that takes arguments and is long."""
    return skill("ship", "Ships it.", body=BODY + "Mind the waves.\n" * 60)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ""),
        (["eu west  1"], "eu west  1"),
        (['say "hi"'], 'say "hi"'),
        ([""], ""),
        (["eu", "1.2"], "eu 1.2"),
        (["eu west", "1.2"], '"eu west" 1.2'),
        (['say "hi"', "it's"], r'"say \"hi\"" "it' + "'s\""),
        (["", "x"], '"" x'),
        ([r"C:\Users", "x"], r"C:\Users x"),
        (["C:\\", "x"], r'"C:\\" x'),
    ],
)
def test_words_become_one_string(words: list[str], expected: str) -> None:
    assert join_arguments(words) == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab_ \t\n'\"\\$`é-", max_size=6), min_size=2, max_size=4))
def test_every_word_stays_one(words: list[str]) -> None:
    assert split_arguments(join_arguments(words)) == tuple(words)


@pytest.mark.usefixtures("ship")
def test_standard_output_is_the_message(whet: Callable[..., CompletedProcess[str]]) -> None:
    found = answer(whet, "ship", "--", "eu west", "--json", "1.2")
    run = whet("prompt", "render", "ship", "--", "eu west", "--json", "1.2")
    assert (found["request"], found["tokens"] > 0) == ('"eu west" --json 1.2', True)
    assert 'Ship eu west to --json: "eu west" --json 1.2.\n' in found["message"]
    assert run.stdout == f"{found['message']}\n"
    costs = found["strategies"]
    assert run.stderr == (
        f"{ABOUT}{found['tokens']:,} tokens; as overview and usage {costs['overview+usage']:,}, "
        f"overview {costs['overview']:,}, description {costs['description']:,}.\n"
    )


@pytest.mark.usefixtures("ship")
def test_what_was_cut_for_the_budget_is_said(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("tiny")
    costs = answer(whet, "ship")["strategies"]

    def said(*words: str) -> str:
        tokens = f"{ABOUT}{answer(whet, *words)['tokens']:,} tokens; "
        first = whet("prompt", "render", *words).stderr.splitlines()[0]
        assert first.startswith(tokens)
        return first.removeprefix(tokens)

    assert said("ship", "--budget", str(costs["overview"])) == (
        f"ship as overview; as full text {costs['full']:,}, overview and usage {costs['overview+usage']:,}, "
        f"description {costs['description']:,}."
    )
    tiny = answer(whet, "tiny")["strategies"]
    assert said("tiny", "ship", "--budget", str(tiny["full"] + costs["description"])) == "ship as description."
    assert said("tiny", "ship", "--budget", str(tiny["description"])).endswith("ship left out.")


def test_what_is_missing_and_worth_knowing_is_said(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("greet", extra="arguments: [who]\n", body="Greet $who.\n")
    whet("prompt", "bundle", "create", "Hello", "--skills", "greet,gone,lost")
    run = whet("prompt", "render", "hello")
    assert (run.returncode, run.stderr.splitlines()[1:]) == (
        0,
        [
            "Not loaded: There is no skill 'gone'. [skill-not-found]",
            "Not loaded: There is no skill 'lost'. [skill-not-found]",
            "warning: The argument 'who' is missing; $who is left empty. [argument-not-given]",
            "hint: `whet list` shows every skill.",
        ],
    )
    assert [item["name"] for item in answer(whet, "hello")["missing"]] == ["gone", "lost"]


def test_skills_and_bundles_may_be_mixed(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    for name in ("one", "two", "three"):
        skill(name)
    whet("prompt", "bundle", "create", "Pair", "--skills", "two,one")
    assert [item["name"] for item in answer(whet, "three", "pair")["skills"]] == ["three", "two", "one"]


def test_a_small_skill_has_no_cheaper_form(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("tiny", "Does one thing, and says so at length. " * 10)
    assert whet("prompt", "render", "tiny").stderr == f"{ABOUT}{answer(whet, 'tiny')['tokens']} tokens.\n"


def test_a_message_cannot_rule_the_terminal(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("wild", body="Set the \x1b]0;title\x07.\n")
    assert "Set the \\x1b]0;title\\x07.\n" in whet("prompt", "render", "wild").stdout
    assert "Set the \x1b]0;title\x07.\n" in answer(whet, "wild")["message"]


def test_a_skill_that_is_switched_off_is_refused(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("noisy")
    whet("skill", "disable", "noisy")
    run = whet("prompt", "render", "noisy", "--json")
    assert (run.returncode, json.loads(run.stdout)["code"]) == (3, "disabled")


def test_the_help_tells_what_several_share() -> None:
    assert f"several skills share {SHARED_TOKENS:,} tokens" in " ".join(
        parser_of("prompt render")[0].format_help().split()
    )
