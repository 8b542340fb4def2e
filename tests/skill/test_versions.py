"""Versions and ranges of them, as packages write them."""

from __future__ import annotations

import pytest

from whet.skill.versions import is_semver, read_version, satisfies


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


def test_semantic_versions() -> None:
    good = ["1.4.0", "0.0.1", "1.0.0-rc.1+build.5"]
    bad = ["1", "1.4", "v1.4.0", "01.4.0", "1.4.0 ", "", "1.4.0.1"]
    assert [is_semver(text) for text in good + bad] == [True] * len(good) + [False] * len(bad)
    assert [read_version(text) for text in ("1", "v1.2", "1.2.3-rc.1", "next", "")] == [
        (1, 0, 0),
        (1, 2, 0),
        (1, 2, 3),
        None,
        None,
    ]
