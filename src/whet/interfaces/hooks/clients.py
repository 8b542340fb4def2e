"""Events of each client, and the shape of its answers: a table, to extend when a client appears.

A client gets context in the answers to some events. If these do not include the prompt itself, the context waits for
the next tool call.
"""

from __future__ import annotations

from whet.records import NamedTuple

KINDS = ("start", "prompt", "before", "tool", "compact", "stop", "end")
"""Kinds of events in a session, as `whet hook` names them."""


class Client(NamedTuple):
    """One client that has hooks."""

    events: dict[str, str]
    """Its name for each kind of event; the first name of a kind is the documented one."""
    speaks: frozenset[str]
    """The kinds of events whose answer reaches the model."""
    shape: tuple[str, ...]
    """The keys for the text; in `hookSpecificOutput` it is next to the name of the event."""
    denies: str = ""
    """The form of a refusal: `permissionDecision` in `hookSpecificOutput`, or `decision`; "" if unsupported."""


_PASCAL = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUse": "tool",
    "PostToolUseFailure": "tool",
    "PreCompact": "compact",
    "Stop": "stop",
    "SessionEnd": "end",
}
_SPECIFIC = ("hookSpecificOutput",)
CLIENTS: dict[str, Client] = {
    "claude-code": Client(_PASCAL, frozenset({"start", "prompt", "tool"}), _SPECIFIC, "permissionDecision"),
    "codex": Client(_PASCAL, frozenset({"start", "prompt", "tool"}), _SPECIFIC, "permissionDecision"),
    "cursor": Client(
        {
            "sessionStart": "start",
            "beforeSubmitPrompt": "prompt",
            "postToolUse": "tool",
            "postToolUseFailure": "tool",
            "preCompact": "compact",
            "stop": "stop",
            "sessionEnd": "end",
        },
        frozenset({"start", "tool"}),
        ("additional_context",),
    ),
    "vscode": Client(_PASCAL, frozenset({"start", "tool"}), _SPECIFIC, "permissionDecision"),
    "copilot": Client(_PASCAL, frozenset({"start", "prompt", "tool"}), ("additionalContext",), "permissionDecision"),
    "qwen": Client(_PASCAL, frozenset({"start", "prompt", "tool"}), _SPECIFIC, "permissionDecision"),
    "gemini": Client(
        {
            "SessionStart": "start",
            "BeforeAgent": "prompt",
            "BeforeTool": "before",
            "AfterTool": "tool",
            "PreCompress": "compact",
            "AfterAgent": "stop",
            "SessionEnd": "end",
        },
        frozenset({"start", "prompt"}),
        _SPECIFIC,
        "decision",
    ),
    "hermes": Client(
        {
            "on_session_start": "start",
            "pre_llm_call": "prompt",
            "post_tool_call": "tool",
            "on_session_end": "stop",
            "on_session_finalize": "end",
        },
        frozenset({"prompt"}),
        ("context",),
    ),
}
EVERY_NAME: dict[str, str] = {name: kind for client in CLIENTS.values() for name, kind in client.events.items()}
"""The kind of every event of every client; clients read each other's hooks, and no name means two kinds."""


def native(client: str, kind: str) -> str:
    """Return a client's name for a kind of event; "" if it has none."""
    return next((name for name, known in CLIENTS[client].events.items() if known == kind), "")
