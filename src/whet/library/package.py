"""One skill package on disk: its files, its digest, its bytes.

Listing uses `lstat` only, so a tree that was hashed before is recognised without reading it again. Links inside a
package are part of it; a link that leaves it makes the package invalid. Directories are entered one by one and never
through a link, so that nothing outside is listed or read, whatever changes meanwhile. What another process is still
writing (`whet.store.atomic`) is not part of the package.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, InvalidError, NotFoundError, UsageError, WhetError
from whet.library.files import entered, open_beneath, read_descriptor, settled
from whet.library.spots import MAIN
from whet.skill.paths import MAX_SEGMENTS
from whet.skill.tree import Entry as TreeEntry
from whet.skill.tree import digest, escapes, file_entry, ignored, link_entry
from whet.store.atomic import is_leftover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.library.cache import Cache
    from whet.skill.archive import File

MAX_FILES = 10_000
MAX_BYTES = 512 * 1024 * 1024
_CHUNK = 1 << 20


class PackageFile(NamedTuple):
    """One entry of a package, as `lstat` shows it."""

    path: str
    """Relative, with forward slashes."""
    size: int
    executable: bool
    link: str
    """Where it points, for a symbolic link."""
    stamp: str
    """Changes whenever the content may have changed."""
    settled: bool


class Listing(NamedTuple):
    """The files of a package, and what cannot be part of one: links that leave it, special files, too much."""

    files: tuple[PackageFile, ...]
    problems: tuple[WhetError, ...]


class Main(NamedTuple):
    """The main file of a package as it was read; where it is a link, the link counts as the file it leads to."""

    name: str
    data: bytes
    stamp: str


def list_files(directory: str, *, now: int) -> tuple[PackageFile, ...]:
    """Every file of a package, sorted by path; special files and unreadable directories are errors, not omissions."""
    listing = look(directory, now=now)
    if listing.problems:
        raise listing.problems[0]
    return listing.files


def look(directory: str, *, now: int, main: str = "", bases: Sequence[str] | None = None) -> Listing:
    """Every file of a package that is one, sorted by path, and the problems with the rest.

    `main` is the file that may be a link to anywhere, because somebody else has checked where it leads.
    """
    walk = _Walk(directory, main, now)
    try:
        with entered(directory, "", bases=bases) as place:
            walk.list(place, "")
    except OSError as error:
        raise _failed(directory, error) from error
    files = sorted(walk.files, key=lambda item: item.path.encode("utf-8", "surrogateescape"))
    return Listing(tuple(files), tuple(walk.problems))


class _Walk:
    def __init__(self, directory: str, main: str, now: int) -> None:
        self.directory = directory
        self.main = main
        self.now = now
        self.files: list[PackageFile] = []
        self.problems: list[WhetError] = []
        self.left = MAX_FILES

    def list(self, place: str | int, prefix: str) -> None:
        """Take in one directory and those below it. What vanishes meanwhile is not there."""
        with os.scandir(place) as found:
            for entry in found:
                if ignored(entry.name) or is_leftover(entry.name):
                    continue
                self.left -= 1
                if self.left < 0:
                    self.too_many()
                    return
                try:
                    self.add(place, entry, prefix + entry.name)
                except OSError as error:
                    if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                        self.problems.append(_failed(os.path.join(self.directory, prefix + entry.name), error))

    def add(self, place: str | int, entry: os.DirEntry[str], path: str) -> None:
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            self.add_file(place, entry.name, path, status)
        elif path.count("/") + 1 < MAX_SEGMENTS:
            with entered(place, entry.name) as below:
                self.list(below, f"{path}/")
        else:
            message = f"{self.directory} has directories more than {MAX_SEGMENTS - 1} levels deep."
            self.problems.append(InvalidError("too-deep", message, hint="Move the files further up."))

    def add_file(self, place: str | int, name: str, path: str, status: os.stat_result) -> None:
        link = ""
        if stat.S_ISLNK(status.st_mode):
            if path == self.main:
                self.files.append(PackageFile(path, 0, executable=False, link="", stamp="", settled=False))
                return
            link = os.readlink(name, dir_fd=place) if isinstance(place, int) else os.readlink(os.path.join(place, name))
            if escapes(path, link.replace(os.sep, "/")):
                hint = "Copy the file into the skill instead of linking to it."
                message = f"{path} in {self.directory} is a link that leaves the skill."
                self.problems.append(InvalidError("link-escape", message, hint=hint))
                return
        elif not stat.S_ISREG(status.st_mode):
            message = f"{path} in {self.directory} is not a regular file."
            self.problems.append(InvalidError("special-file", message, hint="Remove it."))
            return
        executable = bool(status.st_mode & stat.S_IXUSR) and not link
        mark, steady = file_stamp(status), settled(status, self.now)
        self.files.append(PackageFile(path, status.st_size, executable, link, mark, steady))

    def too_many(self) -> None:
        if not any(problem.code == "too-many-files" for problem in self.problems):
            message = f"{self.directory} holds more than {MAX_FILES:,} files."
            hint = "A skill should be small; move data elsewhere."
            self.problems.append(InvalidError("too-many-files", message, hint=hint))


def file_stamp(status: os.stat_result) -> str:
    """What changes whenever a file's content may have changed."""
    return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}.{status.st_mode}"


def package_digest(directory: str, files: tuple[PackageFile, ...]) -> str:
    """The content digest of a package."""
    return digest(tuple(_tree_entry(directory, item, None) for item in files))


def opened_digest(
    directory: str, files: tuple[PackageFile, ...], main: Main, cache: Cache | None, bases: Sequence[str] | None
) -> tuple[str, tuple[WhetError, ...]]:
    """The digest of a package whose main file was read already, and what could not be read for it.

    It covers the main file as it was read, even if it changed since. With a cache, an unchanged tree is not read again.
    """
    texts = "\0".join(f"{item.path}\0{item.stamp}" for item in files)
    tree = hashlib.sha256(texts.encode("utf-8", "surrogateescape")).hexdigest()
    steady = all(item.settled for item in files) and (main.name, main.stamp) in {
        (item.path, item.stamp) for item in files
    }
    if cache is not None and steady and (known := cache.digest(directory, tree)):
        return known, ()
    entries = [file_entry(main.name, main.data)]
    problems: list[WhetError] = []
    for item in files:
        if item.path == main.name:
            entries[0] = file_entry(main.name, main.data, executable=item.executable)
            continue
        try:
            entries.append(_tree_entry(directory, item, bases))
        except NotFoundError:
            steady = False
        except WhetError as error:
            problems.append(error)
    result = digest(entries)
    if cache is not None and steady and not problems:
        cache.save_digest(directory, tree, result)
    return result, tuple(problems)


def _tree_entry(directory: str, item: PackageFile, bases: Sequence[str] | None) -> TreeEntry:
    if item.link:
        return link_entry(item.path, item.link.replace(os.sep, "/"))
    descriptor = open_beneath(directory, item.path, bases=bases)
    try:
        total, size = hashlib.sha256(), 0
        while piece := os.read(descriptor, _CHUNK):
            total.update(piece)
            size += len(piece)
            if size > MAX_BYTES:
                raise InvalidError("too-large", f"{item.path} in {directory} is larger than {MAX_BYTES:,} bytes.")
        return TreeEntry(item.path, "file", item.executable, size, total.hexdigest())
    finally:
        os.close(descriptor)


def read_package(directory: str, files: tuple[PackageFile, ...]) -> tuple[File, ...]:
    """All files of a package with their content, ready to be packed."""
    from whet.skill.archive import DEFAULT_LIMITS, File

    packed = []
    room = DEFAULT_LIMITS.total_bytes
    for item in files:
        if item.link:
            hint = "Replace the link with a copy of the file."
            raise InvalidError("link-in-package", f"{item.path} is a link; an archive holds only files.", hint=hint)
        descriptor = open_beneath(directory, item.path)
        try:
            data = read_descriptor(descriptor, room + 1)
        finally:
            os.close(descriptor)
        room -= len(data)
        if room < 0:
            raise InvalidError("too-large", f"{directory} is larger than {DEFAULT_LIMITS.total_bytes:,} bytes.")
        packed.append(File(item.path, data, item.executable))
    return tuple(packed)


def package_directory(path: str) -> str:
    """The package a path means: a skill's directory, or the main file in it."""
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.basename(path).lower() in ("skill.md", "skills.md") and os.path.isfile(path):
        return os.path.dirname(path)
    if os.path.isdir(path):
        return path
    if os.path.exists(path):
        raise UsageError(
            "not-a-package", f"{path} is not a skill's directory.", hint=f"Name the directory with {MAIN}."
        )
    raise NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.")


def _failed(path: str, error: OSError) -> FailedError | NotFoundError:
    if isinstance(error, FileNotFoundError):
        return NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.")
    return FailedError("unreadable", f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")
