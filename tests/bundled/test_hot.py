"""The hot-spot profiler of `profiling-python`, run as an agent runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HOT = Path(__file__).parents[2] / "src" / "whet" / "bundled" / "profiling-python" / "scripts" / "hot.py"
JOB = """import json, sys
def slow(count):
    return sum(json.loads("1") for _ in range(count))
def main():
    print("said", sys.argv[1:])
    slow(3000)
if __name__ == "__main__":
    main()
"""


def hot(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HOT), *words]
    return subprocess.run(command, cwd=directory, capture_output=True, encoding="utf-8", timeout=60)


def report(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(run.stdout)
    return value


def calls(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {row["place"]: row["calls"] for row in rows}


def test_time_of_libraries_is_charged_to_the_projects_lines(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB, encoding="utf-8")
    run = hot(tmp_path, "--json", "--", "job.py", "--option", "x")
    found = report(run)
    assert (run.returncode, run.stderr, found["failure"]) == (0, "said ['--option', 'x']\n", "")
    functions = {place: count for place, count in calls(found["whole"]).items() if "<" not in place}
    assert functions == {"job.py:4 main": 1, "job.py:2 slow": 1}
    assert all(row["place"].startswith("job.py:") for row in found["own"])
    everything = report(hot(tmp_path, "--json", "--all", "--top", "200", "--", "job.py"))
    assert any("decoder.py" in row["place"] for row in everything["own"])


def test_a_module_and_a_table_for_people(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "job.py").write_text(JOB, encoding="utf-8")
    run = hot(tmp_path, "--top", "2", "--", "-m", "package.job")
    lines = run.stdout.splitlines()
    assert (run.returncode, lines[1], lines[4], len(lines)) == (0, "own time", "with what it calls", 7)
    assert lines[0].startswith("total ") and lines[5].endswith("package/job.py:1 <module>")


def test_a_program_that_fails_is_still_measured(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(f"{JOB}\nraise ValueError('no')\n", encoding="utf-8")
    run = hot(tmp_path, "--json", "--", "job.py")
    assert (run.returncode, report(run)["failure"]) == (1, "ValueError: no")
    (tmp_path / "end.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    assert report(hot(tmp_path, "--json", "--", "end.py"))["failure"] == "exit code 3"


def test_what_cannot_start_and_wrong_use(tmp_path: Path) -> None:
    assert hot(tmp_path, "--", "gone.py").returncode == 4
    assert [hot(tmp_path, *words).returncode for words in ((), ("--",), ("--top", "0", "--", "x.py"))] == [2, 2, 2]
