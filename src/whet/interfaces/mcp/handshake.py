"""The information that all clients get: server, capabilities, tools, address templates.

It is the same for all libraries, so nothing is read for it, and neither the SDK nor a library is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet import __version__

if TYPE_CHECKING:
    from whet.api.tool_definitions import Tool, Writes
    from whet.values import Json

ABOUT = "The user's skills: instructions for particular tasks, kept by Whet."
EXTENSIONS = {"io.modelcontextprotocol/skills": {"directoryRead": True}}
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of the protocol with a handshake; for any other version, the last one is offered."""
CAPABILITIES = {
    "completions": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": False},
    "extensions": EXTENSIONS,
}
TEMPLATES = {
    "resourceTemplates": [
        {
            "uriTemplate": "skill://{+path}/SKILL.md",
            "name": "skill",
            "title": "A skill",
            "description": "The instructions of a skill. `path` is its name, or plugin/name for a plugin's.",
            "mimeType": "text/markdown",
        },
        {
            "uriTemplate": "skill://{+path}/{+file}",
            "name": "skill-file",
            "title": "A file of a skill",
            "description": "`file` is its path in the skill, such as references/guide.md.",
        },
    ]
}


def initialize_result(wanted: str, instructions: str) -> Json:
    """Return the answer to `initialize` for a client that wants this version."""
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": "whet", "title": "Whet", "version": __version__, "description": ABOUT},
        "instructions": instructions,
    }


def list_tools(writes: Writes, *, runs: bool = False) -> Json:
    """Return the answer to `tools/list`."""
    from whet.api.tool_definitions import answer_schemas, definitions

    answers = answer_schemas()
    return {"tools": [_describe(tool, answers[tool.name]) for tool in definitions(writes, runs=runs)]}


def _describe(tool: Tool, answers: Json) -> Json:
    """Return a tool in the form of the protocol, with the schema of its answers."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "outputSchema": answers,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.read_only,
            "openWorldHint": False,
        },
    }
