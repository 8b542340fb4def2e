"""Packages read to be scanned: everything that is there, and a finding for everything that cannot be read.

Other readers refuse a package that is not one; this one must tell what is wrong with it. A path may be a skill's
directory, the main file in it, any other directory or file, or an archive, which is read in memory and never unpacked
to disk. Nothing is followed out of a package.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, WhetError
from whet.guard.finding import Finding, verdict
from whet.library.checking import archive_bytes
from whet.library.discovery import OLD_MAINS
from whet.library.files import open_beneath, read_descriptor
from whet.library.package import MAX_BYTES, MAX_FILES
from whet.library.spots import MAIN
from whet.skill.paths import MAX_SEGMENTS
from whet.skill.tree import Item, Tree, ignored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.scan_cache import Attestation, ScanCache
    from whet.library.card import Card

_MAINS = frozenset((MAIN, *OLD_MAINS))
_NEVER = frozenset((".git", ".DS_Store"))
_COMPILED = "__pycache__"
_ARCHIVES = (b"PK", b"\x1f\x8b")
_TAR_MARK = (b"ustar", 257)
_REFUSED = {
    "archive-encrypted": "locked-archive",
    "archive-ratio": "archive-bomb",
    "archive-too-large": "archive-bomb",
    "archive-too-many-files": "archive-bomb",
    "archive-unsafe-path": "archive-path",
    "archive-collision": "archive-path",
    "archive-link": "archive-path",
    "archive-special-file": "archive-path",
}
"""What is wrong with an archive -> the rule it breaks; anything else makes it an archive that cannot be opened."""


class Package(NamedTuple):
    """What lies at a path."""

    path: str
    name: str
    files: Tree
    """Everything that the digest covers."""
    aside: Tree
    """Compiled Python that the digest does not cover, and that Python would run all the same."""
    problems: tuple[tuple[str, str, str], ...] = ()
    """Rule, file, evidence: what could not be read."""
    archive: bool = False


def read_package(path: str) -> Package:
    """The package at a path. Raises NotFoundError where nothing is."""
    full = os.path.expanduser(path)
    if os.path.basename(full) in _MAINS and os.path.isfile(full):
        full = os.path.dirname(full) or os.curdir
        path = os.path.dirname(path) or os.curdir
    name = os.path.basename(os.path.abspath(full))
    if os.path.isdir(full):
        return _directory(path, name, os.path.realpath(full))
    if not os.path.lexists(full):
        raise NotFoundError("path-not-found", f"There is nothing at {full}.", hint="Check the path.", path=path)
    return _file(path, name, full)


def read_card(card: Card) -> Package:
    """The package of a skill in the library; its main file may be a link: somebody has checked where it leads."""
    if card.kind != "skill":
        return read_package(card.path)._replace(name=card.full_name)
    package = _directory(card.directory, card.full_name, os.path.realpath(card.directory))
    main = os.path.basename(card.path)
    item = package.files.get(main)
    if item is not None and item.link:
        linked = _file(card.path, card.full_name, card.resolved).files
        package.files.update((main, Item(found.data, found.executable)) for found in linked.values())
    return package


def packages_below(path: str) -> tuple[str, ...]:
    """Every directory with a main file in a directory and below it, sorted; hidden ones too, but no repository's own.

    What lies inside a skill belongs to it; only a skill at the very top may have others below.
    """
    top = os.path.expanduser(path)
    if not os.path.isdir(top):
        raise NotFoundError("path-not-found", f"There is no directory {top}.", hint="Check the path.", path=path)
    found, pending = [], [top]
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as listed:
                entries = list(listed)
        except OSError:
            found.append(directory)  # what is in it is unknown, and reading it tells so
            continue
        is_skill = any(entry.name in _MAINS for entry in entries)
        if is_skill:
            found.append(directory)
        if not is_skill or directory == top:
            pending.extend(
                entry.path for entry in entries if entry.name not in _NEVER and entry.is_dir(follow_symlinks=False)
            )
    if not found:
        hint = f"A skill is a directory with a {MAIN}; without --recursive, {path} is scanned as one package."
        raise NotFoundError("no-skills-found", f"There is no skill in {path} or below it.", hint=hint)
    return tuple(sorted(found))


def scan_package(package: Package, attestations: ScanCache) -> Attestation:
    """What a scan of the package finds. What cannot be read, or fails, is a finding; the rest is remembered."""
    from whet.guard.scan_cache import Attestation

    try:
        if not package.aside:
            found = attestations.scan(package.files)
        else:
            from whet.guard.scan import scan

            found = Attestation(*scan({**package.files, **package.aside}))
    except Exception as problem:  # noqa: BLE001  whatever a package does to the scanner is told, and the others go on
        return _failed(package, f"{type(problem).__name__}: {problem}"[:200])
    findings = tuple(finding for finding in found.findings if not _own_cache(finding))
    findings = (*(finding_of(*problem) for problem in package.problems), *findings)
    return Attestation(found.digest, verdict(findings), findings)


def _own_cache(finding: Finding) -> bool:
    """Is this only what Python keeps beside a script that was run, made from the source beside it?"""
    return finding.rule == "compiled-python" and finding.severity == "warn" and _COMPILED in finding.file.split("/")


def _failed(package: Package, why: str) -> Attestation:
    from whet.guard.scan_cache import Attestation
    from whet.skill.tree import digest, entries

    try:
        name = digest(entries(package.files))
    except WhetError:
        name = ""
    finding = finding_of("scanner-error", "", why)._replace(severity="critical")
    return Attestation(name, "dangerous", (finding,))


def finding_of(rule_id: str, file: str, evidence: str) -> Finding:
    """A finding about what is no text: an unreadable file, a refused archive."""
    from whet.guard import rules

    rule = rules.every()[rule_id]
    message = f"{rule.title.rstrip('.')}: {evidence.rstrip('.')}."
    return Finding(rule.id, rule.severity, rule.category, file, 1, message, "", rule.remedy, rule.references)


def _directory(path: str, name: str, directory: str) -> Package:
    walk = _Walk(directory)
    walk.list("")
    return Package(path, name, walk.files, walk.aside, tuple(walk.problems))


class _Walk:
    """What lies in a directory, one entry after the other."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.files: Tree = {}
        self.aside: Tree = {}
        self.problems: list[tuple[str, str, str]] = []
        self.entries, self.room = MAX_FILES, MAX_BYTES

    def list(self, prefix: str) -> None:
        try:
            with os.scandir(os.path.join(self.directory, *prefix.split("/"))) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self.unread(prefix.rstrip("/"), str(error.strerror))
            return
        for entry in entries:
            if entry.name in _NEVER:
                continue
            self.entries -= 1
            if self.entries < 0:
                if self.entries == -1:
                    self.unread(prefix + entry.name, f"there are more than {MAX_FILES:,} files")
                return
            try:
                self.add(entry, prefix + entry.name)
            except FileNotFoundError:
                continue  # it vanished meanwhile
            except OSError as error:
                self.unread(prefix + entry.name, str(error.strerror))
            except NotFoundError:
                continue
            except WhetError as error:
                self.unread(prefix + entry.name, error.message)

    def add(self, entry: os.DirEntry[str], path: str) -> None:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            if path.count("/") + 1 >= MAX_SEGMENTS:
                self.unread(path, f"it lies more than {MAX_SEGMENTS - 1} directories deep")
            else:
                self.list(f"{path}/")
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(entry.path).replace(os.sep, "/")
            self.keep(path, Item(target.encode("utf-8", "surrogateescape"), link=True))
        elif stat.S_ISREG(status.st_mode):
            self.keep(path, Item(self.read(path), bool(status.st_mode & stat.S_IXUSR)))
        else:
            self.unread(path, "it is no regular file")

    def read(self, path: str) -> bytes:
        descriptor = open_beneath(self.directory, path)
        try:
            data = read_descriptor(descriptor, self.room + 1)
        finally:
            os.close(descriptor)
        self.room -= len(data)
        if self.room < 0:
            raise InvalidError("too-large", f"the package has more than {MAX_BYTES:,} bytes")
        return data

    def keep(self, path: str, item: Item) -> None:
        if not ignored(path):
            self.files[path] = item
        elif path.endswith(".pyc"):
            self.aside[path] = item

    def unread(self, path: str, why: str) -> None:
        self.problems.append(("not-analysed", path, f"{path or os.curdir}: {why}"))


def _file(path: str, name: str, full: str) -> Package:
    """An archive, or a file by itself."""
    try:
        data = archive_bytes(full)
    except WhetError as error:
        return Package(path, name, {}, {}, (("not-analysed", name, f"{name}: {error.message}"),), archive=True)
    mark, at = _TAR_MARK
    if not data.startswith(_ARCHIVES) and data[at : at + len(mark)] != mark:
        executable = bool(os.stat(full).st_mode & stat.S_IXUSR)
        return Package(path, name, {name: Item(data, executable)}, {}, archive=True)
    from whet.skill.archive import unpack

    try:
        unpacked = unpack(data)
    except InvalidError as error:
        if error.code in ("archive-no-skill", "archive-several"):  # no skill, but the scanner looks into archives too
            return Package(path, name, {name: Item(data)}, {}, archive=True)
        rule = _REFUSED.get(error.code, "unreadable-archive")
        return Package(path, name, {}, {}, ((rule, name, error.message),), archive=True)
    files = {file.path: Item(file.data, file.executable) for file in unpacked.files}
    return Package(path, unpacked.name or name.partition(".")[0], files, {}, archive=True)


def enclosing(path: str) -> tuple[str, ...]:
    """The skill that a file lies in: the outermost directory around it with a main file, if there is one."""
    directory, found = os.path.dirname(os.path.abspath(os.path.expanduser(path))), ""
    while True:
        if any(os.path.isfile(os.path.join(directory, main)) for main in _MAINS):
            found = directory
        above = os.path.dirname(directory)
        if above == directory or os.path.lexists(os.path.join(directory, ".git")):
            break
        directory = above
    return (os.path.relpath(found),) if found else ()


def read_paths(paths: list[str], *, recursive: bool = False, around: bool = False) -> Iterator[str]:
    """The packages that these paths mean, each once; with `around`, those that the paths lie in."""
    seen: set[str] = set()
    for path in paths:
        places: tuple[str, ...] = (path,)
        if around:
            places = enclosing(path)
        elif recursive and os.path.isdir(os.path.expanduser(path)):
            places = packages_below(path)
        for found in places:
            real = os.path.realpath(os.path.expanduser(found))
            if real not in seen:
                seen.add(real)
                yield found
