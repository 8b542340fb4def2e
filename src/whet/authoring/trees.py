"""A skill's files put on disk.

A `Tree` is everything the digest covers: files with their executable bit, and links. Replacing one with another is one
step for readers: a single file is swapped with the new one, several are changed by swapping whole directories.
Everything that needs disk space is done before; the old content stays next to it until the change is certain. Files
that the digest does not cover (`.git`, caches) are kept, and files keep their permissions.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whet.authoring.permissions import NONE, folders_of, permission_of
from whet.errors import ConflictError
from whet.library.package import is_flat_place
from whet.skill import tree as trees
from whet.skill.finder import MAIN_FILE
from whet.skill.tree import Item, entries
from whet.store.atomic import Swap, is_leftover, sync_places, sync_spares, write_unseen
from whet.store.directories import make_directories
from whet.store.failures import os_failures
from whet.store.regular import is_link, make_junction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REPOSITORY = ".git"


def digest(tree: Mapping[str, Item] | None) -> str:
    """Return the content digest, as `whet sources digest` prints it; "" if there is no skill."""
    return "" if tree is None else trees.digest(entries(tree))


def write_tree(
    directory: str,
    before: Mapping[str, Item] | None,
    after: Mapping[str, Item] | None,
    modes: Mapping[str, int] = NONE,
) -> None:
    """Make the directory hold `after` instead of `before`; None is no directory."""
    with replacing(directory, before, after, modes) as swap:
        sync_spares([swap])
        swap.apply()
        sync_places([swap])


@contextmanager
def replacing(
    directory: str,
    before: Mapping[str, Item] | None,
    after: Mapping[str, Item] | None,
    modes: Mapping[str, int] = NONE,
) -> Iterator[Swap]:
    """Prepare `after` next to the directory that holds `before`: applying and reversing it need no disk space.

    It is not durable before `sync_spares`. `modes` are earlier permissions of `after`, see
    `whet.authoring.permissions`. Without them, files keep theirs, and new ones get the usual ones.
    """
    if before == after:
        with Swap(directory, had=False, has=False) as swap:
            yield swap
    elif is_flat_place(directory) and (after is None or [*after] == [MAIN_FILE]):
        if before is not None and not os.path.isfile(directory):
            raise _gone(directory)
        make_directories(os.path.dirname(directory))
        with Swap(directory, had=before is not None, has=after is not None) as swap:
            if after is not None:
                swap.write(after[MAIN_FILE].data, _mode(directory, after[MAIN_FILE]))
            yield swap
    elif after is None:
        _check_there(directory)
        _check_removable(directory)
        with Swap(directory, had=True, has=False) as swap:
            yield swap
    elif before is None:
        make_directories(os.path.dirname(directory))
        with Swap(directory, had=False, has=True) as swap:
            swap.make_directory()
            with _private(swap.spare, after, modes):
                _fill(swap.spare, after, modes=modes)
            # Not even an empty directory that somebody made meanwhile is replaced.
            if os.path.lexists(directory):
                message = f"{directory} already exists."
                raise ConflictError("skill-exists", message, hint="Choose another name.", path=directory)
            yield swap
    else:
        _check_there(directory)
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        old, new = before.get(changed[0]), after.get(changed[0])
        alone = len(changed) == 1 and new and not new.link and not (old and old.link)
        place = os.path.join(directory, os.path.dirname(changed[0]))
        if alone and new and (not modes or os.path.isdir(place)):
            mode = permission_of(modes, changed[0], new)
            with _replacing_file(os.path.join(directory, *changed[0].split("/")), new, mode) as swap:
                yield swap
        else:
            with _replacing_directory(directory, before, after, modes) as swap:
                yield swap


@contextmanager
def _replacing_file(path: str, item: Item, mode: int | None) -> Iterator[Swap]:
    make_directories(os.path.dirname(path))
    with Swap(path, had=os.path.lexists(path), has=True) as swap:
        swap.write(item.data, _mode(path, item) if mode is None else mode)
        yield swap


@contextmanager
def _replacing_directory(
    directory: str, before: Mapping[str, Item], after: Mapping[str, Item], modes: Mapping[str, int]
) -> Iterator[Swap]:
    with Swap(directory, had=True, has=True) as swap:
        swap.make_directory()
        with os_failures(directory):  # a read-only directory stays so, and is then not filled either
            os.chmod(swap.spare, stat.S_IMODE(os.stat(directory).st_mode))
        _carry(directory, swap.spare, before, after)
        with _private(swap.spare, after, modes):
            changed = {path: item for path, item in after.items() if before.get(path) != item}
            _fill(swap.spare, changed, like=directory, modes=modes)
        yield swap


@contextmanager
def _private(directory: str, tree: Mapping[str, Item], modes: Mapping[str, int]) -> Iterator[None]:
    """Keep a directory that will be private closed while it is filled; then set all modes."""
    wanted = {folder: modes.get(folder, modes.get("*/")) for folder in [*folders_of(tree), "/"]}
    if wanted["/"] is not None:
        os.chmod(directory, stat.S_IRWXU)
    yield
    for folder, mode in wanted.items():
        place = os.path.join(directory, *folder.strip("/").split("/"))
        if mode is not None and os.path.isdir(place) and not is_link(place):
            os.chmod(place, mode)


def _carry(old: str, new: str, before: Mapping[str, Item], after: Mapping[str, Item], prefix: str = "") -> None:
    """Link everything that stays from the old directory into the new one, even untracked files and empty folders."""
    with os_failures(old, doing="copy"), os.scandir(old) as found:
        for entry in found:
            path, target = prefix + entry.name, os.path.join(new, entry.name)
            if entry.is_dir(follow_symlinks=False) and not is_link(entry):
                if not _emptied(entry.path, f"{path}/", before, after):
                    os.mkdir(target)
                    _carry(entry.path, target, before, after, f"{path}/")
                    os.chmod(target, stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode))
            elif (path not in before or before[path] == after.get(path)) and not is_leftover(entry.name):
                _link(entry, target)


def _emptied(directory: str, prefix: str, before: Mapping[str, Item], after: Mapping[str, Item]) -> bool:
    """Return whether a directory loses its last file and contains no repository."""
    had, has = (any(path.startswith(prefix) for path in tree) for tree in (before, after))
    return had and not has and not _repository_in(directory)


def _repository_in(directory: str) -> str:
    """Return the first repository at or below a directory; "" if there is none."""
    return next((place for place, *names in os.walk(directory) if any(_REPOSITORY in part for part in names)), "")


def _link(entry: os.DirEntry[str], target: str) -> None:
    if is_link(entry):
        text = os.readlink(entry.path)
        try:
            os.symlink(text, target, target_is_directory=os.path.isdir(entry.path))  # not for a loop
        except OSError:
            if not make_junction(text, target):
                raise
        return
    try:
        os.link(entry.path, target)
    except OSError:  # a file system without hard links
        from shutil import copy2

        copy2(entry.path, target, follow_symlinks=False)


def _fill(directory: str, tree: Mapping[str, Item], like: str = "", *, modes: Mapping[str, int] = NONE) -> None:
    """Write these items. Permissions come from `modes`, else from the same file in `like`."""
    for folder in sorted({os.path.dirname(path) for path in tree} - {""}):
        make_directories(os.path.join(directory, *folder.split("/")), durable=False)
    for path, item in tree.items():
        target = os.path.join(directory, *path.split("/"))
        mode = permission_of(modes, path, item)
        if mode is None:
            mode = _mode(os.path.join(like, *path.split("/")) if like else "", item)
        _put_item(target, item, mode)


def _put_item(path: str, item: Item, mode: int | None) -> None:
    if item.link:
        with os_failures(path):
            if os.path.lexists(path):
                os.unlink(path)
            os.symlink(item.data.decode("utf-8", "surrogateescape"), path)
        return
    write_unseen(path, item.data, mode)


def _mode(like: str, item: Item) -> int | None:
    """Return the permissions of a file like an existing one; None for the usual ones."""
    mode = stat.S_IMODE(os.stat(like).st_mode) if like and os.path.isfile(like) else None
    if item.executable:
        return 0o755 if mode is None else mode | (mode & 0o444) >> 2
    return mode if mode is None else mode & ~0o111


def _check_there(directory: str) -> None:
    """Raise a conflict if another process has just removed it: that is not a missing permission."""
    if not os.path.isdir(directory):
        raise _gone(directory)


def _gone(path: str) -> ConflictError:
    message = f"{path} no longer exists."
    return ConflictError("skill-changed", message, hint="Review it again, then decide.", path=path)


def _check_removable(directory: str) -> None:
    """Raise if a directory must not, or cannot, be removed: a repository inside it is somebody's work."""
    if found := _repository_in(directory):
        message = f"{found} is a separate git repository; its history would be lost."
        raise ConflictError("holds-repository", message, hint="Move it by hand.", path=found)
    with os_failures(directory, doing="remove"):
        if not os.access(directory, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), directory)
