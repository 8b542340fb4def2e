"""The frontmatter benchmark runs on any corpus and says no when a value is lost."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "frontmatter.py"
ROWS = [
    {"id": "r:a/one/SKILL.md", "kinds": ["plain"], "text": "---\nname: one\ndescription: 'First  thing'\n---\nb\n"},
    {"id": "r:a/two/SKILL.md", "kinds": ["yaml-error"], "text": "---\nname: two\ndescription: Use: it\n---\nb\n"},
    {"id": "r:a/three/SKILL.md", "kinds": ["no-frontmatter"], "text": "Only a body.\n"},
]
VALUES = [{"name": "one", "description": "'First thing'"}, {"name": "two", "description": "Use: it"}, {}]


def run(path: Path, rows: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    done = subprocess.run([sys.executable, SCRIPT, "--data", path, "--json"], capture_output=True, check=False)
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


def test_a_corpus_that_is_read_well(tmp_path: Path) -> None:
    rows = [row | {"line_values": values} for row, values in zip(ROWS, VALUES, strict=True)]
    code, result = run(tmp_path / "corpus.jsonl.gz", rows)
    times = result.pop("microseconds")
    assert (code, result) == (
        0,
        {
            "documents": 3,
            "steps": {"strict": 1, "repaired": 1, "none": 1},
            "line_values": {"given": 4, "honoured": 4, "lost": []},
            "exceptions": [],
            "diagnostics": {"yaml-repaired": 1, "no-frontmatter": 1, "name-missing": 1, "description-from-body": 1},
        },
    )
    assert times["documents"] == 1 and set(times) == {"documents", "whet", "pyyaml", "ratio"}


def test_a_lost_value_is_a_no(tmp_path: Path) -> None:
    code, result = run(tmp_path / "corpus.jsonl", [ROWS[0] | {"line_values": {"name": "other"}}])
    assert code == 1
    assert result["line_values"] == {
        "given": 1,
        "honoured": 0,
        "lost": [{"id": "r:a/one/SKILL.md", "key": "name", "given": "other", "found": "one"}],
    }
