"""The index under pressure: what it shows at every step, what it says of the rest, what it never does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import UsageError
from whet.prompt.formats import FORMATS, MARK, Line, assemble, rules
from whet.prompt.index import DEFAULT_CHARACTERS, Budget, Index, Options, Use, budget_for, build
from whet.prompt.tokens import ESTIMATE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.library.card import Card

FOUND = "find them with skills_list(query=...)."


def characters(
    cards: Sequence[Card],
    limit: int = DEFAULT_CHARACTERS,
    format: str = "bullet",  # noqa: A002  what it is called on every surface
    *,
    paths: bool = False,
    most: int | None = None,
    relevance: Callable[[Card], float] | None = None,
    used: dict[str, Use] | None = None,
) -> Index:
    """An index without rules, measured in characters."""
    options = Options(format, rules=False, paths=paths, limit=most)
    return build(cards, Budget(limit, "characters"), options, ESTIMATE, relevance=relevance, used=used)


def listed(index: Index) -> list[str]:
    """The names in the text of a bullet index."""
    return re.findall(rf"^{MARK} ([^ :\n]+)", index.text, re.MULTILINE)


@pytest.fixture(scope="session")
def few(card: Callable[..., Card]) -> list[Card]:
    return [
        card("charts", "Draws charts from spreadsheets. Use for a bar chart, a pie chart or a histogram."),
        card("invoices", "Writes invoices. Use when a customer has to pay."),
        card("review", "Reviews a pull request for mistakes. Do not use for prose."),
        card("travel", "Plans trips by train", when="Use when a journey is mentioned."),
    ]


@pytest.fixture(scope="session")
def many(card: Callable[..., Card], few: list[Card]) -> list[Card]:
    scans = [card(f"scan-{number:02}", f"Scans shelf {number} for books that are due.") for number in range(30)]
    return sorted([*few, *scans], key=lambda card: card.key)


# budgets


def test_a_budget_is_eight_thousand_characters_unless_said_otherwise() -> None:
    assert budget_for() == Budget(8_000, "characters")
    assert budget_for(characters=500) == Budget(500, "characters")
    assert budget_for(tokens=500) == Budget(500, "tokens")


@pytest.mark.parametrize(("window", "tokens"), [(200_000, 4_000), (1_000_000, 20_000), (99, 1), (1, 1)])
def test_a_window_gives_two_percent_of_its_tokens(window: int, tokens: int) -> None:
    assert budget_for(window=window) == Budget(tokens, "tokens")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"characters": 5, "tokens": 5}, "A budget in characters and a budget in tokens exclude each other."),
        ({"tokens": 5, "window": 5}, "A budget in tokens and a budget for a context window exclude each other."),
        (
            {"characters": 5, "window": -1},
            "A budget in characters and a budget for a context window exclude each other.",
        ),
    ],
)
def test_two_budgets_are_one_too_many(given: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        budget_for(**given)
    assert (caught.value.code, caught.value.message) == ("two-budgets", said)


@pytest.mark.parametrize("name", ["characters", "tokens", "window"])
@pytest.mark.parametrize("value", [0, -1, "100", 10.5, True, b"1"])
def test_a_budget_is_a_whole_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        budget_for(**{name: value})
    said = f"The budget must be a whole number above zero, not {value!r}."
    assert (caught.value.code, caught.value.message) == ("bad-budget", said)


def test_a_format_or_limit_that_makes_no_sense_is_refused_also_without_skills(few: list[Card]) -> None:
    for cards in ([], few):
        with pytest.raises(UsageError, match="no format 'yaml'") as caught:
            characters(cards, format="yaml")
        assert (caught.value.code, caught.value.hint) == ("bad-format", "Formats: bullet, xml, json, tool.")
        wrong: list[Any] = [0, -3, "3", 2.5]
        for most in wrong:
            with pytest.raises(UsageError, match=f"must be at least 1, not {most!r}") as caught:
                characters(cards, most=most)
            assert caught.value.code == "bad-limit"


# the ladder

SHORTENED = {
    "bullet": (
        200,
        """\
▸ charts: Draws charts, bar chart, a pie chart or a histogram…
▸ invoices: Writes invoices, customer has to pay…
▸ review: pull request for mistakes…
▸ travel: Plans trips by train, journey…
""",
    ),
    "xml": (
        320,
        """\
<available_skills>
<skill><name>charts</name><description>bar chart, a pie chart…</description></skill>
<skill><name>invoices</name></skill>
<skill><name>review</name><description>pull request…</description></skill>
<skill><name>travel</name><description>Plans trips by train…</description></skill>
</available_skills>
""",
    ),
    "json": (
        230,
        """\
[
{"name":"charts","description":"bar chart, a pie chart, histogram…"},
{"name":"invoices","description":"Writes invoices…"},
{"name":"review","description":"pull request…"},
{"name":"travel","description":"Plans trips…"}
]
""",
    ),
    "tool": (
        220,
        """\
Load a skill by its name. The skills:
▸ charts: Draws charts, bar chart, a pie chart, histogram…
▸ invoices: Writes invoices…
▸ review: pull request for mistakes. Do not use for prose…
▸ travel: Plans trips by train…
""",
    ),
}
SELECTED = {
    "bullet": (
        200,
        f"""\
▸ review: pull request for mistakes…
▸ scan-01
▸ scan-05
▸ scan-09
▸ scan-11
▸ scan-15
▸ scan-19
▸ scan-25
▸ scan-29
▸ travel
24 more skills are not listed; {FOUND}
""",
    ),
    "xml": (
        400,
        f"""\
<available_skills>
<skill><name>review</name><description>Reviews a pull request for mistakes…</description></skill>
<skill><name>scan-01</name></skill>
<skill><name>scan-05</name></skill>
<skill><name>scan-09</name></skill>
<skill><name>scan-15</name></skill>
<skill><name>travel</name></skill>
<note>28 more skills are not listed; {FOUND}</note>
</available_skills>
""",
    ),
    "json": (
        300,
        f"""\
[
{{"name":"review","description":"Reviews a pull request for mistakes…"}},
{{"name":"scan-01"}},
{{"name":"scan-05"}},
{{"name":"scan-09"}},
{{"name":"scan-11"}},
{{"name":"scan-15"}},
{{"name":"scan-19"}},
{{"name":"travel"}},
{{"note":"26 more skills are not listed; {FOUND}"}}
]
""",
    ),
    "tool": (
        250,
        f"""\
Load a skill by its name. The skills:
▸ review: Reviews a pull request for mistakes…
▸ scan-01
▸ scan-05
▸ scan-09
▸ scan-11
▸ scan-15
▸ scan-19
▸ scan-25
▸ scan-29
▸ travel
24 more skills are not listed; {FOUND}
""",
    ),
}


@pytest.mark.parametrize("format_", FORMATS)
def test_without_pressure_everything_is_shown_in_full(few: list[Card], format_: str) -> None:
    lines = [Line(card.name, card.description) for card in few[:3]]
    lines.append(Line("travel", "Plans trips by train. Use when a journey is mentioned."))
    expected = assemble(format_, "", [], lines)
    index = characters(few, len(expected) + 1, format_)
    assert (index.text, index.level, index.included, index.shortened, index.omitted) == (
        expected,
        "full",
        tuple(few),
        (),
        (),
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_then_every_name_is_shown_and_descriptions_are_shortened(few: list[Card], format_: str) -> None:
    limit, expected = SHORTENED[format_]
    index = characters(few, limit, format_)
    assert (index.text, index.level, index.included, index.shortened, index.omitted) == (
        expected,
        "shortened",
        tuple(few),
        ("charts", "invoices", "review", "travel"),
        (),
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_then_the_names_that_matter_most_and_how_to_find_the_others(many: list[Card], format_: str) -> None:
    limit, expected = SELECTED[format_]
    index = characters(many, limit, format_, used={"review": Use(3, 1), "travel": Use(1, 1)})
    assert (index.text, index.level) == (expected, "selected")
    assert {*index.included, *index.omitted} == {*many}


def test_the_report_says_what_became_of_each_skill(many: list[Card]) -> None:
    index = characters(many, 200, used={"review": Use(3, 1), "travel": Use(1, 1)})
    scans = ["scan-01", "scan-05", "scan-09", "scan-11", "scan-15", "scan-19", "scan-25", "scan-29"]
    names = ["review", *scans, "travel"]
    assert index.report.to_json() == {
        "total": 34,
        "included": 10,
        "shortened": 10,
        "omitted": 24,
        "always": 0,
        "name_only": 0,
        "manual": 0,
        "kept_back": 0,
        "characters": len(index.text),
        "tokens": ESTIMATE.count(index.text),
        "tokenizer": "estimate",
        "level": "selected",
        "rules": False,
        "budget": {"limit": 200, "unit": "characters"},
        "shortened_names": names,
        "omitted_names": [card.name for card in many if card.name not in names],
    }
    assert listed(index) == names


def test_a_report_names_the_first_hundred_that_are_left_out(card: Callable[..., Card]) -> None:
    cards = [card(f"skill-{number:04}") for number in range(1_000)]
    index = characters(cards, 400)
    report = index.report.to_json()
    assert report["omitted_names"] == [card.name for card in index.omitted][:100]
    assert (report["omitted"], len(report["omitted_names"])) == (len(index.omitted), 100)


def test_no_skills_are_no_text_at_all() -> None:
    for format_ in FORMATS:
        index = build([], budget_for(), Options(format_, paths=True), ESTIMATE)
        assert index == Index("", "empty", (), (), (), rules=False, budget=budget_for(), tokens=0, tokenizer="estimate")


def test_where_nothing_fits_there_is_no_text_and_the_report_still_says_so(many: list[Card]) -> None:
    index = characters(many, 20)
    assert (index.text, index.included, index.omitted) == ("", (), tuple(many))
    assert index.report.to_json()["omitted"] == 34


def test_what_is_said_twice_is_shown_once(card: Callable[..., Card]) -> None:
    cards = [
        card("a", "Plans trips. Use for journeys.", when="Use for journeys."),
        card("b", "Plans trips!", when="Use for journeys."),
        card("c", "", when="Use for journeys."),
    ]
    assert characters(cards).text == (
        "▸ a: Plans trips. Use for journeys.\n▸ b: Plans trips! Use for journeys.\n▸ c: Use for journeys.\n"
    )


# rules


def test_rules_are_left_out_when_they_would_take_more_than_a_quarter(few: list[Card]) -> None:
    for paths in (False, True):
        four_times = 4 * (len(rules(paths=paths)) + 1)
        for limit, there in ((four_times, True), (four_times - 1, False)):
            index = build(few, Budget(limit, "characters"), Options(paths=paths), ESTIMATE)
            assert index.text.startswith(f"{rules(paths=paths)}\n") is there
            assert (index.rules, index.report.to_json()["rules"]) == (there, there)


@pytest.mark.parametrize("paths", [False, True])
def test_where_programs_read_it_the_rules_are_part_of_what_can_be_parsed(few: list[Card], paths: bool) -> None:
    made = {
        format_: build(few, Budget(4_000, "characters"), Options(format_, paths=paths), ESTIMATE).text
        for format_ in ("json", "xml")
    }
    entries = json.loads(made["json"])
    assert (entries[0], len(entries)) == ({"note": rules(paths=paths)}, 1 + len(few))
    top = ET.fromstring(made["xml"])
    assert (top[0].tag, top[0].text) == ("note", rules(paths=paths))
    assert [child.tag for child in top] == ["note", *["skill"] * len(few)]


# who is listed


def test_the_variant_for_one_turn_shows_only_the_few_that_matter(many: list[Card]) -> None:
    index = characters(many, most=2, relevance=lambda card: {"charts": 0.5, "travel": 0.9}.get(card.name, 0.0))
    assert index.text == (
        "▸ charts: Draws charts from spreadsheets. Use for a bar chart, a pie chart or a histogram.\n"
        "▸ travel: Plans trips by train. Use when a journey is mentioned.\n"
        f"32 more skills are not listed; {FOUND}\n"
    )
    assert (index.level, index.shortened, len(index.omitted)) == ("selected", (), 32)


@pytest.mark.parametrize("budget", [Budget(8_000, "characters"), Budget(2_000, "tokens")])
def test_the_first_of_many_get_a_short_description_whatever_the_unit(card: Callable[..., Card], budget: Budget) -> None:
    cards = [card(f"skill-{at:04}", f"Draws chart{at} from table{at}, sheet{at} and file{at}.") for at in range(2_000)]
    used = {card.key: Use(1, 1) for card in cards[:20]}
    index = build(cards, budget, Options(), ESTIMATE, used=used)
    described = re.findall(rf"^{MARK} skill-(\d+): \w+", index.text, re.MULTILINE)
    assert {*described} >= {f"{at:04}" for at in range(20)}
    assert 20 < len(described) < len(index.included) // 2


def test_a_limit_that_all_keep_to_changes_nothing(few: list[Card]) -> None:
    assert characters(few, most=4) == characters(few, most=9) == characters(few)


def test_one_that_is_not_listed_is_counted_as_one(few: list[Card]) -> None:
    assert characters(few, most=3).text.endswith(f"\n1 more skill is not listed; {FOUND}\n")


def test_a_model_that_reads_files_is_told_of_the_command(few: list[Card]) -> None:
    text = characters(few, most=3, paths=True).text
    assert text.endswith("\n1 more skill is not listed; find them with `whet list --query WORDS`.\n")


def test_the_largest_categories_of_what_is_not_listed_are_named(card: Callable[..., Card]) -> None:
    sizes = {"zoo": 40, "art": 30, "law & <order>": 30, "": 50, "tax": 1}
    cards = sorted(
        (card(f"{name[:3] or 'x'}-{at:02}", category=name) for name, size in sizes.items() for at in range(size)),
        key=lambda card: card.key,
    )
    text = characters(cards, most=1, used={"zoo-00": Use(1, 1)}).text
    said = "Largest categories: zoo 39, art 30, law & <order> 30, tax 1."
    assert text.endswith(f"\n150 more skills are not listed; {FOUND} {said}\n")


def test_categories_with_long_names_do_not_silence_the_index(card: Callable[..., Card]) -> None:
    cards = [card(f"skill-{at:03}", category=f"{at % 20:02}-{'long ' * 30}") for at in range(900)]
    for limit in (200, 400, 1_000):
        index = characters(cards, limit)
        assert len(index.included) > 3
        assert f"; {FOUND}\n" in index.text
    assert len(re.findall(r"\d\d-long", characters(cards, 2_000).text)) == 1


def test_equal_skills_are_listed_from_all_over_the_alphabet(card: Callable[..., Card]) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    cards = [card(f"{letter}-skill-{at:02}") for letter in letters for at in range(77)]
    assert len(cards) == 2_002
    names = listed(characters(cards))
    assert {name[0] for name in names} == {*letters}
    thirds = [sum(first <= name[0] <= last for name in names) for first, last in ("ai", "jq", "rz")]
    assert max(thirds) < 2 * min(thirds)


def test_one_skill_more_changes_who_is_listed_by_a_few_at_most(card: Callable[..., Card]) -> None:
    cards = [card(f"skill-{number:04}") for number in range(2_000)]
    before = {*listed(characters(cards))}
    for name in ("aaa", "skill-1000b", "zzz"):
        after = {*listed(characters(sorted([*cards, card(name)], key=lambda card: card.key)))}
        assert len(before ^ after) <= 3


def test_a_name_is_shown_as_far_as_the_specification_lets_it_go(card: Callable[..., Card]) -> None:
    names = ["a" * 64, "b" * 65, f"c{' c' * 3_000}"]
    index = characters([card(name) for name in names])
    assert index.text == f"▸ {'a' * 64}: Does it.\n▸ {'b' * 63}…: Does it.\n▸ {'c ' * 31}c…: Does it.\n"
    assert (index.level, index.shortened) == ("full", (names[1], names[2]))
    assert index.report.to_json()["shortened"] == 2
    plugin = characters([card("d" * 65, plugin="mail")])
    assert plugin.text == f"▸ mail:{'d' * 63}…: Does it.\n"


def test_a_huge_name_shortens_no_other_skill(card: Callable[..., Card], few: list[Card]) -> None:
    index = characters([card("a" * 6_500), *few], 600)
    assert (index.level, index.shortened) == ("full", ("a" * 6_500,))


def test_a_name_that_fits_nowhere_does_not_end_the_list_for_the_others(card: Callable[..., Card]) -> None:
    cards = [card("a", plugin="p" * 9_000), *(card(f"skill-{number:03}") for number in range(900))]
    index = characters(cards, used={cards[0].key: Use(9, 9)})
    assert len(index.included) > 300
    assert cards[0] in index.omitted


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 120), st.integers(1, 2_500), st.integers(0, 400), st.sampled_from([*FORMATS]))
def test_more_room_never_lists_fewer(card: Callable[..., Card], size: int, limit: int, more: int, format_: str) -> None:
    cards = [card(f"skill-{number:03}", f"Does thing {number} and its like.") for number in range(size)]
    counts = [len(characters(cards, room, format_).included) for room in (limit, limit + more)]
    assert counts == sorted(counts)


# outliers and siblings


def test_a_huge_description_is_cut_at_the_end_of_a_clause_without_any_pressure(card: Callable[..., Card]) -> None:
    clause = "It checks the ledger for gaps, "
    index = characters([card("huge", clause * 300), card("small", "Small.")])
    shown = (clause * 33).removesuffix(", ")
    assert index.text == f"▸ huge: {shown}…\n▸ small: Small.\n"
    assert (index.level, index.shortened, len(shown) < 1_024 < len(shown + clause)) == ("full", ("huge",), True)


@pytest.mark.parametrize("format_", FORMATS)
def test_huge_descriptions_do_not_starve_healthy_ones(card: Callable[..., Card], format_: str) -> None:
    huge = [
        card(f"huge-{at}", " ".join(f"Handles topic{at}{n} and matter{at}{n}." for n in range(250))) for at in range(7)
    ]
    healthy = [
        card(f"paint-{at:02}", f"Paints wall{at} in colour{at}, from floor{at} to roof{at}. Use when rooms are bare.")
        for at in range(30)
    ]
    index = characters([*huge, *healthy], 4_500, format_)
    assert [card.name for card in healthy if f"{card.name[6:].lstrip('0') or '0'}" not in index.text] == []
    described = [at for at in range(30) if re.search(rf"(wall|colour|floor|roof){at}\b", index.text)]
    assert described == [*range(30)]


@pytest.mark.parametrize("format_", FORMATS)
def test_siblings_that_differ_in_their_last_clause_are_still_told_apart(
    card: Callable[..., Card], format_: str
) -> None:
    same = "Moves a database to a newer version with a backup, a dry run and a report of what changed, "
    engines = [f"engine{number}x" for number in range(40)]
    cards = [card(f"migrate-{at:02}", f"{same}for {engine}.") for at, engine in enumerate(engines)]
    limit = sum(len(card.name) for card in cards) + 40 * 75
    even = limit // 40 - len("▸ migrate-00: \n")
    assert [engine for engine, card in zip(engines, cards, strict=True) if engine in card.description[:even]] == []
    text = characters(cards, limit, format_).text
    assert [engine for engine in engines if engine not in text] == []
