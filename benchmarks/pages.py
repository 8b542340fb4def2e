"""What the pages of `whet ui` cost over a large library, beside a static file of the same server.

    python benchmarks/pages.py --skills 10000 --views 1000

Everything is measured once the bodies of the skills are indexed, which begins when a message is tried. The server is a
process of its own. CPU time and memory are read from /proc, so it needs Linux.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

SUBJECTS = ("invoices", "tests", "charts", "releases", "logs", "forms", "meetings", "images", "tables", "mails")
DEEDS = ("Fills in", "Checks", "Draws", "Sorts", "Translates", "Compares", "Sends", "Reads", "Shortens", "Counts")
TYPED = (
    "inv",
    "invoic",
    "invoices",
    "check tests",
    "draw a ch",
    "skill-0421",
    "meeting",
    "compare logs",
    "zzz",
    "sends mail",
)


def write_skills(home: Path, count: int) -> None:
    """A library of short skills."""
    for number in range(count):
        directory = home / ".agents" / "skills" / f"skill-{number:05}"
        directory.mkdir(parents=True)
        what = f"{DEEDS[number % 10]} {SUBJECTS[number // 10 % 10]} of kind {number}"
        text = f"---\nname: skill-{number:05}\ndescription: {what}. Use when asked for that.\n---\n{what}.\n"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")


class Server:
    """`whet ui` in a process of its own."""

    def __init__(self, home: Path) -> None:
        env = {**os.environ, "HOME": str(home), "WHET_HOME": str(home / "state"), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "whet", "ui", "--no-browser"]
        self.process = subprocess.Popen(command, env=env, cwd=home, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = next(line for line in self.process.stdout if "/sign-in?token=" in line)
        address = urlsplit(next(word for word in line.split() if "/sign-in?token=" in word))
        self.host = address.netloc
        answer = self.get(f"{address.path}?{address.query}", cookie="")[1]
        self.cookie = (answer.headers["set-cookie"] or "").partition(";")[0]

    def get(self, path: str, cookie: str | None = None) -> tuple[float, http.client.HTTPResponse]:
        """The seconds until the first byte of an answer, and the answer."""
        connection = http.client.HTTPConnection(self.host, timeout=600)
        try:
            connection.connect()
            began = time.perf_counter()
            connection.request("GET", path, headers={"Cookie": self.cookie if cookie is None else cookie})
            response = connection.getresponse()
            seconds = time.perf_counter() - began
            response.read()
            assert response.status < 400, (path, response.status)
            return seconds, response
        finally:
            connection.close()

    def cpu(self) -> float:
        """The CPU seconds that the server has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self) -> None:
        """Wait until the server is idle: a large library is indexed in the background."""
        before, now = -1.0, self.cpu()
        while now - before > 0.05:
            time.sleep(2)
            before, now = now, self.cpu()

    def memory(self) -> float:
        """The megabytes that the server holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1_000


def measure(server: Server, views: int) -> dict[str, Any]:
    """What the pages cost: milliseconds, and megabytes."""
    paths = ("/skills", "/static/app.css", "/skills?q=invoices", "/match?message=draw+a+chart")
    first = {path: server.get(path)[0] * 1000 for path in paths}
    server.settle()
    pages, files = ([server.get(path)[0] for _ in range(41)] for path in ("/skills", "/static/app.css"))
    page, file = statistics.median(pages) * 1000, statistics.median(files) * 1000
    costs = []
    for typed in TYPED * 5:
        before = server.cpu()
        for _ in range(4):  # the clock of /proc ticks every 10 ms
            server.get("/skills?" + urlencode({"q": typed}))
        costs.append((server.cpu() - before) / 4 * 1000)
    costs.sort()
    held = [server.memory()]
    for part in range(4):
        for number in range(views // 4):
            server.get(("/skills", f"/skill?name=skill-{number + part:05}", "/prompt", "/history")[number % 4])
        held.append(server.memory())
    return {
        "first_answer_ms": first,
        "first_byte": {"list_ms": page, "static_ms": file, "ratio": page / file},
        "search_cpu_ms": {"median": costs[len(costs) // 2], "p95": costs[int(len(costs) * 0.95)]},
        "views": views,
        "memory_mb": held,
    }


def table(document: dict[str, Any]) -> str:
    """The costs for a terminal."""
    first, search = document["first_byte"], document["search_cpu_ms"]
    times = f"list {first['list_ms']:.1f} ms, static file {first['static_ms']:.1f} ms, ratio {first['ratio']:.1f}"
    return "\n".join(
        (
            *(f"first answer of {path}: {spent / 1000:.2f} s" for path, spent in document["first_answer_ms"].items()),
            f"first byte: {times}",
            f"search as you type: CPU median {search['median']:.1f} ms, p95 {search['p95']:.1f} ms",
            f"memory over {document['views']} views: {', '.join(f'{held:.0f}' for held in document['memory_mb'])} MB",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=10_000)
    parser.add_argument("--views", type=int, default=1_000)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        home = Path(top) / "home"
        write_skills(home, options.skills)
        server = Server(home)
        try:
            document = measure(server, options.views)
            print(json.dumps(document, indent=1) if options.json else table(document))
        finally:
            server.process.terminate()
            server.process.wait()


if __name__ == "__main__":
    main()
