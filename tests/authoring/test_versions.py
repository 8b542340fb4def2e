"""The next version looks like the one before it, and is never the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.authoring.versions import MAX_LENGTH, PARTS, next_version
from whet.errors import UsageError

EXAMPLES = "Use major, minor, patch, or a version such as 1.2.0."


@pytest.mark.parametrize(
    ("current", "following"),
    [
        ("", "2"),
        ("  ", "2"),
        ("0", "1"),
        ("3", "4"),
        (" 3\n", "4"),
        ("9", "10"),
        ("v3", "v4"),
        ("007", "008"),
        ("1.2", "1.3"),
        ("1.9", "1.10"),
        ("v0.1", "v0.2"),
        ("2024.09", "2024.10"),
        ("1.2.3", "1.2.4"),
        ("0.0.0", "0.0.1"),
        ("v1.2.3", "v1.2.4"),
        ("V1.2.3", "V1.2.4"),
        ("1.2.3-rc.1", "1.2.3"),
        ("v1.2.3-rc.1+build.5", "v1.2.3"),
        ("1.2.3+build.5", "1.2.4"),
    ],
)
def test_the_last_number_goes_up_and_a_pre_release_becomes_its_release(current: str, following: str) -> None:
    assert next_version(current) == following


@pytest.mark.parametrize(
    ("current", "following"),
    [
        ("2024-05-01", "2024-05-01.1"),
        ("2024.05.31", "2024.05.31.1"),
        ("20241231", "20241231.1"),
        ("2024-05-01.1", "2024-05-01.2"),
        ("20245", "20246"),
        ("beta", "beta.1"),
        ("beta.1", "beta.2"),
        ("beta.9", "beta.10"),
        ("beta.09", "beta.10"),
        ("1.2-beta", "1.2-beta.1"),
        ("3-beta", "3-beta.1"),
        ("1.2.3.4", "1.2.3.5"),
        ("1.0 beta", "1.0-beta.1"),
        ("one\ntwo", "one-two.1"),
        ("1.", "1..1"),
        ("-", "-.1"),
        ("第二版", "第二版.1"),
        ("٣", "٣.1"),
    ],
)
def test_dates_and_words_are_counted(current: str, following: str) -> None:
    assert next_version(current) == following


@pytest.mark.parametrize(
    ("current", "following"),
    [
        ("x" * 64, "x" * 62 + ".1"),
        ("x" * 62 + ".9", "x" * 61 + ".10"),
        ("9" * 18, "1" + "0" * 18),
        ("1" + "0" * 18, "1" + "0" * 18 + ".1"),
        ("9" * 5000, "9" * 62 + ".1"),
    ],
)
def test_a_long_version_is_cut_before_its_number(current: str, following: str) -> None:
    assert next_version(current) == following


@pytest.mark.parametrize(
    ("current", "told", "following"),
    [
        ("1.2.3", "major", "2.0.0"),
        ("1.2.3", "minor", "1.3.0"),
        ("1.2.3", "patch", "1.2.4"),
        ("v1.2.3", "Minor", "v1.3.0"),
        ("1.2", "major", "2.0"),
        ("1.2", "minor", "1.3"),
        ("1.2", "patch", "1.2.1"),
        ("3", "major", "4"),
        ("3", "minor", "3.1"),
        ("3", "patch", "3.0.1"),
        ("", "minor", "1.1"),
        ("2.0.0-rc.1", "major", "2.0.0"),
        ("2.0.0-rc.1", "minor", "2.0.0"),
        ("2.0.0-rc.1", "patch", "2.0.0"),
        ("1.2.0-rc.1", "major", "2.0.0"),
        ("1.2.3-rc.1", "minor", "1.3.0"),
        ("1.2.3", "5.0.0-alpha", "5.0.0-alpha"),
        ("beta", "2024-05-01", "2024-05-01"),
        ("", "第二版", "第二版"),
    ],
)
def test_the_caller_may_name_the_part_or_the_version(current: str, told: str, following: str) -> None:
    assert next_version(current, told) == following


@pytest.mark.parametrize(
    ("current", "told", "message"),
    [
        ("1", " ", "' ' is not a version: use 1 to 64 printable characters without spaces."),
        ("1", "1.0 beta", "'1.0 beta' is not a version: use 1 to 64 printable characters without spaces."),
        ("1", "2\n", r"'2\n' is not a version: use 1 to 64 printable characters without spaces."),
        ("1", "x" * 65, f"'{'x' * 64}' is not a version: use 1 to 64 printable characters without spaces."),
        ("1.2.3", "1.2.3", "The skill already has version '1.2.3'."),
        ("beta", "minor", "The version 'beta' has no minor part to raise."),
        ("2024-05-01", "Major", "The version '2024-05-01' has no major part to raise."),
    ],
)
def test_what_is_no_version_is_refused(current: str, told: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        next_version(current, told)
    assert caught.value.to_json() == {"success": False, "error": message, "code": "bad-version", "hint": EXAMPLES}


VERSIONS = (
    st.text(max_size=70)
    | st.text(alphabet="0129.-+v a", max_size=12)
    | st.from_regex(r"v?[0-9]+(\.[0-9]+){0,3}(-rc\.[0-9])?", fullmatch=True)
)


@given(VERSIONS)
@settings(max_examples=200, deadline=None)
def test_a_version_and_the_two_after_it_all_differ_and_are_versions(current: str) -> None:
    following = next_version(current)
    third = next_version(following)
    assert len({current, following, third}) == 3
    for version in (following, third):
        assert 1 <= len(version) <= MAX_LENGTH and version.isprintable() and not any(map(str.isspace, version))
        assert next_version(current, version) == version


@given(VERSIONS, st.sampled_from(PARTS) | st.text(max_size=66))
@settings(max_examples=200, deadline=None)
def test_what_the_caller_says_is_followed_or_refused(current: str, told: str) -> None:
    code = ""
    try:
        following = next_version(current, told)
    except UsageError as error:
        code = error.code
    else:
        assert following != current
        assert 1 <= len(following) <= MAX_LENGTH and following.isprintable() and " " not in following
    assert code in ("", "bad-version")
