"""The functions of .NET that need more than a judge, for C# and PowerShell: encodings, certificates, directories with a name."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from whet.guard.hosts import URL
from whet.guard.tables import shape
from whet.guard.taint import execute
from whet.guard.taint.containers import gathered
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whet.guard.code.reader import Reader
    from whet.guard.code.syntax import Node
    from whet.guard.taint.call import Call

_FOLDERS = {
    "localapplicationdata": "~/AppData/Local", "applicationdata": "~/AppData/Roaming", "mydocuments": "~/Documents", "personal": "~/Documents",
    "desktop": "~/Desktop", "desktopdirectory": "~/Desktop", "startup": "~/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup", "mypictures": "~/Pictures",
    "windows": "C:/Windows", "system": "C:/Windows/System32", "programfiles": "C:/Program Files", "commonapplicationdata": "C:/ProgramData",
}  # fmt: skip


def _folder(_reader: Reader, call: Call) -> Value:
    """Return a directory that .NET has a name for."""
    which = call.arg(0).said or call.arg(0).name.rpartition(".")[2]
    return Value(_FOLDERS.get(which.lower(), "~"))


def _encode(_reader: Reader, call: Call) -> Value:
    """Return a text as bytes, or bytes as text, in the encoding that the owner names."""
    way = "utf-16-le" if call.owner.name.endswith("Unicode") else "utf-8"
    given = call.arg(0)
    if call.verb == "GetBytes":
        random = call.owner.name.startswith(("RandomNumberGenerator", "RNGCryptoServiceProvider"))
        if random and call.node.parts[1:]:
            _reader.assign(call.node.parts[1], Value(name="os.urandom"), call.scope)
        return given.but(const=given.said.encode(way)) if given.exact else given
    if call.verb == "ToBase64String":
        data = given.const.encode() if isinstance(given.const, str) and given.exact else given.const
        return given.but(const=base64.b64encode(data).decode()) if isinstance(data, bytes) else given
    return given.but(const=given.const.decode(way, "replace")) if isinstance(given.const, bytes) else given


def _set_variable(reader: Reader, call: Call) -> Value:
    """Judge an environment variable that is set, perhaps for everything that runs later."""
    name, value = call.arg(0), call.arg(1)
    reader.exported[name.said] = value
    if shape("harm", "unchecked").search(f"{name.said}={value.said}"):
        reader.hit("tls-unverified", "warn")
    return NOTHING


def _trust(reader: Reader, call: Call) -> Value:
    """Judge what replaces the verification of certificates; a comparison with a fixed certificate is one."""
    given = call.arg(0)
    if given.fn is not None or given.const is True or given.name:
        pinned = given.fn is not None and any(one.text in _FIXED for one in _nodes(given.fn[0].parts))
        reader.hit("tls-unverified", "info" if pinned else "warn")
    return NOTHING


_FIXED = frozenset(("Thumbprint", "GetCertHashString", "GetPublicKeyString", "GetRawCertData"))
"""What a comparison with a fixed certificate asks for."""


def _nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _nodes(node.parts)


def _store(reader: Reader, call: Call) -> Value:
    """Return a store of certificates, or judge one that is added to those that the machine trusts."""
    if call.verb == "X509Store":
        return Value(name="(store)", path=" ".join(one.said for one in call.args))
    if re.search(r"\broot\b", call.owner.path, re.IGNORECASE):
        reader.hit("protection-off", "critical" if call.arg(0).has("fetched") else None)
    return NOTHING


_MOST = 200
"""Maximum number of letters of a text that are read one by one."""
_BARE = shape("shell_signs", "bare", re.IGNORECASE)
"""An address without a scheme."""


def _run_code(reader: Reader, call: Call) -> Value:
    """Judge a text that is run as PowerShell. People install programs so, if they know from where."""
    code = call.part(call.row.at)
    address = code.has("fetched")[0].subject if code.has("fetched") else HOLE
    if code.text is None and HOLE not in address and (URL.fullmatch(address) or _BARE.match(address)):
        reader.report(execute.judge_piped(code.marks, "run"))
        return code
    execute.evaluate(reader, code, call.verb)
    return code


def _capture_screen(reader: Reader, call: Call) -> Value:
    """Put a picture of the screen into an image."""
    mark = Mark("captured", "a screenshot", call.name, whole=True)
    target = call.node.parts[0].parts[0]
    reader.fill(target, call.owner, call.scope, Value(marks=frozenset((mark,))))
    return NOTHING


def _reverse(reader: Reader, call: Call) -> Value:
    """Turn a list around, in the variable that holds it."""
    items = call.arg(0).items
    if items is not None and len(call.node.parts) > 1 and call.node.parts[1].kind == "name":
        name = call.node.parts[1].text
        call.scope.home(name).names[name] = reader.elsewhere[name] = gathered(items[::-1])
    return NOTHING


def _letters(_reader: Reader, call: Call) -> Value:
    """Return the letters of a text."""
    text = call.owner.exact
    return call.owner if text is None else gathered([Value(one, marks=call.owner.marks) for one in text[:_MOST]])


def _entries(_reader: Reader, call: Call) -> Value:
    """Return the entries of a map, each with its key and value."""
    props = call.owner.props
    if props is None:
        return call.owner
    pairs = ((Value(name, marks=one.marks), one) for name, one in props.items())
    return gathered([Value(props={"Key": key, "Name": key, "Value": one}, marks=one.marks) for key, one in pairs])


DOTNET: dict[str, Callable[[Reader, Call], Value | None]] = {
    "folder": _folder, "encode": _encode, "set variable": _set_variable, "trust": _trust, "store": _store, "run code": _run_code,
    "capture screen": _capture_screen, "reverse": _reverse, "letters": _letters, "entries": _entries,
}  # fmt: skip
"""These functions by their names in the table."""
