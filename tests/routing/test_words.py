"""Terms: identifiers taken apart, scripts without spaces, endings, fillers, and any text at all."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.routing.words import chunks, is_common, number, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cherry-pick", ["cherry", "pick"]),
        ("cherry_pick", ["cherry", "pick"]),
        ("cherry.pick", ["cherry", "pick"]),
        ("cherryPick", ["cherry", "pick", "cherrypick"]),
        ("CherryPick", ["cherry", "pick", "cherrypick"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("useEffect", ["effect", "useeffect"]),
        ("utf8Decoder", ["utf", "8", "decoder", "utf8decoder"]),
        ("os.path.join", ["os", "path", "join"]),
        ("my-fileName_v2.txt", ["my", "file", "name", "filenam", "v2", "txt"]),
        ("3.14", ["3", "14"]),
        ("PDF", ["pdf"]),
        ("--dry-run", ["dry", "run"]),
        ("_private_", ["privat"]),
        ("a/b/commits", ["b", "commit"]),
    ],
)
def test_identifiers_give_their_parts_however_they_are_spelled(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("部署服务", ["部署", "署服", "服务"]),
        ("字", ["字"]),
        ("テスト", ["テス", "スト"]),
        ("배포", ["배포"]),
        ("使用git部署", ["使用", "git", "部署"]),
        ("PDF文件", ["pdf", "文件"]),
        ("用kubectl-rollout回滚", ["用", "kubectl", "rollout", "回滚"]),
        ("развернуть сервис", ["развернуть", "сервис"]),
        ("🚀 deploy，now", ["deploy", "now"]),
    ],
)
def test_scripts_without_spaces_give_pairs_also_beside_others(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user's", ["user"]),
        ("user’s files", ["user", "file"]),
        ("don't", ["dont"]),
        ("l'été", ["lété"]),
        ("Café", ["café"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("İstanbul", ["i̇stanbul"]),
    ],
)
def test_apostrophes_and_accents_stay_in_the_word(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_an_accent_written_as_a_sign_of_its_own_is_the_same_word() -> None:
    assert words("cafe\u0301 re\u0301sume\u0301") == words("café résumé") == ["café", "résumé"]


@pytest.mark.parametrize(
    "family",
    [
        "commit commits committed committing",
        "deploy deploys deployed deploying",
        "branch branches branched",
        "query queries",
        "probe probes probed probing",
        "code codes coded coding",
        "fix fixes fixed fixing",
        "run runs running",
        "add adds added adding",
        "fixture fixtures",
    ],
)
def test_the_forms_of_a_word_meet(family: str) -> None:
    assert len(set(words(family))) == 1


def test_what_is_no_ending_stays() -> None:
    assert words("status class analysis ring bed file fil") == [
        "status",
        "class",
        "analysis",
        "ring",
        "bed",
        "file",
        "fil",
    ]


def test_fillers_say_nothing_alone_but_count_in_an_identifier() -> None:
    assert words("please help me with this") == []
    assert words("PLEASE Help Me") == []
    assert words("how-to use-case") == ["how", "to", "use", "case"]


def test_what_is_too_long_for_a_word_is_left_out() -> None:
    assert words("a" * 40) == ["a" * 40]
    assert words(f"deploy {'a' * 41} {'0123456789abcdef' * 4}") == ["deploy"]


def test_half_characters_and_nothing_are_no_trouble() -> None:
    assert words("deploy \ud800 now\udfff") == ["deploy", "now"]
    assert [words(text) for text in ("", " \n\t", "\0", "!?.,", "---", "'", "_")] == [[]] * 7
    assert number("\ud800") == number("\ud800")


def test_a_number_is_the_same_everywhere() -> None:
    assert (number("deploy"), number("部署")) == (2453354746, 649712689)


def test_chunks_are_the_words_as_they_are_written() -> None:
    assert chunks("Run `os.path`, then\0cherryPick 部署!") == ["Run", "os.path", "then", "cherryPick", "部署"]


def test_words_of_any_message_and_short_numbers_prove_nothing() -> None:
    assert all(map(is_common, words("today thanks good 12 x")))
    assert not any(map(is_common, words("deploy 404 周报 rebase")))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_words_and_always_the_same(text: str) -> None:
    found = words(text)
    assert found == words(text)
    assert all(found)
    assert all(0 <= number(term) < 1 << 32 for term in found)


@settings(max_examples=200, deadline=None)
@given(st.text(string.ascii_lowercase, min_size=1, max_size=30))
def test_case_does_not_matter_to_a_plain_word(word: str) -> None:
    assert words(word) == words(word.upper()) == words(word.capitalize())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=8), min_size=2, max_size=5))
def test_joints_do_not_matter_to_an_identifier(parts: list[str]) -> None:
    assert words("-".join(parts)) == words("_".join(parts)) == words(".".join(parts)) == words("-".join(parts).upper())
