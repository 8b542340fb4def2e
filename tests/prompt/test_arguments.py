"""Words of an argument string: shell quoting for those who use it, no surprises for those who do not."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.prompt.arguments import split_arguments


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", ()),
        (" \t\n ", ()),
        ("one", ("one",)),
        ("  one \t two\nthree ", ("one", "two", "three")),
        ('"hello world" second', ("hello world", "second")),
        ("'hello world' second", ("hello world", "second")),
        ("--title='two words' x", ("--title=two words", "x")),
        ('--title="two words" x', ("--title=two words", "x")),
        ("'a b''c d' e", ("a bc d", "e")),
        (r"two\ words x", ("two words", "x")),
        (r"\"a\" \'b\' \\", ('"a"', "'b'", "\\")),
        (r'"say \"hi\" for \$5 in C:\dir \\ \`x\`"', (r'say "hi" for $5 in C:\dir \ `x`',)),
        (r"'no \escape' x", (r"no \escape", "x")),
        ("\"\" '' x", ("", "", "x")),
        ('a"b c"d', ("ab cd",)),
    ],
)
def test_words_are_split_by_shell_quoting(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("don't do it", ("don't", "do", "it")),
        ("don't say it isn't so", ("don't", "say", "it", "isn't", "so")),
        ("the users' files and dogs' toys", ("the", "users'", "files", "and", "dogs'", "toys")),
        ("'open and not closed", ("'open", "and", "not", "closed")),
        ('say "open and', ("say", '"open', "and")),
        ('one "two three" "four', ("one", "two three", '"four')),
        ("mixed \"quote' here", ("mixed", "\"quote'", "here")),
    ],
)
def test_a_quote_that_quotes_nothing_is_a_character(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (r"C:\Users\me\notes.txt x", (r"C:\Users\me\notes.txt", "x")),
        (r"\d+ x", (r"\d+", "x")),
        ("end\\", ("end\\",)),
        ("end \\", ("end", "\\")),
    ],
)
def test_a_backslash_before_a_letter_is_a_character(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == words


def test_nothing_is_expanded() -> None:
    raw = "$HOME ${HOME} $(id) `id` ~ * ? [a] {a,b} #x !x a;b|c&d>e"
    assert split_arguments(raw) == tuple(raw.split())


TEXT = st.text() | st.text(alphabet="a'\"\\ $\n=", max_size=40)


@given(st.lists(TEXT))
@settings(max_examples=200, deadline=None)
def test_what_a_shell_would_quote_comes_back(words: list[str]) -> None:
    assert split_arguments(shlex.join(words)) == tuple(words)


def bare(text: str) -> str:
    return "".join(char for char in text if not char.isspace() and char not in "'\"\\")


@given(TEXT)
@settings(max_examples=200, deadline=None)
def test_no_character_is_lost(raw: str) -> None:
    assert bare("".join(split_arguments(raw))) == bare(raw)


@given(st.text(alphabet="ab é中\t\n$`;|&*", max_size=40))
@settings(max_examples=200, deadline=None)
def test_text_without_quotes_is_split_at_its_spaces(raw: str) -> None:
    assert split_arguments(raw) == tuple(raw.split())


@pytest.mark.parametrize("unit", ["'", '"', "\\", "a'", '"\\', '\\"', "\"'", "'\\'\"", "'' "])
def test_a_long_string_of_quotes_is_split_in_one_go(unit: str) -> None:
    raw = unit * (1_000_000 // len(unit))
    assert bare("".join(split_arguments(raw))) == bare(raw)
