"""Lists in pages, and the shapes that older clients read."""

from __future__ import annotations

import json
import os

import pytest

from mcp_server.shelves import World, all_pages, data_of, put, refused, uris, world
from whet.interfaces.mcp import paging, resources
from whet.interfaces.mcp.handshake import TEMPLATES

__all__ = ["world"]


# lists


def test_resources_are_the_index_and_then_every_skill(world: World) -> None:
    path = world.mine("pdf", description="Fills forms, ü.")
    os.utime(path / "SKILL.md", ns=(0, 1_767_225_600_000_000_000))
    assert world.served().list_resources() == {
        "resources": [
            {
                "uri": "skill://index.json",
                "name": "index.json",
                "title": "Skills",
                "description": "The skills of this server, for clients that do not ask for skills/list.",
                "mimeType": "application/json",
            },
            {
                "uri": "skill://pdf/SKILL.md",
                "name": "pdf",
                "description": "Fills forms, ü.",
                "mimeType": "text/markdown",
                "size": (path / "SKILL.md").stat().st_size,
                "annotations": {"lastModified": "2026-01-01T00:00:00Z"},
            },
        ]
    }


def test_an_empty_library_has_empty_lists(world: World) -> None:
    served = world.served()
    assert served.list_skills() == {"skills": []}
    assert served.list_resources() == {"resources": [resources.INDEX_RESOURCE.to_json()]}


def test_templates_say_how_addresses_are_made() -> None:
    assert [item["uriTemplate"] for item in TEMPLATES["resourceTemplates"]] == [
        "skill://{+path}/SKILL.md",
        "skill://{+path}/{+file}",
    ]


def test_pages_stay_in_step_when_skills_come_and_go(world: World) -> None:
    for number in range(120):
        world.mine(f"s-{number:03}")
    served = world.served()
    pages = all_pages(served.list_skills, "skills")
    assert [len(page) for page in pages] == [50, 50, 20]
    assert [uri for page in pages for uri in page] == [f"skill://s-{number:03}/SKILL.md" for number in range(120)]
    resources = [uri for page in all_pages(served.list_resources, "resources") for uri in page]
    assert resources == ["skill://index.json", *(uri for page in pages for uri in page)]
    cursor = served.list_skills()["nextCursor"]
    (world.home / ".agents/skills/s-049/SKILL.md").unlink()
    (world.home / ".agents/skills/s-050/SKILL.md").unlink()
    world.mine("s-000-new")
    world.mine("s-051-new")
    assert uris(served.list_skills(cursor))[:3] == [
        "skill://s-051/SKILL.md",
        "skill://s-051-new/SKILL.md",
        "skill://s-052/SKILL.md",
    ]


def test_a_page_is_bounded_in_bytes_and_never_cuts_an_entry(world: World) -> None:
    for number in range(10):
        path = world.mine(f"s-{number}", more=f"notes: {'n' * 60_000}\n")
        put(path, "a.md", b"a")
    served = world.served()
    answer = served.list_skills()
    assert len(answer["skills"]) == 4
    assert all(len(skill["resources"]) == 2 for skill in answer["skills"])
    assert paging.weight(answer) < 2 * paging.PAGE_BYTES
    assert [len(page) for page in all_pages(served.list_skills, "skills")] == [4, 4, 2]


def test_a_page_is_bounded_in_what_is_read_for_it(world: World) -> None:
    for number in range(6):
        with (world.mine(f"s-{number}") / "data.bin").open("wb") as file:
            file.truncate(15 * 1024 * 1024)
    assert len(world.served().list_skills()["skills"]) == 5


def test_many_skills_that_cannot_be_served_do_not_make_one_page_endless(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        put(world.mine(f"s-{number}"), "SKILL.md", f"---\nname: ' s-{number} '\ndescription: D.\n---\n".encode())
    world.mine("z")
    monkeypatch.setattr("whet.interfaces.mcp.resource_server._SKILLS", paging.Bounds(1))
    pages = all_pages(world.served().list_skills, "skills")
    assert pages == [[], [], ["skill://z/SKILL.md"]]


@pytest.mark.parametrize("cursor", ["", "x", "!!!!", "c2tpbGxz", "c2tpbGxzIA", "_" * 9000, "é", "YWJj\n"])
def test_a_cursor_that_is_none_is_refused(world: World, cursor: str) -> None:
    world.mine("a")
    served = world.served()
    for call in (served.list_skills, served.list_resources, lambda given: served.directory("skill://a", given)):
        assert refused(call, cursor) == ("UsageError", "bad-cursor")


def test_a_cursor_is_good_for_its_own_list_only(world: World) -> None:
    for number in range(60):
        world.mine(f"s-{number:03}")
    served = world.served()
    cursor = served.list_skills()["nextCursor"]
    assert refused(served.list_resources, cursor) == ("UsageError", "bad-cursor")


# older clients


def test_the_older_index_is_as_its_readers_want_it(world: World) -> None:
    world.config(f'[plugins]\nacme = "{world.top / "acme"}"\n')
    world.mine("pdf", description='Fills "forms", ü.')
    world.mine("by-hand", more="disable-model-invocation: true\n")
    world.skill("acme/refunds")
    (content,) = world.served().read("skill://index.json")["contents"]
    text = content.pop("text")
    assert content == {"uri": "skill://index.json", "mimeType": "application/json"}
    assert json.loads(text) == {
        "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
        "skills": [
            {
                "name": "refunds",
                "type": "skill-md",
                "description": "Does refunds.",
                "url": "skill://acme/refunds/SKILL.md",
            },
            {"name": "pdf", "type": "skill-md", "description": 'Fills "forms", ü.', "url": "skill://pdf/SKILL.md"},
        ],
    }


@pytest.mark.parametrize(("bound", "value"), [("MAX_INDEX", 2), ("MAX_BYTES", 250)])
def test_an_index_that_would_be_too_long_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    for name in ("a", "b", "c"):
        world.mine(name)
    monkeypatch.setattr(resources, bound, value)
    index = json.loads(data_of(world.served().read("skill://index.json")))
    assert [skill["name"] for skill in index["skills"]] == ["a", "b"]
    assert (index["truncated"], index["total"]) == (True, 3)


def test_the_older_manifest_has_every_file(world: World) -> None:
    path = world.mine("pdf")
    put(path, "references/My guide.md", b"guide")
    served = world.served()
    (content,) = served.read("skill://pdf/_manifest")["contents"]
    files = [
        {"path": name, "size": item["size"], "hash": item["digest"]}
        for name, item in zip(
            ("SKILL.md", "references/My guide.md"),
            served.get_skill("skill://pdf/SKILL.md")["skill"]["resources"],
            strict=True,
        )
    ]
    assert json.loads(content["text"]) == {"skill": "pdf", "files": files}
    assert data_of(served.read("skill://pdf/references/My guide.md")) == b"guide"
    put(path, "_manifest", b"my own")
    assert data_of(served.read("skill://pdf/_manifest")) == b"my own"
