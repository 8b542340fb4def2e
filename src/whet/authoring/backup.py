"""One file with everything that cannot be recreated: the state of Whet, and the user's own skills.

A backup is a zip:

    backup.json      the list: SHA-256 and permissions of every other member, and where each skill belongs
    state/...        the state directory: `state.db` as SQLite copies it while others write, logs, contents, settings
    skills/N/...     each of the user's own skills
    files/N          files next to skills that belong to them, such as the lock

It can be made while others write. The database is copied first, and its rows refer only to earlier data, so every
change that was acknowledged before the backup began is in it. The file is read back and compared with its list before
it gets its name, and again before anything is restored from it.

Restoring builds the whole state directory next to the current one, and then swaps the two in one step; the current one
is kept. Existing skills are never touched.

A backup may come from anybody. Its list is checked as a whole before anything is written. Skills are written only into
the user's own roots, and files only to their known paths; everything else is left out and reported. Changes that were
open when the backup was made are forgotten: they name files of that moment.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import stat
import struct
import zipfile
import zlib
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import file_digest, sha256
from typing import TYPE_CHECKING, NamedTuple

from whet import __version__
from whet.authoring.trees import digest, write_tree
from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, WhetError
from whet.library.files import inside
from whet.library.package import LIMITS, read_tree
from whet.library.skill_id import portable
from whet.notes import Note
from whet.skill.finder import LIBRARY, MAIN_FILES, is_overview, main_file, parents
from whet.skill.tree import Entry, Item, escapes
from whet.skill.tree import digest as entries_digest
from whet.store.atomic import free_name, is_leftover, staging, sync_file, trade, write_bytes
from whet.store.clock import iso
from whet.store.directories import make_directories, sync_directory
from whet.store.failures import os_failures
from whet.store.home import LOGS
from whet.store.locks import FileLock, lock_path
from whet.store.state import FILE
from whet.values import answer_json, read_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from whet.skill.tree import Tree
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase
    from whet.values import Json

LIST = "backup.json"
VERSION = 1
_LEFT_OUT = frozenset({"cache", "locks", "fetching", "publishing", "former", *LOGS.values()})
"""Data that can be recreated, is only temporary, or is copied from the database."""
_LOCK_SECONDS = 10.0
_BLOCK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_LIST = 256 * 1024 * 1024
"""Largest list in bytes: room for more than a million contents."""
_MAX_FILE = 64 * 1024 * 1024
"""Largest file next to skills, in bytes."""
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    sqlite3.Error,
)
"""Exceptions of reading a damaged archive, list or database."""


class Backup(NamedTuple):
    """The backup that was written."""

    path: str
    size: int
    files: int
    skills: tuple[str, ...]
    entries: int
    """Number of history entries."""
    contents: int
    """Number of files stored for the history."""
    left_out: tuple[str, ...] = ()
    """Sentences about skills that could not be read."""
    verified: bool = True
    """Whether everything in it was read again and compared with its list."""

    def to_json(self) -> Json:
        """Return the backup as JSON."""
        return answer_json(self)


class Restored(NamedTuple):
    """The result of restoring a backup."""

    state: str
    aside: str
    """The path of the former state directory; "" if there was none."""
    skills: tuple[str, ...]
    """The skills that were written."""
    kept: tuple[str, ...]
    """Existing skills and files with other content, which were left unchanged."""
    notes: tuple[Note, ...] = ()
    """Notes on what was not restored."""
    entries: int = 0
    """Number of history entries; the next field counts stored files."""
    contents: int = 0
    verified: bool = True
    """Whether everything was compared with the list in the backup before anything was written."""

    def to_json(self) -> Json:
        """Return the outcome as JSON."""
        return answer_json(self)


class Member(NamedTuple):
    """One file of a backup."""

    sha256: str
    mode: int
    executable: bool = False
    link: bool = False


class Kept(NamedTuple):
    """One skill of a backup."""

    name: str
    path: str
    """Its path; `~` is the home."""
    member: str
    """The prefix of its files."""
    digest: str


# --- writing ---------------------------------------------------------------------------------------------------------


def write_backup(
    state: StateDatabase, skills: Mapping[str, str], files: Iterable[str], home: str, path: str, clock: Clock
) -> Backup:
    """Write a backup to `path`, where no file may exist. Raises WhetError.

    `skills` are directories by name, `files` other files that belong to them.
    """
    target = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(target):
        raise ConflictError("file-exists", f"{target} already exists.", hint="Choose another file.", path=target)
    make_directories(os.path.dirname(target))
    with staging(target, private=True) as work:
        written = os.path.join(work, "backup")
        with os_failures(target), zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as file:
            pack = _Pack(file)
            entries = pack.add_state(state, work)
            for name, directory in skills.items():
                pack.add_skill(state.directory, name, directory, home)
            for other in files:
                pack.add_other(other, home)
            pack.finish(clock)
        check_backup(written)
        with os_failures(target):
            os.chmod(written, 0o600)
            sync_file(written)
            size = os.path.getsize(written)
            os.replace(written, target)
            sync_directory(os.path.dirname(target))
    names = tuple(skill.name for skill in pack.skills)
    return Backup(target, size, len(pack.members), names, entries, _contents(pack.members), tuple(pack.left_out))


class _Pack:
    """An archive that is being written."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.members: dict[str, Member] = {}
        self.skills: list[Kept] = []
        self.files: dict[str, str] = {}
        self.left_out: list[str] = []

    def add_state(self, state: StateDatabase, work: str) -> int:
        """Add the state directory; return the number of history entries."""
        entries = _copy_database(state, work)  # before the log of usage, which may then only have more
        for name in (FILE, *LOGS.values()):
            if os.path.isfile(os.path.join(work, name)):
                self._add_file(f"state/{name}", os.path.join(work, name), 0o600)
        self._add_directory(state.directory)
        return entries

    def _add_directory(self, top: str) -> None:
        for directory, folders, names in os.walk(top):
            if directory == top:
                folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in sorted(names):
                path = os.path.join(directory, name)
                own = directory == top and (name in _LEFT_OUT or name.startswith((FILE, "cache.db")))
                if own or is_leftover(name) or ".broken-" in name or not stat.S_ISREG(_mode(path)):
                    continue
                inner = os.path.relpath(path, top).replace(os.sep, "/")
                with suppress(FileNotFoundError):  # it was counted, or collected, a moment ago
                    self._add_file(f"state/{inner}", path, _mode(path))

    def add_skill(self, state: str, name: str, directory: str, home: str) -> None:
        """Add one skill, locked against changes."""
        real, member = os.path.realpath(directory), f"skills/{len(self.skills)}"
        try:
            with ExitStack() as stack:
                try:
                    stack.enter_context(FileLock(lock_path(state, "skill", real), timeout=_LOCK_SECONDS))
                except FailedError as error:
                    if error.code != "permission-denied":  # without write access, there is no lock: it reads strictly
                        raise
                tree = read_tree(real)
                modes = {path: _mode(os.path.join(real, *path.split("/"))) for path in tree or {}}
            for path in tree or {}:
                path.encode()
        except WhetError as error:
            self.left_out.append(f"{name} is left out. {error.message}")
            return
        except UnicodeEncodeError:
            self.left_out.append(f"{name} is left out: one of its file names is not text.")
            return
        if tree is None:
            return  # deleted a moment ago
        for path, item in tree.items():
            self._archive.writestr(zipfile.ZipInfo(f"{member}/{path}"), item.data)
            told = Member(sha256(item.data).hexdigest(), stat.S_IMODE(modes[path]), item.executable, item.link)
            self.members[f"{member}/{path}"] = told
        self.skills.append(Kept(name, portable(directory, home), member, digest(tree)))

    def add_other(self, path: str, home: str) -> None:
        """Add a file next to skills, if it exists."""
        with suppress(FileNotFoundError, IsADirectoryError):
            member = f"files/{len(self.files)}"
            self._add_file(member, path, _mode(path))
            self.files[member] = portable(path, home)

    def finish(self, clock: Clock) -> None:
        """Write the list."""
        members = {name: member._asdict() for name, member in self.members.items()}
        told = {"version": VERSION, "whet": __version__, "created": iso(clock()), "members": members}
        text = json.dumps({**told, "skills": [skill._asdict() for skill in self.skills], "files": self.files})
        self._archive.writestr(zipfile.ZipInfo(LIST), text)

    def _add_file(self, name: str, path: str, mode: int) -> None:
        with open(path, "rb") as source, self._archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
            total = sha256()
            while block := source.read(_BLOCK):
                total.update(block)
                target.write(block)
        self.members[name] = Member(total.hexdigest(), stat.S_IMODE(mode))


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _copy_database(state: StateDatabase, work: str) -> int:
    """Copy the database as of one moment, and write its logs; return the number of history entries."""
    from whet.store.former import write_logs
    from whet.store.repair import check_state

    if problem := check_state(state.directory):
        hint = "Run `whet doctor --repair` first; a backup of damaged data would be damaged too."
        raise FailedError("state-corrupt", problem, hint=hint, path=state.path)
    database = state.existing()
    if database is None:
        return 0
    copy = os.path.join(work, FILE)
    with closing(sqlite3.connect(copy)) as target:
        with database.use() as connection:
            connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        write_logs(target, work)
        return int(target.execute("SELECT count(*) FROM journal").fetchone()[0])


# --- reading ---------------------------------------------------------------------------------------------------------


class _List(NamedTuple):
    """The list of a backup."""

    members: dict[str, Member]
    skills: tuple[Kept, ...]
    files: dict[str, str]


def _contents(members: Iterable[str]) -> int:
    """Return the number of members that are stored for the history."""
    return sum(name.startswith("state/contents/") and not name.endswith(".lock") for name in members)


def check_backup(path: str) -> _List:
    """Compare every member with the list. Raises InvalidError `backup-damaged` and NotFoundError."""
    if not os.path.isfile(path):
        hint = "Pass a file that `whet history backup` wrote."
        raise NotFoundError("no-such-file", f"There is no file {path}.", hint=hint, path=path)
    with _damage(path), _opened(path) as archive:
        if archive.getinfo(LIST).file_size > _MAX_LIST:
            raise ValueError("its manifest is too large")
        if any(info.compress_type not in _METHODS for info in archive.infolist()):
            raise ValueError("it uses a compression that Whet does not write")
        told = json.loads(archive.read(LIST))
        if told["version"] > VERSION:
            raise InvalidError(
                "backup-newer", f"{path} was written by a newer Whet.", hint="Update Whet, then restore it."
            )
        members = {name: read_value(Member, member, name) for name, member in told["members"].items()}
        if sorted([*members, LIST]) != sorted(archive.namelist()):
            raise ValueError("its content does not match its manifest")
        skills: tuple[Kept, ...] = read_value(tuple[Kept, ...], told["skills"], "skills")
        files = {name: read_value(str, place, name) for name, place in told["files"].items()}
        _check_names(members, [skill.member for skill in skills], files)
        if large := next((name for name in files if archive.getinfo(name).file_size > _MAX_FILE), ""):
            raise ValueError(f"{large} is too large")
        for skill in skills:
            _check_skill(archive, skill, members)
        for name, member in members.items():
            if _hash(archive, name) != member.sha256:
                raise ValueError(f"{name} has been altered")
        return _List(members, skills, files)


@contextmanager
def _opened(path: str) -> Iterator[zipfile.ZipFile]:
    with (
        os_failures(path, doing="read", other="read-failed"),
        open(path, "rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        yield archive


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Raise one error for all problems of an archive."""
    try:
        yield
    except _DAMAGE as error:
        hint = "Nothing was changed. Use another backup."
        why = str(error) or type(error).__name__
        raise InvalidError(
            "backup-damaged", f"{path} is not a complete backup: {why}.", hint=hint, path=path
        ) from error


def _check_names(members: Collection[str], skills: Collection[str], files: Collection[str]) -> None:
    """Raise ValueError if a member is not part of a backup, or conflicts with another."""
    if len({*skills}) != len(skills) or not {*files} <= {*members}:
        raise ValueError("its content does not match its manifest")
    for name in members:
        parts = name.split("/")
        if any(part in ("", ".", "..") for part in parts) or "\0" in name or (os.sep != "/" and os.sep in name):
            raise ValueError(f"{name} is not a valid path")
        if parts[0] != "state" and name not in files and "/".join(parts[:2]) not in skills:
            raise ValueError(f"{name} does not belong in a backup")
        if above := next((above for above in parents(name) if above in members), ""):
            raise ValueError(f"{above} is a file and cannot hold {name}")


def _check_skill(archive: zipfile.ZipFile, skill: Kept, members: Mapping[str, Member]) -> None:
    """Raise ValueError if a skill is not complete, is too large, or has a link out of it."""
    own = _files_of(skill, members)
    sizes = {path: archive.getinfo(f"{skill.member}/{path}").file_size for path in own}
    total = sum(sizes.values())
    if len(own) > LIMITS.files or total > LIMITS.total_bytes or max(sizes.values(), default=0) > LIMITS.file_bytes:
        raise ValueError(f"the skill {skill.name} is too large")
    for path, member in own.items():
        if member.link and escapes(path, archive.read(f"{skill.member}/{path}").decode("utf-8", "surrogateescape")):
            raise ValueError(f"{skill.member}/{path} is a link that leaves its skill")
    listed = (
        Entry(path, "link" if member.link else "file", member.executable, sizes[path], member.sha256)
        for path, member in own.items()
    )
    if entries_digest(listed) != skill.digest:
        raise ValueError(f"the skill {skill.name} has been altered")


def _files_of(skill: Kept, members: Mapping[str, Member]) -> dict[str, Member]:
    start = f"{skill.member}/"
    return {name[len(start) :]: member for name, member in members.items() if name.startswith(start)}


def _hash(archive: zipfile.ZipFile, name: str) -> str:
    total = sha256()
    for block in _blocks(archive, name):
        total.update(block)
    return total.hexdigest()


def _blocks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            yield block


def restore_backup(
    state: StateDatabase, roots: Collection[str], files: Iterable[str], path: str, home: str
) -> Restored:
    """Restore a backup; the current state directory is moved aside. Raises WhetError.

    Skills are written only below `roots`, and other files only if they are in `files`.
    """
    source = os.path.abspath(os.path.expanduser(path))
    told = check_backup(source)
    directory = os.path.realpath(state.directory)
    staged = free_name(directory, "aside")
    with os_failures(source, doing="restore"), open(source, "rb") as file, zipfile.ZipFile(file) as archive:
        try:
            _unpack_state(archive, told, staged)
            with _damage(source):
                entries = _forget_intents(os.path.join(staged, FILE))
            writing = _Writing(archive, told, home)
            writing.write_skills({os.path.realpath(root) for root in roots})
            writing.write_files({os.path.realpath(file) for file in files})
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
    aside = _change_places(state, staged, directory)
    done, kept, notes = tuple(writing.done), tuple(writing.kept), tuple(writing.notes)
    return Restored(directory, aside, done, kept, notes, entries, _contents(told.members))


def _unpack_state(archive: zipfile.ZipFile, told: _List, staged: str) -> None:
    """Create the whole state directory, and sync it to disk."""
    own = {name: member for name, member in told.members.items() if name.startswith("state/")}
    make_directories(staged, private=True)
    if sum(archive.getinfo(name).file_size for name in own) > shutil.disk_usage(staged).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), staged)
    at_once = hasattr(os, "sync")
    for name, member in own.items():
        target = os.path.join(staged, *name.split("/")[1:])
        make_directories(os.path.dirname(target), durable=False, private=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.writelines(_blocks(archive, name))
            os.chmod(target, member.mode & 0o700)
            if not at_once:
                file.flush()
                os.fsync(file.fileno())
    if at_once:
        os.sync()


def _forget_intents(path: str) -> int:
    """Delete the changes that were open when the backup was made: they must not be finished here.

    Returns the number of history entries.
    """
    if not os.path.lexists(path):
        return 0
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "intents" in tables:
            connection.execute("DELETE FROM intents")
        return connection.execute("SELECT count(*) FROM journal").fetchone()[0] if "journal" in tables else 0


class _Writing:
    """Writes skills and other files of a backup."""

    def __init__(self, archive: zipfile.ZipFile, told: _List, home: str) -> None:
        self._archive = archive
        self._told = told
        self._home = home
        self.done: list[str] = []
        self.kept: list[str] = []
        self.notes: list[Note] = []

    def write_skills(self, roots: Collection[str]) -> None:
        """Write the missing skills below these (resolved) directories."""
        for skill in self._told.skills:
            place = self._place(skill.path)
            directory = os.path.realpath(place)
            own = _files_of(skill, self._told.members)
            if not main_file(own):
                self._refuse(skill.name, place, "It has no main file.")
            elif not any(_is_searched(directory, root) for root in roots):
                self._refuse(skill.name, place, "Your own skills cannot go there.")
            elif not os.path.lexists(place):
                self._write_skill(skill, directory, own)
                self.done.append(skill.name)
            elif _digest_at(directory) != skill.digest:
                self.kept.append(skill.name)

    def _write_skill(self, skill: Kept, directory: str, own: Mapping[str, Member]) -> None:
        tree: Tree = {
            path: Item(self._archive.read(f"{skill.member}/{path}"), executable=member.executable, link=member.link)
            for path, member in own.items()
        }
        write_tree(directory, None, tree)
        for path, member in own.items():
            if not member.link:
                os.chmod(os.path.join(directory, *path.split("/")), member.mode & 0o777)

    def write_files(self, known: Collection[str]) -> None:
        """Write the missing other files whose (resolved) paths are known."""
        for member, listed in self._told.files.items():
            place = self._place(listed)
            path, (sha, mode, *_) = os.path.realpath(place), self._told.members[member]
            if path not in known:
                self._refuse(member, place, "Files next to skills cannot go there.")
            elif not os.path.lexists(place):
                make_directories(os.path.dirname(path))
                write_bytes(path, self._archive.read(member), mode=mode & 0o777)
            elif not os.path.isfile(path) or _hash_file(path) != sha:
                self.kept.append(path)

    def _place(self, path: str) -> str:
        return os.path.join(self._home, *path[2:].split("/")) if path.startswith("~/") else path

    def _refuse(self, name: str, place: str, why: str) -> None:
        message = f"{name} was not restored to {place}. {why}"
        hint = "If you trust the backup, extract the file from it; it is a zip archive."
        self.notes.append(Note("not-restored", "warning", message, hint, path=place))


def _is_searched(directory: str, root: str) -> bool:
    """Return whether a skill in this directory is found from this root; both are resolved."""
    if not inside(directory, root):
        return False
    below = [part for part in directory[len(root) :].split(os.sep) if part]
    between = [os.path.join(root, *below[:count]) for count in range(1, len(below))]
    return len(below) <= LIBRARY.depth and all(map(LIBRARY.enters, below)) and not any(map(_is_skill, between))


def _is_skill(directory: str) -> bool:
    names = [name for name in MAIN_FILES if os.path.lexists(os.path.join(directory, name))]
    return bool(names) and not is_overview(names)


def _digest_at(directory: str) -> str:
    try:
        return digest(read_tree(directory))
    except WhetError:
        return ""


def _hash_file(path: str) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _change_places(state: StateDatabase, staged: str, directory: str) -> str:
    """Swap the new state directory with the current one; return the path of the old one, "" if there was none."""
    with ExitStack() as stack:
        with suppress(WhetError):  # a damaged one has no writers
            if state.existing() is not None:
                stack.enter_context(state.write())  # nobody commits to the old one meanwhile
        with os_failures(directory, doing="replace"):
            there = os.path.lexists(directory)
            if there:
                trade(staged, directory)
            else:
                os.rename(staged, directory)
            sync_directory(os.path.dirname(directory))
    state.close()
    return staged if there else ""
