"""Terms: identifiers taken apart, scripts without spaces, endings, fillers, and any text at all."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.skill.terms import FILLERS, chunks, is_common, number, plain_terms, spell, stem, terms


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
        ("my-fileName_v2.txt", ["file", "name", "filenam", "v2", "txt"]),
        ("3.14", ["3", "14"]),
        ("PDF", ["pdf"]),
        ("--dry-run", ["dry", "run"]),
        ("_private_", ["privat"]),
        ("a/b/commits", ["b", "commit"]),
    ],
)
def test_identifiers_give_their_parts_however_they_are_spelled(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


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
    assert terms(text) == expected


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
    assert terms(text) == expected


def test_an_accent_written_as_a_sign_of_its_own_is_the_same_word() -> None:
    assert terms("cafe\u0301 re\u0301sume\u0301") == terms("café résumé") == ["café", "résumé"]


@pytest.mark.parametrize(
    "family",
    [
        "commit commits committed committing",
        "deploy deploys deployed deploying deployment deployments",
        "manage manages managed managing management",
        "develop developed developing development",
        "require required requiring requirement requirements",
        "implement implements implemented implementing",
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
    assert len(set(terms(family))) == 1


def test_what_is_no_ending_stays() -> None:
    assert terms("status class analysis ring bed file fil") == [
        "status",
        "class",
        "analysis",
        "ring",
        "bed",
        "file",
        "fil",
    ]


def test_fillers_say_nothing_alone_or_in_an_identifier() -> None:
    assert terms("please help me with this") == []
    assert terms("PLEASE Help Me") == []
    assert terms("how-to use-case") == ["case"]


def test_what_is_too_long_for_a_word_is_left_out() -> None:
    assert terms("a" * 40) == ["a" * 40]
    assert terms(f"deploy {'a' * 41} {'0123456789abcdef' * 4}") == ["deploy"]


def test_half_characters_and_nothing_are_no_trouble() -> None:
    assert terms("deploy \ud800 now\udfff") == ["deploy", "now"]
    assert [terms(text) for text in ("", " \n\t", "\0", "!?.,", "---", "'", "_")] == [[]] * 7
    assert number("\ud800") == number("\ud800")


def test_a_number_is_the_same_everywhere() -> None:
    assert (number("deploy"), number("部署")) == (2453354746, 649712689)


def test_chunks_are_the_words_as_they_are_written() -> None:
    assert chunks("Run `os.path`, then\0cherryPick 部署!") == ["Run", "os.path", "then", "cherryPick", "部署"]


def test_words_of_any_message_and_short_numbers_prove_nothing() -> None:
    assert all(map(is_common, terms("today thanks good 12 x")))
    assert not any(map(is_common, terms("deploy 404 周报 rebase")))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_words_and_always_the_same(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(found)
    assert all(0 <= number(term) < 1 << 32 for term in found)


@settings(max_examples=200, deadline=None)
@given(st.text(string.ascii_lowercase, min_size=1, max_size=30))
def test_case_does_not_matter_to_a_plain_word(word: str) -> None:
    assert terms(word) == terms(word.upper()) == terms(word.capitalize())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=8), min_size=2, max_size=5))
def test_joints_do_not_matter_to_an_identifier(parts: list[str]) -> None:
    assert terms("-".join(parts)) == terms("_".join(parts)) == terms(".".join(parts)) == terms("-".join(parts).upper())


def test_words_are_compared_without_case_and_common_endings() -> None:
    assert spell("Reviews REVIEWING snake_case") == ["reviews", "reviewing", "snake", "case"]
    assert plain_terms("Reviews REVIEWING snake_case") == ["review", "review", "snak", "case"]
    assert stem("its") == ("its",)


def test_scripts_without_spaces_give_pairs_of_characters() -> None:
    assert plain_terms("电子表格 表") == ["电子", "子表", "表格", "表"]


def test_fillers_are_words_without_case() -> None:
    assert {word for word in FILLERS if spell(word) != [word]} == set()


@given(st.text(max_size=60))
def test_terms_are_those_of_the_words_one_by_one(text: str) -> None:
    assert plain_terms(text) == [term for word in spell(text) for term in stem(word)]
    assert all(plain_terms(text.upper().lower())) and "" not in plain_terms(text)


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_words_of_ascii_are_the_same_among_others(text: str) -> None:
    assert spell(f"{text} é") == [*spell(text), "é"]
