from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, cast

import pytest

from sources.reaching import codes, main, packed, reach
from whet.authoring.trees import digest
from whet.errors import NotFoundError, WhetError
from whet.library.files import read_file
from whet.library.package import read_tree
from whet.notes import Progress
from whet.skill.tree import Item, library_digest
from whet.sources import local
from whet.sources.local import ArchiveSource, PathSource
from whet.sources.model import Fetched, Listing, Offer, Ref, open_source
from whet.store.atomic import temporary_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.sources.model import FetchContext
    from whet.sources.web.client import Web

LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")


def reaching(seen: list[Progress] | None = None) -> FetchContext:
    return reach(cast("Web", None), seen=seen)  # nothing here needs the network


def put(directory: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return directory


def skills(directory: Path, *paths: str) -> Path:
    return put(directory, {f"{path}/SKILL.md": main(path.rpartition("/")[2]) for path in paths})


def at(directory: Path, path: str = "") -> PathSource:
    return PathSource(Ref("path", str(directory), path=path), reaching())


def content(directory: Path) -> str:
    return digest(read_tree(str(directory)))


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(WhetError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


# --- directories ----------------------------------------------------------------------------------------------------


def test_a_directory_that_is_a_skill_is_offered_as_itself(tmp_path: Path) -> None:
    directory = put(
        tmp_path / "deploy", {"SKILL.md": main("deploy", "Ships it."), "scripts/x": b"1", ".git/config": b""}
    )
    ref = Ref("path", str(directory))
    source = open_source(ref, reaching())
    listing = source.inspect()
    mark = content(directory)
    offer = Offer("deploy", "Ships it.", ref, mark, mark)
    assert listing == Listing(ref, mark, (offer,))
    assert source.fetch(listing.offers) == (
        Fetched(offer, {"SKILL.md": Item(main("deploy", "Ships it.")), "scripts/x": Item(b"1")}),
    )
    source.close()


def test_naming_the_main_file_means_its_directory(tmp_path: Path) -> None:
    skills(tmp_path, "a")
    assert [offer.name for offer in at(tmp_path / "a" / "SKILL.md").inspect().offers] == ["a"]


def test_a_skill_without_a_name_is_called_like_its_directory(tmp_path: Path) -> None:
    put(tmp_path, {"x/SKILL.md": b"Does x.", "y/z/skill.md": b"Does z."})
    assert [(offer.name, offer.description) for offer in at(tmp_path).inspect().offers] == [
        ("x", "Does x."),
        ("z", "Does z."),
    ]
    assert [offer.name for offer in at(tmp_path / "x").inspect().offers] == ["x"]


def test_a_directory_with_several_skills_offers_each_by_its_path(tmp_path: Path) -> None:
    skills(tmp_path, "b", "tools/a", ".claude/skills/c", "node_modules/d", "b/examples/e", "skills/.curated/f")
    put(tmp_path, {"skills.md": b"All of them.", "README.md": b""})
    ref = Ref("path", str(tmp_path))
    listing = at(tmp_path).inspect()
    found = [".claude/skills/c", "b", "skills/.curated/f", "tools/a"]
    assert [offer.ref for offer in listing.offers] == [ref._replace(path=path) for path in found]
    assert [offer.marker for offer in listing.offers] == [content(tmp_path / path) for path in found]
    assert listing.revision == library_digest((path, content(tmp_path / path)) for path in found)
    assert listing.notes == ()


def test_an_offer_can_be_looked_up_again_by_its_reference(tmp_path: Path) -> None:
    skills(tmp_path, "b", "tools/a")
    for offer in at(tmp_path).inspect().offers:
        again = PathSource(offer.ref, reaching()).inspect()
        assert again == Listing(offer.ref, offer.revision, (offer,))
    assert [offer.ref.path for offer in at(tmp_path, "tools").inspect().offers] == ["tools/a"]


def test_a_skill_below_another_can_be_named_by_its_path(tmp_path: Path) -> None:
    skills(tmp_path, "a", "a/examples/b")
    assert [offer.name for offer in at(tmp_path, "a/examples/b").inspect().offers] == ["b"]


def test_what_is_being_written_is_left_out(tmp_path: Path) -> None:
    skills(tmp_path, "a")
    put(tmp_path, {f"{os.path.basename(temporary_path(str(tmp_path / 'b')))}/SKILL.md": main("b")})
    before = at(tmp_path).inspect()
    put(tmp_path / "a", {os.path.basename(temporary_path(str(tmp_path / "a" / "SKILL.md"))): b"half"})
    assert at(tmp_path).inspect() == before
    assert [offer.name for offer in before.offers] == ["a"]


def test_a_change_of_the_content_changes_the_marker_and_a_touch_does_not(tmp_path: Path) -> None:
    skills(tmp_path, "a")
    before = at(tmp_path).inspect()
    os.utime(tmp_path / "a" / "SKILL.md", (1, 1))
    assert at(tmp_path).inspect() == before
    put(tmp_path / "a", {"x": b"1"})
    assert at(tmp_path).inspect().offers[0].marker != before.offers[0].marker


def test_what_changed_since_it_was_listed_is_fetched_as_it_was_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skills(tmp_path, "a", "b")
    source = at(tmp_path)
    listing = source.inspect()
    put(tmp_path / "b", {"x": b"1"})
    assert [sorted(one.tree) for one in source.fetch(listing.offers)] == [["SKILL.md"], ["SKILL.md"]]
    assert code_of(lambda: at(tmp_path).fetch(listing.offers)) == "source-changed"
    with monkeypatch.context() as patch:
        patch.setattr(local, "read_package", None)
        assert len(source.fetch(listing.offers)) == 2, "without reading it again"
    monkeypatch.setattr(local, "_HELD", 0)
    source = at(tmp_path)
    listing = source.inspect()
    put(tmp_path / "b", {"x": b"2"})
    assert code_of(lambda: source.fetch(listing.offers)) == "source-changed", "what is not held is read again"
    assert len(source.fetch(source.inspect().offers)) == 2


@pytest.mark.parametrize(
    ("location", "path", "code"),
    [
        ("missing", "", "path-not-found"),
        ("empty", "", "no-skills-found"),
        ("empty/notes.md", "", "not-a-package"),
        ("several", "missing", "path-not-found"),
        ("several", "../empty", "path-traversal"),
        ("several", "/etc", "path-absolute"),
        ("several/a", "deep/missing", "path-not-found"),
    ],
)
def test_places_without_a_skill_are_clear_errors(tmp_path: Path, location: str, path: str, code: str) -> None:
    skills(tmp_path, "several/a", "several/b")
    put(tmp_path, {"empty/notes.md": b"", "empty/x/README.md": b""})
    assert code_of(at(tmp_path / location, path).inspect) == code


def test_a_path_with_nothing_leads_to_what_was_meant(tmp_path: Path) -> None:
    skills(tmp_path, "team/skills/a")
    (tmp_path / "team/.git").mkdir()
    hints = {
        "team/a": f"To install that skill, run `whet install {tmp_path}/team --skill a`.",
        "team@main": f"For a revision of a repository on this disk, write {(tmp_path / 'team').as_uri()}#main",
        "team/b": "Check the path.",
        "other@main": "Check the path.",
    }
    for location, hint in hints.items():
        with pytest.raises(NotFoundError) as caught:
            at(tmp_path / location).inspect()
        assert (caught.value.code, caught.value.hint) == ("path-not-found", hint)


def test_a_skill_that_vanished_cannot_be_fetched(tmp_path: Path) -> None:
    source = at(skills(tmp_path, "a"))
    offers = source.inspect().offers
    (tmp_path / "a").rename(tmp_path / "elsewhere")
    source.close()
    assert code_of(lambda: source.fetch(offers)) == "path-not-found"


@LINKS
def test_links_that_leave_are_never_followed(tmp_path: Path) -> None:
    skills(tmp_path, "outside/secret", "inside/a", "inside/bad")
    inside = tmp_path / "inside"
    (inside / "linked").symlink_to(tmp_path / "outside" / "secret")
    (inside / "again").symlink_to("a")
    (inside / "broken").symlink_to("nowhere")
    (inside / "around").symlink_to("..")
    (inside / "bad" / "data").symlink_to("/etc/passwd")
    listing = at(inside).inspect()
    assert [offer.ref.path for offer in listing.offers] == ["a"]
    assert codes(listing.notes) == [("link-escape", "linked"), ("link-escape", "bad")]
    assert code_of(at(inside, "linked").inspect) == "path-escape"
    assert code_of(at(inside, "bad").inspect) == "link-escape"
    (inside / "a" / "SKILL.md").unlink()
    (inside / "a" / "SKILL.md").symlink_to(tmp_path / "outside" / "secret" / "SKILL.md")
    assert code_of(at(inside, "a").inspect) == "link-escape"


@LINKS
def test_a_directory_with_nothing_but_links_says_where_they_lead(tmp_path: Path) -> None:
    skills(tmp_path, "outside/a")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a").symlink_to(tmp_path / "outside" / "a")
    with pytest.raises(WhetError) as caught:
        at(tmp_path / "inside").inspect()
    assert caught.value.code == "link-escape"
    assert caught.value.hint == f"Pass {tmp_path / 'outside' / 'a'} instead."


@LINKS
def test_links_within_a_skill_are_part_of_it(tmp_path: Path) -> None:
    skills(tmp_path, "a")
    (tmp_path / "a" / "latest").symlink_to("SKILL.md")
    source = at(tmp_path)
    (fetched,) = source.fetch(source.inspect().offers)
    assert fetched.tree == {"SKILL.md": Item(main("a")), "latest": Item(b"SKILL.md", link=True)}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_special_files_refuse_their_skill_and_hide_no_other(tmp_path: Path) -> None:
    skills(tmp_path, "a", "b")
    os.mkfifo(tmp_path / "a" / "pipe")
    listing = at(tmp_path).inspect()
    assert [offer.name for offer in listing.offers] == ["b"]
    assert codes(listing.notes) == [("special-file", "a")]
    os.remove(tmp_path / "b" / "SKILL.md")
    os.mkfifo(tmp_path / "b" / "SKILL.md")
    assert code_of(at(tmp_path, "b").inspect) == "special-file"


def test_a_skill_that_could_not_be_stored_everywhere_is_refused(tmp_path: Path) -> None:
    skills(tmp_path, "a", "b")
    put(tmp_path / "a", {"-rf": b""})
    listing = at(tmp_path).inspect()
    assert [offer.name for offer in listing.offers] == ["b"]
    assert codes(listing.notes) == [("archive-unsafe-path", "a")]


def test_large_files_are_refused(tmp_path: Path) -> None:
    skills(tmp_path, "a")
    with open(tmp_path / "a" / "model.bin", "wb") as target:
        target.truncate((1 << 24) + 1)
    assert code_of(at(tmp_path).inspect) == "archive-too-large"


def test_a_directory_with_far_too_much_in_it_is_not_searched_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MAX_ENTRIES", 5)
    skills(tmp_path, *(f"d{number}/a" for number in range(5)))
    assert code_of(at(tmp_path).inspect) == "source-too-large"


@LINKS
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_directories_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    skills(tmp_path, "a", "locked/b")
    (tmp_path / "locked").chmod(0)
    try:
        assert codes(at(tmp_path).inspect().notes) == [("unreadable", "locked")]
        assert code_of(at(tmp_path / "locked").inspect) == "unreadable"
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_directories_that_the_system_cannot_read_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skills(tmp_path, "a", "broken/b")
    wanted = os.stat(tmp_path / "broken").st_ino
    real = os.scandir

    def scandir(place: int | str) -> object:
        if os.stat(place).st_ino == wanted:
            raise OSError(errno.EIO, "Input/output error")
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    assert codes(at(tmp_path).inspect().notes) == [("unreadable", "broken")]
    assert code_of(at(tmp_path / "broken").inspect) == "unreadable"


def test_a_search_can_be_cancelled_and_tells_how_far_it_is(tmp_path: Path) -> None:
    skills(tmp_path, "a", "b")
    seen: list[Progress] = []
    around = reaching(seen)
    source = PathSource(Ref("path", str(tmp_path)), around)
    source.fetch(source.inspect().offers)
    assert seen == [
        Progress(str(tmp_path), 0, 2, "skills"),
        Progress(str(tmp_path), 1, 2, "skills"),
        Progress("a", 0, 2, "skills"),
        Progress("b", 1, 2, "skills"),
    ]
    around.cancelled.set()
    assert code_of(source.inspect) == "cancelled"


def test_skills_too_much_for_one_fetch_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skills(tmp_path, "a", "b")
    monkeypatch.setattr("whet.sources.packages.FETCH_BYTES", len(main("a")) + 1)
    source = at(tmp_path)
    offers = source.inspect().offers
    assert len(source.fetch(offers[:1])) == 1
    assert code_of(lambda: source.fetch(offers)) == "source-too-large"


# --- archives -------------------------------------------------------------------------------------------------------


def archive(path: Path, data: bytes, inner: str = "") -> ArchiveSource:
    path.write_bytes(data)
    return ArchiveSource(Ref("archive", str(path), path=inner), reaching())


def zip_of(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in files.items():
            opened.writestr(name, data)
    return target.getvalue()


def tar_gz_of(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as opened:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    return gzip.compress(target.getvalue())


def test_a_packed_skill_is_offered_as_the_whole_archive(tmp_path: Path) -> None:
    data = packed("deploy", {"scripts/run.sh": b"#!/bin/sh\n"})
    source = archive(tmp_path / "deploy.skill", data)
    listing = source.inspect()
    tree = {"SKILL.md": Item(main("deploy")), "scripts/run.sh": Item(b"#!/bin/sh\n", executable=True)}
    revision = f"sha256:{hashlib.sha256(data).hexdigest()}"
    offer = Offer("deploy", "Does one thing.", source.ref, revision, digest(tree))
    assert listing == Listing(source.ref, revision, (offer,))
    assert source.fetch(listing.offers) == (Fetched(offer, tree),)
    source.close()
    assert source.fetch(listing.offers) == (Fetched(offer, tree),)


@pytest.mark.parametrize("folder", ["", "repo-1.2/"])
@pytest.mark.parametrize("make", [zip_of, tar_gz_of])
def test_an_archive_with_several_skills_offers_each_below_its_one_folder(
    tmp_path: Path, make: Callable[[dict[str, bytes]], bytes], folder: str
) -> None:
    files = {"skills/a/SKILL.md": main("a"), "skills/b/SKILL.md": main("b"), "README.md": b""}
    source = archive(tmp_path / "x", make({folder + name: data for name, data in files.items()}))
    listing = source.inspect()
    assert [offer.ref.path for offer in listing.offers] == ["skills/a", "skills/b"]
    assert [item.tree for item in source.fetch(listing.offers[::-1])] == [
        {"SKILL.md": Item(main("b"))},
        {"SKILL.md": Item(main("a"))},
    ]
    for offer in listing.offers:
        assert ArchiveSource(offer.ref, reaching()).inspect() == Listing(offer.ref, listing.revision, (offer,))


def test_a_skill_at_the_root_without_a_name_is_called_like_the_file(tmp_path: Path) -> None:
    source = archive(tmp_path / "deploy.tar.gz", tar_gz_of({"SKILL.md": b"Ships it.", "x/y": b""}))
    assert [offer.name for offer in source.inspect().offers] == ["deploy"]


def test_the_same_skill_in_another_archive_has_the_same_marker_and_another_revision(tmp_path: Path) -> None:
    files = {"a/SKILL.md": main("a"), "a/x": b"1"}
    one = archive(tmp_path / "one", zip_of(files)).inspect().offers[0]
    two = archive(tmp_path / "two", tar_gz_of({f"a-2/{name[2:]}": data for name, data in files.items()})).inspect()
    assert one.marker == two.offers[0].marker
    assert one.revision != two.offers[0].revision


def test_an_archive_that_changed_since_it_was_listed_is_not_fetched(tmp_path: Path) -> None:
    offers = archive(tmp_path / "x", packed("a")).inspect().offers
    later = archive(tmp_path / "x", packed("a", {"new": b"1"}))
    assert code_of(lambda: later.fetch(offers)) == "source-changed"


def test_an_archive_that_is_being_written_is_not_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = archive(tmp_path / "x", packed("a"))
    real = read_file
    writes = iter(range(3))

    def read(path: str, limit: int) -> bytes:
        data = real(path, limit)
        if next(writes, None) is not None:
            with open(path, "ab") as target:
                target.write(b"more")
        return data

    monkeypatch.setattr(local, "read_file", read)
    assert code_of(source.inspect) == "archive-not-readable"
    writes = iter(range(100))
    assert code_of(source.inspect) == "source-changed"


@pytest.mark.parametrize(
    ("name", "inner", "code"),
    [
        ("missing", "", "path-not-found"),
        ("directory", "", "not-an-archive"),
        ("text", "", "archive-not-readable"),
        ("a.skill", "missing", "no-skills-found"),
        ("a.skill", "../x", "path-traversal"),
    ],
)
def test_files_without_a_skill_are_clear_errors(tmp_path: Path, name: str, inner: str, code: str) -> None:
    put(tmp_path, {"directory/x": b"", "text": b"hello", "a.skill": packed("a")})
    assert code_of(ArchiveSource(Ref("archive", str(tmp_path / name), path=inner), reaching()).inspect) == code


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_no_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert code_of(ArchiveSource(Ref("archive", str(tmp_path / "pipe")), reaching()).inspect) == "unreadable"
