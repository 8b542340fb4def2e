"""Ten thousand skills: nothing that a client does costs or brings ten thousand of anything."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcp_server.world import World, ask, connected
from whet import Library
from whet.api.tool_definitions import LISTED, MOST_LISTED
from whet.api.tools import LIST_ROOM, MAX_ANSWER
from whet.interfaces.mcp.paging import PAGE_BYTES
from whet.interfaces.mcp.server import INSTRUCTIONS
from whet.library import workspace
from whet.library.discovery import count_names
from whet.library.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp.client import Client

    from whet.library.workspace import Snapshot

pytestmark = pytest.mark.anyio
LATER = 60 * 10**9
"""Nanoseconds after which nothing is too fresh to be remembered."""
COUNTER = """
import atexit, sys
seen = []
def hook(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and {root!r} in str(arguments[0]):
        seen.append(str(arguments[0]))
sys.addaudithook(hook)
@atexit.register
def tell():
    with open({out!r}, "w") as file:
        file.write("\\n".join(seen))
"""


@pytest.fixture(scope="module")
def many(*, quick: bool) -> int:
    """How many skills there are."""
    return 1_200 if quick else 10_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, many: int) -> Iterator[World]:
    """A machine with very many skills, which were all looked at before."""
    world = World(tmp_path_factory.mktemp("large"))
    for number in range(many):
        name = f"skill-{number:05}"
        directory = world.root / name
        directory.mkdir()
        text = f"---\nname: {name}\ndescription: Does the thing with number {number}.\n---\nDo it.\n"
        with open(directory / "SKILL.md", "w", encoding="utf-8") as file:
            file.write(text)
    with Library.open(project=world.work, env=world.env, clock=lambda: time.time_ns() + LATER) as library:
        assert library.skills(limit=1).total == many
    yield world
    world.close()


def size(value: Any) -> int:
    """Characters of its JSON."""
    return len(json.dumps(value, ensure_ascii=False))


async def test_from_the_handshake_to_the_first_list_hardly_a_file_is_opened(
    large: World, many: int, tmp_path: Path
) -> None:
    out = tmp_path / "opened"
    counter = COUNTER.format(root=str(large.root), out=str(out))
    (tmp_path / "sitecustomize.py").write_text(counter, encoding="utf-8")
    async with connected(large.stdio(PYTHONPATH=str(tmp_path)), "legacy") as client:
        listed = await client.call_tool("skills_list", {})
        assert listed.structured_content and listed.structured_content["total"] == many
    opened = out.read_text(encoding="utf-8").splitlines()
    assert set(opened) <= {str(large.root)}, opened[:5]


@pytest.mark.parametrize(
    ("count", "known", "looked_at"),
    [(60, True, set()), (120, True, set()), (60, False, {"names"}), (120, False, {"names"}), (5, True, {"everything"})],
)
async def test_a_server_starts_without_a_look_at_a_large_library(
    count: int, known: bool, looked_at: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    for number in range(count):
        world.skill(f"skill-{number}")
    if known:
        world.open().skills()
    looks: list[str] = []
    look = Workspace.snapshot

    def counted_look(self: Workspace) -> Snapshot:
        looks.append("everything")
        return look(self)

    def counted_names(top: str, most: int) -> int:
        looks.append("names")
        names = count_names(top, most)
        assert names <= most + 1
        return names

    monkeypatch.setattr(workspace, "_LARGE", 40)
    monkeypatch.setattr(Workspace, "snapshot", counted_look)
    monkeypatch.setattr(workspace, "count_names", counted_names)
    async with connected(world.server(), "legacy") as client:
        said = client.instructions or ""
        assert "skills_list" in {tool.name for tool in (await client.list_tools()).tools}
        assert {*looks} == looked_at
        assert ("skill-0" in said, "too many skills to list" in said) == (count == 5, count > 5)
        listed = (await client.call_tool("skills_list", {})).structured_content
        assert listed and listed["total"] == count
    world.close()


async def test_every_page_of_the_tool_is_bounded_and_together_they_are_all(large: World, many: int) -> None:
    names: list[str] = []
    async with connected(large.server(), "legacy") as client:
        assert len(client.instructions or "") <= INSTRUCTIONS
        first = (await client.call_tool("skills_list", {})).structured_content
        assert first and (first["count"], first["total"]) == (LISTED, many)
        cursor: dict[str, str] = {}
        while True:
            page = (await client.call_tool("skills_list", {"limit": MOST_LISTED, **cursor})).structured_content
            assert page and size(page) <= min(LIST_ROOM + 10_000, MAX_ANSWER)
            names += [skill["name"] for skill in page["skills"]]
            if not page.get("next"):
                break
            cursor = {"cursor": page["next"]}
    assert names == [f"skill-{number:05}" for number in range(many)]


@pytest.mark.parametrize(
    ("method", "kind", "most"), [("resources/list", "resources", 201), ("skills/list", "skills", 50)]
)
async def test_pages_of_the_protocol_are_bounded_and_together_they_are_all(
    large: World, many: int, method: str, kind: str, most: int
) -> None:
    seen: list[str] = []
    async with connected(large.server(), "auto") as client:
        for page in await some_pages(client, method, many if kind == "resources" else 5):
            assert len(page[kind]) <= most and size(page) <= 2 * PAGE_BYTES
            seen += [item["uri"] for item in page[kind]]
    expected = [f"skill://skill-{number:05}/SKILL.md" for number in range(many)]
    if kind == "resources":
        assert seen == ["skill://index.json", *expected]
    else:
        assert seen == expected[: 5 * most]


async def test_prompts_are_bounded(large: World, many: int) -> None:
    async with connected(large.server(), "auto") as client:
        pages = await some_pages(client, "prompts/list", 3)
        assert [prompt["name"] for page in pages for prompt in page["prompts"]] == [
            "distill",
            *(f"skill-{number:05}" for number in range(299)),
        ]
        assert max(map(size, pages)) <= PAGE_BYTES
        assert len((await client.get_prompt(f"skill-{many - 1:05}")).messages) == 1


async def some_pages(client: Client, method: str, most: int) -> list[dict[str, Any]]:
    """The first pages of a list, or all of them."""
    pages: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while len(pages) < most:
        page = await ask(client, method, **cursor)
        pages.append(page)
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    return pages


async def test_the_older_index_is_bounded(large: World, many: int) -> None:
    async with connected(large.server(), "auto") as client:
        [content] = (await ask(client, "resources/read", uri="skill://index.json"))["contents"]
        index = json.loads(content["text"])
    assert (len(index["skills"]), index["truncated"], index["total"]) == (1_000, True, many)
