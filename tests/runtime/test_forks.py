"""A skill with `context: fork` reaches a conversation as the report of its run, through every door, or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play
from whet.errors import RefusedError, UsageError
from whet.guard.sandbox.levels import levels
from whet.interfaces.cli import main
from whet.learning.models.recorded import Recorded

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.models.scripted import Scripted

pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
SECRET_STEP = "Say the secret step."
REPORT = """\
The user asked for the skill shipper.
shipper ran in a separate agent; the report follows.

<skill_content name="shipper" digest="{digest}" status="report">
The skill shipper ran in a separate agent (run {run}): done.
added made.txt
The changes are in a copy of the project. The user applies them with `whet run --resume {run} --apply`.
false: exit code 1
Denied: Bash: No grant covers `git push`.
Its own summary, which nobody checked:
All is well.
</skill_content>

<user_request>
staging
</user_request>"""


def _world(top: Path) -> World:
    world = World(top)
    world.skill("Bash(false) Write", name="shipper", body=f"{SECRET_STEP} $ARGUMENTS\n", more="context: fork\n")
    world.skill("Read", name="plain", body="Plain steps.\n")
    return world


def _model() -> Scripted:
    calls = [("Write", {"file_path": "made.txt", "content": "x\n"}), ("Bash", {"command": "false"})]
    return play([*calls, ("Bash", {"command": "git push"})], "All is well.")


def test_python_gets_the_report_and_nothing_else(tmp_path: Path) -> None:
    world = _world(tmp_path)
    model = _model()
    with world.library() as library:
        made = library.invoke("/shipper staging", model=model)
        run = library.runs.list().runs[0].id
        digest = library.read("shipper").digest
        assert made.message == REPORT.format(digest=digest, run=run)
        assert [(one.name, one.strategy, one.context) for one in made.skills] == [("shipper", "report", "fork")]
        session = library.session()
        again = session.invoke("/shipper staging", model=model)
        assert [one.strategy for one in again.skills] == ["report"]
        assert session.to_json()["active"] == []  # its instructions are in no context
        both = session.invoke("/shipper /plain staging", model=model)
        assert [(one.name, one.strategy) for one in both.skills] == [("shipper", "report"), ("plain", "full")]
    assert SECRET_STEP not in made.message + again.message + both.message
    assert f"{SECRET_STEP} staging" in model.requests[0].messages[1].text
    assert world.contents() == {"a.txt": "one\ntwo\n", "src/main.py": "print('hello')\n"}


def test_what_cannot_run_is_refused_and_never_put_inline(tmp_path: Path) -> None:
    world = _world(tmp_path)
    with world.library() as library:
        with pytest.raises(UsageError) as unnamed:
            library.invoke("/shipper staging")
        assert unnamed.value.code == "run-model-missing"
        mixed = library.invoke("/shipper /plain staging")
        assert [(one.name, one.code) for one in mixed.missing] == [("shipper", "run-model-missing")]
        assert "Not loaded: shipper." in mixed.message and SECRET_STEP not in mixed.message
        with pytest.raises(RefusedError) as rendered:
            library.render("shipper")
        tools = library.tools()
        with pytest.raises(RefusedError) as switched_off:
            tools.invoke("/shipper staging")
        assert (rendered.value.code, switched_off.value.code) == ("runs-apart", "runs-apart")
        read = tools.call("skill_view", {"name": "shipper"})
        assert read["diagnostics"][0]["code"] == "runs-apart"
        assert library.runs.list().runs == ()


def test_the_command_line_and_mcp_give_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = _world(tmp_path)
    cassette = tmp_path / "answers.jsonl"
    with world.library() as library:
        library.invoke("/shipper staging", model=Recorded(str(cassette), _model()))
    (world.state / "config.toml").write_text(f'model = "recorded:{cassette}"\n')
    with world.library() as library:
        answer = library.tools(runs=True).invoke("/shipper staging")  # what prompts/get of `whet mcp` gives
    assert [one["strategy"] for one in answer["skills"]] == ["report"]
    assert "All is well." in answer["message"] and SECRET_STEP not in answer["message"]
    where = ["--project", str(world.project)]
    assert main(["prompt", "render", "shipper", *where], world.env) != 0
    said = capsys.readouterr()
    assert (said.out, "hint: Run it with `whet run shipper`." in said.err) == ("", True)
    assert main(["run", "shipper", *where, "--json", "--", "staging"], world.env) == 0
    assert json.loads(capsys.readouterr().out)["report"]["summary"] == "All is well."
