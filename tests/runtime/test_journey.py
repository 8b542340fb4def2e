"""A skill of the gallery reviews a change in a small repository, with recorded answers; and a model runs a skill."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play
from whet.guard.sandbox.levels import levels
from whet.interfaces.cli import main
from whet.learning.models.recorded import Recorded

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
OLD, NEW = "def total(prices):\n    return sum(prices)\n", "def total(prices):\n    return sum(prices[1:])\n"


def test_reviewing_changes_runs_on_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path, {"total.py": OLD})
    world.write({"total.py": NEW})
    world.commit()
    assert main(["gallery", "add", "reviewing-changes", "--yes"], world.env) == 0
    turns = play(
        [("Bash", {"command": "git show HEAD"}), ("Read", {"file_path": "references/by-language.md"})],
        [("Bash", {"command": "git push origin main"}), ("Write", {"file_path": "total.py", "content": OLD})],
        "total.py:2, high: the first price is left out. Everything else was fixed and pushed.",
    )
    cassette = tmp_path / "answers.jsonl"
    with world.library() as library:
        first = library.run("reviewing-changes", "the last commit", model=Recorded(str(cassette), turns))
    capsys.readouterr()
    words = ["--project", str(world.project), "--json", "--model", f"recorded:{cassette}", "--", "the last commit"]
    assert main(["run", "reviewing-changes", *words], world.env) == 0
    answer = json.loads(capsys.readouterr().out)
    report = answer["report"]
    assert report["commands"][0]["command"] == "git show HEAD" and report["commands"][0]["code"] == 0
    assert [(one["tool"], one["reason"]) for one in report["denied"]] == [
        ("Bash", "No grant covers `git push origin main`."),
        ("Write", "Write is not granted."),
    ]
    assert (report["files"], answer["diff"], report["model"]) == ([], "", "scripted:test")
    assert report["summary"].endswith("pushed.")  # which the report contradicts
    assert report["tokens"] == first.report.to_json()["tokens"]
    assert (world.project / "total.py").read_text() == NEW


def test_a_model_runs_a_skill_only_where_that_is_switched_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Read")
    world.skill("Read", name="private", more="disable-model-invocation: true\n")
    cassette = tmp_path / "answers.jsonl"
    with world.library() as library:
        library.run("worker", "go", model=Recorded(str(cassette), play("Done.")))
    (world.state / "config.toml").write_text(f'model = "recorded:{cassette}"\n')
    with world.library() as library:
        assert "skill_run" not in {tool.name for tool in library.tools().definitions()}
        assert library.tools().call("skill_run", {"name": "worker"})["success"] is False
        tools = library.tools(runs=True)
        answer = tools.call("skill_run", {"name": "worker", "arguments": "go"})
        assert (answer["success"], answer["run"]["status"], answer["report"]["summary"]) == (True, "done", "Done.")
        assert tools.call("skill_run", {"name": "private"})["success"] is False
