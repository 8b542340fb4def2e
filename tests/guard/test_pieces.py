"""Payloads put together from pieces, letters and codes: worked out without running anything, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from whet.guard.javascript import checker as javascript
from whet.guard.python import checker as python
from whet.guard.rules import severity_of

TEXTS = yaml.safe_load((Path(__file__).parent / "pieces.yaml").read_text("utf-8"))


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_what_is_put_together_from_pieces_is_read(language: str) -> None:
    checker = python if language == "python" else javascript
    missed = [
        name
        for name, text in TEXTS[language].items()
        if not any(severity_of(hit) == "critical" for hit in checker.check(text).hits)
    ]
    assert missed == []
