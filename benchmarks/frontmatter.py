"""Does the reader keep real skills alive, and what does it cost?

    python benchmarks/frontmatter.py --data FILE.jsonl[.gz] [--json]

Reads a corpus of SKILL.md heads, one JSON object per line: `id`, `kinds` (what is odd about it), `text`, and
`line_values` (how the name and the description begin on their own lines). Reports which step read each document, which
of those values came through, every exception, the diagnostics by code, and the time per document beside that of
PyYAML's C loader on the same blocks. Exits with 1 when a value is lost or an exception escapes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import yaml

from whet.skill.coerce import one_line
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import find_fences, read_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.skill.frontmatter import Document

_ROUNDS = 5


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", required=True, metavar="FILE", help="corpus as JSON lines, plain or gzipped")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    rows = list(_rows(options.data))
    results = _read_all(rows) | {"microseconds": _race([row["text"] for row in rows])}
    if options.json:
        print(json.dumps(results, ensure_ascii=False, indent=2))
    else:
        _print(results)
    return 1 if results["exceptions"] or results["line_values"]["lost"] else 0


def _rows(path: str) -> Iterator[dict[str, Any]]:
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _read_all(rows: list[dict[str, Any]]) -> dict[str, Any]:
    steps: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    exceptions: list[dict[str, str]] = []
    lost: list[dict[str, str]] = []
    given = 0
    for row in rows:
        directory = row["id"].rpartition("/")[0].rpartition("/")[2]
        try:
            document = read_document(row["text"])
            skill = read_skill(document, fallback_name=directory)
        except Exception as error:
            exceptions.append({"id": row["id"], "error": repr(error)})
            continue
        steps[document.step] += 1
        codes.update(note.code for note in skill.diagnostics)
        for key, beginning in row["line_values"].items():
            given += 1
            found = _spelled(document, key)
            if not found.startswith(_bare(beginning)):
                lost.append({"id": row["id"], "key": key, "given": beginning, "found": found[:80]})
    return {
        "documents": len(rows),
        "steps": dict(steps.most_common()),
        "line_values": {"given": given, "honoured": given - len(lost), "lost": lost},
        "exceptions": exceptions,
        "diagnostics": dict(codes.most_common()),
    }


def _spelled(document: Document, key: str) -> str:
    value = document.values.get(key)
    return _bare(value if isinstance(value, str) else document.texts.get(key, ""))


def _bare(value: str) -> str:
    """The value in one line, without quotes around it."""
    return one_line(value).strip("\"'")


def _race(texts: list[str]) -> dict[str, float]:
    """Best times over the documents that both readers can read."""
    pairs = [(text, block) for text in texts if (block := _block(text)) is not None]
    best = {"whet": float("inf"), "pyyaml": float("inf")}
    for _ in range(_ROUNDS):
        best["whet"] = min(best["whet"], _timed(read_document, [text for text, _ in pairs]))
        best["pyyaml"] = min(best["pyyaml"], _timed(_load, [block for _, block in pairs]))
    each = {name: seconds / max(1, len(pairs)) * 1e6 for name, seconds in best.items()}
    return {
        "documents": len(pairs),
        "whet": round(each["whet"], 1),
        "pyyaml": round(each["pyyaml"], 1),
        "ratio": round(each["pyyaml"] / each["whet"], 2),
    }


def _block(text: str) -> str | None:
    """The frontmatter of a text, when PyYAML reads it."""
    fences = find_fences(text)
    block = text[fences.start : fences.end]
    try:
        return block if fences.start >= 0 and isinstance(_load(block), dict) else None
    except (yaml.YAMLError, ValueError, TypeError):
        return None


def _load(block: str) -> Any:
    return yaml.load(block, Loader=yaml.CSafeLoader)


def _timed(read: Callable[[str], Any], texts: list[str]) -> float:
    start = time.perf_counter()
    for text in texts:
        read(text)
    return time.perf_counter() - start


def _print(results: dict[str, Any]) -> None:
    values, times = results["line_values"], results["microseconds"]
    print(f"{results['documents']} documents")
    print("  read:        " + ", ".join(f"{step} {count}" for step, count in results["steps"].items()))
    print(f"  line values: {values['honoured']} of {values['given']} honoured")
    print(f"  exceptions:  {len(results['exceptions'])}")
    print("  diagnostics: " + ", ".join(f"{code} {count}" for code, count in results["diagnostics"].items()))
    print(
        f"  time:        {times['whet']} µs a document, PyYAML's C loader {times['pyyaml']} µs on the same blocks "
        f"({times['ratio']} times; {times['documents']} documents, best of {_ROUNDS})"
    )
    for loss in values["lost"]:
        print(f"lost: {loss['id']}: {loss['key']} begins {loss['given']!r}, read {loss['found']!r}")
    for failure in results["exceptions"]:
        print(f"failed: {failure['id']}: {failure['error']}")


if __name__ == "__main__":
    sys.exit(main())
