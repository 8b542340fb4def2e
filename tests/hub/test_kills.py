"""A hub that is really killed, at every step of a publish and of a yank: nothing is half done, nothing lost."""

from __future__ import annotations

from itertools import count
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import pytest
from chaos.kill import Victim

from hub.world import ACME, make_archive, open_hub
from whet.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from whet.hub.registry import Hub

PROCESSES = True

SCRIPT = """
import sys
from chaos.kill import arm, load, serve
from hub.world import ACME, make_archive, open_hub
from whet.hub.checker import describe
load("skill", "guard", "hub")

class Here:
    check = staticmethod(describe)

def act(line):
    number, verb = line.split("\\t")
    hub = open_hub(sys.argv[1] + "/hub.db", sys.argv[1] + "/blobs", checker=Here())
    archive = make_archive(body="# Review\\n\\n1. Read it twice.\\n")
    arm(int(number))
    if verb == "publish":
        hub.publish(ACME, "acme", "review", "1.1.0", archive.data, archive.digest)
    else:
        hub.yank(ACME, "acme", "review", "1.0.0", "Broken.")

serve(act)
"""


def there(hub: Hub) -> tuple[bool, bool]:
    """Is the new version there, and is the old one yanked?"""
    try:
        hub.version(ACME, "acme", "review", "1.1.0")
        published = True
    except NotFoundError:
        published = False
    return published, '"yanked": null' not in hub.version(ACME, "acme", "review", "1.0.0")


@pytest.mark.deep
@pytest.mark.parametrize("verb", ["publish", "yank"])
def test_killed_at_any_step_it_is_done_or_not_begun(verb: str, tmp_path: Path) -> None:
    before, now = tmp_path / "before", tmp_path / "now"
    before.mkdir()
    first = open_hub(str(before / "hub.db"), str(before / "blobs"))
    archive, other = make_archive(), make_archive(body="# Review\n\n1. Read it twice.\n")
    first.publish(ACME, "acme", "review", "1.0.0", archive.data, archive.digest)
    first.close()
    seen: set[tuple[bool, bool]] = set()
    with Victim(SCRIPT, now) as victim:
        for step in count(1):
            rmtree(now, ignore_errors=True)
            copytree(before, now)
            killed = victim.killed(step, verb)
            hub = open_hub(str(now / "hub.db"), str(now / "blobs"))
            state = there(hub)
            assert hub.verify() == (2 + any(state), 1 + state[0])
            seen.add(state)
            if verb == "publish":  # a client that got no answer sends it again
                again = hub.publish(ACME, "acme", "review", "1.1.0", other.data, other.digest)
                assert again.created is not state[0]
                assert hub.verify() == (3, 2)
            hub.close()
            if not killed:
                break
    done = (verb == "publish", verb == "yank")
    assert state == done and seen == {(False, False), done}
    assert step > 8
