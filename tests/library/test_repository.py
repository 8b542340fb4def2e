from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from whet.library.repository import Repository, find_remotes, find_repository, is_same, project_directories

if TYPE_CHECKING:
    from pathlib import Path


def git(directory: Path, *words: str) -> None:
    settings = ("user.name=a", "user.email=a@example.org", "protocol.file.allow=always", "init.defaultBranch=main")
    options = [part for setting in settings for part in ("-c", setting)]
    env = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(directory), *options, *words], env=env, capture_output=True, check=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real repository with one commit."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "-q")
    (path / "file").write_text("content")
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    return path


def found(start: Path, home: Path | str = "/nowhere") -> Repository:
    return find_repository(str(start), home=str(home))


def test_a_repository_is_known_by_its_git_directory(repository: Path) -> None:
    (repository / "src" / "deep").mkdir(parents=True)
    expected = Repository(str(repository), os.path.realpath(repository / ".git"))
    assert [found(repository), found(repository / "src" / "deep")] == [expected, expected]


def test_a_worktree_shares_the_identity_of_its_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert found(tmp_path / "tree") == Repository(str(tmp_path / "tree"), os.path.realpath(repository / ".git"))


def test_a_worktree_with_relative_links_does_too(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / ".git").write_text("gitdir: ../repository/.git/worktrees/tree\n")
    (repository / ".git" / "worktrees" / "tree" / "gitdir").write_text("../../../../tree/.git\n")
    assert found(tmp_path / "tree").identity == os.path.realpath(repository / ".git")


def test_a_worktree_that_was_moved_by_hand_is_on_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree").rename(tmp_path / "moved")
    assert found(tmp_path / "moved").identity == os.path.realpath(tmp_path / "moved")


def test_a_submodule_has_an_identity_of_its_own(repository: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    git(library, "commit", "-qm", "first", "--allow-empty")
    git(repository, "submodule", "add", "-q", str(library), "vendored")
    vendored = repository / "vendored"
    assert (vendored / ".git").is_file()
    assert found(vendored) == Repository(str(vendored), os.path.realpath(vendored))


def test_a_directory_without_git_is_its_own_project(tmp_path: Path) -> None:
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    deep = tmp_path / "plain" / "deep"
    assert found(deep) == Repository(str(deep), os.path.realpath(deep))


@pytest.mark.parametrize(
    "content",
    [b"", b"gitdir:", b"gitdir: /nowhere", b"\xff\xfe\x00garbage", b"gitdir: a\0b", b"x" * 100_000, b"gitdir: ."],
)
def test_a_git_file_with_garbage_names_nobody(tmp_path: Path, content: bytes) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").write_bytes(content)
    assert found(project) == Repository(str(project), os.path.realpath(project))


def test_a_git_file_that_points_to_a_trusted_repository_is_not_believed(repository: Path, tmp_path: Path) -> None:
    spoof = tmp_path / "spoof"
    spoof.mkdir()
    (spoof / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    assert found(spoof).identity == os.path.realpath(spoof)


def test_a_git_file_that_points_to_the_record_of_another_worktree_is_not_believed(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    spoof = tmp_path / "spoof"
    spoof.mkdir()
    (spoof / ".git").write_text((tmp_path / "tree" / ".git").read_text())
    assert found(spoof).identity == os.path.realpath(spoof)


def test_an_archive_that_brings_its_own_record_is_not_believed(repository: Path, tmp_path: Path) -> None:
    """All of this can be inside a stranger's archive: a record that names the file back, and a trusted repository."""
    spoof = tmp_path / "spoof"
    (spoof / "record").mkdir(parents=True)
    (spoof / ".git").write_text("gitdir: record\n")
    (spoof / "record" / "gitdir").write_text("../.git\n")
    (spoof / "record" / "commondir").write_text(f"{repository / '.git'}\n")
    assert found(spoof).identity == os.path.realpath(spoof)


def test_a_link_to_a_trusted_repository_is_not_believed(repository: Path, tmp_path: Path) -> None:
    spoof = tmp_path / "spoof"
    spoof.mkdir()
    (spoof / ".git").symlink_to(repository / ".git")
    assert found(spoof) == Repository(str(spoof), os.path.realpath(spoof))
    (spoof / ".git").unlink()
    (spoof / ".git").symlink_to("nowhere")
    assert found(spoof) == Repository(str(spoof), os.path.realpath(spoof))


def test_the_home_is_never_a_project(repository: Path) -> None:
    (repository / "below").mkdir()
    assert found(repository, home=repository) == Repository(str(repository), os.path.realpath(repository))
    assert found(repository / "below", home=repository).root == str(repository / "below")


def test_the_home_is_recognised_behind_a_link(repository: Path, tmp_path: Path) -> None:
    (repository / "below").mkdir()
    (tmp_path / "home-link").symlink_to(repository)
    assert found(repository / "below", home=tmp_path / "home-link").root == str(repository / "below")


def test_a_search_ends_somewhere(tmp_path: Path) -> None:
    start = tmp_path.joinpath(*["d"] * 80)
    start.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert found(start).root == str(start)


def test_directories_are_the_same_whatever_leads_to_them(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert is_same(str(tmp_path), str(tmp_path / "link"))
    assert is_same("/nowhere", "/nowhere")
    assert not is_same(str(tmp_path), "/nowhere")


def test_project_directories_go_up_to_the_repository(repository: Path) -> None:
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    assert project_directories(str(deep), found(deep)) == (str(deep), str(repository / "a"), str(repository))
    assert project_directories(str(repository), found(repository)) == (str(repository),)


def remotes(start: Path) -> tuple[str, ...]:
    return find_remotes(found(start))


def configured(directory: Path, text: str) -> tuple[str, ...]:
    (directory / ".git").mkdir(parents=True, exist_ok=True)
    (directory / ".git" / "config").write_text(text)
    return remotes(directory)


def test_a_clone_and_its_worktrees_and_submodules_come_from_their_remotes(repository: Path, tmp_path: Path) -> None:
    assert (remotes(repository), remotes(tmp_path)) == ((), ())
    git(tmp_path, "clone", "-q", str(repository), "clone")
    assert remotes(tmp_path / "clone") == (str(repository),)
    git(tmp_path / "clone", "remote", "add", "up", "https://git.example/a/b")
    git(tmp_path / "clone", "worktree", "add", "-q", str(tmp_path / "tree"))
    assert remotes(tmp_path / "tree") == (str(repository), "https://git.example/a/b")
    git(tmp_path / "clone", "submodule", "--quiet", "add", str(tmp_path / "repository"), "inner")
    git(tmp_path / "clone" / "inner", "remote", "set-url", "origin", "https://git.example/c/d")
    assert remotes(tmp_path / "clone" / "inner") == ("https://git.example/c/d",)
    git(tmp_path, "init", "-q", "borrowed")
    (tmp_path / "unpacked").mkdir()
    for named in ("borrowed/.git", "clone/.git", "clone/.git/modules/inner", "clone/.git/worktrees/tree", "nothing"):
        (tmp_path / "unpacked" / ".git").write_text(f"gitdir: {tmp_path / named}\n")
        assert remotes(tmp_path / "unpacked") == ("",), named
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").symlink_to(tmp_path / "borrowed" / ".git")
    assert remotes(tmp_path / "linked") == ("",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("[core]\n\tbare = false\n", ()),
        ('[remote "origin"]\n\turl = https://a.example/b # mine\n\tfetch = +x\n', ("https://a.example/b",)),
        ('[remote "a"] url = "b" ; c\n[Remote "b"]\nURL=c\\\nd\n', ("b", "cd")),
        ('[remote.old]\nurl = "a b\\"c"\n', ('a b"c',)),
        ('[remote "a"]\nurl = x\nurl = y\npushurl = z\n', ("x", "y")),
        ('[branch "main"]\nremote = https://a.example/b\n[branch "x"]\nremote = origin\n', ("https://a.example/b",)),
        (
            '[url "https://evil.example/"]\ninsteadOf=https://a.example/\n[remote "a"]\nurl = https://a.example/b\n',
            ("https://a.example/b", "https://evil.example/b"),
        ),
        ("[include]\npath = ../../other\n", ("",)),
        ('[includeIf "gitdir:/"]\npath = /etc/passwd\n', ("",)),
        ('[remote "a"]\nvcs = helper\n', ("",)),
        ("nonsense\n", ("",)),
        ("[remote\nurl = x\n", ("",)),
        ("x" * 1_000_001, ("",)),
        ('[alias]\nx = "!touch marker"\n[core]\nfsmonitor = touch marker\nsshCommand = touch marker\n', ()),
    ],
)
def test_a_configuration_is_read_and_never_obeyed(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    assert configured(tmp_path, text) == expected
    assert not (tmp_path / "marker").exists()


def test_a_configuration_that_is_no_text_hides_something(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_bytes(b'[remote "a"]\nurl = \xff\n')
    assert remotes(tmp_path) == ("",)
