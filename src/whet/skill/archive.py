"""The `.skill` archive: one skill in one file.

Writing. `pack` makes a zip whose bytes depend only on the name and the files: one folder at the root, entries sorted by
their bytes, every time 1980-01-01, attributes 0644 or 0755. The entries are stored, not compressed, because the output
of deflate differs between versions and builds of zlib; a transport can compress the whole file.

Reading. `contents` reads untrusted archives: zip, tar and tar.gz, told apart by content. It refuses the whole archive
at the first problem and never returns a part of it. Sizes are counted while the data streams and never taken from a
header. Archives inside the archive stay files; links are refused. `unpack` is the same for an archive of one skill.

Files that are never part of a package (`tree.IGNORED`, and those that macOS adds beside the folder) are not packed, and
are reported as skipped when found in an archive: they are outside the digest and must not be installed.
"""

from __future__ import annotations

import stat
import sys
from itertools import islice
from typing import TYPE_CHECKING

from whet.errors import InvalidError, UsageError
from whet.skill import paths
from whet.skill.archive_formats import DamagedError, Member, TooManyError, gather_tar, inflate, tar_members
from whet.skill.finder import MAIN_FILE, MAIN_FILES, find_skills, main_file
from whet.skill.tree import DEFAULT_LIMITS, IGNORED, Item, Limits, Package, Tree, ignored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FOLDED_IGNORED = frozenset(name.casefold() for name in IGNORED)
_ENTRIES_PER_FILE = 4  # directories may be listed, too
_CHUNK = 64 * 1024
_ROOT = "."
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the first a zip can name
_OTHER_FORMATS = {
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
}
"""Formats of archives that Whet does not read, by their first bytes."""


class _Meter:
    """Counts unpacked data and refuses when there is too much."""

    __slots__ = ("_consumed", "_file", "_files", "_limits", "_name", "_produced")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._produced = self._consumed = self._file = self._files = 0
        self._name = ""

    def start(self, name: str) -> None:
        """Begin to count a file."""
        self._name, self._file = name, 0
        self._files += 1
        if self._files > self._limits.files:
            raise _too_many(self._limits)

    def add(self, produced: int, consumed: int) -> None:
        """Count unpacked bytes and bytes read from the archive."""
        self._produced += produced
        self._consumed += consumed
        self._file += produced
        limits = self._limits
        if self._produced > limits.ratio_from and self._produced > limits.ratio * self._consumed:
            raise refused("archive-ratio", f"The archive unpacks to more than {limits.ratio} times its size.")
        if self._file > limits.file_bytes:
            what = f"The file {paths.shown(self._name)} has more than {limits.file_bytes} bytes."
            raise refused("archive-too-large", what)
        if self._produced > limits.total_bytes:
            raise refused("archive-too-large", f"The package has more than {limits.total_bytes} bytes.")


def pack(name: str, tree: Mapping[str, Item]) -> bytes:
    """Return the `.skill` archive of these files; the same content gives the same bytes on any machine.

    Refuses what `unpack` would refuse with its default limits, so that every packed skill can be unpacked.
    """
    if "/" in name or _left_out(f"{name}/{MAIN_FILE}"):
        raise refused("archive-unsafe-path", f"The name {paths.shown(name)} cannot be the folder of an archive.")
    check_path(name)
    return _write_zip({f"{name}/{path}": item for path, item in _check_tree(name, tree).items()})


def pack_flat(name: str, tree: Mapping[str, Item]) -> bytes:
    """Return a zip with the same files at its root, as other clients expect them."""
    return _write_zip(_check_tree(name, tree))


def _check_tree(name: str, tree: Mapping[str, Item]) -> Tree:
    """Return the files to pack, sorted. Raise InvalidError."""
    kept = {path: item for path, item in tree.items() if not ignored(path)}
    for path in kept:
        check_path(path)
    check_collisions(kept)
    if not main_file(kept):
        raise refused("archive-no-skill", f"The package {paths.shown(name)} has no {MAIN_FILE}.")
    meter = _Meter(DEFAULT_LIMITS)
    for path, item in kept.items():
        if item.link:
            hint = "Replace the link with a copy of the file."
            raise InvalidError("link-in-package", f"{path} is a link; an archive holds only files.", hint=hint)
        meter.start(path)
        meter.add(len(item.data), len(item.data))
    return {path: kept[path] for path in sorted(kept, key=str.encode)}


def contents(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> tuple[Tree, tuple[str, ...]]:
    """Return every file of an archive by full name, sorted by bytes, and the names that are never part of a package.

    Raises InvalidError for anything unsafe or damaged.
    """
    kept, skipped = _listed(data, limits)
    return _files(kept, limits), skipped


def unpack(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Package:
    """Return the only package in an archive. Raise InvalidError for anything unsafe or damaged."""
    kept, skipped = _listed(data, limits)
    folder = _folder({member.name for member in kept})
    for member in kept:
        check_path(member.name.removeprefix(f"{folder}/"))
    files = {path.removeprefix(f"{folder}/"): item for path, item in _files(kept, limits).items()}
    return Package(folder, files, skipped=skipped)


def _listed(data: bytes, limits: Limits) -> tuple[list[Member], tuple[str, ...]]:
    """Return the still packed files of an archive after checking their names, and the names that are left out.

    The folder at the root does not count for the depth and length of a path.
    """
    members = _members(data, limits)
    for member in members:
        for part in member.name.split("/", 1):
            check_path(part, member.name)
    check_collisions(f"{member.name}/" if member.kind == "directory" else member.name for member in members)
    listed = [member for member in members if member.kind == "file"]
    skipped = sorted(member.name for member in listed if _left_out(member.name))
    return [member for member in listed if not _left_out(member.name)], tuple(skipped)


def _files(members: Iterable[Member], limits: Limits) -> Tree:
    meter = _Meter(limits)
    found = {member.name: Item(_content(member, meter), member.executable) for member in members}
    return {path: found[path] for path in sorted(found, key=str.encode)}


def _folder(names: set[str]) -> str:
    """Return the only folder at the root, or "" if the skill itself is there."""
    if main_file(names) and "" in find_skills(names):
        return ""
    tops = {name.split("/", 1)[0] for name in names}
    folders = {name.split("/", 1)[0] for name in names if "/" in name}
    skills = [folder for folder in folders if any(f"{folder}/{main}" in names for main in MAIN_FILES)]
    if len(folders) > 1 or (skills and len(tops) > 1):
        listed = ", ".join(paths.shown(top) for top in sorted(tops)[:5])
        raise refused("archive-several", f"The archive has more than one entry at its root: {listed}.")
    if not skills:
        raise refused("archive-no-skill", f"The archive has no {MAIN_FILE} at its root or in its one folder.")
    return skills[0]


def _members(data: bytes, limits: Limits) -> list[Member]:
    """List the archive, whatever its format, without unpacking an entry."""
    from whet.skill.archive_zip import zip_members

    most = limits.archive_bytes
    most_entries = limits.files * _ENTRIES_PER_FILE
    if len(data) > most:
        raise refused("archive-too-large", f"The archive has {len(data)} bytes; the limit is {most}.")
    try:
        if data.startswith(b"PK"):
            found = zip_members(data, most_entries)
        else:
            packed = data.startswith(b"\x1f\x8b")
            found = tar_members(gather_tar(_gunzipped(data, limits), most_entries) if packed else data)
        members = [_accepted(member) for member in islice(found, most_entries + 1)]
    except TooManyError as error:
        raise _too_many(limits) from error
    except DamagedError as error:
        known = data.startswith((b"PK", b"\x1f\x8b")) or data[257:262] == b"ustar"
        other = next((name for mark, name in _OTHER_FORMATS.items() if data.startswith(mark)), "")
        reason = f"Whet does not read {other}" if other else "it is not a zip or tar file"
        raise _unreadable(str(error) if known else reason) from error
    if len(members) > most_entries:
        raise _too_many(limits)
    return [member for member in members if (member.kind, member.name) != ("directory", _ROOT)]


def _gunzipped(data: bytes, limits: Limits) -> Iterator[bytes]:
    most = limits.archive_bytes
    meter = _Meter(limits._replace(file_bytes=sys.maxsize, total_bytes=most))
    meter.add(0, len(data))
    for piece in inflate(data, _CHUNK):
        meter.add(len(piece), 0)
        yield piece


def _accepted(member: Member) -> Member:
    """Return the entry under its plain name; raise InvalidError for a kind that no package has."""
    shown = paths.shown(member.name)
    if member.kind == "encrypted":
        raise refused("archive-encrypted", f"The entry {shown} is encrypted.")
    if member.kind == "link":
        raise refused("archive-link", f"The entry {shown} is a link.")
    if member.kind == "special":
        raise refused("archive-special-file", f"The entry {shown} is neither a regular file nor a directory.")
    if member.kind == "directory" or member.name.endswith("/"):
        member = member._replace(kind="directory")
    if member.kind == "directory" and member.name in ("./", "."):
        return member._replace(name=_ROOT)
    name = member.name.removeprefix("./")
    return member._replace(name=name.removesuffix("/") if member.kind == "directory" else name)


def _content(member: Member, meter: _Meter) -> bytes:
    """Unpack one entry."""
    meter.start(member.name)
    meter.add(0, member.packed)
    pieces = []
    try:
        for piece in member.pieces(_CHUNK):
            meter.add(len(piece), 0)
            pieces.append(piece)
    except DamagedError as error:
        raise _unreadable(f"the entry {paths.shown(member.name)} is damaged: {error}") from error
    return b"".join(pieces)


def check_path(path: str, entry: str = "") -> None:
    """Refuse a path that no file of a package may have; `entry` is the archived name that it is a part of."""
    try:
        paths.check(path)
    except UsageError as error:
        where = f"The entry {paths.shown(entry)} has an unsafe name. " if entry else ""
        raise refused("archive-unsafe-path", where + error.message, reason=error.code) from error
    for part in path.split("/"):
        if part.casefold() in _FOLDED_IGNORED and part not in IGNORED:
            raise refused(
                "archive-unsafe-path",
                f"The path {paths.shown(path)} is a variant spelling of a name that Whet ignores.",
            )
        if part == "~" or part.startswith("-"):
            what = f"The path {paths.shown(path)} contains {part!r}, which programs read as something else."
            raise refused("archive-unsafe-path", what)


def _left_out(name: str) -> bool:
    """Return whether an archived name is never part of a package; macOS puts its own files beside the folder."""
    top, slash, _ = name.partition("/")
    return ignored(name) or top == "__MACOSX" or (not slash and top.startswith("._"))


def check_collisions(names: Iterable[str]) -> None:
    """Refuse names that cannot all exist on every system; a name that ends in a slash is a directory."""
    for first, second in paths.collides(names):
        both = f"{paths.shown(first)} and {paths.shown(second)}"
        raise refused("archive-collision", f"{both} cannot both exist on every system.")


def _too_many(limits: Limits) -> InvalidError:
    return refused("archive-too-many-files", f"The package has more than {limits.files} files.")


def _unreadable(reason: str) -> InvalidError:
    return refused("archive-not-readable", f"The archive cannot be read: {reason}.")


def refused(code: str, message: str, **details: str) -> InvalidError:
    """Return the error for a package, with a hint."""
    return InvalidError(code, message, hint=_HINTS[code], **details)


_HINTS = {
    "archive-not-readable": "Download it again, or pack it again as zip, tar or tar.gz.",
    "archive-encrypted": "Do not trust a skill that hides its content; ask for an archive without a password.",
    "archive-unsafe-path": "Rename the file and pack the skill again.",
    "archive-link": "Replace the link with the file it points to and pack the skill again.",
    "archive-special-file": "Pack regular files only.",
    "archive-collision": "Rename one of the two and pack the skill again.",
    "archive-too-many-files": "Remove files that the skill does not need.",
    "archive-too-large": "Remove or shrink large files; a skill can say where to download them.",
    "archive-ratio": "Do not unpack it with another tool; it is built to fill the disk.",
    "archive-no-skill": f"Put {MAIN_FILE} at the root of the package.",
    "archive-several": "Pack one skill in one archive.",
}


def _write_zip(files: Mapping[str, Item]) -> bytes:
    import io
    import zipfile

    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, item in files.items():
            entry = zipfile.ZipInfo(path, _FIRST_DAY)
            entry.create_system = 3  # unix, even on other systems
            entry.external_attr = (stat.S_IFREG | (0o755 if item.executable else 0o644)) << 16
            archive.writestr(entry, item.data)
    return target.getvalue()
