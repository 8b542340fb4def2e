"""What a stranger tries first: every theft is dangerous, and honest skills of the usual style are safe."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiers import thinned

from whet.guard.scan import scan
from whet.skill.tree import Item

TABLE = Path(__file__).with_name("attacks.yaml")
PARTS = 10


@cache
def table() -> Any:
    return yaml.load(TABLE.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@pytest.mark.parametrize("part", thinned(range(PARTS), 5))
@pytest.mark.parametrize(("side", "verdict"), [("thefts", "dangerous"), ("honest", "safe")])
def test_it_comes_out_as_it_should(side: str, verdict: str, part: int) -> None:
    """Those with `still` do not yet; one that is mended loses the word."""
    chosen = list(table()[side].items())[part::PARTS]
    found = {name: scan({path: Item(text.encode()) for path, text in entry["files"].items()}) for name, entry in chosen}

    assert {name: scanned.verdict for name, scanned in found.items()} == {
        name: entry.get("still", verdict) for name, entry in chosen
    }
    assert [one for scanned in found.values() for one in scanned.findings if one.rule == "scanner-error"] == []
