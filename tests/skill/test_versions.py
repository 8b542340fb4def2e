"""Versions and ranges of them, as packages write them."""

from __future__ import annotations

import pytest

from whet.skill.versions import has_sign, is_range, is_semver, join_ranges, read_version, satisfies


@pytest.mark.parametrize(
    ("version", "inside", "outside"),
    [
        (
            "1.4.2",
            ">=1.2,<2 | >=1.2 <2 | ^1.2 | ~1.4 | ~1.4.1 | ~=1.4 | 1.x | 1 | 1.4.* | * | =1.4.2 | !=1.5",
            ">1.4.2 | <1 | ^2",
        ),
        (
            "0.8.1",
            ">=0.5.0 | ^0.8 | <=0.8.1 | <0.1 || >0.8 | v0.8.1 | ^0.8.0-rc.1",
            "^0.7 | ~0.9 | ~=0.9.0 | !=0.8 | ==0.8.2",
        ),
        ("2.0.0", ">1.9.9 | >=2 | ~=1.4 || 2", "~=1.4 | ^1 | ~1.9 | <2"),
    ],
)
def test_ranges(version: str, inside: str, outside: str) -> None:
    read = read_version(version)
    assert read is not None
    for range_ in inside.split(" | "):
        assert satisfies(read, range_) is True, range_
    for range_ in outside.split(" | "):
        assert satisfies(read, range_) is False, range_


@pytest.mark.parametrize("range_", ["", "new", ">=", "1.2.3.4.5", ">=1 || ", "1 and 2"])
def test_what_is_no_range(range_: str) -> None:
    assert satisfies((1, 0, 0), range_) is None


def test_what_is_a_range_and_what_may_be_the_name_of_a_branch() -> None:
    signs = ["^1.2", "~1", ">=1,<2", "*", "1||2"]
    plain = ["1", "1.2", "v1.2.0", "1.x"]
    neither = ["", "main", "^", "^1 <2", "^1..2", "--x", "release-1.2"]
    assert [is_range(text) for text in signs + plain + neither] == [True] * 9 + [False] * 7
    assert [has_sign(text) for text in signs + plain + neither] == [True] * 5 + [False] * 11


def test_semantic_versions() -> None:
    good = ["1.4.0", "0.0.1", "1.0.0-rc.1+build.5", "20261118.0.0"]
    bad = ["1", "1.4", "v1.4.0", "01.4.0", "1.4.0 ", "", "1.4.0.1", "1234567890.0.0", "1\u0662.0.0"]
    assert [is_semver(text) for text in good + bad] == [True] * len(good) + [False] * len(bad)
    assert [read_version(text) for text in ("1", "v1.2", "1.2.3-rc.1", "next", "")] == [
        (1, 0, 0),
        (1, 2, 0),
        (1, 2, 3),
        None,
        None,
    ]


def test_ranges_are_joined_into_one_word() -> None:
    assert join_ranges([">= 1.2 <2", "", "^1.3", "^1.3"]) == ">=1.2,<2,^1.3"
    assert join_ranges(["1.x || 3"]) == "1.x||3"
    assert join_ranges([]) == ""
