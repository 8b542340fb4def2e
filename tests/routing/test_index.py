"""The index on disk: the same answers however it came to be, little work for an edit, and what damage is told as."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import thinned

from routing.shelf import SHELF, assert_same, entry, router
from whet.errors import FailedError, InvalidError
from whet.routing import index
from whet.routing.router import Entry, Found, Router, Updated
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

ASKED = (
    "squash the commits on my branch",
    "depoly the service to the clustre",
    "fill in the fields of a pdf form",
    "slow joins, sequential scan",
    "tests for the parser, and then release notes",
    "undo commits that are already pushed",
    "写本周的周报",
    "word1 word2 word3",
    "good old pictures",
    "idnex the database",
)


def answers(known: Router, messages: Iterable[str] = ASKED) -> list[tuple[Found, ...]]:
    return [known.find(message, 50) for message in messages]


def fresh(skills: Mapping[str, Texts]) -> list[tuple[Found, ...]]:
    """What an index says that was made of these skills at once."""
    made = Router(":memory:")
    made.update(Entry(key, "1", lambda texts=texts: texts) for key, texts in skills.items())  # type: ignore[misc]  # bound now
    return answers(made)


def variant(number: int, version: int) -> Texts:
    """One of the shelf's skills, with other words for each version."""
    texts, other = SHELF[number], SHELF[(number * 7 + version) % len(SHELF)]
    if not version:
        return texts
    return texts._replace(description=f"{other.description} word{version}", body=f"{texts.body} {other.name}")


class Grown:
    """A library that changes step by step, and its index."""

    def __init__(self, path: str = ":memory:") -> None:
        self.router = Router(path)
        self.skills: dict[str, tuple[str, Texts]] = {}

    def step(self, changes: Iterable[tuple[int, int]]) -> Updated:
        """Bring skills to a version; below 0 they are removed."""
        for number, version in changes:
            if version < 0:
                self.skills.pop(f"key-{number}", None)
            else:
                self.skills[f"key-{number}"] = (str(version), variant(number, version))
        return self.router.update(entry(texts, key, stamp) for key, (stamp, texts) in self.skills.items())

    def check(self) -> None:
        expected = fresh({key: texts for key, (_, texts) in sorted(self.skills.items())})
        assert_same(answers(self.router), expected)


_CHANGES = st.lists(st.tuples(st.integers(0, 13), st.integers(-1, 3)), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(_CHANGES, min_size=1, max_size=24))
def test_an_index_that_grew_answers_like_one_made_at_once(steps: list[list[tuple[int, int]]]) -> None:
    grown = Grown()
    for changes in steps:
        grown.step(changes)
    grown.check()


def test_also_after_segments_were_put_together(tmp_path: Path, *, quick: bool) -> None:
    grown = Grown(str(tmp_path / "index.db"))
    chance = random.Random(7)
    segments = set()
    for step in range(75 if quick else 150):
        size = chance.choice([1, 1, 2, 9])
        grown.step([(chance.randrange(len(SHELF)), chance.randrange(-1, 5)) for _ in range(size)])
        segments.add(len(grown.router._index._tables.read("SELECT id FROM index_segments")))
        if step % 25 == 8 or step in (64, 72):
            grown.check()
    grown.check()
    assert max(segments) <= 3 * 8
    again = Router(str(tmp_path / "index.db"))
    assert answers(again) == answers(grown.router)
    again.close()
    grown.router.close()


def test_a_segment_may_hold_slots_from_before_and_after_those_of_another() -> None:
    grown = Grown()
    for version in range(7):
        grown.step([(number, version) for number in range(8)])
    grown.step([(11, 0)])
    grown.step([(number, 0) for number in range(8)])
    sizes = [size for (size,) in grown.router._index._tables.read("SELECT size FROM index_segments ORDER BY id")]
    assert sizes == [1, 8]
    grown.check()


def test_large_segments_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_LARGE", 2)
    grown = Grown()
    for number in range(20):
        grown.step([(number, number % 3), (number + 1, 0)])
    assert len(grown.router._index._tables.read("SELECT id FROM index_segments WHERE size = 2")) > 8
    grown.check()


def test_slots_far_apart_take_more_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_NARROW", 4)
    grown = Grown()
    for number in range(20):
        grown.step([(number, number % 3)])
    grown.step([(3, -1), (4, 2)])
    spans = grown.router._index._tables.read("SELECT last - first FROM index_segments")
    assert max(spans) >= (4,) > min(spans)
    grown.check()


def test_emptied_and_filled_again_it_knows_only_what_is_there_now() -> None:
    grown = Grown()
    grown.step([(number, 0) for number in range(12)])
    answers(grown.router)
    assert grown.step([(number, -1) for number in range(12)]) == Updated(0, 0, 12, 0, ())
    assert answers(grown.router) == [()] * len(ASKED)
    grown.step([(number, 1) for number in range(12)])
    grown.check()


def test_one_that_starts_from_the_beginning_again_forgets_what_it_had_read() -> None:
    grown = Grown()
    grown.step([(number, 0) for number in range(20)])
    answers(grown.router)
    grown.router._index.clear()
    grown.skills.clear()
    grown.step([(number, 0) for number in range(19, -1, -1)])
    grown.check()


def test_a_worn_index_starts_anew() -> None:
    known = router(SHELF[:3])
    passing = [Texts(f"passing-{number}", f"word{number % 7} passing", "") for number in range(4200)]
    assert known.update(map(entry, (*SHELF[:3], *passing))) == Updated(4200, 0, 0, 4203, ())
    assert known.update(map(entry, SHELF[:3])) == Updated(0, 0, 4200, 3, ())
    slots = len(known._index.facts()[1])
    assert known.update(map(entry, SHELF[:3])) == Updated(3, 0, 0, 3, ())
    assert (slots, len(known._index.facts()[1])) == (4203, 3)
    assert_same(answers(known), answers(router(SHELF[:3])))


def test_what_another_process_adds_between_two_queries_is_no_damage(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    reading, writing = Router(path), Router(path)
    waiting = list(SHELF[1:4])

    def add(statement: str) -> None:
        if "index_collections" in statement and waiting:
            texts = waiting.pop()
            writing.update(
                [*(entry(one, one.name, "1") for one in SHELF[: 4 - len(waiting)]), entry(texts, "new", "1")]
            )

    writing.update([entry(SHELF[0], SHELF[0].name, "1")])
    reading._index._tables.connection.set_trace_callback(add)
    states = [reading.state for _ in range(3)]
    reading._index._tables.connection.set_trace_callback(None)
    assert not waiting
    assert len(set(states)) == 3
    reading.close()
    writing.close()


def test_equals_come_in_the_order_of_their_keys() -> None:
    same = Texts("same", "Fold paper cranes", "")
    one, other = Router(":memory:"), Router(":memory:")
    one.update(entry(same, key) for key in "abcdefgh")
    other.update(entry(same, key) for key in "dbacfehg")
    assert [found.key for found in one.find("fold a crane")] == list("abcdefgh")
    assert one.find("fold a crane") == other.find("fold a crane")


# what an update does


def test_only_what_has_a_new_stamp_is_read() -> None:
    read: list[str] = []

    def noted(texts: Texts, stamp: str = "1") -> Entry:
        def now() -> Texts:
            read.append(texts.name)
            return texts

        return Entry(texts.name, stamp, now)

    known = Router(":memory:")
    assert known.update(map(noted, SHELF)) == Updated(25, 0, 0, 25, ())
    assert sorted(read) == sorted(texts.name for texts in SHELF)
    read.clear()
    assert known.update(map(noted, SHELF)) == Updated(0, 0, 0, 25, ())
    assert known.update([noted(SHELF[0], "2"), *map(noted, SHELF[1:])]) == Updated(0, 1, 0, 25, ())
    assert read == ["git-rebase"]
    assert known.update([noted(SHELF[0], "2"), *map(noted, SHELF[2:])]) == Updated(0, 0, 1, 24, ())
    assert read == ["git-rebase"]


def test_what_cannot_be_read_is_told_and_not_found() -> None:
    def missing() -> Texts:
        raise FileNotFoundError(2, "No such file", "SKILL.md")

    def invalid() -> Texts:
        raise InvalidError("bad-frontmatter", "The frontmatter is broken.")

    known = router(SHELF[:2])
    updated = known.update([Entry("git-rebase", "2", missing), entry(SHELF[1]), Entry("new", "1", invalid)])
    assert updated == Updated(
        0,
        0,
        1,
        1,
        (("git-rebase", "[Errno 2] No such file: 'SKILL.md'"), ("new", "The frontmatter is broken.")),
    )
    assert answers(known) == answers(router(SHELF[1:2]))
    assert known.update(map(entry, SHELF[:2])) == Updated(1, 0, 0, 2, ())


def test_a_mistake_of_the_reader_is_not_called_damage() -> None:
    def mistaken() -> Texts:
        raise KeyError("mistake")

    with pytest.raises(KeyError, match="mistake"):
        Router(":memory:").update([Entry("a", "1", mistaken)])


def test_the_last_of_two_entries_with_one_key_counts() -> None:
    known = Router(":memory:")
    assert known.update([entry(SHELF[0], "same"), entry(SHELF[1], "same", "2")]) == Updated(1, 0, 0, 1, ())
    assert known.find("binary search for the bug")[0].key == "same"


def written(size: int, tmp_path: Path) -> tuple[int, int, int]:
    """Statements, their bytes and pages of one edit in a library of this size."""
    path = str(tmp_path / f"{size}.db")
    chance = random.Random(3)
    names = [f"term{number}" for number in range(500)]
    skills = [
        Texts(f"skill-{at}", " ".join(chance.choices(names, k=20)), " ".join(chance.choices(names, k=60)))
        for at in range(size)
    ]
    known = router(skills, path)
    edited = skills[7]._replace(description=" ".join(names[:20]), body=" ".join(names[20:80]))
    kept = known._index._tables
    kept.read("PRAGMA wal_checkpoint(TRUNCATE)")
    statements: list[str] = []
    with kept.use() as connection:
        connection.set_trace_callback(statements.append)
    updated = known.update([*map(entry, skills[:7]), entry(edited, stamp="2"), *map(entry, skills[8:])])
    assert updated == Updated(0, 1, 0, size, ())
    with kept.use() as connection:
        connection.set_trace_callback(None)
    pages = os.path.getsize(f"{path}-wal") // 4096
    known.close()
    return len(statements), sum(map(len, statements)), pages


def test_the_work_of_an_edit_does_not_grow_with_the_library(tmp_path: Path) -> None:
    few, few_bytes, few_pages = written(50, tmp_path)
    many, many_bytes, many_pages = written(800, tmp_path)
    assert many == few
    assert many_bytes - few_bytes <= 8 * (800 - 50)  # which slots are in use: a byte each, in few statements
    assert many_pages <= few_pages + 2 * 100  # each of its hundred terms may lie on a page of its own


# damage


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("sound") / "index.db")
    made = router(SHELF, path)
    made.update([*map(entry, SHELF[:5]), entry(SHELF[5], stamp="2"), *map(entry, SHELF[6:])])
    made.close()
    return path


def use(path: str) -> None:
    """Everything a router does."""
    known = Router(path)
    try:
        for message in ASKED[:4]:
            known.find(message)
            known.detect(message)
        known.confidence(ASKED[0], "git-rebase")
        known.update([entry(SHELF[0], stamp="9"), *map(entry, SHELF[1:])])
        known.find(ASKED[0])
    finally:
        known.close()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off(sound: str, tmp_path: Path, share: float) -> None:
    path = str(tmp_path / "index.db")
    shutil.copy(sound, path)
    os.truncate(path, int(os.path.getsize(sound) * share))
    if share:
        with pytest.raises(FailedError) as caught:
            use(path)
        assert caught.value.code == "state-corrupt"
    else:
        use(path)


@pytest.mark.parametrize("seed", thinned(range(30), 5))
def test_bytes_that_were_changed(sound: str, tmp_path: Path, seed: int) -> None:
    path = str(tmp_path / "index.db")
    chance = random.Random(seed)
    with open(sound, "rb") as file:
        data = bytearray(file.read())
    for _ in range(chance.choice([1, 20, 400])):
        data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
    with open(path, "wb") as file:
        file.write(data)
    with suppress(FailedError):
        use(path)


@pytest.mark.parametrize("data", [b"not a database at all", random.Random(1).randbytes(20_000)])
def test_a_file_of_anything(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(data)
    with pytest.raises(FailedError) as caught:
        use(str(path))
    assert caught.value.code == "state-corrupt"
    assert path.read_bytes() == data


def test_a_database_of_another_program(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (address TEXT)")
    other.close()
    with pytest.raises(FailedError) as caught:
        use(path)
    assert caught.value.code == "state-foreign"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE index_postings SET entries = x'010203'",
        "UPDATE index_postings SET entries = x''",
        "UPDATE index_postings SET entries = x'ffffffff01020304'",
        "UPDATE index_postings SET entries = 'text'",
        "UPDATE index_postings SET entries = 7",
        "UPDATE index_rows SET data = x'010203'",
        "UPDATE index_rows SET data = substr(data, 1, length(data) - 1)",
        "UPDATE index_rows SET data = 'text'",
        "UPDATE index_rows SET data = 7",
        "DELETE FROM index_rows",
        "DELETE FROM index_skills",
        "UPDATE index_collections SET slots = zeroblob(100000)",
        "UPDATE index_collections SET generation = 'x'",
        "DROP TABLE index_postings",
    ],
)
def test_contents_that_make_no_sense(sound: str, tmp_path: Path, change: str) -> None:
    path = str(tmp_path / "index.db")
    shutil.copy(sound, path)
    broken = sqlite3.connect(path, isolation_level=None)
    broken.execute(change)
    broken.close()
    with pytest.raises(FailedError) as caught:
        use(path)
    assert caught.value.code in ("state-corrupt", "state-failed")
    assert caught.value.message and caught.value.hint


def test_a_collection_that_lost_its_slots_finds_them_again(sound: str, tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    shutil.copy(sound, path)
    with sqlite3.connect(path) as broken:
        broken.execute("UPDATE index_collections SET slots = x'01'")
    broken.close()
    known = Router(path)
    entries = [*map(entry, SHELF[:5]), entry(SHELF[5], stamp="2"), *map(entry, SHELF[6:])]
    assert known.update(entries).total == len(SHELF)
    whole = Router(sound)
    assert_same(answers(known), answers(whole))
    known.close()
    whole.close()


# several libraries in one file


def slots(path: str) -> int:
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute("SELECT count(*) FROM index_skills").fetchone()
    connection.close()
    return int(count)


def test_libraries_in_one_file_answer_as_if_they_were_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    read: list[str] = []

    def noted(texts: Texts) -> Entry:
        def now() -> Texts:
            read.append(texts.name)
            return texts

        return Entry(texts.name, "1", now)

    one, other = Router(path, "one"), Router(path, "other")
    assert one.update(map(noted, SHELF[:15])) == Updated(15, 0, 0, 15, ())
    assert other.update(map(noted, SHELF[5:])) == Updated(20, 0, 0, 20, ())
    assert len(read) == slots(path) == len(SHELF), "what both have is read and kept once"
    assert_same(answers(one), answers(router(SHELF[:15])))
    assert_same(answers(other), answers(router(SHELF[5:])))
    edited = SHELF[7]._replace(description="Knit woollen socks")
    assert one.update([*map(entry, SHELF[:7]), entry(edited, stamp="2"), *map(entry, SHELF[8:15])]).changed == 1
    assert_same(answers(other), answers(router(SHELF[5:])))
    assert slots(path) == len(SHELF) + 1, "the other one still has it as it was"
    assert other.update([*map(entry, SHELF[5:7]), entry(edited, stamp="2"), *map(noted, SHELF[8:])]).changed == 1
    assert slots(path) == len(SHELF)
    copied = one.copy()
    assert answers(copied) == answers(one)
    copied.update(map(entry, SHELF[:3]))
    assert_same(answers(copied), answers(router(SHELF[:3])))
    assert_same(answers(one), answers(router([*SHELF[:7], edited, *SHELF[8:15]])))
    for known in (one, other, copied):
        known.close()


def test_the_libraries_that_were_not_used_for_longest_are_forgotten(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    for number in range(10):
        known = Router(path, str(number))
        known.update([entry(SHELF[number])])
        known.close()
    assert slots(path) == 8
    known = Router(path, "9")
    assert known.update([entry(SHELF[9])]) == Updated(0, 0, 0, 1, ())
    known.close()
