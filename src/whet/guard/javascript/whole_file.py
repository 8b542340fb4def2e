"""What only shows in a file as a whole: a clipboard that is watched, keys that are logged, files held to ransom."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.taint.harm import judge_together, names_wallet
from whet.guard.taint.mark import Mark
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from whet.guard.javascript.effects import Effects
    from whet.guard.javascript.expressions import Call

_AGAIN = re.compile(
    rb"\bsetInterval\s{0,9}\(|\bwhile\s{0,9}\(\s{0,9}(?:true|1|!0)\s{0,9}\)|\bfor\s{0,9}\(\s{0,9};\s{0,9};"
)
_KEYBOARD = expression(r"^(?:iohook|uiohook-napi|uiohook|node-global-key-listener|keylogger\.js|gkm|keysender)\b")
_TYPING = frozenset({"keydown", "keypress", "keyup"})
_ALL_KEYS = frozenset({Mark("captured", "pressed keys", whole=True)})


def conclude(effects: Effects, source: bytes) -> None:
    """What follows from all that a file does."""
    did = effects.did
    if "pastes" in did and "copies" in did and names_wallet(source.decode("utf-8", "replace")):
        did.setdefault("wallet", did["copies"])
    if _AGAIN.search(source):
        did.setdefault("repeats", 1)
    rows = source.split(b"\n")
    for effects.line, one in judge_together(did):
        evidence = rows[effects.line - 1][:300].decode("utf-8", "replace") if effects.line <= len(rows) else ""
        effects.hit(one.rule, one.severity, evidence=evidence, message=one.message)


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
