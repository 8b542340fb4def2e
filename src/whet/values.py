"""How a value becomes JSON. Results are typed, frozen values; only `to_json` knows about dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, overload

T = TypeVar("T")

Json: TypeAlias = dict[str, Any]
"""A JSON object, as it leaves for the command line, a model or a file."""


def as_json(value: Any) -> Any:
    """A value as JSON carries it: fields by name, sequences as lists; what has a `to_json` is asked for it."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "_asdict"):
        return fields_json(value)
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value]


def fields_json(value: Any) -> Json:
    """The fields of a named tuple as JSON carries them; what a `to_json` is made of."""
    return {name: as_json(item) for name, item in zip(value._fields, value, strict=True)}


def answer_json(value: Any) -> Json:
    """The same for a result that stands alone: every answer says that it succeeded."""
    return {"success": True, **fields_json(value)}


class Rows(Sequence[T]):
    """A result that is a sequence first; subclasses add what else there is to say about it."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[T]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._rows)!r})"
