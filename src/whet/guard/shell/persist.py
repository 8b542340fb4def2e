"""What a script leaves behind: start-up files, timers, hooks, keys, and the agent's own instructions and settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of
from whet.guard.taint.persist import conceals, hides, relaxes, written_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.finding import Hit, Severity
    from whet.guard.places import Place
    from whet.guard.shell.flow import Scene, Step

_BAD = frozenset(
    (
        *("pipe-known", "pipe-to-shell", "pipe-shady", "decode-to-shell", "shell-handed-over", "secret-sent"),
        *("split-command", "silent-send", "send-shady", "file-sent"),
    )
)
"""Rules about what nobody wants to happen again and again, unseen."""
_KEY = expression(r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w{1,20})\s{1,4}AAAA[0-9A-Za-z+/]{30,}")
_CONTROL = expression(
    r"ExecStart\w{0,4}\s{0,2}=\s{0,2}(.{1,400})|<string>([^<]{1,400})</string>|^Exec\s{0,2}=(.{1,400})", re.MULTILINE
)
_CRON = expression(
    r"^\s{0,4}(?:@(?:reboot|hourly|daily|weekly|monthly)|(?:[\d*/,-]{1,20}\s{1,4}){5})(?:root\s{1,4})?(.{1,600})$",
    re.MULTILINE,
)
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
    for target, _ in step.targets():
        for place in written_places(target) if len(target) < 500 else ():
            scene.fact("write", place.what, step, target[:120])
            if place.what == "authorized SSH keys":
                _key(scene, step, scene.content(step))
            elif place.kind == "start":
                _start(scene, step, place, target, judge)
            else:
                _agent(scene, step, place, target, judge)
    if step.name == "crontab" and not step.has("-l", "-r", "-e"):
        _timer(scene, step, scene.content(step) or "\n".join(" ".join(one.args) for one in step.before), judge)
    elif step.name in ("at", "batch"):
        _timer(scene, step, scene.content(step), judge)
    elif step.name == "git" and "config" in step.args[:3]:
        _git(scene, step, judge)
    elif step.name in ("sed", "gsed") and any(word.startswith(("-i", "--in-place")) for word in step.args):
        _edits(scene, step, judge)
    elif step.name in ("launchctl", "systemctl") and step.has("load", "bootstrap", "enable"):
        scene.fact("write", "a service that starts by itself", step)
    for name, value in step.command.assignments:
        if name in _RUN_BY_SHELLS and _is_bad(judge(value.text)):
            scene.hit("persist-start", step, "critical", subject=name)


def _edits(scene: Scene, step: Step, judge: Callable[[str], list[Hit]]) -> None:
    """Files of the agent that are changed in their place."""
    for word in step.args:
        for place in written_places(word) if len(word) < 300 else ():
            if place.kind == "agent" and place.what != "other skills":
                _agent(scene, step, place, word, judge)


def _is_bad(hits: list[Hit]) -> bool:
    return any(hit.rule in _BAD for hit in hits)


def _start(scene: Scene, step: Step, place: Place, target: str, judge: Callable[[str], list[Hit]]) -> None:
    content = scene.content(step)
    if place.what in ("cron", "launchd", "systemd", "init scripts", "autostart"):
        _timer(scene, step, content, judge)
    elif place.what == "git hooks":
        grave = _is_bad(judge(content)) or step.decoded or step.fetched is not None
        scene.hit("persist-hook", step, "critical" if grave else "info", subject=target[:120])
    elif (content and (_is_bad(judge(content)) or hides(content))) or (step.decoded and step.name not in _MOVERS):
        scene.hit("persist-start", step, "critical")
    else:
        fetched = step.fetched if not content else None
        scene.hit("persist-start", step, "warn" if fetched else "info", subject=fetched.host.name if fetched else "")


def _key(scene: Scene, step: Step, content: str) -> None:
    if step.fetched is not None:
        own = step.fetched.host.name == "github.com"
        scene.hit("persist-key", step, "warn" if own else "critical", subject=step.fetched.host.name)
    else:
        scene.hit("persist-key", step, "critical" if _KEY.search(content) else "info")


def _timer(scene: Scene, step: Step, content: str, judge: Callable[[str], list[Hit]]) -> None:
    scene.fact("write", "a timer or service", step)
    lines = [found[1] or found[2] or found[3] for found in _CONTROL.finditer(content)]
    lines += [found[1] for found in _CRON.finditer(content)]
    run = "\n".join(lines) or content
    severity: Severity = "warn" if lines and hides(run) else "info"
    if (run and _is_bad(judge(run))) or step.decoded or (step.fetched is not None and step.name != "crontab"):
        severity = "critical"
    scene.hit("persist-timer", step, severity)


def _git(scene: Scene, step: Step, judge: Callable[[str], list[Hit]]) -> None:
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
        bad = any(_is_bad(judge(content)) for content in written if content)
        scene.hit("persist-hook", step, "critical" if bad else "warn" if wide else "info")
    elif wide and _RUN_BY_GIT.search(text) and _is_bad(judge(value.lstrip("!"))):
        scene.hit("persist-hook", step, "critical")


def _agent(scene: Scene, step: Step, place: Place, target: str, judge: Callable[[str], list[Hit]]) -> None:
    content = scene.content(step) or " ".join(step.args)
    fetched = step.fetched if step.fetched is not None and step.fetched.known else None
    if place.what == "other skills":
        scene.hit("agent-write", step, "warn" if fetched and fetched.host.shady else "info", subject=target[:120])
        return
    runs = "hooks" in target or "curl" in content or "wget" in content
    risky = runs and any(hit.rule in _BAD and hit.rule != "pipe-known" for hit in judge(content))
    if relaxes(content) or (scene.content(step) and conceals(content)) or risky or step.decoded:
        message = "the agent then asks less, hides something or runs downloaded code"
        scene.hit("agent-write", step, "critical", subject=target[:120], message=message)
    else:
        quiet = step.name in _MOVERS or not _is_home(target)
        scene.hit("agent-write", step, "info" if quiet else None, subject=target[:120])


_RULING = expression(
    r"(?:~|\$\{?HOME\}?|/root|/home/[^/]{1,40}|/Users/[^/]{1,40})/(?:CLAUDE|AGENTS|GEMINI|SOUL|MEMORY)\.md"
    r"|\.(?:claude|codex|gemini|cursor|openclaw|clawdbot|moltbot|continue|roo|config)/(?!.{0,80}skills/)"
)


def _is_home(target: str) -> bool:
    """Where an agent keeps rules for every project of the person; a skill's own folder is its own affair."""
    at_home = target.startswith(("~", "$HOME", "${HOME}", "/home/", "/Users/", "/root")) or "../" in target
    return (at_home and _RULING.search(target) is not None) or "claude_desktop_config" in target
