"""The words of a progress line, the pager, and the width of help."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from whet.interfaces.cli.run import run
from whet.interfaces.cli.terminal import format_progress, page
from whet.notes import Progress

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("progress", "seconds", "expected"),
    [
        (Progress("Indexing", 1, 0, "skills"), 0.5, "Indexing: 1 skill"),
        (Progress("Indexing", 12_000, 0, "skills"), 3.0, "Indexing: 12,000 skills, 4,000/s"),
        (
            Progress("Scanning", 5, 20, "skills"),
            2.0,
            "[#####               ]  25 %  Scanning: 5 of 20 skills, 2/s",
        ),
        (
            Progress("a.zip\x1b", 2_500_000, 2_500_000),
            2.0,
            "[####################] 100 %  a.zip\\x1b: 2.5 MB of 2.5 MB, 1.2 MB/s",
        ),
        (Progress("a.zip", 30_000), 0.2, "a.zip: 30 kB"),
    ],
)
def test_progress_has_a_total_and_a_rate(progress: Progress, seconds: float, expected: str) -> None:
    assert format_progress(progress, seconds) == expected


@pytest.mark.skipif(os.name != "posix", reason="a pager of POSIX")
def test_the_pager_says_how_to_leave_and_ctrl_c_belongs_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f'#!/bin/sh\nkill -INT $PPID\ncat > "{tmp_path}/shown"\nprintf %s "$LESS" > "{tmp_path}/less"\n')
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    monkeypatch.delenv("LESS", raising=False)
    before = signal.getsignal(signal.SIGINT)
    text = "line\n" * 200
    page(text)
    assert ((tmp_path / "shown").read_text(), (tmp_path / "less").read_text()) == (
        text,
        "-R -PsSpace shows more, q leaves$",
    )
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.setenv("LESS", "-X")
    page(text)
    assert (tmp_path / "less").read_text() == "-X", "a person's own choice counts"


def test_help_is_as_wide_as_columns_says_also_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    widths = {}
    for columns in ("60", "", "80", "300"):
        assert run(["undo", "--help"], {"COLUMNS": columns}) == 0
        widths[columns] = max(map(len, capsys.readouterr().out.splitlines()))
    assert (widths["60"] <= 60 < widths["80"] <= 80 < widths[""] <= 100, widths["300"]) == (True, widths[""])
