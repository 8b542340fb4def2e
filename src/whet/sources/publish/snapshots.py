"""Snapshots: a whole library in one file, to move it to another machine or to keep it.

A snapshot is a zip of stored entries, so that the same library at the same moment gives the same bytes everywhere:

    snapshot.json      skills with their scope, path, digest and lock entry; taps; the file of each content
    skills/N.skill     each distinct content once: the skills, and installed ones as they were before edits

It holds nothing else of the state: no settings, no history, no credentials. Every content is checked against its digest
when it is read. A digest says that content is complete, not that it is harmless: an import scans it like any other
source.
"""

from __future__ import annotations

import json
import os
import stat
import unicodedata
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet import __version__
from whet.authoring.trees import digest
from whet.errors import ConflictError, InvalidError, UsageError
from whet.notes import Note
from whet.skill import archive, names, paths
from whet.skill.tree import Limits
from whet.sources.lock.file import LockDamagedError, entry_json, entry_of
from whet.sources.taps import Tap
from whet.store.atomic import write_bytes
from whet.store.clock import iso, system_clock
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.skill.tree import Tree
    from whet.sources.lock.file import Installed
    from whet.store.clock import Clock

VERSION = 1
MANIFEST = "snapshot.json"
SCOPES = ("user", "project")
_MIB = 1024 * 1024
LIMITS = Limits(files=20_000, file_bytes=128 * _MIB, total_bytes=512 * _MIB)
"""Limits of a snapshot, written and read; the whole file has at most `total_bytes`."""
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest date in a zip


class Exported(NamedTuple):
    """A skill of a library with its content."""

    scope: Literal["user", "project"]
    path: str
    """Its directory, relative to its root, with forward slashes."""
    name: str
    tree: Tree
    lock: Installed | None = None
    """Its lock entry, if it was installed."""
    base: Tree | None = None
    """The installed content, which a later update merges with; None if it is unknown."""


class Snapshot(NamedTuple):
    """The content of a snapshot."""

    whet: str
    """Version of Whet that made it."""
    created: str
    skills: tuple[Exported, ...]
    taps: tuple[Tap, ...]


class SnapshotExport(NamedTuple):
    """The result of an export."""

    path: str
    size: int
    skills: tuple[str, ...]
    """Names of the exported skills."""
    contents: int
    taps: int
    left_out: tuple[Note, ...]
    """Notes about what is left out, and why."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


def export_snapshot(
    skills: Iterable[Exported],
    taps: Sequence[Tap],
    path: str,
    *,
    overwrite: bool = False,
    clock: Clock = system_clock,
) -> SnapshotExport:
    """Write these skills and taps to one file, atomically. A skill that cannot be packed is left out with a note."""
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(path) and not overwrite:
        hint = "Choose another file, or pass `--force` to overwrite it."
        raise ConflictError("file-exists", f"{path} already exists.", hint=hint, path=path)
    box = _Box()
    for skill in skills:
        box.add(skill)
    contents = {found: f"skills/{number}.skill" for number, found in enumerate(sorted(box.packed), 1)}
    values = {"version": VERSION, "whet": __version__, "created": iso(clock())}
    rest = {"skills": box.rows, "taps": [tap._asdict() for tap in taps], "contents": contents}
    manifest = json.dumps({**values, **rest}, indent=2, sort_keys=True) + "\n"
    data = _zip([(MANIFEST, manifest.encode()), *((name, box.packed[found]) for found, name in contents.items())])
    write_bytes(path, data)
    listed = tuple(str(row["name"]) for row in box.rows)
    return SnapshotExport(path, len(data), listed, len(contents), len(taps), tuple(box.left_out))


def read_snapshot(data: bytes) -> Snapshot:
    """Read a complete snapshot. Raise InvalidError `snapshot-damaged` or `snapshot-newer`."""
    try:
        files, skipped = archive.contents(data, limits=LIMITS)
    except InvalidError as error:
        raise _damaged(error.message) from error
    held = {path: item.data for path, item in files.items()}
    manifest = _manifest(held.pop(MANIFEST, None))
    listed = manifest.get("contents")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise _damaged(f"{MANIFEST} does not map its files")
    if skipped or sorted(held) != sorted(listed.values()):
        raise _damaged(f"its files do not match {MANIFEST}")
    trees = {promised: _tree(promised, name, held[name]) for promised, name in listed.items()}
    rows = manifest.get("skills")
    taps = manifest.get("taps")
    if not isinstance(rows, list) or not isinstance(taps, list) or not all(isinstance(tap, dict) for tap in taps):
        raise _damaged(f"{MANIFEST} has no list of skills or taps")
    skills = tuple(_skill(row, at, trees) for at, row in enumerate(rows))
    places = [(skill.scope, _fold(skill.path)) for skill in skills]
    if len(set(places)) != len(places):
        raise _damaged("two of its skills have the same path")
    named = tuple(Tap(str(tap.get("name", "")), str(tap.get("source", ""))) for tap in taps)
    return Snapshot(str(manifest.get("whet", "")), str(manifest.get("created", "")), skills, named)


class _Box:
    """Collects the content of a snapshot."""

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []
        self.packed: dict[str, bytes] = {}
        self.left_out: list[Note] = []
        self._places: dict[tuple[str, str], str] = {}

    def add(self, skill: Exported) -> None:
        """Add a skill, or note why it is left out."""
        try:
            paths.check(skill.path)
            own, packed = _packed(skill.name, skill.tree)
        except (UsageError, InvalidError) as error:
            self._tell(skill, error.code, "warning", f"{skill.name} is left out. {error.message}", error.hint)
            return
        place = (skill.scope, _fold(skill.path))
        if place in self._places:
            same = self._places[place] == own
            which = "this" if same else "other"
            message = f"{skill.name} is left out. {skill.path} is already in the snapshot, with {which} content."
            hint = "" if same else "Export it to a separate snapshot."
            self._tell(skill, "snapshot-duplicate", "info" if same else "warning", message, hint)
            return
        self._places[place] = own
        self.packed.setdefault(own, packed)
        lock = None if skill.lock is None else {"path": skill.lock.path, **entry_json(skill.lock)}
        row = {"scope": skill.scope, "path": skill.path, "name": skill.name}
        self.rows.append({**row, "digest": own, "base": self._base(skill), "lock": lock})

    def _base(self, skill: Exported) -> str | None:
        """Add the content of an installed skill before its edits; return its digest."""
        if skill.base is None:
            return None
        try:
            base, packed = _packed(skill.name, skill.base)
        except InvalidError as error:
            message = f"{skill.name} is exported without its installed version. {error.message}"
            hint = "A later update can keep your edits or drop them, but not merge them."
            self._tell(skill, "snapshot-without-base", "warning", message, hint)
            return None
        self.packed.setdefault(base, packed)
        return base

    def _tell(self, skill: Exported, code: str, severity: Literal["warning", "info"], message: str, hint: str) -> None:
        self.left_out.append(Note(code, severity, message, hint, skill=skill.name, path=skill.path))


def _packed(name: str, tree: Tree) -> tuple[str, bytes]:
    """Return the digest of a content, and its archive."""
    for path, item in tree.items():
        if item.link:
            hint = "Replace the link with a copy of the file."
            raise InvalidError("link-in-package", f"{path} is a link; an archive holds only files.", hint=hint)
    folder = names.slug(name)
    try:
        paths.check(folder)
    except UsageError:  # a reserved name on Windows
        folder = "skill"
    return digest(tree), archive.pack(folder, tree)


def _zip(files: Sequence[tuple[str, bytes]]) -> bytes:
    import io
    import zipfile

    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as made:
        for name, data in files:
            entry = zipfile.ZipInfo(name, _FIRST_DAY)
            entry.create_system = 3  # unix, even on other systems
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            made.writestr(entry, data)
    size = target.tell()
    if (
        len(files) > LIMITS.files
        or size > LIMITS.total_bytes
        or any(len(data) > LIMITS.file_bytes for _, data in files)
    ):
        message = f"The library is too large for one snapshot: {len(files) - 1} contents, {size:,} bytes."
        raise InvalidError("snapshot-too-large", message, hint="Export only some skills.")
    return target.getvalue()


def _manifest(data: bytes | None) -> Json:
    if data is None:
        raise _damaged(f"it has no {MANIFEST}")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"{MANIFEST} is not valid JSON") from error
    version = found.get("version") if isinstance(found, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damaged(f"{MANIFEST} has no version")
    if version > VERSION:
        message = f"The snapshot has version {version}; this Whet reads version {VERSION}."
        raise InvalidError("snapshot-newer", message, hint="Update Whet.")
    return dict(found)


def _tree(promised: str, name: str, data: bytes) -> Tree:
    """Return the content of one file, checked against its digest."""
    try:
        package = archive.unpack(data)
    except InvalidError as error:
        raise _damaged(f"{name} cannot be read ({error.message.rstrip('.')})") from error
    if package.skipped or package.digest != promised:
        raise _damaged(f"{name} does not have the content {promised}")
    return package.tree


def _skill(row: object, at: int, trees: Mapping[str, Tree]) -> Exported:
    where = f"the skill {at + 1} of {MANIFEST}"
    if not isinstance(row, dict) or row.get("scope") not in SCOPES or not isinstance(row.get("name"), str):
        raise _damaged(f"{where} has no scope or no name")
    path, own, base, lock = (row.get(key) for key in ("path", "digest", "base", "lock"))
    if not isinstance(path, str):
        raise _damaged(f"{where} has no path")
    if any(not isinstance(found, str) or found not in trees for found in (own, own if base is None else base)):
        raise _damaged(f"the content of {where} is not in it")
    try:
        paths.check(path)
        installed = None if lock is None else _installed(lock)
    except (UsageError, LockDamagedError) as error:
        raise _damaged(f"{where} is wrong ({error.message.rstrip('.')})") from error
    before = None if base is None else trees[base]
    return Exported(row["scope"], path, row["name"], trees[str(own)], installed, before)


def _installed(values: object) -> Installed:
    if not isinstance(values, dict) or not isinstance(values.get("path"), str):
        raise LockDamagedError("lock-damaged", "the lock names no path for it")
    return entry_of(values["path"], {name: value for name, value in values.items() if name != "path"})


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _damaged(why: str) -> InvalidError:
    hint = "Download or export it again. Nothing was imported."
    return InvalidError("snapshot-damaged", f"The snapshot is damaged: {why.rstrip('.')}.", hint=hint)
