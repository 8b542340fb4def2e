"""How fast is Whet? Against the least that must be done, and against other systems, in one run.

    python benchmarks/speed.py --sizes 100,1000,10000 [--peers .peers] [--repeat 9] [--json]
    python benchmarks/speed.py --growth 10000,100000
    python3.13 benchmarks/speed.py --beside

Generates a tree of each size, measures everything on it in interleaved rounds, prints times and ratios with the goals,
and writes `benchmarks/results/speed.json` and `docs/benchmarks.md`. With `--json` the results go to stdout as one JSON
document and nothing is written. Peers come from `benchmarks/peers.py`; one that is not installed is left out.
With `--growth` the commands people wait for are run once with each of these very large numbers of skills, in CPU
seconds and memory, and only that section of the page is written anew. With `--beside` the results go to a file of this
version of Python, and the next run without it puts its ratios on the page.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import platform
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import growth
import peers as peer_systems
from contest import CPU, Contender, ContenderError, Worker, compete, peak_memory, process
from report import Report, other_python, page, table
from scenes import Scene, make_scene
from versions import whet_command

if TYPE_CHECKING:
    from contest import Result, Sample
    from peers import Peers

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SETTLING = 3.0
"""Seconds between writing the trees and measuring: a file touched a moment ago is not believed yet."""
_VALIDATED = 1000
"""Skills validated; the time for one does not depend on how many there are."""


class Field:
    """The contenders of one scene, each with its worker."""

    def __init__(self, scene: Scene, peers: Peers, stack: ExitStack) -> None:
        self.scene = scene
        self.peers = peers
        self._stack = stack
        self._workers: dict[str, Worker] = {}

    def contender(self, name: str, worker: str, task: str, arguments: dict[str, Any]) -> Contender:
        """Somebody who does a task in the worker of that name."""
        return Contender(name, lambda: self.ask(worker, task, arguments))

    def ask(self, worker: str, task: str, arguments: dict[str, Any]) -> Sample:
        """Do a task once."""
        if worker not in self._workers:
            self._workers[worker] = self._stack.enter_context(self._start(worker))
        return self._workers[worker].ask(task, arguments)

    def _start(self, worker: str) -> Worker:
        if worker not in peer_systems.FROM_PYPI:
            return Worker(sys.executable, self.scene.env())
        return Worker(self.peers.python, self.scene.hermes_env() if worker == "hermes-agent" else self.scene.env())

    def ask_new_process(self, task: str, arguments: dict[str, Any]) -> Sample:
        """Do a task as the first thing in a process."""
        with Worker(sys.executable, self.scene.env()) as worker:
            return worker.ask(task, arguments)

    def cold(self) -> list[Contender]:
        """Everybody who can list a tree."""
        everything, library = list(self.scene.tree.directories), self._library()
        found = [
            self.contender("floor", "floor", "floor_scan", {"root": self.scene.tree.root}),
            self.contender("floor, with os.walk", "floor", "floor_walk", {"root": self.scene.tree.root}),
            self.contender("whet", "whet", "whet_cold", library),
            self.contender("whet, cache written", "whet, first", "whet_first", library),
            self.contender("hermes-agent", "hermes-agent", "hermes_cold", {}),
            self.contender("deepagents", "deepagents", "deepagents_cold", {"root": self.scene.flat.root}),
            self.contender("skills-ref", "skills-ref", "skills_ref_readable", {"directories": everything}),
        ]
        return self._present(found)

    def warm(self) -> list[Contender]:
        """Everybody who remembers what was there."""
        library = self._library()
        mains = [os.path.join(path, "SKILL.md") for path in self.scene.tree.directories]
        watched = self.ask("whet", "whet_watched", library).answer
        found = [
            self.contender("floor, SKILL.md only", "floor", "floor_stat", {"paths": mains}),
            self.contender("floor, all that is watched", "floor", "floor_stat", {"paths": watched}),
            self.contender("whet", "whet", "whet_refresh", library),
            Contender("whet, new process", lambda: self.ask_new_process("whet_load", library)),
            self.contender("hermes-agent", "hermes-agent", "hermes_cached", {}),
        ]
        return self._present(found)

    def open(self) -> list[Contender]:
        """Everybody who can open a skill by its name."""
        name = {"name": self.scene.name}
        found = [
            self.contender("whet", "whet", "whet_open_used", {**self._library(), **name}),
            self.contender("whet, fresh library", "whet, fresh", "whet_open_fresh", {**self._library(), **name}),
            self.contender("hermes-agent", "hermes-agent", "hermes_open", name),
        ]
        return self._present(found)

    def validate(self) -> list[Contender]:
        """Everybody who validates."""
        some = {"directories": list(self.scene.tree.directories[:_VALIDATED])}
        found = [
            self.contender("whet", "whet", "whet_validate", some),
            self.contender("skills-ref", "skills-ref", "skills_ref_validate", some),
        ]
        return self._present(found)

    def processes(self, readable: list[str]) -> list[Contender]:
        """Whole programs. `readable` are the skills skills-ref can read."""
        scene, peers, installed, own = self.scene, self.peers, self.peers.versions, self.scene.env()
        found = [
            _program("python -c pass", [sys.executable, "-c", "pass"], own),
            _program("whet --version", [*whet_command(), "--version"], own),
            _program("whet list", [*whet_command(), "list"], own),
        ]
        if "skills-ref" in installed:
            paths = [os.path.relpath(path, scene.home) for path in readable]
            command = [peers.script("agentskills"), "to-prompt", *paths]
            found.append(_program("agentskills to-prompt", command, own))
        if "hermes-agent" in installed:
            command = [peers.script("hermes"), "skills", "list"]
            found.append(_program("hermes skills list", command, scene.hermes_env()))
        if "skills" in installed:
            env = scene.npm_env("npm-skills", ".agents/skills")
            found.append(_program("skills list", [*peers.node("skills"), "list", "-g"], env))
        if "openskills" in installed:
            env = scene.npm_env("npm-openskills", ".agent/skills")
            found.append(_program("openskills list", [*peers.node("openskills"), "list"], env))
        return found

    def _library(self) -> dict[str, Any]:
        return {"root": self.scene.tree.root, "state": self.scene.state}

    def _present(self, contenders: list[Contender]) -> list[Contender]:
        """Without the peers that are not installed."""
        absent = {name for name in peer_systems.FROM_PYPI if name not in self.peers.versions}
        return [contender for contender in contenders if contender.name not in absent]


def _program(name: str, command: list[str], env: dict[str, str]) -> Contender:
    return Contender(name, lambda: process(command, env, env["HOME"]))


def measure(scene: Scene, peers: Peers, rounds: int) -> dict[str, dict[str, Result]]:
    """Every contest on one scene."""
    with ExitStack() as stack:
        field = Field(scene, peers, stack)
        cold = compete(field.cold(), rounds)
        readable = cold["skills-ref"].answer if "skills-ref" in cold else None
        count = min(_VALIDATED, len(scene.tree.names))
        return {
            "cold": cold,
            "warm": compete(field.warm(), rounds),
            "open": compete(field.open(), rounds),
            "validate": {name: result.per(count) for name, result in compete(field.validate(), rounds).items()},
            "process": compete(field.processes(readable or []), rounds),
        }


def run(sizes: list[int], peers: Peers, rounds: int) -> Report:
    """Measure everything at every size."""
    results: dict[int, dict[str, dict[str, Result]]] = {}
    memory: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="whet-speed-") as directory:
            _say(f"{size:,} skills: generating")
            scene = make_scene(directory, size)
            time.sleep(_SETTLING)
            _say(f"{size:,} skills: measuring")
            results[size] = measure(scene, peers, rounds)
            try:
                memory[size] = peak_memory([*whet_command(), "list"], scene.env(), scene.home)
            except ContenderError as error:
                _say(f"whet list: {error}")
    machine = {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "clock": "CPU time, as the machine was in use" if CPU in os.environ else "wall-clock time",
    }
    installed = {name: peers.versions.get(name) for name in (*peer_systems.FROM_PYPI, *peer_systems.FROM_NPM)}
    return Report(machine, installed, rounds, results, memory)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write_growth(sizes: list[int], *, printed: bool) -> None:
    """Measure what very large libraries cost, and put that into the page."""
    costs: dict[str, list[dict[str, Any]]] = {}
    for size in sizes:
        _say(f"{size:,} skills")
        costs[str(size)] = [cost._asdict() for cost in growth.measure(whet_command(), size)]
    document = json.dumps(costs, indent=1)
    if printed:
        print(document)
        return
    print(growth.section(costs))
    _write("benchmarks/results/growth.json", document + "\n")
    with open(os.path.join(_ROOT, "docs/benchmarks.md"), encoding="utf-8") as file:
        before, _, rest = file.read().partition(f"\n## {growth.TITLE}\n")
    head, after = (before, rest[rest.index("\n## ") :]) if rest else before.split("\n## How it is measured", 1)
    behind = after if rest else f"\n## How it is measured{after}"
    _write("docs/benchmarks.md", head + growth.section(costs) + behind)


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(os.path.join(_ROOT, path)), exist_ok=True)
    with open(os.path.join(_ROOT, path), "w", encoding="utf-8") as file:
        file.write(text)


def _grown() -> str:
    """The section on very large libraries, as it was last measured."""
    try:
        with open(os.path.join(_ROOT, "benchmarks/results/growth.json"), encoding="utf-8") as file:
            return growth.section(json.load(file))
    except FileNotFoundError:
        return ""


def _others() -> str:
    """The sections on other versions of Python, as they were last measured."""
    found = []
    for path in sorted(glob.glob(os.path.join(_ROOT, "benchmarks/results/speed-*.json"))):
        with open(path, encoding="utf-8") as file:
            found.append(other_python(json.load(file)))
    return "".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how fast Whet is, side by side with its peers.")
    parser.add_argument("--sizes", default="100,1000,10000", help="numbers of skills, separated by commas")
    parser.add_argument("--peers", default=peer_systems.DEFAULT, help="directory or interpreter of the peers")
    parser.add_argument("--repeat", type=int, default=9, help="rounds; who is slow takes part in a third of them")
    parser.add_argument("--json", action="store_true", help="print the results as JSON and write no files")
    parser.add_argument("--growth", metavar="SIZES", help="measure only what very large libraries cost")
    parser.add_argument("--beside", action="store_true", help="keep the results beside those of another Python")
    parser.add_argument("--cpu", action="store_true", help="count CPU time, on a machine that is in use")
    options = parser.parse_args()
    if options.cpu:
        os.environ[CPU] = "1"
    if options.growth:
        write_growth([int(size) for size in options.growth.split(",")], printed=options.json)
        return
    sizes = sorted({int(size) for size in options.sizes.split(",")})
    report = run(sizes, peer_systems.find(options.peers), options.repeat)
    document = json.dumps(report.to_json(), indent=1)
    if options.json:
        print(document)
        return
    print(table(report))
    if options.beside:
        version = ".".join(platform.python_version_tuple()[:2])
        _write(f"benchmarks/results/speed-{version}.json", document + "\n")
        return
    _write("benchmarks/results/speed.json", document + "\n")
    _write("docs/benchmarks.md", page(report, _grown(), _others()))


if __name__ == "__main__":
    main()
