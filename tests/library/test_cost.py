"""What looking costs, counted; `test_io` counts what is asked of the disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from counting import databases, reads

from whet.store import state as state_module

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from whet.api import Library


def test_a_warm_list_and_a_warm_read_parse_what_they_show(
    root: str,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    config: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config("stale_days = 20")
    for name in ("one", "two", "three"):
        skill(root, name)
    with opened(root, settled=True) as library:
        library.settings.disable("two")
        library.skills()
        library.read("one")
    with databases() as count, reads() as done, opened(root, settled=True) as library:
        library.skills()
    assert (dict(done), dict(count)) == ({"settings read": 1}, {"state.db": 1})  # it changed a moment ago
    monkeypatch.setattr(state_module, "_SETTLED", 0)
    for expected in ({"state.db": 1}, {}):
        with databases() as count, reads() as done, opened(root, settled=True) as library:
            assert [card.name for card in library.skills()] == ["one", "three"]
        assert (dict(done), dict(count)) == ({"settings read": 1}, expected)
    with databases() as count, reads() as done, opened(root, settled=True) as library:
        library.read("one")
    assert (dict(done), dict(count)) == (
        {"settings read": 1, "SKILL.md parsed": 1},
        {"cache.db": 1},
    )


def test_settings_are_read_again_when_they_change(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], config: Callable[..., None]
) -> None:
    skill(root, "one")
    with opened(root) as library:
        for names in (["one"], [], ["one"], []):  # within one tick of the clock
            config(f"disabled = {names}")
            assert [card.name for card in library.skills()] == ([] if names else ["one"])
        with reads() as count:
            library.skills()
            os.unlink(os.path.join(library.workspace.place.state, "config.toml"))
            assert [card.name for card in library.skills()] == ["one"]
    assert count["settings read"] <= 1
