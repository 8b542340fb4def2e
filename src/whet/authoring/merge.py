"""Merging two changes of one text, line by line; changes of the same place are conflicts.

Each side's edits of the common text are found first, then those of the same place are grouped. The comparison is
Myers', like git's, within limits: if two texts have too little in common, lines that occur once in both divide them,
and the parts between count as replaced. That can make a conflict larger than necessary; it never loses a line.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STEPS, _STEPS_AT_ONCE = 1_000_000, 100_000
"""Number of line pairs that are compared for two texts, and in one stretch of them."""


class Conflict(NamedTuple):
    """One place that both sides changed differently."""

    yours: bytes
    before: bytes
    theirs: bytes


Pieces = list[bytes | Conflict]
"""A text in order: merged parts and conflicts."""


class _Edit(NamedTuple):
    start: int
    end: int
    lines: Sequence[bytes]
    """The new lines from `start` to `end`."""


def merge_text(before: bytes, yours: bytes, theirs: bytes, *, touching: bool = False) -> Pieces:
    """Merge the changes of both sides; return merged parts and conflicts.

    Changes of adjacent lines are a conflict, as in git, unless `touching` is set.
    """
    if yours == theirs or theirs == before:
        return [yours] if yours else []
    if yours == before:
        return [theirs] if theirs else []
    origin = _lines(before)
    pieces: Pieces = []
    done = 0
    for left, right in _group(_edits(origin, _lines(yours)), _edits(origin, _lines(theirs)), touching=touching):
        start, end = min(edit.start for edit in (*left, *right)), max(edit.end for edit in (*left, *right))
        pieces.append(b"".join(origin[done:start]))
        mine, other = (_apply(origin, start, end, edits) for edits in (left, right))
        if left and right:
            pieces += _trim(mine, b"".join(origin[start:end]), other)
        else:
            pieces.append(b"".join(mine if left else other))
        done = end
    pieces.append(b"".join(origin[done:]))
    return [piece for piece in pieces if piece]


def _lines(text: bytes) -> list[bytes]:
    """Return the lines of a text with their ends; a lone carriage return ends none."""
    *lines, last = text.split(b"\n")
    return [*(line + b"\n" for line in lines), *([last] if last else [])]


def _group(left: list[_Edit], right: list[_Edit], *, touching: bool) -> Iterator[tuple[list[_Edit], list[_Edit]]]:
    """Yield the edits of both sides in order, grouped by place."""
    sides = (left, right)
    at = [0, 0]
    while at[0] < len(left) or at[1] < len(right):
        first = min((side[at[n]].start, side[at[n]].end, n) for n, side in enumerate(sides) if at[n] < len(side))[2]
        group: tuple[list[_Edit], list[_Edit]] = ([sides[first][at[first]]], []) if not first else ([], [right[at[1]]])
        at[first] += 1
        grown = True
        while grown:
            grown = False
            for n, side in enumerate(sides):
                while at[n] < len(side) and any(_meet(side[at[n]], edit, touching=touching) for edit in group[1 - n]):
                    group[n].append(side[at[n]])
                    at[n] += 1
                    grown = True
        yield group


def _meet(one: _Edit, other: _Edit, *, touching: bool) -> bool:
    """Return whether two edits concern the same place. An insertion at the edge of another edit always does."""
    if touching and one.start < one.end and other.start < other.end:
        return one.start < other.end and other.start < one.end
    return one.start <= other.end and other.start <= one.end


def _apply(origin: list[bytes], start: int, end: int, edits: list[_Edit]) -> list[bytes]:
    """Return the lines from `start` to `end` of one side."""
    lines: list[bytes] = []
    for edit in edits:
        lines += [*origin[start : edit.start], *edit.lines]
        start = edit.end
    return [*lines, *origin[start:end]]


def _trim(yours: list[bytes], before: bytes, theirs: list[bytes]) -> Pieces:
    """Remove the common lines at the beginning and end of a conflict."""
    if yours == theirs:
        return [b"".join(yours)]
    head, tail = _common(yours, theirs)
    mine, other = (b"".join(side[head : len(side) - tail]) for side in (yours, theirs))
    return [b"".join(yours[:head]), Conflict(mine, before, other), b"".join(yours[len(yours) - tail :])]


def _common(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return how many items two lists share at the beginning and at the end."""
    most = min(len(one), len(other))
    head = next((at for at in range(most) if one[at] != other[at]), most)
    return head, next((at for at in range(most - head) if one[-1 - at] != other[-1 - at]), most - head)


# --- edits of one side -----------------------------------------------------------------------------------------------


def _edits(origin: list[bytes], lines: list[bytes]) -> list[_Edit]:
    """Return the edits that turn `origin` into `lines`."""
    numbers: dict[bytes, int] = {}
    old, new = ([numbers.setdefault(line, len(numbers)) for line in text] for text in (origin, lines))
    edits: list[_Edit] = []
    i = j = 0
    for a, b, size in [*_matches(old, new), (len(old), len(new), 0)]:
        if a > i or b > j:
            edits.append(_Edit(i, a, lines[j:b]))
        i, j = a + size, b + size
    return _slide(edits, origin)


def _slide(edits: list[_Edit], origin: list[bytes]) -> list[_Edit]:
    """Move the edits down as far as possible, like git, so that both sides choose the same of equal lines."""
    result: list[_Edit] = []
    for start, end, lines in reversed(edits):
        new = list(lines)
        while True:
            limit = result[-1].start if result else len(origin)
            if end < limit and not new and origin[start] == origin[end]:
                start, end = start + 1, end + 1  # noqa: PLW2901  the edit itself moves
            elif end < limit and start == end and new[0] == origin[end]:
                new = [*new[1:], origin[end]]
                start, end = start + 1, end + 1  # noqa: PLW2901  the edit itself moves
            elif result and end == limit:
                _, end, more = result.pop()  # noqa: PLW2901  it has met the next one
                new += more
            else:
                break
        result.append(_Edit(start, end, new))
    return result[::-1]


def _matches(old: list[int], new: list[int]) -> list[tuple[int, int, int]]:
    """Return the runs of common lines, in order: both positions, and the length."""
    found: list[tuple[int, int, int]] = []
    open_ = [(0, len(old), 0, len(new))]
    steps = _STEPS
    while open_:
        a, b, c, d = open_.pop()
        head, tail = _common(old[a:b], new[c:d])
        found += [(a, c, head), (b - tail, d - tail, tail)]
        a, b, c, d = a + head, b - tail, c + head, d - tail
        if a == b or c == d:
            continue
        pairs, left = _myers(old[a:b], new[c:d], most := min(steps, _STEPS_AT_ONCE))
        steps -= most - left
        if pairs is not None:
            found += [(a + x, c + y, 1) for x, y in pairs]
            continue
        anchors = _anchors(old[a:b], new[c:d])
        ends = [(-1, -1), *anchors, (b - a, d - c)] if anchors else []
        found += [(a + x, c + y, 1) for x, y in anchors]
        open_ += [(a + x + 1, a + z, c + y + 1, c + w) for (x, y), (z, w) in pairwise(ends)]
    return _joined(sorted(run for run in found if run[2]))


def _joined(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join runs that are adjacent in both texts."""
    result: list[tuple[int, int, int]] = []
    for a, b, size in runs:
        if result and result[-1][0] + result[-1][2] == a and result[-1][1] + result[-1][2] == b:
            result[-1] = (*result[-1][:2], result[-1][2] + size)
        else:
            result.append((a, b, size))
    return result


def _myers(old: list[int], new: list[int], steps: int) -> tuple[list[tuple[int, int]] | None, int]:
    """Return the line pairs of a shortest edit script (Myers, 1986), and the remaining steps; None if too few."""
    reached = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(len(old) + len(new) + 1):
        history.append(dict(reached))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reached[k - 1] < reached[k + 1])
            x = start = reached[k + 1] if down else reached[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reached[k] = x
            steps -= x - start + 1
            if x >= len(old) and x - k >= len(new):
                return _walk_back(history, len(old), len(new)), steps
        if steps < 0:
            break
    return None, steps


def _walk_back(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """Return the pairs of equal lines on the path, from the end to the beginning."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reached, k = history[edits], x - y
        down = k == -edits or (k != edits and reached[k - 1] < reached[k + 1])
        before = k + 1 if down else k - 1
        then = reached[before]
        start = then if down else then + 1
        while x > start:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = then, then - before
    return pairs


def _anchors(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Return the lines that occur once in both texts, as many as are in the same order."""
    places: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for text, where in zip((old, new), places, strict=True):
        for at, line in enumerate(text):
            where[line] = -1 if line in where else at
    once = [(at, places[1][line]) for line, at in places[0].items() if at >= 0 and places[1].get(line, -1) >= 0]
    ends: list[int] = []
    """The last line, in the new text, of the best sequence of each length."""
    rows: list[tuple[int, int, int]] = []
    """An anchor, and the previous one in its sequence."""
    heads: list[int] = []
    for a, b in sorted(once):
        size = bisect_left(ends, b)
        ends[size : size + 1] = [b]
        heads[size : size + 1] = [len(rows)]
        rows.append((a, b, heads[size - 1] if size else -1))
    row: list[tuple[int, int]] = []
    at = heads[-1] if heads else -1
    while at >= 0:
        row.append(rows[at][:2])
        at = rows[at][2]
    return row[::-1]
