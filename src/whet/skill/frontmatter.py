"""Reading a SKILL.md: the fences, the YAML between them, the body after them.

Three steps, and the document says which one succeeded. *strict*: the block is YAML. *repaired*: top-level `key: scalar`
lines that YAML stumbles over are quoted and the block is read again. *rescued*: what looks like `key: value` is taken
line by line. A skill is never dropped because its frontmatter is broken; each departure is a diagnostic with its line.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from whet.skill.block import Block, BlockError, read_block, resolve_plain
from whet.skill.diagnostics import Diagnostic

MAX_DOCUMENT = 1024 * 1024
MAX_FRONTMATTER = 64 * 1024

Step = Literal["none", "strict", "repaired", "rescued"]
BOM = "\ufeff"


class Fences(NamedTuple):
    """Where the parts of a document lie, as offsets into its text."""

    start: int
    """First character of the block; -1 when there is no opening fence."""
    end: int
    body: int
    closed: bool


class Document(NamedTuple):
    """A SKILL.md taken apart. `values` is shared, not copied: read it, do not write it."""

    values: dict[str, Any]
    body: str
    step: Step
    lines: dict[str, int]
    """Dotted path of a key -> its line in the file, counted from 1."""
    texts: dict[str, str]
    """Dotted path -> the scalar as written, where YAML made something else than text of it."""
    diagnostics: tuple[Diagnostic, ...]
    body_line: int
    """Line of the file on which the body begins."""


_OPEN = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_CLOSE = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_UNCLOSED_END = re.compile(r"^[ \t]*\r?\n|^#|\Z", re.MULTILINE)


def decode(data: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """The text of a file, an invalid byte replaced and reported."""
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        note = Diagnostic(
            "invalid-utf8",
            "warning",
            f"Byte 0x{data[error.start]:02x} is not UTF-8 and was replaced.",
            line,
            "Save the file as UTF-8.",
        )
        return data.decode("utf-8", "replace"), (note,)


def find_fences(text: str) -> Fences:
    """Locate the frontmatter. An unclosed block ends at the first blank line or heading; the rest stays body."""
    begin = 1 if text.startswith(BOM) else 0
    opening = _OPEN.match(text, begin)
    if opening is None:
        return Fences(-1, -1, begin, closed=True)
    start = opening.end()
    if closing := _CLOSE.search(text, start):
        return Fences(start, closing.start(), closing.end(), closed=True)
    unclosed = _UNCLOSED_END.search(text, start)
    end = unclosed.start() if unclosed else len(text)
    return Fences(start, end, end, closed=False)


def read_document(source: bytes | str) -> Document:
    """Read a whole SKILL.md. Never raises on content: see the diagnostics and the step."""
    text, notes = decode(source) if isinstance(source, bytes) else (source, ())
    fences = find_fences(text)
    if fences.start < 0:
        missing = Diagnostic(
            "no-frontmatter",
            "warning",
            "The file does not begin with a --- line, so it has no name or description of its own.",
            1,
            "Begin the file with frontmatter: ---, name, description, ---.",
        )
        return Document({}, text[fences.body :], "none", {}, {}, (*notes, missing), 1)
    block, step, block_notes = _read_steps(text, fences)
    body_line = text.count("\n", 0, fences.body) + 1
    return Document(
        block.values, text[fences.body :], step, block.lines, block.texts, (*notes, *block_notes), body_line
    )


def _read_steps(text: str, fences: Fences) -> tuple[Block, Step, tuple[Diagnostic, ...]]:
    raw = text[fences.start : fences.end]
    block_text = raw.replace("\r\n", "\n") if "\r" in raw else raw
    notes: list[Diagnostic] = []
    step: Step = "strict"
    if not fences.closed:
        notes.append(
            Diagnostic(
                "unclosed-frontmatter",
                "error",
                "The frontmatter is opened with --- and never closed.",
                1,
                "Add a line --- after the last key.",
            )
        )
    if len(block_text) > MAX_FRONTMATTER:
        notes.append(
            Diagnostic(
                "frontmatter-too-large",
                "error",
                f"The frontmatter has {len(block_text):,} characters; at most {MAX_FRONTMATTER:,} are read.",
                1,
                "Move long text into the body or a file under references/.",
            )
        )
        block, step = _rescue(block_text[:MAX_FRONTMATTER]), "rescued"
    else:
        try:
            block = read_block(block_text)
        except BlockError as error:
            block, step = _recover(block_text)
            notes.append(_recovered(error, step))
    notes.extend(
        Diagnostic("duplicate-key", "warning", f"The key {key} is given twice; the later one counts.", line + 1)
        for key, line in block.duplicates
    )
    values = block.values
    for key in ("name", "description"):
        if key in values and values[key] is None and (text := _swallowed(block_text, block.lines[key])):
            values[key] = text
            block.texts.pop(key, None)
            hint = f"Put the {key} in quotes."
            notes.append(
                Diagnostic(
                    "comment-as-value", "warning", f"YAML reads the {key} as a comment.", block.lines[key] + 1, hint
                )
            )
    lines = {key: line + 1 for key, line in block.lines.items()}
    return block._replace(lines=lines), step, tuple(notes)


def _swallowed(text: str, line: int) -> str:
    """The value an author wrote after a `#`, which YAML takes for a comment."""
    value = text.split("\n")[line - 1].partition(":")[2].strip()
    return value if value.startswith("#") else ""


def _recovered(error: BlockError, step: Step) -> Diagnostic:
    line = error.line + 1 if error.line else None
    if step == "repaired":
        hint = "Put the value in quotes; `whet validate --fix` does it."
        return Diagnostic(
            "yaml-repaired", "warning", f"The frontmatter is not valid YAML ({error}); values were quoted.", line, hint
        )
    return Diagnostic(
        "yaml-rescued",
        "error",
        f"The frontmatter is not valid YAML ({error}); only plain `key: value` lines were kept.",
        line,
        "Correct the YAML at that line.",
    )


def _recover(text: str) -> tuple[Block, Step]:
    for deep in (False, True):
        repaired = repair(text, deep=deep)
        if repaired != text:
            try:
                return read_block(repaired), "repaired"
            except BlockError:
                continue
    return _rescue(text), "rescued"


# --- repair ---------------------------------------------------------------------------------------------------------

_KEY_LINE = re.compile(r"(?P<indent>[ \t]*(?:-[ ]+)?)(?P<key>[A-Za-z_][\w.-]*):(?P<gap>[ \t]+)(?P<value>\S.*)")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*[ \t]*(?:#.*)?")
_STUMBLES = re.compile(r":(?:\s|$)|\s#|^[\[\]{}@`%&*!,?|>\"'#-]")


def repair(text: str, *, deep: bool = False) -> str:
    """Quote the scalars YAML would misread, line for line; `deep` also quotes below the top level."""
    out: list[str] = []
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        row = _spaces(rows[at])
        at += 1
        found = _KEY_LINE.fullmatch(row)
        if found is None or (found["indent"] and not deep):
            out.append(row)
            continue
        indent = len(found["indent"])
        end = at
        while end < len(rows) and rows[end].strip() and _indent(rows[end]) > indent:
            end += 1
        value = found["value"].rstrip()
        if _BLOCK_SCALAR.fullmatch(value):
            out.extend((row, *rows[at:end]))
            at = end
            continue
        rest = [piece.strip() for piece in rows[at:end]]
        if _STUMBLES.search(value) or any(_STUMBLES.search(piece) for piece in rest):
            out.append(f"{row[: found.start('value')]}{_quote(value, rest)}")
            out.extend("" for _ in rest)
            at = end
        else:
            out.append(row)
    return "\n".join(out)


def _spaces(row: str) -> str:
    stripped = row.lstrip("\t ")
    return row[: len(row) - len(stripped)].replace("\t", "  ") + stripped


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))


def _quote(value: str, rest: list[str]) -> str:
    """The scalar as YAML reads it without doubt. A value that is JSON keeps its structure, one in quotes its quotes."""
    import json

    whole = " ".join((value, *rest))
    if whole[0] in "[{":
        try:
            return json.dumps(json.loads(whole), ensure_ascii=False)
        except ValueError:
            pass
    if whole[0] in "\"'" and whole.count(whole[0]) == 2:
        whole = whole[1:].replace(whole[0], "")
    return "'" + whole.replace("'", "''") + "'"


# --- rescue ---------------------------------------------------------------------------------------------------------

_RESCUE_LINE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:[ \t]*(.*)")


def _rescue(text: str) -> Block:
    """First-colon `key: value` lines; indented lines that follow belong to the value before them."""
    pieces: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    current: list[str] | None = None
    for number, row in enumerate(text.split("\n"), 1):
        found = _RESCUE_LINE.fullmatch(row)
        if found:
            current = pieces[found[1]] = []
            lines[found[1]] = number
        piece = (found[2] if found else row).strip().strip("\0")
        if current is not None and piece and not (found and _BLOCK_SCALAR.fullmatch(piece)):
            current.append(piece)
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for key, rows in pieces.items():
        text = " ".join(rows)
        quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
        values[key] = text[1:-1] if quoted else resolve_plain(text)
        if not isinstance(values[key], str):
            texts[key] = text
    return Block(values, lines, texts)
