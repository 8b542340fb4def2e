"""Runs the scenarios in several processes, and says in numbers what came of them."""

from __future__ import annotations

import argparse
import atexit
import importlib
import multiprocessing
import os
import re
import resource
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chaos.machine import Stock, mountable
from chaos.verdict import KINDS, Failure, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FAMILIES = ("kill", "damage", "writers", "hostile", "soak", "sequence", "full")
"""Each is a module of this package with `units` (what is to be run) and `run` (one of them)."""
_MODULES = {"kill": "kills", "damage": "damages", "full": "disks", "sequence": "sequences"}
_MOUNTS = "WHET_CHAOS_MOUNTS"
"""Set in a process that may mount file systems."""
_stocks: dict[int, Stock] = {}


def stock() -> Stock:
    """The stock of this process."""
    if os.getpid() not in _stocks:
        _stocks.clear()
        made = _stocks[os.getpid()] = Stock()
        atexit.register(made.close)
    return _stocks[os.getpid()]


def family(name: str) -> object:
    """The module of a family."""
    return importlib.import_module(f"chaos.{_MODULES.get(name, name)}")


def plan(name: str, count: int, seed: int) -> list[Unit]:
    """What is to be run of a family."""
    return list(family(name).units(stock(), count, seed))  # type: ignore[attr-defined]  # every family has it


def perform(unit: Unit) -> tuple[Unit, list[Failure]]:
    """Run one; whatever goes wrong in the harness itself is a failure, too."""
    try:
        return unit, family(unit.family).run(stock(), unit)  # type: ignore[attr-defined]  # every family has it
    except Exception:  # noqa: BLE001  one run that breaks must not end all others
        told = traceback.format_exc().strip().splitlines()
        return unit, [Failure(unit, "wrong", f"the harness: {told[-1]} ({told[-3].strip() if len(told) > 3 else ''})")]


class Row(NamedTuple):
    """The numbers of one case."""

    name: str
    runs: int
    failed: Counter[str]


def rows(done: Iterable[tuple[Unit, list[Failure]]]) -> list[Row]:
    """The numbers by family and case: in how many runs something of a kind did not hold."""
    runs: Counter[str] = Counter()
    failed: dict[str, Counter[str]] = {}
    for unit, failures in done:
        name = f"{unit.family}: {unit.case}"
        runs[name] += 1
        failed.setdefault(name, Counter()).update({failure.kind for failure in failures})
    return [Row(name, runs[name], failed[name]) for name in runs]


HEADER = ("scenario", "runs", "lost", "torn", 'false "fine"', "tracebacks", "other")


def table(found: list[Row]) -> list[tuple[str, ...]]:
    """Rows of text, with their sum."""
    told = [(row.name, f"{row.runs:,}", *(str(row.failed[kind]) for kind in KINDS)) for row in sorted(found)]
    sums = [sum(row.failed[kind] for row in found) for kind in KINDS]
    return [HEADER, *told, ("all", f"{sum(row.runs for row in found):,}", *map(str, sums))]


def printed(lines: list[tuple[str, ...]]) -> str:
    """A table for a terminal."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join((cell.rjust if at else cell.ljust)(widths[at]) for at, cell in enumerate(line)) for line in lines
    )


def write_report(path: Path, lines: list[tuple[str, ...]], note: str) -> None:
    """Put the table between the markers of a page."""
    head = "| " + " | ".join(lines[0]) + " |"
    rule = "|---" + "|--:" * (len(HEADER) - 1) + "|"
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines[1:])
    text = path.read_text(encoding="utf-8")
    block = f"<!-- chaos: begin -->\n\n{note}\n\n{head}\n{rule}\n{body}\n\n<!-- chaos: end -->"
    path.write_text(
        re.sub(r"<!-- chaos: begin -->.*<!-- chaos: end -->", lambda _: block, text, flags=re.DOTALL), "utf-8"
    )


def arguments(given: list[str]) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=1000, help="kills at a step; 0 for every step of every command")
    parser.add_argument("--full", type=int, default=500, help="points at which the disk is full")
    parser.add_argument("--damages", type=int, default=300, help="damages of state files")
    parser.add_argument("--writers", type=int, default=3, help="crowds of writers, of each kind")
    parser.add_argument("--hostile", type=int, default=0, help="archives and servers that mean harm; 0 for all")
    parser.add_argument("--soak", type=int, default=6, help="soaks of sixty operations")
    parser.add_argument(
        "--sequence", type=int, default=6, help="times ten sequences of changes, kills, damages, repairs"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--only", default="", help="families or cases, with commas between them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="a page with markers that the table is written into")
    parser.add_argument("--again", action="append", default=[], help="FAMILY:CASE@AT, as a failure names it")
    return parser.parse_args(given)


def chosen(options: argparse.Namespace) -> list[Unit]:
    """The runs that are asked for."""
    if options.again:
        parts = (re.fullmatch(r"([^:]*):(.*)@([^@]*)", text) for text in options.again)
        return [Unit(*part.groups()) for part in parts if part]
    counts = {**vars(options), "kill": options.kills, "damage": options.damages}
    words = [word for word in options.only.split(",") if word]
    found: list[Unit] = []
    for name in FAMILIES:
        if name == "full" and _MOUNTS not in os.environ:
            print("full: skipped, because this machine lets nobody mount a file system of their own")
        elif not words or any(word.partition(":")[0] == name for word in words):
            found += plan(name, counts[name], options.seed)
    if words:
        found = [unit for unit in found if any(word in (unit.family, f"{unit.family}:{unit.case}") for word in words)]
    return found


def run_all(units: list[Unit], jobs: int, tell: Callable[[str], object]) -> list[tuple[Unit, list[Failure]]]:
    """Run them all; failures are told as they come."""
    done = []
    with multiprocessing.get_context("fork").Pool(jobs, _begin) as pool:
        for unit, failures in pool.imap_unordered(perform, units, chunksize=4):
            done.append((unit, failures))
            if len(done) % 200 == 0:
                print(f"{len(done):,} of {len(units):,} runs", file=sys.stderr, flush=True)
            for failure in failures:
                tell(f"{failure.kind}  --again '{failure.unit}'  {failure.what}")
        pool.close()
        pool.join()
    return done


def _begin() -> None:
    """A worker ends by itself when it is told to, and clears up."""
    import signal
    from multiprocessing.util import Finalize

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Finalize(None, stock().close, exitpriority=1)


def main(given: list[str]) -> int:
    """The command."""
    options = arguments(given)
    unshare = mountable() if _MOUNTS not in os.environ else ()
    if unshare:
        os.environ[_MOUNTS] = "yes"
        os.execvp(unshare[0], [*unshare, sys.executable, "-m", "tests.chaos", *given])
    started = time.time()
    units = chosen(options)
    done = run_all(units, options.jobs, lambda line: print(line, flush=True))
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    lines = table(rows(done))
    note = (
        f"{len(done):,} runs with seed {options.seed}, in {time.time() - started:.0f} seconds "
        f"and {used / 60:.1f} minutes of processor time."
    )
    print(printed(lines), note, sep="\n\n")
    if options.report:
        write_report(options.report, lines, note)
    return 1 if any(failures for _, failures in done) else 0
