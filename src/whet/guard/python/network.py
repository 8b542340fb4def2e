"""The network: what is sent where, and what comes from there.

A key in a header of a request to an API is how APIs work, and says nothing. What counts is what nobody's API needs:
private keys, the whole environment, browser stores; and where it goes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.hosts import Host, host_of
from whet.guard.places import places
from whet.guard.python.access import union
from whet.guard.python.files import read, written
from whet.guard.python.tables import (
    CAPTURED,
    HEADERS,
    KEY_LISTENERS,
    LOOKUPS,
    SENDERS,
    SOURCES,
    UPLOADS,
    VENDORS,
    is_http,
)
from whet.guard.python.values import HOLE, NO_MARKS, NOTHING, Function, Kind, Mark, Value

if TYPE_CHECKING:
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_WEBHOOK = re.compile(
    r"discord(?:app)?\.com/api/webhooks/\d{6,}/[\w-]{10,}|api\.telegram\.org/bot\d{6,}:[\w-]{10,}|hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{10,}"
)
_RECEIVERS = (
    "socket.socket.",
    "socket.create_connection.",
    "websockets.",
    "websocket.",
    "asyncio.open_connection.0.",
    "telnetlib.Telnet.",
)
_ASKED = ("a password that is asked for", "a password of the keyring")


def network(reader: Reader, this: Call) -> Value | None:
    """Judge a call that talks to the network, or that gives something private."""
    name = this.name
    if name in SOURCES:
        what, grave = SOURCES[name]
        reader.fact("source", what, this.node, name, grave)
        if what == "the clipboard":
            reader.did.setdefault("pastes", this.node.lineno)
        if what in CAPTURED and this.args and this.args[0].text():
            mark = Mark("secret", what, name, grave, whole=True)
            written(reader, this.args[0], this.node.args[0], Value(marks=frozenset((mark,))), this.node)
        return Value(marks=frozenset((Mark("secret", what, name, grave, whole=True),)))
    if name == "print":
        _shown(reader, this)
        return None
    if name.startswith("logging."):
        _logged(reader, this)
        return None
    if name in KEY_LISTENERS:
        return _listener(reader, this)
    if is_http(name):
        return _http(reader, this)
    if name.endswith(".Request") and name.startswith("urllib"):
        body = [this.arg(1, "data"), this.arg(0, "url")]
        return Value(
            name="urllib.request.Request",
            marks=union(body),
            path=this.arg(0, "url").text(),
            hidden=this.arg(0, "url").hidden,
        )
    if name in ("urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download"):
        return _retrieved(reader, this)
    if name in LOOKUPS:
        return _lookup(reader, this)
    if name in SENDERS:
        return _sent(reader, this, SENDERS[name])
    if name.startswith("boto3.") and this.verb in UPLOADS:
        return _sent(reader, this, "cloud storage")
    return _connections(reader, this)


def _connections(reader: Reader, this: Call) -> Value | None:
    name, verb = this.name, this.verb
    if name.startswith("socket.socket.") and verb in ("connect", "connect_ex", "bind"):
        target = this.arg(0).const
        host = target[0] if isinstance(target, (list, tuple)) and target and isinstance(target[0], str) else HOLE
        this.owner.path = host if verb != "bind" else "<served>"
        reader.did.setdefault("listens" if verb == "bind" else "connects", this.node.lineno)
        return NOTHING
    if name.startswith("xmlrpc.client.ServerProxy.") and not verb.startswith("__"):
        return _sent(reader, this, "XML-RPC")
    if name.startswith(_RECEIVERS) and verb in ("recv", "recvfrom", "makefile", "read", "readline", "read_until"):
        kind: Kind = "served" if this.owner.path == "<served>" or "listens" in reader.did else "fetched"
        return Value(
            name=name if verb == "makefile" else "",
            marks=frozenset((Mark(kind, "a socket", this.owner.path, whole=True),)),
        )
    if name in (
        "socket.create_connection",
        "smtplib.SMTP",
        "smtplib.SMTP_SSL",
        "ftplib.FTP",
        "websocket.create_connection",
        "telnetlib.Telnet",
        "xmlrpc.client.ServerProxy",
        "asyncio.open_connection",
    ) or (
        name.startswith(("http.client.HTTP", "discord.SyncWebhook.from_url", "websockets.connect", "paramiko."))
        and "()" not in name
    ):
        first = this.arg(0, "host")
        target = first.const[0] if isinstance(first.const, list) and first.const else first.const
        if name == "socket.create_connection":
            reader.did.setdefault("connects", this.node.lineno)
        return Value(name=this.callee.name, path=target if isinstance(target, str) else this.callee.path)
    return None


def _shown(reader: Reader, this: Call) -> None:
    """Output with a remote image in it: whoever renders it sends what stands in the address."""
    for value in this.args:
        text = value.text()
        for mark in value.marks:
            if mark.kind == "fetched" and mark.grave:
                reader.fact("fetch", "text that is shown", this.node, mark.subject, grave=True)
        if value.marks and "](http" in text:
            for mark in sorted(value.marks):
                if mark.grave and mark.kind in ("env", "secret"):
                    reader.hit(
                        "python-sends-secrets", this.node, None, "", f"It puts {mark.what} into the address of an image"
                    )


_HANDLERS = ("HTTPHandler", "SMTPHandler", "SocketHandler", "DatagramHandler", "SysLogHandler")


def _logged(reader: Reader, this: Call) -> None:
    """A log that goes to another machine, and what is written to it."""
    if this.verb in _HANDLERS:
        host = host_of(this.arg(0, "host").text() or "unknown.host")
        if not host.near:
            reader.did.setdefault("logs away", this.node.lineno)
    elif any(
        (mark.kind == "env" and mark.whole) or (mark.kind == "secret" and mark.grave) for mark in union(this.args)
    ):
        reader.did.setdefault("logs secrets", this.node.lineno)


def _listener(reader: Reader, this: Call) -> Value:
    """A function that is told of every key: what it is given is what a person types."""
    pressed = Value(marks=frozenset((Mark("secret", "pressed keys", this.name, True, whole=True),)))
    reader.fact("source", "pressed keys", this.node, this.name, grave=True)
    reader.hit("listens-to-keys", this.node, "info")
    for value in this.every():
        if isinstance(value.fn, Function):
            reader.invoke(value.fn, [pressed], {}, NOTHING)
    return Value(name=this.name, marks=pressed.marks)


def _http(reader: Reader, this: Call) -> Value:
    start = 1 if this.verb in ("request", "stream") and len(this.args) > 1 else 0
    url = this.arg(start, "url")
    if url.name == "urllib.request.Request" or this.verb == "send":
        url = Value(url.path or url.const, marks=url.marks, hidden=url.hidden)
    body = this.args[start + 1 :] + [
        value for word, value in this.words.items() if word not in HEADERS and word != "url"
    ]
    if this.verb in ("post", "put", "patch", "request", "send", "ws_connect"):
        reader.fact("sink", f"HTTP {this.verb.upper()}", this.node, url.text() or HOLE, _host(url).shady)
    _tls(reader, this)
    return judged(reader, this, url, body, [value for word, value in this.words.items() if word in HEADERS])


def _tls(reader: Reader, this: Call) -> None:
    verify = this.words.get("verify")
    if verify is not None and verify.const is False:
        reader.hit("tls-unverified", this.node)


def _host(url: Value) -> Host:
    text = url.text()
    return host_of(text) if text and not text.startswith((HOLE, "/")) else Host("", "other")


def _sent(reader: Reader, this: Call, what: str) -> Value:
    url = this.arg(0, "url") if what in ("HTTP", "a Discord webhook") else Value(this.owner.path or this.callee.path)
    body = this.every()
    head: list[Value] = []
    if what == "HTTP":
        if url.name == "urllib.request.Request":
            body = [url]
            url = Value(url.path, marks=NO_MARKS, hidden=url.hidden)
        elif this.name.endswith(".request"):
            url = Value(this.owner.path or this.callee.path)
            body, head = (
                [*this.args[:3], *(this.words[word] for word in ("body", "url") if word in this.words)],
                this.args[3:],
            )
        else:
            body, head = [this.arg(1, "data"), url], [value for word, value in this.words.items() if word in HEADERS]
    elif what in ("SFTP", "cloud storage", "FTP"):
        paths = [Value(marks=read(reader, value, None, this.node)) for value in this.args[:1] if value.text()]
        body = [
            *body,
            *(Value(marks=frozenset(mark for mark in value.marks if mark.kind == "secret")) for value in paths),
        ]
    reader.fact("sink", what, this.node, url.text(), _host(url).shady)
    return judged(reader, this, url, body, head)


def _retrieved(reader: Reader, this: Call) -> Value:
    url, path = this.arg(0, "url"), this.arg(1, "filename")
    result = judged(reader, this, url, [], [])
    written(reader, path, this.node.args[1] if len(this.node.args) > 1 else None, Value(marks=result.marks), this.node)
    return Value([path.const], marks=path.marks)


def judged(reader: Reader, this: Call, url: Value, body: list[Value], head: list[Value]) -> Value:
    """A request: judge what it carries, and mark what it brings."""
    host = _host(url)
    marks = union([*body, url])
    known = url.text()
    _judge_marks(reader, this, host, marks, known)
    _judge_head(reader, this, host, union(head))
    local = any(mark.kind in ("secret", "env", "key", "file") for mark in marks)
    if url.hidden == "decoded" and host.name:
        reader.hit("hidden-address", this.node, "critical" if local else None, host.name)
    elif len({mark.subject for mark in url.marks if mark.kind == "file" and _shipped(mark.subject)}) >= 2:
        reader.hit("hidden-address", this.node, None, host.name, "It puts its address together from several files")
    if host.shady and host.kind != "address":
        reader.fact("sink" if body else "fetch", f"a {host.kind} host", this.node, known, grave=True)
    reader.fact("fetch", "HTTP", this.node, known)
    for place in places(known) if known else ():
        if place.what == "cloud metadata":
            reader.fact("source", place.what, this.node, known, True)
            return Value(name="response", marks=frozenset((Mark("secret", place.what, known, True, whole=True),)))
    kind: Kind = "served" if host.kind == "loopback" else "fetched"
    return Value(
        name="response",
        marks=frozenset((Mark(kind, "the network", known, host.shady or known.startswith("http:"), whole=True),)),
    )


def _shipped(path: str) -> bool:
    """Is this a file of the package, as far as its path tells?"""
    return bool(path) and HOLE not in path and not path.startswith(("$", "~", "/", "<tmp"))


def judge_marks(reader: Reader, this: Call, url: str, marks: frozenset[Mark]) -> None:
    """Judge what a program carries to an address."""
    _judge_marks(reader, this, _host(Value(url)), marks, url)


def _judge_marks(reader: Reader, this: Call, host: Host, marks: frozenset[Mark], url: str) -> None:
    """What the body and the address of a request carry."""
    if not marks:
        return
    near = host.near
    hook = _WEBHOOK.search(url) is not None
    keys = {mark.subject for mark in marks if mark.kind == "key"}
    for mark in sorted(marks):
        if mark.kind == "env" and mark.whole:
            reader.hit(
                "python-sends-secrets",
                this.node,
                "warn" if near else None,
                host.name,
                f"It sends {mark.what} to {host.name or 'a server'}",
            )
        elif mark.kind == "secret":
            _judge_secret(reader, this, host, mark, hook)
        elif mark.kind == "file" and (hook or (host.shady and host.kind != "shortener")):
            reader.hit(
                "python-sends-file",
                this.node,
                "critical" if hook else None,
                host.name,
                f"It sends a local file to {host.name}",
            )
    if len({name.partition("_")[0] for name in keys}) >= 3:
        reader.hit(
            "python-sends-secrets",
            this.node,
            None,
            host.name,
            f"It sends {len(keys)} keys of different services to one address",
        )
    elif keys and not near:
        _judge_keys(reader, this, host, keys, hook)


def _judge_secret(reader: Reader, this: Call, host: Host, mark: Mark, hook: bool) -> None:
    message = f"It sends {mark.what} to {host.name or 'a server'}"
    bad = host.shady or hook
    if mark.what in _ASKED:
        if bad:
            reader.hit("python-sends-secrets", this.node, None, host.name, message)
    elif mark.what in CAPTURED[:4]:
        if bad:
            reader.hit("python-sends-capture", this.node, "critical", host.name, message)
        elif host.kind not in ("known", "loopback", "private"):
            reader.hit("python-sends-capture", this.node, "info", host.name, message)
    elif mark.grave:
        lowered = host.kind == "loopback" or (host.kind == "known" and not mark.whole)
        reader.hit("python-sends-secrets", this.node, "warn" if lowered else None, host.name, message)
    elif mark.whole or bad:
        lowered = host.kind in ("known", "loopback", "private") and not bad
        reader.hit("python-sends-secrets", this.node, "warn" if lowered else None, host.name, message)


def _judge_keys(reader: Reader, this: Call, host: Host, keys: set[str], hook: bool) -> None:
    """Named keys in a body: of the same vendor as the host, or of another one."""
    if host.shady and not _named_for(host, keys):
        what = "critical" if hook else "warn"
        reader.hit(
            "python-sends-key",
            this.node,
            "critical" if what == "critical" else None,
            host.name,
            f"It sends {min(keys)} to {host.name}",
        )
        return
    if not host.name or HOLE in host.name or host.kind in ("known", "shortener"):
        return
    for key in sorted(keys):
        vendor = VENDORS.get(key.partition("_")[0].upper())
        if vendor is not None and not any(word in host.name for word in vendor) and vendor:
            reader.hit("python-sends-key", this.node, None, host.name, f"It sends {key} to {host.name}")


def _named_for(host: Host, keys: set[str]) -> bool:
    return any(part in host.name for key in keys for part in key.lower().split("_") if len(part) > 3)


def _judge_head(reader: Reader, this: Call, host: Host, marks: frozenset[Mark]) -> None:
    """What the headers of a request carry: keys belong there, other people's secrets do not."""
    for mark in sorted(marks):
        if mark.kind == "env" and mark.whole:
            reader.hit(
                "python-sends-secrets", this.node, None, host.name, f"It sends {mark.what} to {host.name or 'a server'}"
            )
        elif (
            mark.kind in ("secret", "key")
            and host.shady
            and not _named_for(host, {mark.subject})
            and host.kind != "address"
        ):
            severity = None if mark.grave else "warn"
            if severity is None:
                reader.hit("python-sends-secrets", this.node, None, host.name, f"It sends {mark.what} to {host.name}")
            else:
                reader.hit("python-sends-key", this.node, None, host.name, f"It sends {mark.what} to {host.name}")


def _lookup(reader: Reader, this: Call) -> Value:
    """A name lookup whose name carries data."""
    name = this.arg(0, "qname")
    carried = [mark for mark in sorted(name.marks) if mark.kind in ("secret", "env", "key", "file")]
    text = name.text()
    if carried and text.count(".") >= 1 and (HOLE in text):
        reader.fact("sink", "a name lookup", this.node, text, grave=True)
        reader.hit(
            "python-sends-by-lookup",
            this.node,
            None,
            text,
            f"It puts {carried[0].what} into a host name that it looks up",
        )
    elif HOLE in text and text.partition(HOLE)[2].count(".") >= 2 and name.hidden:
        reader.hit("python-sends-by-lookup", this.node, "warn", text)
    return NOTHING
