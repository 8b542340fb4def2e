"""Everything a script talks to the network with: clients, requests, sockets, messengers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.javascript.values import everything, maybe
from whet.guard.tables import api
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from whet.guard.javascript.effects import Effects
    from whet.guard.javascript.expressions import Call

CLIENTS = api("javascript", "clients")
PLAIN = frozenset({"http.request", "http.get", "https.request", "https.get"})
VERBS = frozenset({"get", "post", "put", "patch", "delete", "request", "stream", "head", "fetch", "send", "default"})
_BODY_LESS = frozenset({"headers", "header", "auth", "agent", "timeout", "method", "signal", "credentials", "mode"})
_LIVING = frozenset({"http", "https", "superagent", "request", "needle", "(client)"})
"""Clients whose requests are filled after they are made."""
_SENDING = frozenset({"write", "end", "send", "attach", "field", "form"})
_CHAINED = frozenset({"set", "type", "accept", "on", "once", "timeout", "auth", "retry", "unref", "query", "ok"})
_HANDING = api("javascript", "handing")
_PUTTING = frozenset({"fastPut", "putFile", "uploadFile", "uploadFrom"})
"""Methods that send the file whose path they are given."""
_OWN = ("fs", "process", "console", "path", "os", "crypto", "Object", "Buffer", "res", "response", "child", "worker")


def argument(call: Call, number: int) -> Value:
    """An argument, also one that is not there."""
    return call.args[number] if number < len(call.args) else NOTHING


def client(_effects: Effects, call: Call) -> Value:
    """A client with an address of its own."""
    first = argument(call, 0)
    base = first.text
    for key in ("baseURL", "prefixUrl", "baseUrl", "url"):
        if first.props is not None and key in first.props:
            base = first.props[key].text
    return Value(name="(client)", props={"url": Value(maybe(base))})


def service(effects: Effects, call: Call, base: Value) -> Value:
    """A client of a service with an address of the program's own choice: is the key it gets for there?"""
    effects.send(base.text, [], [arg for arg in (call.args[0].props or {}).values() if arg is not base])
    return Value(name="(client)", props={"url": base})


def request(effects: Effects, call: Call) -> Value:
    """Something is sent, and something comes back."""
    first = argument(call, 0)
    options = [arg.props for arg in call.args if arg.props is not None]
    url = _url(call, first)
    payload, headers = [Value(first.const, marks=first.marks)], []
    if first.props is not None:
        payload = []
    for props in options:
        headers += [value for key, value in props.items() if key in _BODY_LESS]
        payload += [value for key, value in props.items() if key not in _BODY_LESS]
    payload += [arg for arg in call.args[1:] if arg.props is None and not arg.fn]
    effects.send(url, payload, headers, first if first.props is None else first.props.get("url"))
    marks = effects.fetched(url)
    head = call.name.rpartition(".")[0] or call.name
    name = "(request)" if head in _LIVING else ""
    return Value(name=name, marks=marks, props={"url": Value(maybe(url))} if name else None)


def _url(call: Call, first: Value) -> str | None:
    base = call.receiver.props.get("url", NOTHING).text if call.receiver.props is not None else None
    if first.props is None:
        own = call.receiver.name == "(client)" and not (first.text or "").lower().startswith("http")
        return base if own else first.text
    for key in ("url", "uri"):
        if key in first.props:
            return first.props[key].text
    host = first.props.get("hostname") or first.props.get("host")
    if host is None or host.text is None:
        return base
    path = first.props.get("path") or NOTHING
    return f"{'https' if 'https' in call.name else 'http'}://{host.text}{path.text or '/'}"


def beacon(effects: Effects, call: Call) -> Value:
    """`navigator.sendBeacon`."""
    effects.send(argument(call, 0).text, call.args)
    return NOTHING


def websocket(effects: Effects, call: Call) -> Value:
    """A connection that is kept."""
    url = argument(call, 0).text
    return Value(name="(websocket)", marks=effects.fetched(url), props={"url": Value(maybe(url))})


def server(_effects: Effects, _call: Call) -> Value:
    """A port that others connect to."""
    return Value(name="(server)", marks=frozenset({Mark("socket", "a socket", "tcp://0.0.0.0.served")}))


def socket(_effects: Effects, call: Call) -> Value:
    """A connection without a protocol."""
    return _connected(call)


def _connected(call: Call) -> Value:
    options = argument(call, 0).props or {}
    host = options.get("host") or options.get("hostname") or argument(call, 1)
    text = f"tcp://{host.text or HOLE}"
    return Value(name="(socket)", marks=frozenset({Mark("socket", "a socket", text)}), props={"url": Value(text)})


def datagrams(_effects: Effects, _call: Call) -> Value:
    """`dgram.createSocket`."""
    return Value(name="(udp)", props={})


def lookup(effects: Effects, call: Call) -> Value:
    """A name is looked up: what is in it reaches whoever answers for the name."""
    name = argument(call, 0)
    effects.looked_up(name)
    return NOTHING


def xhr(_effects: Effects, _call: Call) -> Value:
    """A request that is filled later."""
    return Value(name="(xhr)", marks=frozenset({Mark("fetched", "the network")}), props={})


def mailer(_effects: Effects, call: Call) -> Value:
    """What sends mail through a server."""
    first = argument(call, 0)
    host = (first.props or {}).get("host", NOTHING).text
    return Value(name="(mailer)", props={"url": Value(maybe(f"smtp://{host}" if host else first.text))})


def prepared(_effects: Effects, call: Call) -> Value:
    """`new Request`: an address with what is to go there."""
    return Value(props={**(argument(call, 1).props or {}), "url": argument(call, 0)})


def image(_effects: Effects, _call: Call) -> Value:
    """A picture, whose address may carry something."""
    return Value(name="(image)", props={})


def on_object(effects: Effects, call: Call) -> Value | None:
    """A method of a request, socket, process or image that was made in the file."""
    owner, method, first = call.receiver.name, call.method.rpartition(".")[2], argument(call, 0)
    props = call.receiver.props or {}
    url = props["url"].text if "url" in props else None
    if method in ("src=", "href=") and (owner in ("(image)", "location", "document.location") or first.has("captured")):
        effects.send(first.text, [first])
        return NOTHING
    if owner.startswith("(shell)"):
        if (method in ("write", "end") or "stdin" in owner) and first.has("socket", "fetched"):
            effects.hit("shell-handed-over")
        if method == "pipe" and first.has("socket"):
            effects.hit("shell-handed-over")
        return Value(name=owner) if method == "on" else NOTHING
    if owner in ("(request)", "(websocket)", "(socket)") and method in _SENDING:
        effects.send(url, call.args)
        return call.receiver
    if owner == "(request)" and method in _CHAINED:
        return call.receiver
    if owner == "(udp)" and method == "send":
        texts = [arg.exact for arg in call.args if arg.exact is not None and not arg.exact.isdigit()]
        effects.send(f"udp://{texts[-1] if texts else HOLE}", call.args[:1])
        return NOTHING
    if owner == "(socket)" and method == "pipe" and first.name.startswith("(shell)"):
        effects.hit("shell-handed-over")
        return NOTHING
    if owner == "(socket)" and method == "connect" and call.receiver.props is not None:
        call.receiver.props.update(_connected(call).props or {})
        return call.receiver
    if owner == "(xhr)" and method == "open" and call.receiver.props is not None:
        call.receiver.props["url"] = argument(call, 1)
        return NOTHING
    if owner == "(mailer)" and method == "sendMail":
        effects.send(url, call.args)
        return NOTHING
    if owner == "(xhr)" and method == "send":
        effects.send(url, [*call.args, props.get("url", NOTHING)])
        return NOTHING
    return None


def handed(effects: Effects, call: Call, method: str) -> None:
    """A client of a service that is not known here is given something: keys of others have no business in it."""
    if method in _PUTTING and (secret := effects.read(argument(call, 0))):
        effects.handed([Value(marks=secret)])
    if method in _HANDING and not call.receiver.name.startswith(_OWN) and any(everything(arg) for arg in call.args):
        effects.handed(call.args)
