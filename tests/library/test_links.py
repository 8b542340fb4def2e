"""Links in a root: followed into declared directories, refused with a reason anywhere else, never walked twice."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library


def names(library: Library) -> list[str]:
    return [item["name"] for item in library.skills().to_json()["skills"]]


def places(library: Library, base: str) -> list[tuple[str, str]]:
    """Where each skill is listed, and its category."""
    return [(os.path.relpath(item["path"], base), item["category"]) for item in library.skills().to_json()["skills"]]


def notes(library: Library, base: str) -> list[tuple[str, str, str]]:
    """What is reported about places; that a skill's name is not that of a link to it is not of interest here."""
    entries = [entry for entry in library.workspace.report() if entry.code != "name-directory-mismatch"]
    return sorted((entry.code, entry.severity, os.path.relpath(entry.path, base)) for entry in entries)


@pytest.fixture
def outside(tmp_path: Path, skill: Callable[..., str]) -> str:
    """A directory of skills that is nobody's root."""
    skill(str(tmp_path / "outside"), "foreign")
    return str(tmp_path / "outside")


# followed


def test_a_link_to_a_directory_in_a_declared_root_is_followed(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(tmp_path / "other"), "group/shared")
    os.symlink(tmp_path / "other" / "group" / "shared", f"{root}/alias")
    library = opened(root, str(tmp_path / "other"))
    assert places(library, str(tmp_path)) == [("root/alias", "")]
    assert notes(library, root) == []
    assert library.read("shared").content == "Body.\n"


def test_a_link_to_a_declared_target_outside_the_roots_is_followed(
    root: str, outside: str, config: Callable[..., None], opened: Callable[..., Library]
) -> None:
    os.symlink(f"{outside}/foreign", f"{root}/alias")
    os.symlink(outside, f"{root}/category")
    config(f"links = ['{outside}']")
    library = opened(root)
    assert (names(library), notes(library, root)) == (["foreign"], [])


def test_a_main_file_that_is_a_link_is_followed_listed_and_opened(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "original", body="The original.\n")
    os.mkdir(f"{root}/copy")
    os.symlink("../original/SKILL.md", f"{root}/copy/SKILL.md")
    os.mkdir(f"{root}/renamed")
    with open(f"{root}/shared.txt", "w") as file:
        file.write("---\nname: renamed\ndescription: From a text.\n---\nThe text.\n")
    os.symlink("../shared.txt", f"{root}/renamed/SKILL.md")
    library = opened(root)
    assert places(library, root) == [("original", ""), ("renamed", "")]
    assert library.read("original").content == "The original.\n"
    answer = library.read("renamed").to_json()
    assert (answer["content"], answer["files"]) == ("The text.\n", [{"path": "SKILL.md", "size": 58}])
    assert library.read("renamed", "SKILL.md").content.endswith("The text.\n")
    before = answer["digest"]
    with open(f"{root}/shared.txt", "a") as file:
        file.write("More.\n")
    assert library.read("renamed").digest != before


def test_a_hidden_directory_is_found_behind_a_visible_link(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, ".store/one")
    skill(root, ".store/group/two")
    os.symlink(".store", f"{root}/visible")
    os.symlink(".store/one", f"{root}/direct")
    assert places(opened(root), root) == [("direct", ""), ("visible/group/two", "visible/group")]


def test_the_same_target_twice_is_one_skill(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "real")
    os.symlink("real", f"{root}/again")
    os.symlink("again", f"{root}/and-again")
    library = opened(root)
    assert places(library, root) == [("real", "")]
    assert library.workspace.report() == ()


def test_a_linked_category_is_searched_once_and_under_its_own_name(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "zoo/lion")
    os.symlink("zoo", f"{root}/animals")
    library = opened(root)
    assert places(library, root) == [("zoo/lion", "zoo")]
    assert notes(library, root) == [("link-repeated", "info", "animals")]


def test_a_root_may_be_a_link(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "one")
    os.symlink("one", f"{root}/two")
    os.symlink(root, tmp_path / "link")
    library = opened(str(tmp_path / "link"))
    assert places(library, str(tmp_path)) == [("link/one", "")]
    assert library.read("one").to_json()["path"] == str(tmp_path / "link" / "one")
    assert names(opened(str(tmp_path / "link"), root)) == ["one"]


def test_overlapping_roots_give_one_skill(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    skill(root, "group/deep")
    for roots in ((root, f"{root}/group"), (f"{root}/group", root)):
        library = opened(*roots)
        assert (names(library), notes(library, root)) == (["deep"], [])


# refused


def test_a_link_that_leaves_every_root_is_refused(root: str, outside: str, opened: Callable[..., Library]) -> None:
    os.symlink(outside, f"{root}/directory")
    os.symlink(f"{outside}/foreign", f"{root}/skill")
    os.symlink(f"{outside}/foreign/SKILL.md", f"{root}/flat.md")
    os.mkdir(f"{root}/linked-main")
    os.symlink(f"{outside}/foreign/SKILL.md", f"{root}/linked-main/SKILL.md")
    os.symlink(f"{outside}/foreign/SKILL.md", f"{root}/irrelevant.txt")
    library = opened(root)
    assert names(library) == []
    assert notes(library, root) == [
        ("link-escape", "error", "directory"),
        ("link-escape", "error", "flat.md"),
        ("link-escape", "error", "linked-main/SKILL.md"),
        ("link-escape", "error", "skill"),
    ]
    hints = {entry.path: entry.hint for entry in library.workspace.report()}
    trust = f"If you trust what is there, run `whet guard trust {outside}/foreign`; or copy the skill."
    copy = "Link the directory of the skill instead, or copy the file."
    assert (hints[f"{root}/skill"], hints[f"{root}/flat.md"]) == (trust, copy)


def test_a_name_that_only_begins_like_a_root_is_outside(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(f"{root}-other", "foreign")
    os.symlink(f"{root}-other/foreign", f"{root}/alias")
    assert notes(opened(root), root) == [("link-escape", "error", "alias")]


def test_links_in_circles_are_refused(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    skill(root, "a/b/one")
    os.symlink(".", f"{root}/a/self")
    os.symlink("../..", f"{root}/a/b/above")
    os.symlink(root, f"{root}/top")
    os.symlink("itself", f"{root}/itself")
    os.symlink("pong", f"{root}/ping")
    os.symlink("ping", f"{root}/pong")
    library = opened(root)
    assert places(library, root) == [("a/b/one", "a/b")]
    assert notes(library, root) == [
        ("link-broken", "warning", "itself"),
        ("link-broken", "warning", "ping"),
        ("link-broken", "warning", "pong"),
        ("link-cycle", "warning", "a/b/above"),
        ("link-cycle", "warning", "a/self"),
        ("link-cycle", "warning", "top"),
    ]


def test_categories_that_link_to_each_other_are_searched_once(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    letters = "abcdefgh"
    for one in letters:
        skill(root, f"{one}/skill-{one}")
        for other in letters:
            if one != other:
                os.symlink(f"../{other}", f"{root}/{one}/to-{other}")
    library = opened(root)
    assert places(library, root) == [(f"{one}/skill-{one}", one) for one in letters]
    assert {entry.code for entry in library.workspace.report()} == {"link-repeated"}
    assert len(library.workspace.report()) == len(letters) * (len(letters) - 1)


def test_hidden_directories_that_link_to_each_other_are_searched_once(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, ".x/one")
    skill(root, ".y/two")
    os.symlink("../.y", f"{root}/.x/y")
    os.symlink("../.x", f"{root}/.y/x")
    os.symlink(".x", f"{root}/entry")
    library = opened(root)
    assert places(library, root) == [("entry/one", "entry"), ("entry/y/two", "entry/y")]
    assert notes(library, root) == [("link-repeated", "info", "entry/y/x")]


# mended


def test_mending_a_refused_link_is_noticed(
    root: str,
    outside: str,
    tmp_path: Path,
    skill: Callable[..., str],
    config: Callable[..., None],
    opened: Callable[..., Library],
) -> None:
    skill(root, "base")
    os.symlink("later", f"{root}/broken")
    os.symlink(f"{outside}/foreign", f"{root}/escaping")
    os.symlink(root, f"{root}/circle")
    library = opened(root, settled=True)
    assert [code for code, _, _ in notes(library, root)] == ["link-broken", "link-cycle", "link-escape"]
    skill(str(tmp_path), "root/.hidden/later")
    os.rename(f"{root}/.hidden/later", f"{root}/later")
    assert "later" in names(library)
    config(f"links = ['{outside}']")
    assert "foreign" in names(library)
    os.unlink(f"{root}/circle")
    os.symlink(".hidden", f"{root}/circle")
    skill(root, ".hidden/found")
    assert names(library) == ["base", "foreign", "found", "later"]
    assert notes(library, root) == []


def test_a_broken_link_is_noticed_when_its_target_appears_far_away(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    """Nothing in the root itself changes: only what the link leads to comes to be."""
    os.mkdir(tmp_path / "other")
    os.symlink(tmp_path / "other" / "later", f"{root}/link")
    os.mkdir(f"{root}/main")
    os.symlink(tmp_path / "other" / "main.txt", f"{root}/main/SKILL.md")
    library = opened(root, str(tmp_path / "other"), settled=True)
    assert [(code, path) for code, _, path in notes(library, root)] == [
        ("link-broken", "link"),
        ("link-broken", "main/SKILL.md"),
    ]
    skill(str(tmp_path / "other"), "later")
    assert places(library, str(tmp_path)) == [("root/link", "")]
    (tmp_path / "other" / "main.txt").write_text("---\nname: main\ndescription: Appears.\n---\n")
    assert names(library) == ["later", "main"]
    assert notes(library, root) == []


def test_a_link_behind_a_link_that_is_turned_outside_is_refused_at_once(
    root: str, outside: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    """The link in the root stays as it is; the hidden one it leads through is changed."""
    skill(root, ".v1/group/inner")
    os.symlink(".v1", f"{root}/.current")
    os.symlink(".current", f"{root}/category")
    os.symlink(".current/group/inner", f"{root}/a-skill")
    library = opened(root, settled=True)
    assert places(library, root) == [("a-skill", "")]
    card = library.card("inner")
    os.mkdir(f"{outside}/group")
    os.rename(f"{outside}/foreign", f"{outside}/group/inner")
    os.unlink(f"{root}/.current")
    os.symlink(outside, f"{root}/.current")
    with pytest.raises(RefusedError) as caught:
        library.workspace.open(card)
    assert caught.value.code == "path-escape"
    assert names(library) == []
    assert notes(library, root) == [("link-escape", "error", "a-skill"), ("link-escape", "error", "category")]


def test_a_declared_target_that_is_taken_back_is_refused_at_once(
    root: str, outside: str, config: Callable[..., None], opened: Callable[..., Library]
) -> None:
    os.symlink(f"{outside}/foreign", f"{root}/alias")
    config(f"links = ['{outside}']")
    library = opened(root, settled=True)
    assert library.card("foreign").name == "foreign"
    config()
    assert names(library) == []
    with pytest.raises(Exception, match="There is no skill 'foreign'"):
        library.card("foreign")
