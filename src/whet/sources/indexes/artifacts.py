"""One skill from the bytes of an artifact: an archive with a skill in it, or a main file alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from whet.errors import InvalidError, WhetError
from whet.skill.archive import unpack
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.tree import DEFAULT_LIMITS, Item, Tree
from whet.sources.concurrency import together
from whet.sources.model import Progress
from whet.sources.packages import left_out, package_at, weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.notes import Note
    from whet.sources.model import FetchContext, Fetched, Offer

ARCHIVE_BYTES = DEFAULT_LIMITS.total_bytes
"""What an archive of one skill may weigh on the way here."""
MAIN_BYTES = MAX_DOCUMENT
"""What a main file may weigh."""


class Scales:
    """Weighs the skills of one fetch together, whichever thread brings them."""

    __slots__ = ("_lock", "_total")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0

    def add(self, tree: Tree) -> Tree:
        """The same content, unless all of it together is too much. Raises InvalidError."""
        with self._lock:
            self._total = weigh(tree, self._total)
        return tree


def fetched(offers: Sequence[Offer], fetch: Callable[[Offer], Fetched]) -> tuple[Fetched, ...]:
    """The packages of these offers, several at a time, weighed together; a failure says which skill it is about."""
    scales = Scales()

    def one(offer: Offer) -> Fetched:
        try:
            package = fetch(offer)
            return package._replace(tree=scales.add(package.tree))
        except WhetError as error:
            raise about(error, offer.name) from error

    return tuple(together(one, offers))


def unpacked(data: bytes, name: str, *, without: Collection[str] = ()) -> tuple[Tree, tuple[Note, ...]]:
    """The one skill in an archive, at its root or in its one folder, and what was left out. Raises InvalidError.

    `without` names files at the root that the server adds and that are no part of the skill.
    """
    package = unpack(data)
    added = package.tree.keys() & {*without}
    files = {path: item for path, item in package.tree.items() if path not in added}
    return package_at(files, ""), left_out((*package.skipped, *added), name)


def main_alone(data: bytes) -> Tree:
    """The skill whose main file is all there is of it."""
    return package_at({MAIN_FILE: Item(data)}, "")


def download(
    reach: FetchContext, url: str, name: str, *, limit: int, sha256: str = "", headers: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of an artifact, whole and with this hash where one is known. Raises WhetError."""
    reach.check_cancelled()
    answer = reach.web.get(
        url,
        limit=limit,
        headers=headers or {},
        sha256=sha256,
        progress=progress_of(reach, name),
        cancelled=reach.cancelled,
    )
    return answer.body


def progress_of(reach: FetchContext, name: str) -> Callable[[int, int], None]:
    """Tells how much of a skill has arrived; called from several threads at once."""
    return lambda done, total: reach.progress(Progress(name, done, total))


def mismatch(what: str) -> InvalidError:
    """The refusal of content that is not what was promised."""
    hint = "Try again later; if it stays so, tell its publisher."
    return InvalidError("digest-mismatch", f"It is not what its source promised: {what}.", hint=hint)


def about(error: WhetError, name: str) -> WhetError:
    """The same failure, saying which skill it is about."""
    return type(error)(error.code, f"{name}: {error.message}", hint=error.hint, **error.details)
