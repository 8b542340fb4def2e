"""What a script leaves behind: start-up files, timers, hooks, keys, and the agent's own instructions and settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of
from whet.guard.taint.mark import Mark
from whet.guard.taint.persist import Writing, judge_written, written_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.finding import Hit
    from whet.guard.shell.flow import Scene, Step

_BAD = frozenset(
    (
        *("pipe-known", "pipe-to-shell", "pipe-shady", "decode-to-shell", "shell-handed-over", "secret-sent"),
        *("split-command", "silent-send", "send-shady", "file-sent"),
    )
)
"""Rules about what nobody wants to happen again and again, unseen."""
_MOVERS = frozenset(("cp", "mv", "ln", "rsync", "install", "ditto"))
_RUN_BY_GIT = expression(
    r"core\.(?:sshcommand|fsmonitor|pager|editor)|credential\.helper|alias\.\w{1,40}", re.IGNORECASE
)
_HOOKS = expression(r"core\.hookspath|init\.templatedir", re.IGNORECASE)
_INSTEAD = expression(r"^url\.(\S{4,300})\.(?:push)?insteadof$", re.IGNORECASE)
_RUN_BY_SHELLS = frozenset(
    ("PROMPT_COMMAND", "BASH_ENV", "ENV", "LD_PRELOAD", "ZDOTDIR", "PYTHONSTARTUP", "GIT_SSH_COMMAND")
)


def look(scene: Scene, step: Step, judge: Callable[[str], list[Hit]]) -> None:
    """Judge one step; `judge` gives the hits of a script that it would leave behind."""

    def is_bad(script: str) -> bool:
        return bool(script) and any(hit.rule in _BAD for hit in judge(script))

    content = scene.content(step)
    for target, appends in step.targets():
        if len(target) < 500:
            text = content or (" ".join(step.args) if _rules_agent(target) else "")
            _judge(scene, step, Writing(target, text, _marks(step), appends, typed=True), is_bad)
    if step.name == "crontab" and not step.has("-l", "-r", "-e"):
        table = content or "\n".join(" ".join(one.args) for one in step.before)
        decoded = frozenset(mark for mark in _marks(step) if mark.kind == "decoded")
        _judge(scene, step, Writing("crontab", table, decoded, typed=True), is_bad)
    elif step.name in ("at", "batch"):
        _judge(scene, step, Writing("crontab", content, _marks(step), typed=True), is_bad)
    elif step.name == "git" and "config" in step.args[:3]:
        _git(scene, step, is_bad)
    elif step.name in ("sed", "gsed") and any(word.startswith(("-i", "--in-place")) for word in step.args):
        for word in step.args:
            if len(word) < 300 and _rules_agent(word):
                _judge(scene, step, Writing(word, " ".join(step.args), typed=True), is_bad)
    elif step.name in ("launchctl", "systemctl") and step.has("load", "bootstrap", "enable"):
        scene.fact("write", "a service that starts automatically", step)
    for name, value in step.command.assignments:
        if name in _RUN_BY_SHELLS and is_bad(value.text):
            scene.hit("persist-start", step, "critical", subject=name)


def _judge(scene: Scene, step: Step, one: Writing, is_bad: Callable[[str], bool]) -> None:
    for place in written_places(one.path):
        scene.fact("write", place.what, step, one.path[:120])
    for found in judge_written(one, is_bad, lambda _text, _python: False):
        moved = found.severity == "warn" and found.rule == "agent-write" and step.name in _MOVERS
        scene.hit(
            found.rule, step, "info" if moved else found.severity, subject=found.subject[:120], message=found.message
        )


def _rules_agent(path: str) -> bool:
    return any(place.kind == "agent" for place in written_places(path))


def _marks(step: Step) -> frozenset[Mark]:
    """Where what a step writes comes from; a copy of something decoded is judged where it is run."""
    marks = set()
    if step.fetched is not None:
        marks.add(Mark("fetched", "the network", step.fetched.url))
    if step.decoded and step.name not in _MOVERS:
        marks.add(Mark("decoded", "a decoder"))
    return frozenset(marks)


def _git(scene: Scene, step: Step, is_bad: Callable[[str], bool]) -> None:
    text = " ".join(step.args)
    wide = step.has("--global", "--system")
    value = step.args[-1]
    redirected = next((found for word in step.args[:-1] if (found := _INSTEAD.match(word.replace('"', "")))), None)
    if redirected is not None:
        host = host_of(redirected[1])
        if not host.near and host.kind != "known":
            message = f"git downloads {value[:80]} from {host.name} instead"
            scene.hit("redirects-downloads", step, "critical" if wide else "warn", subject=host.name, message=message)
    elif _HOOKS.search(text) and not step.has("--unset", "--get"):
        written = [scene.content(one) for one in scene.written(value)]
        bad = any(map(is_bad, written))
        scene.hit("persist-hook", step, "critical" if bad else "warn" if wide else "info")
    elif wide and _RUN_BY_GIT.search(text) and is_bad(value.lstrip("!")):
        scene.hit("persist-hook", step, "critical")
