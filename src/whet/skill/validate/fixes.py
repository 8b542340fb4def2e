"""Safe fixes: they change how a skill is written, never what it says.

Every value that was read before is read afterwards, at its place or below metadata; only an invalid name is replaced by
the name of the directory. Each step edits rows through `edit`, so that all other bytes stay. A step that would break
this rule for a text leaves it alone, and the finding stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import InvalidError, WhetError
from whet.skill.edit import line_end, move_key, set_value
from whet.skill.frontmatter import BOM, find_fences, read_document, read_repaired
from whet.skill.validate import validate
from whet.skill.validate.fixable import as_text, joined_tools, movable, quotable, swallowed, written
from whet.skill.validate.spec import name_findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.notes import Note
    from whet.skill.validate.input import ValidationInput

_TEXTS = ("name", "description", "license", "compatibility")


def fix(package: ValidationInput) -> tuple[str, tuple[Note, ...]]:
    """Return the main file with every safe fix applied, and the findings that this resolves."""
    text = _decoded(package.text)
    before = validate(package, "quality")
    text = _ended(_quoted(_closed(text.removeprefix(BOM))))
    text = _metadata(_tools(_moved(_named(_texts(text), package.directory))))
    left = {(finding.code, finding.message) for finding in validate(package._replace(text=text), "quality")}
    return text, tuple(finding for finding in before if (finding.code, finding.message) not in left)


def _decoded(text: str | bytes | None) -> str:
    if text is None:
        raise InvalidError("cannot-fix", "There is no SKILL.md to fix.", hint="Create one with `whet new`.")
    try:
        return text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"Byte {error.start} of the file is not UTF-8; rewriting the file would lose it."
        raise InvalidError("cannot-fix", message, hint="Save the file as UTF-8 first.") from error


def _tried(edit: Callable[..., str], text: str, *arguments: str) -> str:
    """Return the edited text, or the text itself if the edit is refused; its finding then stays."""
    try:
        return edit(text, *arguments)
    except WhetError:
        return text


def _closed(text: str) -> str:
    fences, document = find_fences(text), read_document(text)
    if fences.closed or document.step == "rescued":
        return text
    end, head = line_end(text), text[: fences.end]
    gap = "" if head.endswith("\n") else end
    closed = f"{head}{gap}---{end}{text[fences.end :]}"
    after = read_document(closed)
    return closed if (after.values, after.body) == (document.values, document.body) else text


def _quoted(text: str) -> str:
    """Return a repaired block as it was read, without the rows that the repair joined to the previous one."""
    document, fences = read_document(text), find_fences(text)
    raw = text[fences.start : fences.end]
    repaired = read_repaired(raw.replace("\r\n", "\n")) if document.step == "repaired" else None
    if repaired is None:
        return text
    rows: list[str] = []
    for old, new in zip(raw.split("\n"), repaired[0].split("\n"), strict=True):
        if new or not old.strip():
            rows.append(new + "\r" * old.endswith("\r"))
    quoted = text[: fences.start] + "\n".join(rows) + text[fences.end :]
    after = read_document(quoted)
    kept = after.step == "strict" and (after.values, after.texts) == (document.values, document.texts)
    return quoted if kept else text


def _texts(text: str) -> str:
    document = read_document(text)
    for key in _TEXTS:
        said = written(document, key)
        if said is not None and (not isinstance(document.values[key], str) or swallowed(document, key)):
            text = _tried(set_value, text, key, said)
    return text


def _named(text: str, directory: str) -> str:
    document = read_document(text)
    if document.step in ("strict", "repaired") and any(
        finding.severity == "error" and finding.fix for finding in name_findings(directory, document)
    ):
        return _tried(set_value, text, "name", directory)
    return text


def _moved(text: str) -> str:
    document = read_document(text)
    for key in movable(document, text):
        text = _tried(move_key, text, key, "metadata", as_text(document, key) or "")
    return text


def _tools(text: str) -> str:
    line = joined_tools(read_document(text).values.get("allowed-tools"))
    return _tried(set_value, text, "allowed-tools", line) if line else text


def _metadata(text: str) -> str:
    document = read_document(text)
    for key in quotable(document, text):
        text = _tried(set_value, text, f"metadata.{key}", written(document, "metadata", key) or "")
    return text


def _ended(text: str) -> str:
    return text + line_end(text) if text and not text.endswith("\n") else text
