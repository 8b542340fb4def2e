"""Where the entries of a frontmatter block stand, to the row and column.

The parser's own marks say it, so that whatever YAML allows (text blocks, folded plain text, nested lists, comments) is
found the way YAML reads it. An entry ends where its last word does: blank rows and comments behind it belong to nobody,
save for comments that are indented like the items of a list or mapping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str, ...]
"""The key of an entry: one part at the top level, two below it."""


class Entry(NamedTuple):
    """One key and its value; rows and columns are counted from 0 within the block."""

    first: int
    last: int
    column: int
    """Of the key."""
    colon: int
    """The column behind the colon."""
    start: int
    """The column the value starts at, in whichever row."""
    end: int
    """The column behind the value, in the last row."""
    below: bool
    """The value starts in a row below its key."""
    style: str
    """How the value is written: `"` `'` `|` `>`; `[` or `{` in brackets; `-` or `:` one item per row; `?` when the
    key does not stand alone at the start of its row; empty when plain."""


def locate(block: str) -> dict[Path, Entry] | None:
    """Every entry of the two upper levels of a valid block with LF line ends; None when it is one flow mapping."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events = yaml.parse(block, Loader=loader)
    next(events)  # stream start
    if isinstance(next(events), yaml.StreamEndEvent):
        return {}
    root = next(events)
    if getattr(root, "flow_style", False):
        return None
    locator = _Locator(block, events)
    locator.node(root, ())
    return locator.entries


class _Locator:
    """Walks the parse events once and notes the entries."""

    def __init__(self, block: str, events: Iterator[Any]) -> None:
        self.block = block
        self.rows = block.split("\n")
        self.events = events
        self.entries: dict[Path, Entry] = {}

    def node(self, event: Any, path: Path | None) -> int:
        """Read one node to its end and say where that is; `path` is None below what is noted."""
        from yaml import events

        start: int = event.start_mark.index
        end: int = event.end_mark.index
        if isinstance(event, events.ScalarEvent):
            return self._text_end(start, end) if event.style in ("|", ">") else end
        if not isinstance(event, events.CollectionStartEvent):
            return end
        noted = path is not None and len(path) < 2 and not event.flow_style
        mapping = isinstance(event, events.MappingStartEvent)
        while not isinstance(item := next(self.events), events.CollectionEndEvent):
            end = self.node(item, None)
            if mapping:
                value = next(self.events)
                if noted and path is not None and isinstance(item, events.ScalarEvent):
                    child = (*path, item.value)
                    end = max(end, self.node(value, child))
                    self.entries[child] = self._entry(item, value, end)
                else:
                    end = max(end, self.node(value, None))
        return _end(item) if event.flow_style else end

    def _entry(self, key: Any, value: Any, end: int) -> Entry:
        first, column = self._place(key.start_mark.index)
        row, colon = self._place(self.block.find(":", key.end_mark.index) + 1)
        start_row, start = self._place(value.start_mark.index)
        last, behind = self._place(end)
        begin = key.start_mark.index - column
        alone = row == first and not self.block[begin : begin + column].strip(" ")
        style = _style(value) if alone else "?"
        if style in ("-", ":"):
            last = self._comments_end(last, column)
        return Entry(first, max(first, last), column, colon, start, behind, start_row > first, style)

    def _place(self, index: int) -> tuple[int, int]:
        return self.block.count("\n", 0, index), index - (self.block.rfind("\n", 0, index) + 1)

    def _comments_end(self, last: int, column: int) -> int:
        """The last of the comments that follow a row and are indented deeper than a column."""
        for number in range(last + 1, len(self.rows)):
            row = self.rows[number].lstrip(" ")
            if row.startswith("#") and len(self.rows[number]) - len(row) > column:
                last = number
            elif row:
                break
        return last

    def _text_end(self, start: int, end: int) -> int:
        """Blank rows behind a text block belong to it only where its header keeps them."""
        text = self.block[start:end]
        header = text.partition("\n")[0].partition("#")[0]
        return start + len(text.removesuffix("\n") if "+" in header else text.rstrip(" \n"))


def _end(event: Any) -> int:
    index: int = event.end_mark.index
    return index


def _style(event: Any) -> str:
    from yaml import events

    if isinstance(event, events.ScalarEvent):
        return event.style or ""
    if isinstance(event, events.SequenceStartEvent):
        return "[" if event.flow_style else "-"
    if isinstance(event, events.MappingStartEvent):
        return "{" if event.flow_style else ":"
    return ""
