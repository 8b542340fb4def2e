"""The isolation that this machine really offers, and running a program at the best level.

A level is found by trying: a file outside the box must be unreachable, and a program in it must run. User
namespaces may be forbidden, the kernel may be old, a container may allow neither; only a trial shows that. It runs once
per process.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import RefusedError
from whet.guard.sandbox import bubblewrap, landlock, seatbelt, seccomp
from whet.guard.sandbox.box import NO_SANDBOX_HINT, Box
from whet.guard.sandbox.process import Ran, run

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from whet.guard.sandbox.process import Command, Keeper

    Prepare = Callable[[Sequence[str], Box], tuple[Command, Keeper]]


class Level(NamedTuple):
    """How well programs can be isolated here."""

    name: str
    """`bubblewrap`, `landlock`, `seatbelt` or `none`."""
    sentence: str
    """Human-readable description of the level."""
    gaps: tuple[str, ...]
    """Human-readable limitations of the level."""

    @property
    def isolates(self) -> bool:
        return self.name != "none"


NONE = Level(
    "none",
    "This machine offers no sandbox.",
    ("A program can read, change and send whatever its user can.",),
)
_PROBE = 'if cat "$1" >/dev/null 2>&1; then echo open; else echo boxed; fi; (echo y >>"$1") 2>/dev/null; exit 0'


def level() -> Level:
    """Return the best level of this machine."""
    return next(iter(_working()), NONE)


def levels() -> tuple[Level, ...]:
    """Return every level that works on this machine, the best one first."""
    return tuple(_working())


def run_program(
    argv: Sequence[str],
    box: Box,
    *,
    level: Level | None = None,
    stop: threading.Event | None = None,
    exact: bool = False,
) -> Ran:
    """Run a program in a box at the best level, or at one of `levels()`; `stop` and `exact` are those of `process.run`.

    Without any level, nothing is run and RefusedError is raised: a program meant for a box must not run outside one.
    """
    import shutil

    working = _working()
    if not working:
        raise RefusedError("no-sandbox", f"{NONE.sentence} {argv[0]} was not run.", hint=NO_SANDBOX_HINT)
    chosen = level or next(iter(working))
    path = box.env.get("PATH", os.defpath)
    # A virtual environment can be in the box while the Python that it links to is not: then use the next one on the PATH.
    candidates = filter(None, (shutil.which(argv[0], path=directory) for directory in path.split(os.pathsep)))
    program = next(filter(box.shows, candidates), None) or shutil.which(argv[0], path=path)
    if program is None:
        return Ran("", None, "not-found", truncated=False, level=chosen.name)
    if box.cwd and not os.path.isdir(box.cwd):
        problem = f"[Errno 2] No such file or directory: {box.cwd!r}"
        return Ran(problem, None, "failed", truncated=False, level=chosen.name)
    return _run([program, *argv[1:]], box, chosen.name, working[chosen], stop, exact=exact)


def _run(
    argv: Sequence[str],
    box: Box,
    name: str,
    prepare: Prepare,
    stop: threading.Event | None = None,
    *,
    exact: bool = False,
) -> Ran:
    try:
        command, keeper = prepare(argv, box)
    except (OSError, ValueError) as problem:
        return Ran(str(problem), None, "failed", truncated=False, level=name)
    ran = run(command, keeper, seconds=box.limits.seconds, limit=box.limits.output, stop=stop, exact=exact)
    return ran._replace(level=name)


@functools.cache
def _working() -> dict[Level, Prepare]:
    """Return the levels that work here, each with the function that prepares its box."""
    import shutil
    import tempfile

    found: dict[Level, Prepare] = {}
    shell = shutil.which("sh", path=os.defpath)
    candidates = list(_candidates()) if shell else []
    if not candidates or not shell:
        return found
    box = Box({"PATH": os.defpath})
    with (
        suppress(OSError),
        tempfile.NamedTemporaryFile(prefix="whet-probe-") as outside,
    ):  # no room for a trial: no level is offered
        outside.write(b"x")
        outside.flush()
        for candidate, prepare in candidates:
            if candidate not in found:
                ran = _run([shell, "-c", _PROBE, "sh", outside.name], box, candidate.name, prepare)
                if (ran.output, ran.code) == ("boxed", 0) and os.stat(outside.name).st_size == 1:
                    found[candidate] = prepare
    return found


def _candidates() -> Iterator[tuple[Level, Prepare]]:
    """Yield the levels that could work here, the best first; of two with the same level, the second is for older versions."""
    if sys.platform == "darwin" and os.path.exists(seatbelt.PROGRAM):
        yield SEATBELT, seatbelt.prepare
    if sys.platform != "linux":
        return
    import shutil

    machine = seccomp.machine()
    if program := shutil.which("bwrap", path=os.defpath + ":/usr/local/bin"):
        for nested in (True, False):
            yield _bubblewrap_level(machine), functools.partial(_bubblewrap, program, machine, nested)
    version = landlock.version()
    if machine and version:
        yield _landlock_level(version), functools.partial(_landlock, machine, version)


def _bubblewrap(program: str, machine: str, nested: bool, argv: Sequence[str], box: Box) -> tuple[Command, Keeper]:
    calls = (
        seccomp.program(machine, internet=True) if machine else b""
    )  # the network is a namespace, empty if it is off
    return bubblewrap.prepare(argv, box, program=program, nested=nested, calls=calls)


def _landlock(machine: str, version: int, argv: Sequence[str], box: Box) -> tuple[Command, Keeper]:
    calls = seccomp.program(machine, internet=box.network, landlock=version)
    return landlock.prepare(argv, box, version=version, calls=calls)


def _bubblewrap_level(machine: str) -> Level:
    gaps = ["A bug in the kernel can let a program escape."]
    if not machine:
        gaps.append("System calls are not filtered on this kind of machine.")
    sentence = "Programs of skills run in a bubblewrap sandbox with its own files, network, processes and users."
    return Level("bubblewrap", sentence, tuple(gaps))


def _landlock_level(version: int) -> Level:
    gaps = [
        "A bug in the kernel can let a program escape.",
        "A program can look up names, sizes and times of other files, and whether a process exists.",
        "The size of temporary files is limited one by one, not in total.",
        "Modes and owners of files cannot be changed; a program that tries sees a success.",
        "If Whet itself is killed, what a program started can run on until its CPU time is used up.",
    ]
    if version < 6:
        gaps.append("Programs cannot send signals, not even to programs that they started.")
    if version < 5:
        gaps.append("Devices that can be read can also be controlled.")
    filtered = f"under Landlock (version {version}) and a system call filter"
    sentence = f"Programs of skills run {filtered}, without the network and other files."
    return Level("landlock", sentence, tuple(gaps))


SEATBELT = Level(
    "seatbelt",
    "Programs of skills run in a Seatbelt sandbox, without the network and other files.",
    (
        "A bug in the kernel can let a program escape.",
        "A program can look up names, sizes and times of other files.",
        "Memory and the number of processes are not limited.",
        "A process that starts its own session can outlive the command.",
    ),
)
