"""The benchmark of distillation: its measure, and a run on sessions made up for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import distill
from distill_points import held, read_point, shares, terms


def record(task: str, number: int, verb: str, tool: str) -> dict[str, Any]:
    skill = (
        f"Base directory for this skill: /home/kim/skills/{tool}\n\n# {tool}\n\n"
        f"Always pass `--{tool}-mode strict` and keep the factor at 0.{number}5.\n"
    )
    return {
        "task": task,
        "instance": f"{task}-{number}",
        "instruction": (
            f"Please {verb} the file /home/kim/in-{number}.csv and write the result to /home/kim/out-{number}.csv."
        ),
        "sessions": [
            {
                "session_id": str(number),
                "messages": [
                    {
                        "role": "assistant",
                        "tool_uses": [{"tool": "Skill", "input": {"skill": tool}, "status": "success"}],
                    },
                    {"role": "user", "content": skill},
                    {
                        "role": "assistant",
                        "tool_uses": [
                            {
                                "tool": "Bash",
                                "input": {"command": f"{tool} --{tool}-mode strict in-{number}.csv"},
                                "output": {"text": "done"},
                                "status": "success",
                            }
                        ],
                    },
                    {"role": "assistant", "content": "Done."},
                ],
            }
        ],
        "skill_key_points": [
            {
                "key_point": f"Use the option --{tool}-mode strict with a factor of 0.{number}5.",
                "skill_reference": f"Always pass `--{tool}-mode strict` and keep the factor at 0.{number}5.",
            }
        ],
    }


@pytest.fixture
def trajectories(tmp_path: Path) -> str:
    rows = [
        record(task, number, verb, tool)
        for task, verb, tool in (("smooth", "smooth the curve in", "smoother"), ("translate", "translate", "lingua"))
        for number in (1, 2)
    ]
    path = tmp_path / "sessions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def test_code_weighs_more_and_terms_have_to_stand_together() -> None:
    assert terms("Use --skip-update with `cacheDir` 0.9 times") == [
        ("skip-update", True),
        ("cachedir", True),
        ("0.9", True),
        ("time", False),
    ]
    point = read_point("Pass --skip-update for offline scans.", "scan --skip-update --offline-scan")
    assert sum(point.weights.values()) == pytest.approx(1.0)
    near = "offline scans pass --skip-update and --offline-scan"
    far = "--skip-update " + "filler word here " * 200 + "offline scans pass --offline-scan"
    assert shares([point], near) == [pytest.approx(1.0)]
    assert 0.2 < shares([point], far)[0] < 0.8
    assert held(point, []) == 0.0


def test_secrets_that_are_planted_would_be_seen() -> None:
    poisoned = distill.planted(record("smooth", 1, "smooth", "smoother"))
    text = json.dumps(poisoned)
    assert all(secret in text for secret in distill.SECRETS)


def test_a_run_reports_every_task(trajectories: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert distill.main(["--trajectories", trajectories, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["sessions"] == 4
    assert result["all"]["covered"]["copy"]["covered"] == 1.0
    assert (result["all"]["leaks"], result["all"]["found_first"], result["all"]["errors"]) == (0, 1.0, 0)
    assert distill.main(["--trajectories", trajectories, "--misses", "--limit", "2"]) == 0
    assert "| smooth |" in capsys.readouterr().out


def test_sessions_are_rebuilt_from_requests_and_their_names_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "# Smooth\n\n```bash\nsmoother --strict in.csv\n```\n\n```bash\nsmoother --check out.csv\n```\n"
    skill = {"id": "a", "name": "smooth", "description": "Smooths the curves. Use when a curve is noisy.", "body": body}
    asked = [
        "Smooth the noisy curves of the sensor data",
        "Can you help?",
        "Use the smooth skill on the sensor data now",
    ]
    rows = [{"kind": "user", "relevant": ["a"], "text": text} for text in asked]
    files = [tmp_path / "requests.jsonl", tmp_path / "skills.jsonl"]
    files[0].write_text("\n".join(map(json.dumps, rows)))
    files[1].write_text(json.dumps(skill))
    assert distill.main(["--requests", str(files[0]), "--skills", str(files[1])]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["sessions"], result["names"]) == (1, {"a#1": "smooth-noisy-curves"})
    assert set(result["sides"]["outline"].values()) == {0}
    judged = tmp_path / "names.json"
    judged.write_text(json.dumps({"one": {"smooth-noisy-curves": False}}))
    read = distill.judge_names(["smooth-noisy-curves", "other"], str(judged))
    assert read == {"one": {"read": 1, "good": 0}}
    marks = {
        "one": {"a": True, "b": True, "c": False, "d": False},
        "two": {"a": True, "b": False, "c": False, "d": False},
    }
    judged.write_text(json.dumps(marks))
    assert distill.judge_names([], str(judged))["one and two"] == {"names": 4, "share": 0.75, "kappa": 0.5}
    assert distill.main(["--requests", str(files[0]), "--names"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == {asked[0]: "smooth-noisy-curves"}
