"""Lists and mappings of a program: every item is a value with its own marks, in Python and in JavaScript.

A function of the standard library is computed on plain constants (`plain`), and its result becomes a value again
(`literal`).
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from whet.guard.taint.fold import as_text
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.value import LONGEST, NOTHING, PARTS, TELLING, UNKNOWN, Hidden, Value, choose, perhaps, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MOST_CHOSEN = 400
"""Maximum number of items of which some are chosen."""
_LONGEST_CHOICE = 10_000
MOST = 4096
"""Maximum number of items that are read one by one."""


def concatenated(parts: Sequence[Value], separator: str = "", *, pieced: bool = True) -> Value:
    """Return the text of values in a row, as `+`, a template or `join` makes it.

    `pieced` is whether a text of several known pieces counts as split.
    """
    texts = [as_text(part.const) if (said := part.text) is None else said for part in parts]
    known = any(text != HOLE for text in texts)
    put = separator.join(texts)[:LONGEST] if known or not parts else UNKNOWN
    hidden: Hidden = "split" if pieced and sum(HOLE not in text for text in texts) > 1 else ""
    choices: tuple[str, ...] = ()
    for number, part in enumerate(parts):
        hidden = part.hidden or hidden
        if part.choices and known and not choices:
            before, after = texts[:number], texts[number + 1 :]
            choices = tuple(separator.join((*before, text, *after))[:_LONGEST_CHOICE] for text in part.choices)
    return Value(put, "", union(parts), hidden, choices=choices)


def literal(const: Any, marks: frozenset[Mark] = NO_MARKS, hidden: Hidden = "") -> Value:
    """Return a constant of nested lists and mappings as a value."""
    if isinstance(const, (list, tuple)):
        items = [
            literal(one, marks, hidden) if isinstance(one, _NESTED) else Value(one, "", marks, hidden) for one in const
        ]
        return Value(UNKNOWN, "", marks, hidden, items=items)
    if isinstance(const, dict):
        return Value(marks=marks, hidden=hidden, props={key: literal(one, marks, hidden) for key, one in const.items()})
    return const if isinstance(const, Value) else Value(const, "", marks, hidden)


_NESTED = (list, tuple, dict, Value)


def plain(value: Value) -> Any:
    """Return the constant of a value; of a list or mapping, nested constants, and the functions in it as values."""
    return value.const if value.items is None and value.props is None else _plain(value, [PARTS])


def _plain(value: Value, room: list[int], depth: int = 0) -> Any:
    const = value.const
    if const is not UNKNOWN:
        return const
    parts = value.props if value.items is None else value.items
    if parts is None:
        return value if value.fn is not None or value.name else UNKNOWN
    room[0] -= len(parts)
    if depth > 12 or room[0] < 0:  # it may contain itself
        return UNKNOWN
    if value.items is not None:
        return [
            one.const if one.const is not UNKNOWN or one is NOTHING else _plain(one, room, depth + 1)
            for one in value.items
        ]
    return {key: _plain(one, room, depth + 1) for key, one in (value.props or {}).items()}


def gathered(values: Sequence[Value]) -> Value:
    """Return a list of values."""
    hidden: Hidden = next((value.hidden for value in values if value.hidden), "")
    return Value(items=list(values), marks=union(values), hidden=hidden)


def parts_of(value: Value, letters: Hidden = "split") -> Sequence[Value] | None:
    """Return the items of an iterable: the items of a list, the letters of a text, the bytes of a buffer.

    `letters` is how the letters of a text hide it.
    """
    if value.items is not None:
        return value.items
    if isinstance(value.const, bytes):
        return [Value(byte, marks=value.marks, hidden=value.hidden) for byte in value.const[:MOST]]
    text = value.exact
    if text is None or value.name:
        return None
    return [Value(one, marks=value.marks, hidden=value.hidden or letters) for one in text[:MOST]]


def one_of(items: Sequence[Value]) -> Value:
    """Return the loop variable of a loop over `items`: the first item, with the others as choices."""
    first = items[0]
    others = choose((text for item in items[:_MOST_CHOSEN] for text in item.texts), first.text)
    return first.but(choices=others) if others else first


def taken(owner: Value, part: Value) -> Value:
    """Return a part of a list or mapping with all its marks: a program may reorder it in ways that are not followed."""
    return part if owner.marks <= part.marks else part.marked(*owner.marks)


def item(owner: Value, key: Any) -> Value | None:
    """Return the item of a list or mapping under a key; None if it is not known."""
    if owner.items is not None and isinstance(key, int) and -len(owner.items) <= key < len(owner.items):
        return taken(owner, owner.items[key])
    if owner.props is not None and isinstance(key, (str, int, bytes)) and key in owner.props:
        return taken(owner, owner.props[key])
    return None


def any_item(owner: Value) -> Value:
    """Return an item of a list or mapping whose key is unknown, with the texts that matter."""
    parts = owner.items or list((owner.props or {}).values())
    texts = (text for part in parts[:_MOST_CHOSEN] for text in part.texts if TELLING.search(text))
    return Value(marks=owner.marks, choices=choose(texts))


def entries(value: Value, way: str) -> Value:
    """Return the `keys`, the `values` or the pairs of a mapping."""
    props = value.props or {}
    if way == "keys":
        return gathered([Value(key) for key in props])
    pairs = [one if way == "values" else gathered([Value(key), one]) for key, one in props.items()]
    return gathered(pairs).but(marks=value.marks | union(props.values()))


def spread(values: Iterable[tuple[Value, bool]], *, mixed: bool = False) -> list[Value]:
    """Return arguments or items, each given with whether it is a list that is spread out there.

    `mixed` gives each part all the marks of its list.
    """
    found: list[Value] = []
    for value, whole in values:
        parts = parts_of(value) if whole else None
        parts = [value] if parts is None else parts[: max(0, MOST - len(found))]
        found += [taken(value, part) for part in parts] if mixed else parts
    return found


def put(owner: Value, keys: Sequence[Any], value: Value, *, sure: bool = True) -> Value:
    """Return a value with another one stored under `keys`; if that is not `sure`, the old one may still be there."""
    if owner.props is None and (owner.const is not UNKNOWN or owner.items is not None):
        return owner
    room: dict[Any, Value] = {} if owner.props is None else owner.props
    target = owner.but(props=room) if owner.props is None else owner
    for key in keys[:-1]:
        inner = room.get(key, NOTHING).props
        if inner is None:
            inner = {}
            room[key] = Value(props=inner)
        room = inner
    room[keys[-1]] = value if sure else perhaps(room.get(keys[-1], NOTHING), value)
    return target


def work_out(
    way: str, parts: Sequence[Value], function: Callable[[Sequence[Value]], Value], start: Sequence[Value] = ()
) -> Value | None:
    """Return the result of `map`, `filter`, `sort` or `reduce` with a function of the program; None if it is unknown.

    Of results that are all unknown, a few stand for the others.
    """
    if way == "reduce":
        total, *rest = (*start, *parts)
        for at, part in enumerate(rest):
            total = function((total, part, Value(at)))
        return total
    if way == "sort":

        def order(one: Value, two: Value) -> int:
            sign = function((one, two)).const
            return sign if isinstance(sign, int) else 0

        return gathered(sorted(parts, key=cmp_to_key(order))) if len(parts) < 200 else None
    found: list[Value] = []
    for at, part in enumerate(parts):
        found.append(function((part, Value(at))))
        if at in (2, 63) and all(one.const is UNKNOWN and (at > 2 or not one.marks) for one in found):
            break
    if way == "filter":
        known = len(found) == len(parts) and all(isinstance(one.const, int) for one in found)
        return gathered([part for part, one in zip(parts, found, strict=True) if one.const]) if known else None
    return gathered(found)
