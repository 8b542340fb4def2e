"""What a script leaves behind: start-up files, timers, hooks, keys, and the agent's own instructions and settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.places import places

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.finding import Hit
    from whet.guard.places import Place
    from whet.guard.shell.flow import Scene, Step

_HIDDEN = re.compile(
    r"(?:^|[\s=\"'>])(?:/tmp/|/var/tmp/|/dev/shm/|(?:~|\$\{?HOME\}?|/home/\w{1,40}|/root)/\.(?!local/bin|config/|nvm|cargo|pyenv|bun|deno|claude|npm|rbenv|volta|sdkman|asdf|local/share)[\w.-]{1,60}(?:/[\w.-]{1,60}){0,3}(?=[\s\"']|$))"
)
_FETCHED_HITS = frozenset(
    {
        "pipe-known",
        "pipe-to-shell",
        "pipe-shady",
        "decode-to-shell",
        "shell-handed-over",
        "secret-sent",
        "split-command",
        "silent-send",
        "send-shady",
    }
)
_SUDO_ALIAS = re.compile(r"\balias\s{1,4}(?:sudo|su|ssh|git|passwd|gpg)=[\"']?(?![\"']?sudo )[^\n]{0,200}")
_KEY = re.compile(r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w{1,20})\s{1,4}AAAA[0-9A-Za-z+/]{30,}")
_SWITCHES_OFF = re.compile(
    r"dangerously-skip-permissions|dangerously_skip_permissions|bypassPermissions|[\"']permissionDecision[\"']\s{0,3}:\s{0,3}[\"']allow"
    r"|skipDangerousModePermissionPrompt|[\"']?auto_?[aA]pprove[\"']?\s{0,3}[:=]\s{0,3}(?:true|\[\s{0,3}[\"']\*)"
    r"|[\"']allow[\"']\s{0,3}:\s{0,3}\[[^\]]{0,400}[\"'](?:Bash|Bash\(\*\)|\*)[\"']|approval_policy\s{0,3}=\s{0,3}[\"']never|enableAllProjectMcpServers[\"']\s{0,3}:\s{0,3}true"
    r"|(?:do not|don't|never) (?:tell|inform|mention|reveal|alert|ask)\b[^\n]{0,30}\b(?:user|human|operator)"
    r"|ignore (?:all )?(?:previous|prior) instructions",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"ExecStart\s{0,2}=\s{0,2}(.{1,400})|<string>([^<]{1,400})</string>")
_CRON = re.compile(
    r"^\s{0,4}(?:@(?:reboot|hourly|daily|weekly|monthly)|(?:[\d*/,-]{1,20}\s{1,4}){5})(?:root\s{1,4})?(.{1,600})$",
    re.MULTILINE,
)


def look(scene: Scene, step: Step, judge: Callable[[str], list[Hit]]) -> None:
    """Judge one step; `judge` gives the hits of a script that it would leave behind."""
    for target, _ in step.targets():
        if "authorized_keys" in target:
            scene.fact("write", "authorized SSH keys", step, target[:120])
            _key(scene, step, scene.content(step))
            continue
        for place in places(target) if len(target) < 500 else ():
            if place.kind == "start":
                _start(scene, step, place, target, judge)
            elif place.kind == "agent":
                _agent(scene, step, place, target, judge)
    if step.name == "crontab" and not step.has("-l", "-r", "-e"):
        _timer(scene, step, scene.content(step) or _piped_text(step), judge)
    elif step.name == "at" and step.before:
        _timer(scene, step, scene.content(step), judge)
    elif step.name == "git" and step.args[:1] == ["config"]:
        _git(scene, step, judge)
    elif step.name in ("sed", "gsed") and any(word.startswith(("-i", "--in-place")) for word in step.args):
        for word in step.args:
            for place in places(word) if len(word) < 300 else ():
                if place.kind == "agent" and place.what != "other skills":
                    _agent(scene, step, place, word, judge)
    elif step.name in ("launchctl", "systemctl") and step.has("load", "bootstrap", "enable"):
        scene.fact("write", "a service that starts by itself", step)


def _piped_text(step: Step) -> str:
    return "\n".join(" ".join(one.args) for one in step.before)


def _start(scene: Scene, step: Step, place: Place, target: str, judge: Callable[[str], list[Hit]]) -> None:
    content = scene.content(step)
    scene.fact("write", place.what, step, target[:120])
    if place.what in ("cron", "launchd", "systemd", "init scripts", "autostart"):
        _timer(scene, step, content, judge)
    elif place.what == "git hooks":
        bad = _bad(judge(content)) if content else None
        grave = bad is not None or step.decoded or step.fetched is not None
        scene.hit("persist-hook", step, "critical" if grave else "info", subject=target[:120])
    else:
        _profile(scene, step, content, judge)


def _profile(scene: Scene, step: Step, content: str, judge: Callable[[str], list[Hit]]) -> None:
    if step.name in ("cp", "mv", "ln", "rsync", "install", "ditto"):
        scene.hit("persist-start", step, "info" if step.fetched is None else "warn")
        return
    bad = _bad(judge(content)) if content else None
    if bad is not None or _SUDO_ALIAS.search(content) or step.decoded:
        scene.hit("persist-start", step, "critical")
    elif step.fetched is not None and not content:
        scene.hit("persist-start", step, "warn", subject=step.fetched.host.name)
    else:
        scene.hit("persist-start", step, "info")


def _key(scene: Scene, step: Step, content: str) -> None:
    if step.fetched is not None:
        own = step.fetched.host.name == "github.com"
        scene.hit("persist-key", step, "warn" if own else "critical", subject=step.fetched.host.name)
    elif _KEY.search(content):
        scene.hit("persist-key", step, "critical")
    else:
        scene.hit("persist-key", step, "info")


def _timer(scene: Scene, step: Step, content: str, judge: Callable[[str], list[Hit]]) -> None:
    scene.fact("write", "a timer or service", step)
    lines = [found[1] or found[2] for found in _CONTROL.finditer(content)] + [
        found[1] for found in _CRON.finditer(content)
    ]
    run = "\n".join(lines) or content
    bad = _bad(judge(run)) if run else None
    hidden = _HIDDEN.search(run) is not None if lines else False
    if bad is not None or step.decoded or (step.fetched is not None and step.name != "crontab"):
        scene.hit("persist-timer", step, "critical")
    elif hidden:
        scene.hit("persist-timer", step, "warn")
    else:
        scene.hit("persist-timer", step, "info")


def _bad(hits: list[Hit]) -> Hit | None:
    return next((hit for hit in hits if hit.rule in _FETCHED_HITS), None)


def _git(scene: Scene, step: Step, judge: Callable[[str], list[Hit]]) -> None:
    text = " ".join(step.args)
    wide = step.has("--global", "--system")
    if re.search(r"core\.hookspath|init\.templatedir", text, re.IGNORECASE) and not step.has("--unset", "--get"):
        scene.hit("persist-hook", step, "warn" if wide else "info")
    elif wide and re.search(
        r"core\.(?:sshcommand|fsmonitor|pager|editor)|credential\.helper|alias\.\w{1,40}", text, re.IGNORECASE
    ):
        value = step.args[-1].lstrip("!")
        if _bad(judge(value)) is not None:
            scene.hit("persist-hook", step, "critical")


def _agent(scene: Scene, step: Step, place: Place, target: str, judge: Callable[[str], list[Hit]]) -> None:
    content = scene.content(step) or " ".join(step.args)
    scene.fact("write", place.what, step, target[:120])
    fetched = (
        step.fetched is not None
        and step.fetched.known
        and step.fetched.host.kind not in ("known", "loopback", "private")
    )
    if place.what == "other skills":
        scene.hit(
            "agent-write",
            step,
            "warn" if fetched and step.fetched and step.fetched.host.shady else "info",
            subject=target[:120],
        )
        return
    bad = _bad(judge(content)) if "hooks" in target or "curl" in content or "wget" in content else None
    risky = bad is not None and bad.rule != "pipe-known"
    if _SWITCHES_OFF.search(content) or risky or step.decoded:
        scene.hit(
            "agent-write",
            step,
            "critical",
            subject=target[:120],
            message="the agent's own rules are changed so that it asks less, hides something or runs fetched code",
        )
    elif step.name in ("cp", "mv", "ln", "rsync", "install") or not _is_home(target):
        scene.hit("agent-write", step, "info", subject=target[:120])
    else:
        scene.hit("agent-write", step, None, subject=target[:120])


_RULING = re.compile(
    r"(?:~|\$\{?HOME\}?|/root|/home/[^/]{1,40}|/Users/[^/]{1,40})/(?:CLAUDE|AGENTS|GEMINI|SOUL|MEMORY)\.md"
    r"|\.(?:claude|codex|gemini|cursor|openclaw|clawdbot|moltbot|continue|roo|config)/(?!.{0,80}skills/)"
)


def _is_home(target: str) -> bool:
    """Where an agent keeps rules for every project of the person; a skill's own folder is its own affair."""
    at_home = target.startswith(("~", "$HOME", "${HOME}", "/home/", "/Users/", "/root")) or "../" in target
    return (at_home and _RULING.search(target) is not None) or "claude_desktop_config" in target
