"""Read the records of other tools about the skills they installed, so that Whet can manage these.

    skills-lock.json                 beside a project's skills (version 1)
    .skill-lock.json                 in ~/.agents, or in $XDG_STATE_HOME/skills (version 3)
    .clawhub/lock.json               beside a root (version 1), and SKILL/.clawhub/origin.json
    metadata.github-* in SKILL.md    written there by GitHub's own client
    SKILL/.openskills.json           written by `openskills install`; it keeps no hash
    .hub/lock.json                   in a root of Hermes (version 1); its hash is not compared

None of them is ever written. A damaged record becomes a note and does not count as empty.
"""

from __future__ import annotations

import os
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from whet.errors import UsageError, WhetError
from whet.library.clients import DIRECTORIES
from whet.library.files import read_file
from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.coerce import mapping
from whet.skill.collation import collation_key
from whet.skill.finder import MAIN_FILE, is_main_file, main_file
from whet.skill.frontmatter import MAX_DOCUMENT, read_document
from whet.skill.paths import check, shown
from whet.sources.lock.file import LockDamagedError, decoded, loaded
from whet.sources.model import Ref
from whet.sources.refs.pages import CLAWHUB
from whet.sources.refs.parse import read_ref, ref_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from whet.library.roots import Place
    from whet.skill.tree import Item, Tree

KINDS = ("gh", "clawhub", "openskills", "hermes", "skills-lock", "skill-lock")
"""Kinds of records, the most exact first."""
_RECORD = ".openskills.json"
_MAX_BYTES = 16 * 1024 * 1024
_MAX_SKILLS = 10_000
_CLAWHUB_DIRECTORIES = (".clawhub", ".clawdhub")
_UNSAFE = compile_late(r"[^a-z0-9._]+")
_OWNER = compile_late(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")


class Foreign(NamedTuple):
    """A skill that another tool says it installed."""

    name: str
    directory: str
    """Real path where the skill should be."""
    ref: Ref
    """Its `path` is "" if the tool did not record where in the source the skill is."""
    revision: str
    computed_hash: str
    """The tool's own hash of the installed content, see `fits`; "" if there is none."""
    kind: str
    """One of `KINDS`."""
    path: str
    """The file with the record."""
    marker: str = ""
    """A git tree id, or the hash of an artifact."""
    pinned: str = ""
    """Reason of the pin; "yes" if the tool recorded none."""


class Found(NamedTuple):
    """The records of all files, one for each directory, and notes about unreadable ones."""

    skills: tuple[Foreign, ...]
    notes: tuple[Note, ...]


def look(place: Place, root: str, directory: str) -> Found:
    """Read the records of other tools about the skills in a root.

    `directory` is the parent of the root.
    """
    reader = _Reader(place, os.path.realpath(root))
    reader.read_skills()
    reader.read_clawhub(directory)
    reader.read_hermes()
    for top in dict.fromkeys((directory, *_projects(reader.root))):
        reader.read_lock(os.path.join(top, "skills-lock.json"), "skills-lock", 1, top)
    if any(reader.root == os.path.realpath(os.path.join(place.home, *one.user.split("/"))) for one in DIRECTORIES):
        for path in _global_locks(place):
            reader.read_lock(path, "skill-lock", 3, place.home)
    return Found(tuple(sorted(reader.skills.values())), tuple(reader.notes))


def computed_hash(tree: Mapping[str, Item]) -> str:
    """Return the `computedHash` of skills-lock.json: the hash of all paths and contents, in the order of the paths."""
    total = sha256()
    for path in sorted(tree, key=collation_key):
        if not tree[path].link and not {".git", "node_modules"} & set(path.split("/")[:-1]):
            total.update(path.encode("utf-8", "surrogatepass"))
            total.update(tree[path].data)
    return total.hexdigest()


def fingerprint(tree: Mapping[str, Item]) -> str:
    """Return ClawHub's hash of a skill: a line with path and hash of each visible file, in the order of the paths.

    Unlike ClawHub, this includes files that a `.gitignore` in the skill names.
    """
    rows = []
    for path in sorted(tree, key=collation_key):
        parts = path.split("/")
        if not tree[path].link and "node_modules" not in parts[:-1] and not any(part.startswith(".") for part in parts):
            rows.append(f"{path}:{sha256(tree[path].data).hexdigest()}")
    return sha256("\n".join(rows).encode("utf-8", "surrogatepass")).hexdigest()


def fits(foreign: Foreign, tree: Mapping[str, Item]) -> bool:
    """Return whether this is the content that the other tool installed; False if it recorded no hash."""
    own = fingerprint if foreign.kind == "clawhub" else computed_hash
    return bool(foreign.computed_hash) and foreign.computed_hash == own(tree)


def without_record(tree: Mapping[str, Item], known: Collection[str] = ()) -> Tree:
    """Return the content without the record of openskills, unless that file is `known` to belong to the skill."""
    return {path: item for path, item in tree.items() if path != _RECORD or path in known}


def _projects(root: str) -> Iterator[str]:
    """Yield the project directories to which a root may belong, judged by its path."""
    for one in DIRECTORIES:
        tail = os.path.join(os.sep, *one.project.split("/"))
        if one.project and root.endswith(tail):
            yield root[: -len(tail)] or os.sep


def _global_locks(place: Place) -> Iterator[str]:
    state = place.env.get("XDG_STATE_HOME", "")
    if state:
        yield os.path.join(state, "skills", ".skill-lock.json")
    yield os.path.join(place.home, ".agents", ".skill-lock.json")


class _Reader:
    """Collects the records of one file after the other; the first record of a directory counts."""

    def __init__(self, place: Place, root: str) -> None:
        self.place = place
        self.root = root
        self.skills: dict[str, Foreign] = {}
        self.notes: list[Note] = []

    def add(self, foreign: Foreign) -> None:
        self.skills.setdefault(foreign.directory, foreign)

    def note(self, path: str, message: str, *, skill: str = "", line: int | None = None) -> None:
        hint = "Fix it with the tool that wrote it, or adopt the skill with `whet sources adopt NAME --from SOURCE`."
        self.notes.append(Note("foreign-lock-damaged", "warning", message, hint, skill=skill, path=path, line=line))

    # files

    def text(self, path: str, limit: int = _MAX_BYTES) -> str | None:
        """Read a file; return None if it is missing, or unreadable, which is noted."""
        try:
            data = read_file(path, limit + 1)
            if len(data) <= limit:
                return decoded(data, path)
            self.note(path, f"{path} is larger than {limit:,} bytes.")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.note(path, f"{path} cannot be read: {error.strerror or error}.")
        except LockDamagedError as error:
            self.note(path, error.message, line=error.details.get("line"))
        return None

    def values(self, path: str) -> Mapping[str, object] | None:
        """Read the object in a JSON file; return None if it is missing, or damaged, which is noted."""
        text = self.text(path)
        if text is None:
            return None
        try:
            values = loaded(text, path)
        except LockDamagedError as error:
            self.note(path, error.message, line=error.details.get("line"))
            return None
        if not isinstance(values, dict):
            self.note(path, f"{path} is not an object.")
            return None
        return values

    def entries(self, path: str, newest: int, key: str = "skills") -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the skills of a lock with a version, each with its fields."""
        values = self.values(path)
        if values is None:
            return
        version, skills = values.get("version"), values.get(key)
        if type(version) is not int or not 1 <= version <= newest:
            self.note(path, f"{path} has version {shown(str(version))}; Whet knows up to {newest}.")
        elif not isinstance(skills, dict):
            self.note(path, f"{path} has no `{key}` object.")
        else:
            for name, fields in sorted(skills.items()):
                if isinstance(fields, dict):
                    yield name, fields
                else:
                    self.note(path, f"{path}: {shown(name)} is not an object.", skill=name)

    def directory(self, name: str) -> str:
        """Return the directory of a skill with this name, or with the name made safe for files."""
        safe = _UNSAFE.sub("-", name.lower()).strip(".-")[:255]
        for called in (name, safe):
            try:
                if "/" not in check(called):
                    place = os.path.join(self.root, called)
                    if called == safe or os.path.isdir(place):
                        return os.path.realpath(place)
            except UsageError:
                continue
        raise UsageError("bad-name", f"{shown(name)} cannot be the name of a directory.")

    def collect(self, path: str, name: str, make: Callable[[], Foreign | None]) -> None:
        """Add the record of one entry, or note what is wrong with it."""
        try:
            foreign = make()
        except WhetError as error:
            self.note(path, f"{path}: {shown(name)} cannot be used. {error.message}", skill=name)
            return
        if foreign is not None:
            self.add(foreign)

    # the tools

    def read_skills(self) -> None:
        """Read the records inside the skills."""
        try:
            with os.scandir(self.root) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
        except OSError:
            return  # no root, no skills; the doctor reports a root that cannot be listed
        for name in names[:_MAX_SKILLS]:
            directory = os.path.join(self.root, name)
            main = os.path.join(directory, _main_in(directory))
            self.collect(main, name, partial(self.from_metadata, name, main))
            for hidden in _CLAWHUB_DIRECTORIES:
                origin = os.path.join(directory, hidden, "origin.json")
                self.collect(origin, name, partial(self.from_origin, name, origin))

            record = os.path.join(directory, _RECORD)
            self.collect(record, name, partial(self.from_record, name, record))

    def from_record(self, name: str, record: str) -> Foreign | None:
        """Read the record of openskills in a skill."""
        fields = self.values(record)
        if fields is None:
            return None
        kind, local = _text(fields, "sourceType"), _text(fields, "localPath")
        if kind == "git":
            ref = self.git(_needed(fields, "repoUrl"), "", _text(fields, "subpath"))
        elif kind == "local" and os.path.isabs(local):
            ref = self.checked(Ref("path", os.path.normpath(local)))
        else:
            source = shown(_text(fields, "source"))
            raise UsageError("unknown-source", f"It comes from {shown(kind)} {source}, which Whet does not support.")
        return Foreign(name, os.path.realpath(os.path.join(self.root, name)), ref, "", "", "openskills", record)

    def from_metadata(self, name: str, main: str) -> Foreign | None:
        """Read the record of GitHub's client in the frontmatter."""
        try:
            data = read_file(main, MAX_DOCUMENT)
        except OSError:
            return None  # not a skill; listing skills reports it
        if b"github-repo" not in data:
            return None
        document = read_document(data)
        fields = mapping(document.values.get("metadata"))
        said = {key: fields.get(f"github-{key}") for key in ("repo", "path", "ref", "tree-sha", "pinned")}
        texts = {
            key: value.strip() if isinstance(value, str) else document.texts.get(f"metadata.github-{key}", "")
            for key, value in said.items()
        }
        if not texts["repo"]:
            return None
        pinned = "" if isinstance(said["pinned"], bool) else texts["pinned"]
        ref = self.git(texts["repo"], pinned or _short(texts["ref"]), texts["path"])
        directory = os.path.realpath(os.path.dirname(main))
        held = pinned or ("yes" if said["pinned"] is True else "")
        return Foreign(name, directory, ref, "", "", "gh", main, texts["tree-sha"], held)

    def from_origin(self, name: str, origin: str) -> Foreign | None:
        """Read the record of ClawHub's client or OpenClaw in a skill."""
        fields = self.values(origin)
        if fields is None:
            return None
        slug, version = _needed(fields, "slug"), _text(fields, "installedVersion")
        ref = self.clawhub(_text(fields, "registry"), _text(fields, "ownerHandle"), slug)
        directory = os.path.realpath(os.path.join(self.root, name))
        return Foreign(slug, directory, ref, version, _text(fields, "fingerprint"), "clawhub", origin)

    def read_clawhub(self, directory: str) -> None:
        """Read ClawHub's lock beside the root: it has pins, and skills whose own record is gone."""
        for hidden in _CLAWHUB_DIRECTORIES:
            path = os.path.join(directory, hidden, "lock.json")
            for name, fields in self.entries(path, 1):
                self.collect(path, name, partial(self.from_clawhub, name, fields, path))

    def from_clawhub(self, name: str, fields: Mapping[str, object], path: str) -> Foreign:
        directory = self.directory(name.rpartition("/")[2])
        pinned = (_text(fields, "pinReason") or "yes") if fields.get("pinned") is True else ""
        known = self.skills.get(directory)
        if known is not None and known.kind == "clawhub":
            self.skills[directory] = known._replace(pinned=pinned)
            return known
        version = _text(fields, "version")
        if fields.get("sourceKind") == "skills-sh" and _text(fields, "sourceRepository"):
            ref = self.git(_text(fields, "sourceRepository"), "", _text(fields, "sourcePath"))
            return Foreign(name, directory, ref, "", "", "clawhub", path, pinned=pinned)
        ref = self.clawhub("", _text(fields, "ownerHandle"), name)
        return Foreign(name, directory, ref, version, "", "clawhub", path, pinned=pinned)

    def read_hermes(self) -> None:
        """Read the lock of Hermes' hub in the root, including skills in directories of categories."""
        path = os.path.join(self.root, ".hub", "lock.json")
        for name, fields in self.entries(path, 1, "installed"):
            self.collect(path, name, partial(self.from_hermes, name, fields, path))

    def from_hermes(self, name: str, fields: Mapping[str, object], path: str) -> Foreign:
        kind, identifier = _needed(fields, "source"), _needed(fields, "identifier")
        if kind == "github":
            owner, _, rest = identifier.partition("/")
            repository, _, inner = rest.partition("/")
            ref = self.git(f"{owner}/{repository}", "", inner)
        elif kind == "clawhub":
            ref = self.clawhub("", "", identifier)
        elif kind == "well-known":
            site, _, skill = identifier.removeprefix("well-known:").rpartition("/")
            ref = self.checked(Ref("well-known", site, "", skill))
        elif kind == "url":
            ref = self.checked(Ref("url", identifier))
        else:
            raise UsageError("unknown-source", f"It comes from {shown(kind)}, which Whet does not support.")
        directory = os.path.realpath(os.path.join(self.root, *check(_needed(fields, "install_path")).split("/")))
        return Foreign(name, directory, ref, "", "", "hermes", path)

    def read_lock(self, path: str, kind: str, newest: int, base: str) -> None:
        """Read a lock of `npx skills`, of a project or of the user."""
        for name, fields in self.entries(path, newest):
            self.collect(path, name, partial(self.from_lock, name, fields, path, kind, base))

    def from_lock(self, name: str, fields: Mapping[str, object], path: str, kind: str, base: str) -> Foreign:
        ref = self.source(name, fields, base)
        marker = _text(fields, "wellKnownDigest") or _text(fields, "skillFolderHash")
        return Foreign(name, self.directory(name), ref, "", _text(fields, "computedHash"), kind, path, marker)

    # refs

    def source(self, name: str, fields: Mapping[str, object], base: str) -> Ref:
        """Return the source of an entry of a lock."""
        kind, source, address = _text(fields, "sourceType"), _text(fields, "source"), _text(fields, "sourceUrl")
        ref, path = _text(fields, "ref"), _text(fields, "skillPath")
        if kind == "github":
            return self.git(source if _OWNER.fullmatch(source) else address or source, ref, path)
        if kind == "gitlab" and _OWNER.fullmatch(source) and not address:
            return self.git(f"https://gitlab.com/{source}", ref, path)
        if kind in ("git", "gitlab"):
            return self.git(address or source, ref, path)
        if kind == "local" and source:
            return self.checked(Ref("path", os.path.normpath(os.path.join(base, source)), "", _inner(path)))
        if kind == "well-known" and (source or address):
            site = _text(fields, "sourceBaseUrl") or address or f"https://{source}"
            return self.checked(Ref("well-known", site, "", name))
        if kind == "download" and address:
            return self.checked(Ref("url", address))
        raise UsageError("unknown-source", f"It comes from {shown(kind)} {shown(source)}, which Whet does not support.")

    def git(self, address: str, ref: str, path: str) -> Ref:
        """Return the reference to a git repository, by `owner/repo` or by its address."""
        known = read_ref(f"git:{address}", self.place)
        return self.checked(known._replace(ref=ref or known.ref, path=_inner(path) or known.path))

    def clawhub(self, registry: str, owner: str, slug: str) -> Ref:
        """Return the reference to a skill of a ClawHub registry."""
        owner, slug = owner.removeprefix("@"), slug.removeprefix("@")
        name = f"{owner}/{slug}" if owner and "/" not in slug else slug
        return self.checked(Ref("clawhub", registry or CLAWHUB, "", name))

    def checked(self, ref: Ref) -> Ref:
        """Return the reference in its canonical spelling, if every part of it is valid."""
        return read_ref(ref_text(ref), self.place)


def _text(fields: Mapping[str, object], name: str) -> str:
    """Return a field that is text; "" if it is missing or null."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError("bad-field", f"`{name}` is not text.")
    return value.strip()


def _needed(fields: Mapping[str, object], name: str) -> str:
    value = _text(fields, name)
    if not value:
        raise UsageError("bad-field", f"`{name}` is missing.")
    return value


def _main_in(directory: str) -> str:
    """Return the name of the main file of a directory, or the default."""
    try:
        return main_file(os.listdir(directory)) or MAIN_FILE
    except OSError:
        return MAIN_FILE


def _short(ref: str) -> str:
    """Return the branch or tag of a full ref name."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/")


def _inner(path: str) -> str:
    """Return the directory of a main file inside a source; "" for its root."""
    path = path.replace("\\", "/").removeprefix("./").strip("/")
    if is_main_file(path.rpartition("/")[2]):
        path = path.rpartition("/")[0]
    return check(path) if path not in ("", ".") else ""
