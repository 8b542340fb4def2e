"""`skill_manage` as a tool for models: a schema that small models can follow, and what a call of it means.

The schema is one list of operations, each an object with its action spelled out and nothing else allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.authoring.editor import MOST_OPERATIONS
from whet.authoring.operations import OPERATIONS
from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def schema() -> dict[str, Any]:
    """The tool definition, as JSON Schema."""
    return {
        "name": "skill_manage",
        "description": (
            "Create, improve and remove skills. Look at a skill with skill_view before you change it, and improve an "
            "existing one rather than adding another. All operations are applied, or none."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "operations": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_OPERATIONS,
                    "items": {"anyOf": list(OPERATIONS.values())},
                },
                "reason": {"type": "string", "description": "Why, for the history."},
            },
            "required": ["operations"],
            "additionalProperties": False,
        },
    }


def read_call(arguments: Any) -> tuple[list[Mapping[str, Any]], str]:
    """The operations and the reason of a call; one operation may also be given flat, as small models do."""
    if not isinstance(arguments, dict):
        raise UsageError("bad-operations", "The arguments are not an object.", hint='Give {"operations": [...]}.')
    operations = arguments.get("operations")
    if operations is None and "action" in arguments:
        operations = [{key: value for key, value in arguments.items() if key != "reason"}]
    if not isinstance(operations, list):
        hint = 'Give {"operations": [{"action": ..., "name": ...}]}.'
        raise UsageError("bad-operations", "operations is not a list.", hint=hint)
    return operations, str(arguments.get("reason", ""))
