"""The OpenAPI document of the hub: `api.toml` has the requests and answers, the routes the permissions."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from whet import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.hub.requests import Route
    from whet.values import Json

_PLAIN = ("string", "integer", "number", "boolean")
_PLACE = re.compile(r"\{(\w+)(?::path)?\}")


def describe_api(routes: Iterable[Route]) -> Json:
    """Return the document for these routes."""
    data = _data()
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _PLACE.sub(r"{\1}", route.path)
        row = data["routes"][f"{route.method} {path}"]
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, path, row)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Whet hub",
            "version": __version__,
            "description": "A registry of skills. docs/hub-api.md says what the answers mean.",
        },
        "paths": paths,
        "components": {
            "schemas": {name: _object(fields) for name, fields in data["schemas"].items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(resources.files("whet.hub").joinpath("api.toml").read_text("utf-8"))


def _operation(route: Route, path: str, row: Mapping[str, Any]) -> Json:
    places: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in _PLACE.findall(path)
    ]
    query = [{"name": name, "in": "query", "schema": _type(kind)} for name, kind in row.get("query", {}).items()]
    failure = {"description": "A failure", "content": {"application/json": {"schema": _type("Failure")}}}
    success = {"description": row["summary"], **({"content": _content(row["answer"])} if "answer" in row else {})}
    made: Json = {
        "operationId": _name(route.method, path),
        "summary": row["summary"],
        "parameters": [*places, *query],
        "responses": {**{str(status): success for status in row.get("status", [200])}, "default": failure},
        "security": [{"token": [route.needs]}] if route.needs else [{}, {"token": []}],
    }
    if "body" in row:
        body = row["body"]
        content = _content(body) if isinstance(body, str) else {"application/json": {"schema": _object(body)}}
        made["requestBody"] = {"required": True, "content": content}
    return made


def _name(method: str, path: str) -> str:
    words = re.findall(r"[a-z]+", path.removeprefix("/api/v1"))
    return method.lower() + "".join(word.capitalize() for word in words)


def _content(kind: str) -> Json:
    if "/" not in kind:
        return {"application/json": {"schema": _type(kind)}}
    return {kind: {"schema": {"type": "string"} if kind == "text/plain" else {"type": "string", "format": "binary"}}}


def _object(fields: Mapping[str, str]) -> Json:
    return {
        "type": "object",
        "properties": {name.rstrip("?"): _type(kind) for name, kind in fields.items()},
        "required": [name for name in fields if not name.endswith("?")],
    }


def _type(kind: str) -> Json:
    if kind.endswith("?"):
        return {"anyOf": [_type(kind[:-1]), {"type": "null"}]}
    if kind[0] == "[":
        return {"type": "array", "items": _type(kind[1:-1])}
    if kind[0] == "{":
        return {"type": "object", "additionalProperties": _type(kind[1:-1])}
    if kind in _PLAIN:
        return {"type": kind}
    return {"type": "object"} if kind == "object" else {"$ref": f"#/components/schemas/{kind}"}
