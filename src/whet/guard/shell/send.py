"""Secrets that are read, and data that leaves the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.hosts import Host, host_of
from whet.guard.shell.flow import FETCHERS, READERS, fetch_of, sends

if TYPE_CHECKING:
    from whet.guard.shell.flow import Scene, Step

_MESSENGERS = ("api.telegram.org", "discord.com", "discordapp.com", "hooks.zapier.com", "hooks.slack.com")
_RESOLVERS = frozenset({"dig", "nslookup", "host", "drill", "ping", "getent", "resolvectl"})
_COPIERS = frozenset({"scp", "rsync", "sftp", "ftp", "lftp", "sshpass"})
_MAILERS = frozenset({"mail", "mailx", "sendmail", "mutt", "msmtp", "swaks"})
_CLOUD = frozenset({"aws", "gsutil", "rclone", "az", "s3cmd", "mc", "gcloud"})
_REMOTE = re.compile(r"^(?:[\w.$\{\}<>-]{1,60}@)?[\w.$\{\}<>\[\]:-]{2,120}:(?!//|\\)|^(?:rsync|sftp|ftp|scp)://")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIALS?)", re.IGNORECASE
)
_QUIET = frozenset({"shell history", "cloud metadata", "the account list", "environment files", "the clipboard"})


def look(scene: Scene, step: Step) -> None:
    """Judge one step."""
    _reads(scene, step)
    if step.name in FETCHERS:
        _web(scene, step)
    elif step.name in ("nc", "ncat", "netcat", "telnet", "socat") or (step.name == "openssl" and step.has("s_client")):
        _leaves(scene, step, _address(step), "a raw connection")
    elif any(one.target.text.startswith(("/dev/tcp/", "/dev/udp/")) for one in step.command.redirections):
        target = next(one.target.text for one in step.command.redirections if one.target.text.startswith("/dev/"))
        _leaves(scene, step, host_of(target.split("/")[3] if target.count("/") > 2 else ""), "a raw connection")
    elif step.name in _RESOLVERS:
        _names(scene, step)
    elif step.name in _COPIERS:
        _copies(scene, step)
    elif step.name in _MAILERS:
        _leaves(scene, step, Host("", "other"), "mail")
    elif step.name in _CLOUD and step.has("cp", "sync", "copy", "mv", "upload", "move", "copyto", "put", "rcat"):
        if grave := _grave(step):
            scene.hit("secret-sent", step, "warn", subject=grave, message=f"what goes to cloud storage holds {grave}")
            scene.fact("sink", "cloud storage", step)
    elif step.name == "gh" and step.args[:2] == ["gist", "create"]:
        _leaves(scene, step, Host("gist.github.com", "paste"), "a gist")


def _reads(scene: Scene, step: Step) -> None:
    """Reading a grave secret, told once where it is read; what only names it (`ssh -i`, `chmod`) is no reading."""
    for what, grave in step.own.items():
        if not grave:
            continue
        scene.fact("source", what, step, grave=grave)
        reader = step.name in READERS or not step.argv or any("<" in one.operator for one in step.command.redirections)
        if reader and what not in _QUIET and what != "the whole environment" and step.name not in _KEEPERS:
            scene.hit("secret-read", step, "info" if _careful(step, what) else None, subject=what)


_KEEPERS = frozenset({"cp", "mv", "scp", "rsync", "install", "openssl", "gpg", "ditto", "sed"})
"""Moving, encrypting or editing one's own key is not looking into it."""


def _careful(step: Step, what: str) -> bool:
    """Looking for a setting, or at a file that people edit by hand."""
    if what not in ("SSH keys", "the SSH directory", "browser data", "wallets", "password managers", "the keychain"):
        return True
    return step.name in ("grep", "egrep", "rg", "awk", "jq", "yq") or any(word.endswith(".pub") for word in step.args)


def _grave(step: Step) -> str:
    """The gravest secret that reaches a step."""
    return next((what for what, grave in step.secrets.items() if grave), "")


def _any(step: Step) -> str:
    return _grave(step) or next(iter(step.secrets), "")


def _web(scene: Scene, step: Step) -> None:
    fetch = fetch_of(step)
    if fetch is None:
        return
    host = fetch.host
    body = sends(step)
    if body:
        grave = host.shady and host.name not in _MESSENGERS
        scene.fact("sink", "an HTTP request with a body", step, host.name, grave=grave)
    what = _reaching(scene, step, body=body)
    if what and not host.near:
        message = f"what is sent to {host.name or 'an unknown host'} holds {what}"
        scene.hit("secret-sent", step, subject=host.name, message=message)
        return
    if not body:
        return
    _shady_body(scene, step, host)
    _silent(scene, step, host)


_VALUES = frozenset({"-H", "--header", "-u", "--user", "-b", "--cookie", "-A", "--oauth2-bearer"})
_OWN = frozenset(
    {
        *("the keychain", "git credentials", "package registry tokens", "the agent's own keys", "environment files"),
        *(
            "Kubernetes credentials",
            "Google Cloud credentials",
            "Docker credentials",
            "cloud metadata",
            "the clipboard",
        ),
    }
)
"""What people put into the header or address of a request to the service that it belongs to."""


def _reaching(scene: Scene, step: Step, *, body: bool) -> str:
    """The secret that a request carries: in its body anything counts, in its head what belongs to no service."""
    head: dict[str, bool] = {}
    tail: dict[str, bool] = dict(step.own) if body else {}
    offset = len(step.command.argv) - len(step.words)
    for at, word in enumerate(step.words):
        in_body = at > 0 and step.args[at - 1] not in _VALUES and body and not word.text.startswith(("http", "$"))
        room = tail if in_body else head
        for name in word.names:
            if (origin := scene.variables.get(name)) is not None:
                room.update(origin.secrets)
        for one in step.below:
            if one.command.slot == at + offset:
                room.update(one.secrets)
    if body:
        for one in step.before:
            tail.update(one.secrets)
        tail.update({what: grave for what, grave in step.secrets.items() if what not in head})
    for what, grave in tail.items():
        if grave or what not in ("cloud metadata", "the clipboard", "the keychain"):
            return what
    return next((what for what, grave in head.items() if grave and what not in _OWN), "")


def _shady_body(scene: Scene, step: Step, host: Host) -> None:
    if not host.shady or host.name.endswith(_MESSENGERS):
        return
    body = " ".join(step.args)
    named = any(_SECRET_NAME.search(name) for word in step.words for name in word.names)
    files = re.search(r"(?:^|[=\s])@[^\s-]", body) or step.value("-T", "--upload-file", "--post-file")
    piped = bool(step.before) and re.search(r"(?:^|\s)(?:@-|-T\s{0,2}-)", body) is not None
    commands = any(one.command.slot >= 0 for one in step.below)
    if named and host.kind != "address":
        scene.hit("secret-sent", step, subject=host.name, message=f"a secret variable is sent to {host.name}")
    elif files or piped or commands:
        scene.hit("send-shady", step, subject=host.name)


def _silent(scene: Scene, step: Step, host: Host) -> None:
    background = "background" in step.command.inside
    quiet = any(one.target.text == "/dev/null" and ">" in one.operator for one in step.command.redirections)
    if background and quiet and host.kind not in ("loopback", "private", "known"):
        scene.hit(
            "silent-send",
            step,
            "critical" if host.shady and not host.name.endswith(_MESSENGERS) else None,
            subject=host.name,
        )


def _leaves(scene: Scene, step: Step, host: Host, how: str) -> None:
    if host.near and host.name:
        return
    what = _any(step)
    fed = bool(step.before) or any("<" in one.operator for one in step.command.redirections)
    if fed or what:
        scene.fact("sink", how, step, host.name, grave=host.shady)
    if what and what != "the clipboard":
        scene.hit("secret-sent", step, subject=host.name, message=f"what leaves the machine by {how} holds {what}")
    elif step.before and host.shady and how == "a raw connection" and step.name != "telnet":
        scene.hit("send-shady", step, subject=host.name)


def _address(step: Step) -> Host:
    plain = [word for word in step.args if not word.startswith("-")]
    for word in plain:
        candidate = re.sub(r"^(?:TCP|UDP|OPENSSL|TCP4|SSL)\d?:", "", word, flags=re.IGNORECASE)
        if "." in candidate:
            return host_of(candidate)
    return Host("", "other")


def _names(scene: Scene, step: Step) -> None:
    """Data in the labels of a name that is looked up."""
    for at, word in enumerate(step.words):
        if word.text.startswith(("-", "+", "@")) or "." not in word.source:
            continue
        slot = len(step.command.argv) - len(step.words) + at
        computed = [one for one in step.below if one.command.slot == slot]
        variable = any(
            (origin := scene.variables.get(name)) is not None and (origin.secrets or _encodes(origin))
            for name in word.names
        )
        encoded = any(_encodes(one) for one in computed)
        if (computed or word.names) and (step.secrets or encoded or variable):
            scene.hit(
                "secret-sent",
                step,
                subject=word.text[-80:],
                message="data is sent away in the names that are looked up",
            )
            scene.fact("sink", "name lookups", step, word.text[-80:], grave=True)
            return


def _encodes(step: Step) -> bool:
    return any(one.name in ("base64", "base32", "xxd", "od", "hexdump") for one in (step, *step.before, *step.below))


def _copies(scene: Scene, step: Step) -> None:
    plain = [word for word in step.args if not word.startswith("-")]
    if not plain or not _REMOTE.match(plain[-1]):
        return
    what = _grave(step)
    scene.fact("sink", step.name, step, plain[-1][:80])
    if what:
        host = host_of(plain[-1].rpartition("@")[2].partition(":")[0])
        known = host.kind in ("address", "tunnel", "drop")
        scene.hit(
            "secret-sent",
            step,
            "critical" if known else "warn",
            subject=plain[-1][:80],
            message=f"what is copied to another machine holds {what}",
        )
