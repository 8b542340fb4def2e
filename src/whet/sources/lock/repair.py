"""What may be wrong with a lock and with the ledger, and how each is mended.

A damaged lock is kept under another name. The new one takes what can still be read of it (of both sides of a merge) and
what the ledger remembers of skills that are still there. Where there are several entries for a skill, the one that
fits what lies on disk counts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.authoring.trees import digest
from whet.errors import FailedError, InvalidError, WhetError
from whet.library.package import read_tree
from whet.notes import Note
from whet.skill.paths import collides
from whet.skill.tree import entries as tree_entries
from whet.sources.lock import file as locks
from whet.sources.lock.file import Installed, Lock, lock_file
from whet.sources.lock.ledger import GONE, directory_of, left_beside
from whet.sources.lock.salvage import Salvaged, salvage
from whet.store.atomic import write_bytes
from whet.store.clock import iso
from whet.store.state import Repaired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.sources.lock.ledger import Ledger

_REPAIR = "Run `whet doctor --repair`."


def examine(ledger: Ledger, root: str) -> tuple[Note, ...]:
    """What is wrong with the lock of a root."""
    found: list[Note] = []
    try:
        found.extend(_examined(ledger, lock_file(root)))
    except FailedError as error:  # the ledger itself cannot be read
        found.append(Note.from_error(error, "error", path=str(error.details.get("path", ""))))
    return tuple(found)


def _examined(ledger: Ledger, file: str) -> Iterator[Note]:
    try:
        lock = locks.read(file)
    except WhetError as error:
        line = error.details.get("line")
        yield Note.from_error(error, "error", path=file, line=line)
        return
    if not os.path.lexists(file) and (known := ledger.left_by(file)):
        names = ", ".join(entry.name for entry in known)
        message = f"The lock is gone, and with it where {names} came from."
        yield Note("lock-missing", "error", message, GONE, path=file)
    if not _is_busy(ledger, file):
        for path in left_beside(file):
            yield Note("leftover", "warning", "Left behind by an interrupted write.", _REPAIR, path=path)
        for row in ledger.records.pending(file):
            name = row.entry.name if row.entry else row.path
            message = f"A process was killed before it wrote down what became of {row.path}."
            yield Note(
                "lock-unsettled",
                "warning",
                message,
                f"{_REPAIR} The next change settles it too.",
                skill=name,
                path=file,
            )
    for entry in lock.entries:
        if not _is_there(file, entry):
            hint = (
                f"`whet restore {entry.name}` brings it back, `whet uninstall {entry.name}` takes it out of the lock."
            )
            place = directory_of(file, entry.path)
            yield Note("locked-missing", "info", "It is in the lock and not there.", hint, skill=entry.name, path=place)


def _is_busy(ledger: Ledger, file: str) -> bool:
    """Is a living process at work on the lock?"""
    try:
        with ledger.alone(file, seconds=0.0):
            return False
    except FailedError as error:
        return error.code == "lock-timeout"


def _is_there(file: str, entry: Installed) -> bool:
    return os.path.isdir(directory_of(file, entry.path))


def repair(ledger: Ledger, root: str) -> Repaired:
    """Settle what is pending; rebuild a lock that is damaged or gone."""
    file = lock_file(root)
    with ledger.alone(file):
        try:
            return _repaired(ledger, file)
        except FailedError as error:
            if error.code not in ("lock-newer", "read-failed"):  # what must not be touched, and what is no file
                raise
            return Repaired((), (error.message,))


def _repaired(ledger: Ledger, file: str) -> Repaired:
    try:
        locks.read(file)
    except InvalidError as error:
        mended = _rebuilt(ledger, file, error.message)
    else:
        mended = Repaired() if os.path.lexists(file) else _rebuilt(ledger, file, "")
    return Repaired((*mended.done, *ledger.settle_alone(file)), mended.lost)


def _rebuilt(ledger: Ledger, file: str, problem: str) -> Repaired:
    """A new lock from what is left; `problem` says what is wrong with the old one, "" when there is none."""
    data = locks.content(file) if problem else None
    found = salvage(data.decode("utf-8", "replace").removeprefix("\ufeff")) if data is not None else Salvaged({}, ())
    chosen, lost = _chosen(file, found, ledger.known(file))
    if data is None and not chosen:
        return Repaired()
    done = []
    if data is not None:
        aside = _aside(ledger, file)
        write_bytes(aside, data)
        done.append(f"{problem} It is kept as {aside}.")
    locks.write(file, Lock(tuple(chosen), found.extra))
    done.append(f"Rebuilt {file} with {len(chosen)} {'entry' if len(chosen) == 1 else 'entries'}.")
    return Repaired(tuple(done), tuple(lost))


def _chosen(file: str, found: Salvaged, known: dict[str, Installed]) -> tuple[list[Installed], list[str]]:
    """One entry for each skill, and what could not be saved."""
    chosen: list[Installed] = []
    lost: list[str] = []
    for path in sorted({*found.entries, *known, *found.broken}):
        candidates = [*found.entries.get(path, ())]
        if path in known and (candidates or _is_there(file, known[path])):
            candidates.append(known[path])
        if not candidates:
            lost.append(f"{path}: its entry could not be read." if path in found.broken else f"{path}: it is gone.")
        elif any(collides((entry.path, path)) for entry in chosen):
            lost.append(f"{path}: another skill of the lock has its place.")
        else:
            entry = _best(file, path, candidates)
            chosen.append(entry)
            others = {other.revision for other in found.entries.get(path, ())} - {entry.revision}
            lost.extend(f"{path}: the lock also named the revision {other or '(none)'}." for other in sorted(others))
    return chosen, lost


def _best(file: str, path: str, candidates: Iterable[Installed]) -> Installed:
    """The entry that fits what is on disk: by its digest, else by the most files; of equals the first."""
    try:
        tree = read_tree(directory_of(file, path))
    except WhetError:  # the look inside the skill reports it
        tree = None
    now = digest(tree)
    there = {(item.path, item.sha256) for item in tree_entries(tree or {})}
    return max(candidates, key=lambda entry: (entry.digest == now, len(there.intersection(entry.files))))


def _aside(ledger: Ledger, file: str) -> str:
    stamp = iso(ledger.clock()).replace("-", "").replace(":", "")
    name, number = f"{file}.damaged-{stamp}", 1
    while os.path.lexists(name):
        number += 1
        name = f"{file}.damaged-{stamp}-{number}"
    return name
