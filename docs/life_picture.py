"""Draw the life of a skill: eight steps in a circle, with the commands of each."""

from __future__ import annotations

from pathlib import Path

from drawing import MONO, SANS, svg, text

PICTURE = Path(__file__).parent / "life.svg"
STEPS = (
    ("Write", "whet new", "whet distill"),
    ("Find", "whet list", "whet doctor"),
    ("Offer", "whet find", "whet connect"),
    ("Use", "whet run", "or your client"),
    ("Learn", "whet learn usage", "whet learn sessions"),
    ("Improve", "whet edit", "whet learn eval"),
    ("Share", "whet sources publish", "whet sync"),
    ("Install", "whet install", "whet update"),
)
"""Clockwise from the top left."""
_WIDTH, _HEIGHT, _BOX_WIDTH, _BOX_HEIGHT, _GAP, _TOP = 860, 330, 176, 84, 34, 28


def picture() -> str:
    body: list[str] = []
    places = [_place(at) for at in range(len(STEPS))]
    for at, (title, *commands) in enumerate(STEPS):
        x, y = places[at]
        body += [
            f'<rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="8" class="bar-line"/>',
            text(x + 14, y + 27, f"{at + 1}  {title}", "text", "bold", size=15),
            *(text(x + 14, y + 50 + 19 * row, command, "dim", "mono", size=12) for row, command in enumerate(commands)),
            _arrow(places[at], places[(at + 1) % len(STEPS)]),
        ]
    body.append(
        text(24, 286, "At every step: the guard scans what changes, and the history can undo it.", "text", size=14)
    )
    body.append(text(24, 308, "whet scan    whet history    whet undo", "dim", "mono", size=12))
    words = "; ".join(f"{title}: {', '.join(commands)}" for title, *commands in STEPS)
    styles = f"<style>.mono {{ font-family: {MONO}; }}</style>"
    return svg(_WIDTH, _HEIGHT, f"The life of a skill. {words}.", SANS, [styles, *body])


def _place(at: int) -> tuple[int, int]:
    row = at // 4
    column = at if row == 0 else 7 - at
    return 24 + column * (_BOX_WIDTH + _GAP), _TOP + row * (_BOX_HEIGHT + _GAP)


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A triangle in the gap between two boxes, which points at the second."""
    across, down = (end[0] > start[0]) - (end[0] < start[0]), (end[1] > start[1]) - (end[1] < start[1])
    x = start[0] + _BOX_WIDTH // 2 + across * (_BOX_WIDTH + _GAP) // 2
    y = start[1] + _BOX_HEIGHT // 2 + down * (_BOX_HEIGHT + _GAP) // 2
    tip, wing = 8, 7
    points = (
        (x + across * tip, y + down * tip),
        (x - across * tip + down * wing, y - down * tip + across * wing),
        (x - across * tip - down * wing, y - down * tip - across * wing),
    )
    return f'<polygon points="{" ".join(f"{a},{b}" for a, b in points)}" class="bar"/>'
