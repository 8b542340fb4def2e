"""Publish to a directory for any web server: the well-known index of agent skills.

    .well-known/agent-skills/index.json                      the index (0.2.0)
    .well-known/agent-skills/NAME/HASH/SKILL.md              a skill of one file
    .well-known/agent-skills/NAME/HASH/NAME.tar.gz           any other, its files at the root of the archive
    .well-known/skills/index.json, .well-known/skills/NAME/  the same for clients of the older form (0.1)

Readers always see a complete site: the path of an artifact contains its hash, so a new one never replaces another; each
index is replaced atomically, after everything it names. Artifacts that are no longer named stay until they are pruned,
for clients that have read the old index. A killed publisher leaves the old index.

The bytes of an artifact depend only on the files of the package, except for deflate, whose output differs between
builds of zlib. So changes of a published skill are detected by the content of its artifact, never by the artifact
itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
from typing import TYPE_CHECKING, Literal, NamedTuple, NotRequired, TypedDict, cast
from urllib.parse import quote

from whet.authoring.trees import digest, write_tree
from whet.errors import InvalidError
from whet.library.package import read_tree
from whet.library.standalone import content
from whet.skill.archive import unpack
from whet.skill.finder import MAIN_FILE
from whet.skill.paths import collides
from whet.skill.tree import DEFAULT_LIMITS, Item
from whet.sources.publish.prepare import Published, Release, cleaned, each_once
from whet.store.atomic import write_bytes
from whet.store.directories import make_directories
from whet.store.failures import os_failures
from whet.store.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.notes import Note
    from whet.skill.tree import Tree
    from whet.sources.publish.prepare import Prepared

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
SITE = ".well-known/agent-skills"
OLD_SITE = ".well-known/skills"
INDEX = "index.json"
LOCK = ".whet-publish.lock"
_LOCK_SECONDS = 30
_MAX_INDEX = 64 * 1024 * 1024
_MAX_ARTIFACT = 2 * DEFAULT_LIMITS.total_bytes
_HASH = re.compile(r"[0-9a-f]{64}")
_GZIP = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
"""Head of a gzip stream: deflate, no name, no time, best compression, unknown system."""


class IndexEntry(TypedDict):
    """A skill in an index; other fields are preserved."""

    name: str
    description: NotRequired[str]
    type: NotRequired[str]
    url: NotRequired[str]
    digest: NotRequired[str]
    files: NotRequired[list[str]]


Index = TypedDict("Index", {"$schema": NotRequired[str], "skills": list[IndexEntry]})
"""An index as JSON."""


class Artifact(NamedTuple):
    """The file that a client fetches for a skill."""

    kind: Literal["skill-md", "archive"]
    data: bytes

    @property
    def sha256(self) -> str:
        """Hash of its bytes, as in the index."""
        return hashlib.sha256(self.data).hexdigest()


def make_artifact(tree: Tree) -> Artifact:
    """Return the artifact of a package: its main file if that is the only one, else an archive."""
    main = tree[MAIN_FILE]
    if len(tree) == 1 and not main.executable:
        return Artifact("skill-md", main.data)
    return Artifact("archive", tar_gz(tree))


def tar_gz(tree: Tree) -> bytes:
    """Return a reproducible archive: files at its root, without owners and times, compressed without name and time."""
    import tarfile
    import zlib

    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree, key=str.encode):
            item = tree[path]
            entry = tarfile.TarInfo(path)
            entry.size = len(item.data)
            entry.mode = 0o755 if item.executable else 0o644
            archive.addfile(entry, io.BytesIO(item.data))
    data = target.getvalue()
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    ends = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return b"".join((_GZIP, packer.compress(data), packer.flush(), ends))


def content_digest(kind: str, data: bytes) -> str:
    """Return the content digest of the package in an artifact; "" if it cannot be read."""
    if kind == "skill-md":
        return digest({MAIN_FILE: Item(data)})
    try:
        return unpack(data).digest
    except InvalidError:
        return ""


def publish_index(prepared: Sequence[Prepared], directory: str, *, prune: bool = False) -> Published:
    """Add these skills to the site in a directory, or replace them there; other skills of the site stay.

    With `prune`, artifacts and files that neither index names are removed.
    """
    each_once(prepared)
    directory = os.path.abspath(os.path.expanduser(directory))
    make_directories(directory)
    with FileLock(os.path.join(directory, LOCK), timeout=_LOCK_SECONDS):
        site = _Site(directory)
        site.clean(site.path(SITE), site.path(OLD_SITE))
        steps = [site.step(skill) for skill in sorted(prepared, key=lambda skill: skill.name)]
        changed = [step for step in steps if step.release.change != "unchanged"]
        for step in changed:
            site.put_files(step)
        if changed:
            site.put_indexes(changed)
        removed = tuple(sorted(site.prune())) if prune else ()
    releases = tuple(step.release for step in steps)
    return Published("index", directory, bool(changed), releases, notes=tuple(site.notes), removed=removed)


class _Step(NamedTuple):
    """The work to publish one skill."""

    skill: Prepared
    release: Release
    artifact: Artifact | None
    """None if nothing must be written."""


class _Site:
    """A site, read completely before it is changed."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.index = _read(self.path(SITE, INDEX), SCHEMA)
        self.old_index = _read(self.path(OLD_SITE, INDEX), "")
        self.notes: list[Note] = []

    def path(self, *parts: str) -> str:
        return os.path.join(self.directory, *(name for part in parts for name in part.split("/")))

    def clean(self, *places: str) -> None:
        """Remove what killed publishers left in these directories."""
        for place in places:
            self.notes += cleaned(place)

    def step(self, skill: Prepared) -> _Step:
        entry = _named(self.index, skill.name)
        release = Release(skill.name, skill.version, skill.digest, "unchanged", "")
        if entry is not None and self.holds(skill, entry) and self.holds_files(skill):
            return _Step(skill, release._replace(at=entry["url"]), None)
        made = make_artifact(skill.tree)
        at = quote(_place(skill.name, made.kind, made.sha256))
        return _Step(skill, release._replace(change="updated" if entry else "added", at=at), made)

    def holds(self, skill: Prepared, entry: IndexEntry) -> bool:
        """Return whether the index offers exactly this skill and its artifact is intact."""
        kind, promised = entry.get("type"), str(entry.get("digest")).removeprefix("sha256:")
        if kind not in ("skill-md", "archive") or not _HASH.fullmatch(promised):
            return False
        place = _place(skill.name, kind, promised)
        if (entry.get("url"), entry.get("description")) != (quote(place), skill.description):
            return False
        path = self.path(SITE, place)
        return _is(path, promised) and content_digest(kind, content(path, _MAX_ARTIFACT)) == skill.digest

    def holds_files(self, skill: Prepared) -> bool:
        """Return whether clients of the older form get exactly this skill."""
        if _named(self.old_index, skill.name) != _old_entry(skill):
            return False
        there = read_tree(self.path(OLD_SITE, skill.name)) or {}
        return all(there.get(path) == item for path, item in skill.tree.items())

    def put_files(self, step: _Step) -> None:
        """Write all files that the new indexes name; keep those that the current ones name."""
        skill, made = step.skill, step.artifact
        if made is not None:
            path = self.path(SITE, _place(skill.name, made.kind, made.sha256))
            if not _is(path, made.sha256):
                make_directories(os.path.dirname(path))
                self.clean(os.path.dirname(path))
                write_bytes(path, made.data)
        place = self.path(OLD_SITE, skill.name)
        self.clean(*(directory for directory, _, _ in os.walk(place)))
        before = read_tree(place)
        old = {path: item for path, item in (before or {}).items() if path not in skill.tree}
        in_the_way = {second for _, second in collides([*skill.tree, *old])}
        after = {**skill.tree, **{path: item for path, item in old.items() if path not in in_the_way}}
        write_tree(place, before, after)

    def put_indexes(self, steps: Sequence[_Step]) -> None:
        """Replace each index atomically, the one with the hashes last."""
        for step in steps:
            _set(self.old_index, _old_entry(step.skill))
            if step.artifact is not None:
                _set(self.index, _entry(step.skill, step.artifact, step.release.at))
        for place, index in ((OLD_SITE, self.old_index), (SITE, self.index)):
            make_directories(self.path(place))
            text = json.dumps(index, indent=2, ensure_ascii=False) + "\n"
            # A lone surrogate is written as a JSON escape.
            write_bytes(self.path(place, INDEX), text.encode("utf-8", "backslashreplace"))

    def prune(self) -> list[str]:
        from shutil import rmtree

        self.clean(self.path(SITE), self.path(OLD_SITE))
        named = frozenset(_HASH.findall(json.dumps(self.index)))
        places = [place for name in _directories(self.path(SITE)) for place in _directories(name)]
        kept = {place for place in places if os.path.basename(place) in named}
        self.clean(*kept)
        removed = [place for place in places if _HASH.fullmatch(os.path.basename(place)) and place not in kept]
        for place in removed:
            with os_failures(place, doing="remove"):
                rmtree(place)
                if not os.listdir(os.path.dirname(place)):
                    os.rmdir(os.path.dirname(place))
        for entry in self.old_index["skills"]:
            removed += self.prune_files(entry["name"], entry.get("files"))
        return [os.path.relpath(path, self.directory).replace(os.sep, "/") for path in removed]

    def prune_files(self, name: str, listed: object) -> list[str]:
        place = self.path(OLD_SITE, name)
        self.clean(*(directory for directory, _, _ in os.walk(place)))
        before = read_tree(place) or {}
        if not isinstance(listed, list):
            return []
        after = {path: item for path, item in before.items() if path in listed}
        if not after or len(after) == len(before):
            return []
        write_tree(place, before, after)
        return [os.path.join(place, *path.split("/")) for path in before if path not in after]


def _read(path: str, schema: str) -> Index:
    """Read an index, or make a new one; raise InvalidError for a file that is not an index."""
    if not os.path.lexists(path):
        return {"$schema": schema, "skills": []} if schema else {"skills": []}
    try:
        index = json.loads(content(path, _MAX_INDEX))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is not valid JSON ({error})") from error
    if not isinstance(index, dict) or not isinstance(index.get("skills"), list):
        raise _damaged(path, "it has no list of skills")
    if schema and index.get("$schema") != schema:
        raise _damaged(path, f"its $schema is {index.get('$schema')!r}, not {schema}")
    for entry in index["skills"]:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or "/" in name or "\\" in name or name in (".", ".."):
            raise _damaged(path, "one of its entries has no usable name")
    return cast("Index", index)


def _damaged(path: str, why: str) -> InvalidError:
    message = f"{path} is not an index that can be added to: {why}."
    return InvalidError("index-damaged", message, hint="Fix it or move it. Nothing was changed.", path=path)


def _named(index: Index, name: str) -> IndexEntry | None:
    found = [entry for entry in index["skills"] if entry["name"] == name]
    return found[0] if len(found) == 1 else None


def _set(index: Index, entry: IndexEntry) -> None:
    """Replace the entry with the same name, or append it."""
    entries, at = index["skills"], len(index["skills"])
    for position in reversed(range(len(entries))):
        if entries[position]["name"] == entry["name"]:
            del entries[position]
            at = position
    entries.insert(at, entry)


def _entry(skill: Prepared, made: Artifact, url: str) -> IndexEntry:
    return {
        "name": skill.name,
        "type": made.kind,
        "description": skill.description,
        "url": url,
        "digest": f"sha256:{made.sha256}",
    }


def _old_entry(skill: Prepared) -> IndexEntry:
    others = sorted(path for path in skill.tree if path != MAIN_FILE)
    return {"name": skill.name, "description": skill.description, "files": [MAIN_FILE, *others]}


def _place(name: str, kind: str, sha256: str) -> str:
    """Return the path of an artifact below the index, derived from its type and hash."""
    return f"{name}/{sha256}/{MAIN_FILE if kind == 'skill-md' else f'{name}.tar.gz'}"


def _is(path: str, sha256: str) -> bool:
    """Return whether the file exists with exactly this content."""
    return os.path.isfile(path) and hashlib.sha256(content(path, _MAX_ARTIFACT)).hexdigest() == sha256


def _directories(path: str) -> list[str]:
    if not os.path.isdir(path):
        return []
    with os_failures(path, doing="list"), os.scandir(path) as found:
        return sorted(entry.path for entry in found if entry.is_dir(follow_symlinks=False))
