"""Reading one skill's main file, and what lies beside it, into a card."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from whet.library.card import Card
from whet.library.files import read_descriptor, read_file, seen_mtime, seen_stamp
from whet.library.sidecars import NOTHING, read_beside
from whet.library.spots import Refused, old_form
from whet.notes import Note
from whet.skill.body import first_prose
from whet.skill.coerce import one_line
from whet.skill.dialects import read_heading
from whet.skill.frontmatter import MAX_DOCUMENT, Document, read_document
from whet.skill.heading import quick_heading
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from whet.library.roots import Root
    from whet.library.spots import Spot

HEAD = 4096
"""Bytes read first; nearly all frontmatter ends within them."""
_CLOSING_FENCE = re.compile(rb"\n---[ \t]*\r?\n")


def read_card(descriptor: int, spot: Spot, root: Root, now: int) -> Card | None:
    """The card of an open main file; None when the file is no skill. Raises Refused and OSError."""
    path, directory, category, kind, real = spot
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Refused(Note("not-a-file", "error", "The main file is not a regular file.", path=path))
    if status.st_size > MAX_DOCUMENT:
        message = f"The main file has {status.st_size:,} bytes; at most {MAX_DOCUMENT:,} are read."
        raise Refused(Note("too-large", "error", message, "Move material into files under references/.", path=path))
    data = os.read(descriptor, HEAD)
    folder, beside = 0, NOTHING
    if kind == "skill":
        around = os.stat(directory)
        folder = seen_stamp(around, now)
        beside = read_beside(directory, has_folders=around.st_nlink != 2, now=now)
    stem = spot.stem
    heading = quick_heading(data, stem) if beside is NOTHING else None
    if heading is None:
        document = _read_head(descriptor, data, status.st_size)
        if kind == "flat" and document.step == "none":
            return None
        heading = read_heading(document, fallback_name=stem, sidecars=beside.sidecars)
    name, description, own_category, gates, notes, when, hint = heading
    if beside.notes or spot.odd:
        notes = (*notes, *beside.notes, *old_form(spot))
    key = name_key(f"{root.namespace}:{name}" if root.namespace else name)
    return Card(
        path,
        directory,
        name,
        key,
        description,
        category or own_category,
        kind,
        seen_mtime(status, now),
        status.st_ctime_ns,
        status.st_size,
        status.st_ino,
        folder,
        real,
        root,
        gates,
        notes,
        beside.watched,
        when,
        hint,
    )


def read_category(path: str) -> str:
    """What a category's DESCRIPTION.md says, in one line."""
    data = read_file(path, HEAD)
    document = read_document(data if len(data) < HEAD else data[: data.rfind(b"\n") + 1] or data)
    text = document.values.get("description") or first_prose(document.body)
    return one_line(text) if isinstance(text, str) else ""


def _read_head(descriptor: int, data: bytes, size: int) -> Document:
    """The document as far as a list needs it: the frontmatter, and some body when there is no description."""
    whole = len(data) >= size
    if not whole and _needs_more(data):
        data += read_descriptor(descriptor, size)
        whole = True
    document = read_document(data if whole else data[: data.rfind(b"\n") + 1])
    if not whole and not document.values.get("description"):  # the body says it, and may say it better further down
        document = read_document(data + read_descriptor(descriptor, size))
    return document


def _needs_more(data: bytes) -> bool:
    """Does frontmatter begin here that does not end here?"""
    return data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") and not _CLOSING_FENCE.search(data, 3)
