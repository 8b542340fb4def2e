"""What is found below a root and what is not. Links have `test_links`, changes `test_freshness`, counts `test_io`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from whet.library.discovery import NOT_SKILLS, Bounds, RootListing, discover
from whet.library.roots import Root
from whet.skill.finder import MAIN_FILES, SKIPPED, SUPPORT

if TYPE_CHECKING:
    from collections.abc import Callable


def walk(root: str, *, kind: str = "skills", depth: int = 6, directories: int = 1000) -> RootListing:
    place = Root(root, "user", kind=kind, real=os.path.realpath(root))
    return discover(place, Bounds(depth, directories, (place.real,)), None, time.time_ns())


def found(shelf: RootListing) -> list[tuple[str, str, str]]:
    """Directory below the root, name and category of each skill."""
    base = shelf.root.path
    return sorted((os.path.relpath(card.location, base), card.name, card.category) for card in shelf.cards())


def notes(shelf: RootListing) -> list[tuple[str, str]]:
    """Code and path below the root of everything reported about places."""
    entries = [*shelf.notes, *(note for container in shelf.containers.values() for note in container.notes)]
    return sorted((entry.code, os.path.relpath(entry.path, shelf.root.path)) for entry in entries)


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# where skills are


def test_an_empty_and_a_missing_root_hold_nothing(root: str) -> None:
    assert (found(walk(root)), notes(walk(root))) == ([], [])
    assert walk(f"{root}/missing") == RootListing(Root(f"{root}/missing", "user", real=f"{root}/missing"), {}, ())


def test_the_category_is_the_path(root: str, skill: Callable[..., str]) -> None:
    skill(root, "plain")
    skill(root, "web/react")
    skill(root, "web/testing/e2e")
    assert found(walk(root)) == [
        ("plain", "plain", ""),
        ("web/react", "react", "web"),
        ("web/testing/e2e", "e2e", "web/testing"),
    ]


def test_a_category_is_described_by_its_description_file(root: str, skill: Callable[..., str]) -> None:
    skill(root, "web/react")
    skill(root, "ops/deploy")
    skill(root, "bare/thing")
    write(f"{root}/web/DESCRIPTION.md", "---\ndescription: All about the web.\n---\n")
    write(f"{root}/ops/DESCRIPTION.md", "# Operations\n\nRunning things,\nand keeping them so.\n")
    write(f"{root}/DESCRIPTION.md", "The root is no category.")
    write(f"{root}/bare/DESCRIPTION.md", "")
    described = {container.category: container.description for container in walk(root).containers.values()}
    assert described == {"": "", "web": "All about the web.", "ops": "Running things,", "bare": ""}


def test_a_long_description_file_is_read_to_a_whole_line(root: str, skill: Callable[..., str]) -> None:
    skill(root, "web/react")
    write(f"{root}/web/DESCRIPTION.md", f"# Web\n\n{'short é ' * 3}\n{'é' * 5000}\n")
    described = [container.description for container in walk(root).containers.values() if container.category]
    assert described == ["short é short é short é"]


def test_the_depth_bound_is_that_of_codex(root: str, skill: Callable[..., str]) -> None:
    skill(root, "d0/d1/d2/d3/d4/d5", description="At the bound.")
    skill(root, "e0/e1/e2/e3/e4/e5/e6", description="One deeper.")
    shelf = walk(root)
    assert found(shelf) == [("d0/d1/d2/d3/d4/d5", "d5", "d0/d1/d2/d3/d4")]
    assert notes(shelf) == [("too-deep", "e0/e1/e2/e3/e4/e5")]


def test_the_depth_can_be_set(root: str, skill: Callable[..., str]) -> None:
    skill(root, "a/b")
    skill(root, "c")
    assert found(walk(root, depth=1)) == [("c", "c", "")]
    assert notes(walk(root, depth=1)) == [("too-deep", "a")]


def test_the_number_of_directories_is_bounded_and_the_rest_reported(root: str, skill: Callable[..., str]) -> None:
    for number in range(9):
        skill(root, f"c{number}/s{number}")
    shelf = walk(root, directories=4)
    assert found(shelf) == [(f"c{number}/s{number}", f"s{number}", f"c{number}") for number in range(3)]
    assert notes(shelf) == [("too-many-directories", "c3")]
    assert walk(root, directories=10).notes == ()


def test_hidden_and_cache_directories_are_skipped(root: str, skill: Callable[..., str]) -> None:
    for name in (*SKIPPED, ".git", ".github", ".hub", ".archive", ".venv", ".hidden"):
        skill(root, f"{name}/one")
        skill(root, f"category/{name}/two")
    skill(root, "seen")
    shelf = walk(root)
    assert (found(shelf), notes(shelf)) == ([("seen", "seen", "")], [])


def test_below_a_skill_nothing_is_looked_for(root: str, skill: Callable[..., str]) -> None:
    skill(root, "outer")
    for name in ("references", "anything"):
        skill(root, f"outer/{name}/inner")
        write(f"{root}/outer/{name}/SKILL.md", "---\nname: no\ndescription: No skill.\n---\n")
    assert found(walk(root)) == [("outer", "outer", "")]


def test_a_root_may_be_a_skill_and_a_collection_at_once(root: str, skill: Callable[..., str]) -> None:
    write(f"{root}/SKILL.md", "---\nname: whole\ndescription: The root.\n---\n")
    skill(root, "other")
    skill(root, "group/deep")
    for name in SUPPORT:
        skill(root, f"{name}/no")
    assert found(walk(root)) == [(".", "whole", ""), ("group/deep", "deep", "group"), ("other", "other", "")]


@pytest.fixture
def exact(root: str) -> None:
    """Only where names that differ in case are different names."""
    write(f"{root}/.case", "")
    if os.path.exists(f"{root}/.CASE"):
        pytest.skip("this file system does not tell case apart")


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", MAIN_FILES[1:])
def test_old_names_of_the_main_file_are_read_with_a_remark(root: str, name: str) -> None:
    for directory in (f"{root}/old", f"{root}/category/older", root):
        write(f"{directory}/{name}", "---\nname: thing\ndescription: Does it.\n---\n")
    shelf = walk(root)
    own = [] if name.lower() == "skills.md" else [(".", "thing", "")]  # above other skills, that is a list of them
    assert found(shelf) == [*own, ("category/older", "thing", "category"), ("old", "thing", "")]
    for card in shelf.cards():
        assert [(note.code, note.message) for note in card.notes if note.code == "old-main-name"] == [
            ("old-main-name", f"The main file is called {name}.")
        ]


@pytest.mark.usefixtures("exact")
def test_the_modern_name_wins_over_the_old_one(root: str, skill: Callable[..., str]) -> None:
    skill(root, "both")
    write(f"{root}/both/skill.md", "---\nname: old\ndescription: Old.\n---\n")
    write(f"{root}/SKILL.md", "---\nname: whole\ndescription: New.\n---\n")
    write(f"{root}/skill.md", "---\nname: old\ndescription: Old.\n---\n")
    assert found(walk(root)) == [(".", "whole", ""), ("both", "both", "")]


def test_flat_skills_lie_directly_in_the_root(root: str) -> None:
    write(f"{root}/flat.md", "---\ndescription: A flat one.\n---\nBody.\n")
    write(f"{root}/named.md", "---\nname: other\ndescription: A flat one.\n---\nBody.\n")
    write(f"{root}/bare.md", "Only text.\n")
    write(f"{root}/My notes.md", "Only text.\n")
    write(f"{root}/category/deep.md", "---\ndescription: Not here.\n---\n")
    write(f"{root}/data.txt", "---\ndescription: Not this.\n---\n")
    for name in NOT_SKILLS:
        write(f"{root}/{name.upper()}", "---\ndescription: Never.\n---\n")
    shelf = walk(root)
    assert found(shelf) == [("bare.md", "bare", ""), ("flat.md", "flat", ""), ("named.md", "other", "")]
    assert notes(shelf) == [("stray-file", "My notes.md")]
    assert {note.code for card in shelf.cards() for note in card.notes} >= {"flat-skill"}


def test_command_files_are_skills_of_their_own_kind(root: str) -> None:
    write(f"{root}/review.md", "Review the changes.\n")
    write(f"{root}/git/commit.md", "---\ndescription: Commit.\n---\nCommit.\n")
    write(f"{root}/git/notes.txt", "")
    shelf = walk(root, kind="commands")
    assert found(shelf) == [("git/commit.md", "commit", "git"), ("review.md", "review", "")]
    hints = [note.hint for card in shelf.cards() for note in card.notes if note.code == "command-file"]
    assert sorted(hints) == ["Move it to skills/commit/SKILL.md.", "Move it to skills/review/SKILL.md."]


# what is no skill, and what cannot be read


def test_what_is_named_skill_md_and_is_no_file_is_reported(root: str) -> None:
    os.makedirs(f"{root}/directory/SKILL.md/deeper")
    os.makedirs(f"{root}/pipe")
    os.mkfifo(f"{root}/pipe/SKILL.md")
    os.mkfifo(f"{root}/flat.md")
    shelf = walk(root)
    assert found(shelf) == []
    assert notes(shelf) == [
        ("not-a-file", "directory/SKILL.md"),
        ("not-a-file", "flat.md"),
        ("not-a-file", "pipe/SKILL.md"),
    ]


def test_a_description_file_that_is_no_file_harms_nobody(root: str, skill: Callable[..., str]) -> None:
    skill(root, "web/react")
    os.mkfifo(f"{root}/web/DESCRIPTION.md")
    shelf = walk(root)
    assert found(shelf) == [("web/react", "react", "web")]
    assert notes(shelf) == [("unreadable", "web/DESCRIPTION.md")]


def test_a_file_that_is_too_large_is_reported(root: str, skill: Callable[..., str]) -> None:
    skill(root, "small")
    path = skill(root, "large", body="x" * (10 << 20))
    shelf = walk(root)
    assert found(shelf) == [("small", "small", "")]
    assert notes(shelf) == [("too-large", "large/SKILL.md")]
    os.truncate(path, 1 << 20)
    assert found(walk(root)) == [("large", "large", ""), ("small", "small", "")]


def test_an_empty_file_is_a_skill_that_says_nothing(root: str) -> None:
    write(f"{root}/empty/SKILL.md", "")
    shelf = walk(root)
    assert found(shelf) == [("empty", "empty", "")]
    (card,) = shelf.cards()
    assert card.description == ""
    assert "description-missing" in {note.code for note in card.notes}


def test_names_of_any_characters_are_found(root: str) -> None:
    names = [
        "new\nline",
        "tab\there",
        "ünï",
        "日本",
        "with space",
        "quote'\"",
        "back\\slash",
        "%41",
        "-dash",
        "a" * 200,
    ]
    for name in names:
        write(f"{root}/{name}/SKILL.md", "---\ndescription: Odd.\n---\n")
    assert sorted(directory for directory, _, _ in found(walk(root))) == sorted(names)


def test_a_name_that_is_not_utf8_is_found(root: str) -> None:
    directory = os.fsencode(root) + b"/caf\xe9"
    try:
        os.mkdir(directory)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    with open(directory + b"/SKILL.md", "wb") as file:
        file.write(b"---\nname: coffee\ndescription: Makes coffee.\n---\n")
    assert found(walk(root)) == [("caf\udce9", "coffee", "")]


def test_what_may_not_be_read_is_reported_and_the_rest_is_found(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
skill("root/good")
os.chmod(skill("root/closed-file") + "/SKILL.md", 0)
os.chmod(skill("root/no-entry"), 0)
os.chmod(skill("root/only-names"), 0o444)
skill("root/web/react")
open(top + "/root/web/DESCRIPTION.md", "w").close()
os.chmod(top + "/root/web/DESCRIPTION.md", 0)
os.makedirs(top + "/root/shut/inside")
os.chmod(top + "/root/shut", 0)
os.makedirs(top + "/root/passing/inside")
os.chmod(top + "/root/passing", 0o311)
opened = library()
answer = [[card["name"] for card in opened.skills().to_json()["skills"]], sorted(report(opened))]
""") == [
        ["good", "react"],
        [
            ["unreadable", "error", "root/closed-file/SKILL.md"],
            ["unreadable", "error", "root/no-entry/SKILL.md"],
            ["unreadable", "error", "root/only-names/SKILL.md"],
            ["unreadable", "error", "root/shut/SKILL.md"],
            ["unreadable", "error", "root/web/DESCRIPTION.md"],
            ["unreadable-directory", "error", "root/passing"],
        ],
    ]


def test_a_root_that_may_not_be_read_is_reported(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
skill("root/good")
os.chmod(top + "/root", 0)
opened = library()
answer = [opened.skills().to_json()["skills"], report(opened)]
os.chmod(top + "/root", 0o755)
answer.append([card["name"] for card in opened.skills().to_json()["skills"]])
skill("parent/root/good")
os.chmod(top + "/parent", 0)
opened = Library.open([top + "/parent/root"], home=top + "/state", project=top, env={"HOME": top})
answer += [opened.skills().to_json()["skills"], report(opened)]
""") == [
        [],
        [["unreadable-directory", "error", "root"]],
        ["good"],
        [],
        [["unreadable-directory", "error", "parent/root"]],
    ]


def test_a_root_that_is_a_file_is_reported(root: str) -> None:
    write(f"{root}/file", "")
    assert [entry.code for entry in walk(f"{root}/file").notes] == ["unreadable-directory"]


# order


def test_the_order_does_not_depend_on_the_disk(root: str, tmp_path: Any, skill: Callable[..., str]) -> None:
    names = [f"c{number % 3}/s{number:02}" for number in range(30)]
    for name in names:
        skill(root, name)
    other = tmp_path / "other"
    for name in reversed(names):
        skill(str(other), name)
    one, two = walk(root), walk(str(other))
    assert [os.path.relpath(path, root) for path in one.containers] == [".", "c0", "c1", "c2"]
    assert [os.path.relpath(path, other) for path in two.containers] == [".", "c0", "c1", "c2"]
    assert [card.name for card in one.cards()] == [card.name for card in two.cards()]
