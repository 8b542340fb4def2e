"""A disk with ever so little room: what a change says of its outcome is what is on the disk, page by page."""

from __future__ import annotations

from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import pytest
from tiers import thinned

from authoring.test_writer_disk import mountable
from authoring.world import PRELUDE, World, answers, content, created, world
from whet.errors import WhetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet import Library

__all__ = ["world"]

STEPPED = (
    PRELUDE
    + """
import shutil, subprocess
from whet.authoring.trees import digest
from whet.library.package import read_tree
change, step = sys.argv[2], int(sys.argv[3])
world = top
top = f"{world}/now"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3000k", "whet-test", world], check=True)
os.makedirs(top + "/skills")
os.makedirs(world + "/source")
for number in range(5):
    os.makedirs(f"{world}/source/in-{number}")
    with open(f"{world}/source/in-{number}/SKILL.md", "w") as file:
        file.write(f"---\\nname: in-{number}\\ndescription: Does {number} things. Use it.\\n---\\n\\nDo it.\\n")

def create(name):
    body = "Do this.\\n" + "x" * 9000
    return {"action": "create", "name": name, "description": f"Does {name}. Use it.", "body": body}

CHANGES = {
    "delete": lambda library: library.edit.delete("one"),
    "patch": lambda library: library.edit.patch("one", find="this", replace="that"),
    "files": lambda library: library.edit.apply([
        {"action": "write_file", "name": "one", "file_path": f"references/{name}.md", "content": name * 9000}
        for name in "ab"
    ]),
    "rename": lambda library: library.edit.rename("one", "other"),
    "install": lambda library: library.sources.install(world + "/source", every=True),
    "undo": lambda library: library.history.undo(),
}

library = opened()
library.edit.apply([create("one"), create("two")])
library.edit.patch("two", find="this", replace="that")
library.close()
shutil.copytree(top, world + "/kept")

def seen():
    names = sorted(name for name in os.listdir(top + "/skills") if name[0] != ".")
    return {name: digest(read_tree(f"{top}/skills/{name}")) for name in names}

def outcome():
    # In a process of its own: what it tells of the change.
    there, here = os.pipe()
    if not os.fork():
        try:
            with opened() as library:
                CHANGES[change](library)
            told = ["done"]
        except WhetError as error:
            told = ["changed" if error.details.get("changed") else "unchanged"]
        os.write(here, json.dumps(told).encode())
        os._exit(0)
    os.close(here)
    with open(there) as file:
        told = json.loads(file.read() or '["died"]')
    os.wait()
    return told

def again():
    shutil.rmtree(top)
    shutil.copytree(world + "/kept", top)

def free():
    found = os.statvfs(world)
    return found.f_bavail * found.f_frsize // 4096

before = seen()
outcome()
after = seen()
assert before != after
done, pages, tally = 0, 0, {}
while done < 8:
    again()
    filler = open(world + "/filler", "wb", buffering=0)
    while free() > pages:
        filler.write(bytes(4096))
    told, now = outcome(), seen()
    filler.close()
    os.unlink(world + "/filler")
    with opened() as library:  # with room again, whoever comes next settles what is not settled
        library.history.recover()
        valid = library.history.verify().valid
    settled = seen()
    names = {"old" if found == before else "new" if found == after else "mixed" for found in (now, settled)}
    key = " ".join([told[0], *sorted(names), *([] if valid else ["broken"])])
    tally[key] = tally.get(key, 0) + 1
    done += told[0] == "done"
    pages += step
say(tally)
"""
)


@pytest.mark.parametrize("change", thinned(["delete", "patch", "files", "rename", "install", "undo"], 4))
def test_with_any_amount_of_room_the_outcome_told_is_the_outcome(tmp_path: Path, change: str, *, quick: bool) -> None:
    unshare = mountable(tmp_path)
    (tally,) = answers(STEPPED, tmp_path, change, 24 if quick else 1, before=unshare)
    assert tally.keys() == {"done new", "unchanged old"}, tally
    assert tally["done new"] == 8 and tally["unchanged old"] > (1 if quick else 40)


DAMAGED: dict[str, Callable[[Library], object]] = {
    "undo": lambda library: library.history.undo(),
    "rename": lambda library: library.edit.rename("one", "other"),
    "delete": lambda library: library.edit.delete("one"),
}


def test_with_any_page_of_the_state_damaged_the_outcome_told_is_the_outcome(world: World, *, quick: bool) -> None:
    with world.library() as library:
        library.edit.apply([created("one"), created("two")])
        library.edit.patch("one", find="this", replace="that")
    before, database = content(world.root), world.state / "state.db"
    sound = database.read_bytes()
    kept = world.top / "kept"
    copytree(world.root, kept / "skills")
    copytree(world.state, kept / "state")
    outcomes = set()
    for change in DAMAGED.values():
        for start in range(4096, len(sound), 4096 * (9 if quick else 1)):
            for name in ("skills", "state"):
                rmtree(world.top / name)
                copytree(kept / name, world.top / name)
            database.write_bytes(sound[:start] + b"\x05" * 4096 + sound[start + 4096 :])
            with world.library() as library:
                try:
                    change(library)
                    told = "done"
                except WhetError as error:
                    told = f"{error.code} {error.details.get('changed', False)}"
            outcomes.add((told, content(world.root) == before))
    assert outcomes == {("done", False), ("state-corrupt False", True)}
