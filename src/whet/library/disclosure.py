"""Progressive disclosure: names first, then one body, then one file. The answers are plain JSON values.

Tier 1 reads no body, ever. Tier 2 gives the body and the tree of *all* supporting files. Tier 3 gives one file, in
pages, a binary one described rather than decoded. `Loaded` remembers what a conversation has seen, so that the same
content is not paid for twice; after a compaction the caller clears it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import NotFoundError, UsageError
from whet.library.files import open_beneath, read_descriptor, read_file
from whet.library.package import list_files, package_digest
from whet.library.readiness import missing
from whet.library.sidecars import read_beside
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.library.cache import Cache
    from whet.library.card import Card
    from whet.library.package import PackageFile
    from whet.library.readiness import Probe
    from whet.skill.model import Skill

PAGE = 100_000
"""Characters of one page of text."""
MAX_TEXT = 16 * 1024 * 1024
"""Bytes of a supporting file that are looked at."""


class Loaded:
    """What is in a conversation's context already, by content digest."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, int], str] = {}

    def clear(self) -> None:
        """Forget everything: the context was compacted."""
        self._seen.clear()

    def knows(self, path: str, file: str, page: int, digest: str) -> bool:
        """Was exactly this content given before? Notes it as given."""
        place = (path, file, page)
        known = self._seen.get(place) == digest
        self._seen[place] = digest
        return known


# --- tier 1 --------------------------------------------------------------------------------------------------------


def list_answer(
    cards: Iterable[Card],
    *,
    category: str | None,
    query: str | None,
    limit: int | None,
    cursor: str | None,
    describe: Callable[[Card], dict[str, Any]],
    categories: dict[str, str],
) -> dict[str, Any]:
    """The list of skills, sorted by name. `cursor` is the `next` of the page before."""
    if limit is not None and limit < 1:
        raise UsageError("bad-limit", f"A page of {limit} skills makes no sense.", hint="Give a limit of 1 or more.")
    counts: dict[str, int] = {}
    chosen: list[Card] = []
    words = name_key(query).split() if query else []
    for card in cards:
        counts[card.category] = counts.get(card.category, 0) + 1
        if category is not None and not _in_category(card.category, category):
            continue
        if words and not _mentions(card, words):
            continue
        chosen.append(card)
    total = len(chosen)
    if cursor:
        chosen = [card for card in chosen if card.key > cursor]
    page = chosen[:limit] if limit else chosen
    further = page[-1].key if len(page) < len(chosen) else None
    return {
        "success": True,
        "skills": [describe(card) for card in page],
        "categories": [
            {"name": name, "count": counts[name], "description": categories.get(name, "")}
            for name in sorted(counts)
            if name
        ],
        "count": len(page),
        "total": total,
        "next": further,
        "hint": _list_hint(total, len(page), further, category, query),
    }


def _in_category(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}/")


def _mentions(card: Card, words: list[str]) -> bool:
    text = f"{card.key} {name_key(card.description)} {name_key(card.category)}"
    return all(word in text for word in words)


def _list_hint(total: int, shown: int, further: str | None, category: str | None, query: str | None) -> str:
    if further:
        return f"{shown} of {total}; ask again with cursor {further!r} for more."
    if not total and (category or query):
        return "Nothing matches; leave out the query or the category to see everything."
    if not total:
        return "No skills yet. `whet new NAME` makes one."
    return "Open one with its name to read its instructions."


# --- tiers 2 and 3 -------------------------------------------------------------------------------------------------


class Opened(NamedTuple):
    """A skill read from disk in full."""

    card: Card
    skill: Skill
    files: tuple[PackageFile, ...]
    digest: str


def open_skill(card: Card, *, cache: Cache | None, now: int) -> Opened:
    """Read a skill now, whatever the catalogue remembers of it."""
    from whet.skill.dialects import read_skill
    from whet.skill.frontmatter import MAX_DOCUMENT, read_document

    document = read_document(_read_main(card, MAX_DOCUMENT))
    if card.kind == "skill":
        beside = read_beside(card.directory, has_folders=True, now=now)
        skill = read_skill(
            document, fallback_name=os.path.basename(card.directory), sidecars=beside.sidecars, category=card.category
        )
        files = list_files(card.directory, now=now)
        return Opened(card, skill, files, package_digest(card.directory, files, cache))
    stem = os.path.basename(card.path).removesuffix(".md")
    from whet.skill.tree import digest, file_entry

    entry = file_entry("SKILL.md", read_file(card.path, MAX_DOCUMENT))
    return Opened(card, read_skill(document, fallback_name=stem, category=card.category), (), digest((entry,)))


def _read_main(card: Card, limit: int) -> bytes:
    try:
        return read_file(card.path, limit)
    except OSError as error:
        message = f"{card.path} cannot be read: {error.strerror}."
        raise NotFoundError(
            "skill-gone", message, hint="It was moved or removed a moment ago; list the skills again."
        ) from error


def view_answer(opened: Opened, probe: Probe, *, page: int) -> dict[str, Any]:
    """Tier 2: the body, and everything one may want to know before following it."""
    card, skill = opened.card, opened.skill
    lacking = missing(skill.gates, probe)
    return {
        "success": True,
        "name": card.full_name,
        "description": skill.description,
        **_paged(skill.body, page),
        "files": [{"path": item.path, "size": item.size} for item in opened.files],
        "digest": opened.digest,
        "version": skill.version,
        "category": skill.category,
        "scope": card.scope,
        "path": card.location,
        "ready": not lacking,
        "missing": [item.to_json() for item in lacking],
        "setup": skill.setup_help,
        "tags": list(skill.tags),
        "related_skills": list(skill.related),
        "license": skill.license,
        "compatibility": skill.compatibility,
        "allowed_tools": list(skill.allowed_tools),
        "origin": {"scope": card.scope, "client": card.root.client, "root": card.root.path},
        "trust": _trust(card),
        "diagnostics": [note.to_json() for note in skill.diagnostics],
    }


def _trust(card: Card) -> str:
    """How far the origin is trusted: shipped with Whet, put there by an administrator, or placed by hand."""
    return {"bundled": "builtin", "org": "org"}.get(card.scope, "local")


def file_answer(card: Card, path: str, *, page: int) -> dict[str, Any]:
    """Tier 3: one supporting file."""
    import hashlib

    from whet.skill.paths import check

    relative = check(path)
    if card.kind != "skill":
        raise NotFoundError("file-not-found", f"{card.full_name} is a single file; it has no others.")
    try:
        descriptor = open_beneath(card.directory, relative)
    except NotFoundError as error:
        raise _no_such_file(card, relative) from error
    try:
        size = os.fstat(descriptor).st_size
        data = read_descriptor(descriptor, MAX_TEXT)
    finally:
        os.close(descriptor)
    answer: dict[str, Any] = {"success": True, "name": card.full_name, "file": relative, "size": size}
    answer["digest"] = "sha256:" + hashlib.sha256(data).hexdigest()
    if (text := _text(data)) is None or size > MAX_TEXT:
        described = "binary file" if text is None else "file too large to show"
        return {**answer, "binary": text is None, "content": f"[{described}: {relative}, {size:,} bytes]"}
    return {**answer, "binary": False, **_paged(text, page)}


def stub(card: Card, file: str, page: int, digest: str) -> dict[str, Any]:
    """The answer for content that is in the context already."""
    what = f"{file} of {card.full_name}" if file else card.full_name
    return {
        "success": True,
        "name": card.full_name,
        "file": file,
        "page": page,
        "digest": digest,
        "already_loaded": True,
        "content": f"[{what} is already loaded above and has not changed.]",
        "hint": "Use what is in the context. After a compaction it can be loaded again.",
    }


def _text(data: bytes) -> str | None:
    """The file as text, or None when it is not text."""
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _paged(text: str, page: int) -> dict[str, Any]:
    pages = max(1, -(-len(text) // PAGE))
    if not 1 <= page <= pages:
        raise UsageError(
            "no-such-page", f"There is no page {page}.", hint=f"Ask for a page from 1 to {pages}.", pages=pages
        )
    return {"content": text[(page - 1) * PAGE : page * PAGE], "page": page, "pages": pages}


def _no_such_file(card: Card, path: str) -> NotFoundError:
    import time

    from whet.skill.names import closest

    names = [item.path for item in list_files(card.directory, now=time.time_ns())]
    suggestions = list(closest(path, names))
    hint = f"Files: {', '.join(names[:20]) or 'none'}."
    if suggestions:
        hint = f"Did you mean {', '.join(suggestions)}?"
    message = f"{card.full_name} has no file {path}."
    return NotFoundError("file-not-found", message, hint=hint, suggestions=suggestions, files=names[:100])
