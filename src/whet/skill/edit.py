"""Changing one value of a SKILL.md and not one other byte.

The frontmatter is never written from its values: the rows of one entry are found and replaced, the rest is copied.
Order, comments, quoting, blank rows, line ends and the byte order mark survive because nothing touches them. Every
result is read again before it is returned; when it does not say exactly what was asked, and all that was there
before, the edit is refused with `cannot-edit`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.skill import spelling
from whet.skill.frontmatter import Document, find_fences, read_document, read_repaired
from whet.skill.layout import Entry, Path, locate
from whet.skill.spelling import Value, quote

__all__ = ["Value", "line_end", "move_key", "quote", "remove_key", "replace_body", "set_value"]

_ROW = re.compile(r"[^\n]*\n|[^\n]+\Z")
_HEADER_COMMENT = re.compile(r"(?:[ \t]+[|>][-+0-9]*)?([ \t]+#.*)")


class _Sheet(NamedTuple):
    """A document laid out for editing."""

    document: Document
    before: str
    rows: list[str]
    """The block as written, line ends included."""
    read: list[str]
    """The same rows as YAML accepts them, without line ends; they differ only where the block was repaired."""
    after: str
    end: str
    """The line end of the file."""
    entries: dict[Path, Entry]


def set_value(text: str, key: str, value: Value) -> str:
    """The text with `key` (top-level, or `parent.child`) set to `value`.

    A key that is there keeps its place, its inline comment, and its quoting style where the new value allows it. A new
    one goes behind the last key, a description behind the name, a child behind the last child of its parent.
    """
    sheet = _lay_out(text)
    return _set(sheet, _path(sheet, key), value)


def remove_key(text: str, key: str) -> str:
    """The text without that entry; unchanged when there is none. The last child takes its parent with it."""
    sheet = _lay_out(text)
    path = _path(sheet, key)
    if path in sheet.entries:
        return _remove(sheet, path)
    held = sheet.document.values.get(path[0])
    if len(path) == 2 and isinstance(held, dict) and path[1] in held:
        raise _not_by_rows(path[0])
    return text


def move_key(text: str, key: str, parent: str, value: str) -> str:
    """The text with a top-level key, if it is there, moved below `parent` as `value`, comment and quotes with it."""
    sheet = _lay_out(text)
    if (key,) not in sheet.entries:
        return text
    copied = _set(sheet, (parent, key), value, _comment(sheet, (key,)), sheet.entries[(key,)].style)
    return _remove(_lay_out(copied), (key,))


def replace_body(text: str, body: str) -> str:
    """The text with another body, in the line ends of the file; a final newline the text had is kept."""
    document, fences, end = read_document(text), find_fences(text), line_end(text)
    if end == "\r\n":
        body = body.replace("\r\n", "\n").replace("\n", end)
    if body and text.endswith("\n") and not body.endswith("\n"):
        body += end
    before = text[: fences.body]
    if body and fences.start >= 0 and not before.endswith("\n"):
        before += end
    return _checked(before + body, document, document.values, body=body)


# --- the layout -----------------------------------------------------------------------------------------------------


def _lay_out(text: str) -> _Sheet:
    document, fences, end = read_document(text), find_fences(text), line_end(text)
    if fences.start < 0:
        mark = text[: fences.body]
        return _Sheet(document, f"{mark}---{end}", [], [], f"---{end}{text[fences.body :]}", end, {})
    if document.step == "rescued":
        raise _refusal("its YAML is too broken to tell the entries apart", "Correct the YAML by hand first.")
    before, raw = text[: fences.start], text[fences.start : fences.end]
    block = raw.replace("\r\n", "\n")
    if document.step == "repaired" and (repaired := read_repaired(block)):
        block = repaired[0]
    entries = locate(block)
    if entries is None:
        raise _refusal("it is written in braces", "Write one key per line first.")
    if not before.endswith("\n"):
        before += end
    rows, read = _ROW.findall(raw), block.split("\n")
    if document.step == "repaired":
        entries = {path: _as_written(entry, rows, read) for path, entry in entries.items()}
    return _Sheet(document, before, rows, read, text[fences.end :], end, entries)


def _as_written(entry: Entry, rows: list[str], read: list[str]) -> Entry:
    """An entry of a repaired block: it owns the rows that the repair joined to it, and its quotes are not its own."""
    last = entry.last
    while last + 1 < len(rows) and not read[last + 1] and rows[last + 1].strip():
        last += 1
    quoted = entry.style in ("'", '"') and rows[entry.first].rstrip("\r\n") != read[entry.first]
    return entry._replace(last=last, style="" if quoted else entry.style)


def line_end(text: str) -> str:
    """The line end of a file: that of its first row."""
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _path(sheet: _Sheet, key: str) -> Path:
    path: Path = (key,)
    if path not in sheet.entries and "." in key:
        parent, _, child = key.partition(".")
        path = (parent, child)
    if not all(path) or ("." in path[-1] and path not in sheet.entries):
        raise UsageError(
            "key-unusable",
            f"{key!r} does not name a key of the frontmatter.",
            hint="Name a top-level key such as description, or one below it such as metadata.version.",
        )
    return path


def _comment(sheet: _Sheet, path: Path) -> str:
    """The comment beside a value, with the space before it; one that was taken for the value is none."""
    entry = sheet.entries[path]
    row = sheet.read[entry.first]
    if entry.first == entry.last:
        empty = entry.colon == entry.end
        taken = empty and len(path) == 1 and sheet.document.values[path[0]] is not None
        return "" if taken else row[entry.end :]
    header = _HEADER_COMMENT.fullmatch(row[entry.colon :])
    return header[1] if header else ""


# --- the edits ------------------------------------------------------------------------------------------------------


def _set(sheet: _Sheet, path: Path, value: Value, comment: str = "", style: str = "") -> str:
    above: list[str] = []
    if entry := sheet.entries.get(path):
        _editable(entry, path)
        at, until = entry.first, entry.last + 1
        lead, column = sheet.read[at][: entry.colon], entry.column
        comment, style = _comment(sheet, path), entry.style
        gap = "" if entry.below else sheet.read[at][entry.colon : entry.start]
    else:
        at, until, above, column = _slot(sheet, path)
        lead, gap = f"{' ' * column}{quote(path[-1])}:", " "
    below = " " * (entry.start if entry and style == "-" and isinstance(value, list) else column + 2)
    values = dict(sheet.document.values)
    values[path[0]] = value if len(path) == 1 else {**(values.get(path[0]) or {}), path[1]: value}
    spelled = spelling.spell(value, style, below)
    start = f"{lead}{gap or ' '}"
    try:
        first = f"{start}{spelled[0]}{comment}" if spelled[0] else f"{lead}{comment}"
        return _write(sheet, at, until, [*above, first, *spelled[1:]], path, values)
    except InvalidError:
        if len(spelled) == 1 or not isinstance(value, str):
            raise
        # An indented comment below would become part of a text block, but never of one row.
        return _write(sheet, at, until, [*above, f"{start}{quote(value)}{comment}"], path, values)


def _slot(sheet: _Sheet, path: Path) -> tuple[int, int, list[str], int]:
    """Where a new entry goes: the rows it replaces, the rows that come before it, its column."""
    entries = sheet.entries
    tops = [entry for key, entry in entries.items() if len(key) == 1]
    column = min((entry.column for entry in tops), default=0)
    parent = entries.get(path[:1]) if len(path) == 2 else None
    if parent is None:
        behind = [entries[("name",)]] if path == ("description",) and ("name",) in entries else tops
        at = max((entry.last + 1 for entry in behind), default=len(sheet.rows))
        return (at, at, [], column) if len(path) == 1 else (at, at, [f"{' ' * column}{quote(path[0])}:"], column + 2)
    if parent.style == ":":
        children = [entry for key, entry in entries.items() if len(key) == 2 and key[0] == path[0]]
        at = max(entry.last for entry in children) + 1
        return at, at, [], children[0].column
    held = sheet.document.values[path[0]]
    if held is not None and held != {}:
        raise _not_by_rows(path[0])
    _editable(parent, path[:1])
    heading = sheet.read[parent.first][: parent.colon] + _comment(sheet, path[:1])
    return parent.first, parent.last + 1, [heading], parent.column + 2


def _remove(sheet: _Sheet, path: Path) -> str:
    values = dict(sheet.document.values)
    if len(path) == 2 and len(values[path[0]]) == 1:
        path = path[:1]
    entry = sheet.entries[path]
    _editable(entry, path)
    if len(path) == 1:
        del values[path[0]]
    else:
        values[path[0]] = {key: value for key, value in values[path[0]].items() if key != path[1]}
    return _write(sheet, entry.first, entry.last + 1, [], path, values)


def _write(sheet: _Sheet, at: int, until: int, rows: list[str], path: Path, values: dict[str, Any]) -> str:
    """The document with some rows replaced, once it is known to say what it should."""
    lines = [*sheet.rows[:at], *(row + sheet.end for row in rows), *sheet.rows[until:]]
    if sheet.rows and not sheet.rows[-1].endswith("\n"):
        lines = [line if line.endswith("\n") else line + sheet.end for line in lines]
        lines[-1:] = [line.rstrip("\r\n") for line in lines[-1:]]
    text = "".join((sheet.before, *lines, sheet.after))
    return _checked(text, sheet.document, values, body=sheet.document.body, path=path)


# --- the promise ----------------------------------------------------------------------------------------------------


def _checked(text: str, before: Document, values: dict[str, Any], *, body: str, path: Path = ()) -> str:
    after = read_document(text)
    kept = (
        after.step in (before.step, "strict")
        and after.body == body
        and _same(after.values, values)
        and _others(after.texts, path) == _others(before.texts, path)
    )
    if not kept:
        hint = "Run `whet validate --fix` first." if before.step == "repaired" else "Edit the file by hand."
        raise _refusal("the result would not read back as the same values", hint)
    return text


def _others(texts: dict[str, str], path: Path) -> dict[str, str]:
    """The spellings of all numbers and booleans that the edit is not about."""
    mine = ".".join(path)
    return {key: text for key, text in texts.items() if key not in (mine, *path[:1]) and not key.startswith(f"{mine}.")}


def _same(one: Any, other: Any) -> bool:
    """Equal in type as well: to Python, but not to a reader, 1 is true and 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _editable(entry: Entry, path: Path) -> None:
    if entry.style == "?":
        raise _refusal(f"the key {'.'.join(path)} does not stand alone on its row", "Write one key per line first.")


def _not_by_rows(key: str) -> InvalidError:
    return _refusal(f"{key} is not a mapping with one key per line", f"Write {key} with one key per line first.")


def _refusal(reason: str, hint: str) -> InvalidError:
    return InvalidError("cannot-edit", f"The frontmatter cannot be edited: {reason}.", hint=hint)
