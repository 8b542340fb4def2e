"""One skill package on disk: its files, its digest, its bytes.

Listing uses `lstat` only, so a tree that was hashed before is recognised without reading it again. Links inside a
package are part of it; a link that leaves it makes the package invalid.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, InvalidError, NotFoundError, UsageError
from whet.library.files import open_beneath, read_descriptor, settled
from whet.library.spots import MAIN
from whet.skill.tree import Entry as TreeEntry
from whet.skill.tree import digest, escapes, ignored, link_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def list_files(directory: str, *, now: int) -> tuple[PackageFile, ...]:
    """Every file of a package, sorted by path; special files and unreadable directories are errors, not omissions."""
    found = sorted(_walk(directory, "", now), key=lambda item: item.path.encode("utf-8", "surrogateescape"))
    return tuple(found)


def _walk(directory: str, prefix: str, now: int) -> Iterator[PackageFile]:
    pending = [prefix]
    count = 0
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(os.path.join(directory, prefix)) as found:
                entries = list(found)
        except OSError as error:
            raise _failed(os.path.join(directory, prefix), error) from error
        for entry in entries:
            path = prefix + entry.name
            if ignored(entry.name):
                continue
            count += 1
            if count > MAX_FILES:
                hint = "A skill should be small; move data elsewhere."
                raise InvalidError("too-many-files", f"{directory} holds more than {MAX_FILES:,} files.", hint=hint)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                pending.append(path + "/")
            else:
                yield _file(directory, path, status, now)


def _file(directory: str, path: str, status: os.stat_result, now: int) -> PackageFile:
    link = ""
    if stat.S_ISLNK(status.st_mode):
        link = os.readlink(os.path.join(directory, path))
        if escapes(path, link.replace(os.sep, "/")):
            hint = "Copy the file into the skill instead of linking to it."
            raise InvalidError("link-escape", f"{path} in {directory} is a link that leaves the skill.", hint=hint)
    elif not stat.S_ISREG(status.st_mode):
        raise InvalidError("special-file", f"{path} in {directory} is not a regular file.", hint="Remove it.")
    stamp = f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}.{status.st_mode}"
    executable = bool(status.st_mode & stat.S_IXUSR) and not link
    return PackageFile(path, status.st_size, executable, link, stamp, settled(status.st_ctime_ns, now))


def package_digest(directory: str, files: tuple[PackageFile, ...], cache: Cache | None = None) -> str:
    """The content digest of a package; with a cache, an unchanged tree is not read again."""
    tree = hashlib.sha256("\0".join(f"{item.path}\0{item.stamp}" for item in files).encode("utf-8", "surrogateescape"))
    steady = cache is not None and all(item.settled for item in files)
    if cache is not None and steady and (known := cache.digest(directory, tree.hexdigest())):
        return known
    result = digest(tuple(_tree_entry(directory, item) for item in files))
    if cache is not None and steady:
        cache.save_digest(directory, tree.hexdigest(), result)
    return result


def _tree_entry(directory: str, item: PackageFile) -> TreeEntry:
    if item.link:
        return link_entry(item.path, item.link.replace(os.sep, "/"))
    descriptor = open_beneath(directory, item.path)
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
