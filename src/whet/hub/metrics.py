"""Metrics of a hub for Prometheus, without names of owners, skills and accounts."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub

_BOUNDS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})
"""Methods that are counted by name: callers can send any other word."""
_TABLES = ("owners", "skills", "versions", "accounts", "collections")


class Metrics:
    """The requests that one process has answered, and their duration."""

    def __init__(self) -> None:
        self._answers = Counter[tuple[str, str, int]]()
        self._bounds = Counter[float]()
        self._seconds = 0.0
        self._started = time.time()

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answer; `path` is the address with names in place of values."""
        self._answers[method if method in _METHODS else "other", path, status] += 1
        self._bounds[next((bound for bound in _BOUNDS if seconds <= bound), float("inf"))] += 1
        self._seconds += seconds

    def render(self, hub: Hub) -> str:
        """Return the metrics as text."""
        lines = ["# TYPE whet_hub_requests_total counter"]
        for (method, path, status), count in sorted(self._answers.items()):
            labels = f'method="{method}",path="{path}",status="{status}"'
            lines.append(f"whet_hub_requests_total{{{labels}}} {count}")
        lines.append("# TYPE whet_hub_request_seconds histogram")
        total = 0
        for bound in (*_BOUNDS, float("inf")):
            total += self._bounds[bound]
            name = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append(f'whet_hub_request_seconds_bucket{{le="{name}"}} {total}')
        lines += [f"whet_hub_request_seconds_sum {self._seconds:.6f}", f"whet_hub_request_seconds_count {total}"]
        for name, value in _gauges(hub).items():
            lines += [f"# TYPE whet_hub_{name} gauge", f"whet_hub_{name} {value}"]
        lines += ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {self._started:.3f}"]
        return "\n".join(lines) + "\n"


def _gauges(hub: Hub) -> dict[str, int]:
    def ask(found: Transaction) -> dict[str, int]:
        counts = {table: found.get(f"SELECT COUNT(*) FROM {table}")[0] for table in _TABLES}  # noqa: S608  our own names
        held = found.get("SELECT COUNT(*) FROM versions WHERE quarantined IS NOT NULL")[0]
        size = found.get("SELECT size FROM log_head WHERE id = 1")[0]
        return {**counts, "quarantined_versions": held, "log_entries": size}

    return {**hub.database.read(ask), "indexed_skills": len(hub.index.skills)}
