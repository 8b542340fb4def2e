"""The tools a model gets: whatever it sends, it is answered, and no answer is longer than a model can take."""

from __future__ import annotations

import asyncio
import json
import threading
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from whet import Library, Session, UsageError
from whet.api.tool_definitions import LISTED, definitions
from whet.api.tools import LIST_ROOM, MAX_ANSWER, Tools, bounded, length

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.library.disclosure import View

NAMES = ["skills_list", "skill_view", "skills_search", "skill_manage", "skill_feedback", "skill_distill"]
BODY = "# Deploy\n\nRun the tests, then ship. See references/checklist.md.\n"
USAGE = (
    "skills_search finds skills that are not listed here. skill_view with file_path reads a file that a skill "
    "mentions. When a skill turns out to be wrong or incomplete, fix it with skill_manage. Report with "
    "skill_feedback whether a skill helped. Save what you worked out as a skill with skill_distill."
)
SHORTENED = 1_024
OBJECT = 'Pass one JSON object, such as {"name": "..."}.'
NAME = "The skill's name, as skills_list or skills_search gave it."


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.toml").write_text("exact_tokens = false\n")
    skill(tmp_path, "deploy", BODY, "Deploys the shop to staging. Use when asked to ship it.")
    (tmp_path / "home/.agents/skills/deploy/references").mkdir()
    (tmp_path / "home/.agents/skills/deploy/references/checklist.md").write_text("- tests are green\n")
    return tmp_path


@pytest.fixture
def library(world: Path) -> Iterator[Library]:
    env = {"HOME": str(world / "home"), "PATH": ""}
    with Library.open(home=world / "state", project=world, env=env) as made:
        yield made


def skill(world: Path, name: str, body: str = "Body.\n", description: str = "") -> Path:
    """Write a skill of the user's; gives its directory."""
    directory = world / "home/.agents/skills" / name
    directory.mkdir(parents=True)
    text = f"---\nname: {directory.name}\ndescription: {json.dumps(description or f'Does {name}.')}\n---\n{body}"
    (directory / "SKILL.md").write_text(text, encoding="utf-8", newline="\n")
    return directory


def failure(code: str, error: str, hint: str) -> dict[str, Any]:
    return {"success": False, "error": error, "code": code, "hint": hint}


# definitions


def test_every_definition_is_json_schema_that_takes_an_object() -> None:
    told = {tool.name: tool for tool in definitions()}
    assert list(told) == NAMES
    for tool in told.values():
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert (tool.parameters["type"], tool.parameters["additionalProperties"]) == ("object", False)
        assert tool.title and tool.description and json.loads(json.dumps(tool.parameters)) == tool.parameters
    assert [name for name, tool in told.items() if tool.read_only] == ["skills_list", "skill_view", "skills_search"]
    assert [name for name, tool in told.items() if tool.destructive] == ["skill_manage"]


def test_definitions_in_the_shapes_of_the_providers(library: Library) -> None:
    tools = library.tools(only=["skill_view"])
    (view,) = tools.definitions()
    plain = {"name": view.name, "description": view.description}
    assert tools.openai() == [{"type": "function", "function": {**plain, "parameters": view.parameters}}]
    assert tools.openai(responses=True) == [{"type": "function", **plain, "parameters": view.parameters}]
    assert tools.anthropic() == [{**plain, "input_schema": view.parameters}]


def test_only_the_named_tools_are_offered_and_answer(library: Library) -> None:
    tools = library.tools(only={"skill_view", "skills_list"})
    assert [tool.name for tool in tools.definitions()] == ["skills_list", "skill_view"]
    hint = "The tools are skills_list, skill_view."
    assert tools.call("skills_search", {"message": "x"}) == failure(
        "no-such-tool", "There is no tool 'skills_search'.", hint
    )
    with pytest.raises(UsageError, match="There is no tool skill_vew"):
        library.tools(only=["skill_vew"])
    with pytest.raises(UsageError, match="writes is 'ask'"):
        library.tools(writes="ask")  # type: ignore[arg-type]  # what a program may get wrong


def test_writes_are_made_or_wait_or_are_not_offered(library: Library, world: Path) -> None:
    main = world / "home/.agents/skills/deploy/SKILL.md"
    patch = {"operations": [{"action": "patch", "name": "deploy", "find": "then ship.", "replace": "then go."}]}
    before = main.read_text()

    none = library.tools(writes="none")
    assert [tool.name for tool in none.definitions()] == [*NAMES[:3], "skill_feedback"]
    assert none.call("skill_manage", patch)["code"] == none.call("skill_distill")["code"] == "no-such-tool"

    propose = library.tools(writes="propose")
    assert propose.definitions()[3].description.endswith("A change waits for a person's approval.")
    answer = propose.call("skill_manage", patch)
    assert (answer["success"], answer["staged"], main.read_text()) == (True, True, before)
    (proposal,) = library.proposals.pending().to_json()["proposals"]
    library.edit.proposals.approve(proposal["id"])
    after = before.replace("then ship.", "then go.").replace('ship it."\n', 'ship it."\nmetadata:\n  version: "2"\n')
    assert main.read_text() == after

    back = {"operations": [{"action": "patch", "name": "deploy", "find": "then go.", "replace": "then ship."}]}
    assert library.tools().call("skill_manage", back)["success"]
    assert main.read_text() == after.replace("then go.", "then ship.").replace('"2"', '"3"')


def test_instructions_tell_of_the_skills_and_of_the_tools_that_are_there(library: Library) -> None:
    index = "▸ deploy: Deploys the shop to staging. Use when asked to ship it."
    text = library.tools().instructions()
    assert text.splitlines()[1:] == [
        index,
        "",
        USAGE,
    ]
    assert library.tools(only=["skills_list"]).instructions() == index, "a tool that does not exist is not mentioned"


def test_an_offer_is_made_once_and_only_where_something_fits(library: Library) -> None:
    tools = library.tools()
    offer = (
        "Skills that may fit this message; load one with skill_view(name) before you act on it:\n"
        "▸ deploy: Deploys the shop to staging. Use when asked to ship it."
    )
    assert tools.offer("deploy the shop to staging") == offer
    assert tools.offer("deploy the shop to staging") == ""
    assert tools.offer("deploy the shop to staging", again=True) == offer
    assert (tools.offer("what is the capital of France"), tools.offer(" ")) == ("", "")


# bad calls

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["deploy", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*"abc", "name", "operations", "limit", "message", "\udfff"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
ARGUMENTS = ["name", "file_path", "page", "category", "query", "limit", "cursor", "message", "outcome", "fits"]
ARGUMENTS += ["operations", "reason", "action", "find", "replace", "session", "messages", "transcript", "distillation"]
ARGUMENTS += ["answers", "back", "finish", "ask"]


@given(
    name=st.sampled_from(NAMES),
    arguments=JSON | st.dictionaries(st.sampled_from(ARGUMENTS), JSON, max_size=4),
    as_text=st.booleans(),
)
@example(name="skill_view", arguments={"name": "deploy", "page": 10**5000}, as_text=False)
@example(name="skill_view", arguments={"name": "deploy", "file_path": "references/\ud800\0"}, as_text=False)
@example(name="skills_list", arguments={"query": "\ud800", "cursor": "\ud800"}, as_text=True)
@example(name="skills_list", arguments={"limit": float("nan")}, as_text=True)
@example(name="skill_feedback", arguments={"name": "deploy", "message": "\ud800", "fits": True}, as_text=False)
@example(
    name="skill_manage",
    arguments={"action": "create", "name": "x", "description": "\ud800", "body": "\ud800"},
    as_text=False,
)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_value_is_answered(library: Library, name: str, arguments: Any, as_text: bool) -> None:
    given = json.dumps(arguments) if as_text else arguments
    answer = library.tools(writes="propose").call(name, given)
    assert type(answer["success"]) is bool
    if not answer["success"]:
        assert answer["error"] and answer["code"] and answer["code"] != "tool-failed"
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    assert len(text.encode()) >= len(text) and len(text) <= MAX_ANSWER


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [100, 900, 3_000])
def test_what_is_nested_too_deep_is_answered(library: Library, levels: int) -> None:
    for name in NAMES:
        for arguments in (
            "[" * levels + "]" * levels,
            deep(levels),
            {"name": deep(levels), "operations": deep(levels)},
        ):
            answer = library.tools().call(name, arguments)
            assert (answer["success"], length(answer) < MAX_ANSWER) == (False, True)


@pytest.mark.parametrize(
    ("name", "arguments", "error", "hint"),
    [
        ("skill_view", "nonsense", "The arguments are not JSON.", OBJECT),
        ("skill_view", [1], "The arguments must be an object, not [1].", OBJECT),
        ("skill_view", {}, "name is missing.", NAME),
        ("skill_view", {"name": 1}, "name is 1, not text.", NAME),
        ("skill_view", {"nmae": "x"}, "There is no argument 'nmae'.", "Arguments are name, file_path, page."),
        (
            "skill_view",
            {"name": "x", "page": 0},
            "page is 0, not a number of at least 1.",
            "The page to read (default 1).",
        ),
        (
            "skills_list",
            {"limit": True},
            "limit is True, not a number of at least 1.",
            f"At most this many; default {LISTED}.",
        ),
        (
            "skills_list",
            {"limit": 1.5},
            "limit is 1.5, not a number of at least 1.",
            f"At most this many; default {LISTED}.",
        ),
        (
            "skill_feedback",
            {"name": "x", "outcome": "good"},
            "outcome is 'good', not helped or failed or corrected.",
            "How it did.",
        ),
        (
            "skill_feedback",
            {"name": "deploy", "message": "ship"},
            "fits is missing.",
            "Set fits to say whether the message is for that skill.",
        ),
        (
            "skill_feedback",
            {"fits": True},
            "The feedback does not say what it is about.",
            "Pass name and outcome, or message and fits, or all of them.",
        ),
    ],
)
def test_wrong_arguments_are_told_with_what_is_right(
    library: Library, name: str, arguments: Any, error: str, hint: str
) -> None:
    assert library.tools().call(name, arguments) == failure("bad-arguments", error, hint)


def test_numbers_and_truth_values_may_be_written_as_small_models_do(library: Library) -> None:
    tools = library.tools()
    expected = tools.call("skill_view", {"name": "deploy", "page": 1})
    assert expected["success"]
    for page in ("1", 1.0, None):
        assert tools.call("skill_view", {"name": "deploy", "page": page}) == expected
    assert tools.call("skill_view", '{"name": "deploy"}') == expected
    assert tools.call("skill_view", MappingProxyType({"name": "deploy"})) == expected
    assert tools.call("skill_feedback", {"name": "deploy", "message": "ship it", "fits": "true"})["success"]
    assert tools.call("skills_list", "") == tools.call("skills_list", None) == tools.call("skills_list", {})


def test_a_tool_that_breaks_is_an_answer(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(Session, "view", breaks)
    assert library.tools().call("skill_view", {"name": "deploy"}) == failure(
        "tool-failed",
        "skill_view failed: MemoryError: no room",
        "Try again with other arguments; `whet doctor` checks the library for problems.",
    )


# feedback


def test_a_skill_that_failed_is_not_called_the_wrong_one(library: Library) -> None:
    tools = library.tools()
    noted = {"success": True, "name": "deploy", "outcome": "failed", "recorded": True}
    assert tools.call("skill_feedback", {"name": "deploy", "outcome": "failed", "message": "ship the shop"}) == noted
    assert library.learning.list_feedback().to_json()["feedback"] == []
    assert tools.call("skill_feedback", {"name": "deploy", "outcome": "helped", "message": "ship the shop"})["success"]
    (said,) = library.learning.list_feedback().to_json()["feedback"]
    assert (said["skill"], said["message"], said["fits"]) == ("deploy", "ship the shop", True)


# sizes


def test_pages_of_the_list_lose_and_repeat_nothing(library: Library, world: Path, *, quick: bool) -> None:
    count = 600 if quick else 3_000
    for number in range(count):
        skill(world, f"skill-{number:04}", description=f"Number {number}. " + 'é" \\ long words ' * 80)
    tools, seen, cursor, pages = library.tools(), [], None, 0
    while True:
        answer = tools.call("skills_list", {"limit": 200, **({"cursor": cursor} if cursor else {})})
        assert answer["success"] and length(answer) < LIST_ROOM + 2_000 and answer["total"] == count + 1
        assert all(len(row["description"]) <= SHORTENED for row in answer["skills"])
        seen += [row["name"] for row in answer["skills"]]
        cursor, pages = answer["next"], pages + 1
        if cursor is None:
            break
    assert seen == ["deploy", *(f"skill-{number:04}" for number in range(count))]
    assert pages > (count + 1) / LISTED


def test_many_categories_take_little_room(library: Library, world: Path) -> None:
    for number in range(120):
        skill(world, f"group-{number:03}/skill-{number:03}")
        note = f"---\ndescription: {'words ' * 2_000}\n---\n"
        (world / f"home/.agents/skills/group-{number:03}/DESCRIPTION.md").write_text(note)
    answer = library.tools().call("skills_list", {"limit": 5})
    assert [row["name"] for row in answer["skills"]] == ["deploy", *(f"skill-{number:03}" for number in range(4))]
    assert (len(answer["categories"]), answer["more_categories"]) == (100, 20)
    assert "cut" not in answer and length(answer) < MAX_ANSWER // 4


def test_a_long_body_comes_in_pages(library: Library, world: Path) -> None:
    text = "".join(f'line {number:05} "quoted"\n' for number in range(15_000))
    body = text[:300_000]
    skill(world, "long", body)
    tools, read = library.tools(), ""
    for page in (1, 2, 3):
        answer = tools.call("skill_view", {"name": "long", "page": page})
        assert (answer["pages"], "cut" in answer, length(answer) < MAX_ANSWER) == (3, False, True)
        read += answer["content"]
    assert read.strip() == body.strip()
    assert tools.call("skill_view", {"name": "long", "page": 4})["code"] == "no-such-page"


def test_what_is_longer_as_json_than_as_text_is_cut_and_says_so(library: Library, world: Path) -> None:
    (world / "home/.agents/skills/deploy/references/controls.txt").write_text("\x01" * 100_000)
    answer = library.tools().call("skill_view", {"name": "deploy", "file_path": "references/controls.txt"})
    kept = len(answer["content"])
    assert MAX_ANSWER - 2_000 < length(answer) <= MAX_ANSWER, "as much as there is room for"
    assert (answer["content"], answer["cut"], answer["hint"]) == (
        "\x01" * kept,
        ["content"],
        f"The last {100_000 - kept:,} characters of this page are not shown; read them from the skill's path.",
    )


def test_a_skill_of_many_files_still_shows_its_body(library: Library, world: Path) -> None:
    directory = skill(world, "many", "Read the files.\n")
    for folder in range(50):
        (directory / "references" / f"{folder:03}-{'x' * 100}").mkdir(parents=True)
        for number in range(100):
            (directory / "references" / f"{folder:03}-{'x' * 100}" / f"{number:03}-{'y' * 100}.md").touch()
    answer = library.tools().call("skill_view", {"name": "many"})
    assert answer["content"] == "Read the files.\n"
    assert len(answer["files"]) + answer["more_files"] == 5_001 and 100 < len(answer["files"]) < 400
    assert "cut" not in answer and length(answer) < MAX_ANSWER // 2


def test_a_long_message_is_searched_for(library: Library) -> None:
    answer = library.tools().call("skills_search", {"message": "deploy the shop " * 20_000})
    assert (answer["success"], length(answer) < MAX_ANSWER // 4) == (True, True)


@given(
    answer=st.dictionaries(st.text(max_size=5), JSON.filter(lambda value: value == value), max_size=4),
    times=st.integers(1, 60_000),
)
@settings(deadline=None, max_examples=25)
def test_every_answer_fits_and_what_fits_is_not_touched(answer: dict[str, Any], times: int) -> None:
    carried = json.loads(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    assert bounded(answer) == carried or "NaN" in str(carried) or "nan" in str(carried)
    large = {
        "success": True,
        **answer,
        "content": '"é\x01' * times,
        "list": [answer] * times,
        "beside": {"a": "x" * times},
    }
    cut = bounded(large)
    assert length(cut) <= MAX_ANSWER and cut["success"] == large["success"]
    if "cut" not in cut:
        assert length(cut) == length(large)


# answers to messages

CHAT = {
    "role": "assistant",
    "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "skill_view", "arguments": '{"name": "nope"}'}},
        {"id": "2", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
        {"id": "3", "type": "custom", "custom": {"name": "skill_view", "input": "x"}},
        {"id": "4", "type": "function", "function": {"name": "skills_list", "arguments": None}},
    ],
}
RESPONSE = {
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "skill_view", "arguments": '{"name": "nope"}'},
        {"type": "function_call", "call_id": "2", "name": "weather", "arguments": "{}"},
        {"type": "function_call", "call_id": "4", "name": "skills_list", "arguments": ""},
    ]
}
ANTHROPIC = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "1", "name": "skill_view", "input": {"name": "nope"}},
        {"type": "tool_use", "id": "2", "name": "weather", "input": {}},
        {"type": "tool_use", "id": "4", "name": "skills_list", "input": {}},
    ],
}


def as_object(value: Any) -> Any:
    """The same as the libraries of the providers give it: objects, and only the input of a call is plain."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: item if key == "input" else as_object(item) for key, item in value.items()})
    return [as_object(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("given", [lambda value: value, as_object], ids=["json", "objects"])
def test_calls_of_these_tools_are_answered_and_others_left_alone(library: Library, given: Any) -> None:
    tools = library.tools()
    missing = tools.call("skill_view", {"name": "nope"})
    listed = tools.call("skills_list")
    texts = [json.dumps(answer, ensure_ascii=False) for answer in (missing, listed)]
    assert tools.answer(given(CHAT)) == [
        {"role": "tool", "tool_call_id": "1", "content": texts[0]},
        {"role": "tool", "tool_call_id": "4", "content": texts[1]},
    ]
    assert tools.answer(given(RESPONSE)) == [
        {"type": "function_call_output", "call_id": "1", "output": texts[0]},
        {"type": "function_call_output", "call_id": "4", "output": texts[1]},
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "1", "content": texts[0], "is_error": True},
        {"type": "tool_result", "tool_use_id": "4", "content": texts[1]},
    ]
    assert tools.answer(given(ANTHROPIC)) == [{"role": "user", "content": results}]
    assert asyncio.run(tools.aanswer(given(ANTHROPIC))) == [{"role": "user", "content": results}]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "Done."},
        {"role": "assistant", "content": None, "tool_calls": None},
        {"output": "text"},
        {"content": [{"type": "tool_use", "id": "1", "name": {"a": 1}, "input": {}}]},
        None,
        "text",
    ],
)
def test_a_message_without_calls_of_these_tools_has_no_answer(library: Library, message: Any) -> None:
    assert library.tools().answer(message) == []


# threads and loops


def test_the_event_loop_goes_on_while_a_tool_works(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    view = Session.view

    def slow(self: Session, *given: Any, **how: Any) -> View:
        assert goes_on.wait(20), "the loop stood still"
        return view(self, *given, **how)

    async def both(tools: Tools) -> dict[str, Any]:
        call = asyncio.create_task(tools.acall("skill_view", {"name": "deploy"}))
        await asyncio.sleep(0)
        goes_on.set()
        return await call

    monkeypatch.setattr(Session, "view", slow)
    assert asyncio.run(both(library.tools()))["content"] == BODY


def test_a_call_can_be_given_up(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def stuck(*_: Any, **__: Any) -> dict[str, Any]:
        release.wait(20)
        return {"success": True}

    async def impatient(tools: Tools) -> str:
        try:
            await asyncio.wait_for(tools.acall("skill_view", {"name": "deploy"}), 0.01)
        except TimeoutError:
            release.set()
            return "given up"
        return "waited"

    monkeypatch.setattr(Session, "view", stuck)
    assert asyncio.run(impatient(library.tools())) == "given up"


def test_many_threads_may_call(library: Library) -> None:
    tools, answers = library.tools(), []
    calls = [("skill_view", {"name": "deploy"}), ("skills_list", {}), ("skills_search", {"message": "ship the shop"})]
    expected = [tools.call(*call) for call in calls]

    def work() -> None:
        answers.append([tools.call(*call) for call in calls])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 8


# what a model may not have


def test_a_model_cannot_change_or_judge_what_it_may_not_see(tmp_path: Path) -> None:
    library = Library.open(home=tmp_path / "state", env={"HOME": str(tmp_path)}, project=tmp_path)
    for name, more in (("off", ""), ("by-hand", "disable-model-invocation: true\n")):
        path = tmp_path / ".agents" / "skills" / name
        path.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n\nThe code is 1234.\n"
        (path / "SKILL.md").write_text(text, encoding="utf-8")
    library.settings.disable("off")
    tools = library.tools()
    for name, code in (("off", "disabled"), ("by-hand", "explicit-only")):
        for operation in (
            {"action": "patch", "name": name, "find": "The code is X", "replace": "no"},
            {"action": "edit", "name": name, "body": "# Mine"},
            {"action": "create", "name": name, "description": "Other.", "body": "# Mine"},
            {"action": "delete", "name": name},
            {"action": "rename", "name": name, "new_name": "mine"},
        ):
            answer = tools.call("skill_manage", {"operations": [operation]})
            assert (answer["success"], answer["code"]) == (False, code)
            assert "1234" not in str(answer)
        assert tools.call("skill_feedback", {"name": name, "outcome": "failed"})["code"] == code
    tools.session.invoke("/by-hand")
    patched = tools.call("skill_manage", {"action": "patch", "name": "by-hand", "find": "1234", "replace": "5678"})
    assert patched["success"]
