"""Whatever another process changes is seen by the very next call, whichever call that is."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tiers import thinned

from whet.api import Reload
from whet.errors import NotFoundError, RefusedError, WhetError
from whet.library.visibility import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library

QUIETLY = """
def quietly(path, text):
    # Same size, same modification time: only what nobody can set tells that it changed.
    before = os.stat(path)
    assert len(text) == before.st_size, (len(text), before.st_size)
    with open(path, "w") as file:
        file.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns

def text(name, description="Does NAME.", body="Body."):
    return f"---\\nname: {name}\\ndescription: {description.replace('NAME', name)}\\n---\\n{body}\\n"

def skill(path, *rest):
    os.makedirs(path, exist_ok=True)
    with open(path + "/SKILL.md", "w") as file:
        file.write(text(os.path.basename(path), *rest))

os.chdir(sys.argv[1])
"""


def change(added: list[str], removed: list[str], edited: list[str], unchanged: int, total: int) -> Reload:
    return Reload(tuple(added), tuple(removed), tuple(edited), unchanged, total)


def unmoved(found: Reload) -> bool:
    return not (found.added or found.removed or found.changed)


class Case(NamedTuple):
    """What another process does, and how the library then differs."""

    name: str
    code: str
    change: Reload
    seen: dict[str, Any]
    """Facts by question, see `facts`."""


def changed(name: str) -> Reload:
    return change([], [], [name], 3, 4)


CASES = [
    Case("edit", "skill('alpha', 'Does alpha.', 'New.')", changed("alpha"), {"body": "New.\n"}),
    Case("description", "skill('alpha', 'Better.')", changed("alpha"), {"description": "Better."}),
    Case("quiet edit", "quietly('alpha/SKILL.md', text('alpha', body='ydoB.'))", changed("alpha"), {"body": "ydoB.\n"}),
    Case(
        "replaced under the same times",
        """
before = os.stat("alpha/SKILL.md")
with open("alpha/next", "w") as file:
    file.write(text("alpha", body="ydoB."))
os.utime("alpha/next", ns=(before.st_atime_ns, before.st_mtime_ns))
os.replace("alpha/next", "alpha/SKILL.md")
""",
        changed("alpha"),
        {"body": "ydoB.\n"},
    ),
    Case("touch", "os.utime('alpha/SKILL.md')", changed("alpha"), {}),
    Case("addition", "skill('gamma')", change(["gamma"], [], [], 4, 5), {"names": "alpha beta empty gamma one"}),
    Case(
        "removal",
        "os.unlink('tools/beta/SKILL.md'); os.unlink('tools/beta/skill.json'); os.rmdir('tools/beta')",
        change([], ["beta"], [], 3, 3),
        {"names": "alpha empty one", "version": None},
    ),
    Case("rename of the directory", "os.rename('alpha', 'omega')", changed("alpha"), {"path": "omega"}),
    Case(
        "rename of the main file",
        "os.rename('alpha/SKILL.md', 'alpha/SKILL.txt')",
        change([], ["alpha"], [], 3, 3),
        {"names": "beta empty one", "body": None, "description": None, "path": None},
    ),
    Case(
        "rename in the frontmatter",
        "open('alpha/SKILL.md', 'w').write(text('zeta'))",
        change(["zeta"], ["alpha"], [], 3, 4),
        {"names": "beta empty one zeta", "description": None},
    ),
    Case(
        "new category",
        "skill('fresh/delta')",
        change(["delta"], [], [], 4, 5),
        {"names": "alpha beta delta empty one"},
    ),
    Case(
        "main file in a directory that was there",
        "skill('bare/late')",
        change(["late"], [], [], 4, 5),
        {"names": "alpha beta empty late one"},
    ),
    Case(
        "main file in a category that was there",
        "skill('tools')",
        change(["tools"], ["beta"], [], 3, 4),
        {"names": "alpha empty one tools", "version": None},
    ),
    Case(
        "flat skill",
        "open('flat.md', 'w').write(text('flat'))",
        change(["flat"], [], [], 4, 5),
        {"names": "alpha beta empty flat one"},
    ),
    Case(
        "new sidecar", "open('alpha/skill.json', 'w').write('{\"author\": \"me\"}')", changed("alpha"), {"author": "me"}
    ),
    Case(
        "sidecar edited",
        "open('tools/beta/skill.json', 'w').write('{\"version\": \"22\"}')",
        changed("beta"),
        {"version": "22"},
    ),
    Case(
        "sidecar edited quietly",
        "quietly('tools/beta/skill.json', '{\"version\": \"2\"}')",
        changed("beta"),
        {"version": "2"},
    ),
    Case("sidecar removed", "os.unlink('tools/beta/skill.json')", changed("beta"), {"version": ""}),
    Case(
        "sidecar in a folder that was there",
        "open('alpha/agents/openai.yaml', 'w').write('policy: {allow_implicit_invocation: false}')",
        changed("alpha"),
        {"to a model": "beta empty one"},
    ),
    Case(
        "link retargeted",
        "os.unlink('linked'); os.symlink('.store/two', 'linked')",
        change(["two"], ["one"], [], 3, 4),
        {"names": "alpha beta empty two"},
    ),
    Case(
        "link retargeted elsewhere",
        "os.unlink('.store/current'); os.symlink('three', '.store/current')",
        change(["three"], ["empty"], [], 3, 4),
        {"names": "alpha beta one three"},
    ),
    Case(
        "category described",
        "open('tools/DESCRIPTION.md', 'w').write('Tools!')",
        change([], [], [], 4, 4),
        {"tools": "Tools!"},
    ),
]


@pytest.fixture
def tree(root: str, skill: Callable[..., str]) -> str:
    """Four skills: two plain ones, one behind a link, one behind two."""
    skill(root, "alpha", body="Body.\n")
    os.mkdir(f"{root}/alpha/agents")
    skill(root, "tools/beta")
    with open(f"{root}/tools/beta/skill.json", "w") as file:
        file.write('{"version": "1"}')
    skill(root, ".store/one")
    skill(root, ".store/two")
    skill(root, ".store/empty")
    skill(root, ".store/three")
    os.mkdir(f"{root}/bare")
    os.mkdir(f"{root}/bare/late")
    os.symlink(".store/one", f"{root}/linked")
    os.symlink("empty", f"{root}/.store/current")
    os.symlink(".store/current", f"{root}/through")
    return root


def facts(library: Library, root: str) -> dict[str, Callable[[], Any]]:
    """Questions about the library, each asked by one call."""

    def listed(name: str, key: str) -> Any:
        return {item["name"]: item[key] for item in library.skills().to_json()["skills"]}.get(name)

    def viewed(name: str, key: str) -> Any:
        try:
            return library.read(name).to_json()[key]
        except NotFoundError:
            return None

    def place() -> Any:
        path = viewed("alpha", "path")
        return path and os.path.relpath(path, root)

    def author() -> Any:
        try:
            return library.read("alpha").skill.author
        except NotFoundError:
            return None

    return {
        "names": lambda: " ".join(item["name"] for item in library.skills().to_json()["skills"]),
        "to a model": lambda: " ".join(item["name"] for item in library.skills(caller=MODEL).to_json()["skills"]),
        "description": lambda: listed("alpha", "description"),
        "body": lambda: viewed("alpha", "content"),
        "path": place,
        "author": author,
        "version": lambda: viewed("beta", "version"),
        "tools": lambda: {item["name"]: item["description"] for item in library.skills().to_json()["categories"]}.get(
            "tools"
        ),
    }


BEFORE = {
    "names": "alpha beta empty one",
    "to a model": "alpha beta empty one",
    "description": "Does alpha.",
    "body": "Body.\n",
    "path": "alpha",
    "author": "",
    "version": "1",
    "tools": "",
}


@pytest.mark.parametrize("settled", [True, False], ids=["settled", "unsettled"])
@pytest.mark.parametrize("case", thinned(CASES, 3), ids=[case.name.replace(" ", "-") for case in CASES])
def test_a_change_by_another_process_is_seen_by_the_next_call(
    case: Case, settled: bool, tree: str, opened: Callable[..., Library], elsewhere: Callable[..., str]
) -> None:
    libraries = {question: opened(tree, settled=settled) for question in (*case.seen, "reload")}
    for question, library in libraries.items():
        asked = facts(library, tree)
        assert {name: ask() for name, ask in asked.items()} == BEFORE, question
        assert unmoved(library.reload())
    elsewhere(QUIETLY + case.code, tree)
    for question, expected in case.seen.items():
        assert facts(libraries[question], tree)[question]() == expected, question
    assert libraries["reload"].reload() == case.change
    assert unmoved(libraries["reload"].reload())


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


# decisions and settings


def test_what_another_process_decides_is_seen_by_the_next_call(
    tmp_path: Path,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    config: Callable[..., None],
    elsewhere: Callable[..., str],
) -> None:
    config()
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    skill(str(project / ".agents" / "skills"), "mine")
    skill(str(tmp_path / "home" / ".agents" / "skills"), "always")
    library = opened(settled=True)

    def names() -> list[str]:
        return [item["name"] for item in library.skills().to_json()["skills"]]

    def decide(code: str) -> None:
        opening = "Library.open(home=sys.argv[1], project=sys.argv[2], env={'HOME': sys.argv[3]})"
        state, home = str(tmp_path / "state"), str(tmp_path / "home")
        elsewhere(f"from whet import Library\n{opening}.settings.{code}", state, str(project), home)

    assert (names(), library.skills().to_json()["waiting"]) == (["always"], 1)
    with pytest.raises(RefusedError) as caught:
        library.card("mine")
    assert caught.value.code == "untrusted"
    decide("trust()")
    library.reload()
    assert library.read("mine").to_json()["name"] == "mine"
    assert names() == ["always", "mine"]
    decide("disable('mine')")
    assert names() == ["always"]
    with pytest.raises(RefusedError) as caught:
        library.read("mine", caller=MODEL)
    assert caught.value.code == "disabled"
    decide("enable('mine')")
    assert names() == ["always", "mine"]
    decide("untrust()")
    assert library.reload() == change([], ["mine"], [], 1, 1)
    elsewhere("open(sys.argv[1], 'a').write('disabled = [\"always\"]')", str(tmp_path / "state" / "config.toml"))
    assert names() == []
    elsewhere("os.unlink(sys.argv[1])", str(tmp_path / "state" / "config.toml"))
    assert "always" in names()


def test_a_file_beside_the_main_one_is_seen_as_it_is(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], elsewhere: Callable[..., str]
) -> None:
    skill(root, "alpha")
    library = opened(root, settled=True)
    before = library.read("alpha").to_json()
    elsewhere("os.makedirs(sys.argv[1]); open(sys.argv[1] + '/a.md', 'w').write('one')", f"{root}/alpha/references")
    after = library.read("alpha").to_json()
    assert [item["path"] for item in after["files"]] == ["SKILL.md", "references/a.md"]
    assert library.read("alpha", "references/a.md").content == "one"
    elsewhere("open(sys.argv[1], 'w').write('two')", f"{root}/alpha/references/a.md")
    assert library.read("alpha", "references/a.md").content == "two"
    assert len({before["digest"], after["digest"], library.read("alpha").digest}) == 3


def test_nobody_sees_a_skill_that_lost_its_name_to_a_new_one(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library], elsewhere: Callable[..., str]
) -> None:
    """A skill found without looking at the others must still give way to one that comes to be before it."""
    skill(root, "late/same", description="The later one.")
    skill(str(tmp_path / "second"), "other")
    for place in (f"{root}/early/same", f"{root}/early-2/same"):
        library = opened(root, str(tmp_path / "second"), settled=True)
        assert library.card("same").description == "The later one."
        assert opened(root, settled=True).card("same").description == "The later one."
        elsewhere(f"{QUIETLY}skill(sys.argv[2], 'The earlier one.')", root, place)
        for fresh in (library, opened(root, str(tmp_path / "second"), settled=True)):
            assert fresh.card("same").description == "The earlier one."
        elsewhere("import shutil; shutil.rmtree(sys.argv[1])", place)
    library = opened(str(tmp_path / "second"), root, settled=True)
    assert library.card("same").description == "The later one."
    elsewhere(f"{QUIETLY}skill(sys.argv[2], 'The winner.')", root, str(tmp_path / "second" / "same"))
    assert library.card("same").description == "The winner."


def test_nobody_sees_a_skill_that_lost_its_name_to_one_behind_a_link_that_was_repaired(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    second, third = str(tmp_path / "second"), str(tmp_path / "third")
    skill(second, "same", description="The later one.")
    os.mkdir(third)
    os.symlink(f"{third}/same", f"{root}/same")
    library = opened(root, second, third, settled=True)
    assert library.card("same").description == "The later one."
    skill(third, "same", description="The one behind the link.")
    for fresh in (opened(root, second, third, settled=True), library):
        assert fresh.card("same").description == "The one behind the link."


# within one tick of the clock


def test_edits_within_one_tick_are_all_seen(root: str, opened: Callable[..., Library], *, quick: bool) -> None:
    """Write and read many times as fast as it goes: same size, often the same time stamps, never the old content."""
    os.makedirs(f"{root}/alpha/agents")
    library, other = opened(root), opened(root)
    ticks = set()
    for number in range(40 if quick else 200):
        with open(f"{root}/alpha/SKILL.md", "w") as file:
            file.write(f"---\nname: alpha\ndescription: Number {number:04}.\n---\nBody {number:04}.\n")
        with open(f"{root}/alpha/skill.json", "w") as file:
            file.write(f'{{"version": "{number:04}"}}')
        with open(f"{root}/alpha/notes.txt", "w") as file:
            file.write(f"Notes {number:04}.")
        ticks.add(os.stat(f"{root}/alpha/SKILL.md").st_mtime_ns)
        (listed,) = library.skills().to_json()["skills"]
        answer = other.read("alpha").to_json()
        notes = other.read("alpha", "notes.txt").content
        assert [listed["description"], answer["content"], answer["version"], notes] == [
            f"Number {number:04}.",
            f"Body {number:04}.\n",
            f"{number:04}",
            f"Notes {number:04}.",
        ]
        assert library.read("alpha").digest == answer["digest"]
    assert len(ticks) > 1


def test_additions_and_removals_within_one_tick_are_all_seen(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    library = opened(root)
    for number in range(100):
        skill(root, f"group/skill-{number}")
        assert [item["name"] for item in library.skills().to_json()["skills"]] == [f"skill-{number}"]
        os.unlink(f"{root}/group/skill-{number}/SKILL.md")
        assert library.skills().to_json()["skills"] == []
        os.rmdir(f"{root}/group/skill-{number}")


def test_a_skill_that_settles_is_not_reported_as_changed(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "alpha")
    with open(f"{root}/alpha/skill.json", "w") as file:
        file.write("{}")
    library = opened(root)
    assert library.reload() == change(["alpha"], [], [], 0, 1)
    late, library.workspace.clock = library.workspace.clock, lambda: late() + 10**12
    assert library.reload() == change([], [], [], 1, 1)
    assert library.reload() == change([], [], [], 1, 1)


# other programs


def test_a_checkout_by_git_is_seen(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    def git(*words: str) -> None:
        settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *settings, *words], cwd=root, check=True, capture_output=True)

    git("init", "-q", "-b", "one")
    skill(root, "alpha", body="One.\n")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-q", "-b", "two")
    skill(root, "alpha", body="Two.\n")
    skill(root, "beta")
    git("add", ".")
    git("commit", "-qm", "two")
    library = opened(root)
    for _ in range(3):
        git("checkout", "-q", "one")
        assert (library.read("alpha").content, library.reload().total) == ("One.\n", 1)
        git("checkout", "-q", "two")
        assert (library.read("alpha").content, library.reload().total) == ("Two.\n", 2)
    with pytest.raises(WhetError):
        library.read("gamma")
