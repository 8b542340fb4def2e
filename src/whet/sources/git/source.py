"""Skills in a git repository, on whatever host, at a branch, a tag or a commit.

The repository is never checked out. When everything is wanted, one shallow fetch brings it. When a directory or names
are given, one fetch brings the names of all files and a second one exactly the files of the skills meant, also from a
repository that is otherwise too large. What git knows already serves as the marker of a skill: the id of its
directory's tree, which is the same as long as nothing in it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.notes import Note
from whet.skill.names import key
from whet.skill.paths import shown
from whet.skill.tree import ignored
from whet.sources.git.contents import EVERYTHING, LISTING, Contents
from whet.sources.git.failures import shown_location
from whet.sources.git.looking import Look
from whet.sources.git.remote import Remote
from whet.sources.git.resolving import Found, check_words, fetch_commit
from whet.sources.model import Fetched, Listing
from whet.sources.packages import left_out
from whet.sources.refs.reading import candidates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from whet.skill.tree import Tree
    from whet.sources.git.objects import Snapshot
    from whet.sources.model import FetchContext, Offer, Ref

SCHEMES = ("https", "http", "ssh", "file")

_LFS = b"version https://git-lfs.github.com/spec/"
_LISTED = 10


class GitSource:
    """One repository, and what was fetched from it last."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        scheme, colon, rest = ref.location.partition("://")
        if scheme not in SCHEMES or not colon or not rest or rest.startswith("-") or not ref.location.isprintable():
            hint = f"Whet knows {', '.join(f'{name}://' for name in SCHEMES)}."
            raise UsageError(
                "bad-address", f"{shown_location(ref.location)!r} is no address of a repository.", hint=hint
            )
        check_words(ref.ref, ref.path)
        self.ref = ref
        self.known: Mapping[str, str] = {}
        """Markers, by path, of what somebody has already: of a skill that still has its own, nothing is brought."""
        self._reach = reach
        self._remote: Remote | None = None
        self._held: _Held | None = None

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """What is there now. With names, the skills that answer to them; where not all are found, everything."""
        try:
            return self._inspect({key(name.removeprefix("./").rstrip("/")) for name in names})
        except BaseException:
            self.close()
            raise

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The contents of what the last `inspect` offered."""
        held = self._held
        if held is None or any(
            offer.revision != held.contents.commit or offer.ref.path not in held.files for offer in offers
        ):
            message = "What is to be fetched was not offered by the last look at the repository."
            raise UsageError("stale-offer", message, hint="Look at the repository again.")
        try:
            wanted = {offer.ref.path: held.files[offer.ref.path] for offer in offers}
            trees = dict(zip(wanted, held.contents.packages(wanted), strict=True))
        except InvalidError:  # the others can still be fetched
            raise
        except BaseException:
            self.close()
            raise
        return tuple(
            Fetched(
                offer,
                trees[offer.ref.path],
                (*held.doubts, *_remarks(offer, trees[offer.ref.path], wanted[offer.ref.path])),
            )
            for offer in offers
        )

    def close(self) -> None:
        """Remove everything that was fetched."""
        remote, self._remote, self._held = self._remote, None, None
        if remote is not None:
            remote.close()

    def read_file(self, path: str, limit: int) -> bytes | None:
        """One file, fetched without the rest if the server allows it; None if there is none. Raises WhetError."""
        remote = Remote(self.ref.location, self._reach)
        try:
            parts = remote.takes_parts
            commit = fetch_commit(remote, self.ref.ref, LISTING if parts else EVERYTHING).commit
            snapshot = remote.snapshot(commit)
            node = snapshot.files.get(path)
            if node is None or node.link or node.module:
                return None
            Contents(remote, commit, snapshot, parts=parts).bring([path])
            if remote.sizes([node.oid]).get(node.oid, limit + 1) > limit:
                message = f"The file {path} of {self.ref.location} has more than {limit} bytes."
                raise InvalidError("response-too-large", message, hint="This is more than such a file has.")
            return remote.contents([node.oid])[node.oid]
        finally:
            remote.close()

    def _inspect(self, names: set[str]) -> Listing:
        self._reach.check_cancelled()
        self._held = None
        if self._remote is None:
            self._remote = Remote(self.ref.location, self._reach)
        remote = self._remote
        parts = bool(self.ref.path or names) and remote.takes_parts
        found = self._fetched(remote, LISTING if parts else EVERYTHING)
        contents = Contents(remote, found.commit, self._snapshot(remote, found.commit), parts=parts)
        look = Look(self.ref, contents, names, self.known)
        look.run()
        doubts = (*found.notes, *_moved(remote))
        self._held = _Held(contents, look.files, doubts)
        return Listing(self.ref, found.commit, tuple(look.offers), (*doubts, *look.notes))

    def _fetched(self, remote: Remote, only: str) -> Found:
        """The commit that is meant. In the address of a page, a branch with slashes ends somewhere in the path."""
        try:
            return fetch_commit(remote, self.ref.ref, only)
        except NotFoundError as error:
            if error.code != "no-such-ref":
                raise
            names = remote.references()
            for ref in candidates(self.ref)[1:]:
                if not {f"refs/heads/{ref.ref}", f"refs/tags/{ref.ref}"}.isdisjoint(names):
                    self.ref = ref
                    return fetch_commit(remote, ref.ref, only)
            raise

    def _snapshot(self, remote: Remote, commit: str) -> Snapshot:
        """Everything the commit holds; of one that holds too much, what lies at the path."""
        try:
            return remote.snapshot(commit)
        except InvalidError:
            if not self.ref.path:
                raise
            return remote.snapshot(commit, self.ref.path)


class _Held:
    """What stays between a look and a fetch."""

    __slots__ = ("contents", "doubts", "files")

    def __init__(self, contents: Contents, files: Mapping[str, Sequence[str]], doubts: tuple[Note, ...]) -> None:
        self.contents = contents
        self.doubts = doubts
        """Why the commit may be somebody else's."""
        self.files = files
        """Directory of a skill -> its files."""


def _moved(remote: Remote) -> tuple[Note, ...]:
    if not remote.elsewhere:
        return ()
    where = shown_location(remote.location)
    message = f"{where} leads to {remote.elsewhere}; trust in the one is no trust in the other."
    return (Note("moved-elsewhere", "warning", message, "Name the final address.", path=where),)


def _remarks(offer: Offer, tree: Tree, files: Iterable[str]) -> tuple[Note, ...]:
    """What to say of a package: what was left out of it, and files whose content is kept elsewhere."""
    start = len(offer.ref.path) + 1 if offer.ref.path else 0
    outside = left_out((path[start:] for path in files if ignored(path[start:])), offer.name)
    pointers = [path for path, item in tree.items() if item.data.startswith(_LFS)]
    if not pointers:
        return outside
    message = f"Kept elsewhere by Git LFS, so that only a pointer is here: {', '.join(map(shown, pointers[:_LISTED]))}."
    return (
        *outside,
        Note("lfs-pointer", "warning", message, "Ask its author for the files.", skill=offer.name, path=pointers[0]),
    )
