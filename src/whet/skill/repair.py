"""Repair frontmatter that is not YAML line by line, or rescue what can be read.

Both work on *entries*: a line that begins with a key, and the following lines up to the next key. An entry that is
valid YAML on its own is never changed, so that one broken line affects only itself.
"""

from __future__ import annotations

from whet.patterns import compile_late
from whet.skill.block import Block, BlockError, read_block, resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from whet.skill.block import Values

_ENTRY = compile_late(r"""(?P<key>["']?[A-Za-z_][\w.-]*["']?)[ \t]*:(?![/:])""")
_KEY_LINE = compile_late(r"(?P<indent>[ \t]*(?:-[ ]+)?)(?P<key>[A-Za-z_][\w.-]*):(?P<gap>[ \t]+)(?P<value>\S.*)")
_ITEM_LINE = compile_late(r"(?P<indent>[ \t]*-[ ]+)(?P<value>\S.*)")
_BLOCK_SCALAR = compile_late(r"[|>][-+0-9]*[ \t]*(?:#.*)?")
_QUOTED = compile_late(r'"(?:[^"\\]|\\.)*"')
_CONFLICT = compile_late(r"(?:<{7}|={7}|>{7}|\|{7})(?:[ ].*)?")
_HARMLESS = compile_late(r"[A-Za-z0-9][\w ./()-]*")
"""Values that are always valid YAML, so that they need not be parsed."""
_TEXT_KEYS = frozenset(("name", "description"))
"""Keys whose value is text even if it looks like a list."""
_MAX_FAILURES = 200
"""Parse errors after which YAML is no longer asked: thousands of broken lines must not cost seconds."""


class _Patience:
    """Parses pieces of a block, and stops after too many errors."""

    __slots__ = ("failures",)

    def __init__(self) -> None:
        self.failures = 0

    def read(self, rows: list[str]) -> Block | None:
        if not self.spent:
            try:
                return read_block("\n".join(rows))
            except BlockError:
                self.failures += 1
        return None

    @property
    def spent(self) -> bool:
        return self.failures >= _MAX_FAILURES


def repair(text: str, *, deep: bool = False) -> str:
    """Quote the scalars that YAML would misread, line by line; `deep` also quotes below the top level."""
    out: list[str] = []
    patience = _Patience()
    for _, rows in _entries(text):
        out.extend(rows if patience.read(rows) else _repair_rows(rows, patience, deep=deep))
    return "\n".join(out)


def rescue(text: str) -> Block:
    """Read a block entry by entry; as a last resort, the text after a key's first colon."""
    values: Values = {}
    lines: dict[str, int] = {}
    texts: dict[str, str] = {}
    duplicates: list[tuple[str, int]] = []
    patience = _Patience()
    without_marks = "\n".join("" if _CONFLICT.fullmatch(row) else row for row in text.split("\n"))
    for start, rows in _entries(without_marks):
        block = _read_entry(rows, patience)
        for key in values.keys() & block.values.keys():
            duplicates.append((key, start + block.lines[key]))
            _forget(key, values[key], lines, texts)
        values.update(block.values)
        lines.update((path, start + line) for path, line in block.lines.items())
        texts.update(block.texts)
    return Block(values, lines, texts, tuple(duplicates))


def _forget(key: str, value: Any, *records: dict[str, int] | dict[str, str]) -> None:
    """Drop the records of a value that a later one replaces."""
    below = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for record in records:
        for path in (key, *(f"{key}.{name}" for name in below)):
            record.pop(path, None)


def _entries(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the entries of a block, each with the number of lines before it."""
    rows = text.split("\n")
    start = 0
    for at, row in enumerate(rows):
        if at > start and _ENTRY.match(row):
            yield start, rows[start:at]
            start = at
    yield start, rows[start:]


def _repair_rows(rows: list[str], patience: _Patience, *, deep: bool) -> list[str]:
    """Return the rows of one entry, in the same number, with invalid scalars quoted."""
    if patience.spent:
        return rows
    rows = [_spaces(row) for row in rows]
    if found := _ENTRY.match(rows[0]):
        value = rows[0][found.end() :]
        if _QUOTED.fullmatch(value):
            value = "'" + value[1:-1].replace("'", "''") + "'"  # not YAML, so its escapes are plain text
        rows[0] = f"{found['key']}: {value.lstrip()}".rstrip()
    if patience.read(rows):
        return rows
    out: list[str] = []
    while len(out) < len(rows):
        at = len(out)
        row = rows[at]
        found = _KEY_LINE.fullmatch(row) or (_ITEM_LINE.fullmatch(row) if deep else None)
        if found is None or (found["indent"] and not deep):
            out.append(row)
            continue
        key = found.groupdict().get("key", "")
        value = found["value"].rstrip()
        end = _extent(rows, at + 1, value, len(found["indent"]))
        harmless = _BLOCK_SCALAR.fullmatch(value) or (end == at + 1 and _HARMLESS.fullmatch(value))
        if harmless or patience.read([f"key: {value}", *rows[at + 1 : end]]):
            out.extend(rows[at:end])
        else:
            rest = [piece for row in rows[at + 1 : end] if (piece := row.strip())]
            out.append(f"{row[: found.start('value')]}{_quote(key, value, rest)}")
            out.extend("" for _ in range(at + 1, end))
    return out


def _spaces(row: str) -> str:
    stripped = row.lstrip("\t ")
    return row[: len(row) - len(stripped)].replace("\t", "  ") + stripped


def _extent(rows: list[str], at: int, value: str, indent: int) -> int:
    """Return the end of the value that begins on the row before `at`: the first row that is not indented more."""
    end = at
    for number in range(at, len(rows)):
        row = rows[number]
        if not (piece := row.lstrip(" ")):
            continue
        listed = value.startswith("- ") and piece.startswith("- ")
        closing = value[0] in "[{" and piece[0] in "]}"
        if len(row) - len(piece) <= indent and not listed and not closing:
            break
        end = number + 1
    return end


def _quote(key: str, value: str, rest: list[str]) -> str:
    """Return the value in unambiguous YAML: a list or a mapping if it is one, else text in quotes."""
    whole = " ".join((value, *rest))
    if key not in _TEXT_KEYS:
        if value.startswith("- ") and rest and all(piece.startswith("- ") for piece in rest):
            return f"[{', '.join(_single(piece[2:].strip()) for piece in (value, *rest))}]"
        if structure := _structure(whole):
            return structure
    return _single(whole)


def _single(text: str) -> str:
    """Return text in single quotes, without its existing pair of quotes or an unclosed one."""
    mark = text[:1]
    count = text.count(mark)
    if (mark == '"' and count <= 2) or (mark == "'" and count == 2):
        text = text.replace(mark, "")
    return "'" + text.replace("'", "''") + "'"


def _structure(text: str) -> str:
    """Return JSON, even with its last brackets missing, or a list of plain words, as valid YAML; else ""."""
    import json

    if text[0] not in "[{":
        return ""
    for candidate in (text, text + "}" * (text.count("{") - text.count("}"))):
        try:
            return json.dumps(json.loads(candidate), ensure_ascii=False)
        except (ValueError, RecursionError):
            continue
    items = _items(text)
    return f"[{', '.join(_single(item) for item in items)}]" if items else ""


def _items(text: str) -> list[str]:
    """Return the items of a list in brackets that has only words; none for anything else."""
    if text[0] != "[" or text[-1] != "]":
        return []
    items: list[str] = []
    depth, start, quote = 0, 1, ""
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'" and not text[start:at].strip():
            quote = letter
        elif letter in "[]":
            depth += 1 if letter == "[" else -1
        if (depth == 0) != (at == len(text) - 1):
            return []
        if depth == 0 or (depth == 1 and letter == "," and not quote):
            items.append(text[start:at].strip())
            start = at + 1
    return [item for item in items if item]


def _read_entry(rows: list[str], patience: _Patience) -> Block:
    core = _core(rows)
    for candidate in (rows, core):
        block = patience.read(candidate) or patience.read(_repair_rows(candidate, patience, deep=True))
        if block:
            return block
    return _read_plain(core)


def _core(rows: list[str]) -> list[str]:
    """Return the rows up to the first empty one that is not followed by an indented row: the rest is prose."""
    for at, row in enumerate(rows[1:], 1):
        if row and not row[0].isspace() and not rows[at - 1].strip():
            return rows[:at]
    return rows


def _read_plain(rows: list[str]) -> Block:
    found = _ENTRY.match(rows[0])
    if found is None:
        return Block({}, {}, {})
    key = found["key"].strip("\"'")
    rows = [rows[0][found.end() :], *(row for row in rows[1:] if not row.startswith("#"))]
    pieces = [piece for row in rows if (piece := row.strip().strip("\0"))]
    if pieces and _BLOCK_SCALAR.fullmatch(pieces[0]):
        del pieces[0]
    text = " ".join(pieces[:1] if key == "name" else pieces)
    quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
    value = text[1:-1] if quoted else resolve_plain(text)
    return Block({key: value}, {key: 1}, {} if isinstance(value, str) else {key: text})
