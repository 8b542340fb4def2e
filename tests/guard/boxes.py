"""Every way into a box that this machine has, and a small world to break out into."""

from __future__ import annotations

import functools
import os
import shutil
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tiers import thinned

from whet.guard.sandbox import landlock, seccomp
from whet.guard.sandbox.box import Box, Limits, box_for
from whet.guard.sandbox.levels import _landlock, _run, levels, run_program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.guard.sandbox.levels import Prepare
    from whet.guard.sandbox.process import Ran

PYTHON = shutil.which("python3", path=os.defpath) or "python3"
PATH = os.defpath if shutil.which("python3", path=os.defpath) else os.environ.get("PATH", os.defpath)
_OLD = (1, 5)
"""Versions of Landlock that a newer kernel can be asked for."""


def _by_path(prepare: Prepare, argv: list[str], box: Box) -> Ran:
    program = shutil.which(argv[0], path=box.env["PATH"])
    return _run([program or argv[0], *argv[1:]], box, "landlock", prepare)


def _ways() -> dict[str, Callable[[list[str], Box], Ran]]:
    ways: dict[str, Callable[[list[str], Box], Ran]] = {
        found.name: functools.partial(run_program, level=found) for found in levels()
    }
    for version in _OLD if "landlock" in ways else ():
        if version < landlock.version():
            prepare = functools.partial(_landlock, seccomp.machine(), version)
            ways[f"landlock-{version}"] = functools.partial(_by_path, prepare)
    return ways


WAYS = _ways()
every_way = pytest.mark.parametrize(
    "way",
    thinned(WAYS, len(WAYS) - 1)
    if len(WAYS) > 2
    else WAYS or [pytest.param("", marks=pytest.mark.skip(reason="this machine offers no sandbox"))],
)
linux = pytest.mark.skipif("seatbelt" in WAYS, reason="asks the Linux kernel")


class Inside(NamedTuple):
    """A box of one way, and what lies around it."""

    way: str
    home: Path
    skill: Path
    project: Path
    box: Box

    def python(self, code: str, *arguments: object, **more: Any) -> Ran:
        """Run a Python program in there."""
        words = ["python3", "-I", "-c", textwrap.dedent(code), *map(str, arguments)]
        return WAYS[self.way](words, self.box._replace(**more))

    def bash(self, script: str, *arguments: object, **more: Any) -> Ran:
        """Run a script in there."""
        return WAYS[self.way](["bash", "-c", script, "bash", *map(str, arguments)], self.box._replace(**more))


def inside(way: str, top: Path) -> Inside:
    """A home with a secret, a skill and a project below it, and a box that shows the last two."""
    home = top / "home"
    skill, project = home / ".agents" / "skills" / "try", home / "project"
    for directory in (skill, project, home / ".ssh"):
        directory.mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("secret key\n")
    (skill / "SKILL.md").write_text("the skill\n")
    (project / "README.md").write_text("the project\n")
    env = {"PATH": PATH, "LANG": "C.UTF-8"}
    limits = Limits(seconds=60)
    return Inside(
        way,
        home,
        skill,
        project,
        box_for(shown=(str(skill), str(project)), cwd=str(project), env=env, home=str(home), limits=limits),
    )
