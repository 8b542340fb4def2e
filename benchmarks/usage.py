"""What does it cost to note that a skill was viewed or used?

    python benchmarks/usage.py [--skills 1000] [--events 2000] [--peers .peers] [--json]

Gives every system the same history of so many skills, then times one event after the other, views and uses in turns.
Whet is measured twice: the call that records, and everything until the events are counted, divided by their number.
Beside it hermes-agent, where it is installed, with its own functions, and the way it goes about it written again here
(load the whole map, change one record, replace the file), with and without the sync that hermes-agent waits for.
Ratios carry from one machine to another, microseconds do not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import peers as peer_systems

from whet.learning.usage import Usage
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peers import Peers

GOAL = 20
"""How many times cheaper an event has to be than in hermes-agent."""
_SECONDS = 30.0
"""After so long a system is stopped; its mean is of the events it got to."""
_DIGEST = "0123456789abcdef" * 4

_HERMES = """
import json, os, sys, time
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from tools.skill_usage import bump_use, bump_view, load_usage
names, seconds = json.load(sys.stdin)
before = sum(record["use_count"] + record["view_count"] for record in load_usage().values())
times, end = [], time.perf_counter() + seconds
for number, name in enumerate(names):
    start = time.perf_counter()
    (bump_use if number % 2 else bump_view)(name)
    times.append(time.perf_counter() - start)
    if start > end:
        break
after = sum(record["use_count"] + record["view_count"] for record in load_usage().values())
json.dump([times, after - before], answers)
answers.close()
"""


def history(skills: int) -> dict[str, Any]:
    """Records as hermes-agent keeps them."""
    seed = random.Random(1)
    return {
        f"skill-{number:05}": {
            "created_by": None,
            "use_count": seed.randrange(50),
            "view_count": seed.randrange(1, 200),
            "last_used_at": "2026-10-01T12:00:00.123456+00:00",
            "last_viewed_at": "2026-10-02T12:00:00.123456+00:00",
            "patch_count": 0,
            "last_patched_at": None,
            "created_at": "2026-01-01T00:00:00.123456+00:00",
            "state": "active",
            "pinned": False,
            "archived_at": None,
        }
        for number in range(skills)
    }


def timed(names: Sequence[str], note: Callable[[int, str], object]) -> list[float]:
    """Seconds of each event, as far as they come in time."""
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    for number, name in enumerate(names):
        start = time.perf_counter()
        note(number, name)
        times.append(time.perf_counter() - start)
        if start > end:
            break
    return times


def summary(times: Sequence[float], counted: int) -> dict[str, Any]:
    """Microseconds for an event; refuses times of events that were not counted."""
    if counted != len(times):
        raise SystemExit(f"{counted} of {len(times)} events were counted.")
    numbers = {"median": median(times), "mean": fmean(times), "slowest": max(times)}
    return {"events": len(times), **{name: round(seconds * 1e6, 1) for name, seconds in numbers.items()}}


def measure_whet(directory: str, records: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Recording, and recording until all is counted."""
    usage = Usage(StateDatabase(os.path.join(directory, "state")), system_clock)
    for name in records:
        usage.record("use", name, _DIGEST)
    before = _events(usage)

    def note(number: int, name: str) -> None:
        usage.record("use" if number % 2 else "view", name, _DIGEST, version="1.0.0")

    times = timed(names, note)
    start = time.perf_counter()
    usage.totals()
    rest = time.perf_counter() - start
    answer = summary(times, _events(usage) - before)
    return {**answer, "counted": round((sum(times) + rest) / len(times) * 1e6, 1)}


def _events(usage: Usage) -> int:
    return sum(total.views + total.uses for total in usage.totals())


def measure_hermes(directory: str, records: dict[str, Any], names: Sequence[str], python: str) -> dict[str, Any]:
    """The functions that hermes-agent calls, in its own interpreter."""
    home = os.path.join(directory, "hermes")
    os.makedirs(os.path.join(home, "skills"))
    _written(os.path.join(home, "skills"), records)
    env = {**os.environ, "HERMES_HOME": home, "HOME": home}
    given = json.dumps([names, _SECONDS])
    done = subprocess.run([python, "-c", _HERMES], input=given, capture_output=True, text=True, env=env)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]}
    times, counted = json.loads(done.stdout)
    return summary(times, counted)


def measure_rewriting(directory: str, records: dict[str, Any], names: Sequence[str], *, sync: bool) -> dict[str, Any]:
    """The same way of working, written again: lock, load the whole map, change one record, replace the file."""
    place = os.path.join(directory, f"rewriting-{sync}")
    os.mkdir(place)
    path = _written(place, records)

    def load() -> dict[str, Any]:
        with open(path, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
            return found

    def note(number: int, name: str) -> None:
        with ExitStack() as stack:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(stack.enter_context(open(f"{path}.lock", "a")), fcntl.LOCK_EX)
            found = load()
            record = found[name]
            what = "use" if number % 2 else "view"
            record[f"{what}_count"] += 1
            record["last_used_at" if number % 2 else "last_viewed_at"] = time.strftime(
                "%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()
            )
            fd, temporary = tempfile.mkstemp(dir=place)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(found, file, indent=2, sort_keys=True, ensure_ascii=False)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            os.replace(temporary, path)

    times = timed(names, note)
    after, before = (
        sum(record["use_count"] + record["view_count"] for record in found.values()) for found in (load(), records)
    )
    return summary(times, after - before)


def _written(directory: str, records: dict[str, Any]) -> str:
    path = os.path.join(directory, ".usage.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(records, file, indent=2, sort_keys=True)
    return path


def run(skills: int, events: int, peers: Peers) -> dict[str, Any]:
    """Every system, one after the other."""
    records = history(skills)
    names = random.Random(2).choices(sorted(records), k=events)
    with tempfile.TemporaryDirectory(prefix="whet-usage-") as directory:
        systems = {"whet": measure_whet(directory, records, names)}
        version = peers.versions.get("hermes-agent")
        if version:
            systems[f"hermes-agent {version}"] = measure_hermes(directory, records, names, peers.python)
        systems["rewriting, as hermes-agent does"] = measure_rewriting(directory, records, names, sync=True)
        systems["rewriting, without sync"] = measure_rewriting(directory, records, names, sync=False)
    return {
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()},
        "skills": skills,
        "microseconds": systems,
        **_verdict(systems),
    }


def _verdict(systems: dict[str, Any]) -> dict[str, Any]:
    """How many times as long the others take: against recording, and against recording until all is counted."""
    whet = systems["whet"]
    others = {name: numbers for name, numbers in systems.items() if name != "whet" and "mean" in numbers}
    ratios = {
        name: {
            "recorded": round(numbers["mean"] / whet["mean"], 1),
            "counted": round(numbers["mean"] / whet["counted"], 1),
        }
        for name, numbers in others.items()
    }
    first = next(iter(ratios.values()))
    return {"times_as_long": ratios, "goal": GOAL, "reached": first["counted"] >= GOAL}


def report(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    rows = [["system", "events", "median, us", "mean, us", "slowest, us", "counted, us", "against recorded", "counted"]]
    for name, numbers in document["microseconds"].items():
        ratios = document["times_as_long"].get(name, {})
        cells = [numbers.get(key) for key in ("events", "median", "mean", "slowest", "counted")]
        shown = [f"{cell:,}" if cell is not None else "" for cell in cells]
        shown += [f"{ratios[key]:,} x" if ratios else "" for key in ("recorded", "counted")]
        rows.append([name, *shown] if "error" not in numbers else [name, numbers["error"], *[""] * 6])
    heads, *others = rows
    table = "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *others))
    goal = f"At least {document['goal']} x, all counted: {'yes' if document['reached'] else 'NO'}."
    return f"One event among {document['skills']:,} skills\n\n{table}\n\n{goal}"


def main() -> None:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--skills", type=int, default=1000, help="skills that have a history")
    parser.add_argument("--events", type=int, default=2000, help="events that are timed")
    parser.add_argument("--peers", default=peer_systems.DEFAULT, help="directory or interpreter of the peers")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    document = run(options.skills, options.events, peer_systems.find(options.peers))
    print(json.dumps(document, indent=1) if options.json else report(document))


if __name__ == "__main__":
    main()
