"""The network: what is sent where, and what comes from there.

Which argument is the address, the body and the headers is found here; `taint.network` judges what they carry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.hosts import host_of
from whet.guard.places import places
from whet.guard.python.files import dumped, read, written
from whet.guard.python.tables import (
    CAPTURED,
    HEADERS,
    KEY_LISTENERS,
    LOOKUPS,
    SENDERS,
    SOURCES,
    UPLOADS,
    is_http,
)
from whet.guard.python.values import Function
from whet.guard.taint.files import judge_kept
from whet.guard.taint.mark import HOLE, NO_MARKS, Kind, Mark
from whet.guard.taint.network import host_at, judge_address, judge_lookup, judge_request
from whet.guard.taint.secret import belongs
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, union

if TYPE_CHECKING:
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_RECEIVERS = (
    "socket.socket.",
    "socket.create_connection.",
    "websockets.",
    "websocket.",
    "asyncio.open_connection.0.",
    "telnetlib.Telnet.",
)


def network(reader: Reader, this: Call) -> Value | None:
    """Judge a call that talks to the network, or that gives something private."""
    name = this.name
    if name in SOURCES:
        what, grave = SOURCES[name]
        mark = Mark("captured" if what in CAPTURED else "secret", what, name, grave, whole=True)
        reader.fact("source", what, name, grave)
        if what == "the clipboard":
            reader.note("pastes")
        if what in CAPTURED and this.args and this.args[0].said:
            written(reader, this.args[0], this.node.args[0], Value(marks=frozenset((mark,))))
        return Value(marks=frozenset((mark,)))
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
            path=this.arg(0, "url").said,
            hidden=this.arg(0, "url").hidden,
        )
    if name in ("urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download"):
        return _retrieved(reader, this)
    if name in LOOKUPS:
        return _lookup(reader, this)
    if this.verb in ("init", "configure") and (dsn := this.arg(0, "dsn").said).startswith("http"):
        reader.addresses[name.partition(".")[0]] = dsn
        return NOTHING
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
        if verb == "bind" and host in ("", "0.0.0.0", "::"):  # noqa: S104  what the scanned program binds to
            reader.note("listens everywhere")
        reader.note("listens" if verb == "bind" else "connects")
        return NOTHING
    if verb == "putheader" and name.startswith("http.client."):
        judge_marks(reader, this.owner.path, NO_MARKS, union(this.args))
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
            reader.note("connects")
        return Value(name=this.callee.name, path=target if isinstance(target, str) else this.callee.path)
    return None


def _shown(reader: Reader, this: Call) -> None:
    """Output with a remote image in it: whoever renders it sends what stands in the address."""
    for one in judge_kept(union(this.args), ""):
        reader.hit(one.rule, *one[1:])
    for value in this.args:
        text = value.said
        for mark in sorted(value.marks):
            if mark.kind == "fetched" and mark.grave:
                reader.fact("fetch", "text that is shown", mark.subject, grave=True)
        if value.marks and "](http" in text:
            for mark in sorted(value.marks):
                if mark.grave and mark.kind in ("env", "secret"):
                    reader.hit("secret-sent", None, "", f"The code puts {mark.what} into the URL of an image")


_HANDLERS = ("HTTPHandler", "SMTPHandler", "SocketHandler", "DatagramHandler", "SysLogHandler")


def _logged(reader: Reader, this: Call) -> None:
    """A log that goes to another machine, and what is written to it."""
    if this.verb in _HANDLERS:
        host = host_of(this.arg(0, "host").said or "unknown.host")
        if not host.near:
            reader.note("logs away")
    elif any(
        (mark.kind in ("env", "key") and mark.grave)
        or (mark.kind == "secret" and mark.grave)
        or (mark.kind == "key" and belongs(mark.subject) == "vendor")
        for mark in union(this.args)
    ):
        reader.note("logs secrets")


def _listener(reader: Reader, this: Call) -> Value:
    """A function that is told of every key: what it is given is what a person types."""
    pressed = Value(marks=frozenset((Mark("captured", "pressed keys", this.name, True, whole=True),)))
    reader.fact("source", "pressed keys", this.name, grave=True)
    reader.hit("listens-to-keys", "info")
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
        reader.fact("sink", f"HTTP {this.verb.upper()}", url.said or HOLE, host_at(url.said).shady)
    _tls(reader, this)
    return judged(reader, url, body, [value for word, value in this.words.items() if word in HEADERS])


def _tls(reader: Reader, this: Call) -> None:
    verify = this.words.get("verify")
    if verify is not None and verify.const is False:
        reader.hit("tls-unverified")


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
        paths = [Value(marks=read(reader, value, None)) for value in this.args[:1] if value.said]
        body = [
            *body,
            *(Value(marks=frozenset(mark for mark in value.marks if mark.kind == "secret")) for value in paths),
        ]
    elif what == "an error tracker":
        url = Value(reader.addresses.get(this.name.partition(".")[0], ""))
    if this.verb == "sendto" and isinstance(target := this.arg(1).const, (list, tuple)) and target:
        url = Value(target[0] if isinstance(target[0], str) else UNKNOWN)
    reader.fact("sink", what, url.said, host_at(url.said).shady)
    return judged(reader, url, body, head)


def client(reader: Reader, this: Call, word: str) -> None:
    """A client of a service is made that talks to an address of the program's own choice: is the key it gets for there?"""
    url = this.words[word]
    if url.said.startswith("http") and url.said.partition("://")[2]:
        judge_marks(reader, url.said, NO_MARKS, union(value for value in this.every() if value is not url))


def _retrieved(reader: Reader, this: Call) -> Value:
    url, path = this.arg(0, "url"), this.arg(1, "filename")
    result = judged(reader, url, [], [])
    written(reader, path, this.node.args[1] if len(this.node.args) > 1 else None, Value(marks=result.marks))
    return Value([path.const], marks=path.marks)


def judged(reader: Reader, url: Value, body: list[Value], head: list[Value]) -> Value:
    """A request: judge what it carries, and mark what it brings."""
    host = host_at(url.said)
    marks = union([*body, url])
    known = url.said
    shape = " ".join(dumped(value) for value in body if value.marks)
    judge_marks(reader, known, marks, union(head), shape)
    reader.report(judge_address(url, marks - url.marks))
    if host.shady and host.kind != "address":
        reader.fact("sink" if body else "fetch", f"a {host.kind} host", known, grave=True)
    reader.fact("fetch", "HTTP", known)
    for place in places(known) if known else ():
        if place.what == "cloud metadata":
            reader.fact("source", place.what, known, True)
            return Value(name="response", marks=frozenset((Mark("secret", place.what, known, True, whole=True),)))
    kind: Kind = "served" if host.kind == "loopback" else "fetched"
    return Value(
        name="response",
        marks=frozenset((Mark(kind, "the network", known, host.shady or known.startswith("http:"), whole=True),)),
    )


def judge_marks(
    reader: Reader, url: str, marks: frozenset[Mark], head: frozenset[Mark] = NO_MARKS, shape: str = ""
) -> None:
    """Judge what a program carries to an address."""
    if any(mark.what == "the clipboard" for mark in marks):
        reader.note("sends clipboard")
    for one in judge_request(url, marks, head, shape):
        reader.hit(one.rule, *one[1:])


def _lookup(reader: Reader, this: Call) -> Value:
    """A name lookup whose name carries data."""
    name = this.arg(0, "qname")
    text = name.said
    for one in judge_lookup(text, name.marks, hidden=bool(name.hidden)):
        reader.fact("sink", "a name lookup", text, grave=True)
        reader.hit(one.rule, *one[1:])
    return NOTHING
