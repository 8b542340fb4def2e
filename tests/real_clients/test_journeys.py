"""Real clients are connected, asked something, and disconnected: what reaches the model, and what is left of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from real_clients.clients import ClaudeCode, Gemini, OpenCode
from real_clients.model import Step

if TYPE_CHECKING:
    from pathlib import Path

    from real_clients.clients import RealClient

pytestmark = pytest.mark.deep

TOOLS = ["skill_distill", "skill_feedback", "skill_manage", "skill_view", "skills_list", "skills_search"]
FLAKY = "Finds out why a test is flaky and mends it. Use when a test fails now and then, or a test is flaky."
TRIES = 2
"""Clients take seconds of all cores to start."""
BUSY = 0.75
"""Processes that wait for each core, above which the machine is not idle."""
PROMPT = "One of our tests is flaky, it fails now and then."
OFFERS = ("The skill flaky-tests is for this request.", "These skills may fit this request.")


def files(home: Path) -> dict[str, bytes]:
    """What is in the home but for Whet's own state."""
    own = home / ".local" / "share" / "whet"
    paths = (path for path in home.rglob("*") if path.is_file() and own not in path.parents)
    return {str(path.relative_to(home)): path.read_bytes() for path in paths}


def connect(client: RealClient, *options: str) -> None:
    """Write one skill and connect the client."""
    client.skill("flaky-tests", FLAKY, "Run the test twenty times.\n")
    assert client.ask("connect", client.name, "--yes", *options)["connected"]


def test_undone_without_a_trace(client: RealClient) -> None:
    client.skill("flaky-tests", FLAKY)
    before = files(client.home)
    assert client.ask("connect", client.name, "--yes")["connected"]
    assert files(client.home) != before
    assert not client.ask("connect", client.name, "--undo", "--yes")["connected"]
    assert files(client.home) == before


def test_tools_are_in_every_first_request(client: RealClient) -> None:
    connect(client)
    wanted = {client.offered(tool) for tool in TOOLS}
    there = []
    for _ in range(TRIES):
        client.model.play([])
        assert client.prompt(PROMPT).returncode == 0
        there.append(wanted <= set(client.model.requests[0].tools))
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    if not all(there) and busy > BUSY:  # clients that do not wait for a server ask the model when they are ready
        pytest.skip(f"this machine is busy: the tools were in {sum(there)} of {TRIES} first requests")
    assert there == [True] * TRIES


@pytest.mark.parametrize("client", [ClaudeCode, Gemini, OpenCode], indirect=True, ids=lambda kind: kind.name)
def test_a_skill_called_by_slash_gets_every_word(client: RealClient) -> None:
    connect(client)
    client.wait_for_servers()
    client.model.play([])
    assert client.prompt(*client.slash("flaky-tests", "look at test_a and test_b")).returncode == 0
    asked = client.model.requests[0].text
    assert "Run the test twenty times." in asked
    assert "look at test_a and test_b" in asked.partition("<user_request>")[2]


def test_a_session_with_failures(client: RealClient) -> None:
    connect(client)
    client.wait_for_servers()
    client.model.play(
        [
            Step("I look.", (client.shell("echo before; exit 3"),)),
            Step(calls=(client.whet("skill_view", name="flaky-tests"),)),
            Step(calls=(client.whet("skill_view", name="no-such-skill"),)),
            Step("Now it works.", (client.shell("echo mended > out.txt && cat out.txt"),)),
            Step("It is mended."),
        ]
    )
    assert client.prompt(PROMPT).returncode == 0
    asked = client.model.requests
    assert [len(each.results) for each in asked] == [0, 1, 2, 3, 4]
    for result, part in zip(asked[-1].results, ("before", "twenty times", "no-such-skill", "mended"), strict=True):
        assert part in result.text
    offered = [sum(each.text.count(offer) for offer in OFFERS) for each in asked]
    assert offered == [1 if client.name != "opencode" else 0] * 5  # OpenCode has no hooks

    read = client.ask("learn", "transcript", str(client.session()))
    assert (read["client"], read["project"]) == (client.name, str(client.work))
    said = [(event["kind"], event["text"]) for event in read["events"] if event["kind"] in ("user", "assistant")]
    expected = [("assistant", text) for text in ("I look.", "Now it works.", "It is mended.")]
    assert said == [("user", PROMPT), *expected]
    calls = [event["given"] for event in read["events"] if event["kind"] == "call"]
    assert [given.get("command", given.get("name")) for given in calls] == [
        "echo before; exit 3",
        "flaky-tests",
        "no-such-skill",
        "echo mended > out.txt && cat out.txt",
    ]
    assert [event["failed"] for event in read["events"] if event["kind"] == "result"] == [True, False, True, False]
    drafted = client.ask("distill", str(client.session()), "--yes", "--dry-run")
    assert drafted["success"]
    assert client.ask("connect", client.name, "--undo", "--yes")["connected"] is False
