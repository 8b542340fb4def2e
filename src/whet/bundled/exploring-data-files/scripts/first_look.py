#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Profile a CSV, TSV, JSON or JSON lines file: its shape, and for each column kind, missing values, range and flags.

The file is read once, row by row (JSON as a whole), and never changed. Empty cells, and words such as NA and null, count
as missing. Flags name what usually leads to wrong answers: mixed kinds, leading zeros, decimal commas, constant columns,
columns without values, ids that repeat, blanks around values, rows of another length.

Exit codes: 0 no flags, 1 flags, 2 wrong usage, 4 the file cannot be read.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?"}
DELIMITERS = ",;\t|"
MAX_DISTINCT = 100_000
MAX_CELL = 40
KINDS = (
    ("integer", re.compile(r"[+-]?(?:0|[1-9]\d*)")),
    ("decimal", re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")),
    ("decimal-comma", re.compile(r"[+-]?\d{1,3}(?:\.\d{3})*,\d+|[+-]?\d+,\d+")),
    ("date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("time", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")),
    ("date-other", re.compile(r"\d{1,2}[/.]\d{1,2}[/.]\d{2,4}")),
    ("boolean", re.compile(r"(?i:true|false|yes|no)")),
)
LEADING_ZERO = re.compile(r"0\d+")


class Column:
    """What is known of one column so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = 0
        self.seen: Counter[str] = Counter()
        self.more = False
        self.kinds: Counter[str] = Counter()
        self.blanks = self.zeros = ""

    def add(self, raw: str) -> None:
        """Take in one value."""
        value = raw.strip()
        if value.lower() in MISSING:
            self.missing += 1
            return
        self.blanks = self.blanks or (raw if raw != value else "")
        self.zeros = self.zeros or (value if LEADING_ZERO.fullmatch(value) else "")
        self.kinds[kind_of(value)] += 1
        if value in self.seen or len(self.seen) < MAX_DISTINCT:
            self.seen[value] += 1
        else:
            self.more = True

    @property
    def kind(self) -> str:
        """The kind that all values have; integers among decimals are decimals."""
        kinds = set(self.kinds)
        if self.zeros and kinds <= {"integer", "text"}:
            return "text"
        if kinds == {"integer", "decimal"}:
            return "decimal"
        return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "empty"

    def to_json(self) -> dict[str, Any]:
        """The column as a program reads it."""
        ordered = sorted(self.seen, key=float if self.kind in ("integer", "decimal") else str)
        ends = [ordered[0], ordered[-1]] if ordered else ["", ""]
        if self.kind == "decimal":
            ends = [str(float(end)) for end in ends]
        return {
            "name": self.name,
            "kind": self.kind,
            "missing": self.missing,
            "distinct": len(self.seen),
            "more": self.more,
            "smallest": ends[0][:MAX_CELL],
            "largest": ends[1][:MAX_CELL],
            "examples": [value[:MAX_CELL] for value in list(self.seen)[:3]],
        }

    def flags(self, rows: int) -> Iterator[tuple[str, str]]:
        """What to look at, and why."""
        if not self.kinds and rows:
            yield "no-values", "every value is missing"
        if self.kind == "mixed":
            kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
            yield "mixed-kinds", f"values of several kinds: {kinds}"
        if self.kind == "decimal-comma":
            yield "decimal-comma", "numbers with a comma for decimals"
        if self.kind == "date-other":
            yield "date-order", "dates whose order of day and month has to be known"
        if self.zeros:
            yield "leading-zeros", f"values such as {self.zeros!r} are text, not numbers"
        if len(self.seen) == 1 and not self.more and rows > 1 and not self.missing:
            yield "constant", f"every value is {next(iter(self.seen))[:MAX_CELL]!r}"
        repeated = sum(count > 1 for count in self.seen.values())
        if re.search(r"(?i)(?:^|_)id$", self.name) and repeated and repeated < 0.5 * len(self.seen):
            yield "repeated-value", f"looks like an id, but {repeated} value{'' if repeated == 1 else 's'} is repeated"
        if self.blanks:
            yield "blanks", f"blanks around values such as {self.blanks[:MAX_CELL]!r}"


def kind_of(value: str) -> str:
    """The first kind that a value fits."""
    return next((kind for kind, shape in KINDS if shape.fullmatch(value)), "text")


def main(arguments: list[str]) -> int:
    """Read the arguments, profile the file, print the answer."""
    parser = argparse.ArgumentParser(prog="first_look", description="Profile a data file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, default=0, metavar="N", help="read at most N rows (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    try:
        report = profile(options.file, options.rows)
    except (OSError, ValueError, csv.Error) as error:
        print(f"first_look: cannot read {options.file}: {error}", file=sys.stderr)
        return 4
    print(json.dumps(report) if options.json else render(report))
    return 1 if report["flags"] else 0


def profile(path: Path, most: int) -> dict[str, Any]:
    """Everything about a file."""
    text, encoding = decode(path.read_bytes())
    form, delimiter, rows = open_rows(path, text)
    columns: dict[str, Column] = {}
    count = odd = 0
    for row, whole in rows:
        if most and count >= most:
            break
        for name in row:
            if name not in columns:
                columns[name] = Column(name)
                columns[name].missing = count
        for name, column in columns.items():
            column.add(row.get(name, ""))
        count += 1
        odd += not whole
    flags = [
        {"code": code, "column": column.name, "detail": detail}
        for column in columns.values()
        for code, detail in column.flags(count)
    ]
    if odd:
        detail = f"{odd} row{'' if odd == 1 else 's'} with another number of cells than the header"
        flags.insert(0, {"code": "ragged", "column": "", "detail": detail})
    order = list(columns.values()) if form == "csv" else sorted(columns.values(), key=lambda column: column.name)
    return {
        "file": path.name,
        "format": form,
        "encoding": encoding,
        "delimiter": delimiter,
        "rows": count,
        "columns": [column.to_json() for column in order],
        "flags": sorted(flags, key=lambda flag: (flag["code"], flag["column"])),
    }


def decode(data: bytes) -> tuple[str, str]:
    """The text, and how it was encoded."""
    for encoding in ("utf-8-sig", "utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig",):
        try:
            return data.decode(encoding), "utf-8" if encoding == "utf-8-sig" else encoding
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", "replace"), "cp1252 (guessed)"


def open_rows(path: Path, text: str) -> tuple[str, str, Iterator[tuple[dict[str, str], bool]]]:
    """The format, the delimiter, and the rows: cells by column, and whether the row has as many as the header."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return "jsonl", "", records([json.loads(line) for line in text.splitlines() if line.strip()])
    if path.suffix.lower() == ".json":
        value = json.loads(text)
        if isinstance(value, dict):
            value = next((inner for inner in value.values() if isinstance(inner, list)), [value])
        return "json", "", records(value)
    head = text.splitlines()[:1]
    delimiter = max(DELIMITERS, key=lambda mark: head[0].count(mark)) if head else ","
    return "csv", delimiter, table(text, delimiter)


def records(values: list[Any]) -> Iterator[tuple[dict[str, str], bool]]:
    """Rows of JSON: objects; anything else is one column."""
    for value in values:
        row = value if isinstance(value, dict) else {"value": value}
        yield {name: _cell(item) for name, item in row.items()}, True


def _cell(item: Any) -> str:
    if item is None:
        return ""
    return item if isinstance(item, str) else json.dumps(item)


def table(text: str, delimiter: str) -> Iterator[tuple[dict[str, str], bool]]:
    """Rows of a delimited file; cells beyond the header are columns of their own."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    header = [name.strip() or f"column {at}" for at, name in enumerate(next(reader, []), 1)]
    for cells in reader:
        if not cells:
            continue
        names = header + [f"column {at}" for at in range(len(header) + 1, len(cells) + 1)]
        yield dict(zip(names, cells, strict=False)), len(cells) == len(header)


def render(report: dict[str, Any]) -> str:
    """The answer as text."""
    delimiter = f", delimiter {report['delimiter']!r}" if report["delimiter"] else ""
    columns = report["columns"]
    lines = [
        f"{report['file']}: {report['format']}, {report['encoding']}{delimiter}, "
        f"{report['rows']} rows, {len(columns)} columns"
    ]
    name = max((len(column["name"]) for column in columns), default=0)
    kind = max((len(column["kind"]) for column in columns), default=0)
    for column in columns:
        ends = f"{column['smallest']} .. {column['largest']}" if column["distinct"] else "no values"
        examples = ", ".join(map(repr, column["examples"]))
        more = "+" if column["more"] else ""
        lines.append(
            f"  {column['name']:<{name}}  {column['kind']:<{kind}}  missing {column['missing']}  "
            f"distinct {column['distinct']}{more}  {ends}" + (f"  like {examples}" if examples else "")
        )
    lines.append(f"flags: {len(report['flags'])}")
    code = max((len(flag["code"]) for flag in report["flags"]), default=0)
    lines += [f"  {flag['code']:<{code}}  {flag['column']}  {flag['detail']}" for flag in report["flags"]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
