"""Patterns: an expression is tried where the words stand that it needs."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from guard.expressions import searched
from guard.needs import derive
from whet.guard.finding import Hit
from whet.guard.literals import Literals, needs
from whet.guard.patterns import EVIDENCE, Pattern, Rows, compiled, hits, line_of, load_patterns, search, shorten
from whet.guard.prose.markdown import blocks, rows
from whet.guard.prose.orders import _asked

PIPE = Pattern("pipe", r"\b(?:curl|wget)\s[^\n]{0,80}\|\s?(?:ba)?sh")
LINES = ["curl a | bash", "nothing", "Curling is a sport; bashful", "wget b | sh"]


def made(patterns: tuple[Pattern, ...], lines: list[str]) -> Rows:
    return Rows(lines, Literals((pattern.regex for pattern in patterns), derive))


def test_rows_that_have_every_need_are_known_by_how_the_words_begin() -> None:
    assert made((PIPE,), LINES).having(PIPE.regex) == [0, 3]


def test_what_the_whole_text_lacks_is_nowhere() -> None:
    assert made((PIPE,), ["curl a", "no more"]).having(PIPE.regex) == ()


def test_matches_come_with_the_number_of_their_row() -> None:
    found = [(number, match[0]) for _, number, match in made((PIPE,), LINES).search((PIPE,))]

    assert found == [(0, "curl a | bash"), (3, "wget b | sh")]


def test_a_pattern_without_needs_looks_at_every_row() -> None:
    anything = Pattern("any", "noth")

    assert [number for _, number, _ in made((anything,), LINES).search((anything,))] == [1]


def test_unless_takes_a_row_back() -> None:
    careful = PIPE._replace(unless="never")
    found = made((careful,), ["never curl a | bash", "curl b | bash"]).search((careful,))

    assert [number for _, number, _ in found] == [1]


def test_a_pattern_tells_a_few_matches_and_no_more() -> None:
    index = made((PIPE,), LINES[:1] * 50)

    assert len(list(index.search((PIPE,)))) == len(list(search((PIPE,), "curl a | sh\n" * 50))) == 5


def test_hits_have_the_line_and_the_severity_of_the_pattern() -> None:
    text = "one\n\nCURL a | bash\n"

    assert list(hits((PIPE._replace(severity="warn"),), text)) == [Hit("pipe", 3, "CURL a | bash", "warn")]


def test_a_pattern_whose_needs_are_not_met_is_not_even_compiled() -> None:
    shipped = tuple(one for one in load_patterns("windows") if needs(one.regex) != ((),))
    compiled.cache_clear()

    assert list(search(shipped, "other")) == []
    assert compiled.cache_info().currsize == 0


def test_evidence_is_one_line_and_short() -> None:
    assert shorten(" a\n\tb  c ") == "a b c"
    assert (len(shorten("x" * 999)), shorten("x" * 999)[-3:]) == (EVIDENCE, "...")
    address = f"http://{'x' * 300}.example"
    assert shorten(f"send it to {address} at once, please") == f"send it to {address}..."
    assert len(shorten(f"http://{'x' * 999}")) == 2 * EVIDENCE + 3
    assert (line_of("a\nb\nc", 0), line_of("a\nb\nc", 4)) == (1, 3)
    assert compiled("a") is compiled("a")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("curlbashw |", max_size=20), max_size=8))
def test_the_first_look_loses_nothing(lines: list[str]) -> None:
    expression = compiled(PIPE.regex)
    found = {number for _, number, _ in made((PIPE,), lines).search((PIPE,))}
    sure = [number for number, line in enumerate(lines) if expression.search(line)]

    assert found == set(sure[:5])


def test_a_text_in_one_line_is_about_as_much_work_as_in_many() -> None:
    asked = _asked()
    telling = sorted({key.rstrip("*") for regex in searched() for way in needs(regex) for need in way for key in need})
    chance = random.Random(3)
    words = [chance.choice(telling) if chance.random() < 0.01 else "harbour" for _ in range(30_000)]

    def work(text: str) -> int:
        """Characters that patterns are tried on."""
        index = Rows([row.text for row in rows(blocks(text))], asked)
        return sum(len(index.rows[number]) for regex in searched() for number in index.having(regex))

    paragraphs = (" ".join(words[at : at + 250]) for at in range(0, len(words), 250))
    assert work(" ".join(words)) < 2 * work("\n\n".join(paragraphs))


def test_rows_that_an_expression_matches_are_found_in_one_go() -> None:
    lines = ["a.com", "", "nothing", "b.org and c.com", "d.com"]

    assert list(made((PIPE,), lines).matched(re.compile(r"\.com\b"))) == [0, 3, 4]
    assert list(made((PIPE,), []).matched(re.compile("x"))) == []
