"""A skill's package for the Skills extension of MCP: its files, their digests, its frontmatter.

Only skills that conform to the Agent Skills specification are served, within the limits of the extension. Listing,
digest and content cover the same files: regular ones, and links to these, under names that are safe everywhere. Other
links, special files, ignored names and unfinished writes are not part of it. Every file is read once, and these bytes
are digested.

The frontmatter is the YAML between the fences, of the strict reading only, with the types of the YAML 1.2 core schema:
`2026-01-01`, `no` and `1.2.3` stay text, `1.10` is a number. Values that JSON lacks are text as written: `.nan`,
`.inf`, and scalars with a tag such as `!!binary`. Keys are text, even `1` and `true`; a set is a mapping to null; an
alias is the value it stands for. A block that is not a YAML mapping, or has a repeated key, does not conform.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError, InvalidError, NotFoundError, UsageError
from whet.library.card import main_file
from whet.library.files import entered, open_beneath, open_file, read_descriptor
from whet.library.package import list_package
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import read_document
from whet.skill.model import MAX_DESCRIPTION
from whet.skill.names import is_ascii_name
from whet.skill.paths import check, shown
from whet.skill.tree import ignored
from whet.store.atomic import is_leftover

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.library.card import Card
    from whet.library.package import PackageFile
    from whet.notes import Note

MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024
"""Limits that every host must accept for one skill; a larger skill is not served."""

_NOT_PART = frozenset(("link-escape", "special-file"))
"""Problems of a listing about entries that are not part of the package."""
_BROKEN = frozenset(
    (
        "no-frontmatter",
        "unclosed-frontmatter",
        "frontmatter-too-large",
        "yaml-repaired",
        "yaml-rescued",
        "duplicate-key",
        "name-missing",
        "name-not-text",
        "name-refused",
        "description-from-body",
        "description-missing",
        "description-not-text",
        "description-refused",
    )
)
"""Notes of the lenient reader that a conforming skill does not have."""
_MAX_LINKS = 16
"""Number of links on the way to one file."""
_USE_THE_TOOL = "The tool skill_view still reads it; `whet skill validate` shows what to fix."


class Member(NamedTuple):
    """One file of a package."""

    path: str
    size: int
    source: str
    """The file that has its bytes: itself, or the target of a link."""


def unfit(card: Card) -> str:
    """Return why a skill does not conform, judged by its card; "" if it does."""
    if card.kind != "skill":
        return f"It is the single file {main_file(card)}, not a directory with a {MAIN_FILE}."
    if main_file(card) != MAIN_FILE:
        return f"Its main file is named {main_file(card)}, not {MAIN_FILE}."
    if not is_ascii_name(card.name):
        return f"The name {shown(card.name)} is not made of lowercase letters, digits and single hyphens."
    return _broken(card.notes, card.description)


def _broken(notes: Sequence[Note], description: object) -> str:
    """Return why a skill does not conform: frontmatter that only a lenient reader understands, or no description."""
    if reason := next((note.message for note in notes if note.code in _BROKEN), ""):
        return reason
    text = description if isinstance(description, str) else ""
    if not text.strip() or (text[0] == "#" and any(note.code == "comment-as-value" for note in notes)):
        return "The description is missing, or not text."
    if len(text) > MAX_DESCRIPTION:
        return f"The description has {len(text):,} characters; the limit is {MAX_DESCRIPTION:,}."
    return ""


def not_served(name: str, reason: str) -> InvalidError:
    """Return the error for a skill that does not conform."""
    return InvalidError("skill-not-served", f"{name} is not served over MCP: {reason}", hint=_USE_THE_TOOL)


def members(card: Card, *, now: int, bases: Sequence[str]) -> tuple[Member, ...]:
    """List the files of a package, the main file first and the others sorted; no file is read.

    Raises InvalidError if there are more than the extension allows, and any error that prevents a complete listing.
    """
    listing = list_package(card.directory, now=now, main=MAIN_FILE, bases=bases)
    for problem in listing.problems:
        if problem.code == "too-many-files":
            raise _too_large(card, f"more than {MAX_FILES} files")
        if problem.code not in _NOT_PART:
            raise problem
    items = {item.path: item for item in listing.files}
    found = [Member(MAIN_FILE, card.size, MAIN_FILE)]
    for path in items:
        if path != MAIN_FILE and _is_safe(path) and (file := _behind(path, items)):
            found.append(Member(path, card.size if file.path == MAIN_FILE else file.size, file.path))
    if len(found) > MAX_FILES:
        raise _too_large(card, f"{len(found):,} files")
    _check_total(card, sum(item.size for item in found))
    return tuple(found)


def read_member(card: Card, source: str, *, bases: Sequence[str]) -> bytes:
    """Return the bytes of one file of a package, opened so that no link leads out of it."""
    if source == MAIN_FILE:
        descriptor = open_file(card.path, bases)
    else:
        descriptor = open_beneath(card.directory, source, bases=bases)
    try:
        data = read_descriptor(descriptor, MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    _check_total(card, len(data))
    return data


def describe(card: Card, *, now: int, bases: Sequence[str]) -> tuple[Mapping[str, Any], list[tuple[str, str, int]]]:
    """Return a skill's frontmatter, and the path, digest and size of each file, read in one pass.

    A file that vanishes between listing and reading is left out.
    """
    main = read_member(card, MAIN_FILE, bases=bases)
    values = frontmatter(main, card.name)
    files, total = [_digested(MAIN_FILE, main)], len(main)
    for path, _, source in members(card, now=now, bases=bases)[1:]:
        try:
            data = read_member(card, source, bases=bases)
        except NotFoundError:
            continue
        total += len(data)
        _check_total(card, total)
        files.append(_digested(path, data))
    return values, files


def frontmatter(data: bytes, name: str) -> Mapping[str, Any]:
    """Return the frontmatter of a main file as JSON values. Raises InvalidError if it does not conform."""
    document = read_document(data.decode("utf-8", "surrogateescape"))
    values = document.values
    if reason := _broken(document.diagnostics, values.get("description")):
        raise not_served(name, reason)
    try:
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise not_served(name, f"The frontmatter cannot be written as JSON: {error}.") from error
    if values.get("name") != name:
        raise not_served(name, f"The name in {MAIN_FILE} is {shown(str(values.get('name')))}.")
    return values


def subdirectories(card: Card, directory: str, *, bases: Sequence[str]) -> list[str] | None:
    """Return the names of the directories in a directory of a package, "" for its root; None if it does not exist.

    Empty ones count. No link is entered.
    """
    try:
        with entered(card.directory, "", bases=bases) as place:
            names = _descend(place, directory.split("/") if directory else [])
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return None
        message = f"{shown(directory)} of {card.full_name} cannot be read: {error.strerror}."
        raise FailedError("unreadable", message, hint="Check its permissions.") from error
    prefix = f"{directory}/" if directory else ""
    return None if names is None else sorted(name for name in names if _is_safe(prefix + name))


def _descend(place: str | int, parts: list[str]) -> list[str] | None:
    with os.scandir(place) as found:
        names = [
            entry.name
            for entry in found
            if entry.is_dir(follow_symlinks=False) and not ignored(entry.name) and not is_leftover(entry.name)
        ]
    if not parts:
        return names
    if parts[0] not in names:
        return None
    with entered(place, parts[0]) as below:
        return _descend(below, parts[1:])


def _digested(path: str, data: bytes) -> tuple[str, str, int]:
    return path, f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)


def _is_safe(path: str) -> bool:
    try:
        check(path)
    except UsageError:
        return False
    return True


def _behind(path: str, items: Mapping[str, PackageFile]) -> PackageFile | None:
    """Return the regular file of the package that a path leads to, perhaps through links."""
    for _ in range(_MAX_LINKS):
        item = items.get(path)
        if item is None or not item.link:
            return item
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), item.link.replace(os.sep, "/")))
    return None


def _check_total(card: Card, size: int) -> None:
    if size > MAX_BYTES:
        raise _too_large(card, f"more than {MAX_BYTES:,} bytes")


def _too_large(card: Card, what: str) -> InvalidError:
    message = (
        f"{card.full_name} has {what}; a skill served over MCP has at most {MAX_FILES} files and {MAX_BYTES:,} bytes."
    )
    return InvalidError("skill-too-large-for-mcp", message, hint="Make it smaller, or use the tool skill_view.")
