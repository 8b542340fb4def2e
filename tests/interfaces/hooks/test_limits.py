"""`allowed-tools` of loaded skills, held against the tool calls of a session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from journeys.payloads import as_bytes, payload

from whet.interfaces.hooks.limits import Limit, refuse

if TYPE_CHECKING:
    from hooks.machine import Machine

GIT = "allowed-tools: Bash(git status:*) Read\n"
END = " Continue with what is allowed, or tell the user what is missing. Do not look for a way around it."


def ask(machine: Machine, tool: str, session: str = "s", **given: Any) -> str:
    """Why a call is refused."""
    sent = payload("claude-code", "before", cwd=str(machine.work), session=session, tool_name=tool, tool_input=given)
    output = machine.hooks.answer("claude-code", "before", as_bytes(sent))
    return str(json.loads(output)["hookSpecificOutput"]["permissionDecisionReason"]) if output else ""


def test_nothing_is_refused_until_a_skill_with_limits_is_loaded(machine: Machine) -> None:
    machine.write("gitty", "Looks at git.", GIT)
    machine.write("free", "Does it all.")
    assert ask(machine, "Bash", command="make test") == ""
    assert ask(machine, "Skill", skill="free") == ask(machine, "Bash", command="make test") == ""
    assert ask(machine, "mcp__whet__skill_view", name="gitty") == ""
    reason = ask(machine, "Bash", command="make test")
    assert reason.startswith("The loaded skill gitty allows only Bash(git status:*), Read. ") and reason.endswith(END)
    assert ask(machine, "Bash", command="git status --short") == ""
    assert ask(machine, "Bash", command="git status && make test") != ""
    assert ask(machine, "Write", file_path=str(machine.work / "a"), content="") != ""
    assert ask(machine, "Bash", session="another", command="make test") == ""
    assert machine.failures() == []


@pytest.mark.parametrize("line", ["/gitty and the log", "/mcp__whet__gitty and the log"])
def test_a_skill_that_the_user_calls_by_a_slash_is_loaded(machine: Machine, line: str) -> None:
    machine.write("gitty", "Looks at git.", GIT)
    sent = payload("claude-code", "prompt", cwd=str(machine.work), session="s", prompt="gitty, what is it?")
    machine.hooks.answer("claude-code", "prompt", as_bytes(sent))
    assert ask(machine, "Bash", command="make test") == ""
    machine.hooks.answer("claude-code", "prompt", as_bytes({**sent, "prompt": line}))
    assert ask(machine, "Bash", command="make test").startswith("The loaded skill gitty allows only ")
    assert (ask(machine, "Bash", command="git status"), machine.failures()) == ("", [])


def test_what_one_of_several_skills_allows_is_allowed(machine: Machine) -> None:
    machine.write("gitty", "Looks at git.", GIT)
    machine.write("maker", "Makes.", "allowed-tools: Bash(make:*)\ndisallowed-tools: Bash(make clean:*)\n")
    machine.write("free", "Does it all.")
    for name in ("gitty", "maker", "free"):
        assert ask(machine, "Skill", skill=name) == ""
    assert ask(machine, "Bash", command="git status") == ask(machine, "Bash", command="make test") == ""
    assert ask(machine, "Bash", command="rm notes") != ""
    assert ask(machine, "Bash", command="make clean").startswith("The loaded skill maker does not allow this. ")


def test_what_a_skill_said_when_it_was_loaded_holds(machine: Machine) -> None:
    machine.write("gitty", "Looks at git.", GIT)
    ask(machine, "Skill", skill="gitty")
    machine.write("gitty", "Looks at git.")
    assert ask(machine, "Bash", command="make test") != ""
    machine.hooks.answer("claude-code", "compact", as_bytes(payload("claude-code", "compact", session="s")))
    assert ask(machine, "Bash", command="make test") != ""
    start = payload("claude-code", "start", session="s", source="clear", cwd=str(machine.work))
    machine.hooks.answer("claude-code", "start", as_bytes(start))
    assert ask(machine, "Bash", command="make test") == ""


def test_a_limit_that_cannot_be_checked_refuses_and_is_noted(machine: Machine) -> None:
    machine.hooks.sessions.limit("claude-code", "s", [["gitty"]])
    assert ask(machine, "Bash", command="git status").startswith("Whet could not check this call")
    assert [failure[:3] for failure in machine.failures()] == [("claude-code", "before", "internal-error")]


LIMITS = [Limit("gitty", "/skills/gitty", "Bash(git status:*)", [])]


@pytest.mark.parametrize(
    ("tool", "given", "allowed"),
    [
        ("Skill", {"skill": "other"}, True),
        ("activate_skill", {"name": "other"}, True),
        ("mcp__whet__skills_search", {"message": "x"}, True),
        ("TodoWrite", {"todos": []}, True),
        ("AskUserQuestion", {}, True),
        ("Read", {"file_path": "/skills/gitty/references/a.md"}, True),
        ("read_file", {"absolute_path": "/skills/gitty/a.md"}, True),
        ("Read", {"file_path": "/skills/gitty/../other/a.md"}, False),
        ("Read", {"file_path": "/skills/gitty-2/a.md"}, False),
        ("Write", {"file_path": "/skills/gitty/a.md", "content": ""}, False),
        ("run_shell_command", {"command": "git status"}, True),
        ("run_shell_command", {"command": "git push"}, False),
        ("mcp__github__list_issues", {}, False),
        ("write_stdin", {"chars": "x"}, False),
        ("apply_patch", {"command": "*** Begin Patch\n*** Update File: a\n*** End Patch"}, False),
        ("a tool of tomorrow", {}, False),
    ],
)
def test_what_no_skill_has_to_name(tool: str, given: dict[str, Any], allowed: bool) -> None:
    assert (refuse(LIMITS, tool, given, "/work", "/home") == "") == allowed


def test_a_patch_is_held_against_what_may_be_written() -> None:
    limits = [Limit("editor", "/skills/editor", ["Edit"], [])]
    patch = {"command": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}
    assert refuse(limits, "apply_patch", patch, "/work", "/home") == ""
