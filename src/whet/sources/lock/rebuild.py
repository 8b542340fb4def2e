"""Find problems of a lock, and rebuild it.

A damaged lock is kept under another name. The new one gets every readable entry of the old one, and the recorded
entries of skills that still exist. Git leaves both versions of lines it could not merge: each side is reassembled
separately. If there are several entries for a skill, the one that matches the files on disk counts.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import digest
from whet.errors import FailedError, WhetError
from whet.library.package import read_tree
from whet.notes import Note
from whet.skill.paths import collides
from whet.skill.tree import entries as tree_entries
from whet.sources.lock import file as locks
from whet.sources.lock.file import Installed, Lock, LockDamagedError, entry_of, lock_file, parse
from whet.sources.lock.installs import GONE, directory_of, left_beside
from whet.store.atomic import free_name, move_aside, write_bytes
from whet.store.repair import Repaired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.sources.lock.installs import Installs

_REPAIR = "Run `whet doctor --repair`."
_MARK = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?")
_OBJECT = re.compile(r'(?<!\\)("(?:[^"\\\n]|\\.){1,2000}")\s{0,1000}:\s{0,1000}\{')
_CONTAINERS = ("skills", "files")
_MOST = 4 * 1024 * 1024
"""Characters that are read of a damaged lock: more than a lock of ten thousand skills has."""
_EFFORT = 32
"""How many times its length a text may be scanned for entries."""


def examine(installs: Installs, root: str) -> tuple[Note, ...]:
    """Return notes about the problems of the lock of a root."""
    found: list[Note] = []
    try:
        found.extend(_examined(installs, lock_file(root)))
    except FailedError as error:  # the records cannot be read
        found.append(Note.from_error(error, "error", path=str(error.details.get("path", ""))))
    return tuple(found)


def _examined(installs: Installs, file: str) -> Iterator[Note]:
    try:
        lock = locks.read(file)
    except WhetError as error:
        line = error.details.get("line")
        yield Note.from_error(error, "error", path=file, line=line)
        return
    if not os.path.lexists(file) and (known := installs.left_by(file)):
        names = ", ".join(entry.name for entry in known)
        message = f"The lock is missing, so the sources of {names} are unknown."
        yield Note("lock-missing", "error", message, GONE, path=file)
    if not _is_busy(installs, file):
        for path in left_beside(file):
            yield Note("leftover", "warning", "An interrupted write left this behind.", _REPAIR, path=path)
        for path, entry in installs.pending(file).items():
            name = entry.name if entry else path
            message = f"A process was killed before it recorded the result for {path}."
            yield Note(
                "lock-unsettled",
                "warning",
                message,
                f"{_REPAIR} The next change also resolves it.",
                skill=name,
                path=file,
            )
    for entry in lock.entries:
        if not _is_there(file, entry):
            hint = f"`whet install` brings it back, `whet remove {entry.name}` removes it from the lock."
            place = directory_of(file, entry.path)
            yield Note(
                "locked-missing", "info", "It is in the lock but not on disk.", hint, skill=entry.name, path=place
            )


def _is_busy(installs: Installs, file: str) -> bool:
    """Return whether another process is working on the lock."""
    try:
        with installs.alone(file, seconds=0.0):
            return False
    except FailedError as error:
        return error.code == "lock-timeout"


def _is_there(file: str, entry: Installed) -> bool:
    return os.path.isdir(directory_of(file, entry.path))


def repair(installs: Installs, root: str) -> Repaired:
    """Settle pending changes, rebuild a damaged or missing lock, and record its entries."""
    file = lock_file(root)
    with installs.alone(file):
        try:
            return _repaired(installs, file)
        except FailedError as error:
            if error.code not in ("lock-newer", "read-failed"):  # must not be touched, or is not a file
                raise
            return Repaired((), (error.message,))


def _repaired(installs: Installs, file: str) -> Repaired:
    if os.path.isdir(file):
        aside = move_aside(file)
        repaired = _repaired(installs, file)
        return repaired._replace(done=(f"{file} was a directory. It is kept as {aside}.", *repaired.done))
    try:
        locks.read(file)
    except LockDamagedError as error:
        repaired = _rebuilt(installs, file, error.message)
    else:
        repaired = Repaired() if os.path.lexists(file) else _rebuilt(installs, file, "")
    settled = installs.settle_alone(file)
    installs.remember(file)  # the state may have been damaged earlier, and the lock may be next
    return Repaired((*repaired.done, *settled), repaired.lost)


def _rebuilt(installs: Installs, file: str, problem: str) -> Repaired:
    """Write a new lock from the remains; `problem` describes the damage, "" if there was no lock."""
    data = locks.content(file) if problem else None
    found = salvage(data.decode("utf-8", "replace").removeprefix("\ufeff")) if data is not None else Salvaged({}, ())
    chosen, lost = _chosen(file, found, installs.known(file))
    if data is None and not chosen:
        return Repaired()
    done = []
    if data is not None:
        aside = free_name(file)
        write_bytes(aside, data)
        done.append(f"{problem} It is kept as {aside}.")
    locks.write(file, Lock(tuple(chosen), found.extra))
    done.append(f"Rebuilt {file} with {len(chosen)} {'entry' if len(chosen) == 1 else 'entries'}.")
    return Repaired(tuple(done), tuple(lost))


def _chosen(file: str, found: Salvaged, known: dict[str, Installed]) -> tuple[list[Installed], list[str]]:
    """Return one entry for each skill, and messages about those that are lost."""
    chosen: list[Installed] = []
    lost: list[str] = []
    for path in sorted({*found.entries, *known, *found.broken}):
        candidates = [*found.entries.get(path, ())]
        if path in known and (candidates or _is_there(file, known[path])):
            candidates.append(known[path])
        if not candidates:
            lost.append(f"{path}: its entry could not be read." if path in found.broken else f"{path}: it is gone.")
        elif any(collides((entry.path, path)) for entry in chosen):
            lost.append(f"{path}: another skill in the lock has the same path.")
        else:
            entry = _best(file, path, candidates)
            chosen.append(entry)
            others = {other.revision for other in found.entries.get(path, ())} - {entry.revision}
            lost.extend(f"{path}: the lock also has the revision {other or '(none)'}." for other in sorted(others))
    return chosen, lost


def _best(file: str, path: str, candidates: Iterable[Installed]) -> Installed:
    """Return the entry that matches the files on disk: by digest, else by most files; among equals, the first."""
    try:
        tree = read_tree(directory_of(file, path))
    except WhetError:  # the check of the skill reports it
        tree = None
    now = digest(tree)
    there = {(item.path, item.sha256) for item in tree_entries(tree or {})}
    return max(candidates, key=lambda entry: (entry.digest == now, len(there.intersection(entry.files))))


# --- readable parts of a damaged lock --------------------------------------------------------------------------------


class Salvaged(NamedTuple):
    """The entries found in a damaged lock."""

    entries: dict[str, tuple[Installed, ...]]
    """Different entries by path, those of our side first."""
    broken: tuple[str, ...]
    """Paths with only incomplete entries."""
    extra: str = ""


def salvage(text: str) -> Salvaged:
    """Return all complete entries in the text of a damaged lock."""
    found: dict[str, list[Installed]] = {}
    broken: dict[str, None] = {}
    extra = ""
    for side in sides(text[:_MOST]):
        try:
            lock = parse(side, "")
        except LockDamagedError:
            items = list(_scan(side))
        else:
            items = [(entry.path, entry) for entry in lock.entries]
            extra = extra or lock.extra
        for path, entry in items:
            if entry is None:
                broken[path] = None
            elif entry not in found.setdefault(path, []):
                found[path].append(entry)
    lost = tuple(path for path in broken if path not in found)
    return Salvaged({path: tuple(entries) for path, entries in found.items()}, lost, extra)


def sides(text: str) -> tuple[str, ...]:
    """Return the versions of a text with merge markers, ours first; the text itself if it has none."""
    ours: list[str] = []
    theirs: list[str] = []
    state = "="
    marked = False
    for line in text.split("\n"):
        mark = _MARK.fullmatch(line.rstrip("\r"))
        if mark is not None and (mark[1][0] == "<" or state != "="):
            marked = True
            state = {"<": "ours", "|": "base", "=": "theirs", ">": "="}[mark[1][0]]
            continue
        if state in ("=", "ours"):
            ours.append(line)
        if state in ("=", "theirs"):
            theirs.append(line)
    return ("\n".join(ours), "\n".join(theirs)) if marked else (text,)


def _scan(text: str) -> Iterator[tuple[str, Installed | None]]:
    """Yield every named object in the text that is an entry; None for one that is incomplete."""
    decoder = json.JSONDecoder()
    effort = _EFFORT * len(text)
    at = 0
    while effort > 0 and (found := _OBJECT.search(text, at)):
        effort -= found.end() - at
        at = found.end()
        try:
            path = json.loads(found[1])
        except ValueError:
            continue
        if path in _CONTAINERS:
            continue
        start = found.end() - 1
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            effort -= error.pos + 1  # the decoder counts lines from the beginning
            if "digest" in text[start : error.pos]:
                yield path, None
            continue
        except (ValueError, RecursionError):
            effort -= len(text) - start
            continue
        effort -= end - start
        if "digest" in value:
            at = end
            yield path, _whole(path, value)


def _whole(path: str, value: object) -> Installed | None:
    if "\ufffd" in path or "\ufffd" in json.dumps(value, ensure_ascii=False):
        return None  # undecodable bytes: the original value is unknown
    try:
        return entry_of(path, value)
    except LockDamagedError:
        return None
