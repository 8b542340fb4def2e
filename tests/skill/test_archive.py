from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import random
import stat
import subprocess
import sys
import tarfile
import tracemalloc
import warnings
import zipfile
from typing import IO, TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError, UsageError
from whet.skill.archive import contents, pack, unpack
from whet.skill.paths import check, collides
from whet.skill.tree import DEFAULT_LIMITS, Item, Limits, Package, Tree, ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FAST = settings(max_examples=200, deadline=None)
SKILL = {"SKILL.md": Item(b"---\nname: golden\n---\nBody.\n")}
GOLDEN = {
    **SKILL,
    "scripts/run.sh": Item(b"#!/bin/sh\n", executable=True),
    "references/\u00e9.md": Item(b"x"),
    "assets/empty": Item(b""),
}


def code_of(data: bytes, limits: Limits = DEFAULT_LIMITS) -> str:
    """The code with which an archive is refused."""
    with pytest.raises(InvalidError) as caught:
        unpack(data, limits=limits)
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 600
    return caught.value.code


# --- pack -----------------------------------------------------------------------------------------------------------


def test_the_bytes_of_a_known_package_never_change() -> None:
    data = pack("golden", GOLDEN)
    assert len(data) == 520
    assert hashlib.sha256(data).hexdigest() == "b85aeec8f61a4d6d72daff85604af9db6cde9a826c96e6bcbc8a605eb22cc4ac"


def test_the_archive_is_a_plain_zip_for_other_programs() -> None:
    with zipfile.ZipFile(io.BytesIO(pack("golden", GOLDEN))) as opened:
        assert opened.testzip() is None
        listed = [
            (info.filename, opened.read(info), info.external_attr >> 16, info.date_time, info.compress_type)
            for info in opened.infolist()
        ]
    start = (1980, 1, 1, 0, 0, 0)
    assert listed == [
        ("golden/SKILL.md", SKILL["SKILL.md"].data, stat.S_IFREG | 0o644, start, zipfile.ZIP_STORED),
        ("golden/assets/empty", b"", stat.S_IFREG | 0o644, start, zipfile.ZIP_STORED),
        ("golden/references/\u00e9.md", b"x", stat.S_IFREG | 0o644, start, zipfile.ZIP_STORED),
        ("golden/scripts/run.sh", b"#!/bin/sh\n", stat.S_IFREG | 0o755, start, zipfile.ZIP_STORED),
    ]


SEGMENT = st.text(alphabet="abcdeé日._- \U0001f600", min_size=1, max_size=6)
FILES = st.dictionaries(
    st.lists(SEGMENT, min_size=1, max_size=4).map("/".join),
    st.builds(Item, st.binary(max_size=40), st.booleans(), st.just(value=False)),
    max_size=6,
).map(lambda files: {**SKILL, **files})


def packable(files: Tree) -> bool:
    try:
        for path in files:
            check(path)
    except UsageError:
        return False
    if any(part.startswith("-") for path in files for part in path.split("/")):
        return False
    return not collides(files) and not any(ignored(path) for path in files)


@FAST
@given(FILES, st.randoms(use_true_random=False))
def test_unpacking_what_was_packed_gives_it_back_whatever_the_order(files: Tree, order: random.Random) -> None:
    if not packable(files):
        with pytest.raises(InvalidError):
            pack("round-trip", files)
        return
    shuffled = list(files)
    order.shuffle(shuffled)
    data = pack("round-trip", files)
    assert pack("round-trip", {path: files[path] for path in shuffled}) == data
    assert unpack(data) == Package("round-trip", files)
    assert list(unpack(data).tree) == sorted(files, key=str.encode)
    assert contents(data) == ({f"round-trip/{path}": item for path, item in files.items()}, ())


def test_the_deepest_and_longest_paths_that_pass_the_check_survive_the_round_trip() -> None:
    files = {"/".join(["d"] * 16): Item(b"1"), **SKILL, "/".join(["e" * 255] * 4): Item(b"2")}
    data = pack("n" * 255, files)
    assert unpack(data).tree == files


def test_what_is_never_part_of_a_package_is_not_packed() -> None:
    noise = dict.fromkeys((".git/config", "scripts/__pycache__/a.pyc", ".DS_Store"), Item(b"x"))
    assert pack("a", {**SKILL, **noise}) == pack("a", SKILL)


@pytest.mark.parametrize(
    ("name", "files", "code"),
    [
        ("", SKILL, "archive-unsafe-path"),
        ("..", SKILL, "archive-unsafe-path"),
        ("a/b", SKILL, "archive-unsafe-path"),
        ("con", SKILL, "archive-unsafe-path"),
        (".git", SKILL, "archive-unsafe-path"),
        ("__MACOSX", SKILL, "archive-unsafe-path"),
        ("a", {**SKILL, "../x": Item(b"")}, "archive-unsafe-path"),
        ("a", {**SKILL, "/x": Item(b"")}, "archive-unsafe-path"),
        ("a", {**SKILL, "x\ud800": Item(b"")}, "archive-unsafe-path"),
        ("a", {**SKILL, ".GIT/config": Item(b"")}, "archive-unsafe-path"),
        ("a", {**SKILL, "x": Item(b""), "X": Item(b"")}, "archive-collision"),
        ("a", {**SKILL, "x": Item(b""), "x/y": Item(b"")}, "archive-collision"),
        ("a", {}, "archive-no-skill"),
        ("a", {"Skill.MD": Item(b"")}, "archive-no-skill"),
        ("a", {**SKILL, "x": Item(b"SKILL.md", link=True)}, "link-in-package"),
        ("a", {"docs/SKILL.md": Item(b"")}, "archive-no-skill"),
        ("a", {**SKILL, **{f"f{number}": Item(b"") for number in range(2_000)}}, "archive-too-many-files"),
        ("a", {**SKILL, "x": Item(bytes(16 * 1024 * 1024 + 1))}, "archive-too-large"),
        ("a", {**SKILL, **{f"f{number}": Item(bytes(16 * 1024 * 1024)) for number in range(4)}}, "archive-too-large"),
    ],
)
def test_packing_refuses_what_could_not_be_unpacked(name: str, files: Tree, code: str) -> None:
    with pytest.raises(InvalidError) as caught:
        pack(name, files)
    assert caught.value.code == code


# --- archives that other programs make ------------------------------------------------------------------------------


class _Pipe(io.RawIOBase):
    """A stream that cannot seek, which makes zipfile write the sizes behind the data."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        added = bytes(data)  # type: ignore[call-overload]  # any buffer, as RawIOBase allows
        self.data += added
        return len(added)


def zip_of(
    entries: Iterable[tuple[str | zipfile.ZipInfo, bytes]],
    *,
    method: int = zipfile.ZIP_DEFLATED,
    into: IO[bytes] | None = None,
    comment: bytes = b"",
) -> bytes:
    target = into or io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", method) as opened:
        warnings.simplefilter("ignore")  # zipfile warns about duplicate names, which some tests want
        opened.comment = comment
        for name, data in entries:
            opened.writestr(name, data)
    return target.getvalue() if isinstance(target, io.BytesIO) else b""


def tar_of(
    entries: Iterable[tuple[str | tarfile.TarInfo, bytes]],
    tar_format: int = tarfile.PAX_FORMAT,
    pax_headers: dict[str, str] | None = None,
) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tar_format, pax_headers=pax_headers) as opened:
        for name, data in entries:
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            if info.isreg():
                info.size = len(data)
            opened.addfile(info, io.BytesIO(data))
    return target.getvalue()


def tar_entry(name: str, kind: bytes, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


PLAIN = [("a/SKILL.md", b"body"), ("a/references/x.md", b"x" * 5000)]
UNPACKED = Package("a", {"SKILL.md": Item(b"body"), "references/x.md": Item(b"x" * 5000)})


def streamed_zip() -> bytes:
    pipe = _Pipe()
    zip_of(PLAIN, into=pipe)  # type: ignore[arg-type]  # a raw stream is all that zipfile needs
    return bytes(pipe.data)


def zip64_zip() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in PLAIN:
            with opened.open(name, "w", force_zip64=True) as entry:
                entry.write(data)
    return target.getvalue()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: zip_of(PLAIN), id="zip"),
        pytest.param(lambda: zip_of(PLAIN, method=zipfile.ZIP_STORED), id="zip-stored"),
        pytest.param(lambda: zip_of(PLAIN, comment=b"hello"), id="zip-comment"),
        pytest.param(lambda: zip_of([("a/", b""), ("a/references/", b""), *PLAIN]), id="zip-directories"),
        pytest.param(lambda: zip_of([(f"./{name}", data) for name, data in PLAIN]), id="zip-dot"),
        pytest.param(streamed_zip, id="zip-streamed"),
        pytest.param(zip64_zip, id="zip-64-local"),
        pytest.param(lambda: tar_of(PLAIN), id="tar-pax"),
        pytest.param(lambda: tar_of(PLAIN, tarfile.GNU_FORMAT), id="tar-gnu"),
        pytest.param(lambda: tar_of(PLAIN, tarfile.USTAR_FORMAT), id="tar-ustar"),
        pytest.param(lambda: gzip.compress(tar_of(PLAIN)), id="tar-gz"),
        pytest.param(lambda: gzip.compress(tar_of(PLAIN, pax_headers={"comment": "0123abc"})), id="tar-gz-git"),
        pytest.param(
            lambda: tar_of(
                [
                    (tar_entry("./", tarfile.DIRTYPE), b""),
                    (tar_entry("./a", tarfile.DIRTYPE), b""),
                    *((f"./{name}", data) for name, data in PLAIN),
                ]
            ),
            id="tar-dot",
        ),
        pytest.param(lambda: tar_of(PLAIN)[: 512 * 14], id="tar-short-end"),
    ],
)
def test_archives_of_other_programs_are_read(make: Callable[[], bytes]) -> None:
    assert unpack(make()) == UNPACKED


@pytest.mark.parametrize("tar_format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_of_every_kind_of_tar_are_read(tar_format: int) -> None:
    path = "/".join(["long" * 20] * 2)
    data = tar_of([("a/SKILL.md", b""), (f"a/{path}", b"1"), ("a/\u00e9", b"2")], tar_format)
    assert unpack(data).tree == {"SKILL.md": Item(b""), path: Item(b"1"), "\u00e9": Item(b"2")}


def test_executable_bits_are_kept_by_both_formats() -> None:
    script = zipfile.ZipInfo("a/run")
    script.external_attr = (stat.S_IFREG | 0o755) << 16
    zipped = zip_of([("a/SKILL.md", b""), (script, b"x")])
    tarred = tar_of([("a/SKILL.md", b""), (tar_entry("a/run", tarfile.REGTYPE, mode=0o755), b"x")])
    expected = Package("a", {"SKILL.md": Item(b""), "run": Item(b"x", executable=True)})
    assert (unpack(zipped), unpack(tarred)) == (expected, expected)


def test_a_skill_at_the_root_has_no_name() -> None:
    expected = Package("", {"SKILL.md": Item(b"1"), "docs/a.md": Item(b"2")})
    entries = [("docs/a.md", b"2"), ("SKILL.md", b"1")]
    assert (unpack(zip_of(entries)), unpack(tar_of(entries))) == (expected, expected)


def test_the_older_spelling_of_the_main_file_is_read() -> None:
    assert unpack(zip_of([("a/skill.md", b"1")])) == Package("a", {"skill.md": Item(b"1")})


def test_what_macos_and_tools_leave_behind_is_skipped_and_reported() -> None:
    entries = [
        ("a/SKILL.md", b"1"),
        ("a/.DS_Store", b"x"),
        ("a/scripts/__pycache__/b.pyc", b"x"),
        ("a/.git/config", b"x"),
        (".DS_Store", b"x"),
        ("._a", b"x"),
        ("__MACOSX/a/._SKILL.md", b"x"),
    ]
    skipped = tuple(sorted(name for name, _ in entries[1:]))
    expected = Package("a", {"SKILL.md": Item(b"1")}, skipped=skipped)
    assert (unpack(zip_of(entries)), unpack(tar_of(entries))) == (expected, expected)


def test_contents_takes_whatever_folders_there_are() -> None:
    entries = [("b/SKILL.md", b"2"), ("a/deep/SKILL.md", b"1"), ("README.md", b"3"), ("a/.git/config", b"x")]
    files = {"README.md": Item(b"3"), "a/deep/SKILL.md": Item(b"1"), "b/SKILL.md": Item(b"2")}
    assert contents(zip_of(entries)) == (files, ("a/.git/config",))
    assert contents(gzip.compress(tar_of(entries))) == (files, ("a/.git/config",))
    assert contents(zip_of([])) == ({}, ())


def test_archives_inside_stay_files() -> None:
    inner = pack("inner", SKILL)
    outer = pack("outer", {**SKILL, "assets/inner.skill": Item(inner)})
    assert unpack(outer).tree["assets/inner.skill"] == Item(inner)


# --- refusals; tests/sources/tampered.py has many more ----------------------------------------------------------------


def test_a_flat_archive_is_held_to_the_same_depth() -> None:
    assert code_of(zip_of([("SKILL.md", b""), ("/".join(["d"] * 17), b"")])) == "archive-unsafe-path"


def test_the_refusal_says_which_rule_of_paths_was_broken() -> None:
    with pytest.raises(InvalidError) as caught:
        unpack(zip_of([("a/SKILL.md", b""), ("../x", b"")]))
    assert caught.value.to_json() == {
        "success": False,
        "error": "The entry '../x' has an unsafe name. The path '..' has the part '..'.",
        "code": "archive-unsafe-path",
        "hint": "Rename the file and pack the skill again.",
        "reason": "path-traversal",
    }


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ([], "archive-no-skill"),
        (["a/"], "archive-no-skill"),
        (["a/README.md"], "archive-no-skill"),
        (["README.md"], "archive-no-skill"),
        (["README.md", "docs/a.md"], "archive-no-skill"),
        (["a/b/SKILL.md"], "archive-no-skill"),
        (["__MACOSX/SKILL.md"], "archive-no-skill"),
        (["a/SKILL.md", "b/SKILL.md"], "archive-several"),
        (["a/SKILL.md", "b/x"], "archive-several"),
        (["a/SKILL.md", "README.md"], "archive-several"),
        (["a/x", "b/x"], "archive-several"),
    ],
)
def test_an_archive_holds_exactly_one_skill(names: list[str], code: str) -> None:
    entries = [(name, b"") for name in names]
    assert code_of(zip_of(entries)) == code
    assert code_of(tar_of(entries)) == code


SMALL = Limits(files=2, file_bytes=1000, total_bytes=1500, ratio=20, ratio_from=500)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ([1000], None),
        ([1001], "archive-too-large"),
        ([500, 500], "archive-too-many-files"),
    ],
)
def test_files_are_counted_and_measured(sizes: list[int], code: str | None) -> None:
    entries = [("a/SKILL.md", b""), *((f"a/{at}", noise(size)) for at, size in enumerate(sizes))]
    for data in (zip_of(entries), tar_of(entries), gzip.compress(tar_of(entries))):
        if code is None:
            assert len(unpack(data, limits=SMALL).tree) == 2
        else:
            assert code_of(data, SMALL) == code


def test_the_sum_of_all_files_is_limited() -> None:
    entries = [("a/SKILL.md", noise(800)), ("a/x", noise(701))]
    for data in (zip_of(entries), tar_of(entries), gzip.compress(tar_of(entries))):
        assert code_of(data, SMALL) == "archive-too-large"
        assert len(unpack(data, limits=SMALL._replace(total_bytes=1501)).tree) == 2


def test_an_archive_too_large_to_be_worth_reading_is_not_parsed() -> None:
    assert code_of(b"PK\x03\x04" + bytes(200_000), SMALL) == "archive-too-large"


def test_more_entries_than_files_and_directories_could_need_are_refused() -> None:
    entries = [("a/SKILL.md", b""), *((f"a/d{number}/", b"") for number in range(9))]
    assert code_of(zip_of(entries), SMALL) == "archive-too-many-files"
    directories = [(tar_entry(name.removesuffix("/"), tarfile.DIRTYPE), b"") for name, _ in entries]
    assert code_of(tar_of(directories), SMALL) == "archive-too-many-files"


def headers(count: int) -> bytes:
    """Entries without content, with names that do not compress."""
    names = random.Random(1)
    few = b"".join(tarfile.TarInfo(f"a/{names.randbytes(40).hex()}").tobuf() for _ in range(1_000))
    return few * (count // 1_000)


def test_a_packed_tar_with_too_many_entries_is_given_up_before_it_is_all_unpacked() -> None:
    limits = Limits(files=500)
    data = gzip.compress(headers(60_000) + bytes(1024), 1)
    tracemalloc.start()
    try:
        assert code_of(data, limits) == "archive-too-many-files"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024  # of 30 MB


GREEDY = """
import resource, sys
from whet.errors import InvalidError
from whet.sources.packages import archived
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
try:
    archived(sys.stdin.buffer.read())
except InvalidError as error:
    print(error.code)
"""


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_source_with_half_a_million_entries_is_refused_in_little_memory() -> None:
    data = gzip.compress(headers(500_000) + bytes(1024), 1)
    done = subprocess.run([sys.executable, "-c", GREEDY], input=data, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"archive-too-many-files\n", b"")


def test_a_bomb_is_refused_by_its_ratio_before_it_is_unpacked() -> None:
    bomb = [("a/SKILL.md", b""), ("a/zeros", bytes(40 * 1024 * 1024))]
    assert code_of(zip_of(bomb)) == "archive-ratio"
    assert code_of(gzip.compress(tar_of(bomb))) == "archive-ratio"


def test_many_small_files_make_a_bomb_together() -> None:
    bomb = [("a/SKILL.md", b""), *((f"a/{number}", bytes(900 * 1024)) for number in range(20))]
    assert code_of(zip_of(bomb)) == "archive-ratio"


def test_a_small_file_may_compress_well() -> None:
    entries = [("a/SKILL.md", b""), ("a/zeros", bytes(1024 * 1024))]
    for data in (zip_of(entries), gzip.compress(tar_of([("a/SKILL.md", b""), ("a/zeros", bytes(1024 * 1000))]))):
        assert len(unpack(data).tree) == 2


@pytest.mark.parametrize(("pack", "name"), [(lzma.compress, "xz"), (bz2.compress, "bzip2")])
def test_an_archive_in_another_format_is_called_by_its_name(pack: Callable[[bytes], bytes], name: str) -> None:
    with pytest.raises(InvalidError) as caught:
        unpack(pack(bytes(10_240)))
    assert caught.value.message == f"The archive cannot be read: Whet does not read {name}."
    assert caught.value.hint == "Download it again, or pack it again as zip, tar or tar.gz."


@pytest.mark.parametrize("data", [b"", b"PK", b"hello", b"\x1f\x8b", noise(2000), b"<html>" * 200, b"PK\x03\x04" * 50])
def test_what_is_no_archive_is_not_readable(data: bytes) -> None:
    assert code_of(data) == "archive-not-readable"


@pytest.mark.parametrize("make", [lambda: zip_of(PLAIN), lambda: tar_of(PLAIN), lambda: gzip.compress(tar_of(PLAIN))])
def test_a_truncated_archive_is_never_read_in_part(make: Callable[[], bytes]) -> None:
    data = make()
    end = data.rstrip(b"\0") if data[:2] not in {b"PK", b"\x1f\x8b"} else data
    for length in range(0, len(end) - 1, 37):
        assert code_of(data[:length]) == "archive-not-readable"
    assert code_of(data + b"more") == "archive-not-readable"


@FAST
@given(
    st.sampled_from([pack("golden", GOLDEN), zip_of(PLAIN), tar_of(PLAIN), gzip.compress(tar_of(PLAIN), mtime=0)]),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=3),
)
def test_a_damaged_archive_is_read_or_refused_and_nothing_else(data: bytes, changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(data)
    for at, value in changes:
        damaged[at % len(damaged)] = value
    try:
        package = unpack(bytes(damaged))
    except InvalidError:
        return
    assert all(check(path) == path for path in package.tree)


@FAST
@given(st.binary(max_size=2000))
def test_any_bytes_are_read_or_refused_and_nothing_else(data: bytes) -> None:
    for start in (b"", b"PK\x03\x04", b"\x1f\x8b\x08"):
        assert code_of(start + data) == "archive-not-readable"
