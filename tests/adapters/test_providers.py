"""The loop of an agent on the APIs of OpenAI and Anthropic, with a client that follows a fixed policy."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from adapters.world import BODY, MAIN, MENDED, NAMES, policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters.world import World

Message = dict[str, Any]


def chat(messages: list[Message], tools: list[Message]) -> Message:
    """OpenAI's chat completions: the message of the assistant."""
    assert [tool["function"]["name"] for tool in tools] == NAMES
    call = policy([json.loads(message["content"]) for message in messages if message["role"] == "tool"])
    if call is None:
        return {"role": "assistant", "content": "Done.", "tool_calls": None}
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    one = {"id": f"call-{len(messages)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [one]}


def responses(items: list[Message], tools: list[Message]) -> Message:
    """OpenAI's responses: a response with its output."""
    assert [tool["name"] for tool in tools] == NAMES
    call = policy([json.loads(item["output"]) for item in items if item.get("type") == "function_call_output"])
    if call is None:
        return {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Done."}]}]}
    arguments = json.dumps(call.arguments)
    one = {"type": "function_call", "call_id": f"call-{len(items)}", "name": call.name, "arguments": arguments}
    return {"output": [{"type": "reasoning", "summary": []}, one]}


def messages(history: list[Message], tools: list[Message]) -> Message:
    """Anthropic's messages: the message of the assistant."""
    assert [tool["name"] for tool in tools] == NAMES
    results = [message["content"] for message in history if message["role"] == "user" and message["content"] != "go"]
    call = policy([json.loads(result["content"]) for (result,) in results])
    if call is None:
        return {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    one = {"type": "tool_use", "id": f"call-{len(history)}", "name": call.name, "input": call.arguments}
    return {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, one]}


def as_object(value: Any) -> Any:
    """As the libraries of the providers give it: objects, and only the input of a call is plain."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: item if key == "input" else as_object(item) for key, item in value.items()})
    return [as_object(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("given", [lambda value: value, as_object], ids=["json", "objects"])
@pytest.mark.parametrize("client", [chat, responses, messages])
def test_the_policy_runs_on_each_api(
    world: World, client: Callable[[list[Message], list[Message]], Message], given: Callable[[Any], Any]
) -> None:
    tools = world.library.tools()
    told: dict[Any, list[Message]] = {
        chat: tools.openai(),
        responses: tools.openai(responses=True),
        messages: tools.anthropic(),
    }
    history: list[Message] = [{"role": "user", "content": "go"}]
    received: list[Message] = []
    while True:
        reply = client(history, told[client])
        answers = tools.answer(given(reply))
        if not answers:
            break
        received += answers
        history += [*reply.get("output", [reply]), *answers]
    texts: dict[Any, Callable[[Message], str]] = {
        chat: lambda answer: answer["content"],
        responses: lambda answer: answer["output"],
        messages: lambda answer: answer["content"][0]["content"],
    }
    assert [json.loads(texts[client](answer)) for answer in received] == world.answers()
    assert world.main() == MENDED


def test_the_same_policy_leaves_a_proposal_where_writes_wait(world: World) -> None:
    tools = world.library.tools(writes="propose")
    history: list[Message] = [{"role": "user", "content": "go"}]
    while answers := tools.answer(reply := messages(history, tools.anthropic())):
        history += [reply, *answers]
    last = json.loads(history[-1]["content"][0]["content"])
    assert (last["success"], last["staged"], world.main()) == (True, True, MAIN)
    (proposal,) = world.library.proposals.pending().to_json()["proposals"]
    world.library.edit.proposals.approve(proposal["id"])
    assert world.main() == MENDED


def test_a_view_is_given_in_full_each_time(world: World) -> None:
    tools = world.library.tools()
    assert [tools.call("skill_view", {"name": "deploy"})["content"] for _ in range(2)] == [BODY, BODY]
