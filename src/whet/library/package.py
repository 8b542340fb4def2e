"""Packages on disk: the only finder and the only reader of skills.

`find_skills` searches a directory by the rule of `whet.skill.finder`. `list_package` lists the files of one skill with
`lstat` only, so a tree that was hashed before is recognised without reading it again. `read_package` reads them all:
strictly, or leniently, if all problems are to be reported.

Links inside a package are part of it; a link that leaves it makes the package invalid. Directories are entered one by
one and never through a link, so that nothing outside is listed or read, even if links change at the same time. Files
that another process is still writing (`whet.store.atomic`) are not part of the package.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat

from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, UsageError, WhetError
from whet.library.files import UNREAD, entered, file_stamp, inside, open_beneath, read_descriptor, settled
from whet.records import NamedTuple
from whet.skill import finder
from whet.skill.finder import FLAT, MAIN_FILE, MAIN_FILES, SOURCE, SUPPORT, Search, is_main_file, is_overview, main_file
from whet.skill.paths import MAX_SEGMENTS
from whet.skill.tree import DEFAULT_LIMITS, Item, Limits, Package, digest, escapes, file_entry, ignored, link_entry
from whet.skill.tree import Entry as TreeEntry
from whet.store.atomic import is_leftover
from whet.store.regular import is_link, is_link_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.library.cache import Cache
    from whet.skill.tree import Tree

LIMITS = Limits(files=10_000, file_bytes=512 * 1024 * 1024, total_bytes=512 * 1024 * 1024)
"""Limits of a package on disk; a package that is sent or installed may hold less (`whet.skill.tree.DEFAULT_LIMITS`)."""
UNCACHED = 0
"""The time of a listing whose stamps are not stored."""
_CHUNK = 1 << 20
_ATTEMPTS = 20
_VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL)
"""Errors of a path that is gone or being changed: a link that has become a directory is an invalid argument."""


# --- finding --------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The result of a search below a directory."""

    skills: tuple[str, ...]
    """Directories relative to the searched one, with forward slashes, "" for itself, sorted."""
    problems: tuple[tuple[str, WhetError], ...]
    """Directories that were not searched, with the errors."""


def find_skills(
    top: str, search: Search = SOURCE, *, entries: int | None = None, check: Callable[[], None] = lambda: None
) -> Found:
    """Find every skill in a directory and below it. Raises WhetError if the directory itself cannot be searched.

    More than `entries` names raise InvalidError; `check` is called now and then and may raise.
    """
    walk = _Search(top, search, entries, check)
    try:
        with entered(top, "") as place:
            walk.list(place, "", 0)
    except OSError as error:
        raise _failed(top, error) from error
    return Found(finder.find_skills(walk.mains, search), tuple(walk.problems))


class _Search:
    """Searches for main files below a directory, but not below a skill."""

    def __init__(self, top: str, search: Search, entries: int | None, check: Callable[[], None]) -> None:
        self.top = top
        self.search = search
        self.left = self.most = entries
        self.check = check
        self.mains: list[str] = []
        self.problems: list[tuple[str, WhetError]] = []

    def list(self, place: str | int, prefix: str, depth: int) -> None:
        """Search one directory and those below it."""
        self.check()
        with os.scandir(place) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
        self.count(len(entries))
        mains = [item.name for item in entries if item.name in MAIN_FILES and not item.is_dir(follow_symlinks=False)]
        self.mains += [prefix + name for name in mains]
        is_skill = not is_overview(mains)
        if is_skill and (prefix or not self.search.collection):
            return
        for entry in entries:
            support = is_skill and entry.name in SUPPORT
            if self.search.enters(entry.name) and not support and not is_leftover(entry.name):
                self.enter(place, entry, prefix + entry.name, depth)

    def count(self, names: int) -> None:
        """Count names that were listed."""
        if self.left is None:
            return
        self.left -= names
        if self.left < 0:
            message = f"{self.top} has more than {self.most:,} files and directories."
            raise InvalidError("source-too-large", message, hint="Choose a directory closer to the skills.")

    def enter(self, place: str | int, entry: os.DirEntry[str], path: str, depth: int) -> None:
        """Search the target of an entry, if it is a directory; ignore an entry that vanishes meanwhile."""
        if is_link(entry):
            self.add_link(path)
            return
        try:
            if not entry.is_dir(follow_symlinks=False):
                return
            if depth >= self.search.depth:
                message = (
                    f"{self.full(path)} is more than {self.search.depth} directories deep; Whet does not search it."
                )
                self.problems.append((path, InvalidError("too-deep", message, hint="Choose a deeper directory.")))
                return
            with entered(place, entry.name) as below:
                self.list(below, f"{path}/", depth + 1)
        except OSError as error:
            if error.errno not in _VANISHED:
                self.problems.append((path, _failed(self.full(path), error)))

    def add_link(self, path: str) -> None:
        """Count a link to a skill, or record why it is not followed; a target inside the directory is found there."""
        target = os.path.realpath(self.full(path))
        main = next((name for name in MAIN_FILES if os.path.isfile(os.path.join(target, name))), "")
        if main and self.search.links:
            self.mains.append(f"{path}/{main}")
        elif main and not inside(target, os.path.realpath(self.top)):
            message = f"{self.full(path)} is a link to {target}, outside the directory; Whet does not follow it."
            self.problems.append((path, InvalidError("link-escape", message, hint=f"Pass {target} instead.")))

    def full(self, path: str) -> str:
        """Return a path of the directory as a path of the file system."""
        return os.path.join(self.top, *path.split("/"))


def enclosing_skill(path: str) -> str:
    """Return the skill that contains a file: the outermost directory with a main file; "" if there is none."""
    directory, found = os.path.dirname(os.path.abspath(os.path.expanduser(path))), ""
    while True:
        if any(os.path.isfile(os.path.join(directory, main)) for main in MAIN_FILES):
            found = directory
        above = os.path.dirname(directory)
        if above == directory or os.path.lexists(os.path.join(directory, ".git")):
            return found
        directory = above


def package_directory(path: str) -> str:
    """Return the package that a path refers to: a skill's directory, or the main file in it."""
    path = os.path.abspath(os.path.expanduser(path))
    if is_main_file(os.path.basename(path)) and os.path.isfile(path):
        return os.path.dirname(path)
    if os.path.isdir(path):
        return path
    if os.path.exists(path):
        hint = f"Name the directory with {MAIN_FILE}."
        raise UsageError("not-a-package", f"{path} is not a skill's directory.", hint=hint)
    raise NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.")


# --- listing --------------------------------------------------------------------------------------------------------


class PackageFile(NamedTuple):
    """One entry of a package, as `lstat` shows it."""

    path: str
    """The relative path, with forward slashes."""
    size: int
    executable: bool
    link: str
    """The target of a symbolic link."""
    stamp: str
    """Changes whenever the content may have changed."""
    settled: bool


class Listing(NamedTuple):
    """The files of a package, and the problems: links that leave it, special files, too many files."""

    files: tuple[PackageFile, ...]
    problems: tuple[WhetError, ...]
    aside: tuple[PackageFile, ...] = ()
    """Entries that are not part of the package, if requested."""


class Main(NamedTuple):
    """The main file of a package as it was read; a link counts as the file it leads to."""

    name: str
    data: bytes
    stamp: str


def list_package(
    directory: str, *, now: int = UNCACHED, main: str = "", aside: bool = False, bases: Sequence[str] | None = None
) -> Listing:
    """List the files of a package, sorted by path, and the problems.

    `main` may be a link to any path, because the caller has checked it. With `aside`, files that the digest does not
    cover but that a program could run are listed too, next to the package.
    """
    walk = _Walk(directory, main, now, aside=aside)
    try:
        with entered(directory, "", bases=bases) as place:
            walk.list(place, "", part=True)
    except OSError as error:
        raise _failed(directory, error) from error
    return Listing(_by_path(walk.files), tuple(walk.problems), _by_path(walk.aside))


class _Walk:
    """Collects the entries of a directory."""

    def __init__(self, directory: str, main: str, now: int, *, aside: bool) -> None:
        self.directory = directory
        self.main = main
        self.now = now
        self.files: list[PackageFile] = []
        self.aside: list[PackageFile] = []
        self.problems: list[WhetError] = []
        self.left = LIMITS.files
        self.all = aside

    def list(self, place: str | int, prefix: str, *, part: bool) -> None:
        """Collect one directory and those below it. Entries that vanish meanwhile are ignored."""
        with os.scandir(place) as found:
            for entry in found:
                counts = part and not ignored(entry.name) and not is_leftover(entry.name)
                if not counts and (not self.all or entry.name in UNREAD):
                    continue
                self.left -= 1
                if self.left < 0:
                    self.too_many()
                    return
                path = prefix + entry.name
                try:
                    self.add(place, entry, path, part=counts)
                except OSError as error:
                    if error.errno not in _VANISHED:
                        full = os.path.join(self.directory, *path.split("/"))
                        self.problems.append(_failed(full, error, file=path))

    def add(self, place: str | int, entry: os.DirEntry[str], path: str, *, part: bool) -> None:
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or is_link_status(status):
            self.add_file(place, entry.name, path, status, part=part)
        elif path.count("/") + 1 < MAX_SEGMENTS:
            with entered(place, entry.name) as below:
                self.list(below, f"{path}/", part=part)
        else:
            message = f"{self.directory} has directories more than {MAX_SEGMENTS - 1} levels deep."
            self.problems.append(
                InvalidError("too-deep", message, hint="Move the files to a higher directory.", file=path)
            )

    def add_file(self, place: str | int, name: str, path: str, status: os.stat_result, *, part: bool) -> None:
        link = ""
        if is_link_status(status):
            if path == self.main:
                self.files.append(PackageFile(path, 0, executable=False, link="", stamp="", settled=False))
                return
            link = os.readlink(name, dir_fd=place) if isinstance(place, int) else os.readlink(os.path.join(place, name))
            if part and escapes(path, link.replace(os.sep, "/")):
                part = False
                message = f"{path} in {self.directory} is a link that leaves the skill."
                hint = "Copy the file into the skill instead of linking to it."
                self.problems.append(InvalidError("link-escape", message, hint=hint, file=path))
        elif not stat.S_ISREG(status.st_mode):
            message = f"{path} in {self.directory} is not a regular file."
            self.problems.append(InvalidError("special-file", message, hint="Remove it.", file=path))
            return
        executable = bool(status.st_mode & stat.S_IXUSR) and not link
        mark, steady = file_stamp(status), settled(status, self.now)
        if part or self.all:
            found = self.files if part else self.aside
            found.append(PackageFile(path, status.st_size, executable, link, mark, steady))

    def too_many(self) -> None:
        if not any(problem.code == "too-many-files" for problem in self.problems):
            message = f"{self.directory} has more than {LIMITS.files:,} files."
            hint = "Keep the skill small; move data elsewhere."
            self.problems.append(InvalidError("too-many-files", message, hint=hint))


# --- reading --------------------------------------------------------------------------------------------------------


def read_package(
    directory: str,
    *,
    strict: bool = True,
    main: Main | None = None,
    limits: Limits = LIMITS,
    check: Callable[[Sequence[PackageFile]], object] = bool,
) -> Package:
    """Read the package in a directory with all its content.

    Strict: all of one moment, and the first problem is raised. Lenient: the readable files, with the problems, and with
    the other files in the directory. `main` is the main file, if it was already read. `check` gets the files before any
    of them is read, and may raise.
    """
    name = os.path.basename(directory)
    if not strict:
        try:
            listing = list_package(directory, main=main.name if main else "", aside=True)
        except WhetError as error:
            return Package(name, {}, (error,))
        problems = list(listing.problems)
        room = _Room(directory, limits)
        tree = room.read(listing.files, main, problems)
        return Package(name, tree, tuple(problems), room.read(listing.aside, None, problems))
    for _ in range(_ATTEMPTS):
        try:
            listing = _sound(directory, main)
            check(listing.files)
            tree = _Room(directory, limits).read(listing.files, main)
            if _sound(directory, main) == listing:
                return Package(name, tree)
        except NotFoundError:  # it was moved or removed while it was being read
            if not os.path.lexists(directory):
                raise
    message = f"{directory} keeps changing; Whet could not read it."
    raise ConflictError("skill-changed", message, hint="Try again.", path=directory)


def read_tree(directory: str) -> Tree | None:
    """Read the tree of a skill's directory, or of a skill that is only a file, strictly; None if it does not exist."""
    try:
        if is_flat_place(directory):
            descriptor = open_beneath(*os.path.split(directory))
            try:
                return {MAIN_FILE: Item(read_descriptor(descriptor, DEFAULT_LIMITS.file_bytes))}
            finally:
                os.close(descriptor)
        return read_package(directory).tree
    except NotFoundError:
        return None


def is_flat_place(path: str) -> bool:
    """Return whether this is the path of a skill that is a single Markdown file, existing or not."""
    return path.endswith(FLAT) and not os.path.isdir(path)


def _sound(directory: str, main: Main | None) -> Listing:
    """Return the listing of a package without problems. Raises the first problem."""
    listing = list_package(directory, main=main.name if main else "")
    if listing.problems:
        raise listing.problems[0]
    return listing


class _Room:
    """Reads files up to the largest size of a package."""

    def __init__(self, directory: str, limits: Limits) -> None:
        self.directory = directory
        self.limits = limits
        self.left = limits.total_bytes

    def read(self, files: Sequence[PackageFile], main: Main | None, problems: list[WhetError] | None = None) -> Tree:
        """Return the content of these files. Without a list of problems, the first one is raised."""
        found: Tree = {}
        for file in files:
            try:
                if main is not None and file.path == main.name:
                    found[file.path] = Item(main.data, file.executable)
                elif file.link:
                    target = file.link.replace(os.sep, "/")
                    found[file.path] = Item(target.encode("utf-8", "surrogateescape"), link=True)
                else:
                    found[file.path] = Item(self.content(file.path), file.executable)
            except WhetError as error:
                if problems is None:
                    raise
                if not isinstance(error, NotFoundError):  # otherwise it vanished meanwhile
                    error.details["file"] = file.path
                    problems.append(error)
        return found

    def content(self, path: str) -> bytes:
        descriptor = open_beneath(self.directory, path)
        try:
            data = read_descriptor(descriptor, self.left + 1)
        finally:
            os.close(descriptor)
        self.left -= len(data)
        if self.left < 0:
            message = f"{self.directory} is larger than {self.limits.total_bytes:,} bytes."
            raise InvalidError("too-large", message)
        return data


# --- digests --------------------------------------------------------------------------------------------------------


def package_digest(directory: str) -> str:
    """Return the content digest of a package without keeping its files in memory. Raises its first problem."""
    listing = _sound(directory, None)
    if not main_file({item.path for item in listing.files}):
        raise UsageError("not-a-package", f"{directory} has no {MAIN_FILE}.", hint="Name the directory of a skill.")
    return digest(tuple(_tree_entry(directory, item, None) for item in listing.files))


def opened_digest(
    directory: str, files: tuple[PackageFile, ...], main: Main, cache: Cache | None, bases: Sequence[str] | None
) -> tuple[str, tuple[WhetError, ...]]:
    """Return the digest of a package whose main file was already read, and the errors of unreadable files.

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
            if size > LIMITS.file_bytes:
                message = f"{item.path} in {directory} is larger than {LIMITS.file_bytes:,} bytes."
                raise InvalidError("too-large", message)
        return TreeEntry(item.path, "file", item.executable, size, total.hexdigest())
    finally:
        os.close(descriptor)


def _by_path(files: list[PackageFile]) -> tuple[PackageFile, ...]:
    return tuple(sorted(files, key=lambda item: item.path.encode("utf-8", "surrogateescape")))


def _failed(path: str, error: OSError, **details: str) -> FailedError | NotFoundError:
    if error.errno in _VANISHED:
        return NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.")
    message = f"{path} cannot be read: {error.strerror}."
    return FailedError("unreadable", message, hint="Check its permissions.", **details)
