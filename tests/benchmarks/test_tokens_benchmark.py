"""The token benchmark measures the estimate and the peers' rules against an exact count, or says how to get one."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "tokens.py"
ROWS = [
    {"id": "r:b", "name": "chart", "description": "Draws a chart.", "body": "# Chart\n\nDraw it.\n"},
    {"id": "r:c", "name": "tu", "description": "画图表", "body": ""},
    {"id": "r:e", "name": "fitted", "description": "One of the half that the prices come from.", "body": "Left out."},
]
# A stand-in for a vocabulary: every two bytes are a token.
SPLINTR = """
class Tokenizer:
    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def encode_ordinary(self, text):
        return range(7) if text == "<|endoftext|>" else text.encode()[::2]
"""


def run(folder: Path, splintr: str, *options: str) -> subprocess.CompletedProcess[str]:
    corpus = folder / "corpus.jsonl.gz"
    corpus.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))
    (folder / "splintr.py").write_text(splintr, encoding="utf-8")
    (folder / "tiktoken.py").write_text("raise ImportError\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, SCRIPT, "--data", corpus, *options],
        env={**os.environ, "PYTHONPATH": str(folder), "TIKTOKEN_CACHE_DIR": "", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def errors(mean: float, size: float, p95: float, worst: float, total: float) -> dict[str, float]:
    return {"mean": mean, "absolute": size, "p95": p95, "worst": worst, "sum": total}


def one(error: float) -> dict[str, float]:
    """The errors of a single text that is counted too low."""
    return errors(error, -error, -error, error, error)


def test_every_rule_is_measured_on_every_kind_of_text(tmp_path: Path) -> None:
    done = run(tmp_path, SPLINTR, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (
        0,
        {
            "tokenizer": "o200k_base",
            "skills": 2,
            "texts": {
                "descriptions": {
                    "texts": 2,
                    "tokens": 12,
                    "rules": {
                        "estimate": errors(-41.4, 41.4, 42.9, -42.9, -41.7),
                        "bytes / 4": errors(-41.4, 41.4, 42.9, -42.9, -41.7),
                        "characters / 4": errors(-78.6, 78.6, 100.0, -100.0, -75.0),
                    },
                },
                "bodies": {
                    "texts": 1,
                    "tokens": 9,
                    "rules": {"estimate": one(-22.2), "bytes / 4": one(-44.4), "characters / 4": one(-55.6)},
                },
                "indexes": {
                    "texts": 1,
                    "tokens": 22,
                    "rules": {"estimate": one(-27.3), "bytes / 4": one(-50.0), "characters / 4": one(-63.6)},
                },
                "descriptions, mostly not ASCII": {
                    "texts": 1,
                    "tokens": 5,
                    "rules": {"estimate": one(-40.0), "bytes / 4": one(-40.0), "characters / 4": one(-100.0)},
                },
            },
        },
    )


def test_the_table_of_a_limited_run(tmp_path: Path) -> None:
    done = run(tmp_path, SPLINTR, "--limit", "1")
    assert (done.returncode, done.stdout.partition("\n\nbodies")[0].splitlines()) == (
        0,
        [
            "skills: 1, counted exactly with o200k_base; errors in percent",
            "",
            "descriptions (texts: 1, tokens: 7)",
            "                      mean  absolute     p95   worst     sum",
            "  estimate           -42.9      42.9    42.9   -42.9   -42.9",
            "  bytes / 4          -42.9      42.9    42.9   -42.9   -42.9",
            "  characters / 4     -57.1      57.1    57.1   -57.1   -57.1",
        ],
    )


def test_without_an_exact_tokenizer_it_says_how_to_get_one(tmp_path: Path) -> None:
    done = run(tmp_path, "raise ImportError\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "No exact tokenizer is installed. Run `pip install splintr-rs` and try again.\n"
