"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from whet.guard.expression import expression

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


def test_a_scan_of_a_small_skill_compiles_few_expressions() -> None:
    """Starting up is compiling: nine of ten expressions look for what a small text does not have."""
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    verdict, count = run.stdout.split()

    assert (verdict, int(count) <= 110) == ("safe", True), count
