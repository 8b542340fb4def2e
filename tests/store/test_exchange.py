"""Two directories swap places, or nothing happens."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from whet.store import atomic as module
from whet.store.atomic import exchange

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="the system has no such call")
def test_directories_swap_places(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    if not exchange(str(tmp_path / "one"), str(tmp_path / "other")):
        pytest.skip("the file system cannot do it")
    assert [(tmp_path / name / "file").read_text() for name in ("one", "other")] == ["other", "one"]


def test_what_is_not_there_cannot_be_swapped(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    assert not exchange(str(tmp_path / "one"), str(tmp_path / "other"))
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_system_without_such_a_call_says_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    module._call.cache_clear()
    monkeypatch.setattr(sys, "platform", "win32")
    assert not exchange(str(tmp_path / "one"), str(tmp_path / "other"))
    module._call.cache_clear()
