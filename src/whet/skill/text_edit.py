"""Shared parts of editors that change structured text in place, for any format.

*Parsed values at a path*: an edit is made on the text and, separately, on the parsed value; the new text must then
parse to the new value.

*Members between brackets*: JSON objects and arrays, and flow collections of YAML. Only positions matter: a `Frame`
locates the brackets and the members, and everything between them is white space, commas and comments. A new member is
written like its siblings: on its own line with their indentation, or on theirs. `remove_member` restores exactly the
text that `insert_member` was given. An empty pair of brackets is therefore opened over three lines; one that was
already open keeps an empty line, which tells the two apart afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.patterns import compile_late
from whet.records import NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

Path = tuple[str | int, ...]
"""Keys of mappings and indexes of items."""

NEWLINE = compile_late(r"\r?\n")
_BLANKS = compile_late(r"[ \t]*")
_SPACE = compile_late(r"[ \t\r\n]*")


class UnsupportedLayout(Exception):  # noqa: N818 - a reason, which every caller turns into its own error
    """Why a text is not edited: the end of a sentence."""


def newline_of(text: str) -> str:
    """Return the line end of this text."""
    found = NEWLINE.search(text)
    return found.group() if found else "\n"


# --- parsed values --------------------------------------------------------------------------------------------------


def value_at(value: Any, path: Path) -> Any:
    """Return the value at the path, or None."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def with_value(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of the value with another value at the path; an index one past the end appends."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = [] if value is None else value
        inner = items[step] if step < len(items) else None
        return [*items[:step], with_value(inner, rest, new), *items[step + 1 :]]
    table = {} if value is None else value
    return {**table, step: with_value(table.get(step), rest, new)}


def without_value(value: Any, path: Path) -> Any:
    """Return a copy of the value without the entry at the path."""
    step, rest = path[0], path[1:]
    if rest:
        return with_value(value, (step,), without_value(value[step], rest))
    if isinstance(step, int):
        return [*value[:step], *value[step + 1 :]]
    return {key: item for key, item in value.items() if key != step}


def same(one: Any, other: Any) -> bool:
    """Return whether two parsed values are equal, with the same types at every level; a NaN equals itself."""
    pairs = [([one], [other])]
    while pairs:
        a, b = pairs.pop()
        for item, twin in zip(a, b, strict=True):
            if type(item) is not type(twin):
                return False
            if isinstance(item, dict):
                if item.keys() != twin.keys():
                    return False
                pairs.append((list(item.values()), [twin[key] for key in item]))
            elif isinstance(item, list):
                if len(item) != len(twin):
                    return False
                pairs.append((item, twin))
            elif item != twin and not (item != item and twin != twin):  # a NaN is not equal to itself
                return False
    return True


# --- members between brackets ---------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """A pair of brackets in a text."""

    opened: int
    """Offset after the opening bracket."""
    closed: int
    """Offset of the closing bracket."""
    members: tuple[tuple[int, int], ...]
    """Start and end of each member, without commas and space."""


class Style(NamedTuple):
    """The style of the file around the brackets."""

    comment: re.Pattern[str]
    newline: str = "\n"
    unit: str = "  "
    """One step of indentation."""
    gap: str = " "
    """Space after a comma on the same line."""
    open_up: bool = False
    """Whether the first member of an empty pair gets its own line."""


def insert_member(text: str, frame: Frame, style: Style, render: Callable[[str | None], str]) -> str:
    """Return the text with a member after the last one; `render` writes it at an indentation, or (None) on one line."""
    if not frame.members:
        return _insert_first(text, frame, style, render)
    last_start, last_end = frame.members[-1]
    comma = _comma(text, last_end, frame.closed, style.comment)
    behind = last_end if comma is None else comma + 1
    at, broken = _comments_of_line(text, behind, frame.closed, style.comment)
    indent = _own_line(text, last_start)
    if indent is None and not broken:
        gap = style.gap
        if len(frame.members) > 1:
            before = text[frame.members[-2][1] : last_start].partition(",")[2]
            gap = before if not before.strip(" \t") else gap
        body = gap + render(None)
    else:
        if indent is None:
            indent = line_indent(text, frame.opened) + style.unit
        at = _blank_tail(text, at)
        body = style.newline + indent + render(indent)
    if comma is None:
        return text[:last_end] + "," + text[last_end:at] + body + text[at:]
    return text[:at] + body + "," + text[at:]


def remove_member(text: str, frame: Frame, style: Style, index: int) -> str:
    """Return the text without a member, its comma and its own line."""
    start, end = frame.members[index]
    last = index == len(frame.members) - 1
    comma = _comma(text, end, frame.closed if last else frame.members[index + 1][0], style.comment)
    stop = end
    cuts = []
    if comma is not None:
        if text[end:comma].strip(" \t\r\n"):
            cuts.append((comma, comma + 1))
        else:
            stop = comma + 1
    elif index:
        before = _comma(text, frame.members[index - 1][1], start, style.comment)
        if before is not None:
            cuts.append((before, before + 1))
    if len(frame.members) == 1 and not (text[frame.opened : start] + text[stop : frame.closed]).strip():
        cuts.append(_cut_of_only(text, frame, start, stop))
    elif _own_line(text, start) is not None:
        line_break, rest = _break_before(text, start), _rest_of_line(text, stop, frame.closed, style.comment)
        gap = frame.members[index - 1][1] if index else frame.opened
        ends = [found.end() for found in style.comment.finditer(text, gap, start) if not found.group().startswith("/*")]
        joined = ends[-1:] == [line_break] and NEWLINE.match(text, rest) is None
        cuts.append((start if joined else line_break, rest))
    elif index or last:
        cuts.append((_back_over_blanks(text, start), stop))
    else:
        cuts.append((start, _skip(_BLANKS, text, stop)))
    for a, b in sorted(cuts, reverse=True):
        text = text[:a] + text[b:]
    return text


def line_indent(text: str, at: int) -> str:
    """Return the white space at the start of the line of this offset."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : _skip(_BLANKS, text, start)]


def skip_space(text: str, at: int) -> int:
    """Return the offset of the next character that is not white space."""
    return _skip(_SPACE, text, at)


def _insert_first(text: str, frame: Frame, style: Style, render: Callable[[str | None], str]) -> str:
    inside = text[frame.opened : frame.closed]
    outer = line_indent(text, frame.opened)
    indent = outer + style.unit
    at = frame.opened
    comments = list(style.comment.finditer(text, frame.opened, frame.closed))
    if comments:
        at = comments[-1].end()
        if "\n" in inside:
            at = _blank_tail(text, at)
            body = style.newline + indent + render(indent)
        else:
            body = " " + render(None)
    elif "\n" in inside:
        body = style.newline + indent + render(indent) + style.newline
    elif inside:
        body = " " + render(None)
    elif style.open_up:
        body = style.newline + indent + render(indent) + style.newline + outer
    else:
        body = render(None)
    return text[:at] + body + text[at:]


def _cut_of_only(text: str, frame: Frame, start: int, stop: int) -> tuple[int, int]:
    """Return the range to cut for the only member of a pair of brackets without comments."""
    if "\n" not in text[frame.opened : start]:
        return frame.opened, stop
    if text.count("\n", stop, frame.closed) < 2:
        return frame.opened, frame.closed
    return frame.opened, text.index("\n", stop) + 1


def _comma(text: str, start: int, end: int, comment: re.Pattern[str]) -> int | None:
    """Return the offset of the comma in a gap between members."""
    at = start
    while (at := skip_space(text, at)) < end:
        if text[at] == ",":
            return at
        found = comment.match(text, at, end)
        if found is None:
            return None
        at = found.end()
    return None


def _comments_of_line(text: str, at: int, end: int, comment: re.Pattern[str]) -> tuple[int, bool]:
    """Return the offset after the comments on the same line, and whether the last one needs a line break."""
    broken = False
    while found := comment.match(text, _skip(_BLANKS, text, at), end):
        at, broken = found.end(), not found.group().startswith("/*")
    return at, broken


def _rest_of_line(text: str, at: int, end: int, comment: re.Pattern[str]) -> int:
    """Return the end of the line if only blanks and comments follow on it, otherwise the same offset."""
    after, _ = _comments_of_line(text, at, end, comment)
    tail = _blank_tail(text, after)
    return tail if NEWLINE.match(text, tail) and "\n" not in text[at:tail] else at


def _blank_tail(text: str, at: int) -> int:
    """Return the end of the line if only blanks follow on it, otherwise the same offset."""
    end = _skip(_BLANKS, text, at)
    return end if NEWLINE.match(text, end) else at


def _own_line(text: str, start: int) -> str | None:
    """Return the indentation of a member that is the first thing on its line, else None."""
    line = text.rfind("\n", 0, start) + 1
    indent = text[line:start]
    return indent if line and not indent.strip(" \t") else None


def _break_before(text: str, start: int) -> int:
    """Return the offset of the line break before the line of this offset."""
    line = text.rfind("\n", 0, start)
    return line - 1 if text[line - 1 : line] == "\r" else line


def _back_over_blanks(text: str, at: int) -> int:
    while at and text[at - 1] in " \t":
        at -= 1
    return at


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
