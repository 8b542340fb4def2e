"""Rules for secrets that are read and data that leaves the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import Host, host_of, is_placeholder
from whet.guard.rules import severity_of
from whet.guard.shell.clients import fetches, host_in, programs, sends, sent_file
from whet.guard.shell.private import named_places, opened_place
from whet.guard.shell.step import CONTENT
from whet.guard.shell.wrappers import FINDERS, name_of
from whet.guard.tables import shape, words
from whet.guard.taint.files import judge_kept
from whet.guard.taint.mark import HOLE, Mark, comes_from
from whet.guard.taint.network import MESSENGERS, host_at, judge_typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whet.guard.finding import Severity
    from whet.guard.options import Argument
    from whet.guard.shell.flow import Scene
    from whet.guard.shell.step import Step

_LABEL = expression(
    r"(?:auth\w{0,12}|tokens?|[\w-]{0,20}keys?|secrets?|pass(?:word|wd|phrase)?|pwd|credentials?|pat|jwt|session\w{0,10}|cookies?|bearer)"
    r"[\"'\]\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\{$]{0,4}(?:(?:bearer|basic|token|key|apikey|api-key|bot|sso-key)[ =])?[\"'\\{$]{0,4}[\w@:.%-]{0,40}$|/bot$",
    re.IGNORECASE,
)
"""The text before a key in a place made for keys: `Authorization: Bearer `, `?api_key=`."""
_EXPANSION = expression(r"\$\{[^}]{0,80}\}|\$\([^)]{0,200}\)|\$\w{1,80}|`[^`]{0,200}`|<[^>]{0,80}>|\{\w{0,40}\}")
_REMOTE = expression(
    r"^(?:[\w.$\{\}<>-]{1,60}@)?[\w.$\{\}<>\[\]:-]{2,120}:(?!//|\\)|^(?:rsync|sftp|ftp|scp)://|^//[\w.-]{2,200}(?:@\w{1,9})?/"
)
_QUIET = words("shell_signs", "quiet")


def judge_sent(scene: Scene, step: Step) -> None:
    """Judge the secrets that a command reads and stores, and the data that it writes to a network device."""
    _reads(scene, step)
    _keeps(scene, step)
    if step.name not in programs("fetchers") and step.device:
        _leaves(scene, step, host_of(step.device), "a raw connection")


def _leave(scene: Scene, step: Step) -> None:
    """Judge what a command sends by a connection, by mail or as a gist."""
    host = Host(step.row.gives, "paste") if step.row.gives else Host("", "other")
    _leaves(scene, step, _address(step) if step.row.what == "a raw connection" else host, step.row.what)


def _upload(scene: Scene, step: Step) -> None:
    if grave := step.grave() or _first(step.fed, "key"):
        severity: Severity = "critical" if _OWN_STORAGE.search(" ".join(step.texts)) else "warn"
        scene.hit("secret-sent", severity, grave, f"the upload to cloud storage contains {grave}")
        scene.fact("sink", "cloud storage")


def _call(scene: Scene, step: Step) -> None:
    """Judge the keys that a command sends to the addresses in its words, or to the address in the table."""
    urls = [step.row.gives] if step.row.gives else [word for word in step.texts if "://" in word]
    _requests(scene, step, urls, public=step.row.grave)


_OWN_STORAGE = shape("shell_signs", "own_storage", 0)


def remote_host(word: str) -> Host:
    """Return the host of a repository address, or a host without a name for any other word."""
    return host_at(word) if re.match(r"[a-z+]{2,12}://|[\w.-]{1,40}@[\w.-]{1,100}:", word) else Host("", "other")


def _pushes(scene: Scene, step: Step) -> None:
    """Report data that is added to a repository and pushed to an unknown host."""
    earlier = [one for one in scene.steps if one.name == "git"]
    hosts = [remote_host(word) for one in (step, *(two for two in earlier if two.has("remote"))) for word in one.texts]
    host = next((host for host in hosts if host.name and not host.near and host.kind != "known"), None)
    added = [one for one in earlier if one.has("add") and not one.has("remote")]
    if host is None:
        return
    what = _first(frozenset().union(*(one.fed for one in added)), *CONTENT, "key")
    if what:
        scene.hit("secret-sent", None, host.name, f"the push to {host.name} contains {what}")
    elif any(one.has("-f", "--force") and one.has("-A", "--all", ".") for one in added):
        message = f"everything in the directory, even ignored files, is pushed to {host.name}"
        scene.hit("send-shady", "critical", host.name, message)
    elif not is_placeholder(host.name):
        unseen = step.has("-q", "--quiet", "--mirror", "--all", "--push") or _is_quiet(step)
        message = f"the repository is pushed to {host.name}, which the script adds"
        scene.hit("send-shady", "critical" if unseen else "warn", host.name, message)


def _reads(scene: Scene, step: Step) -> None:
    """Report each grave secret where it is read; a command that only names it (`ssh -i`, `chmod`) does not read it."""
    reader = (
        step.name in programs("readers")
        or not step.argv
        or any("<" in one.operator for one in step.command.redirections)
    )
    for mark in sorted(step.own):
        if mark.grave and mark.kind in CONTENT:
            scene.fact("source", mark.what, "", grave=True)
            if reader and mark.kind == "secret" and mark.what not in _QUIET and step.name not in _KEEPERS:
                scene.hit("secret-read", "info" if _careful(step, mark.what) else None, mark.what)


def _keeps(scene: Scene, step: Step) -> None:
    """Report keys of several services that are written into one file, settings files excluded."""
    for target, _ in step.targets:
        if not _SETTINGS.search(target):
            scene.report(judge_kept(frozenset(step.output.has("key")), target))


_SETTINGS = shape("shell_signs", "settings", re.IGNORECASE)
_KEEPERS = frozenset({"cp", "mv", "scp", "rsync", "install", "openssl", "gpg", "ditto", "sed", "ln"})
"""Programs that move, encrypt or edit a key, which does not count as reading it."""


def _careful(step: Step, what: str) -> bool:
    """Return whether the command only looks for a setting, or at a file that people edit by hand."""
    if what not in ("SSH keys", "the SSH directory", "browser data", "wallets", "password managers", "the keychain"):
        return True
    return step.name in programs("pickers") - {"sed", "cut"} or any(word.endswith(".pub") for word in step.texts)


def _first(marks: Iterable[Mark], *kinds: str) -> str:
    return next((mark.what for mark in sorted(marks) if mark.kind in kinds), "")


def _web(scene: Scene, step: Step) -> None:
    goals = fetches(step.name, step.arguments)
    if not goals:
        return
    host = max(map(host_in, goals), key=lambda one: (one.shady, not one.near))
    body = sends(step.name, step.arguments)
    if body:
        grave = host.shady and host.name not in MESSENGERS
        scene.fact("sink", "an HTTP request with a body", host.name, grave=grave)
    else:
        scene.fact("fetch", "a download", host_in(goals[0]).name, grave=goals[0].whole and goals[0].grave)
    if not _requests(scene, step, [goal.subject for goal in goals]) and body:
        _judge_body(scene, step, host)


def _requests(scene: Scene, step: Step, urls: Sequence[str], *, public: bool = False) -> bool:
    """Report the gravest secret that a request carries, and return whether there is one."""
    body: set[Mark] = set()
    head: set[Mark] = set()
    for part in step.arguments:
        place = _place(step, part)
        for mark, before in _carried(scene, step, part, place):
            named = place == "head" and mark.kind == "key" and "pass" not in mark.subject.lower()
            if named or place == "login" or _LABEL.search(before):
                head.add(mark)
            elif mark.kind == "captured":
                body.add(mark._replace(grave=mark.grave or "loop" in step.command.inside))
            elif mark.kind != "place":
                body.add(mark._replace(whole=True) if mark.kind == "secret" else mark)
    plain = [_EXPANSION.sub(HOLE, url) for url in urls] if body or head else ()
    worst = judge_typed(plain, frozenset(body), frozenset(head))
    if worst is not None:
        scene.report([worst._replace(severity="critical" if public else severity_of(worst))])
    return worst is not None


def _place(step: Step, part: Argument) -> str:
    """Return the meaning of a part of a request."""
    header = part.place == "operand" and step.name in _NAMING and re.match(r"[\w-]{1,60}:(?!=|//)", part.text)
    return "head" if header else part.place


def _carried(scene: Scene, step: Step, part: Argument, place: str) -> Iterator[tuple[Mark, str]]:
    """Yield the marks of a part of a request, each with the text before the marked value."""
    if place in ("output", "value", "flag", "code", "setting"):
        return
    word, path = step.spelled[part.at], part.text if place == "config" else sent_file(part)
    if place not in ("head", "login") and name_of(step.command.argv) in (*FINDERS, "xargs", "parallel"):
        yield from ((mark, part.text.partition("{}")[0]) for mark in step.fed)
    values = [(scene.in_file(step, path, word, part.at), "")] if path else scene.parts(step, word, part.at)
    for value, before in values:  # the options in a configuration are read one by one, with their keys
        yield from ((mark, before) for mark in value.marks if place != "config" or mark.kind in CONTENT)


_NAMING = ("http", "https", "xh", "xhs")
"""Clients that are given headers as `NAME:TEXT`."""


def _judge_body(scene: Scene, step: Step, host: Host) -> None:
    """Judge a request without secrets by the address and by how it is made."""
    shady = host.shady and not host.name.endswith(tuple(MESSENGERS))
    body = " ".join(step.texts)
    files = re.search(r"(?:^|[=\s])@[^\s-]", body) or step.placed("file")
    piped = step.piped and re.search(r"(?:^|\s)(?:@-|-T\s{0,2}-)", body) is not None
    if shady and (files or piped or any(word.substituted for word in step.spelled)):
        scene.hit("send-shady", None, host.name)
    unseen = "background" in step.command.inside and _is_quiet(step)
    if unseen and host.kind not in ("loopback", "private", "known"):
        scene.hit("silent-send", "critical" if shady else None, host.name)


def _is_quiet(step: Step) -> bool:
    return any(one.target.text == "/dev/null" and ">" in one.operator for one in step.command.redirections)


def _leaves(scene: Scene, step: Step, host: Host, how: str) -> None:
    if host.near and host.name:
        return
    what = step.grave() or _first(step.marks, "secret", "env") or _first(step.marks, "key")
    fed = step.piped or any("<" in one.operator for one in step.command.redirections)
    if fed or what:
        scene.fact("sink", how, host.name, grave=host.shady)
    if what and what != "the clipboard":
        scene.hit("secret-sent", None, host.name, f"the data sent by {how} contains {what}")
    elif step.piped and host.shady and how == "a raw connection" and step.name != "telnet":
        scene.hit("send-shady", None, host.name)


def _address(step: Step) -> Host:
    for word in step.operands:
        candidate = re.sub(r"^(?:TCP|UDP|OPENSSL|TCP4|SSL)\d?:", "", word, flags=re.IGNORECASE)
        if candidate[:1] not in "~./" and ("." in candidate or "://" in candidate):
            return host_of(candidate)
    return Host("", "other")


def _names(scene: Scene, step: Step) -> None:
    """Report data in the labels of a host name that is looked up."""
    for at, word in enumerate(step.spelled):
        pattern = step.name in ("ping", "ping6") and at > 0 and step.texts[at - 1] == "-p"
        if word.text.startswith(("-", "+", "@")) or ("." not in word.source and not pattern):
            continue
        if any(mark.kind not in ("fetched", "decoded", "assembled") for mark in scene.in_word(step, word, at)):
            subject = word.text[-80:]
            scene.hit("secret-sent", None, subject, "the data is hidden in host names that are looked up")
            scene.fact("sink", "name lookups", subject, grave=True)
            return


def _copies(scene: Scene, step: Step) -> None:
    plain = step.operands
    if any(mark.kind == "listing" for word in step.spelled for mark in scene.in_word(step, word)):
        scene.hit("spreads-by-ssh")
    said, put = _dialog(scene, step) if step.name in ("sftp", "ftp", "lftp") else ("", frozenset[Mark]())
    plainly = step.name in ("ftp", "lftp")
    shell = step.name == "ssh" and plain
    opened = _OPEN.search(said)
    if not (shell or (plain and (said or _REMOTE.match(plain[-1]))) or opened):
        return
    place = opened[1] if opened is not None else plain[0] if shell or said else plain[-1]
    share = place.startswith("//")
    host = host_of(re.split(r"[/@]", place.lstrip("/"))[0] if share else place)
    marks = step.input.marks if shell else step.fed | put
    contents = [
        mark
        for mark in sorted(marks)
        if mark.kind in ("secret", "env") and (mark.grave or shell or plainly or mark not in step.own)
    ]
    named = _first(marks, "key")
    if not shell or contents or named or comes_from(marks, "captured", "file", "place"):
        scene.fact("sink", step.name, place[:80])
    if (not contents and not named) or host.kind == "loopback":
        return
    direct = not named and not shell and not plainly and not share and all(mark in step.own for mark in contents)
    grave = not direct or host.kind in ("address", "tunnel", "drop")
    message = f"the data copied to another machine contains {named or contents[0].what}"
    scene.hit("secret-sent", "critical" if grave else "warn", place[:80], message)


def _dialog(scene: Scene, step: Step) -> tuple[str, frozenset[Mark]]:
    """Return the commands that a client of FTP reads from its input, and what the files contain that they send."""
    kept = [scene.file(one.target.text) for one in step.command.redirections if one.operator == "<"]
    said = "\n".join(filter(None, [step.command.heredoc, *(text for one in kept for text in reversed(one.texts))]))[
        :20_000
    ]
    files = [found[1].replace('"', "") for found in _PUT.finditer(said)]
    named = (mark for text in files for mark in named_places(text))
    written = (mark for text in files for word in text.split()[:1] for mark in scene.file(word).marks)
    return said, frozenset(map(opened_place, (*named, *written, *(mark for one in kept for mark in one.marks))))


_OPEN = expression(r"(?:^|\n)\s{0,9}open\s{1,9}(\S{1,200})", re.IGNORECASE)
_PUT = expression(r"(?:^|\n)\s{0,9}(?:m?put|send|append)\s{1,9}([^\n]{1,400})", re.IGNORECASE)


JUDGES: dict[str, Callable[[Scene, Step], None]] = {
    "request": _web, "leave": _leave, "look up": _names, "copy away": _copies, "upload": _upload, "call": _call, "push": _pushes,
}  # fmt: skip
"""The kinds of sending that the tables name, with their judges."""
