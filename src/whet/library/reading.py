"""Reading one skill's main file, and what lies beside it, into a card."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from whet.library.card import Card
from whet.library.files import read_descriptor, read_file, settled, signature
from whet.library.report import Entry
from whet.library.sidecars import NOTHING, read_beside
from whet.library.spots import Refused
from whet.skill.body import first_prose
from whet.skill.coerce import one_line
from whet.skill.diagnostics import Diagnostic
from whet.skill.dialects import read_heading
from whet.skill.frontmatter import MAX_DOCUMENT, Document, read_document
from whet.skill.heading import quick_heading
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from whet.library.roots import Root
    from whet.library.spots import Spot

HEAD = 4096
"""Bytes read first; nearly all frontmatter ends within them."""


def read_card(descriptor: int, spot: Spot, root: Root, now: int) -> Card | None:
    """The card of an open main file; None when the file is no skill. Raises Refused and OSError."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Refused(Entry("not-a-file", "error", "", spot.path, "The main file is not a regular file."))
    if status.st_size > MAX_DOCUMENT:
        message = f"The main file has {status.st_size:,} bytes; at most {MAX_DOCUMENT:,} are read."
        raise Refused(
            Entry("too-large", "error", "", spot.path, message, "Move material into files under references/.")
        )
    data = os.read(descriptor, HEAD)
    folder, beside = 0, NOTHING
    if spot.kind == "skill":
        around = os.stat(spot.directory)
        folder = around.st_mtime_ns if settled(around.st_mtime_ns, now) else -1
        beside = read_beside(spot.directory, has_folders=around.st_nlink != 2, now=now)
    heading = quick_heading(data, spot.stem) if beside is NOTHING else None
    if heading is None:
        document = _read_head(descriptor, data, status.st_size)
        if spot.kind == "flat" and document.step == "none":
            return None
        heading = read_heading(document, fallback_name=spot.stem, sidecars=beside.sidecars)
    notes = heading.notes
    if spot.odd or beside.notes:
        notes = (*notes, *beside.notes, *_old_form(spot))
    return Card(
        spot.path,
        spot.directory,
        heading.name,
        name_key(f"{root.namespace}:{heading.name}" if root.namespace else heading.name),
        heading.description,
        spot.category or heading.category,
        spot.kind,
        *signature(status, now),
        folder,
        spot.real,
        root,
        heading.gates,
        notes,
        beside.watched,
    )


def read_category(path: str) -> str:
    """What a category's DESCRIPTION.md says, in one line."""
    document = read_document(read_file(path, HEAD))
    text = document.values.get("description") or first_prose(document.body)
    return one_line(text) if isinstance(text, str) else ""


def _read_head(descriptor: int, data: bytes, size: int) -> Document:
    """The document as far as a list needs it: the frontmatter, and some body when there is no description."""
    whole = len(data) >= size
    if not whole and _needs_more(data):
        data += read_descriptor(descriptor, size)
        whole = True
    document = read_document(data if whole else data[: data.rfind(b"\n") + 1])
    if not whole and not document.values.get("description") and not first_prose(document.body):
        document = read_document(data + read_descriptor(descriptor, size))
    return document


def _needs_more(data: bytes) -> bool:
    return data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") and b"\n---" not in data


def _old_form(spot: Spot) -> tuple[Diagnostic, ...]:
    name = os.path.basename(spot.path)
    if spot.kind == "flat":
        message, hint = f"{name} is a skill without a directory.", f"Move it to {name[:-3]}/SKILL.md."
        return (Diagnostic("flat-skill", "info", message, hint=hint),)
    if spot.kind == "command":
        message, hint = f"{name} is a command file.", f"Move it to skills/{name[:-3]}/SKILL.md."
        return (Diagnostic("command-file", "info", message, hint=hint),)
    return (Diagnostic("old-main-name", "warning", f"The main file is called {name}.", hint="Rename it to SKILL.md."),)
