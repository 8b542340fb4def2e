"""Draw the numbers of the README beside those of other programs, from the tables of the benchmark pages."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from charts import number, table_column
from drawing import SANS, svg, text

DOCS = Path(__file__).parent
PLOT = DOCS / "numbers.svg"
_WIDTH, _PANEL, _LABEL, _BAR, _ROW, _TOP = 860, 280, 106, 92, 26, 84


class Panel(NamedTuple):
    """One comparison: where its table is, and which rows of it are shown under which names."""

    title: str
    what: str
    page: str
    column: str
    rows: dict[str, str]
    """Row of the table -> name in the plot; the first one is Whet."""


PANELS = (
    Panel(
        "The right skill comes first",
        "% of 833 messages; more is better",
        "routing-benchmarks.md",
        "recall@1",
        {
            "Whet, source left out": "Whet",
            "BM25F + 0.2 MiniLM, scores fused": "BM25F + MiniLM",
            "BM25F over all fields": "BM25F",
            "LambdaMART, source left out": "LambdaMART",
            "SQLite FTS5": "SQLite FTS5",
            "MiniLM-L6, name and description": "MiniLM-L6",
        },
    ),
    Panel(
        "Listing 1,000 skills",
        "milliseconds; less is better",
        "benchmarks.md",
        "1,000 skills",
        {
            "whet list": "whet",
            "openskills list": "openskills",
            "skills list": "skills (npm)",
            "hermes skills list": "hermes-agent",
            "agentskills to-prompt": "skills-ref",
        },
    ),
    Panel(
        "1,000 skills in a prompt",
        "tokens; less is better",
        "prompt-benchmarks.md",
        "1,000",
        {
            "Whet": "Whet",
            "hermes-agent 0.19.0": "hermes-agent",
            "deepagents 0.7.32": "deepagents",
            "skills-ref 0.1.1": "skills-ref",
        },
    ),
)


def plot() -> str:
    """The plot as the pages have it today. Raises LookupError for a row that is no longer there."""
    height = _TOP + _ROW * max(len(panel.rows) for panel in PANELS) + 10
    body = [piece for at, panel in enumerate(PANELS) for piece in _draw(panel, 24 + at * _PANEL)]
    return svg(_WIDTH, height, describe(), SANS, body)


def describe() -> str:
    """The plot in words."""
    return " ".join(
        f"{panel.title} ({panel.what}): {', '.join(f'{name} {number(value)}' for name, value in _values(panel))}."
        for panel in PANELS
    )


def _draw(panel: Panel, left: int) -> list[str]:
    values = _values(panel)
    longest = max(value for _, value in values)
    pieces = [
        text(left, 36, panel.title, "text", "bold", size=15),
        text(left, 56, panel.what, "dim", size=12),
    ]
    for at, (name, value) in enumerate(values):
        y, wide = _TOP + at * _ROW, max(2, _BAR * value / longest)
        letters, bar = (("text", "bold"), "accent") if at == 0 else (("dim",), "bar")
        pieces += [
            text(left, y + 11, name, *letters, size=12),
            f'<rect x="{left + _LABEL}" y="{y}" width="{wide:.1f}" height="14" rx="2" class="{bar}"/>',
            text(left + _LABEL + wide + 6, y + 11, number(value), *letters, size=12),
        ]
    return pieces


def _values(panel: Panel) -> list[tuple[str, float]]:
    return table_column(panel.page, panel.column, panel.rows)
