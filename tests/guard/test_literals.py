"""What an expression needs is read off the expression, and nothing that it matches is lost by it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.expressions import searched
from guard.needs import derive
from whet.guard import literals
from whet.guard.literals import Literals, key_of, needs, vocabulary
from whet.guard.patterns import compiled
from whet.guard.tables import load_table


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (r"\bsend\b", [["send"]]),
        (r"\b(?:send|post)\b[^\n]{0,40}\bkeys?\b", [["key", "keys"], ["post", "send"]]),
        (r"\bdo\s+not\b", [["do"], ["not"]]),
        (r"\bdon['’]?t\s+tell", [["tell*"], ["dont", "t"], ["don*"]]),
        (r"\bre(?:ad|write)\w*", [["read*", "rewrite*"]]),
        (r"(?<![\w-])\.env\b", [["env"]]),
        (r"\b(?:the\s+)?user", [["user*"]]),
        (r"send", []),
        (r"\b\w+ing\b", []),
        (r"\b(?:send|[a-z]{2,9})\b", []),
        (r"\bid_rsa\b", [["rsa"], ["id"]]),
    ],
)
def test_the_needs_of_an_expression(regex: str, expected: list[list[str]]) -> None:
    (way,) = derive(regex)

    assert sorted(sorted(need) for need in way) == sorted(expected)


def test_each_way_of_a_choice_has_its_own_needs() -> None:
    assert derive(r"\bsend\s+keys\b|\bpost\b") == (
        (frozenset({"keys"}), frozenset({"send"})),
        (frozenset({"post"}),),
    )
    assert derive(r"\bsend\b|\w+") == ((),), "a way that anything may go"


def test_words_are_known_by_their_beginnings_in_lower_case() -> None:
    assert vocabulary("Ignoring_ALL the 2x2 re-runs!") == {"ignoring", "all", "the", "2x2", "re", "runs"}
    assert vocabulary("Curl_me-now/2x Über…") == {"curl", "me", "now", "2x", "über"}
    assert Literals([r"\bignor\w*", r"\bignore\b"], derive).met("IGNORING") == {r"\bignor\w*"}


def test_every_shipped_expression_is_prepared() -> None:
    prepared = {key_of(regex): [[sorted(need) for need in way] for way in derive(regex)] for regex in searched()}

    assert load_table("literals") == prepared, "run benchmarks/literals.py"


def test_an_expression_that_is_not_prepared_is_tried_on_every_text() -> None:
    assert needs(r"\bzanzibar\b") == ((),)
    assert Literals([r"\bzanzibar\b"]).met("anything") == {r"\bzanzibar\b"}


def test_what_is_known_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals, "_KNOWN", 10)
    made = Literals([r"\bsend\b"], derive)

    assert [made.met(f"send a{number} b{number}") for number in range(50)] == [{r"\bsend\b"}] * 50
    assert len(made._known) <= 13


_PIECES = ("send", "Sending", "do", "not", "don't", "don’t", "tell", "the", "user", "users", "keys", "ignore", "all")
_SIGNS = (" ", "  ", "_", "-", ".", ", ", "\t", "/", "")
_SAMPLES = (
    r"\b(?:send|post)\w*\s+(?:the\s+|all\s+)?(?:users?|keys?)\b",
    r"\b(?:do\s+not|don['’]?t|never)\s+(?:\w+\s+){0,2}(?:tell|ignor\w*)\b",
    r"\bignor(?:e|ing)[_ -]?all\b|\buser[s']?\s|\.key",
    r"(?:the|all)[^\n]{0,9}\bkeys?\b",
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from(_SIGNS)), max_size=12))
def test_whatever_an_expression_matches_meets_its_needs(parts: list[tuple[str, str]]) -> None:
    text = "".join(map("".join, parts))
    made = Literals(_SAMPLES, derive)
    rows = text.split(", ")

    assert made.met(text) >= {regex for regex in _SAMPLES if compiled(regex).search(text)}
    for regex in _SAMPLES:
        sure = [number for number, row in enumerate(rows) if compiled(regex).search(row)]
        assert set(made.rows(rows).get(regex, ())) >= set(sure)
