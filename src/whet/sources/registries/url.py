"""A single address on the web: a main file, which is the whole skill, or an archive with any number of skills.

The content decides which of the two it is, not the address. The hash of the raw bytes is the revision, and a reference
with such a hash gets those bytes or nothing. A web page gets its own error, because users paste addresses from a
browser.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import unquote

from whet.errors import ConflictError, InvalidError, NotFoundError
from whet.notes import Note
from whet.skill import paths
from whet.skill.finder import MAIN_FILE
from whet.sources.model import Fetched, Listing
from whet.sources.packages import archived, describe, nothing_found, offered
from whet.sources.refs.parts import ARCHIVES
from whet.sources.registries.registry import ARCHIVE_BYTES, MAIN_BYTES, Registry, make_package
from whet.sources.web.addresses import read_address

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.sources.model import FetchContext, Offer, Ref
    from whet.sources.web.request import Response

_ACCEPT = "text/markdown, text/plain;q=0.9, application/zip;q=0.9, application/gzip;q=0.9, */*;q=0.5"
_DOCUMENTS = (".md", ".markdown", ".mdx", ".txt")
_PAGES = (b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")
_BINARY = ("application/octet-stream", "binary/octet-stream")
_TEXTS = ("", "text", *_BINARY, "application/markdown", "application/x-markdown")


class UrlSource(Registry):
    """A main file or an archive at an address."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        super().__init__(ref, context)
        self._address = read_address(ref.location)
        self._packages: dict[Offer, Fetched] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  everything is listed anyway
        """List the current skills. This fetches the content and keeps it for `fetch`."""
        if self.ref.path:
            paths.check(self.ref.path)
        response = self.get(
            self.ref.location,
            limit=MAIN_BYTES if self._ends_with(_DOCUMENTS) else ARCHIVE_BYTES,
            accept=_ACCEPT,
            sha256=self.ref.ref if self.ref.ref.startswith("sha256:") else "",
            name=self._address.shown,
        )
        revision = f"sha256:{hashlib.sha256(response.body).hexdigest()}"
        read = self._read_archive if self._is_archive(response) else self._read_main_file
        found, notes = read(response, revision)
        moved = self._note_move(response)
        time = self.published(self.ref._replace(path=""), response.headers.get("last-modified", ""), revision)
        dated = (package._replace(offer=package.offer._replace(published=time)) for package in found)
        self._packages = {package.offer: package._replace(notes=(*moved, *package.notes)) for package in dated}
        return Listing(self.ref, revision, tuple(self._packages), (*moved, *notes))

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Return the contents of listed offers."""
        self.context.check_cancelled()
        if not self._packages:
            self.inspect()
        if not all(offer in self._packages for offer in offers):
            message = f"{self._address.shown} has changed since it was listed."
            raise ConflictError("source-changed", message, hint="List it again, then decide.")
        return tuple(self._packages[offer] for offer in offers)

    def close(self) -> None:
        """Release the content."""
        self._packages = {}

    def _is_archive(self, response: Response) -> bool:
        """Return whether the bytes are an archive, or should be one by the address and are not a web page."""
        body = response.body
        if body.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b")) or body[257:262] == b"ustar":
            return True
        return self._ends_with(ARCHIVES) and not _is_page(response)

    def _read_archive(self, response: Response, revision: str) -> tuple[list[Fetched], tuple[Note, ...]]:
        try:
            return offered(self.ref, archived(response.body), revision=revision, fallback=self._make_name())
        except NotFoundError as error:
            raise nothing_found(self.ref.path or self._address.shown) from error

    def _read_main_file(self, response: Response, revision: str) -> tuple[list[Fetched], tuple[Note, ...]]:
        kind, address = _get_type(response).partition(";")[0].strip(), self._address.shown
        if _is_page(response):
            hint = "Use the address of the raw file, or name the repository instead."
            raise InvalidError("not-a-skill", f"{address} is a web page, not a {MAIN_FILE}.", hint=hint)
        if (not kind.startswith("text/") and kind not in _TEXTS) or b"\0" in response.body:
            hint = f"Use the address of a {MAIN_FILE}, or of a zip, tar or tar.gz with skills."
            called = f" (the server calls it {kind[:40]!r})" if kind else ""
            message = f"{address} is neither a {MAIN_FILE} nor an archive{called}."
            raise InvalidError("not-a-skill", message, hint=hint)
        if self.ref.path:
            raise nothing_found(self.ref.path)
        tree = make_package(response.body)
        offer = describe(self.ref, response.body, fallback=self._make_name(), revision=revision, marker=revision)
        return [Fetched(offer, tree)], ()

    def _ends_with(self, suffixes: tuple[str, ...]) -> bool:
        return self._address.target.partition("?")[0].lower().endswith(suffixes)

    def _make_name(self) -> str:
        """Return a name for a skill without one: that of its file or, for a SKILL file, of its directory."""
        *above, last = unquote(self._address.target.partition("?")[0]).strip("/").split("/")
        stem = last.partition(".")[0]
        if stem.lower() not in ("", "skill", "skills"):
            return stem
        return above[-1] if above and above[-1] else self._address.host.replace(".", "-")

    def _note_move(self, response: Response) -> tuple[Note, ...]:
        """Return a note if the content came from another host than the requested one."""
        address, end = self._address, read_address(response.url)
        if end.origin == address.origin:
            return ()
        message = f"{address.shown} redirects to {end.shown}, which may not be trusted."
        return (Note("moved-elsewhere", "warning", message, "Use the final address.", path=address.shown),)


def _is_page(response: Response) -> bool:
    """Return whether it is a web page. Some servers call Markdown HTML; frontmatter decides then."""
    start = response.body[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    called = _get_type(response).startswith(("text/html", "application/xhtml"))
    return start.startswith(_PAGES) or (called and not start.startswith(b"---"))


def _get_type(response: Response) -> str:
    return response.headers.get("content-type", "").lower()
