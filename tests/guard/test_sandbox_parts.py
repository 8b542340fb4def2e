"""The parts of the sandbox that can be looked at without a box: what is shown, the filter, the rules, the levels."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from functools import partial
from time import sleep
from typing import TYPE_CHECKING

import pytest
from interrupts import interrupt
from sources.repositories import running

from whet.errors import RefusedError
from whet.guard.sandbox import levels as levels_module
from whet.guard.sandbox import process, seatbelt, seccomp
from whet.guard.sandbox.box import SYSTEM, Box, Limits, box_for, is_below, is_narrow
from whet.guard.sandbox.bubblewrap import mounts
from whet.guard.sandbox.levels import NONE, Level, level, levels, run_program
from whet.guard.sandbox.monitor import Watch, in_group

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")


@pytest.mark.skipif(sys.platform != "linux", reason="no such box there")
def test_a_box_is_never_before_whoever_started_it() -> None:
    niceness = min(os.getpriority(os.PRIO_PROCESS, 0) + 12, 19)
    with subprocess.Popen(["nice", "-n", "12", "sleep", "60"], start_new_session=True) as nice:
        while os.getpriority(os.PRIO_PROCESS, nice.pid) < niceness:
            sleep(0.01)
        Watch(Limits(), nice.pid, in_group(nice.pid)).close()
        assert os.getpriority(os.PRIO_PROCESS, nice.pid) >= niceness
        nice.kill()


@posix
def test_an_interrupt_at_any_moment_ends_the_program(tmp_path: Path, *, quick: bool) -> None:
    seconds = f"600.{os.getpid()}"
    command = process.Command(["sleep", seconds], {"PATH": os.environ["PATH"]}, str(tmp_path))
    run = partial(process.run, command, process.Keeper(), seconds=60, limit=10)
    places = {interrupt(run, process, moment) for moment in range(1, 600, 23 if quick else 1)}
    assert running(seconds) == []
    assert {"_execute_child", "_wait"} <= places


# what is shown


@posix
def test_only_narrow_directories_are_shown(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = home / "project"
    project.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(home)
    narrow = {
        path: is_narrow(path, str(home)) for path in map(str, (project, home, link, tmp_path, "/", "/etc", "/tmp"))
    }
    assert narrow == {
        str(project): True,
        str(home): False,
        str(link): False,
        str(tmp_path): False,
        "/": False,
        "/etc": False,
        "/tmp": False,
    }


@posix
def test_a_box_keeps_the_path_to_tools_outside_the_home(tmp_path: Path) -> None:
    home, tools, project = tmp_path / "home", tmp_path / "tools" / "bin", tmp_path / "home" / "project"
    for directory in (home / "bin", tools, project / "bin"):
        directory.mkdir(parents=True)
    path = f"{home}/bin:{project}/bin:{tools}:relative:/no/such:/usr/bin"
    made = box_for(shown=(str(project), ""), cwd=str(project / "bin"), env={"PATH": path, "A": "b"}, home=str(home))
    assert made == Box(
        {"PATH": f"{project}/bin:{tools}:/usr/bin", "A": "b"}, str(project / "bin"), (str(project), str(tools))
    )


@posix
def test_a_directory_that_is_not_shown_is_not_where_a_program_starts(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "other").mkdir(parents=True)
    made = box_for(shown=(), cwd=str(home / "other"), env={"PATH": "/usr/bin"}, home=str(home))
    assert made == Box({"PATH": "/usr/bin"})


def test_being_below_is_not_being_spelled_alike() -> None:
    assert [is_below(path, ("/a/b",)) for path in ("/a/b", "/a/b/c", "/a/bc", "/a", "/")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert is_below("/anything", ("/",))


@posix
def test_directories_are_mounted_once_and_under_both_their_names(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    for name in ("real/skill", "project/out/in", "beside"):
        (top / name).mkdir(parents=True)
    (top / "link").symlink_to("real")
    (top / "project" / "link").symlink_to(top / "real")
    paths = ("project", "project/out/in", "link/skill", "project/link/skill", "missing")
    box = Box({}, readable=tuple(str(top / path) for path in paths), writable=(str(top / "project" / "out"),))
    expected = [
        ("--ro-bind", "project", "project"),
        ("--bind", "project/out", "project/out"),
        ("--ro-bind", "project/out/in", "project/out/in"),
        ("--ro-bind", "real/skill", "real/skill"),
        ("--ro-bind", "real/skill", "link/skill"),
    ]
    assert mounts(box) == [(option, str(top / source), str(top / target)) for option, source, target in expected]
    assert mounts(Box({}, readable=(SYSTEM[0], f"{SYSTEM[0]}/bin"))) == []


# the filter

ALLOWED, REFUSED, DENIED, UNKNOWN, IDLE = "allowed", errno.EPERM, errno.EACCES, errno.ENOSYS, 0
MARKS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def asked(program: bytes, machine: str, name: str | int, *arguments: int, mark: int = 0) -> object:
    """What the kernel would answer: a small machine of classic BPF."""
    column = list(MARKS).index(machine)
    number = name if isinstance(name, int) else seccomp.number_of(name, column)
    assert number is not None
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, mark or MARKS[machine], 0, *padded)
    at = value = 0
    while True:
        code, yes, no, operand = struct.unpack_from("=HBBI", program, 8 * at)
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x54:
            value &= operand
        elif code == 0x06:
            return ALLOWED if operand == 0x7FFF0000 else operand & 0xFFFF
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += yes if holds else no


@pytest.mark.parametrize("machine", MARKS)
def test_the_filter_answers_as_it_should(machine: str) -> None:
    own = seccomp.program(machine, internet=True)
    closed = seccomp.program(machine, internet=False, landlock=7)
    open_ = seccomp.program(machine, internet=True, landlock=7)
    old = seccomp.program(machine, internet=False, landlock=1)
    every = (own, closed, open_, old)

    def answers(name: str | int, *arguments: int) -> tuple[object, ...]:
        return tuple(asked(program, machine, name, *arguments) for program in every)

    assert {
        name for name in seccomp.group("refused") if seccomp.number_of(name, list(MARKS).index(machine)) is not None
    } >= {name for name in seccomp.group("refused") if answers_if(name, machine, own) == REFUSED}
    assert answers("ptrace") == answers("mount") == answers("unshare", 0x10000000) == (REFUSED,) * 4
    assert answers("clone3") == (UNKNOWN,) * 4
    assert answers("clone", 17) == (ALLOWED,) * 4
    assert answers("clone", 0x10000000 | 17) == answers("clone", 0x40000000) == (REFUSED,) * 4
    assert answers("ioctl", 0, 0x5401) == (ALLOWED,) * 4
    assert (
        answers("ioctl", 0, 0x5412) == answers("ioctl", 0, 0x700005412) == answers("ioctl", 0, 0x541C) == (REFUSED,) * 4
    )
    assert answers("socket", 1) == answers("socket", 17) == answers("socket", 40) == (DENIED,) * 4
    assert answers("socket", 2) == answers("socket", 10) == answers("socket", 16) == (ALLOWED, DENIED, ALLOWED, DENIED)
    assert (
        answers("socketpair", 1, 1)
        == answers("socketpair", 1, 0x80001)
        == answers("socketpair", 1, 5)
        == (ALLOWED,) * 4
    )
    assert answers("socketpair", 1, 2) == answers("socketpair", 1, 0x80002) == (DENIED,) * 4
    assert answers("fchmod") == answers("fchownat") == answers("setsid") == (ALLOWED, IDLE, IDLE, IDLE)
    assert answers("utimensat", 3, 0) == (ALLOWED,) * 4
    assert answers("utimensat", 3, 1) == answers("utimensat", 3, 1 << 32) == (ALLOWED, IDLE, IDLE, IDLE)
    assert answers("prlimit64", 0) == answers("setpriority", 0, 0, 5) == (ALLOWED,) * 4
    assert answers("prlimit64", 9) == answers("setpriority", 0, 9) == (ALLOWED, REFUSED, REFUSED, REFUSED)
    assert answers("setpriority", 2, 0) == (ALLOWED, REFUSED, REFUSED, REFUSED)
    assert answers("kill", 9) == answers("truncate") == (ALLOWED, ALLOWED, ALLOWED, REFUSED)
    assert answers(9999) == (ALLOWED,) * 4
    other = 0x40000003
    assert {asked(program, machine, 1, mark=other) for program in every} == {UNKNOWN}
    if machine == "x86_64":
        assert answers(0x40000000 + 101) == (UNKNOWN,) * 4


def answers_if(name: str, machine: str, program: bytes) -> object:
    known = seccomp.number_of(name, list(MARKS).index(machine)) is not None
    return asked(program, machine, name) if known else None


@pytest.mark.parametrize("machine", MARKS)
def test_every_call_that_is_refused_is_refused(machine: str) -> None:
    program = seccomp.program(machine, internet=True)
    answers = {answers_if(name, machine, program) for name in seccomp.group("refused")}
    assert answers - {None} == {REFUSED}
    assert len(program) // 8 < 4096, "the kernel takes no more steps"


# the profile of macOS


@posix
def test_a_profile_names_paths_as_parameters_only(tmp_path: Path) -> None:
    nasty = tmp_path / '") (allow default) ("'
    nasty.mkdir()
    rules, parameters = seatbelt.profile(Box({}, readable=(str(nasty),)), "/private/tmp/box")
    assert "allow default" not in rules and "network" not in rules
    assert os.path.realpath(nasty) in parameters.values()
    assert all(f'(param "{name}")' in rules for name in parameters)
    assert [name for name, path in parameters.items() if path == "/private/tmp/box"] == ["WRITE_0"]
    assert "(allow network-outbound (remote ip))" in seatbelt.profile(Box({}, network=True), "/t")[0]


# limits that cannot be set


@pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
def test_a_program_whose_limits_cannot_be_set_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "not allowed")

    monkeypatch.setattr("whet.guard.sandbox.bubblewrap.limit", refuse)
    monkeypatch.setattr("whet.guard.sandbox.landlock.Watch", refuse)
    monkeypatch.setattr("whet.guard.sandbox.landlock._Group.watches", True)
    for found in levels():
        box = Box({"PATH": os.defpath}, writable=(str(tmp_path),))
        ran = run_program(["touch", str(tmp_path / "made")], box, level=found)
        assert ran[:5] == ("[Errno 1] not allowed", None, "failed", False, found.name)
    assert not (tmp_path / "made").exists()


# levels


def test_a_level_says_what_it_is_and_what_it_is_not() -> None:
    for found in (*levels(), NONE, seatbelt_level()):
        assert found.sentence.endswith(".") and found.gaps and all(gap.endswith(".") for gap in found.gaps)
    assert level() == (levels() or (NONE,))[0]
    assert [found.isolates for found in (*levels(), NONE)] == [*([True] * len(levels())), False]


def seatbelt_level() -> Level:
    return levels_module.SEATBELT


def test_without_a_sandbox_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels_module, "_working", dict)
    made = tmp_path / "made"
    assert (level(), levels()) == (NONE, ())
    with pytest.raises(RefusedError) as caught:
        run_program(["touch", str(made)], Box({"PATH": os.defpath}, writable=(str(tmp_path),)))
    assert (caught.value.code, caught.value.message) == (
        "no-sandbox",
        "This machine offers no sandbox. touch was not run.",
    )
    assert not made.exists()


@pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
def test_what_cannot_be_started_is_told(tmp_path: Path) -> None:
    box = Box({"PATH": os.defpath})
    name = level().name
    assert run_program(["no-such-program"], box)[:3] == ("", None, "not-found")
    missing = str(tmp_path / "missing")
    ran = run_program(["sh", "-c", "pwd"], box._replace(cwd=missing))
    assert ran[:5] == (f"[Errno 2] No such file or directory: {missing!r}", None, "failed", False, name)
    long = run_program(["sh", "-c", "#" * 3_000_000], box)
    assert (long.code, long.problem) == (None, "failed")
    hidden = tmp_path / "program"
    hidden.write_text("#!/bin/sh\necho ran\n")
    hidden.chmod(0o755)
    ran = run_program([str(hidden)], box)
    assert (ran.problem, ran.output == "ran") == ("failed", False)


@pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
def test_a_program_that_links_out_of_the_box_is_passed_over(tmp_path: Path) -> None:
    # A virtual environment beside the project, whose Python is in a home directory.
    shown, hidden = tmp_path / "shown", tmp_path / "hidden"
    shown.mkdir()
    hidden.write_text("#!/bin/sh\necho hidden\n")
    hidden.chmod(0o755)
    (shown / "sh").symlink_to(hidden)
    box = Box({"PATH": os.pathsep.join((str(shown), os.defpath))}, readable=(str(shown),))
    assert run_program(["sh", "-c", "echo found"], box)[:3] == ("found", 0, "")
