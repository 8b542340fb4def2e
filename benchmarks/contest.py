"""Measuring contenders against each other: in rounds, each in its own process, the best of several runs.

All contenders of a contest run once per round, one after the other, so that a busy moment of the machine meets all of
them. The best run counts: everything else is the machine's doing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
_PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


CPU = "WHET_BENCHMARK_CPU"
"""Set in the environment where CPU time counts and not the clock: for a machine that has something else to do."""


class ContenderError(Exception):
    """A contender could not do what was asked."""


class Sample(NamedTuple):
    """One run."""

    seconds: float
    answer: Any


class Result(NamedTuple):
    """All runs of one contender in one contest."""

    best: float
    median: float
    third: float
    """The third quartile: three of four runs took at most this."""
    runs: int
    answer: Any
    error: str = ""
    times: tuple[float, ...] = ()
    """Each run, in the order of the rounds."""

    def per(self, count: int) -> Result:
        """The same for one of `count` things done in each run."""
        times = tuple(time / count for time in self.times)
        return self._replace(best=self.best / count, median=self.median / count, third=self.third / count, times=times)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON carries it, times in milliseconds."""
        if self.error:
            return {"error": self.error}
        named = {"best_ms": self.best, "median_ms": self.median, "third_quartile_ms": self.third}
        times = {name: round(seconds * 1e3, 4) for name, seconds in named.items()}
        answer = len(self.answer) if isinstance(self.answer, list) else self.answer
        return {**times, "runs": self.runs, "answer": answer}


class Contender(NamedTuple):
    """Somebody who takes part."""

    name: str
    run: Callable[[], Sample]


SLOW = 2.0
"""Who takes more seconds than this runs in a third of the rounds only."""


def compete(contenders: Sequence[Contender], rounds: int) -> dict[str, Result]:
    """Run everybody in turn; a contender that fails once is out and says why."""
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in contenders}
    errors: dict[str, str] = {}
    for number in range(rounds):
        for contender in contenders:
            before = samples[contender.name]
            if contender.name in errors or (number % 3 and before[0].seconds > SLOW):
                continue
            try:
                before.append(contender.run())
            except ContenderError as error:
                errors[contender.name] = str(error)
    return {name: _result(samples[name], errors.get(name, "")) for name in samples}


def _result(samples: list[Sample], error: str) -> Result:
    if error:
        return Result(0.0, 0.0, 0.0, 0, None, error)
    rounds = tuple(sample.seconds for sample in samples)
    times = sorted(rounds)
    quartile = times[len(times) * 3 // 4]
    return Result(times[0], times[len(times) // 2], quartile, len(times), samples[-1].answer, "", rounds)


class Worker:
    """A contender's own process, see worker.py."""

    def __init__(self, python: str = sys.executable, env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [python, _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, task: str, arguments: dict[str, Any]) -> Sample:
        """Do a task once."""
        if self._process.stdin is None or self._process.stdout is None:
            raise ContenderError("the worker has no pipes")
        try:
            asked = {"task": task, "arguments": arguments, "cpu": CPU in os.environ}
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ContenderError(f"the worker ended during {task}")
        reply = json.loads(line)
        if "error" in reply:
            raise ContenderError(reply["error"])
        return Sample(reply["seconds"], reply["answer"])

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def process(command: Sequence[str], env: Mapping[str, str], directory: str) -> Sample:
    """Run a program to its end, reading all it prints; the answer is the number of lines."""
    start = _clock()
    done = subprocess.run(command, env=env, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True)
    seconds = _clock() - start
    if done.returncode:
        text = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise ContenderError(f"exit status {done.returncode}: {text.splitlines()[-1][:200] if text else ''}")
    return Sample(seconds, done.stdout.count(b"\n"))


def _clock() -> float:
    """The time, or that of the programs run so far."""
    if CPU not in os.environ:
        return time.perf_counter()
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_memory(command: Sequence[str], env: Mapping[str, str], directory: str) -> float:
    """The most memory a program had at one time, in MB."""
    launcher = [sys.executable, "-S", "-c", _PEAK, *command]
    done = subprocess.run(launcher, env=env, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        raise ContenderError(f"exit status {done.returncode}")
    units = 1 if sys.platform == "darwin" else 1024
    return int(done.stdout) * units / 1e6
