"""One address on the web: of a main file, which is the whole skill then, or of an archive with any number of skills.

Which of the two it is, is told by what comes and not by the address. The hash of the raw bytes is the revision, and a
reference that names such a hash gets those bytes or nothing. A page made for people is refused by name, because the
address in a browser is what gets pasted here.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import unquote

from whet.errors import ConflictError, InvalidError, NotFoundError
from whet.notes import Note
from whet.skill import paths
from whet.skill.finder import MAIN_FILE
from whet.sources.indexes.artifacts import ARCHIVE_BYTES, MAIN_BYTES, main_alone, progress_of
from whet.sources.model import Fetched, Listing
from whet.sources.packages import archived, described, nothing_found, offer_of, offered
from whet.sources.web.addresses import read_address

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.sources.model import FetchContext, Offer, Ref
    from whet.sources.web.addresses import Address
    from whet.sources.web.client import Response

_ACCEPT = "text/markdown, text/plain;q=0.9, application/zip;q=0.9, application/gzip;q=0.9, */*;q=0.5"
_DOCUMENTS = (".md", ".markdown", ".mdx", ".txt")
_ARCHIVES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz")
_TAR_MAGIC = slice(257, 262)
_PAGES = (b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")
_TEXTS = (
    "",
    "text",
    "application/octet-stream",
    "binary/octet-stream",
    "application/markdown",
    "application/x-markdown",
)


class UrlSource:
    """A main file or an archive at an address."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach
        self._address = read_address(ref.location)
        self._held: dict[Offer, Fetched] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  everything is listed anyway
        """What is there now. It is fetched for that, and kept for `fetch`."""
        if self.ref.path:
            paths.check(self.ref.path)
        answer = self._download()
        revision = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        found, notes = (
            self._archived(answer.body, revision) if self._is_archive(answer) else self._alone(answer, revision)
        )
        moved = _moved(self._address, answer)
        self._held = {item.offer: item._replace(notes=(*moved, *item.notes)) for item in found}
        return Listing(self.ref, revision, tuple(self._held), (*moved, *notes))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What fits a query, best first."""
        from whet.sources.taps.searching import rank

        return rank(self.inspect().offers, query, limit)

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The contents of offers that were listed."""
        self._reach.check_cancelled()
        if not self._held:
            self.inspect()
        if not all(offer in self._held for offer in offers):
            message = f"{self._address.shown} is not what it was when it was listed."
            raise ConflictError("source-changed", message, hint="List it again, and decide again.")
        return tuple(self._held[offer] for offer in offers)

    def close(self) -> None:
        """Let go of the content."""
        self._held = {}

    def _download(self) -> Response:
        self._reach.check_cancelled()
        pinned = self.ref.ref if self.ref.ref.startswith("sha256:") else ""
        return self._reach.web.get(
            self.ref.location,
            limit=MAIN_BYTES if self._ends(_DOCUMENTS) else ARCHIVE_BYTES,
            accept=_ACCEPT,
            sha256=pinned,
            progress=progress_of(self._reach, self._address.shown),
            cancelled=self._reach.cancelled,
        )

    def _is_archive(self, answer: Response) -> bool:
        """Whether the bytes are those of an archive, or should be by the address and are not those of a page."""
        body = answer.body
        if body.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b")) or body[_TAR_MAGIC] == b"ustar":
            return True
        return self._ends(_ARCHIVES) and not _is_page(answer)

    def _archived(self, body: bytes, revision: str) -> tuple[list[Fetched], tuple[Note, ...]]:
        try:
            return offered(self.ref, archived(body), revision=revision, fallback=self._name())
        except NotFoundError as error:
            raise nothing_found(self.ref.path or self._address.shown) from error

    def _alone(self, answer: Response, revision: str) -> tuple[list[Fetched], tuple[Note, ...]]:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        shown = self._address.shown
        if _is_page(answer):
            hint = "Use the address of the raw file, or name the repository instead."
            raise InvalidError("not-a-skill", f"{shown} is a page for a browser, not a {MAIN_FILE}.", hint=hint)
        if (not kind.startswith("text/") and kind not in _TEXTS) or b"\0" in answer.body:
            hint = f"Use the address of a {MAIN_FILE}, or of a zip, tar or tar.gz with skills."
            called = f" (the server calls it {kind[:40]!r})" if kind else ""
            message = f"{shown} is neither a {MAIN_FILE} nor an archive{called}."
            raise InvalidError("not-a-skill", message, hint=hint)
        if self.ref.path:
            raise nothing_found(self.ref.path)
        tree = main_alone(answer.body)
        said = described("", answer.body, fallback=self._name())
        return [Fetched(offer_of(self.ref, said, revision=revision, marker=revision), tree)], ()

    def _ends(self, suffixes: tuple[str, ...]) -> bool:
        return self._address.target.partition("?")[0].lower().endswith(suffixes)

    def _name(self) -> str:
        """What a skill is called that does not say so: like its file or, if that is called like all, its directory."""
        *above, last = unquote(self._address.target.partition("?")[0]).strip("/").split("/")
        stem = last.partition(".")[0]
        if stem.lower() not in ("", "skill", "skills"):
            return stem
        return above[-1] if above and above[-1] else self._address.host.replace(".", "-")


def _moved(address: Address, answer: Response) -> tuple[Note, ...]:
    """What to say of an answer that came from another host than the one that was asked."""
    if read_address(answer.url).origin == address.origin:
        return ()
    end = read_address(answer.url).shown
    message = f"{address.shown} leads to {end}; trust in the one is no trust in the other."
    return (Note("moved-elsewhere", "warning", message, "Name the final address.", path=address.shown),)


def _is_page(answer: Response) -> bool:
    """Whether somebody sees it in a browser. Some servers call Markdown HTML; frontmatter says what it is."""
    start = answer.body[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    called = answer.headers.get("content-type", "").lower().startswith(("text/html", "application/xhtml"))
    return start.startswith(_PAGES) or (called and not start.startswith(b"---"))
