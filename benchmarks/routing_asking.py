"""Does a message ask for a skill at all? Fits the table of `whet.routing.asking`, and measures silence.

    python benchmarks/routing_asking.py --messages DIRECTORY --queries Q.jsonl [--write]
    python benchmarks/routing_asking.py --messages DIRECTORY --queries Q.jsonl --pool POOL.jsonl[.gz]

The directory holds one pair of files for each writer: `free-WRITER.txt`, messages that need no skill, and
`asks-WRITER.txt`, messages that some skill would be for; one in a line, kinds under `# headings`. The messages of the
queries count as asking, too, with less weight, because they are longer than what people type. Every writer is measured
with a table fitted on the others. `--write` fits on all and writes the table. With a pool, what `detect` decides on
the messages is measured in libraries of 16, 343 and all skills, again with tables fitted on the other writers.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import routing_threads  # noqa: F401  before numpy starts its threads
from routing_data import arguments_of, read_pool, read_queries
from routing_sureness import make_router

from whet.routing import asking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHIPPED = Path(asking.__file__).with_name("asking.txt")
_QUERIES, _QUERY_SHARE = 300, 0.3
"""Messages of the queries that are taken, and what each counts."""
_OFTEN = 3
"""A sign must be in so many messages to get a weight."""
_FLAT = 1.5
_SMALLEST = 0.15
"""Weights nearer to nothing than this are left out."""
_SIZES = (16, 16, 16, 343, 343)


def read(directory: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Writer -> messages that need no skill, messages that need one."""
    writers = sorted(path.stem.partition("-")[2] for path in directory.glob("free-*.txt"))
    return {name: (_lines(directory / f"free-{name}.txt"), _lines(directory / f"asks-{name}.txt")) for name in writers}


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("# ")]


def fit(writers: Iterable[tuple[Sequence[str], Sequence[str]]], queries: Sequence[str]) -> dict[str, float]:
    """The weight of every sign, by logistic regression."""
    rows = [(text, 0.0, 1.0) for free, _ in writers for text in free]
    rows += [(text, 1.0, 1.0) for _, asks in writers for text in asks]
    rows += [(text, 1.0, _QUERY_SHARE) for text in queries]
    found = [asking.signs(text) for text, _, _ in rows]
    counts = Counter(sign for signs in found for sign in signs)
    names = sorted(sign for sign, count in counts.items() if count >= _OFTEN)
    places = {sign: at for at, sign in enumerate(names)}
    values = np.zeros((len(rows), len(names)))
    for at, signs in enumerate(found):
        values[at, [places[sign] for sign in signs if sign in places]] = 1.0
    right, shares = (np.array([row[column] for row in rows]) for column in (1, 2))
    flat = np.full(len(names), _FLAT)
    flat[places["*"]] = 0.01
    weights = np.zeros(len(names))
    for _ in range(7):
        chances = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (shares * (chances - right)) + flat * weights
        bend = (values.T * (shares * chances * (1 - chances))) @ values + np.diag(flat)
        weights -= np.linalg.solve(bend, slope)
    found_weights = {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}
    return {name: weight for name, weight in found_weights.items() if abs(weight) >= _SMALLEST or name == "*"}


def total(table: Mapping[str, float], text: str) -> float:
    """The score of a message by this table."""
    return sum(table.get(sign, 0.0) for sign in asking.signs(text))


def write(table: Mapping[str, float]) -> None:
    """Write the table that ships, the strongest weights first."""
    rows = sorted(table.items(), key=lambda row: (-abs(row[1]), row[0]))
    head = "// What speaks for (above 0) and against a request; written by benchmarks/routing_asking.py\n"
    _SHIPPED.write_text(head + "".join(f"{weight:.2f}\t{name}\n" for name, weight in rows), encoding="utf-8")


def left_out(writers: Mapping[str, tuple[Sequence[str], Sequence[str]]], queries: Sequence[str]) -> None:
    """Print, for every writer, what a table fitted on the others makes of the messages."""
    print("| writer left out | free | asks | AUC | asks found at 12 % of free |\n|---|---:|---:|---:|---:|")
    for name, (free, asks) in writers.items():
        table = fit([pair for other, pair in writers.items() if other != name], queries)
        low, high = (np.array([total(table, text) for text in texts]) for texts in (free, asks))
        if not len(low) or not len(high):
            continue
        area = (high[:, None] > low[None]).mean() + (high[:, None] == low[None]).mean() / 2
        print(f"| {name} | {len(low)} | {len(high)} | {area:.3f} | {(high > np.quantile(low, 0.88)).mean():.2f} |")


def silence(writers: Mapping[str, tuple[Sequence[str], Sequence[str]]], queries: Sequence[str], path: str) -> None:
    """Print how often `detect` fires, by the size of the library, with tables fitted on the other writers."""
    pool, dice = read_pool(path), random.Random(3)
    tables = {name: fit([pair for other, pair in writers.items() if other != name], queries) for name in writers}
    print("| skills | writer | free: must % | may % | asks: must % | may % |\n|---:|---|---:|---:|---:|---:|")
    for members in (*(dice.sample(range(len(pool)), size) for size in _SIZES), range(len(pool))):
        router = make_router(pool, members)
        for name, pair in writers.items():
            cells: list[str] = []
            vars(asking)["table"] = partial(tables.get, name)
            for texts in pair:
                told = Counter(router.detect(text).decision for text in texts)
                cells += [f"{100 * told[one] / max(1, len(texts)):.1f}" for one in ("must", "may")]
            print(f"| {len(members)} | {name} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    """Fit, write or measure."""
    parser = arguments_of((__doc__ or "").partition("\n")[0], pool=False)
    parser.add_argument("--messages", required=True, type=Path, metavar="DIRECTORY", help="messages by writer")
    parser.add_argument("--write", action="store_true", help="write the table that ships")
    options = parser.parse_args()
    writers = read(options.messages)
    users = [query.text for query in read_queries(options.queries, ()) if query.kind == "user"]
    queries = random.Random(5).sample(users, min(_QUERIES, len(users)))
    if options.write:
        write(fit(list(writers.values()), queries))
    elif options.pool:
        silence(writers, queries, options.pool)
    else:
        left_out(writers, queries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
