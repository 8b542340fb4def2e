"""The judge of the network: what leaves the machine, and where it goes.

A key in a request to its own service is normal. What counts is data that no service needs (private keys, the whole
environment, browser stores), keys of one service that go to another host, and disreputable hosts.

The tables say which functions send, fetch, connect and look up names, and where their arguments are (`JUDGES`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.finding import rank
from whet.guard.hosts import URL, Host, host_of, is_shared
from whet.guard.places import places
from whet.guard.rules import severity_of
from whet.guard.tables import load_toml, shape, words
from whet.guard.taint.call import judged_roots
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.secret import belongs, own_service, owner, secret_name
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, everything, spell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whet.guard.finding import Severity
    from whet.guard.taint.call import Call
    from whet.guard.taint.judges import Judges
    from whet.guard.taint.mark import Kind

_WEBHOOK = shape("taint", "webhook", 0)
_LOGIN = expression(r"/(?:\w{0,20}(?:login|signin|auth|oauth2?|tokens?|sessions?))\b", re.IGNORECASE)
_LABEL = expression(
    rf"(?:key|token|appid|auth|secret|pass\w{{0,5}})[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?(?:bearer )?{HOLE}", re.IGNORECASE
)
"""A place where a service asks for a key: `?api_key=`, `"token": `."""
_KEPT = ("a password of the keyring", "a secret of a cloud")
_ASKED = ("a password that is asked for", *_KEPT)
MESSENGERS = words("network", "messengers")
"""Messengers to which a skill may send messages, although malware uses them, too."""


class Judgement(NamedTuple):
    """A rule that matches, for the reader to report at the current line."""

    rule: str
    severity: Severity | None = None
    subject: str = ""
    message: str = ""


def host_at(url: str) -> Host:
    """Return the host of an address that may be known in part; the name is empty if the host is unknown.

    A place on a well-known host that anyone can have counts as free hosting.
    """
    start = url.partition("://")[2] or url
    if not url or start.startswith((HOLE, "/", "$", "{", "<")):
        return Host("", "other")
    host = host_of(url)
    return host._replace(kind="free") if host.kind == "known" and is_shared(url) else host


def judge_request(
    url: str, body: frozenset[Mark], head: frozenset[Mark] = NO_MARKS, shape: str = ""
) -> Iterator[Judgement]:
    """Judge the data of a request: anything in its body and address, and in its headers what does not belong there.

    `shape` is the body as far as it is known, which shows whether a key is where the service asks for one.
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


def judge_typed(urls: Iterable[str], body: frozenset[Mark], head: frozenset[Mark]) -> Judgement | None:
    """Return the gravest judgement on a request that a person could type; None if no secret goes where it should not.

    A key outside the places for keys is graver than in a program, whose requests are seldom known in full.
    """
    found = (one for url in urls if not host_at(url).near for one in _judge_typed(url, body, head))
    return max(
        (one for one in found if severity_of(one) != "info"), key=lambda one: rank(severity_of(one)), default=None
    )


def _judge_typed(url: str, body: frozenset[Mark], head: frozenset[Mark]) -> Iterator[Judgement]:
    host, plain = host_at(url), url[:5].lower() == "http:"
    secure = f"https{url[4:]}" if plain else url
    own = {mark for mark in body | head if mark.kind == "key" and own_service(mark.subject, secure)}
    body, head = body - own, head - own
    strange = bool(host.name) and HOLE not in host.name and host.kind != "known"
    for one in judge_request(url, body, head):
        whole = one.rule == "file-sent" and strange and not any(mark.kind == "key" for mark in head)
        yield one._replace(severity="critical") if whole else one
    for mark in sorted(body | head) if strange else ():
        bare = plain and host.kind == "address" and belongs(mark.subject) == "generic"
        if (mark.kind == "key" and (bare or mark in body)) or (mark.what == _ASKED[0] and mark in body):
            yield Judgement("secret-sent", "critical", host.name, f"The command sends {mark.what} to {host.name}")


def judge_address(url: Value, marks: frozenset[Mark]) -> Iterator[Judgement]:
    """Judge a hidden address by the data that is sent there."""
    host = host_at(url.said)
    local = any(mark.kind in ("secret", "env", "key", "captured", "file") for mark in marks)
    if url.hidden == "decoded" and host.name and not host.near:
        yield Judgement("hidden-address", "critical" if local else None, host.name)
    elif (not host.name or HOLE in host.name) and local and any(mark.kind == "decoded" for mark in url.marks):
        yield Judgement("hidden-address", "critical", "", "It sends private data to the decoded address")


def judge_key(name: str, url: str, *, in_head: bool) -> Severity | None:
    """Return the severity of sending a secret variable to an address; None if it belongs there or may do so."""
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
    """Judge a secret of no particular service: a password in a body is critical if the address is not a login."""
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
        yield Judgement(
            "secret-sent", "info" if host.kind == "loopback" else "warn" if near else None, host.name, message
        )
    elif mark.kind == "captured":
        yield from _judge_captured(mark, host, message, bad=bad)
    elif mark.kind == "secret" and host.kind == "loopback":
        yield Judgement("secret-sent", "info", host.name, message)
    elif mark.kind == "secret":
        known = host.kind in ("known", "private")
        if mark.what in _ASKED:
            if bad or (mark.what in _KEPT and host.name and not known and not login):
                yield Judgement("secret-sent", None, host.name, message)
        elif mark.grave:
            lowered = host.kind == "known" and not mark.whole
            yield Judgement("secret-sent", "warn" if lowered else None, host.name, message)
        elif mark.whole or bad:
            yield Judgement("secret-sent", "warn" if known and not bad else None, host.name, message)
    elif mark.kind == "file" and (hook or (host.shady and host.kind != "shortener")):
        message = f"The code sends a local file to {_told(host)}"
        yield Judgement("file-sent", "critical" if hook or mark.grave else None, host.name, message)
    elif mark.kind == "file" and mark.grave and host.name and not near and host.kind != "known":
        yield Judgement("file-sent", None, host.name, message)


def _judge_captured(mark: Mark, host: Host, message: str, *, bad: bool) -> Iterator[Judgement]:
    """Judge captured data that is sent: the screen, the clipboard, key presses, the storage of a page."""
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
    """Judge the headers of a request: keys and passwords that are asked for belong there, other secrets do not."""
    near = host.name and host.near
    for mark in sorted(marks):
        message = f"The code sends {mark.what} to {_told(host)}"
        private = mark.kind == "secret" and host.name and not near and host.kind != "known" and mark.what != _ASKED[0]
        if (mark.kind == "env" and mark.whole and not near) or (
            private and (mark.whole or (mark.grave and host.shady))
        ):
            yield Judgement("secret-sent", None, host.name, message)


def judge_lookup(name: str, marks: frozenset[Mark]) -> Iterator[Judgement]:
    """Judge a host name that is looked up: private data in it reaches the owner of the domain."""
    kinds: tuple[Kind, ...] = ("secret", "env", "key", "captured", "file")
    private = sorted(mark for mark in marks if mark.kind in kinds)
    carried = min(private, key=lambda mark: kinds.index(mark.kind), default=None)
    if carried is not None and name.count(".") and (HOLE in name or carried.kind != "file"):
        message = f"The code puts {carried.what} into a host name that it looks up"
        yield Judgement("sent-by-lookup", "warn" if carried.kind == "file" else None, name, message)


_VARIABLE = expression(r"\b[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,6}\b")
_READS = expression(r"\benviron\b|[Gg]et_?[Ee]nv|\.env\b|\bENV\[|\benv::|\benv\.")
_TALKS = expression(
    r"\b(?:fetch|request|post|put|urlopen|send\w{0,9}|connect|WebSocket)\(|https?\."
    r"|\b(?:requests|httpx|aiohttp|smtplib|ftplib|xmlrpc|websockets?|socket|axios|got|undici|ws|net|tls|dns)\b",
    re.IGNORECASE,
)


def judge_apart(source: str) -> Iterator[tuple[int, Judgement]]:
    """Judge a program that reads the key of a service and names only hosts that have nothing to do with the service."""
    if not _READS.search(source) or not _TALKS.search(source):
        return
    keys = {one for one in _VARIABLE.findall(source) if secret_name(one) and belongs(one) == "vendor"}
    urls = list(URL.finditer(source)) if keys else []
    hosts = ((url, host_at(url[0])) for url in urls)
    strange = next((one for one in hosts if one[1].name and not one[1].near and one[1].kind != "known"), None)
    if strange is None:
        return
    for name in sorted(keys):
        used = re.compile(
            rf"(?:\bimport\s|\bfrom\s|[\"'@/]){re.escape(owner(name))}|\b{re.escape(owner(name))}[./]", re.IGNORECASE
        )
        if used.search(source.replace(name, "")) is None and not any(own_service(name, url[0]) for url in urls):
            url, host = strange
            message = f"{name} is read, and {host.name} is named"
            yield source.count("\n", 0, url.start()) + 1, Judgement("key-elsewhere", None, host.name, message)
            return


# --- the calls that send, fetch, connect and look up -------------------------------------------------------------------

_HEADERS = words("network", "headers")


def request(reader: Judges, call: Call) -> Value:
    """Judge a request, and return its response."""
    first = call.part(call.row.at)
    options = {**(first.props or {}), **call.words}
    url = _url_of(call, first, options)
    body = [
        value
        for number, value in enumerate(call.args)
        if value is not first and number != call.row.head and value.props is None and not value.fn
    ]
    body += [value for word, value in options.items() if word not in _HEADERS and word not in ("url", "uri")]
    head = [value for word, value in {**(call.owner.props or {}), **options}.items() if word in _HEADERS]
    head += call.args[call.row.head : call.row.head + 1] if call.row.head >= 0 else []
    if call.verb in words("network", "posts") or HOLE in url.said[10:] or any(map(_varies, body)):
        reader.fact("sink", f"HTTP {call.verb.upper()}", url.said or HOLE, host_at(url.said).shady)
    if options.get("verify", NOTHING).const is False:
        reader.hit("tls-unverified")
    answer = deliver(reader, url, body, head)
    return answer.but(name=call.row.gives, path=url.said) if call.row.gives else answer


def _varies(value: Value) -> bool:
    return value.exact is None and not isinstance(value.const, (int, float))


def _url_of(call: Call, first: Value, options: dict[str, Value]) -> Value:
    """Return the address of a request: as given, assembled from its parts, or that of the client."""
    given = next((options[word] for word in ("url", "uri") if word in options), first)
    host = next((options[word] for word in ("hostname", "host") if word in options and options[word].text), None)
    if given.text is None and host is not None:
        way = "https" if "https" in call.name else "http"
        return host.but(const=f"{way}://{host.text}{options.get('path', NOTHING).text or '/'}")
    base = call.owner.path
    return given.but(const=base) if base and not given.said.lower().startswith("http") else given


def deliver(reader: Judges, url: Value, body: Sequence[Value], head: Sequence[Value] = ()) -> Value:
    """Judge the data that is sent to an address, and return the marked response."""
    text = url.said
    host = host_at(text)
    sent = frozenset[Mark]().union(url.marks, *map(everything, body))
    if not text.startswith(("/", "./", "../")):
        carry(reader, text, sent, head, " ".join(spell(value) for value in body if value.marks))
        reader.report(judge_address(url, sent.union(*map(everything, head)) - url.marks))
    reader.fact("fetch", "HTTP", text)
    for place in places(text) if text else ():
        if place.what == "cloud metadata":
            reader.fact("source", place.what, text, grave=True)
            return Value(name="response", marks=frozenset((Mark("secret", place.what, text, True, whole=True),)))
    kind: Kind = "served" if host.kind == "loopback" else "fetched"
    bad = host.shady or text.startswith("http:")
    return Value(name="response", marks=frozenset((Mark(kind, "the network", text[:300], bad, whole=True),)))


def carry(reader: Judges, url: str, sent: frozenset[Mark], head: Sequence[Value] = (), shape: str = "") -> None:
    """Judge the data that a program sends to an address."""
    if any(mark.what == "the clipboard" for mark in sent):
        reader.note("sends clipboard")
    if any(mark.what == "a screenshot" for mark in sent) and host_at(url).kind not in ("loopback", "private", "known"):
        reader.note("sends screen")
    reader.report(judge_request(url, sent, frozenset[Mark]().union(*map(everything, head)), shape))


def prepare(_reader: Judges, call: Call) -> Value:
    """Return a request that is sent later."""
    url = call.part(call.row.at)
    props = {"url": url, **{word: value for word, value in call.words.items() if word != "url"}}
    if call.row.given and (data := call.part(call.row.given)) is not NOTHING:
        props["data"] = data
    marks = frozenset[Mark]().union(*(everything(value) for word, value in props.items() if word not in _HEADERS))
    return Value(name=call.row.gives or call.name, marks=marks, hidden=url.hidden, path=url.said, props=props)


def send(reader: Judges, call: Call) -> Value:
    """Judge data that is sent through a connection, a messenger or a remote store."""
    at = call.row.at
    if at == ("module",):
        url = Value(reader.addresses.get(call.name.partition(".")[0], UNKNOWN))
    elif at == ("rest",):
        url = next((one for one in map(_host_in, call.args[1:]) if one.text and not one.said.isdigit()), NOTHING)
    else:
        url = _host_in(call.part(at))
        url = url if url.text else Value(url.path or call.callee.path)
    body = call.every()
    if call.row.given:
        path, key = call.part(call.row.given), call.key(call.row.given)
        kept = reader.read(path, key) if path.said or key else NO_MARKS
        body.append(Value(marks=frozenset(mark for mark in kept if mark.kind in ("secret", "key", "env"))))
    reader.fact("sink", call.row.what, url.said, host_at(url.said).shady)
    answer = deliver(reader, url, body)
    return call.owner if call.row.gives == "owner" else answer


def _host_in(value: Value) -> Value:
    """Return the host of an address that may be a pair of host and port."""
    return (value.items or [NOTHING])[0] if value.items is not None else value


def connect(reader: Judges, call: Call) -> Value:
    """Return a client or connection with its own address."""
    named = next((call.words[word] for word in load_toml("network")["addresses"] if word in call.words), None)
    text = _host_in(named or call.part(call.row.at)).text
    marks = NO_MARKS
    if call.row.what == "a socket":
        marks = frozenset((Mark("socket", "a socket", f"tcp://{text or HOLE}"),))
    elif call.row.what == "answers":
        marks = deliver(reader, Value(text or UNKNOWN), ()).marks
    elif call.row.what:
        reader.note(call.row.what)
    path = text or call.callee.path
    return Value(name=call.row.gives or call.callee.name, marks=marks, path=path, props=always_sent(call))


def always_sent(call: Call) -> dict[str, Value] | None:
    """Return the headers that a client sends with every request, if they are marked."""
    return {word: value for word, value in call.words.items() if word in _HEADERS and everything(value)} or None


def aim(reader: Judges, call: Call) -> Value:
    """Set the address that an existing connection connects to or listens on."""
    named = next((call.words[word] for word in load_toml("network")["addresses"] if word in call.words), None)
    goal = _host_in(named or call.part(call.row.at))
    host = goal.text
    carry(reader, host or "", goal.marks)
    listens = call.verb == "bind"
    call.owner.path = "<served>" if listens else host or HOLE
    if listens and host in ("", "0.0.0.0", "::"):  # noqa: S104  an address in the scanned program
        reader.note("listens everywhere")
    if call.row.what:
        reader.note("listens" if listens else "connects")
    return call.owner if call.row.gives == "owner" else NOTHING


def receive(reader: Judges, call: Call) -> Value:
    """Return data that is received over a connection."""
    kind: Kind = "served" if call.owner.path == "<served>" or "listens" in reader.did else "fetched"
    name = call.name if call.verb == "makefile" else ""
    return Value(name=name, marks=frozenset((Mark(kind, "a socket", call.owner.path, whole=True),)))


def serve(_reader: Judges, call: Call) -> Value:
    """Return a server socket."""
    return Value(name=call.row.gives, marks=frozenset((Mark("socket", "a socket", "tcp://0.0.0.0.served"),)))


def download(reader: Judges, call: Call) -> Value:
    """Judge a file that is downloaded and written."""
    answer = deliver(reader, call.part(call.row.at), ())
    path = call.part(call.row.given)
    reader.write(path, call.key(call.row.given), Value(marks=answer.marks))
    return Value(items=[path], marks=path.marks)


def lookup(reader: Judges, call: Call) -> Value:
    """Judge a name lookup: private data in the name reaches the owner of the domain."""
    name = call.part(call.row.at)
    for one in judge_lookup(name.said, name.marks):
        reader.fact("sink", "a name lookup", name.said, grave=True)
        reader.report([one])
    return NOTHING


def header(reader: Judges, call: Call) -> Value:
    """Judge a header of a request that is being built."""
    carry(reader, call.owner.path, NO_MARKS, call.every())
    return call.owner if call.row.gives == "owner" else NOTHING


def stay(_reader: Judges, call: Call) -> Value:
    """Return the owner of the method."""
    return call.owner


def follow_service(reader: Judges, call: Call, bases: frozenset[str]) -> Value | None:
    """Follow clients that are given an address: when one is created, and when a module is configured with one."""
    if not call.words and not reader.addresses and call.verb not in ("init", "configure"):
        return None
    root = call.name.partition(".")[0]
    dsn = call.words.get("dsn") or call.arg(0)
    if call.verb in ("init", "configure") and dsn.said.startswith("http"):
        reader.addresses[root] = dsn.said
        return NOTHING
    base = next((value for word, value in call.words.items() if word in bases), NOTHING) if call.made else NOTHING
    urls = [text for text in base.texts if text.startswith("http") and text.partition("://")[2]]
    if not urls:
        return None
    given = [value for value in call.every() if value is not base and value.props is None]
    for url in urls:
        carry(reader, url, NO_MARKS, given)
    known = root in judged_roots(reader.language)
    return None if known else Value(name="(client)", path=urls[0], choices=tuple(urls[1:]))


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    "request": request, "prepare": prepare, "send": send, "connect": connect, "aim": aim, "receive": receive, "serve": serve,
    "download": download, "lookup": lookup, "header": header, "stay": stay,
}  # fmt: skip
"""The judges of the network by their names in the tables."""
