from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.library.globs import matches


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("a.py", "x/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/*.py", "other/src/a.py", False),
        ("./src/*.py", "./src/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**/*.py", "srcx/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/test/**/*.py", "a/test/b/c.py", True),
        ("**/test/**/*.py", "a/tests/b/c.py", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/", "src/a/b", True),
        ("src", "src", True),
        ("src", "x/src", True),
        ("/src", "src", True),
        ("/src", "x/src", False),
        ("**", "anything/at/all", True),
        ("*", "a", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a?c", "a/c", False),
        ("[abc].txt", "b.txt", True),
        ("[!abc].txt", "b.txt", False),
        ("[^abc].txt", "d.txt", True),
        ("[a-c].txt", "b.txt", True),
        ("[a-c].txt", "d.txt", False),
        ("[-a].txt", "-.txt", True),
        ("[]].txt", "].txt", True),
        ("*.{ts,tsx}", "x/a.tsx", True),
        ("*.{ts,tsx}", "a.js", False),
        ("{src,lib}/**/*.{c,h}", "lib/a/b.h", True),
        ("{a,{b,c}}/x", "c/x", True),
        ("{a}", "{a}", True),
        ("src/{a,b/c}/d", "src/b/c/d", True),
        ("a**b", "axyzb", True),
        ("a**b", "ax/zb", False),
        ("src/*.py", "src\\a.py", True),
        ("a.b", "axb", False),
        ("a+b(c)", "a+b(c)", True),
        ("", "a", False),
    ],
)
def test_globs_match_as_people_mean_them(glob: str, path: str, expected: bool) -> None:
    assert matches(glob, path) is expected


@pytest.mark.parametrize("glob", ["[z-a]", "[", "[]", "[!]", "[a--b]", "[[:alpha:]]", "[&&]", "{", "}", "{,}", "\\"])
def test_a_glob_that_makes_no_sense_fails_nobody(glob: str) -> None:
    assert matches(glob, "something/else.py") is False


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("**/" * 40 + "x", "/".join("a" * 400)),
        ("*a" * 60 + "b", "a" * 4000),
        ("**/a/" * 20 + "b", "a/" * 300 + "c"),
        ("{a,b}" * 30, "a" * 30),
        ("?" * 3000, "a" * 2999),
    ],
)
def test_a_hostile_glob_is_answered_all_the_same(glob: str, path: str) -> None:
    assert matches(glob, path) is False


PARTS = st.text(alphabet="ab*?[]!-{},./", max_size=12)


@settings(max_examples=200, deadline=None)
@given(glob=PARTS, path=st.text(alphabet="ab/.", max_size=12))
def test_nothing_makes_matching_fail(glob: str, path: str) -> None:
    assert matches(glob, path) in (True, False)


@settings(max_examples=200, deadline=None)
@given(path=st.lists(st.text(alphabet="abc.-_+()", min_size=1, max_size=5), min_size=2, max_size=4).map("/".join))
def test_a_path_without_special_characters_matches_itself(path: str) -> None:
    assert matches(path, path) or path.startswith("./")
    assert matches(f"**/{path}", f"x/y/{path}")
    assert not matches(path, f"{path}x")
