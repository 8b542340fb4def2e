"""Bringing two changes of one text together, line by line; where both changed the same place, nobody guesses."""

from __future__ import annotations

from typing import NamedTuple


class _Edit(NamedTuple):
    start: int
    end: int
    lines: tuple[str, ...]


def merged(base: str, ours: str, theirs: str) -> str | None:
    """`base` with the changes of both; None where the two changed the same lines, or inserted at the same place."""
    origin = base.splitlines(keepends=True)
    result: list[str] = []
    last: _Edit | None = None
    for edit in sorted({*_edits(origin, ours), *_edits(origin, theirs)}):
        at = last.end if last else 0
        inserts = edit.start == edit.end or (last is not None and last.start == last.end)
        if edit.start < at or (last is not None and edit.start == at and inserts):
            return None
        result.extend(origin[at : edit.start])
        result.extend(edit.lines)
        last = edit
    return "".join([*result, *origin[last.end if last else 0 :]])


def _edits(origin: list[str], text: str) -> list[_Edit]:
    from difflib import SequenceMatcher

    lines = text.splitlines(keepends=True)
    codes = SequenceMatcher(None, origin, lines, autojunk=False).get_opcodes()
    return [_Edit(a, b, tuple(lines[c:d])) for tag, a, b, c, d in codes if tag != "equal"]
