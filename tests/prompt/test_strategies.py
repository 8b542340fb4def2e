"""How much of a skill is shown: what each strategy takes from the bodies people write; how several share a budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prompt.world import WORDS, part
from whet.prompt.message import MAX_BODY, STRATEGIES, Block, block, excerpt, fit, ladder
from whet.prompt.tokens import Counter, estimate

SECTIONED = """\
# Invoices

Writes invoices for the shop.

## Overview

One PDF for each order.

## When to use

At the end of a month.

## Fields

Number, date, total.

## 3. Steps

1. Collect.
2. Print.

### Printing

On paper.
"""


LARGE = SECTIONED.replace("Number, date", "Number, date, " + "word " * 400)


def excerpts(body: str, description: str = "Writes invoices.") -> dict[str, str]:
    return {strategy: excerpt(body, description, strategy) for strategy in STRATEGIES}


def test_sections_are_taken_by_their_headings() -> None:
    intro = "# Invoices\n\nWrites invoices for the shop.\n\n## Overview\n\nOne PDF for each order."
    assert excerpts(SECTIONED) == {
        "full": SECTIONED,
        "overview+usage": f"{intro}\n\n## When to use\n\nAt the end of a month.\n\n"
        "## 3. Steps\n\n1. Collect.\n2. Print.\n\n### Printing\n\nOn paper.",
        "overview": intro,
        "description": "Writes invoices.",
    }


@pytest.mark.parametrize(
    "heading",
    [
        "Usage",
        "HOW TO USE IT",
        "2. Steps",
        "🚀 Quick start",
        "**Workflow**",
        "Do not use",
        "When not to use",
        "Checklist",
    ],
)
def test_usage_has_many_names(heading: str) -> None:
    body = f"Intro.\n\n## Data\n\nRows.\n\n## {heading}\n\nLike so.\n\n## Licence\n\nFree."
    assert excerpts(body)["overview+usage"] == f"Intro.\n\n## {heading}\n\nLike so."
    assert excerpts(body)["overview"] == "Intro."


@pytest.mark.parametrize("heading", ["Overview", "1. Introduction", "About this skill", "What it does", "Purpose"])
def test_the_overview_has_many_names(heading: str) -> None:
    body = f"## Data\n\nRows.\n\n## {heading}\n\nIn short."
    assert excerpts(body)["overview"] == f"## {heading}\n\nIn short."


def test_without_a_usage_section_the_first_one_stands_for_it() -> None:
    body = "Intro.\n\n## Data\n\nRows.\n\n## Licence\n\nFree."
    assert excerpts(body)["overview+usage"] == "Intro.\n\n## Data\n\nRows."


def test_without_headings_the_first_paragraphs_are_the_overview() -> None:
    paragraphs = [f"{number} " + "word " * 99 for number in range(6)]
    body = "\n\n".join(paragraphs)
    shown = "\n\n".join(paragraphs[:2])
    assert excerpts(body) == {
        "full": body,
        "overview+usage": shown,
        "overview": shown,
        "description": "Writes invoices.",
    }


def test_one_long_paragraph_is_not_cut() -> None:
    body = "word " * 2_000
    assert excerpts(body)["overview"] == body


def test_with_only_a_title_the_text_below_it_is_the_overview() -> None:
    body = "# Invoices\n\nFirst.\n\nSecond.\n"
    assert excerpts(body)["overview"] == "# Invoices\n\nFirst.\n\nSecond."


def test_titles_in_place_of_sections_are_sections() -> None:
    body = "# Invoices\n\nIntro.\n\n# Data\n\nRows.\n\n# Usage\n\nLike so.\n"
    assert excerpts(body)["overview"] == "# Invoices\n\nIntro."
    assert excerpts(body)["overview+usage"] == "# Invoices\n\nIntro.\n\n# Usage\n\nLike so."


def test_headings_in_code_are_code() -> None:
    body = "Intro.\n\n```sh\n# Usage\n\n## Overview\nls\n```\n\n## Data\n\nRows.\n\n## Usage\n\nLike so.\n"
    intro = "Intro.\n\n```sh\n# Usage\n\n## Overview\nls\n```"
    assert excerpts(body)["overview"] == intro
    assert excerpts(body)["overview+usage"] == f"{intro}\n\n## Usage\n\nLike so."


def test_a_code_block_is_not_cut_in_half() -> None:
    code = "```py\n" + "x = 1\n\n" * 300 + "```"
    assert excerpts(f"Intro.\n\n{code}\n\nEnd.")["overview"] == "Intro."
    assert excerpts(f"{code}\n\nEnd.")["overview"] == code.replace("\n\n\n", "\n\n")


@pytest.mark.parametrize("body", ["", "\n\n", "# Invoices\n", "# Invoices\n\n## Data\n\nRows.\n"])
def test_the_description_stands_for_an_overview_that_is_not_there(body: str) -> None:
    assert excerpts(body)["overview"] == "Writes invoices."


def test_a_great_many_empty_rows_are_read_once() -> None:
    body = "\n" * 200_000
    assert excerpts(body)["overview"] == "Writes invoices."


# costs


@pytest.mark.parametrize(
    "body", [SECTIONED, "Short.", "", "# Title\n", "word " * 3_000, "## Usage\n\n" + "word " * 500]
)
@pytest.mark.parametrize("description", ["Does it.", "Does it, " * 100])
@pytest.mark.parametrize("count", [WORDS.count, estimate])
def test_no_strategy_costs_more_than_the_one_above_it(body: str, description: str, count: Counter) -> None:
    made = part("invoices", body, description=description, remarks=("[Skill directory: /skills/invoices.]",))
    costs = [tokens for _, tokens in ladder(made, count).values()]
    assert list(ladder(made, count)) == list(STRATEGIES)
    assert costs == sorted(costs, reverse=True)


def test_a_strategy_that_saves_nothing_gives_the_whole_skill() -> None:
    made = part("invoices", "Short.", remarks=())
    whole = block(made, "full")
    assert ladder(made, WORDS.count) == dict.fromkeys(STRATEGIES, (whole, WORDS.count(whole)))
    assert "This is only" not in whole


def test_each_excerpt_says_what_it_is_and_how_to_get_the_rest() -> None:
    made = part("invoices", LARGE, remarks=("[Skill directory: /skills/invoices.]",))
    rows = {strategy: text.split("\n")[-2] for strategy, (text, _) in ladder(made, WORDS.count).items()}
    assert rows == {
        "full": "[Skill directory: /skills/invoices.]",
        "overview+usage": "[This is only the overview and usage. The whole skill: skill_view('invoices').]",
        "overview": "[This is only the overview. The whole skill: skill_view('invoices').]",
        "description": "[This is only the description. The whole skill: skill_view('invoices').]",
    }


def test_a_description_alone_comes_without_what_lies_beside_the_skill() -> None:
    made = part("invoices", SECTIONED, remarks=("[Skill directory: /skills/invoices.]",))
    assert block(made, "description") == (
        '<skill_content name="invoices" digest="sha256:0">\n'
        "Does it.\n\n[This is only the description. The whole skill: skill_view('invoices').]\n</skill_content>"
    )


# several


def made_of(blocks: list[Block]) -> list[tuple[str, str]]:
    return [(item.part.card.name, item.strategy) for item in blocks]


def test_without_a_budget_all_are_full() -> None:
    parts = [part(name, LARGE) for name in ("a", "b", "c")]
    blocks = fit(parts, None, WORDS.count)
    assert made_of(blocks) == [("a", "full"), ("b", "full"), ("c", "full")]
    assert blocks == [Block(item, "full", block(item, "full"), WORDS.count(block(item, "full"))) for item in parts]


def test_skills_step_down_the_least_wanted_first() -> None:
    parts = [part(name, LARGE) for name in ("a", "b", "c")]
    costs = [tokens for _, tokens in ladder(parts[0], WORDS.count).values()]
    full, usage, overview, description = costs
    assert full > usage > overview > description
    stairs = {
        3 * full: ["full", "full", "full"],
        3 * full - 1: ["full", "full", "overview+usage"],
        2 * full + usage - 1: ["full", "overview+usage", "overview+usage"],
        full + 2 * usage - 1: ["overview+usage", "overview+usage", "overview+usage"],
        3 * usage - 1: ["overview+usage", "overview+usage", "overview"],
        3 * overview - 1: ["overview", "overview", "description"],
        3 * description: ["description", "description", "description"],
        3 * description - 1: ["overview", "description", "omitted"],  # what the last one leaves raises the first
        description: ["description", "omitted", "omitted"],
        description - 1: ["omitted", "omitted", "omitted"],
    }
    for budget, expected in stairs.items():
        assert [item.strategy for item in fit(parts, budget, WORDS.count)] == expected, budget


def test_room_that_is_left_raises_the_most_wanted_again() -> None:
    invoices, wordy = part("invoices", LARGE), part("wordy", "word " * 600, description="Does it. " * 250)
    budget = ladder(invoices, WORDS.count)["full"][1]
    assert made_of(fit([invoices, wordy], budget, WORDS.count)) == [("invoices", "full"), ("wordy", "omitted")]


BODIES = st.lists(
    st.sampled_from(["# Title", "## Overview", "## Usage", "## Data", "word " * 40, "Some words.", "```", "# no", ""]),
    max_size=12,
).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(bodies=st.lists(BODIES, max_size=6), budget=st.integers(0, 400), description=st.text(max_size=80))
def test_what_is_chosen_never_costs_more_than_the_budget(bodies: list[str], budget: int, description: str) -> None:
    parts = [part(f"s{number}", body, description=description) for number, body in enumerate(bodies)]
    blocks = fit(parts, budget, estimate)
    assert [item.part for item in blocks] == parts
    assert sum(item.tokens for item in blocks) <= budget
    for item in blocks:
        assert item.tokens == estimate(item.text)
        assert item.text == ("" if item.strategy == "omitted" else block(item.part, item.strategy))


def test_a_very_long_body_is_bounded_and_says_how_to_get_the_rest() -> None:
    made = part("long", "a" * MAX_BODY + "b" * 50_000)
    assert block(made, "full") == (
        '<skill_content name="long" digest="sha256:0">\n' + "a" * MAX_BODY + "\n[The rest: skill_view('long', page=2).]"
        "\n</skill_content>"
    )
    assert "b" * 10 not in block(made, "overview")
    assert block(part("long", "a" * MAX_BODY), "full").count("skill_view") == 0
