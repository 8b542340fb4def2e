"""Disks that are full, fail, or may only be read: a clear error, the library as it was, and the next write works."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from authoring.world import PRELUDE, UNPRIVILEGED, World, answers, check_whole, created, patched, refused, world
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["world"]

TRY = """
def tried(operations):
    try:
        library.edit.apply(operations)
    except WhetError as error:
        assert error.hint, error
        return error.code
    return "done"

def create(name, body="Do this."):
    return {"action": "create", "name": name, "description": f"Does {name}. Use it.", "body": body}
"""

FULL = (
    PRELUDE
    + TRY
    + """
import subprocess
for place in sys.argv[2].split():
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1000k", "whet-test", f"{top}/{place}"], check=True)
os.makedirs(top + "/skills", exist_ok=True)
library = opened()
library.edit.apply([create("one"), create("two")])
before = library.workspace.digest()
filler = open(f"{top}/{sys.argv[2].split()[-1]}/filler", "wb", buffering=0)
answer = []
try:
    while True:
        filler.write(b"x" * 4096)
except OSError:
    pass
for operations in (
    [{"action": "patch", "name": "one", "find": "this", "replace": "that" * 2000}],
    [{"action": "write_file", "name": name, "file_path": "references/x.md", "content": "x" * 50000}
     for name in ("one", "two")],
    [create("three", "y" * 50000)],
):
    answer.append([tried(operations), library.workspace.digest() == before])
filler.truncate(0)
operations = [{"action": "patch", "name": "one", "find": "this", "replace": "that"}]
answer.append([tried(operations), library.workspace.digest() == before])
library.close()
say(answer)
names = [name for _, directories, files in os.walk(top + "/skills") for name in (*directories, *files)]
left = [name for name in names if ".whet-" in name]
verified = opened().edit.history.verify()
say([left, verified.valid, list(opened().edit.history.recover())])
"""
)


def mountable(path: Path) -> tuple[str, ...]:
    """How to run something that may mount a file system of its own; skips where nobody may."""
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    probe = (*unshare, "mount", "-t", "tmpfs", "whet-test", str(path))
    try:
        possible = subprocess.run(probe, capture_output=True).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        pytest.skip("this machine lets nobody mount a file system of their own")
    return unshare


@pytest.mark.parametrize("places", [".", "skills", "state"], ids=["everything", "skills", "state"])
def test_a_full_disk_is_said_costs_nothing_and_is_over_when_there_is_room(tmp_path: Path, places: str) -> None:
    unshare = mountable(tmp_path)
    for name in ("skills", "state"):
        (tmp_path / name).mkdir()
    tries, end = answers(FULL, tmp_path, places, before=unshare)
    assert tries == [["disk-full", True]] * 3 + [["done", False]]
    assert end == [[], True, []]


FAILING = (
    ("whet.store.atomic.Swap.write", 1),
    ("whet.authoring.trees.write_unseen", 1),
    ("whet.store.atomic.Swap.make_directory", 1),
    ("whet.store.atomic.Swap.apply", 1),
    ("whet.store.atomic.Swap.apply", 2),
    ("whet.store.atomic.Swap.apply", 3),
    ("whet.store.atomic.trade", 1),
    ("os.rename", 1),
    ("whet.store.room._fill", 1),
    ("whet.store.blobs.write_files", 1),
    ("whet.store.atomic._write_all", 1),
    ("whet.store.atomic._write_all", 4),
    ("os.fsync", 1),
    ("os.fsync", 4),
    ("os.replace", 1),
    ("os.replace", 4),
    ("whet.authoring.writer.sync_spares", 1),
    ("whet.authoring.writer.sync_places", 1),
    ("whet.authoring.journal.Journal.keep_all", 1),
    ("whet.authoring.journal.Journal.begin", 1),
    ("whet.authoring.journal.Journal.settle", 1),
    ("whet.authoring.journal.Journal.append", 1),
)
"""Functions that write, and at which of their calls there is no space."""


@pytest.mark.parametrize(("call", "at"), FAILING)
def test_a_write_that_fails_anywhere_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, call: str, at: int
) -> None:
    """A batch over three skills."""
    library = world.library()
    library.edit.apply([created("one"), created("two")])
    before, entries = library.workspace.digest(), library.edit.history.entries().to_json()["entries"]
    operations = [
        patched("one", "this", "that"),
        {"action": "write_file", "name": "two", "file_path": "references/x.md", "content": "x"},
        created("three"),
    ]
    left = [at]
    with monkeypatch.context() as patch:
        module, _, name = call.rpartition(".")
        real = _attribute(module, name)

        def failing(*args: object, **kwargs: object) -> object:
            if "/cache/" not in str(args) and "whet-2" not in str(args):  # nothing waits for the cache
                left[0] -= 1
            if left[0] == 0:
                with os_failures("the place"):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **kwargs)

        patch.setattr(call, failing)
        refused(lambda: library.edit.apply(operations).to_json(), "disk-full")
    assert (library.workspace.digest(), library.edit.history.entries().to_json()["entries"]) == (before, entries)
    library.edit.apply(operations)
    check_whole(world.state, world.root)
    assert len(library.skills().to_json()["skills"]) == 3


def _attribute(path: str, name: str) -> Callable[..., object]:
    from importlib import import_module

    try:
        found = import_module(path)
    except ModuleNotFoundError:
        module, _, owner = path.rpartition(".")
        found = getattr(import_module(module), owner)
    call: Callable[..., object] = getattr(found, name)
    return call


def test_when_even_putting_back_fails_the_next_writer_does_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    library = world.library()
    library.edit.apply([created("one"), created("two")])
    before = library.workspace.digest()
    operations = [patched("one", "this", "that"), patched("two", "this", "that")]
    left = [1]
    from whet.store import atomic

    real = atomic.trade

    def failing(one: str, other: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(one, other)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "trade", failing)
        error = refused(lambda: library.edit.apply(operations).to_json(), "disk-full")
    assert error.details["changed"] and "could not be undone" in error.message
    assert len(list(library.edit.history.recover())) == 1
    assert library.workspace.digest() == before
    library.edit.apply(operations)
    check_whole(world.state, world.root)


READ_ONLY = (
    UNPRIVILEGED
    + TRY
    + """
library = opened()
library.edit.apply([create("one"), create("two")])
library.edit.apply([{"action": "write_file", "name": "one", "file_path": "references/x.md", "content": "x"}])
before = library.workspace.digest()
where = f"{top}/{sys.argv[2]}"
attempts = [
    [{"action": "patch", "name": "one", "find": "this", "replace": "that"}],
    [{"action": "patch", "name": "two", "find": "this", "replace": "that"},
     {"action": "write_file", "name": "one", "file_path": "references/x.md", "content": "y"}],
    [{"action": "delete", "name": "one"}],
]
if sys.argv[2] == "state":
    library.close()
os.chmod(where, 0o555)
if sys.argv[2] == "state":
    for name in os.listdir(where):
        os.chmod(f"{where}/{name}", 0o555 if os.path.isdir(f"{where}/{name}") else 0o444)
if sys.argv[2] == "skills":
    attempts = [[create("new")], attempts[2]]
say([[tried(operations), library.workspace.digest() == before] for operations in attempts])
os.chmod(where, 0o755)
if sys.argv[2] == "state":
    for name in os.listdir(where):
        os.chmod(f"{where}/{name}", 0o755)
library.close()
say([tried(operations) for operations in attempts])
say([opened().edit.history.verify().valid, [name for name in os.listdir(top + "/skills") if name[0] == "."]])
"""
)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are another thing there")
@pytest.mark.parametrize("place", ["skills/one", "skills", "state"])
def test_what_may_only_be_read_is_said_and_stays_as_it_is(place: str) -> None:
    from shutil import rmtree
    from tempfile import mkdtemp

    top = mkdtemp(prefix="whet-test-")
    try:
        os.chmod(top, 0o777)
        os.mkdir(f"{top}/skills")
        os.chmod(f"{top}/skills", 0o777)
        tries, again, end = answers(READ_ONLY, top, place)
        assert tries == [["permission-denied", True]] * len(tries)
        assert again == ["done"] * len(tries)
        assert end == [True, []]
    finally:
        rmtree(top)
