"""Skills in a git repository, on whatever host, at a branch, a tag or a commit.

The repository is never checked out. When everything is wanted, one shallow fetch brings it. When a directory or names
are given, one fetch brings the names of all files and a second one exactly the files of the skills meant, also from a
repository that is otherwise too large. What git knows already serves as the marker of a skill: the id of its
directory's tree, which is the same as long as nothing in it changes.

Branches, tags and the default branch are fetched by name, so that there is no moment between looking one up and
fetching it. A commit is fetched by its id. Servers also hand out commits that belong to a fork of the repository and
never were on a branch of it; that a commit is on none is said in a note, because its address then says nothing about
who wrote it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import AmbiguousError, InvalidError, NotFoundError, UsageError, WhetError
from whet.notes import Note
from whet.skill.names import closest, hidden, key
from whet.skill.paths import shown
from whet.skill.tree import ignored
from whet.sources.git.failures import NOT_ADVERTISED, shown_location
from whet.sources.git.look import EVERYTHING, LISTING, Contents, Look
from whet.sources.git.remote import ASKED, HISTORY_BYTES, Remote
from whet.sources.model import Fetched, Listing
from whet.sources.packages import left_out
from whet.sources.refs.parse import candidates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from whet.skill.tree import Tree
    from whet.sources.git.remote import Snapshot
    from whet.sources.model import FetchContext, Offer, Ref

SCHEMES = ("https", "http", "ssh", "file")
_LFS = b"version https://git-lfs.github.com/spec/"
_LISTED = 10
_FULL = re.compile(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?")
_SHORT = re.compile(r"[0-9a-fA-F]{7,63}")
_BAD_REF = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)")
_BAD_PATH = re.compile(r"(?:^|/)(?:\.{0,2})(?:/|$)|\\")
_NAMES = ("refs/heads/", "refs/tags/")
_MOST = 1024
_HISTORY = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_UNTOLD = frozenset(("source-too-large", "too-slow", "git-failed"))


class GitSource:
    """One repository, and what was fetched from it last."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        scheme, colon, rest = ref.location.partition("://")
        if scheme not in SCHEMES or not colon or not rest or rest.startswith("-") or not ref.location.isprintable():
            hint = f"Whet supports {', '.join(f'{name}://' for name in SCHEMES)}."
            raise UsageError(
                "bad-address", f"{shown_location(ref.location)!r} is not the address of a repository.", hint=hint
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
            message = "The repository did not list this skill."
            raise UsageError("stale-offer", message, hint="List the repository again.")
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
                raise InvalidError("response-too-large", message, hint="A file of this kind is never that large.")
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

    def _fetched(self, remote: Remote, only: str) -> FetchedCommit:
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


class _Held(NamedTuple):
    """What stays between a look and a fetch."""

    contents: Contents
    files: Mapping[str, Sequence[str]]
    """Directory of a skill -> its files."""
    doubts: tuple[Note, ...]
    """Why the commit may be somebody else's."""


def _moved(remote: Remote) -> tuple[Note, ...]:
    if not remote.elsewhere:
        return ()
    where = shown_location(remote.location)
    message = f"{where} redirects to {remote.elsewhere}, which may not be trusted."
    return (Note("moved-elsewhere", "warning", message, "Use the final address.", path=where),)


def _remarks(offer: Offer, tree: Tree, files: Iterable[str]) -> tuple[Note, ...]:
    """What to say of a package: what was left out of it, and files whose content is kept elsewhere."""
    start = len(offer.ref.path) + 1 if offer.ref.path else 0
    outside = left_out((path[start:] for path in files if ignored(path[start:])), offer.name)
    pointers = [path for path, item in tree.items() if item.data.startswith(_LFS)]
    if not pointers:
        return outside
    message = f"Stored with Git LFS, so only a pointer is here: {', '.join(map(shown, pointers[:_LISTED]))}."
    return (
        *outside,
        Note("lfs-pointer", "warning", message, "Ask the author for the files.", skill=offer.name, path=pointers[0]),
    )


class FetchedCommit(NamedTuple):
    """A commit that was fetched."""

    commit: str
    notes: tuple[Note, ...] = ()


def check_words(ref: str, path: str) -> None:
    """Refuse a revision or a path that git could read as something else. Raises UsageError `bad-ref`."""
    for what, text, wrong in (("revision", ref, _BAD_REF), ("path", path, _BAD_PATH)):
        odd = text.startswith(("-", "/", "+")) or text.endswith(("/", ".")) or len(text) > _MOST
        if text and (odd or any(map(hidden, text)) or wrong.search(text)):
            hint = "Use a branch, a tag or a commit." if what == "revision" else "Use a path such as skills/name."
            raise UsageError("bad-ref", f"The {what} {shown(text)} cannot exist in a repository.", hint=hint)


def fetch_commit(remote: Remote, ref: str, only: str) -> FetchedCommit:
    """Fetch what `ref` means, "" the default branch, into an empty repository; `only` filters. Raises WhetError."""
    if _FULL.fullmatch(ref):
        return _by_commit(remote, ref.lower(), only)
    remote.start()
    for spelling in _spellings(ref):
        if not remote.fetch([f"+{spelling}:{ASKED}"], only=only):
            commit = remote.peeled(ASKED)
            if not commit:
                raise _no_commit(remote, ref)
            # Anybody may make other names than branches and tags, such as those of pull requests.
            odd = spelling.startswith("refs/") and not spelling.startswith(_NAMES)
            return _by_commit(remote, commit, only) if odd else FetchedCommit(commit)
    names = remote.references()
    if names and _SHORT.fullmatch(ref):
        return _by_prefix(remote, ref.lower(), only)
    raise _no_such_ref(remote, ref, names)


def _spellings(ref: str) -> tuple[str, ...]:
    """What to ask a server for. A name with slashes is a branch or a tag, never anything else that git would find."""
    if not ref:
        return ("HEAD",)
    if ref.startswith("refs/") or "/" not in ref:
        return (ref,)
    if ref.startswith(("heads/", "tags/")):
        return (f"refs/{ref}", f"refs/heads/{ref}")
    return (f"refs/heads/{ref}", f"refs/tags/{ref}")


def _by_commit(remote: Remote, commit: str, only: str) -> FetchedCommit:
    """A commit by its whole id; from a server that gives out only what a branch leads to, all branches."""
    tips = remote.references()
    notes = () if commit in tips.values() else _doubts(remote, commit)
    remote.start(sha256=len(commit) > 40)
    said = remote.fetch([f"+{commit}:{ASKED}"], only=only)
    name = ASKED
    if NOT_ADVERTISED.search(said):
        remote.fetch(_HISTORY, depth=0)
        name = commit
    elif said:
        raise _no_such_ref(remote, commit, tips)
    found = remote.peeled(name)
    if not found:
        raise _no_commit(remote, commit)
    return FetchedCommit(found, notes)


def _by_prefix(remote: Remote, prefix: str, only: str) -> FetchedCommit:
    """A commit by the beginning of its id, among those that branches and tags lead to."""
    remote.start()
    remote.fetch(_HISTORY, depth=0, only="tree:0", size=HISTORY_BYTES)
    commits = remote.commits_like(prefix)
    if not commits:
        raise _no_such_ref(remote, prefix, remote.references())
    if len(commits) > 1:
        message = f"{len(commits)} commits start with {prefix}."
        raise AmbiguousError("ambiguous-ref", message, hint="Use more digits.", candidates=list(commits[:_LISTED]))
    remote.start(sha256=len(commits[0]) > 40)
    if remote.fetch([f"+{commits[0]}:{ASKED}"], only=only):
        remote.fetch(_HISTORY, depth=0)
    return FetchedCommit(commits[0])


def _doubts(remote: Remote, commit: str) -> tuple[Note, ...]:
    """What to say of a commit that no branch or tag points to: whether one leads to it at all."""
    where = shown_location(remote.location)
    remote.start(sha256=len(commit) > 40)
    try:
        remote.fetch(_HISTORY, depth=0, only="tree:0", size=HISTORY_BYTES)
        if remote.peeled(commit) and remote.is_on_a_branch(commit):
            return ()
    except WhetError as error:
        if error.code not in _UNTOLD:
            raise
        message = f"Whet cannot tell whether the commit {commit[:12]} is on a branch of {where}: {error.message}"
        return (Note("commit-unconfirmed", "warning", message, "Use a branch or a tag instead.", path=where),)
    message = f"The commit {commit[:12]} is not on any branch or tag of {where}; it may come from a fork."
    return (
        Note("commit-not-on-branch", "warning", message, "Use a branch or a tag, or inspect the commit.", path=where),
    )


def _no_commit(remote: Remote, ref: str) -> NotFoundError:
    message = f"{shown(ref)} in {shown_location(remote.location)} is not a commit."
    return NotFoundError("no-such-ref", message, hint="Use a branch, a tag or a commit.", suggestions=[])


def _no_such_ref(remote: Remote, ref: str, names: dict[str, str]) -> NotFoundError:
    where = shown_location(remote.location)
    if not names:
        hint = "Check the address, or push a commit with a skill to it first."
        return NotFoundError("no-skills-found", f"{where} has no commits, or is not a repository.", hint=hint)
    short = [name.split("/", 2)[2] for name in names]
    near = list(closest(ref, short)) if ref else short[:_LISTED]
    if ref:
        message = f"There is no branch, tag or commit {shown(ref)} in {where}."
        hint = f"Did you mean {', '.join(near)}?" if near else f"There are {', '.join(short[:_LISTED])}."
        hint += " Use `--skill` to name a skill."
    else:
        message = f"{where} has no default branch."
        hint = f"Choose one: {', '.join(near)}."
    return NotFoundError("no-such-ref", message, hint=hint, suggestions=near)
