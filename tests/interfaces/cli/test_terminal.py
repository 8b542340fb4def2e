"""The words of a progress line."""

from __future__ import annotations

import pytest

from whet.interfaces.cli.terminal import format_progress
from whet.notes import Progress


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
