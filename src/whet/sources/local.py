"""Skills on this machine: a directory that is a skill or contains several, and an archive file.

A directory is searched without following links, so that nothing outside it is read, and a skill is read at one moment:
a fetch returns what was listed, or fails. An archive is read once; its hash is the revision of everything fetched from
it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from whet.authoring.trees import digest
from whet.errors import ConflictError, FailedError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.files import file_stamp, inside, read_file
from whet.library.package import find_skills, package_directory, read_package
from whet.notes import Progress
from whet.records import NamedTuple
from whet.skill import paths
from whet.skill.finder import main_file
from whet.skill.tree import library_digest
from whet.sources.git.checkout import read_checkout
from whet.sources.model import Fetched, Listing, Offer, Ref
from whet.sources.packages import (
    SOURCE_LIMITS,
    archived,
    check_amount,
    describe,
    nothing_found,
    offered,
    package_at,
    refusal,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.skill.tree import Tree
    from whet.sources.model import FetchContext

MAX_ENTRIES = 200_000
"""Largest number of names in a search for skills."""
_HELD = 32 * 1024 * 1024
"""Bytes of listed contents that are kept until they are fetched; the rest is read again."""
_ATTEMPTS = 5
_SKILL_PLACES = (("skills",), (".agents", "skills"), (".claude", "skills"))
_VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class _Place(NamedTuple):
    """A directory that skills are installed from, and its real path."""

    path: str
    real: str


class PathSource:
    """A directory that is a skill, or contains several."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach
        self._held: dict[Offer, Tree] = {}
        self._room = _HELD

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  everything is listed anyway
        """List the current skills, each with the digest of its content as revision and marker."""
        self.close()
        base = self._directory(self.ref.path)
        directories, unsearched = find_skills(base, entries=MAX_ENTRIES, check=self._reach.check_cancelled)
        problems = [(where, error) for where, error in unsearched if error.code != "too-deep"]
        offers: list[Offer] = []
        for done, directory in enumerate(directories):
            self._reach.check_cancelled()
            self._reach.progress(Progress(base, done, len(directories), "skills"))
            where = "/".join(part for part in (self.ref.path, directory) if part)
            try:
                offers.append(self._offer(where))
            except WhetError as error:
                problems.append((where, error))
        if not offers:
            raise problems[0][1] if problems else nothing_found(base)
        together = library_digest((offer.ref.path, offer.revision) for offer in offers)
        revision = offers[0].revision if len(offers) == 1 else together
        notes = (refusal(error, os.path.basename(where), where) for where, error in problems)
        return Listing(self.ref, revision, tuple(offers), tuple(notes))

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Return the contents as they were listed."""
        found, total = [], 0
        for done, offer in enumerate(offers):
            self._reach.check_cancelled()
            self._reach.progress(Progress(offer.name, done, len(offers), "skills"))
            tree = self._held.get(offer)
            if tree is None:
                tree = self._tree(offer.ref.path)
                if digest(tree) != offer.revision:
                    raise _changed(self._directory(offer.ref.path))
            total = weigh(tree, total)
            found.append(Fetched(offer, tree))
        return tuple(found)

    def close(self) -> None:
        """Release the contents."""
        self._held, self._room = {}, _HELD

    def _offer(self, where: str) -> Offer:
        tree = self._tree(where)
        fallback = os.path.basename(self._place.path)
        main, content = tree[main_file(tree, "")].data, digest(tree)
        offer = describe(self.ref._replace(path=where), main, fallback=fallback, revision=content, marker=content)
        offer = offer._replace(checkout=self._checkout)
        self._room -= sum(len(item.data) for item in tree.values())
        if self._room >= 0:
            self._held[offer] = tree
        return offer

    def _tree(self, where: str) -> Tree:
        """Return the package in a directory, read at one moment."""
        directory = self._directory(where)
        files = read_package(directory, check=lambda files: check_amount(where, (file.size for file in files))).tree
        return package_at(files, "")

    def _top(self) -> str:
        if not os.path.lexists(self.ref.location):
            raise _missing(self.ref.location)
        return package_directory(self.ref.location)

    @cached_property
    def _place(self) -> _Place:
        directory = self._top()
        return _Place(directory, os.path.realpath(directory))

    @cached_property
    def _checkout(self) -> str:
        return read_checkout(self._place.real) if self.ref.kind == "path" else ""

    def _directory(self, where: str) -> str:
        """Return a subdirectory, reached without leaving this one."""
        top = self._place
        if not where:
            return top.path
        directory = os.path.join(top.path, *paths.check(where).split("/"))
        if not inside(os.path.realpath(directory), top.real):
            message = f"{where} leaves {top.path} through a link."
            raise RefusedError("path-escape", message, hint="Use the directory it points to.")
        if not os.path.isdir(directory):
            raise _missing(directory)
        return directory


class ArchiveSource:
    """A zip, tar or tar.gz file with one or more skills."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach
        self._held: dict[Offer, Fetched] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  everything is listed anyway
        """List the skills in the file: its hash is the revision, the digest of each skill its marker."""
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

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Return the contents of listed offers."""
        self._reach.check_cancelled()
        if not self._held:
            self.inspect()
        if not all(offer in self._held for offer in offers):
            raise _changed(self.ref.location)
        return tuple(self._held[offer] for offer in offers)

    def close(self) -> None:
        """Release the content."""
        self._held = {}

    def _read(self) -> bytes:
        """Read the file at one moment."""
        path = self.ref.location
        most = SOURCE_LIMITS.archive_bytes + 1
        if os.path.isdir(path):
            hint = "Use the archive, or install the directory as a directory."
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


def _missing(path: str) -> NotFoundError:
    """Return the error for a missing path; the hint names a skill or a revision of its parent if one fits."""
    hint, (above, name) = "Check the path.", os.path.split(path)
    directory, at, ref = path.rpartition("@")
    if any(os.path.isdir(os.path.join(above, *place, name)) for place in _SKILL_PLACES):
        hint = f"To install that skill, run `whet install {above} --skill {name}`."
    elif at and ref and os.path.lexists(os.path.join(directory, ".git")):
        hint = f"For a revision of a repository on this disk, write {Path(directory).as_uri()}#{ref}"
    return NotFoundError("path-not-found", f"There is no {path}.", hint=hint)


def _unreadable(path: str, error: OSError) -> WhetError:
    if error.errno in _VANISHED:
        return _missing(path)
    return FailedError("unreadable", f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")


def _changed(path: str) -> ConflictError:
    message = f"{path} changed while it was being read."
    return ConflictError("source-changed", message, hint="Try again when no program writes to it.", path=path)
