"""Skills in a git repository on any host, at a branch, a tag or a commit.

The repository is never checked out. If everything is wanted, one shallow fetch brings it. If a directory or names are
given, one fetch brings the names of all files and a second one exactly the files of the requested skills, even from a
repository that is otherwise too large. The git tree id of a skill's directory is its marker: it changes only with the
content.

Branches, tags and the default branch are fetched by name, so that they cannot move between lookup and fetch. A commit
is fetched by its id. Servers also serve commits that belong to a fork of the repository and were never on one of its
branches; a note says that a commit is on no branch, because the address then says nothing about its author.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import AmbiguousError, InvalidError, NotFoundError, UsageError, WhetError
from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.names import closest, hidden, key
from whet.skill.paths import shown
from whet.skill.tree import ignored
from whet.skill.versions import has_sign, in_range, is_range, semver_key
from whet.sources.age import choose_commit
from whet.sources.git.failures import NOT_ADVERTISED, shown_location
from whet.sources.git.look import EVERYTHING, LISTING, Contents, Look
from whet.sources.git.remote import ASKED, HISTORY_BYTES, Remote
from whet.sources.model import Fetched, Listing, Newer
from whet.sources.packages import left_out
from whet.sources.refs.parse import candidates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from whet.skill.tree import Tree
    from whet.sources.age import Commit, Cooldown
    from whet.sources.git.remote import Snapshot
    from whet.sources.model import FetchContext, Offer, Ref

SCHEMES = ("https", "http", "ssh", "file")
_LFS = b"version https://git-lfs.github.com/spec/"
_LISTED = 10
_FULL = compile_late(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?")
_SHORT = compile_late(r"[0-9a-fA-F]{7,63}")
_BAD_REF = compile_late(r"[\s~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)")
_BAD_PATH = compile_late(r"(?:^|/)(?:\.{0,2})(?:/|$)|\\")
_NAMES = ("refs/heads/", "refs/tags/")
_MOST = 1024
_HISTORY = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_COMMITS = 20_000
"""Commits of a branch that are searched for one that is old enough."""
_TAG = compile_late(r"refs/tags/(?:(.+)[@/_-])?v?(\d{1,9}(?:\.\d{1,9}){0,2}(?:\+[0-9A-Za-z.-]*)?)")
"""Tags of versions, of the repository or of one skill (review@1.2.0); prereleases do not match."""
_TAGS = 8
"""Tags that are tried for a version within a range."""
_UNTOLD = frozenset(("source-too-large", "too-slow", "git-failed"))


class GitSource:
    """One repository, and the data fetched from it last."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        scheme, colon, rest = ref.location.partition("://")
        if scheme not in SCHEMES or not colon or not rest or rest.startswith("-") or not ref.location.isprintable():
            hint = f"Whet supports {', '.join(f'{name}://' for name in SCHEMES)}."
            raise UsageError(
                "bad-address", f"{shown_location(ref.location)!r} is not the address of a repository.", hint=hint
            )
        check_words("" if has_sign(ref.ref) else ref.ref, ref.path)
        self.ref = ref
        self.known: Mapping[str, str] = {}
        """Markers of installed skills by path: a skill whose marker is unchanged is not fetched."""
        self._reach = reach
        self._remotes: list[Remote] = []
        self._held: dict[str, _Held] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """List the skills of the repository. With names, only matching skills; if some are not found, all skills."""
        try:
            return self._inspect({key(name.removeprefix("./").rstrip("/")) for name in names})
        except BaseException:
            self.close()
            raise

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Return the contents of offers of the last `inspect`."""
        if any(
            offer.revision not in self._held or offer.ref.path not in self._held[offer.revision].files
            for offer in offers
        ):
            message = "The repository did not list this skill."
            raise UsageError("stale-offer", message, hint="List the repository again.")
        trees: dict[tuple[str, str], Tree] = {}
        try:
            for revision in dict.fromkeys(offer.revision for offer in offers):
                held = self._held[revision]
                wanted = {offer.ref.path: held.files[offer.ref.path] for offer in offers if offer.revision == revision}
                packages = held.contents.packages(wanted)
                trees |= {(revision, path): tree for path, tree in zip(wanted, packages, strict=True)}
        except InvalidError:  # the others can still be fetched
            raise
        except BaseException:
            self.close()
            raise
        return tuple(self._package(offer, trees[offer.revision, offer.ref.path]) for offer in offers)

    def _package(self, offer: Offer, tree: Tree) -> Fetched:
        held = self._held[offer.revision]
        return Fetched(offer, tree, (*held.doubts, *_remarks(offer, tree, held.files[offer.ref.path])))

    def close(self) -> None:
        """Delete all fetched data."""
        remotes, self._remotes, self._held = self._remotes, [], {}
        for remote in remotes:
            remote.close()

    def read_file(self, path: str, limit: int) -> bytes | None:
        """Fetch one file, alone if the server allows it; return None if it does not exist. Raises WhetError."""
        check_words(self.ref.ref, path)
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
        self._held = {}
        remote = self._open(0)
        if has_sign(self.ref.ref):
            return self._inspect_range(remote, names)
        parts = bool(self.ref.path or names) and remote.takes_parts
        try:
            found = self._fetched(remote, LISTING if parts else EVERYTHING)
        except NotFoundError as error:
            if error.code != "no-such-ref" or not is_range(self.ref.ref):
                raise
            return self._inspect_range(remote, names)
        look = self._look(remote, found, names, parts=parts)
        offers = tuple(look.offers)
        if cooldown := self._reach.cooldown:
            offers = self._old_enough(look, cooldown, remote.fetched_time(), names, parts=parts)
        return Listing(self.ref, found.commit, offers, (*self._held[found.commit].doubts, *look.notes))

    def _open(self, number: int) -> Remote:
        """Return the remote with this number, opened on first use."""
        if len(self._remotes) == number:
            self._remotes.append(Remote(self.ref.location, self._reach))
        return self._remotes[number]

    def _inspect_range(self, first: Remote, names: set[str]) -> Listing:
        """List each skill in its highest version within the range that is old enough: of the tags, else of the branch.

        The version in a skill takes precedence over the name of a tag.
        """
        tags, cooldown, one = self._tags(first, names), self._reach.cooldown, bool(self.ref.path or names)
        chosen: dict[str, Offer] = {}
        notes: dict[Note, None] = {}
        for number, tag in enumerate((*tags, "")):
            remote, parts, time = self._open(number), one and first.takes_parts, 0
            try:
                found = fetch_commit(remote, tag, LISTING if parts else EVERYTHING)
                look = self._look(remote, found, names, parts=parts)
            except (NotFoundError, InvalidError):
                continue
            if cooldown:
                place = self.ref._replace(path="", ref=tag)
                time = cooldown.looks.published(place, remote.fetched_time(), found.commit)
            for offer in look.offers:
                path = offer.ref.path
                if in_range(offer.version, self.ref.ref) or (tag and not (offer.version and one)):
                    chosen[path] = _prefer(chosen.get(path), offer._replace(published=time), cooldown, tags)
            notes |= dict.fromkeys(look.notes)
            known = {name for offer in chosen.values() for name in (key(offer.name), *_spell(offer.ref.path))}
            if chosen and names <= known and not any(_is_young(offer, cooldown) for offer in chosen.values()):
                break
        if not chosen:
            raise _no_version(first, self.ref.ref)
        revision = next(iter(chosen.values())).revision
        return Listing(self.ref, revision, tuple(chosen.values()), (*self._held[revision].doubts, *notes))

    def _tags(self, remote: Remote, names: set[str]) -> dict[str, str]:
        """Return the tags within the version range and their commits, the highest version first."""
        own = {"", *(spelled for path in (self.ref.path, *names) for spelled in _spell(path))}
        found = []
        for name, commit in remote.references().items():
            tag = _TAG.fullmatch(name)
            if tag and key(tag[1] or "") in own and in_range(tag[2], self.ref.ref):
                found.append((semver_key(tag[2]), bool(tag[1]), name, commit))
        return {name: commit for *_, name, commit in sorted(found, reverse=True)[:_TAGS]}

    def _look(self, remote: Remote, found: FetchedCommit, names: set[str], *, parts: bool) -> Look:
        contents = Contents(remote, found.commit, self._snapshot(remote, found.commit), parts=parts)
        look = Look(self.ref, contents, names, self.known)
        look.run()
        self._held[found.commit] = _Held(contents, look.files, (*found.notes, *_moved(remote)))
        return look

    # age

    def _old_enough(
        self, look: Look, cooldown: Cooldown, claimed: int, names: set[str], *, parts: bool
    ) -> tuple[Offer, ...]:
        """Return each skill in its newest state that is old enough; if there is none, the newest."""
        commit, place = look.contents.commit, self.ref._replace(path="")
        time = cooldown.looks.published(place, claimed, commit)
        offers = [offer._replace(published=time) for offer in look.offers]
        if time <= cooldown.before or self.ref.ref == commit:
            return tuple(offers)
        remote = self._open(1)
        history = self._history(remote)
        seen = cooldown.looks.seen(place)
        at, then = choose_commit(history, seen, cooldown.looks.now, cooldown.before)
        if at < 0 or not (older := self._look_at(remote, history[at].id, names, parts=parts)):
            return tuple(offers)
        before = {offer.ref.path: offer for offer in older.offers}
        ids = [each.id for each in history]
        chosen = []
        for offer in offers:
            old, installed = before.get(offer.ref.path), cooldown.installed.get(offer.ref.path, "")
            if old and old.marker == offer.marker:  # the recent change is elsewhere in the repository
                chosen.append(offer._replace(published=then))
            elif old and (not installed or installed in ids[at + 1 :]):
                newer = Newer(offer.version if offer.version != old.version else commit[:10], time)
                chosen.append(old._replace(published=then, newer=newer, group=offer.group))
            else:
                chosen.append(offer)
        return tuple(chosen)

    def _history(self, remote: Remote) -> tuple[Commit, ...]:
        """Return the commits of the followed branch; none for a tag, and none if the server sends too much."""
        ref = self.ref.ref
        if ref and f"refs/heads/{ref.removeprefix('refs/heads/')}" not in remote.references():
            return ()
        name = f"refs/heads/{ref.removeprefix('refs/heads/')}" if ref else "HEAD"
        try:
            remote.start()
            failed = remote.fetch([f"+{name}:{ASKED}"], depth=0, only="tree:0", size=HISTORY_BYTES)
            return () if failed else remote.history(_COMMITS)
        except WhetError as error:
            if error.code not in _UNTOLD:
                raise
            return ()

    def _look_at(self, remote: Remote, commit: str, names: set[str], *, parts: bool) -> Look | None:
        """Look at an earlier commit of the branch; return None if it has none of the skills or cannot be fetched."""
        remote.start(sha256=len(commit) > 40)
        if remote.fetch([f"+{commit}:{ASKED}"], only=LISTING if parts else EVERYTHING):
            return None
        try:
            return self._look(remote, FetchedCommit(commit), names, parts=parts)
        except (NotFoundError, InvalidError):
            return None

    def _fetched(self, remote: Remote, only: str) -> FetchedCommit:
        """Fetch the requested commit. In the address of a page, the name of a branch may extend into the path."""
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
        """Return the files of the commit; if there are too many, only those at the path."""
        try:
            return remote.snapshot(commit)
        except InvalidError:
            if not self.ref.path:
                raise
            return remote.snapshot(commit, self.ref.path)


class _Held(NamedTuple):
    """Data kept between `inspect` and `fetch`."""

    contents: Contents
    files: Mapping[str, Sequence[str]]
    """Files by directory of the skill."""
    doubts: tuple[Note, ...]
    """Notes that the commit may belong to a fork."""


def _moved(remote: Remote) -> tuple[Note, ...]:
    if not remote.elsewhere:
        return ()
    where = shown_location(remote.location)
    message = f"{where} redirects to {remote.elsewhere}, which may not be trusted."
    return (Note("moved-elsewhere", "warning", message, "Use the final address.", path=where),)


def _remarks(offer: Offer, tree: Tree, files: Iterable[str]) -> tuple[Note, ...]:
    """Return notes about files that are left out, or that are only Git LFS pointers."""
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


def _spell(path: str) -> tuple[str, ...]:
    """Return the possible names of a skill at a path."""
    return (key(path), key(path.rpartition("/")[2])) if path else ()


def _is_young(offer: Offer, cooldown: Cooldown | None) -> bool:
    return cooldown is not None and offer.published > cooldown.before


def _prefer(higher: Offer | None, lower: Offer, cooldown: Cooldown | None, tags: Mapping[str, str]) -> Offer:
    """Return the higher version; if it is too young, a lower one that is old enough and above the installed one."""
    if higher is None:
        return lower
    if cooldown is None or not _is_young(higher, cooldown) or _is_young(lower, cooldown):
        return higher
    installed, order = cooldown.installed.get(lower.ref.path), [*tags.values()]
    if installed and not (lower.revision in order and installed in order[order.index(lower.revision) + 1 :]):
        return higher
    return lower._replace(newer=Newer(higher.version or higher.revision[:10], higher.published))


def check_words(ref: str, path: str) -> None:
    """Raise UsageError `bad-ref` for a revision or a path that git could read as something else."""
    for what, text, wrong in (("revision", ref, _BAD_REF), ("path", path, _BAD_PATH)):
        odd = text.startswith(("-", "/", "+")) or text.endswith(("/", ".")) or len(text) > _MOST
        if text and (odd or any(map(hidden, text)) or wrong.search(text)):
            hint = "Use a branch, a tag or a commit." if what == "revision" else "Use a path such as skills/name."
            raise UsageError("bad-ref", f"The {what} {shown(text)} cannot exist in a repository.", hint=hint)


def fetch_commit(remote: Remote, ref: str, only: str) -> FetchedCommit:
    """Fetch `ref`, "" for the default branch, into an empty repository with the filter `only`. Raises WhetError."""
    if _FULL.fullmatch(ref):
        return _by_commit(remote, ref.lower(), only)
    remote.start()
    for spelling in _spellings(ref):
        if not remote.fetch([f"+{spelling}:{ASKED}"], only=only):
            commit = remote.peeled(ASKED)
            if not commit:
                raise _no_commit(remote, ref)
            # Anyone can create refs other than branches and tags, such as those of pull requests.
            odd = spelling.startswith("refs/") and not spelling.startswith(_NAMES)
            return _by_commit(remote, commit, only) if odd else FetchedCommit(commit)
    names = remote.references()
    if names and _SHORT.fullmatch(ref):
        return _by_prefix(remote, ref.lower(), only)
    raise _no_such_ref(remote, ref, names)


def _spellings(ref: str) -> tuple[str, ...]:
    """Return the refs to request. A name with slashes is a branch or a tag, and nothing else that git might find."""
    if not ref:
        return ("HEAD",)
    if ref.startswith("refs/") or "/" not in ref:
        return (ref,)
    if ref.startswith(("heads/", "tags/")):
        return (f"refs/{ref}", f"refs/heads/{ref}")
    return (f"refs/heads/{ref}", f"refs/tags/{ref}")


def _by_commit(remote: Remote, commit: str, only: str) -> FetchedCommit:
    """Fetch a commit by its full id; fetch all branches if the server refuses single commits."""
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
    """Fetch a commit by the start of its id, among the commits of branches and tags."""
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
    """Return a note about a commit that no branch or tag points to, if it is on none of them."""
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


def _no_version(remote: Remote, wanted: str) -> NotFoundError:
    where = shown_location(remote.location)
    message = f"{where} has no version in the range {wanted}, neither as a tag nor on its default branch."
    return NotFoundError("no-such-version", message, hint="Leave out the version to take what is there now.")


def _no_such_ref(remote: Remote, ref: str, names: dict[str, str]) -> NotFoundError:
    where = shown_location(remote.location)
    if not names:
        hint = "Check the address, or push a commit with a skill to it first."
        return NotFoundError("no-skills-found", f"{where} has no commits, or is not a repository.", hint=hint)
    short = [name.split("/", 2)[2] for name in names]
    near = list(closest(ref, short)) if ref else short[:_LISTED]
    if ref:
        message = f"There is no branch, tag or commit {shown(ref)} in {where}."
        hint = f"Did you mean {', '.join(near)}?" if near else f"It has {', '.join(short[:_LISTED])}."
        hint += " To name a skill, use `--skill`."
    else:
        message = f"{where} has no default branch."
        hint = f"Choose one: {', '.join(near)}."
    return NotFoundError("no-such-ref", message, hint=hint, suggestions=near)
