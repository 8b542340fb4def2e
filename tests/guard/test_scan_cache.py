"""Verdicts that were given before: one hash for what is unchanged, a fresh scan for everything odd."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from whet.guard import scan_cache as module
from whet.guard.finding import Finding, Scan
from whet.guard.ruleset import ruleset
from whet.guard.scan_cache import ScanCache
from whet.skill.tree import Item, digest, entries
from whet.store.cache import CacheDatabase
from whet.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

FILES = {"SKILL.md": Item(b"---\nname: a\ndescription: b\n---\nDo it.\n"), "run.sh": Item(b"true\n", executable=True)}
FOUND = Finding(
    "secret-read", "warn", "secrets", "run.sh", 1, "Keys are read.", "cat \udcff \U0001f600", "No.", ("CWE-1",)
)


class Scanner:
    """Counts how often it looks."""

    def __init__(self, *findings: Finding) -> None:
        self.looks = 0
        self.findings = findings

    def __call__(self, files: Mapping[str, Item], origin: str) -> Scan:
        self.looks += 1
        self.origin = origin
        return Scan(digest(entries(files)), "caution" if self.findings else "safe", self.findings)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[Scanner], ScanCache]]:
    made: list[ScanCache] = []

    def make(scanner: Scanner) -> ScanCache:
        made.append(ScanCache(CacheDatabase(str(tmp_path / "state")), lambda: 7, look=scanner))
        return made[-1]

    yield make
    for one in made:
        one.database.close()


def rows(tmp_path: Path, query: str, *values: object) -> None:
    with sqlite3.connect(tmp_path / "state" / "cache.db") as connection:
        connection.execute(query, values)
    connection.close()


def test_unchanged_content_is_scanned_once_whoever_asks(opened: Callable[[Scanner], ScanCache]) -> None:
    first, second = Scanner(FOUND), Scanner()
    expected = Scan(digest(entries(FILES)), "caution", (FOUND,))
    assert [opened(first).scan(FILES), opened(second).scan(FILES), opened(second).scan(FILES)] == [expected] * 3
    assert (first.looks, second.looks) == (1, 0)


def test_what_changed_is_scanned_again(opened: Callable[[Scanner], ScanCache]) -> None:
    scanner = Scanner()
    known = opened(scanner)
    for files in (FILES, {**FILES, "run.sh": Item(b"true\n")}, {**FILES, "more": Item(b"")}, FILES):
        known.scan(files)
    assert scanner.looks == 3, "the executable bit and every file count"


def test_other_rules_look_again(opened: Callable[[Scanner], ScanCache], monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = Scanner()
    opened(scanner).scan(FILES)
    monkeypatch.setattr(module, "ruleset", lambda: "9.9.9+00000000")
    opened(scanner).scan(FILES)
    assert scanner.looks == 2 and ruleset() == ruleset() and "+" in ruleset()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE scans SET verdict = 'safe'",
        "UPDATE scans SET findings = '[]'",
        "UPDATE scans SET findings = '[]', verdict = 'safe'",
        "UPDATE scans SET findings = 'x', proof = ''",
        "UPDATE scans SET verdict = 7",
        "UPDATE scans SET findings = x'ff'",
        "DELETE FROM scans",
    ],
)
def test_a_row_that_is_not_what_it_says_is_not_believed(
    opened: Callable[[Scanner], ScanCache], tmp_path: Path, change: str
) -> None:
    first = opened(Scanner(FOUND))
    expected = first.scan(FILES)
    first.database.close()
    rows(tmp_path, change)
    again = Scanner(FOUND)
    assert (opened(again).scan(FILES), again.looks) == (expected, 1)


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100, None])
def test_a_damaged_file_is_replaced_and_scanning_goes_on(
    opened: Callable[[Scanner], ScanCache], tmp_path: Path, damage: bytes | None
) -> None:
    first = opened(Scanner(FOUND))
    expected = first.scan(FILES)
    first.database.close()
    path = tmp_path / "state" / "cache.db"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096) if damage is None else damage)
    scanner = Scanner(FOUND)
    again = opened(scanner)
    assert (again.scan(FILES), again.scan({**FILES, "b": Item(b"")}).verdict) == (expected, "caution")
    assert scanner.looks == 2


def test_without_a_place_to_remember_every_scan_is_fresh(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the directory should be")
    scanner = Scanner()
    known = ScanCache(CacheDatabase(str(tmp_path / "state")), lambda: 7, look=scanner)
    assert known.scan(FILES).verdict == known.scan({}).verdict == "safe"
    assert scanner.looks == 2 and known.database.problem


def test_only_so_many_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 3)
    times = iter(range(100))
    known = ScanCache(CacheDatabase(str(tmp_path / "state")), lambda: next(times), look=Scanner())
    for number in range(10):
        known.scan({"a": Item(b"%d" % number)})
    known.database.close()
    connection = sqlite3.connect(tmp_path / "state" / "cache.db")
    assert connection.execute("SELECT count(*) FROM scans").fetchone()[0] <= 4
    connection.close()


def test_a_content_from_another_place_is_looked_at_again(opened: Callable[[Scanner], ScanCache]) -> None:
    scanner, files = Scanner(), {"SKILL.md": Item(b"x")}
    known = opened(scanner)
    answers = [known.scan(files, origin) for origin in ("", "github.com/a/b", "github.com/c/d", "github.com/a/b", "")]
    assert (scanner.looks, scanner.origin) == (3, "github.com/c/d")
    assert {answer.digest for answer in answers} == {digest(entries(files))}
    again = opened(scanner)
    assert again.scan(files, "github.com/c/d") == answers[2]
    assert scanner.looks == 3


def test_files_that_the_digest_leaves_out_are_part_of_the_name(opened: Callable[[Scanner], ScanCache]) -> None:
    scanner = Scanner()
    cache = opened(scanner)
    beside = {**FILES, "__pycache__/run.pyc": Item(b"1")}
    for files in (
        FILES,
        beside,
        beside,
        {**beside, ".git/config": Item(b"")},
        {**beside, "__pycache__/run.pyc": Item(b"2")},
    ):
        assert cache.scan(files).digest == digest(entries(FILES))
    assert scanner.looks == 4


def test_scans_that_are_remembered_are_read_with_one_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = [({"SKILL.md": Item(f"# {number}\n".encode())}, "") for number in range(7)]
    database = CacheDatabase(str(tmp_path / "state"))
    fresh = [ScanCache(database, lambda: 7).scan(*package) for package in packages]
    asked: list[str] = []
    read = Database.read

    def count(database: Database, sql: str, given: Sequence[object] = ()) -> list[tuple[object, ...]]:
        asked.append(sql)
        return read(database, sql, given)

    monkeypatch.setattr(Database, "read", count)
    monkeypatch.setattr("whet.guard.scan_pool.scan_together", None)

    known = ScanCache(database, lambda: 7)
    known.scan_ahead(packages)

    assert ([known.scan(*package) for package in packages], len(asked)) == (fresh, 1)
    database.close()
