"""Real clients with `--enforce`: what a loaded skill does not allow does not run, and the model reads why."""

from __future__ import annotations

import pytest

from real_clients.clients import ClaudeCode, Codex, Copilot, Gemini, RealClient
from real_clients.model import Step

pytestmark = [
    pytest.mark.deep,
    pytest.mark.parametrize("client", [ClaudeCode, Codex, Copilot, Gemini], indirect=True, ids=lambda kind: kind.name),
]


def test_a_loaded_skill_holds_the_model_to_its_tools(client: RealClient) -> None:
    client.skill("lister", "Lists files. Use when files are to be listed.", more="allowed-tools: Bash(ls:*)\n")
    assert client.ask("connect", client.name, "--enforce", "--yes")["enforced"]
    client.wait_for_servers()
    client.model.play(
        [
            Step(calls=(client.shell("touch before"),)),
            Step(calls=(client.whet("skill_view", name="lister"),)),
            Step(calls=(client.shell("touch after"),)),
            Step(calls=(client.shell("ls"),)),
            Step("Done."),
        ]
    )
    assert client.prompt("List the files.").returncode == 0
    before, loaded, refused, listed = client.model.requests[-1].results
    assert sorted(path.name for path in client.work.iterdir()) == [".git", "before"]
    assert "allows only Bash(ls:*)" not in before.text + loaded.text + listed.text
    assert "The loaded skill lister allows only Bash(ls:*)." in refused.text
    assert "before" in listed.text
