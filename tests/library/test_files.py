from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import NotFoundError, RefusedError, WhetError
from whet.library.files import (
    Signature,
    inside,
    open_beneath,
    open_directory,
    open_file,
    read_descriptor,
    read_file,
    seen_stamp,
    settled,
    signature,
    stamp,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECOND = 10**9
NOW = 2_000_000_000 * SECOND


def status(mtime: int, ctime: int) -> os.stat_result:
    return os.stat_result((0o100644, 7, 1, 1, 0, 0, 3, 0, 0, 0), {"st_mtime_ns": mtime, "st_ctime_ns": ctime})


def read(descriptor: int) -> bytes:
    try:
        return read_descriptor(descriptor, 1 << 20)
    finally:
        os.close(descriptor)


# signatures


@pytest.mark.parametrize(
    ("mtime", "ctime", "expected"),
    [
        (NOW - 60 * SECOND, NOW - 60 * SECOND, True),
        (NOW - SECOND // 10 - 1, NOW - SECOND // 10 - 1, True),
        (NOW - SECOND // 100 - 1, NOW - SECOND // 100 - 1, False),
        (NOW - 60 * SECOND, NOW - SECOND // 100 - 1, False),  # set back by hand a moment ago
        (NOW - SECOND, NOW - SECOND, False),  # a clock of whole seconds, as on FAT
        (NOW - 3 * SECOND, NOW - 3 * SECOND, True),
        (NOW - SECOND // 100 - 1, NOW - 60 * SECOND, False),  # where ctime is the time of creation
        (NOW + 1000 * SECOND, NOW - 60 * SECOND, True),  # a date in the future is nobody's last change
        (NOW, NOW + SECOND, False),  # a clock that was set back
    ],
)
def test_a_file_is_settled_when_another_change_would_show(mtime: int, ctime: int, expected: bool) -> None:
    found = status(mtime, ctime)
    assert settled(found, NOW) is expected
    assert signature(found, NOW) == Signature(mtime if expected else ~mtime, ctime, 3, 7)
    assert seen_stamp(found, NOW) == (stamp(found) if expected else ~stamp(found))


def test_the_stamp_does_not_come_back_when_a_time_is_set_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    before = os.stat(path)
    while os.stat(path).st_ctime_ns == before.st_ctime_ns:
        path.write_text("two")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)
    assert after.st_mtime_ns == before.st_mtime_ns
    assert stamp(after) != stamp(before)


# reading


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * (3 << 20))
    assert len(read_file(str(path), 10 << 20)) == 3 << 20
    assert read_file(str(path), 5) == b"xxxxx"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, make: Callable[[str], None]) -> None:
    path = str(tmp_path / "thing")
    make(path)
    with pytest.raises(OSError, match="not a regular file") as caught:
        read_file(path, 10)
    assert caught.value.errno == (errno.EISDIR if make is os.mkdir else errno.ENXIO)


@pytest.mark.parametrize(
    ("path", "base", "expected"),
    [("/a", "/a", True), ("/a/b", "/a", True), ("/ab", "/a", False), ("/a", "/", True), ("/", "/a", False)],
)
def test_inside_compares_whole_components(path: str, base: str, expected: bool) -> None:
    assert inside(path, base) is expected


# beneath a directory


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A skill with links of all kinds, and a secret beside it."""
    base = tmp_path / "skill"
    (base / "references" / "deep").mkdir(parents=True)
    (base / "references" / "a.md").write_text("a")
    (base / "references" / "deep" / "b.md").write_text("b")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("secret")
    links = {
        "to-file": "references/a.md",
        "to-directory": "references",
        "references/up": "../references/deep",
        "references/chain": "../to-directory/deep/b.md",
        "out": "../secret",
        "out-directory": "../outside",
        "absolute": str(base / "references" / "a.md"),
        "broken": "nowhere",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "references/out": "../../outside",
        "sneaky": "to-directory/../../secret",
    }
    for name, target in links.items():
        (base / name).symlink_to(target)
    os.mkfifo(base / "pipe")
    return base


@pytest.mark.parametrize(
    ("relative", "expected"),
    [
        ("references/a.md", b"a"),
        ("references/deep/b.md", b"b"),
        ("to-file", b"a"),
        ("to-directory/a.md", b"a"),
        ("references/up/b.md", b"b"),
        ("references/chain", b"b"),
    ],
)
def test_links_are_followed_as_long_as_they_stay_inside(tree: Path, relative: str, expected: bytes) -> None:
    assert read(open_beneath(str(tree), relative)) == expected
    assert read(open_beneath(str(tree), relative, bases=[str(tree.parent)])) == expected


@pytest.mark.parametrize(
    ("relative", "kind", "code"),
    [
        ("out", RefusedError, "path-escape"),
        ("out-directory/a.md", RefusedError, "path-escape"),
        ("references/out/a.md", RefusedError, "path-escape"),
        ("sneaky", RefusedError, "path-escape"),
        ("absolute", RefusedError, "path-escape"),
        ("loop", RefusedError, "path-escape"),
        ("ping", RefusedError, "path-escape"),
        ("broken", NotFoundError, "file-not-found"),
        ("nothing", NotFoundError, "file-not-found"),
        ("references/a.md/deeper", NotFoundError, "file-not-found"),
        ("references", NotFoundError, "file-not-found"),
        ("to-directory", NotFoundError, "file-not-found"),
        ("pipe", NotFoundError, "file-not-found"),
    ],
)
def test_what_leads_outside_or_nowhere_is_refused(tree: Path, relative: str, kind: type[WhetError], code: str) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(kind) as caught:
        open_beneath(str(tree), relative)
    assert (caught.value.code, bool(caught.value.hint)) == (code, True)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_directory_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    attempts: list[Callable[[], int]] = [
        lambda: open_beneath(gone, "a"),
        lambda: open_directory(gone),
        lambda: open_file(gone, ["/"]),
    ]
    for attempt in attempts:
        with pytest.raises(NotFoundError) as caught:
            attempt()
        assert caught.value.code == "path-not-found"


def test_the_bases_say_where_a_directory_may_really_be(tree: Path) -> None:
    top = tree.parent
    (top / "roots").mkdir()
    (top / "roots" / "linked").symlink_to(tree)
    linked = str(top / "roots" / "linked")
    assert read(open_beneath(linked, "references/a.md", bases=[str(tree)])) == b"a"
    assert read(open_file(f"{linked}/references/a.md", [str(tree)])) == b"a"
    attempts: list[Callable[[], Any]] = [
        lambda: open_beneath(linked, "references/a.md", bases=[str(top / "roots")]),
        lambda: open_directory(linked, [str(top / "roots")]),
        lambda: open_file(f"{linked}/references/a.md", [str(top / "roots")]),
        lambda: open_file(str(tree / "out"), [str(tree)]),
    ]
    for attempt in attempts:
        with pytest.raises(RefusedError) as caught:
            attempt()
        assert caught.value.code == "path-escape"


def test_the_root_of_the_file_system_can_be_a_base() -> None:
    os.close(open_directory("/", ["/"]))


def test_a_directory_above_need_not_be_readable(unprivileged: Callable[[str], Any]) -> None:
    answer = unprivileged("""
from whet.library.files import open_beneath, open_directory
os.makedirs(top + "/closed/skill/sub")
open(top + "/closed/skill/sub/a.md", "w").write("a")
os.chmod(top + "/closed", 0o311)
answer = [os.read(open_beneath(top + "/closed/skill", "sub/a.md", bases=[top]), 9).decode()]
os.chmod(top + "/closed/skill/sub/a.md", 0)
for attempt in (lambda: open_beneath(top + "/closed/skill", "sub/a.md"), lambda: open_directory(top + "/closed")):
    try:
        attempt()
    except WhetError as error:
        answer.append(error.code)
""")
    assert answer == ["a", "unreadable", "unreadable"]


def test_swapping_a_directory_for_a_link_gains_nothing(tree: Path) -> None:
    """One thread flips a directory between itself and a link to outside; nobody who reads gets to see outside."""
    place, real, link = tree / "references", tree / "real", tree / "link"
    link.symlink_to("../outside")
    stop = threading.Event()
    seen: set[bytes | str] = set()

    def flip() -> None:
        while not stop.is_set():
            os.rename(place, real)
            os.rename(link, place)
            os.rename(place, link)
            os.rename(real, place)

    def look() -> None:
        for _ in range(4000):
            try:
                seen.add(read(open_beneath(str(tree), "references/a.md")))
            except WhetError as error:
                seen.add(error.code)

    flipper = threading.Thread(target=flip)
    readers = [threading.Thread(target=look) for _ in range(3)]
    for thread in (flipper, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    flipper.join()
    assert b"a" in seen
    assert seen <= {b"a", "file-not-found", "path-escape", "unreadable"}


def test_failures_name_the_file_and_what_to_do(tree: Path, unprivileged: Callable[[str], Any]) -> None:
    with pytest.raises(RefusedError) as caught:
        open_beneath(str(tree), "out")
    assert caught.value.message == f"out leaves {tree} through a link."
    assert unprivileged("""
from whet.library.files import open_file
open(top + "/a", "w").close()
os.chmod(top + "/a", 0)
try:
    open_file(top + "/a", [top])
except WhetError as error:
    answer = [error.code, error.message.replace(top, "TOP"), error.hint]
""") == ["unreadable", "TOP/a cannot be read: Permission denied.", "Check its permissions."]
