"""Skills prepared for others: read once, checked strictly, scanned, packed."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from sources.publishable import says, written
from whet.authoring.trees import digest
from whet.errors import InvalidError, NotFoundError, RefusedError
from whet.guard.finding import Finding
from whet.library.package import read_tree
from whet.skill.archive import unpack
from whet.skill.tree import Item
from whet.sources.publish.index import content_digest, make_artifact, tar_gz
from whet.sources.publish.prepare import prepare

if TYPE_CHECKING:
    from pathlib import Path

HELP = {"references/guide.md": "# Guide\n", "scripts/run.sh": "#!/bin/sh\necho ok\n"}


def finding(severity: Any) -> Finding:
    return Finding("some-rule", severity, "hiding", "SKILL.md", 3, "Something hides.", "x", "Show it.")


def codes(error: pytest.ExceptionInfo[Any]) -> list[str]:
    return [problem["code"] for problem in error.value.details["problems"]]


# prepare


def test_a_skill_is_prepared_from_one_reading_of_its_files(tmp_path: Path) -> None:
    directory = written(tmp_path, "greet", files=HELP, more='metadata:\n  version: "1.2"\n')
    (directory / "__pycache__").mkdir()
    (directory / "__pycache__" / "x.pyc").write_bytes(b"compiled")
    skill = prepare(str(directory), scan=says())
    tree = read_tree(str(directory))
    assert skill._replace(archive=b"") == (
        *("greet", "1.2", "Does greet.", tree, b"", digest(tree)),
        *(hashlib.sha256(skill.archive).hexdigest(), "safe", ()),
    )
    package = unpack(skill.archive)
    assert package.name == "greet"
    assert package.tree == tree
    assert skill.to_json()["files"] == 3
    assert prepare(str(directory / "SKILL.md"), scan=says()) == skill


def test_what_breaks_the_format_is_refused_with_every_problem(tmp_path: Path) -> None:
    directory = tmp_path / "bad"
    directory.mkdir()
    (directory / "SKILL.md").write_text("---\nname: Other\ncolour: red\n---\nBody\n")
    with pytest.raises(InvalidError) as error:
        prepare(str(directory), scan=says())
    assert error.value.code == "not-publishable"
    assert {"unknown-key", "name-directory-mismatch", "description-missing"} <= set(codes(error))


def test_only_strict_hosts_mind_a_reserved_name(tmp_path: Path) -> None:
    directory = written(tmp_path, "claude-helper")
    with pytest.raises(InvalidError) as error:
        prepare(str(directory), scan=says())
    assert codes(error) == ["name-reserved-word"]
    assert prepare(str(directory), scan=says(), profile="spec").name == "claude-helper"


def test_a_directory_without_a_main_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidError) as error:
        prepare(str(tmp_path / "empty"), scan=says())
    assert codes(error) == ["skill-md-missing"]
    with pytest.raises(NotFoundError, match="There is no"):
        prepare(str(tmp_path / "nowhere"), scan=says())


@pytest.mark.parametrize("profile", ["upload", "spec"])
def test_the_older_name_of_the_main_file_is_refused(tmp_path: Path, profile: Any) -> None:
    directory = written(tmp_path, "greet")
    (directory / "SKILL.md").rename(directory / "other")
    (directory / "other").rename(directory / "skill.md")
    with pytest.raises(InvalidError) as error:
        prepare(str(directory), scan=says(), profile=profile)
    assert codes(error) == ["main-file-name"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize(("target", "code"), [("guide.md", "link-in-package"), ("/etc/hosts", "link-escape")])
def test_links_are_refused(tmp_path: Path, target: str, code: str) -> None:
    directory = written(tmp_path, "greet", files={"references/guide.md": "x"})
    (directory / "references" / "link.md").symlink_to(target)
    with pytest.raises(InvalidError) as error:
        prepare(str(directory), scan=says())
    assert (error.value.code, codes(error)) == ("not-publishable", [code])


def test_what_no_archive_can_hold_is_refused(tmp_path: Path) -> None:
    directory = written(tmp_path, "greet", files={"references/a:b.md": "x"})
    with pytest.raises(InvalidError) as error:
        prepare(str(directory), scan=says())
    assert codes(error) == ["archive-unsafe-path"]


def test_a_dangerous_skill_is_refused_and_a_doubtful_one_told(tmp_path: Path) -> None:
    directory = str(written(tmp_path, "greet"))
    with pytest.raises(RefusedError) as error:
        prepare(directory, scan=says("dangerous", finding("critical"), finding("info")))
    assert (error.value.code, codes(error)) == ("not-publishable", ["some-rule"])
    doubtful = prepare(directory, scan=says("caution", finding("warn"), finding("info")))
    assert doubtful.verdict == "caution"
    assert [(problem.code, problem.severity) for problem in doubtful.problems] == [("some-rule", "warning")]


# artifacts


def test_an_artifact_depends_on_nothing_but_the_files() -> None:
    tree = {"b/Ünïcode.md": Item(b"x"), "SKILL.md": Item(b"main"), "a.sh": Item(b"run", executable=True)}
    data = tar_gz(tree)
    assert data == tar_gz(dict(reversed(tree.items())))
    assert data[:10] == b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    with tarfile.open(fileobj=BytesIO(gzip.decompress(data))) as archive:
        listed = [(entry.name, entry.mode, entry.mtime, entry.uid, entry.uname) for entry in archive]
    assert listed == [("SKILL.md", 0o644, 0, 0, ""), ("a.sh", 0o755, 0, 0, ""), ("b/Ünïcode.md", 0o644, 0, 0, "")]
    assert content_digest("archive", data) == digest(tree)


def test_a_main_file_alone_is_its_own_artifact() -> None:
    assert make_artifact({"SKILL.md": Item(b"main")}) == ("skill-md", b"main")
    assert make_artifact({"SKILL.md": Item(b"main", executable=True)}).kind == "archive"
