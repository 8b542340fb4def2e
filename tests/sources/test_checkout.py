"""What is checked out around a directory, read without git."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sources.repositories import Repository, skill
from whet.sources.git.checkout import read_checkout

if TYPE_CHECKING:
    from pathlib import Path


def test_branch_and_commit_are_read_from_loose_and_packed_references(tmp_path: Path) -> None:
    repository, team = Repository.new(tmp_path / "served"), tmp_path / "team"
    commit = repository.commit({"skills/pdf/SKILL.md": skill("pdf")})
    repository.git("clone", "-q", repository.url, str(team))
    inner = str(team / "skills" / "pdf")
    assert (read_checkout(str(tmp_path)), read_checkout(inner)) == ("", f"main@{commit}")
    repository.git("pack-refs", "--all", cwd=team)
    assert read_checkout(inner) == f"main@{commit}"
    repository.git("worktree", "add", "-q", "-b", "next/one", str(tmp_path / "other"), cwd=team)
    assert read_checkout(str(tmp_path / "other")) == f"next/one@{commit}"
    repository.git("checkout", "-q", "--detach", cwd=team)
    assert read_checkout(inner) == f"@{commit}"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("", ""),
        ("ref: refs/heads/main\n", "main@"),
        ("ref: refs/heads/../../../secret\n", ""),
        ("nonsense\n", ""),
    ],
)
def test_what_is_no_repository_has_no_checkout(tmp_path: Path, head: str, said: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head, encoding="utf-8")
    assert read_checkout(str(tmp_path)) == said
