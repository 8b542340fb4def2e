"""Vectors of meaning: what they add, that nothing needs them, and what happens when they come or go."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.shelf import SHELF, entry, router
from whet.routing import meaning as room
from whet.routing.meaning import WIDTH, Meaning, installed, meaning
from whet.routing.router import Router, Updated
from whet.skill.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from pathlib import Path

pytestmark = pytest.mark.skipif(not installed(), reason="the extra whet[semantic] is not installed")


@pytest.fixture
def table() -> Meaning:
    found = meaning()
    assert found is not None
    return found


@pytest.fixture(params=["wordllama", "tokenizers"])
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One of the packages is not installed."""
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == request.param else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    meaning.cache_clear()
    yield
    meaning.cache_clear()


def test_vectors_have_length_one_and_are_close_for_what_means_the_same(table: Meaning) -> None:
    picture, photo, invoice = map(table.vector, ("resize the picture", "make the photo smaller", "chase an invoice"))
    assert picture.shape == (WIDTH,) and float(np.linalg.norm(picture)) == pytest.approx(1, abs=1e-5)
    assert picture @ photo > picture @ invoice + 0.2


def test_nothing_has_a_vector_of_zeros_and_is_not_stored(table: Meaning) -> None:
    assert not table.vector("").any() and table.stored("") == b""


def test_a_stored_vector_points_the_same_way(table: Meaning) -> None:
    stored = np.frombuffer(table.stored("resize the picture"), dtype=np.int8).astype(np.float32)
    assert len(stored) == WIDTH
    assert float(stored @ table.vector("resize the picture") / np.linalg.norm(stored)) > 0.999


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_has_a_vector(text: str) -> None:
    found = meaning()
    assert found is not None and np.isfinite(found.vector(text)).all()


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("shrink the photograph", "image-resizing"),
        ("graph of these numbers", "chart-drawing"),
        ("visualize statistics", "chart-drawing"),
    ],
)
def test_a_paraphrase_without_a_shared_word_is_found(message: str, key: str) -> None:
    (wanted,) = (texts for texts in SHELF if texts.name == key)
    assert not set(terms(message)) & set(terms(" ".join((wanted.name, wanted.description, wanted.body))))
    with_it, without_it = router(), router(semantic=False)
    assert with_it.semantic and not without_it.semantic
    assert key in [found.key for found in with_it.find(message, 3)]
    assert key not in [found.key for found in without_it.find(message, 3)]


@pytest.mark.usefixtures("without")
def test_without_the_package_everything_works_by_words() -> None:
    assert not installed() and meaning() is None
    missing, off = router(), router(semantic=False)
    assert not missing.semantic
    for message in ("squash my commits", "please help me", "shrink the photograph", ""):
        assert missing.find(message) == off.find(message)
        assert missing.detect(message) == off.detect(message)
    assert missing.find("squash my commits")[0].key == "git-rebase"


def test_a_package_without_its_data_is_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "NAME", "no_such_table")
    assert not installed()


def test_an_index_made_without_it_is_renewed_when_it_appears(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    router(SHELF, path, semantic=False).close()
    known = Router(path)
    assert known.find("squash my commits")[0].key == "git-rebase"
    assert known.update(map(entry, SHELF)) == Updated(0, 25, 0, 25, ())
    assert known.update(map(entry, SHELF)) == Updated(0, 0, 0, 25, ())
    assert known.find("shrink the photograph") == router().find("shrink the photograph")
    known.close()
    off = Router(path, semantic=False)
    assert off.find("squash my commits")[0].key == "git-rebase"
    assert off.update(map(entry, SHELF)).changed == 25
    off.close()


def test_a_skill_without_words_or_vector_does_no_harm() -> None:
    known = Router(":memory:")
    known.update([entry(SHELF[0]), entry(SHELF[0]._replace(name="", description="", body="", triggers=()), "empty")])
    assert [found.key for found in known.find("squash my commits")] == ["git-rebase"]
