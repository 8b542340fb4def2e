"""Reading a skill's main file, and the metadata files next to it, into a card.

Metadata files next to SKILL.md (`skill.json` and Codex's `agents/openai.yaml`) fail open: a broken one, or a link out
of the skill, is a note, and the skill is read without it.
"""

from __future__ import annotations

import os
import re
import stat

from whet.errors import NotFoundError, WhetError
from whet.library.card import Card, Refused, old_form
from whet.library.files import open_beneath, read_descriptor, read_file, seen_mtime, seen_stamp
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.body import first_prose
from whet.skill.coerce import one_line
from whet.skill.dialects import NO_SIDECARS, Sidecars, read_heading
from whet.skill.frontmatter import MAX_DOCUMENT, Document, read_document
from whet.skill.gates import OPEN
from whet.skill.names import is_ascii_name
from whet.skill.names import key as name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from whet.library.card import SkillFile
    from whet.library.roots import Root
    from whet.skill.block import Values
    from whet.skill.dialects import Heading

HEAD = 4096
"""Bytes read first; nearly all frontmatter ends within them."""
_MARK = b"\xef\xbb\xbf"
_CLOSING_FENCE = re.compile(rb"\n---[ \t]*\r?\n")


def read_card(descriptor: int, file: SkillFile, root: Root, now: int) -> Card | None:
    """Return the card of an open main file; None if the file is not a skill. Raises Refused and OSError."""
    path, directory, category, kind, real = file
    status = os.fstat(descriptor)
    size = status.st_size
    if size > MAX_DOCUMENT or not stat.S_ISREG(status.st_mode):
        raise _refuse(path, status)
    data = os.read(descriptor, HEAD)
    folder, beside = 0, NOTHING
    if kind == "skill":
        around = os.stat(directory)
        folder = seen_stamp(around, now)
        beside = read_beside(directory, has_folders=around.st_nlink != 2, now=now)
    heading = _read_heading(descriptor, data, size, file, beside)
    if heading is None:
        return None
    name, notes = heading.name, heading.notes
    if b"TODO" in data:
        from whet.library.visibility import note_draft
        from whet.skill.template import is_template

        if is_template(data):
            notes = (*notes, note_draft(name))
    return Card(
        path,
        directory,
        name,
        name_key(f"{root.namespace}:{name}" if root.namespace else name),
        heading.description,
        category or heading.category,
        kind,
        seen_mtime(status, now),
        status.st_ctime_ns,
        size,
        status.st_ino,
        folder,
        real,
        root,
        heading.gates,
        notes,
        beside.watched,
        heading.when,
        heading.hint,
        True if heading.gates == OPEN else None,
    )


def _refuse(path: str, status: os.stat_result) -> Refused:
    if not stat.S_ISREG(status.st_mode):
        return Refused(Note("not-a-file", "error", "The main file is not a regular file.", path=path))
    message = f"The main file has {status.st_size:,} bytes; the limit is {MAX_DOCUMENT:,}."
    return Refused(Note("too-large", "error", message, "Move material to files under references/.", path=path))


def _read_heading(descriptor: int, data: bytes, size: int, file: SkillFile, beside: Beside) -> Heading | None:
    """Return the heading of a main file that begins with `data`, with notes on the file; None if it is not a skill."""
    document, flat, stem = _read_head(descriptor, data, size), file.kind == "flat", file.stem
    if flat and document.step == "none" and not (is_ascii_name(stem) and document.body.strip()):
        return None
    heading = read_heading(document, fallback_name=stem, sidecars=beside.sidecars, flat=flat)
    notes = [*heading.notes, *beside.notes, *old_form(file)]
    if data.startswith(_MARK):
        message = "The file starts with a byte order mark, which some clients take for text before the frontmatter."
        fix = "Run `whet skill validate NAME --fix`."
        notes.append(Note("byte-order-mark", "warning", message, fix, line=1))
    return heading._replace(notes=tuple(notes)) if notes else heading


def read_category(path: str) -> str:
    """Return the text of a category's DESCRIPTION.md in one line."""
    data = read_file(path, HEAD)
    document = read_document(data if len(data) < HEAD else data[: data.rfind(b"\n") + 1] or data)
    text = document.values.get("description") or first_prose(document.body)
    return one_line(text) if isinstance(text, str) else ""


def _read_head(descriptor: int, data: bytes, size: int) -> Document:
    """Return the document as far as a list needs it: the frontmatter, and the body if there is no description."""
    whole = len(data) >= size
    if not whole and _needs_more(data):
        data += read_descriptor(descriptor, size)
        whole = True
    document = read_document(data if whole else data[: data.rfind(b"\n") + 1])
    if not whole and not document.values.get(
        "description"
    ):  # the description comes from the body, perhaps from further down
        document = read_document(data + read_descriptor(descriptor, size))
    return document


def _needs_more(data: bytes) -> bool:
    """Return whether frontmatter begins in `data` and does not end there."""
    return data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") and not _CLOSING_FENCE.search(data, 3)


# --- metadata files next to the main file -----------------------------------------------------------------------------

MAX_SIZE = 64 * 1024


class Beside(NamedTuple):
    """The metadata files next to a SKILL.md."""

    sidecars: Sidecars
    watched: tuple[tuple[str, int], ...]
    """Paths that were read, and their stamps (`whet.library.files.seen_stamp`)."""
    notes: tuple[Note, ...]


NOTHING = Beside(NO_SIDECARS, (), ())


def read_beside(directory: str, *, has_folders: bool, now: int, bases: Sequence[str] | None = None) -> Beside:
    """Read the metadata files of a skill, with two system calls if there are none."""
    agents = f"{directory}{os.sep}agents"
    skill_json = f"{directory}{os.sep}skill.json"
    has_agents = has_folders and os.access(agents, os.F_OK) and os.path.isdir(agents)
    if not has_agents and not os.access(skill_json, os.F_OK):
        return NOTHING
    # Stamped before it is read: a change in between is read again next time. The directory `agents` is watched too,
    # because a new openai.yaml in it does not touch the skill's own directory.
    looked_at = (skill_json, *((agents, os.path.join(agents, "openai.yaml")) if has_agents else ()))
    watched = tuple((path, mark) for path in looked_at if (mark := _mark(path, now)) is not None)
    notes: list[Note] = []
    found = Sidecars(
        _load(directory, "skill.json", _parse_json, notes, bases),
        _load(directory, "agents/openai.yaml", _parse_yaml, notes, bases) if has_agents else None,
    )
    return Beside(found, watched, tuple(notes))


def _mark(path: str, now: int) -> int | None:
    try:
        return seen_stamp(os.stat(path), now)
    except OSError:
        return None


def _load(
    directory: str, name: str, parse: Callable[[str], Any], notes: list[Note], bases: Sequence[str] | None
) -> Values | None:
    reason: object = "it is not a mapping"
    try:
        value = parse(_read_metadata(directory, name, bases).decode("utf-8-sig"))
    except NotFoundError as error:
        if not os.path.lexists(os.path.join(directory, name)):
            return None
        value, reason = None, error
    except (OSError, ValueError, WhetError) as error:
        value, reason = None, error
    if isinstance(value, dict):
        return value
    message = f"{name} was ignored: {str(reason).removesuffix('.')}."
    notes.append(Note("sidecar-unreadable", "warning", message, f"Correct {name}."))
    return None


def _read_metadata(directory: str, name: str, bases: Sequence[str] | None) -> bytes:
    descriptor = open_beneath(directory, name, bases=bases)
    try:
        data = read_descriptor(descriptor, MAX_SIZE + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_SIZE:
        raise ValueError(f"it is larger than {MAX_SIZE:,} bytes")
    return data


def _parse_json(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _parse_yaml(text: str) -> Any:
    from whet.skill.block import BlockError, read_block

    try:
        return read_block(text.replace("\r\n", "\n")).values
    except BlockError as error:
        raise ValueError(error.message) from error
