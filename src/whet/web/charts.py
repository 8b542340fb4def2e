"""Charts as SVG, drawn on the server: no script, readable without colour, and the numbers are in the picture's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Sequence


class Bar(NamedTuple):
    """One line of a bar chart."""

    label: str
    value: float
    shown: str = ""
    """The value as text; default: the number itself."""
    kind: str = ""
    """A class of the style sheet, such as `bad`."""


_LINE = 26
_LABEL = 190
_WIDTH = 720
_CHARACTER = 7
"""The width of most characters of a value."""


def draw_bars(bars: Sequence[Bar], title: str, largest: float = 0) -> Markup:
    """Horizontal bars, one below the other; `largest` is the value of a full one (default: the largest here)."""
    largest = largest or max((bar.value for bar in bars), default=0) or 1
    height = _LINE * len(bars) + 4
    values = [bar.shown or f"{bar.value:,.10g}" for bar in bars]
    room = _WIDTH - _LABEL - _CHARACTER * (max(map(len, values), default=0) + 2)
    rows = []
    for number, (bar, shown) in enumerate(zip(bars, values, strict=True)):
        top = number * _LINE
        width = max(1, round(bar.value / largest * room))
        rows.append(
            Markup(
                '<text class="label" x="{}" y="{}" text-anchor="end">{}</text>'
                '<rect class="bar {}" x="{}" y="{}" width="{}" height="16" rx="2"/>'
                '<text class="value" x="{}" y="{}">{}</text>'
            ).format(
                *(_LABEL - 8, top + 17, _cut(bar.label), bar.kind, _LABEL, top + 5, width),
                *(_LABEL + width + 6, top + 17, shown),
            )
        )
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, height, title, Markup("").join(rows)
    )


def draw_meter(used: float, limit: float, title: str) -> Markup:
    """How much of a budget is used."""
    share = min(1.0, used / limit) if limit else 0.0
    kind = "bad" if limit and used > limit else ""
    return Markup(
        '<svg class="meter" viewBox="0 0 400 12" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="room" width="400" height="12" rx="3"/>'
        '<rect class="bar {}" width="{}" height="12" rx="3"/></svg>'
    ).format(title, kind, round(share * 400))


def _cut(text: str, length: int = 26) -> Markup:
    return escape(text if len(text) <= length else f"{text[: length - 1]}…")
