"""Archives, digests and new skills, by path."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from whet.errors import ConflictError, FailedError, InvalidError, UsageError, WhetError
from whet.library.standalone import begin, digest, fill_template, pack, unpack
from whet.skill.validate import ValidationInput, validate
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "---\nname: {}\ndescription: Does one thing.\n---\nDo it.\n"
posix = pytest.mark.skipif(os.name != "posix", reason="links and modes of POSIX")


def skill(path: Path, **files: bytes) -> Path:
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(TEXT.format(path.name), encoding="utf-8")
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def archive(path: Path, files: dict[str, str]) -> str:
    with zipfile.ZipFile(path, "w") as writer:
        for name, text in files.items():
            writer.writestr(name, text)
    return str(path)


def test_packing_is_deterministic_and_tells_what_it_made(tmp_path: Path) -> None:
    one, two = skill(tmp_path / "a" / "same", x=b"1"), skill(tmp_path / "b" / "same", x=b"1")
    os.utime(two / "x", (1, 1))
    first, second = (
        pack(str(one), str(tmp_path / "1.skill")).to_json(),
        pack(str(two / "SKILL.md"), str(tmp_path / "2.skill")).to_json(),
    )
    assert (tmp_path / "1.skill").read_bytes() == (tmp_path / "2.skill").read_bytes()
    assert first == {
        "success": True,
        "path": str(tmp_path / "1.skill"),
        "name": "same",
        "digest": digest(str(one)),
        "size": (tmp_path / "1.skill").stat().st_size,
        "files": 2,
        "valid": True,
    }
    assert second == {**first, "path": str(tmp_path / "2.skill")}


def test_packing_into_a_directory(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert pack(str(skill(tmp_path / "x")), str(tmp_path / "out")).to_json()["path"] == str(
        tmp_path / "out" / "x.skill"
    )


def test_a_single_file_becomes_a_package(tmp_path: Path) -> None:
    (tmp_path / "flat.md").write_text(TEXT.format("flat"), encoding="utf-8")
    made = pack(str(tmp_path / "flat.md"), str(tmp_path)).to_json()
    assert (made["name"], made["files"], made["digest"]) == ("flat", 1, digest(str(tmp_path / "flat.md")))
    unpacked = unpack(made["path"], str(tmp_path / "out"), state=str(tmp_path / "state")).to_json()
    assert unpacked["digest"] == made["digest"]


def test_another_file_is_never_replaced_by_an_archive(tmp_path: Path) -> None:
    path = skill(tmp_path / "x")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ConflictError) as caught:
        pack(str(path), str(tmp_path / "notes.txt"))
    assert caught.value.code == "file-exists"
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


@posix
def test_a_link_cannot_be_packed(tmp_path: Path) -> None:
    path = skill(tmp_path / "x", real=b"1")
    (path / "link").symlink_to("real")
    with pytest.raises(InvalidError) as caught:
        pack(str(path), str(tmp_path / "x.skill"))
    assert (caught.value.code, (tmp_path / "x.skill").exists()) == ("link-in-package", False)


def test_unpacking_takes_the_name_of_the_file_when_there_is_no_folder(tmp_path: Path) -> None:
    path = archive(tmp_path / "My Skill.v2.zip", {"SKILL.md": TEXT.format("my-skill"), "a/b.md": "b"})
    made = unpack(path, str(tmp_path / "out"), state=str(tmp_path / "state")).to_json()
    assert (made["name"], made["path"], made["files"]) == ("my-skill", str(tmp_path / "out" / "my-skill"), 2)


def test_unpacking_a_tarball_leaves_out_what_is_no_part_of_a_skill(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as writer:
        for name in ("x/SKILL.md", "x/.git/config", "x/.DS_Store"):
            data = TEXT.format("x").encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            writer.addfile(member, io.BytesIO(data))
    made = unpack(str(tmp_path / "x.tar.gz"), str(tmp_path), state=str(tmp_path / "state")).to_json()
    assert (made["files"], made["skipped"]) == (1, ["x/.DS_Store", "x/.git/config"])
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == ["SKILL.md"]


@posix
def test_unpacking_does_not_write_through_a_link(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.skill", {"x/SKILL.md": TEXT.format("x")})
    precious = skill(tmp_path / "precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").symlink_to(precious)
    with pytest.raises(ConflictError) as caught:
        unpack(path, str(tmp_path / "out"), force=True, state=str(tmp_path / "state"))
    assert (caught.value.code, sorted(os.listdir(precious))) == ("not-a-directory", ["SKILL.md"])


def test_what_is_there_stays_when_unpacking_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "x.skill", {"x/SKILL.md": TEXT.format("x"), "x/more.md": "more"})
    old = skill(tmp_path / "out" / "x", kept=b"1")
    real = os.rename

    def fail(source: str, target: str) -> None:
        if ".whet-tmp-" in source:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr("whet.store.atomic.exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(FailedError) as caught:
        unpack(path, str(tmp_path / "out"), force=True, state=str(tmp_path / "state"))
    monkeypatch.undo()
    assert (caught.value.code, sorted(os.listdir(old)), os.listdir(tmp_path / "out")) == (
        "disk-full",
        ["SKILL.md", "kept"],
        ["x"],
    )


def test_two_writers_of_one_skill_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.library.standalone._LOCK_SECONDS", 0)
    target = tmp_path / "skills" / "x"
    target.parent.mkdir()
    with (
        FileLock(lock_path(str(tmp_path / "state"), "skill", os.path.realpath(target)), timeout=0),
        pytest.raises(FailedError) as caught,
    ):
        begin(str(tmp_path / "skills"), "x", fill_template("x"), state=str(tmp_path / "state"))
    assert (caught.value.code, target.exists()) == ("lock-timeout", False)


def test_a_new_skill_only_waits_to_be_filled_in(tmp_path: Path) -> None:
    tree = fill_template("my-skill")
    made = begin(str(tmp_path / "skills"), "my-skill", tree, state=str(tmp_path / "state")).to_json()
    text = (tmp_path / "skills" / "my-skill" / "SKILL.md").read_text(encoding="utf-8")
    assert made == {
        "success": True,
        "name": "my-skill",
        "path": str(tmp_path / "skills" / "my-skill"),
        "file": str(tmp_path / "skills" / "my-skill" / "SKILL.md"),
    }
    findings = validate(ValidationInput("my-skill", text, files=("SKILL.md",)), "quality")
    assert {finding.code for finding in findings} == {"leftover-marker"}
    filled = text.replace("TODO: ", "").replace("TODO says", "Says")
    left = validate(ValidationInput("my-skill", filled, files=("SKILL.md",)), "quality")
    assert {finding.code for finding in left} == {"leftover-marker"}, "the sentences of the template are left"


@pytest.mark.parametrize(
    ("name", "description", "code"),
    [
        ("Capital", None, "bad-name"),
        ("two--hyphens", None, "bad-name"),
        ("x" * 65, None, "bad-name"),
        ("naïve", None, "bad-name"),
        ("../up", None, "bad-name"),
        ("", None, "bad-name"),
        ("fine", "", "bad-description"),
        ("fine", "x" * 1025, "bad-description"),
    ],
)
def test_a_new_skill_must_keep_the_rules(name: str, description: str | None, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        fill_template(name, description)
    assert caught.value.code == code


@pytest.mark.parametrize("path", ["none", "notes.txt", "none/SKILL.md"])
def test_paths_that_are_no_package(path: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for call in (digest, pack):
        with pytest.raises(WhetError):
            call(str(tmp_path / path))
