"""The commands and operators of PowerShell that change texts, lists and maps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.code.conditions import search_pattern
from whet.guard.taint.containers import concatenated, gathered
from whet.guard.taint.value import NOTHING, Scope, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.code.powershell import PowerShell
    from whet.guard.taint.call import Call

_MOST = 200
"""Maximum number of letters or parts of a text that are read one by one."""
_LONGEST = 2000
"""Maximum length of a text that is searched with a pattern of the program."""


def _join(_reader: PowerShell, call: Call) -> Value:
    """Return the items of a list as one text."""
    items = call.owner.items
    return concatenated(items, call.arg(0).said, pieced=False) if items is not None else call.owner


def _split(_reader: PowerShell, call: Call) -> Value | None:
    """Return the parts of a text between matches of a pattern."""
    text, pattern = call.owner.exact, search_pattern(call.arg(0).said or r"\s+", 2)
    if text is None or pattern is None or len(text) > _LONGEST:
        return Value(marks=call.owner.marks)
    return gathered([Value(one, marks=call.owner.marks) for one in pattern.split(text, _MOST) if one is not None])


def _replace(_reader: PowerShell, call: Call) -> Value:
    """Return a text with other text in some places."""
    text, pattern, new = call.arg(0), search_pattern(call.arg(1).said, 2), call.arg(2).said
    marks = text.marks | call.arg(2).marks
    if text.text is None or pattern is None or len(text.said) > _LONGEST:
        return Value(marks=marks)
    groups = re.sub(r"\$(\d)", r"\\g<\1>", new.replace("\\", "\\\\"))
    try:
        return text.but(const=pattern.sub(groups, text.said), marks=marks)
    except (re.error, IndexError):
        return text.but(marks=marks)


def _characters(_reader: PowerShell, call: Call) -> Value:
    """Return the characters of numbers."""
    codes = [one.const for one in call.arg(0).items or [call.arg(0)]]
    if not all(isinstance(one, int) and 0 < one < 0x110000 for one in codes):
        return call.arg(0)
    texts = [Value(chr(one)) for one in codes]
    return texts[0] if len(texts) == 1 else gathered(texts)


def _select(_reader: PowerShell, call: Call) -> Value:
    """Return some items of a list by their places."""
    items = call.owner.items
    if items is None:
        return call.owner
    given = {word: int(one.said) for word, one in call.words.items() if one.said.isascii() and one.said.isdecimal()}
    items = items[given.get("skip", 0) :][: given.get("first")]
    items = items[-given["last"] :] if given.get("last") else items
    items = items[given["index"] :][:1] if "index" in given else items
    return items[0] if len(items) == 1 else gathered(items).but(marks=call.owner.marks)


def _read_map(_reader: PowerShell, call: Call) -> Value:
    """Return the map that a text of lines such as `name = value` describes."""
    text = call.owner if call.owner is not NOTHING else call.part(call.row.at)
    pairs = (row.partition("=") for row in text.said[:_LONGEST].split("\n") if "=" in row)
    props = {name.strip(): Value(value.strip(), marks=text.marks) for name, _, value in pairs}
    return Value(props=props, marks=text.marks)


def _compare(_reader: PowerShell, call: Call) -> Value:
    """Return the items of a list that a condition may hold for; of anything else, nothing is known."""
    return call.owner if call.owner.items is not None else NOTHING


def _keep_input(_reader: PowerShell, call: Call) -> Value:
    """Return the argument or the input unchanged."""
    return call.part((*call.row.at, "owner"))


def _add_member(reader: PowerShell, call: Call) -> Value:
    """Return an object with one more member."""
    at = len(call.args) > 2
    name = call.part(("notepropertyname", "name", int(at))).said
    value = call.part(("notepropertyvalue", "value", 1 + at))
    found = call.part(("inputobject", "owner"))
    kind = call.part(("membertype", 0)).said.lower()
    if kind == "scriptproperty" and value.fn is not None:
        value = reader.invoke(value.fn[0], [], _with_this(value.fn[1], found))
        call.args, call.words = [], {}
    elif kind == "aliasproperty":
        value = (found.props or {}).get(value.said, value)
    found = found.but(props={**(found.props or {}), name or "?": value})
    callee = call.node.parts[0]
    if callee.kind == "member" and callee.parts[0].kind in ("name", "member"):
        reader.assign(callee.parts[0], found, call.scope, grows=True)
    return found


def _with_this(scope: Scope, owner: Value) -> Scope:
    inner = Scope(scope)
    inner.names["this"] = owner
    return inner


SHAPING: dict[str, Callable[[PowerShell, Call], Value | None]] = {
    "join": _join, "split by pattern": _split, "replace": _replace, "characters": _characters,
    "select": _select, "read map": _read_map, "compare": _compare, "keep input": _keep_input, "add member": _add_member,
}  # fmt: skip
"""These functions by their names in the table."""
