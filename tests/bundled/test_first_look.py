"""The profiler of data files in `exploring-data-files`, run as an agent runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SKILL = Path(__file__).parents[2] / "src" / "whet" / "bundled" / "exploring-data-files"
ORDERS = (
    "id,date,amount,zip\n1,2025-01-01,12.5,01067\n2,2025-01-02,7,99084\n3,2025-01-03,-1,10115\n"
    "4,2025-01-04,,01067\n4,2025-01-05,3.25,99084\n"
)


def look(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SKILL / "scripts" / "first_look.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)


def profile(path: Path, data: str | bytes, *words: str) -> dict[str, Any]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    report: dict[str, Any] = json.loads(look("--json", *words, path).stdout)
    return report


def flags(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(flag["code"], flag["column"]) for flag in report["flags"]]


def kinds(report: dict[str, Any]) -> dict[str, str]:
    return {column["name"]: column["kind"] for column in report["columns"]}


def test_the_example_in_the_skill_is_what_it_prints(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    run = look(tmp_path / "orders.csv")
    assert (run.returncode, run.stderr) == (1, "")
    assert f"```text\n{run.stdout}```" in (SKILL / "SKILL.md").read_text(encoding="utf-8")


def test_what_misleads_is_flagged(tmp_path: Path) -> None:
    rows = (
        "name;price;when;same;odd;nothing\n a;1,50;03/04/2025;x;1;\nb;2,25;04/04/2025;x;two;NA\nc;3,00;05/04/2025;x;3\n"
    )
    report = profile(tmp_path / "a.csv", rows)
    assert (report["delimiter"], report["rows"]) == (";", 3)
    assert kinds(report) == {
        "name": "text",
        "price": "decimal-comma",
        "when": "date-other",
        "same": "text",
        "odd": "mixed",
        "nothing": "empty",
    }
    assert flags(report) == [
        ("blanks", "name"),
        ("constant", "same"),
        ("date-order", "when"),
        ("decimal-comma", "price"),
        ("mixed-kinds", "odd"),
        ("no-values", "nothing"),
        ("ragged", ""),
    ]


@pytest.mark.parametrize(
    ("name", "data", "form", "rows"),
    [
        ("a.jsonl", '{"a": 1}\n\n{"a": null, "b": [1]}\n', "jsonl", 2),
        ("a.json", '{"items": [{"a": 1}, {"a": 2}, {"a": 2.5}]}', "json", 3),
        ("a.json", "[1, 2]", "json", 2),
        ("a.tsv", "a\tb\n1\t2\n", "csv", 1),
        ("a.csv", "", "csv", 0),
    ],
)
def test_each_form_is_read(name: str, data: str, form: str, rows: int, tmp_path: Path) -> None:
    report = profile(tmp_path / name, data)
    assert (report["format"], report["rows"]) == (form, rows)


def test_columns_that_come_late_were_missing_before(tmp_path: Path) -> None:
    report = profile(tmp_path / "a.jsonl", '{"a": 1}\n{"a": 2, "b": "x"}\n')
    assert [(column["name"], column["missing"], column["distinct"]) for column in report["columns"]] == [
        ("a", 0, 2),
        ("b", 1, 1),
    ]


def test_encodings_and_the_limit_of_rows(tmp_path: Path) -> None:
    assert profile(tmp_path / "a.csv", "a\nä\n".encode("cp1252"))["encoding"] == "cp1252 (guessed)"
    assert profile(tmp_path / "a.csv", "a\nä\n".encode("utf-16"))["encoding"] == "utf-16"
    report = profile(tmp_path / "a.csv", "\ufeffa\n1\n2\n3\n", "--rows", "2")
    assert (report["encoding"], report["rows"], kinds(report)) == ("utf-8", 2, {"a": "integer"})


def test_what_cannot_be_read_and_wrong_use(tmp_path: Path) -> None:
    gone = look(tmp_path / "gone.csv")
    assert (gone.returncode, gone.stdout) == (4, "") and gone.stderr.startswith("first_look: cannot read ")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    assert look(tmp_path / "bad.json").returncode == 4
    (tmp_path / "fine.csv").write_text("a\n1\n2\n", encoding="utf-8")
    assert (look(tmp_path / "fine.csv").returncode, look().returncode) == (0, 2)
