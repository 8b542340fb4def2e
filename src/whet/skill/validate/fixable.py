"""What can be fixed without changing the meaning of a skill: the rules announce a fix by it, `fixes` applies it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whet.patterns import compile_late
from whet.skill.coerce import split_tools, words
from whet.skill.frontmatter import Document, decode, find_fences

if TYPE_CHECKING:
    from whet.skill.block import Values
    from whet.skill.model import Skill

KEYS = frozenset(("name", "description", "license", "compatibility", "metadata", "allowed-tools"))
"""The six keys of the specification."""
_WORDS = frozenset(("tags", "tools_required", "tools_optional"))
"""Lists of words, which read the same as one text below metadata."""
MAX_ENTRIES = 64
"""Entries of one kind that are fixed in a file; a file with more is generated and left alone."""

_BRACES = compile_late(r"""^[ \t]*["']?metadata["']?[ ]*:\s*[{&*!]""", re.MULTILINE)
_PROBES = ("word", "true", "false", "fork")
"""Values that matter wherever a client expects a word, a flag or a context."""


def written(document: Document, *path: str) -> str | None:
    """Return a scalar as its author wrote it; None for null, lists, mappings, and unknown spellings."""
    value: Any = document.values
    for part in path:
        value = value.get(part)
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, list | dict):
        return None
    return document.texts.get(".".join(path))


def swallowed(document: Document, key: str) -> bool:
    """Return whether YAML reads the whole text as a comment; the reader kept it, strict clients see nothing."""
    value, line = document.values.get(key), document.lines.get(key)
    return (
        isinstance(value, str)
        and value.startswith("#")
        and any(note.code == "comment-as-value" and note.line == line for note in document.diagnostics)
    )


def movable(document: Document, text: str | bytes) -> tuple[str, ...]:
    """Return the unknown top-level keys that can be moved below metadata without changing how the skill reads."""
    values = document.values
    metadata = values.get("metadata") or {}
    if not isinstance(metadata, dict) or not _by_rows(document, text):
        return ()
    keys = [key for key in values if key not in KEYS and key not in metadata and as_text(document, key) is not None]
    keys = [key for key in keys if _indifferent(key)] if len(keys) <= MAX_ENTRIES else []
    if not keys:
        return ()
    if not metadata and all(
        isinstance(values[key], str) or key == "tags" for key in keys
    ):  # `as_text` has read the tags
        others = tuple(key for key in values if key not in KEYS and key not in keys)
        return tuple(keys) if _indifferent_together(tuple(keys), others) else ()
    kept = {key: value for key, value in values.items() if key not in keys}
    moved = {**kept, "metadata": {**metadata, **{key: as_text(document, key) for key in keys}}}
    return tuple(keys) if _meaning(document) == _meaning(document._replace(values=moved)) else ()


def as_text(document: Document, key: str) -> str | None:
    """Return a value as one text below metadata: a scalar, or a list of words joined with commas."""
    value = document.values.get(key)
    if isinstance(value, list) and value and key in _WORDS:
        items = [item for item in value if isinstance(item, str)]
        line = ", ".join(items)
        return line if items == value and words(line, separators=",") == tuple(items) else None
    return written(document, key)


def quotable(document: Document, text: str | bytes) -> tuple[str, ...]:
    """Return the keys of metadata whose values are numbers or booleans and can be written as text."""
    metadata = document.values.get("metadata")
    if not isinstance(metadata, dict) or not _by_rows(document, text):
        return ()
    keys = [key for key, value in metadata.items() if not isinstance(value, str)]
    keys = [key for key in keys if key and written(document, "metadata", key) is not None]
    return tuple(keys) if len(keys) <= MAX_ENTRIES else ()


def joined_tools(tools: Any) -> str:
    """Return a list of tool grants as the one string of the specification; empty if it would not read the same."""
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        return ""
    line = " ".join(tools)
    return line if split_tools(line) == tuple(tools) else ""


def _by_rows(document: Document, text: str | bytes) -> bool:
    """Return whether entries of metadata are separate: one per row, without duplicates."""
    if any(note.code == "duplicate-key" for note in document.diagnostics):
        return False
    head = text[: len(text) - len(document.body)]
    head = decode(head)[0] if isinstance(head, bytes) else head
    if "metadata" not in head:
        return True
    fences = find_fences(head)
    return not _BRACES.search(head, fences.start, fences.end)


@lru_cache(maxsize=512)
def _indifferent(key: str) -> bool:
    """Return whether clients find a key below metadata as well as at the top level, or in neither place."""
    nothing = Document({}, "", "strict", {}, {}, (), 1)
    return all(
        _meaning(nothing._replace(values={key: probe})) == _meaning(nothing._replace(values={"metadata": {key: probe}}))
        for probe in _PROBES
    )


@lru_cache(maxsize=512)
def _indifferent_together(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether these keys can be moved below metadata while the others stay: one may replace another."""
    nothing = Document({}, "", "strict", {}, {}, (), 1)
    moved, kept = ({key: f"{key} {_PROBES[0]}" for key in group} for group in (keys, others))
    after: Values = {**kept, "metadata": {**moved}}
    return _meaning(nothing._replace(values={**kept, **moved})) == _meaning(nothing._replace(values=after))


def _meaning(document: Document) -> Skill:
    """Return everything that a skill says in its frontmatter, in any spelling."""
    from whet.skill.dialects import read_skill

    return read_skill(document._replace(body=""))._replace(step="strict", diagnostics=(), frontmatter={})
