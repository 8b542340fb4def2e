"""Files that machines run because of their location: containers, builds, workflows, editors, units, start-up files."""

from __future__ import annotations

import re
from shlex import join
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of
from whet.guard.manifests.parsers import parse, runs_fetched, table, texts, walk
from whet.guard.places import places
from whet.guard.tables import shape
from whet.guard.taint.files import STORE
from whet.guard.taint.secret import secret_name
from whet.guard.taint.sources import judge_base, judge_image, judge_package

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.guard.finding import Severity
    from whet.guard.manifests.parsers import Notes

_FETCHING = shape("manifests", "fetching")
_RUN = expression(
    r"^\s{0,20}(?:ONBUILD\s{1,4})?(?:RUN|CMD|ENTRYPOINT|ENV|ARG)\s{1,20}(?:--\S{1,80}\s{1,4}){0,6}(.{0,20000})$",
    re.IGNORECASE,
)
_FROM = expression(r"^\s{0,20}FROM\s{1,20}(?:--\S{1,80}\s{1,4}){0,4}([\w.:/@-]{3,300})", re.IGNORECASE)
_SPACED = expression(r"^(?<![=\w])(\w{1,60})[ \t]{1,9}(?=[^\s=])")
"""The older form `ENV NAME VALUE`."""
_ADD = expression(r"^\s{0,20}ADD\s{1,20}(?:--\S{1,80}\s{1,4}){0,4}(https?://\S{1,300})", re.IGNORECASE)
_SOCKET = expression(r"docker\.sock|containerd\.sock")
_CRON = expression(
    r"^\s{0,8}(?:@(?:reboot|hourly|daily|weekly|monthly|yearly)|(?:[\d*/,-]{1,40}\s{1,9}){5})\s{0,9}(?:"
    r"(?:root|www-data)\s{1,9})?(\S.{0,1000})$"
)
_PTH_BAD = expression(r"exec|eval|base64|subprocess|\bos\b|urllib|socket|__import__|compile|codecs|zlib", re.IGNORECASE)
_PTH_KNOWN = shape("manifests", "pth_known", 0)


def dockerfile(notes: Notes, _path: str) -> None:
    """Check the commands of a Dockerfile, each on its line."""
    rows, going = [], False
    for row in notes.text.split("\n"):
        found = _RUN.match(row)
        if going or found:
            command = found[1] if found else row
            if found is not None and row.split(None, 1)[0].upper() in ("ENV", "ARG"):
                command = "export " + _SPACED.sub(r"\1=", command)
            if command.lstrip().startswith("[") and found and (words := texts(parse(command, "json"))):
                command = join(words)
            going = row.rstrip().endswith("\\")
            rows.append("" if command.lstrip().startswith("#") else command)
        else:
            rows.append("")
            if added := _ADD.match(row):
                notes.report(judge_package(added[1]), added[1])
            elif base := _FROM.match(row):
                notes.report(judge_image(base[1]), base[1])
    notes.commands(rows)


def compose(notes: Notes, data: Any) -> None:
    """Check for services that get more of the machine than a container should."""
    for service in list(table(table(data).get("services")).values())[:200]:
        values = table(service)
        if image := next(iter(texts(values.get("image"))), ""):
            notes.report(judge_image(image), image)
        within: dict[str, str] = {}
        if values.get("privileged") is True:
            notes.hit("container-escape", "privileged")
        mounts = values.get("volumes")
        for mount in mounts if isinstance(mounts, list) else []:
            text = mount if isinstance(mount, str) else str(table(mount).get("source", ""))
            if found := _MOUNTED.match(text if isinstance(mount, str) else f"{text}:{table(mount).get('target', '')}"):
                within[found[2]] = found[1]
            if _SOCKET.search(text) and not text.rstrip().endswith(":ro"):
                notes.hit("container-escape", text, "info" if _names_a_tool(values) else None)
            elif re.match(r"/:/", text):
                notes.hit("container-escape", text)
        for key in ("command", "entrypoint"):
            if words := texts(values.get(key)):
                command = join(words) if len(words) > 1 else words[0]
                notes.command(words[-1], _outside(command.replace("$$", "$"), within))


_MANAGERS = expression(
    "traefik|portainer|watchtower|docker|cadvisor|runner|dozzle|localstack|testcontainers|jenkins|autoheal"
)
_MOUNTED = expression(r"^((?:~|\$\{?HOME\}?|/)[^:\s]{1,200}):(/[^:\s]{1,200})")


def _outside(command: str, within: Mapping[str, str]) -> str:
    """Return a command of a container with the paths of its mounts on the host."""
    for inner, outer in within.items():
        path = rf"(?<![\w./]){re.escape(inner.rstrip('/'))}(?=[/\s\"'*;|&)]|$)"
        command = re.sub(path, outer.replace("\\", "/"), command)
    return command


def _names_a_tool(service: Mapping[str, object]) -> bool:
    """Return whether the service is a tool that manages containers, which needs the socket."""
    return _MANAGERS.search(str(service.get("image", "")).lower()) is not None


_ALL_SECRETS = expression(r"toJSON\(\s{0,4}secrets\s{0,4}\)", re.IGNORECASE)
_SECRET = expression(
    r"\$\{\{[^{}\n]{0,80}\b(?:(secrets)(?:\.|\[')|inputs\.|github\.(?=token\b))(\w{1,80})[^{}\n]{0,80}\}\}"
)

_WHOLE = expression(rf"\$\{{\{{\s{{0,4}}{_ALL_SECRETS.pattern}\s{{0,4}}\}}\}}", re.IGNORECASE)
_ANY = expression(r"\$\{\{\s{0,4}secrets\[\s{0,4}[^'\"\]\n]{1,80}\]\s{0,4}\}\}")
"""A secret whose name is computed."""
_PLAIN = expression(r"'([^'\n]{0,400}\$\{\{[^'\n]{0,400})'")


def workflow(notes: Notes, data: Any) -> None:
    """Check the commands of a CI workflow, with the secrets in its variables."""
    given: list[Mapping[str, object]] = []
    passed: dict[str, str] = {}
    for key, value, owner in walk(data):
        if key == "env" and isinstance(value, dict) and "run" not in table(owner):
            given.append(value)
        if key != "run" or not isinstance(value, str):
            continue
        variables: dict[str, object] = dict(passed)
        for names in (*given, table(table(owner).get("env"))):
            variables.update(names)
        for name, text, inner in _PASSED.findall(value):
            passed[name] = str(variables.get(inner, text))
        held = [
            f'{name}="{_held(text)}"; '
            for name, text in variables.items()
            if isinstance(text, str) and _held(text) != text
        ]
        notes.command(value, "".join(held) + _held(value))
        if _ALL_SECRETS.search(value):
            sends = _FETCHING.search(value) is not None
            notes.hit("workflow-secrets", "secrets", "critical" if sends else None)
    if _ALL_SECRETS.search(notes.text) and not any(hit.rule == "workflow-secrets" for hit in notes.hits):
        sends = any(host_of(url).kind not in ("known", "loopback") for url in URL.findall(notes.text))
        notes.hit("workflow-secrets", "secrets", "critical" if sends and _FETCHING.search(notes.text) else None)
    if "pull_request_target" in notes.text and "secrets." in notes.text:
        values = table(data)
        events = values.get("on", values.get("True", {}))
        head = re.search(r"github\.event\.pull_request\.head|github\.head_ref", notes.text)
        if head and "pull_request_target" in str(events)[:2000]:
            notes.hit("workflow-secrets", "pull_request_target")


_PASSED = expression(
    r"\b([A-Za-z_]\w{0,60})=([^\n\"']{0,200}?\$(?:\{(?!\{))?(\w{1,60})[^\n\"']{0,200})[\"']?\s{0,4}>>\s{0,4}[\"']?"
    r"\$\{?GITHUB_(?:ENV|OUTPUT)\b"
)
"""A variable or an output that a step sets for later ones."""
_OUTPUT = expression(r"\$\{\{\s{0,4}steps\.[\w-]{1,60}\.outputs\.([A-Za-z_]\w{0,60})\s{0,4}\}\}")


def _held(text: str) -> str:
    """Return a text of a workflow with its secrets, which are inserted before a shell sees any quotes, as variables."""
    if "${{" not in text:
        return text
    text = _OUTPUT.sub(r"${\1}", text)
    text = _PLAIN.sub(lambda found: '"' + found[1].replace('"', '\\"') + '"', text)
    text = _SECRET.sub(
        lambda found: f"${{{found[2] if not found[1] or secret_name(found[2]) else f'{found[2]}_SECRET'}}}", text
    )
    return _ANY.sub("$(env)", _WHOLE.sub("$(env)", text))


def editor_tasks(notes: Notes, data: Any) -> None:
    """Check the tasks of an editor that run when a folder is opened."""
    for _, task, _ in walk(data):
        if not isinstance(task, dict) or table(task.get("runOptions")).get("runOn") != "folderOpen":
            continue
        command = " ".join([str(task.get("command", "")), *texts(task.get("args"))])
        bad = notes.command(command)
        notes.hit(
            "runs-on-open",
            str(task.get("command", "folderOpen")),
            "critical" if bad or _FETCHING.search(command) else None,
        )


def dev_container(notes: Notes, data: Any) -> None:
    """Check the commands that run when a development container is created."""
    for key, value, _ in walk(data):
        if key in ("initializeCommand", "postCreateCommand", "postStartCommand", "onCreateCommand"):
            for command in texts(value):
                bad = notes.command(command)
                if key == "initializeCommand":
                    notes.hit("runs-on-open", command, "critical" if bad else None)


_STARTED = expression(r"^(?:Exec(?:Start(?:Pre|Post)?|Reload)?)\s{0,4}=\s{0,4}[-@:+!]{0,3}(.{1,2000})$", re.MULTILINE)
_STRINGS = expression(r"<string>([^<]{0,2000})</string>")


def autostart(notes: Notes, commands: list[str], *, sure: bool = False) -> None:
    """Check commands that start automatically once the file is in its place."""
    for command in commands[:50]:
        before = len(notes.hits)
        bad = notes.command(command)
        ran = any(hit.rule.startswith(("pipe-", "runs-download")) for hit in notes.hits[before:])
        severity: Severity | None = "warn" if sure else None
        worst = runs_fetched(command) or (_FETCHING.search(command) and (bad or ran))
        notes.hit("autostart-shipped", command, "critical" if worst else severity)


_VARIABLE = expression(
    r"^[ \t]{0,8}(?:export[ \t]{1,4})?(\w{3,60})[ \t]{0,4}=[ \t]{0,4}[\"']?(\S{1,300}?)[\"']?[ \t]{0,8}$", re.MULTILINE
)
_UNCHECKED = shape("harm", "unchecked")


def environment(notes: Notes, _path: str) -> None:
    """Check a file of environment variables for addresses that requests go through, and for certificates that are not verified."""
    for name, value in _VARIABLE.findall(notes.text)[:500]:
        notes.report(judge_base(name, value, shipped=True), value)
    if found := _UNCHECKED.search(notes.text):
        notes.hit("tls-unverified", found[0], "warn")


_LOGIN_KEY = expression(
    r"^[ \t\"'-]{0,40}(?:\w{1,40}[\"']?[ \t]{0,4}[:=][ \t\"'\[]{0,9})?(ssh-(?:rsa|ed25519)[ \t]+AAAA[A-Za-z0-9+/]{60,2000})",
    re.MULTILINE,
)
"""A public key that is not part of a list of known hosts."""
_OFF = shape("manifests", "protection_off")
_LISTED = expression(r"^[ \t\"'-]{0,20}((?:~|\$HOME|\$\{HOME\})/[^\s\"',]{2,80})[\"',]{0,3}[ \t]{0,9}$", re.MULTILINE)
_LEFT_OUT = expression(
    r"den(?:y|ied)|ignor|exclu|block|redact|never|skip|sensitive|protect|forbid|secret", re.IGNORECASE
)


def data(notes: Notes) -> None:
    """Check data for keys that may log in, protections that it turns off, and lists of places of secrets."""
    if "ssh-" in notes.text and (key := _LOGIN_KEY.search(notes.text)):
        notes.hit("persist-key", key[1], "warn")
    if found := _OFF.search(notes.text):
        notes.hit("protection-off", found[0])
    listed = _LISTED.findall(notes.text)[:200] if "~/" in notes.text or "HOME" in notes.text else []
    named = {
        path for path in listed if STORE.search(path) or any(one.kind == "secret" and one.grave for one in places(path))
    }
    if len(named) > 1 and not _LEFT_OUT.search(notes.text):
        notes.hit("gathers-secrets", min(named), "warn")


def units(notes: Notes, path: str) -> None:
    """Check a systemd unit or a desktop entry."""
    autostart(notes, _STARTED.findall(notes.text), sure="autostart/" in path)


def crontab(notes: Notes, _path: str) -> None:
    """Check a crontab."""
    autostart(notes, [found[1] for row in notes.text.split("\n")[:500] if (found := _CRON.match(row))])


_GIT_RUNS = expression(r"^\s{0,20}[\w.]{1,40}\s{0,4}=\s{0,4}[\"']?(!?.{1,1000}?)[\"']?\s{0,4}$", re.MULTILINE)


def git_config(notes: Notes, _path: str) -> None:
    """Check the commands that git itself runs."""
    for command in _GIT_RUNS.findall(notes.text)[:100]:
        if command.startswith("!") or _FETCHING.search(command):
            bare = command.removeprefix("!")
            notes.command(bare)
            if runs_fetched(bare):
                notes.hit("autostart-shipped", command, "critical")


def plist(notes: Notes, path: str) -> None:
    """Check a macOS launch agent; in a text that shows one, it must have arguments."""
    if "ProgramArguments" not in notes.text and (not path or "<key>Program</key>" not in notes.text):
        return
    from html import unescape

    after = notes.text[notes.text.find("<key>Program") :]
    strings = [unescape(text) for text in _STRINGS.findall(after.partition("</array>")[0])][:20]
    command = join(strings)
    bad = notes.command("".join(strings[-1:]), command)
    fetching: Severity | None = "warn" if _FETCHING.search(command) else None
    worst = runs_fetched(command) or (bad and fetching)
    notes.hit("autostart-shipped", strings[0] if strings else "ProgramArguments", "critical" if worst else fetching)


def git_hook(notes: Notes, path: str) -> None:
    """Check a git hook that is shipped in the package."""
    found = _FETCHING.search(notes.text)
    severity: Severity | None = "warn" if found or "/.git/hooks/" in f"/{path}" else None
    if runs_fetched(notes.text):
        severity = "critical"
    notes.hit("git-hook-shipped", found[0] if found else notes.text.split("\n")[0], severity, path)


def python_start(notes: Notes, path: str) -> None:
    """Check files that Python runs at every start."""
    name = path.rpartition("/")[2]
    if not name.endswith(".pth"):
        notes.hit("python-startup-shipped", notes.text.strip().split("\n")[0] or name, None, name)
        return
    for row in notes.text.split("\n")[:200]:
        if row.startswith(("import ", "import\t")) and not _PTH_KNOWN.search(row):
            notes.hit("python-startup-shipped", row, None if _PTH_BAD.search(row) else "warn", name)


def shell_start(notes: Notes, path: str) -> None:
    """Check a file that shells run at their start."""
    name = path.rpartition("/")[2]
    notes.hit("shell-startup-shipped", notes.text.split("\n")[0] or name, None, name)
    if notes.kind != "shell":
        notes.commands(notes.text.split("\n"))
