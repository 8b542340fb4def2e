"""An agent of pydantic-ai without a model uses skills through the toolset."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from adapters.world import ABOUT, BODY, INDEX, MAIN, MENDED, MESSAGE, NAMES, OFFER, policy
from whet import Session
from whet.adapters.pydantic_ai import SkillsToolset
from whet.api.session_pool import SessionKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters.world import World

pytestmark = pytest.mark.deep


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]


def answers(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    """What the model was answered, as it is sent to it."""
    return [json.loads(part.model_response_str()) for part in returns(messages)]


def follow(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that follows the policy."""
    assert [tool.name for tool in info.function_tools] == NAMES
    call = policy(answers(messages))
    return ModelResponse(parts=[ToolCallPart(call.name, call.arguments) if call else TextPart("Done.")])


def agent(toolset: SkillsToolset[None], model: Callable[..., ModelResponse] = follow) -> Agent[None, str]:
    return Agent(FunctionModel(model), toolsets=[toolset], instructions="You keep a shop.")


def ran(bot: Agent[None, str], prompt: Any, **how: Any) -> AgentRunResult[str]:
    """What a run comes to; the library's own way of waiting for it leaves an event loop open."""
    return asyncio.run(bot.run(prompt, **how))


def calling(*calls: tuple[str, Any]) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    """A model that makes these calls at once, and is done when they are answered."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001  as it is called
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in calls])

    return model


def test_the_policy_runs_and_what_it_mends_is_on_disk(world: World) -> None:
    result = ran(agent(SkillsToolset(world.library)), "go")
    assert answers(result.all_messages()) == world.answers()
    assert (result.output, world.main()) == ("Done.", MENDED)


def test_the_model_is_told_of_the_tools_and_the_skills(world: World) -> None:
    seen: list[AgentInfo] = []

    def model(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse(parts=[TextPart("Done.")])

    ran(agent(SkillsToolset(world.library), model), MESSAGE)
    tools = world.library.tools()
    told = [(tool.name, tool.description, tool.parameters_json_schema) for tool in seen[0].function_tools]
    assert told == [(tool.name, tool.description, tool.parameters) for tool in tools.definitions()]
    assert seen[0].instructions == f"You keep a shop.\n\n{tools.instructions()}\n\n{OFFER}"

    ran(agent(SkillsToolset(world.library, offer=False, only=["skills_list"]), model), MESSAGE)
    assert [tool.name for tool in seen[1].function_tools] == ["skills_list"]
    assert seen[1].instructions == f"You keep a shop.\n\n{INDEX}"


def test_skills_that_come_in_between_are_told_of(world: World) -> None:
    seen: list[str] = []
    new = {"action": "create", "name": "billing", "description": "Writes bills.", "body": "# Bills\n"}

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info.instructions or "")
        return calling(("skill_manage", {"operations": [new]}))(messages, info)

    ran(agent(SkillsToolset(world.library), model), "go")
    assert ["billing: Writes bills." in text for text in seen] == [False, True]


def test_changes_wait_where_they_are_proposals(world: World) -> None:
    ran(agent(SkillsToolset(world.library, writes="propose")), "go")
    (proposal,) = world.library.proposals.pending().to_json()["proposals"]
    assert world.main() == MAIN
    world.library.edit.proposals.approve(proposal["id"])
    assert world.main() == MENDED


def test_failures_are_answers_and_use_up_no_retries(world: World) -> None:
    wrong = [
        ("skill_view", "nonsense"),
        ("skill_view", "[1]"),
        ("skill_view", {"nmae": 1}),
        ("skill_view", {"name": "x"}),
    ]
    bot = Agent(FunctionModel(calling(*wrong * 3)), toolsets=[SkillsToolset(world.library)], retries=0)
    told = answers(ran(bot, "go").all_messages())
    codes = ["bad-arguments", "bad-arguments", "bad-arguments", "skill-not-found"] * 3
    assert [(answer["success"], answer["code"]) for answer in told] == [(False, code) for code in codes]


def test_changes_of_one_message_are_made_in_its_order(world: World) -> None:
    steps = [("then ship.", "then a."), ("then a.", "then b."), ("then b.", "then c.")]
    calls = [
        ("skill_manage", {"operations": [{"action": "patch", "name": "deploy", "find": old, "replace": new}]})
        for old, new in steps
    ]
    result = ran(agent(SkillsToolset(world.library), calling(*calls)), "go")
    assert [answer["success"] for answer in answers(result.all_messages())] == [True, True, True]
    assert "then c. See" in world.main()


def test_conversations_that_go_on_at_the_same_time_do_not_mix(world: World) -> None:
    toolset: SkillsToolset[None] = SkillsToolset(world.library)
    gate = asyncio.Barrier(2)
    sessions: dict[str, list[str]] = {}

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await gate.wait()
        who = str(messages[0].parts[0].content)  # type: ignore[union-attr]  # a prompt has one
        if returns(messages):
            return ModelResponse(parts=[TextPart("Done.")])
        call = ToolCallPart("skill_view", {"name": "deploy"}) if who == "viewer" else ToolCallPart("skills_list", {})
        assert [tool.name for tool in info.function_tools] == NAMES
        return ModelResponse(parts=[call])

    async def both() -> None:
        bot = Agent(FunctionModel(model), toolsets=[toolset])
        await asyncio.gather(*(bot.run(who, conversation_id=who) for who in ("viewer", "lister")))

    asyncio.run(both())
    for who in ("viewer", "lister"):
        sessions[who] = [item.name for item in toolset._sessions.get(SessionKey(who)).session.active]
    assert sessions == {"viewer": ["deploy"], "lister": []}


def test_a_conversation_that_goes_on_keeps_its_session_and_a_new_one_has_its_own(world: World) -> None:
    toolset: SkillsToolset[None] = SkillsToolset(world.library)
    bot = agent(toolset, calling(("skill_view", {"name": "deploy"})))
    first = ran(bot, "view it")
    ran(bot, "and again", message_history=first.all_messages())
    ran(bot, "view it")
    times = [tools.session.active[0].times for tools, _ in toolset._sessions._tools.values()]
    assert sorted(times) == [1, 2]


def test_a_session_that_is_given_is_used(world: World) -> None:
    session = world.library.session("mine", stubs=False)
    result = ran(agent(SkillsToolset(world.library.tools(session, writes="propose"))), "go")
    assert [item.name for item in session.active] == ["deploy"]
    assert (answers(result.all_messages())[-1]["staged"], world.main()) == (True, MAIN)


def test_the_event_loop_goes_on_and_a_run_can_be_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, release = threading.Event(), threading.Event()

    def stuck(*_: Any, **__: Any) -> dict[str, Any]:
        entered.set()
        release.wait(20)
        return {"success": True}

    async def impatient() -> str:
        run = asyncio.create_task(
            agent(SkillsToolset(world.library), calling(("skill_view", {"name": "deploy"}))).run("go")
        )
        while not entered.is_set():
            await asyncio.sleep(0.001)
        run.cancel()
        try:
            await run
        except asyncio.CancelledError:
            return "given up"
        finally:
            release.set()
        return "waited"

    monkeypatch.setattr(Session, "view", stuck)
    assert asyncio.run(impatient()) == "given up"


def test_the_agent_goes_on_when_the_skills_cannot_be_listed(world: World) -> None:
    toolset: SkillsToolset[None] = SkillsToolset(world.library)
    why = world.broken()
    seen: list[str] = []

    def model(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info.instructions or "")
        return ModelResponse(parts=[TextPart("Done.")])

    assert ran(agent(toolset, model), MESSAGE).output == "Done."
    assert seen == [
        f"You keep a shop.\n\nThe skills cannot be listed now. {why}\n\nWhet could not search for skills. {why}",
    ]


def test_prompts_may_have_more_than_words(world: World) -> None:
    seen: list[str] = []

    def model(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info.instructions or "")
        return ModelResponse(parts=[TextPart("Done.")])

    bot = agent(SkillsToolset(world.library), model)
    ran(bot, ["a picture:", MESSAGE])
    ran(bot, "what is the capital of France")
    assert [text.endswith(ABOUT) for text in seen] == [True, False]
    assert BODY not in seen[0]
