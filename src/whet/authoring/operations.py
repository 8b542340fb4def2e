"""`skill_manage`: what each operation takes, as a schema that small models can follow, and how a call is read.

The schema is one list of operations, each an object with its action spelled out and nothing else allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.skill.schema import find_problems

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
_ALIASES = {
    "old_string": "find",
    "old_text": "find",
    "new_string": "replace",
    "new_text": "replace",
    "path": "file_path",
    "file": "file_path",
    "replace_all": "all",
    "file_content": "content",
}
_COMPLAINTS = {
    "required": "is missing",
    "additionalProperties": "is not one of its fields",
    "type": "has the wrong type",
}
"""Broken keyword -> what is said about the field, the gravest first."""


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
    """An operation with its fields under their own names. Raises UsageError that says what to write instead."""
    fields: dict[str, object] = {}
    written: dict[str, str] = {}
    """Field -> how the caller wrote it."""
    for name, value in (operation if isinstance(operation, dict) else {}).items():
        field = _field(str(name), operation)
        if field in fields:
            message = f"{written[field]} and {name} are the same field."
            raise UsageError("bad-operation", message, hint="Give one of them.", field=str(name))
        fields[field], written[field] = value, str(name)
    action = str(fields.get("action", "")).replace("-", "_")
    if action not in OPERATIONS:
        hint = f"Use one of {', '.join(OPERATIONS)}."
        raise UsageError("bad-operation", f"{fields.get('action')!r} is not an action.", hint=hint)
    _check(action, {**fields, "action": action}, written)
    return {**fields, "action": action}


def _check(action: str, fields: Mapping[str, object], written: Mapping[str, str]) -> None:
    schema = OPERATIONS[action]
    binary = {"content": ""} if isinstance(fields.get("content"), bytes) else {}  # which JSON does not know
    broken: dict[str, str] = {}
    """Keyword -> the first field that breaks it."""
    for problem in find_problems({**fields, **binary}, schema):
        broken.setdefault(problem.keyword, str(problem.path[0]))
    for keyword, complaint in _COMPLAINTS.items():
        if field := broken.get(keyword):
            names = [name for name in schema["properties"] if name != "action"]
            shape = ", ".join(name if name in schema["required"] else f"{name}?" for name in names)
            name = written.get(field, field)
            message, hint = f"{action}: {name} {complaint}.", f"{action} takes {shape}."
            raise UsageError("bad-operation", message, hint=hint, field=name)


def _field(name: str, operation: Mapping[str, object]) -> str:
    """The own name of a field; what is a body to one action is a content to another."""
    own = _ALIASES.get(name, name)
    if own in ("body", "content"):
        return "content" if str(operation.get("action")).replace("-", "_") == "write_file" else "body"
    return own


def schema() -> Json:
    """The tool definition, as JSON Schema."""
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
