"""Archives, locks and databases that are damaged, or made to do harm: refused, and mended where that can be."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from shutil import copytree, rmtree
from typing import TYPE_CHECKING, Any

import pytest
from sources.loopback import serving
from sources.reaching import dumped, sha256
from sources.tampered import LEFT_OUT, TAMPERED, WITHOUT_SKILL
from tiers import thinned

from journeys.hostile_world import NEW, SCHEMA, Machine, Run, machine_at
from whet import Library
from whet.errors import InvalidError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROCESSES = False

KINDS = [*TAMPERED]
SOME = [kind for kind in KINDS if "hundred thousand" not in kind][::9]
"""Enough of each form to see that all ways in are the same."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Shared by all, because nothing here changes anything on it."""
    return machine_at(tmp_path_factory.mktemp("tampered").resolve())


@pytest.fixture(scope="module")
def library(machine: Machine) -> Iterator[Library]:
    with Library.open(home=machine.state, project=machine.work, env=machine.env) as opened:
        yield opened


# archives


@pytest.mark.parametrize(
    "kind", [kind if kind in SOME else pytest.param(kind, marks=pytest.mark.deep) for kind in KINDS]
)
def test_a_tampered_archive_is_never_installed(machine: Machine, library: Library, kind: str) -> None:
    make, codes = TAMPERED[kind]
    archive = machine.work / "x.zip"
    archive.write_bytes(make())
    before = machine.digest()
    with pytest.raises(InvalidError) as caught:
        library.sources.install(str(archive), every=True)
    assert caught.value.code in codes
    assert caught.value.message.isprintable() and caught.value.hint
    assert machine.digest() == before
    assert os.listdir(machine.work) == ["x.zip"]


def test_a_tampered_archive_is_refused_on_the_command_line(machine: Machine, *, quick: bool) -> None:
    """All of them at once, each a process."""
    before = machine.digest()
    started = {}
    for number, kind in enumerate(SOME[:: 9 if quick else 3]):
        (machine.work / f"{number}.zip").write_bytes(TAMPERED[kind][0]())
        started[kind] = machine.start("install", f"./{number}.zip", "--all", "--json")
    for kind, process in started.items():
        out, err = process.communicate()
        run = Run(process.returncode, out, err)
        assert (kind, run.code, run.err) == (kind, 1, "")
        assert run.answer["code"] in TAMPERED[kind][1] and run.answer["hint"]
    for number in range(len(started)):
        (machine.work / f"{number}.zip").unlink()
    assert machine.digest() == before


def published(form: str, data: bytes) -> dict[str, bytes]:
    """A site with an archive, and an index that promises exactly these bytes."""
    digest = f"sha256:{sha256(data)}"
    entry = {"name": "a", "type": form, "description": "Does one thing.", "url": "/a.zip", "digest": digest}
    return {NEW: dumped({"$schema": SCHEMA, "skills": [entry]}), "/a.zip": data}


@pytest.mark.parametrize("kind", thinned(SOME, 3))
def test_a_tampered_archive_is_refused_wherever_it_comes_from(machine: Machine, kind: str) -> None:
    make, codes = TAMPERED[kind]
    before = machine.digest()
    with serving(published("archive", make())) as server:
        machine.allow(server.host)
        for source in (f"{server.url}/a.zip", f"well-known:{server.url}"):
            run = machine.run("install", source, "--all", "--json")
            assert (run.code, run.answer["code"] in codes) == (1, True), run.answer
            assert run.answer["hint"]
        assert [request.path for request in server.requests][-1] == "/a.zip"
    assert machine.digest() == before


@pytest.mark.parametrize("kind", WITHOUT_SKILL)
def test_an_archive_without_a_skill_installs_nothing(machine: Machine, library: Library, kind: str) -> None:
    archive = machine.work / "x.zip"
    archive.write_bytes(WITHOUT_SKILL[kind]())
    before = machine.digest()
    with pytest.raises(NotFoundError) as caught:
        library.sources.install(str(archive), every=True)
    assert caught.value.code == "no-skills-found"
    assert machine.digest() == before


def test_what_is_odd_and_harmless_is_installed_as_exactly_that(tmp_path: Path) -> None:
    machine = machine_at(tmp_path.resolve())
    for kind, kept in [*LEFT_OUT.items()][::2]:
        (machine.work / "x.zip").write_bytes(kept.make())
        run = machine.run("install", str(machine.work / "x.zip"), "--override", "It is a test.", "--json")
        assert (kind, run.code) == (kind, 0), run.answer
        (step,) = run.answer["plan"]
        there = machine.root / os.path.basename(step["path"])
        files = {path.relative_to(there).as_posix(): path for path in there.rglob("*") if path.is_file()}
        expected = {path.removeprefix("a/"): item for path, item in kept.files}
        assert {*files} == {"SKILL.md", *expected}
        for path, item in expected.items():
            assert files[path].read_bytes() == item.data
            assert bool(files[path].stat().st_mode & 0o100) == item.executable
            assert not files[path].stat().st_mode & 0o7000
        assert machine.run("uninstall", step["name"]).code == 0
    machine.check_whole()


# locks


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A change of the JSON value."""

    def make(good: bytes) -> bytes:
        value = json.loads(good)
        change(value)
        return json.dumps(value, indent=2).encode()

    return make


def entry(**fields: object) -> Callable[[bytes], bytes]:
    return edited(lambda value: value["skills"]["skills/kept"].update(fields))


def merged(good: bytes) -> bytes:
    ours, theirs = b'      "name": "kept",\n', b'      "name": "kept",\n      "pinned": "yes",\n'
    return good.replace(ours, b"<<<<<<< HEAD\n" + ours + b"=======\n" + theirs + b">>>>>>> theirs\n")


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda good: good[: len(good) // 2],
    "without its last byte": lambda good: good.rstrip()[:-1],
    "empty": lambda _: b"",
    "blank": lambda _: b"\n \n",
    "zeros": lambda good: bytes(len(good)),
    "garbage": lambda _: b"\0\xff\xfe garbage",
    "merged": merged,
    "a list": lambda _: b"[]",
    "a number": lambda _: b"7",
    "deep": lambda _: b"[" * 100_000,
    "two documents": lambda good: good + good,
    "a list of skills": edited(lambda value: value.update(skills=[])),
    "no skills": edited(lambda value: value.pop("skills")),
    "no version": edited(lambda value: value.pop("version")),
    "another version": edited(lambda value: value.update(version="1")),
    "no digest": edited(lambda value: value["skills"]["skills/kept"].pop("digest")),
    "another digest": entry(digest="sha256:abc"),
    "a number for a name": entry(name=7),
    "a list of files": entry(files=["SKILL.md"]),
    "a file outside": entry(files={"../../x": "0" * 64}),
    "a skill outside": edited(lambda value: value["skills"].update({"../x": value["skills"]["skills/kept"]})),
    "a skill twice": lambda good: good.replace(b'"skills/second"', b'"skills/kept"'),
}

COMMANDS = (
    ("install", "./source/third"),
    ("update",),
    ("outdated",),
    ("uninstall", "kept"),
    ("verify",),
    ("restore",),
    ("restore", "kept"),
    ("why", "kept"),
    ("pin", "kept"),
    ("unpin", "kept"),
    ("adopt",),
)
"""Everything that has to know what is installed."""


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with two installed skills, and a third to be had."""
    machine = machine_at(tmp_path_factory.mktemp("damaged").resolve())
    for name in ("kept", "third"):
        machine.skill(name, where="work/source")
    assert machine.run("install", str(machine.skill("second"))).code == 0
    for name in ("home", "state"):
        copytree(machine.top / name, machine.top / "kept" / name)
    return machine


@pytest.fixture
def damaged(furnished: Machine) -> Machine:
    """The same, as it was made."""
    for name in ("home", "state"):
        rmtree(furnished.top / name)
        copytree(furnished.top / "kept" / name, furnished.top / name)
    return furnished


def codes(machine: Machine) -> dict[str, str]:
    """What the doctor finds wrong with the machine."""
    report = machine.run("doctor", "--json").answer["report"]
    return {item["code"]: item["severity"] for item in report if item["code"] not in ("sandbox", "no-sandbox")}


@pytest.mark.parametrize("how", thinned(DAMAGED, 4))
def test_a_damaged_lock_stops_everything_until_it_is_mended(damaged: Machine, how: str) -> None:
    good = damaged.lock.read_bytes()
    damaged.lock.write_bytes(DAMAGED[how](good))
    before = damaged.digest()
    # The reading is the same for all commands; that each of them reads is seen with one of the damages.
    for words in COMMANDS if how == "truncated" else COMMANDS[:1]:
        run = damaged.run(*words, "--json")
        assert (words, run.code, run.answer["code"]) == (words, 4, "lock-damaged")
        assert str(damaged.lock) in run.answer["error"] and "`whet doctor --repair`" in run.answer["hint"]
        assert damaged.digest() == before
    assert codes(damaged) == {"lock-damaged": "error"}
    assert damaged.run("list").code == 0

    run = damaged.run("doctor", "--repair", "--check", "--json")
    assert run.code == 0
    (aside,) = damaged.lock.parent.glob("whet-lock.json.broken-1")
    assert aside.read_bytes() == DAMAGED[how](good)
    assert damaged.lock.read_bytes() == good
    damaged.check_whole()
    assert damaged.run("install", "./source/third").code == 0


def test_a_lock_of_a_newer_version_is_left_alone(damaged: Machine) -> None:
    damaged.lock.write_bytes(edited(lambda value: value.update(version=99))(damaged.lock.read_bytes()))
    before = damaged.digest()
    for words in COMMANDS:
        run = damaged.run(*words, "--json")
        assert (words, run.code, run.answer["code"], run.answer["hint"]) == (words, 4, "lock-newer", "Update Whet.")
    assert codes(damaged) == {"lock-newer": "error"}
    run = damaged.run("doctor", "--repair", "--json")
    assert len(run.answer["lost"]) == 1 and codes(damaged) == {"lock-newer": "error"}
    assert damaged.digest() == before


def test_a_lock_that_somebody_deleted_is_not_an_empty_one(damaged: Machine) -> None:
    good = damaged.lock.read_bytes()
    damaged.lock.unlink()
    before = damaged.digest()
    for words in COMMANDS:
        if words[0] not in ("pin", "unpin"):  # they are for skills that were never installed, too
            run = damaged.run(*words, "--json")
            assert (words, run.code, run.answer["code"]) == (words, 1, "lock-missing")
    assert damaged.digest() == before
    assert codes(damaged) == {"lock-missing": "error"}
    assert damaged.run("doctor", "--repair", "--check").code == 0
    assert damaged.lock.read_bytes() == good
    damaged.check_whole()


def test_a_lock_that_is_no_file_is_moved_aside_and_made_again(damaged: Machine) -> None:
    good = damaged.lock.read_bytes()
    damaged.lock.unlink()
    damaged.lock.mkdir()
    run = damaged.run("verify", "--json")
    assert (run.code, run.answer["code"]) == (4, "read-failed")
    run = damaged.run("doctor", "--repair", "--json")
    assert (run.code, run.answer["lost"], run.answer["failed"]) == (0, [], [])
    assert damaged.lock.read_bytes() == good
    damaged.check_whole()


# the ledger


GARBAGE = b"this is not a database, although it is long enough to look like one" * 200
BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda _: GARBAGE,
    "truncated": lambda good: good[:5000],
    "overwritten": lambda good: good[:100] + b"\xff" * 2000 + good[2100:],
}


def forget_installs(machine: Machine) -> None:
    with closing(sqlite3.connect(machine.state / "state.db")) as connection, connection:
        connection.execute("DELETE FROM installs")


@pytest.mark.parametrize("how", BROKEN)
def test_a_damaged_ledger_stops_everything_until_it_is_mended(damaged: Machine, how: str) -> None:
    lock, ledger = damaged.lock.read_bytes(), damaged.state / "state.db"
    ledger.write_bytes(BROKEN[how](ledger.read_bytes()))
    before = damaged.digest()
    for words in COMMANDS:
        run = damaged.run(*words, "--json")
        assert (words, run.code, run.answer["code"]) == (words, 4, "state-corrupt")
        assert str(ledger) in run.answer["error"] and "`whet doctor --repair`" in run.answer["hint"]
    assert damaged.digest() == before
    assert codes(damaged) == {"state-corrupt": "error"}
    assert damaged.run("doctor", "--repair", "--check").code == 0
    assert list(damaged.state.glob("state.db.broken-*"))
    assert damaged.lock.read_bytes() == lock
    damaged.check_whole()
    assert damaged.run("install", "./source/third").code == 0


def test_without_its_ledger_a_library_goes_on_from_its_lock(damaged: Machine) -> None:
    forget_installs(damaged)
    damaged.check_whole()
    damaged.skill("second", "Newer.\n")
    assert damaged.run("update").code == 0
    assert damaged.run("install", "./source/third").code == 0
    assert damaged.run("uninstall", "kept").code == 0
    damaged.check_whole()
    damaged.lock.unlink()
    assert damaged.run("doctor", "--repair", "--check").code == 0
    damaged.check_whole()
    assert sorted(os.listdir(damaged.root)) == ["second", "third"]


def test_what_cannot_be_saved_is_told(damaged: Machine) -> None:
    """The lock breaks off in the middle of its second entry, and nothing else remembers that one."""
    good = damaged.lock.read_bytes()
    damaged.lock.write_bytes(good[: good.index(b'"name": "second"')])
    forget_installs(damaged)
    run = damaged.run("doctor", "--repair", "--json")
    assert run.answer["lost"] == ["skills/second: its entry could not be read."]
    told = damaged.run("verify", "--json").answer
    assert ([item["name"] for item in told["skills"]], told["unmanaged"]) == (["kept"], ["second"])
