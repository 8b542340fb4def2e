"""Which tool calls bring a skill into a conversation, and which ones failed."""

from __future__ import annotations

from typing import Any

import pytest

from whet.interfaces.hooks.events import TouchedSkill, is_failed, touched_skills

SKILL = "/home/me/.agents/skills/pdf/SKILL.md"
READ = (TouchedSkill("view", path=SKILL),)


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("Read", {"file_path": SKILL}, READ),
        ("read_file", {"absolute_path": SKILL}, READ),
        ("read_file", {"path": "../me/.agents/skills/pdf/SKILL.md"}, READ),
        ("read_many_files", {"paths": ["/a.py", SKILL, SKILL]}, READ),
        ("ReadFile", {"target_file": "~/.agents/skills/pdf/SKILL.md"}, READ),
        ("Bash", {"command": f"cat {SKILL}"}, READ),
        ("Bash", {"command": f"cd /tmp && head -50 '{SKILL}' | less; ls"}, READ),
        ("shell", {"command": ["bash", "-lc", f"sed -n 1,200p {SKILL}"]}, READ),
        ("shell", {"command": ["cat", SKILL]}, READ),
        (
            "Bash",
            {"command": f'cat "{SKILL}" "/home/me/a b/SKILL.md"'},
            (*READ, TouchedSkill("view", path="/home/me/a b/SKILL.md")),
        ),
        ("run_in_terminal", {"command": "cat ~/.agents/skills/pdf/SKILL.md"}, READ),
        ("Skill", {"skill": "pdf", "args": "x"}, (TouchedSkill("use", name="pdf"),)),
        ("Skill", {"command": "/office:pdf"}, (TouchedSkill("use", name="office:pdf"),)),
        ("activate_skill", {"name": "pdf"}, (TouchedSkill("use", name="pdf"),)),
        ("mcp__whet__skill_view", {"name": "pdf"}, (TouchedSkill("ours", name="pdf"),)),
        ("mcp_whet_skill_view", {"name": "pdf"}, (TouchedSkill("ours", name="pdf"),)),
        ("MCP:skill_view", {"name": "pdf"}, (TouchedSkill("ours", name="pdf"),)),
        ("skill_view", {"name": "pdf"}, (TouchedSkill("view", name="pdf"),)),
        ("mcp__whet__skill_view", {"name": "pdf", "file_path": "references/a.md"}, ()),
        ("mcp__whet__skill_view", {"name": 7}, ()),
        ("Skill", {"skill": "/"}, ()),
        ("Skill", {}, ()),
        ("Read", {"file_path": "/home/me/README.md"}, ()),
        ("Read", {"file_path": None, "path": 3, "paths": [None, 4]}, ()),
        ("Read", {"file_path": "a\0/SKILL.md"}, ()),
        ("Write", {"file_path": SKILL, "content": "x"}, ()),
        ("str_replace_edit", {"path": SKILL}, ()),
        ("Bash", {"command": f"rm {SKILL}"}, ()),
        ("Bash", {"command": f"git add {SKILL}"}, ()),
        ("Bash", {"command": f"cat > {SKILL} <<EOF"}, ()),
        ("Bash", {"command": f"sed -i s/a/b/ {SKILL}"}, ()),
        ("Bash", {"command": "ls"}, ()),
        ("", {}, ()),
    ],
)
def test_skills_are_read_in_many_ways(tool: str, given: dict[str, Any], expected: tuple[TouchedSkill, ...]) -> None:
    assert touched_skills(tool, given, "/home/work", "/home/me") == expected


@pytest.mark.parametrize(
    ("data", "extra", "failed"),
    [
        ({"tool_response": {"stdout": "ok", "stderr": "warning"}}, {}, False),
        ({"tool_response": {"exit_code": 0}}, {}, False),
        ({"tool_response": {"exit_code": 2}}, {}, True),
        ({"tool_response": {"exit_code": True}}, {}, False),
        ({"tool_response": {"metadata": {"exit_code": 1}, "output": ""}}, {}, True),
        ({"tool_response": {"metadata": 3}}, {}, False),
        ({"tool_response": {"llmContent": "x", "error": {"message": "no"}}}, {}, True),
        ({"tool_response": {"llmContent": "x", "error": None}}, {}, False),
        ({"tool_response": {"is_error": True}}, {}, True),
        ({"tool_response": {"isError": True}}, {}, True),
        ({"tool_response": {"success": False}}, {}, True),
        ({"tool_response": {"status": "failed"}}, {}, True),
        ({"tool_response": [{"type": "text", "text": "Error: no"}]}, {}, False),
        ({"tool_response": "Error: no such file"}, {}, True),
        ({"tool_response": "Exit code: 1\nWall time: 2 seconds"}, {}, True),
        ({"tool_response": "Exit code: 0\nOutput: error: none"}, {}, False),
        ({"tool_response": "An error-free text"}, {}, False),
        ({"tool_response": "<tool_use_error>File has not been read yet"}, {}, True),
        ({"tool_output": '{"output": "x", "exitCode": 127}'}, {}, True),
        ({"tool_output": '{"broken'}, {}, False),
        ({"tool_output": '{"error": "no"}' + " " * 30_000}, {}, False),
        ({"error": "timed out"}, {}, True),
        ({"error_message": "timed out"}, {}, True),
        ({}, {"result": '{"error": "no such file"}'}, True),
        ({}, {"result": '{"output": "ok", "exit_code": 0}'}, False),
        ({}, {}, False),
    ],
)
def test_a_failed_call_shows_in_its_result(data: dict[str, Any], extra: dict[str, Any], failed: bool) -> None:
    assert is_failed(data, extra) is failed
