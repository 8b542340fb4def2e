"""Rules for what a script leaves behind: start-up files, timers, hooks, keys, and the agent's instructions and settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of, is_placeholder
from whet.guard.shell.clients import programs
from whet.guard.shell.send import remote_host
from whet.guard.tables import shape, words
from whet.guard.taint.persist import written_places
from whet.guard.taint.sources import judge_base

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.shell.flow import Scene
    from whet.guard.shell.step import Step

_RUN_BY_GIT = shape("shell_signs", "run_by_git")
_HOOKS = expression(r"core\.hookspath|init\.templatedir", re.IGNORECASE)
_PUSHED = expression(r"remote\.\S{1,80}\.pushurl", re.IGNORECASE)
_INSTEAD = expression(r"^url\.(\S{4,300})\.(?:push)?insteadof$", re.IGNORECASE)
_RUN_BY_SHELLS = words("shell_signs", "run_by_shells")


def judge_left(scene: Scene, step: Step) -> None:
    """Judge what a command writes into files, and into variables that shells run."""
    content, moved = step.output.said, step.name in programs("movers")
    # A copy of decoded text is judged where it is run.
    marks = frozenset(mark for mark in step.output.marks if mark.kind != "decoded" or not moved)
    for target, appends in step.targets:
        if len(target) < 500:
            text = content or (" ".join(step.texts) if _edits(target) else "")
            scene.judge_file(target, text, marks, appends=appends, moved=moved)
    for name, value in step.command.assignments:
        if name in _RUN_BY_SHELLS and scene.is_bad(value.text):
            scene.hit("persist-start", "critical", name)
        scene.report(judge_base(name, value.text))


def _edits(path: str) -> bool:
    return path.endswith("authorized_keys") or any(place.kind == "agent" for place in written_places(path))


def _enable(scene: Scene, _step: Step) -> None:
    scene.fact("write", "a service that starts automatically")


def _configure(scene: Scene, step: Step) -> None:
    """Judge git settings that run a program or redirect its downloads."""
    text = " ".join(step.texts)
    wide = step.has("--global", "--system")
    value = step.texts[-1]
    redirected = next((found for word in step.texts[:-1] if (found := _INSTEAD.match(word.replace('"', "")))), None)
    if redirected is not None:
        host = host_of(redirected[1])
        if not host.near and host.kind != "known":
            message = f"git downloads {value[:80]} from {host.name} instead"
            scene.hit("redirects-downloads", "critical" if wide else "warn", host.name, message)
    elif _PUSHED.search(text) and (host := remote_host(value)).name and not host.near and host.kind != "known":
        message = f"every push goes to {host.name}, too"
        scene.hit("send-shady", "warn" if is_placeholder(host.name) else "critical", host.name, message)
    elif _HOOKS.search(text) and not step.has("--unset", "--get"):
        bad = any(map(scene.is_bad, scene.file(value).texts))
        scene.hit("persist-hook", "critical" if bad else "warn" if wide else "info")
    elif wide and _RUN_BY_GIT.search(text) and scene.is_bad(value.lstrip("!")):
        scene.hit("persist-hook", "critical")


JUDGES: dict[str, Callable[[Scene, Step], None]] = {
     "enable": _enable, "configure git": _configure,
}  # fmt: skip
"""The ways to leave something behind that the tables name, with their judges."""
