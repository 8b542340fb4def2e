"""How much does the guard find, how often does it cry wolf, and what does it cost?

    python benchmarks/guard.py --root DIR --labels LABELS [--by KEY] [--json] [--hermes PYTHON] [--cisco PYTHON]
    python benchmarks/guard.py --pool POOL.jsonl[.gz] [--json]
    python benchmarks/guard.py --packages PACKAGES.jsonl[.gz] [--by KEY] [--json]
    python benchmarks/guard.py --pairs PAIRS.yaml... [--json]
    python benchmarks/guard.py --kinds [--json]

LABELS is a table (CSV or JSON lines) with the columns `path` (a package, relative to DIR) and `label` (any word: a
stratum, `benign`). Verdicts are counted for each label, never pooled; `--by` counts them for each value of another
column, too. `--pool` takes honest skills as lines with `name`, `description` and `body` instead, `--packages` lines
with `label` and `files`, `--pairs` YAML of dangers and their twins. `--kinds` makes a file of each kind, once in many
lines and once in a single one, and tells the CPU seconds for a megabyte. Beside it, in the same run and on the same
packages, the scanners of hermes-agent and cisco-ai-skill-scanner where an interpreter is given that has them. Times are
CPU seconds of one process that has started up; ratios carry from one machine to another, seconds do not. Packages are
read as text; nothing of them is run.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from contextlib import ExitStack
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.scan import scan
from whet.library.standalone import read_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GOALS = {"hermes": 10, "cisco": 20}
"""How many times cheaper a package has to be than with a peer."""
_START = (
    "import time; began = time.process_time(); from whet.guard.scan import scan; from whet.skill.tree import Item; "
)
_START += "scan({'SKILL.md': Item(b'# x')}); print(time.process_time() - began)"
_PEERS = {
    "hermes": """
import json, os, sys, time
from pathlib import Path
answers = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
from tools.skills_guard import scan_skill
found = []
for path in json.load(sys.stdin):
    began = time.process_time()
    verdict = scan_skill(Path(path), source="community").verdict
    found.append([verdict, time.process_time() - began])
json.dump(found, answers); answers.close()
""",
    "cisco": """
import json, logging, os, sys, time
from pathlib import Path
answers = os.fdopen(os.dup(1), "w"); os.dup2(2, 1); logging.disable()
from skill_scanner.core.scanner import SkillScanner
from skill_scanner.core.analyzer_factory import build_core_analyzers
from skill_scanner.core.scan_policy import ScanPolicy
policy = ScanPolicy.default()
scanner = SkillScanner(analyzers=build_core_analyzers(policy), policy=policy)
grades = {"CRITICAL": 2, "HIGH": 2, "MEDIUM": 1}
found = []
for path in json.load(sys.stdin):
    began = time.process_time()
    try:
        result = scanner.scan_skill(Path(path), lenient=True)
        found_grades = [grades.get(getattr(one.severity, "value", str(one.severity)), 0) for one in result.findings]
        worst = max(found_grades, default=0)
        verdict = ("safe", "caution", "dangerous")[worst]
    except Exception:
        verdict = "error"
    found.append([verdict, time.process_time() - began])
json.dump(found, answers); answers.close()
""",
}


class Package(NamedTuple):
    """One package to look at."""

    path: str
    label: str


class Looked(NamedTuple):
    """What a scanner said of one package, and the CPU seconds it took."""

    verdict: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print."""
    options = _options(arguments)
    if options.kinds:
        rows = by_kind()
        print(json.dumps(rows) if options.json else "\n".join(f"{kind:12} {row}" for kind, row in rows.items()))
        return 0
    with ExitStack() as left:
        root = left.enter_context(tempfile.TemporaryDirectory())
        if options.pool:
            packages = list(_from_pool(options.pool, root))
        elif options.packages:
            packages = list(_from_packages(options.packages, root, options.by))
        elif options.pairs:
            packages = [package for path in options.pairs for package in _from_pairs(path, root)]
        else:
            packages = list(_from_labels(options.root, options.labels, options.by))
        if options.sample and len(packages) > options.sample:
            packages = random.Random(1).sample(packages, options.sample)
        report = measure(packages, {name: getattr(options, name) for name in _PEERS if getattr(options, name)})
    print(json.dumps(report, indent=2) if options.json else shown(report))
    return 0


def measure(packages: Sequence[Package], peers: dict[str, str]) -> dict[str, Any]:
    """Everything that is told."""
    size = 0
    looked: list[Looked] = []
    for package in packages:
        began = time.process_time()
        try:
            read = read_path(package.path)
            size += sum(len(item.data) for item in read.tree.values())
            found = scan({**read.tree, **read.aside})
            worst: str = "caution" if read.problems and found.verdict == "safe" else found.verdict
        except Exception as problem:
            worst = f"error: {type(problem).__name__}"
        looked.append(Looked(worst, time.process_time() - began))
    done = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True)
    seconds = sum(one.seconds for one in looked)
    report: dict[str, Any] = {
        "packages": len(packages),
        "labels": by_label(packages, looked),
        "seconds": round(seconds, 3),
        "megabytes": round(size / 1e6, 3),
        "megabytes_per_second": round(size / 1e6 / seconds, 3) if seconds else None,
        "cpu": cost(looked),
        "cold_start_seconds": round(float(done.stdout), 3),
        "peers": {},
    }
    for name, python in peers.items():
        report["peers"][name] = _peer(name, python, packages, looked)
    return report


_WORDS = (
    "skill",
    "reads",
    "the",
    "files",
    "and",
    "sends",
    "report",
    "when",
    "token",
    "config",
    "run",
    "install",
    "curl",
)
_KINDS = {
    "markdown": ("references/x.md", "{0} {1} the {2}, then `{3} --{4}` for you. "),
    "shell": ("scripts/x.sh", '{0} --{1} "${2}" | {3} {4}; '),
    "shell fence": ("references/x.md", '{0} --{1} "${2}" | {3} {4}; '),
    "python": ("scripts/x.py", "{0}_{1} = open('{2}').{3}({4!r}); "),
    "javascript": ("scripts/x.js", "function {0}(t){{return t.{1}?t.{2}:require('{3}').{4}(t)}}; "),
    "powershell": ("scripts/x.ps1", '{0} -{1} "${2}" | {3} {4}; '),
    "other code": ("scripts/x.rb", "{0} = File.{1}('{2}').{3}('{4}'); "),
    "json": ("x.json", '["{0}", "{1}", "{2}", "{3}"], '),
    "html": ("x.html", "<p class='{0}'><a href='https://x.example/{1}'>{2} {3}</a></p>"),
    "text": ("x.txt", "{0} {1} {2} {3} {4} "),
}


def by_kind(size: int = 300_000) -> dict[str, dict[str, float]]:
    """CPU seconds for a megabyte of each kind of file, in many lines and in one."""
    from whet.skill.tree import Item

    chance = random.Random(5)
    found: dict[str, dict[str, float]] = {}
    for kind, (path, shape) in _KINDS.items():
        pieces = [shape.format(*chance.choices(_WORDS, k=5)) for _ in range(size // len(shape))]
        row = found[kind] = {}
        for name, sign in (("lines", "\n"), ("one line", "")):
            text = sign.join(pieces)
            text = {"shell fence": f"```sh\n{text}\n```\n", "json": f"[{text}0]"}.get(kind, text)
            began = time.process_time()
            scan({"SKILL.md": Item(b"# x\n"), path: Item(text.encode())})
            row[name] = round((time.process_time() - began) / len(text) * 1e6, 2)
    return found


def by_label(packages: Sequence[Package], looked: Sequence[Looked]) -> dict[str, dict[str, int]]:
    """Label -> verdict -> how many."""
    counts: dict[str, dict[str, int]] = {}
    for package, one in zip(packages, looked, strict=True):
        row = counts.setdefault(package.label, {"packages": 0, "safe": 0, "caution": 0, "dangerous": 0})
        row["packages"] += 1
        row[one.verdict] = row.get(one.verdict, 0) + 1
    return dict(sorted(counts.items()))


def cost(looked: Sequence[Looked]) -> dict[str, float]:
    """CPU milliseconds for one package."""
    times = sorted(1000 * one.seconds for one in looked) or [0.0]
    at = times[min(len(times) - 1, int(len(times) * 0.95))]
    return {
        "mean": round(fmean(times), 2),
        "median": round(median(times), 2),
        "p95": round(at, 2),
        "max": round(times[-1], 2),
    }


def _peer(name: str, python: str, packages: Sequence[Package], ours: Sequence[Looked]) -> dict[str, Any]:
    paths = json.dumps([os.path.abspath(package.path) for package in packages])
    done = subprocess.run([python, "-c", _PEERS[name]], input=paths, capture_output=True, text=True)
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    looked = [Looked(*row) for row in json.loads(done.stdout)]
    pairs = [theirs.seconds / mine.seconds for theirs, mine in zip(looked, ours, strict=True) if mine.seconds > 0]
    return {
        "labels": by_label(packages, looked),
        "cpu": cost(looked),
        "times_ours": {
            "total": round(sum(one.seconds for one in looked) / max(sum(one.seconds for one in ours), 1e-9), 2),
            "median": round(median(pairs), 2),
            "goal": GOALS[name],
        },
    }


def shown(report: dict[str, Any]) -> str:
    """The report for a person."""
    lines = [f"{report['packages']} packages, {report['megabytes']} MB, {report['seconds']} CPU seconds"]
    for name, part in (("whet", report), *report["peers"].items()):
        lines += ["", name, f"  {'label':24} {'packages':>8} {'dangerous':>10} {'flagged':>8}"]
        for label, row in part.get("labels", {}).items():
            count = row["packages"]
            bad = row["dangerous"] / count
            lines.append(f"  {label:24} {count:>8} {bad:>10.1%} {1 - row['safe'] / count:>8.1%}")
        lines.append(f"  CPU ms: {part.get('cpu', part)}")
        if "times_ours" in part:
            lines.append(f"  times ours: {part['times_ours']}")
    lines += ["", f"cold start {report['cold_start_seconds']} s, {report['megabytes_per_second']} MB/s"]
    return "\n".join(lines)


def _from_labels(root: str, labels: str, by: str) -> Iterable[Package]:
    with open(labels, encoding="utf-8-sig", newline="") as file:
        for row in map(json.loads, file) if labels.endswith("l") else csv.DictReader(file):
            yield Package(os.path.join(root, row["path"]), _label(row, by))


def _from_pool(path: str, root: str) -> Iterable[Package]:
    for number, row in enumerate(_lines(path)):
        head = "".join(f"{key}: {json.dumps(row[key], ensure_ascii=False)}\n" for key in ("name", "description"))
        place = os.path.join(root, f"{number:05}")
        _lay(place, {"SKILL.md": f"---\n{head}---\n{row['body']}"})
        yield Package(place, "pool")


def _from_packages(path: str, root: str, by: str) -> Iterable[Package]:
    for number, row in enumerate(_lines(path)):
        place = os.path.join(root, f"{number:05}")
        _lay(place, row["files"])
        yield Package(place, _label(row, by))


def _from_pairs(path: str, root: str) -> Iterable[Package]:
    """Dangers and twins of a file of pairs, laid out on disk; files that are made of something else are left out."""
    import yaml

    name = os.path.basename(path).partition(".")[0]
    with open(path, encoding="utf-8") as file:
        entries = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for entry in entries:
        for side in ("bad", "good"):
            files = {name: content for name, content in entry[side].items() if isinstance(content, str)}
            place = os.path.join(root, name, f"{entry['id']}-{side}")
            if files:
                _lay(place, files)
                yield Package(place, f"{entry.get('stratum', name)} {side}")


def _lines(path: str) -> Iterable[dict[str, Any]]:
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _label(row: dict[str, Any], by: str) -> str:
    return f"{row[by]} {row['label']}" if by else str(row["label"])


def _lay(place: str, files: Mapping[str, str | dict[str, str]]) -> None:
    """Write files that are a text, `{"text": ...}` or `{"base64": ...}`."""
    for name, content in files.items():
        made = {"text": content} if isinstance(content, str) else content
        data = b64decode(made["base64"]) if "base64" in made else made["text"].encode("utf-8", "surrogatepass")
        target = os.path.join(place, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as written:
            written.write(data)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", default=".", help="directory that the paths of the labels start at")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--labels", help="CSV or JSON lines with path, label")
    source.add_argument("--packages", help="JSON lines of packages: label, files")
    source.add_argument("--pairs", nargs="+", help="YAML of pairs: id, stratum, bad, good")
    source.add_argument("--kinds", action="store_true", help="seconds for a megabyte of each kind of file")
    source.add_argument("--pool", help="JSON lines of honest skills: name, description, body")
    parser.add_argument("--by", default="", help="count for each value of this column, too")
    parser.add_argument("--sample", type=int, default=0, help="only so many packages, chosen by chance")
    parser.add_argument("--hermes", help="an interpreter with hermes-agent")
    parser.add_argument("--cisco", help="an interpreter with cisco-ai-skill-scanner")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
