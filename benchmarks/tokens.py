"""How far is the estimate of tokens from the exact count, beside the rules that others use?

    python benchmarks/tokens.py --data FILE.jsonl[.gz] [--limit N] [--json]

Reads skills, one JSON object per line: `id`, `name`, `description`, `body`. Counts every description, every body and
every index of 40 lines exactly, by the estimate, by the UTF-8 bytes over four, rounded up (Codex), and by the
characters over four, and prints the errors in percent of the exact count. Texts of which at least half of the
characters, white space aside, are not ASCII are shown apart. Skills whose id falls into the half that the prices of
the estimate were fitted to are left out. Exits with 2 when no exact tokenizer is installed.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

from whet.prompt.tokens import estimate, installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.prompt.tokens import Counter

_LINES = 40


def _bytes_over_four(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def _characters_over_four(text: str) -> int:
    return len(text) // 4


_RULES: dict[str, Counter] = {
    "estimate": estimate,
    "bytes / 4": _bytes_over_four,
    "characters / 4": _characters_over_four,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", required=True, metavar="FILE", help="skills as JSON lines, plain or gzipped")
    parser.add_argument("--limit", type=int, metavar="N", help="measure at most this many skills")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    tokenizer = installed()
    if not tokenizer.exact:
        print("No exact tokenizer is installed. Run `pip install splintr-rs` and try again.", file=sys.stderr)
        return 2
    rows = [row for row in _rows(options.data) if not _fitted(row.get("id", ""))][: options.limit]
    groups = {name: _errors(texts, tokenizer.count) for name, texts in _texts(rows).items() if texts}
    results = {"tokenizer": tokenizer.name, "skills": len(rows), "texts": groups}
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        _print(results)
    return 0


def _rows(path: str) -> Iterator[dict[str, Any]]:
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _fitted(identity: str) -> bool:
    """Whether the prices of the estimate were fitted with this skill."""
    return bool(identity) and hashlib.sha256(identity.encode()).digest()[0] % 2 == 0


def _texts(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    lines = [f"▸ {row['name']}: {' '.join(row['description'].split())}" for row in rows]
    indexes = ["\n".join(lines[start : start + _LINES]) for start in range(0, len(lines), _LINES)]
    single = {key: [row[key] for row in rows if row[key]] for key in ("description", "body")}
    return {
        "descriptions": single["description"],
        "bodies": single["body"],
        "indexes": indexes,
        "descriptions, mostly not ASCII": [text for text in single["description"] if _foreign(text)],
        "bodies, mostly not ASCII": [text for text in single["body"] if _foreign(text)],
    }


def _foreign(text: str) -> bool:
    solid = "".join(text.split())
    return sum(map(str.isascii, solid)) * 2 <= len(solid)


def _errors(texts: list[str], count: Counter) -> dict[str, Any]:
    exact = [count(text) for text in texts]
    return {
        "texts": len(texts),
        "tokens": sum(exact),
        "rules": {name: _summary([rule(text) for text in texts], exact) for name, rule in _RULES.items()},
    }


def _summary(found: list[int], exact: list[int]) -> dict[str, float]:
    """Errors in percent: positive where the rule says more than there is."""
    errors = [(guess - true) / true * 100 for guess, true in zip(found, exact, strict=True)]
    by_size = sorted(errors, key=abs)
    sizes = [abs(error) for error in by_size]
    return {
        "mean": round(sum(errors) / len(errors), 1),
        "absolute": round(sum(sizes) / len(sizes), 1),
        "p95": round(sizes[int(len(sizes) * 0.95)], 1),
        "worst": round(by_size[-1], 1),
        "sum": round((sum(found) / sum(exact) - 1) * 100, 1),
    }


def _print(results: dict[str, Any]) -> None:
    print(f"skills: {results['skills']}, counted exactly with {results['tokenizer']}; errors in percent")
    for name, group in results["texts"].items():
        print(f"\n{name} (texts: {group['texts']}, tokens: {group['tokens']})")
        print(f"  {'':16}{'mean':>8}{'absolute':>10}{'p95':>8}{'worst':>8}{'sum':>8}")
        for rule, errors in group["rules"].items():
            mean, absolute, p95, worst, total = errors.values()
            print(f"  {rule:16}{mean:>+8.1f}{absolute:>10.1f}{p95:>8.1f}{worst:>+8.1f}{total:>+8.1f}")


if __name__ == "__main__":
    sys.exit(main())
