"""Run any of the benchmarks, alone or beside another commit of Whet.

    python benchmarks                             list them
    python benchmarks speed hook                  run these; the results go to benchmarks/results/NAME.json
    python benchmarks hook -- --sizes 1000        give options to a benchmark
    python benchmarks --against HEAD~20           the everyday commands with both versions, as ratios
    python benchmarks hook mcp --against v0.3     these benchmarks with both versions in turn, every number as a ratio

With `--against`, the other commit is checked out into a temporary directory. Both versions run on the packages of this
environment, one after the other in every round, and what counts is the median. Peers come from `benchmarks/peers.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HERE)
RESULTS = os.path.join(_HERE, "results")
COMMANDS = "commands"


class Benchmark(NamedTuple):
    """One script of this directory that prints one JSON document with `--json`."""

    script: str
    what: str
    peers: str = ""
    """What it measures beside, if that is installed."""
    needs: str = ""
    """Options without which it does not run: data that the repository does not contain."""


BENCHMARKS = {
    COMMANDS: Benchmark("", "the everyday commands of two versions; only with --against"),
    "speed": Benchmark("speed.py", "finding, reading, opening and validating skills", "floors, four other systems"),
    "pages": Benchmark("pages.py", "pages of `whet ui` over 10,000 skills", "a static file"),
    "hook": Benchmark("hook_latency.py", "what a hook adds to every prompt", "bare Python"),
    "mcp": Benchmark("mcp_start.py", "how long a client waits for `whet mcp`", "bare Python, the SDK, fastmcp"),
    "installing": Benchmark("installing.py", "installing, updating and removing 100 skills", "skills from npm"),
    "prompt": Benchmark("index.py", "size of the list of skills in a prompt", "three other systems"),
    "usage": Benchmark("usage.py", "noting that a skill was used", "hermes-agent"),
    "run": Benchmark("run_cost.py", "a tool call in `whet run`", "plain bubblewrap"),
    "hub": Benchmark("hub_cost.py", "reading and searching a hub of 10,000 skills", "the least a server does"),
    "transcripts": Benchmark("transcripts.py", "memory and time for very long sessions"),
    "routing": Benchmark("routing_scale.py", "building and asking the index of 100,000 skills"),
    "guard": Benchmark(
        "guard.py", "what the guard finds, misses and costs", "hermes-agent, cisco", "--labels, --pairs"
    ),
    "frontmatter": Benchmark("frontmatter.py", "reading real frontmatter", "PyYAML, skills-ref", "--data FILE"),
    "tokens": Benchmark("tokens.py", "the estimate of tokens", "other rules", "--data FILE"),
    "siblings": Benchmark("siblings.py", "choosing from a shortened list", "other policies", "--pool, --queries"),
    "distill": Benchmark("distill.py", "what a distilled skill keeps of a session", "an outline", "SESSIONS"),
}


def run_script(python: str, root: str, benchmark: Benchmark, options: list[str]) -> Any:
    """The JSON document that a script of a checkout prints."""
    command = [python, os.path.join(root, "benchmarks", benchmark.script), "--json", *options]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE)
    if not done.stdout.strip():
        raise SystemExit(f"{benchmark.script}: exit status {done.returncode} and no result.")
    return json.loads(done.stdout)


@contextmanager
def checkout(revision: str) -> Iterator[tuple[str, str]]:
    """Another commit in a temporary directory, and a Python for it that has the packages of this one."""
    with tempfile.TemporaryDirectory(prefix="whet-commit-") as directory:
        root = os.path.join(directory, "whet")
        added = _git("worktree", "add", "--quiet", "--detach", root, revision)
        if added.returncode:
            raise SystemExit(f"{revision} cannot be checked out: {added.stderr.strip()}")
        try:
            environment = os.path.join(directory, "environment")
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
            scripts = os.path.join(environment, "Scripts" if os.name == "nt" else "bin")
            python = os.path.join(scripts, os.path.basename(sys.executable))
            code = "import sysconfig; print(sysconfig.get_path('purelib'))"
            packages = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
            with open(os.path.join(packages, "whet.pth"), "w", encoding="utf-8") as file:
                file.write(f"{os.path.join(root, 'src')}\n{sysconfig.get_path('purelib')}\n")
            whet = os.path.join(scripts, "whet")
            with open(whet, "w", encoding="utf-8") as file:
                file.write(f"#!{python}\nimport sys\nfrom whet.interfaces.cli import main\nsys.exit(main())\n")
            os.chmod(whet, 0o755)
            yield root, python
        finally:
            _git("worktree", "remove", "--force", root)


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", _ROOT, *words], capture_output=True, text=True)


def numbers(document: object, path: str = "") -> dict[str, float]:
    """Every number of a result, by the way to it."""
    if isinstance(document, bool) or document is None:
        return {}
    if isinstance(document, (int, float)):
        return {path: float(document)}
    parts = (
        enumerate(document) if isinstance(document, list) else document.items() if isinstance(document, dict) else ()
    )
    found: dict[str, float] = {}
    for name, value in parts:
        found |= numbers(value, f"{path}.{name}" if path else str(name))
    return found


def compare(name: str, root: str, python: str, rounds: int, options: list[str]) -> dict[str, dict[str, float]]:
    """Every number that both versions have, from scripts that run in turn."""
    found: dict[str, list[dict[str, float]]] = {"other": [], "ours": []}
    for number in range(rounds):
        sides = {"other": (python, root), "ours": (sys.executable, _ROOT)}
        for side in ("other", "ours") if number % 2 else ("ours", "other"):
            found[side].append(numbers(run_script(*sides[side], BENCHMARKS[name], options)))
    paths = [path for path in found["ours"][0] if all(path in one for runs in found.values() for one in runs)]
    return {
        path: {side: statistics.median(one[path] for one in runs) for side, runs in found.items()} for path in paths
    }


def _print_comparison(rows: dict[str, dict[str, float]]) -> None:
    wide = max((len(path) for path in rows), default=0)
    print(f"{'':{wide}}{'other':>14}{'ours':>14}{'ratio':>8}")
    for path, row in rows.items():
        ratio = f"{row['ours'] / row['other']:8.2f}" if row["other"] else f"{'-':>8}"
        print(f"{path:{wide}}{row['other']:14,.4g}{row['ours']:14,.4g}{ratio}")


def against(names: list[str], revision: str, rounds: int, skills: int, options: list[str]) -> dict[str, Any]:
    """Measure with another commit beside this one."""
    answers: dict[str, Any] = {}
    with checkout(revision) as (root, python):
        for name in names or [COMMANDS]:
            if name == COMMANDS:
                other = [os.path.join(os.path.dirname(python), "whet")]
                ratios = versions.compare(versions.whet_command(), other, skills, rounds)
                answers[name] = {row.command: {"other": row.other, "ours": row.ours} for row in ratios}
            else:
                answers[name] = compare(name, root, python, rounds, options)
    return answers


def _list() -> None:
    for name, benchmark in BENCHMARKS.items():
        beside = f", beside {benchmark.peers}" if benchmark.peers else ""
        needs = f"; needs {benchmark.needs}" if benchmark.needs else ""
        print(f"{name:<13}{benchmark.what}{beside}{needs}")


def main() -> None:
    words = sys.argv[1:]
    own, options = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    parser = argparse.ArgumentParser(prog="python benchmarks", description="Run benchmarks; without names, list them.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark; options for it stand after --")
    parser.add_argument("--against", metavar="REV", help="run them with this commit, too, and compare")
    parser.add_argument("--rounds", type=int, default=5, help="with --against: how often each version runs")
    parser.add_argument("--skills", type=int, default=300, help="with --against: skills for the everyday commands")
    parser.add_argument("--json", action="store_true", help="print the results and write no file")
    given = parser.parse_args(own)
    if unknown := [name for name in given.names if name not in BENCHMARKS]:
        parser.error(f"{unknown[0]} is not a benchmark; these are: {', '.join(BENCHMARKS)}")
    if given.rounds < 1 or given.skills < 1:
        parser.error("--rounds and --skills must be at least 1")
    if given.against:
        answers = against(given.names, given.against, given.rounds, given.skills, options)
        if given.json:
            print(json.dumps(answers, indent=1))
        for name, rows in () if given.json else answers.items():
            print(f"{name}, {given.against} beside this version")
            _print_comparison(rows)
        return
    if not given.names:
        _list()
        return
    if COMMANDS in given.names:
        parser.error(f"{COMMANDS} needs --against REV")
    for name in given.names:
        document = json.dumps(run_script(sys.executable, _ROOT, BENCHMARKS[name], options), indent=1)
        if given.json:
            print(document)
        else:
            os.makedirs(RESULTS, exist_ok=True)
            path = os.path.join(RESULTS, f"{name}.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{document}\n")
            print(os.path.relpath(path))


if __name__ == "__main__":
    main()
