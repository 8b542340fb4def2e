"""One file with everything that cannot be made again: the state of Whet, and the person's own skills.

A backup is a zip:

    backup.json      the list: SHA-256 and permissions of every other member, and where each skill belongs
    state/...        the state directory: `state.db` as SQLite copies it while others write, logs, contents, settings
    skills/N/...     each of the person's own skills
    files/N          files that belong to skills and lie beside them, such as the lock

It is taken while others write. The database is copied first and everything that its rows refer to was there before
them, so each change that was acknowledged before the backup began is in it. The file is read back and compared with
its list before it gets its name, and again before anything is restored from it.

Restoring builds the whole state directory beside the present one, and then lets the two change places in one step; the
present one is kept. Skills that are there are never touched.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
import zlib
from contextlib import ExitStack, closing, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from whet import __version__
from whet.authoring.trees import digest, write_tree
from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, WhetError
from whet.library.package import read_tree
from whet.library.skill_id import portable
from whet.skill.tree import Item
from whet.store.atomic import exchange, is_leftover, staging, sync_file, write_bytes
from whet.store.clock import iso
from whet.store.directories import make_directories, sync_directory
from whet.store.failures import os_failures
from whet.store.home import LOGS
from whet.store.locks import FileLock, lock_path
from whet.store.state import FILE
from whet.values import answer_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.skill.tree import Tree
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase
    from whet.values import Json

LIST = "backup.json"
VERSION = 1
_LEFT_OUT = frozenset({"locks", "fetching", "publishing", "former", *LOGS.values()})
"""What is made again, is of this moment only, or is copied from the database."""
_LOCK_SECONDS = 10.0
_BLOCK = 1 << 20
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    NotImplementedError,
)


class Backup(NamedTuple):
    """What was written."""

    path: str
    size: int
    files: int
    skills: tuple[str, ...]
    entries: int
    """Of the history."""
    left_out: tuple[str, ...] = ()
    """What could not be read, a sentence each."""

    def to_json(self) -> Json:
        """The backup as JSON carries it."""
        return answer_json(self)


class Restored(NamedTuple):
    """What was restored."""

    state: str
    aside: str
    """Where the state directory is that was there; empty when there was none."""
    skills: tuple[str, ...]
    """The skills that were written."""
    kept: tuple[str, ...]
    """Skills and files that are there with another content, and were left as they are."""

    def to_json(self) -> Json:
        """The outcome as JSON carries it."""
        return answer_json(self)


class Member(NamedTuple):
    """One file of a backup."""

    sha256: str
    mode: int
    executable: bool = False
    link: bool = False


# --- writing ---------------------------------------------------------------------------------------------------------


def write_backup(
    state: StateDatabase, skills: Mapping[str, str], files: Iterable[str], home: str, path: str, clock: Clock
) -> Backup:
    """Write a backup to `path`, where no file may be. Raises WhetError.

    `skills` are directories by what their skills are called, `files` others that belong to them.
    """
    target = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(target):
        raise ConflictError("file-exists", f"{target} exists already.", hint="Choose another file.", path=target)
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
    names = tuple(str(skill["name"]) for skill in pack.skills)
    return Backup(target, size, len(pack.members), names, entries, tuple(pack.left_out))


class _Pack:
    """An archive that is being written."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.members: dict[str, Member] = {}
        self.skills: list[Json] = []
        self.files: dict[str, str] = {}
        self.left_out: list[str] = []

    def add_state(self, state: StateDatabase, work: str) -> int:
        """Take in the state directory; how many entries the history has."""
        self._add_directory(state.directory, "usage")  # what is counted meanwhile is known to be counted
        entries = _copy_database(state, work)
        for name in (FILE, *LOGS.values()):
            if os.path.isfile(os.path.join(work, name)):
                self._add_file(f"state/{name}", os.path.join(work, name), 0o600)
        self._add_directory(state.directory)
        return entries

    def _add_directory(self, top: str, below: str = "") -> None:
        for directory, folders, names in os.walk(os.path.join(top, below) if below else top):
            if directory == top:
                folders[:] = [name for name in folders if name not in _LEFT_OUT and name != "usage"]
            for name in sorted(names):
                path = os.path.join(directory, name)
                own = directory == top and (name in _LEFT_OUT or name.startswith((FILE, "cache.db")))
                if own or is_leftover(name) or ".broken-" in name or not stat.S_ISREG(_mode(path)):
                    continue
                inner = os.path.relpath(path, top).replace(os.sep, "/")
                with suppress(FileNotFoundError):  # it was counted, or collected, a moment ago
                    self._add_file(f"state/{inner}", path, _mode(path))

    def add_skill(self, state: str, name: str, directory: str, home: str) -> None:
        """Take in one skill, while nobody changes it."""
        real, member = os.path.realpath(directory), f"skills/{len(self.skills)}"
        try:
            with FileLock(lock_path(state, "skill", real), timeout=_LOCK_SECONDS):
                tree = read_tree(real)
                modes = {path: _mode(os.path.join(real, *path.split("/"))) for path in tree or {}}
        except WhetError as error:
            self.left_out.append(f"{name} is left out. {error.message}")
            return
        if tree is None:
            return  # deleted a moment ago
        for path, item in tree.items():
            self._archive.writestr(zipfile.ZipInfo(f"{member}/{path}"), item.data)
            told = Member(sha256(item.data).hexdigest(), stat.S_IMODE(modes[path]), item.executable, item.link)
            self.members[f"{member}/{path}"] = told
        self.skills.append({"name": name, "path": portable(real, home), "member": member, "digest": digest(tree)})

    def add_other(self, path: str, home: str) -> None:
        """Take in a file that lies beside skills, if it is there."""
        with suppress(FileNotFoundError, IsADirectoryError):
            member = f"files/{len(self.files)}"
            self._add_file(member, path, _mode(path))
            self.files[member] = portable(os.path.realpath(path), home)

    def finish(self, clock: Clock) -> None:
        """Write the list."""
        members = {name: member._asdict() for name, member in self.members.items()}
        told = {"version": VERSION, "whet": __version__, "created": iso(clock()), "members": members}
        text = json.dumps({**told, "skills": self.skills, "files": self.files})
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
    """Copy the database as it is at one moment, and write its logs; how many entries the history has."""
    import sqlite3

    from whet.store.former import write_logs
    from whet.store.repair import check_state

    if problem := check_state(state.directory):
        hint = "Run `whet doctor --repair` first; a copy of what is damaged would be damaged, too."
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
    """What a backup says that it holds."""

    members: dict[str, Member]
    skills: tuple[dict[str, Any], ...]
    files: dict[str, str]


def check_backup(path: str) -> _List:
    """Compare every member with the list. Raises InvalidError `backup-damaged` and NotFoundError."""
    if not os.path.exists(path):
        hint = "Name a file that `whet backup` wrote."
        raise NotFoundError("no-such-file", f"There is no file {path}.", hint=hint, path=path)
    try:
        with (
            os_failures(path, doing="read", other="read-failed"),
            open(path, "rb") as file,
            zipfile.ZipFile(file) as archive,
        ):
            told = json.loads(archive.read(LIST))
            if told["version"] > VERSION:
                raise InvalidError(
                    "backup-newer", f"{path} was written by a newer Whet.", hint="Update Whet, then restore it."
                )
            members = {str(name): Member(**member) for name, member in told["members"].items()}
            if sorted([*members, LIST]) != sorted(archive.namelist()):
                raise ValueError("it does not hold exactly what it lists")
            for name, member in members.items():
                if any(part in ("", ".", "..") for part in name.split("/")) or "\\" in name or "\0" in name:
                    raise ValueError(f"{name} is no path")
                if _hash(archive, name) != member.sha256:
                    raise ValueError(f"{name} is not what was written")
            return _List(members, tuple(told["skills"]), dict(told["files"]))
    except _DAMAGE as error:
        hint = "Nothing was changed. Use another backup."
        why = str(error) or type(error).__name__
        raise InvalidError("backup-damaged", f"{path} is no whole backup: {why}.", hint=hint, path=path) from error


def _hash(archive: zipfile.ZipFile, name: str) -> str:
    total = sha256()
    for block in _blocks(archive, name):
        total.update(block)
    return total.hexdigest()


def _blocks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            yield block


def restore_backup(state: StateDatabase, path: str, home: str, clock: Clock) -> Restored:
    """Put back what a backup holds; the present state directory is moved aside. Raises WhetError."""
    source = os.path.abspath(os.path.expanduser(path))
    told = check_backup(source)
    directory = os.path.realpath(state.directory)
    stamp = iso(clock()).replace("-", "").replace(":", "")
    staged = _free(f"{directory}.aside-{stamp}")
    with os_failures(source, doing="restore"), open(source, "rb") as file, zipfile.ZipFile(file) as archive:
        _unpack_state(archive, told, staged)
        done, kept = _write_skills(archive, told, home)
        kept += _write_files(archive, told, home)
    aside = _change_places(state, staged, directory)
    return Restored(directory, aside, tuple(done), tuple(kept))


def _free(path: str) -> str:
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = f"{path}-{number}"
    return name


def _unpack_state(archive: zipfile.ZipFile, told: _List, staged: str) -> None:
    """Make the whole state directory anew, and wait until the disk has it."""
    make_directories(staged, private=True)
    at_once = hasattr(os, "sync")
    for name, member in told.members.items():
        if name.startswith("state/"):
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


def _write_skills(archive: zipfile.ZipFile, told: _List, home: str) -> tuple[list[str], list[str]]:
    """Write the skills that are not there; their names, and the names of those that are there and different."""
    done, kept = [], []
    for skill in told.skills:
        directory, start = _place(str(skill["path"]), home), f"{skill['member']}/"
        own = {name[len(start) :]: member for name, member in told.members.items() if name.startswith(start)}
        tree: Tree = {
            path: Item(archive.read(start + path), executable=member.executable, link=member.link)
            for path, member in own.items()
        }
        if not os.path.lexists(directory):
            write_tree(directory, None, tree)
            for path, member in own.items():
                if not member.link:
                    os.chmod(os.path.join(directory, *path.split("/")), member.mode)
            done.append(str(skill["name"]))
        elif _digest_at(directory) != skill["digest"]:
            kept.append(str(skill["name"]))
    return done, kept


def _digest_at(directory: str) -> str:
    try:
        return digest(read_tree(directory))
    except WhetError:
        return ""


def _write_files(archive: zipfile.ZipFile, told: _List, home: str) -> list[str]:
    """Write the other files that are not there; those that are there and different."""
    kept = []
    for member, place in told.files.items():
        path, data = _place(place, home), archive.read(member)
        if not os.path.lexists(path):
            make_directories(os.path.dirname(path))
            write_bytes(path, data, mode=told.members[member].mode)
        elif not os.path.isfile(path) or _hash_file(path) != told.members[member].sha256:
            kept.append(path)
    return kept


def _hash_file(path: str) -> str:
    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()


def _place(path: str, home: str) -> str:
    return os.path.join(home, *path[2:].split("/")) if path.startswith("~/") else path


def _change_places(state: StateDatabase, staged: str, directory: str) -> str:
    """Let the new state directory take the place of the present one, which gets its name; "" where there was none."""
    with ExitStack() as stack:
        with suppress(WhetError):  # a damaged one has no writers
            if state.existing() is not None:
                stack.enter_context(state.write())  # nobody commits to the old one meanwhile
        with os_failures(directory, doing="replace"):
            aside = staged
            if not os.path.lexists(directory):
                os.rename(staged, directory)
                aside = ""
            elif not exchange(staged, directory):
                aside = _free(f"{staged}-before")
                os.rename(directory, aside)
                try:
                    os.rename(staged, directory)
                except BaseException:
                    os.rename(aside, directory)
                    raise
            sync_directory(os.path.dirname(directory))
    state.close()
    return aside
