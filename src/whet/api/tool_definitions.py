"""Definitions of the six tools for a model, and how to use them. It imports nothing that a library needs.

`tool_answers.json` describes the answers: the fields of every answer, and those of each tool. It is JSON because the
server needs it before anything else is loaded.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from whet.authoring.operations import schema

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

Writes: TypeAlias = Literal["allow", "propose", "none"]
"""Whether changes by a model are made, wait for a person as proposals, or are not offered."""

LISTED, MOST_LISTED = 50, 200
FOUND, MOST_FOUND = 5, 20
DISTILL = "skill_distill"
RUN = "skill_run"
_SEARCH = "Before you start a task, search for a skill that fits it."
_USAGE = {
    "skills_search": "skills_search finds skills that are not listed here.",
    "skill_view": "skill_view with file_path reads a file that a skill mentions.",
    "skill_manage": "When a skill turns out to be wrong or incomplete, fix it with skill_manage.",
    "skill_feedback": "Report with skill_feedback whether a skill helped.",
    DISTILL: "Save what you worked out as a skill with skill_distill.",
}


class Tool(NamedTuple):
    """The definition of one tool, as a model gets it."""

    name: str
    title: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of its arguments."""
    read_only: bool = True
    destructive: bool = False


def definitions(writes: Writes = "allow", *, runs: bool = False) -> Iterator[Tool]:
    """Yield the definitions of the tools for a model: six, fewer without `writes`, one more with `runs`."""
    name = {"type": "string", "description": "The skill's name, as skills_list or skills_search gave it."}
    yield Tool(
        "skills_list",
        "List skills",
        "List the skills that are available: names, descriptions and categories. Skills are instructions for "
        "particular tasks. Read one with skill_view before you act on it.",
        _object_schema(
            category={"type": "string", "description": "Only skills in this category."},
            query={"type": "string", "description": "Only skills that match these words, the best match first."},
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_LISTED,
                "description": f"At most this many; default {LISTED}.",
            },
            cursor={"type": "string", "description": "The `next` value of the previous page."},
        ),
    )
    yield Tool(
        "skill_view",
        "Read a skill",
        "Read a skill's instructions, and follow them. With file_path, read one of the files that the instructions "
        "mention. Long texts come in pages.",
        _object_schema(
            "name",
            name=name,
            file_path={"type": "string", "description": "A file of the skill, such as references/guide.md."},
            page={"type": "integer", "minimum": 1, "description": "The page to read (default 1)."},
        ),
    )
    yield Tool(
        "skills_search",
        "Search skills",
        "Find the skills that fit a request, best first, with the reason for each. Pass the request in the user's "
        "words.",
        _object_schema(
            "message",
            message={"type": "string", "description": "What the user wants."},
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_FOUND,
                "description": f"At most this many; default {FOUND}.",
            },
        ),
    )
    if writes != "none":
        manage = schema()
        waits = " A change waits for a person's approval." if writes == "propose" else ""
        description = manage["description"] + waits
        yield Tool(
            "skill_manage", "Change skills", description, manage["parameters"], read_only=False, destructive=True
        )
    yield Tool(
        "skill_feedback",
        "Report how a skill did",
        "Report whether a skill helped (name and outcome), or whether a message was for a skill (message, fits, and "
        "name unless it was for none), so that the right skill is chosen next time.",
        _object_schema(
            name=name,
            outcome={"enum": ["helped", "failed", "corrected"], "description": "How it did."},
            message={"type": "string", "description": "The user message the feedback is about."},
            fits={"type": "boolean", "description": "Whether the message is for that skill."},
        ),
        read_only=False,
    )
    if runs:
        yield Tool(
            RUN,
            "Run a skill",
            "Run a skill in a separate agent, with exactly its tools, on a copy of the project. The report is made "
            "by the harness; its summary is the other model's words. A person approves calls and applies the changes.",
            _object_schema("name", name=name, arguments={"type": "string", "description": "The task for the skill."}),
            read_only=False,
        )
    if writes == "none":
        return
    yield Tool(
        DISTILL,
        "Turn a session into a skill",
        "Turn a session into a skill in four rounds. The first call returns the evidence: write the skill from it. "
        "Each call returns a question with proposed answers: ask the user. Nothing is written before finish.",
        _object_schema(
            session={
                "type": "string",
                "description": 'CLIENT:ID, or "current"; otherwise the newest that is waiting.',
            },
            messages={"type": "array", "items": {"type": "object"}, "description": "The session as API messages."},
            transcript={"type": "string", "description": "The session as Markdown or JSONL."},
            distillation={"type": "string", "description": "Continue the distillation with this id."},
            answers={
                "type": "object",
                "description": "Fields of the question by name, where they differ from the proposal; {} accepts it.",
            },
            skill={"type": "object", "description": "The skill as you write it: name, title, description, steps, …"},
            back={"type": "boolean", "description": "Go back to the previous round."},
            finish={"type": "boolean", "description": "Write the skill, accepting the rest as proposed."},
            ask={"type": "boolean", "description": "Ask the user with forms, if the client supports them."},
        ),
        read_only=False,
    )


def _object_schema(*needed: str, **properties: dict[str, Any]) -> dict[str, Any]:
    required = {"required": list(needed)} if needed else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def answer_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each tool's answers, for success and failure."""
    with open(os.path.join(os.path.dirname(__file__), "tool_answers.json"), encoding="utf-8") as file:
        shapes = json.load(file)
    every = shapes.pop("every")
    return {name: {**_schema_of({**every, **shape}), "required": ["success"]} for name, shape in shapes.items()}


def _schema_of(shape: Any) -> dict[str, Any]:
    """Return the schema of a shape: a list, an object by its fields, or the name of a type; a final `?` allows null."""
    if isinstance(shape, list):
        return {"type": "array", "items": _schema_of(shape[0])}
    if isinstance(shape, dict):
        return {"type": "object", "properties": {name: _schema_of(inner) for name, inner in shape.items()}}
    if shape == "any":
        return {}
    kind = shape.rstrip("?").replace("text", "string")
    return {"type": [kind, "null"] if shape.endswith("?") else kind}


def usage(tools: Container[str]) -> str:
    """Return a sentence for each of these tools."""
    return " ".join(text for name, text in _USAGE.items() if name in tools)


def search_hint(tools: Container[str], why: str = "") -> str:
    """Return the text that a model reads if no skill is listed."""
    return " ".join(text for text in (why, _SEARCH, usage(tools)) if text)
