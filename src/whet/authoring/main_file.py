"""The main file of a skill that is being changed: its text, its version, its frontmatter.

Bytes that are not UTF-8 survive as surrogates in the text; texts from a caller never have any (see
`whet.authoring.drafts`). The version is written where the skill keeps it. A skill that has none gets one below
`metadata`, which is the only place in the specification.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from whet.authoring.versions import next_version
from whet.errors import InvalidError, UsageError, WhetError
from whet.records import NamedTuple
from whet.skill.dialects import read_version
from whet.skill.edit import change_value, line_end, replace_body, set_value
from whet.skill.finder import MAIN_FILE, main_file
from whet.skill.frontmatter import BOM, Document, find_fences, read_changed, read_document, read_repaired
from whet.skill.validate.fixable import written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.skill.tree import Item, Tree

KEEP = "keep"
"""Requests the current version."""
ASKED = "you asked for"
"""Why a version stays at the caller's request."""
_VERSIONS = (("version",), ("metadata", "version"))


class Main(NamedTuple):
    """A parsed main file."""

    path: str
    text: str
    document: Document


def main_of(tree: Mapping[str, Item], before: Main | None = None) -> Main:
    """Return the main file of a skill; `before` is the earlier one, so that equal parts are not parsed again."""
    path = main_file(tree)
    if not path:
        raise UsageError("not-a-package", f"The skill has no {MAIN_FILE}.", hint="Restore it from its history.")
    if tree[path].link:
        raise not_text(path, "is a link")
    text = tree[path].data.decode("utf-8", "surrogateescape")
    if before is None:
        return Main(path, text, read_document(text))
    if (path, text) == before[:2]:
        return before
    return Main(path, text, read_changed(text, before.text, before.document))


def with_text(tree: Mapping[str, Item], path: str, text: str) -> Tree:
    """Return the tree with another text in one of its files."""
    return {**tree, path: tree[path]._replace(data=text.encode("utf-8", "surrogateescape"))}


def not_text(path: str, why: str) -> InvalidError:
    """Return the error for a file that cannot be edited as text."""
    hint = "Replace the whole file: SKILL.md with edit, other files with write_file."
    return InvalidError("not-a-text-file", f"{path} {why}, so it cannot be edited as text.", hint=hint, path=path)


def said(document: Document, *path: str) -> str:
    """Return a scalar of the frontmatter as text; "" if there is none."""
    if len(path) == 2 and not isinstance(document.values.get(path[0]), dict):
        return ""
    return written(document, *path) or ""


# --- texts from callers ---------------------------------------------------------------------------------------------


def as_document(text: str) -> str:
    """Return the text from its frontmatter on, if it has any; otherwise "". Dashes without frontmatter do not count."""
    mark = BOM if text.startswith(BOM) else ""
    text = mark + text.lstrip(f"{BOM} \t\r\n")
    fences = find_fences(text)
    return text if fences.start >= 0 and (fences.closed or read_document(text).values) else ""


def like(old: str, text: str) -> str:
    """Return a new text with the byte order mark, the line ends and the end of the old one."""
    mark = BOM if old.startswith(BOM) else ""
    text = mark + with_ends(text.removeprefix(BOM), line_end(old))
    return text if text.endswith("\n") or not old.endswith("\n") else text + line_end(old)


def with_ends(text: str, end: str) -> str:
    """Return the text with one kind of line end."""
    text = text.replace("\r\n", "\n")
    return text.replace("\n", end) if end != "\n" else text


def with_body(main: Main, body: str) -> str:
    """Return the main file with another body, separated from the frontmatter as before."""
    end = line_end(main.text)
    body = with_ends(body.removeprefix(BOM), end)
    if main.document.body.startswith(("\n", "\r\n")) and not body.startswith(("\n", "\r\n")):
        body = end + body
    return replace_body(main.text, body)


def filled(text: str, old: Document) -> tuple[str, tuple[str, ...]]:
    """Fill in the name, description and version of the old document if missing; also return which."""
    new = read_document(text)
    missing = [key for key in ("name", "description") if not said(new, key).strip() and said(old, key).strip()]
    for key in missing:
        text = set_value(text, key, said(old, key))
    version = version_of(old)
    if not version_of(new):
        for place in _places(old, version)[:1]:
            with suppress(InvalidError):  # `bump_version` fails in the same way and reports it
                text = set_value(text, place, version)
    return text, tuple(missing)


def quoted(text: str, document: Document | None = None) -> str:
    """Quote values that make the frontmatter invalid YAML; return the text unchanged if that does not help."""
    document, fences = document or read_document(text), find_fences(text)
    block = text[fences.start : fences.end].replace("\r\n", "\n")
    repaired = read_repaired(block) if document.step == "repaired" else None
    if repaired is None:
        return text
    rows = list(zip(block.split("\n"), repaired[0].split("\n"), strict=True))
    healed = text
    try:
        for path, line in document.lines.items():
            old, new = rows[line - 2]
            parent, _, child = path.partition(".")
            held = document.values.get(parent)
            value = document.values.get(path, held.get(child) if isinstance(held, dict) else None)
            if old != new and isinstance(value, str):
                healed = set_value(healed, path, value)
    except WhetError:
        return text
    return healed if read_document(healed).step == "strict" else text


# --- the version ----------------------------------------------------------------------------------------------------


def version_of(document: Document) -> str:
    """Return the version a skill declares; "" if it declares none."""
    return read_version(document)


def bump_version(main: Main, old: Document, told: str) -> tuple[Main, str, tuple[str, ...]]:
    """Return a changed main file with its next version, that version, and notes about it.

    A version from the change itself counts, unless the caller passes one in `told`.
    """
    new = main.document
    current, given = version_of(old), version_of(new)
    told = KEEP if told.lower() == KEEP else told
    if told == KEEP:
        wanted = current or given
    elif told or not given or given == current:
        wanted = next_version(current, told)
    else:
        wanted = given
    reason = ASKED if told == KEEP else ""
    if wanted != given and new.step == "none" and not told:
        reason = "it has no frontmatter"
    elif wanted != given:
        try:
            main, given = _said_at(main, _places(new, given) or _places(old, current), wanted), wanted
        except InvalidError as error:
            if told not in ("", KEEP):
                raise
            reason = error.message[0].lower() + error.message[1:].rstrip(".")
    kept = f"The version stays {given!r}" if given else "The skill stays without a version"
    return main, given, (f"{kept}: {reason}.",) if reason else ()


def _said_at(main: Main, places: list[str], version: str) -> Main:
    """Write a version at the first place, which is the one that is read, and if possible at the others."""
    text, document = change_value(main.text, main.document, places[0] if places else "metadata.version", version)
    for place in places[1:]:
        with suppress(InvalidError):
            text, document = change_value(text, document, place, version)
    return Main(main.path, text, document)


def _places(document: Document, version: str) -> list[str]:
    """Return the places where the document has this version."""
    return [".".join(path) for path in _VERSIONS if version and said(document, *path).strip() == version]
