"""Reading a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.errors import UsageError
from whet.interfaces.cli.parser import Parser, amount, number

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess


def parser() -> Parser:
    made = Parser("try", "Try it")
    made.positional("first", "NAME", "The first.")
    made.positional("rest", "PATH", "The others.", many=True, optional=True)
    made.option("--limit", metavar="N", read=number, text="How many.")
    made.option("--mode", metavar="M", choices=("fast", "slow"), default="fast", text="How.")
    made.option("-o", "--output", metavar="FILE", text="Where.")
    made.option("--all", text="Everything.")
    return made


def read(*words: str) -> dict[str, object]:
    return {key: value for key, value in vars(parser().read(words)).items() if value not in (None, False, [])}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], {"first": "a", "mode": "fast"}),
        (
            ["a", "--all", "b", "--limit", "3", "c"],
            {"first": "a", "rest": ["b", "c"], "all": True, "limit": 3, "mode": "fast"},
        ),
        (["--root", "x", "a", "--root=y", "--json"], {"first": "a", "root": ["x", "y"], "json": True, "mode": "fast"}),
        (["a", "-ofile", "--mode", "slow"], {"first": "a", "output": "file", "mode": "slow"}),
        (["--", "--all", "-x"], {"first": "--all", "rest": ["-x"], "mode": "fast"}),
        (["a", "-", "--", "--"], {"first": "a", "rest": ["-", "--"], "mode": "fast"}),
        (["a", "--limit", "-5"], {"first": "a", "limit": -5, "mode": "fast"}),
        (["--help"], {"help": True, "mode": "fast"}),
        (
            ["a", "--project", "p", "--no-input", "-q"],
            {"first": "a", "project": "p", "no_input": True, "quiet": True, "mode": "fast"},
        ),
    ],
)
def test_words_and_what_they_mean(words: list[str], expected: dict[str, object]) -> None:
    assert read(*words) == expected


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], "usage", "NAME is missing."),
        (["a", "--limit"], "usage", "--limit: a value is missing."),
        (["a", "--limit", "x"], "usage", "--limit: 'x' is not a whole number."),
        (["a", "--limit", "9" * 30], "usage", f"--limit: '{'9' * 30}' has too many digits."),
        (["a", "--mode", "odd"], "usage", "--mode: 'odd' is not one of fast, slow."),
        (["a", "--all=3"], "usage", "--all takes no value."),
        (["a", "--al"], "unknown-option", "whet try has no option --al."),
        (["a", "--nope=3"], "unknown-option", "whet try has no option --nope."),
        (["a", "-x"], "unknown-option", "whet try has no option -x."),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words: list[str], code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(*words)
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("--limits", "Did you mean --limit?"),
        ("--non-interactive", "Did you mean --no-input?"),
        ("--no-browser", "`whet try --help` lists the options."),  # this command opens no browser
    ],
)
def test_the_option_that_is_meant_is_named(given: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read("a", given)
    assert caught.value.hint == hint


def test_an_argument_too_many_is_refused() -> None:
    made = Parser("one", "One")
    made.positional("name", "NAME", "The one.", optional=True)
    assert made.read([]).name is None
    with pytest.raises(UsageError) as caught:
        made.read(["a", "b"])
    assert caught.value.message == "'b' is an unexpected argument."


def test_an_argument_with_choices_takes_only_these() -> None:
    made = Parser("shell", "Shell")
    made.positional("shell", "SHELL", "Yours.", choices=("bash", "zsh"))
    assert made.read(["zsh"]).shell == "zsh"
    with pytest.raises(UsageError) as caught:
        made.read(["cmd"])
    assert caught.value.message == "'cmd' is not one of bash, zsh."


def test_words_behind_two_hyphens_can_be_kept_apart() -> None:
    made = Parser("call", "Call")
    made.positional("names", "NAME", "Who.", many=True)
    made.words_behind("arguments", "ARGS", "What is said.")
    assert (made.read(["a", "b"]).names, made.read(["a"]).arguments) == (["a", "b"], [])
    options = made.read(["a", "--json", "--", "--root", "--", ""])
    assert (options.names, options.json, options.root, options.arguments) == (["a"], True, [], ["--root", "--", ""])
    assert made.usage_line() == "Usage: whet call NAME... [OPTIONS] [-- ARGS...]"
    assert "  NAME                    Who.\n  ARGS                    What is said.\n" in made.format_help()
    with pytest.raises(UsageError) as caught:
        made.read(["--", "a"])
    assert caught.value.message == "NAME is missing."


def test_examples_come_first_and_take_two_lines_each_where_one_is_too_short() -> None:
    made = Parser("try", "Try it")
    made.example("whet try", "try everything")
    made.example("whet try one --all", "try one thing, in every way there is")
    wide, narrow = made.format_help(80), made.format_help(50)
    assert wide.startswith(
        "Usage: whet try [OPTIONS]\n\nTry it.\n\nExamples:\n"
        "  whet try            try everything\n"
        "  whet try one --all  try one thing, in every way there is\n\nEverywhere:\n"
    )
    assert (
        "Examples:\n"
        "  whet try\n"
        "      try everything\n"
        "  whet try one --all\n"
        "      try one thing, in every way there is\n\n"
    ) in narrow


def test_the_help_is_the_same_everywhere() -> None:
    made = parser()
    made.details = "First paragraph.\n\nSecond one, " + "long " * 20 + "end."
    assert made.format_help() == (
        "Usage: whet try NAME [PATH...] [OPTIONS]\n\n"
        "Try it.\n\n"
        "First paragraph.\n\n"
        "Second one, long long long long long long long long long long long long long long long long long\n"
        "long long long end.\n\n"
        "Arguments:\n"
        "  NAME                    The first.\n"
        "  PATH                    The others.\n\n"
        "Options:\n"
        "  --limit N               How many.\n"
        "  --mode M                How. One of fast, slow.\n"
        "  -o, --output FILE       Where.\n"
        "  --all                   Everything.\n\n"
        "Everywhere:\n"
        "  --root DIR              Use exactly this skill root; can be repeated.\n"
        "  --project DIR           Look for project skills here instead of in the working directory.\n"
        "  --json                  Print one JSON document.\n"
        "  -q, --quiet             Print only errors on standard error.\n"
        "  -v, --verbose           Show more.\n"
        "  -y, --yes               Do not ask for confirmation.\n"
        "  --no-input              Never ask a question.\n"
        "  --version               Print the version.\n"
        "  -h, --help              Show this help.\n"
    )


def test_a_number_is_a_whole_one() -> None:
    assert [number(text) for text in ("0", "12", "-3")] == [0, 12, -3]
    for text in ("", "-", "1.5", "1_000", "²", "x"):
        with pytest.raises(ValueError, match="is not a whole number"):
            number(text)


def test_an_amount_is_above_zero() -> None:
    assert [amount(text) for text in ("1", "12")] == [1, 12]
    for text in ("0", "-3", "1.5", "x"):
        with pytest.raises(ValueError, match="is not"):
            amount(text)


def test_an_empty_argument_is_named_and_explained(whet: Callable[..., CompletedProcess[str]]) -> None:
    hint = "hint: Pass a value, or leave it out. An unset shell variable becomes an empty argument.\n"
    for words, metavar in ((["show", ""], "NAME|SOURCE"), (["install", ""], "SOURCE"), (["unpack", " "], "FILE")):
        assert whet(*words).stderr == f"error: {metavar} is empty.\n{hint}", words
