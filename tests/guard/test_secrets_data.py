"""The tables of secrets: every pattern compiles, every mark is part of what it announces, nothing is there twice."""

from __future__ import annotations

import re
from re import _constants as c  # type: ignore[attr-defined]  # the parsed form has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from whet.guard.secrets.data import accusing, names, places, shapes
from whet.guard.secrets.scan import RUNS
from whet.guard.secrets.values import ANY, LITERAL
from whet.guard.tables import load_toml, shape

KINDS = {"password", "token", "secret", "cookie", "authorization", "webhook"}


def test_a_shape_has_a_kind_a_mark_and_one_varying_part() -> None:
    assert len(shapes()) == len(set(shapes())) > 70
    for token in shapes():
        assert re.compile(token.regex).groups == 1, token
        assert re.fullmatch("[A-Za-z][A-Za-z ]+", token.kind) and token.mark, token
        assert token.bits is None or 2.5 < token.bits < 5, token
    assert len(accusing()) > 70
    for token, bits in accusing():
        assert 2.5 < bits < 5 and re.compile(token.regex).groups == 1, token


def _characters(items: Any) -> set[str]:
    """The characters that an expression may take; `\\` for a class that is more than letters and digits."""
    found: set[str] = set()
    for kind, value in items:
        match kind:
            case c.SUBPATTERN:
                found |= _characters(value[3])
            case c.BRANCH:
                found = found.union(*map(_characters, value[1]))
            case c.MAX_REPEAT | c.MIN_REPEAT:
                found |= _characters(value[2])
            case c.IN:
                found |= _characters(value)
            case c.LITERAL:
                found.add(chr(value))
            case c.RANGE:
                found |= set(map(chr, range(value[0], value[1] + 1)))
            case c.ASSERT | c.ASSERT_NOT | c.AT:
                pass
            case _:
                found.add("0" if value in (c.CATEGORY_DIGIT, c.CATEGORY_WORD) else "\\")
    return found


def test_a_token_is_one_run_from_its_mark_to_its_end_unless_it_says_otherwise() -> None:
    parting = {chr(code) for code in range(256) if RUNS[code] == ord(" ")}

    assert [token.kind for token, _ in accusing() if parting & _characters(parser.parse(token.regex))] == ["AWS secret"]
    assert [token.kind for token, _ in accusing() if token.apart] == ["AWS secret"]


def test_a_place_has_a_pattern_a_kind_and_a_proof_that_is_known() -> None:
    assert len(places()) == len(set(places())) > 50
    for place in places():
        assert re.compile(f"({place.before})(x){place.behind}").groups == 2, place
        assert re.compile(place.unless).groups == 0
        assert place.mark and place.kind in KINDS and place.proof in ("", ANY, LITERAL), place
        assert "@more@" not in place.before


def test_every_fragment_is_used() -> None:
    raw = load_toml("secret_places")
    texts = [text for row in raw["places"] for text in row.values()] + list(raw["fragments"].values())
    assert [name for name in raw["fragments"] if not any(f"@{name}@" in text for text in texts)] == []


@pytest.mark.parametrize("name", [name for name, value in load_toml("secret_words").items() if isinstance(value, list)])
def test_a_list_of_words_is_sound(name: str) -> None:
    listed = load_toml("secret_words")[name]
    assert listed and len(listed) == len(set(listed))
    assert shape("secret_words", name).groups == 0 and not shape("secret_words", name).fullmatch("")
    assert all(word == word.strip() and re.compile(word) for word in listed)


def test_a_name_is_part_of_what_it_announces() -> None:
    for name, regex in names().items():
        assert name == name.lower() and re.compile(regex).groups == 0
        assert name.rstrip("s") in regex or name == "key", name
