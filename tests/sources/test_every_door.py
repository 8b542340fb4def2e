"""What is a skill: every door of Whet gives the same answer for the same files, or a difference that is named here."""

from __future__ import annotations

import errno
import io
import os
import zipfile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from sources.reaching import main, reach
from sources.repositories import Linked, Repository, World
from whet.api import Library
from whet.errors import WhetError
from whet.interfaces.mcp.packages import unfit
from whet.library import doctor, package
from whet.library.package import read_package
from whet.library.standalone import check, digest, pack, skills_below
from whet.sources.local import ArchiveSource, PathSource
from whet.sources.model import Ref
from whet.sources.sync.plan import skills_below as synced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from whet.sources.model import FetchContext, Listing
    from whet.sources.web.client import Web

LINKS = pytest.mark.skipif(os.name != "posix", reason="links need a privilege on Windows")
HERE = "."
"""The place itself."""
LIBRARY = ("catalogue", "sync")
"""Doors to a root of the library: what lies in a hidden directory was put away."""
SOURCES = ("directory", "archive", "git")
"""Doors that skills are installed through: a skill is taken with everything in it."""
PLACES = ("validate", "scan")
"""Doors to any directory."""
DOORS = (*LIBRARY, *PLACES, *SOURCES)


class Layout(NamedTuple):
    """Files, and the skills among them."""

    files: tuple[str, ...]
    skills: tuple[str, ...]
    """What every door finds."""
    differences: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Door -> what it finds, where that is something else."""
    links: tuple[tuple[str, str], ...] = ()


def all_of(doors: tuple[str, ...], *skills: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(doors, skills)


LAYOUTS = {
    "SKILL.md": Layout(("a/SKILL.md",), ("a",)),
    "skill.md": Layout(("a/skill.md",), ("a",)),
    "Skill.md": Layout(("a/Skill.md",), ("a",)),
    "SKILLS.md": Layout(("a/SKILLS.md",), ("a",)),
    "skills.md": Layout(("a/skills.md",), ("a",)),
    "no main file": Layout(("a/README.md", "a/SKILL.MD", "a/xSKILL.md", "a/SKILL.md.bak", "b/SKILL.md"), ("b",)),
    "a main file that is a directory": Layout(("a/SKILL.md/x", "b/SKILL.md"), ("b",)),
    "categories": Layout(("b/SKILL.md", "tools/a/SKILL.md", "tools/deep/c/SKILL.md"), ("b", "tools/a", "tools/deep/c")),
    "a skill in a skill is part of it": Layout(("a/SKILL.md", "a/b/SKILL.md", "a/examples/c/SKILL.md"), ("a",)),
    "a list of skills is none": Layout(("SKILLS.md", "x/skills.md", "x/a/SKILL.md"), ("x/a",)),
    "the place is a skill": Layout(("SKILL.md", "scripts/run.py"), (HERE,), {"sync": ()}),
    "the place is a skill and holds others": Layout(
        ("SKILL.md", "b/SKILL.md", "examples/c/SKILL.md"), (HERE, "b"), {**all_of(SOURCES, HERE), "sync": ("b",)}
    ),
    "hidden directories": Layout(
        (".claude/skills/a/SKILL.md", "b/SKILL.md"), (".claude/skills/a", "b"), all_of(LIBRARY, "b")
    ),
    "directories that nobody searches": Layout(
        ("node_modules/a/SKILL.md", "x/__pycache__/c/SKILL.md", "b/SKILL.md"),
        ("b",),
        {"scan": ("b", "node_modules/a", "x/__pycache__/c")},
    ),
    "a repository's own directory": Layout((".git/hooks/a/SKILL.md", "b/SKILL.md"), ("b",), {"git": ("b",)}),
    "a link to a skill": Layout(
        ("tools/a/SKILL.md",),
        ("tools/a",),
        {"validate": ("linked", "tools/a"), "sync": ("linked", "tools/a")},
        (("linked", "tools/a"),),
    ),
    "single files are skills of a library only": Layout(
        ("a.md", "b/SKILL.md", "tools/c.md"), ("b",), {"catalogue": ("a.md", "b")}
    ),
    "command files are skills of their client only": Layout((".claude/commands/a.md", "b/SKILL.md"), ("b",)),
}


class Place:
    """Files on a disk, and every door to them."""

    def __init__(self, top: Path, layout: Layout) -> None:
        self.top = top
        self.root = top / "skills"
        self.files = {path: main(os.path.basename(os.path.dirname(path)) or "whole") for path in layout.files}
        self.links = layout.links
        for path, data in self.files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        for path, to in layout.links:
            (self.root / path).symlink_to(to)

    def library(self) -> Library:
        return Library.open(
            [str(self.root)], home=str(self.top / "state"), project=str(self.top), env={"HOME": str(self.top)}
        )

    def relative(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    def catalogue(self) -> list[str]:
        with self.library() as library:
            cards = library.catalogue.cards
            shadowed = [loser for loser, _ in library.catalogue.shadowed]
            assert all(library.read(card.path).to_json()["name"] == card.full_name for card in cards)
            return [self.relative(card.location) for card in (*cards, *shadowed)]

    def sync(self) -> list[str]:
        return [*synced(str(self.root))]

    def validate(self) -> list[str]:
        return [self.relative(path) for path in skills_below(str(self.root))]

    def scan(self) -> list[str]:
        with self.library() as library:
            return [self.relative(result.path) for result in library.guard.scan(self.root, recursive=True).results]

    def directory(self) -> list[str]:
        return offered(PathSource(Ref("path", str(self.root)), reaching()).inspect())

    def archive(self) -> list[str]:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as opened:
            for path, data in {"LICENSE": b"", **self.files}.items():  # else the one folder would not count
                opened.writestr(path, data)
        (self.top / "all.zip").write_bytes(target.getvalue())
        return offered(ArchiveSource(Ref("archive", str(self.top / "all.zip")), reaching()).inspect())

    def git(self) -> list[str]:
        repository = Repository.new(self.top / "repository")
        links = {path: Linked(to) for path, to in self.links}
        kept = {path: data for path, data in self.files.items() if not path.startswith(".git/")}
        repository.commit({**kept, **links})
        (self.top / "world").mkdir()
        with World(self.top / "world") as world:
            return offered(world.source(repository.url).inspect())


def reaching() -> FetchContext:
    return reach(cast("Web", None))  # nothing here needs the network


def offered(listing: Listing) -> list[str]:
    return [offer.ref.path or HERE for offer in listing.offers]


@LINKS
@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_door_finds_the_same_skills(tmp_path: Path, kind: str) -> None:
    layout = LAYOUTS[kind]
    place = Place(tmp_path, layout)
    found = {door: sorted(getattr(place, door)()) for door in DOORS}
    assert found == {door: sorted(layout.differences.get(door, layout.skills)) for door in DOORS}


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md", "Skill.md", "SKILLS.md", "skills.md"])
def test_what_is_listed_can_be_shown_checked_packed_and_installed(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path, Layout((f"a/{name}", "a/scripts/run.py"), ("a",)))
    directory = str(place.root / "a")
    own = read_package(directory).digest
    with place.library() as library:
        (card,) = library.catalogue.cards
        view = library.read("a").to_json()
        assert (view["digest"], [item["path"] for item in view["files"]]) == (own, sorted((name, "scripts/run.py")))
        assert [note.code for note in card.notes] == ([] if name == "SKILL.md" else ["old-main-name"])
        (result,) = library.guard.scan(directory).results
        assert (result.digest, result.skill) == (own, "a")
        assert {note.code for note in library.doctor() if note.severity == "error"} == set()
        assert bool(unfit(card)) == (name != "SKILL.md")  # MCP has one name for a main file
    assert digest(directory) == digest(os.path.join(directory, name)) == own
    assert pack(directory, str(tmp_path / "a.skill")).to_json()["digest"] == digest(str(tmp_path / "a.skill")) == own
    codes = [finding["code"] for finding in check(directory).to_json()["findings"]]
    assert codes == ([] if name == "SKILL.md" else ["main-file-name"])
    assert check(directory).to_json()["valid"] == (name in ("SKILL.md", "skill.md"))  # as the reference validator says
    for source in (PathSource(Ref("path", directory), reaching()), ArchiveSource(packed(tmp_path), reaching())):
        (offer,) = source.inspect().offers
        assert (offer.name, offer.marker) == ("a", own)
        assert source.fetch([offer])[0].tree == read_package(directory).tree


def packed(top: Path) -> Ref:
    return Ref("archive", str(top / "a.skill"))


def test_a_directory_that_cannot_be_searched_is_told_by_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, Layout(("a/SKILL.md", "broken/b/SKILL.md"), ("a",)))
    wanted, real = os.stat(place.root / "broken").st_ino, os.scandir

    def scandir(path: Any = ".") -> Any:
        if os.stat(path).st_ino == wanted:
            raise OSError(errno.EIO, "Input/output error")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert place.directory() == ["a"]
    notes = PathSource(Ref("path", str(place.root)), reaching()).inspect().notes
    assert [(note.code, note.path) for note in notes] == [("unreadable", "broken")]
    with place.library() as library:
        assert [card.name for card in library.catalogue.cards] == ["a"]
        assert "unreadable-directory" in {note.code for note in library.workspace.report()}
        found = library.guard.scan(place.root, recursive=True).results
        assert [(place.relative(item.path), [finding.rule for finding in item.findings]) for item in found] == [
            ("a", []),
            ("broken", ["not-analysed"]),
        ]
    assert code_of(place.validate) == code_of(place.sync) == "unreadable"


def test_a_skill_beyond_the_limits_is_listed_and_told_by_whoever_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, Layout(("a/SKILL.md", *(f"a/assets/{number}/x" for number in range(5))), ("a",)))
    for module in (package, doctor):
        monkeypatch.setattr(module, "LIMITS", package.LIMITS._replace(files=5))
    directory = str(place.root / "a")
    assert place.catalogue() == place.sync() == place.validate() == ["a"]
    with place.library() as library:
        assert "too-many-files" in {note.code for note in library.doctor()}
        (result,) = library.guard.scan(directory).results
        assert [finding.rule for finding in result.findings] == ["not-analysed"]
    assert "too-many-files" in {finding["code"] for finding in check(directory).to_json()["findings"]}
    for door in (lambda: digest(directory), lambda: pack(directory), place.directory):
        assert code_of(door) == "too-many-files"


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(WhetError) as caught:
        call()
    return caught.value.code
