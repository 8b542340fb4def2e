"""Which skills a message names with `$name` and `[$name](target)`, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.prompt.mentions import MOST_FOUND, Mention, command_form, find_mentions


def named(text: str) -> list[tuple[str, str]]:
    """Name and target of every mention."""
    return [(mention.name, mention.target) for mention in find_mentions(text)]


def test_plain_and_linked_mentions_come_in_order_with_their_places() -> None:
    text = "use $invoices and [$ledger](/books/ledger)."
    assert find_mentions(text) == (Mention("invoices", "", 4, 13), Mention("ledger", "/books/ledger", 18, 42))
    assert [text[mention.start : mention.end] for mention in find_mentions(text)] == [
        "$invoices",
        "[$ledger](/books/ledger)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$ledger.skill", [("ledger", "")]),
        ("$ledger_extra", [("ledger_extra", "")]),
        ("$slack:search now", [("slack:search", "")]),
        ("$tax-return-form", [("tax-return-form", "")]),
        ("$ledger: first", [("ledger", "")]),
        ("$ledger- first", [("ledger", "")]),
        ("$ledger, $invoices; ($stock)", [("ledger", ""), ("invoices", ""), ("stock", "")]),
        ("**$ledger**", [("ledger", "")]),
        ("$ledger\n$stock", [("ledger", ""), ("stock", "")]),
        ("$3d-print", [("3d-print", "")]),
        ("$A", [("A", "")]),
        ("$Ledger $CI-tools", [("Ledger", ""), ("CI-tools", "")]),
    ],
)
def test_a_name_ends_at_the_first_other_character(text: str, expected: list[tuple[str, str]]) -> None:
    assert named(text) == expected


def test_names_of_every_script_are_taken_whole_with_their_marks() -> None:
    assert named("$größe $日本語 $हिन्दी $می\u200cخواهم “$квартал”，$決算。") == [
        ("größe", ""),
        ("日本語", ""),
        ("हिन्दी", ""),
        ("می\u200cخواهم", ""),
        ("квартал", ""),
        ("決算", ""),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[$ledger]   ( /books/ledger )", [("ledger", "/books/ledger")]),
        ("[$ledger](\tskill://team/ledger)", [("ledger", "skill://team/ledger")]),
        ("[$ledger](/app/(shop)/ledger)", [("ledger", "/app/(shop)/ledger")]),
        ("[$ledger](C:\\books\\ledger)", [("ledger", "C:\\books\\ledger")]),
        ("[$ledger] /books/ledger", [("ledger", "")]),
        ("[$ledger]()", [("ledger", "")]),
        ("[$ledger](  )", [("ledger", "")]),
        ("[$ledger](/books/ledger", [("ledger", "")]),
        ("[$ledger]\n(/books/ledger)", [("ledger", "")]),
        ("[$ledger](/books\n/ledger)", [("ledger", "")]),
        ("[$ledger more](/books/ledger)", [("ledger", "")]),
        ("[ledger](/books/ledger)", []),
        ("[$ledger](/books/$stock)", [("ledger", "/books/$stock")]),
        ("[$ledger](`/books`)", [("ledger", "")]),
    ],
)
def test_the_linked_form_carries_its_target(text: str, expected: list[tuple[str, str]]) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "USER",
        "SHELL",
        "PWD",
        "TMPDIR",
        "TEMP",
        "TMP",
        "LANG",
        "TERM",
        "XDG_CONFIG_HOME",
        "FOO_BAR",
        "A1B",
    ],
)
def test_environment_variables_are_not_mentions_even_when_linked(name: str) -> None:
    assert named(f"echo ${name} and ${name}:/bin or [${name}](/x/$skill)") == []


@pytest.mark.parametrize(
    "text",
    [
        "$5 or $1,000 or $5-10 at $12:30",
        "\\$ledger",
        "\\\\\\$ledger",
        "US$ledger",
        "é$ledger",
        "_$ledger",
        "$$ledger",
        "\\$$ledger",
        "${ledger}",
        "$(ledger)",
        "$ ledger",
        "$-ledger",
        "$:ledger",
        "$",
        "$_",
        "$…",
        "",
    ],
)
def test_other_dollars_are_not_mentions(text: str) -> None:
    assert find_mentions(text) == ()


def test_an_escaped_backslash_escapes_nothing() -> None:
    assert named("\\\\$ledger") == [("ledger", "")]


@pytest.mark.parametrize(
    "text",
    [
        "`$ledger`",
        "``a ` $ledger``",
        "`a\n$ledger`",
        "`[$ledger](/x)`",
        "```\n$ledger\n```",
        "```sh\n$ledger\n~~~\n$ledger\n```",
        "~~~ a`b\n$ledger\n~~~",
        "````\n```\n$ledger\n````",
        "  ```\r\n$ledger\r\n  ```\r\n",
        "```\n$ledger",
        "```$ledger\n```",
    ],
)
def test_code_is_left_alone(text: str) -> None:
    assert find_mentions(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "`a` $ledger `b`",
        "`a`$ledger",
        "it`s $ledger",
        "`` a ` $ledger",
        "a ` b\n\n$ledger ` c",
        "\\` $ledger `",
        "```x``` $ledger",
        "```\na\n```\n$ledger",
        "a `\n```\nb\n```\n$ledger `",
        "~~~\na\n~~~~ \n$ledger",
    ],
)
def test_backticks_that_close_elsewhere_or_nowhere_hide_nothing(text: str) -> None:
    assert named(text) == [("ledger", "")]


def test_what_is_named_twice_counts_once_at_its_first_place() -> None:
    text = "$tax_form then $Tax-Form, [$tax-form](/a), [$TAX-form]( /a ), [$tax-form](/b)"
    assert find_mentions(text) == (
        Mention("tax_form", "", 0, 9),
        Mention("tax-form", "/a", 26, 41),
        Mention("tax-form", "/b", 62, 77),
    )


def test_every_mention_is_found_whatever_stands_before_it() -> None:
    text = " ".join(f"$variable{number}" for number in range(MOST_FOUND - 1))
    assert find_mentions(f"{text} $ledger")[-1].name == "ledger"
    assert len(find_mentions(f"{text} $ledger $stock $invoices")) == MOST_FOUND


@pytest.mark.parametrize("length", [256, 50_000, pytest.param(1_000_000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("letters", ["$", "[", "`", "` ", "\\", "[$", "`$", "$[", "(", "~"])
def test_long_runs_neither_loop_nor_blow_up(letters: str, length: int) -> None:
    text = letters * (length // len(letters))
    assert find_mentions(text) == ()
    assert named(f"{text}\n\n```\n```\n~~~\n~~~\n") == []


@pytest.mark.parametrize("piece", ["[$ledger](", "[$ledger](()", "$ledger…", "$ledger`", "[$ledger] \t"])
def test_a_mention_repeated_without_end_is_one(piece: str, *, quick: bool) -> None:
    assert named(piece * (5_000 if quick else 50_000)) == [("ledger", "")]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("code_review", "code-review"),
        ("Code Review", "code-review"),
        ("Slack:Search_All", "slack:search-all"),
        ("deploy: fast", "deploy-fast"),
        ("a:b:c", "a:b-c"),
        ("--:b", "b"),
        ("a:...", "a"),
        ("!!!", ""),
    ],
)
def test_names_are_compared_by_their_command_form(name: str, form: str) -> None:
    assert command_form(name) == form


PIECES = (
    "$",
    "ledger",
    "tax-form",
    "[",
    "]",
    "(",
    ")",
    "`",
    "```",
    "~~~",
    "\\",
    "\n",
    " ",
    ":",
    "-",
    "_",
    "é",
    "日",
    "５",
    "HOME",
)


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
@settings(max_examples=200, deadline=None)
def test_every_span_is_the_mention_it_stands_for(text: str) -> None:
    mentions = find_mentions(text)
    end = 0
    for mention in mentions:
        shown = text[mention.start : mention.end]
        assert mention.start >= end
        end = mention.end
        assert mention.name == mention.name.strip(":-") != ""
        if mention.target:
            assert shown.startswith(f"[${mention.name}]")
            assert shown.rstrip(")").endswith(mention.target.rstrip(")"))
        else:
            assert shown == f"${mention.name}"
