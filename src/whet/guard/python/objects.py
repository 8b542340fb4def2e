"""Objects of the classes of a file: attributes that are computed, iteration, `with`, the parts of patterns, and `super()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from whet.guard.python.access import attribute, item
from whet.guard.python.values import Klass
from whet.guard.taint.value import NOTHING, Value, everything, union

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.python.reader import Reader
    from whet.guard.taint.call import Call


def method(reader: Reader, owner: Value, name: str, args: Sequence[Value] = ()) -> Value | None:
    """Return the result of a special method of an object; None if its class has none of that name."""
    function = owner.fn.methods.get(name) if isinstance(owner.fn, Klass) else None
    return reader.invoke(function, list(args), {}, owner) if function is not None else None


def member(reader: Reader, owner: Value, name: str) -> Value:
    """Return an attribute, which a descriptor or `__getattr__` may compute."""
    found = attribute(owner, name)
    if isinstance(found.fn, Klass):
        computed = method(reader, found, "__get__", [owner, owner])
        return found if computed is None else computed
    if found is NOTHING and isinstance(owner.fn, Klass):
        for way in ("__getattr__", "__getattribute__"):
            if (computed := method(reader, owner, way, [Value(name)])) is not None:
                return computed
    return found


def iterable(reader: Reader, value: Value) -> Value:
    """Return what a loop over a value goes through; an iterator may give another one."""
    for way in _ITERATORS:
        found = method(reader, value, way)
        if found is not None and found is not NOTHING and found.fn is not value.fn:
            value = found
    return value


_ITERATORS = ("__iter__", "__aiter__", "__iter__", "__next__", "__anext__")


def shown(reader: Reader, value: Value) -> Value:
    """Return the text of a value in a template."""
    texts = [method(reader, value, way, [NOTHING]) for way in ("__format__", "__str__", "__repr__")]
    known = [text for text in texts if text is not None]
    return Value(marks=union(known)) if known else held(value)


def held(value: Value) -> Value:
    """Return an object with the marks of its fields, as it is for code that is not in the file."""
    return value.marked(*value.fn.held().marks) if isinstance(value.fn, Klass) else value


def above(_reader: Reader, this: Call) -> Value | None:
    """Return the object that `super()` gives: the methods of the classes above, and the fields of this one."""
    klass = this.scope.klass
    if klass is None:
        return None
    found = Klass(klass.name, klass.bases)
    found.fields = klass.fields
    for parent in reversed(klass.parents):
        found.methods.update(parent.methods)
    return Value(fn=found)


def captured(pattern: ast.pattern, subject: Value) -> Iterator[tuple[str, Value]]:
    """Yield the names in a pattern of `match`, each with the part of the subject that it stands for, as far as that is known."""
    part = Value(marks=everything(held(subject)))
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            yield from captured(pattern.pattern, subject)
        if pattern.name:
            yield pattern.name, subject
    elif isinstance(pattern, ast.MatchStar) and pattern.name:
        yield pattern.name, part
    elif isinstance(pattern, ast.MatchMapping):
        for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
            name = Value(key.value) if isinstance(key, ast.Constant) else NOTHING
            yield from captured(inner, item(subject, name))
        if pattern.rest:
            yield pattern.rest, part
    elif isinstance(pattern, (ast.MatchSequence, ast.MatchOr)):
        for at, inner in enumerate(pattern.patterns):
            known = isinstance(pattern, ast.MatchSequence) and subject.items is not None
            one = subject if isinstance(pattern, ast.MatchOr) else item(subject, Value(at)) if known else part
            yield from captured(inner, one)
    elif isinstance(pattern, ast.MatchClass):
        fields = list(subject.fn.fields) if isinstance(subject.fn, Klass) else []
        names = [*fields[: len(pattern.patterns)], *([""] * (len(pattern.patterns) - len(fields))), *pattern.kwd_attrs]
        for field, inner in zip(names, (*pattern.patterns, *pattern.kwd_patterns), strict=True):
            yield from captured(inner, attribute(subject, field) if field in fields else part)
