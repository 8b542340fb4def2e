"""The history proves itself: whatever is changed in it later is noticed, and nothing in use is ever thrown away."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from base64 import b64decode
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from authoring.world import PRELUDE, World, created, patched, refused, start, world
from whet.authoring.commits import Committer
from whet.authoring.journal import Edit, Entry, Journal, Note, advance, chained
from whet.authoring.proposals import Proposals, Review
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance, TreeChange, Writer
from whet.guard.policy import Decision
from whet.library.skill_id import SkillId
from whet.skill.tree import Item
from whet.store.chain import ORIGIN
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["world"]

HOUR = 3600 * 10**9
TREE = {"SKILL.md": Item(b"text"), "scripts/run": Item(b"#!", executable=True), "link": Item(b"SKILL.md", link=True)}


def note(before: str, after: str, path: str = "/skills/a", action: str = "patch") -> Note:
    return Note("agent", "background", action, "a", path, "Why.", before, after, "safe", "run")


class Time:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * 10**9

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def journal(tmp_path: Path, clock: Time) -> Iterator[Journal]:
    made = Journal(StateDatabase(str(tmp_path / "state")), clock)
    yield made
    made.state.close()


@pytest.fixture
def written(journal: Journal) -> Journal:
    """A journal of one skill with three versions."""
    last = ""
    for number in range(3):
        of = journal.keep({"SKILL.md": Item(b"%d" % number)})
        journal.append([note(last, of)])
        last = of
    return journal


def spoil(journal: Journal, *statements: str) -> None:
    journal.state.close()
    with closing(sqlite3.connect(journal.state.path)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, statement
        connection.commit()


def age(journal: Journal, when: int) -> None:
    for blob in journal.blobs.digests():
        os.utime(journal.blobs._path(blob), ns=(when, when))


def test_reading_makes_no_database(journal: Journal) -> None:
    assert (journal.entries(), journal.edits(), journal.verify(), journal.compact()) == ((), [], (), 0)
    refused(lambda: journal.entry(1), "no-such-entry")
    refused(lambda: journal.content("sha256:" + "0" * 64), "no-such-content")
    assert not os.path.exists(journal.state.path)


def test_a_content_comes_back_as_it_was(journal: Journal) -> None:
    of = journal.keep(TREE)
    assert of == digest(TREE)
    assert journal.content(of) == TREE
    assert journal.keep(None) == "" and journal.content("") is None


def test_an_intent_becomes_entries_once(journal: Journal, clock: Time) -> None:
    after = journal.keep(TREE)
    edit = Edit("one", (note("", after),), {"lock": "says"})
    journal.begin(edit)
    assert journal.edits() == [edit]
    entries = journal.settle(edit)
    wanted = Entry(1, clock.now, *note("", after), advance(ORIGIN, note("", after)), ORIGIN, "")
    assert entries == (wanted._replace(hash=chained(wanted)),)
    assert journal.settle(edit) == ()
    assert (journal.entries(), journal.edits(), journal.verify()) == (entries, [], ())


def test_entries_are_found_by_skill_path_and_run(written: Journal) -> None:
    other = note("", written.keep(TREE), "/skills/b")._replace(skill="b", run="other")
    written.append([other])
    assert [entry.id for entry in written.entries(skill="a")] == [1, 2, 3]
    assert [entry.id for entry in written.entries(path="/skills/b")] == [4]
    assert [entry.id for entry in written.entries(run="run", last=2)] == [2, 3]
    assert written.entry(2) == written.entries()[1]
    assert written.head("/skills/a") == written.entry(3) and written.head("/skills/c") is None


def test_the_lineage_is_one_digest_over_all_skills_and_follows_from_their_contents(written: Journal) -> None:
    written.append([note("", written.keep(TREE), "/skills/b"), note(written.entry(3).after, "", action="delete")])
    alone = advance(ORIGIN, note("", digest(TREE), "/skills/b"))
    assert written.entry(5).lineage == alone, "what is gone contributes nothing, whatever happened before"
    written.append([note(digest(TREE), "", "/skills/b")])
    assert written.entry(6).lineage == ORIGIN


@pytest.mark.parametrize("field", [name for name in Entry._fields if name not in ("id", "hash", "previous")])
def test_a_changed_field_is_noticed(written: Journal, field: str) -> None:
    spoil(written, f"UPDATE journal SET {field} = {'time + 1' if field == 'time' else f'{field} || 0'} WHERE id = 2")
    assert "entry-changed" in {problem.code for problem in written.verify() if problem.number == 2}


@pytest.mark.parametrize("field", ["hash", "previous"])
def test_a_changed_hash_is_noticed(written: Journal, field: str) -> None:
    spoil(written, f"UPDATE journal SET {field} = 'x' WHERE id = 2")
    assert {problem.code for problem in written.verify() if problem.number == 2} >= {"entry-changed"}


def test_an_entry_that_was_forged_with_its_own_hash_is_noticed_by_the_next_one(written: Journal) -> None:
    forged = written.entry(2)._replace(reason="Another.", hash="")
    spoil(written, f"UPDATE journal SET reason = 'Another.', hash = '{chained(forged)}' WHERE id = 2")
    assert [(problem.number, problem.code) for problem in written.verify()] == [(3, "chain-broken"), (2, "history-cut")]


@pytest.mark.parametrize("number", [1, 2])
def test_a_removed_entry_is_noticed(written: Journal, number: int) -> None:
    spoil(written, f"DELETE FROM journal WHERE id = {number}")
    assert "entry-missing" in {problem.code for problem in written.verify()}


def test_a_removed_entry_is_noticed_when_the_others_are_numbered_anew(written: Journal) -> None:
    spoil(written, "DELETE FROM journal WHERE id = 2", "UPDATE journal SET id = 2 WHERE id = 3")
    assert {problem.code for problem in written.verify()} >= {"chain-broken"}


def test_a_swapped_order_is_noticed(written: Journal) -> None:
    swap = [f"UPDATE journal SET id = {new} WHERE id = {old}" for old, new in ((2, 9), (3, 2), (9, 3))]
    spoil(written, *swap)
    assert {(problem.number, problem.code) for problem in written.verify()} >= {
        (2, "chain-broken"),
        (3, "chain-broken"),
    }


def test_a_lineage_that_is_none_is_a_problem_and_stops_the_next_entry(written: Journal) -> None:
    spoil(written, "UPDATE journal SET lineage = 'zzz' WHERE id = 3")
    assert {problem.code for problem in written.verify()} == {"entry-changed", "lineage-broken"}
    refused(lambda: written.append([note("", digest(TREE))]), "history-damaged")


def test_a_content_is_found_and_proven_without_a_database(journal: Journal, tmp_path: Path) -> None:
    tree = {**TREE, "a\nb": Item(b"1"), "\udcff": Item(b"2"), "l": Item(b"\xff", link=True), "m": Item(b"l", link=True)}
    of, empty = journal.keep(tree), journal.keep({})
    other = Journal(StateDatabase(str(tmp_path / "other")), journal.clock)
    shutil.copytree(journal.blobs.directory, other.blobs.directory)
    assert (of, empty) == (digest(tree), digest({}))
    assert (other.content(of), other.content(empty)) == (tree, {})
    assert not os.path.exists(other.state.path)


@pytest.mark.parametrize("damage", [b"", b"no list", b"SKILL.md\0file\0" + b"0" * 64 + b"\n"])
def test_a_damaged_list_of_files_is_noticed(written: Journal, damage: bytes) -> None:
    path = written.blobs._path(written.entry(2).after[7:])
    with open(path, "wb") as file:
        file.write(damage)
    assert [(problem.number, problem.code) for problem in written.verify()] == [(0, "blob-corrupt")]


def test_a_digest_of_something_else_is_no_content(written: Journal) -> None:
    refused(lambda: written.content(f"sha256:{written.blobs.put(b'text')}"), "history-damaged")
    refused(lambda: written.content(f"sha256:{written.blobs.put(bytes([255, 0]) + b'file')}"), "history-damaged")


def test_a_list_of_files_that_is_missing_is_noticed(written: Journal) -> None:
    os.unlink(written.blobs._path(written.entry(2).after[7:]))
    assert [problem.code for problem in written.verify()] == ["no-such-content"]


def test_nothing_is_collected_while_a_list_of_files_is_missing(written: Journal, clock: Time) -> None:
    os.unlink(written.blobs._path(written.entry(2).after[7:]))
    kept = [*written.blobs.digests()]
    clock.now += 10**18
    refused(written.compact, "history-damaged")
    assert [*written.blobs.digests()] == kept


@pytest.mark.parametrize(("damage", "code"), [(b"x", "blob-corrupt"), (None, "blob-missing")])
def test_a_damaged_content_is_noticed_and_mended_by_the_same_content(
    written: Journal, damage: bytes | None, code: str
) -> None:
    of = written.entry(2).after
    path = written.blobs._path(written.files(of)[0][2])
    os.unlink(path)
    if damage:
        with open(path, "wb") as file:
            file.write(damage)
    assert [problem.code for problem in written.verify()] == [code]
    assert written.keep({"SKILL.md": Item(b"1")}) == of
    assert written.verify() == ()


def test_compaction_removes_only_what_nothing_refers_to_and_only_after_a_while(
    written: Journal, clock: Time, tmp_path: Path
) -> None:
    def made(text: bytes) -> str:
        return written.keep({"SKILL.md": Item(text), "only": Item(text * 2)})

    intended, base, after, copied, lonely = map(made, (b"intended", b"base", b"after", b"copied", b"lonely"))
    written.begin(Edit("open", (note("", intended),)))
    trees = {name: written.content(of) for name, of in (("base", base), ("after", after), ("copied", copied))}
    committer = Committer(Writer(written, str(tmp_path)), lambda path: (SkillId(path, ""), ""))
    Proposals(written, committer, Review(lambda *_: Decision("allow", "", verdict="safe"))).propose(
        [TreeChange("patch", "a", "/skills/a", trees["after"])],
        {"/skills/a": trees["base"]},
        Provenance("agent"),
        "Why.",
        {"/skills/a": trees["copied"]},
    )
    age(written, clock.now)
    clock.now += HOUR // 2
    assert written.compact() == 0, "it may belong to a writer that is not yet that far"
    clock.now += 2 * HOUR
    assert written.compact() == 3
    refused(lambda: written.content(lonely), "no-such-content")
    kept = [*(entry.after for entry in written.entries()), intended, base, after, copied]
    assert all(digest(written.content(of) or {}) == of for of in kept)
    assert written.verify() == () and written.compact() == 0


def test_a_content_kept_again_while_it_is_old_is_young(journal: Journal, clock: Time) -> None:
    of = journal.keep(TREE)
    journal.append([])
    clock.now = time.time_ns()
    age(journal, clock.now - 2 * HOUR)
    journal.keep(TREE)
    assert journal.compact() == 0 and journal.content(of) == TREE
    age(journal, clock.now - 2 * HOUR)
    assert journal.compact() == 4


def test_an_exported_history_can_be_proven_and_read_without_the_library(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    library.edit.apply([created("other")])
    library.edit.apply([{"action": "write_file", "name": "deploy", "file_path": "assets/a.bin", "content": b"\0\xff"}])
    library.edit.apply([patched("deploy", "this", "that")])
    told = library.edit.history.export("deploy").to_json()
    contents = {
        of: {
            path: Item(b64decode(item["base64"]), executable=item["executable"], link=item["link"])
            for path, item in files.items()
        }
        for of, files in told["contents"].items()
    }
    assert {of: digest(tree) for of, tree in contents.items()} == {of: of for of in contents}
    given: list[dict[str, Any]] = told["entries"]
    entries = [
        Entry(*(entry.get("time_ns" if name == "time" else name, "") for name in Entry._fields)) for entry in given
    ]
    assert [chained(entry) for entry in entries] == [entry.hash for entry in entries]
    journal = world.journal()
    assert entries == list(journal.entries(path=entries[0].path)) and len(entries) == 3
    journal.state.close()


APPENDING = (
    PRELUDE
    + """
from whet.authoring.journal import Edit, Journal, Note
from whet.skill.tree import Item
from whet.store.state import StateDatabase
journal = Journal(StateDatabase(top + "/state"), time.time_ns)
for number in range(25):
    of = journal.keep({"SKILL.md": Item(f"{sys.argv[2]} {number}".encode())})
    path = "/skills/" + sys.argv[2]
    head = journal.head(path)
    note = Note("agent", "", "patch", sys.argv[2], path, "", head.after if head else "", of, "", "")
    edit = Edit(f"{sys.argv[2]} {number}", (note,))
    journal.begin(edit)
    assert len(journal.settle(edit)) == 1
"""
)


def test_processes_that_append_at_once_keep_one_chain(tmp_path: Path) -> None:
    processes = [start(APPENDING, tmp_path, name) for name in "abc"]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    journal = Journal(StateDatabase(str(tmp_path / "state")), Time())
    assert len(journal.entries()) == 75 and journal.verify() == () and journal.edits() == []
    journal.state.close()
