"""A validator for the part of JSON Schema that answers are asked for with.

A schema that uses anything else is refused rather than half understood: what is not checked would be believed. The
schema of an answer is an object, because that is what providers take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROBLEMS = 10
"""Problems that are told at once."""
_NOTES = frozenset(("$schema", "$comment", "title", "description", "default", "examples", "format"))
_NUMBERS = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"))
_OTHERS = frozenset(("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"))

_TYPES: dict[str, Callable[[Any], bool]] = {
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


def check(schema: Mapping[str, Any]) -> None:
    """Raises `bad-schema` for a schema that is not understood to the last word."""
    problem = "is not of the type object" if schema.get("type") != "object" else next(_odd(schema, "$"), "")
    if problem:
        hint = "Use an object with type, properties, required, items, enum, const, anyOf and limits."
        raise UsageError("bad-schema", f"The schema of an answer {problem}.", hint=hint)


def _odd(schema: Any, path: str) -> Iterator[str]:
    """What is wrong with a schema."""
    if not isinstance(schema, dict):
        yield f"has no schema at {path}"
        return
    if unknown := sorted(schema.keys() - _NOTES - _NUMBERS - _OTHERS):
        yield f"uses {unknown[0]} at {path}, which is not understood"
    types = _listed(schema.get("type", []))
    if any(not isinstance(name, str) or name not in _TYPES for name in types):
        yield f"names the type {schema['type']!r} at {path}"
    for name in _NUMBERS & schema.keys():
        if not _TYPES["number"](schema[name]):
            yield f"has a limit at {path}.{name} that is no number"
    for name, kind in (("properties", dict), ("required", list), ("enum", list), ("anyOf", list)):
        if not isinstance(schema.get(name, kind()), kind):
            yield f"has no {kind.__name__} at {path}.{name}"
            return
    for name, inner in schema.get("properties", {}).items():
        yield from _odd(inner, f"{path}.{name}")
    for number, inner in enumerate(schema.get("anyOf", [])):
        yield from _odd(inner, f"{path}.anyOf[{number}]")
    for name in ("items", "additionalProperties"):
        if name in schema and not isinstance(schema[name], bool):
            yield from _odd(schema[name], f"{path}.{name}")


def problems(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Why the value does not fit the schema, in words a model understands; at most `PROBLEMS` of them."""
    found: list[str] = []
    for problem in _wrong(value, schema, "the answer"):
        found.append(problem)
        if len(found) == PROBLEMS:
            break
    return found


def _wrong(value: Any, schema: Any, path: str) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{path} is not wanted"
        return
    types = _listed(schema.get("type", []))
    if types and not any(_TYPES[name](value) for name in types):
        yield f"{path} must be {' or '.join(types)}, not {_type(value)}"
        return
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield f"{path} must be one of {_shown(schema['enum'])}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{path} must be {_shown(schema['const'])}"
    if "anyOf" in schema and all(any(_wrong(value, inner, path)) for inner in schema["anyOf"]):
        yield f"{path} fits none of its {len(schema['anyOf'])} forms"
    yield from _out_of_bounds(value, schema, path)
    if isinstance(value, dict):
        yield from _wrong_object(value, schema, path)
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _wrong(item, schema["items"], f"{path}[{number}]")


def _wrong_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path} must have {name!r}"
    for name, inner in value.items():
        yield from _wrong(inner, properties.get(name, schema.get("additionalProperties", True)), f"{path}.{name}")


def _out_of_bounds(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    size: Any
    if isinstance(value, str):
        size, least, most, unit = len(value), "minLength", "maxLength", " characters"
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            yield f"{path} holds half of a character"
    elif isinstance(value, list):
        size, least, most, unit = len(value), "minItems", "maxItems", " items"
    elif _TYPES["number"](value):
        size, least, most, unit = value, "minimum", "maximum", ""
    else:
        return
    if least in schema and size < schema[least]:
        yield f"{path} must be at least {schema[least]}{unit}, not {size}"
    if most in schema and size > schema[most]:
        yield f"{path} must be at most {schema[most]}{unit}, not {size}"


def _listed(types: Any) -> list[Any]:
    return types if isinstance(types, list) else [types]


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _type(value: Any) -> str:
    return next(name for name in ("null", "boolean", "integer", *_TYPES) if _TYPES[name](value))


def _shown(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)[:200]
