"""Agents of LangChain and deepagents without a model use skills through the middleware."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware, before_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from adapters.world import BODY, INDEX, MAIN, MENDED, MESSAGE, NAMES, OFFER, policy
from whet import Session
from whet.adapters.langchain import SkillsMiddleware, skill_tools
from whet.api.session_pool import SessionKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from adapters.world import World

pytestmark = pytest.mark.deep


class Scripted(BaseChatModel):
    """A chat model that follows a policy, and notes what it is sent."""

    policy: Any
    seen: Any
    offered: Any = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self.model_copy(update={"offered": [tool.name for tool in tools]})

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append((list(messages), self.offered))
        return ChatResult(generations=[ChatGeneration(message=self.policy(messages))])


def answers(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    return [json.loads(message.text) for message in messages if isinstance(message, ToolMessage)]


def calls(*made: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": name, "args": given, "id": f"call-{at}"} for at, (name, given) in enumerate(made)]
    )


def follow(messages: list[BaseMessage]) -> AIMessage:
    """A model that follows the policy."""
    call = policy(answers(messages))
    return calls(call) if call else AIMessage("Done.")


def calling(*made: tuple[str, dict[str, Any]]) -> Callable[[list[BaseMessage]], AIMessage]:
    """A model that makes these calls at once, and is done when they are answered."""
    return lambda messages: AIMessage("Done.") if isinstance(messages[-1], ToolMessage) else calls(*made)


def done(_: list[BaseMessage]) -> AIMessage:
    return AIMessage("Done.")


class Bot:
    """An agent with the middleware, and what its model was sent."""

    def __init__(
        self,
        skills: SkillsMiddleware,
        model: Callable[[list[BaseMessage]], AIMessage] = follow,
        *more: AgentMiddleware[Any, Any, Any],
        create: Any = create_agent,
    ) -> None:
        self.seen: list[tuple[list[BaseMessage], list[str]]] = []
        self.middleware = skills
        scripted = Scripted(policy=model, seen=self.seen)
        self.agent = create(
            scripted, middleware=[skills, *more], system_prompt="You keep a shop.", checkpointer=InMemorySaver()
        )

    def say(self, text: Any, thread: str = "a") -> list[BaseMessage]:
        return list(self.agent.invoke(*self._asked(text, thread))["messages"])

    async def asay(self, text: Any, thread: str = "a") -> list[BaseMessage]:
        return list((await self.agent.ainvoke(*self._asked(text, thread)))["messages"])

    def _asked(self, text: Any, thread: str) -> tuple[Any, Any]:
        return {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}}

    def session(self, thread: str) -> Session:
        state = self.agent.get_state({"configurable": {"thread_id": thread}}).values
        return self.middleware._sessions.get(SessionKey(state["whet_conversation"])).session


@pytest.mark.parametrize("create", [create_agent, create_deep_agent])
@pytest.mark.parametrize("loop", [False, True], ids=["sync", "async"])
def test_the_policy_runs_and_what_it_mends_is_on_disk(world: World, create: Any, loop: bool) -> None:
    bot = Bot(SkillsMiddleware(world.library), create=create)
    messages = asyncio.run(bot.asay("go")) if loop else bot.say("go")
    assert answers(messages) == world.answers()
    assert {message.status for message in messages if isinstance(message, ToolMessage)} == {"success"}
    assert (messages[-1].text, world.main()) == ("Done.", MENDED)
    assert all(set(NAMES) <= set(offered) for _, offered in bot.seen)


def test_the_model_is_told_of_the_skills_and_the_state_keeps_the_users_words(world: World) -> None:
    bot = Bot(SkillsMiddleware(world.library), done)
    messages = bot.say(MESSAGE)
    system, human = bot.seen[0][0]
    assert system == SystemMessage(f"You keep a shop.\n\n{world.library.tools().instructions()}")
    assert (human.content, messages[0].content) == (f"{MESSAGE}\n\n{OFFER}", MESSAGE)
    bare = Bot(SkillsMiddleware(world.library, offer=False, only=["skills_list"]), done)
    bare.say(MESSAGE)
    assert [[message.content for message in sent] for sent, _ in bare.seen] == [
        [f"You keep a shop.\n\n{INDEX}", MESSAGE],
    ]
    assert bare.seen[0][1] == ["skills_list"]


def test_prompts_of_blocks_get_blocks_and_an_agent_without_a_prompt_gets_one(world: World) -> None:
    seen: list[Any] = []
    agent = create_agent(Scripted(policy=done, seen=seen), middleware=[SkillsMiddleware(world.library)])
    agent.invoke({"messages": [HumanMessage([{"type": "text", "text": MESSAGE}])]})
    (system, human), _ = seen[0]
    assert system.content == world.library.tools().instructions()
    assert human.content == [{"type": "text", "text": MESSAGE}, {"type": "text", "text": f"\n\n{OFFER}"}]


def test_what_was_offered_stays_where_it_was_and_is_not_repeated(world: World) -> None:
    bot = Bot(SkillsMiddleware(world.library), done)
    for text in (MESSAGE, "what is the capital of France", MESSAGE):
        bot.say(text)
    people = [[message.content for message in sent if isinstance(message, HumanMessage)] for sent, _ in bot.seen]
    offered = f"{MESSAGE}\n\n{OFFER}"
    assert people == [
        [offered],
        [offered, "what is the capital of France"],
        [offered, "what is the capital of France", MESSAGE],
    ]


def test_what_was_compacted_away_may_be_offered_again(world: World) -> None:
    @before_model
    def compacts(state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG001  as LangChain calls it
        old = state["messages"][:-1]
        return {"messages": [RemoveMessage(message.id) for message in old]} if len(old) == 2 else None

    bot = Bot(SkillsMiddleware(world.library), done, compacts)
    for text in (MESSAGE, "what is the capital of France", MESSAGE):
        bot.say(text)
    people = [[message.content for message in sent if isinstance(message, HumanMessage)] for sent, _ in bot.seen]
    offered = f"{MESSAGE}\n\n{OFFER}"
    assert people == [[offered], ["what is the capital of France"], [offered]]


def test_a_call_of_the_model_that_is_tried_again_is_sent_the_same(world: World) -> None:
    tries: list[int] = []

    def flaky(messages: list[BaseMessage]) -> AIMessage:
        tries.append(len(messages))
        if len(tries) == 1:
            raise ConnectionError("try again")
        return AIMessage("Done.")

    seen: list[Any] = []
    skills, retry = SkillsMiddleware(world.library), ModelRetryMiddleware(max_retries=1, initial_delay=0)
    both: list[AgentMiddleware[Any, Any, Any]] = [retry, skills]
    agent = create_agent(Scripted(policy=flaky, seen=seen), middleware=both)
    agent.invoke({"messages": [HumanMessage(MESSAGE)]})
    first, second = ([message.content for message in sent] for sent, _ in seen)
    assert first == second and first[-1] == f"{MESSAGE}\n\n{OFFER}"


def test_changes_wait_where_they_are_proposals(world: World) -> None:
    Bot(SkillsMiddleware(world.library, writes="propose")).say("go")
    (proposal,) = world.library.proposals.pending().to_json()["proposals"]
    assert world.main() == MAIN
    world.library.edit.proposals.approve(proposal["id"])
    assert world.main() == MENDED


def test_failures_are_answers(world: World) -> None:
    wrong: list[dict[str, Any]] = [{}, {"self": 1, "config": 2, "run_manager": 3, "runtime": 4}, {"name": "x"}]
    bot = Bot(SkillsMiddleware(world.library), calling(*(("skill_view", given) for given in wrong)))
    messages = bot.say("go")
    codes = [(answer["success"], answer["code"]) for answer in answers(messages)]
    assert codes == [(False, "bad-arguments"), (False, "bad-arguments"), (False, "skill-not-found")]
    assert [message.status for message in messages if isinstance(message, ToolMessage)] == ["error"] * 3
    assert messages[-1].text == "Done."


def test_threads_that_go_on_at_the_same_time_do_not_mix(world: World) -> None:
    gate = threading.Barrier(2)

    def model(messages: list[BaseMessage]) -> AIMessage:
        gate.wait(20)
        viewer = "deploy" in messages[1].text
        return calling(("skill_view", {"name": "deploy"}) if viewer else ("skills_list", {}))(messages)

    bot = Bot(SkillsMiddleware(world.library), model)

    async def both() -> None:
        await asyncio.gather(bot.asay(MESSAGE, "viewer"), bot.asay("go", "lister"))

    asyncio.run(both())
    assert [item.name for item in bot.session("viewer").active] == ["deploy"]
    assert bot.session("lister").active == ()


def test_what_one_thread_was_offered_is_new_to_another(world: World) -> None:
    bot = Bot(SkillsMiddleware(world.library), done)
    for thread in ("a", "b"):
        bot.say(MESSAGE, thread)
    assert [sent[-1].content for sent, _ in bot.seen] == [f"{MESSAGE}\n\n{OFFER}"] * 2


def test_a_thread_keeps_its_session(world: World) -> None:
    bot = Bot(SkillsMiddleware(world.library), calling(("skill_view", {"name": "deploy"})))
    for text in ("one", "two"):
        assert answers(bot.say(text))[-1]["content"] == BODY
    bot.say("one", "b")
    assert [bot.session(thread).active[0].times for thread in ("a", "b")] == [2, 1]


def test_a_session_that_is_given_is_used(world: World) -> None:
    session = world.library.session("mine", stubs=False)
    Bot(SkillsMiddleware(world.library.tools(session, writes="propose"))).say("go")
    assert ([item.name for item in session.active], world.main()) == (["deploy"], MAIN)


def test_the_event_loop_goes_on_and_a_run_can_be_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, release = threading.Event(), threading.Event()

    def stuck(*_: Any, **__: Any) -> dict[str, Any]:
        entered.set()
        release.wait(20)
        return {"success": True}

    async def impatient() -> str:
        bot = Bot(SkillsMiddleware(world.library), calling(("skill_view", {"name": "deploy"})))
        run = asyncio.create_task(bot.asay("go"))
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
    bot = Bot(SkillsMiddleware(world.library), done)
    why = world.broken()
    assert bot.say(MESSAGE)[-1].text == "Done."
    assert [message.content for message in bot.seen[0][0]] == [
        f"You keep a shop.\n\nThe skills cannot be listed now. {why}",
        f"{MESSAGE}\n\nWhet could not search for skills. {why}",
    ]


def test_the_skills_of_deepagents_may_be_there_besides(world: World) -> None:
    def create(*given: Any, **how: Any) -> Any:
        return create_deep_agent(*given, skills=["/skills/"], **how)

    bot = Bot(SkillsMiddleware(world.library), create=create)
    assert answers(bot.say("go")) == world.answers()


def test_tools_of_one_conversation_for_an_agent_of_ones_own(world: World) -> None:
    tools = skill_tools(world.library.tools())
    assert [tool.name for tool in tools] == NAMES
    listed, viewed, _, managed = world.answers()
    lists, views = tools[0], tools[1]
    assert json.loads(lists.invoke({})) == listed
    assert json.loads(views.invoke({"name": "deploy"})) == viewed
    assert json.loads(views.invoke('{"name": "deploy"}')) == viewed
    assert json.loads(asyncio.run(views.ainvoke({"name": "deploy"}))) == viewed
    assert json.loads(views.run({"name": "x"}))["code"] == "skill-not-found"
    assert "skills" not in views.model_dump() and managed["success"]


def test_changes_of_an_installed_skill_wait(world: World, tmp_path: Path) -> None:
    source = tmp_path / "source" / "brought"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text(MAIN.replace("name: deploy", "name: brought"), encoding="utf-8")
    world.library.sources.install(str(source))
    (manage,) = (tool for tool in skill_tools(world.library.tools()) if tool.name == "skill_manage")
    patch = {"action": "patch", "name": "brought", "find": "then ship.", "replace": "then go."}
    answer = json.loads(manage.invoke({"operations": [patch]}))
    assert (answer["staged"], answer["reason"]) == (True, "It is installed.")
    assert "then ship." in (world.root / "brought" / "SKILL.md").read_text(encoding="utf-8")
