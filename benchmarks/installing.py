"""What does it cost to install a hundred skills of one repository, to keep them up to date, and to remove them?

    python benchmarks/installing.py [--count 100] [--skills .peers/node_modules/skills] [--repeat 7] [--json]

Writes a repository of skills (`handbook.py`), serves it on this machine by `git http-backend` and by file
(`handout.py`), and lets Whet and the npm `skills` CLI live with it in turn, each in a home of its own: install one,
install all, look for updates when there is none, update when one skill changed, remove all. `git` alone does the least
that has to be done. Every command is a whole program, its effect is checked, and what it takes from the server is
counted. The first round only warms up; of the others the medians count. Needs `wait4`, so not Windows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from contest import ContenderError
from handout import Traffic, make_handout, serving
from installing_report import Parts, Results, Run, tables, to_json
from versions import whet_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from handout import Handout, Server

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PLACE = "example/skills.git"
_SKILLS = os.path.join(_ROOT, ".peers", "node_modules", "skills")
_MARK = "Since the last version"
"""What only the changed skill says."""
_PARTS = ("planning", "of that, fetching", "of that, scanning", "applying", "of that, fsync")
_LAUNCHER = """
import os, sys, time
answer = int(sys.argv[1])
os.set_inheritable(answer, False)
start = time.perf_counter()
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
seconds, code = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
os.write(answer, f"{code} {seconds} {used.ru_utime + used.ru_stime} {used.ru_maxrss}".encode())
"""
"""A small process starts the program: the system counts the memory of whoever starts one as the program's own."""


def run(command: Sequence[str], env: dict[str, str], directory: str, codes: Sequence[int] = (0,)) -> Run:
    """Run a program to its end, its output going to a file."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output, open(reading, "rb") as answer:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writing), *command],
            env=env,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[writing],
        )
        os.close(writing)
        told = answer.read().split()
        output.seek(0)
        text = output.read().decode(errors="replace").strip()
    if not told or int(told[0]) not in codes:
        status = told[0].decode() if told else "none"
        raise ContenderError(f"{command[1:3]}: exit status {status}: {text[-300:]}")
    seconds, cpu, memory = map(float, told[1:])
    return Run(seconds, cpu, memory * (1 if sys.platform == "darwin" else 1024) / 1e6)


# --- contenders -----------------------------------------------------------------------------------------------------


class Contender:
    """Somebody who installs, in a home that is new for each life."""

    name = ""
    place = ""
    """Where in the home the skills end up; "" when that is not looked at."""

    def __init__(self, directory: str) -> None:
        self._top = os.path.join(directory, self.name)
        self._lives = 0

    @property
    def directory(self) -> str:
        """The directory of this life."""
        return os.path.join(self._top, str(self._lives))

    @property
    def home(self) -> str:
        """The home directory of this life."""
        return os.path.join(self.directory, "home")

    def start(self) -> None:
        """Begin a life. Earlier ones stay: after many files were removed, ext4 makes new ones slowly for a while."""
        self._lives += 1
        for name in ("home", "work", "tmp"):
            os.makedirs(os.path.join(self.directory, name))

    def env(self) -> dict[str, str]:
        """A small environment, in which bytecode is kept as it is for anybody, and nobody is told anything."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        quiet = {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "NO_COLOR": "1"}
        return {**kept, **quiet, "HOME": self.home, "TMPDIR": os.path.join(self.directory, "tmp")}

    def command(self, task: str, url: str, names: Sequence[str]) -> list[str]:
        """The command for a task with these skills; empty where there is none."""
        raise NotImplementedError

    def do(self, task: str, url: str, names: Sequence[str]) -> Run | None:
        """Do a task once; None if it cannot be done."""
        command = self.command(task, url, names)
        codes = (0, 1) if task == "outdated" else (0,)
        return run(command, self.env(), os.path.join(self.directory, "work"), codes) if command else None

    def check(self, count: int, *, marked: int) -> None:
        """Are so many skills there, and do so many say what only the changed one says? Raises ContenderError."""
        if self.place:
            found = installed(os.path.join(self.home, self.place))
            seen = (len(found), sum(_MARK in text for text in found))
            if seen != (count, marked):
                raise ContenderError(f"{self.name} has {seen} skills and changed ones instead of {(count, marked)}")


def installed(root: str) -> list[str]:
    """The main files of the skills directly below a directory."""
    texts = []
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else ():
        path = os.path.join(root, name, "SKILL.md")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
    return texts


class Whet(Contender):
    """Whet, as a person starts it."""

    name = "whet"
    place = ".agents/skills"

    def start(self) -> None:
        super().start()
        os.makedirs(os.path.join(self.directory, "state"))
        with open(os.path.join(self.directory, "state", "config.toml"), "w", encoding="utf-8") as file:
            file.write('private_hosts = ["127.0.0.1"]\nmin_age = 0\n')

    def env(self) -> dict[str, str]:
        return {**super().env(), "WHET_HOME": os.path.join(self.directory, "state")}

    def command(self, task: str, url: str, names: Sequence[str]) -> list[str]:
        arguments = {
            "install": ["install", url, "--all", "--yes"],
            "one": ["install", url, "--skill", names[0], "--yes"],
            "current": ["update", "--yes"],
            "outdated": ["outdated"],
            "update": ["update", "--yes"],
            "remove": ["uninstall", *names, "--yes"],
        }
        return [*whet_command(), *arguments[task]]


class Skills(Contender):
    """The npm CLI, for one agent that is there."""

    name = "skills"
    place = ".claude/skills"

    def __init__(self, directory: str, package: str) -> None:
        super().__init__(directory)
        self._cli = [shutil.which("node") or "node", os.path.join(package, "bin", "cli.mjs")]

    def start(self) -> None:
        super().start()
        os.makedirs(os.path.join(self.home, ".claude"))

    def command(self, task: str, url: str, names: Sequence[str]) -> list[str]:
        arguments = {
            "install": ["add", url, "--skill", "*", "-a", "claude-code", "-g", "-y"],
            "one": ["add", url, "--skill", names[0], "-a", "claude-code", "-g", "-y"],
            "current": ["update", "-g", "-y"],
            "update": ["update", "-g", "-y"],
            "remove": ["remove", *names, "-g", "-y"],
        }
        return [*self._cli, *arguments[task]] if task in arguments else []


class Git(Contender):
    """The least: a shallow clone, and asking where the branch is."""

    name = "git"

    def command(self, task: str, url: str, names: Sequence[str]) -> list[str]:  # noqa: ARG002  git takes all
        target = os.path.join(self.home, "clone")
        cloning, asking = ["git", "clone", "-q", "--depth", "1", url, target], ["git", "ls-remote", url, "HEAD"]
        return {"install": cloning, "current": asking, "outdated": asking}.get(task, [])


# --- measuring ------------------------------------------------------------------------------------------------------


def life(contender: Contender, handout: Handout, server: Server) -> dict[str, Run]:
    """Everything once, in the order in which it happens to people."""
    url, count, done = f"{server.url}/{_PLACE}", len(handout.names), {}

    def do(label: str, url: str = url, names: Sequence[str] = handout.names, task: str = "") -> None:
        server.taken()
        if (found := contender.do(task or label, url, names)) is not None:
            done[label] = found._replace(traffic=server.taken())

    handout.show(handout.first)
    contender.start()
    do("one", names=[handout.names[count // 2]])
    contender.check(1, marked=0)
    contender.start()
    do("install-file", handout.url, task="install")
    contender.check(count, marked=0)
    if contender.place:
        contender.start()
        do("install-directory", handout.directory, task="install")
        contender.check(count, marked=0)
    contender.start()
    do("install")
    contender.check(count, marked=0)
    do("current")
    handout.show(handout.second)
    do("outdated")
    contender.check(count, marked=0)
    do("update")
    contender.check(count, marked=1)
    do("remove")
    contender.check(0, marked=0)
    return done


def median(runs: Sequence[Run]) -> Run:
    """Each number's own median."""
    seconds, cpu, memory = (statistics.median(values) for values in list(zip(*runs, strict=True))[:3])
    traffic = Traffic(
        *(round(statistics.median(values)) for values in zip(*(run.traffic for run in runs), strict=True))
    )
    return Run(seconds, cpu, memory, traffic)


def measure(contenders: Sequence[Contender], handout: Handout, server: Server, rounds: int) -> tuple[Results, Parts]:
    """The medians of all rounds but the first, and Whet's parts; who goes first changes from round to round."""
    lives: dict[str, list[dict[str, Run]]] = {contender.name: [] for contender in contenders}
    parts: list[Parts] = []
    for number in range(rounds + 1):
        for contender in contenders if number % 2 else reversed(contenders):
            lives[contender.name].append(life(contender, handout, server))
        handout.show(handout.first)
        parts.append(taken_apart(contenders[0], f"{server.url}/{_PLACE}"))
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    results = {
        name: {task: median([life[task] for life in told[1:]]) for task in told[0]} for name, told in lives.items()
    }
    return results, {name: statistics.median(part[name] for part in parts[1:]) for name in _PARTS}


# --- where Whet's time goes -----------------------------------------------------------------------------------------


def take_apart(url: str) -> Parts:
    """Install everything in this process and tell the seconds of each part."""
    from whet import Library
    from whet.guard.scan_cache import ScanCache
    from whet.sources.install.installer import Installer

    parts: Parts = {}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                parts[name] = parts.get(name, 0.0) + time.perf_counter() - start

        return call

    os.fsync = timed("of that, fsync", os.fsync)
    Installer.fetch = timed("of that, fetching", Installer.fetch)  # type: ignore[method-assign]  # only to time it
    ScanCache.scan = timed("of that, scanning", ScanCache.scan)  # type: ignore[method-assign]  # only to time it
    with Library.open() as library:
        plan = timed("planning", library.sources.plan_install)(url, every=True)
        timed("applying", library.sources.apply)(plan)
    return parts


def taken_apart(contender: Contender, url: str) -> Parts:
    """The same in a new process and a new home."""
    contender.start()
    command = [sys.executable, os.path.abspath(__file__), "--take-apart", url]
    work = os.path.join(contender.directory, "work")
    done = subprocess.run(command, env=contender.env(), cwd=work, capture_output=True, text=True, check=True)
    parts: Parts = json.loads(done.stdout)
    return parts


def version(package: str) -> str:
    """The version of an npm package that is there and can be run, or ""."""
    path = os.path.join(package, "package.json")
    if not os.path.exists(path) or not shutil.which("node"):
        return ""
    with open(path, encoding="utf-8") as file:
        return str(json.load(file)["version"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure installing many skills, beside the npm skills CLI.")
    parser.add_argument("--count", type=int, default=100, help="skills in the repository")
    parser.add_argument("--skills", default=_SKILLS, help="directory of the npm package `skills`; needs node")
    parser.add_argument("--repeat", type=int, default=7, help="rounds that count")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--take-apart", metavar="URL", help="only tell the parts of one install in this home")
    options = parser.parse_args()
    if options.take_apart:
        print(json.dumps(take_apart(options.take_apart)))
        return
    peer = version(options.skills)
    with tempfile.TemporaryDirectory(prefix="whet-installing-") as directory:
        served = os.path.join(directory, "served")
        handout = make_handout(os.path.join(served, *_PLACE.split("/")), options.count)
        contenders: list[Contender] = [Whet(directory), Git(directory)]
        if peer:
            contenders.insert(1, Skills(directory, os.path.abspath(options.skills)))
        with serving(served) as server:
            results, parts = measure(contenders, handout, server, options.repeat)
    if options.json:
        print(json.dumps(to_json(results, parts, handout, peer), indent=1))
        return
    amount = f"{len(handout.names)} skills, {handout.files} files, {handout.size / 1e3:,.0f} KB"
    print(f"{amount}; skills {peer or 'not installed'}\n\n{tables(results, parts)}")


if __name__ == "__main__":
    main()
