"""`skill_manage` as a tool for models: a schema that small models can follow, and answers that teach.

The schema is one list of operations, each an object with its action spelled out and nothing else allowed. Whatever is
called, the answer is a value: an error is told like any other answer, with a hint for the next attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.authoring.manage import FIELDS, FLAGS, MOST_OPERATIONS
from whet.errors import UsageError, WhetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ABOUT = {
    "name": "The skill's name, as skills_list shows it.",
    "description": "What the skill does and when to use it, in a sentence or two.",
    "body": "The whole text of the instructions, in Markdown.",
    "category": "A directory to put a new skill in.",
    "find": "A piece of the file, copied exactly; it must occur once.",
    "replace": "What stands there instead.",
    "file_path": "A file of the skill, such as references/guide.md. Leave it out for SKILL.md.",
    "content": "The whole content of the file.",
    "all": "Replace every occurrence.",
    "tolerant": "Accept differences in white space, quotes and dashes.",
    "executable": "Make the file executable.",
    "new_name": "The new name: lowercase letters, digits, hyphens.",
    "version": "major, minor, patch, or the version itself. Leave it out to count up.",
}


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
                    "items": {"anyOf": [_operation(action) for action in FIELDS]},
                },
                "reason": {"type": "string", "description": "Why, for the history."},
            },
            "required": ["operations"],
            "additionalProperties": False,
        },
    }


def _operation(action: str) -> dict[str, Any]:
    needed, optional = FIELDS[action]
    fields = {
        name: {"type": "boolean" if name in FLAGS else "string", "description": _ABOUT[name]}
        for name in (*needed, *optional)
    }
    return {
        "type": "object",
        "properties": {"action": {"const": action}, **fields},
        "required": ["action", *needed],
        "additionalProperties": False,
    }


def answer(arguments: Any, manage: Callable[[Sequence[Mapping[str, Any]], str], dict[str, Any]]) -> dict[str, Any]:
    """What the tool answers to these arguments; one operation may also be given flat, as small models do."""
    try:
        if not isinstance(arguments, dict):
            raise UsageError("bad-operations", "The arguments are not an object.", hint='Give {"operations": [...]}.')
        operations = arguments.get("operations")
        if operations is None and "action" in arguments:
            operations = [{key: value for key, value in arguments.items() if key != "reason"}]
        if not isinstance(operations, list):
            hint = 'Give {"operations": [{"action": ..., "name": ...}]}.'
            raise UsageError("bad-operations", "operations is not a list.", hint=hint)
        return manage(operations, str(arguments.get("reason", "")))
    except WhetError as error:
        return error.to_json()
