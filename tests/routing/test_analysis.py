"""What the index keeps of one skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from routing.shelf import SHELF
from whet.routing.analysis import BODY, analyse
from whet.routing.texts import Texts, texts_of
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document
from whet.skill.terms import codes, number, terms

if TYPE_CHECKING:
    from whet.routing.index import Analysis


def weight(found: Analysis, term: str) -> int:
    return found.weights[found.terms.index(number(term))]


def leads(found: Analysis, term: str) -> bool:
    """Is a term in name or description?"""
    return found.terms.index(number(term)) < found.leading


def has(found: Analysis, term: str) -> bool:
    return number(term) in found.terms


def test_name_and_description_count_more_than_the_body() -> None:
    found = analyse(Texts("cherry-pick", "Backport fixes", "Text about a branch"))
    assert [leads(found, term) for term in ("cherry", "backport", "branch")] == [True, True, False]
    assert min(weight(found, "cherry"), weight(found, "backport")) > weight(found, "branch")
    assert (found.row.lead, found.row.description) == (4, 2)
    assert found.row.sequence == codes(map(number, terms("cherry-pick backport fixes Text about branch")))


def test_what_says_when_to_use_it_is_part_of_the_description() -> None:
    told = Texts("a", "b", "", "whenever releasing", "", ("ship it",), ("delivery",), ("put it online",))
    found = analyse(told)
    assert all(leads(found, term) for term in terms("releasing ship delivery online"))


def test_headings_count_more_than_text() -> None:
    plain, headed = (analyse(Texts("a", "b", body)) for body in ("rollout text", "# rollout\ntext"))
    assert weight(headed, "rollout") > weight(headed, "text")
    assert weight(plain, "rollout") == weight(plain, "text")


def test_what_it_is_not_for_is_kept_apart() -> None:
    found = analyse(Texts("squash", "Squash commits. Not for merging.", "", when_not_to_use="binary files"))
    assert found.row.against == {number(term) for term in terms("merging binary files")}
    assert not any(has(found, term) for term in terms("merging binary files"))


def test_what_it_is_also_for_is_not_against_it() -> None:
    found = analyse(Texts("squash", "Squash commits. Not for commits of others, or tags.", "tags tags tags"))
    assert found.row.against == {number("other"), number("tag")}
    assert has(found, "commit") and has(found, "tag")


def test_words_of_a_body_that_are_only_in_fenced_code_or_comments_do_not_count() -> None:
    found = analyse(Texts("a", "b", "Say yes.\n```sh\n# Heading\nrun it\n```\n<!-- hidden -->\nSay `later`."))
    assert [has(found, word) for word in ("yes", "heading", "run", "hidden", "later")] == [
        True,
        False,
        False,
        False,
        True,
    ]


def test_known_messages_are_kept_as_their_terms() -> None:
    found = analyse(Texts("a", "b", "", examples=("ship the app",), counterexamples=("ship a parcel", "")))
    assert found.row.examples == (frozenset(map(number, ("ship", "app"))),)
    assert found.row.counterexamples == (frozenset(map(number, ("ship", "parcel"))), frozenset())


def test_only_so_much_is_kept() -> None:
    long = " ".join(f"word{at}" for at in range(3000))
    found = analyse(Texts("a-name", long, "", examples=("x",) * 80))
    assert len(found.terms) == len(found.weights) == 600
    assert has(found, "name") and len(found.row.examples) == 50
    assert found.spellings == {"name"}
    assert len(analyse(Texts("a", "b", "x" * BODY + " beyond")).row.sequence) == 2 * len(terms("a b"))


def test_words_for_correcting_are_those_of_name_and_description() -> None:
    found = analyse(Texts("docker-compose", "Run 3 containers. Not for volumes. 部署", "kubernetes"))
    assert found.spellings == {"docker", "compos", "run", "container"}


def test_a_skill_without_words_is_still_a_skill() -> None:
    found = analyse(Texts("", "", ""))
    assert (found.terms, found.weights, len(found.row.sequence), found.row.lead) == ([], b"", 0, 0)


def test_the_texts_of_a_skill_are_what_its_author_wrote() -> None:
    text = """---
name: pdf-forms
description: Fill in forms.
when_to_use: when there is a form
---
# Body
"""
    told = texts_of(read_skill(read_document(text), fallback_name="x"))
    assert (told.name, told.description, told.when_to_use) == ("pdf-forms", "Fill in forms.", "when there is a form")
    assert "# Body" in told.body and told.examples == told.counterexamples == ()


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60), st.text(max_size=200), st.text(max_size=300))
def test_any_texts_are_kept_and_always_the_same(name: str, description: str, body: str) -> None:
    texts = Texts(name, description, body, description, name, (body[:9],), (name,), (body,), (description,))
    one, other = analyse(texts), analyse(texts)
    assert one == other
    assert len(set(one.terms)) == len(one.terms)
    assert len(one.weights) == len(one.terms) and all(one.weights)
    assert 0 <= 2 * one.row.lead <= len(one.row.sequence)


def test_every_skill_of_the_shelf_has_terms_in_name_or_description_and_in_its_body() -> None:
    for texts in SHELF:
        found = analyse(texts)
        assert 0 < found.leading < len(found.terms)
