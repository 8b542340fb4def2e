"""Checking and repairing skills by path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import NotFoundError, UsageError
from whet.library.standalone import check, pack, repair, skills_below

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "---\nname: {}\ndescription: Does one thing.\n---\nDo it.\n"
posix = pytest.mark.skipif(os.name != "posix", reason="links of POSIX")


def skill(path: Path, text: str = TEXT, main: str = "SKILL.md") -> Path:
    path.mkdir(parents=True)
    (path / main).write_text(text.format(path.name), encoding="utf-8")
    return path


def codes(result: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in result["findings"]]


def test_a_valid_skill_has_no_findings(tmp_path: Path) -> None:
    path = skill(tmp_path / "fine")
    expected = {"path": str(path), "file": str(path / "SKILL.md"), "valid": True, "findings": []}
    assert check(str(path)).to_json() == expected
    assert check(str(path / "SKILL.md")).to_json() == {**expected, "path": str(path / "SKILL.md")}


def test_paths_are_shown_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skill(tmp_path / "fine")
    monkeypatch.chdir(tmp_path)
    assert check("fine").to_json()["file"] == os.path.join("fine", "SKILL.md")
    monkeypatch.chdir(tmp_path / "fine")
    assert check("SKILL.md").to_json() == {"path": "SKILL.md", "file": "SKILL.md", "valid": True, "findings": []}
    assert check(".").to_json()["valid"] is True


def test_no_main_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert codes(check(str(tmp_path / "empty")).to_json()) == ["skill-md-missing"]


def test_an_old_main_file_is_checked_under_its_name(tmp_path: Path) -> None:
    result = check(str(skill(tmp_path / "old", main="skill.md"))).to_json()
    assert (os.path.basename(result["file"]), result["valid"], codes(result)) == ("skill.md", True, ["main-file-name"])


def test_a_single_file_is_checked_like_a_skill_and_told_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "flat.md").write_text(TEXT.format("flat"), encoding="utf-8")
    assert codes(check(str(tmp_path / "flat.md")).to_json()) == ["main-file-name"]


@posix
def test_a_link_that_leaves_makes_the_package_invalid(tmp_path: Path) -> None:
    path = skill(tmp_path / "linked", TEXT + "See [it](references/x.md).\n")
    (path / "references").mkdir()
    (path / "references" / "x.md").symlink_to(tmp_path / "elsewhere.md")
    assert codes(check(str(path), "quality").to_json())[0] == "link-escape"
    assert check(str(path)).to_json()["valid"] is False
    assert "reference-dangling" not in codes(check(str(path), "quality").to_json())


@posix
def test_a_main_file_that_is_a_link_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(TEXT.format("linked"), encoding="utf-8")
    path = tmp_path / "linked"
    path.mkdir()
    (path / "SKILL.md").symlink_to(tmp_path / "secret.md")
    assert codes(check(str(path)).to_json()) == ["link-escape", "path-escape", "skill-md-missing"]


def test_a_main_file_that_is_too_large_is_not_repaired(tmp_path: Path) -> None:
    path = skill(tmp_path / "large", "---\nname: large\ndescription: Use: it\n---\n" + "x" * (1 << 20))
    before = (path / "SKILL.md").read_bytes()
    result = repair(str(path), state=str(tmp_path / "state")).to_json()
    assert (codes(result)[0], result["valid"], result["fixed"]) == ("too-large", False, [])
    assert (path / "SKILL.md").read_bytes() == before


def test_repairing_changes_the_file_once(tmp_path: Path) -> None:
    path = skill(tmp_path / "odd", "---\nname: Odd\ndescription: Use: it\n---\nText")
    (path / "SKILL.md").chmod(0o640)
    result = repair(str(path), state=str(tmp_path / "state")).to_json()
    assert (result["valid"], result["findings"]) == (True, [])
    assert {finding["code"] for finding in result["fixed"]} >= {"yaml-repaired", "name-not-lowercase"}
    written = (path / "SKILL.md").read_text(encoding="utf-8")
    assert written == "---\nname: odd\ndescription: 'Use: it'\n---\nText\n"
    status = (path / "SKILL.md").stat()
    assert repair(str(path), state=str(tmp_path / "state")).to_json()["fixed"] == []
    assert ((path / "SKILL.md").stat().st_ino, status.st_mode & 0o777) == (status.st_ino, 0o640)


def test_what_cannot_be_repaired_without_loss_is_left_alone(tmp_path: Path) -> None:
    path = skill(tmp_path / "latin")
    data = b"---\nname: latin\ndescription: caf\xe9: yes\n---\n"
    (path / "SKILL.md").write_bytes(data)
    result = repair(str(path), state=str(tmp_path / "state")).to_json()
    assert (codes(result)[0], result["fixed"], (path / "SKILL.md").read_bytes()) == ("cannot-fix", [], data)


def test_an_archive_counts_as_published(tmp_path: Path) -> None:
    path = skill(tmp_path / "small")
    archive = pack(str(path), str(tmp_path / "small.skill")).to_json()["path"]
    severities = {
        finding["severity"]
        for finding in check(archive, "quality").to_json()["findings"]
        if finding["code"] == "section-missing"
    }
    assert severities == {"warning"}
    with pytest.raises(UsageError) as caught:
        repair(archive, state=str(tmp_path / "state"))
    assert caught.value.code == "cannot-fix-archive"


def test_every_skill_below_a_directory(tmp_path: Path) -> None:
    top = tmp_path / "top"
    found = [
        skill(top / "b"),
        skill(top / "category" / "a"),
        skill(top / ".claude" / "skills" / "c"),
        skill(top / "old", main="skill.md"),
    ]
    skill(top / "b" / "examples" / "inner")
    skill(top / "node_modules" / "x")
    skill(top / ".cache" / "y")
    assert skills_below(str(top)) == tuple(sorted(map(str, found)))


def test_a_directory_may_be_a_skill_and_a_collection(tmp_path: Path) -> None:
    top = skill(tmp_path / "top")
    inner = skill(top / "inner")
    skill(top / "examples" / "sample")
    assert skills_below(str(top)) == (str(top), str(inner))


@posix
def test_links_are_followed_to_skills_only(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "linked").symlink_to(skill(tmp_path / "elsewhere" / "linked"))
    (top / "tree").symlink_to(tmp_path / "elsewhere")
    (top / "loop").symlink_to(top)
    assert skills_below(str(top)) == (str(top / "linked"),)


def test_nothing_below_is_said(tmp_path: Path) -> None:
    for path, code in ((tmp_path, "no-skills-found"), (tmp_path / "none", "path-not-found")):
        with pytest.raises(NotFoundError) as caught:
            skills_below(str(path))
        assert caught.value.code == code
