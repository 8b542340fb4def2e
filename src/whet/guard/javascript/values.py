"""JavaScript values: joining, member access, and evaluation of constant expressions."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.tables import api, load_toml
from whet.guard.taint.containers import concatenated, one_of
from whet.guard.taint.mark import ENVIRONMENT, NO_MARKS, Mark
from whet.guard.taint.names import named, variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, union
from whet.guard.taint.value import joined as alternative

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

LONGEST = 60_000
"""Maximum length of a constant text."""
_MOST_ITEMS = 4000
GET, SET, APPLY = "(get)", "(set)", "(apply)"
"""Pseudo-members of an object that are called when it is read, when it is written to, and when it is called."""


def maybe(text: str | None) -> Any:
    """Return the constant for a text, or `UNKNOWN` for None."""
    return UNKNOWN if text is None else text[:LONGEST]


def constant(text: str, *, pieced: bool = False) -> Value:
    """Return the value of a known text."""
    return Value(text[:LONGEST], hidden="split" if pieced else "")


def either(first: Value, second: Value) -> Value:
    """Return either of two values: the text of the first that has one, the marks of both."""
    return alternative(second, first)


_MODULE = expression(r"^(?:node:)?([\w@./-]+)$")
GLOBALS = frozenset({"globalThis", "window", "global", "self", "top", "root"})
_DROPPED = frozenset({"default", "promises", "strict", "posix", "win32"})


def module(name: str) -> Value:
    """Return the result of `require(name)`."""
    found = _MODULE.match(name)
    bare = found[1] if found else name
    return Value(name=load_toml("javascript_api")["modules"].get(bare, bare)[:100])


_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", "/index.js", "/index.mjs", "/index.ts")


def find_module(importer: str, name: str, paths: Collection[str]) -> str | None:
    """Return the file of a package that `importer` names by a relative path, or a script by its file name alone."""
    if "/" not in name:
        return next((one for one in paths if one.endswith(f"/{name}")), None)
    base = posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
    return next((base + ending for ending in _ENDINGS if base + ending in paths), None)


def member(owner: Value, name: str) -> Value:
    """Return the value of `owner.name`."""
    if owner.props is not None and name in owner.props:
        return owner.props[name]
    if owner.name == "process.env":
        return variable(constant(name))
    if name == "constructor" and (owner.fn or owner.name in ("(prototype)", "Function")):
        return Value(name="Function")
    marks = owner.marks
    if marks:
        if name == "length" or owner.name in load_toml("javascript_api")["stores"]:
            marks = frozenset()
        elif ENVIRONMENT in marks:
            marks = marks - {ENVIRONMENT} | variable(constant(name)).marks
    if not owner.name:
        return Value(marks=marks) if marks else NOTHING
    if owner.name in GLOBALS:
        return Value(name=name)
    if name in _DROPPED and owner.name in ("fs", "dns", "path", "timers"):
        return owner
    if name == "default":
        return owner
    found = named("javascript", f"{owner.name}.{name}"[:200], marks)
    return found.but(path=owner.path) if owner.path else found


_ESCAPE = expression(r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|(\r?\n)|(.))", re.DOTALL)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def unescaped(text: str) -> str:
    """Return the text of a string literal with its escapes resolved."""
    if "\\" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        if digits:
            number = int(digits, 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
        return "" if found[4] else _SINGLE.get(found[5], found[5])

    return _ESCAPE.sub(one, text)


_CALLS_ON_TEXT = api("javascript", "calls_on_text")


def text_call(receiver: Value, method: str, args: Sequence[Value]) -> Value | None:
    """Return the result of a method of a known text; None if it is unknown."""
    text = receiver.exact
    if text is None or method not in _CALLS_ON_TEXT or receiver.name:
        return None
    words = [arg.exact for arg in args]
    first = words[0] if words else None
    match method:
        case "toString" | "valueOf" | "normalize":
            return receiver.but(const=text)
        case "trim" | "trimEnd" | "trimStart":
            return receiver.but(const=text.strip())
        case "toLowerCase" | "toUpperCase":
            return receiver.but(const=text.lower() if method == "toLowerCase" else text.upper())
        case "split" if first is not None:
            pieces = list(text[:_MOST_ITEMS]) if first == "" else text.split(first)[:2000]
            return Value(marks=receiver.marks, items=tuple(constant(piece, pieced=True) for piece in pieces))
        case "match" if args and (pattern := regex_of(args[0])) is not None:
            return Value(
                marks=receiver.marks, items=tuple(constant(one[0], pieced=True) for one in pattern.finditer(text))
            )
        case "replace" | "replaceAll" if len(words) > 1 and words[1] is not None:
            return _replaced(receiver, text, args[0], words[1], once=method == "replace")
        case "concat":
            return concatenated((receiver, *args))
        case "charCodeAt" | "codePointAt" if not args or isinstance(args[0].const, int):
            at = args[0].const if args else 0
            return Value(ord(text[at]) if 0 <= at < len(text) else UNKNOWN, marks=receiver.marks)
        case "slice" | "substring" | "substr" | "charAt" | "at" | "subarray":
            start, end = cut(method, args)
            return None if start is None else receiver.but(const=text[start:end], hidden=receiver.hidden or "split")
        case _:
            return None


def cut(method: str, args: Sequence[Value]) -> tuple[int | None, int | None]:
    """Return the start and end of a call such as `slice`; the start is None if it is unknown."""
    numbers = [arg.const for arg in args[:2]]
    if not all(isinstance(number, int) for number in numbers):
        return None, None
    start = numbers[0] if numbers else 0
    if method in ("charAt", "at"):
        return start, start + 1 or None
    end = numbers[1] if len(numbers) > 1 else None
    if method == "substr" and end is not None:
        end = start + end if start >= 0 else None
    return start, end


def regex_of(value: Value) -> re.Pattern[str] | None:
    """Return the Python form of a JavaScript regular expression; None if it is too complex."""
    if value.name != "(expression)" or len(value.path) > 80 or re.search(r"[*+}]\)?[*+{]|\(\?|\\[0-9]", value.path):
        return None
    pattern, _, flags = value.path.rpartition("/")
    try:
        return re.compile(pattern, re.IGNORECASE if "i" in flags else 0)
    except re.error:
        return None


def _replaced(receiver: Value, text: str, what: Value, new: str, *, once: bool) -> Value | None:
    if what.exact:
        put = text.replace(what.exact, new, 1 if once else -1)
    elif (pattern := regex_of(what)) is not None and "$" not in new:
        put = pattern.sub(lambda _: new, text[:LONGEST], 0 if "g" in what.path.rpartition("/")[2] else 1)
    else:
        return None
    return receiver.but(const=put[:LONGEST], hidden=receiver.hidden or "split")


def list_call(receiver: Value, method: str, args: Sequence[Value]) -> Value | None:
    """Return the result of a method of a known list; None if it is unknown."""
    items = receiver.items
    if items is None:
        return None
    first = args[0].exact if args else None
    match method:
        case "join":
            put = concatenated(items, "," if not args else first or "", pieced=len(items) > 1)
            return put.but(marks=put.marks | receiver.marks)
        case "reverse" | "toReversed":
            turned = frozenset({Mark("decoded", "reversal")}) if len(items) > 15 and items[0].hidden else NO_MARKS
            return receiver.but(items=items[::-1], marks=receiver.marks | turned)
        case "concat":
            more = [item for arg in args for item in (arg.items if arg.items is not None else (arg,))]
            return receiver.but(items=(*items, *more)[:_MOST_ITEMS], marks=union((receiver, *args)))
        case "slice":
            start, end = cut(method, args)
            return receiver if start is None else receiver.but(items=items[start:end])
        case "filter":
            return receiver
        case "push" | "unshift":
            return Value(marks=union((receiver, *args)))
        case "next":
            return Value(props={"value": one_of(items) if items else NOTHING})
        case "shift" | "pop":
            return items[0] if items and method == "shift" else NOTHING
        case _:
            return None
