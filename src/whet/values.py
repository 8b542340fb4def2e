"""Converting values to JSON and back. Results are typed, frozen values; only `to_json` uses dictionaries."""

from __future__ import annotations

from _collections_abc import Mapping, Sequence  # `collections.abc` loads `collections`

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias, TypeVar, overload

    from whet.notes import Note

    T = TypeVar("T")

Json: TypeAlias = dict[str, "Any"]
"""A JSON object for the command line, a model or a file."""


def as_json(value: Any) -> Any:
    """Convert a value to JSON: fields by name, sequences as lists, and objects by their `to_json`."""
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
    """Return the fields of a named tuple as JSON, the basis of a `to_json`."""
    return {name: as_json(item) for name, item in zip(value._fields, value, strict=True)}


def answer_json(value: Any) -> Json:
    """Return the JSON of a separate result: every answer says that it succeeded."""
    return {"success": True, **fields_json(value)}


def read_value(kind: Any, value: Any, where: str) -> Any:
    """Read a value of a type that `as_json` wrote; `where` names it. Raises ValueError, which names the field.

    Types are those of named tuples: texts, numbers, literals, tuples of one kind, mappings by texts, one of several
    types, and other named tuples. Everything else is refused, because the source may be anyone.
    """
    from types import UnionType
    from typing import Literal, get_args, get_origin, get_type_hints

    if hasattr(kind, "_fields"):
        if not isinstance(value, dict) or set(value) != set(kind._fields):
            raise ValueError(f"{where} does not have the expected fields")
        hints = get_type_hints(kind)
        return kind(**{name: read_value(hints[name], value[name], f"{where}.{name}") for name in kind._fields})
    if isinstance(kind, UnionType):
        for one in get_args(kind):
            try:
                return read_value(one, value, where)
            except ValueError:
                continue
        good = False
    elif get_origin(kind) is Mapping:
        if isinstance(value, dict):
            return {name: read_value(get_args(kind)[1], inner, f"{where}.{name}") for name, inner in value.items()}
        good = False
    elif get_origin(kind) is Literal:
        good = isinstance(value, str) and value in get_args(kind)
    elif get_origin(kind) is tuple:
        if isinstance(value, list):
            return tuple(read_value(get_args(kind)[0], inner, where) for inner in value)
        good = False
    elif kind is float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        good = type(value) is kind
    if not good:
        raise ValueError(f"{where} does not have the expected form")
    return value


def schema_of(kind: Any) -> Json:
    """Return the JSON Schema of named tuples, texts, numbers and tuples; fields without a default are required."""
    from typing import get_args, get_origin, get_type_hints

    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        required = [name for name in kind._fields if name not in kind._field_defaults]
        fields = {name: schema_of(hints[name]) for name in kind._fields}
        return {"type": "object", "properties": fields, "required": required}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": schema_of(get_args(kind)[0])}
    return {"type": {str: "string", bool: "boolean", int: "integer"}[kind]}


def failure_json(answer: Json, problem: Note | None) -> Json:
    """Return the whole answer, marked as a failure if there is a problem."""
    if problem is None:
        return answer
    return {**answer, "success": False, "error": problem.message, "code": problem.code, "hint": problem.hint}


class Rows(Sequence["T"]):
    """A result that is a sequence first; subclasses add other fields."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[T]) -> None:
        self._rows = tuple(rows)

    if TYPE_CHECKING:

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
