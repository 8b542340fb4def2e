"""What an expression of JavaScript is worth to the guard: its text as far as it is known, its name, and its marks.

The text of a value may have holes (`HOLE`) where something unknown goes in, so that `"https://" + host + "/x"` is still
a URL and `path.join(os.homedir(), ".ssh", name)` still a place. The name is the way to it from a module or a global
(`child_process.exec`), whatever it is called in the file. Marks say where it comes from: a secret place, all of the
environment, the network, a decoder.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.places import places
from whet.guard.tables import api
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.secret import secret_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.guard.taint.mark import Kind

LONGEST = 60_000
"""Characters of a text that are kept."""
_MOST_MARKS = 12
_MOST_CHOICES = 12
_MOST_PARTS = 300
_HOME = {
    "HOME": "~", "USERPROFILE": "~", "HOMEPATH": "~", "APPDATA": "~/AppData/Roaming", "LOCALAPPDATA": "~/AppData/Local",
}  # fmt: skip


class Value(NamedTuple):
    """What is known of an expression."""

    text: str | None = None
    name: str = ""
    marks: frozenset[Mark] = NO_MARKS
    items: tuple[Value, ...] | None = None
    props: dict[str, Value] | None = None
    function: int = 0
    """The number of the function it is, 0 when it is none."""
    pieced: bool = False
    """Its text was put together from pieces or decoded."""
    choices: tuple[str, ...] = ()
    """Other texts that it may have: the rest of a list in a loop, what else a function returns."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that it may have."""
        return (self.text, *self.choices) if self.text is not None else self.choices

    @property
    def exact(self) -> str | None:
        """The text when there is no hole in it."""
        return self.text if self.text is not None and HOLE not in self.text else None

    def has(self, *kinds: Kind) -> list[Mark]:
        """The marks of some kinds, in a stable order."""
        return sorted(mark for mark in self.marks if mark.kind in kinds)


NOTHING = Value()


def constant(text: str, *, pieced: bool = False) -> Value:
    """A known text."""
    return Value(text[:LONGEST], pieced=pieced)


def merged(values: Iterable[Value]) -> frozenset[Mark]:
    """All marks of some values."""
    marks: frozenset[Mark] = frozenset()
    for value in values:
        if value.marks:
            marks |= value.marks
    return marks if len(marks) <= _MOST_MARKS else frozenset(sorted(marks)[:_MOST_MARKS])


def joined(parts: Sequence[Value], separator: str = "", *, pieced: bool = True) -> Value:
    """Values one after the other, as `+`, a template or `join` make them."""
    texts = [HOLE if part.text is None else part.text for part in parts]
    known = any(text != HOLE for text in texts)
    put = separator.join(texts)[:LONGEST] if known or not parts else None
    literal = len(parts) > 1 and sum(part.exact is not None for part in parts) > 1
    choices: tuple[str, ...] = ()
    for number, part in enumerate(parts):
        if part.choices and known:
            before, after = texts[:number], texts[number + 1 :]
            choices = tuple(separator.join((*before, text, *after))[:LONGEST] for text in part.choices)
            break
    return Value(put, "", merged(parts), None, None, 0, (pieced and literal) or any(p.pieced for p in parts), choices)


def everything(value: Value) -> frozenset[Mark]:
    """The marks of a value and of what is in it, as far as a few hundred parts go."""
    if not value.props and not value.items:
        return value.marks
    marks, parts, at = set(value.marks), [value], 0
    while at < len(parts) and at < _MOST_PARTS:
        one = parts[at]
        at += 1
        marks |= one.marks
        if len(parts) < _MOST_PARTS:
            parts += list((one.props or {}).values())[:60]
            parts += (one.items or ())[:60]
    return frozenset(sorted(marks)[:_MOST_MARKS]) if len(marks) > _MOST_MARKS else frozenset(marks)


def written(value: Value, room: int = 8000) -> str:
    """A value about as JSON writes it, as far as it is known and there is room."""
    if value.props is not None or value.items is not None:
        pieces: list[str] = []
        for name, inner in [*(value.props or {}).items(), *(("", item) for item in value.items or ())][:60]:
            if room < 40:
                break
            room //= 2
            pieces.append((f'"{name}": ' if name else "") + written(inner, room))
            room = max(0, 2 * room - len(pieces[-1]))
        return ("{%s}" if value.items is None else "[%s]") % ", ".join(pieces)
    return HOLE if value.text is None else f'"{value.text[: max(room, 40)]}"'


def either(first: Value, second: Value) -> Value:
    """One of two: the text of the first that has one, the marks of both."""
    if first is second or second is NOTHING:
        return first
    if first is NOTHING:
        return second
    return Value(
        first.text if first.text is not None else second.text,
        first.name or second.name,
        merged((first, second)),
        first.items if first.items is not None else second.items,
        first.props if first.props is not None else second.props,
        first.function or second.function,
        first.pieced or second.pieced,
        _alternatives(first, second) if first.text is not None and second.texts else first.choices or second.choices,
    )


def _alternatives(first: Value, second: Value) -> tuple[str, ...]:
    if second.text == first.text and not second.choices:
        return first.choices
    return tuple(dict.fromkeys(text for text in (*first.choices, *second.texts) if text != first.text))[:_MOST_CHOICES]


def one_of(items: Sequence[Value]) -> Value:
    """What a loop over some values has in hand: the one that names a secret place, else the first, and the others."""
    if not items:
        return NOTHING
    first = items[0]
    for item in items[:50]:
        said = item.text or (written(item, 400) if item.props or item.items else "")
        if said and any(place.kind == "secret" for place in places(f"~/{said}")):
            first = item
            break
    others = dict.fromkeys(text for item in items[:_MOST_CHOICES] for text in item.texts if text != first.text)
    return first._replace(choices=tuple(others)[:_MOST_CHOICES]) if others else first


_MODULE = re.compile(r"^(?:node:)?([\w@./-]+)$")
_SAME = {
    "fs-extra": "fs",
    "fs/promises": "fs",
    "graceful-fs": "fs",
    "dns/promises": "dns",
    "cross-spawn": "child_process.spawn",
    "node-fetch": "fetch",
    "cross-fetch": "fetch",
    "isomorphic-fetch": "fetch",
    "undici": "undici",
    "ws": "WebSocket",
    "original-fs": "fs",
}
_STORES = frozenset({"localStorage", "sessionStorage"})
_TYPED = frozenset({Mark("captured", "pressed keys")})
_KEY_NAMES = frozenset({"key", "keyCode", "code", "which", "charCode", "char"})
_GLOBALS = frozenset({"globalThis", "window", "global", "self", "top", "root"})
_DROPPED = frozenset({"default", "promises", "strict", "posix", "win32"})


def module(name: str) -> Value:
    """What `require(name)` gives."""
    found = _MODULE.match(name)
    bare = found[1] if found else name
    return Value(name=_SAME.get(bare, bare)[:100])


def variable(*names: str) -> frozenset[Mark]:
    """The marks of variables of the environment that hold secrets."""
    return frozenset(mark for name in names[:12] if (mark := secret_key(name)) is not None)


def member(owner: Value, name: str) -> Value:
    """`owner.name`."""
    if owner.props is not None and name in owner.props:
        return owner.props[name]
    if owner.name == "process.env":
        return Value(text=_HOME.get(name), marks=variable(name))
    if name == "constructor" and (owner.function or owner.name in ("(prototype)", "Function")):
        return Value(name="Function")
    marks = owner.marks
    if marks:
        if name == "length" or owner.name in _STORES:
            marks = frozenset()
        elif owner.name == "(event)":
            return Value(marks=_TYPED) if name in _KEY_NAMES else NOTHING
        elif ENVIRONMENT in marks:
            marks = marks - {ENVIRONMENT} | variable(name)
    if not owner.name:
        return Value(marks=marks) if marks else NOTHING
    if owner.name in _GLOBALS:
        return Value(name=name)
    if name in _DROPPED and owner.name in ("fs", "dns", "path", "timers"):
        return owner
    if name == "default":
        return owner
    return _named(f"{owner.name}.{name}"[:200], marks)


def _named(name: str, marks: frozenset[Mark]) -> Value:
    match name:
        case "process.env" | "Bun.env" | "import.meta.env":
            return Value(name="process.env", marks=frozenset({ENVIRONMENT}))
        case "document.cookie":
            return Value(name=name, marks=frozenset({Mark("captured", "the cookies of the page", grave=True)}))
        case "process.mainModule.require" | "module.require" | "require.main.require" | "module.constructor._load":
            return Value(name="require")
        case "__dirname" | "process.cwd":
            return Value(name=name, text=None)
        case "process.execPath" | "process.argv0":
            return Value("node", name)
        case "path.sep":
            return Value("/", name)
        case _:
            return Value(name=name, marks=marks)


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|(\r?\n)|(.))", re.DOTALL)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def unescaped(text: str) -> str:
    """A string literal's text with its escapes resolved."""
    if "\\" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        if digits:
            number = int(digits, 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
        return "" if found[4] else _SINGLE.get(found[5], found[5])

    return _ESCAPE.sub(one, text)


def decoded(text: str, encoding: str) -> str | None:
    """What base64 or hex text stands for, when it is text at all."""
    squeezed = "".join(text.split())[: LONGEST * 2]
    try:
        if encoding == "hex":
            data = bytes.fromhex(squeezed)
        elif encoding in ("base64", "base64url"):
            plain = squeezed.replace("-", "+").replace("_", "/").rstrip("=")
            data = base64.b64decode(plain + "=" * (-len(plain) % 4))
        else:
            return text
        return data.decode("utf-8")
    except (ValueError, binascii.Error):
        return None


_CALLS_ON_TEXT = api("javascript", "calls_on_text")


def text_call(receiver: Value, method: str, args: Sequence[Value]) -> Value | None:
    """A method of a known text, where its result is known too."""
    text = receiver.exact
    if text is None or method not in _CALLS_ON_TEXT or receiver.name:
        return None
    words = [arg.exact for arg in args]
    first = words[0] if words else None
    match method:
        case "toString" | "trim" | "valueOf" | "trimEnd" | "trimStart" | "normalize":
            return receiver._replace(text=text.strip() if method.startswith("trim") else text)
        case "toLowerCase" | "toUpperCase":
            return receiver._replace(text=text.lower() if method == "toLowerCase" else text.upper())
        case "split" if first is not None:
            pieces = list(text[:4000]) if first == "" else text.split(first)[:2000]
            return Value(marks=receiver.marks, items=tuple(constant(piece, pieced=True) for piece in pieces))
        case "replace" | "replaceAll" if first and len(words) > 1 and words[1] is not None:
            put = text.replace(first, words[1], 1 if method == "replace" else -1)
            return receiver._replace(text=put[:LONGEST], pieced=True)
        case "concat":
            return joined((receiver, *args))
        case "repeat" if first is not None and first.isdigit() and len(text) * int(first[:6]) <= LONGEST:
            return receiver._replace(text=text * int(first[:6]), pieced=True)
        case "slice" | "substring" | "substr" | "charAt" | "at":
            return _cut(receiver, text, method, words)
        case _:
            return None


def _cut(receiver: Value, text: str, method: str, words: Sequence[str | None]) -> Value | None:
    numbers = []
    for word in words[:2]:
        if word is None or not re.fullmatch(r"-?\d{1,6}", word):
            return None
        numbers.append(int(word))
    start = numbers[0] if numbers else 0
    if method in ("charAt", "at"):
        return receiver._replace(text=text[start : start + 1 or None], pieced=True)
    end = numbers[1] if len(numbers) > 1 else None
    if method == "substr" and end is not None:
        end = start + end if start >= 0 else None
    return receiver._replace(text=text[start:end], pieced=True)


def list_call(receiver: Value, method: str, args: Sequence[Value]) -> Value | None:
    """A method of a known list, where its result is known too."""
    items = receiver.items
    if items is None:
        return None
    first = args[0].exact if args else None
    match method:
        case "join":
            put = joined(items, "," if not args else first or "", pieced=len(items) > 1)
            return put._replace(marks=put.marks | receiver.marks)
        case "reverse":
            turned = frozenset({Mark("decoded", "reversal")}) if len(items) > 15 and items[0].pieced else NO_MARKS
            return receiver._replace(items=items[::-1], marks=receiver.marks | turned)
        case "concat":
            more = [item for arg in args for item in (arg.items if arg.items is not None else (arg,))]
            return receiver._replace(items=(*items, *more)[:4000], marks=merged((receiver, *args)))
        case "slice" | "filter" | "flat":
            return receiver
        case "push" | "unshift":
            return Value(marks=merged((receiver, *args)))
        case "shift" | "pop" | "at":
            return items[0] if items and method == "shift" else NOTHING
        case _:
            return None
