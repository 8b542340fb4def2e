"""A checker for the part of JSON Schema that Whet uses.

The arguments of tools, the operations of `skill_manage`, the structured answers of models and saved sessions are all
declared as schemas and checked here. An external schema with other keywords is refused: unchecked values would be
trusted.
"""

from __future__ import annotations

from itertools import islice

from whet.errors import UsageError
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

MOST_DESCRIBED = 10
"""Largest number of problems that are described."""
_WRITABLE = 10**100
"""Larger numbers are not written in sentences."""
_ANNOTATIONS = frozenset(("$schema", "$comment", "title", "description", "default", "examples", "format"))
_LIMITS = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"))
_OTHERS = frozenset(("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"))

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}


class Problem(NamedTuple):
    """A violation of a schema."""

    keyword: str
    """Violated keyword of the schema; "string" for half of a character."""
    path: tuple[str | int, ...]
    """Keys and indexes that lead to the value; the last one is the field itself if it is missing or unknown."""
    text: str
    """A sentence without its full stop."""


def find_problems(value: Any, schema: Mapping[str, Any], subject: str = "the value") -> Iterator[Problem]:
    """Yield all problems of a value, which is called `subject` in their texts."""
    return _find(value, schema, (), subject)


def describe_problems(value: Any, schema: Mapping[str, Any], subject: str) -> list[str]:
    """Describe for a model why the value does not match the schema; at most `MOST_DESCRIBED` sentences."""
    return [problem.text for problem in islice(find_problems(value, schema, subject), MOST_DESCRIBED)]


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise `bad-schema` unless every part of an answer schema is supported."""
    problem = "does not have the type object" if schema.get("type") != "object" else next(_find_odd(schema, "$"), "")
    if problem:
        hint = "Use an object with type, properties, required, items, enum, const, anyOf and limits."
        raise UsageError("bad-schema", f"The answer schema {problem}.", hint=hint)


def _find_odd(schema: Any, path: str) -> Iterator[str]:
    """Yield the problems of a schema."""
    if not isinstance(schema, dict):
        yield f"has no schema at {path}"
        return
    if unknown := sorted(schema.keys() - _ANNOTATIONS - _LIMITS - _OTHERS):
        yield f"uses the unsupported keyword {unknown[0]} at {path}"
    if any(not isinstance(name, str) or name not in TYPES for name in _types(schema)):
        yield f"names the type {schema['type']!r} at {path}"
    for name in _LIMITS & schema.keys():
        if not TYPES["number"](schema[name]):
            yield f"has a limit at {path}.{name} that is not a number"
    for name, kind in (("properties", dict), ("required", list), ("enum", list), ("anyOf", list)):
        if not isinstance(schema.get(name, kind()), kind):
            yield f"has no {kind.__name__} at {path}.{name}"
            return
    for name, inner in schema.get("properties", {}).items():
        yield from _find_odd(inner, f"{path}.{name}")
    for number, inner in enumerate(schema.get("anyOf", [])):
        yield from _find_odd(inner, f"{path}.anyOf[{number}]")
    for name in ("items", "additionalProperties"):
        if name in schema and not isinstance(schema[name], bool):
            yield from _find_odd(schema[name], f"{path}.{name}")


def _find(value: Any, schema: Any, path: tuple[str | int, ...], subject: str) -> Iterator[Problem]:
    if isinstance(schema, bool):
        if not schema:
            yield Problem("additionalProperties", path, f"{subject} is not expected")
        return
    types = _types(schema)
    if types and not any(TYPES[name](value) for name in types):
        yield Problem("type", path, f"{subject} must be {' or '.join(types)}, not {_type(value)}")
        return
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield Problem("enum", path, f"{subject} must be one of {_json(schema['enum'])}")
    if "const" in schema and not _same(value, schema["const"]):
        yield Problem("const", path, f"{subject} must be {_json(schema['const'])}")
    if "anyOf" in schema and all(any(_find(value, inner, path, subject)) for inner in schema["anyOf"]):
        yield Problem("anyOf", path, f"{subject} matches none of the {len(schema['anyOf'])} allowed forms")
    yield from _find_out_of_bounds(value, schema, path, subject)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name in schema.get("required", []):
            if name not in value:
                yield Problem("required", (*path, name), f"{subject} must have {name!r}")
        for name, inner in value.items():
            yield from _find(inner, properties.get(name, others), (*path, name), f"{subject}.{name}")
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _find(item, schema["items"], (*path, number), f"{subject}[{number}]")


def _find_out_of_bounds(
    value: Any, schema: Mapping[str, Any], path: tuple[str | int, ...], subject: str
) -> Iterator[Problem]:
    size: Any
    if isinstance(value, str):
        size, least, most, unit = len(value), "minLength", "maxLength", " characters"
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            yield Problem("string", path, f"{subject} contains half of a surrogate pair")
    elif isinstance(value, list):
        size, least, most, unit = len(value), "minItems", "maxItems", " items"
    elif TYPES["number"](value):
        size, least, most, unit = value, "minimum", "maximum", ""
    else:
        return
    given = size if abs(size) < _WRITABLE else "that"
    if least in schema and size < schema[least]:
        yield Problem(least, path, f"{subject} must be at least {schema[least]}{unit}, not {given}")
    if most in schema and size > schema[most]:
        yield Problem(most, path, f"{subject} must be at most {schema[most]}{unit}, not {given}")


def _types(schema: Mapping[str, Any]) -> list[Any]:
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON: 1 is 1.0, but neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _type(value: Any) -> str:
    return next((name for name in ("null", "boolean", "integer", *TYPES) if TYPES[name](value)), type(value).__name__)


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)[:200]
