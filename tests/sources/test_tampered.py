from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.forging import SKILL
from sources.reaching import reach
from sources.tampered import LARGE, LEFT_OUT, PLAIN, TAMPERED, WITHOUT_SKILL, Kept
from whet.errors import InvalidError, NotFoundError
from whet.skill.archive import contents, unpack
from whet.skill.tree import Item
from whet.sources.local import ArchiveSource
from whet.sources.model import Ref

if TYPE_CHECKING:
    from pathlib import Path

    from whet.sources.web.client import Web

SIZED = [pytest.param(kind, marks=pytest.mark.deep) if kind in LARGE else kind for kind in TAMPERED]
MAIN = ("a/SKILL.md", Item(SKILL))


def source_of(directory: Path, data: bytes) -> ArchiveSource:
    path = directory / "a.skill"
    path.write_bytes(data)
    return ArchiveSource(Ref("archive", str(path)), reach(cast("Web", None), state=str(directory)))


@pytest.mark.parametrize("kind", SIZED)
def test_a_tampered_archive_is_refused_by_every_reader(kind: str, tmp_path: Path) -> None:
    make, codes = TAMPERED[kind]
    data = make()
    source = source_of(tmp_path, data)
    for read in (lambda: contents(data), lambda: unpack(data), source.inspect):
        with pytest.raises(InvalidError) as caught:
            read()
        error = caught.value
        assert error.code in codes
        assert error.hint
        assert error.message.isprintable()
        assert len(error.message) < 600
    assert os.listdir(tmp_path) == ["a.skill"]


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_what_is_odd_and_harmless_comes_out_as_exactly_this(kind: str, tmp_path: Path) -> None:
    kept: Kept = LEFT_OUT[kind]
    data = kept.make()
    files = dict(sorted((MAIN, *kept.files), key=lambda file: file[0].encode()))
    assert contents(data) == (files, kept.skipped)
    source = source_of(tmp_path, data)
    listing = source.inspect()
    (fetched,) = source.fetch(listing.offers)
    assert fetched.tree == {path.removeprefix("a/"): item for path, item in files.items()}
    notes = (*listing.notes, *fetched.notes)
    assert {note.code for note in notes} == ({"left-out"} if kept.skipped else set())
    told = " ".join(note.message for note in notes)
    assert all(repr(name.removeprefix("a/")) in told for name in kept.skipped)


@pytest.mark.parametrize("kind", WITHOUT_SKILL)
def test_an_archive_without_a_skill_has_nothing_to_offer(kind: str, tmp_path: Path) -> None:
    data = WITHOUT_SKILL[kind]()
    contents(data)
    with pytest.raises(NotFoundError) as caught:
        source_of(tmp_path, data).inspect()
    assert caught.value.code == "no-skills-found"


@pytest.mark.parametrize("kind", ["zip: wrong checksum", "tar: link outside", "gzip: data behind"])
def test_nothing_can_be_fetched_from_a_tampered_archive(kind: str, tmp_path: Path) -> None:
    make, codes = TAMPERED[kind]
    with pytest.raises(InvalidError) as caught:
        source_of(tmp_path, make()).fetch(())
    assert caught.value.code in codes


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([PLAIN["zip"], LEFT_OUT["zip: sizes behind"].make(), LEFT_OUT["zip: end of 64 bits"].make()]),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=3),
)
def test_a_zip_with_changed_bytes_is_refused_or_read_like_others_read_it(
    data: bytes, changes: list[tuple[int, int]]
) -> None:
    changed = bytearray(data)
    for at, value in changes:
        changed[at % len(changed)] = value
    try:
        files, skipped = contents(bytes(changed))
    except InvalidError:
        return
    with zipfile.ZipFile(io.BytesIO(bytes(changed))) as other:
        theirs = {_their_name(entry): other.read(entry) for entry in other.infolist() if not entry.is_dir()}
    assert {path: item.data for path, item in files.items()} == {
        name: content for name, content in theirs.items() if name not in skipped
    }


def _their_name(entry: zipfile.ZipInfo) -> str:
    """The name as zipfile reads it, as UTF-8 where that is possible."""
    name = entry.orig_filename.removeprefix("./")
    try:
        return name if entry.flag_bits & 0x800 else name.encode("cp437").decode()
    except UnicodeError:
        return name
