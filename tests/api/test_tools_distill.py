"""The tool `skill_distill`: a session becomes a skill over several calls, whoever makes them, and nothing is lost."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet import Library
from whet.api.tool_definitions import definitions
from whet.api.tools import MAX_ANSWER, length
from whet.learning.distill.rounds import ROUNDS
from whet.prompt.tokens import ESTIMATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whet.api.tools import Tools

REQUEST = "Publish the docs of the shop to staging and check the links."
STEPS = (
    ("make docs", "12 pages built"),
    ("linkchecker site", "230 links, 0 errors"),
    ("rclone sync site staging:docs", "12 files transferred"),
)
THANKS = "Thanks, that worked."
TOKENS = 310
"""What the definition may cost, by the estimate, which is a little high: it is paid for in every conversation."""
HERE = 'Pass the session as messages or as transcript ("## User", "## Assistant", "## Tool: Bash", "## Result").'
FIELDS = [tuple(fields) for _, _, fields in ROUNDS]


def openai() -> list[dict[str, Any]]:
    """The session as OpenAI's chat completions have it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": REQUEST}]
    for number, (command, output) in enumerate(STEPS):
        function = {"name": "Bash", "arguments": json.dumps({"command": command})}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
    return [*messages, {"role": "assistant", "content": "It is published."}, {"role": "user", "content": THANKS}]


def anthropic() -> list[dict[str, Any]]:
    """The session as Anthropic's messages have it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": REQUEST}]
    for number, (command, output) in enumerate(STEPS):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [*messages, {"role": "user", "content": THANKS}]


def markdown() -> str:
    """The session as a model would write it down."""
    parts = [f"## User\n{REQUEST}"]
    parts += [f"## Tool: Bash\n```\n{command}\n```\n## Result\n```\n{output}\n```" for command, output in STEPS]
    return "\n\n".join([*parts, "## Assistant\nIt is published.", f"## User\n{THANKS}"])


class World:
    """A machine in a temporary directory, with no skills."""

    def __init__(self, top: Path) -> None:
        self.project, self.state = top / "project", top / "state"
        self.skills = top / "home" / ".agents" / "skills"
        for path in (self.project, self.state, self.skills):
            path.mkdir(parents=True)
        (self.state / "config.toml").write_text("exact_tokens = false\n")
        self._env = {"HOME": str(top / "home"), "PATH": ""}
        self.library = self.open()

    def open(self) -> Library:
        return Library.open(home=self.state, project=self.project, env=self._env)

    def written(self) -> list[str]:
        return sorted(os.listdir(self.skills))

    def kept(self) -> list[str]:
        return sorted(id_ for (id_,) in self.library.workspace.state.read("SELECT id FROM distillations"))

    def told(self, client: str, number: str, *, ended: bool = True, project: str = "") -> None:
        """Hooks tell of a hard session."""
        path = self.project / f"{number}.md"
        path.write_text(markdown(), encoding="utf-8")
        sessions = self.library.learning.sessions
        sessions.note(client, number, project=project or str(self.project), transcript=str(path), prompts=1, tools=9)
        sessions.note(client, number, ended=ended)

    def waiting(self) -> list[str]:
        return [seen.id for seen in self.library.learning.sessions.waiting()]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    made = World(tmp_path)
    yield made
    made.library.close()


def distill(tools: Tools, **given: Any) -> dict[str, Any]:
    answer = tools.call("skill_distill", given)
    assert answer["success"], answer
    return answer


def refused(tools: Tools, **given: Any) -> dict[str, Any]:
    answer = tools.call("skill_distill", given)
    assert (answer.pop("success"), answer["code"] == "tool-failed") == (False, False), answer
    return answer


# what it costs


def test_its_definition_is_short() -> None:
    (tool,) = (tool for tool in definitions() if tool.name == "skill_distill")
    told = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    assert ESTIMATE.count(json.dumps(told, separators=(",", ":"))) < TOKENS
    assert (tool.read_only, tool.destructive) == (False, False)


# an agent goes through the rounds


def chat(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}


def blocks(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": name, "input": arguments}]}


def of_chat(messages: list[dict[str, Any]]) -> Any:
    (message,) = messages
    return json.loads(message["content"])


def of_blocks(messages: list[dict[str, Any]]) -> Any:
    ((result,),) = (message["content"] for message in messages)
    return json.loads(result["content"])


@pytest.mark.parametrize(
    ("call", "read", "messages"), [(chat, of_chat, openai), (blocks, of_blocks, anthropic)], ids=["openai", "anthropic"]
)
def test_an_agent_asks_its_user_and_writes_what_they_said(
    world: World, call: Callable[..., Any], read: Callable[..., Any], messages: Callable[..., Any]
) -> None:
    tools = world.library.tools()
    user = {
        "goal": "Publishes the docs.",
        "name": "publish-docs",
        "steps": ["1. Build the pages", "2"],
        "arguments": ["TARGET (staging)"],
        "argument_hint": "[target]",
        "triggers": ["publish docs", "staging"],
        "when_to_use": "Before a release.",
        "tools": ["Bash(make docs)"],
        "fork": True,
        "here": False,
    }
    answer = read(tools.answer(call("skill_distill", {"messages": messages()})))
    seen = []
    while not answer["done"]:
        names = tuple(field["name"] for field in answer["question"]["fields"])
        seen.append((answer["round"], answer["of"], names))
        said = {name: user[name] for name in names if name in user}
        arguments = {"distillation": answer["distillation"], "answers": said}
        answer = read(tools.answer(call("skill_distill", arguments)))
    assert seen == [(number, 4, fields) for number, fields in enumerate(FIELDS, 1)]
    assert {name: answer["answers"][name] for name in user} == user
    assert (world.written(), world.kept()) == ([], [answer["distillation"]])

    done = read(tools.answer(call("skill_distill", {"distillation": answer["distillation"], "finish": True})))
    assert (done["success"], done["skill"], done["created"], done["fork"]) == (True, "publish-docs", True, True)
    assert done["allowed_tools"] == ["Bash(make docs)"] and "facts" not in done
    assert (world.written(), world.kept()) == (["publish-docs"], [])
    (entry,) = world.library.edit.history.entries("publish-docs").to_json()["entries"]
    assert (entry["actor"], entry["action"]) == ("agent", "create")


def test_finishing_at_once_takes_everything_as_proposed(world: World) -> None:
    expected = world.library.learning.distill(openai(), model="", dry_run=True).to_json()
    done = distill(world.library.tools(), messages=openai(), finish=True)
    assert done["skill"] == expected["skill"]
    text = (world.skills / done["skill"] / "SKILL.md").read_text(encoding="utf-8")
    assert text.split("---", 2)[2] == expected["text"].split("---", 2)[2]
    again = distill(world.library.tools(), transcript=markdown(), answers={"name": "other-name"}, finish=True)
    assert (again["skill"], world.kept()) == ("other-name", [])


def test_what_an_agent_proposes_waits_for_a_person(world: World) -> None:
    tools = world.library.tools(writes="propose")
    done = distill(tools, messages=openai(), answers={"name": "publish-docs"}, finish=True)
    assert (done["staged"], done["skill"], world.written(), world.kept()) == (True, "publish-docs", [], [])
    world.library.edit.proposals.approve(done["proposal"])
    assert world.written() == ["publish-docs"]


def test_a_second_session_improves_the_skill_of_the_first(world: World) -> None:
    tools = world.library.tools()
    first = distill(tools, messages=openai(), finish=True)
    begun = distill(tools, messages=anthropic())
    assert f"The skill {first['skill']} covers the same task" in begun["question"]["text"]
    again = distill(tools, distillation=begun["distillation"], finish=True)
    assert (again["skill"], world.written()) == (first["skill"], [first["skill"]]), "a draft can be improved"
    assert tools.call("skill_view", {"name": first["skill"]})["code"] == "draft"


# going on


def test_a_distillation_goes_on_in_another_process_and_with_another_agent(world: World) -> None:
    begun = distill(world.library.tools(), messages=openai())
    with world.open() as library:
        other = distill(library.tools(), distillation=begun["distillation"])
        beside = {key: begun[key] for key in ("session", "report", "evidence", "write", "hint")}
        assert {**other, **beside} == begun, "without answers nothing changes"
        second = distill(library.tools(), distillation=begun["distillation"], answers={})
    assert (second["round"], distill(world.library.tools(), distillation=begun["distillation"])) == (2, second)


def test_going_back_keeps_what_was_said(world: World) -> None:
    tools = world.library.tools()
    begun = distill(tools, messages=openai(), answers={"name": "publish-docs"})
    number = begun["distillation"]
    assert begun["round"] == 2
    first = distill(tools, distillation=number, back=True)
    assert (first["round"], first["question"]["fields"][1]["value"]) == (1, "publish-docs")
    assert distill(tools, distillation=number, back=True) == first


def test_answers_may_be_for_any_round(world: World) -> None:
    tools = world.library.tools()
    number = distill(tools, messages=openai(), answers={"fork": True, "name": "one"})["distillation"]
    assert distill(tools, distillation=number, answers={"name": "two"})["round"] == 2, "nothing is passed over"
    for _ in range(3):
        answer = distill(tools, distillation=number, answers={})
    assert (answer["done"], answer["answers"]["name"], answer["answers"]["fork"]) == (True, "two", True)
    assert distill(tools, distillation=number, answers={"fork": False})["answers"]["fork"] is False


def test_answers_and_messages_may_be_text_as_small_models_write_them(world: World) -> None:
    tools = world.library.tools()
    begun = distill(tools, messages=json.dumps(openai()), answers='{"name": "publish-docs"}', finish="false")
    assert (begun["round"], begun["done"]) == (2, False)


# what is wrong


@pytest.mark.parametrize(
    ("given", "code", "error", "hint"),
    [
        (
            {"session": "a:b", "transcript": "x"},
            "bad-arguments",
            "session and transcript exclude each other.",
            "Use one of them.",
        ),
        (
            {"distillation": "abcdef012345", "back": True, "answers": {}},
            "bad-arguments",
            "back cannot be combined with other arguments.",
            "Go back first, then answer.",
        ),
        ({"messages": {}}, "bad-arguments", "messages is {}, not a list.", "The session as API messages."),
        (
            {"path": "/etc/passwd"},
            "bad-arguments",
            "There is no argument 'path'.",
            "Arguments are session, messages, transcript, distillation, answers, skill, back, finish, ask.",
        ),
        ({}, "no-session-waits", "No session is waiting.", HERE),
        ({"session": "claude-code:nope"}, "no-such-session", "There is no session 'claude-code:nope'.", HERE),
        ({"session": "current"}, "no-such-session", "Hooks have not reported a current session here.", HERE),
        ({"transcript": "Hello."}, "not-a-transcript", "The text is not a transcript: it has no speakers.", HERE),
        ({"transcript": ""}, "not-a-transcript", "The text is not a transcript: it is empty.", HERE),
        ({"transcript": "/etc/passwd"}, "not-a-transcript", "The text is not a transcript: it has no speakers.", HERE),
        (
            {"messages": [1, None, "x", [], {"role": "user", "content": "Hi."}]},
            "nothing-to-distill",
            "This session has no command, edit or other tool call that worked.",
            "Pass the transcript of a session in which an agent did something; `whet distill` lists recent ones.",
        ),
    ],
)
def test_what_cannot_be_distilled_is_told(
    world: World, given: dict[str, Any], code: str, error: str, hint: str
) -> None:
    assert refused(world.library.tools(), **given) == {"error": error, "code": code, "hint": hint}
    assert (world.kept(), world.written()) == ([], [])


@pytest.mark.parametrize("number", ["abcdef012345", "../../x", "nope", "\ud800"])
def test_an_unknown_distillation_is_told(world: World, number: str) -> None:
    answer = refused(world.library.tools(), distillation=number, finish=True)
    assert answer["code"] == "no-such-distillation" and world.written() == []


def test_a_bad_answer_loses_nothing(world: World) -> None:
    tools = world.library.tools()
    for said in ({"name": "!!"}, {"nmae": "x"}, {"tools": ["Bash("]}, {"fork": "perhaps"}, {"triggers": {"a": 1}}):
        answer = refused(tools, messages=openai(), answers=said)
        assert answer["code"] == "bad-answer"
        assert distill(tools, distillation=answer["distillation"])["round"] == 1
    number = answer["distillation"]
    assert distill(tools, distillation=number, answers={"name": "kept"})["round"] == 2
    assert refused(tools, distillation=number, answers={"name": "!!"}, finish=True)["code"] == "bad-answer"
    assert distill(tools, distillation=number, finish=True)["skill"] == "kept"


def test_a_damaged_file_is_told(world: World) -> None:
    tools = world.library.tools()
    number = distill(tools, messages=openai())["distillation"]
    with world.library.workspace.state.write() as connection:
        connection.execute("UPDATE distillations SET content = '{' WHERE id = ?", (number,))
    assert refused(tools, distillation=number, answers={})["code"] == "bad-distillation"


# sessions that hooks told of


def test_the_newest_that_waits_is_taken(world: World) -> None:
    for number in ("one", "two"):
        world.told("codex", number)
    tools = world.library.tools()
    begun = distill(tools)
    assert (begun["session"], begun["report"]) == ("codex:two", [])
    assert distill(tools, session="")["session"] == "codex:two"
    assert distill(tools, session="codex:one")["session"] == "codex:one"
    hint = refused(tools, session=str(world.project / "one.md"))["hint"]
    assert hint == "Waiting sessions: codex:two, codex:one.", "a path names no session"
    distill(tools, distillation=begun["distillation"], finish=True)
    assert world.waiting() == ["one"]
    distill(world.library.tools(writes="propose"), finish=True, answers={"name": "other"})
    assert world.waiting() == [], "what is proposed does not wait to be learned from either"


def test_the_session_that_goes_on_is_that_of_the_project(world: World, tmp_path: Path) -> None:
    world.told("codex", "elsewhere", ended=False, project=str(tmp_path / "else"))
    world.told("codex", "over")
    tools = world.library.tools()
    assert refused(tools, session="current")["code"] == "no-such-session"
    world.told("codex", "within", ended=False, project=str(world.project / "docs"))
    assert distill(tools, session="current")["session"] == "codex:within"


def test_a_session_whose_transcript_is_gone_is_told(world: World) -> None:
    world.told("codex", "gone")
    (world.project / "gone.md").unlink()
    world.library.learning.sessions.note("codex", "never", tools=9, ended=True)
    tools = world.library.tools()
    assert refused(tools)["code"] == "no-session-waits"
    assert refused(tools, session="codex:gone")["code"] == "transcript-missing"
    assert refused(tools, session="codex:never")["code"] == "no-transcript"


def test_what_comes_with_the_call_speaks_for_no_other_session(world: World) -> None:
    world.told("whet", "mine")
    line = {"whet-transcript": 1, "client": "whet", "session": "mine"}
    text = "\n".join(json.dumps(row) for row in (line, *openai()))
    tools = world.library.tools()
    for source in ({"transcript": text}, {"messages": [line, *openai()]}):
        answer = tools.call("skill_distill", {**source, "finish": True})
        assert answer.get("session", "") == ""
    assert world.waiting() == ["mine"]


# what a model may not have


def test_a_skill_that_the_model_may_not_see_is_neither_told_of_nor_changed(world: World) -> None:
    tools = world.library.tools()
    first = distill(tools, messages=openai(), finish=True)
    main = world.skills / first["skill"] / "SKILL.md"
    before = main.read_bytes()
    world.library.settings.disable(first["skill"])
    begun = distill(tools, messages=anthropic())
    assert "is for the same" not in begun["question"]["text"]
    answer = refused(tools, distillation=begun["distillation"], answers={"name": first["skill"]}, finish=True)
    assert (answer["code"], main.read_bytes()) == ("disabled", before)
    assert distill(tools, distillation=begun["distillation"], answers={"name": "mine"}, finish=True)["skill"] == "mine"


def test_secrets_are_hidden_before_anything_is_kept(world: World) -> None:
    token = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    messages = openai()
    messages[2]["content"] += f"\nGITHUB_TOKEN={token}"
    messages[0]["content"] += f" The token is {token}."
    begun = distill(world.library.tools(), messages=messages)
    distill(world.library.tools(), distillation=begun["distillation"], answers={"name": "publish-docs"}, finish=True)
    for directory, _, names in os.walk(world.state.parent):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                assert token.encode() not in file.read(), name


# many at once, and much


def test_answers_that_come_at_once_are_all_kept(world: World) -> None:
    number = distill(world.library.tools(), messages=openai())["distillation"]
    said: list[dict[str, Any]] = [
        {"name": "publish-docs"},
        {"goal": "Publishes the docs."},
        {"triggers": ["docs"]},
        {"tools": []},
    ]

    def answer(values: dict[str, Any]) -> None:
        with world.open() as library:
            distill(library.tools(), distillation=number, answers=values)

    run_all([partial(answer, values) for values in (*said, {"fork": True})])
    tools = world.library.tools()
    while not (last := distill(tools, distillation=number, answers={}))["done"]:
        pass
    goal, fork = "Publishes the docs.", True
    given = {"goal": goal, "name": "publish-docs", "triggers": ["docs"], "tools": [], "fork": fork}
    assert {name: last["answers"][name] for name in given} == given


def test_of_two_that_finish_one_writes(world: World) -> None:
    number = distill(world.library.tools(), messages=openai())["distillation"]
    codes: list[str] = []

    def finish() -> None:
        with world.open() as library:
            codes.append(
                library.tools().call("skill_distill", {"distillation": number, "finish": True}).get("code", "")
            )

    run_all([finish] * 4)
    assert sorted(codes) == ["", *["no-such-distillation"] * 3]
    (name,) = world.written()
    assert len(world.library.edit.history.entries(name).to_json()["entries"]) == 1


def run_all(works: list[Callable[[], None]]) -> None:
    """Do these at once; what fails is an error here."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_a_huge_session_is_bounded(world: World) -> None:
    messages = [*openai()[:-2], {"role": "assistant", "content": "words " * 500_000}]
    for number in range(500):
        function = {"name": "Bash", "arguments": json.dumps({"command": f"make page-{number} " + "x" * 500})}
        call = {"id": f"x{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"x{number}", "content": "done\n" * 50})
    answer = distill(world.library.tools(), messages=messages)
    assert length(answer) < MAX_ANSWER // 4
    query = "SELECT length(content) FROM distillations WHERE id = ?"
    assert world.library.workspace.state.read(query, (answer["distillation"],))[0][0] < 10_000_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["\ud800", "user"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "name", "goal", "tools", "\udfff"]), inner)
    ),
    max_leaves=6,
)
GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "session": JSON | st.sampled_from(["", "current", "codex:one"]),
        "messages": JSON | st.lists(JSON, max_size=3) | st.just(openai()),
        "transcript": JSON | st.just(markdown()),
        "distillation": JSON,
        "answers": JSON | st.dictionaries(st.sampled_from([name for one in FIELDS for name in one]), JSON),
        "back": JSON,
        "finish": JSON,
        "ask": JSON,
    },
)


@given(arguments=GIVEN, as_text=st.booleans())
@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_comes_the_answer_is_json(world: World, arguments: dict[str, Any], as_text: bool) -> None:
    given = json.dumps(arguments) if as_text else arguments
    answer = world.library.tools(writes="propose").call("skill_distill", given)
    assert type(answer["success"]) is bool and answer.get("code") != "tool-failed", answer
    assert len(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()) > 0
    assert length(answer) <= MAX_ANSWER and world.written() == []
