from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.library import package as package_module
from whet.library.cache import Cache
from whet.library.files import file_stamp
from whet.library.package import (
    LIMITS,
    Listing,
    Main,
    PackageFile,
    list_package,
    opened_digest,
    package_digest,
    package_directory,
    read_package,
    read_tree,
)
from whet.skill.tree import DEFAULT_LIMITS, Item, digest, file_entry, link_entry
from whet.store.cache import CacheDatabase

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from pathlib import Path

AHEAD = 60 * 10**9


def now() -> int:
    return time.time_ns() + AHEAD


def list_files(directory: str, *, now: int) -> tuple[PackageFile, ...]:
    listing = list_package(directory, now=now)
    assert listing.problems == ()
    return listing.files


def paths(listing: Listing) -> list[str]:
    return [item.path for item in listing.files]


def problems(listing: Listing) -> list[str]:
    return sorted(problem.code for problem in listing.problems)


@pytest.fixture
def skill_directory(tmp_path: Path) -> Path:
    base = tmp_path / "skill"
    (base / "references" / "deep").mkdir(parents=True)
    (base / "SKILL.md").write_text("main")
    (base / "references" / "a.md").write_text("a")
    (base / "references" / "deep" / "b.md").write_text("bb")
    (base / "run.sh").write_text("#!/bin/sh\n")
    (base / "run.sh").chmod(0o755)
    (base / ".hidden").write_text("counts")
    (base / "link").symlink_to("references/a.md")
    return base


# listing


def test_every_file_is_listed_in_the_order_of_its_bytes(skill_directory: Path) -> None:
    files = list_files(str(skill_directory), now=now())
    assert [(item.path, item.size, item.executable, item.link, item.settled) for item in files] == [
        (".hidden", 6, False, "", True),
        ("SKILL.md", 4, False, "", True),
        ("link", len("references/a.md"), False, "references/a.md", True),
        ("references/a.md", 1, False, "", True),
        ("references/deep/b.md", 2, False, "", True),
        ("run.sh", 10, True, "", True),
    ]
    assert files[1].stamp == file_stamp(os.stat(skill_directory / "SKILL.md"))
    assert not any(item.settled for item in list_files(str(skill_directory), now=time.time_ns()))


def test_what_is_never_part_of_a_package_is_left_out(skill_directory: Path) -> None:
    before = list_files(str(skill_directory), now=now())
    for name in (".git", "__pycache__", "references/__pycache__"):
        (skill_directory / name).mkdir()
        (skill_directory / name / "file").write_text("")
    (skill_directory / ".DS_Store").write_text("")
    (skill_directory / ".SKILL.md.whet-tmp-0123456789abcdef").write_text("half written")
    (skill_directory / ".references.whet-old-0123456789abcdef").mkdir()
    assert list_files(str(skill_directory), now=now()) == before


@pytest.mark.parametrize(
    ("target", "escapes"),
    [
        ("../outside", True),
        ("/etc/passwd", True),
        ("references/../../outside", True),
        ("references/deep", False),
        ("nowhere", False),
        ("references/../SKILL.md", True),  # a part of the way may be a link itself
    ],
)
def test_a_link_that_may_leave_makes_the_package_invalid(skill_directory: Path, target: str, escapes: bool) -> None:
    (skill_directory / "other").symlink_to(target)
    listing = list_package(str(skill_directory), now=now())
    assert ("other" in paths(listing), problems(listing)) == (not escapes, ["link-escape"] if escapes else [])
    if escapes:
        with pytest.raises(InvalidError) as caught:
            read_package(str(skill_directory))
        assert caught.value.code == "link-escape"


def test_the_main_file_may_be_a_link_when_somebody_vouches_for_it(skill_directory: Path) -> None:
    (skill_directory / "SKILL.md").unlink()
    (skill_directory / "SKILL.md").symlink_to("../elsewhere.md")
    listing = list_package(str(skill_directory), now=now(), main="SKILL.md")
    assert ("SKILL.md" in paths(listing), problems(listing)) == (True, [])
    assert problems(list_package(str(skill_directory), now=now())) == ["link-escape"]


def test_special_files_are_problems(skill_directory: Path) -> None:
    os.mkfifo(skill_directory / "pipe")
    listing = list_package(str(skill_directory), now=now())
    assert ("pipe" in paths(listing), problems(listing)) == (False, ["special-file"])


def test_too_many_files_are_a_problem(skill_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_module, "LIMITS", LIMITS._replace(files=5))
    listing = list_package(str(skill_directory), now=now())
    assert (len(listing.files) <= 5, problems(listing)) == (True, ["too-many-files"])


def test_directories_that_are_too_deep_are_a_problem(skill_directory: Path) -> None:
    deep = skill_directory.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / "file").write_text("")
    (skill_directory.joinpath(*["d"] * 15) / "last").write_text("")
    listing = list_package(str(skill_directory), now=now())
    assert ("d/" * 15 + "last" in paths(listing), problems(listing)) == (True, ["too-deep"])


def test_what_may_not_be_read_is_a_problem(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
from whet.library.package import list_package, read_package
base = skill("root/one")
os.makedirs(base + "/shut/in")
open(base + "/shut/in/file", "w").close()
os.chmod(base + "/shut", 0)
listing = list_package(base)
answer = [[item.path for item in listing.files], [problem.code for problem in listing.problems]]
opened = library().read("one").to_json()
answer += [opened["content"], [note["code"] for note in opened["diagnostics"]]]
os.chmod(base, 0)
for attempt in (lambda: list_package(base), lambda: read_package(base)):
    try:
        attempt()
    except WhetError as error:
        answer.append(error.code)
os.chmod(base, 0o700)
os.chmod(base + "/shut", 0o700)
""") == [["SKILL.md"], ["unreadable"], "Body.\n", ["unreadable"], "unreadable", "unreadable"]


def test_a_directory_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        list_package(str(tmp_path / "gone"))
    assert caught.value.code == "path-not-found"
    assert read_tree(str(tmp_path / "gone")) is None


def test_names_that_are_not_utf8_are_listed_and_hashed(tmp_path: Path) -> None:
    try:
        with open(os.fsencode(tmp_path) + b"/caf\xe9", "wb") as file:
            file.write(b"x")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    files = list_files(str(tmp_path), now=now())
    assert [item.path for item in files if item.path.startswith("caf")] == ["caf\udce9"]
    (tmp_path / "SKILL.md").write_bytes(b"")
    assert package_digest(str(tmp_path)) == digest([file_entry("caf\udce9", b"x"), file_entry("SKILL.md", b"")])


def test_nothing_outside_is_listed_while_a_directory_is_swapped(skill_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    place, aside, link = skill_directory / "references", tmp_path / "aside", tmp_path / "link"
    link.symlink_to("../outside")
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            os.rename(place, aside)
            os.rename(link, place)
            os.rename(place, link)
            os.rename(aside, place)

    flipper = threading.Thread(target=flip)
    flipper.start()
    seen: set[str] = set()
    for _ in range(3000):
        seen.update(paths(list_package(str(skill_directory), now=0)))
    stop.set()
    flipper.join()
    assert seen == {".hidden", "SKILL.md", "link", "references/a.md", "references/deep/b.md", "run.sh"}


# digests


def test_the_digest_is_of_all_files(skill_directory: Path) -> None:
    expected = digest(
        [
            file_entry(".hidden", b"counts"),
            file_entry("SKILL.md", b"main"),
            link_entry("link", "references/a.md"),
            file_entry("references/a.md", b"a"),
            file_entry("references/deep/b.md", b"bb"),
            file_entry("run.sh", b"#!/bin/sh\n", executable=True),
        ]
    )
    files = list_files(str(skill_directory), now=now())
    assert package_digest(str(skill_directory)) == expected
    main = Main("SKILL.md", b"main", files[1].stamp)
    assert opened_digest(str(skill_directory), files, main, None, None) == (expected, ())


def test_a_known_digest_is_not_computed_again(skill_directory: Path, tmp_path: Path, io: Counter[str]) -> None:
    cache = Cache(CacheDatabase(str(tmp_path / "state")))
    directory = str(skill_directory)

    def compute(data: bytes = b"main") -> tuple[str, int]:
        files = list_files(directory, now=now())
        main = Main("SKILL.md", data, file_stamp(os.stat(skill_directory / "SKILL.md")))
        io.clear()
        found, unread = opened_digest(directory, files, main, cache, None)
        assert unread == ()
        return found, io["bytes"]

    first, read = compute()
    assert read == 6 + 1 + 2 + 10  # all but the main file, which is at hand
    assert compute() == (first, 0)
    (skill_directory / "run.sh").chmod(0o644)
    second, read = compute()
    assert (second != first, read) == (True, 19)
    (skill_directory / "references" / "a.md").write_text("A")
    assert compute()[0] not in (first, second)
    cache.database.close()


def test_a_digest_that_may_be_old_in_a_moment_is_not_kept(skill_directory: Path, tmp_path: Path) -> None:
    cache = Cache(CacheDatabase(str(tmp_path / "state")))
    directory = str(skill_directory)
    for data, stamp, settled in ((b"main", "", True), (b"main", None, False), (b"other", "another", True)):
        files = list_files(directory, now=now() if settled else time.time_ns())
        main = Main("SKILL.md", data, files[1].stamp if stamp is None else stamp)
        found, _ = opened_digest(directory, files, main, cache, None)
        assert found.startswith("sha256:")
    assert cache.database.open().read("SELECT * FROM digests") == []
    cache.database.close()


def test_the_digest_is_of_the_main_file_as_it_was_read(skill_directory: Path) -> None:
    """It may have changed since; body and digest must still belong together."""
    files = list_files(str(skill_directory), now=now())
    read = opened_digest(str(skill_directory), files, Main("SKILL.md", b"as read", "older"), None, None)
    (skill_directory / "SKILL.md").write_text("as read")
    assert read == (package_digest(str(skill_directory)), ())


def test_what_vanishes_or_cannot_be_read_does_not_stop_the_digest(skill_directory: Path, tmp_path: Path) -> None:
    files = list_files(str(skill_directory), now=now())
    main = Main("SKILL.md", b"main", files[1].stamp)
    (skill_directory / "run.sh").unlink()
    (skill_directory / "references" / "a.md").unlink()
    (skill_directory / "references" / "a.md").symlink_to(tmp_path / "elsewhere")
    found, unread = opened_digest(str(skill_directory), files, main, None, None)
    assert found.startswith("sha256:")
    assert [problem.code for problem in unread] == ["path-escape"]
    with pytest.raises(InvalidError):
        package_digest(str(skill_directory))


def test_a_file_beyond_all_measure_is_refused(skill_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_module, "LIMITS", LIMITS._replace(file_bytes=5))
    with pytest.raises(InvalidError) as caught:
        package_digest(str(skill_directory))
    assert caught.value.code == "too-large"


# contents


def test_a_package_is_read_whole(skill_directory: Path) -> None:
    package = read_package(str(skill_directory))
    assert package.name == "skill"
    assert list(package.tree.items()) == [
        (".hidden", Item(b"counts")),
        ("SKILL.md", Item(b"main")),
        ("link", Item(b"references/a.md", link=True)),
        ("references/a.md", Item(b"a")),
        ("references/deep/b.md", Item(b"bb")),
        ("run.sh", Item(b"#!/bin/sh\n", executable=True)),
    ]
    assert (package.main, package.document.body) == ("SKILL.md", "main")
    assert package.digest == package_digest(str(skill_directory))
    assert read_tree(str(skill_directory)) == package.tree
    assert read_package(str(skill_directory), strict=False) == package


def test_a_lenient_reader_tells_what_a_strict_one_refuses(skill_directory: Path) -> None:
    whole = read_package(str(skill_directory)).tree
    (skill_directory / "out").symlink_to("/etc/passwd")
    (skill_directory / "scripts" / "__pycache__").mkdir(parents=True)
    (skill_directory / "scripts" / "__pycache__" / "a.pyc").write_bytes(b"compiled")
    (skill_directory / ".git").mkdir()
    (skill_directory / ".git" / "config").write_bytes(b"")
    (skill_directory / ".run.sh.whet-tmp-0123456789abcdef").write_bytes(b"half written")
    os.mkfifo(skill_directory / "pipe")
    package = read_package(str(skill_directory), strict=False)
    assert package.tree == whole
    assert sorted((error.code, error.details["file"]) for error in package.problems) == [
        ("link-escape", "out"),
        ("special-file", "pipe"),
    ]
    assert package.aside == {
        ".run.sh.whet-tmp-0123456789abcdef": Item(b"half written"),
        "out": Item(b"/etc/passwd", link=True),
        "scripts/__pycache__/a.pyc": Item(b"compiled"),
    }
    with pytest.raises(InvalidError) as caught:
        read_package(str(skill_directory))
    assert caught.value.code in ("link-escape", "special-file")


def test_a_package_without_a_main_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(UsageError, match="has no SKILL"):
        _ = read_package(str(tmp_path)).main
    with pytest.raises(UsageError, match="has no SKILL"):
        package_digest(str(tmp_path))


def test_a_package_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(DEFAULT_LIMITS.total_bytes + 1)
    with pytest.raises(InvalidError) as caught:
        read_package(str(tmp_path), limits=DEFAULT_LIMITS)
    assert caught.value.code == "too-large"
    package = read_package(str(tmp_path), strict=False, limits=DEFAULT_LIMITS)
    assert (package.tree, [error.code for error in package.problems]) == ({}, ["too-large"])


def test_a_package_is_named_by_its_directory_or_its_main_file(skill_directory: Path, tmp_path: Path) -> None:
    directory = str(skill_directory)
    assert package_directory(directory) == package_directory(f"{directory}/SKILL.md") == directory
    with pytest.raises(UsageError) as wrong:
        package_directory(f"{directory}/run.sh")
    with pytest.raises(NotFoundError) as absent:
        package_directory(str(tmp_path / "gone"))
    assert (wrong.value.code, absent.value.code) == ("not-a-package", "path-not-found")
