"""Who comes first when not all can be listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from whet.prompt.index import Use, ranked

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.library.card import Card

SCOPES = ["project", "user", "org", "project", "external"]


def test_relevance_beats_use_beats_recency_beats_scope(card: Callable[..., Card]) -> None:
    cards = [
        card("a-nothing", scope="external"),
        card("b-scope", scope="project"),
        card("c-recent", scope="external"),
        card("d-used", scope="external"),
        card("e-relevant", scope="external"),
    ]
    used = {"b-scope": Use(1, 1), "c-recent": Use(1, 2), "d-used": Use(2, 1), "a-nothing": Use(1, 1)}

    def relevance(card: Card) -> float:
        return 0.9 if card.name == "e-relevant" else 0.1

    got = ranked(cards, 5, scopes=SCOPES, relevance=relevance, used=used)
    assert [cards[at].name for at in got] == ["e-relevant", "d-used", "c-recent", "b-scope", "a-nothing"]
    assert ranked(cards, 2, scopes=SCOPES, relevance=relevance, used=used) == got[:2]


def test_scopes_come_in_the_order_of_the_roots_and_unknown_ones_last(card: Callable[..., Card]) -> None:
    cards = [card(scope, scope=scope) for scope in ("external", "elsewhere", "org", "project", "user")]
    got = ranked(cards, 5, scopes=SCOPES)
    assert [cards[at].name for at in got] == ["project", "user", "org", "external", "elsewhere"]


def test_the_use_of_a_plugins_skill_goes_by_its_full_name(card: Callable[..., Card]) -> None:
    cards = [card("search"), card("search", plugin="mail"), card("search", plugin="web")]
    assert ranked(cards, 1, used={"web:search": Use(1, 1)}) == [2]


def test_equal_skills_come_in_an_order_that_has_nothing_to_do_with_the_alphabet(card: Callable[..., Card]) -> None:
    cards = [card(f"{letter}{number:02}") for letter in "abcdefghijklmnopqrstuvwxyz" for number in range(40)]
    first = {cards[at].name[0] for at in ranked(cards, 260)}
    assert first == set("abcdefghijklmnopqrstuvwxyz")
    per_letter = [sum(cards[at].name[0] == letter for at in ranked(cards, 260)) for letter in "amz"]
    assert [4 <= count <= 16 for count in per_letter] == [True] * 3


def test_an_added_skill_moves_the_others_by_at_most_one_place(card: Callable[..., Card]) -> None:
    cards = [card(f"skill-{number}") for number in range(500)]
    more = sorted([*cards, card("newcomer")], key=lambda card: card.key)
    before = [cards[at].name for at in ranked(cards, 100)]
    after = [more[at].name for at in ranked(more, 100)]
    assert [name for name in after if name != "newcomer"] == before[: len(before) - ("newcomer" in after)]


def test_the_order_does_not_depend_on_where_the_cards_stand(card: Callable[..., Card]) -> None:
    cards = [card(f"skill-{number}") for number in range(200)]
    backwards = cards[::-1]
    assert [cards[at] for at in ranked(cards, 50)] == [backwards[at] for at in ranked(backwards, 50)]


def test_no_time_of_a_file_matters(card: Callable[..., Card]) -> None:
    cards = [card(f"skill-{number}") for number in range(200)]
    touched = [card._replace(mtime=number * 7_919 % 1_000) for number, card in enumerate(cards)]
    assert ranked(touched, 50) == ranked(cards, 50)


def test_relevance_is_asked_once_for_each_skill(card: Callable[..., Card]) -> None:
    asked: list[str] = []

    def relevance(card: Card) -> float:
        asked.append(card.name)
        return 0.0

    cards = [card(f"skill-{number}") for number in range(100)]
    ranked(cards, 10, relevance=relevance)
    assert sorted(asked) == sorted(card.name for card in cards)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(SCOPES)), max_size=30), st.integers(0, 40)
)
def test_a_shorter_answer_is_the_beginning_of_a_longer_one(
    card: Callable[..., Card], skills: list[tuple[int, int, str]], most: int
) -> None:
    cards = [card(f"skill-{number}", scope=scope) for number, (_, _, scope) in enumerate(skills)]
    used = {f"skill-{number}": Use(times, last) for number, (times, last, _) in enumerate(skills)}
    everybody = ranked(cards, len(cards), scopes=SCOPES, used=used)
    assert sorted(everybody) == [*range(len(cards))]
    assert ranked(cards, most, scopes=SCOPES, used=used) == everybody[:most]
