"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from re import _parser as parser  # type: ignore[attr-defined]  # the parsed form has no public name

import pytest
from tiers import thinned

from guard.expressions import literals, searched
from whet.guard.expression import expression, fold, lower
from whet.guard.manifests import agents
from whet.guard.prose import checker as prose

FORKED = False
COUNTED = """
import re
from re import _compiler
made = []
compile = _compiler.compile
_compiler.compile = lambda regex, flags=0: made.append(regex) or compile(regex, flags)
from whet.guard.scan import scan
from whet.skill.tree import Item
text = "---\\nname: tidy\\ndescription: Sorts files.\\n---\\nList the files:\\n\\n```sh\\nls -la\\n```\\n"
print(scan({"SKILL.md": Item(text.encode())}).verdict, len(made))
"""


def test_it_is_compiled_by_the_first_use_of_a_method() -> None:
    made = expression("a+", re.MULTILINE)

    assert "search" not in vars(made)
    assert [match[0] for match in made.finditer("caab a")] == ["aa", "a"]
    assert made.search == vars(made)["search"]
    assert (made.pattern, made.flags, made.groups) == ("a+", re.MULTILINE | re.UNICODE, 0)


def test_a_fault_in_an_expression_shows_when_it_is_used() -> None:
    made = expression("(a")

    with pytest.raises(re.error):
        made.search("a")


SPELLINGS = (str.lower, str.upper, str.title, lambda word: word.replace("s", "\u017f").replace("i", "\u0130"))


@pytest.mark.parametrize("part", thinned(range(8), 8))
def test_the_lower_case_of_a_text_matches_as_the_text_does_without_regard_to_case(part: int) -> None:
    """Texts of the words of each expression, in their order and in any other, in several spellings."""
    chance = random.Random(7)
    for regex in searched()[part::8]:
        words = re.findall("[A-Za-z]{2,}|[0-9]{2,}", re.sub(r"\\.", " ", regex))
        one, other = expression(regex, re.IGNORECASE | re.MULTILINE), re.compile(regex, re.IGNORECASE | re.MULTILINE)
        for spell in SPELLINGS:
            for chosen in (words, chance.sample(words, len(words))):
                text = " ".join(map(spell, chosen))
                found, wanted = one.search(text), other.search(text)
                assert (found and found.span()) == (wanted and wanted.span()), (regex, text)


def test_lower_case_leaves_what_an_escape_means_and_the_length_of_a_text() -> None:
    assert lower(r"\W[A-Z]\S+\\X(?P<word>K)") == r"\W[a-z]\S+\\x(?P<word>k)"
    assert fold("İSTANBUL ſIı") == "istanbul sii"


def test_an_expression_without_regard_to_case_has_the_other_methods_too() -> None:
    made = expression("(a)B", re.IGNORECASE)

    assert (made.findall("ab AB"), made.sub("-", "xAbx"), made.search("xab", 2)) == (["a", "A"], "x-x", None)


def test_a_scan_of_a_small_skill_compiles_few_expressions() -> None:
    """Starting up is compiling: nine of ten expressions look for what a small text does not have."""
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    verdict, count = run.stdout.split()

    assert (verdict, int(count) <= 121) == ("safe", True), count


@pytest.mark.parametrize(
    ("regex", "hints"),
    [(prose._WINDOWS, prose._WINDOWS_HINTS), (agents._PLACE, agents._PLACE_HINTS)],
    ids=["Windows", "settings of agents"],
)
def test_a_hint_stands_in_every_text_that_an_expression_matches(regex: re.Pattern[str], hints: tuple[str, ...]) -> None:
    """A hint that is missing would make the expression blind, and nothing else would tell."""
    for text in literals(parser.parse(regex.pattern)):
        assert any(hint in text for hint in hints), text
