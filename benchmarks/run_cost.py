"""What a tool call costs in `whet run`, next to plain bubblewrap in the same run.

    python benchmarks/run_cost.py --calls 40 --json

A scripted model calls `Bash true` so many times; the time of a run without calls is taken off. Plain bubblewrap runs
the same command with the same files around it, and nothing else: no limits, no filter of system calls, no journal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from whet import Library
from whet.guard.sandbox.levels import level
from whet.learning.models.model import Call, Completion, Model, Request

MOST = 3.0
"""How many times as long as plain bubblewrap a call may take."""
SKILL = "---\nname: worker\ndescription: Works.\nallowed-tools: Bash(true)\n---\nWork.\n"
PLAIN = (
    *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--proc", "/proc"),
    *("--dev", "/dev", "--tmpfs", "/tmp"),
)


class CallingModel(Model):
    """A model that calls the tool this many times, one call a turn. It answers at once: its time does not count."""

    def __init__(self, calls: int) -> None:
        super().__init__("calling")
        self._calls = calls

    def ask(self, request: Request) -> Completion:
        """The next call, or the end."""
        done = sum(message.role == "assistant" for message in request.messages)
        if done == self._calls:
            return Completion("Done.", model=self.name)
        return Completion("", calls=(Call(f"c{done}", "Bash", {"command": "true"}),), model=self.name)


def measure_plain(project: Path, calls: int) -> float:
    """Seconds of one command in plain bubblewrap."""
    links = [
        word
        for name in ("bin", "sbin", "lib", "lib64")
        if os.path.islink(f"/{name}")
        for word in ("--symlink", os.readlink(f"/{name}"), f"/{name}")
    ]
    words = [*PLAIN, *links, "--bind", str(project), str(project), "--chdir", str(project), "bash", "-c", "true"]
    begun = time.perf_counter()
    for _ in range(calls):
        subprocess.run(words, check=True, env={"PATH": os.defpath})
    return (time.perf_counter() - begun) / calls


def measure_runs(library: Library, calls: int) -> float:
    """Seconds of one call in a run."""
    times = []
    for number in (0, calls):
        begun = time.perf_counter()
        result = library.run("worker", model=CallingModel(number))
        times.append(time.perf_counter() - begun)
        assert [command.code for command in result.report.commands] == [0] * number
    return (times[1] - times[0]) / calls


def main() -> int:
    """Measure both, several times in turn, and compare the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if level().name != "bubblewrap":
        print("This machine has no bubblewrap.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as top:
        project, skill = Path(top, "project"), Path(top, "skills", "worker")
        project.mkdir()
        skill.mkdir(parents=True)
        (project / "a.txt").write_text("a\n")
        (skill / "SKILL.md").write_text(SKILL)
        env = {"HOME": top + "/home", "PATH": os.defpath}
        with Library.open([skill.parent], Path(top, "state"), project, env=env) as library:
            library.run("worker", model=CallingModel(1))  # what is loaded and tried only once
            pairs = [
                (measure_plain(project, options.calls), measure_runs(library, options.calls))
                for _ in range(options.rounds)
            ]
    plain, ours = (median(pair[at] for pair in pairs) for at in (0, 1))
    found = {"calls": options.calls, "rounds": options.rounds, "plain_ms": round(plain * 1000, 2)}
    found |= {"whet_ms": round(ours * 1000, 2), "ratio": round(ours / plain, 2), "most": MOST}
    if options.json:
        print(json.dumps(found))
    else:
        print(f"plain bubblewrap  {plain * 1000:6.1f} ms a call")
        print(f"whet run          {ours * 1000:6.1f} ms a call ({ours / plain:.2f} times; at most {MOST:g})")
    return 0 if ours <= MOST * plain else 1


if __name__ == "__main__":
    sys.exit(main())
