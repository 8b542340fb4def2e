"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest
from tiers import thinned

from guard.expressions import searched
from whet.guard.expression import expression, fold, lower, seldom

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
    made = expression("a+", re.IGNORECASE)

    assert "search" not in vars(made)
    assert [match[0] for match in made.finditer("cAab a")] == ["Aa", "a"]
    assert made.search == vars(made)["search"]
    assert (made.pattern, made.flags, made.groups) == ("a+", re.IGNORECASE | re.UNICODE, 0)


def test_a_fault_in_an_expression_shows_when_it_is_used() -> None:
    made = expression("(a")

    with pytest.raises(re.error):
        made.search("a")


SPELLINGS = (str.lower, str.upper, str.title, lambda word: word.replace("s", "\u017f").replace("i", "\u0130"))


@pytest.mark.parametrize("part", thinned(range(8), 8))
def test_what_seldom_matches_matches_as_without_regard_to_case(part: int) -> None:
    """Texts of the words of each expression, in their order and in any other, in several spellings."""
    chance = random.Random(7)
    for regex in searched()[part::8]:
        words = re.findall("[A-Za-z]{2,}|[0-9]{2,}", re.sub(r"\\.", " ", regex))
        one, other = seldom(regex, re.MULTILINE), re.compile(regex, re.IGNORECASE | re.MULTILINE)
        for spell in SPELLINGS:
            for chosen in (words, chance.sample(words, len(words))):
                text = " ".join(map(spell, chosen))
                found, wanted = one.search(text), other.search(text)
                assert (found and found.span()) == (wanted and wanted.span()), (regex, text)


def test_lower_case_leaves_what_an_escape_means_and_the_length_of_a_text() -> None:
    assert lower(r"\W[A-Z]\S+\\X(?P<word>K)") == r"\W[a-z]\S+\\x(?P<word>k)"
    assert fold("İSTANBUL ſIı") == "istanbul sii"


def test_seldom_has_the_other_methods_too() -> None:
    made = seldom("(a)B")

    assert (made.findall("ab AB"), made.sub("-", "xAbx"), made.search("xab", 2)) == (["a", "A"], "x-x", None)


def test_a_scan_of_a_small_skill_compiles_few_expressions() -> None:
    """Starting up is compiling: nine of ten expressions look for what a small text does not have."""
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    verdict, count = run.stdout.split()

    assert (verdict, int(count) <= 120) == ("safe", True), count
