"""The copy of a project that a run works on: made before it, compared with the project after it.

The project does not change before the difference is applied. The copy has the files that git would have: tracked or
trackable files, as they are in the working directory. Its `.git` is a copy, too, which borrows the objects of the
project's: a commit in the copy stays there. No program outside the sandbox reads the copy's own git configuration,
because a program inside may have written it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.errors import ConflictError, InvalidError, RefusedError
from whet.guard.permissions.paths import control_file
from whet.guard.sandbox.box import Mount, is_below, is_narrow
from whet.skill.tree import Item
from whet.store.atomic import write_bytes, write_text
from whet.store.directories import make_directories, make_missing
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST_FILES = 100_000
MOST_BYTES = 4 << 30
_SHOWN = 1 << 20
"""Largest file in bytes whose lines the diff shows."""
_GIT = ".git"
_NOT_COPIED = frozenset(("objects", "worktrees", "modules", "lfs", "fsmonitor--daemon", "hooks"))
"""Parts of `.git` that are not copied."""
_LIST = ("ls-files", "-z", "--exclude-standard")
_EXECUTABLE = stat.S_IXUSR


class Entry(NamedTuple):
    """A file of the project as it was copied."""

    digest: str
    executable: bool
    link: bool


class Change(NamedTuple):
    """A file that the run changed."""

    path: str
    change: Literal["added", "changed", "deleted"]
    held: str = ""
    """Why it is not applied; empty if it is."""


class Workspace:
    """The copy in the directory of a run. `inside` is its path for the model and its programs."""

    def __init__(self, top: str, project: str, inside: str) -> None:
        self.top, self.project, self.inside = top, project, inside
        self.copy = os.path.join(top, "project")
        self._objects = os.path.join(top, "objects")
        self._list = os.path.join(top, "files.json")

    # creating

    @classmethod
    def make(cls, top: str, project: str, *, home: str, env: Mapping[str, str], remaps: bool) -> Workspace:
        """Copy a project. `remaps`: the copy can be shown in place of the project.

        Raises RefusedError `project-too-wide`, InvalidError `project-too-large`.
        """
        project = os.path.realpath(project)
        if not is_narrow(project, home):
            hint = "Run it in a project, or pass one with `--project`."
            raise RefusedError("project-too-wide", f"{project} holds more than one project.", hint=hint)
        made = cls(top, project, project if remaps else os.path.join(top, "project"))
        make_directories(made.copy, private=True)
        entries = made._copy_files(env)
        git = _git_directories(project)
        if git:
            made._copy_git(*git)
        write_text(made._list, json.dumps(entries))
        return made

    def _copy_files(self, env: Mapping[str, str]) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        size = 0
        for path in self._listed(self.project, env, "-c", "-o"):
            source, target = os.path.join(self.project, path), os.path.join(self.copy, path)
            try:
                status = os.lstat(source)
            except OSError:  # deleted, but still tracked
                continue
            if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
                continue
            size += status.st_size
            if len(entries) >= MOST_FILES or size > MOST_BYTES:
                what = f"{MOST_FILES:,} files" if len(entries) >= MOST_FILES else f"{MOST_BYTES >> 30} GiB"
                hint = "Run it in a smaller directory, or let git ignore what it does not need."
                raise InvalidError("project-too-large", f"{self.project} has more than {what}.", hint=hint)
            with os_failures(source, doing="copy"):
                make_missing(os.path.dirname(target))
                if stat.S_ISLNK(status.st_mode):
                    os.symlink(os.readlink(source), target)
                else:
                    shutil.copyfile(source, target)
                    os.chmod(target, 0o700 if status.st_mode & _EXECUTABLE else 0o600)
                    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            entries[path] = entry_at(target)
        return entries

    def _copy_git(self, own: str, common: str) -> None:
        """Copy the repository without its objects, which are borrowed."""
        target = os.path.join(self.copy, _GIT)

        def left_out(directory: str, names: list[str]) -> Iterable[str]:
            top = directory == common
            odd = [
                name
                for name in names
                if not os.path.islink(path := os.path.join(directory, name))
                and not (os.path.isfile(path) or os.path.isdir(path))
            ]
            return {*odd, *(name for name in names if name.endswith(".lock")), *(_NOT_COPIED if top else ())}

        with os_failures(target, doing="copy"):
            shutil.copytree(common, target, symlinks=True, ignore=lambda *given: set(left_out(*given)))
            for name in ("HEAD", "index") if own != common else ():
                if os.path.isfile(os.path.join(own, name)):
                    shutil.copyfile(os.path.join(own, name), os.path.join(target, name))
            make_missing(os.path.join(target, "objects", "info"))
            with open(os.path.join(target, "objects", "info", "alternates"), "w", encoding="utf-8") as file:
                file.write(f"{self._objects}\n")
            os.symlink(os.path.join(common, "objects"), self._objects)

    def _listed(self, top: str, env: Mapping[str, str], *which: str) -> Iterator[str]:
        """Yield the files of the project below a directory, from git if it is a repository."""
        found = self._by_git(top, env, *which)
        if found is not None:
            yield from found
            return
        for directory, names, files in os.walk(top):
            links = [name for name in names if os.path.islink(os.path.join(directory, name))]
            names[:] = sorted(name for name in names if name not in links and name != _GIT)
            for name in sorted((*files, *links)):
                if not (directory == top and name == _GIT):
                    yield os.path.relpath(os.path.join(directory, name), top).replace(os.sep, "/")

    def _by_git(self, top: str, env: Mapping[str, str], *which: str) -> list[str] | None:
        import subprocess

        git, program = _git_directories(self.project), shutil.which("git", path=env.get("PATH", os.defpath))
        if not git or not program:
            return None
        words = [program, f"--git-dir={git[0]}", f"--work-tree={top}", "-c", "core.fsmonitor=false", *_LIST, *which]
        kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
        try:
            done = subprocess.run(  # noqa: S603  the project's own git, with a fixed list of arguments
                words, cwd=top, env={**kept, "GIT_OPTIONAL_LOCKS": "0"}, capture_output=True, check=False, timeout=120
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode:
            return None
        return sorted({name for name in os.fsdecode(done.stdout).split("\0") if name and not name.endswith("/")})

    # in use

    def mounts(self) -> tuple[Mount, ...]:
        """Return the mounts that show the copy in place of the project."""
        shown = Mount(self.inside, self.copy, writable=True)
        if not os.path.islink(self._objects):
            return (shown,)
        return (shown, Mount(self._objects, os.path.realpath(self._objects)))

    @property
    def borrowed(self) -> tuple[str, ...]:
        """Paths that a box must show besides the copy."""
        return (os.path.realpath(self._objects),) if os.path.islink(self._objects) else ()

    def locate(self, path: str) -> str | None:
        """Return the local path of a path that the model names; None if it is outside the copy, with links followed."""
        if is_below(path, (self.inside,)):
            path = self.copy + path[len(self.inside) :]
        elif is_below(path, (self.project,)):
            path = self.copy + path[len(self.project) :]
        real = os.path.realpath(path)
        return real if is_below(real, (os.path.realpath(self.copy),)) else None

    # comparing and applying

    def changes(self, env: Mapping[str, str]) -> tuple[Change, ...]:
        """Return the changes since the copy was made, by path."""
        return tuple(change for change, _, _ in self._compare(env))

    def _compare(self, env: Mapping[str, str]) -> list[tuple[Change, Entry | None, Entry | None]]:
        if not os.path.isdir(self.copy):
            return []
        with os_failures(self._list, doing="read"), open(self._list, encoding="utf-8") as file:
            before = {path: Entry(*fields) for path, fields in json.load(file).items()}
        found: list[tuple[Change, Entry | None, Entry | None]] = []
        for path in sorted({*before, *self._listed(self.copy, env, "-o"), *self._untracked(before)}):
            old, new = before.get(path), _entry_or_none(os.path.join(self.copy, path), self.copy)
            if old != new:
                kind: Literal["added", "changed", "deleted"] = (
                    "added" if old is None else "deleted" if new is None else "changed"
                )
                found.append((Change(path, kind, self._held(path, new)), old, new))
        return found

    def _untracked(self, before: Mapping[str, Entry]) -> Iterator[str]:
        """Yield files below a directory that was a file: git lists nothing below a tracked name."""
        for path in before:
            top = os.path.join(self.copy, path)
            if os.path.isdir(top) and not os.path.islink(top):
                for directory, _, files in os.walk(top):
                    for name in files:
                        yield os.path.relpath(os.path.join(directory, name), self.copy).replace(os.sep, "/")

    def _held(self, path: str, new: Entry | None) -> str:
        """Return why a change is not applied with the others, or ""."""
        if what := control_file(f"/{path}"):
            return f"it belongs to {what}"
        if new is not None and new.link:
            target = os.readlink(os.path.join(self.copy, path))
            real = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if os.path.isabs(target) or real.split(os.sep)[0] == os.pardir:
                return "the link leads out of the project"
        return ""

    def diff(self, env: Mapping[str, str]) -> str:
        """Return the changes as a unified diff; binary files are only named."""
        from whet.authoring.history import difference

        old: dict[str, Item] = {}
        new: dict[str, Item] = {}
        for change, before, after in self._compare(env):
            if before is not None:
                old[change.path] = _item(os.path.join(self.project, change.path), before)
            if after is not None:
                new[change.path] = _item(os.path.join(self.copy, change.path), after)
        return difference(old, new, ("a", "b"))

    def apply(self, env: Mapping[str, str]) -> tuple[Change, ...]:
        """Apply all changes, except those held back, to the project, or none.

        Raises ConflictError `run-conflict` if the project itself changed meanwhile.
        """
        wanted = [row for row in self._compare(env) if not row[0].held]
        gone = {change.path for change, _, after in wanted if after is None}
        if inconvenient := [change.path for change, old, new in wanted if self._conflicts(change.path, old, new, gone)]:
            names = ", ".join(inconvenient[:5]) + (", ..." if len(inconvenient) > 5 else "")
            hint = "Nothing was applied. Run the skill again, or take what you want from the diff."
            raise ConflictError(
                "run-conflict", f"The project changed during the run: {names}.", hint=hint, files=inconvenient
            )
        for change, _, after in sorted(wanted, key=lambda row: row[2] is not None):
            target = os.path.join(self.project, change.path)
            with os_failures(target, doing="change"):
                self._apply(change.path, target, after)
        return tuple(change for change, _, _ in wanted)

    def _apply(self, path: str, target: str, after: Entry | None) -> None:
        if after is None:
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(target)
            for _ in path.split("/")[1:]:
                target = os.path.dirname(target)
                with suppress(OSError):  # not empty, or gone
                    os.rmdir(target)
            return
        if _entry_or_none(target, self.project) == after:
            return
        source = os.path.join(self.copy, path)
        if os.path.islink(target) or (after.link and os.path.lexists(target)):
            os.unlink(target)
        make_missing(os.path.dirname(target), private=False)
        if after.link:
            os.symlink(os.readlink(source), target)
            return
        mode = stat.S_IMODE(os.lstat(target).st_mode) if os.path.isfile(target) else 0o644
        mode = mode | (mode & 0o444) >> 2 if after.executable else mode & ~0o111
        with open(source, "rb") as file:
            write_bytes(target, file.read(), mode=mode, durable=False)

    def _conflicts(self, path: str, before: Entry | None, after: Entry | None, gone: set[str]) -> bool:
        """Return whether the project's file has neither the copied nor the new content."""
        target = os.path.join(self.project, path)
        if after is None and not os.path.lexists(target):
            return False
        names = path.split("/")
        for depth in range(1, len(names)):
            above = "/".join(names[:depth])
            place = os.path.join(self.project, above)
            if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place) and above not in gone):
                return True
        if os.path.isdir(target) and not os.path.islink(target):
            below = (os.path.join(top, name) for top, _, files in os.walk(target) for name in files)
            return any(os.path.relpath(name, self.project).replace(os.sep, "/") not in gone for name in below)
        return _entry_or_none(target, self.project) not in (before, after)

    def remove(self) -> None:
        """Delete the copy."""
        shutil.rmtree(self.copy, ignore_errors=True)


def entry_at(path: str) -> Entry:
    """Return the current entry of a file or link."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return Entry(hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest(), executable=False, link=True)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Entry(digest, bool(status.st_mode & _EXECUTABLE), link=False)


def _entry_or_none(path: str, top: str) -> Entry | None:
    """Like `entry_at`, but None for anything else and for paths through links."""
    if os.path.realpath(os.path.dirname(path)) != os.path.join(
        os.path.realpath(top), os.path.relpath(os.path.dirname(path), top)
    ).removesuffix("/."):
        return None
    try:
        status = os.lstat(path)
        return entry_at(path) if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) else None
    except OSError:
        return None


def _item(path: str, entry: Entry) -> Item:
    """Return a file for the diff; one that is too large, or changed since, is not shown as text."""
    try:
        if entry.link:
            return Item(os.fsencode(os.readlink(path)), link=True)
        with open(path, "rb") as file:
            data = file.read(_SHOWN + 1)
    except OSError:
        data = b"\0"
    if len(data) > _SHOWN or hashlib.sha256(data).hexdigest() != entry.digest:
        data = b"\0" + entry.digest.encode()
    return Item(data, entry.executable)


def _git_directories(project: str) -> tuple[str, str] | None:
    """Return the git directories of a working copy and of its repository, or None."""
    marker = os.path.join(project, _GIT)
    if os.path.isdir(marker):
        return os.path.realpath(marker), os.path.realpath(marker)
    try:
        with open(marker, encoding="utf-8") as file:
            own = os.path.realpath(os.path.join(project, file.read(4096).removeprefix("gitdir:").strip()))
        with open(os.path.join(own, "commondir"), encoding="utf-8") as file:
            return own, os.path.realpath(os.path.join(own, file.read(4096).strip()))
    except OSError:
        return None
