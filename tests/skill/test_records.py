"""What is made late behaves like what is made at once: named tuples, and regular expressions."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import typing
from typing import Any, Generic, TypeVar

import pytest

from whet.patterns import compile_late
from whet.records import NamedTuple

T = TypeVar("T")


class Ours(NamedTuple):
    """A point."""

    x: int
    """Across."""
    y: int = 2

    @property
    def sum(self) -> int:
        """Both together."""
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    """Across."""
    y: int = 2

    @property
    def sum(self) -> int:
        """Both together."""
        return self.x + self.y


class Narrow(Ours):
    """One that has a method more."""

    __slots__ = ()


class Boxed(NamedTuple, Generic[T]):
    value: T


class Empty(NamedTuple):
    pass


def told(kind: Any) -> list[Any]:
    """What a class of named tuples does, without its name."""
    one, other = kind(1), kind(y=4, x=3)
    match other:
        case kind(x, y):
            matched = (x, y)
    refusals = []
    for wrong in (
        kind,
        lambda: kind(1, 2, 3),
        lambda: kind(1, z=3),
        lambda: kind(1, x=1),
        lambda: kind._make([1]),
        lambda: one._replace(z=1),
        lambda: setattr(one, "x", 5),
    ):
        with pytest.raises((TypeError, ValueError, AttributeError)) as error:
            wrong()
        refusals.append(error.type)
    return [
        (tuple(one), tuple(other), one.x, one.y, other.sum, matched, len(one), hash(one), one == (1, 2), one < other),
        (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__, kind.__annotations__["x"]),
        (one._asdict(), tuple(one._replace(y=9)), tuple(kind._make([7, 8])), repr(one).removeprefix(kind.__name__)),
        (
            str(inspect.signature(kind)).replace("ForwardRef('int')", "'int'"),
            typing.get_type_hints(kind),
            hasattr(one, "__dict__"),
        ),
        [type(again) is kind and again == one for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one))],
        refusals,
    ]


def test_a_named_tuple_is_like_one_of_typing() -> None:
    assert told(Ours)[1][4] == "int"  # the text, which `typing` has compiled
    ours, theirs = ([[*part[:4]] if at == 1 else part for at, part in enumerate(told(kind))] for kind in (Ours, Theirs))
    assert ours == theirs


def test_classes_can_be_derived_generic_and_empty() -> None:
    assert repr(Narrow(5)) == "Narrow(x=5, y=2)"
    assert type(pickle.loads(pickle.dumps(Narrow(5)))) is Narrow
    assert (type(Narrow(5)._replace(x=1)), type(Ours(1))) == (Narrow, Ours)
    assert (Boxed(1).value, Boxed[int](2).value, repr(Boxed("x"))) == (1, 2, "Boxed(value='x')")
    assert (Empty(), repr(Empty()), Empty._fields) == ((), "Empty()", ())


def test_a_field_without_a_default_cannot_follow_one_with_a_default() -> None:
    members = {"__annotations__": {"x": "int", "y": "int"}, "x": 1}
    with pytest.raises(TypeError, match="In Wrong, a field without a default"):
        type(NamedTuple.__mro_entries__(())[0])("Wrong", (), members)  # type: ignore[attr-defined]  # ours at run time


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    late: Any = compile_late(r"(?P<word>[a-z]+)", re.IGNORECASE)
    assert "_compiled" not in vars(late)
    assert late.findall("One two") == ["One", "two"]
    assert late.sub("x", "One 2") == "x 2"
    assert (late.pattern, late.groupindex["word"], late.flags & re.IGNORECASE) == (r"(?P<word>[a-z]+)", 1, 2)
    assert late._compiled is re.compile(r"(?P<word>[a-z]+)", re.IGNORECASE)
    with pytest.raises(re.error):
        compile_late("(").match("x")
