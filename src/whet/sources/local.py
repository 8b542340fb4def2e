"""Skills on this machine: a directory that is one or holds several, and an archive in a file.

A directory is searched without following links, so that nothing outside it is ever read, and a skill counts as it was
at one moment: what is fetched has the digest that was listed, or the fetch is refused. An archive is read once; its
hash is the revision and stays true for everything that is fetched from it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from typing import TYPE_CHECKING

from whet.authoring.trees import digest, read_tree
from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.files import entered, inside, read_file
from whet.library.package import file_stamp, list_files, package_directory
from whet.skill import paths
from whet.skill.tree import library_digest
from whet.sources.model import Fetched, Listing, Offer, Progress, Ref
from whet.sources.packages import (
    MAIN_NAMES,
    MAX_DEPTH,
    NEVER_SEARCHED,
    OVERVIEW,
    SOURCE_LIMITS,
    archived,
    check_amount,
    described,
    main_path,
    nothing_found,
    offer_of,
    offered,
    package_at,
    refusal,
    skill_directories,
    weigh,
)
from whet.store.atomic import is_leftover

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.skill.tree import Tree
    from whet.sources.model import FetchContext

MAX_ENTRIES = 200_000
"""Names that are looked at while a directory is searched for skills."""
_ATTEMPTS = 5
_VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class PathSource:
    """A directory that is a skill, or holds several."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  everything is listed anyway
        """What lies there now, each skill with the digest of its content as revision and marker."""
        base = self._directory(self.ref.path)
        search = _Search(base, self._reach)
        search.run()
        directories = skill_directories(search.found)
        offers: list[Offer] = []
        for done, directory in enumerate(directories):
            self._reach.check_cancelled()
            self._reach.progress(Progress(base, done, len(directories), "skills"))
            where = "/".join(part for part in (self.ref.path, directory) if part)
            try:
                offers.append(self._offer(where))
            except WhetError as error:
                search.problems.append((error, where))
        if not offers:
            raise search.problems[0][0] if search.problems else nothing_found(base)
        together = library_digest((offer.ref.path, offer.revision) for offer in offers)
        revision = offers[0].revision if len(offers) == 1 else together
        notes = (refusal(error, os.path.basename(where), where) for error, where in search.problems)
        return Listing(self.ref, revision, tuple(offers), tuple(notes))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What fits a query, best first."""
        from whet.sources.taps.searching import rank

        return rank(self.inspect().offers, query, limit)

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The contents, as they were listed."""
        found, total = [], 0
        for done, offer in enumerate(offers):
            self._reach.check_cancelled()
            self._reach.progress(Progress(offer.name, done, len(offers), "skills"))
            tree = self._tree(offer.ref.path)
            if digest(tree) != offer.revision:
                raise _changed(self._directory(offer.ref.path))
            total = weigh(tree, total)
            found.append(Fetched(offer, tree))
        return tuple(found)

    def close(self) -> None:
        """Nothing is held."""

    def _offer(self, where: str) -> Offer:
        tree = self._tree(where)
        fallback = os.path.basename(self._directory(where))
        said = described(where, tree[main_path(tree, "")].data, fallback=fallback)
        content = digest(tree)
        return offer_of(self.ref._replace(path=where), said, revision=content, marker=content)

    def _tree(self, where: str) -> Tree:
        """The package in a directory, all of one moment."""
        directory = self._directory(where)
        check_amount(where, (file.size for file in list_files(directory, now=0)))
        found = read_tree(directory)
        if found is None:
            raise _missing(directory)
        return package_at(found, "")

    def _directory(self, where: str) -> str:
        """A directory in this one, reached without leaving it."""
        top = package_directory(self.ref.location)
        if not where:
            return top
        directory = os.path.join(top, *paths.check(where).split("/"))
        if not inside(os.path.realpath(directory), os.path.realpath(top)):
            message = f"{where} leads outside {top} through a link."
            raise RefusedError("path-escape", message, hint="Name the directory it leads to.")
        if not os.path.isdir(directory):
            raise _missing(directory)
        return directory


class _Search:
    """Looks for main files below a directory, without following links and not below a skill."""

    def __init__(self, base: str, reach: FetchContext) -> None:
        self.base = base
        self.reach = reach
        self.found: list[str] = []
        """Paths of main files."""
        self.problems: list[tuple[WhetError, str]] = []
        """What is there and not offered, and the path of each."""
        self.left = MAX_ENTRIES

    def run(self) -> None:
        """Search everything. Raises WhetError when the directory itself cannot be read, or is too much."""
        try:
            with entered(self.base, "") as place:
                self.look(place, "", 0)
        except OSError as error:
            raise _unreadable(self.base, error) from error

    def look(self, place: str | int, prefix: str, depth: int) -> None:
        """Search one directory and those below it."""
        self.reach.check_cancelled()
        with os.scandir(place) as scanned:
            entries = sorted(scanned, key=_name_of)
        self.left -= len(entries)
        if self.left < 0:
            message = f"{self.base} has more than {MAX_ENTRIES:,} files and directories."
            raise InvalidError("source-too-large", message, hint="Name a directory closer to the skills.")
        mains = [item.name for item in entries if item.name in MAIN_NAMES and not item.is_dir(follow_symlinks=False)]
        self.found += [prefix + name for name in mains]
        if depth < MAX_DEPTH and {OVERVIEW}.issuperset(mains):
            for entry in entries:
                if entry.name not in NEVER_SEARCHED and not is_leftover(entry.name):
                    self.enter(place, entry, prefix + entry.name, depth)

    def enter(self, place: str | int, entry: os.DirEntry[str], path: str, depth: int) -> None:
        """Search what an entry leads to, if it is a directory; what vanishes meanwhile is not there."""
        if entry.is_symlink():
            self.pass_by(path)
            return
        try:
            if entry.is_dir(follow_symlinks=False):
                with entered(place, entry.name) as below:
                    self.look(below, f"{path}/", depth + 1)
        except OSError as error:
            if error.errno not in _VANISHED:
                self.problems.append((_unreadable(self.full(path), error), path))

    def pass_by(self, path: str) -> None:
        """Say so when a link to a skill outside is not followed; what it leads to inside is found there."""
        target = os.path.realpath(self.full(path))
        is_skill = any(os.path.isfile(os.path.join(target, name)) for name in MAIN_NAMES)
        if is_skill and not inside(target, os.path.realpath(self.base)):
            message = f"{self.full(path)} is a link to {target}, outside the directory, and is not followed."
            self.problems.append((InvalidError("link-escape", message, hint=f"Name {target} itself."), path))

    def full(self, path: str) -> str:
        """A path in the directory as the system knows it."""
        return os.path.join(self.base, *path.split("/"))


class ArchiveSource:
    """A zip, tar or tar.gz in a file, with one skill or several."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach
        self._held: dict[Offer, Fetched] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  everything is listed anyway
        """What is in the file now: its hash as revision, the digest of each skill's content as marker."""
        self._reach.check_cancelled()
        if self.ref.path:
            paths.check(self.ref.path)
        data = self._read()
        self._reach.progress(Progress(self.ref.location, len(data), len(data)))
        revision = f"sha256:{hashlib.sha256(data).hexdigest()}"
        stem = os.path.basename(self.ref.location).partition(".")[0]
        found, notes = offered(self.ref, archived(data), revision=revision, fallback=stem)
        self._held = {item.offer: item for item in found}
        return Listing(self.ref, revision, tuple(self._held), notes)

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
            raise _changed(self.ref.location)
        return tuple(self._held[offer] for offer in offers)

    def close(self) -> None:
        """Let go of the content."""
        self._held = {}

    def _read(self) -> bytes:
        """The file, all of one moment."""
        path = self.ref.location
        most = SOURCE_LIMITS.archive_bytes + 1
        if os.path.isdir(path):
            hint = "Name the archive, or the directory as a directory."
            raise UsageError("not-an-archive", f"{path} is a directory.", hint=hint)
        try:
            for _ in range(_ATTEMPTS):
                before = file_stamp(os.stat(path))
                data = read_file(path, most)
                if file_stamp(os.stat(path)) == before:
                    return data
        except OSError as error:
            raise _unreadable(path, error) from error
        raise _changed(path)


def _name_of(entry: os.DirEntry[str]) -> str:
    return entry.name


def _missing(path: str) -> NotFoundError:
    return NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.")


def _unreadable(path: str, error: OSError) -> WhetError:
    if error.errno in _VANISHED:
        return _missing(path)
    return FailedError("unreadable", f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")


def _changed(path: str) -> ConflictError:
    message = f"{path} changed while it was being read."
    return ConflictError("source-changed", message, hint="Try again when nobody writes to it.", path=path)
