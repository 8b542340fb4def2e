"""The profile `spec`: agentskills.io, with the verdict of the reference validator.

If the specification requires more than the reference validator checks (metadata is a map of strings, allowed-tools a
string, compatibility not empty), the finding is a warning, so that the verdict stays the same. If the reference
validator misreads a file, this one follows the specification; the conformance test lists every such case with its
reason.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from whet.notes import Note
from whet.skill.finder import MAIN_FILE, MAIN_FILES
from whet.skill.frontmatter import BOM, Document
from whet.skill.model import MAX_DESCRIPTION
from whet.skill.names import is_ascii_name, spec_problems
from whet.skill.paths import shown, unportable
from whet.skill.validate.fixable import KEYS, joined_tools, movable, quotable, swallowed, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.notes import Severity
    from whet.skill.validate.input import ValidationInput

_ACCEPTED = MAIN_FILES[:2]
"""Main files that the reference validator reads."""
_REQUIRED = frozenset(("name", "description"))
MAX_COMPATIBILITY = 500

_QUOTES = "Puts the value in quotes."
_NOTE_FIXES = {
    "unclosed-frontmatter": "Closes the frontmatter with a --- line.",
    "yaml-repaired": "Quotes the values as Whet reads them.",
    "comment-as-value": _QUOTES,
}

_OF_CLIENTS = frozenset(("argument-hint", "arguments", "when_to_use"))
"""Top-level keys that several clients read, and that `whet distill` writes on request."""
_DIALECT = frozenset(("version", "tags", "author"))
"""Top-level keys of several dialects that harm no client; metadata is the better place."""
_KNOWN = "name, description, license, compatibility, metadata, allowed-tools"


def missing(package: ValidationInput) -> Note:
    """Return the finding about a package without a main file."""
    other = f"; {package.main} is not a main file" if package.text is not None else ""
    return Note("skill-md-missing", "error", f"There is no {MAIN_FILE}{other}.")


def check(package: ValidationInput, document: Document) -> list[Note]:
    """Return every finding of the specification."""
    found = [*_file(package, document), *_files(package)]
    if document.step in ("none", "rescued"):
        return found
    if not KEYS.issuperset(document.values):
        found.extend(_unknown(package, document))
    found.extend(name_findings(package.directory, document))
    found.extend(_description(document))
    if not _REQUIRED.issuperset(document.values):
        found.extend(_optional(package, document))
    return found


def _file(package: ValidationInput, document: Document) -> Iterator[Note]:
    if package.main != MAIN_FILE:
        severity: Severity = "warning" if package.main in _ACCEPTED else "error"
        yield Note("main-file-name", severity, f"The main file is named {package.main}, not {MAIN_FILE}.")
    text = package.text
    if text and (text.startswith(BOM) if isinstance(text, str) else text.startswith(BOM.encode())):
        yield Note(
            "byte-order-mark", "warning", "The file starts with a byte order mark.", line=1, fix="Removes the mark."
        )
    for note in document.diagnostics:
        yield _from_reading(note, document)


def _files(package: ValidationInput) -> Iterator[Note]:
    for path, what in unportable(package.files):
        yield Note("path-not-portable", "warning", f"The file {shown(path)} {what}.")


def _from_reading(note: Note, document: Document) -> Note:
    """Return a diagnostic of the reader as an error; a comment that leaves part of the value is a warning."""
    fix = _NOTE_FIXES.get(note.code, "") if document.step != "rescued" else ""
    if note.code == "comment-as-value" and not any(
        document.lines.get(key) == note.line and swallowed(document, key) for key in ("name", "description")
    ):
        return Note(note.code, "warning", note.message, line=note.line)
    return Note(note.code, "error", note.message, line=note.line, fix=fix)


def _unknown(package: ValidationInput, document: Document) -> Iterator[Note]:
    moved = movable(document, package.text or "")
    for key in document.values:
        if key not in KEYS:
            fix = f"Moves the key to metadata.{key}." if key in moved else ""
            if key in _DIALECT:
                message = f"The key {key!r} is not in the specification; write it as metadata.{key}."
                yield Note("dialect-key", "warning", message, line=document.lines.get(key), fix=fix)
                continue
            if key in _OF_CLIENTS:
                message = f"The key {key!r} is not in the specification. Some clients read it; strict ones reject it."
                yield Note("dialect-key", "warning", message, line=document.lines.get(key))
                continue
            message = f"The key {key!r} is not in the specification, which has {_KNOWN}."
            yield Note("unknown-key", "error", message, line=document.lines.get(key), fix=fix)


def name_findings(directory: str, document: Document) -> Iterator[Note]:
    """Yield findings about the name. Every error with a fix is fixed by using the name of the directory."""
    name = written(document, "name")
    if name == document.values.get("name") and name == directory and is_ascii_name(directory):
        return
    line = document.lines.get("name")
    usable = directory and directory == directory.strip() and not spec_problems(directory)
    fix = f"Sets the name to {directory!r}." if usable else ""
    if name is None and document.values.get("name") is None:
        yield Note("name-missing", "error", "There is no name.", line=line, fix=fix)
    elif name is None:
        yield Note("name-refused", "error", "The name is not text.", line=line)
    else:
        if not isinstance(document.values["name"], str):
            yield Note("name-not-text", "warning", f"The name is not text; read as {name!r}.", line=line, fix=_QUOTES)
        for problem in spec_problems(name):
            yield Note(problem.code, "error", problem.message, line=line, fix=fix)
        if directory and _nfkc(name.strip()) != _nfkc(directory):
            message = f"The name {name!r} differs from the directory {directory!r}."
            yield Note("name-directory-mismatch", "error", message, line=line, fix=fix)


def _description(document: Document) -> Iterator[Note]:
    line = document.lines.get("description")
    description = written(document, "description")
    if description is None and document.values.get("description") is not None:
        yield Note("description-refused", "error", "The description is not text.", line=line)
    elif not description or not description.strip():
        yield Note("description-missing", "error", "There is no description.", line=line)
    else:
        if not isinstance(document.values["description"], str):
            message = f"The description is not text; read as {description!r}."
            yield Note("description-not-text", "warning", message, line=line, fix=_QUOTES)
        if len(description) > MAX_DESCRIPTION:
            message = f"The description has {len(description):,} characters; the limit is {MAX_DESCRIPTION:,}."
            yield Note("description-too-long", "error", message, line=line)


def _optional(package: ValidationInput, document: Document) -> Iterator[Note]:
    values, lines = document.values, document.lines
    if "compatibility" in values:
        text = written(document, "compatibility")
        if values["compatibility"] is None or text == "":
            message = "The compatibility field is empty."
            yield Note("compatibility-empty", "warning", message, line=lines["compatibility"])
        yield from _text(document, "compatibility", "error")
        if text and len(text) > MAX_COMPATIBILITY:
            message = f"The compatibility field has {len(text):,} characters; the limit is {MAX_COMPATIBILITY}."
            yield Note("compatibility-too-long", "error", message, line=lines["compatibility"])
    yield from _text(document, "license", "warning")
    tools = values.get("allowed-tools")
    if tools is not None and not isinstance(tools, str):
        fix = "Writes the tools as one string." if joined_tools(tools) else ""
        message = "The allowed-tools field is not a space-separated string."
        yield Note("allowed-tools-not-text", "warning", message, line=lines["allowed-tools"], fix=fix)
    metadata = values.get("metadata")
    if isinstance(metadata, dict):
        others = [key for key, value in metadata.items() if not isinstance(value, str)]
        quoted = quotable(document, package.text or "") if others else ()
        for key in others:
            line = lines.get(f"metadata.{key}", lines["metadata"])
            message = f"metadata.{key} is {_kind(metadata[key])}; expected a string."
            yield Note("metadata-not-text", "warning", message, line=line, fix=_QUOTES if key in quoted else "")
    elif metadata is not None:
        yield Note("metadata-not-a-map", "warning", "The metadata field is not a mapping.", line=lines["metadata"])


def _text(document: Document, key: str, severity: Any) -> Iterator[Note]:
    value = document.values.get(key)
    if value is None or isinstance(value, str):
        return
    if isinstance(value, list | dict):
        yield Note(f"{key}-refused", severity, f"The {key} field is not text.", line=document.lines[key])
    else:
        message = f"The {key} field is not text; read as {written(document, key)!r}."
        yield Note(f"{key}-not-text", "warning", message, line=document.lines[key], fix=_QUOTES)


def _kind(value: Any) -> str:
    return {list: "a list", dict: "a mapping", type(None): "empty"}.get(type(value), "not text")


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
