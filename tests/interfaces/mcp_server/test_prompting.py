"""Skills as prompts, with arguments, and completion, through the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
import pytest

from mcp_server.world import EITHER, World, connected, error_of, text_of, world
from whet.interfaces.mcp.prompts import PAGE

if TYPE_CHECKING:
    from mcp.client import Client

__all__ = ["world"]

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", EITHER)]
FREE = [{"name": "arguments", "description": "What to do, in your own words.", "required": False}]

DISTILL = "Turn what was worked out in this conversation into a skill."


async def body(client: Client, name: str, arguments: dict[str, str] | None = None) -> str:
    """The line of a prompt's message that comes from the skill."""
    lines = text_of(await client.get_prompt(name, arguments)).split("\n")
    return lines[lines.index(next(line for line in lines if line.startswith("<skill_content"))) + 1]


async def test_prompts_are_the_commands_of_a_person(world: World, era: str) -> None:
    with world.open() as library:
        library.settings.save_bundle("release", ["pdf", "deploy"], description="Releases it.")
    async with connected(world.server(), era) as client:
        listed = (await client.list_prompts()).prompts
    named = [{"name": name, "description": "[issue] [priority]", "required": False} for name in ("issue", "priority")]
    assert [prompt.model_dump(exclude_none=True) for prompt in listed] == [
        {"name": "deploy", "description": "Deploys it.", "arguments": FREE},
        {"name": "distill", "description": DISTILL, "arguments": FREE},
        {"name": "fix-issue", "description": "Fixes an issue.", "arguments": named},
        {"name": "pdf", "description": "Fills forms in PDF files.", "arguments": FREE},
        {"name": "release", "description": "Releases it.", "arguments": FREE},
        {"name": "write-up", "description": "Writes something up.", "arguments": FREE},
    ]


async def test_many_prompts_come_in_pages(world: World, era: str) -> None:
    for number in range(PAGE + 30):
        world.skill(f"many-{number:03}")
    async with connected(world.server(), era) as client:
        first = await client.list_prompts()
        second = await client.list_prompts(cursor=first.next_cursor)
    assert (len(first.prompts), second.next_cursor) == (PAGE, None)
    names = [prompt.name for prompt in (*first.prompts, *second.prompts)]
    many = [f"many-{number:03}" for number in range(PAGE + 30)]
    assert names == sorted({*many, "deploy", "distill", "fix-issue", "pdf", "write-up"})


async def test_a_prompt_is_the_message_of_the_skill(world: World, era: str) -> None:
    with world.open() as library:
        expected = library.invoke("/write-up the release, it's late", reserved=()).message
    async with connected(world.server(), era) as client:
        got = await client.get_prompt("write-up", {"arguments": "the release, it's late"})
        assert (got.description, text_of(got)) == ("Writes something up.", expected)
        assert await body(client, "write-up") == "About: ."
        assert await body(client, "deploy") == "Do it."


@pytest.mark.parametrize(
    ("issue", "priority"),
    [
        ("12", "high"),
        ("a b", "c  d"),
        ('say "it"', "it's"),
        ("C:\\Users", "back\\"),
        ("$deploy", "/deploy"),
        ("$(id) `id` $HOME $0", "\\$deploy"),
        ("/deploy", "/write-up x"),
        ("line\nline", "\ttab"),
        ("Ünï", "日本 語"),
        ("", "high"),
    ],
)
async def test_named_arguments_arrive_as_they_were_given(world: World, era: str, issue: str, priority: str) -> None:
    async with connected(world.server(), era) as client:
        message = text_of(await client.get_prompt("fix-issue", {"issue": issue, "priority": priority}))
    assert message.count("<skill_content") == 1  # whatever a value looks like, it is no command
    assert f"Fix <{issue}> at <{priority}> now.\n" in message


async def test_arguments_that_are_left_out_leave_no_gap(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        assert await body(client, "fix-issue", {"priority": "high"}) == "Fix <> at <high> now."
        assert await body(client, "fix-issue", {"issue": "12", "priority": ""}) == "Fix <12> at <$1> now."
        assert await body(client, "fix-issue", {}) == "Fix <$0> at <$1> now."


async def test_one_prompt_makes_a_skill_of_the_conversation(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        plain = await client.get_prompt("distill")
        said = text_of(await client.get_prompt("distill", {"arguments": "call it ship"}))
    assert plain.description == DISTILL and "skill_distill" in text_of(plain)
    assert said == f"{text_of(plain)}\n\nThe user adds: call it ship"
    async with connected(world.server("none"), era) as client:  # which does not have the tool for it
        assert "distill" not in [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert (await error_of(client.get_prompt("distill"))).data["code"] == "prompt-not-found"


async def test_a_skill_of_that_name_comes_before_it(world: World, era: str) -> None:
    world.skill("distill", "Makes brandy.", body="Heat it slowly.\n")
    async with connected(world.server(), era) as client:
        listed = (await client.list_prompts()).prompts
        assert [prompt.description for prompt in listed if prompt.name == "distill"] == ["Makes brandy."]
        assert await body(client, "distill") == "Heat it slowly."


async def test_what_a_prompt_does_not_take_is_an_error(world: World, era: str) -> None:
    async with connected(world.server(), era) as client:
        for name in ("no-such", "off", "background", "", "/pdf", "pdf x", "repo-rules"):
            error = await error_of(client.get_prompt(name))
            assert (error.code, error.data["code"]) == (-32602, "prompt-not-found"), name
        error = await error_of(client.get_prompt("fix-issue", {"arguments": "12"}))
        assert (error.code, error.data["code"]) == (-32602, "bad-arguments")
        assert error.data["hint"] == "It takes issue, priority."


async def test_a_bundle_of_which_nothing_is_left_says_so(world: World, era: str) -> None:
    with world.open() as library:
        library.settings.save_bundle("gone", ["no-such"])
    async with connected(world.server(), era) as client:
        assert "No skill of it can be loaded." in text_of(await client.get_prompt("gone"))


async def test_the_path_of_a_skill_can_be_completed(world: World, era: str) -> None:
    template = types.ResourceTemplateReference(uri="skill://{+path}/SKILL.md")
    async with connected(world.server(), era) as client:

        async def complete(value: str, name: str = "path") -> types.Completion:
            return (await client.complete(template, {"name": name, "value": value})).completion

        assert (await complete("P")).values == ["pdf"]
        assert (await complete("")).values == ["background", "fix-issue", "pdf", "write-up"]
        assert (await complete("p", "file")).values == []
        prompt = types.PromptReference(name="fix-issue")
        assert (await client.complete(prompt, {"name": "issue", "value": "1"})).completion.values == []


async def test_completions_are_no_more_than_the_protocol_allows(world: World, era: str) -> None:
    for number in range(150):
        world.skill(f"many-{number:03}")
    async with connected(world.server(), era) as client:
        template = types.ResourceTemplateReference(uri="skill://{+path}/SKILL.md")
        found = (await client.complete(template, {"name": "path", "value": "many"})).completion
    assert (len(found.values), found.total, found.has_more) == (100, 150, True)
