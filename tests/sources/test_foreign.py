"""What other tools wrote down is understood; what they wrote badly is told, and never taken for nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.library.roots import Place
from whet.skill.collation import collation_key
from whet.skill.tree import Item
from whet.sources.lock.foreign import Foreign, computed_hash, fingerprint, fits, look
from whet.sources.model import Ref

HASH = "5a17552cc1482f1a40124bf4e6c9dbd90ac0dbb47e71c07d47369f9e5f2ae3b5"


class Project:
    """A home and a repository with skills in `.agents/skills`."""

    def __init__(self, top: Path) -> None:
        self.home, self.repository = top / "home", top / "repository"
        self.base = self.repository / ".agents"
        self.root = self.base / "skills"
        for path in (self.root, self.home / ".agents" / "skills"):
            path.mkdir(parents=True)
        self.env: dict[str, str] = {}

    @property
    def place(self) -> Place:
        return Place(str(self.repository), str(self.home), str(self.home / "state"), "linux", self.env)

    def skill(self, name: str, metadata: str = "", *, root: Path | None = None) -> str:
        path = (root or self.root) / name
        path.mkdir(parents=True, exist_ok=True)
        (path / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n{metadata}---\nBody.\n")
        return str(path)

    def found(self, root: Path | None = None) -> dict[str, Foreign]:
        root = root or self.root
        return {item.name: item for item in look(self.place, str(root), str(root.parent)).skills}

    def notes(self) -> list[str]:
        notes = look(self.place, str(self.root), str(self.base)).notes
        assert all(note.code == "foreign-lock-damaged" and note.hint and note.message.endswith(".") for note in notes)
        return [note.message for note in notes]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path.resolve())


def write(path: Path, value: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return str(path)


def test_nothing_is_nothing(project: Project) -> None:
    assert look(project.place, str(project.root), str(project.base)) == ((), ())
    assert look(project.place, str(project.root / "gone"), str(project.root)) == ((), ())


def test_the_lock_of_a_project(project: Project) -> None:
    skills: dict[str, Any] = {
        "codebase-design": {
            "source": "MattPocock/skills",
            "sourceType": "github",
            "skillPath": "skills/engineering/codebase-design/SKILL.md",
            "computedHash": HASH,
        },
        "whole": {"source": "owner/whole", "ref": "v2", "sourceType": "github", "skillPath": "SKILL.md"},
        "unplaced": {"source": "owner/many", "sourceType": "github", "computedHash": HASH},
        "lab": {
            "source": "group/repo",
            "sourceUrl": "https://gitlab.com/group/repo.git",
            "sourceType": "gitlab",
            "skillPath": "skills/lab/SKILL.md",
        },
        "lab-short": {"source": "group/repo", "sourceType": "gitlab"},
        "own-host": {"source": "git@git.example.com:team/skills.git", "sourceType": "git", "skillPath": "x/SKILL.md"},
        "near": {"source": "vendor/near", "sourceType": "local", "computedHash": HASH},
        "bun": {"source": "bun.sh", "sourceType": "well-known", "wellKnownDigest": "sha256:abc"},
        "file": {"source": "x", "sourceUrl": "https://example.com/a.zip", "sourceType": "download"},
    }
    path = write(project.repository / "skills-lock.json", {"version": 1, "skills": skills})
    for name in ("whole", "bun"):
        project.skill(name)

    def foreign(name: str, ref: Ref, hash_: str = "", marker: str = "") -> Foreign:
        return Foreign(name, str(project.root / name), ref, "", hash_, "skills-lock", path, marker)

    github = "https://github.com/"
    assert project.found() == {
        "codebase-design": foreign(
            "codebase-design",
            Ref("git", f"{github}mattpocock/skills", "", "skills/engineering/codebase-design"),
            HASH,
        ),
        "whole": foreign("whole", Ref("git", f"{github}owner/whole", "v2")),
        "unplaced": foreign("unplaced", Ref("git", f"{github}owner/many"), HASH),
        "lab": foreign("lab", Ref("git", "https://gitlab.com/group/repo.git", "", "skills/lab")),
        "lab-short": foreign("lab-short", Ref("git", "https://gitlab.com/group/repo.git")),
        "own-host": foreign("own-host", Ref("git", "ssh://git@git.example.com/team/skills.git", "", "x")),
        "near": foreign("near", Ref("path", str(project.repository / "vendor" / "near")), HASH),
        "bun": foreign("bun", Ref("well-known", "https://bun.sh", "", "bun"), marker="sha256:abc"),
        "file": foreign("file", Ref("url", "https://example.com/a.zip")),
    }
    assert project.notes() == []


def test_the_lock_of_a_user(project: Project) -> None:
    skills = {
        "lark-doc": {
            "source": "open.feishu.cn",
            "sourceType": "well-known",
            "sourceUrl": "https://open.feishu.cn/.well-known/skills/lark-doc/SKILL.md",
            "skillFolderHash": "",
        },
        "pages": {
            "source": "larksuite/cli",
            "sourceType": "github",
            "sourceUrl": "https://github.com/larksuite/cli/tree/main/skills/pages",
            "skillPath": "skills/pages/SKILL.md",
            "skillFolderHash": "a" * 40,
            "installedAt": "2026-01-01T00:00:00Z",
        },
    }
    lock = {"version": 3, "skills": skills, "dismissed": {}, "lastSelectedAgents": ["codex"]}
    path = write(project.home / ".agents" / ".skill-lock.json", lock)
    root = project.home / ".agents" / "skills"
    pages = Ref("git", "https://github.com/larksuite/cli", "", "skills/pages")
    expected = {
        "lark-doc": Foreign(
            "lark-doc",
            str(root / "lark-doc"),
            Ref("well-known", "https://open.feishu.cn", "", "lark-doc"),
            "",
            "",
            "skill-lock",
            path,
        ),
        "pages": Foreign("pages", str(root / "pages"), pages, "", "", "skill-lock", path, "a" * 40),
    }
    assert project.found(root) == expected
    assert project.found() == {}, "a project's skills are none of its business"
    project.env = {"XDG_STATE_HOME": str(project.home / "xdg")}
    other = write(project.home / "xdg" / "skills" / ".skill-lock.json", {**lock, "skills": {"pages": skills["pages"]}})
    assert project.found(root) == {**expected, "pages": expected["pages"]._replace(path=other)}


def test_what_clawhub_wrote(project: Project) -> None:
    directory = project.skill("search-2")
    origin = {
        "version": 1,
        "registry": "https://hub.example.com/",
        "slug": "search-2",
        "ownerHandle": "@barney",
        "installedVersion": "1.2.0",
        "installedAt": 1770000000000,
        "fingerprint": HASH,
    }
    path = write(project.root / "search-2" / ".clawhub" / "origin.json", origin)
    lock = {
        "search-2": {"version": "1.2.0", "installedAt": 1, "pinned": True, "pinReason": "it works"},
        "calendar": {"version": None, "installedAt": 1, "ownerHandle": "ann", "pinned": True},
        "mirrored": {
            "version": "x",
            "installedAt": 1,
            "sourceKind": "skills-sh",
            "sourceRepository": "owner/repo",
            "sourcePath": "skills/mirrored",
        },
    }
    beside = write(project.base / ".clawhub" / "lock.json", {"version": 1, "skills": lock})
    ref = Ref("clawhub", "https://hub.example.com", "", "barney/search-2")
    at = str(project.root)
    assert project.found() == {
        "search-2": Foreign("search-2", directory, ref, "1.2.0", HASH, "clawhub", path, pinned="it works"),
        "calendar": Foreign(
            "calendar",
            f"{at}/calendar",
            Ref("clawhub", "https://clawhub.ai", "", "ann/calendar"),
            "",
            "",
            "clawhub",
            beside,
            pinned="yes",
        ),
        "mirrored": Foreign(
            "mirrored",
            f"{at}/mirrored",
            Ref("git", "https://github.com/owner/repo", "", "skills/mirrored"),
            "",
            "",
            "clawhub",
            beside,
        ),
    }


GH = """metadata:
    github-path: {path}
    github-ref: {ref}
    github-repo: {repo}
    github-tree-sha: {sha}
{more}"""
PINNED = "    github-pinned: {}\n"


@pytest.mark.parametrize(
    ("fields", "ref", "marker", "pinned"),
    [
        (
            {"path": "skills/a", "ref": "refs/heads/main", "repo": "https://github.com/O/r", "sha": "7a8633b2"},
            Ref("git", "https://github.com/o/r", "main", "skills/a"),
            "7a8633b2",
            "",
        ),
        (
            {
                "path": "a/SKILL.md",
                "ref": "refs/tags/v1.0",
                "repo": "o/r",
                "sha": "12345",
                "more": "    github-pinned: v1.0\n",
            },
            Ref("git", "https://github.com/o/r", "v1.0", "a"),
            "12345",
            "v1.0",
        ),
        (
            {"path": "a", "ref": "main", "repo": "o/r", "sha": "x", "more": PINNED.format("true")},
            Ref("git", "https://github.com/o/r", "main", "a"),
            "x",
            "yes",
        ),
    ],
)
def test_what_githubs_client_wrote_into_a_skill(
    project: Project, fields: dict[str, str], ref: Ref, marker: str, pinned: str
) -> None:
    directory = project.skill("a", GH.format(**{"more": "", **fields}))
    project.skill("plain", "metadata:\n    author: me\n")
    main = os.path.join(directory, "SKILL.md")
    assert project.found() == {"a": Foreign("a", directory, ref, "", "", "gh", main, marker, pinned)}


def test_the_most_exact_of_several_counts(project: Project) -> None:
    project.skill("a", GH.format(path="a", ref="main", repo="o/r", sha="x", more=""))
    lock = {"version": 1, "skills": {"a": {"source": "other/repo", "sourceType": "github"}}}
    write(project.repository / "skills-lock.json", lock)
    assert [item.kind for item in look(project.place, str(project.root), str(project.base)).skills] == ["gh"]


def test_names_become_directories_as_their_tool_does_it(project: Project) -> None:
    lock = {
        "version": 1,
        "skills": {name: {"source": "o/r", "sourceType": "github"} for name in ("ce:Review", "Own Name")},
    }
    write(project.repository / "skills-lock.json", lock)
    project.skill("Own Name")
    assert {name: os.path.basename(item.directory) for name, item in project.found().items()} == {
        "ce:Review": "ce-review",
        "Own Name": "Own Name",
    }


def test_a_root_that_is_a_link_is_known_by_where_it_lies(project: Project) -> None:
    project.skill("a", GH.format(path="a", ref="main", repo="o/r", sha="x", more=""))
    link = project.repository / "link"
    link.symlink_to(project.root)
    assert [item.directory for item in look(project.place, str(link), str(project.repository)).skills] == [
        str(project.root / "a")
    ]


ENTRY = {"source": "o/r", "sourceType": "github"}
DAMAGED: dict[str, tuple[object, str]] = {
    "no JSON": ("{\n!", "PATH, line 2: It is not valid JSON: Expecting property name enclosed in double quotes."),
    "a merge": ("{\n<<<<<<< HEAD\n", "PATH, line 2: It has unresolved merge markers."),
    "a list": ([], "PATH is not an object."),
    "no version": ({"skills": {}}, "PATH has version 'None'; Whet knows up to 1."),
    "a later version": ({"version": 2, "skills": {}}, "PATH has version '2'; Whet knows up to 1."),
    "no skills": ({"version": 1}, "PATH has no `skills` object."),
    "a text for an entry": ({"version": 1, "skills": {"a": "b"}}, "PATH: 'a' is not an object."),
    "a number for a text": (
        {"version": 1, "skills": {"a": {**ENTRY, "ref": 1}}},
        "PATH: 'a' cannot be used. `ref` is not text.",
    ),
    "an unknown kind": (
        {"version": 1, "skills": {"a": {"source": "pkg", "sourceType": "npm"}}},
        "PATH: 'a' cannot be used. It comes from 'npm' 'pkg', which Whet does not support.",
    ),
    "a path outside": (
        {"version": 1, "skills": {"a": {**ENTRY, "skillPath": "../../x/SKILL.md"}}},
        "PATH: 'a' cannot be used. The path '../../x' has the part '..'.",
    ),
    "a name outside": (
        {"version": 1, "skills": {"..": ENTRY}},
        "PATH: '..' cannot be used. '..' cannot be the name of a directory.",
    ),
    "no bytes of text": (b"\xff", "PATH, line 1: The byte 0xff is not UTF-8."),
}


def test_what_the_hub_of_hermes_installed(project: Project) -> None:
    """In the form of Hermes 0.19: the path has the category, and the identifier is in the form of its source."""
    lock = write(
        project.root / ".hub" / "lock.json",
        {
            "version": 1,
            "installed": {
                "charts": {
                    "source": "github",
                    "identifier": "acme/skills/skills/charts",
                    "install_path": "data/charts",
                    "content_hash": "sha256:0123456789abcdef",
                },
                "tides": {"source": "clawhub", "identifier": "tides", "install_path": "tides"},
                "notes": {
                    "source": "well-known",
                    "identifier": "well-known:https://docs.example.com/.well-known/skills/notes",
                    "install_path": "notes",
                },
                "page": {"source": "url", "identifier": "https://example.com/page/SKILL.md", "install_path": "page"},
                "own": {"source": "official", "identifier": "official/own", "install_path": "own"},
                "away": {"source": "clawhub", "identifier": "away", "install_path": "../../away"},
            },
        },
    )
    assert project.found() == {
        name: Foreign(name, str(project.root / path), ref, "", "", "hermes", lock)
        for name, path, ref in (
            ("charts", "data/charts", Ref("git", "https://github.com/acme/skills", "", "skills/charts")),
            ("notes", "notes", Ref("well-known", "https://docs.example.com", "", "notes")),
            ("page", "page", Ref("url", "https://example.com/page/SKILL.md")),
            ("tides", "tides", Ref("clawhub", "https://clawhub.ai", "", "tides")),
        )
    }
    assert project.notes() == [
        f"{lock}: 'away' cannot be used. The path '../../away' has the part '..'.",
        f"{lock}: 'own' cannot be used. It comes from 'official', which Whet does not support.",
    ]


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_damaged_is_told(project: Project, case: str) -> None:
    value, message = DAMAGED[case]
    path = project.repository / "skills-lock.json"
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        write(path, value)
    assert project.notes() == [message.replace("PATH", str(path))]
    assert project.found() == {}


def test_one_bad_entry_does_not_hide_the_others(project: Project) -> None:
    write(project.repository / "skills-lock.json", {"version": 1, "skills": {"a": {}, "b": ENTRY, "c": []}})
    write(project.base / ".clawhub" / "lock.json", "[]")
    project.skill("d")
    write(project.root / "d" / ".clawhub" / "origin.json", {"version": 1})
    assert set(project.found()) == {"b"}
    assert len(project.notes()) == 4


def test_a_lock_that_may_not_be_read_is_told(project: Project) -> None:
    (project.repository / "skills-lock.json").mkdir()
    assert project.notes() == [f"{project.repository}/skills-lock.json cannot be read: not a regular file."]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=10)
    | st.sampled_from(["o/r", "github", "git", "local"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("source", "sourceType", "sourceUrl", "sourceBaseUrl", "ref", "skillPath", "computedHash", "version"),
        *("ownerHandle", "sourceKind", "pinned", "sourceRepository", "slug", "registry"),
    ]
)
KINDS = st.sampled_from(["github", "gitlab", "git", "local", "well-known", "download"])
VALUES = (
    st.text(max_size=12) | JSON | KINDS | st.sampled_from(["o/r", "https://[::1", "https://a.b/c", "~x", "git@a:b"])
)
LOCKS = st.fixed_dictionaries(
    {
        "version": st.just(1) | JSON,
        "skills": JSON | st.dictionaries(st.text(max_size=8), st.dictionaries(FIELDS, VALUES, max_size=6), max_size=4),
    }
)
DATA = (
    st.binary(max_size=100)
    | JSON.map(lambda value: json.dumps(value).encode())
    | LOCKS.map(lambda value: json.dumps(value).encode())
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("hostile").resolve())


@settings(max_examples=200, deadline=None)
@given(data=DATA)
def test_whatever_the_bytes_they_are_skills_or_notes(hostile: Project, data: bytes) -> None:
    skill = Path(hostile.skill("a", "metadata: {github-repo: x}\n"))
    files = (
        hostile.repository / "skills-lock.json",
        hostile.base / ".clawhub" / "lock.json",
        skill / ".clawhub" / "origin.json",
        hostile.home / ".agents" / ".skill-lock.json",
    )
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    (skill / "SKILL.md").write_bytes(b"---\nmetadata:\n  github-repo: " + data + b"\n---\n")
    for root in (hostile.root, hostile.home / ".agents" / "skills"):
        result = look(hostile.place, str(root), str(root.parent))
        assert all(item.directory.startswith(str(root) + os.sep) for item in result.skills)
        assert all(note.code == "foreign-lock-damaged" for note in result.notes)
    try:
        sound = isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        sound = False
    assert sound or len(look(hostile.place, str(hostile.root), str(hostile.base)).notes) >= 3


# hashes

TREE = {
    "SKILL.md": Item(b"main"),
    "references/b.md": Item(b"b"),
    "references-a.md": Item(b"a"),
    "Zeta.md": Item(b"z"),
    "alpha.md": Item(b"x", executable=True),
    "link": Item(b"alpha.md", link=True),
    "node_modules/x.js": Item(b"no"),
    "deep/.git/config": Item(b"no"),
    "deep/node_modules": Item(b"a file"),
    ".hidden/x": Item(b"h"),
}


def test_the_hash_of_the_lock_of_a_project() -> None:
    order = (".hidden/x", "alpha.md", "deep/node_modules", "references-a.md", "references/b.md", "SKILL.md", "Zeta.md")
    expected = sha256(b"".join(path.encode() + TREE[path].data for path in order)).hexdigest()
    assert computed_hash(TREE) == expected
    assert computed_hash({}) == sha256().hexdigest()


def test_the_fingerprint_of_clawhub() -> None:
    order = ("alpha.md", "deep/node_modules", "references-a.md", "references/b.md", "SKILL.md", "Zeta.md")
    rows = "\n".join(f"{path}:{sha256(TREE[path].data).hexdigest()}" for path in order)
    assert fingerprint(TREE) == sha256(rows.encode()).hexdigest()


def test_a_content_fits_by_the_hash_of_its_own_tool() -> None:
    own = Foreign("a", "/a", Ref("git", "x"), "", computed_hash(TREE), "skills-lock", "/lock")
    assert fits(own, TREE) and not fits(own, {})
    assert not fits(own._replace(computed_hash=""), TREE)
    claw = own._replace(kind="clawhub", computed_hash=fingerprint(TREE))
    assert fits(claw, TREE) and not fits(claw._replace(kind="skills-lock"), TREE)


IN_ORDER = [
    "_x", ".y", "1", "10", "2", "a", "A", "ä", "a b", "a_b", "a-b", "a.b", "a/b", "ab", "aB", "Ab", "AB", "aBc", "ABd",
    "ac", "Ac", "b", "B", "e", "é", "É", "ea", "éa", "f", "references-b.md", "references/a.md", "SKILL.md", "z", "日",
]  # fmt: skip


def test_paths_are_sorted_as_javascript_does_it() -> None:
    mixed = sorted(IN_ORDER)
    assert sorted(mixed, key=collation_key) == IN_ORDER


SORT = "console.log(JSON.stringify(JSON.parse(process.argv[1]).map((x) => x.sort((a, b) => a.localeCompare(b)))))"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no JavaScript here to compare with")
def test_paths_are_sorted_as_the_javascript_of_this_machine_does_it() -> None:
    import random

    random.seed(7)
    signs = "".join(map(chr, range(32, 127)))
    lists = [["".join(random.choices(signs, k=random.randint(1, 6))) for _ in range(40)] for _ in range(100)]
    lists += [["".join(random.choices("aAbB-_./1", k=random.randint(1, 5))) for _ in range(40)] for _ in range(100)]
    lists = [sorted(set(words)) for words in lists]
    env = {**os.environ, "LC_ALL": "en_US.UTF-8"}
    done = subprocess.run(["node", "-e", SORT, json.dumps(lists)], capture_output=True, text=True, env=env)
    if done.returncode:
        pytest.skip("this JavaScript knows no locales")
    assert [sorted(words, key=collation_key) for words in lists] == json.loads(done.stdout)
