from __future__ import annotations

import hashlib
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref.validator import validate_metadata

from whet.skill.names import (
    Problem,
    Qualified,
    closest,
    command,
    hidden,
    is_ascii_name,
    key,
    slug,
    spec_problems,
    split_qualified,
)

FAST = settings(max_examples=200, deadline=None)
NAMES = st.text(max_size=80) | st.text(alphabet="aB1-_ \u200b\u0301é日ß\n", max_size=80)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("deploy", "deploy"),
        ("Deploy To AWS", "deploy-to-aws"),
        ("Café Déjà", "cafe-deja"),
        ("Cafe\u0301", "cafe"),
        ("  __git--flow__  ", "git-flow"),
        ("ＰＤＦ　ｔｏｏｌ", "pdf-tool"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("ﬁnd ①", "find-1"),
        ("Résumé 简历", "resume"),
        ("de\u200bploy", "deploy"),
        ("deploy\n", "deploy"),
        ("a" * 63 + "--b", "a" * 63),
        ("x" * 200, "x" * 64),
    ],
)
def test_slug_is_the_ascii_form_of_a_name(declared: str, expected: str) -> None:
    assert slug(declared) == expected


@pytest.mark.parametrize("declared", ["数据分析", "デプロイ", "развертывание", "🚀", ""])
def test_slug_of_a_name_without_ascii_comes_from_its_hash(declared: str) -> None:
    folded = unicodedata.normalize("NFKC", declared).casefold()
    assert slug(declared) == "skill-" + hashlib.sha256(folded.encode()).hexdigest()[:8]


@FAST
@given(NAMES)
def test_slug_is_always_a_name_of_the_specification_and_stable(declared: str) -> None:
    made = slug(declared)
    assert is_ascii_name(made)
    assert spec_problems(made) == ()
    assert slug(made) == made


@FAST
@given(NAMES, NAMES)
def test_names_with_one_key_share_slug_and_command(a: str, b: str) -> None:
    for one, other in ((a, b), (a, key(a)), (a, a.replace("-", "_"))):
        if key(one) == key(other):
            assert (slug(one), command(one)) == (slug(other), command(other))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("Deploy_To AWS", "deploy-to-aws"),
        ("deploy-to_aws", "deploy-to-aws"),
        ("Café Déjà", "café-déjà"),
        ("数据 分析", "数据-分析"),
        ("हिन्दी लिखो", "हिन्दी-लिखो"),
        ("__a__b__", "a-b"),
        ("🚀", ""),
        ("c++ & rust!", "c-rust"),
        ("x" * 200, "x" * 64),
        ("é" * 63 + "-b", "é" * 63),
    ],
)
def test_command_keeps_the_words_of_every_script(declared: str, expected: str) -> None:
    assert command(declared) == expected


@FAST
@given(NAMES)
def test_command_and_key_are_stable_under_repetition(declared: str) -> None:
    assert command(command(declared)) == command(declared)
    assert key(key(declared)) == key(declared)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploy", "deploy"),
        ("git_flow", "git-flow"),
        ("git\u2011flow", "git-flow"),
        ("git–flow", "git-flow"),
        ("a  b\t\nc ", "a b c"),
        ("ｄｅｐｌｏｙ", "deploy"),
        ("de\u200bp\u2060lo\u00ady", "deploy"),
        ("\u202edeploy", "deploy"),
        ("de\U000e0041ploy", "deploy"),
        ("de\x00ploy", "deploy"),
        ("❤\ufe0f", "❤"),
        ("STRASSE", "straße"),
        ("cafe\u0301", "CAFÉ"),
        ("\u3164deploy\u2800", "deploy"),
    ],
)
def test_key_is_the_same_for_two_spellings_of_one_name(one: str, other: str) -> None:
    assert key(one) == key(other)


def test_key_keeps_different_names_apart() -> None:
    distinct = ["deploy", "deploys", "de ploy", "de-ploy", "dеploy", "deploy2", ""]
    assert len({key(name) for name in distinct}) == len(distinct)


def test_hidden_characters_are_those_that_show_nothing() -> None:
    assert [hidden(c) for c in "\x00\n\u200b\u202e\u2028\U000e0041\u3164\ud800"] == [True] * 8
    assert [hidden(c) for c in "a é日\u3000\u0301❤"] == [False] * 7


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("deploy", []),
        ("a", []),
        ("a1-b2", []),
        ("café", []),
        ("数据分析", []),
        ("１２", []),
        (" deploy ", []),
        ("deploy\n", []),
        ("", ["name-empty"]),
        (" \t", ["name-empty"]),
        ("x" * 64, []),
        ("x" * 65, ["name-too-long"]),
        ("Deploy", ["name-not-lowercase"]),
        ("-a", ["name-edge-hyphen"]),
        ("a-", ["name-edge-hyphen"]),
        ("a--b", ["name-double-hyphen"]),
        ("a_b", ["name-bad-character"]),
        ("a b", ["name-bad-character"]),
        ("a/../b", ["name-bad-character"]),
        ("a\u200bb", ["name-bad-character"]),
        (
            "-A--" + "x" * 64 + "!",
            [
                "name-too-long",
                "name-not-lowercase",
                "name-edge-hyphen",
                "name-double-hyphen",
                "name-bad-character",
            ],
        ),
    ],
)
def test_spec_problems_name_every_rule_that_is_broken(name: str, codes: list[str]) -> None:
    assert [problem.code for problem in spec_problems(name)] == codes


def test_a_spec_problem_says_what_is_wrong_without_raw_control_characters() -> None:
    assert spec_problems("a\u202e b\x07") == (
        Problem(
            "name-bad-character",
            "The name 'a\\u202e b\\x07' has characters other than letters, digits and hyphens: '\\u202e' ' ' '\\x07'.",
        ),
    )


REFERENCE_WORDS = {
    "name-empty": "non-empty",
    "name-too-long": "exceeds",
    "name-not-lowercase": "lowercase",
    "name-edge-hyphen": "start or end",
    "name-double-hyphen": "consecutive",
    "name-bad-character": "invalid characters",
}


@FAST
@given(NAMES | st.from_regex(r"[a-z0-9-]{1,70}", fullmatch=True))
def test_spec_problems_agree_with_the_reference_validator(name: str) -> None:
    theirs = validate_metadata({"name": name, "description": "x"})
    ours = [REFERENCE_WORDS[problem.code] for problem in spec_problems(name)]
    assert len(ours) == len(theirs)
    assert all(word in message for word, message in zip(ours, theirs, strict=True))


@FAST
@given(NAMES)
def test_ascii_names_are_the_names_of_the_specification_in_ascii(name: str) -> None:
    strict = bool(re.fullmatch(r"[a-z0-9-]+", name)) and spec_problems(name) == ()
    assert is_ascii_name(name) == strict


def test_a_newline_at_the_end_is_not_part_of_an_ascii_name() -> None:
    assert not is_ascii_name("deploy\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user:deploy", Qualified("user", "deploy")),
        ("my_plugin-2:skill", Qualified("my_plugin-2", "skill")),
        (" user:deploy\n", Qualified("user", "deploy")),
        ("user:a:b", Qualified("user", "a:b")),
        ("plugin:数据", Qualified("plugin", "数据")),
        ("deploy", Qualified("", "deploy")),
        ("C:\\x", Qualified("", "C:\\x")),
        ("C:/x", Qualified("", "C:/x")),
        ("https://example.com", Qualified("", "https://example.com")),
        ("Deploy: staging", Qualified("", "Deploy: staging")),
        ("user:", Qualified("", "user:")),
        (":deploy", Qualified("", ":deploy")),
        ("a::b", Qualified("", "a::b")),
        ("my plugin:skill", Qualified("", "my plugin:skill")),
        ("plügin:skill", Qualified("", "plügin:skill")),
        ("", Qualified("", "")),
    ],
)
def test_qualified_names_split_at_a_scope_and_nowhere_else(text: str, expected: Qualified) -> None:
    assert split_qualified(text) == expected


KNOWN = ["deploy", "deploy-aws", "redeploy", "code-review", "code-reviewer", "git-flow", "git", "pdf", "Café Tools"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Deploy", ("deploy", "deploy-aws", "redeploy")),
        ("dpeloy", ("deploy", "deploy-aws")),
        ("reviewr", ("code-review", "code-reviewer")),
        ("code_reviw", ("code-review", "code-reviewer")),
        ("review-code", ("code-review", "code-reviewer")),
        ("gti", ("git",)),
        ("cafe tools", ("Café Tools",)),
        ("code-reviewer-pro", ("code-reviewer", "code-review")),
        ("zzzz", ()),
        ("", ()),
        ("\u200b", ()),
    ],
)
def test_closest_finds_what_was_meant(typed: str, expected: tuple[str, ...]) -> None:
    assert closest(typed, KNOWN) == expected


def test_closest_ranks_same_then_prefix_then_part_then_typing_mistake() -> None:
    candidates = ["tset", "contest", "testing", "test", "tests"]
    assert closest("TEST", candidates) == ("test", "tests", "testing", "contest", "tset")
    assert closest("TEST", candidates, limit=2) == ("test", "tests")
    assert closest("TEST", candidates, limit=0) == ()


def test_closest_names_each_candidate_once() -> None:
    assert closest("git", ["git", "git"]) == ("git",)


@FAST
@given(st.text(max_size=300), st.lists(NAMES, max_size=8))
def test_closest_does_not_depend_on_order_and_finds_the_name_itself(name: str, others: list[str]) -> None:
    candidates = [*others, name]
    found = closest(name, candidates)
    assert found == closest(name, reversed(candidates))
    assert set(found) <= set(candidates)
    if key(name) and len(name) <= 128:
        assert key(found[0]).replace(" ", "-") == key(name).replace(" ", "-")


def test_closest_copes_with_many_and_with_enormous_names() -> None:
    many = [f"skill-number-{number}" for number in range(10_000)]
    assert closest("skill-numbr-4711", many)[0] == "skill-number-4711"
    assert closest("x" * 1_000_000, [*many, "y" * 100_000]) == ()


def test_one_or_two_letters_are_close_only_to_names_in_which_a_word_begins_with_them() -> None:
    names = ("exploring-data-files", "xlsx", "make-x-ray", "pdf-forms")
    assert [closest(word, names) for word in ("x", "df", "pd", "dat")] == [
        ("xlsx", "make-x-ray"),
        (),
        ("pdf-forms",),
        ("exploring-data-files",),
    ]
