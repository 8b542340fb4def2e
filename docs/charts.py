"""Draw what the benchmarks measured: bars with their spread, and growth on logarithmic axes.

The numbers come from `benchmarks/results`, where `python benchmarks/speed.py` writes them, or from the first table of a
page that has the rows.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from drawing import SANS, svg, text

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 860, 250, 130, 84, 26
_PLOT_HEIGHT, _BOTTOM, _LABEL_GAP = 300, 46, 15


class Bar(NamedTuple):
    """One row: what was measured, and the range it was in."""

    name: str
    value: float
    high: float = 0.0
    """Three of four runs were at most this; 0 when it is not known."""


class Line(NamedTuple):
    """What something costs for each size of a library."""

    name: str
    points: tuple[tuple[float, float], ...]


def bars(title: str, what: str, rows: list[Bar]) -> str:
    """Horizontal bars from zero; a thin line shows the spread, and the rows of Whet stand out."""
    longest = max(max(row.value, row.high) for row in rows)
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    pieces = _head(title, what)
    for at, row in enumerate(rows):
        y, wide = _TOP + at * _ROW, max(2.0, row.value * scale)
        letters, colour = _look(row.name)
        pieces += [
            text(24, y + 12, row.name, *letters, size=13),
            f'<rect x="{_LEFT}" y="{y}" width="{wide:.1f}" height="15" rx="2" class="{colour}"/>',
        ]
        if row.high > row.value:
            end = _LEFT + row.high * scale
            pieces.append(f'<path d="M{_LEFT + wide:.1f} {y + 7.5}H{end:.1f}M{end:.1f} {y + 3}v9" class="bar-line"/>')
            wide = row.high * scale
        pieces.append(text(_LEFT + wide + 7, y + 12, number(row.value), *letters, size=13))
    words = ", ".join(f"{row.name} {number(row.value)}" for row in rows)
    return svg(_WIDTH, _TOP + len(rows) * _ROW + 14, f"{title} ({what}): {words}.", SANS, [_STYLE, *pieces])


def lines(title: str, what: str, rows: list[Line]) -> str:
    """Lines on two logarithmic axes: what grows with the size of a library is straight."""
    xs = sorted({x for row in rows for x, _ in row.points})
    ys = [y for row in rows for _, y in row.points]
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))
    left, right, top, bottom = 70, _WIDTH - 200, _TOP, _TOP + _PLOT_HEIGHT

    def across(x: float) -> float:
        return left + (right - left) * math.log10(x / xs[0]) / (math.log10(xs[-1] / xs[0]) or 1)

    def down(y: float) -> float:
        return bottom - (bottom - top) * math.log10(y / low) / math.log10(high / low)

    pieces = _head(title, what)
    tick = low
    while tick <= high:
        y = down(tick)
        pieces += [
            f'<path d="M{left} {y:.1f}H{right}" class="grid bar-line"/>',
            text(24, y + 4, number(tick), "dim", size=12),
        ]
        tick *= 10
    for x in xs:
        pieces.append(f'<path d="M{across(x):.1f} {top}V{bottom}" class="grid bar-line"/>')
        pieces.append(text(across(x) - 18, bottom + 20, number(x), "dim", size=12))
    pieces.append(text(left, bottom + 38, "skills", "dim", size=12))
    for row, at in zip(rows, _apart([down(row.points[-1][1]) for row in rows]), strict=True):
        letters, colour = _look(row.name)
        path = "L".join(f"{across(x):.1f} {down(y):.1f}" for x, y in row.points)
        pieces += [
            f'<path d="M{path}" class="line {colour}-line"/>',
            *(f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3" class="{colour}"/>' for x, y in row.points),
            text(right + 12, at + 4, row.name, *letters, size=12),
        ]
    words = "; ".join(f"{row.name}: {', '.join(number(y) for _, y in row.points)}" for row in rows)
    sizes = ", ".join(number(x) for x in xs)
    return svg(_WIDTH, bottom + _BOTTOM, f"{title} ({what}), for {sizes} skills. {words}.", SANS, [_STYLE, *pieces])


def number(value: float) -> str:
    """A number as a person reads it: `0.35`, `7.2`, `1,490`."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def table_column(page: str, column: str, rows: dict[str, str]) -> list[tuple[str, float]]:
    """A column of the first table of a page that has all these rows, under other names.

    Of `7,996 (2,330)` it is the number in parentheses, and of `67 (80 %)` the percentage. Raises LookupError.
    """
    for block in re.findall(r"(?:^\|.*\n)+", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE):
        heads, _, *body = (_cells(line) for line in block.splitlines())
        if column in heads and rows.keys() <= {row[0] for row in body}:
            cells = {row[0]: row[heads.index(column)] for row in body if row[0] in rows}
            return [(name, float(re.sub(r".*\(|[^\d.]", "", cells[row]))) for row, name in rows.items()]
    raise LookupError(f"docs/{page} has no table with the column {column} and the rows {', '.join(rows)}.")


def _cells(line: str) -> list[str]:
    return [re.sub(r"[*`]", "", cell).strip() for cell in line.split("|")[1:-1]]


def _look(name: str) -> tuple[tuple[str, ...], str]:
    """The classes of the letters and of the drawing."""
    return (("text", "bold"), "accent") if name.lower().startswith("whet") else (("dim",), "bar")


def _head(title: str, what: str) -> list[str]:
    return [text(24, 36, title, "text", "bold", size=16), text(24, 58, what, "dim", size=13)]


def _apart(places: list[float]) -> list[float]:
    """The same places, moved down where two labels would overlap."""
    moved = list(places)
    last = -math.inf
    for at in sorted(range(len(places)), key=lambda index: places[index]):
        last = moved[at] = max(places[at], last + _LABEL_GAP)
    return moved


_STYLE = "<style>.line { stroke-width: 2; } .grid { stroke-opacity: 0.4; }</style>"


# the charts


def _contest(contest: str, names: tuple[str, ...]) -> list[Line]:
    """What one contest of `speed.py` took at each size."""
    sizes = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))["results"]
    found = []
    for name in names:
        cells = [(float(size), contests[contest].get(name, {})) for size, contests in sizes.items()]
        points = tuple((size, cell["best_ms"]) for size, cell in cells if "best_ms" in cell)
        if points:
            found.append(Line(name, points))
    return found


def first_look() -> str:
    names = ("whet", "floor", "hermes-agent", "deepagents", "skills-ref")
    return lines(
        "Find and read every skill for the first time", "milliseconds; less is better", _contest("cold", names)
    )


def list_commands() -> str:
    names = (
        "whet list",
        "python -c pass",
        "openskills list",
        "skills list",
        "hermes skills list",
        "agentskills to-prompt",
    )
    return lines("List commands, start to end", "milliseconds; less is better", _contest("process", names))


def list_spread() -> str:
    size = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))["results"]["1000"]["process"]
    cells: list[tuple[str, Any]] = [(name, cell) for name, cell in size.items() if "median_ms" in cell]
    rows = [Bar(name, cell["median_ms"], cell.get("third_quartile_ms", 0.0)) for name, cell in cells]
    return bars("Whole programs at 1,000 skills", "milliseconds, median and third quartile; less is better", rows)


def growth() -> str:
    document = json.loads((RESULTS / "growth.json").read_text(encoding="utf-8"))
    names = [cost["command"] for cost in next(iter(document.values()))]
    rows = [
        Line(f"whet {name}", tuple((float(size), costs[at]["cpu"]) for size, costs in document.items()))
        for at, name in enumerate(names)
    ]
    return lines("Very large libraries", "CPU seconds of a whole process; less is better", rows)


def _table(title: str, what: str, page: str, column: str, rows: tuple[str, ...]) -> str:
    return bars(title, what, [Bar(*row) for row in table_column(page, column, {row: row for row in rows})])


def right_skill() -> str:
    rankers = (
        "Whet, source left out",
        "LambdaMART, source left out",
        "BM25F + 0.2 MiniLM, scores fused",
        "BM25F over all fields",
        "SQLite FTS5",
        "RRF (k=60) of BM25F and MiniLM",
        "MiniLM-L6, name and description",
    )
    what = "% of messages; more is better"
    return _table("The right skill comes first", what, "routing-benchmarks.md", "recall@1", rankers)


def flagged() -> str:
    voices = ("a vendor's documentation", "a hurried developer", "marketing", "seven other languages")
    what = "% of packages by writers who knew neither rules nor code; more is better"
    return _table("Harmful packages that the guard flags", what, "guard-benchmarks.md", "flagged", voices)


CHARTS = {
    DOCS / "speed-first-look.svg": first_look,
    DOCS / "speed-list.svg": list_commands,
    DOCS / "speed-spread.svg": list_spread,
    DOCS / "speed-growth.svg": growth,
    DOCS / "routing-recall.svg": right_skill,
    DOCS / "guard-flagged.svg": flagged,
}
"""Picture -> what draws it."""
