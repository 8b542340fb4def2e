"""What is installed: skills, history, rows and lock change together, and the lock may change by other ways."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from rights import GIVE_UP

from sources.installs_world import Machine, installed, machine, skill
from whet.authoring.trees import digest
from whet.errors import ConflictError, FailedError, UsageError
from whet.sources.lock import file as locks
from whet.sources.lock.file import Installed, Lock, LockDamagedError
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["machine"]


def test_installing_updating_and_removing(machine: Machine) -> None:
    assert machine.installs.entries(machine.root) == ()
    assert not os.path.exists(machine.state), "reading creates nothing"
    first = machine.install("pdf", "xlsx")
    assert machine.locked() == first
    machine.check_whole()
    second = machine.install("pdf", body="Do that.\n")
    assert machine.locked() == {**first, **second}
    machine.check_whole()
    machine.remove("xlsx")
    assert machine.locked() == second
    machine.check_whole()


def test_a_lock_that_whet_made_goes_with_its_last_entry(machine: Machine) -> None:
    machine.install("pdf", "xlsx")
    machine.remove("pdf")
    assert os.path.exists(machine.lock)
    machine.remove("xlsx")
    assert not os.path.exists(machine.lock)
    assert machine.installs.entries(machine.root) == ()
    again = machine.install("pdf")
    assert machine.locked() == again
    with open(machine.lock, "w", encoding="utf-8") as file:
        file.write(locks.dump(Lock(tuple(again.values()), extra='{"team":"x"}')))
    machine.remove("pdf")
    assert locks.read(machine.lock) == Lock(extra='{"team":"x"}'), "what others wrote into it stays"


def remembered(machine: Machine, path: str) -> list[Installed | None]:
    """Everything that the lock was known to say of a skill."""
    return [row.entry for row in machine.installs._rows(machine.lock, path)]


def test_everything_the_lock_ever_said_is_remembered(machine: Machine) -> None:
    old = machine.install("pdf")["skills/pdf"]
    new = machine.install("pdf", body="Do that.\n")["skills/pdf"]
    machine.remove("pdf")
    assert remembered(machine, "skills/pdf") == [old, new, None]
    assert remembered(machine, "skills/other") == []


def test_what_only_the_lock_is_told_needs_no_history(machine: Machine) -> None:
    entry = machine.install("pdf")["skills/pdf"]
    pinned = entry._replace(pinned="until it is fixed")
    machine.installs.commit(machine.root, {"skills/pdf": pinned}, None)
    assert machine.locked() == {"skills/pdf": pinned}
    assert machine.journal.entries()[1:] == ()
    machine.check_whole()
    before = os.stat(machine.lock).st_mtime_ns
    machine.installs.commit(machine.root, {"skills/pdf": pinned}, None)
    assert os.stat(machine.lock).st_mtime_ns == before, "what says the same already is not written again"


def test_the_file_is_the_truth(machine: Machine) -> None:
    """Somebody else's lock comes with git between two commands."""
    machine.install("pdf")
    theirs = installed("pdf", skill("pdf", "Theirs.\n"), revision="c" * 40, extra='{"licence":"MIT"}')
    docx = installed("docx", skill("docx"))
    locks.write(machine.lock, Lock((docx, theirs), '{"note":"ours"}'))
    assert machine.installs.entries(machine.root) == (docx, theirs)
    ours = machine.install("pdf", body="Ours.\n")["skills/pdf"]
    assert locks.read(machine.lock) == Lock((docx, ours), '{"note":"ours"}')
    assert remembered(machine, "skills/pdf")[1:] == [theirs, ours], "what was replaced is remembered"


def test_a_lock_that_somebody_edits_while_skills_are_written_keeps_the_edit(machine: Machine) -> None:
    machine.install("pdf")
    docx = installed("docx", skill("docx"))
    new = installed("xlsx", skill("xlsx"))

    def write(_: Any) -> None:
        locks.write(machine.lock, locks.changed(locks.read(machine.lock), docx.path, docx))

    machine.installs.commit(machine.root, {"skills/xlsx": new}, write)
    assert set(machine.locked()) == {"skills/pdf", "skills/docx", "skills/xlsx"}


def test_a_lock_keeps_its_permissions_and_stays_a_link(machine: Machine, tmp_path: Path) -> None:
    machine.install("pdf")
    real = tmp_path / "shared.json"
    os.rename(machine.lock, real)
    os.symlink(real, machine.lock)
    os.chmod(real, 0o600)
    entry = machine.install("xlsx")["skills/xlsx"]
    assert os.path.islink(machine.lock)
    assert entry in locks.read(str(real)).entries
    assert os.stat(real).st_mode & 0o777 == 0o600


def test_roots_beside_each_other_share_a_lock_and_see_their_own(machine: Machine) -> None:
    pdf = machine.install("pdf")["skills/pdf"]
    other = os.path.join(os.path.dirname(machine.root), "others")
    entry = pdf._replace(path="others/pdf")
    machine.installs.commit(other, {"others/pdf": entry}, None)
    assert machine.installs.entries(machine.root) == (pdf,)
    assert machine.installs.entries(other) == (entry,)
    assert set(machine.locked()) == {"skills/pdf", "others/pdf"}


def nothing(_: object = None) -> None:
    raise AssertionError("not called")


def test_what_a_lock_cannot_hold_is_refused_before_anything_happens(machine: Machine) -> None:
    entry = machine.install("pdf")["skills/pdf"]
    commit = machine.installs.commit
    with pytest.raises(UsageError, match="is not in the root"):
        commit(machine.root, {"others/pdf": entry}, nothing)
    with pytest.raises(UsageError, match=r"has the part '\.\.'"):
        commit(machine.root, {"skills/../pdf": entry}, nothing)
    with pytest.raises(UsageError, match="is not a digest"):
        commit(machine.root, {"skills/x": entry._replace(digest="")}, nothing)
    with pytest.raises(ConflictError, match="cannot both be installed"):
        commit(machine.root, {"skills/PDF": entry}, nothing)
    machine.check_whole()


def test_a_damaged_lock_ends_everything_before_anything_happens(machine: Machine) -> None:
    entry = machine.install("pdf")["skills/pdf"]
    with open(machine.lock, "a") as file:
        file.write("}")
    with pytest.raises(LockDamagedError) as caught:
        machine.installs.commit(machine.root, {"skills/x": entry}, nothing)
    assert caught.value.code == "lock-damaged"
    with pytest.raises(LockDamagedError):
        machine.installs.entries(machine.root)
    assert machine.installs.pending(machine.lock) == {}


def test_when_the_skills_cannot_be_written_nothing_is_recorded(machine: Machine) -> None:
    before = machine.install("pdf")
    entry = installed("xlsx", skill("xlsx"))

    def write(_: Any) -> None:
        raise FailedError("disk-full", "No room.")

    with pytest.raises(FailedError, match="No room"):
        machine.installs.commit(machine.root, {"skills/xlsx": entry}, write)
    assert machine.locked() == before
    assert remembered(machine, "skills/xlsx") == []
    assert machine.installs.known(machine.lock) == before
    machine.check_whole()


def test_an_interrupt_after_the_skills_are_written_loses_nothing(machine: Machine) -> None:
    tree = skill("pdf")
    entry = installed("pdf", tree)
    from whet.authoring.writer import Provenance, TreeChange

    def write(planned: Any) -> None:
        machine.writer.write(
            [TreeChange("install", "pdf", os.path.join(machine.root, "pdf"), tree)],
            Provenance("user", run="r"),
            planned,
        )
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        machine.installs.commit(machine.root, {"skills/pdf": entry}, write)
    assert machine.locked() == {"skills/pdf": entry}
    machine.check_whole()


def test_the_same_run_twice_is_told_apart(machine: Machine) -> None:
    machine.install("pdf", run="r")
    entry = installed("xlsx", skill("xlsx"))

    def write(_: Any) -> None:
        raise FailedError("disk-full", "No room.")

    with pytest.raises(FailedError):
        machine.installs.commit(machine.root, {"skills/xlsx": entry}, write)
    assert set(machine.locked()) == {"skills/pdf"}
    machine.check_whole()


FAILING = (
    "whet.sources.lock.installs.write_bytes",
    "whet.sources.lock.installs.staging",
    "whet.sources.lock.installs.Installs._enter",
    "whet.authoring.journal.Journal.begin",
    "whet.authoring.journal.Journal.settle",
    "whet.authoring.trees.write_unseen",
)


@pytest.mark.parametrize("call", FAILING)
def test_a_full_disk_anywhere_changes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    before = machine.install("pdf")
    with monkeypatch.context() as patch:
        patch.setattr(call, full)
        with pytest.raises(FailedError) as caught:
            machine.install("pdf", "xlsx", body="Do that.\n")
    assert caught.value.code == "disk-full"
    machine.installs.settle(machine.root)
    assert machine.locked() == before
    machine.check_whole()
    machine.install("pdf", "xlsx", body="Do that.\n")
    machine.check_whole()


def full(*_: object, **__: object) -> None:
    with os_failures("the place"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_lock_that_cannot_be_put_in_place_follows_later(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The skills are there and in the history; then the rename of the lock fails, and the next one to come does it."""
    machine.install("pdf")
    with monkeypatch.context() as patch:
        patch.setattr("whet.sources.lock.installs._replace", full)
        patch.setattr("whet.sources.lock.file.write_bytes", full)
        with pytest.raises(FailedError, match="no space is left"):
            machine.install("xlsx")
        assert set(machine.locked()) == {"skills/pdf"}
        assert [entry.path for entry in machine.installs.entries(machine.root)] == ["skills/pdf", "skills/xlsx"]
    assert [entry.code for entry in machine.examine()] == ["lock-unsettled"]
    assert machine.installs.settle(machine.root) == (
        f"The installation of skills/xlsx was complete; it is now in {machine.lock}.",
    )
    assert machine.installs.settle(machine.root) == ()
    machine.check_whole()


def test_a_pin_that_cannot_be_written_is_not_written_later(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.install("pdf")
    pinned = before["skills/pdf"]._replace(pinned="yes")
    with monkeypatch.context() as patch:
        patch.setattr("whet.sources.lock.installs._replace", full)
        with pytest.raises(FailedError):
            machine.installs.commit(machine.root, {"skills/pdf": pinned}, None)
    assert machine.installs.entries(machine.root) == (before["skills/pdf"],)
    machine.check_whole()


def test_a_done_change_stays_done_when_that_cannot_be_noted(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("whet.sources.lock.installs.Installs._strike", full)
        machine.install("pdf")
    assert len(machine.installs.pending(machine.lock)) == 1
    machine.installs.entries(machine.root)
    machine.check_whole()


def test_somebody_at_work_is_not_disturbed(machine: Machine) -> None:
    """A reader sees what is there already, though the lock does not say so yet."""
    machine.install("pdf")
    written, looked = threading.Event(), threading.Event()
    tree = skill("xlsx")
    entry = installed("xlsx", tree)
    other = Machine(machine.top)

    def work() -> None:
        from whet.authoring.writer import Provenance, TreeChange

        def write(planned: Any) -> None:
            change = TreeChange("install", "xlsx", os.path.join(other.root, "xlsx"), tree)
            other.writer.write([change], Provenance("user", run="r"), planned)
            written.set()
            looked.wait(30)

        other.installs.commit(other.root, {"skills/xlsx": entry}, write)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert written.wait(30)
        seen = machine.installs.entries(machine.root)
        assert [item.path for item in seen] == ["skills/pdf", "skills/xlsx"]
        assert set(machine.locked()) == {"skills/pdf"}
        assert machine.examine() == (), "somebody is at work; nothing is wrong"
    finally:
        looked.set()
        thread.join()
        other.close()
    machine.check_whole()


MANY = """
import sys
from sources.installs_world import Machine
machine = Machine(sys.argv[1])
for number in range(12):
    machine.install(f"{sys.argv[2]}-{number}")
    machine.install("shared", body=f"{sys.argv[2]} {number}")
machine.close()
"""


def test_two_processes_at_once_come_one_after_the_other(machine: Machine) -> None:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    env = {**os.environ, "PYTHONPATH": tests}
    command = [sys.executable, "-W", "error", "-c", MANY, machine.top]
    processes = [subprocess.Popen([*command, name], env=env, stderr=subprocess.PIPE, text=True) for name in "ab"]
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert set(machine.locked()) == {f"skills/{name}-{number}" for name in "ab" for number in range(12)} | {
        "skills/shared"
    }
    machine.check_whole()


READ_ONLY = (
    """
import json, os, sys
from sources.installs_world import Machine
"""
    + GIVE_UP
    + """
from whet.errors import WhetError
machine = Machine(sys.argv[1])
machine.install("pdf")
before = machine.locked(), machine.on_disk()
place = {"lock": os.path.dirname(machine.lock), "state": machine.state}[sys.argv[2]]
if sys.argv[2] == "state":
    machine.close()

def allow(writing):
    os.chmod(place, 0o755 if writing else 0o555)
    for name in os.listdir(machine.state) if sys.argv[2] == "state" else ():
        path = os.path.join(machine.state, name)
        os.chmod(path, (0o755 if writing else 0o555) if os.path.isdir(path) else (0o644 if writing else 0o444))

def tried():
    try:
        machine.install("pdf", body="Do that.")
    except WhetError as error:
        return error.code
    return "done"

allow(False)
codes = [tried(), (machine.locked(), machine.on_disk()) == before]
codes.append([entry.name for entry in machine.installs.entries(machine.root)])
allow(True)
machine.close()
codes.append(tried())
machine.check_whole()
machine.close()
print(json.dumps(codes))
"""
)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are another thing there")
@pytest.mark.parametrize("place", ["lock", "state"])
def test_what_may_only_be_read_is_said_and_stays_as_it_is(place: str) -> None:
    from shutil import rmtree
    from tempfile import mkdtemp

    top = os.path.realpath(mkdtemp(prefix="whet-test-"))
    try:
        os.chmod(top, 0o777)
        tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        command = [sys.executable, "-W", "error", "-c", READ_ONLY, top, place]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": tests}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == ["permission-denied", True, ["pdf"], "done"]
    finally:
        rmtree(top)


FULL = """
import json, os, subprocess, sys
from sources.installs_world import Machine
from whet.errors import WhetError
top, place = sys.argv[1:]
for name in place.split():
    os.makedirs(f"{top}/{name}", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "whet-test", f"{top}/{name}"], check=True)
machine = Machine(top)
machine.install("pdf")
before = machine.locked(), machine.on_disk()

def tried(call):
    try:
        call()
    except WhetError as error:
        return error.code
    return "done"

def update():
    machine.install("pdf", "xlsx", body="x" * 9000)

def pin():
    entry = machine.locked()["skills/pdf"]._replace(pinned="why " * 3000)
    machine.installs.commit(machine.root, {"skills/pdf": entry}, None)

filler = open(f"{top}/{place.split()[-1]}/filler", "wb", buffering=0)
try:
    while True:
        filler.write(b"x" * 4096)
except OSError:
    pass
said = [[tried(call), (machine.locked(), machine.on_disk()) == before] for call in (update, pin)]
filler.truncate(0)
machine.close()
told = machine.installs.settle(machine.root)
said.append(all(sentence.endswith("taken back.") for sentence in told))
said.append((machine.locked(), machine.on_disk()) == before)
said.extend([tried(pin), tried(update)])
machine.check_whole()
machine.close()
print(json.dumps(said))
"""


@pytest.mark.parametrize("place", [".", "agents", "state"])
def test_a_disk_that_is_really_full_is_said_and_costs_nothing(tmp_path: Path, place: str) -> None:
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    probe = (*unshare, "mount", "-t", "tmpfs", "whet-test", str(tmp_path))
    try:
        possible = subprocess.run(probe, capture_output=True).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        pytest.skip("this machine lets nobody mount a file system of their own")
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [*unshare, sys.executable, "-W", "error", "-c", FULL, str(tmp_path.resolve()), place]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": tests}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["disk-full", True], ["disk-full", True], True, True, "done", "done"]


def test_a_skill_that_is_adopted_as_it_lies_there(machine: Machine) -> None:
    """A lock-only entry beside one that writes, in one step."""
    machine.install("pdf")
    own = skill("own")
    place = os.path.join(machine.root, "own")
    os.makedirs(place)
    with open(os.path.join(place, "SKILL.md"), "wb") as file:
        file.write(own["SKILL.md"].data)
    from whet.authoring.writer import TreeChange

    tree = skill("xlsx")
    changes = [TreeChange("install", "xlsx", os.path.join(machine.root, "xlsx"), tree)]
    entries = {"skills/own": installed("own", own, source=""), "skills/xlsx": installed("xlsx", tree)}
    machine.installs.commit(machine.root, entries, machine.writing(changes, "r"))
    assert machine.locked()["skills/own"].source == ""
    assert machine.on_disk()["skills/own"] == digest(own)
    assert set(machine.locked()) == {"skills/own", "skills/pdf", "skills/xlsx"}
