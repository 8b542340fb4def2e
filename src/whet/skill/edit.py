"""Change one value of a SKILL.md and no other byte.

`yaml_edit` edits the block between the fences; this module knows the fences, the repairs of broken YAML, and the checks
afterwards. Every result is read again before it is returned; if it does not say exactly what was asked, and everything
that was there before, the edit is refused with `cannot-edit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill import yaml_edit
from whet.skill.frontmatter import Document, find_fences, read_document, read_repaired
from whet.skill.text_edit import UnsupportedLayout, same, value_at, with_value, without_value

if TYPE_CHECKING:
    from whet.skill.block import Values

Value = str | bool | int | list[str]
Keys = tuple[str, ...]

_ROW = compile_late(r"[^\n]*\n|[^\n]+\Z")


class _Sheet(NamedTuple):
    """A document prepared for editing."""

    document: Document
    before: str
    block: str
    """The block as written."""
    after: str
    end: str
    """Line end of the file."""
    tree: yaml_edit.YamlText
    """The block as YAML accepts it, which differs from `block` only if it was repaired."""

    @property
    def repaired(self) -> bool:
        return self.document.step == "repaired"


def set_value(text: str, key: str, value: Value) -> str:
    """Return the text with `key` (top-level, or `parent.child` at any depth) set to `value`.

    An existing key keeps its place, its inline comment, and its quoting style if the new value allows it. A new key is
    added after the last key, a description after the name, a child after the last child of its parent.
    """
    return change_value(text, read_document(text), key, value)[0]


def change_value(text: str, document: Document, key: str, value: Value) -> tuple[str, Document]:
    """Like `set_value` for a text that was already read; also return the document of the result."""
    sheet = _lay_out(text, document)
    return _set(sheet, _path(sheet, key), value)


def remove_key(text: str, key: str) -> str:
    """Return the text without that entry; unchanged if it is missing. Removing the last child removes its parent."""
    sheet = _lay_out(text, read_document(text))
    path = _path(sheet, key)
    return _remove(sheet, path) if _depth(sheet, path) == len(path) else text


def move_key(text: str, key: str, parent: str, value: str) -> str:
    """Return the text with a top-level key, if any, moved below `parent` as `value`, with its comment and quotes."""
    sheet = _lay_out(text, read_document(text))
    if key not in sheet.document.values:
        return text
    try:
        comment, style = yaml_edit.entry_layout(sheet.tree, (key,))
    except UnsupportedLayout as reason:
        raise _refusal(str(reason)) from None
    return _remove(_lay_out(*_set(sheet, (parent, key), value, comment, style)), (key,))


def replace_body(text: str, body: str) -> str:
    """Return the text with another body, with the line ends of the file; a final newline is kept."""
    document, fences, end = read_document(text), find_fences(text), line_end(text)
    if end == "\r\n":
        body = body.replace("\r\n", "\n").replace("\n", end)
    if body and text.endswith("\n") and not body.endswith("\n"):
        body += end
    before = text[: fences.body]
    if body and fences.start >= 0 and not before.endswith("\n"):
        before += end
    return _checked(before + body, document, document.values, body=body)[0]


def line_end(text: str) -> str:
    """Return the line end of a file: that of its first line."""
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


# --- the layout -----------------------------------------------------------------------------------------------------


def _lay_out(text: str, document: Document) -> _Sheet:
    fences, end = find_fences(text), line_end(text)
    if fences.start < 0:
        before, block, after = f"{text[: fences.body]}---{end}", "", f"---{end}{text[fences.body :]}"
    else:
        before, block, after = text[: fences.start], text[fences.start : fences.end], text[fences.end :]
    if document.step == "rescued":
        raise _refusal("its YAML is too damaged to tell the entries apart", "Fix the YAML by hand first.")
    readable = block
    if document.step == "repaired" and (repaired := read_repaired(block.replace("\r\n", "\n"))):
        readable = repaired[0]
    if not before.endswith("\n"):
        before += end
    tree = yaml_edit.read_nodes(readable, "\n" if document.step == "repaired" else end)._replace(later_counts=True)
    return _Sheet(document, before, block, after, end, tree)


def _path(sheet: _Sheet, key: str) -> Keys:
    """Return the keys of a dotted name; an existing key that contains dots is found, too."""
    path: Keys = ()
    held: Any = sheet.document.values
    rest = key
    while not (isinstance(held, dict) and rest in held) and "." in rest:
        first, _, rest = rest.partition(".")
        path = (*path, first)
        held = value_at(held, (first,))
    path = (*path, rest)
    if not all(path):
        raise UsageError(
            "key-unusable",
            f"{key!r} is not a frontmatter key.",
            hint="Name a top-level key such as description, or a nested one such as metadata.version.",
        )
    return path


def _depth(sheet: _Sheet, path: Keys) -> int:
    """Return how many of the keys exist."""
    held: Any = sheet.document.values
    for depth, key in enumerate(path):
        if not isinstance(held, dict) or key not in held:
            return depth
        held = held[key]
    return len(path)


# --- the edits ------------------------------------------------------------------------------------------------------


def _set(sheet: _Sheet, path: Keys, value: Value, comment: str = "", style: str = "") -> tuple[str, Document]:
    depth = _depth(sheet, path)
    parent = path[:depth]
    if depth < len(path) and not isinstance(value_at(sheet.document.values, parent), dict | None):
        raise _refusal(f"{'.'.join(parent)} is not a mapping", f"Write {parent[-1]} with one key per line first.")
    try:
        if depth == len(path):
            block = yaml_edit.replace(
                sheet.tree, path, value, style=_own_style(sheet, path), comment=_taken(sheet, path)
            )
        else:
            after = "name" if path == ("description",) else ""
            block = yaml_edit.insert(sheet.tree, parent, path[depth:], value, after=after, style=style, comment=comment)
    except UnsupportedLayout as reason:
        raise _refusal(str(reason)) from None
    return _written(sheet, block, path, with_value(sheet.document.values, path, value))


def _remove(sheet: _Sheet, path: Keys) -> str:
    while len(path) > 1 and len(value_at(sheet.document.values, path[:-1])) == 1:
        path = path[:-1]
    try:
        block = yaml_edit.remove(sheet.tree, path)
    except UnsupportedLayout as reason:
        raise _refusal(str(reason)) from None
    return _written(sheet, block, path, without_value(sheet.document.values, path))[0]


def _own_style(sheet: _Sheet, path: Keys) -> str | None:
    """Return the style for the value: that of the old one (None), but not quotes that only the repair added."""
    if not sheet.repaired:
        return None
    row = _row(sheet, path)
    return "" if _ROW.findall(sheet.block)[row].rstrip("\r\n") != sheet.tree.text.split("\n")[row] else None


def _row(sheet: _Sheet, path: Keys) -> int:
    return sheet.tree.text.count("\n", 0, yaml_edit.span(sheet.tree, path)[0])


def _taken(sheet: _Sheet, path: Keys) -> str | None:
    """Return "" if a comment was read as the value; else None, to keep the comment."""
    start, end = yaml_edit.span(sheet.tree, path)
    return "" if start == end and value_at(sheet.document.values, path) is not None else None


def _written(sheet: _Sheet, block: str, path: Keys, values: Values) -> tuple[str, Document]:
    """Return the document with another block, checked to say what it should."""
    if sheet.repaired:
        block = _as_written(sheet, block, _row(sheet, path) if _depth(sheet, path) == len(path) else -1)
    text = sheet.before + block + sheet.after
    return _checked(text, sheet.document, values, body=sheet.document.body, path=path)


def _as_written(sheet: _Sheet, block: str, row: int) -> str:
    """Return an edited block in which every row that the edit did not change is as written, not as repaired.

    The edit of `row` counts as a change even if the result equals the repair.
    """
    rows, old, new = _ROW.findall(sheet.block), sheet.tree.text.split("\n"), block.split("\n")
    most = min(len(old), len(new))
    at = next((n for n in range(most) if old[n] != new[n] or n == row), most)
    behind = next((n for n in range(most - at) if old[-1 - n] != new[-1 - n] or len(old) - 1 - n == row), most - at)
    until, start = len(old) - behind, at
    while until < len(rows) and not old[until] and rows[until].strip():  # the repair joined this row to the one above
        until += 1
        start += at == len(old) - behind
    changed = [row + sheet.end for row in new[at : len(new) - behind]]
    if until >= len(rows) and changed and rows and not rows[-1].endswith("\n"):
        changed[-1] = changed[-1].rstrip("\r\n")
    return "".join((*rows[:start], *changed, *rows[until:]))


# --- checks ---------------------------------------------------------------------------------------------------------


def _checked(text: str, before: Document, values: Values, *, body: str, path: Keys = ()) -> tuple[str, Document]:
    after = read_document(text)
    kept = (
        after.step in (before.step, "strict")
        and after.body == body
        and same(after.values, values)
        and _others(after.texts, path) == _others(before.texts, path)
    )
    if not kept:
        hint = "Run `whet skill validate NAME --fix` first." if before.step == "repaired" else "Edit the file by hand."
        raise _refusal("the result would not read back as the same values", hint)
    return text, after


def _others(texts: dict[str, str], path: Keys) -> dict[str, str]:
    """Return the spellings of all numbers and booleans that the edit does not affect."""
    mine = ".".join(path)
    above = [".".join(path[:depth]) for depth in range(1, len(path) + 1)]
    return {key: text for key, text in texts.items() if key not in above and not key.startswith(f"{mine}.")}


def _refusal(reason: str, hint: str = "Write one key per line first.") -> InvalidError:
    return InvalidError("cannot-edit", f"The frontmatter cannot be edited: {reason}.", hint=hint)
