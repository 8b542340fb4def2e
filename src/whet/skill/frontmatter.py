"""Read a SKILL.md: the fences, the YAML between them, the body after them.

There are three steps, and the document says which one succeeded. *strict*: the block is YAML. *repaired*: top-level
`key: scalar` lines that are not valid YAML are quoted and the block is read again. *rescued*: each key is read on its
own, as text if nothing else works. A skill is never dropped because its frontmatter is broken; each deviation is a
diagnostic with its line.
"""

from __future__ import annotations

import re

from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.block import Block, BlockError, read_block
from whet.skill.repair import repair as repair  # noqa: PLC0414  re-exported
from whet.skill.repair import rescue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    from whet.skill.block import Values

MAX_DOCUMENT = 1024 * 1024
MAX_FRONTMATTER = 64 * 1024

Step: TypeAlias = 'Literal["none", "strict", "repaired", "rescued"]'
BOM = "\ufeff"


class Fences(NamedTuple):
    """The positions of the parts of a document, as offsets into its text."""

    start: int
    """First character of the block; -1 if there is no opening fence."""
    end: int
    body: int
    closed: bool


class Document(NamedTuple):
    """A parsed SKILL.md. `values` is shared, not copied: do not change it."""

    values: Values
    body: str
    step: Step
    lines: dict[str, int]
    """Lines in the file, from 1, by dotted path of a key."""
    texts: dict[str, str]
    """Original spelling by dotted path, for scalars that are not text."""
    diagnostics: tuple[Note, ...]
    body_line: int
    """First line of the body in the file."""


_OPEN = compile_late(r"---[ \t]*(?:\r?\n|\Z)")
_CLOSE = compile_late(r"\n---[ \t]*\r?(?:\n|\Z)")
_COMMENT = compile_late(r"[ \t]+#")
_UNCLOSED_END = compile_late(r"^[ \t]*\r?\n|^#|\Z", re.MULTILINE)


def decode(data: bytes) -> tuple[str, tuple[Note, ...]]:
    """Decode a file; an invalid byte is replaced and reported."""
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        note = Note(
            "invalid-utf8",
            "warning",
            f"Byte 0x{data[error.start]:02x} is not UTF-8 and is replaced.",
            "Save the file as UTF-8.",
            line=line,
        )
        return data.decode("utf-8", "replace"), (note,)


def find_fences(text: str) -> Fences:
    """Locate the frontmatter. An unclosed block ends at the first blank line or heading; the rest is body."""
    begin = 1 if text.startswith(BOM) else 0
    opening = _OPEN.match(text, begin)
    if opening is None:
        return Fences(-1, -1, begin, closed=True)
    start = opening.end()
    if closing := _CLOSE.search(text, start - 1):
        return Fences(start, max(start, closing.start() + 1), closing.end(), closed=True)
    unclosed = _UNCLOSED_END.search(text, start)
    end = unclosed.start() if unclosed else len(text)
    return Fences(start, end, end, closed=False)


def read_document(source: bytes | str) -> Document:
    """Read a whole SKILL.md. Never raises because of content: see the diagnostics and the step."""
    text, notes = decode(source) if isinstance(source, bytes) else (source, ())
    fences = find_fences(text)
    if fences.start < 0:
        missing = Note(
            "no-frontmatter",
            "warning",
            "The file does not start with a --- line, so it has no name or description.",
            "Start the file with frontmatter: ---, name, description, ---.",
            line=1,
        )
        return Document({}, text[fences.body :], "none", {}, {}, (*notes, missing), 1)
    block, step, block_notes = _read_steps(text, fences)
    lines = {key: line + 1 for key, line in block.lines.items()}
    body_line = text.count("\n", 0, fences.body) + 1
    return Document(block.values, text[fences.body :], step, lines, block.texts, (*notes, *block_notes), body_line)


def read_changed(text: str, before: str, document: Document) -> Document:
    """Read a changed text; `document` is that of `before`, and unchanged frontmatter is not read again."""
    fences = find_fences(before)
    head = before[: fences.body]
    if fences.closed and head.endswith("\n") and text.startswith(head):
        return document._replace(body=text[fences.body :])
    return read_document(text)


def _read_steps(text: str, fences: Fences) -> tuple[Block, Step, tuple[Note, ...]]:
    raw = text[fences.start : fences.end]
    block_text = raw.replace("\r\n", "\n") if "\r" in raw else raw
    notes: list[Note] = []
    step: Step = "strict"
    if not fences.closed:
        notes.append(
            Note(
                "unclosed-frontmatter",
                "error",
                "The frontmatter starts with --- but is never closed.",
                "Add a --- line after the last key.",
                line=1,
            )
        )
    if len(block_text) > MAX_FRONTMATTER:
        notes.append(
            Note(
                "frontmatter-too-large",
                "error",
                f"The frontmatter has {len(block_text):,} characters; the limit is {MAX_FRONTMATTER:,}.",
                "Move long text into the body or a file under references/.",
                line=1,
            )
        )
        block, step = rescue(block_text[:MAX_FRONTMATTER]), "rescued"
    else:
        try:
            block = read_block(block_text)
        except BlockError as error:
            block, step = _recover(block_text)
            notes.append(_recovered(error, step))
    for key, line in block.duplicates:
        message = f"The key {key} appears twice; the last one is used."
        notes.append(Note("duplicate-key", "warning", message, "Remove one of the two.", line=line + 1))
    if "#" in block_text:
        notes.extend(_comments(block_text, block))
    return block, step, tuple(notes)


def _comments(text: str, block: Block) -> Iterator[Note]:
    """Yield notes about a `#` in the name or description that began a comment; restore a value that is only that."""
    rows = text.split("\n")
    for key in ("name", "description"):
        if key not in block.lines:
            continue
        line, value = block.lines[key], block.values[key]
        written = rows[line - 1].partition(":")[2].strip()
        if value is None and written.startswith("#"):
            block.values[key] = written
            block.texts.pop(key, None)
            message = f"YAML reads the {key} as a comment; it is kept as text."
        elif isinstance(value, str) and written.startswith(value) and _COMMENT.match(written, len(value)):
            message = f"YAML reads the end of the {key} as a comment: {written[len(value) :].strip()[:60]}"
        else:
            continue
        yield Note("comment-as-value", "warning", message, f"Put the {key} in quotes.", line=line + 1)


def _recovered(error: BlockError, step: Step) -> Note:
    line = error.line + 1 if error.line else None
    if step == "repaired":
        hint = "Quote the value, or run `whet skill validate NAME --fix`."
        return Note(
            "yaml-repaired",
            "warning",
            f"The frontmatter is not valid YAML ({error}); Whet reads it with quoted values.",
            hint,
            line=line,
        )
    return Note(
        "yaml-rescued",
        "error",
        f"The frontmatter is not valid YAML ({error}); Whet kept the entries it could read.",
        "Fix the YAML on that line.",
        line=line,
    )


def _recover(text: str) -> tuple[Block, Step]:
    if found := read_repaired(text):
        return found[1], "repaired"
    return rescue(text), "rescued"


def read_repaired(text: str) -> tuple[str, Block] | None:
    """Return the mildest repair of a block that makes it YAML, with the same number of lines, and its values."""
    for deep in (False, True):
        repaired = repair(text, deep=deep)
        if repaired != text:
            try:
                return repaired, read_block(repaired)
            except BlockError:
                continue
    return None
