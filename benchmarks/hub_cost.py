"""What does a hub cost: reading one version, and everything else with many skills?

    python benchmarks/hub_cost.py [--skills 10000] [--versions 10] [--requests 4000] [--database ADDRESS] [--json]
                             [--pool POOL.jsonl[.gz] --queries Q.jsonl]

`reads` compares the hub with a bare Starlette handler that sends the same text from the same kind of database: CPU time
of the server process for one request, both under uvicorn, in turns. `size` fills a hub through its own code, without
scanning, and then measures publishing (without the scan, which a child does), search, lists and memory. `--pool` and
`--queries` publish the skills of the benchmarks of routing and tell how often search finds the right one. Times are CPU
times of the hub's process; ratios carry from one machine to another, milliseconds do not.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from routing_data import read_pool, read_queries

from whet.hub.blobs import open_blobs
from whet.hub.checker import Checked, Checker
from whet.hub.database import open_database
from whet.hub.log import HubLog
from whet.hub.powers import Powers
from whet.hub.registry import Hub, HubSettings, Kept
from whet.hub.resemblance import Judged
from whet.hub.tokens import ANYBODY, Identity
from whet.routing.texts import Texts
from whet.skill.archive import pack
from whet.skill.tree import Item, digest, entries
from whet.store.clock import system_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whet.hub.database import Transaction

_BATCH = 200
_WORDS = 4000
_EVERYBODY = Identity("bench", ("admin",), "token", "")
_BARE = """
import sqlite3, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
database = sqlite3.connect(sys.argv[1], isolation_level=None)
sql = "SELECT document FROM documents WHERE owner = ? AND name = ? AND version = ?"
async def version(request):
    place = request.path_params
    row = database.execute(sql, (place["owner"], place["name"], place["version"])).fetchone()
    return Response(row[0], media_type="application/json")
app = Starlette(routes=[Route("/api/v1/skills/{owner}/{name}/versions/{version}", version)])
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("listening on", self.servers[0].sockets[0].getsockname()[1], flush=True)
Server(uvicorn.Config(app, "127.0.0.1", 0, log_level="warning", access_log=False)).run()
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a hub costs.")
    parser.add_argument("--skills", type=int, default=10_000)
    parser.add_argument("--versions", type=int, default=10, help="of each skill")
    parser.add_argument("--requests", type=int, default=4_000)
    parser.add_argument("--database", default="", help="a postgresql:// address in place of SQLite")
    parser.add_argument("--only", default="reads,size,quality")
    parser.add_argument("--pool", default="")
    parser.add_argument("--queries", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as top:
        if "reads" in options.only:
            found["reads"] = measure_reads(top, options.requests)
        if "size" in options.only:
            found["size"] = measure_size(top, options.skills, options.versions, options.database)
        if "quality" in options.only and options.pool and options.queries:
            found["quality"] = measure_quality(top, options.pool, options.queries)
    print(json.dumps(found, indent=None if options.json else 1))
    return 0


# reading one version


def measure_reads(top: str, requests: int) -> dict[str, Any]:
    """CPU time of one read of a version, in the hub and in a bare handler, in turns."""
    from whet.hub.instance import HubConfig, create_hub, open_hub

    directory = os.path.join(top, "reads")
    create_hub(directory, HubConfig("hub.example"))
    hub = open_hub(directory)
    data, own = make_archive("review", "Reviews changes.", "# Review\n\n1. Read the diff.\n")
    document = hub.publish(_EVERYBODY, "acme", "review", "1.0.0", data, own).document
    hub.close()
    kept = os.path.join(top, "bare.db")
    with sqlite3.connect(kept) as bare:
        bare.execute("CREATE TABLE documents (owner, name, version, document, PRIMARY KEY (owner, name, version))")
        bare.execute("INSERT INTO documents VALUES ('acme', 'review', '1.0.0', ?)", [document])
    commands = {
        "hub": [sys.executable, "-m", "whet", "hub", "serve", directory, "--port", "0"],
        "bare": [sys.executable, "-c", _BARE, kept],
    }
    costs: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(3):
        for name, command in commands.items():
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout is not None
                port = int(server.stdout.readline().replace(":", " ").split()[-1])
                read_often(port, 200, turn)
                before = _cpu(server.pid)
                read_often(port, requests, turn)
                costs[name].append((_cpu(server.pid) - before) / requests)
                server.terminate()
    best = {f"{name}_us": round(min(values) * 1e6) for name, values in costs.items()}
    return {**best, "ratio": round(min(costs["hub"]) / min(costs["bare"]), 2), "document_bytes": len(document)}


def read_often(port: int, count: int, turn: int) -> None:
    """Read one version again and again, each thousand times from another address, as the limit asks."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for number in range(count):
        address = f"203.0.113.{number // 1000}" if count > 200 else f"198.51.100.{turn}"
        connection.request(
            "GET", "/api/v1/skills/acme/review/versions/1.0.0", headers={"X-Forwarded-For": f"{address}"}
        )
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, body
    connection.close()


def _cpu(process: int) -> float:
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# many skills


def measure_size(top: str, skills: int, versions: int, database: str) -> dict[str, Any]:
    """What a full hub costs."""
    hub = make_hub(os.path.join(top, "size"), database)
    words = make_words()
    filled = _timed(lambda: fill(hub, words, skills, versions))
    empty = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    indexed = _timed(hub.index.catch_up)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    picked = random.Random(1)
    queries = [" ".join(picked.choices(words, k=4)) for _ in range(200)]
    searches = [_timed(lambda: hub.index.search(ANYBODY, query)) for query in queries]  # noqa: B023  called at once
    pages = list(_walk(hub, 20))
    publishes = [_timed(lambda: _publish_new(hub, words, number)) for number in range(20)]  # noqa: B023  called at once
    reads = [_timed(lambda: hub.version(ANYBODY, "owner-1", make_name(words, 1), "1.0.0")) for _ in range(200)]
    hub.close()
    return {
        "skills": skills,
        "versions": skills * versions,
        "fill_ms_per_version": _ms(filled / (skills * versions)),
        "index_build_s": round(indexed, 1),
        "index_memory_mb": round((after - empty) / 1024),
        "memory_mb": round(after / 1024),
        "search_p50_ms": _ms(statistics.median(searches)),
        "search_p95_ms": _ms(_percentile(searches, 95)),
        "list_page_p95_ms": _ms(_percentile(pages, 95)),
        "read_version_p95_ms": _ms(_percentile(reads, 95)),
        "publish_p50_ms": _ms(statistics.median(publishes)),
        "publish_p95_ms": _ms(_percentile(publishes, 95)),
    }


def make_hub(directory: str, database: str = "") -> Hub:
    """An empty hub."""
    os.makedirs(directory, exist_ok=True)
    store = open_database(database or os.path.join(directory, "hub.db"))
    blobs = open_blobs("database" if database else os.path.join(directory, "blobs"), store)
    log = HubLog(store, "hub.example", Ed25519PrivateKey.generate())
    index = os.path.join(directory, "search.db")
    return Hub(store, blobs, log, Checker(1), HubSettings(), system_clock, index=index)


def make_words() -> list[str]:
    """Words that no dictionary has, each with syllables of its own."""
    picked = random.Random(7)
    syllables = [one + two for one in "bdfgklmnprstvz" for two in "aeiou"]
    return sorted({"".join(picked.choices(syllables, k=3)) for _ in range(_WORDS)})


def make_name(words: Sequence[str], number: int) -> str:
    """The name of a skill."""
    return f"{words[number % len(words)]}-{words[number // len(words) * 7 % len(words)]}-{number}"


def make_texts(words: Sequence[str], name: str, number: int) -> Texts:
    """What a skill says: some words of its own, and a body of a usual length."""
    picked = random.Random(number)
    told = picked.choices(words, k=16)
    body = "\n".join(f"{step}. {' '.join(picked.choices(words, k=12))}." for step in range(1, 25))
    return Texts(name, f"{' '.join(told[:8])}. Use when {' '.join(told[8:])}.", f"# {name}\n\n{body}\n")


def fill(hub: Hub, words: Sequence[str], skills: int, versions: int) -> None:
    """Put versions into a hub by its own code, without scanning them, many in one transaction."""
    for start in range(0, skills * versions, _BATCH):
        numbers = range(start, min(start + _BATCH, skills * versions))

        def add(transaction: Transaction) -> None:
            for at in numbers:  # noqa: B023  called at once
                number, version = divmod(at, versions)
                name = make_name(words, number)
                texts = make_texts(words, name, number)
                made = _checked(texts._replace(body=f"{texts.body}\nEdition {version}.\n"))
                place = f"owner-{number % 500}", name, f"1.{version}.0"
                hub.add_version(transaction, _EVERYBODY, place, Kept(made, "0" * 64, 4000, Judged()))

        hub.database.write(add)


def _checked(texts: Texts) -> Checked:
    own = f"sha256:{hashlib.sha256(texts.body.encode()).hexdigest()}"
    files = ({"path": "SKILL.md", "size": len(texts.body), "sha256": own[7:], "executable": False},)
    powers: dict[str, list[str]] = {name: [] for name in Powers._fields}
    said = {name: list(value) if isinstance(value, tuple) else value for name, value in texts._asdict().items()}
    return Checked(
        texts.name, "", texts.description, own, files, (), (), "safe", (), "bench", powers, said, (), own[7:]
    )


def make_archive(name: str, description: str, body: str) -> tuple[bytes, str]:
    """A skill as it is sent, and its digest."""
    main_file = f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n{body}"
    tree = {"SKILL.md": Item(main_file.encode())}
    return pack(name, tree), digest(entries(tree))


def _publish_new(hub: Hub, words: Sequence[str], number: int) -> None:
    name = f"new-{number}"
    texts = make_texts(words, name, 10_000_000 + number)
    data, own = make_archive(name, texts.description, texts.body)
    assert hub.publish(_EVERYBODY, "bench", name, "1.0.0", data, own).created


def _walk(hub: Hub, pages: int) -> Iterator[float]:
    cursor = ""
    for _ in range(pages):
        started = time.process_time()
        page = hub.skills(ANYBODY, limit=100, cursor=cursor)
        yield time.process_time() - started
        cursor = page["next"] or ""


# does search find the right skill?


def measure_quality(top: str, pool_file: str, queries_file: str) -> dict[str, Any]:
    """How often search finds the right skill among all of a pool, and how early."""
    hub = make_hub(os.path.join(top, "quality"))
    pool = read_pool(pool_file)
    queries = [query for query in read_queries(queries_file, pool) if query.counts_in_main]
    ids: dict[str, str] = {}

    def add(transaction: Transaction) -> None:
        for number, skill in enumerate(pool):
            texts = Texts(
                skill.name, skill.description, skill.body[:8000], skill.when_to_use, "", skill.triggers, skill.tags
            )
            ids[f"owner-{number}/{skill.name}"] = skill.id
            made = _checked(texts)
            place = f"owner-{number}", skill.name, "1.0.0"
            hub.add_version(transaction, _EVERYBODY, place, Kept(made, "0" * 64, 4000, Judged()))

    hub.database.write(add)
    ranks: list[int] = []
    for query in queries:
        right = {*query.relevant, *(other for gold in query.relevant for other in query.equivalent.get(gold, ()))}
        found = [ids[each.skill.key] for each in hub.index.search(ANYBODY, query.text[:200])]
        ranks.append(next((rank for rank, key in enumerate(found, 1) if key in right), 0))
    hub.close()
    return {
        "skills": len(pool),
        "queries": len(ranks),
        "first": _share(ranks, 1),
        "in_5": _share(ranks, 5),
        "in_10": _share(ranks, 10),
        "mrr": round(sum(1 / rank for rank in ranks if rank) / max(1, len(ranks)), 3),
    }


def _share(ranks: Sequence[int], most: int) -> float:
    return round(sum(0 < rank <= most for rank in ranks) / max(1, len(ranks)), 3)


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _percentile(values: Sequence[float], share: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


if __name__ == "__main__":
    sys.exit(main())
