"""What registries share: requests, the size of a fetch, archives and refusals."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from whet.errors import InvalidError, NotFoundError, WhetError
from whet.skill.archive import unpack
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.names import closest, key
from whet.skill.tree import DEFAULT_LIMITS, Item, Tree
from whet.sources.concurrency import together
from whet.sources.model import Listing, Offer, Progress, Ref
from whet.sources.packages import left_out, package_at, weigh
from whet.sources.registries.answers import Answer, limit_notes, parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from whet.notes import Note
    from whet.sources.model import FetchContext, Fetched
    from whet.sources.web.request import Response

ANSWER_BYTES = 8 * 1024 * 1024
"""The most bytes of a JSON answer."""
ARCHIVE_BYTES = DEFAULT_LIMITS.total_bytes
"""The most bytes of an archive with one skill, as it is sent."""
MAIN_BYTES = MAX_DOCUMENT
"""The most bytes of a main file."""
JSON = "application/json"


class Registry:
    """A source that answers over HTTP. A subclass has `inspect`, and `fetch_one` or its own `fetch`."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        self.ref = ref
        self.context = context

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """What the registry has. With names, at least everything that answers to one of them."""
        raise NotImplementedError

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The contents of these offers, several at a time, each complete or the whole refused."""
        size = FetchSize()
        return tuple(together(lambda offer: self.fetch_within(offer, size), offers))

    def fetch_one(self, offer: Offer) -> Fetched:
        """The content of one offer. Raises WhetError."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is kept open."""

    # for subclasses

    def fetch_within(self, offer: Offer, size: FetchSize) -> Fetched:
        """The content of one offer, counted in the size of the whole fetch; an error names the skill."""
        try:
            package = self.fetch_one(offer)
            size.add(package.tree)
        except WhetError as error:
            raise prefix_error(error, offer.name) from error
        return package

    def get(
        self,
        url: str,
        *,
        limit: int = ANSWER_BYTES,
        accept: str = "*/*",
        headers: Mapping[str, str] | None = None,
        sha256: str = "",
        name: str = "",
    ) -> Response:
        """What is at an address, whole and with this hash if one is given. `name` reports progress. Raises WhetError.

        Called from several threads at once.
        """
        context = self.context
        context.check_cancelled()
        return context.web.get(
            url,
            limit=limit,
            accept=accept,
            headers=headers or {},
            sha256=sha256,
            progress=(lambda done, total: context.progress(Progress(name, done, total))) if name else None,
            cancelled=context.cancelled,
        )

    def get_json(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer of the registry's API to a path. Raises WhetError."""
        response = self.get(f"{self.ref.location}/api/v1/{path}", accept=JSON, headers=headers)
        return Answer(parse_json(response.body, response.url), "the answer", response.url)

    def fetch_archive(
        self,
        url: str,
        name: str,
        *,
        sha256: str = "",
        size: int = -1,
        headers: Mapping[str, str] | None = None,
        without: Collection[str] = (),
    ) -> tuple[Tree, tuple[Note, ...]]:
        """The one skill in an archive, at its root or in its one directory, and what was left out. Raises WhetError.

        The archive must have this hash and, if one is given, this size. `without` names files at the root that the
        registry adds and that are no part of the skill.
        """
        limit = ARCHIVE_BYTES if size < 0 else min(size, ARCHIVE_BYTES)
        data = self.get(url, limit=limit, sha256=sha256, headers=headers, name=name).body
        if size >= 0 and len(data) != size:
            raise mismatch(f"the archive has {len(data)} bytes and not {size}")
        package = unpack(data)
        extra = package.tree.keys() & {*without}
        files = {path: item for path, item in package.tree.items() if path not in extra}
        return package_at(files, ""), left_out((*package.skipped, *extra), name)

    def offer(self, path: str, name: str, description: str, version: str, digest: str = "", *, ref: str = "") -> Offer:
        """One skill at a version that cannot change. `ref` is the version or tag that its reference follows."""
        place = Ref(self.ref.kind, self.ref.location, ref, path)
        return Offer(name, description, place, version, digest or version, version, digest)

    def list_found(self, found: Iterable[tuple[Offer, Sequence[Note]]]) -> Listing:
        """The listing of skills that were looked up one by one."""
        found = list(found)
        offers = tuple({offer.ref: offer for offer, _ in found}.values())
        revision = offers[0].revision if len(offers) == 1 else ""
        return Listing(self.ref, revision, offers, limit_notes(note for _, notes in found for note in notes))

    def missing(self, path: str, why: str = "") -> NotFoundError:
        """The error for a skill that the registry does not have."""
        message = f"{self.ref.location} has no skill {path}. {why}".strip()
        return NotFoundError("source-not-found", message, hint="`whet search` finds what there is.")

    def not_listed(self, what: str, name: str, known: Iterable[str], notes: Iterable[Note]) -> WhetError:
        """The error for a name that a list does not have, or that is in it and was skipped."""
        for note in notes:
            if note.severity == "error" and note.skill and key(note.skill) == key(name):
                return InvalidError(note.code, note.message, hint=note.hint)
        near = closest(name, known)
        hint = f"Did you mean {', '.join(near)}?" if near else f"List what is there without naming a {what}."
        message = f"There is no {what} {name!r} in {self.ref.location}."
        return NotFoundError("skill-not-in-source", message, hint=hint, suggestions=list(near))


class FetchSize:
    """Counts the bytes of all skills of one fetch, whichever thread brings them."""

    __slots__ = ("_lock", "_total")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0

    def add(self, tree: Tree) -> None:
        """Count one skill. Raises InvalidError if all of them together are too large."""
        with self._lock:
            self._total = weigh(tree, self._total)


def make_package(main: bytes) -> Tree:
    """The package of a skill that is only a main file."""
    return package_at({MAIN_FILE: Item(main)}, "")


def mismatch(what: str) -> InvalidError:
    """The error for content that is not what was promised."""
    hint = "Try again later; if it stays so, tell its publisher."
    return InvalidError("digest-mismatch", f"It is not what its source promised: {what}.", hint=hint)


def prefix_error(error: WhetError, name: str) -> WhetError:
    """The same error with the name of the skill in front of its message."""
    return type(error)(error.code, f"{name}: {error.message}", hint=error.hint, **error.details)
