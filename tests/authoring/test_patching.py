"""A patch writes exactly what was asked for where it was asked for, or says why not and what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whet.authoring.patching import TOLERANCES, Patched, patch
from whet.errors import ConflictError, NotFoundError, UsageError, WhetError

SKILL = """\
---
name: deploying
description: Deploy the service.
---
# Deploying

1. Run `make build` and wait until it says “ready”.
2. Copy the image to the registry — it takes a while.
3. Check it:

    ```bash
    make check
    if [ -f report ]; then
        cat report
    fi
    ```

Do not deploy on Friday.
Do not deploy on  Sunday.
"""
COPY = "copy the text to find exactly from `closest`."


def failure(text: str, find: str, replace: str = "new", *, every: bool = False, tolerant: bool = False) -> WhetError:
    with pytest.raises(WhetError) as caught:
        patch(text, find, replace, every=every, tolerant=tolerant)
    return caught.value


def answer(error: WhetError, code: str, message: str, hint: str, **details: Any) -> None:
    """Assert the whole answer, and that every surface can send it."""
    assert error.to_json() == {"success": False, "error": message, "code": code, "hint": hint, **details}
    json.dumps(error.to_json())


# --- exact ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        ("one two three", "two", "2", "one 2 three"),
        ("one two three", " two", "", "one three"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n"),
        ("a\nb\nc\n", "a\nb\n", "a\nb\nbb\n", "a\nb\nbb\nc\n"),
        ("é", "é", "e", "e"),
        ("a\\1b", "\\1", "\\g<0>", "a\\g<0>b"),
    ],
)
def test_what_occurs_once_is_replaced(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace) == Patched(patched, 1, "")


def test_all_occurrences_are_replaced_when_asked_for() -> None:
    assert patch("a b a b a", "a", "aa", every=True) == Patched("aa b aa b aa", 3, "")


def test_a_tolerant_patch_of_what_is_there_is_exact() -> None:
    assert patch("a  b\na b\n", "a b", "c", tolerant=True) == Patched("a  b\nc\n", 1, "")


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\r\nb\r\n", "b", "x\r\ny", "a\r\nx\r\ny\r\n"),
        ("a\nb\n", "b", "x\r\ny", "a\nx\ny\n"),
        ("a\r\nb\r\nc\r\n", "\nb", "", "a\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "\nb", "\nx\ny", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\nc", "c", "x\ny", "a\r\nb\nx\ny"),
        ("a", "a", "x\r\ny", "x\r\ny"),
        ("a\rb\n", "b", "c", "a\rc\n"),
    ],
)
def test_the_replacement_takes_the_line_ends_of_the_text(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace) == Patched(patched, 1, "")


def test_a_line_end_is_taken_whole_at_every_occurrence() -> None:
    assert patch("a\r\nb\r\na\r\nb\r\n", "\nb", "\nx", every=True) == Patched("a\r\nx\r\na\r\nx\r\n", 2, "")


# --- tolerant -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n"),
        ("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"),
        ("a\r\nb\nc\n", "a\nb\nc", "x\ny", "x\ny\n"),
        ("a\nb", "a\nb\n", "x\ny\n", "x\ny"),
        ("a\nb", "b\n", "", "a\n"),
        ("a\nb", "\na\n", "\nx\n", "x\nb"),
        ("a\nb", "\na\n", "x", "xb"),
        ("a\r\nb\r\nc", "\r\nb\n", "", "ac"),
        ("a\r\nb\r\nc", "a\nb", "a\nb\nbb", "a\r\nb\r\nbb\r\nc"),
        ("a\r\nb\r\nc", "b\nc", "b\nc\nd", "a\r\nb\r\nc\r\nd"),
    ],
)
def test_line_ends_may_differ(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace, tolerant=True) == Patched(patched, 1, "line-ends")


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        ("a  \nb\t\nc\n", "a\nb", "x\ny", "x\ny\nc\n"),
        ("a\nb\nc\n", "a \nb\t\n", "x\n", "x\nc\n"),
        ("a\n  \nb\n", "a\n\nb", "c", "c\n"),
        ("a \r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"),
        ("a  \nb  \nc  \nd\n", "a\nb\nc\n", "a\nx\nc\n", "a  \nx\nc  \nd\n"),
        ("a  \nb  \nd\n", "a\nb\n", "a\nb\nc\n", "a  \nb  \nc\nd\n"),
    ],
)
def test_white_space_at_the_end_of_lines_may_differ(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace, tolerant=True) == Patched(patched, 1, "trailing-space")


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        # deeper in the file, by spaces and by tabs
        ("x\n    a\n      b\ny\n", "a\n  b", "a\n  c\n    d\ne", "x\n    a\n      c\n        d\n    e\ny\n"),
        ("x\n\ta\n\t\tb\n", "a\n\tb\n", "a\n\tc\n", "x\n\ta\n\t\tc\n"),
        # less deep in the file, and a replacement that is less deep still
        ("a\n  b\n", "    a\n      b", "    c\n      d\n  e\nf", "c\n  d\ne\nf\n"),
        ("      a\n", "  a ", "b", "    b\n"),
        # tabs for spaces, and a line of the replacement that is indented like none of `find`
        ("\t\ta\n\t\tb\n", "    a\n    b", "    c\n  d", "\t\tc\n  d\n"),
        # blank lines have no indentation
        ("  a\n\n  b\n", "a\n\nb", "a\n\nc\n\nd", "  a\n\n  c\n\n  d\n"),
        ("  a\n   \n\n  b\n", "\n\n\nb", "\n\n\nc", "  a\n   \n\n  c\n"),
        ("x\n\n  a\n\ny\n", "\na\n\n", "\nb\n\n", "x\n\n  b\n\ny\n"),
        ("x\n  a\ny\n", "\n    a\n", "", "xy\n"),
        ("x\r\n  a\r\n  b\r\n", "a\nb", "c\nd", "x\r\n  c\r\n  d\r\n"),
    ],
)
def test_indentation_may_differ_by_the_same_for_all_lines(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace, tolerant=True) == Patched(patched, 1, "indentation")


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        ("a  b\n", "a b", "c", "c\n"),
        ("a\tb c\n", "a b  c", "d", "d\n"),
        ("so  a  b it is\n", "a b", "c", "so  c it is\n"),
        ("x a  b\r\n", "a b", "c\nd", "x c\r\nd\r\n"),
        # another style of indentation: each depth of `find` gets the one that the file has for it
        ("\ta:\n\t\tb:\n", "  a:\n    b:", "  a:\n    c:\n      d:\n  e:", "\ta:\n\t\tc:\n\t\t  d:\n\te:\n"),
        ("a:\n    b:  1\n", "a:\n  b: 1", "a:\n  b: 2", "a:\n    b: 2\n"),
    ],
)
def test_runs_of_white_space_may_differ(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace, tolerant=True) == Patched(patched, 1, "white-space")


@pytest.mark.parametrize(
    ("text", "find", "replace", "patched"),
    [
        ("say “hi”\n", 'say "hi"', "say it", "say it\n"),
        ('say "hi"\n', "say “hi”", "say „ho“", "say „ho“\n"),
        ("it’s a – b — c… ok\n", "a - b - c... ok", "d", "it’s d\n"),
        ("it's 10\u00a0km\n", "it’s 10 km", "it's far", "it's far\n"),
        ("Cafe\u0301 bar\n", "Café", "Tea", "Tea bar\n"),
        ("Café bar\n", "Cafe\u0301", "Tea", "Tea bar\n"),
        ("\u1112\u1161\u11ab x\n", "한", "y", "y x\n"),
        ("«a»  \r\n‘b’ \r\nc\r\n", "\"a\"\n'b'\n", "\"a\"\n'd'\n", "«a»  \r\n'd'\r\nc\r\n"),
        ("\u00a0\u00a0“a”\n\u00a0\u00a0b\n", '"a"\nb', '"a"\nc', "\u00a0\u00a0“a”\n\u00a0\u00a0c\n"),
        ("漢字 “漢”字\n", '"漢"', "字", "漢字 字字\n"),
    ],
)
def test_characters_that_look_alike_may_differ(text: str, find: str, replace: str, patched: str) -> None:
    assert patch(text, find, replace, tolerant=True) == Patched(patched, 1, "characters")


def test_lines_of_context_stay_as_the_file_has_them() -> None:
    find = "make check\nif [ -f report ]; then\n    cat report\nfi\n"
    replace = "make check\nif [ -f report ]; then\n    cat report\n    rm report\nfi\n"
    before = "        cat report\n"
    expected = SKILL.replace(before, before + "        rm report\n")
    assert patch(SKILL, find, replace, tolerant=True) == Patched(expected, 1, "indentation")


@pytest.mark.parametrize(
    ("text", "find"),
    [
        ("a\n    b\n", "a\nb  "),  # the indentation of the lines is not the same
        ("a:\n    b:\n  c:  1\n", "a:\n  b:\n  c: 1"),  # what is equally deep in one is not in the other
        ("a:\n  b:\n  c:  1\n", "a:\n  b:\n    c: 1"),
        ("a,b", "a, b"),  # white space where there is none
        ("ab  c\n d", "b c\nd"),  # within a line, but more than one
        ("colour", "color"),
        ("--flag", "—flag"),
        ("wait....", "wait…"),
        ("cafe\u0301", "cafe "),
        ("é…", "e.."),  # never half a character
        ("\u1112\u1161\u11ab", "하"),
    ],
)
def test_other_differences_never_match(text: str, find: str) -> None:
    assert failure(text, find, tolerant=True).code == "patch-not-found"


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("find", "message"),
    [
        ("", "The text to find is empty."),
        (" \n\t\u00a0", "The text to find is only white space."),
    ],
)
def test_nothing_to_find_is_refused_with_the_way_out(find: str, message: str) -> None:
    error = failure("a", find)
    assert isinstance(error, UsageError)
    hint = (
        "Put a line of the file in `find`, copied exactly. To add text, find the line before it and repeat that line "
        "in `replace`. To rewrite the whole body, use edit instead of patch."
    )
    answer(error, "patch-empty", message, hint)


@pytest.mark.parametrize(
    ("text", "find", "replace", "tolerant", "message"),
    [
        ("a", "b", "b", False, "`find` and `replace` are the same text."),
        ("a\r\nb", "a\r\nb", "a\nb", False, "The text already says what `replace` says."),
        ("a\nb\n", "a \nb ", "a\nb", True, "The text already says what `replace` says."),
    ],
)
def test_a_patch_that_changes_nothing_is_refused(
    text: str, find: str, replace: str, tolerant: bool, message: str
) -> None:
    error = failure(text, find, replace, tolerant=tolerant)
    assert isinstance(error, UsageError)
    hint = "Put the new text in `replace`. If the file already says that, there is nothing to do."
    answer(error, "patch-same", message, hint)


def test_all_and_tolerant_exclude_each_other() -> None:
    error = failure("a", "a", every=True, tolerant=True)
    assert isinstance(error, UsageError)
    hint = "Leave out `tolerant` and copy the text to find exactly, or leave out `all` and patch one by one."
    answer(error, "patch-all-tolerant", "A tolerant patch replaces one match, never all of them.", hint)


def test_several_matches_are_listed() -> None:
    error = failure(SKILL, "Do not deploy")
    assert isinstance(error, ConflictError)
    answer(
        error,
        "patch-ambiguous",
        "The text to find occurs 2 times: on lines 18 and 19.",
        "Add the line before or after it to `find`, and to `replace`, to make it unique, or use `all` to replace "
        "every one.",
        matches=[
            {"line": 18, "text": "Do not deploy on Friday."},
            {"line": 19, "text": "Do not deploy on  Sunday."},
        ],
        count=2,
    )


def test_several_tolerant_matches_are_listed_and_none_is_chosen() -> None:
    error = failure(SKILL, "Do  not  deploy on", tolerant=True)
    assert isinstance(error, ConflictError)
    answer(
        error,
        "patch-ambiguous",
        "The text to find occurs 2 times when white space may differ: on lines 18 and 19.",
        "Add the line before or after it to `find`, and to `replace`, to make it unique. `matches` shows the places.",
        matches=[
            {"line": 18, "text": "Do not deploy on Friday."},
            {"line": 19, "text": "Do not deploy on  Sunday."},
        ],
        count=2,
    )


def test_a_few_of_many_matches_are_listed_with_the_text_around_them() -> None:
    text = f"\n{'x' * 300} here {'y' * 300}\r\n" + "\n here\n" * 2000
    error = failure(text, "\n here\n")
    assert error.message == "The text to find occurs 2,000 times: on lines 4, 6, 8, 10, 12 and further on."
    assert error.details["matches"] == [{"line": line, "text": " here"} for line in (4, 6, 8, 10, 12)]
    assert failure(text, "here").details["matches"][0] == {"line": 2, "text": f"{'x' * 49} here {'y' * 145}"}
    assert failure("aaa aaa", "a").message == "The text to find occurs 6 times: on line 1 and further on."


def test_the_closest_lines_are_listed() -> None:
    error = failure(SKILL, "Do not deploy on fridays!")
    assert isinstance(error, NotFoundError)
    answer(
        error,
        "patch-not-found",
        "The text to find is not there: 'Do not deploy on fridays!'.",
        "The closest is line 18: 'Do not deploy on Friday.'. Copy the text to find exactly from `closest`.",
        closest=[
            {"line": 18, "text": "Do not deploy on Friday."},
            {"line": 19, "text": "Do not deploy on  Sunday."},
        ],
    )


def test_of_several_lines_the_first_that_differs_is_named() -> None:
    answer(
        failure(SKILL, "make check\nif [ -f reports ]; then\n    cat reports\n", tolerant=True),
        "patch-not-found",
        "The text to find is not there: 'make check' and more.",
        "Line 13 says 'if [ -f report ]; then' where `find` says 'if [ -f reports ]; then'. "
        f"Find one line only, or {COPY}",
        closest=[{"line": 12, "text": "    make check\n    if [ -f report ]; then\n        cat report"}],
    )


@pytest.mark.parametrize(
    ("find", "line", "differs", "shown"),
    [
        (
            "Do not deploy on Friday.\r\nDo not deploy on  Sunday.",
            18,
            "line ends",
            "'Do not deploy on Friday.' and more",
        ),
        ("Do not deploy on Friday. ", 18, "white space at the end of lines", "'Do not deploy on Friday.'"),
        ("    make check\n    if [ -f report ]; then ", 12, "white space at the end of lines", "'make check' and more"),
        ("  make check\n  if [ -f report ]; then", 12, "indentation", "'make check' and more"),
        ("on Sunday", 19, "white space", "'Do not deploy on  Sunday.'"),
        (
            "registry - it",
            8,
            "white space or look-alike characters (quotes, dashes)",
            "'2. Copy the image to the registry — it takes a while.'",
        ),
    ],
)
def test_a_text_that_would_match_tolerantly_is_told_so(find: str, line: int, differs: str, shown: str) -> None:
    error = failure(SKILL, find)
    assert isinstance(error, NotFoundError)
    assert error.hint == f"Line {line} differs only in {differs}: {shown}. Use `tolerant`, or {COPY}"
    assert error.details["closest"][0]["line"] == line
    assert patch(SKILL, find, "new", tolerant=True).tolerant in TOLERANCES


def test_a_change_that_is_made_already_is_told_so() -> None:
    error = failure(SKILL, "Do not deploy on Monday.", "Do not deploy on Friday.")
    done = "Line 18 already says what `replace` says. If that is the change, there is nothing to do"
    assert error.hint == f"{done}; otherwise {COPY}"


@pytest.mark.parametrize("find", ["make check\\nif [ -f report ]; then", "# Deploying\\n\\n1. Run", '\\"service\\"'])
def test_escapes_that_nobody_undid_are_told_so(find: str) -> None:
    error = failure(SKILL.replace("service", '"service"'), find)
    hint = '`find` spells out an escape, such as \\n or \\". Send the line breaks, tabs and quotes themselves.'
    assert (error.code, error.hint) == ("patch-not-found", hint)


def test_nothing_alike_sends_the_caller_to_the_file() -> None:
    answer(
        failure(SKILL, "kubectl rollout restart", every=True),
        "patch-not-found",
        "The text to find is not there: 'kubectl rollout restart'.",
        "Nothing in the file is similar. View the file first, then copy the text to find from it.",
        closest=[],
    )


def test_the_likely_part_of_a_long_line_is_shown() -> None:
    text = f"{'lorem ipsum ' * 100}the quick brown fox jumps{' dolor sit' * 100}\n"
    error = failure(text, "the quick browne fox jumps")
    [place] = error.details["closest"]
    assert (place["line"], len(place["text"])) == (1, 200) and "the quick brown fox jumps" in place["text"]
    assert error.hint.endswith("Copy the text to find exactly from the file.")


def test_a_replacement_of_white_space_is_not_taken_for_done() -> None:
    assert failure("abc\n", "abd", " \n \n").hint.startswith("The closest is line 1: 'abc'.")


def test_letters_that_grow_in_lower_case_do_not_shift_the_line() -> None:
    assert failure("İ" * 50 + " abcdef\nx\n", "abcdeg").details["closest"][0]["line"] == 1


def test_a_large_text_is_searched_to_its_end() -> None:
    text = "".join(f"line {n} of the text, {n * n}\n" for n in range(5_000))
    assert failure(text, "line 4876 of teh text").details["closest"][0]["line"] == 4877


@pytest.mark.parametrize("character", ["a", " ", "\n", "\r", '"', "é", "\u0301"])
def test_a_megabyte_of_one_character_is_no_trouble(character: str, *, quick: bool) -> None:
    text = character * ((50_000 if quick else 1_000_000) // len(character.encode()))
    assert failure(text, f" {character * 3000} b", tolerant=True).code == "patch-not-found"


@pytest.mark.parametrize("find", ["  a\n" * 999 + "   a", "a \n" * 1000])
def test_many_equal_lines_are_no_trouble(find: str) -> None:
    assert failure("a\n" * 100_000, find, tolerant=True).code in ("patch-not-found", "patch-ambiguous")


# --- properties -----------------------------------------------------------------------------------------------------

PLAIN = st.text(alphabet="ab \n", max_size=12)
WILD = st.text(alphabet='ab \t\n\r\u00a0“"—-…e\u0301é\\n', max_size=14) | st.text(max_size=14)


def places(text: str, part: str) -> int:
    """How often a part occurs, overlapping or not."""
    return sum(text.startswith(part, at) for at in range(len(text)))


@given(PLAIN, PLAIN, PLAIN, PLAIN)
@settings(max_examples=200, deadline=None)
def test_an_exact_patch_is_a_replacement_and_its_inverse_undoes_it(
    before: str, find: str, after: str, replace: str
) -> None:
    text = before + find + after
    assume(find.strip() and find != replace and text.count(find) == 1)
    patched = patch(text, find, replace)
    assert patched == Patched(text.replace(find, replace), 1, "")
    if replace.strip() and places(patched.text, replace) == 1 == places(text, find):
        assert patch(patched.text, replace, find) == Patched(text, 1, "")


@given(st.lists(PLAIN, min_size=2, max_size=5), PLAIN, PLAIN)
@settings(max_examples=200, deadline=None)
def test_every_replaces_as_often_as_it_says(parts: list[str], find: str, replace: str) -> None:
    find += "a"
    assume(find != replace)
    text = find.join(parts)
    assert patch(text, find, replace, every=True) == Patched(text.replace(find, replace), text.count(find), "")


@given(st.permutations(["a", " b", "  c  d", "e", "", "é "]), st.integers(0, 4), st.integers(2, 6), PLAIN)
@settings(max_examples=200, deadline=None)
def test_with_other_line_ends_the_same_is_written(rows: list[str], first: int, height: int, replace: str) -> None:
    text, find = "\n".join(rows), "\n".join(rows[first : first + height])
    assume(rows[first] and "\n" in find and find != replace)
    expected = text.replace(find, replace).replace("\n", "\r\n")
    patched = patch(text.replace("\n", "\r\n"), find, replace, tolerant=True)
    assert patched == Patched(expected, 1, "line-ends")


@given(
    st.lists(st.sampled_from(["- one", "  - two", "```", "word  ", ""]), max_size=4),
    st.text(alphabet=" \t", max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_an_indented_block_is_found_and_written_with_its_indentation(rows: list[str], indent: str) -> None:
    block = ["only", *rows, "    here"]
    text = "\n".join(["above", *(indent + row if row else row for row in block), "below", ""])
    written = "\n".join(["above", f"{indent}new", *(indent + row if row else row for row in block[1:]), "below", ""])
    find, replace = "\n".join([*block, ""]), "\n".join(["new", *block[1:], ""])
    assert patch(text, find, replace, tolerant=True) == Patched(written, 1, "indentation" if indent else "")


@given(WILD, WILD, WILD, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_input_is_patched_or_refused(text: str, find: str, replace: str, every: bool, tolerant: bool) -> None:
    try:
        patched = patch(text, find, replace, every=every, tolerant=tolerant)
    except WhetError as error:
        refused = error
    else:
        assert patched.text != text and patched.replacements >= 1
        assert patched.tolerant == "" or (tolerant and patched.tolerant in TOLERANCES and find not in text)
        return
    assert refused.hint
    listed = [*refused.details.get("closest", ()), *refused.details.get("matches", ())]
    assert len(listed) <= 5
    for place in listed:
        below = "\n".join(text.split("\n")[place["line"] - 1 :])
        assert len(place["text"]) <= 200 and place["text"] in below


@given(WILD, WILD)
@settings(max_examples=200, deadline=None)
def test_what_lies_around_a_tolerant_match_is_not_touched(around: str, replace: str) -> None:
    above, below = f"{around}\n", f"\n{around}"
    assume("x" not in around)
    patched = patch(f"{above}  x  “y”{below}", '  x "y"', f"z{replace}", tolerant=True).text
    assert patched.startswith(above) and patched.endswith(below)
