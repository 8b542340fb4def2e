"""Undoing in thought what a script undoes at run time: character codes, base64, hex, escapes, compression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.javascript.values import NOTHING, Mark, Value, decoded, merged

if TYPE_CHECKING:
    from whet.guard.javascript.effects import Effects
    from whet.guard.javascript.expressions import Call

_CODES = re.compile(r"%([0-9a-fA-F]{2})")


def first_of(call: Call) -> Value:
    """The first argument."""
    return call.args[0] if call.args else NOTHING


def characters(_effects: Effects, call: Call) -> Value:
    """`String.fromCharCode` and an array of bytes: the text they spell."""
    codes = [item for arg in call.args for item in (arg.items if arg.items is not None else (arg,))]
    out = []
    for code in codes:
        text = code.exact
        if text is None or not text.isdigit() or len(text) > 7 or int(text) > 0x10FFFF:
            return Value(marks=merged(codes) | {Mark("decoded", "character codes")})
        out.append(chr(int(text)) if not 0xD800 <= int(text) < 0xE000 else "\ufffd")
    marks = frozenset({Mark("decoded", "character codes")}) if len(out) > 3 else frozenset[Mark]()
    return Value("".join(out), marks=marks, pieced=True)


def base64(_effects: Effects, call: Call) -> Value:
    """`atob`."""
    return _decode(first_of(call), "base64")


def _decode(value: Value, encoding: str) -> Value:
    text = decoded(value.exact, encoding) if value.exact is not None else None
    return Value(text, marks=value.marks | {Mark("decoded", encoding)}, pieced=True)


def buffer(effects: Effects, call: Call) -> Value:
    """`Buffer.from(text, encoding)`."""
    first, encoding = first_of(call), (call.args[1] if len(call.args) > 1 else NOTHING).exact
    if first.items and len(first.items) > 3:
        return characters(effects, call._replace(args=(first,)))
    if encoding in ("base64", "hex", "base64url"):
        for mark in first.has("file"):
            effects.fact("assemble", "decodes a file", mark.what)
        return _decode(first, encoding)
    return Value(first.text, marks=first.marks, pieced=first.pieced)


_DATA = re.compile(r"data:[^,]{0,100}?(;base64)?,", re.IGNORECASE)


def data_url(value: Value) -> Value:
    """The code in a `data:` address."""
    found = _DATA.match(value.text or "")
    if found is None or value.exact is None:
        return Value(marks=value.marks)
    inner = value.exact[found.end() :]
    text = decoded(inner, "base64") if found[1] else _CODES.sub(lambda code: chr(int(code[1], 16)), inner)
    return Value(text, marks=value.marks | {Mark("decoded", "data address")}, pieced=True)


def unescape(_effects: Effects, call: Call) -> Value:
    """Percent escapes undone."""
    first = first_of(call)
    text = first.exact
    if text is None or text.count("%") < 3:
        return first
    return Value(_CODES.sub(lambda found: chr(int(found[1], 16)), text), marks=first.marks, pieced=True)


def unpacked(effects: Effects, call: Call) -> Value:
    """Decompressed or decrypted."""
    first = merged(call.args)
    for mark in Value(marks=first).has("file"):
        effects.fact("assemble", "unpacks a file", mark.what)
    return Value(marks=first | {Mark("decoded", "compression")})
