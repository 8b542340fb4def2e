"""Skills and labelled messages that the benchmarks of routing run on, as JSON lines.

A skill has `id, name, description, when_to_use, tags, triggers, body`; a message `id, source, kind, text, relevant`
(ids of the skills it is for), `negative_for` (ids of skills that must not fire), `equivalent` (id -> other ids that
count as the same skill), `explicit` (it names its skill) and `group`. Ids tell which skills belong together and which
one was meant; no ranker ever sees one.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

SMALLEST, LARGEST = 8, 343
"""How many skills the library of one vendor has in the setting of an installed library."""


class Skill(NamedTuple):
    """One skill of the pool."""

    id: str
    name: str
    description: str
    body: str
    when_to_use: str = ""
    triggers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def vendor(self) -> str:
        """Who it comes from: the skills of one vendor make an installed library."""
        return self.id.partition(":")[0]


class Query(NamedTuple):
    """One labelled message."""

    id: str
    text: str
    source: str
    kind: str
    relevant: tuple[str, ...]
    negative_for: tuple[str, ...] = ()
    equivalent: Mapping[str, tuple[str, ...]] = {}
    explicit: bool = False
    group: str = ""

    @property
    def counts_in_main(self) -> bool:
        """Is it a message or a task that does not name its skill?"""
        return self.kind in ("user", "task") and not self.explicit and bool(self.relevant)


class NotMeasuredError(Exception):
    """Something cannot be measured here; the sentence says why and what to do."""


def need(module: str, package: str) -> ModuleType:
    """A module that only a baseline takes, or the sentence that tells how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NotMeasuredError(f"{package} is not installed: run `pip install {package}`") from None


def read_pool(path: str) -> list[Skill]:
    """The skills of a file, plain or gzipped."""
    return [
        Skill(
            row["id"],
            row["name"] or "",
            row["description"] or "",
            row.get("body") or "",
            row.get("when_to_use") or "",
            tuple(row.get("triggers") or ()),
            tuple(row.get("tags") or ()),
        )
        for row in _rows(path)
    ]


def read_queries(path: str, pool: Sequence[Skill], limit: int = 0) -> list[Query]:
    """The messages of a file; byte-for-byte copies of a gold skill count as equivalent to it.

    With a limit, messages are taken at even distances, so that every source stays in.
    """
    rows = list(_rows(path))
    if limit and limit < len(rows):
        rows = [rows[at * len(rows) // limit] for at in range(limit)]
    twins = copies(pool)
    return [_query(row, twins) for row in rows]


def copies(pool: Sequence[Skill]) -> dict[str, tuple[str, ...]]:
    """Id -> ids of the other skills with the very same words, for those that have any."""
    same: dict[tuple[str, str, str], list[str]] = {}
    for skill in pool:
        same.setdefault((skill.name, skill.description, skill.body), []).append(skill.id)
    groups = [ids for ids in same.values() if len(ids) > 1]
    return {one: tuple(other for other in ids if other != one) for ids in groups for one in ids}


def libraries(pool: Sequence[Skill]) -> dict[str, list[int]]:
    """Vendor -> positions of its skills in the pool."""
    found: dict[str, list[int]] = {}
    for at, skill in enumerate(pool):
        found.setdefault(skill.vendor, []).append(at)
    return found


def installed_library(query: Query, vendors: Mapping[str, Sequence[int]]) -> str:
    """The vendor whose library a message is asked in; "" when it has none of a fitting size."""
    owners = {gold.partition(":")[0] for gold in query.relevant}
    if len(owners) != 1:
        return ""
    (owner,) = owners
    return owner if SMALLEST <= len(vendors.get(owner, ())) <= LARGEST else ""


def arguments_of(description: str, *, pool: bool = True) -> argparse.ArgumentParser:
    """The arguments that the benchmarks of routing share; the pool can be left out of some."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--pool", required=pool, metavar="FILE", help="skills as JSON lines, plain or gzipped")
    parser.add_argument("--queries", required=True, metavar="FILE", help="messages as JSON lines, plain or gzipped")
    parser.add_argument("--only", default="", metavar="NAME,...", help="measure only these")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only so many messages, at even distances")
    parser.add_argument("--vectors", metavar="FILE.npy", help="MiniLM vectors of the pool, computed when not given")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def chosen(names: Sequence[str], only: str) -> list[str]:
    """The names asked for, in their own order; all when nothing is asked for."""
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise SystemExit(f"There is nothing called {unknown[0]!r} here. Choose from {', '.join(names)}.")
    return [name for name in names if not wanted or name in wanted]


def machine() -> dict[str, Any]:
    """Where this runs."""
    return {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def _query(row: Mapping[str, Any], twins: Mapping[str, tuple[str, ...]]) -> Query:
    given = row.get("equivalent") or {}
    same: dict[str, tuple[str, ...]] = {}
    for gold in row["relevant"]:
        others = [*given.get(gold, ()), *twins.get(gold, ())]
        others += [twin for other in given.get(gold, ()) for twin in twins.get(other, ())]
        same[gold] = tuple(other for other in dict.fromkeys(others) if other != gold)
    return Query(
        row["id"],
        row["text"],
        row["source"],
        row["kind"],
        tuple(row["relevant"]),
        tuple(row.get("negative_for") or ()),
        same,
        bool(row.get("explicit")),
        row.get("group") or row["id"],
    )


def _rows(path: str) -> Iterator[dict[str, Any]]:
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for text in lines:
            if text.strip():
                yield json.loads(text)
