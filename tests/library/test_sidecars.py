from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from whet.library.card_reader import MAX_SIZE, NOTHING, Beside, read_beside
from whet.library.files import stamp
from whet.skill.dialects import Sidecars

if TYPE_CHECKING:
    from pathlib import Path

AHEAD = 60 * 10**9


def read(directory: Path, *, has_folders: bool = True, ahead: int = AHEAD) -> Beside:
    return read_beside(str(directory), has_folders=has_folders, now=time.time_ns() + ahead)


def marks(*paths: Path) -> tuple[tuple[str, int], ...]:
    return tuple((str(path), stamp(os.stat(path))) for path in paths)


def test_a_skill_without_any_is_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) is NOTHING
    assert read(tmp_path, has_folders=False) is NOTHING


def test_skill_json_is_read_and_watched(tmp_path: Path) -> None:
    (tmp_path / "skill.json").write_text('\ufeff{"name": "a"}', encoding="utf-8")
    assert read(tmp_path) == Beside(Sidecars({"name": "a"}, None), marks(tmp_path / "skill.json"), ())


def test_openai_yaml_is_read_and_its_folder_watched(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    assert read(tmp_path) == Beside(Sidecars(None, None), marks(agents), ())
    (agents / "openai.yaml").write_text("policy:\r\n  allow_implicit_invocation: false\r\n")
    assert read(tmp_path) == Beside(
        Sidecars(None, {"policy": {"allow_implicit_invocation": False}}), marks(agents, agents / "openai.yaml"), ()
    )


def test_what_changed_a_moment_ago_is_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "skill.json").write_text("{}")
    ((path, mark),) = read(tmp_path, ahead=0).watched
    assert mark == ~stamp(os.stat(path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"[1]", "it is not a mapping"),
        (b"null", "it is not a mapping"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"[" * 60_000, "nested too deeply"),
        (b" " * (MAX_SIZE + 1), "it is larger than 65,536 bytes"),
    ],
)
def test_a_broken_one_is_a_remark_and_nothing_more(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "skill.json").write_bytes(content)
    beside = read(tmp_path)
    assert (beside.sidecars, len(beside.watched)) == (Sidecars(None, None), 1)
    (note,) = beside.notes
    assert (note.code, note.severity, note.hint) == ("sidecar-unreadable", "warning", "Correct skill.json.")
    assert note.message == f"skill.json was ignored: {reason}."


def test_yaml_that_is_none_is_a_remark(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "openai.yaml").write_text("a: [")
    (note,) = read(tmp_path).notes
    assert note.code == "sidecar-unreadable"
    assert note.message.startswith("agents/openai.yaml was ignored: ")


def test_one_that_is_no_file_is_a_remark(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "skill.json")
    (tmp_path / "agents" / "openai.yaml").mkdir(parents=True)
    assert [note.message for note in read(tmp_path).notes] == [
        "skill.json was ignored: skill.json is not a file.",
        "agents/openai.yaml was ignored: agents/openai.yaml is not a file.",
    ]


def test_a_link_out_of_the_skill_is_not_followed(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "openai.yaml").write_text("policy: {}")
    (tmp_path / "secret.json").write_text('{"description": "secret"}')
    (skill / "skill.json").symlink_to("../secret.json")
    (skill / "agents").symlink_to("../outside")
    beside = read(skill)
    assert beside.sidecars == Sidecars(None, None)
    assert [note.code for note in beside.notes] == ["sidecar-unreadable", "sidecar-unreadable"]


def test_a_link_inside_the_skill_is_followed(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text('{"name": "a"}')
    (tmp_path / "skill.json").symlink_to("meta.json")
    assert read(tmp_path).sidecars == Sidecars({"name": "a"}, None)
