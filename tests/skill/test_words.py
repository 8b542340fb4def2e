"""Words as texts are compared: the same word in two forms is one term."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whet.skill.words import FILLERS, spelled, terms, terms_of


def test_words_are_compared_without_case_and_common_endings() -> None:
    assert spelled("Reviews REVIEWING snake_case") == ["reviews", "reviewing", "snake", "case"]
    assert terms("Reviews REVIEWING snake_case") == ["review", "review", "snake", "case"]
    assert terms_of("its") == ("its",)


def test_scripts_without_spaces_give_pairs_of_characters() -> None:
    assert terms("电子表格 表") == ["电子", "子表", "表格", "表"]


def test_fillers_are_words_without_case() -> None:
    assert {word for word in FILLERS if spelled(word) != [word]} == set()


@given(st.text(max_size=60))
def test_terms_are_those_of_the_words_one_by_one(text: str) -> None:
    assert terms(text) == [term for word in spelled(text) for term in terms_of(word)]
    assert all(terms(text.upper().lower())) and "" not in terms(text)


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_words_of_ascii_are_the_same_among_others(text: str) -> None:
    assert spelled(f"{text} é") == [*spelled(text), "é"]
