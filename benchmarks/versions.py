"""Is this version of Whet slower than another one? The same commands with both, in turn, by CPU time.

Each version has a home of its own with the same skills. What counts is the median of the CPU seconds of the process and
its children, because it varies less than the time on the clock when the machine is busy.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from contest import ContenderError
from scenes import make_scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from scenes import Scene

_LONG_AGO = 1_000_000_000
"""When the skills were last changed, in seconds since the epoch: a cache does not believe what changed a moment ago."""
_PROMPT = (
    '{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "make a report of the numbers", "cwd": "/"}'
)
_NEW = "---\nname: new-skill\ndescription: Makes new things. Use when something new is needed.\n---\n\nHello.\n"


def whet_command() -> list[str]:
    """The installed command, as a person starts it."""
    script = os.path.join(os.path.dirname(sys.executable), "whet")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "whet"]


class Ratio(NamedTuple):
    """What one command takes with both versions, in CPU seconds."""

    command: str
    other: float
    ours: float

    @property
    def times(self) -> float:
        """How much longer it takes with ours."""
        return self.ours / self.other


class Version:
    """One version of Whet with a home of its own."""

    def __init__(self, command: list[str], directory: str, skills: int) -> None:
        self._command = command
        self._scene: Scene = make_scene(directory, skills)
        self.name = self._scene.name
        self.added = os.path.join(directory, "new-skill")
        os.mkdir(self.added)
        with open(os.path.join(self.added, "SKILL.md"), "w", encoding="utf-8") as file:
            file.write(_NEW)
        self.run("create", "changed", "--description", "Changes often. Use when it is measured.", "--body", "Step 0.")
        for path, _, files in os.walk(self._scene.home):
            for name in (*files, "."):
                os.utime(os.path.join(path, name), (_LONG_AGO, _LONG_AGO))

    def run(self, *arguments: str, stdin: str = "") -> float:
        """The CPU seconds of one command."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*self._command, *arguments],
            env=self._scene.env(),
            cwd=self._scene.home,
            input=stdin,
            capture_output=True,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise ContenderError(f"{' '.join(arguments)}: exit status {done.returncode}: {done.stderr[:200]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _install(version: Version, _: int) -> float:
    seconds = version.run("install", version.added, "--yes")
    version.run("uninstall", "new-skill", "--yes")
    return seconds


def _patch(version: Version, number: int) -> float:
    return version.run("patch", "changed", "--find", f"Step {number}.", "--replace", f"Step {number + 1}.")


_COMMANDS: dict[str, Callable[[Version, int], float]] = {
    "--version": lambda version, _: version.run("--version"),
    "list": lambda version, _: version.run("list"),
    "show": lambda version, _: version.run("show", version.name),
    "find": lambda version, _: version.run("find", "make a report of the numbers"),
    "patch": _patch,
    "install": _install,
    "hook": lambda version, _: version.run("hook", "prompt", "--client", "claude-code", stdin=_PROMPT),
}


def compare(ours: list[str], other: list[str], skills: int, rounds: int) -> list[Ratio]:
    """Run every command with both versions, `rounds` times in turn after one run that does not count."""
    directory = tempfile.mkdtemp(prefix="whet-versions-")
    try:
        places = [os.path.join(directory, name) for name in ("other", "ours")]
        versions = [Version(command, place, skills) for command, place in zip((other, ours), places, strict=True)]
        found = []
        for name, measure in _COMMANDS.items():
            seconds: list[list[float]] = [[], []]
            for number in range(rounds + 1):
                for which in (0, 1) if number % 2 else (1, 0):
                    seconds[which].append(measure(versions[which], number))
            found.append(Ratio(name, *(statistics.median(runs[1:]) for runs in seconds)))
        return found
    finally:
        shutil.rmtree(directory, ignore_errors=True)
