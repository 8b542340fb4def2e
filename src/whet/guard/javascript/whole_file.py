"""What only shows in a file as a whole: a clipboard that is watched, keys that are logged, files held to ransom."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.javascript.values import NOTHING, Value
from whet.guard.taint.mark import Mark

if TYPE_CHECKING:
    from whet.guard.javascript.commands import Commands
    from whet.guard.javascript.expressions import Call

_AGAIN = re.compile(
    rb"\bsetInterval\s{0,9}\(|\bwhile\s{0,9}\(\s{0,9}(?:true|1|!0)\s{0,9}\)|\bfor\s{0,9}\(\s{0,9};\s{0,9};"
)
_ADDRESS_SHAPE = re.compile(rb"\(?(?:bc1|\[13\])[^\n]{0,40}\{2\d,|0x\[[^\]\n]{3,20}\]\{40\}")
"""An expression that knows wallet addresses."""
_KEYBOARD = re.compile(r"^(?:iohook|uiohook-napi|uiohook|node-global-key-listener|keylogger\.js|gkm|keysender)\b")
_TYPING = frozenset({"keydown", "keypress", "keyup"})
_ALL_KEYS = frozenset({Mark("captured", "pressed keys", whole=True)})


def conclude(effects: Commands, source: bytes) -> None:
    """What follows from all that a file does."""
    did = effects.did
    if "reads clipboard" in did:
        swaps = "writes an address" in did or ("writes clipboard" in did and _ADDRESS_SHAPE.search(source))
        if swaps or ("sends clipboard" in did and _AGAIN.search(source)):
            _report(effects, "js-clipboard-watch", did["reads clipboard"])
    if "writes encrypted" in did and "walks home" in did and ("removes files" in did or "writes a note" in did):
        _report(effects, "encrypts-files", did["writes encrypted"])


def _report(effects: Commands, rule: str, line: int) -> None:
    rows = effects.program.source.split(b"\n") if effects.program else []
    effects.line = line
    effects.hit(rule, evidence=rows[line - 1][:300].decode("utf-8", "replace") if line <= len(rows) else "")


def hooks_keys(name: str) -> bool:
    """Is this a library that sees every key of the machine?"""
    return _KEYBOARD.match(name) is not None


def listening(call: Call) -> Value:
    """What a listener is given: an event with a key in it, or all keys of the machine."""
    if hooks_keys(call.receiver.name):
        return Value(name="", marks=_ALL_KEYS)
    if call.args and call.args[0].exact in _TYPING:
        return Value(name="(event)", marks=frozenset({Mark("captured", "an event")}))
    return NOTHING
