"""Whet is killed, several run at once, the disk is full: all of a plan or nothing of it, and the next one goes on."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from authoring.test_writer_disk import mountable
from authoring.world import answers
from sources.chain_world import again, keep
from sources.chain_world import prepared as prepared_skills
from sources.repositories import Repository, running, serving_git, skill, wait_until

from journeys.hostile_world import Machine, Run, machine_at

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def finished(process: subprocess.Popen[str]) -> Run:
    out, err = process.communicate()
    return Run(process.returncode, out, err)


def locked(machine: Machine) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(machine.lock.read_bytes())["skills"]
    return told


# killed


COMMANDS = {
    "install": ("install", "../more", "--all"),
    "merge": ("update",),
    "uninstall": ("uninstall", "one", "three"),
}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Three installed skills, two of them with something newer at their source, one of those edited."""
    with prepared_skills() as made:
        keep(made.top)
        yield Machine(made.top)


@posix
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_at_any_moment_did_all_or_nothing(machine: Machine, name: str, *, quick: bool) -> None:
    words = COMMANDS[name]

    def state() -> tuple[object, ...]:
        """What is installed, but for the moment at which that happened."""
        said = {path: {**entry, "installed": "", "updated": ""} for path, entry in locked(machine).items()}
        contents = {path: of for path, of in machine.digest().items() if path.startswith("home/.agents/skills")}
        return said, contents

    again(machine.top)
    before = state()
    started = time.monotonic()
    assert finished(machine.start(*words)).code == 0
    duration, after = time.monotonic() - started, state()
    assert before != after
    for _ in range(1 if quick else 6):
        again(machine.top)
        process = machine.start(*words)
        time.sleep(random.uniform(duration / 3, duration))
        process.kill()
        process.communicate()
        verified = machine.run("verify", "--json")
        assert verified.answer["success"]
        found = state()
        assert found in (before, after)
        assert machine.run("verify-history").code == 0
        assert machine.run("guard", "log", "--verify").code == 0
        assert machine.run("doctor", "--repair", "--check").code == 0
        assert state() == found
        if found == before:
            assert machine.run(*words).code == 0
            assert state() == after


@posix
def test_what_a_killed_fetch_leaves_the_next_one_removes(tmp_path: Path) -> None:
    machine = machine_at(tmp_path.resolve() / "machine")
    Repository.new(tmp_path / "skills").commit({"review/SKILL.md": skill("review")})
    with serving_git(tmp_path) as server:
        machine.allow(server.url.removeprefix("http://"))
        server.behaviour["skills"] = "hang"
        before = machine.digest()
        words = ("install", f"git:{server.url}/skills")
        process = machine.start(*words)
        wait_until(lambda: server.requests)
        process.kill()
        process.communicate()
        assert machine.digest() == before
        assert len(machine.left()) == 1
        assert [entry["code"] for entry in machine.run("doctor", "--json").answer["report"]].count("leftover") == 1
        wait_until(lambda: not running(str(machine.state)))  # git gives up by itself
        server.behaviour.clear()
        assert machine.run(*words).code == 0
    assert machine.left() == []
    machine.check_whole()


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_interrupts_a_fetch_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, code: int) -> None:
    machine = machine_at(tmp_path.resolve() / "machine")
    Repository.new(tmp_path / "skills").commit({"review/SKILL.md": skill("review")})
    with serving_git(tmp_path) as server:
        machine.allow(server.url.removeprefix("http://"))
        server.behaviour["skills"] = "drip"
        before = machine.digest()
        process = machine.start("install", f"git:{server.url}/skills", "--json")
        wait_until(lambda: server.bodies)
        process.send_signal(number)
        run = finished(process)
        assert (run.code, run.answer["code"], run.err) == (code, "interrupted", "")
        assert (machine.digest(), machine.left(), running(str(machine.state))) == (before, [], [])


# several at once


@pytest.mark.deep
def test_nothing_is_lost_when_many_install_at_once(tmp_path: Path) -> None:
    """Different skills of different sources, into one lock."""
    machine = machine_at(tmp_path.resolve())
    names = [f"skill-{number}" for number in range(6)]
    started = [machine.start("install", str(machine.skill(name)), "--json") for name in names]
    assert [finished(process).code for process in started] == [0] * len(names)
    assert sorted(locked(machine)) == [f"skills/{name}" for name in ("kept", *names)]
    machine.check_whole()


def test_of_those_who_do_the_same_at_once_one_does_it_and_the_others_say_so(tmp_path: Path, *, quick: bool) -> None:
    machine = machine_at(tmp_path.resolve())
    directory = machine.skill("same")
    for words, body in ((("install", str(directory)), ""), (("update",), "Newer.\n"), (("uninstall", "same"), "")):
        if body:
            machine.skill("same", body)
        runs = [finished(process) for process in [machine.start(*words, "--json") for _ in range(2 if quick else 3)]]
        done = [run for run in runs if run.code == 0 and "same" in run.answer["done"]]
        assert len(done) == 1
        for run in runs:
            # Who came late found it done; who planned before and came second is told.
            assert run.code == 0 or run.answer["code"] in ("skill-changed", "not-installed", "skill-not-found")
        assert ("skills/same" in locked(machine)) == (words[0] != "uninstall")
        machine.check_whole()


def test_one_installs_while_another_uninstalls(tmp_path: Path) -> None:
    machine = machine_at(tmp_path.resolve())
    for name in ("one", "two"):
        assert machine.run("install", str(machine.skill(name))).code == 0
    machine.skill("two", "Newer.\n")
    commands = (("uninstall", "one"), ("update", "two"), ("install", str(machine.skill("three"))), ("pin", "kept"))
    started = [machine.start(*words, "--json") for words in commands]
    assert [finished(process).code for process in started] == [0] * len(commands)
    assert sorted(locked(machine)) == ["skills/kept", "skills/three", "skills/two"]
    assert locked(machine)["skills/kept"]["pinned"]
    machine.check_whole()


# a full disk


FULL = """
import json, os, subprocess, sys
from whet import Library
from whet.authoring.trees import digest
from whet.library.package import read_tree
from whet.errors import WhetError
top, place = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "whet-test", f"{top}/{place}"], check=True)
for name in ("home/.agents/skills", "state", "work", "source"):
    os.makedirs(f"{top}/{name}", exist_ok=True)
env = {"HOME": top + "/home", "PATH": os.environ["PATH"]}

def opened():
    return Library.open(home=top + "/state", project=top + "/work", env=env)

def skill(name, body):
    os.makedirs(f"{top}/source/{name}", exist_ok=True)
    with open(f"{top}/source/{name}/SKILL.md", "w") as file:
        file.write(f"---\\nname: {name}\\ndescription: Does {name}. Use it.\\n---\\n{body}\\n")
    return f"{top}/source/{name}"

def state():
    root = top + "/home/.agents/skills"
    with open(top + "/home/.agents/whet-lock.json", "rb") as file:
        return file.read(), {name: digest(read_tree(f"{root}/{name}")) for name in os.listdir(root)}

def tried(do):
    before = state()
    try:
        with opened() as library:
            do(library)
    except WhetError as error:
        assert error.hint, error
        return [error.code, state() == before]
    return ["done", state() == before]

with opened() as library:
    library.sources.install(skill("one", "Do it."), skill("two", "Do it."))
new, _ = skill("three", "x" * 60_000), skill("one", "y" * 60_000)
commands = [lambda library: library.sources.install(new), lambda library: library.sources.update("one")]
filler = open(f"{top}/{place}/filler", "wb", buffering=0)
try:
    while True:
        filler.write(b"x" * 4096)
except OSError:
    pass
print(json.dumps([tried(do) for do in commands]))
filler.truncate(0)
with opened() as library:
    told = library.sources.verify()
    print(json.dumps([told.valid, library.edit.history.verify().valid, library.guard.verify_audit().valid]))
print(json.dumps([tried(do) for do in commands]))
with opened() as library:
    library.repair()
    report = [entry.code for entry in library.doctor() if "sandbox" not in entry.code]
    print(json.dumps([library.sources.verify().valid, library.edit.history.verify().valid, report]))
"""


@pytest.mark.parametrize("place", ["home", "state"])
def test_a_full_disk_costs_nothing_and_is_over_when_there_is_room(tmp_path: Path, place: str) -> None:
    unshare = mountable(tmp_path)
    (tmp_path / place).mkdir()
    full, whole, later, end = answers(FULL, tmp_path.resolve(), place, before=unshare)
    assert full == [["disk-full", True]] * 2
    assert whole == [True, True, True]
    assert later == [["done", False]] * 2
    assert end == [True, True, []]
