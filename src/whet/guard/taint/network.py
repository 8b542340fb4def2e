"""The judge of the network: what leaves the machine, and for where.

A key in a request to its own service is how services work. What counts is what no service needs (private keys, the whole
environment, browser stores), keys of one service that go to another host, and hosts that nobody of good name has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import Host, host_of
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.secret import belongs, own_service, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.finding import Severity
    from whet.guard.taint.mark import Kind
    from whet.guard.taint.value import Value

_WEBHOOK = expression(
    r"discord(?:app)?\.com/api/webhooks/\d{6,}/[\w-]{10,}|api\.telegram\.org/bot\d{6,}:[\w-]{10,}"
    r"|hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{10,}"
)
_LOGIN = expression(r"/(?:\w{0,20}(?:login|signin|auth|oauth2?|tokens?|sessions?))\b", re.IGNORECASE)
_LABEL = expression(
    rf"(?:key|token|appid|auth|secret|pass\w{{0,5}})[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?(?:bearer )?{HOLE}", re.IGNORECASE
)
"""Where a service asks for a key: `?api_key=`, `"token": `."""
_ASKED = ("a password that is asked for", "a password of the keyring")
MESSENGERS = frozenset(("api.telegram.org", "discord.com", "discordapp.com", "hooks.slack.com", "hooks.zapier.com"))
"""Where a skill may well send messages, though what steals does it too."""


class Judgement(NamedTuple):
    """A rule that matches, for the reader to report where it is."""

    rule: str
    severity: Severity | None = None
    subject: str = ""
    message: str = ""


def host_at(url: str) -> Host:
    """The host of an address that may be known in part; without a name when that part is missing."""
    start = url.partition("://")[2] or url
    return host_of(url) if url and not start.startswith((HOLE, "/", "$", "{", "<")) else Host("", "other")


def judge_request(
    url: str, body: frozenset[Mark], head: frozenset[Mark] = NO_MARKS, shape: str = ""
) -> Iterator[Judgement]:
    """What a request carries: in its body and address anything counts, in its headers what belongs elsewhere.

    `shape` is the body as far as it is known, to see whether a key stands where the service asks for one.
    """
    if not body and not head:
        return
    host = host_at(url)
    hook = _WEBHOOK.search(url) is not None
    for mark in sorted(body):
        yield from _judge_mark(mark, host, bad=hook or host.shady, hook=hook, login=_LOGIN.search(url) is not None)
    yield from _judge_head(head - body, host)
    for marks, in_head in ((body, False), (head - body, True)):
        keys = sorted(mark.subject for mark in marks if mark.kind == "key")
        if not keys or host.near:
            continue
        if not in_head and len({owner(key) for key in keys}) > 2:
            message = f"It sends {len(keys)} keys of different services to one address"
            yield Judgement("secret-sent", None, host.name, message)
            continue
        for key in keys:
            labelled = _LABEL.search(url) is not None or _LABEL.search(shape) is not None
            severity = judge_key(key, url, in_head=in_head or (labelled and belongs(key) == "other"))
            if severity is not None:
                rule = "secret-sent" if severity == "critical" else "key-sent"
                yield Judgement(rule, severity, host.name, f"The code sends {key} to {_told(host)}")


def judge_address(url: Value, marks: frozenset[Mark]) -> Iterator[Judgement]:
    """Judge an address that is kept from being read, by what goes there."""
    host = host_at(url.said)
    local = any(mark.kind in ("secret", "env", "key", "captured", "file") for mark in marks)
    if url.hidden == "decoded" and host.name and not host.near:
        yield Judgement("hidden-address", "critical" if local else None, host.name)
    elif (not host.name or HOLE in host.name) and local and any(mark.kind == "decoded" for mark in url.marks):
        yield Judgement("hidden-address", "critical", "", "It sends private data to the decoded address")
    elif len({mark.subject for mark in url.marks if mark.kind == "file" and _shipped(mark.subject)}) >= 2:
        yield Judgement("hidden-address", None, host.name, "It assembles the address from several files")


def _shipped(path: str) -> bool:
    """Is this a file of the package, as far as its path tells?"""
    return bool(path) and HOLE not in path and not path.startswith(("$", "~", "/", "<tmp"))


def judge_key(name: str, url: str, *, in_head: bool) -> Severity | None:
    """How grave it is that a secret variable goes to an address; nothing where it belongs there or may do so."""
    host = host_at(url)
    if host.near or own_service(name, url):
        return None
    kind = belongs(name)
    if not host.name or HOLE in host.name:
        grave = kind == "nowhere" and not in_head
        return "warn" if grave else None
    if _WEBHOOK.search(url) or (host.shady and host.name not in MESSENGERS and not _named_for(name, host)):
        return "warn" if kind in ("generic", "other") and in_head else "critical"
    if kind == "nowhere":
        return "critical"
    if kind == "generic":
        return _judge_generic(name, url, host, in_head=in_head)
    if kind == "vendor":
        return ("warn" if not in_head else None) if host.kind == "known" else "critical"
    return "warn" if not in_head and host.kind != "known" else None


def _judge_generic(name: str, url: str, host: Host, *, in_head: bool) -> Severity | None:
    """A secret that may be of any service: a password in a body that no login takes is what gives it away."""
    takes = in_head or host.kind == "known" or _LOGIN.search(url) is not None
    return "critical" if not takes and re.search(r"pass", name, re.IGNORECASE) else None


def _named_for(name: str, host: Host) -> bool:
    return any(part in host.name for part in name.lower().split("_") if len(part) > 3)


def _told(host: Host) -> str:
    return host.name.replace(HOLE, "...") or "a server"


def _judge_mark(mark: Mark, host: Host, *, bad: bool, hook: bool, login: bool) -> Iterator[Judgement]:
    message = f"The code sends {mark.what} to {_told(host)}"
    near = host.near
    if mark.kind == "env" and mark.whole:
        yield Judgement("secret-sent", "warn" if near else None, host.name, message)
    elif mark.kind == "captured":
        yield from _judge_captured(mark, host, message, bad=bad)
    elif mark.kind == "secret":
        known = host.kind in ("known", "loopback", "private")
        if mark.what in _ASKED:
            if bad or (mark.what == _ASKED[1] and host.name and not known and not login):
                yield Judgement("secret-sent", None, host.name, message)
        elif mark.grave:
            lowered = host.kind == "loopback" or (host.kind == "known" and not mark.whole)
            yield Judgement("secret-sent", "warn" if lowered else None, host.name, message)
        elif mark.whole or bad:
            yield Judgement("secret-sent", "warn" if known and not bad else None, host.name, message)
    elif mark.kind == "file" and (hook or (host.shady and host.kind != "shortener")):
        message = f"The code sends a local file to {_told(host)}"
        yield Judgement("file-sent", "critical" if hook or mark.grave else None, host.name, message)
    elif mark.kind == "file" and mark.grave and host.name and not near and host.kind != "known":
        yield Judgement("file-sent", None, host.name, message)


def _judge_captured(mark: Mark, host: Host, message: str, *, bad: bool) -> Iterator[Judgement]:
    """What was taken from a person: the screen, the clipboard, what is typed, what a page keeps."""
    if mark.what == "pressed keys":
        if host.name or mark.whole:
            yield Judgement("records-keys", "warn" if host.near else None, host.name, message)
    elif host.near or not host.name:
        return
    elif bad or mark.grave:
        yield Judgement("private-data-sent", "critical", host.name, message)
    elif host.kind != "known":
        yield Judgement("private-data-sent", "info", host.name, message)


def _judge_head(marks: frozenset[Mark], host: Host) -> Iterator[Judgement]:
    """What the headers of a request carry: keys belong there, other people's secrets do not."""
    for mark in sorted(marks):
        message = f"The code sends {mark.what} to {_told(host)}"
        private = mark.kind == "secret" and host.name and not host.near and host.kind != "known"
        if (mark.kind == "env" and mark.whole) or (private and (mark.whole or (mark.grave and host.shady))):
            yield Judgement("secret-sent", None, host.name, message)


def judge_lookup(name: str, marks: frozenset[Mark], *, hidden: bool = False) -> Iterator[Judgement]:
    """A host name that is looked up: what is in it reaches whoever answers for its domain."""
    kinds: tuple[Kind, ...] = ("secret", "env", "key", "captured", "file")
    private = sorted(mark for mark in marks if mark.kind in kinds)
    carried = min(private, key=lambda mark: kinds.index(mark.kind), default=None)
    if carried is not None and name.count(".") and (HOLE in name or carried.kind != "file"):
        message = f"The code puts {carried.what} into a host name that it looks up"
        yield Judgement("sent-by-lookup", "warn" if carried.kind == "file" else None, name, message)
    elif hidden and HOLE in name and name.partition(HOLE)[2].count(".") > 1:
        yield Judgement("sent-by-lookup", "warn", name)
