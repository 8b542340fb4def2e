"""The scripted model: every protocol says the same script, and what it is asked is read alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest

from real_clients.model import Call, Result, ScriptedModel, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = Call("run", {"command": "ls"})
TOOL = {"name": "run"}
ASKED: dict[str, dict[str, Any]] = {
    "/v1/messages": {
        "system": "Be brief.",
        "tools": [TOOL],
        "messages": [
            {"role": "user", "content": "List."},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a", "is_error": True}],
            },
        ],
    },
    "/v1/responses": {
        "instructions": "Be brief.",
        "tools": [{"type": "namespace", "name": "mcp", "tools": [TOOL]}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "List."}]},
            {"type": "function_call_output", "call_id": "c1", "output": "a"},
        ],
    },
    "/v1/chat/completions": {
        "tools": [{"type": "function", "function": TOOL}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "List."},
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
        ],
    },
    "/v1beta/models/m:generateContent": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [TOOL]}],
        "contents": [
            {"role": "user", "parts": [{"text": "List."}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": {"error": "a"}}}]},
        ],
    },
}


def ask(model: ScriptedModel, path: str, body: dict[str, Any]) -> str:
    data = json.dumps(body).encode()
    with urlopen(HttpRequest(model.url + path, data, {"content-type": "application/json"})) as answer:
        return str(answer.read().decode())


def parts(value: Any) -> Iterator[str]:
    """Every text in an answer, and every JSON in a text."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from parts(item)
    elif isinstance(value, str):
        yield value
        if value.startswith("{"):
            yield from parts(json.loads(value))


@pytest.mark.parametrize("path", ASKED)
def test_every_protocol_says_the_script(path: str) -> None:
    with ScriptedModel([Step("I look.", (CALL,)), Step("It is listed.")]) as model:
        first = ask(model, path, ASKED[path])
        streaming = path.replace(":generateContent", ":streamGenerateContent")
        second = ask(model, streaming, {**ASKED[path], "stream": True})
        third = ask(model, path, ASKED[path])
        assert {"I look.", "run", "ls"} <= set(parts(json.loads(first)))
        events = [line[6:] for line in second.splitlines() if line.startswith("data: {")]
        assert "It is listed." in set(parts([json.loads(event) for event in events]))
        assert "Done." in set(parts(json.loads(third)))
        assert "A title" in ask(model, path, {**ASKED[path], "tools": []})
    assert (len(model.requests), len(model.others)) == (3, 1)
    request = model.requests[0]
    assert (request.tools, request.system) == (["mcp.run" if "responses" in path else "run"], "Be brief.")
    assert request.messages == [("user", "List.")]
    says_so = "messages" in path or "Content" in path
    assert request.results == [Result("c1", "a", failed=says_so)]
    assert request.text == "Be brief.\nList.\na"
