"""Progressive disclosure: names first, then one body, then one file.

Tier 1 is `listing`. Tier 2 gives the body and the tree of *all* supporting files. Tier 3 gives one file, in
pages, a binary one described rather than decoded.
"""

from __future__ import annotations

import os

from whet.errors import NotFoundError, UsageError
from whet.library.card import SkillFile, main_file, old_form
from whet.library.files import file_stamp, open_beneath, open_file, read_descriptor
from whet.library.package import Listing, Main, list_package, opened_digest
from whet.library.readiness import missing, wrong_platform
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.finder import MAIN_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from whet.errors import WhetError
    from whet.library.cache import Cache
    from whet.library.card import Card
    from whet.library.card_reader import Beside
    from whet.library.package import PackageFile
    from whet.library.readiness import Missing, Probe
    from whet.skill.dialects import Words
    from whet.skill.frontmatter import Document
    from whet.skill.model import Skill
    from whet.values import Json

PAGE = 100_000
"""Characters per page of text."""
MAX_TEXT = 16 * 1024 * 1024
"""Largest supporting file that is shown, in bytes."""
_LOOKED_AT = 8192
"""A zero byte among this many first bytes makes a file binary."""
_BINARY = "binary file"


class Opened(NamedTuple):
    """A skill read from disk in full."""

    card: Card
    skill: Skill
    files: tuple[PackageFile, ...]
    digest: str


def open_skill(card: Card, *, cache: Cache | None, now: int, bases: Sequence[str]) -> Opened:
    """Read a skill from disk; nothing outside `bases` is read, even through links.

    Problems of its supporting files do not prevent reading it; they are among the diagnostics.
    """
    main = _read_main(card, bases)
    listing = Listing((), ())
    if card.kind == "skill":
        try:
            listing = list_package(card.directory, now=now, main=main.name, bases=bases)
        except NotFoundError as error:
            raise _gone(card) from error
    digest, unread = opened_digest(card.directory, listing.files, main, cache, bases)
    skill = _typed(card, main, now, bases)
    remarks = map(_remark, (*listing.problems, *unread))
    skill = skill._replace(diagnostics=(*skill.diagnostics, *remarks))
    shown = tuple(item._replace(size=len(main.data)) if item.path == main.name else item for item in listing.files)
    return Opened(card, skill, shown, digest)


def read_words(card: Card, *, now: int, bases: Sequence[str]) -> Words:
    """Read the words of a skill from its main file and the metadata next to it; no other file is read."""
    from whet.skill import dialects

    document, file, beside = _documents(card, _read_main(card, bases), now, bases)
    flat = card.kind == "flat"
    return dialects.read_words(document, fallback_name=file.stem, sidecars=beside.sidecars, flat=flat)


def _typed(card: Card, main: Main, now: int, bases: Sequence[str]) -> Skill:
    from whet.skill.dialects import read_skill

    document, file, beside = _documents(card, main, now, bases)
    flat = card.kind == "flat"
    skill = read_skill(document, fallback_name=file.stem, sidecars=beside.sidecars, category=card.category, flat=flat)
    return skill._replace(diagnostics=(*skill.diagnostics, *beside.notes, *old_form(file)))


def _documents(card: Card, main: Main, now: int, bases: Sequence[str]) -> tuple[Document, SkillFile, Beside]:
    """Return the main file of a skill, its paths and names, and the metadata files next to it."""
    from whet.library.card_reader import NOTHING, read_beside
    from whet.skill.frontmatter import read_document

    file = SkillFile(card.path, card.directory, card.category, card.kind)
    beside = NOTHING
    if card.kind == "skill":
        beside = read_beside(card.directory, has_folders=True, now=now, bases=bases)
    return read_document(main.data), file, beside


def _read_main(card: Card, bases: Sequence[str]) -> Main:
    from whet.skill.frontmatter import MAX_DOCUMENT

    try:
        descriptor = open_file(card.path, bases)
    except NotFoundError as error:
        raise _gone(card) from error
    try:
        status = os.fstat(descriptor)
        data = read_descriptor(descriptor, MAX_DOCUMENT)
    finally:
        os.close(descriptor)
    return Main(main_file(card) if card.kind == "skill" else MAIN_FILE, data, file_stamp(status))


def _gone(card: Card) -> NotFoundError:
    hint = "It has just been moved or removed. List the skills again."
    return NotFoundError("skill-gone", f"{card.path} no longer exists.", hint=hint)


def _remark(problem: WhetError) -> Note:
    return Note.from_error(problem, "warning")


class SkillView(NamedTuple):
    """Tier 2: one skill with its instructions, and everything to know before following them."""

    card: Card
    skill: Skill
    """The skill as written: the frontmatter as typed values, and the instructions."""
    body: str
    """Its instructions, with variables filled in."""
    page: int
    files: tuple[PackageFile, ...]
    """All files of the package."""
    digest: str
    """The digest of all files."""
    ready: bool
    """Whether everything it requires is available."""
    missing: tuple[Missing, ...]
    """Requirements that are not set up yet."""
    notes: tuple[Note, ...]
    """Notes from reading and rendering it."""
    settings: tuple[str, ...] = ()
    """The values of its settings, as the model reads them."""
    hidden: Note | None = None
    """The reason why it is hidden from everyone but the person who views it."""
    verdicts: tuple[tuple[str, str], ...] = ()
    """Each client used here, with `yes`, or `no` and the reason; empty unless requested."""
    listing: str = "normal"
    """The way it is listed for a model (`whet.library.settings.LISTING`)."""
    verdict: str = ""
    """The verdict for which the guard blocks it, such as `dangerous`; "" if it does not."""
    pin: str | None = None
    """The reason for the pin, "" if none was given; None if it is not pinned, or unless requested."""
    source: str = ""
    """The source it was installed from, in readable form; empty if it was not installed, or unless requested."""
    revision: str = ""
    """The source's name for the installed content: a commit, a branch with its commit, or a digest."""
    edited: bool = False
    """Whether it has changed since it was installed."""
    find_trust: Callable[[], str] = str
    """Finds its trust, which needs the lock and the history."""

    @property
    def name(self) -> str:
        """The name a person types."""
        return self.card.full_name

    @property
    def description(self) -> str:
        return self.skill.description

    @property
    def trust(self) -> str:
        """The trust that it has for the policy."""
        return self.find_trust()

    @property
    def pages(self) -> int:
        """Number of pages of the instructions."""
        return _pages(self.body)

    @property
    def content(self) -> str:
        """The requested page of the instructions."""
        return _page(self.body, self.page)

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        card, skill = self.card, self.skill
        return {
            "success": True,
            "name": card.full_name,
            "description": skill.description,
            "content": self.content,
            "page": self.page,
            "pages": self.pages,
            "files": [{"path": item.path, "size": item.size} for item in self.files],
            "digest": self.digest,
            "version": skill.version,
            "category": skill.category,
            "scope": card.scope,
            "path": card.location,
            "ready": self.ready,
            "missing": [item.to_json() for item in self.missing],
            "setup": skill.setup_help,
            "tags": list(skill.tags),
            "related_skills": list(skill.related),
            "license": skill.license,
            "compatibility": skill.compatibility,
            "allowed_tools": list(skill.allowed_tools),
            "origin": {"scope": card.scope, "client": card.root.client, "root": card.root.path},
            **({"trust": trust} if (trust := self.trust) else {}),
            "diagnostics": [note.to_json() for note in self.notes],
            "settings": list(self.settings),
            **_declared(skill),
            **({"hidden": self.hidden.to_reason()} if self.hidden else {}),
            **({"clients": dict(self.verdicts)} if self.verdicts else {}),
            **({"pinned": self.pin} if self.pin is not None else {}),
            **({"source": self.source, "revision": self.revision, "edited": self.edited} if self.source else {}),
            **({"listing": self.listing} if self.listing != "normal" else {}),
            **({"verdict": self.verdict} if self.verdict else {}),
        }


def _declared(skill: Skill) -> Json:
    """Return the fields that few skills have, if this one has them."""
    said: Json = {key: getattr(skill, key) for key in ("id", "author", "homepage", "entry_point")}
    said["runtime"] = dict(skill.runtime)
    said["requires_skills"] = [need._asdict() for need in skill.gates.skills]
    said["interface"] = {key: value for key, value in skill.interface._asdict().items() if value}
    return {key: value for key, value in said.items() if value}


class FileView(NamedTuple):
    """Tier 3: one file of a skill; a binary one is described, not decoded."""

    card: Card
    file: str
    size: int
    digest: str
    text: str | None
    """Its text; None if the file is not shown."""
    page: int
    described: str = ""
    """A description of the file if it is not shown."""

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.card.full_name

    @property
    def binary(self) -> bool:
        """Whether it is a binary file."""
        return self.described == _BINARY

    @property
    def pages(self) -> int:
        """Number of pages of its text."""
        return _pages(self.text or "")

    @property
    def content(self) -> str:
        """The requested page, or a description of the file."""
        if self.text is None:
            return f"[{self.described}: {self.file}, {self.size:,} bytes]"
        return _page(self.text, self.page)

    def to_json(self) -> Json:
        """Return the file as JSON."""
        answer = {"success": True, "name": self.name, "file": self.file, "size": self.size, "digest": self.digest}
        answer |= {"binary": self.binary, "content": self.content}
        return answer if self.text is None else {**answer, "page": self.page, "pages": self.pages}


class AlreadyLoaded(NamedTuple):
    """Stands for content that is already in the conversation."""

    card: Card
    file: str
    page: int
    digest: str

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.card.full_name

    @property
    def content(self) -> str:
        """The text that the model reads instead."""
        what = f"{self.file} of {self.name}" if self.file else self.name
        return f"[{what} is already loaded above and has not changed.]"

    def to_json(self) -> Json:
        """Return the stub as JSON."""
        return {
            "success": True,
            "name": self.name,
            "file": self.file,
            "page": self.page,
            "digest": self.digest,
            "already_loaded": True,
            "content": self.content,
            "hint": "Use what is in the context. You can load it again after a compaction.",
        }


View: TypeAlias = SkillView | FileView | AlreadyLoaded
"""The result of a read by a model in a conversation."""


def view_skill(opened: Opened, probe: Probe, *, page: int, body: str) -> SkillView:
    """Return the view of a skill with the given body. Raises UsageError for a page that does not exist."""
    gates, lacking = opened.skill.gates, missing(opened.skill.gates, probe)
    check_page(body, page)
    ready = not lacking and not wrong_platform(gates, probe)
    notes = opened.skill.diagnostics
    return SkillView(opened.card, opened.skill, body, page, opened.files, opened.digest, ready, tuple(lacking), notes)


def view_file(card: Card, path: str, *, page: int, bases: Sequence[str]) -> FileView:
    """Return one supporting file (tier 3)."""
    import hashlib

    from whet.skill.paths import check

    relative = check(path)
    if card.kind != "skill":
        hint = "Open the skill itself."
        raise NotFoundError("file-not-found", f"{card.full_name} is a single file; it has no other files.", hint=hint)
    try:
        if relative == main_file(card):
            descriptor = open_file(card.path, bases)
        else:
            descriptor = open_beneath(card.directory, relative, bases=bases)
    except NotFoundError as error:
        raise _no_such_file(card, relative, bases) from error
    try:
        size = os.fstat(descriptor).st_size
        data = read_descriptor(descriptor, MAX_TEXT + 1)
        total = hashlib.sha256(data)
        while piece := os.read(descriptor, 1 << 20):
            total.update(piece)
    finally:
        os.close(descriptor)
    digest = f"sha256:{total.hexdigest()}"
    text = _text(data) if len(data) <= MAX_TEXT else None
    if text is not None:
        check_page(text, page)
        return FileView(card, relative, size, digest, text, page)
    large = len(data) > MAX_TEXT and b"\0" not in data[:_LOOKED_AT]
    return FileView(card, relative, size, digest, None, 1, "file too large to show" if large else _BINARY)


def _text(data: bytes) -> str | None:
    """Return the file as text, or None if it is not text."""
    if b"\0" in data[:_LOOKED_AT]:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def check_page(text: str, page: int) -> None:
    """Raise UsageError for a page that a text does not have."""
    pages = _pages(text)
    if not 1 <= page <= pages:
        hint = f"Ask for a page from 1 to {pages}."
        raise UsageError("no-such-page", f"There is no page {page}.", hint=hint, pages=pages)


def _pages(text: str) -> int:
    return max(1, -(-len(text) // PAGE))


def _page(text: str, page: int) -> str:
    return text[(page - 1) * PAGE : page * PAGE]


def _no_such_file(card: Card, path: str, bases: Sequence[str]) -> NotFoundError:
    from whet.skill.names import closest

    try:
        names = [item.path for item in list_package(card.directory, now=0, main=main_file(card), bases=bases).files]
    except NotFoundError:
        return _gone(card)
    suggestions = list(closest(path, names))
    hint = f"Files: {', '.join(names[:20]) or 'none'}."
    if suggestions:
        hint = f"Did you mean {', '.join(suggestions)}?"
    message = f"{card.full_name} has no file {path}."
    return NotFoundError("file-not-found", message, hint=hint, suggestions=suggestions, files=names[:100])
