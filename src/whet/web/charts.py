"""Charts as SVG, drawn on the server: no script, readable without colour, with the numbers as text."""

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


_LINE = 36
_LONGEST = 32
"""Largest length of a label; on a phone, its value must fit beside it."""


def draw_bars(bars: Sequence[Bar], title: str, largest: float = 0) -> Markup:
    """Draw horizontal bars, one below the other; `largest` is the value of a full one (default: the largest here).

    Widths are shares of the page, so that text keeps its size on a phone.
    """
    largest = largest or max((bar.value for bar in bars), default=0) or 1
    rows = []
    for number, bar in enumerate(bars):
        top = number * _LINE
        rows.append(
            Markup(
                '<text class="label" x="0" y="{}">{}</text>'
                '<text class="value" x="100%" y="{}" text-anchor="end">{}</text>'
                '<rect class="room" x="0" y="{}" width="100%" height="8" rx="2"/>'
                '<rect class="bar {}" x="0" y="{}" width="{:.1f}%" height="8" rx="2"/>'
            ).format(
                *(top + 13, _cut(bar.label), top + 13, bar.shown or f"{bar.value:,.10g}"),
                *(top + 19, bar.kind, top + 19, max(0.3, 100 * bar.value / largest)),
            )
        )
    return Markup('<svg class="chart" width="100%" height="{}" role="img" aria-label="{}">{}</svg>').format(
        _LINE * len(bars), title, Markup("").join(rows)
    )


def draw_meter(used: float, limit: float, title: str) -> Markup:
    """Draw how much of a budget is used."""
    share = min(1.0, used / limit) if limit else 0.0
    kind = "bad" if limit and used > limit else ""
    return Markup(
        '<svg class="meter" viewBox="0 0 400 12" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="room" width="400" height="12" rx="3"/>'
        '<rect class="bar {}" width="{}" height="12" rx="3"/></svg>'
    ).format(title, kind, round(share * 400))


def _cut(text: str, length: int = _LONGEST) -> Markup:
    return escape(text if len(text) <= length else f"{text[: length - 1]}…")
