"""A skill made of a session by the official client: in calls, and in forms that the client shows to its user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest

from mcp_server.world import EITHER, World, connected, over_http, roots_at, world

if TYPE_CHECKING:
    from mcp.client import Client

__all__ = ["world"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
eras = pytest.mark.parametrize("era", EITHER)
SESSION = """## User
Publish the docs of the shop to staging and check the links.

## Tool: Bash
```
make docs
```
## Result
```
12 pages built
```

## Tool: Bash
```
rclone sync site staging:docs
```
## Result
```
12 files transferred
```

## User
Thanks, that worked.
"""
TITLES = ["What was done", "When to use it", "Which tools it may use", "Where it runs"]


async def distill(client: Client, **given: Any) -> dict[str, Any]:
    """What the tool answers, right or wrong."""
    result = await client.call_tool("skill_distill", given)
    answer: dict[str, Any] | None = result.structured_content
    assert answer is not None and answer["success"] is not result.is_error
    return answer


class User:
    """Somebody who fills in forms: with these answers, and as proposed."""

    def __init__(self, *said: dict[str, Any] | str | None) -> None:
        self.said = list(said)
        self.forms: list[types.ElicitRequestFormParams] = []

    async def __call__(self, _: Any, form: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        assert isinstance(form, types.ElicitRequestFormParams)
        self.forms.append(form)
        said = self.said.pop(0) if self.said else {}
        if isinstance(said, str):
            return types.ElicitResult(action="decline" if said == "decline" else "cancel")
        if said is None:
            return types.ErrorData(code=-32000, message="Not today.")
        proposed = {name: entry["default"] for name, entry in form.requested_schema["properties"].items()}
        return types.ElicitResult(action="accept", content={**proposed, **said})

    def titles(self) -> list[str]:
        """The first line of each form."""
        return [form.message.partition("\n")[0].rpartition(" (")[0] for form in self.forms]


# in calls


@eras
async def test_a_client_goes_through_the_rounds_and_the_skill_waits(world: World, era: str) -> None:
    async with connected(world.stdio(), era) as client:
        answer = await distill(client, transcript=SESSION, ask=True)  # it has no forms, so that it is asked itself
        titles = []
        while not answer["done"]:
            titles.append(answer["question"]["title"])
            said = {"name": "publish-docs"} if answer["round"] == 1 else {}
            answer = await distill(client, distillation=answer["distillation"], answers=said)
        done = await distill(client, distillation=answer["distillation"], finish=True)
        assert (titles, done["skill"], done["staged"]) == (TITLES, "publish-docs", True)
        assert (await distill(client, distillation=answer["distillation"]))["code"] == "no-such-distillation"
    with world.open() as library:
        (proposal,) = library.proposals.pending().to_json()["proposals"]
        library.edit.proposals.approve(proposal["id"])
        assert library.card("publish-docs").name == "publish-docs"


@eras
async def test_a_session_of_hooks_is_the_one_of_this_client(world: World, era: str) -> None:
    path = world.work / "session.md"
    path.write_text(SESSION, encoding="utf-8")
    with world.open() as library:
        for name in ("codex", "cursor"):
            library.learning.sessions.note(name, "now", project=str(world.work), transcript=str(path), prompts=1)
    me = types.Implementation(name="codex-mcp-client", version="1")
    async with connected(world.server(), era, client_info=me) as client:
        assert (await distill(client, session="current"))["session"] == "codex:now"
    async with connected(world.server(), era) as client:
        assert (await distill(client, session="current"))["session"] == "cursor:now"


# in forms


@eras
async def test_forms_ask_the_user_themselves(world: World, era: str) -> None:
    goal = "Publishes the docs."
    steps = "2. Copy the pages\n1. make docs\nTell the team"
    user = User(
        {"goal": goal, "name": "publish-docs", "steps": steps, "arguments": "TARGET (staging)"},
        {"triggers": "docs, staging", "when_to_use": "Before a release."},
        {"tools": ""},
        {"fork": True, "here": True},
    )
    async with connected(world.stdio("--allow-writes"), era, elicitation_callback=user) as client:
        done = await distill(client, transcript=SESSION, ask=True, finish=True)
    assert (user.titles(), done["skill"], done["created"], done["fork"]) == (TITLES, "publish-docs", True, True)
    assert done["allowed_tools"] == [] and '"docs", "staging"' in done["description"]
    text = (Path(done["path"]) / "SKILL.md").read_text(encoding="utf-8")
    assert Path(done["path"]).parent == world.work / ".agents" / "skills"
    assert f"# {goal.rstrip('.')}\n" in text and "- `TARGET`: `$TARGET`; in this case `staging`\n" in text
    assert 'when_to_use: Before a release.\nargument-hint: "[TARGET]"\narguments:\n  - TARGET\n' in text
    titles = [line for line in text.partition("## Steps")[2].split("\n") if line[:1].isdigit()]
    assert titles == ["1. Copy the pages:", "2. Run:", "3. Tell the team."]
    assert user.forms[0].requested_schema["properties"]["steps"] == {
        "type": "string",
        "title": "Steps",
        "default": "1. make docs\n2. rclone sync site staging:docs",
        "description": "One per line; keep the number of each existing line.",
    }
    assert user.forms[3].requested_schema == {
        "type": "object",
        "properties": {
            "fork": {"type": "boolean", "title": "Run separately", "default": False},
            "here": {"type": "boolean", "title": "Save it in this repository", "default": False},
        },
    }
    assert user.forms[2].requested_schema["properties"]["tools"] == {
        "type": "string",
        "title": "Allowed tools",
        "default": "Bash(make docs:*)",
        "description": "Separate them with commas. Not included: Bash(rclone sync:*).",
    }


@eras
async def test_without_finish_the_model_sees_what_was_answered(world: World, era: str) -> None:
    user = User({"name": "publish-docs"})
    async with connected(world.server("allow"), era, elicitation_callback=user) as client:
        answer = await distill(client, transcript=SESSION, ask=True)
        assert (answer["done"], answer["answers"]["name"], len(user.forms)) == (True, "publish-docs", 4)
        assert not (world.root / "publish-docs").exists()
        again = await distill(client, distillation=answer["distillation"], ask=True, finish=True)
    assert (again["skill"], len(user.forms)) == ("publish-docs", 4)


@eras
@pytest.mark.parametrize("how", ["decline", "cancel"])
async def test_a_form_that_is_closed_ends_the_asking_and_loses_nothing(world: World, era: str, how: str) -> None:
    user = User({"name": "publish-docs"}, how)
    async with connected(world.server("allow"), era, elicitation_callback=user) as client:
        closed = await distill(client, transcript=SESSION, ask=True, finish=True)
        assert (closed["closed"], closed["done"], closed["round"]) == (True, False, 2)
        assert closed["hint"] == "The user closed the form. Ask what to do; this distillation is kept."
        done = await distill(client, distillation=closed["distillation"], finish=True)
    assert (done["skill"], len(user.forms)) == ("publish-docs", 2)


@eras
async def test_an_answer_that_cannot_be_is_asked_for_again(world: World, era: str) -> None:
    user = User({"name": "!!"}, {"name": "publish-docs"})
    async with connected(world.server("allow"), era, elicitation_callback=user) as client:
        done = await distill(client, transcript=SESSION, ask="true", finish=True)
    assert (done["skill"], len(user.forms)) == ("publish-docs", 5)
    assert user.forms[1].message.startswith(
        "'!!' cannot be a name. Use a few words; they become lowercase letters and hyphens.\n\nWhat was done (1/4)\n\n"
    )


async def test_a_client_that_fails_to_ask_gets_the_question_itself(world: World) -> None:
    async with connected(world.server(), "legacy", elicitation_callback=User(None)) as client:
        answer = await distill(client, transcript=SESSION, ask=True)
    assert (answer["closed"], answer["question"]["title"]) == (True, TITLES[0])


async def test_a_user_who_never_answers_well_is_not_asked_for_ever(world: World) -> None:
    user = User(*[{"name": "!!"}] * 20)
    async with connected(world.server(), "legacy", elicitation_callback=user) as client:
        answer = await distill(client, transcript=SESSION, ask=True)
    assert (len(user.forms), answer["round"], answer["problem"].partition(".")[0]) == (10, 1, "'!!' cannot be a name")


@eras
async def test_what_cannot_be_begun_is_told_and_nothing_is_asked(world: World, era: str) -> None:
    user = User()
    async with connected(world.server(), era, elicitation_callback=user) as client:
        answer = await distill(client, transcript="Hello.", ask=True)
    assert (answer["code"], user.forms) == ("not-a-transcript", [])


@eras
async def test_forms_work_over_http_beside_roots(world: World, era: str) -> None:
    async def roots(_: Any) -> types.ListRootsResult:
        return roots_at(world.project.as_uri())

    user = User({"name": "publish-docs"})
    with world.http("--allow-writes") as (url, _):
        async with over_http(url, era, elicitation_callback=user, list_roots_callback=roots) as client:
            done = await distill(client, transcript=SESSION, ask=True, finish=True)
    assert (done["skill"], user.titles()) == ("publish-docs", TITLES)


async def test_a_state_that_is_not_ours_is_told(world: World) -> None:
    async with connected(world.server(), "auto", elicitation_callback=User()) as client:
        result = await client.session.call_tool(
            "skill_distill",
            {"transcript": SESSION, "ask": True},
            input_responses={"form": types.ElicitResult(action="accept", content={"name": "x"})},
            request_state="../../etc/passwd",
        )
    assert result.structured_content is not None
    assert result.structured_content["code"] == "no-such-distillation"
