"""Names first, then one body, then one file: what each tier tells. What none may give out has `test_escapes`."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import NotFoundError, RefusedError, UsageError
from whet.library.disclosure import MAX_TEXT, PAGE
from whet.library.loaded import Loaded
from whet.library.visibility import MODEL
from whet.prompt.views import view

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.api import Library

FULL = """version: 1.2.3
license: MIT
compatibility: Python 3.11+
tags: [web, api]
related_skills: [other]
allowed-tools: Read Bash(git:*)
setup: {help: Ask the team.}
prerequisites: {commands: [frobnicate]}
"""


@pytest.fixture
def guide(root: str, skill: Callable[..., str]) -> str:
    """A skill with files of all kinds; gives its directory."""
    directory = os.path.dirname(skill(root, "web/guide", body="# Guide\n\nRead [a](references/a.md).\n", more=FULL))
    for name in ("references/deep", "assets", "odd"):
        os.makedirs(f"{directory}/{name}")
    for name, data in {
        "references/a.md": b"# A\n",
        "references/deep/b.txt": "Bé\n".encode(),
        "references/bom.md": b"\xef\xbb\xbfWith a mark.\n",
        "references/empty.md": b"",
        "assets/picture.png": b"\x89PNG\r\n\x1a\n\0\0",
        "assets/latin.txt": b"caf\xe9",
        "odd/README": b"No ending.",
        ".env": b"dot files count",
    }.items():
        with open(f"{directory}/{name}", "wb") as file:
            file.write(data)
    return directory


# tier 1


def test_a_list_tells_names_descriptions_and_categories(guide: str, root: str, opened: Callable[..., Library]) -> None:
    assert opened(root).skills().to_json() == {
        "success": True,
        "skills": [
            {
                "name": "guide",
                "description": "Does guide.",
                "category": "web",
                "scope": "external",
                "path": guide,
                "ready": False,
            }
        ],
        "categories": [{"name": "web", "count": 1, "description": ""}],
        "count": 1,
        "total": 1,
        "next": None,
        "hint": "Open a skill by name to read its instructions.",
    }


@pytest.fixture
def many(root: str, skill: Callable[..., str]) -> str:
    for name in ("web/react", "web/css/grid", "webby/other", "ops/deploy", "plain", "Ünï"):
        skill(root, name, description=f"About {os.path.basename(name)} and More_Things.")
    return root


@pytest.mark.parametrize(
    ("category", "query", "expected"),
    [
        (None, None, ["deploy", "grid", "other", "plain", "react", "Ünï"]),
        ("web", None, ["grid", "react"]),
        ("web/css", None, ["grid"]),
        ("", None, ["plain", "Ünï"]),
        ("nowhere", None, []),
        (None, "REACT", ["react"]),
        (None, "more-things", ["deploy", "grid", "other", "plain", "react", "Ünï"]),
        (None, "web grid", ["grid"]),
        (None, "ÜNÏ", ["Ünï"]),
        (None, "grid react", ["grid", "react"]),
        (None, "nowhere", []),
        (None, "  ", ["deploy", "grid", "other", "plain", "react", "Ünï"]),
        ("web", "react", ["react"]),
    ],
)
def test_a_list_is_narrowed_by_category_and_words(
    category: str | None, query: str | None, expected: list[str], many: str, opened: Callable[..., Library]
) -> None:
    answer = opened(many).skills(category, query).to_json()
    found = [item["name"] for item in answer["skills"]]
    assert (sorted(found, key=str.casefold) if query else found, answer["total"]) == (expected, len(expected))
    assert [item["name"] for item in answer["categories"]] == ["ops", "web", "web/css", "webby"]
    if not expected:
        assert answer["hint"].startswith("Nothing matches.")


def test_pages_stay_in_step_when_skills_come_and_go(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for number in range(10):
        skill(root, f"skill-{number}")
    library = opened(root)
    first = library.skills(limit=4).to_json()
    assert [item["name"] for item in first["skills"]] == [f"skill-{number}" for number in range(4)]
    assert (first["count"], first["total"], first["next"]) == (4, 10, "skill-3")
    assert first["hint"] == "4 of 10; pass cursor 'skill-3' for more."
    skill(root, "another")  # before the cursor
    skill(root, "skill-35")  # behind it
    os.unlink(f"{root}/skill-3/SKILL.md")  # the one it names
    second = library.skills(limit=4, cursor=first["next"]).to_json()
    assert [item["name"] for item in second["skills"]] == ["skill-35", "skill-4", "skill-5", "skill-6"]
    third = library.skills(limit=4, cursor=second["next"]).to_json()
    assert [item["name"] for item in third["skills"]] == ["skill-7", "skill-8", "skill-9"]
    assert third["next"] is None
    assert library.skills(limit=100).next is None


def test_with_a_query_the_best_match_comes_first(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "zip-maps", description="Packs files.")
    skill(root, "atlas", description="Draws maps. Not for zip files.")
    skill(root, "geography", description="Knows countries and rivers.", body="Begin with the capital, then maps.\n")
    skill(root, "poems", description="Writes verse.", body="Count the syllables.\n")
    library = opened(root)

    def found(query: str) -> list[str]:
        return [item["name"] for item in library.skills(query=query).to_json()["skills"]]

    assert found("maps") == ["zip-maps", "atlas"]
    assert (found("capital"), found("syllables of a verse")) == (["geography"], ["poems"]), "bodies count, too"


def test_pages_of_a_query_stay_in_step_when_skills_come_and_go(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for number in range(10):
        skill(root, f"skill-{number}", description="Draws maps.")
    library = opened(root)
    everything = [item["name"] for item in library.skills(query="maps").to_json()["skills"]]
    first = library.skills(query="maps", limit=4).to_json()
    assert [item["name"] for item in first["skills"]] == everything[:4]
    os.unlink(f"{root}/{everything[3]}/SKILL.md")  # the one that the cursor names
    skill(root, "poems", description="Writes verse.")
    seen, cursor = everything[:4], first["next"]
    while cursor:
        page = library.skills(query="maps", limit=4, cursor=cursor).to_json()
        seen += [item["name"] for item in page["skills"]]
        cursor = page["next"]
    assert sorted(seen) == sorted(everything)


@pytest.mark.parametrize("cursor", ["skill-3", "x.skill-3", "1.", ".", "1" * 30 + ".skill-3"])
def test_a_cursor_of_something_else_is_refused(cursor: str, root: str, opened: Callable[..., Library]) -> None:
    with pytest.raises(UsageError) as caught:
        opened(root).skills(query="maps", cursor=cursor)
    assert caught.value.code == "bad-cursor"


def test_an_empty_library_is_an_answer(root: str, opened: Callable[..., Library]) -> None:
    answer = opened(root).skills().to_json()
    assert (answer["success"], answer["skills"], answer["total"]) == (True, [], 0)
    assert answer["hint"] == "No skills yet. `whet new NAME` creates one; `whet gallery` shows what ships with Whet."


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_nothing_makes_no_sense(limit: int, root: str, opened: Callable[..., Library]) -> None:
    with pytest.raises(UsageError) as caught:
        opened(root).skills(limit=limit)
    assert caught.value.code == "bad-limit"


# tier 2


def test_a_view_tells_everything_about_one_skill(guide: str, root: str, opened: Callable[..., Library]) -> None:
    library = opened(root)
    answer = library.read("guide").to_json()
    assert answer.pop("digest") == library.workspace.open(library.card("guide")).digest
    assert answer == {
        "success": True,
        "name": "guide",
        "description": "Does guide.",
        "content": "# Guide\n\nRead [a](references/a.md).\n",
        "page": 1,
        "pages": 1,
        "files": [
            {"path": ".env", "size": 15},
            {"path": "SKILL.md", "size": os.path.getsize(f"{guide}/SKILL.md")},
            {"path": "assets/latin.txt", "size": 4},
            {"path": "assets/picture.png", "size": 10},
            {"path": "odd/README", "size": 10},
            {"path": "references/a.md", "size": 4},
            {"path": "references/bom.md", "size": 16},
            {"path": "references/deep/b.txt", "size": 4},
            {"path": "references/empty.md", "size": 0},
        ],
        "version": "1.2.3",
        "category": "web",
        "scope": "external",
        "path": guide,
        "ready": False,
        "missing": [{"kind": "command", "name": "frobnicate", "help": "Install frobnicate and put it on PATH."}],
        "setup": "Ask the team.",
        "tags": ["web", "api"],
        "related_skills": ["other"],
        "license": "MIT",
        "compatibility": "Python 3.11+",
        "allowed_tools": ["Read", "Bash(git:*)"],
        "origin": {"scope": "external", "client": "", "root": root},
        "trust": "trusted",
        "settings": [],
        "diagnostics": [],
    }


def test_a_long_body_comes_in_pages(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    body = "".join(f"{number:06} é\n" for number in range(30_000))
    skill(root, "long", body=body)
    library = opened(root)
    first = library.read("long").to_json()
    assert (first["pages"], len(first["content"])) == (3, PAGE)
    assert "".join(library.read("long", page=number).content for number in (1, 2, 3)) == body
    for number in (0, 4, -1):
        with pytest.raises(UsageError) as caught:
            library.read("long", page=number)
        assert (caught.value.code, caught.value.details) == ("no-such-page", {"pages": 3})


def test_flat_skills_and_commands_are_viewed_too(root: str, opened: Callable[..., Library]) -> None:
    for name in ("one", "two"):
        with open(f"{root}/{name}.md", "w") as file:
            file.write(f"---\ndescription: Flat {name}.\n---\nBody {name}.\n")
    library = opened(root, settled=True)
    answers = [library.read(name).to_json() for name in ("one", "two", "one")]
    assert [(answer["content"], answer["files"], answer["path"]) for answer in answers[:2]] == [
        ("Body one.\n", [], f"{root}/one.md"),
        ("Body two.\n", [], f"{root}/two.md"),
    ]
    assert answers[0]["digest"] == answers[2]["digest"] != answers[1]["digest"]
    assert "flat-skill" in {note["code"] for note in answers[0]["diagnostics"]}
    with pytest.raises(NotFoundError) as caught:
        library.read("one", "references/a.md")
    assert caught.value.code == "file-not-found"


def test_what_is_wrong_with_its_files_does_not_keep_a_skill_from_being_read(
    guide: str, root: str, opened: Callable[..., Library]
) -> None:
    os.symlink("/etc/hostname", f"{guide}/out")
    os.mkfifo(f"{guide}/pipe")
    with open(f"{guide}/skill.json", "w") as file:
        file.write("{")
    library = opened(root)
    answer = library.read("guide").to_json()
    assert answer["content"].startswith("# Guide")
    assert not {"out", "pipe"} & {item["path"] for item in answer["files"]}
    assert sorted(note["code"] for note in answer["diagnostics"]) == [
        "link-escape",
        "sidecar-unreadable",
        "special-file",
    ]
    assert library.workspace.digest().startswith("sha256:")


def test_a_skill_that_is_gone_a_moment_later_is_said_so(guide: str, root: str, opened: Callable[..., Library]) -> None:
    library = opened(root)
    card = library.card("guide")
    os.rename(guide, f"{root}/elsewhere")
    with pytest.raises(NotFoundError) as caught:
        library.workspace.open(card)
    assert caught.value.code == "skill-gone"


def test_a_file_that_may_not_be_read_is_said_so(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
base = skill("root/one")
open(base + "/notes.md", "w").close()
opened = library()
card = opened.card("one")
os.chmod(base + "/notes.md", 0)
answer = [[note["code"] for note in opened.read("one").to_json()["diagnostics"]]]
os.chmod(base + "/SKILL.md", 0)
for attempt in (lambda: opened.read("one", "notes.md").to_json(), lambda: opened.workspace.open(card)):
    try:
        attempt()
    except WhetError as error:
        answer.append(error.code)
""") == [["unreadable"], "unreadable", "unreadable"]


# tier 3


@pytest.mark.parametrize(
    ("path", "content", "binary"),
    [
        ("references/a.md", "# A\n", False),
        ("references/deep/b.txt", "Bé\n", False),
        ("references/bom.md", "With a mark.\n", False),
        ("references/empty.md", "", False),
        ("odd/README", "No ending.", False),
        (".env", "dot files count", False),
        ("assets/picture.png", "[binary file: assets/picture.png, 10 bytes]", True),
        ("assets/latin.txt", "[binary file: assets/latin.txt, 4 bytes]", True),
    ],
)
def test_one_file_is_given_and_a_binary_one_described(
    path: str, content: str, binary: bool, guide: str, root: str, opened: Callable[..., Library]
) -> None:
    answer = opened(root).read("guide", path).to_json()
    assert (answer["file"], answer["content"], answer["binary"]) == (path, content, binary)
    assert answer["size"] == os.path.getsize(f"{guide}/{path}")


def test_a_long_file_comes_in_pages(guide: str, root: str, opened: Callable[..., Library]) -> None:
    text = "é" * (PAGE + 10)
    with open(f"{guide}/references/long.md", "w", encoding="utf-8") as file:
        file.write(text)
    library = opened(root)
    pages = [library.read("guide", "references/long.md", number).to_json() for number in (1, 2)]
    assert ["".join(page["content"] for page in pages), pages[0]["pages"], len(pages[1]["content"])] == [text, 2, 10]
    assert pages[0]["digest"] == pages[1]["digest"]
    with pytest.raises(UsageError) as caught:
        library.read("guide", "references/long.md", 3)
    assert caught.value.code == "no-such-page"


@pytest.mark.parametrize(("start", "described"), [(b"text", "file too large to show"), (b"\0", "binary file")])
def test_a_huge_file_is_described(
    start: bytes, described: str, guide: str, root: str, opened: Callable[..., Library]
) -> None:
    with open(f"{guide}/huge", "wb") as file:
        file.write(start.ljust(MAX_TEXT + 100, b"x"))
    answer = opened(root).read("guide", "huge").to_json()
    assert answer["content"] == f"[{described}: huge, {MAX_TEXT + 100:,} bytes]"
    expected = hashlib.sha256(start.ljust(MAX_TEXT + 100, b"x")).hexdigest()
    assert answer["digest"] == f"sha256:{expected}"


def test_an_unknown_file_gets_the_closest_ones(guide: str, root: str, opened: Callable[..., Library]) -> None:
    library = opened(root)
    with pytest.raises(NotFoundError) as caught:
        library.read("guide", "references/deep/b.md")
    assert (caught.value.code, caught.value.details["suggestions"][0]) == ("file-not-found", "references/deep/b.txt")
    assert len(caught.value.details["files"]) == 9
    with pytest.raises(NotFoundError) as caught:
        library.read("guide", "zzzzzzz/qqqqqqqq")
    assert caught.value.hint.startswith("Files: .env, SKILL.md,")
    assert guide


# already loaded


def test_what_is_in_the_context_already_is_not_given_twice(
    guide: str, root: str, opened: Callable[..., Library]
) -> None:
    library, loaded = opened(root), Loaded()
    first = view(library.workspace, "guide", loaded=loaded).to_json()
    assert "already_loaded" not in first
    assert view(library.workspace, "guide", loaded=loaded).to_json() == {
        "success": True,
        "name": "guide",
        "file": "",
        "page": 1,
        "digest": first["digest"],
        "already_loaded": True,
        "content": "[guide is already loaded above and has not changed.]",
        "hint": "Use what is in the context. You can load it again after a compaction.",
    }
    assert library.read("guide").to_json() == first  # nobody asked for it to be remembered
    assert "already_loaded" not in view(library.workspace, "guide", "references/a.md", loaded=loaded).to_json()
    stub = view(library.workspace, "guide", "references/a.md", loaded=loaded).to_json()
    assert (stub["already_loaded"], stub["content"]) == (
        True,
        "[references/a.md of guide is already loaded above and has not changed.]",
    )
    loaded.clear()
    assert view(library.workspace, "guide", loaded=loaded).to_json() == first
    assert view(library.workspace, "guide", loaded=loaded).to_json()["already_loaded"]
    with open(f"{guide}/SKILL.md", "a") as file:
        file.write("More.\n")
    again = view(library.workspace, "guide", loaded=loaded).to_json()
    assert again["content"].endswith("More.\n") and again["digest"] != first["digest"]
    assert view(library.workspace, "guide", loaded=loaded).to_json()["already_loaded"]
    with open(f"{guide}/references/a.md", "a") as file:
        file.write("More.\n")
    assert "already_loaded" not in view(library.workspace, "guide", loaded=loaded).to_json()
    assert view(library.workspace, "guide", "references/a.md", loaded=loaded).content == "# A\nMore.\n"


def test_pages_are_loaded_one_by_one(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    skill(root, "long", body="x" * (2 * PAGE))
    library, loaded = opened(root), Loaded()
    for number in (1, 2):
        assert "already_loaded" not in view(library.workspace, "long", page=number, loaded=loaded).to_json()
        assert view(library.workspace, "long", page=number, loaded=loaded).page == number
    library.settings.disable("long")
    with pytest.raises(RefusedError):
        view(library.workspace, "long", caller=MODEL, loaded=loaded)
