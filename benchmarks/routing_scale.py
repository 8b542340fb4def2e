"""What does routing cost, and how does it grow? Time, memory and size of the index for libraries of any size.

    python benchmarks/routing_scale.py --pool POOL.jsonl[.gz] [--sizes 1000,10000,100000] [--queries Q.jsonl]
                                       [--json]

For each size an index is built, asked and brought up to date after one skill was edited, each in a process of its own
that may use one core. Above the size of the pool its skills come again, varied. Without `--queries` sentences of
descriptions are asked. A message is asked three times and its best time counts; p50 and p95 are over messages. Memory
is the most a process had; `before` is what it had before the router was there. After an edit are told: the time of the
update, the skills read again, the statements and bytes written, and the time of the first answer that knows of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import routing_threads
from routing_data import NotMeasuredError, machine, read_pool, read_queries
from routing_ours import load, texts
from routing_tiling import Tiled, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

GOAL = 5.0
"""Milliseconds within which 95 % of the messages are answered at GOAL_SIZE skills."""
GOAL_SIZE = 10_000
_MESSAGES = 300
_ROUNDS = 3
_EDITS = 5
_RESULTS = 10
_HEADS = (
    "skills",
    "p50 ms",
    "p95 ms",
    "first answer ms",
    "memory MB",
    "index MB",
    "build s",
    "edit ms",
    "statements",
    "KB written",
)


# --- in the parent --------------------------------------------------------------------------------------------------


def measure(size: int, options: argparse.Namespace) -> dict[str, Any]:
    """Everything about one size."""
    with tempfile.TemporaryDirectory(prefix="whet-scale-", ignore_cleanup_errors=True) as directory:
        job = {
            "size": size,
            "pool": os.path.abspath(options.pool),
            "queries": options.queries and os.path.abspath(options.queries),
            "directory": directory,
        }
        return {task: _child(task, job) for task in TASKS}


def _child(task: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Do a task in a process that may use one core, and hear what it took."""
    command = [sys.executable, os.path.abspath(__file__), "--task", task]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{task} with {job['size']:,} skills ended with status {done.returncode}.")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# --- in a child -----------------------------------------------------------------------------------------------------


class Library:
    """Entries for a router, counting what is read of them."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.pool = read_pool(job["pool"])
        self._tiled = Tiled(self.pool)
        self._size = job["size"]
        self._edits: dict[int, int] = {}
        self.reads = 0
        self.reading = 0.0
        """Seconds that went into making up texts, which a router is not to be blamed for."""

    def edit(self, number: int) -> None:
        """Change a skill."""
        self._edits[number] = self._edits.get(number, 0) + 1

    def entries(self) -> Iterator[Any]:
        """All skills as they are now."""
        entry = load().Entry
        for number in range(self._size):
            yield entry(str(number), str(self._edits.get(number, 0)), self._reader(number))

    def _reader(self, number: int) -> Callable[[], Any]:
        def read() -> Any:
            began = time.perf_counter()
            skill = self._tiled.skill(number)
            if number in self._edits:
                skill = skill._replace(description=f"{skill.description} Edited {self._edits[number]} times.")
            found = texts(skill)
            self.reads += 1
            self.reading += time.perf_counter() - began
            return found

        return read


def build(job: Mapping[str, Any]) -> dict[str, Any]:
    """Make the index, and write down what will be asked."""
    library = Library(job)
    if job["queries"]:
        asked = [query.text for query in read_queries(job["queries"], library.pool, _MESSAGES)]
    else:
        asked = sentences(library.pool, _MESSAGES)
    with open(os.path.join(job["directory"], "messages.json"), "w", encoding="utf-8") as file:
        json.dump(asked, file)
    before = _peak()
    began = time.perf_counter()
    router = _router(job)
    router.update(library.entries())
    seconds = time.perf_counter() - began - library.reading
    router.close()
    size = sum(entry.stat().st_size for entry in os.scandir(_index(job)) if entry.is_file())
    return {
        "seconds": round(seconds, 2),
        "milliseconds_per_skill": round(1e3 * seconds / job["size"], 3),
        "index_mb": round(size / 1e6, 2),
        "memory": {"before_mb": before, "peak_mb": _peak()},
    }


def ask(job: Mapping[str, Any]) -> dict[str, Any]:
    """Open the index and answer."""
    with open(os.path.join(job["directory"], "messages.json"), encoding="utf-8") as file:
        messages: list[str] = json.load(file)
    load()
    before = _peak()
    began = time.perf_counter()
    router = _router(job)
    router.find(messages[0], _RESULTS)
    first = time.perf_counter() - began
    times = [float("inf")] * len(messages)
    for _ in range(_ROUNDS):
        for number, message in enumerate(messages):
            began = time.perf_counter()
            router.find(message, _RESULTS)
            times[number] = min(times[number], time.perf_counter() - began)
    router.close()
    times.sort()
    return {
        "messages": len(messages),
        "first_ms": round(1e3 * first, 2),
        "p50_ms": round(1e3 * times[len(times) // 2], 3),
        "p95_ms": round(1e3 * times[min(len(times) - 1, int(len(times) * 0.95))], 3),
        "mean_ms": round(1e3 * sum(times) / len(times), 3),
        "memory": {"before_mb": before, "peak_mb": _peak()},
    }


def edit(job: Mapping[str, Any]) -> dict[str, Any]:
    """Edit one skill at a time and bring the index up to date; the median of several edits."""
    library, statements = Library(job), _count_statements()
    router = _router(job)
    router.find("warm up", _RESULTS)
    began = time.perf_counter()
    router.update(library.entries())
    unchanged = time.perf_counter() - began
    found: list[dict[str, Any]] = []
    for number in range(_EDITS):
        library.edit(number * job["size"] // _EDITS)
        reads, written = library.reads, _written()
        statements.clear()
        began = time.perf_counter()
        router.update(library.entries())
        updated = time.perf_counter()
        verbs = sorted(statements)
        bytes_written = None if written is None else (_written() or 0) - written
        asked = time.perf_counter()
        router.find("warm up", _RESULTS)
        found.append(
            {
                "update_ms": round(1e3 * (updated - began), 2),
                "next_find_ms": round(1e3 * (time.perf_counter() - asked), 2),
                "skills_read": library.reads - reads,
                "bytes_written": bytes_written,
                "statements": {verb: verbs.count(verb) for verb in dict.fromkeys(verbs)},
            }
        )
    router.close()
    found.sort(key=lambda one: one["update_ms"])
    return {"unchanged_ms": round(1e3 * unchanged, 2), **found[len(found) // 2]}


TASKS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"build": build, "ask": ask, "edit": edit}


def _index(job: Mapping[str, Any]) -> str:
    directory = os.path.join(job["directory"], "index")
    os.makedirs(directory, exist_ok=True)
    return directory


def _router(job: Mapping[str, Any]) -> Any:
    return load().Router(os.path.join(_index(job), "routing.db"))


def _count_statements() -> list[str]:
    """The first words of all statements that SQLite is given from now on in this process."""
    told: list[str] = []
    connect: Any = sqlite3.connect

    def counted(*arguments: Any, **named: Any) -> Any:
        connection = connect(*arguments, **named)
        connection.set_trace_callback(lambda statement: told.append(statement.split(None, 1)[0].upper()))
        return connection

    sqlite3.connect = counted
    return told


def _peak() -> float:
    """The most memory this process has had, in MB."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(round(int(line.split()[1]) * 1024 / 1e6, 1) for line in file if line.startswith("VmHWM"))
    except OSError:
        import resource

        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 1)


def _written() -> int | None:
    """Bytes this process has written, where the system counts them."""
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("wchar"))
    except OSError:
        return None


# --- telling --------------------------------------------------------------------------------------------------------


def shown(document: Mapping[str, Any]) -> str:
    """The report for a person, as Markdown."""
    lines = [f"| {' | '.join(_HEADS)} |", f"|{'---:|' * len(_HEADS)}"]
    for size, found in document["sizes"].items():
        asked, edited, written = found["ask"], found["edit"], found["edit"]["bytes_written"]
        cells = [
            f"{int(size):,}",
            f"{asked['p50_ms']:.2f}",
            f"{asked['p95_ms']:.2f}",
            f"{asked['first_ms']:.0f}",
            f"{asked['memory']['peak_mb']:.0f}",
            f"{found['build']['index_mb']:.1f}",
            f"{found['build']['seconds']:.1f}",
            f"{edited['update_ms']:.1f}",
            str(sum(edited["statements"].values())),
            "-" if written is None else f"{written / 1e3:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    goal = document["goal"]
    if goal["met"] is not None:
        lines += ["", f"p95 at {GOAL_SIZE:,}, at most {goal['p95_ms']:g} ms: {'met' if goal['met'] else 'missed'}."]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", metavar="FILE", help="skills as JSON lines, plain or gzipped")
    parser.add_argument("--queries", metavar="FILE", help="messages as JSON lines, plain or gzipped")
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of skills, separated by commas")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task:
        _use_one_core()
        print(json.dumps(TASKS[options.task](json.load(sys.stdin))))
        return 0
    if not options.pool:
        parser.error("the following arguments are required: --pool")
    try:
        load()
    except NotMeasuredError as error:
        print(json.dumps({"success": False, "error": str(error), "code": "not-measured", "hint": ""}))
        return 1
    sizes = {}
    for size in sorted({int(size) for size in options.sizes.split(",")}):
        print(f"{size:,} skills ...", file=sys.stderr, flush=True)
        sizes[size] = measure(size, options)
    met = sizes[GOAL_SIZE]["ask"]["p95_ms"] <= GOAL if GOAL_SIZE in sizes else None
    document = {
        "success": True,
        "machine": machine() | {"threads": routing_threads.ARITHMETIC},
        "sizes": {str(size): found for size, found in sizes.items()},
        "goal": {"skills": GOAL_SIZE, "p95_ms": GOAL, "met": met},
    }
    print(json.dumps(document, indent=1) if options.json else shown(document))
    return 0


def _use_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    sys.exit(main())
