"""`skill_manage`: the fields of each operation, as a schema that small models can follow, and parsing a call.

The schema is one list of operations, each an object with its action spelled out and nothing else allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.skill.schema import describe_problems, find_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.values import Json

MOST_OPERATIONS = 20
_TEXTS = {
    "name": "The skill's name, as skills_list shows it.",
    "description": "What the skill does and when to use it, in a sentence or two.",
    "body": "The full instructions, in Markdown.",
    "category": "The directory for a new skill.",
    "find": "A piece of the file, copied exactly; it must occur once.",
    "replace": "The text to put in its place.",
    "file_path": "A file of the skill, such as references/guide.md. Leave it out for SKILL.md.",
    "content": "The full content of the file.",
    "new_name": "The new name: lowercase letters, digits, hyphens.",
    "version": "major, minor, patch, or the version itself. Leave it out to raise the last number.",
}
_FLAGS = {
    "all": "Replace every occurrence.",
    "tolerant": "Accept differences in white space, quotes and dashes.",
    "executable": "Make the file executable.",
}
_MISNOMERS = {
    "old_string": "find",
    "old_text": "find",
    "new_string": "replace",
    "new_text": "replace",
    "path": "file_path",
    "file": "file_path",
    "replace_all": "all",
    "file_content": "content body",
    "content": "body",
    "body": "content",
}
"""Field names of other tools that models use -> our field."""
_COMPLAINTS = {
    "additionalProperties": "is not one of its fields",
    "required": "is missing",
    "type": "has the wrong type",
}
"""Violated keyword -> the complaint about the field, the gravest first."""


def _schema(action: str, required: str, optional: str = "") -> Json:
    properties: Json = {"action": {"const": action}}
    for name in (*required.split(), *optional.split()):
        kind, about = ("boolean", _FLAGS[name]) if name in _FLAGS else ("string", _TEXTS[name])
        properties[name] = {"type": kind, "description": about}
    return {
        "type": "object",
        "properties": properties,
        "required": ["action", *required.split()],
        "additionalProperties": False,
    }


OPERATIONS = {
    "create": _schema("create", "name", "description body category version"),
    "edit": _schema("edit", "name body", "version"),
    "patch": _schema("patch", "name find replace", "file_path all tolerant version"),
    "delete": _schema("delete", "name"),
    "write_file": _schema("write_file", "name file_path content", "executable version"),
    "remove_file": _schema("remove_file", "name file_path", "version"),
    "rename": _schema("rename", "name new_name"),
    "restore": _schema("restore", "name"),
}
"""Action -> JSON Schema of the operation."""


def read_operation(operation: Mapping[str, object]) -> dict[str, object]:
    """Return the operation if it fits the schema of its action. Raises UsageError with a correction."""
    fields = dict(operation) if isinstance(operation, dict) else {}
    action = fields.get("action")
    if not isinstance(action, str) or action not in OPERATIONS:
        hint = f"Use one of {', '.join(OPERATIONS)}."
        raise UsageError("bad-operation", f"{action!r} is not an action.", hint=hint)
    schema = OPERATIONS[action]
    binary = {"content": ""} if isinstance(fields.get("content"), bytes) else {}  # JSON has no bytes
    broken: dict[str, str] = {}
    """Keyword -> the first field that violates it."""
    for problem in find_problems({**fields, **binary}, schema):
        broken.setdefault(problem.keyword, str(problem.path[0]))
    for keyword, complaint in _COMPLAINTS.items():
        if field := broken.get(keyword):
            names = [name for name in schema["properties"] if name != "action"]
            shape = ", ".join(name if name in schema["required"] else f"{name}?" for name in names)
            meant = next((name for name in _MISNOMERS.get(field, "").split() if name in names), "")
            hint = f"Write {meant} instead. " if meant else ""
            message, hint = f"{action}: {field} {complaint}.", f"{hint}{action} takes {shape}."
            raise UsageError("bad-operation", message, hint=hint, field=field)
    return fields


def schema() -> Json:
    """Return the tool definition, as JSON Schema."""
    return {
        "name": "skill_manage",
        "description": (
            "Create, improve and remove skills. View a skill with skill_view before you change it, and improve an "
            "existing skill rather than adding another. Either all operations apply, or none do."
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
                "reason": {"type": "string", "description": "The reason, for the history."},
            },
            "required": ["operations"],
            "additionalProperties": False,
        },
    }


def read_call(arguments: Any) -> tuple[list[Mapping[str, Any]], str]:
    """Return the operations and the reason of a call; a single operation may be flat. `read_operation` parses each."""
    if isinstance(arguments, dict) and "action" in arguments and "operations" not in arguments:
        flat = {name: value for name, value in arguments.items() if name != "reason"}
        arguments = {"operations": [flat], "reason": arguments.get("reason", "")}
    parameters = schema()["parameters"]
    operations = {name: value for name, value in parameters["properties"]["operations"].items() if name != "items"}
    outer = {**parameters, "properties": {**parameters["properties"], "operations": operations}}
    if problems := describe_problems(arguments, outer, "The call"):
        hint = 'Give {"operations": [{"action": ..., "name": ...}]}, ' + f"with 1 to {MOST_OPERATIONS} operations."
        raise UsageError("bad-operations", f"{problems[0]}.", hint=hint)
    return arguments["operations"], arguments.get("reason", "")
