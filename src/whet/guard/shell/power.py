"""More authority than a task needs, protections switched off, and things destroyed or used up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.shell.commands import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.shell.flow import Scene, Step

_HOME = r"(?:~|\$\{?HOME\}?|/root|/home/[\w$\{\}-]{1,40}|/Users/[\w$\{\}-]{1,40})"
_EVERYTHING = re.compile(
    rf"^(?:/\.?/?\*{{0,2}}|{_HOME}/?\.?\*{{0,2}}|{_HOME}/\.\[?[!^.*\]?]{{0,5}}\*|"
    r"/(?:etc|usr|bin|sbin|lib|lib64|boot|var|home|Users|opt|System|Library|Applications|var/lib|var/backups|dev|private)/?\*?)$"
)
_DISK = re.compile(
    r"^/dev/r?(?:sd[a-z]\d?|hd[a-z]\d?|vd[a-z]\d?|xvd[a-z]\d?|nvme\d+n\d+(?:p\d+)?|disk\d+(?:s\d+)?|mmcblk\d+)$"
)
_TEMPORARY = re.compile(r"/(?:var/)?tmp/|/dev/shm/")
_MINERS = frozenset(
    {
        "xmrig",
        "minerd",
        "cpuminer",
        "ethminer",
        "nbminer",
        "t-rex",
        "xmr-stak",
        "phoenixminer",
        "lolminer",
        "cgminer",
        "bfgminer",
    }
)
_LOGS = re.compile(
    r"^(?:~|\$\{?HOME\}?|/root)?/?(?:\.(?:bash|zsh)_history|var/log/(?:\*|auth\.log|syslog|secure|wtmp|lastlog))$|^/var/log/(?:\*|auth\.log|syslog|secure|wtmp|btmp|lastlog)"
)


def look(scene: Scene, step: Step) -> None:
    """Judge one step."""
    if any(word.text == "find" for word in step.command.argv[:3]):
        _find(scene, step)
    if (judge := _JUDGES.get(step.name)) is not None:
        judge(scene, step)
    elif step.name.startswith("mkfs"):
        if any(_DISK.match(word) for word in step.args):
            scene.hit("wipe-disk", step, "warn")
    elif step.name in _MINERS or any(word.startswith(("stratum+tcp://", "stratum+ssl://")) for word in step.args):
        scene.hit("miner", step)
    for one in step.command.redirections:
        if ">" in one.operator and _DISK.match(one.target.text):
            scene.hit("wipe-disk", step, "critical")
        elif ">" in one.operator and "&" not in one.operator and one.target.text.startswith("/etc/sudoers"):
            _sudoers(scene, step)
    for name, word in step.command.assignments:
        if (name == "HISTFILE" and word.text in ("/dev/null", "")) or (
            name in ("HISTSIZE", "HISTFILESIZE") and word.text == "0"
        ):
            scene.hit("hide-traces", step)
    if step.name == "tee" and any(word.startswith("/etc/sudoers") for word in step.args):
        _sudoers(scene, step)


def bombs(scene: Scene) -> None:
    """A function that pipes into itself in the background."""
    for name in scene.script.functions:
        calls = [
            step
            for step in scene.steps
            if step.argv and step.argv[0].text == name and "function" in step.command.inside
        ]
        if len(calls) > 1 and any(step.before and "background" in step.command.inside for step in calls):
            scene.hit("fork-bomb", calls[0])


def _sudoers(scene: Scene, step: Step) -> None:
    text = scene.content(step)
    if "NOPASSWD" in text:
        everything = re.search(r"NOPASSWD\s{0,3}:\s{0,3}ALL\b", text) is not None
        scene.hit("sudo-without-password", step, "critical" if everything else "warn")


def _flags(step: Step) -> str:
    return "".join(word[1:] for word in step.args if re.fullmatch(r"-[a-zA-Z]{1,10}", word))


def _rm(scene: Scene, step: Step) -> None:
    flags = _flags(step)
    recursive = "r" in flags or "R" in flags or step.has("--recursive")
    plain = [word for word in step.words if not word.text.startswith("-")]
    if recursive and step.has("--no-preserve-root"):
        scene.hit("wipe-home", step)
        return
    for word in plain:
        text = word.text
        if recursive and _EVERYTHING.match(text) and name_of(step.command.argv) != "chroot":
            scene.hit("wipe-home", step, "critical", subject=text)
            return
        if recursive and not word.known and re.fullmatch(r"\$\{?\w{1,60}\}?/\*?", text):
            scene.hit("wipe-variable", step, subject=text)
            return
        if _LOGS.match(text):
            scene.hit("hide-traces", step, subject=text)
            return


def _dd(scene: Scene, step: Step) -> None:
    target = next((word[3:] for word in step.args if word.startswith("of=")), "")
    source = next((word[3:] for word in step.args if word.startswith("if=")), "")
    if _DISK.match(target):
        blank = source in ("/dev/zero", "/dev/urandom", "/dev/random")
        scene.hit("wipe-disk", step, "critical" if blank else "warn", subject=target)


def _shred(scene: Scene, step: Step) -> None:
    if any(_EVERYTHING.match(word) or _DISK.match(word) for word in step.args):
        scene.hit("wipe-home", step)


def _wipefs(scene: Scene, step: Step) -> None:
    if step.has("-a", "--all", "-af") and any(_DISK.match(word) for word in step.args):
        scene.hit("wipe-disk", step, "warn")


def _find(scene: Scene, step: Step) -> None:
    args = [word.text for word in step.command.argv]
    at = next((number for number, word in enumerate(args) if word.rpartition("/")[2] == "find"), -1)
    words = args[at + 1 :]
    roots = [word for word in words[:3] if _EVERYTHING.match(word)]
    narrowed = any(
        word in _NARROWS and not re.fullmatch(r"[*.?/~+]{0,6}", words[at + 1] if at + 1 < len(words) else "")
        for at, word in enumerate(words)
    )
    if roots and not narrowed and ("-delete" in words or step.name in ("rm", "shred")):
        scene.hit("wipe-home", step, "critical", subject=roots[0])


_NARROWS = frozenset(("-name", "-iname", "-mtime", "-path", "-regex", "-size", "-empty", "-newer", "-mmin"))


def _mv(scene: Scene, step: Step) -> None:
    if len(step.args) > 1 and step.args[-1] == "/dev/null" and any(_EVERYTHING.match(word) for word in step.args[:-1]):
        scene.hit("wipe-home", step)


def _kill(scene: Scene, step: Step) -> None:
    if step.has("-1") and step.has("-9", "-KILL", "-SIGKILL") and step.args[-1] == "-1":
        scene.hit("kill-everything", step)


def _chmod(scene: Scene, step: Step) -> None:
    if not step.args:
        return
    plain = [word for word in step.args if not re.fullmatch(r"-[a-zA-Z]{1,4}", word)]
    mode, targets = (plain[0], plain[1:]) if plain else ("", [])
    recursive = "R" in _flags(step)
    if re.fullmatch(r"[ugoa]{0,4}\+[rwx]{0,3}s|[246][0-7]{3}|0[46][0-7]{3}", mode) and not mode.startswith("2"):
        shell = any(re.search(r"(?:^|/)(?:bash|sh|zsh|dash|python3?|find|cp|vim)$", word) for word in targets)
        odd = any(_TEMPORARY.match(word) for word in targets)
        scene.hit("setuid", step, "critical" if shell or odd else "warn")
    elif any(_EVERYTHING.match(word) for word in targets) and re.fullmatch(
        r"0?[0-7]?77[67]|0?000|a\+rwx|ugo\+rwx", mode
    ):
        scene.hit("open-everything", step, "critical" if recursive else "warn")


def _docker(scene: Scene, step: Step) -> None:
    if not step.has("run", "create", "exec"):
        return
    mounts = [word for word in step.args if ":" in word and word.startswith(("/:", "type=bind,source=/,"))]
    if mounts or any("docker.sock" in word for word in step.args) or step.has("--privileged", "--privileged=true"):
        scene.hit("container-power", step, "warn" if mounts else "info")


def _protection(scene: Scene, step: Step) -> None:
    text = " ".join([step.name, *step.args])
    if any(re.search(pattern, text, re.IGNORECASE) for pattern in _PROTECTIONS):
        scene.hit("protection-off", step)


_PROTECTIONS = (
    r"^setenforce (?:0|permissive)",
    r"^ufw (?:--force )?disable",
    r"^spctl (?:--master-disable|--global-disable)",
    r"^csrutil (?:disable|authenticated-root disable)",
    r"^(?:systemctl|service) .{0,40}(?:stop|disable|mask).{0,40}(?:auditd|apparmor|falcon|osquery|clamav|sentinel)",
    r"^(?:auditctl -e ?0|auditctl -D)",
    r"^launchctl (?:unload|bootout).{0,80}(?:xprotect|malware|falcon|littlesnitch|osquery)",
    r"^(?:pkill|killall) .{0,20}(?:falcon|crowdstrike|littlesnitch|osqueryd|clamd|sentinelagent)",
)


def _quarantine(scene: Scene, step: Step) -> None:
    removes = any(re.fullmatch(r"-[a-z]{0,3}[dc][a-z]{0,3}", word) for word in step.args)
    if not removes or not (
        "com.apple.quarantine" in step.args or "-cr" in step.args or "-rc" in step.args or step.has("-c")
    ):
        return
    fetched = step.fetched
    if fetched is not None and fetched.known and fetched.host.kind != "known":
        scene.hit("protection-off", step, "critical" if fetched.host.shady else "warn", subject=fetched.host.name)
    else:
        scene.hit("protection-off", step, "info")


def _history(scene: Scene, step: Step) -> None:
    cleared = step.name == "history" and step.has("-c", "-cw", "-wc")
    if cleared or (step.name == "unset" and step.has("HISTFILE")):
        scene.hit("hide-traces", step)
    elif step.name == "set" and step.args == ["+o", "history"]:
        scene.hit("hide-traces", step, "info")


def _git(scene: Scene, step: Step) -> None:
    if "push" in step.args and step.has("--force", "-f", "--force-with-lease") and step.has("--all", "--mirror"):
        scene.hit("force-push-all", step)


def _encrypts(scene: Scene, step: Step) -> None:
    """Files encrypted one after the other, and the originals removed."""
    encrypting = (step.name == "openssl" and step.has("enc") and not step.has("-d")) or (
        step.name == "gpg" and step.has("-c", "--symmetric", "-e", "--encrypt") and not step.has("-d")
    )
    looped = "loop" in step.command.inside or name_of(step.command.argv) == "find"
    if not encrypting or not looped:
        return
    removed = re.search(r"-exec\s{1,4}(?:rm|shred)\b|-delete\b", step.command.text) is not None or any(
        other.name in ("rm", "shred", "srm") and "loop" in other.command.inside and abs(other.number - step.number) < 8
        for other in scene.steps
    )
    wide = re.search(
        _HOME, " ".join(word.text for one in scene.steps for _, word in one.command.assignments) + _searched(scene)
    )
    if removed and wide:
        scene.hit("encrypt-files", step)


def _searched(scene: Scene) -> str:
    """The places that loops and `find` go through."""
    return " ".join(
        " ".join(word.text for word in step.command.argv)
        for step in scene.steps
        if name_of(step.command.argv) == "find"
    )


def _snapshots(scene: Scene, step: Step) -> None:
    if step.name == "tmutil" and step.has("deletelocalsnapshots", "delete", "disable"):
        scene.hit("delete-backups", step, "warn")


def _claude(scene: Scene, step: Step) -> None:
    if any("dangerously-" in word for word in step.args) or step.has("--yolo", "bypassPermissions"):
        scene.hit("agent-unchecked", step)


_JUDGES: dict[str, Callable[[Scene, Step], None]] = {
    "rm": _rm,
    "dd": _dd,
    "shred": _shred,
    "srm": _shred,
    "wipefs": _wipefs,
    "mv": _mv,
    "kill": _kill,
    "chmod": _chmod,
    "docker": _docker,
    "podman": _docker,
    "nerdctl": _docker,
    **dict.fromkeys(
        ("setenforce", "ufw", "spctl", "csrutil", "systemctl", "service", "auditctl", "launchctl", "pkill", "killall"),
        _protection,
    ),
    "xattr": _quarantine,
    "history": _history,
    "unset": _history,
    "set": _history,
    "git": _git,
    "openssl": _encrypts,
    "gpg": _encrypts,
    "tmutil": _snapshots,
    **dict.fromkeys(("claude", "codex", "gemini", "openclaw", "cursor-agent"), _claude),
}
