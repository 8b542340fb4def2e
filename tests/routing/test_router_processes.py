"""Real processes that use one index at once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from routing.shelf import SHELF, assert_same, entry, router
from whet.routing.router import Found, Router

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRELUDE = f"""
import sys
sys.path.insert(0, {TESTS!r})
from routing.shelf import SHELF, entry
from whet.routing.router import Router
router = Router(sys.argv[1])
"""
UPDATE = (
    PRELUDE
    + """
for turn in range(12):
    router.update(entry(texts, stamp=str(turn)) for texts in SHELF)
"""
)
TOGGLE = (
    PRELUDE
    + """
states = (SHELF[0], SHELF[0]._replace(description="Knit woollen socks", triggers=()))
print("ready", flush=True)
for turn in range(60):
    router.update([entry(states[turn % 2], stamp=str(turn % 2)), *map(entry, SHELF[1:])])
"""
)
SHARE = f"""
import sys
sys.path.insert(0, {TESTS!r})
from routing.shelf import SHELF, entry
from whet.routing.router import Router
number = int(sys.argv[2])
router = Router(sys.argv[1], str(number))
for turn in range(8):
    router.update(entry(texts, stamp=str(turn % (number + 1))) for texts in SHELF[number :])
    assert router.find("idnex the slow joins")
"""
ASKED = ("squash my commits", "depoly to the cluster", "idnex the slow joins", "knit me some socks", "写周报")


def answers(known: Router) -> list[tuple[Found, ...]]:
    return [known.find(message) for message in ASKED]


def told(found: tuple[Found, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.key, one.why) for one in found]


def test_updates_at_once_give_what_one_would_have_given(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    started = [subprocess.Popen([sys.executable, "-c", UPDATE, path]) for _ in range(3)]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    known = Router(path)
    assert known.update(entry(texts, stamp="11") for texts in SHELF)[2:4] == (0, len(SHELF))
    assert_same(answers(known), answers(router()))
    alive = known._index.facts()[1]
    assert alive.count(1) == len(SHELF) == len(known._index.known().stamps)
    known.close()


def test_libraries_that_share_an_index_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    started = [subprocess.Popen([sys.executable, "-c", SHARE, path, str(number)]) for number in range(4)]
    assert [process.wait(120) for process in started] == [0] * 4
    for number in range(4):
        known = Router(path, str(number))
        last = str(7 % (number + 1))
        assert known.update(entry(texts, stamp=last) for texts in SHELF[number:])[:3] == (0, 0, 0)
        assert_same(answers(known), answers(router(SHELF[number:])))
        known.close()


def test_a_reader_sees_what_was_before_or_after_an_update(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    known = router(SHELF, path)
    before = answers(known)
    changed = (SHELF[0]._replace(description="Knit woollen socks", triggers=()), *SHELF[1:])
    after = answers(router(changed))
    assert before != after
    writing = subprocess.Popen([sys.executable, "-c", TOGGLE, path], stdout=subprocess.PIPE, text=True)
    assert writing.stdout is not None and writing.stdout.readline() == "ready\n"
    seen = 0
    while writing.poll() is None or not seen:
        for at, found in enumerate(answers(known)):
            assert told(found) in (told(before[at]), told(after[at]))
        seen += 1
    writing.stdout.close()
    assert writing.wait() == 0
    assert_same(answers(known), after)
    known.close()


def test_an_index_that_another_process_made_anew_is_noticed(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    known, other = router(SHELF, path), Router(path)
    before = answers(known)
    other._index.clear()
    other.update(map(entry, reversed(SHELF)))
    assert_same(answers(known), before)
    known.close()
    other.close()
