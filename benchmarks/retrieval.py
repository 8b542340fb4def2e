"""Does the right skill come first? Whet beside the rankers that others use, on the same messages, in one run.

    python benchmarks/retrieval.py --pool POOL.jsonl[.gz] --queries Q.jsonl [--json] [--only NAME,...] [--limit N]
                                   [--vectors FILE.npy]

`main` are the messages and tasks that do not name their skill, `macro` is the mean of the means over their sources,
`explicit` the messages that do name it. In `installed` only the skills of the vendor of the wanted skill are there, and
every ranker is made for these alone. What is learned is told twice: the rival with the source of a message left out of
training, and with its skill left out; ours with the weights it ships (`whet`), and with weights fitted anew on the
other sources of this file (`whet-left-out`). The weights it ships were fitted on the development messages, so on these
`whet` is told on what it has learned from, and `whet-left-out` is the number to believe; the few constants beside the
weights (fields, what a name is worth) were chosen on them, too. `--vectors` keeps the
MiniLM vectors of the pool in a file, or takes them from it.

Everything is measured on one core. A baseline whose package is missing is left out, and the report says what to do.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import routing_threads
from routing_baselines import (
    DEPTH,
    EVERYTHING,
    METADATA,
    Pool,
    bm25f,
    convex,
    dense,
    fts5,
    reciprocal,
)
from routing_data import (
    NotMeasuredError,
    arguments_of,
    chosen,
    installed_library,
    libraries,
    machine,
    read_pool,
    read_queries,
)
from routing_learned import Learned, by_skill, by_source
from routing_metrics import COMPARED, MEASURES, difference, interval, judge, mean, mean_of_means, ranks
from routing_ours import Ours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from routing_baselines import Ranker
    from routing_data import Query

    Asked = Callable[[Query], Sequence[int]]
    Maker = Callable[[Sequence[int]], Asked]
    """The skills of a library -> a ranker of them."""

OURS = "whet"


class Judged(NamedTuple):
    """One ranker: every measure of every message, in the whole pool and in the installed library."""

    whole: list[dict[str, float]]
    installed: list[dict[str, float] | None]
    """None for a message that has no installed library."""
    seconds_to_make: float
    milliseconds: list[float]
    """One message in the whole pool, without the time that MiniLM takes for it."""


def makers(pool: Pool, queries: Sequence[Query], directory: str) -> dict[str, Callable[[], Maker]]:
    """Everybody who takes part; what they need is loaded when they are called."""

    def plain(make: Callable[[Pool, Sequence[int]], Ranker]) -> Callable[[], Maker]:
        return lambda: lambda members: asked(make(pool, members))

    return {
        "bm25f-name-description": plain(lambda pool, members: bm25f(pool, members, METADATA)),
        "bm25f-all": plain(lambda pool, members: bm25f(pool, members, EVERYTHING)),
        "fts5": plain(fts5),
        "minilm": plain(dense),
        "rrf": plain(reciprocal),
        "convex": plain(convex),
        "learned": lambda: Learned(pool, queries, by_source).ranker,
        "learned-same-sources": lambda: Learned(pool, queries, by_skill).ranker,
        OURS: lambda: lambda members: _ours(pool, members, directory),
        f"{OURS}-left-out": lambda: _left_out(pool, queries, directory),
    }


def asked(ranker: Ranker) -> Asked:
    """A ranker of texts, asked with a message: it sees nothing but the text."""
    return lambda query: ranker(query.text)


def _ours(pool: Pool, members: Sequence[int], directory: str) -> Asked:
    router = Ours(pool.skills, members, directory)
    return lambda query: router.rank(query.text, DEPTH)


def _left_out(pool: Pool, queries: Sequence[Query], directory: str) -> Maker:
    """Ours, with weights fitted for each source on the messages of all others."""
    from routing_fitting import fitted, gather

    known = gather(pool.skills, [query for query in queries if query.counts_in_main], directory)
    weights = {source: fitted(known, without=source) for source in {query.source for query in queries}}

    def make(members: Sequence[int]) -> Asked:
        router = Ours(pool.skills, members, directory)

        def rank(query: Query) -> list[int]:
            router.router.weights = weights[query.source]
            return router.rank(query.text, DEPTH)

        return rank

    return make


def run(pool: Pool, queries: Sequence[Query], make: Maker) -> Judged:
    """Ask one ranker everything."""
    vendors = libraries(pool.skills)
    began = time.perf_counter()
    whole = make(range(len(pool.skills)))
    seconds = time.perf_counter() - began
    rows, times = [], []
    for query in queries:
        began, encoding = time.perf_counter(), sum(pool.encoding)
        order = whole(query)
        times.append(1e3 * (time.perf_counter() - began - sum(pool.encoding) + encoding))
        rows.append(_judged(pool, order, query))
    installed: list[dict[str, float] | None] = [None] * len(queries)
    for vendor in sorted({installed_library(query, vendors) for query in queries} - {""}):
        ranker = make(vendors[vendor])
        for at, query in enumerate(queries):
            if installed_library(query, vendors) == vendor:
                installed[at] = _judged(pool, ranker(query), query)
    return Judged(rows, installed, seconds, times)


def _judged(pool: Pool, order: Sequence[int], query: Query) -> dict[str, float]:
    return judge(ranks((pool.skills[at].id for at in order), query), len(query.relevant))


# --- telling --------------------------------------------------------------------------------------------------------


def told(queries: Sequence[Query], judged: Judged) -> dict[str, Any]:
    """One ranker in the report."""
    main = _main(queries, judged.whole)
    sources: dict[str, list[dict[str, float]]] = {}
    kinds: dict[str, list[dict[str, float]]] = {}
    explicit = []
    for query, row in zip(queries, judged.whole, strict=True):
        if query.counts_in_main:
            sources.setdefault(query.source, []).append(row)
        if not query.explicit:
            kinds.setdefault(query.kind, []).append(row)
        elif query.kind != "negative":
            explicit.append(row)
    return {
        "main": _slice(main) | {"interval": {name: interval([row[name] for row in main]) for name in COMPARED}},
        "macro": {"sources": len(sources)} | mean_of_means(sources.values()),
        "kinds": {kind: _slice(rows) for kind, rows in sorted(kinds.items())},
        "sources": {source: _slice(rows) for source, rows in sorted(sources.items())},
        "explicit": _slice(explicit),
        "installed": _slice(_main(queries, judged.installed)),
        "seconds_to_make": round(judged.seconds_to_make, 2),
        "milliseconds": _spread(judged.milliseconds),
    }


def _main(queries: Sequence[Query], rows: Sequence[dict[str, float] | None]) -> list[dict[str, float]]:
    return [row for query, row in zip(queries, rows, strict=True) if row is not None and query.counts_in_main]


def _slice(rows: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    return {"messages": len(rows), **mean(rows)}


def _spread(milliseconds: Sequence[float]) -> dict[str, float]:
    times = sorted(milliseconds) or [0.0]
    return {
        "p50": round(times[len(times) // 2], 2),
        "p95": round(times[min(len(times) - 1, int(len(times) * 0.95))], 2),
    }


def report(
    pool: Pool, queries: Sequence[Query], results: Mapping[str, Judged], missing: Mapping[str, str]
) -> dict[str, Any]:
    """Everything a run brought."""
    mains = {name: _main(queries, judged.whole) for name, judged in results.items()}
    return {
        "success": True,
        "machine": machine() | {"threads": routing_threads.ARITHMETIC},
        "skills": len(pool.skills),
        "messages": len(queries),
        "rankers": {name: told(queries, judged) for name, judged in results.items()},
        "differences": {
            ours: {name: difference(mains[ours], rows) for name, rows in mains.items() if not name.startswith(OURS)}
            for ours in mains
            if ours.startswith(OURS)
        },
        "milliseconds_of_minilm": _spread([1e3 * seconds for seconds in pool.encoding]),
        "not_measured": dict(missing),
    }


def shown(document: Mapping[str, Any]) -> str:
    """The report for a person, as Markdown."""
    parts = [f"{document['skills']:,} skills, {document['messages']:,} messages; percent"]
    titles = {
        "main": "Messages and tasks that do not name their skill",
        "macro": "The same, every source counting the same",
        "installed": "The same, in the library of one vendor",
        "explicit": "Messages that name their skill",
    }
    for part, title in titles.items():
        parts.append(f"{title}\n\n{_table({name: row[part] for name, row in document['rankers'].items()})}")
    for part in ("kinds", "sources"):
        names = {name: None for row in document["rankers"].values() for name in row[part]}
        for name in names:
            found = {ranker: row[part][name] for ranker, row in document["rankers"].items()}
            parts.append(f"{part.removesuffix('s').capitalize()} {name}\n\n{_table(found)}")
    for ours, differences in document["differences"].items():
        lines = [f"| {ours} against | recall@1 | nDCG@10 |", "|---|---:|---:|"]
        for name, found in differences.items():
            cells = (f"{one['points']:+.1f} ({one['low']:+.1f} to {one['high']:+.1f})" for one in found.values())
            lines.append(f"| {name} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    parts += [f"{name}: not measured, {why}" for name, why in document["not_measured"].items()]
    return "\n\n".join(parts)


def _table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [f"| | {' | '.join(MEASURES)} | n |", f"|---|{'---:|' * (len(MEASURES) + 1)}"]
    for name, row in rows.items():
        cells = " | ".join(f"{row[measure]:.1f}" for measure in MEASURES)
        lines.append(f"| {name} | {cells} | {row.get('messages', row.get('sources'))} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    options = arguments_of((__doc__ or "").partition("\n")[0]).parse_args(arguments)
    pool = Pool(read_pool(options.pool), options.vectors)
    queries = [query for query in read_queries(options.queries, pool.skills, options.limit) if query.relevant]
    results: dict[str, Judged] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="whet-retrieval-", ignore_cleanup_errors=True) as directory:
        everybody = makers(pool, queries, directory)
        for name in chosen(list(everybody), options.only):
            began = time.perf_counter()
            try:
                results[name] = run(pool, queries, everybody[name]())
            except NotMeasuredError as error:
                missing[name] = str(error)
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        document = report(pool, queries, results, missing)
    print(json.dumps(document, indent=1) if options.json else shown(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
