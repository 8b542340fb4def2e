from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import FailedError, NotFoundError, UsageError
from whet.store.blobs import Blobs

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000_000_000
SOME = sha256(b"some").hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(str(tmp_path / "blobs"))


def place(blobs: Blobs, digest: str) -> str:
    return os.path.join(blobs.directory, digest[:2], digest[2:])


def aged(blobs: Blobs, digest: str, ns: int) -> None:
    os.utime(place(blobs, digest), ns=(ns, ns))


def damaged(blobs: Blobs, digest: str, data: bytes) -> None:
    with open(place(blobs, digest), "wb") as file:
        file.write(data)


@settings(max_examples=60, deadline=None)
@given(contents=st.lists(st.binary(max_size=200), max_size=12))
def test_what_was_put_is_there_once_under_its_digest(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    blobs = Blobs(str(tmp_path_factory.mktemp("b") / "blobs"))
    digests = [blobs.put(data) for data in contents]
    assert digests == [sha256(data).hexdigest() for data in contents]
    assert [blobs.get(digest) for digest in digests] == contents
    assert list(blobs.digests()) == sorted(set(digests))
    assert all(blobs.has(digest) for digest in digests)
    assert Blobs(blobs.directory).remove_unreferenced(digests, older_than_ns=0, now_ns=2**62) == ()
    assert blobs.remove_unreferenced((), older_than_ns=0, now_ns=2**62) == tuple(sorted(set(digests)))
    assert list(blobs.digests()) == []


def test_an_empty_store_answers_without_being_made(blobs: Blobs) -> None:
    assert (blobs.has(SOME), list(blobs.digests())) == (False, [])
    assert blobs.remove_unreferenced((), older_than_ns=0, now_ns=2**62) == ()
    with pytest.raises(NotFoundError) as caught:
        blobs.get(SOME)
    assert (caught.value.code, caught.value.details) == ("blob-missing", {"digest": SOME})
    assert not os.path.exists(blobs.directory)


@pytest.mark.parametrize("bad", ["", "abc", SOME.upper(), SOME + "0", "../" + SOME[3:], SOME[:-1] + "\n", SOME + "\n"])
def test_a_malformed_digest_is_refused(blobs: Blobs, bad: str) -> None:
    for ask in (blobs.get, blobs.has):
        with pytest.raises(UsageError) as caught:
            ask(bad)
        assert caught.value.code == "bad-digest"


@pytest.mark.parametrize("damage", [b"", b"som", b"same", b"some and more"])
def test_a_damaged_blob_is_noticed_moved_aside_and_can_be_put_again(blobs: Blobs, damage: bytes) -> None:
    assert blobs.put(b"some") == SOME
    damaged(blobs, SOME, damage)
    with pytest.raises(FailedError) as caught:
        blobs.get(SOME)
    aside = caught.value.details["path"]
    assert (caught.value.code, caught.value.details) == ("blob-corrupt", {"digest": SOME, "path": aside})
    assert aside.startswith(f"{place(blobs, SOME)}.broken-") and aside in caught.value.hint
    with open(aside, "rb") as file:
        assert file.read() == damage
    assert (blobs.has(SOME), list(blobs.digests())) == (False, [])
    assert blobs.put(b"some") == SOME
    assert blobs.get(SOME) == b"some"


@pytest.mark.parametrize("damage", [b"", b"same", b"some and more"])
def test_putting_again_repairs_a_damaged_blob(blobs: Blobs, damage: bytes) -> None:
    blobs.put(b"some")
    damaged(blobs, SOME, damage)
    assert blobs.put(b"some") == SOME
    assert blobs.get(SOME) == b"some"


def test_only_old_blobs_without_a_reference_are_removed(blobs: Blobs) -> None:
    kept, old, young, future, again = (blobs.put(name) for name in (b"kept", b"old", b"young", b"future", b"again"))
    now = os.stat(place(blobs, young)).st_mtime_ns
    for digest in (kept, old, again):
        aged(blobs, digest, now - 2 * HOUR)
    aged(blobs, future, now + HOUR)
    blobs.put(b"again")
    assert blobs.remove_unreferenced({kept}, older_than_ns=HOUR, now_ns=now) == (old,)
    assert set(blobs.digests()) == {kept, young, future, again}
    assert blobs.get(again) == b"again"


def test_what_a_killed_writer_left_is_cleared_and_what_was_moved_aside_is_kept(blobs: Blobs) -> None:
    blobs.put(b"some")
    shard = os.path.dirname(place(blobs, SOME))
    leftover, aside = f".{SOME[2:]}.whet-tmp-0123456789abcdef", f"{SOME[2:]}.broken-01234567"
    for name in (leftover, aside):
        with open(os.path.join(shard, name), "wb") as file:
            file.write(b"so")
    assert list(blobs.digests()) == [SOME]
    assert blobs.remove_unreferenced({SOME}, older_than_ns=0, now_ns=2**62) == ()
    assert sorted(os.listdir(shard)) == [SOME[2:], aside]


def test_a_store_that_cannot_be_used_is_a_failure_with_a_code(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blobs = Blobs(str(tmp_path / "file"))
    with pytest.raises(FailedError) as caught:
        blobs.put(b"some")
    assert caught.value.code == "write-failed"
    with pytest.raises(FailedError) as caught:
        blobs.get(SOME)
    assert caught.value.code == "read-failed"
    with pytest.raises(FailedError) as caught:
        list(blobs.digests())
    assert caught.value.code == "read-failed"
