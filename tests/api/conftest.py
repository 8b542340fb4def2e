"""Whatever a tool answers in these tests is what its schema says it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whet.api.tool_definitions import answer_schemas
from whet.api.tools import Tools
from whet.skill.schema import find_problems

if TYPE_CHECKING:
    from collections.abc import Iterator


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, with no field allowed that it does not name."""
    told = dict(schema)
    if "items" in told:
        told["items"] = closed(told["items"])
    if "properties" in told:
        told["properties"] = {name: closed(inner) for name, inner in told["properties"].items()}
        told["additionalProperties"] = False
    return told


SCHEMAS = {name: closed(schema) for name, schema in answer_schemas().items()}


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, bool]]]:
    """Each tool that answers, and whether it succeeded; the answer fits the schema."""
    seen: list[tuple[str, bool]] = []
    odd: list[str] = []
    real = Tools.call

    def call(self: Tools, name: Any, arguments: Any = None) -> dict[str, Any]:
        answer = real(self, name, arguments)
        if isinstance(name, str) and name in SCHEMAS:
            seen.append((name, answer["success"]))
            odd.extend(f"{name}: {problem.text}" for problem in find_problems(answer, SCHEMAS[name], "the answer"))
        return answer

    monkeypatch.setattr(Tools, "call", call)
    yield seen
    assert odd == []
